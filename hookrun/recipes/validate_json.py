"""Block writing JSON files that do not match their schema or go to the wrong directory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from hookrun import Verdict
from hookrun.core.fastjson import type_name
from hookrun.core.files import is_within
from hookrun.core.globs import glob
from hookrun.core.text import escape
from hookrun.recipes.paths import WRITING_TOOLS, named_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema.exceptions import ValidationError

    from hookrun import Engine
    from hookrun.events import PreToolUse

    Problems = Iterator[str]

# Late: the check sees earlier hooks' changes.
PRIORITY = 900

# The arguments with the new content: only one form is accepted, as a tool may use either of two.
ARGUMENT_FORMS = (("content",), ("edits",), ("old_string", "new_string"))


# Problems listed, and problems looked for.
MAX_SHOWN, MAX_COUNTED = 10, 1000
# Characters of a value, and of a validator's message, which may quote the whole file.
MAX_VALUE, MAX_MESSAGE = 60, 240
# Keyword of JSON Schema -> what a value must be; others show the message of `jsonschema`.
EXPECTED = {
    "type": "of type {}",
    "enum": "one of {}",
    "const": "{}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "of length at least {}",
    "maxLength": "of length at most {}",
    "pattern": "text that matches {}",
    "minItems": "of length at least {}",
    "maxItems": "of length at most {}",
    "uniqueItems": "without duplicate elements",
    "minProperties": "an object with at least {} members",
    "maxProperties": "an object with at most {} members",
}


class Rule:
    """A JSON Schema or pydantic model for the JSON files of one name.

    Args:
        pattern: A shell-style glob for the file's name, or with a `/`, for the end of its path.
        schema: A JSON Schema (the object, or the path of a file that holds it), draft 2020-12 unless `$schema` says
            otherwise, `format` not asserted, nothing fetched from elsewhere; or a pydantic model class.

    Raises:
        ImportError: `jsonschema` (for a model: `pydantic`) is not installed: `pip install hookrun[validate]`.
        ValueError: It is not a valid JSON Schema.
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
        """Return whether the rule applies to a file, given its absolute path."""
        if "/" in self.pattern:
            return glob("*/" + self.pattern.lstrip("/"), path)
        return glob(self.pattern, os.path.basename(path))

    def problems(self, text: str) -> list[str]:
        """Return the problems of a text, one per line; the last line may say how many more there are."""
        try:
            value = parse(text)
        except ValueError as error:
            return [f"it is not JSON: {error}"]
        found = list(islice(self._check(value, text), MAX_COUNTED + 1))
        shown = [escape(each) for each in found[:MAX_SHOWN]]
        if len(found) > MAX_COUNTED:
            shown.append(f"and more than {MAX_COUNTED - MAX_SHOWN} more")
        elif len(found) > MAX_SHOWN:
            shown.append(f"and {len(found) - MAX_SHOWN} more")
        return shown


def parse(text: str) -> object:
    """Return a JSON text's value. Raises ValueError, with line and column if known.

    Stricter than `json.loads`: it rejects NaN and Infinity, which are not JSON, and duplicate keys, which readers treat
    differently (RFC 8259, section 4).
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
    """Return the JSON Pointer (RFC 6901) for these keys and indexes; `(root)` for the whole document."""
    return "".join("/" + str(each).replace("~", "~0").replace("/", "~1") for each in path) or "(root)"


def shown(value: object) -> str:
    """Return a value, shortened, with its type: `"12" (a string)`."""
    kind = type_name(value)
    if value is None or isinstance(value, (dict, list)):
        return f"an empty {kind.split()[1]}" if value in ({}, []) else kind
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{text if len(text) <= MAX_VALUE else text[:MAX_VALUE] + '...'} ({kind})"


def _without_duplicates(members: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {json.dumps(duplicate)} in one object")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_constant=_no_constant)


def _read(pattern: str, path: str | os.PathLike[str]) -> Mapping[str, object]:
    with open(path, encoding="utf-8") as file:
        try:
            schema = parse(file.read())
        except ValueError as error:
            raise ValueError(f"the schema of {pattern}, {os.fspath(path)}, is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise ValueError(f"the schema of {pattern}, {os.fspath(path)}, must be an object, not {shown(schema)}")  # noqa: TRY004
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
            f"the schema of {pattern} is not a JSON Schema: {pointer(error.absolute_path)}: {_cut(error.message)}"
        ) from error
    validator = kind(dict(schema), registry=REGISTRY)  # the default registry fetches remote $refs

    def check(value: Any, text: str) -> Problems:  # noqa: ARG001  # same signature as for models
        for error in validator.iter_errors(value):
            yield _describe(best_match([error]) or error)

    return check


def _describe(error: ValidationError) -> str:
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
    return f"{pointer(error.absolute_path)}: must be {expected}, not {shown(error.instance)}"


def _by_model(pattern: str, model: type[Any]) -> Callable[[object, str], Problems]:
    try:
        from pydantic import BaseModel, ValidationError
    except ImportError as error:
        raise ImportError(
            f"the rule for {pattern} needs the package pydantic: pip install hookrun[validate]"
        ) from error
    if not issubclass(model, BaseModel):
        raise TypeError(f"the schema of {pattern} must be a pydantic model, not the class {model.__name__}")

    def check(value: object, text: str) -> Problems:  # noqa: ARG001  # pydantic reads the text itself
        try:
            model.model_validate_json(text)
        except ValidationError as error:
            for each in error.errors(include_url=False, include_context=False):
                if each["type"] == "missing":
                    yield f"{pointer(each['loc'])}: is missing"
                else:
                    yield f"{pointer(each['loc'])}: {_cut(each['msg'])} (value: {shown(each['input'])})"

    return check


def _cut(message: str) -> str:
    """Return a long message without its middle: beginning and end matter most."""
    half = MAX_MESSAGE // 2
    return message if len(message) <= MAX_MESSAGE else f"{message[:half]} ... {message[-half:]}"


class Unclear(Exception):  # noqa: N818  # not an error: a reason for the model
    """A file's content after an edit is unknown, so it cannot be checked."""


