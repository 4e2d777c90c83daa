"""A session's transcript in Claude Code's form, for its hooks under other agents.

It is translated from the agent's own where `transcripts` reads that, else it has the events that such hooks got. It is
kept only for sessions in which one runs. docs/reference/claude-compat.md has what it lacks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hookrun.agents import transcripts
from hookrun.agents.base import UnreadableMessageError
from hookrun.claude.hook_protocol import native_arguments, native_tool, response
from hookrun.core.fastjson import dumps
from hookrun.core.files import open_regular, read_or_none
from hookrun.core.state import STATE_DIR, file_name_for, open_private, remove_oldest, report_bug

Context = Mapping[str, object]

DIRECTORY = STATE_DIR + "/transcripts"
# Transcripts kept; the bytes of one, of the end of an agent's own that is read, and of the beginning that tells whose.
MAX_FILES, MAX_BYTES, BEGINNING = 64, 1 << 20, 1 << 16

USER, ASSISTANT = "user", "assistant"
UUID = b'"uuid":"'


class TranscriptLine(NamedTuple):
    """A line: the `role` and `content` of its message, its `time` (ISO 8601); `key` begins the content of a call.

    `result` is what a tool returned, in the form of Claude Code's.
    """

    role: str
    content: Any
    time: object
    cwd: object
    key: str = ""
    result: object = None


def keep(home: str, context: Context) -> str | None:
    """Bring the transcript of a context's session up to date. Return its path, None if there can be none."""
    agent, session = str(context.get("agent")), context.get("session_id")
    if not isinstance(session, str):
        return None
    path = f"{home}{DIRECTORY}/{file_name_for(agent, session)}.jsonl"
    try:
        now = list(_of(context))
        lines = _translated(agent, context.get("transcript_path"))
        before = read_or_none(path) or b""
        whole = before[: before.rfind(b"\n") + 1]  # the rest is of a process that was killed while it wrote
        if lines is not None:  # its last texts may be on their way
            if transcripts.FORMATS[agent].is_late:
                lines += _not_yet_in(lines, whole)
            texts = [line for line in now if not line.key]
            lines += [line for line in texts if dumps(line.content)[1:-1] not in _last_text(lines, line.role)]
            _write(path, _text(lines, session, b""))
        else:
            new = _text([line for line in now if not line.key or line.key.encode() not in whole], session, whole)
            kept = whole if len(whole) + len(new) <= MAX_BYTES else whole[-MAX_BYTES // 2 :].partition(b"\n")[2]
            if kept == before:
                _write(path, new, os.O_APPEND)
            else:
                _write(path, kept + new)
    except OSError:
        return None
    except Exception as error:  # hooks run without one, too
        report_bug(error, home)
        return None
    remove_oldest(os.path.dirname(path), MAX_FILES)
    return path


def _write(path: str, data: bytes, flag: int = 0) -> None:
    """Append the data (with O_APPEND), or replace the file's. Raises OSError."""
    place = path if flag else f"{path}.{os.getpid()}"
    with open(open_private(place, os.O_WRONLY | os.O_CREAT | (flag or os.O_TRUNC)), "wb") as file:
        file.write(data)
    if not flag:
        os.replace(place, path)


def _last_text(lines: Sequence[TranscriptLine], role: str) -> str:
    return next((dumps(line.content) for line in reversed(lines) if line.role == role and not line.key), "")


def _not_yet_in(lines: Sequence[TranscriptLine], before: bytes) -> list[TranscriptLine]:
    """Return the calls and results that are in `before`, which has events too, and not yet in an agent's `lines`.

    Its events have no ids of calls: there a call is known by its arguments, a result by its text. What comes before a
    known one is known too, by other arguments if hooks have changed it.
    """
    known = {line.key for line in lines}
    new = [line for line in lines if line.key.encode() not in before]
    ids: dict[str | None, str] = {}
    missing: list[TranscriptLine] = []
    for data in map(json.loads, before.splitlines()):
        (role, content), about = data["message"].values(), (data["timestamp"], data["cwd"])
        if isinstance(content, str) or content[0]["type"] == "text":
            continue
        same = next((line for line in new if _says(line.content) == _says(content)), None)
        if same is not None:
            new.remove(same)
            ids[content[0].get("id")] = same.content[0].get("id")
        key = dumps(dict([*content[0].items()][:2]))[:-1]
        if same is not None or key in known:
            missing.clear()
            continue
        if role == USER:
            use = content[0]["tool_use_id"]
            content[0]["tool_use_id"] = ids.get(use, use)
        missing.append(TranscriptLine(role, content, *about, key, data.get("toolUseResult")))
    return missing


def _says(content: Any) -> tuple[object, ...]:
    return tuple(content[0].get(name) for name in ("name", "input", "content"))


def _of(context: Context) -> Iterator[TranscriptLine]:
    """Yield the lines of an event: a prompt, a text, or a call, after which its result comes."""
    event, about = context.get("event"), (context.get("timestamp"), context.get("working_dir"))
    if event == "user_prompt_submit":
        yield TranscriptLine(USER, context.get("user_prompt") or "", *about)
    elif event in ("stop", "subagent_stop") and context.get("assistant_response"):
        yield TranscriptLine(ASSISTANT, [{"type": "text", "text": context["assistant_response"]}], *about)
    elif event in ("pre_tool_use", "post_tool_use", "post_tool_failure"):
        name, args = native_tool(context), native_arguments(context)
        use = context.get("tool_use_id") or f"toolu_{file_name_for(str(name), dumps(args))}"
        call = {"type": "tool_use", "id": use}
        yield TranscriptLine(ASSISTANT, [{**call, "name": name, "input": args}], *about, dumps(call)[:-1])
        if event != "pre_tool_use":
            failed = event == "post_tool_failure"
            text = str(context.get("tool_result_error" if failed else "tool_result_output") or "")
            yield _result(use, text, about, f"Error: {text}" if failed else response(context), failed=failed)


def _result(use: object, text: str, about: tuple[object, object], result: object, *, failed: bool) -> TranscriptLine:
    begin = {"tool_use_id": use, "type": "tool_result"}
    return TranscriptLine(USER, [{**begin, "content": text, "is_error": failed}], *about, dumps(begin)[:-1], result)


def _text(lines: Sequence[TranscriptLine], session: str, before: bytes) -> bytes:
    """Return the lines as JSON, the newest MAX_BYTES of them, to come after those `before`."""
    found = []
    parent = before.rpartition(UUID)[2][:36].decode() if UUID in before else None
    for number, line in enumerate(lines):
        digits = file_name_for(session, str(len(before)), str(number))
        own = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        data = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": line.cwd}
        data |= {"sessionId": session, "type": line.role, "message": {"role": line.role, "content": line.content}}
        data |= {"uuid": own, "timestamp": line.time} | ({"toolUseResult": line.result} if line.result else {})
        found.append(f"{dumps(data)}\n".encode("ascii"))
        parent = own
    while len(found) > 1 and sum(map(len, found)) > MAX_BYTES:
        del found[: (len(found) + 1) // 2]
    return b"".join(found)


def _translated(agent: str, source: object) -> list[TranscriptLine] | None:
    """Return the lines of an agent's own transcript, None without one that can be read."""
    format_ = transcripts.FORMATS.get(agent)
    if format_ is None or not isinstance(source, str):
        return None
    try:
        with open_regular(source) as file:
            beginning = file.read(BEGINNING)
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - MAX_BYTES))
            lines = file.read(MAX_BYTES).splitlines()[size > MAX_BYTES :]
    except OSError:
        return None
    if format_.sign not in beginning:
        return None
    about = transcripts.about(agent, source, beginning.partition(b"\n")[0])
    found = [each for each in transcripts.entries(agent, lines, about, with_texts=True) if each is not None]
    return [line for entry in sorted(found, key=lambda each: each.at) for line in _of_entry(agent, entry)]


def _of_entry(agent: str, entry: transcripts.Entry) -> Iterator[TranscriptLine]:
    about = entry.time, entry.cwd
    if entry.then == transcripts.SAID:
        yield TranscriptLine(ASSISTANT, [{"type": "text", "text": entry.text}], *about)
        return
    try:
        messages = list(transcripts.messages(agent, entry))
    except (UnreadableMessageError, RecursionError):
        return
    for index, (event, message) in enumerate(messages):
        for number, call in enumerate(message.calls):
            fields = {**call.fields, "event": call.event or event, "timestamp": entry.time, "working_dir": entry.cwd}
            fields["tool_use_id"] = f"{entry.call_id}-{number}" if number else entry.call_id
            yield from [line for line in _of(fields) if line.role == USER or not index]
    if entry.then in (transcripts.REFUSED, transcripts.DECLINED):
        yield _result(entry.call_id, entry.text, about, f"Error: {entry.text}", failed=True)
