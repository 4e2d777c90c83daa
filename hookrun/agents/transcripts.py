"""Read tool calls and prompts from the transcripts that agents keep, as the messages that their hooks would have got.

A format is data, in `transcripts.json`: which lines hold what, and under which keys.

Sources: the files that Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, Qwen Code 0.24.4, Copilot CLI 1.0.102 and
OpenCode 1.18.33 wrote with a scripted model, whose hooks refused and changed calls (in tests/replay/transcripts).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

from hookrun.agents import load
from hookrun.agents.base import Message, knows_tool
from hookrun.agents.known_tools import name_unknown_tool
from hookrun.core.fastjson import dumps
from hookrun.core.files import read_or_none

Json = dict[str, object]

# The result of a call: it ran; a hook, the user or a rule of the agent's refused it; hooks changed it; not known.
RAN, REFUSED, DECLINED, CHANGED, UNKNOWN = "ran", "refused", "declined", "changed", "unknown"
# Not a call: a text of the model's.
SAID = "said"


class LineRule(NamedTuple):
    """Lines whose values at `where` are these hold, in the list at `each` or themselves, what has the key `having`.

    `kind` is a `session`, a `prompt`, a `call`, a `result`, a `change` or SAID; `fields` are the paths of its parts.
    """

    kind: str
    where: Mapping[str, str]
    fields: Mapping[str, str]
    each: str = ""
    having: str = ""


class Format(NamedTuple):
    """An agent's transcripts: `files` below its directory, or the home, and what their lines hold.

    `sign` is at the beginning of each. A line without any of the `marks` holds nothing, but `said` marks the model's
    texts. `refused` and `declined` begin
    results that say so, `unclear` those that may. `tools` and `arguments` are the model's names, where hooks get
    others; `unseen` are tools without an event. Lines with `turn` begin a turn, before which each call has its result.
    With `failure_event` a failed tool has its own event, with `own_ids` hooks get other ids of calls. `root_file`, from
    a transcript's directory, holds the project's. One that `is_late` is written behind the events.
    """

    files: Sequence[str]
    sign: bytes
    marks: Sequence[bytes]
    rules: Sequence[LineRule]
    turn: bytes
    said: bytes = b""
    refused: str = r"(?!)"
    declined: str = r"(?!)"
    unclear: str = r"(?!)"
    tools: Mapping[str, str] = {}
    arguments: Mapping[str, str] = {}
    unseen: Sequence[str] = ()
    failure_event: bool = False
    root_file: str = ""
    own_ids: bool = False
    is_late: bool = False


LINE = {"session_id": "sessionId", "cwd": "cwd", "time": "timestamp"}
DATABASE = b"SQLite format 3"
MARKS = ("sign", "turn", "said")


def _format(given: Mapping[str, Any]) -> Format:
    fields = {name: value.encode() if name in MARKS else value for name, value in given.items()}
    rules = [LineRule(**each) for each in given["rules"]]
    return Format(**{**fields, "rules": rules, "marks": [each.encode() for each in given["marks"]]})


with open(__file__.removesuffix("py") + "json", "rb") as file:
    FORMATS: dict[str, Format] = {name: _format(each) for name, each in json.load(file).items()}


class Entry:
    """A call in a transcript, or a prompt (without a `tool`), and its result.

    `session_id`, `cwd` and `time` (ISO 8601, UTC) are those of its line, which is the `at`th; `text` is a prompt, or a
    call's result.
    """

    __slots__ = ("args", "at", "call_id", "cwd", "failed", "response", "session_id", "text", "then", "time", "tool")

    def __init__(self, about: Mapping[str, object], call_id: str, tool: str, args: object) -> None:
        self.session_id, self.cwd, self.time = (str(about.get(name) or "") for name in ("session_id", "cwd", "time"))
        self.call_id, self.tool, self.args = call_id, tool, args
        self.text, self.failed, self.then, self.at = "", False, UNKNOWN, 0
        self.response: object = None


def _at(value: object, path: str) -> object:
    """Return the value at a dotted path, with the indices of lists; None without one."""
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _parts(rules: Iterable[LineRule], line: Json) -> Iterator[tuple[str, Json]]:
    """Yield what a line holds: its kind and its parts, a path that begins with `^` being the line's."""
    for kind, where, fields, each, having in rules:
        if any((_at(line, path) or "") != value for path, value in where.items()):
            continue
        found = _at(line, each) if each else line
        for item in found if isinstance(found, list) else [found]:
            if isinstance(item, dict) and (not having or having in item):
                yield kind, {name: _at(line, at[1:]) if at[0] == "^" else _at(item, at) for name, at in fields.items()}