@dataclass(eq=False)
class ValidateJSON:
    """Block writing a JSON file (`pre_tool_use` of write and edit) that does not match its rule.

    The first rule whose pattern matches the file, by its given path or with links resolved, applies; files that match
    no rule pass. An edit is applied to the file's present content to see what would be written. The message lists up to
    ten problems, each with its place (JSON Pointer; line and column for invalid JSON) and the faulty value. What cannot
    be determined is blocked too: arguments without content, content and an edit at once, an edit whose `old_string` is
    not in the file exactly once.

    It checks the tools that write and edit files, not shell commands.

    Args:
        rules: `Rule`s; the first one that matches applies.
        output_dir: Where files that match a rule belong, there or anywhere below; elsewhere they are blocked, and the
            message names the right place. Links and `..` are resolved first.
        timeout: Seconds for one file.
        name: The name of the hook in the engine: two of these in one engine need two.

    >>> from hookrun.events import PreToolUse
    >>> validate = ValidateJSON([Rule("*_counts.json", {"properties": {"total": {"type": "integer"}}})])
    >>> args = {"file_path": "/out/a_counts.json", "content": '{"total": "12"}'}
    >>> print(validate.check(PreToolUse(tool_name="write", tool_args=args)).message)
    a_counts.json does not match its JSON Schema. Fix it and write it again:
    - /total: must be of type integer, not "12" (a string)
    """

    rules: Iterable[Rule]
    output_dir: str | os.PathLike[str] | None = None
    _: KW_ONLY
    timeout: float = 30.0
    name: str = "validate-json"

    def __post_init__(self) -> None:
        self.rules = tuple(self.rules)
        if self.output_dir is not None:
            self.output_dir = os.path.abspath(self.output_dir)

    def register(self, engine: Engine) -> None:
        """Register for `pre_tool_use` of the tools that write; in a thread, since a large file takes long."""
        engine.register(
            "pre_tool_use",
            self.check,
            name=self.name,
            matcher=WRITING_TOOLS,
            priority=PRIORITY,
            timeout=self.timeout,
            thread=True,
            on_failure="block",
            description="block JSON files that do not match their schema",
        )

    def check(self, ctx: PreToolUse) -> Verdict | None:
        """Return a block that lists the problems, or None. Raises OSError if the file to edit cannot be read."""
        named = named_file(ctx)
        if named is None:
            return None
        path = os.path.realpath(named)
        rule = next((rule for rule in self.rules if rule.matches(named) or rule.matches(path)), None)
        if rule is None:
            return None
        shown = escape(os.path.basename(named))
        if self.output_dir is not None and not is_within(path, os.path.realpath(self.output_dir)):
            place = os.path.join(self.output_dir, os.path.basename(path))
            return Verdict.block(
                f"{shown} does not belong in {escape(os.path.dirname(path))}. Write it to {escape(place)}"
            )
        try:
            text = _text_after(ctx.tool_args, path)
        except Unclear as unclear:
            return Verdict.block(f"{shown} must match {rule.title} but cannot be checked: {unclear}")
        problems = rule.problems(text)
        if not problems:
            return None
        listed = "".join(f"\n- {problem}" for problem in problems)
        return Verdict.block(f"{shown} does not match {rule.title}. Fix it and write it again:{listed}")


def _text_after(args: Mapping[str, object], path: str) -> str:
    """Return the file's content after the tool's run. Raises Unclear if unknown."""
    given = [form for form in ARGUMENT_FORMS if any(name in args for name in form)]
    if len(given) > 1:
        raise Unclear(f"the call has both {' and '.join(f'`{form[0]}`' for form in given)}: give one of them")
    if "content" in args:
        return _text(args, "content")
    edits = args.get("edits", [args])
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        raise Unclear("`edits` is not a list of objects")
    text = _present(path)
    for edit in edits:
        text = _edited(text, edit)
    return text


def _edited(text: str, edit: Mapping[str, object]) -> str:
    """Return the text after one edit. Line ends are ignored: in JSON they have no meaning."""
    old, new = (_text(edit, name).replace("\r\n", "\n") for name in ("old_string", "new_string"))
    if not old:
        if text:
            raise Unclear("`old_string` is empty and the file is not")
        return new
    count = text.count(old)
    if count == 0:
        raise Unclear("`old_string` is not in the file")
    if count > 1 and edit.get("replace_all") is not True:
        raise Unclear(f"`old_string` is {count} times in the file: make it unique, or set `replace_all`")
    return text.replace(old, new)


def _text(args: Mapping[str, object], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise Unclear(f"`{name}` is not a string")
    return value


def _present(path: str) -> str:
    try:
        if not S_ISREG(os.stat(path).st_mode):
            raise Unclear("it exists and is not a regular file")
        with open(path, "rb") as file:
            return file.read().decode().replace("\r\n", "\n")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise Unclear(f"the file is not UTF-8 (byte {error.start})") from error
