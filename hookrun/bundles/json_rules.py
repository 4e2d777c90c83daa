"""A rule for JSON files: which files, and what must be in them; and what is wrong with one, for the model to read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from hookrun.bundles.plain_text import visible
from hookrun.globs import glob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema.exceptions import ValidationError

    Problems = Iterator[str]

MOST_SHOWN = 10
"""Problems that are told one by one."""
MOST_COUNTED = 1000
"""Problems that are looked for at all."""
LONGEST_VALUE = 60
"""Characters of a value that was found."""
LONGEST_MESSAGE = 240
"""Characters of a message that is not ours, and may quote all of the file."""
KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
"""What JSON calls the values; the rest are numbers."""
EXPECTED = {
    "type": "type {}",
    "enum": "one of {}",
    "const": "{}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "a length of at least {}",
    "maxLength": "a length of at most {}",
    "pattern": "text that matches {}",
    "minItems": "a length of at least {}",
    "maxItems": "a length of at most {}",
    "uniqueItems": "no element twice",
    "minProperties": "members: at least {}",
    "maxProperties": "members: at most {}",
}
"""Keyword of JSON Schema -> what it asks for; what another one asks for is told in the words of `jsonschema`."""


class Rule:
    """What the JSON files of one name have to look like.

    Args:
        pattern: A shell-style glob on the file's name, or, where it has a `/`, on the end of its path.
        schema: A JSON Schema (the object, or the path of a file that holds it), draft 2020-12 unless `$schema` says
            otherwise, `format` not asserted, nothing fetched from elsewhere; or a pydantic model class.

    Raises:
        ImportError: `jsonschema` (for a model: `pydantic`) is not installed: `pip install hookrun[validate]`.
        ValueError: It is no valid JSON Schema.
        OSError: The schema's file cannot be read.

    >>> rule = Rule("*_counts.json", {"type": "object", "required": ["total"]})
    >>> rule.matches("/out/page_counts.json")
    True
    >>> rule.problems('{"totals": 1}')
    ['/total: is missing']
    """

    def __init__(self, pattern: str, schema: Mapping[str, object] | str | os.PathLike[str] | type) -> None:
        self.pattern = pattern
        if isinstance(schema, type):
            self.title, self._check = schema.__name__, _by_model(pattern, schema)
        else:
            if not isinstance(schema, Mapping):
                schema = _read(pattern, schema)
            self.title, self._check = str(schema.get("title") or "its JSON Schema"), _by_schema(pattern, schema)

    def matches(self, path: str) -> bool:
        """Tell whether a file, by its absolute path, falls under this rule."""
        if "/" in self.pattern:
            return glob("*/" + self.pattern.lstrip("/"), path)
        return glob(self.pattern, os.path.basename(path))

    def problems(self, text: str) -> list[str]:
        """Return what is wrong with a text, a line for each problem; the last may say how many more there are."""
        try:
            value = parse(text)
        except ValueError as error:
            return [f"it is not JSON: {error}"]
        found = list(islice(self._check(value, text), MOST_COUNTED + 1))
        shown = [visible(each) for each in found[:MOST_SHOWN]]
        if len(found) > MOST_COUNTED:
            shown.append(f"and more than {MOST_COUNTED - MOST_SHOWN} more")
        elif len(found) > MOST_SHOWN:
            shown.append(f"and {len(found) - MOST_SHOWN} more")
        return shown


def parse(text: str) -> object:
    """Return the value of a JSON text. Raises ValueError with line and column, where they are known.

    Stricter than `json.loads`: NaN and Infinity are not JSON, and no object may have a key twice, since which of the
    two a reader takes is its own affair (RFC 8259, section 4).
    """
    if text.startswith("\ufeff"):
        raise ValueError("line 1, column 1: it begins with a byte-order mark")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def pointer(path: Iterable[str | int]) -> str:
    """Return the JSON Pointer (RFC 6901) of the keys and indexes that lead to a value; `(root)` for the whole."""
    return "".join("/" + str(each).replace("~", "~0").replace("/", "~1") for each in path) or "(root)"


def shown(value: object) -> str:
    """Return what was found, short, with its kind: `"12" (a string)`."""
    kind = KINDS.get(type(value), "a number")
    if value is None or isinstance(value, (dict, list)):
        return f"an empty {kind.split()[1]}" if value in ({}, []) else kind
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + '...'} ({kind})"


def _without_doubles(members: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {json.dumps(double)} stands twice in one object")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_doubles, parse_constant=_no_constant)


def _read(pattern: str, path: str | os.PathLike[str]) -> Mapping[str, object]:
    with open(path, encoding="utf-8") as file:
        try:
            schema = parse(file.read())
        except ValueError as error:
            raise ValueError(f"the schema of {pattern}, {os.fspath(path)}, is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise ValueError(f"the schema of {pattern}, {os.fspath(path)}, holds {shown(schema)}, expected an object")  # noqa: TRY004
    return schema


def _by_schema(pattern: str, schema: Mapping[str, object]) -> Callable[[object, str], Problems]:
    try:
        from jsonschema.exceptions import SchemaError, best_match
        from jsonschema.validators import Draft202012Validator, validator_for
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            f"the rule for {pattern} needs the package jsonschema: pip install hookrun[validate]"
        ) from error
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
    except SchemaError as error:
        raise ValueError(
            f"the schema of {pattern} is no JSON Schema: {pointer(error.absolute_path)}: {_cut(error.message)}"
        ) from error
    validator = kind(dict(schema), registry=REGISTRY)  # the default one fetches what a $ref names

    def check(value: Any, text: str) -> Problems:  # noqa: ARG001  # the one signature of both kinds
        for error in validator.iter_errors(value):
            yield _told(best_match([error]) or error)

    return check


def _told(error: ValidationError) -> str:
    """Return where a problem is, what was found there and what was expected."""
    keyword = str(error.validator)
    wanted: Any = error.validator_value
    if keyword == "required":
        missing = next((name for name in wanted if error.message.startswith(repr(name))), "?")
        return f"{pointer([*error.absolute_path, missing])}: is missing"
    if keyword not in EXPECTED:
        return f"{pointer(error.absolute_path)}: {_cut(error.message)}"
    if keyword == "type":
        expected = " or ".join([wanted] if isinstance(wanted, str) else wanted)
    elif keyword == "enum":
        expected = ", ".join(json.dumps(each, ensure_ascii=False) for each in wanted)
    else:
        expected = json.dumps(wanted, ensure_ascii=False)
    expected = _cut(EXPECTED[keyword].format(expected))
    return f"{pointer(error.absolute_path)}: found {shown(error.instance)}, expected {expected}"


def _by_model(pattern: str, model: type[Any]) -> Callable[[object, str], Problems]:
    try:
        from pydantic import BaseModel, ValidationError
    except ImportError as error:
        raise ImportError(
            f"the rule for {pattern} needs the package pydantic: pip install hookrun[validate]"
        ) from error
    if not issubclass(model, BaseModel):
        raise TypeError(f"the schema of {pattern} is the class {model.__name__}, expected a pydantic model")

    def check(value: object, text: str) -> Problems:  # noqa: ARG001  # from the text, the way pydantic reads JSON
        try:
            model.model_validate_json(text)
        except ValidationError as error:
            for each in error.errors(include_url=False, include_context=False):
                if each["type"] == "missing":
                    yield f"{pointer(each['loc'])}: is missing"
                else:
                    yield f"{pointer(each['loc'])}: found {shown(each['input'])}. {_cut(each['msg'])}"

    return check


def _cut(message: str) -> str:
    """Return a message without its middle where it is long: what was found stands first, what was expected last."""
    half = LONGEST_MESSAGE // 2
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:half]} ... {message[-half:]}"
