"""What an agent's sandbox confines stays confined: a server outside of it runs nothing for a command inside."""

from __future__ import annotations

import json
import shlex

import pytest

from hookrun_conformance.driver import put
from hookrun_conformance.model import say
from tests.live.run import Agent

CONFINED = 'sandbox_mode = "workspace-write"'
NO_TMP = "\n[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"


@pytest.mark.may_be_cold({"privileges", "namespace", "socket", "connect", "foreign-server", "socket-directory", "peer"})
def test_a_command_in_codex_s_sandbox_gets_no_hook_outside_of_it(codex: Agent) -> None:
    """Codex's own run of the hook writes into the home; a launcher that a confined command starts cannot."""
    home, config = codex.place.home, codex.place.home / ".codex" / "config.toml"
    config.write_text(config.read_text().replace('sandbox_mode = "danger-full-access"', CONFINED) + NO_TMP)
    seen = home / "seen.txt"
    hook = f"cat >/dev/null; echo ${{WHO:-codex}} >> {shlex.quote(str(seen))}"
    put(codex.place.hooks, {"hooks": [{"name": "writes", "event": "pre_tool_use", "command": hook}]})
    codex.install()
    message = {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    launcher = home / ".local" / "share" / "hookrun" / "codex"
    line = shlex.join([str(launcher), "PreToolUse", "--home", str(home)])
    confined = f"touch {home}/escaped || echo confined"
    started = f"echo {shlex.quote(json.dumps(message))} | WHO=inside {line}; echo ended"
    ran = codex.run(codex.driver.shell(confined), codex.driver.shell(started), say("all-is-done"))
    results = "".join(codex.model.results())
    if "confined" not in results:
        pytest.skip("Codex's sandbox does not work here")
    assert "ended" in results, ran
    assert not (home / "escaped").exists()
    assert seen.read_text() == "codex\n" * 2, ran
