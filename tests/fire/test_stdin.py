"""How the context is read: a stream that ends or does not, byte-order marks, a huge context, a bad one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.fire.agents import call
from tests.rows import rows
from tests.waiting import ended

CONTEXT = {"tool_name": "bash", "tool_args": {"command": "ls"}}
REFUSE = "cat >/dev/null; echo no >&2; exit 2"
BOM = b"\xef\xbb\xbf"


def open_fire(project: Project, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a run whose stdin stays open."""
    return project.open("fire", "pre_tool_use", *arguments)


@rows("ending", [b"", b"\n", b"  \r\n"])
def test_a_whole_object_is_enough_when_stdin_never_ends(ending: bytes, project: Project) -> None:
    """An agent that writes the context and keeps its end open gets its answer."""
    project.hooks({"command": REFUSE})
    process = open_fire(project)
    assert process.stdin is not None
    process.stdin.write(json.dumps(CONTEXT).encode() + ending)
    process.stdin.flush()
    assert ended(process) == 2
    process.communicate()


def a_socket(_: Path) -> tuple[int, int]:
    """Return the two ends of a stream."""
    reading, writing = socket.socketpair()
    return reading.detach(), writing.detach()


def a_file(path: Path) -> tuple[int, int]:
    """Return a file, open for reading and for writing."""
    return os.open(path, os.O_RDONLY | os.O_CREAT, 0o600), os.open(path, os.O_WRONLY | os.O_TRUNC)


def start_reading(project: Project, reading: int) -> subprocess.Popen[bytes]:
    """Start a run that reads its context from a descriptor, and hand that over."""
    command, quiet = project.command("fire", "pre_tool_use"), subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=reading, stdout=quiet, cwd=project.root, env=project.environment())
    os.close(reading)
    return process


Stream = Callable[[Path], tuple[int, int]]
STREAMS: dict[str, Stream] = {"pipe": lambda _: os.pipe(), "socket": a_socket, "file": a_file}
FITS = (0, 5_000, 60_000)


@rows("stream, size", [*((stream, size) for stream in STREAMS for size in FITS), ("file", 300_000)])
def test_a_context_that_is_there_already_is_read_whole(stream: str, size: int, project: Project) -> None:
    """Of a pipe, a socket or a file, of any size that fits in."""
    project.hooks({"command": "cat > seen"})
    reading, writing = STREAMS[stream](project.root / "context")
    with open(writing, "wb") as file:
        file.write(json.dumps({**CONTEXT, "user_prompt": "x" * size}).encode())
    assert ended(start_reading(project, reading)) == 0
    assert json.loads((project.root / "seen").read_text())["user_prompt"] == "x" * size


@rows("stream", ["pipe", "socket"])
def test_a_context_that_does_not_fit_in_is_read_whole(stream: str, project: Project) -> None:
    """Of a pipe or a socket, in pieces while it is written."""
    project.hooks({"command": "cat > seen"})
    reading, writing = STREAMS[stream](project.root / "context")
    process = start_reading(project, reading)
    with open(writing, "wb") as file:
        file.write(json.dumps({**CONTEXT, "user_prompt": "x" * 300_000}).encode())
    assert ended(process) == 0
    assert json.loads((project.root / "seen").read_text())["user_prompt"] == "x" * 300_000


def test_a_context_that_ends_too_early_is_no_context(project: Project) -> None:
    """Neither a part of an object nor nothing is one, be it there before the run or not."""
    project.hooks({"command": "true"})
    for text in (b"", b'{"tool_name": "ba'):
        done = call(project, "fire", "pre_tool_use", stdin=text)
        assert done.returncode == 1
        assert b"stdin: the context is" in done.stderr


def test_a_context_in_pieces_is_put_together(project: Project) -> None:
    """Pieces that come late, one of them ending in a brace, make one context."""
    project.hooks({"command": "cat > seen"})
    process = open_fire(project)
    assert process.stdin is not None
    context = {"tool_name": "bash", "tool_args": {"a": {"b": {}}, "c": "}"}}
    for byte in json.dumps(context).encode():
        process.stdin.write(bytes([byte]))
        process.stdin.flush()
    assert ended(process) == 0
    assert json.loads((project.root / "seen").read_text())["tool_args"] == context["tool_args"]
    process.communicate()


