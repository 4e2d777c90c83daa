"""Run hooks in Claude's dialect on a sample of their event, in a temporary directory, and judge their answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic

from hookrun import context as contexts
from hookrun.claude import payload
from hookrun.claude.answer import Interpretation
from hookrun.config.command_words import relative_words
from hookrun.config.document import Diagnostic
from hookrun.fastjson import dumps
from hookrun.model import Failure, Hook, Outcome, Verdict
from hookrun.process.loop import Loop
from hookrun.process.prepare import HookEnvironment
from hookrun.process.runner import ProcessRunner

SAMPLE_TIMEOUT = 10.0
"""Seconds for a hook's answer."""

TOOLS: dict[str, dict[str, object]] = {
    "Bash": {"tool_name": "bash", "tool_args": {"command": "git status", "description": "Show the state"}},
    "Write": {"tool_name": "write", "tool_args": {"file_path": "{cwd}/sample.py", "content": "x = 1\n"}},
    "Edit": {
        "tool_name": "edit",
        "tool_args": {"file_path": "{cwd}/sample.py", "old_string": "x = 1", "new_string": "x = 2"},
    },
    "Read": {"tool_name": "read", "tool_args": {"file_path": "{cwd}/sample.py"}},
    "WebFetch": {"tool_name": "web_fetch", "tool_args": {"url": "http://localhost/", "prompt": "What is there?"}},
    "Agent": {"tool_name": "task", "tool_args": {"prompt": "Look around", "description": "Look"}},
    "mcp__": {"tool_name": "mcp__sample__tool", "tool_args": {"query": "x"}},
}
"""Word in a matcher -> the sample call; the first match is used."""

EVENTS: dict[str, dict[str, object]] = {
    "post_tool_use": {"tool_result_output": "done\n"},
    "post_tool_failure": {"tool_result_error": "Exit code 1\nno such file"},
    "user_prompt_submit": {"user_prompt": "Add a retry to the client"},
    "session_start": {"source": "startup"},
    "session_end": {"reason": "other"},
    "stop": {"stop_hook_active": False, "assistant_response": "Done."},
    "subagent_stop": {"stop_hook_active": False, "agent_name": "Explore", "agent_id": "a1"},
    "subagent_start": {"agent_name": "Explore", "agent_id": "a1"},
    "notification": {"message": "Waiting for you", "notification_type": "idle_prompt"},
    "pre_compact": {"trigger": "manual"},
    "post_compact": {"trigger": "manual", "compact_summary": "All is well."},
    "error": {"error_info": {"error_message": "rate_limit"}},
    "assistant_response": {"assistant_response": "Done."},
}
"""Further fields of an event's sample."""

WITH_TOOL = frozenset({"pre_tool_use", "post_tool_use", "post_tool_failure", "permission_request", "tool_call_aborted"})


def run_samples(hooks: Sequence[Hook], root: str, home: str, settings: Mapping[str, object]) -> Iterator[Diagnostic]:
    """Run each hook on a sample and yield warnings about its answer. The hook runs with all its side effects."""

    def answered(hook: Hook, context: dict[str, object]) -> tuple[Outcome, Interpretation]:
        around = HookEnvironment(context, project=root, request_id="probe", home=home, settings=settings)
        loop = Loop(deadline=monotonic() + SAMPLE_TIMEOUT)
        runner = ProcessRunner(
            around, loop, locks=str(context["working_dir"]), on_background_end=lambda _hook, _outcome: None
        )
        stdin = dumps(payload.build_payload(hook.events[0], context)).encode("ascii") + b"\n"
        (outcome,) = runner([(hook, stdin)])
        return outcome, Interpretation(hook, hook.events[0], context, outcome)

    for hook in hooks:
        with tempfile.TemporaryDirectory(prefix="hookrun-probe-") as cwd:
            for word in relative_words(hook.kind, hook.target):  # as if the agent worked at the project's root
                first = os.path.normpath(word).partition("/")[0]
                if not os.path.lexists(f"{cwd}/{first}"):
                    os.symlink(f"{root}/{first}", f"{cwd}/{first}")
            yield from _judged(hook, sample(hook, cwd), answered)


def sample(hook: Hook, cwd: str) -> dict[str, object]:
    """Return a context of the hook's event that its matcher probably matches."""
    event = hook.events[0]
    data: dict[str, object] = {"session_id": "probe", "working_dir": cwd, **EVENTS.get(event, {})}
    if event in WITH_TOOL:
        matcher = str((hook.claude or {}).get("matcher", ""))
        call = next((call for word, call in TOOLS.items() if word in matcher), TOOLS["Bash"])
        args = call["tool_args"]
        data["tool_name"] = call["tool_name"]
        data["tool_args"] = {
            name: str(value).replace("{cwd}", cwd) for name, value in (args.items() if isinstance(args, dict) else ())
        }
    return contexts.with_defaults(data, event, "probe", cwd)


def _judged(
    hook: Hook,
    context: dict[str, object],
    answered: Callable[[Hook, dict[str, object]], tuple[Outcome, Interpretation]],
) -> Iterator[Diagnostic]:
    outcome, answer = answered(hook, context)
    event = str((hook.claude or {}).get("event", hook.events[0]))
    if isinstance(answer.result, Failure):
        yield Diagnostic.of_hook(hook, f"`{hook.name}` failed on a sample of {event}: {answer.result.detail}")
    for note in (*outcome.notes, *answer.notes):
        yield Diagnostic.of_hook(hook, f"`{hook.name}` on a sample of {event}: {note}")
    if "stop_hook_active" in context and _goes_on(answer.result):
        _, again = answered(hook, {**context, "stop_hook_active": True})
        if _goes_on(again.result):
            message = f"`{hook.name}` blocks {event} even when stop_hook_active is true, so the turn never ends"
            yield Diagnostic.of_hook(hook, message, "exit 0 where stop_hook_active is true in the input")


def _goes_on(given: Verdict | Failure) -> bool:
    return isinstance(given, Verdict) and given.action == "block"