def entries(
    agent: str,
    lines: Iterable[bytes],
    about: Mapping[str, object],
    loads: Callable[[bytes], object] = json.loads,
    *,
    with_texts: bool = False,
) -> Iterator[Entry | None]:
    """Yield an agent's calls and prompts in the lines of one session; None for each line that cannot be read.

    `about` is what is known of the session before its first line. `loads` reads a line; `with_texts` adds the model's.
    """
    format_ = FORMATS[agent]
    marks = [*format_.marks, *([format_.said] if with_texts else [])]
    rules = [rule for rule in format_.rules if with_texts or rule.kind != SAID]
    now: Json = dict(about)
    calls: dict[str, Entry] = {}
    for number, text in enumerate(lines):
        if not any(mark in text for mark in marks):
            continue
        try:
            line = loads(text)
        except ValueError:
            yield None
            continue
        if not isinstance(line, dict):
            continue
        now.update({name: value for name, at in LINE.items() if isinstance(value := line.get(at), str)})
        for kind, parts in _parts(rules, line):
            if kind == "session":
                now.update({name: value for name, value in parts.items() if isinstance(value, str)})
            elif kind in ("prompt", SAID) and (message := _message(kind, now, parts)) is not None:
                message.at = number
                yield message
            elif kind == "call" and (call := _call(format_, now, parts)) is not None:
                call.at = calls[call.call_id].at if call.call_id in calls else number
                calls[call.call_id] = call
            elif kind in ("result", "change") and (known := calls.get(str(parts["id"]))) is not None:
                (_take_result if kind == "result" else _take_change)(format_, known, parts)
    yield from calls.values()


def _message(kind: str, now: Json, parts: Json) -> Entry | None:
    text = parts["text"]
    if not isinstance(text, str) or parts.get("thought") or not (text := _prompt(text) if kind == "prompt" else text):
        return None
    message = Entry({**now, **parts}, "", "", None)
    message.text, message.then = text, RAN if kind == "prompt" else SAID
    return message


def _prompt(text: str) -> str:
    """Return a prompt as hooks get it, empty for what the agent itself or only a hook wrote."""
    own = re.sub(r"\s*<hook_context>.*?</hook_context>\s*", "", text, flags=re.DOTALL)
    return text if own and not own.startswith(("<command-", "<local-command", "<session_context>", "<bash-")) else ""


def _call(format_: Format, now: Json, parts: Json) -> Entry | None:
    tool, args = parts["tool"], parts.get("args")
    if "command" in parts:
        args = {"command": parts["command"]}
    elif isinstance(args, str):
        with suppress(ValueError):
            args = json.loads(args)
    if not isinstance(tool, str) or tool in format_.unseen:
        return None
    if isinstance(args, dict) and tool in format_.tools:
        args = {format_.arguments.get(name, name): value for name, value in args.items()}
    return Entry({**now, **parts}, str(parts["id"]), format_.tools.get(tool, tool), args)


def _take_result(format_: Format, call: Entry, parts: Json) -> None:
    error, text = parts.get("error"), parts.get("text")
    call.text = error if isinstance(error, str) else text if isinstance(text, str) else dumps(text)
    call.response = parts.get("response")
    call.failed = isinstance(error, str) or parts.get("failed") is True
    told = f"{parts['status']} {call.text}" if isinstance(parts.get("status"), str) else call.text
    kinds = ((REFUSED, format_.refused), (DECLINED, format_.declined), (UNKNOWN, format_.unclear))
    ran = CHANGED if call.then == CHANGED else RAN
    call.then = next((kind for kind, beginning in kinds if re.match(beginning, told)), ran)


def _take_change(_format: Format, call: Entry, parts: Json) -> None:
    line = parts.get("line")
    other = isinstance(line, str) and isinstance(call.args, dict) and line != call.args.get("command")
    if other or '"updatedInput"' in str(parts.get("answer")):
        call.then = CHANGED


# --- the messages that hooks would have got


