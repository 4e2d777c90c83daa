"""Prove an installation: send recorded messages to the installed program, as the agent would, to a probe hook.

The program is started by its own arguments, never by a shell, and only from a line that install wrote. None of the
user's hooks can run: `--probe DIR` loads only the declarations in that directory, a new one with the probe in it. Audit
and cache lie there as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from importlib import resources
from typing import TYPE_CHECKING

from hookrun import audit_reader
from hookrun.agents.base import timeout_for
from hookrun.agents.formats import Reply, reply_from_verdict
from hookrun.agents.reply import build_response
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding
from hookrun.events import ALIASES
from hookrun.model import Verdict
from hookrun.wiring.launchers import launcher_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.agents.types import Agent
    from hookrun.wiring.targets import WiredEvent

REASON = "hookrun doctor: the probe blocks this call to prove that the agent obeys"
PROBE = "hookrun-probe"
PROBED = {
    "hooks": [
        {"name": PROBE, "event": "pre_tool_use", "args": ["/bin/sh", "-c", f"echo '{REASON}' >&2; exit 2"]},
        {
            "name": PROBE + "-watches",
            "event": [event for event in ALIASES if event != "pre_tool_use"],
            "args": ["/bin/sh", "-c", "exit 0"],
        },
    ]
}
"""The probe's declarations: a tool call is blocked, any other event only observed."""

MAX_SECONDS = 60.0
"""Seconds that a command may take, whatever timeout its agent gives it."""


def prove(state: AgentState) -> Iterable[Finding]:
    """Send a recorded message of each event through its command and report what the agent would have done."""
    payloads = recorded(state.agent.NAME)
    unproven = []
    for each in state.all_wired:
        reason = _why_not(state, each)
        if reason is not None:
            found = f"not tried: {each.event} through {each.path}:{each.line}"
            yield Finding("proof", NOTE, found, reason, "run the other checks")
        elif each.event in payloads:
            yield _proof(state, each, payloads[each.event])
        else:
            unproven.append(each.event)
    if unproven:
        yield Finding("proof", NOTE, f"not tried: {', '.join(unproven)}", "no recorded message for them")


def _why_not(state: AgentState, wired: WiredEvent) -> str | None:
    """Return why the command is not started, None if it is: a project's line must not choose what the user runs."""
    if wired.only:
        return f"{wired.only} excludes a part of it"
    program, launcher = wired.command.program, wired.command.launcher
    if wired.command.form is not None:
        return None if state.found_by_project() is not None else "the project's settings find no hookrun here"
    if launcher is not None and launcher != launcher_path(state.spot.home, state.agent.NAME):
        return f"{launcher} is not the launcher of this account"
    if program is None:
        return (
            "handwritten lines are not run" if launcher is None else "launcher.conf beside the launcher cannot be used"
        )
    if wired in state.wired.get("project", ()) and program != state.program:
        return f"the project names {program.main}, which is not this hookrun"
    return None


def recorded(agent: str) -> dict[str, dict[str, object]]:
    """Return the recorded messages of an agent, by its own names of events."""
    text = resources.files("hookrun.doctor").joinpath("payloads.json").read_text("utf-8")
    data: dict[str, dict[str, dict[str, object]]] = json.loads(text)
    return data.get(agent, {})


def _proof(state: AgentState, wired: WiredEvent, payload: Mapping[str, object]) -> Finding:
    with tempfile.TemporaryDirectory(prefix="hookrun-probe-") as directory:
        home, work = os.path.join(directory, "home"), os.path.join(directory, "work")
        os.makedirs(os.path.join(home, ".config", "hookrun"))
        os.mkdir(work)
        with open(os.path.join(home, ".config", "hookrun", "hooks.json"), "w", encoding="utf-8") as file:
            json.dump(PROBED, file)
        message = _filled(payload, cwd=work, home=state.spot.home)
        done = _run(state, wired, json.dumps(message).encode(), home=home, work=work)
        return _judged(state.agent, wired, message, done, probed=_probe_ran(home))


def _filled(payload: Mapping[str, object], **values: str) -> dict[str, object]:
    text = json.dumps(payload)
    for name, value in values.items():
        text = text.replace("{" + name + "}", json.dumps(value)[1:-1])
    filled: dict[str, object] = json.loads(text)
    return filled


def _run(
    state: AgentState, wired: WiredEvent, message: bytes, *, home: str, work: str
) -> subprocess.CompletedProcess[bytes] | None:
    """Return the finished command, None if it timed out."""
    program, launcher, flags = wired.command.program, wired.command.launcher, wired.command.flags
    if launcher is not None:
        command = [launcher, *flags.launcher_arguments(), "--probe", home]
    else:
        begins = [program.python, "-I", program.main] if program is not None else state.found_by_project() or []
        command = [*begins, *flags.arguments(), "--probe", home]
    if wired.command.flags.event is None:  # who runs it adds the event
        command.append(wired.event)
    environment = {**os.environ, **dict.fromkeys(state.agent.PROJECT_ENV_VARS, work)}
    try:
        return subprocess.run(
            command,
            input=message,
            capture_output=True,
            cwd=work,
            env=environment,
            timeout=min(MAX_SECONDS, wired.limit or timeout_for(state.agent, wired.event)),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, b"", str(error).encode())


def _probe_ran(home: str) -> bool:
    try:
        return any(each.get("kind") == audit_reader.HOOK for each in audit_reader.newest_first(home))
    except OSError:
        return False


def _judged(
    agent: Agent,
    wired: WiredEvent,
    payload: dict[str, object],
    done: subprocess.CompletedProcess[bytes] | None,
    *,
    probed: bool,
) -> Finding:
    """Compare the result with what the agent's tables expect."""
    where = f"{wired.event} through {wired.path}:{wired.line}"
    message = agent.read(payload, wired.event)
    refuses = any(call.event == "pre_tool_use" for call in message.calls)
    verdict = reply_from_verdict(Verdict("block", message=REASON)) if refuses else Reply()
    response = build_response(agent, message, [verdict])
    expected = response.stdout()
    if done is None or done.returncode != 0 or not probed or done.stdout != expected:
        got = "it timed out"
        if done is not None:
            got = f"the probe {'ran' if probed else 'did not run'}, exit status {done.returncode}"
            got += f", stdout {_shown(done.stdout)}, stderr {_shown(done.stderr)}"
        found = f"{where}: {got}; expected {_shown(expected)}"
        return Finding("proof", PROBLEM, found, "the agent would not have obeyed a hook", "run the other checks")
    if not refuses:
        return Finding("proof", OK, f"{where}: the probe ran; {agent.DISPLAY_NAME} would have continued")
    how = f" ({', '.join(response.degraded)})" if response.degraded else ""
    obeys = f"would {'' if response.reply.allows else 'not '}have run the tool{how}"
    found = f"{where}: the probe blocked the call; {agent.DISPLAY_NAME} {obeys}: {_shown(expected)}"
    return Finding("proof", OK, found)


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip() or "nothing"
