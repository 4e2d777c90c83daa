"""The log of an agent: whole lines despite concurrent writers, no secrets, no forged lines, and it stops no agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hookrun import Engine
from hookrun.compat.stackbench import AgentLogger
from hookrun.events import PostToolFailure, PostToolUse, PreToolUse
from tests.compat.logs import log_of
from tests.compat.programs.writes_many import write_many
from tests.rows import rows

PROGRAMS = Path(__file__).with_name("programs")
SECRET = "ghp_abcdefghijklmnopqrstuvwx0123456789"  # noqa: S105  # made up: what must not be shown


@pytest.fixture
def log(tmp_path: Path) -> AgentLogger:
    """Return a log in a directory that does not exist yet."""
    return log_of(tmp_path / "logs" / "extraction", "quickstart")


def calls(log: AgentLogger) -> list[dict[str, Any]]:
    """Return the entries of the log of tool calls."""
    return [json.loads(line) for line in Path(log.tools_log_file).read_text().split("\n")[:-1]]


def messages(log: AgentLogger) -> list[str]:
    """Return the lines of the log for people."""
    return Path(log.log_file).read_text().split("\n")[:-1]


def test_the_files_of_a_document_are_named_after_it(log: AgentLogger, tmp_path: Path) -> None:
    """`quickstart_agent.log` and `quickstart_tools.jsonl`; directories are made, files are their owner's alone."""
    log.log_message("begun")
    log.before(PreToolUse(tool_name="read"))
    directory = tmp_path / "logs" / "extraction"
    assert sorted(path.name for path in directory.iterdir()) == ["quickstart_agent.log", "quickstart_tools.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


def test_a_call_is_two_lines(log: AgentLogger) -> None:
    """With the members that readers of such logs expect, in their order; a context without a time gets one in UTC."""
    fields: dict[str, object] = {
        "timestamp": "2025-10-15T10:30:00.000Z",
        "tool_name": "read",
        "tool_args": {"file_path": "/a"},
        "tool_use_id": "toolu_1",
    }
    log.before(PreToolUse(**fields))  # type: ignore[arg-type]
    log.after(PostToolUse(**fields, tool_result_output="content"))  # type: ignore[arg-type]
    before, after = calls(log)
    assert list(before.items()) == [
        ("timestamp", "2025-10-15T10:30:00.000Z"),
        ("event_type", "pre_tool"),
        ("tool_name", "read"),
        ("tool_input", {"file_path": "/a"}),
        ("tool_use_id", "toolu_1"),
    ]
    assert after == {**before, "event_type": "post_tool", "tool_output": "content", "error": None}
    log.after(PostToolFailure(tool_name="bash", tool_args={"command": "x"}, tool_result_error="not found"))
    failed = calls(log)[-1]
    assert (failed["event_type"], failed["tool_output"], failed["error"]) == ("post_tool", None, "not found")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", failed["timestamp"])


def test_statistics_count_calls_tools_messages_and_errors(log: AgentLogger) -> None:
    """A call counts once, when it is asked for; errors are failed calls and messages of level ERROR or worse."""
    log.before(PreToolUse(tool_name="read"))
    log.after(PostToolUse(tool_name="read", tool_result_output="x"))
    log.before(PreToolUse(tool_name="bash"))
    log.before(PreToolUse(tool_name="read"))
    log.after(PostToolFailure(tool_name="bash", tool_result_error="failed"))
    for level in ("DEBUG", "INFO", "WARNING", "error", "CRITICAL"):
        log.log_message("a message", level)
    assert log.get_stats() == {"tool_calls": 3, "tools": {"bash": 1, "read": 2}, "messages": 5, "errors": 3}


def test_a_message_has_time_and_level(log: AgentLogger) -> None:
    """One line for each."""
    log.log_message("begun")
    log.log_message("went wrong", "warning")
    first, second = messages(log)
    assert first.endswith("Z [INFO] begun")
    assert second.endswith("Z [WARNING] went wrong")


def test_a_message_cannot_forge_a_line(log: AgentLogger) -> None:
    """Line ends of every kind and control characters become escapes, in text and level."""
    log.log_message("a\n2025-10-15T10:30:00.000Z [ERROR] forged\r\x1b[2J\u2028\u202ex\x85\ud800")
    log.log_message("b", "INFO] x\n[INFO")
    content = Path(log.log_file).read_text()
    assert len(content.splitlines()) == 2
    assert "a\\n2025-10-15T10:30:00.000Z [ERROR] forged\\r\\x1b[2J\\u2028\\u202ex\\x85\\ud800" in content
    assert "[INFO] X\\N[INFO] b" in content


def test_a_tool_call_cannot_forge_a_line(log: AgentLogger) -> None:
    """The text between two line ends is one entry, whatever it contains; half a surrogate pair comes back unchanged."""
    log.before(PreToolUse(tool_name="bash", tool_args={"command": 'a\n{"event_type": "pre_tool"}\ud800 é'}))
    (entry,) = calls(log)
    assert entry["tool_input"] == {"command": 'a\n{"event_type": "pre_tool"}\ud800 é'}


def test_credentials_are_taken_out(log: AgentLogger) -> None:
    """By their form, by the name of their member, and by the text before them; in every place."""
    args = {
        "command": f"curl -H 'Authorization: Bearer {SECRET}'",
        "env": {"API_KEY": "correct horse", "list": [SECRET]},
        "password": ["one two"],
        "Cookie": "session",
        "max_tokens": "4096",
    }
    log.before(PreToolUse(tool_name="bash", tool_args=args))
    log.after(PostToolFailure(tool_name="bash", tool_result_error=f"token={SECRET}"))
    log.log_message(f"using {SECRET}")
    text = Path(log.tools_log_file).read_text() + Path(log.log_file).read_text()
    assert SECRET not in text
    entry = calls(log)[0]["tool_input"]
    assert entry["env"] == {"API_KEY": "[redacted]", "list": ["[redacted]"]}
    assert (entry["password"], entry["Cookie"]) == (["[redacted]"], "[redacted]")
    assert entry["max_tokens"] == "4096"
    assert entry["command"].startswith("curl -H 'Authorization:")


def test_credentialsion_can_be_switched_off(tmp_path: Path) -> None:
    """If the log is as secret as its content."""
    log = log_of(tmp_path, "a", redact=False)
    log.before(PreToolUse(tool_name="bash", tool_args={"password": SECRET}))
    log.log_message(SECRET)
    assert calls(log)[0]["tool_input"] == {"password": SECRET}
    assert SECRET in messages(log)[0]


def test_a_credential_that_the_cut_goes_through_is_not_half_kept(tmp_path: Path) -> None:
    """Redacted first, then cut: at no length is any part of it left, nor of one far behind the cut."""
    for before in range(60, 101):
        log = AgentLogger(tmp_path / "a.log", tmp_path / f"{before}.jsonl", max_value=100)
        text = "x" * (before - 1) + " " + SECRET + " y" * 5000 + SECRET
        log.log_tool_call({"tool_output": text})
        logged = calls(log)[0]["tool_output"]
        assert "ghp" not in logged, before
        assert logged.endswith(f"... ({len(text)} characters)")
    many = AgentLogger(tmp_path / "a.log", tmp_path / "many.jsonl", max_value=100)
    many.log_tool_call({"tool_output": f"{SECRET} " * 1000})
    assert "ghp" not in Path(many.tools_log_file).read_text()


def test_a_long_value_is_cut_and_says_so(tmp_path: Path) -> None:
    """Strings, lists and objects; the other members stay whole."""
    log = AgentLogger(tmp_path / "a.log", tmp_path / "tools.jsonl", max_value=50)
    args = {
        "file_path": "/a",
        "whole": "x" * 50,
        "content": "x" * 1000,
        "lines": list(range(1000)),
        "inner": {"a": "y" * 60},
    }
    log.before(PreToolUse(tool_name="write", tool_args=args))
    logged = calls(log)[0]["tool_input"]
    assert (logged["file_path"], logged["whole"]) == ("/a", "x" * 50)
    assert logged["content"] == "x" * 50 + "... (1000 characters)"
    assert (
        logged["lines"] == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,"[:50] + "... (4890 characters of JSON)"
    )
    assert logged["inner"].endswith("... (78 characters of JSON)")
    log.log_tool_call({"tool_input": {str(number): number for number in range(1000)}})
    assert len(Path(log.tools_log_file).read_text().split("\n")[1]) < 400
    log.log_message("z" * 1000)
    assert messages(log)[-1].endswith("z" * 50 + "... (1000 characters)")


def test_what_is_not_json_is_logged_as_text(log: AgentLogger) -> None:
    """Paths, sets, infinity, very deep nesting, keys that are no strings: still one line of JSON."""
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    entry = {"path": Path("/a"), "infinite": float("inf"), "set": {1}, "deep": deep, "key": {3: b"x"}, "tuple": (1,)}
    log.log_tool_call(entry)
    (logged,) = calls(log)
    assert (logged["path"], logged["infinite"], logged["set"], logged["tuple"]) == ("/a", "inf", [1], [1])
    assert logged["key"] == {"3": "b'x'"}


@pytest.mark.slow
def test_processes_and_threads_share_a_file(tmp_path: Path) -> None:
    """Every line is whole, none is lost, each writer's in order."""
    log = AgentLogger(tmp_path / "a.log", tmp_path / "a.jsonl")
    program = [sys.executable, str(PROGRAMS / "writes_many.py"), str(tmp_path)]
    processes = [subprocess.Popen([*program, f"p{number}"]) for number in range(3)]

    threads = [threading.Thread(target=write_many, args=(log, f"t{number}")) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait() for process in processes] == [0, 0, 0]
    entries, names = calls(log), ["p0", "p1", "p2", "t0", "t1", "t2"]
    for name in names:
        assert [entry["tool_input"]["n"] for entry in entries if entry["tool_name"] == name] == list(range(200))
    assert len(messages(log)) == 6 * 200
    assert {len(line.partition("z")[2]) for line in messages(log)} == {4999}
    assert log.get_stats()["tools"] == {"t0": 200, "t1": 200, "t2": 200}


def test_a_log_that_cannot_be_written_raises_and_still_counts(tmp_path: Path) -> None:
    """A directory at its path, a file at its directory's path, a pipe without a reader: no hang."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for place in ("directory", "file/a.jsonl", "pipe"):
        log = AgentLogger(tmp_path / place, tmp_path / place)
        with pytest.raises(OSError, match=place.partition("/")[0]):
            log.before(PreToolUse(tool_name="read"))
        with pytest.raises(OSError, match=place.partition("/")[0]):
            log.log_message("x")
        assert log.get_stats()["tool_calls"] == 1


def test_a_full_disk_raises() -> None:
    """/dev/full has no room for anything."""
    log = AgentLogger("/dev/full", "/dev/full")
    with pytest.raises(OSError, match="No space left"):
        log.before(PreToolUse(tool_name="read"))


def test_a_line_that_has_no_room_is_taken_back(tmp_path: Path) -> None:
    """The file holds whole lines only, and the next one is whole again."""
    program = [sys.executable, str(PROGRAMS / "is_cut_short.py"), str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert "no space left for the line" in done.stdout
    lines = (tmp_path / "a.jsonl").read_text().split("\n")[:-1]
    assert [json.loads(line)["n"] for line in lines] == [1, 2]


@pytest.mark.parametrize("options", [{}, {"name": "mine"}])
def test_one_document_in_two_directories(tmp_path: Path, options: dict[str, str]) -> None:
    """Both logs are written; the hooks of the first keep their name."""
    logs = [log_of(tmp_path / stage, "quickstart", **options) for stage in ("extraction", "validation")]
    with Engine().use(logs[0]).use(logs[1]) as engine:
        first, second = (run.name for run in engine.fire_sync("pre_tool_use", tool_name="read").runs)
    assert first == f"{options.get('name', 'agent-log')}-pre_tool_use"
    assert second == f"{first}@{logs[1].tools_log_file}"
    assert all(os.path.exists(log.tools_log_file) for log in logs)


def test_a_summary_holds_every_document(tmp_path: Path) -> None:
    """The summary of a second log is added beside the first; the same log's replaces its own."""
    path = tmp_path / "logs" / "summary.json"
    first = log_of(tmp_path / "logs", "quickstart")
    second = log_of(tmp_path / "logs", "api_reference")
    first.before(PreToolUse(tool_name="read"))
    for log in (first, second, first):
        log.write_summary(path)
    documents = json.loads(path.read_text())["documents"]
    assert sorted(documents) == ["api_reference", "quickstart"]
    assert documents["quickstart"]["tool_calls"] == 1
    assert documents["quickstart"]["tools"] == {"read": 1}
    assert documents["quickstart"]["tools_log_file"] == first.tools_log_file
    assert documents["api_reference"]["tool_calls"] == 0
    assert [name for name in os.listdir(tmp_path / "logs") if name.startswith(".")] == []


def test_summaries_written_at_once_are_all_there(tmp_path: Path) -> None:
    """One writer at a time reads and replaces the file."""
    logs = [log_of(tmp_path, f"d{number}") for number in range(20)]
    threads = [threading.Thread(target=log.write_summary, args=(tmp_path / "summary.json",)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads((tmp_path / "summary.json").read_text())["documents"]) == 20


@rows("content", ["{", "[]", '{"documents": []}'])
def test_a_summary_does_not_replace_what_is_none(log: AgentLogger, tmp_path: Path, content: str) -> None:
    """Another program's file of that name is left alone."""
    path = tmp_path / "summary.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="exists and "):
        log.write_summary(path)
    assert path.read_text() == content
