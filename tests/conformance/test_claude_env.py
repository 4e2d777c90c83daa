"""`env` of Claude Code's settings under other agents: which hooks have it, and which must never see it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun import Engine
from hookrun.config import discovery
from hookrun.trust.digest import declaration
from tests.conformance.test_claude_sources import House, handler, house, settings, write
from tests.conftest import Project
from tests.rows import rows

if TYPE_CHECKING:
    from hookrun.core.model import Hook

__all__ = ["house"]
DANGEROUS = {
    "PATH": "/stranger/bin",
    "BASH_ENV": "/stranger/rc",
    "NODE_OPTIONS": "--require=/stranger/x.js",
    "GIT_CONFIG_COUNT": "1",
}
NEVER = {
    "HOME": "/stranger",
    "XDG_CONFIG_HOME": "/stranger",
    "XDG_RUNTIME_DIR": "/stranger",
    "HOOKRUN_OPTION_COMMAND": "touch pwned",
    "HOOKRUN_SKIP": "central",
}
BEFORE_TOOL = {
    "session_id": "s1",
    "hook_event_name": "BeforeTool",
    "tool_name": "run_shell_command",
    "tool_input": {"command": "ls"},
}
GUARD = """[ "$MODE" = strict ] && { echo "strict here" >&2; exit 2; }; exit 0"""


def shows(path: Path) -> dict[str, Any]:
    """Return a handler that writes down its environment."""
    return {"type": "command", "command": f"/usr/bin/env > {shlex.quote(str(path))}"}


def variables(path: Path) -> dict[str, str]:
    """Return the output of such a handler."""
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


@pytest.fixture
def shown(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """Return the environment of a hook of each layer, where each layer's settings set variables."""
    central = tmp_path / "central"
    monkeypatch.setattr(discovery, "CLAUDE_MANAGED", str(central))
    for name in DANGEROUS.keys() - {"PATH"}:
        monkeypatch.delenv(name, raising=False)
    files = {
        "managed": central / "managed-settings.json",
        "user": project.home / ".claude" / "settings.json",
        "project": project.root / ".claude" / "settings.json",
        "local": project.root / ".claude" / "settings.local.json",
    }
    for layer, path in files.items():
        env = {"ALL": layer, f"OF_{layer}": "1", **NEVER, **(DANGEROUS if layer in {"project", "local"} else {})}
        write(path, settings(shows(tmp_path / f"env.{layer}"), env=env))
    project.user_hooks({"name": "ours", "command": shows(tmp_path / "env.ours")["command"]}, include_claude=True)
    with Engine.load(project.root, home=project.home, trust_project=True) as engine:
        result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "ls"})
    assert [run.failure for run in result.runs] == [None] * 5
    return {layer: variables(tmp_path / f"env.{layer}") for layer in (*files, "ours")}


@pytest.mark.only_cold("runs hooks in the test's own process")
def test_variables_reach_the_hooks_of_their_layer_and_below(shown: dict[str, dict[str, str]]) -> None:
    """Among those that reach a hook, Claude Code's order counts: managed settings, local, project, user."""
    layers = ("managed", "user", "project", "local")
    for number, layer in enumerate(layers):
        reached = [each for each in layers if f"OF_{each}" in shown[layer]]
        assert reached == list(layers[: number + 1])
        assert shown[layer]["ALL"] == "managed"
    assert not [name for name in shown["ours"] if name.startswith("OF_") or name == "ALL"]


@pytest.mark.only_cold("runs hooks in the test's own process")
def test_a_projects_variables_reach_no_hook_above_it(shown: dict[str, dict[str, str]]) -> None:
    """PATH, BASH_ENV, NODE_OPTIONS and git's settings would run untrusted code in the user's guards."""
    for layer in ("managed", "user", "ours"):
        assert not {name for name, value in DANGEROUS.items() if shown[layer].get(name) == value}
        assert not shown[layer].keys() & (DANGEROUS.keys() - {"PATH"})
    for layer in ("project", "local"):
        assert {name: shown[layer].get(name) for name in DANGEROUS} == DANGEROUS


@pytest.mark.only_cold("runs hooks in the test's own process")
def test_whose_home_and_options_count_no_settings_say(shown: dict[str, dict[str, str]]) -> None:
    """HOME, XDG_* and HOOKRUN_* are accepted from no settings, not even the administrator's."""
    for found in shown.values():
        assert not {name for name, value in NEVER.items() if found.get(name) == value}


def test_a_guard_that_reads_a_variable_blocks_under_another_agent(project: Project) -> None:
    """As in Claude Code, whether its own settings or the user's set it; once it is approved."""
    path = project.root / ".claude" / "settings.json"
    guard: dict[str, object] = {"type": "command", "command": GUARD}
    fire = (
        json.dumps({**BEFORE_TOOL, "cwd": str(project.root)}).encode(),
        "--agent",
        "gemini",
        "--home",
        str(project.home),
    )
    project.hooks(include=[".claude/settings.json"])
    write(path, settings(guard))
    project.approve()
    assert project.fire(*fire, event="").stdout == b""
    write(project.home / ".claude" / "settings.json", {"env": {"MODE": "strict"}})
    assert "strict here" in project.fire(*fire, event="").stdout.decode()
    (project.home / ".claude" / "settings.json").unlink()
    write(path, settings(guard, env={"MODE": "strict"}))
    assert "strict here" not in project.fire(*fire, event="").stdout.decode()
    project.approve()
    assert "strict here" in project.fire(*fire, event="").stdout.decode()


