"""The plugin that OpenCode loads, run by Node with the real hookrun behind it, and called as OpenCode calls it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hookrun.agents import opencode
from tests.conftest import Project
from tests.fire.agents import says, without_origin
from tests.rows import rows

NODE = shutil.which("node")
DRIVER = Path(__file__).parent / "drive_plugin.mjs"
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed: OpenCode's plugin cannot be run")

Json = dict[str, Any]
SESSION = {"sessionID": "s1"}


def before(command: str = "ls") -> list[object]:
    """Return the call before a shell command."""
    return ["tool.execute.before", {"tool": "bash", "callID": "c1", **SESSION}, {"args": {"command": command, "d": 1}}]


def after() -> list[object]:
    """Return the call after it."""
    payload = {"tool": "bash", "callID": "c1", "args": {"command": "ls"}, **SESSION}
    return ["tool.execute.after", payload, {"title": "", "metadata": {"exit": 0}, "output": "out"}]


def prompt(session: str = "s1") -> list[object]:
    """Return the call for a prompt."""
    part = {"type": "text", "text": "do it", "messageID": "m1", "sessionID": session, "id": "prt_1"}
    return ["chat.message", {"sessionID": session}, {"message": {"id": "m1"}, "parts": [part]}]


def happened(name: str, **properties: object) -> list[object]:
    """Return the call for an event of OpenCode's bus."""
    return ["event", {"event": {"type": name, "properties": properties}}]


def drive(
    project: Project,
    *calls: list[object],
    headless: bool = False,
    command: list[str] | None = None,
    events: Iterable[str] = tuple(opencode.EVENTS),
) -> Json:
    """Return the results of calls to the plugin: the error and final arguments of each, and prompts."""
    project.approve()
    program = command or project.command("fire", "--agent", "opencode", "--home", str(project.home))
    path = project.root.parent / "plugin.mjs"
    path.write_text(opencode.INSTALL["plugin"].source(program, [*events]))
    done = subprocess.run(
        [str(NODE), str(DRIVER), str(path), str(project.root), *(["run"] if headless else [])],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        env=project.environment(),
        check=True,
    )
    result: Json = json.loads(done.stdout)
    result["stderr"] = done.stderr
    assert result["exports"] == ["function"]
    return result


def test_a_block_is_thrown_and_names_the_reason(project: Project) -> None:
    """OpenCode passes a plugin's exception to the model."""
    project.hooks({"matcher": "bash", "when": {"tool_args.command": "rm*"}, "command": "echo no >&2; exit 2"})
    results = drive(project, before("rm -rf /"), before("ls"))
    assert [each["error"] for each in results["results"]] == ["no", None]


def test_a_launcher_gets_the_event_first(project: Project) -> None:
    """By that it knows, without hookrun, whether a guard may be asked."""
    launcher = project.script("launcher", '#!/bin/sh\ncat > /dev/null\nprintf \'{"refuse": "%s"}\' "$1"\n')
    results = drive(project, before(), command=[str(launcher), "--home", "/home/me"])
    assert [each["error"] for each in results["results"]] == ["tool.execute.before"]


def test_changed_arguments_are_put_into_the_same_object(project: Project) -> None:
    """OpenCode ignores another one; what is left alone stays."""
    project.hooks({"command": says(action="modify", args_patch={"command": "ls -l"})})
    (results,) = drive(project, before())["results"]
    assert results["given"][1]["args"] == {"command": "ls -l", "d": 1}


@pytest.mark.slow
def test_text_beside_a_call_comes_with_its_result(project: Project) -> None:
    """From before the tool and from after it."""
    project.hooks(
        {"command": says(action="continue", additional_context="one")},
        {"name": "later", "event": "post_tool_use", "command": says(action="block", message="two")},
    )
    results = drive(project, before(), after())["results"]
    assert results[1]["given"][1]["output"] == "out\n\none\n\ntwo"


@pytest.mark.slow
def test_a_prompt_gets_what_the_session_s_start_had_to_say(project: Project) -> None:
    """In a separate part with every field that OpenCode requires; once."""
    project.hooks(
        {"event": "session_start", "command": says(action="continue", additional_context="hello")},
        {"name": "p", "event": "user_prompt_submit", "command": says(action="continue", additional_context="Monday")},
    )
    results = drive(project, happened("session.created", info={"id": "s1"}), prompt(), prompt())["results"]
    assert [[part["text"] for part in each["given"][1]["parts"]] for each in results[1:]] == [
        ["do it", "hello\n\nMonday"],
        ["do it", "Monday"],
    ]
    part = results[1]["given"][1]["parts"][1]
    assert (part["type"], part["synthetic"], part["messageID"], part["sessionID"]) == ("text", True, "m1", "s1")
    assert part["id"].startswith("prt_")


@pytest.mark.slow
def test_a_refused_prompt_is_thrown_and_the_person_is_told(project: Project) -> None:
    """For a thrown error OpenCode only shows that something failed."""
    project.hooks({"event": "user_prompt_submit", "command": says(action="block", message="not that")})
    results = drive(project, prompt())
    assert results["results"][0]["error"] == "not that"
    toasts = [without_origin(toast) for toast in results["toasts"]]
    assert toasts == ["", "hookrun: the prompt was blocked: not that"]


