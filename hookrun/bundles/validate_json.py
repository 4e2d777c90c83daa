"""Keeps JSON files that do not fit their schema, or do not belong where they are put, from being written."""

from __future__ import annotations

import os
from stat import S_ISREG
from typing import TYPE_CHECKING

from hookrun.bundles.json_rules import Rule
from hookrun.bundles.places import WRITING, named_file, within
from hookrun.bundles.plain_text import visible
from hookrun.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.library.engine import Engine
    from hookrun.library.event_contexts import PreToolUse

__all__ = ["Rule", "ValidateJSON"]

PRIORITY = 900
"""Late: what is checked is what will be written, with the changes of the hooks before it."""

FORMS = (("content",), ("edits",), ("old_string", "new_string"))
"""The arguments that say what is to be written: one form only, for nobody knows which of two a tool goes by."""


class Unclear(Exception):  # noqa: N818  # not an error: something that is told to the model
    """What a file would hold after an edit cannot be known, so it cannot be checked."""


class ValidateJSON:
    """Refuse to write a JSON file (`pre_tool_use` of write and edit) that does not fit its rule.

    The first rule whose pattern matches the file, by the name it was given or the one it has after links were followed,
    is the one that counts; files that match none pass. An edit is made on the file's present content to see what would
    be written. A block tells the model where the problems are (JSON Pointer; line and column where it is not even
    JSON), what was found and what was expected: at most ten, and how many more there are. What cannot be seen is
    refused too: arguments without content, a content and an edit at once, an edit whose `old_string` is not in the
    file exactly once.

    It sees the tools that write and edit files: what a shell command writes is for a hook on `bash`.

    Args:
        rules: `Rule`s, the first one that matches wins.
        output_dir: Where files that match a rule belong, there or anywhere below; elsewhere they are refused with the
            right place named. Links and `..` are resolved before that is judged.
        timeout: Seconds for one file.
        name: The name of the hook in the engine: two of these in one engine need two.

    >>> from hookrun.library.event_contexts import PreToolUse
    >>> validate = ValidateJSON([Rule("*_counts.json", {"properties": {"total": {"type": "integer"}}})])
    >>> args = {"file_path": "/out/a_counts.json", "content": '{"total": "12"}'}
    >>> print(validate.check(PreToolUse(tool_name="write", tool_args=args)).message)
    a_counts.json would not fit its JSON Schema. Correct it and write it again:
    - /total: found "12" (a string), expected type integer
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        output_dir: str | os.PathLike[str] | None = None,
        *,
        timeout: float = 30.0,
        name: str = "validate-json",
    ) -> None:
        self.rules = tuple(rules)
        self.output_dir = None if output_dir is None else os.path.abspath(output_dir)
        self.timeout = timeout
        self.name = name

    def register(self, engine: Engine) -> None:
        """Register for `pre_tool_use` of the tools that write; in a thread, for a large file takes its time."""
        engine.register(
            "pre_tool_use",
            self.check,
            name=self.name,
            matcher=WRITING,
            priority=PRIORITY,
            timeout=self.timeout,
            thread=True,
            on_failure="block",
            description="JSON files are written only if they fit their schema",
        )

    def check(self, ctx: PreToolUse) -> Verdict | None:
        """Return a block with all that is wrong, or None. Raises OSError where the file to edit cannot be read."""
        named = named_file(ctx)
        if named is None:
            return None
        path = os.path.realpath(named)
        rule = next((rule for rule in self.rules if rule.matches(named) or rule.matches(path)), None)
        if rule is None:
            return None
        shown = visible(os.path.basename(named))
        if (place := self._right_place(path)) is not None:
            return Verdict.block(f"{shown} does not belong into {_directory(path)}. Write it to {visible(place)}")
        try:
            text = _text_after(ctx.tool_args, path)
        except Unclear as unclear:
            return Verdict.block(f"{shown} must fit {rule.title}, and cannot be checked: {unclear}")
        problems = rule.problems(text)
        if not problems:
            return None
        listed = "".join(f"\n- {problem}" for problem in problems)
        return Verdict.block(f"{shown} would not fit {rule.title}. Correct it and write it again:{listed}")

    def _right_place(self, path: str) -> str | None:
        """Return where a file belongs, None where it lies there already."""
        if self.output_dir is None or within(path, os.path.realpath(self.output_dir)):
            return None
        return os.path.join(self.output_dir, os.path.basename(path))


def _directory(path: str) -> str:
    return visible(os.path.dirname(path))


def _text_after(args: Mapping[str, object], path: str) -> str:
    """Return what the file will hold once the tool has run. Raises Unclear where that cannot be told."""
    given = [form for form in FORMS if any(name in args for name in form)]
    if len(given) > 1:
        raise Unclear(f"it has both {' and '.join(f'`{form[0]}`' for form in given)}: give one of them")
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
    """Return the text after one edit. Line ends do not count: JSON has them only where they mean nothing."""
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
    """Return what a file holds now, nothing where there is none."""
    try:
        if not S_ISREG(os.stat(path).st_mode):
            raise Unclear("it is there already, and is no regular file")
        with open(path, "rb") as file:
            return file.read().decode().replace("\r\n", "\n")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise Unclear(f"the file is not UTF-8 (byte {error.start})") from error