def _claude_style(native: str, entry: Entry) -> Json:
    message: Json = {"session_id": entry.session_id, "cwd": entry.cwd, "hook_event_name": native}
    if not entry.tool:
        return {**message, "prompt": entry.text}
    return {**message, "tool_name": entry.tool, "tool_input": entry.args, "tool_use_id": entry.call_id}


def _plugin_style(native: str, entry: Entry) -> Json:
    about: Json = {"sessionID": entry.session_id}
    message: Json = {"hook": native, "directory": entry.cwd, "worktree": entry.cwd, "input": about}
    if not entry.tool:
        return {**message, "output": {"parts": [{"type": "text", "text": entry.text}]}}
    about.update(tool=entry.tool, callID=entry.call_id)
    return {**message, "output": {"args": entry.args}}


def messages(agent: str, entry: Entry) -> Iterator[tuple[str, Message]]:
    """Yield the messages with which the agent fires an entry, each with hookrun's name of its event."""
    module = load(agent)
    native = {ours: theirs for theirs, ours in reversed(module.EVENTS.items())}
    style = _plugin_style if agent == "opencode" else _claude_style
    before = "pre_tool_use" if entry.tool else "user_prompt_submit"
    payload = style(native[before], entry)
    yield before, _read(agent, payload, native[before])
    if entry.tool and entry.then in (RAN, CHANGED):
        after = "post_tool_use"
        if entry.failed and FORMATS[agent].failure_event:
            after = "post_tool_failure"
        payload = style(native[after], entry)
        yield after, _read(agent, payload | RESULTS.get(agent, _result)(entry), native[after])


def _result(entry: Entry) -> Json:
    result = entry.response if isinstance(entry.response, dict) else entry.text
    return {"error": entry.text} if entry.failed else {"tool_response": result}


RESULTS: dict[str, Callable[[Entry], Json]] = {
    "gemini": lambda entry: {"tool_response": {"llmContent": entry.text}},
    "codex": lambda entry: {"tool_response": entry.text},
    "qwen": lambda entry: {"tool_response": entry.text},
    "copilot": lambda entry: {
        "tool_result": {"result_type": "failure" if entry.failed else "success", "text_result_for_llm": entry.text}
    },
    "opencode": lambda entry: {"output": {"args": entry.args, "output": entry.text}},
}


def about(agent: str, path: str, first: bytes) -> Json:
    """Return what a transcript says of its session at its beginning: the first line, and the project's directory."""
    found: Json = {}
    if (root_file := FORMATS[agent].root_file) and (root := read_or_none(f"{os.path.dirname(path)}/{root_file}")):
        found["cwd"] = root.decode("utf-8", "replace").strip()
    try:
        line = json.loads(first)
    except ValueError:
        return found
    for kind, parts in _parts(FORMATS[agent].rules, line) if isinstance(line, dict) else ():
        if kind == "session":
            found.update(parts)
    return found


def exported(database: str, directory: str) -> str:
    """Write the tool calls and prompts in a database of sessions as lines, and return their file in the directory.

    The database is read from a copy, as reading would write into its own log. Raises OSError or sqlite3.Error.
    """
    import sqlite3

    copy, path = f"{directory}/sessions.db", f"{directory}/sessions.jsonl"
    for end in ("", "-wal"):
        if os.path.exists(database + end):
            shutil.copyfile(database + end, copy + end)
    with closing(sqlite3.connect(copy)) as connection, open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for (line,) in connection.execute(PARTS_OF_SESSIONS))
    return path


# Each part of a message that is a tool call or what the user wrote, with its session.
PARTS_OF_SESSIONS = """
SELECT json_set(
    part.data, '$.sessionId', session.id, '$.cwd', session.directory,
    '$.timestamp', strftime('%Y-%m-%dT%H:%M:%fZ', part.time_created / 1000.0, 'unixepoch')
)
FROM part JOIN message ON message.id = part.message_id JOIN session ON session.id = part.session_id
WHERE json_extract(part.data, '$.type') = 'tool' OR (
    json_extract(part.data, '$.type') = 'text' AND json_extract(part.data, '$.synthetic') IS NULL
    AND json_extract(message.data, '$.role') = 'user'
)
ORDER BY part.time_created, part.id
"""


def _read(agent: str, payload: Json, native: str) -> Message:
    module = load(agent)
    message = module.read(payload, native)
    if not knows_tool(module, message):
        name_unknown_tool(module, message)
    return message