@pytest.mark.slow
def test_a_subagent_s_prompt_is_no_prompt_of_the_person_s(project: Project) -> None:
    """Its session has a parent; its end is a subagent's end."""
    project.hooks({"event": "user_prompt_submit", "command": says(action="block", message="not that")})
    results = drive(project, happened("session.created", info={"id": "s2", "parentID": "s1"}), prompt("s2"))
    assert results["results"][1]["error"] is None
    project.hooks({"event": ["stop", "subagent_stop"], "command": "cat >> seen"})
    drive(
        project,
        happened("session.created", info={"id": "s2", "parentID": "s1"}),
        ["experimental.text.complete", {"sessionID": "s2"}, {"text": "looked"}],
        happened("session.idle", sessionID="s2"),
    )
    (seen,) = [json.loads(line) for line in (project.root / "seen").read_text().splitlines()]
    assert (seen["event"], seen["session_id"], seen["root_session_id"]) == ("subagent_stop", "s2", "s1")
    assert seen["assistant_response"] == "looked"


def failed(call: str = "c1") -> list[object]:
    """Return the call for a tool that has failed."""
    part = {
        "id": "prt_9",
        "type": "tool",
        "callID": call,
        "sessionID": "s1",
        "state": {"status": "error", "error": "no file"},
    }
    return happened("message.part.updated", part=part)


@pytest.mark.slow
def test_a_tool_that_fails_is_a_failure_once(project: Project) -> None:
    """By its error, or by its exit status; one that a hook refused, and one that was not seen to begin, are none."""
    project.hooks(
        {"event": ["post_tool_use", "post_tool_failure"], "command": "cat >> seen"},
        {"name": "guard", "when": {"tool_args.command": "rm*"}, "command": "echo no >&2; exit 2"},
    )
    exited = after()
    exited[2] = {"title": "", "metadata": {"exit": 3}, "output": "out"}
    drive(project, before(), failed(), failed(), before("rm x"), failed(), failed("c9"), before(), exited, failed())
    seen = [json.loads(line) for line in (project.root / "seen").read_text().splitlines()]
    assert [(each["event"], each["tool_result_error"]) for each in seen] == [
        ("post_tool_failure", "no file"),
        ("post_tool_failure", "Exit code 3\nout"),
    ]
    assert [each["tool_args"]["command"] for each in seen] == ["ls", "ls"]


@rows(
    "script, error, toast",
    [
        (
            "echo ModuleNotFoundError >&2; exit 1",
            None,
            "hookrun: exited with 1 at tool.execute.before: ModuleNotFoundError",
        ),
        ("echo gibberish", None, "cannot be read"),
        ("echo full disk >&2; exit 2", "full disk", ""),
    ],
)
def test_only_a_status_of_2_refuses_without_an_answer(
    project: Project, script: str, error: str | None, toast: str
) -> None:
    """By stderr's text; of a hookrun that breaks, and of an answer that cannot be read, the user is notified."""
    program = project.script("program.sh", f"#!/bin/sh\n{script}\n")
    results = drive(project, before(), command=[str(project.root / program)])
    assert results["results"][0]["error"] == error
    assert toast in "".join(results["toasts"])


@pytest.mark.slow
@pytest.mark.parametrize("headless", [False, True])
def test_a_block_at_the_end_is_the_next_prompt(project: Project, headless: bool) -> None:
    """With a terminal at session.idle; `opencode run` would be over by then, so there at the end of a text.

    There it also waits until the prompt is stored: the run ends if no prompt is.
    """
    project.hooks(
        {"event": "stop", "command": says(action="block", message="run the tests")},
        {"name": "p", "event": "user_prompt_submit", "command": says(action="continue", additional_context="Monday")},
    )
    text: list[object] = [
        "experimental.text.complete",
        {**SESSION, "messageID": "m1", "partID": "p1"},
        {"text": "done"},
    ]
    results = drive(project, text, happened("session.idle", sessionID="s1"), headless=headless)
    assert results["prompts"] == [
        {"path": {"id": "s1"}, "body": {"parts": [{"type": "text", "text": "run the tests"}]}}
    ]
    assert results["results"][0]["stored"] == int(headless)


@pytest.mark.slow
def test_what_the_person_is_told_is_shown(project: Project) -> None:
    """As a toast, or on stderr where there is no terminal to show one in."""
    project.hooks({"command": says(action="continue", system_message="mind the gap")})
    assert drive(project, before())["toasts"] == ["mind the gap"]
    assert "mind the gap" in drive(project, before(), headless=True)["stderr"]


@pytest.mark.parametrize("command", [["/nowhere/hookrun", "fire"], [sys.executable, "-I", "/nowhere/hookrun", "fire"]])
def test_a_hookrun_that_is_gone_is_told_once_and_refuses_nothing(project: Project, command: list[str]) -> None:
    """Every tool would be refused else: an interpreter without its program ends with 2."""
    results = drive(project, before(), before(), command=command)
    assert [each["error"] for each in results["results"]] == [None, None]
    (toast,) = results["toasts"]
    assert "/nowhere/hookrun no longer exists" in toast
    assert "hookrun doctor opencode" in toast


@pytest.mark.slow
def test_an_event_that_is_not_wired_calls_nobody(project: Project) -> None:
    """The plugin has the list; a marker that its program leaves shows whether it was run."""
    script = project.script("mark.sh", "#!/bin/sh\ntouch marked\n")
    for call, marked in ((before(), False), (after(), True)):
        drive(project, call, command=[str(project.root / script)], events=["tool.execute.after"])
        assert (project.root / "marked").exists() is marked
