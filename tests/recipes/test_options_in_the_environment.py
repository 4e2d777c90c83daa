"""An agent's environment, which a project can set, reconfigures no recipe."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import load
from hookrun.agents.base import message_from_context
from hookrun.recipes import RECIPES
from tests.fire.agents import Agent, Told
from tests.recipes.shipped import file, laid_out, recipe

if TYPE_CHECKING:
    from pathlib import Path

    from hookrun.testing.cases import Case
    from tests.conftest import Project

ATTACKS = [
    ("block-destructive-commands", "protect", "/srv/app", "the project's root"),
    ("block-destructive-commands", "git", "clean reset", "git clean where it is wanted"),
    ("block-destructive-commands", "outside_project", "block", "another project"),
    ("block-destructive-commands", "ask", "none", "what git never gives back"),
    ("block-destructive-commands", "interactive", "allow", "a shell that Codex types into"),
    ("commit-message-check", "pattern", ".*", "no type"),
    ("commit-message-check", "example", "Ignore the rule.", "no type"),
    ("commit-message-check", "subject", "0", "a longer first line"),
    ("commit-message-check", "width", "9", "a line that is too long"),
    ("commit-message-check", "forbidden", "a", "a longer first line"),
    ("cost-tracker", "prices", "*=1/1", "what a session has used is reported at the end of a turn"),
    ("cost-tracker", "budget", "wrong", "a session over its budget makes no call"),
    ("cost-tracker", "limit", "wrong", "a session over its tokens makes no call"),
    ("format-on-edit", "formatters", "black", "a Python file that was written is formatted"),
    ("format-on-edit", "fixes", "wrong", "a Python file that was written is formatted"),
    ("format-on-edit", "seconds", "wrong", "a Python file that was written is formatted"),
    ("format-on-edit", "project_tools", "yes", "a Python file that was written is formatted"),
    ("inject-git-context", "files", "wrong", "the branch is reported"),
    ("inject-git-context", "commits", "wrong", "the branch is reported"),
    ("lint-on-edit", "linters", "node", "a problem in a file that was written is fed back"),
    ("lint-on-edit", "lines", "1", "only the first lines are given"),
    ("lint-on-edit", "seconds", "wrong", "a problem in a file that was written is fed back"),
    ("lint-on-edit", "project_tools", "yes", "a problem in a file that was written is fed back"),
    ("log-tools", "file", "/dev/null", "a call is logged when it is asked for"),
    ("log-tools", "redact", "wrong", "a call is logged when it is asked for"),
    ("log-tools", "longest", "wrong", "a call is logged when it is asked for"),
    ("log-tools", "max_bytes", "wrong", "a call is logged when it is asked for"),
    ("log-tools", "keep", "wrong", "a call is logged when it is asked for"),
    ("no-force-push", "branches", "none", "the short option"),
    ("no-force-push", "lease", "yes", "with a lease"),
    ("no-force-push", "kept", "none", "main is deleted"),
    ("no-force-push", "interactive", "allow", "a shell that Codex types into"),
    ("notify", "via", "wrong", "a notification is reported on the desktop"),
    ("notify", "url", "http://127.0.0.1:9/", "a webhook without a server is reported and blocks nothing"),
    ("notify", "style", "wrong", "a webhook without a server is reported and blocks nothing"),
    ("notify", "level", "wrong", "a notification is reported on the desktop"),
    ("package-manager", "node", "pnpm", "install"),
    ("package-manager", "python", "uv", "pip"),
    ("protect-files", "secrets", "x", "cat"),
    ("protect-files", "examples", "*", "cat"),
    ("protect-files", "locked", "x", "a lock file is edited"),
    ("protect-files", "settings", "x", "declarations are written"),
    ("protect-files", "read", "yes", "cat"),
    ("rate-limit", "calls", "wrong", "one call too many is refused"),
    ("rate-limit", "seconds", "wrong", "one call too many is refused"),
    ("rate-limit", "tools", "none", "one call too many is refused"),
    ("require-plan", "file", ".git", "an edit without a plan is refused"),
    ("require-plan", "free", "*", "an edit without a plan is refused"),
    ("run-tests-at-stop", "command", "touch PWNED; false", "a package's tests are run, and not watched"),
    ("run-tests-at-stop", "attempts", "0", "a turn with failing tests continues, with the end of the output"),
    ("run-tests-at-stop", "lines", "1", "a turn with failing tests continues, with the end of the output"),
    ("run-tests-at-stop", "seconds", "wrong", "a turn with failing tests continues, with the end of the output"),
    ("secret-scan", "prompt", "off", "in a prompt"),
    ("secret-scan", "arguments", "off", "a token of GitHub in a command"),
    ("secret-scan", "output", "off", "in the output"),
    ("secret-scan", "places", "wrong", "a token of GitHub in a command"),
    ("secret-scan", "allow", "*", "a token of GitHub in a command"),
    ("ticket-from-branch", "pattern", "x", "the ticket is reported when a session begins"),
    ("ticket-from-branch", "url", "https://x/{ticket}", "the ticket is reported when a session begins"),
]
"""Recipe, option, what a project sets it to, and one of the recipe's cases in which that makes a difference."""


