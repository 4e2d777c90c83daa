"""The cases of fire.py about trust: an agent's fire of one script, approved in a project, beside the user's own."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import fixtures
from fixtures import BLOCKING_HOOK, HOOK, hook
from measure import BrokenCaseError, Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from environments import Environment
    from fixtures import Bench
    from measure import Outcome

DECLARED = "coder.json"


def cases(bench: Bench, hookrun: Environment) -> tuple[list[Case], list[Case]]:
    """Return the same script declared by a project, where it is checked, and by the user, where it is not.

    The controls prove that both run it: one that blocks is heard. Where nobody has approved it, nothing runs.
    """
    timed = [
        _case(bench, hookrun, "agent-approved", "--agent claude, one script of the project, approved"),
        _case(bench, hookrun, "agent-own", "--agent claude, the same script declared by the user: no check"),
        _case(bench, hookrun, "agent-no-match", "--agent claude, the script declared for another tool", matcher="edit"),
    ]
    controls = [
        _case(bench, hookrun, "agent-approved-control", "the project's script blocks", script=BLOCKING_HOOK),
        _case(bench, hookrun, "agent-own-control", "the user's script blocks", script=BLOCKING_HOOK),
    ]
    return timed, controls


def _case(bench: Bench, hookrun: Environment, name: str, about: str, script: str = HOOK, **fields: object) -> Case:
    project, home = bench.directory(f"{name}/project"), bench.directory(f"{name}/home")
    (project / ".git").mkdir()
    guard = bench.write(f"{name}/project/hooks/guard.sh", f"{script}\n")
    bench.directory(f"{name}/home/.local/share").chmod(0o700)
    declared = json.dumps({"hooks": [hook(command=f"sh {guard}", **fields)]})
    other = json.dumps({"hooks": [hook(1, event="file_changed")]})
    own = name.startswith("agent-own")
    bench.write(f"{name}/project/{DECLARED}", other if own else declared)
    bench.write(f"{name}/home/.config/hookrun/hooks.json", declared if own else other)
    env = bench.env | {"HOME": str(home)}
    program = str(hookrun.program("hookrun"))
    if not own:
        _approve(program, project, env)
    message = bench.write(f"{name}/message.json", claude_message(project))
    argv = (program, "fire", "--agent", "claude", "--ctx", str(message), "--home", str(home))
    return Case(name, about, argv, env, project, check=_hears(block=script == BLOCKING_HOOK))


def _approve(program: str, project: Path, env: dict[str, str]) -> None:
    listed = subprocess.run([program, "trust", "--json"], capture_output=True, cwd=project, env=env, check=False)
    digests = [each["digest"] for each in json.loads(listed.stdout)]
    done = subprocess.run([program, "trust", "--yes", *digests], capture_output=True, cwd=project, env=env, check=False)
    if done.returncode:
        raise BrokenCaseError(f"hookrun trust: {done.stderr.decode()}")


def claude_message(project: Path, command: str = "", size: int = 0) -> str:
    """Return what Claude Code sends before it runs a command, in the form of its version 2.1."""
    arguments = json.loads(fixtures.large_context(size) if size else fixtures.context())["tool_args"]
    fields = {
        "session_id": "0b9c2f6e-benchmark",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": arguments | ({"command": command} if command else {}),
        "tool_use_id": "toolu_01",
    }
    return json.dumps(fields) + "\n"


def _hears(*, block: bool) -> Callable[[Outcome], str | None]:
    """Return the check that the agent gets a refusal, or nothing at all: an unapproved hook would be reported."""

    def check(outcome: Outcome) -> str | None:
        said = (outcome.stdout + outcome.stderr).decode(errors="replace")
        if block:
            return None if '"deny"' in said.replace(" ", "") else "expected a refusal"
        return None if not said else "expected not a word"

    return check
