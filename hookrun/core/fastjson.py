"""JSON for the one-shot `fire`: the C scanner and encoder of `json`, without the package.

`import json` costs half as much as starting Python, nearly all of it `re`. On any exception, malformed input included,
the text goes to `json` itself, so that the answer or error is always that of `json`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WHITESPACE = " \t\n\r"

INFINITY = float("inf")

# How deep a text may be nested. Our own limit: that of `json` differs among Pythons.
MAX_DEPTH = 200


def _reject_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def finite(text: str) -> float:
    """Return the number in a text. Raises ValueError for one that is too large, which would become an infinity."""
    value = float(text)
    if value in (INFINITY, -INFINITY):
        raise ValueError("a number is too large")
    return value


class _Scanning:
    """What the C scanner reads of its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = staticmethod(finite)
    parse_int = int
    parse_constant = staticmethod(_reject_constant)


def _c_scanner() -> Callable[[str, int], tuple[object, int]] | None:
    try:
        from _json import make_scanner

        scan: Callable[[str, int], tuple[object, int]] = make_scanner(_Scanning)  # type: ignore[arg-type]
    except Exception:  # another Python: `json` does it all
        return None
    return scan


def _c_encoder() -> Callable[[object, int], tuple[str, ...]] | None:
    try:
        from _json import encode_basestring_ascii, make_encoder

        sort_keys = skip_keys = allow_nan = False
        encode: Callable[[object, int], tuple[str, ...]] = make_encoder(
            None, _not_serializable, encode_basestring_ascii, None, ":", ",", sort_keys, skip_keys, allow_nan
        )
    except Exception:  # another Python: `json` does it all
        return None
    return encode


def _not_serializable(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_scan = _c_scanner()
_encode = _c_encoder()


def loads(text: str) -> object:
    """Return the one JSON value in `text`, which white space may surround.

    Raises ValueError (json.JSONDecodeError if it has a place) for anything else, such as NaN, Infinity, nesting deeper
    than MAX_DEPTH and numbers too long or too large to convert.
    """
    value = _loads(text)
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    return value


def _is_deeper(value: object, most: int) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(most):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [value for values in inside for value in values if isinstance(value, (dict, list))]
        if not level:
            return False
    return True


def _loads(text: str) -> object:
    if _scan is not None:
        try:
            start = 0
            while text[start] in WHITESPACE:
                start += 1
            value, end = _scan(text, start)
            if end == len(text) or not text[end:].strip(WHITESPACE):
                return value
        except Exception:  # noqa: S110  # `json` will say what is wrong
            pass
    return _json_loads(text)


def scan(text: str, start: int) -> tuple[object, int]:
    """Return the JSON value at `start`, and its end. Raises ValueError without one."""
    if _scan is not None:
        try:
            return _scan(text, start)
        except Exception:  # noqa: S110  # `json` will say what is wrong
            pass
    from json import JSONDecoder

    try:
        return JSONDecoder(parse_float=finite, parse_constant=_reject_constant).raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deeply") from None


# The same for files of hookrun's with a right checksum: may raise StopIteration instead of ValueError.
scan_own = _scan or scan


def dumps(value: object) -> str:
    """Return `value` as compact JSON in ASCII.

    Raises TypeError for what has no JSON form, ValueError for NaN, Infinity and too deep nesting.
    """
    if _encode is not None:
        try:
            return "".join(_encode(value, 0))
        except Exception:  # noqa: S110  # `json` will say what is wrong
            pass
    import json

    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dump_lines(values: Iterable[object]) -> str:
    """Return each value as a line of JSON; raises as `dumps`."""
    return "".join([dumps(value) + "\n" for value in values])


def _json_loads(text: str) -> object:
    import json

    try:
        value: object = json.loads(text, parse_float=finite, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def type_name(value: object) -> str:
    """Return the kind of a JSON value in words: `a string`, `an object`, `null`, ..."""
    if value is None:
        return "null"
    kinds: dict[type, str] = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")


def format_value(value: object, limit: int = 60) -> str:
    """Return `value` as ASCII JSON, control characters escaped, cut to `limit` characters."""
    text = dumps(value[:limit] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
