"""An agent's environment, which a project can set, reconfigures no recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fire.agents import Agent

if TYPE_CHECKING:
    from tests.conftest import Project


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot", "gemini"])
def test_no_variable_of_hookrun_reaches_a_hook(agent: str, project: Project) -> None:
    """Under no agent, but the chain of hooks, which is hookrun's own and is lengthened."""
    names = ("OPTION_SECRETS", "URL_REQUEST", "SKIP", "DEBUG", "ANYTHING", "AGENT", "PROJECT_DIR")
    around = {**{f"HOOKRUN_{name}": "attack" for name in names}, "HOOKRUN_CHAIN": "attack;"}
    project.user_hooks({"command": 'cat > /dev/null; env > "$HOOKRUN_PROJECT_DIR"/seen', "env": {"HOOKRUN_MINE": "1"}})
    fired = Agent(agent, project)
    fired.fire(fired.shell(), env=around, event=fired.events["pre"])
    seen = dict(line.partition("=")[::2] for line in (project.root / "seen").read_text().splitlines())
    assert [name for name, text in seen.items() if name.startswith("HOOKRUN_") and text == "attack"] == []
    assert (seen["HOOKRUN_MINE"], seen["HOOKRUN_AGENT"]) == ("1", agent)
    assert seen["HOOKRUN_CHAIN"].startswith("attack;")


def test_headers_of_a_url_take_none_either(project: Project) -> None:
    """Also where the declaration allows the variable by its name: it is the agent's, so it is a project's to set."""
    project.user_hooks({"name": "hook", "command": "env > seen; cat > /dev/null", "env_policy": "clean"})
    path = project.home / ".config" / "hookrun" / "hooks.json"
    url = '"url": "http://127.0.0.1:9/", "headers": {"x": "$HOOKRUN_KEY"}, "allowed_env": ["HOOKRUN_KEY"]'
    path.write_text(f'{{"hooks": [{{"name": "hook", "event": "pre_tool_use", {url}}}]}}')
    claude = Agent("claude", project)
    told = claude.fire(claude.shell(), env={"HOOKRUN_KEY": "attack"})
    assert "HOOKRUN_KEY" in told.person