def digested(house: House) -> dict[str, str]:
    """Return the approval of each hook of the project."""
    hooks: list[Hook] = house.examine().declarations.hooks
    return {hook.name: declaration(hook, str(house.root), str(house.home)) for hook in hooks}


def test_what_is_approved_has_the_projects_variables_and_no_others(house: House) -> None:
    """The user's differ from machine to machine: a digest for CI must not."""
    house.include("project")
    write(house.shared, settings(handler("shared")))
    write(house.local, settings(handler("local")))
    before = digested(house)
    for path in (house.own, house.central):
        write(path, {"env": {"USERS": "1"}})
    assert digested(house) == before
    write(house.local, settings(handler("local"), env={"A": "1"}))
    changed = digested(house)
    assert (changed["shared"] == before["shared"], changed["local"] == before["local"]) == (True, False)
    write(house.shared, settings(handler("shared"), env={"A": "1"}))
    assert digested(house)["shared"] != before["shared"]


def test_the_local_settings_own_variables_are_said_not_to_reach_the_others(house: House) -> None:
    """In Claude Code they do: `validate` warns."""
    house.include("project")
    write(house.shared, settings(handler("shared")))
    write(house.local, {"env": {"A": "1"}})
    (problem,) = house.examine().problems
    assert (problem.severity, problem.path) == ("warning", str(house.local))


@rows(
    "env, taken, found",
    [
        ({"A": 1, "B": True, "C": "x"}, {"A": "1", "B": "true", "C": "x"}, ""),
        (["A"], None, "`env` must be an object of names and values"),
        ({"A": None, "B": "x"}, {"B": "x"}, "`env.A` must be a string, not null"),
        ({"A": {"b": 1}}, None, "`env.A` must be a string"),
        ({"A=B": "x", "": "x", "C": "a\0b"}, None, 'invalid environment variable "A=B"'),
        ({f"A{n}": "x" * 1000 for n in range(80)}, None, "more than 64 KiB of variables"),
    ],
)
def test_variables_that_cannot_be_given_are_reported(
    house: House, env: object, taken: dict[str, str] | None, found: str
) -> None:
    """A guard that misses one may allow everything: it is an error, which is reported; the others are given."""
    write(house.shared, settings(handler(), env=env))
    declarations = house.examine(house.shared).declarations
    (hook,) = declarations.hooks
    assert hook.env == taken
    assert found in "\n".join(declarations.problems)
    assert bool(found) == bool(declarations.problems)


def test_settings_above_that_cannot_be_read_are_reported(house: House) -> None:
    """Their hooks are not included, but the variables they set are unknown."""
    write(house.shared, settings(handler()))
    house.own.parent.mkdir()
    house.own.write_text('{"env": {')
    (problem,) = house.examine(house.shared).declarations.problems
    assert problem.startswith(str(house.own))
    write(house.own, {"hooks": {"Stop": [5]}, "env": {"A": "1"}})
    declarations = house.examine(house.shared).declarations
    assert declarations.problems == []
    assert declarations.settings["claude_env"] == {"user": {"A": "1"}}


def test_a_plugin_that_a_project_enables_needs_approval(project: Project) -> None:
    """Its code is the user's to install, but a project would have it run; a changed script asks again."""
    base = project.home / ".claude" / "plugins"
    script = base / "guard.sh"
    write(base / ".claude-plugin" / "marketplace.json", {"plugins": [{"name": "guard", "source": "./"}]})
    known = {"source": {"source": "directory"}, "installLocation": str(base)}
    write(base / "known_marketplaces.json", {"market": known})
    guard: dict[str, object] = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/guard.sh"'}
    write(base / "hooks" / "hooks.json", settings(guard))
    script.write_text("#!/bin/sh\necho $MODE >&2\nexit 2\n")
    script.chmod(0o755)
    write(project.root / ".claude" / "settings.json", {"enabledPlugins": {"guard@market": True}, "env": {"MODE": "m1"}})
    project.user_hooks(include_claude=True)
    message = json.dumps({**BEFORE_TOOL, "cwd": str(project.root)}).encode()
    fire = (message, "--agent", "gemini", "--home", str(project.home))
    assert "not approved" in project.fire(*fire, event="").stdout.decode()
    project.approve()
    assert '"reason":"m1"' in project.fire(*fire, event="").stdout.decode().replace(": ", ":")
    script.write_text("#!/bin/sh\nexit 0\n")
    assert "hook guard:guard did not run" in project.fire(*fire, event="").stdout.decode()
