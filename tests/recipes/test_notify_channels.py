"""A user is notified, by real terminals, programs and HTTP servers: plain text, not too often, nothing lost unseen."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tty
from pathlib import Path
from typing import Any

import pytest

from hookrun import Context, Engine, Result
from hookrun.events import ErrorOccurred, Notification, PostToolFailure, Stop
from hookrun.recipes.notify import Notify
from hookrun.recipes.notify_channels import Bell, Channel, ChannelError, CommandChannel, Desktop, Notice, Webhook
from tests.recipes.channels import Kept, WebhookServer
from tests.waiting import limit

NOTE = Notice("claude: stop", "finished", "info", "stop", "s1", "claude", "2025-10-15T10:30:00.000Z")
TOKEN = "an-ordinary-word-of-a-secret"  # noqa: S105  # made up: what must not be shown
SECRET = "ghp_abcdefghijklmnopqrstuvwx0123456789"  # noqa: S105  # made up: what must not be shown


def tell(notify: Notify, *contexts: Context) -> list[Result]:
    """Fire each context at an engine that has nothing else, and wait until all is delivered."""
    with Engine(events=["build_done"]).use(notify) as engine:
        results = [engine.fire_sync(context) for context in contexts]
        engine.close_sync(wait=limit())
    assert [run.failure for result in results for run in result.runs if run.failure] == []
    return results


def told(context: Context, **options: Any) -> Notice | None:
    """Return the note of one event."""
    channel = Kept()
    tell(Notify(channel, events=[context.event], **options), context)  # type: ignore[list-item]
    return channel.notes[0] if channel.notes else None


@pytest.mark.parametrize(
    ("context", "title", "text", "level"),
    [
        (
            Notification(message="Permission needed", agent="claude"),
            "claude: notification",
            "Permission needed",
            "info",
        ),
        (Notification(message="Low memory", level="WARNING"), "agent: notification", "Low memory", "warning"),
        (ErrorOccurred(error_info={"error_message": "it broke"}), "agent: error", "it broke", "error"),
        (ErrorOccurred(tool_result_error="no such file"), "agent: error", "no such file", "error"),
        (PostToolFailure(tool_result_error="exit 1"), "agent: post tool failure", "exit 1", "error"),  # type: ignore[call-arg]
        (Stop(assistant_response="All tests pass."), "agent: stop", "All tests pass.", "info"),
        (Stop(), "agent: stop", "finished", "info"),
        (Context("build_done"), "agent: build done", "build done", "info"),
    ],
)
def test_each_event_says_what_it_has_to_say(context: Context, title: str, text: str, level: str) -> None:
    """Title, text and level of a notification."""
    note = told(context)
    assert note is not None
    assert (note.title, note.text, note.level, note.event) == (title, text, level, context.event)
    assert note.timestamp.endswith("Z")


def test_text_is_plain_short_and_without_credentials() -> None:
    """No control characters, no direction marks, no secrets, five hundred characters."""
    text = f"a\nb\x1b]0;title\x07\u202ec\x00 key {SECRET} " + "x" * 100_000
    note = told(Notification(message=text, agent="\x1b[31magent\n" + "y" * 200))
    assert note is not None
    assert note.text.startswith("a b ]0;title c key [redacted] xxx")
    assert len(note.text) == 503
    assert note.text.endswith("...")
    assert note.title.isprintable()
    assert len(note.title) <= 103


def test_a_credential_at_the_cut_is_not_half_told() -> None:
    """It is removed before the text is cut."""
    channel = Kept()
    tell(Notify(channel), *(Notification(message="x" * before + " " + SECRET) for before in range(440, 500)))
    assert len(channel.notes) == 60
    assert [note.text for note in channel.notes if "ghp" in note.text] == []


def test_notes_below_the_minimum_level_are_not_sent() -> None:
    """An unknown level is as serious as an error: better sent than lost."""
    rows = [
        ("info", None, True),
        ("info", "debug", False),
        ("warning", "info", False),
        ("warning", "warn", True),
        ("error", "warning", False),
        ("error", "ERROR", True),
        ("critical", "error", False),
        ("error", "fatal", True),
        ("error", "catastrophic", True),
    ]
    for minimum, level, sent in rows:
        note = told(Notification(message="x", level=level), minimum_level=minimum)
        assert (minimum, level, note is not None) == (minimum, level, sent)


def test_an_unknown_minimum_level_is_refused() -> None:
    """When it is made."""
    with pytest.raises(ValueError, match="minimum_level must be one of debug, info"):
        Notify(Kept(), minimum_level="loud")


def test_notes_are_not_sent_too_often_and_what_was_left_out_is_counted() -> None:
    """One of each event in that time: a chatty agent does not hide an error."""
    now = [0.0]
    channel = Kept()
    notify = Notify(channel, every=10, clock=lambda: now[0])
    for number in range(4):
        now[0] = number * 3.0
        tell(notify, Notification(message=f"n{number}"))
    tell(notify, ErrorOccurred(error_info={"error_message": "e"}))
    now[0] = 10.0
    tell(notify, Notification(message="n4"))
    now[0] = 20.0
    tell(notify, Notification(message="n5"))
    assert [note.text for note in channel.notes] == ["n0", "e", "n4 (3 more since the last one)", "n5"]


def test_a_note_below_the_level_does_not_take_the_turn_of_another() -> None:
    """A message that is not sent is not counted either."""
    channel = Kept()
    notify = Notify(channel, minimum_level="warning", every=10, clock=lambda: 0.0)
    tell(notify, Notification(message="a"), Notification(message="b", level="error"))
    assert [note.text for note in channel.notes] == ["b"]


def test_every_channel_is_told_and_one_that_is_missing_says_so_once() -> None:
    """The others work."""
    there, missing = Kept(), Kept(missing="no speakers")
    results = tell(Notify([missing, there]), Stop(), Stop())
    assert [result.system_message for result in results] == ["notify: Kept is not available: no speakers", None]
    assert len(there.notes) == 2
    assert missing.notes == []


def send(channel: Channel, note: Notice = NOTE) -> None:
    """Deliver a note, bounded in time."""

    async def bounded() -> None:
        async with asyncio.timeout(limit()):
            await channel.send(note)

    asyncio.run(bounded())


def test_the_bell_rings_on_the_terminal() -> None:
    """One BEL on a real terminal device, nothing else."""
    master, slave = os.openpty()
    tty.setraw(slave)
    bell = Bell(os.ttyname(slave))
    assert bell.unavailable() is None
    send(bell)
    assert os.read(master, 100) == b"\a"
    os.close(master)
    os.close(slave)


def test_without_a_terminal_there_is_no_bell(tmp_path: Path) -> None:
    """It reports that, and writes nowhere else."""
    assert "No such file" in str(Bell(str(tmp_path / "tty")).unavailable())


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory, first on PATH, with a `notify-send` and an `osascript` that write down their arguments."""
    for name in ("notify-send", "osascript"):
        program = tmp_path / name
        program.write_text(
            f'#!/bin/sh\nprintf "%s\\0" "$@" > "{tmp_path}/arguments"\nexit $(cat "{tmp_path}/status")\n'
        )
        program.chmod(0o755)
    (tmp_path / "status").write_text("0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


HOSTILE = Notice('-t "; rm', '--x $(id) `id` "; <b>&\\n', "error", "error", None, None, "")


def test_a_desktop_note_is_made_of_arguments(desktop: Path) -> None:
    """Nothing of it is code, an option, markup or an escape to notify-send."""
    send(Desktop(platform="linux"), HOSTILE)
    assert (desktop / "arguments").read_text().split("\0")[:-1] == [
        "--urgency=critical",
        "--app-name=hookrun",
        "--",
        '-t "; rm',
        '--x $(id) `id` "; &lt;b&gt;&amp;\\\\n',
    ]


def test_a_note_on_macos_is_made_of_arguments(desktop: Path) -> None:
    """The script is always the same; the texts are its arguments."""
    send(Desktop(platform="darwin"), HOSTILE)
    arguments = (desktop / "arguments").read_text().split("\0")[:-1]
    assert arguments[-2:] == [HOSTILE.title, HOSTILE.text]
    assert arguments[:-2] == [
        "-e",
        "on run argv",
        "-e",
        "display notification (item 2 of argv) with title (item 1 of argv)",
        "-e",
        "end run",
    ]


def test_a_desktop_program_that_is_missing_or_fails_is_told(desktop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing: not available. Failing: an error with its status."""
    (desktop / "status").write_text("4")
    with pytest.raises(ChannelError, match=r"notify-send exited with status 4$"):
        send(Desktop(platform="linux"))
    assert Desktop(platform="linux").unavailable() is None
    monkeypatch.setenv("PATH", "/nowhere")
    assert Desktop(platform="linux").unavailable() == "notify-send was not found"
    assert Desktop(platform="darwin").unavailable() == "osascript was not found"


def test_a_command_reads_the_note_as_json(tmp_path: Path) -> None:
    """One object on stdin; its arguments are as they were given."""
    send(CommandChannel(["sh", "-c", 'cat > "$1"', "sh", str(tmp_path / "note $(x)")]))
    assert json.loads((tmp_path / "note $(x)").read_text()) == {
        "title": "claude: stop",
        "text": "finished",
        "level": "info",
        "event": "stop",
        "session_id": "s1",
        "agent": "claude",
        "timestamp": "2025-10-15T10:30:00.000Z",
    }


def test_a_command_that_does_not_read_is_no_trouble() -> None:
    """Nothing waits for it to take its stdin."""
    send(CommandChannel(["true"]), Notice("t", "x" * 1_000_000, "info", "stop", None, None, ""))


def test_a_command_that_fails_hangs_or_is_missing_is_an_error() -> None:
    """The message names the program and the error."""
    with pytest.raises(ChannelError, match="sh exited with status 3: no line"):
        send(CommandChannel(["sh", "-c", "echo no line >&2; exit 3"]))
    with pytest.raises(ChannelError, match=r"sleep timed out after 0.2 s"):
        send(CommandChannel(["sleep", "1000"], timeout=0.2))
    assert CommandChannel(["/nowhere/x"]).unavailable() == "/nowhere/x was not found"
    with pytest.raises(ChannelError, match="cannot start /nowhere/x: No such file"):
        send(CommandChannel(["/nowhere/x"]))
    with pytest.raises(ValueError, match="args must be a list"):
        CommandChannel("echo")


def test_a_webhook_gets_the_note_as_json(webhook: WebhookServer) -> None:
    """With its configured headers; by default all fields."""
    send(Webhook(f"{webhook.url}/a?b=c", headers={"Authorization": f"Bearer {TOKEN}"}))
    ((path, headers, body),) = webhook.requests
    assert path == "/a?b=c"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["text"] == "finished"
    assert sorted(json.loads(body)) == ["agent", "event", "level", "session_id", "text", "timestamp", "title"]


def test_a_template_makes_what_is_sent(webhook: WebhookServer) -> None:
    """As the other side wants it."""
    send(Webhook(webhook.url, template=lambda note: {"text": f"*{note.title}* {note.text}"}))
    assert json.loads(webhook.requests[0][2]) == {"text": "*claude: stop* finished"}


def test_any_other_status_is_an_error(webhook: WebhookServer) -> None:
    """A redirect is not followed: neither the note nor its headers go elsewhere."""
    webhook.location = f"{webhook.url}/elsewhere"
    for webhook.status in (301, 302, 307, 404, 500):
        with pytest.raises(ChannelError, match=f"^webhook at 127.0.0.1: HTTP {webhook.status}$"):
            send(Webhook(f"{webhook.url}/{TOKEN}"))
    assert [path for path, _, _ in webhook.requests] == [f"/{TOKEN}"] * 5


def test_a_server_that_is_not_there_is_an_error_that_keeps_the_secret() -> None:
    """The host is named, the path is not: it is often a secret."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ChannelError, match=r"webhook at 127.0.0.1: .*Connection refused") as caught:
            send(Webhook(f"http://127.0.0.1:{port}/{TOKEN}", headers={"Authorization": TOKEN}))
    assert TOKEN not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_that_does_not_answer_is_given_up() -> None:
    """After the timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ChannelError, match="timed out"):
        send(Webhook(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout=0.3))


@pytest.mark.parametrize(
    ("url", "headers", "says"),
    [
        ("file:///etc/passwd", None, "must be http://HOST or https://HOST"),
        ("ftp://host/", None, "must be http://HOST"),
        ("host/path", None, "must be http://HOST"),
        ("https:///path", None, "must be http://HOST"),
        (f"https://user:{TOKEN}@host/", None, "must be without a user"),
        ("https://host/a b", None, "must be printable ASCII"),
        ("https://host/\r\nX: y", None, "must be printable ASCII"),
        ("https://host/", {"X": "a\r\nY: b"}, "header 'X' contains control"),
        ("https://host/", {"X": "é"}, "header 'X' contains control or non-ASCII"),
        ("https://host:x/", None, "must be one with a port"),
    ],
)
def test_a_webhook_that_cannot_be_is_refused(url: str, headers: dict[str, str] | None, says: str) -> None:
    """When it is created; the message does not repeat the secret."""
    with pytest.raises(ValueError, match=says) as caught:
        Webhook(url, headers)
    assert TOKEN not in str(caught.value)
