"""`fastjson` is `json` without the package: the same values, the same refusals, with the C parts and without them."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Never

import pytest
from hypothesis import given, settings, strategies as st

from hookrun.core import fastjson
from tests.rows import rows

DEEP = 100_000
JSON_SPACE = " \t\n\r"
OTHER_SPACE = "\x0b\x0c\x1c\x1f\x85\u00a0\u2028\u3000\ufeff\x00"


def with_parts(**parts: object) -> ModuleType:
    """Return `fastjson` as it is where `_json` has other parts, or none."""
    spec = importlib.util.find_spec(fastjson.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "_json", SimpleNamespace(**parts) if parts else None)
        spec.loader.exec_module(module)
    return module


def failing_with(error: type[Exception]) -> ModuleType:
    """Return `fastjson` whose C parts fail, as those of a foreign Python may."""

    def fail(*_: object) -> Never:
        raise error

    return with_parts(make_scanner=lambda _: fail, make_encoder=lambda *_: fail, encode_basestring_ascii=fail)


PARTS: dict[str, ModuleType] = {
    "C": fastjson,
    "none": with_parts(),
    "SystemError": failing_with(SystemError),
    "TypeError": failing_with(TypeError),
}
each_part = rows("parts", PARTS.values(), ids=PARTS)


def refuse(name: str) -> Never:
    """Refuse NaN and Infinity, as a reader of strict JSON does."""
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def not_infinite(text: str) -> float:
    """Refuse numbers that `json` reads as infinities, which it cannot write."""
    if abs(value := float(text)) == float("inf"):
        raise ValueError(text)
    return value


def reference_loads(text: str) -> object:
    """Return what `json` reads."""
    return json.loads(text, parse_constant=refuse, parse_float=not_infinite)


def reference_scan(text: str, start: int) -> tuple[object, int]:
    """Return what `json` reads from a place on."""
    return json.JSONDecoder(parse_constant=refuse, parse_float=not_infinite).raw_decode(text, start)


def reference_dumps(value: object) -> str:
    """Return what `json` writes."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def result(function: Callable[..., object], *arguments: object) -> tuple[str, str]:
    """Return the value with its types as text, or which kind of error it was and where."""
    try:
        return "value", repr(function(*arguments))
    except json.JSONDecodeError as error:
        return "JSONDecodeError", str(error)
    except ValueError:
        return "ValueError", ""
    except TypeError:
        return "TypeError", ""
    except RecursionError:
        return "ValueError", ""


characters = st.text(st.characters())
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | characters
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(characters, inner, max_size=5), max_leaves=25
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a value as JSON in one of the many ways to write it."""
    return json.dumps(
        draw(values),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2, "\t"])),
        separators=draw(st.sampled_from([None, (",", ":"), (" ,\r\n", "\t: ")])),
    )


NOISE = st.sampled_from([*JSON_SPACE, *OTHER_SPACE, *'x{}[],:"\\0-', "1e999", "null", "NaN", "\ud800"])


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Return JSON text after a random mutation."""
    text = draw(texts())
    place = draw(st.integers(0, len(text)))
    noise = draw(NOISE)
    kind = draw(st.sampled_from(["cut", "double", "before", "after", "within", "replace", "pad"]))
    spaces = st.text(st.sampled_from(JSON_SPACE + OTHER_SPACE), max_size=4)
    forms: dict[str, str] = {
        "cut": text[:place],
        "double": text + draw(st.sampled_from(["", " ", "\n", ","])) + text,
        "before": noise + text,
        "after": text + noise,
        "within": text[:place] + noise + text[place:],
        "replace": text[:place] + noise + text[place + 1 :],
        "pad": draw(spaces) + text + draw(spaces),
    }
    return forms[kind]


soup = st.text(st.sampled_from('{}[]:,"\\-+.0123456789eEtrufalsn/ub \t\n\r\x0b\x00\u00a0\ud800é'))
anything = texts() | mutated() | soup | characters


@pytest.mark.slow
@given(values)
def test_a_value_written_and_read_is_the_same_value(value: object) -> None:
    """Same types, same order of keys; and what is written needs no encoding and is one line."""
    for parts in PARTS.values():
        text = parts.dumps(value)
        assert repr(parts.loads(text)) == repr(value)
        assert text.isascii()
        assert text.isprintable()


@given(anything)
def test_loads_reads_and_refuses_what_json_does(text: str) -> None:
    """Any text: loads gives the value json gives, or fails with ValueError at the place json names."""
    expected = result(reference_loads, text)
    for part, parts in PARTS.items():
        assert result(parts.loads, text) == expected, part