def test_stdin_on_which_nothing_comes_is_given_up_at_the_deadline(project: Project) -> None:
    """With --deadline a silent stdin ends in one clear line and exit 1."""
    project.hooks({"command": REFUSE})
    process = open_fire(project, "--deadline", "0.3")
    assert ended(process) == 1
    assert process.stderr is not None
    assert b"error: stdin: nothing came" in process.stderr.read()
    process.communicate()


@rows("marks", [BOM, BOM + BOM])
def test_byte_order_marks_are_tolerated(marks: bytes, project: Project) -> None:
    """One or two byte-order marks before the context do no harm, on stdin and in a file."""
    project.hooks({"command": REFUSE})
    (project.root / "ctx.json").write_bytes(marks + json.dumps(CONTEXT).encode())
    assert project.fire(marks + json.dumps(CONTEXT).encode()).status == 2
    assert project.fire(b"", "--ctx", "ctx.json").status == 2


@pytest.mark.slow
def test_a_context_of_50_megabytes_reaches_the_hook_whole(project: Project) -> None:
    """A huge context is read, matched on and handed over."""
    project.hooks({"when": {"tool_args.content": "*needle*"}, "command": "wc -c > size; exit 2"})
    content = "x" * (50 << 20) + "needle"
    assert project.fire({"tool_name": "write", "tool_args": {"content": content}}).status == 2
    assert int((project.root / "size").read_text()) > 50 << 20


BAD = {
    "empty": (b"", "the context is empty"),
    "white space": (b" \n", "the context is empty"),
    "not JSON": (b"command=ls", "the context is not JSON"),
    "cut short": (b'{"tool_name": "ba', "the context is not JSON"),
    "a list": (b"[]", "the context is a list"),
    "null": (b"null", "the context is null"),
    "a number": (b"12", "the context is a number"),
    "two objects": (b"{}{}", "the context is not JSON"),
    "not UTF-8": (b'{"tool_name": "\xff"}', "the context is not UTF-8 (byte 15)"),
    "NaN": (b'{"metadata": {"a": NaN}}', "NaN is not JSON"),
    "arguments that are a list": (b'{"tool_args": []}', "tool_args is a list, not an object or null"),
    "a tool that is a number": (b'{"tool_name": 1}', "tool_name is a number, not a string or null"),
    "metadata that is a string": (b'{"metadata": "x"}', "metadata is a string, not an object or null"),
    "nested too deeply": (b'{"tool_args": ' + b'{"a":' * 100_000, "the context is not JSON"),
    "a number out of range": (b'{"tool_args": {"a": 1e999}}', "the context is not JSON (a number is too large)"),
}


@rows("name", BAD)
def test_a_context_that_cannot_be_read_is_trouble(name: str, project: Project) -> None:
    """Bad input on stdin: exit 1, one line saying what was found and expected, a line in the audit, no hook run."""
    data, expected = BAD[name]
    project.hooks({"command": "touch ran"})
    before = len(project.audit())
    fired = project.fire(data)
    assert (fired.status, fired.stdout, len(fired.audit)) == (1, b"", before + 1)
    assert expected in fired.stderr
    assert len(fired.stderr.splitlines()) <= 2
    assert "Traceback" not in fired.stderr
    assert not (project.root / "ran").exists()
    assert expected in json.dumps(fired.audit[-1])


def test_a_usage_error_reads_away_what_the_agent_writes(project: Project) -> None:
    """A caller that writes a large context to a run that fails gets no broken pipe."""
    process = open_fire(project, "--no-such-option")
    assert process.stdin is not None
    process.stdin.write(b"x" * (4 << 20))
    process.stdin.close()
    assert ended(process) == 1
    process.stdin = None
    process.communicate()
