"""Send recorded messages to the installed program as the agent would, and samples to Claude's hooks.

The program is started by its own arguments, without a shell, and only from a line that install wrote. None of the
user's hooks can run: `--probe DIR` loads only that directory's declarations, a new one with the probe, and keeps audit
and cache there. Samples are for `hookrun validate --probe`, which does run the user's hooks.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from time import monotonic
from typing import Any

from hookrun.agents.base import timeout_for
from hookrun.agents.formats import Reply, reply_from_verdict
from hookrun.agents.reply import build_response
from hookrun.agents.types import Agent
from hookrun.claude.answer import Interpretation
from hookrun.claude.hook_protocol import build_payload
from hookrun.config.command_words import relative_words
from hookrun.config.document import Diagnostic
from hookrun.core import audit_reader, context as contexts
from hookrun.core.events import ALIASES
from hookrun.core.fastjson import dumps
from hookrun.core.model import Failure, Hook, Outcome, Verdict
from hookrun.doctor.agent_state import NOTE, OK, PROBLEM, AgentState, Finding, Findings
from hookrun.doctor.own_settings import why_not_run
from hookrun.launch import launcher_file
from hookrun.process.prepare import HookEnvironment
from hookrun.process.runner import ProcessRunner
from hookrun.wiring.targets import WiredEvent

REASON = "hookrun doctor: the probe blocks this call to prove that the agent obeys"
PROBE = "hookrun-probe"
# The probe's declarations: tool calls are blocked, other events only observed.
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

# Limit on a command's seconds, whatever its agent's timeout.
MAX_SECONDS = 60.0


def prove(state: AgentState) -> Findings:
    """Send each event's recorded message through its command; report what the agent would do."""
    payloads = recorded(state.agent.NAME)
    unproven = []
    for each in state.all_wired:
        reason = why_not_started(state, each)
        if reason is not None:
            found = f"not tried: {each.event} through {each.path}:{each.line}"
            yield Finding("proof", NOTE, found, reason, "run the other checks")
        elif (off := why_not_run(state, each)) is not None:
            found = f"{each.event} through {each.path}:{each.line}: {state.title} does not run it: {off}"
            yield Finding("proof", PROBLEM, found, "no hook is asked, whatever it would answer", "run the other checks")
        elif each.event in payloads:
            yield _proof(state, each, payloads[each.event])
        else:
            unproven.append(each.event)
    if unproven:
        yield Finding("proof", NOTE, f"not tried: {', '.join(unproven)}", "no recorded message for them")


def why_not_started(state: AgentState, wired: WiredEvent) -> str | None:
    """Return why the command is not started, or None: a project's line must not choose what the user runs."""
    if wired.only:
        return f"{wired.only} excludes a part of it"
    program, launcher = wired.command.program, wired.command.launcher
    if wired.command.form is not None:
        return None if state.found_by_project() is not None else "the project's settings find no hookrun here"
    if launcher is not None and launcher != launcher_file.path_in(state.location.home, state.agent.NAME):
        return f"{launcher} is not the launcher of this account"
    if program is None:
        return (
            "handwritten lines are not run" if launcher is None else "launcher.conf beside the launcher cannot be used"
        )
    if wired in state.wired.get("project", ()) and program != state.program:
        return f"the project names {program.main}, which is not this hookrun"
    return None


def recorded(agent: str) -> dict[str, dict[str, object]]:
    """Return an agent's recorded messages, by its own event names."""
    found: dict[str, dict[str, object]] = _data("hookrun.agents", "payloads.json").get(agent, {})
    return found