def test_every_option_is_attacked() -> None:
    """None of a recipe that is added later is forgotten."""
    options = {(made.name, each.name) for made in map(recipe, RECIPES) for each in made.options}
    assert {row[:2] for row in ATTACKS} == options


@pytest.mark.slow
@pytest.mark.sampled(20)
@pytest.mark.parametrize(("name", "option", "value", "case"), ATTACKS)
def test_an_option_in_the_environment_of_an_agent_does_nothing(
    name: str, option: str, value: str, case: str, project: Project
) -> None:
    """The same value in the hook's own `env` changes the answer, or the test would show nothing."""
    module = name.replace("-", "_")
    found = next(each for each in file(module).cases if each.name == case)
    variable = f"HOOKRUN_OPTION_{option.upper()}"
    attacked = fire(module, found, project, around={variable: value})
    pwned = sorted(each.name for each in project.root.rglob("PWNED"))
    declared = fire(module, found, project, own={variable: value})
    assert attacked != declared
    assert pwned == []


@pytest.mark.parametrize("agent", ["gemini", "codex", "copilot"])
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


def fire(
    module: str,
    case: Case,
    project: Project,
    *,
    own: dict[str, str] | None = None,
    around: dict[str, str] | None = None,
) -> str:
    """Fire a case as its agent does, or Claude Code, in a new directory; return the answer, and the files it left.

    The hooks are the user's, with the case's variables in their `env`; the attacked option is only where it is given.
    """
    _clear(project.root)
    _clear(project.home)
    (project.root / ".git").mkdir()
    env = laid_out(case, project.root)
    if case.setup is not None:
        with_home = {**os.environ, "HOME": str(project.home), **env, "PATH": os.environ["PATH"]}
        subprocess.run(["/bin/sh", "-c", case.setup], cwd=project.root, env=with_home, check=True)
    env = {name: text for name, text in env.items() if name not in (around or {})} | (own or {})
    hooks = [hook for hook in recipe(module).hooks if case.hooks is None or hook["name"] in case.hooks]
    project.user_hooks(*({**hook, "env": env} for hook in hooks))
    agent = Agent(case.agents[0] if case.agents else "claude", project)
    told = agent.fire(_message(case, agent), env=around)
    return _text(told) + "".join(each.read_text() for each in sorted(project.root.rglob("*.jsonl")))


def _text(told: Told) -> str:
    assert told.status == 0, told.stderr
    return told.stdout.decode() + told.stderr


def _message(case: Case, agent: Agent) -> dict[str, object]:
    """Return the message of a case, of Claude Code or an agent with the same form."""
    message = message_from_context(load(agent.name), case.event, {"session_id": "s", **case.context})
    fields = message.calls[0].fields
    cwd = agent.project.root / str(fields.get("working_dir") or "")
    about: dict[str, object] = {"hook_event_name": message.native, "session_id": fields["session_id"], "cwd": str(cwd)}
    if message.tool is not None:
        about |= {"tool_name": message.tool, "tool_input": message.to_native_args([None]), "tool_use_id": "t1"}
        about["tool_response"] = fields.get("tool_result_output")
    about |= {"prompt": fields.get("user_prompt"), "transcript_path": fields.get("transcript_path")}
    about |= {name: value for name, value in fields.items() if name in ("stop_hook_active", "message", "payload")}
    return {name: value for name, value in about.items() if value is not None}


def _clear(directory: Path) -> None:
    for path in directory.iterdir():
        subprocess.run(["rm", "-rf", "--", str(path)], check=True)
