"""A wrong entry in Claude Code's settings concerns that entry alone: the guards beside it run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from tests.config.declared import examined

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

WRONG: tuple[object, ...] = (
    *([], ["x"], [[]], {}, {"a": 1}, [{"a": []}], None, True, 0, -1, 5, 1.5, 1e308, 10**400),
    *("", "x", "\0", "x" * 9999),
)
KEYS = (
    *("type", "command", "args", "url", "headers", "allowedEnvVars", "timeout", "if", "async", "asyncRewake", "shell"),
    *("onFailure", "once", "statusMessage", "name", "env", "unknown"),
)
OURS = ("name", "event", "matcher", "when", "unless", "timeout", "command", "args", "python", "url", "env", "agents")
REFUSES = "echo no >&2; exit 2"
GUARD = {"type": "command", "command": REFUSES}


def settings(project: Project, *groups: dict[str, object]) -> None:
    """Write Claude Code's settings of the user, and include them."""
    project.user_hooks(include_claude=True)
    path = project.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))


def guarded(project: Project) -> bool:
    """Return whether the guard is among the hooks and can run."""
    hooks = load_config(find(str(project.root), str(project.home))).declarations.hooks
    return any(hook.target == REFUSES and hook.error is None for hook in hooks)


@pytest.mark.sampled
@pytest.mark.parametrize("type_", [["x"], {"a": 1}, [], None, 5])
def test_a_handler_of_a_type_that_is_none_is_a_failure_of_its_own(project: Project, type_: object) -> None:
    """It fails as `declaration`, and the guard in the same group refuses."""
    settings(project, {"matcher": "Bash", "hooks": [{"type": type_, "command": "true"}, GUARD]})
    fired = project.fire()
    assert (fired.status, fired.verdict["message"]) == (2, "no")
    assert [record.get("failure") for record in fired.audit if record["kind"] == "hook"] == ["declaration", None]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("key", KEYS)
def test_a_wrong_field_of_a_handler_loses_no_other_hook(project: Project, key: str) -> None:
    """Whatever JSON value it has, in a handler and in its group."""
    lost = []
    for value in WRONG:
        settings(project, {"matcher": "Bash", "hooks": [{"type": "command", "command": "true", key: value}, GUARD]})
        if not guarded(project):
            lost.append(("handler", value))
        settings(project, {"matcher": "Bash", key: value, "hooks": [GUARD]})
        if not guarded(project):
            lost.append(("group", value))
    assert lost == []


@pytest.mark.parametrize("key", OURS)
def test_a_wrong_field_of_our_own_form_loses_no_other_hook(project: Project, key: str) -> None:
    """The same for a hook in hookrun's own form."""
    lost = []
    for value in WRONG:
        project.user_hooks({"name": "wrong", "command": "true", key: value}, {"name": "guard", "command": REFUSES})
        if not guarded(project):
            lost.append(value)
    assert lost == []


def test_state_that_a_handler_executes_is_an_error(tmp_path: Path) -> None:
    """`defaults` give handlers their `state`, too: a file that is code stays part of what is approved."""
    handler = {"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/hooks/check.sh'}
    data = {
        "hookrun": {"defaults": {"state": ["hooks/check.sh"]}},
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]},
    }
    result = examined(tmp_path / "coder.json", data)
    (hook,) = result.declarations.hooks
    assert "so it cannot be in `state`" in str(hook.error)
