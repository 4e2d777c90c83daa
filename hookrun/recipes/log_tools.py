"""The recipe `log-tools`: logs every tool call and its result as a line of JSON, without credentials."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from functools import lru_cache

from hookrun.core.credentials import HIDDEN, redact
from hookrun.core.files import rotate
from hookrun.core.state import make_private_dir, timestamp
from hookrun.recipes import paths, recipe_state
from hookrun.recipes.output_excerpt import LOOKAHEAD
from hookrun.recipes.recipe import Option, Recipe, count, fail_option, option, yes

NAME = "log-tools"
LOGGED = ("session_id", "agent", "agent_id", "working_dir", "tool_name", "tool_use_id")
# Characters logged of a value.
MAX_VALUE = 10_000
# The size at which the log is rotated.
MAX_BYTES = 10 << 20
# Nesting levels of a value; deeper ones are logged as text.
MAX_DEPTH = 50
# Limit on an object with long members, as a multiple of `longest`.
MAX_MEMBERS = 8

RECIPE = Recipe(
    NAME,
    "Log every tool call and its result to a JSON Lines file, with credentials redacted.",
    options=(
        Option(
            "file",
            "",
            "Path of the log, ending in `.jsonl`: relative to the project root, absolute or with `~/`. Empty: "
            "`~/.local/state/hookrun/recipes/log-tools/tools.jsonl`.",
        ),
        Option("redact", "yes", "Whether to redact credentials.", yes),
        Option("longest", str(MAX_VALUE), "Maximum number of characters to keep of one argument or result.", count),
        Option("max_bytes", str(MAX_BYTES), "Size at which the log is rotated (to `.1`, `.2` and so on).", count),
        Option("keep", "5", "Number of rotated files to keep.", count),
    ),
    catches="""
        - A line when a call is requested (`pre_tool`) and one when it has finished (`post_tool`, with output and
          error), with time, session and agent. A blocked call has only the first.
        - Parallel calls: each line is one append.
        - The result as other hooks have left it: an output that they redacted is logged redacted. With `priority: 0` in
          its config entry, log-tools sees the original.
        - If the log cannot be written, you get a warning and the call continues.
    """,
    misses="""
        - Credentials without a recognizable form or name.
        - Prompts and answers.
        - Tools for which the agent runs no hooks.
        - A call that a hook of a later layer changes is logged twice, before and after.
    """,
)


class LogSanitizer:
    """Prepare values for a log: JSON, with `redact` without credentials, at most `longest` characters each."""

    def __init__(self, longest: int, *, redact: bool) -> None:
        self._longest = longest
        self._redact = redact

    def value(self, value: object, name: str = "") -> object:
        """Return the loggable form of a value called `name`.

        Long strings in it are cut. If it is still too long, an object keeps its members, each cut, and at last becomes
        a string: its JSON's beginning.
        """
        known = self._json(value, name, 0)
        if isinstance(known, dict) and len(_dumps(known)) > self._longest:
            known = {key: self._cut_json(each) for key, each in known.items()}
            return known if len(_dumps(known)) <= self._longest * MAX_MEMBERS else self._cut_json(known)
        return self._cut_json(known)

    def text(self, text: str, name: str = "") -> str:
        """Return the loggable form of a string called `name`."""
        if self._redact and _is_secret(name):
            return HIDDEN
        kept = text[: self._longest + LOOKAHEAD]
        if self._redact:
            kept = redact(kept)
        return kept if len(text) <= self._longest else f"{kept[: self._longest]}... ({len(text)} characters)"

    def _cut_json(self, value: object) -> object:
        if value is None or isinstance(value, (str, bool, float)) or len(text := _dumps(value)) <= self._longest:
            return value
        return f"{text[: self._longest]}... ({len(text)} characters of JSON)"

    def _json(self, value: object, name: str, depth: int) -> object:
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if depth < MAX_DEPTH and isinstance(value, Mapping):
            return {str(key): self._json(each, str(key), depth + 1) for key, each in value.items()}
        if depth < MAX_DEPTH and isinstance(value, (list, tuple, set, frozenset)):
            return [self._json(each, name, depth + 1) for each in value]
        return self.text(value if isinstance(value, str) else str(value), name)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    """Return whether `redact` hides a value by its name: `max_tokens` is none. Ends of names count in capitals only."""
    member = f'"{name.upper()}": "12345678"'
    return redact(member) != member


def append_line(path: str, line: str) -> None:
    """Append a line in one write. Raises OSError, also if only a part fits, which is removed again."""
    data = line.encode("utf-8", "backslashreplace")  # the escape of half a surrogate pair is JSON, too
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        written = os.write(fd, data)
        if written != len(data):
            size = os.lseek(fd, 0, os.SEEK_CUR)
            if os.fstat(fd).st_size == size:  # no other process has appended meanwhile
                os.ftruncate(fd, size - written)
            raise OSError(f"{path}: no space left for the line")
    finally:
        os.close(fd)


def append_entry(path: str, entry: Mapping[str, object], sanitizer: LogSanitizer) -> None:
    """Append an entry as a line of JSON, values sanitized. Raises OSError."""
    line = {str(name): sanitizer.value(value, str(name)) for name, value in entry.items()}
    append_line(path, json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")


# Last, to log the call as it runs. A full disk must not stop the agent: the failure is reported.
@RECIPE.hook(
    ["pre_tool_use", "post_tool_use", "post_tool_failure"],
    "Log tool calls and their results",
    priority=1000,
    always=True,
    timeout=10,
    on_failure="continue",
)
def check(context: Mapping[str, object]) -> None:
    """Append a call's line; the hook fails if that fails."""
    path = _file(context)
    longest, max_bytes, keep = count(RECIPE, "longest"), count(RECIPE, "max_bytes"), count(RECIPE, "keep")
    before = context.get("event") == "pre_tool_use"
    entry: dict[str, object] = {"timestamp": context.get("timestamp") or timestamp()}
    entry["event_type"] = "pre_tool" if before else "post_tool"
    entry.update({name: context[name] for name in LOGGED if context.get(name) is not None})
    entry["tool_input"] = context.get("tool_args")
    if not before:
        entry["tool_output"] = context.get("tool_result_output")
        entry["error"] = context.get("tool_result_error")
    try:
        if path.startswith(recipe_state.directory(NAME)):
            make_private_dir(os.path.dirname(path))
        append_entry(path, entry, LogSanitizer(longest, redact=yes(RECIPE, "redact")))
        if os.path.getsize(path) > max_bytes:
            rotate(path, max_bytes, keep)
    except OSError as error:
        why = f"{error.filename or path}: {error.strerror}" if error.strerror else str(error)
        raise SystemExit(f"{NAME}: {why}") from None


def _file(context: Mapping[str, object]) -> str:
    path = option(RECIPE, "file").strip()
    if not path:
        return f"{recipe_state.directory(NAME)}/tools.jsonl"
    if not path.endswith(".jsonl"):
        fail_option(RECIPE, "file", "a file name that ends in .jsonl")
    return os.path.join(paths.project_root(context), os.path.expanduser(path))