@settings(max_examples=50)  # with the texts of the test before
@given(anything, st.data())
def test_scan_reads_and_refuses_what_json_does(text: str, data: st.DataObject) -> None:
    """Any text and any place in it: scan gives the value and the end that json gives, or ValueError as json."""
    start = data.draw(st.integers(0, len(text)))
    expected = result(reference_scan, text, start)
    for part, parts in PARTS.items():
        assert result(parts.scan, text, start) == expected, part


@pytest.mark.slow
@given(texts(), characters, characters)
def test_scan_finds_a_value_within_other_text(text: str, before: str, after: str) -> None:
    """A value with a comma after it is read from its place, and the end is the place of the comma."""
    for parts in PARTS.values():
        value, end = parts.scan(f"{before}{text},{after}", len(before))
        assert (repr(value), end) == (repr(json.loads(text)), len(before) + len(text))


@given(
    st.recursive(
        scalars | st.floats() | st.binary(max_size=2) | st.builds(object) | st.frozensets(st.integers(), max_size=1),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(
                characters | numbers | st.booleans() | st.none() | st.floats() | st.binary(), inner, max_size=3
            )
        ),
        max_leaves=10,
    )
)
def test_dumps_writes_and_refuses_what_json_does(value: object) -> None:
    """Any Python value: dumps gives the text json gives, or the same kind of error."""
    expected = result(reference_dumps, value)
    for part, parts in PARTS.items():
        assert result(parts.dumps, value) == expected, part


ODD_TEXTS = [
    *("", "1 ", " \t\n\r", "\ufeff{}", '{"a":1,"a":2}', '"\ud800"', '"\\ud800"', "-0", "1E400"),
    *("NaN", "Infinity", "-Infinity", "[NaN]", '{"a":-Infinity}', " Infinity "),
    *("1" * 4300, "1" * 4301, "[-" + "9" * 5000 + "]"),
    *(f"{space}{space}[1]{space}{space}" for space in JSON_SPACE),
    *(text for space in OTHER_SPACE for text in (f"{space}[1]", f"[1]{space}", f" {space}[1]", f"[1,{space}2]")),
]


@each_part
@rows("text", ODD_TEXTS)
def test_an_odd_text_is_read_or_refused_as_by_json(text: str, parts: ModuleType) -> None:
    """Constants, white space that is none in JSON, byte-order marks, and numbers that are too long to convert."""
    start = len(text) - len(text.lstrip())
    assert result(parts.loads, text) == result(reference_loads, text)
    assert result(parts.scan, text, start) == result(reference_scan, text, start)


@each_part
def test_a_value_without_a_json_form_is_refused(parts: ModuleType) -> None:
    """NaN and the infinities at any depth, a number too long, a cycle, and what is nested too deeply."""
    circle: list[object] = []
    circle.append(circle)
    deep: object = 1
    for _ in range(DEEP):
        deep = [deep]
    numbers = [float("nan"), float("inf"), float("-inf")]
    values = [(each, "JSON compliant") for number in numbers for each in (number, [number], {"a": {"b": number}})]
    for value, message in (*values, (10**5000, "4300"), (circle, "Circular"), (deep, "nested too deeply")):
        with pytest.raises(ValueError, match=message):
            parts.dumps(value)


@each_part
@rows(
    "text",
    ["[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, '[{"":' * DEEP],
    ids=["open lists", "lists", "open objects", "objects", "both"],
)
def test_a_hundred_thousand_brackets_are_an_error_and_no_crash(text: str, parts: ModuleType) -> None:
    """Nesting too deep is ValueError, never RecursionError and never the end of the process."""
    with pytest.raises(ValueError, match="nested too deeply"):
        parts.loads(text)
    with pytest.raises(ValueError, match="nested too deeply"):
        parts.scan(text, 0)


@each_part
@rows("form", ["[{}]", '{{"a": {}}}', '[{{"a": {}}}]'])
def test_up_to_200_levels_are_read_and_one_more_is_not(parts: ModuleType, form: str) -> None:
    """The bound is ours and the same on every Python: beyond it there is a ValueError, however the text is built."""
    levels = form.count("[") + form.count("{{")
    for depth in (1, 100, 200, 202, 400, 1000, 2000):
        text = "0"
        for _ in range(depth // levels):
            text = form.format(text)
        if depth <= 200:
            assert parts.loads(text) == json.loads(text)
        else:
            with pytest.raises(ValueError, match="nested"):
                parts.loads(text)