@cache
def _data(package: str, name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(resources.files(package).joinpath(name).read_text("utf-8"))
    return data


def _proof(state: AgentState, wired: WiredEvent, payload: Mapping[str, object]) -> Finding:
    with tempfile.TemporaryDirectory(prefix="hookrun-probe-") as directory:
        home, work = os.path.join(directory, "home"), os.path.join(directory, "work")
        os.makedirs(os.path.join(home, ".config", "hookrun"))
        os.mkdir(work)
        with open(os.path.join(home, ".config", "hookrun", "hooks.json"), "w", encoding="utf-8") as file:
            json.dump(PROBED, file)
        message = filled(payload, cwd=work, home=state.location.home)
        done = run_wired(state, wired, json.dumps(message).encode(), "--probe", home, work=work)
        return _judged(state.agent, wired, message, done, probed=_probe_ran(home))


def filled(payload: Mapping[str, object], **values: str) -> dict[str, object]:
    """Return a recorded message with these values for its placeholders."""
    text = json.dumps(payload)
    for name, value in values.items():
        text = text.replace("{" + name + "}", json.dumps(value)[1:-1])
    message: dict[str, object] = json.loads(text)
    return message


def run_wired(
    state: AgentState, wired: WiredEvent, message: bytes, *options: str, work: str
) -> subprocess.CompletedProcess[bytes] | None:
    """Return the finished command, or None after a timeout."""
    words = wired.command.words
    if wired.command.form is not None:  # as by its script, which finds hookrun by the account's home
        words = [*(state.found_by_project() or []), *wired.command.flags.arguments()]
    command = [*words, *options]
    if wired.command.flags.event is None:  # its caller adds the event
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
    """Compare the result with the agent's tables."""
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


# --- samples for hooks in Claude's dialect

# Seconds for a hook's answer.
SAMPLE_TIMEOUT = 10.0


def run_samples(hooks: Sequence[Hook], root: str, home: str, settings: Mapping[str, object]) -> Iterator[Diagnostic]:
    """Run each hook on a sample, with all side effects, and yield warnings about its answer."""

    def answered(hook: Hook, context: dict[str, object]) -> tuple[Outcome, Interpretation]:
        environment = HookEnvironment(context, project=root, request_id="probe", home=home, settings=settings)
        runner = ProcessRunner(
            environment,
            locks=lambda: str(context["working_dir"]),
            on_background_end=lambda _hook, _outcome: None,
            deadline=monotonic() + SAMPLE_TIMEOUT,
        )
        stdin = dumps(build_payload(hook.events[0], context)).encode("ascii") + b"\n"
        (outcome,) = runner([(hook, stdin)])
        return outcome, Interpretation(hook, hook.events[0], context, outcome)

    for hook in hooks:
        with tempfile.TemporaryDirectory(prefix="hookrun-probe-") as cwd:
            for word in relative_words(hook.kind, hook.target):  # as if the agent worked at the project's root
                first = os.path.normpath(word).partition("/")[0]
                if not os.path.lexists(f"{cwd}/{first}"):
                    os.symlink(f"{root}/{first}", f"{cwd}/{first}")
            yield from _sample_findings(hook, sample(hook, cwd), answered)


def sample(hook: Hook, cwd: str) -> dict[str, object]:
    """Return a context that the hook's matcher probably matches: the call is that of the first word in it."""
    event, samples = hook.events[0], _data("hookrun.doctor", "samples.json")
    data: dict[str, object] = {"session_id": "probe", "working_dir": cwd, **samples["fields"].get(event, {})}
    if event in samples["events_with_a_call"]:
        matcher = (hook.claude.matcher if hook.claude is not None else None) or ""
        calls = samples["calls"]
        call = next((call for word, call in calls.items() if word in matcher), calls["Bash"])
        data["tool_name"] = call["tool_name"]
        data["tool_args"] = {name: text.replace("{cwd}", cwd) for name, text in call["tool_args"].items()}
    return contexts.with_defaults(data, event, "probe", cwd)


def _sample_findings(
    hook: Hook,
    context: dict[str, object],
    answered: Callable[[Hook, dict[str, object]], tuple[Outcome, Interpretation]],
) -> Iterator[Diagnostic]:
    outcome, answer = answered(hook, context)
    event = hook.claude.event if hook.claude is not None else hook.events[0]
    if isinstance(answer.result, Failure):
        yield Diagnostic.of_hook(hook, f"`{hook.name}` failed on a sample of {event}: {answer.result.detail}")
    for note in (*outcome.notes, *answer.notes):
        yield Diagnostic.of_hook(hook, f"`{hook.name}` on a sample of {event}: {note}")
    if "stop_hook_active" in context and _blocks(answer.result):
        _, again = answered(hook, {**context, "stop_hook_active": True})
        if _blocks(again.result):
            message = f"`{hook.name}` blocks {event} even when stop_hook_active is true, so the turn never ends"
            yield Diagnostic.of_hook(hook, message, "exit 0 where stop_hook_active is true in the input")


def _blocks(answer: Verdict | Failure) -> bool:
    return isinstance(answer, Verdict) and answer.action == "block"
