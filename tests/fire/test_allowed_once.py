"""`hookrun allow`: a refused call runs once after the user has let it through, and only that call."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.core.state import DATA_DIR, seal, unsealed
from hookrun.trust import allowed_calls
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.fire.agents import says
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Project
    from tests.fire.agents import Agent, AgentOf, Told

GUARD: dict[str, object] = {
    "name": "guard",
    "command": "cat >/dev/null; echo not here >&2; exit 2",
    "on_failure": "block",
}
IDS = re.compile(r"`(?:HOME=[^`]* )?hookrun allow ([0-9a-f ]+?)`")


def fire(agent: Agent, command: str = "rm -r build", *arguments: str, **options: Any) -> Told:
    """Fire a shell command."""
    return agent.fire(agent.shell(command), *arguments, event=agent.events["pre"], **options)


def refused(agent: Agent, command: str = "rm -r build") -> list[str]:
    """Fire a shell command that is refused, and return the ids that its answer names, once."""
    told = fire(agent, command)
    assert told.refusal is not None, told.json
    found = IDS.findall(json.dumps(told.json))
    assert len(set(found)) <= 1, told.json
    return found[0].split() if found else []


def allow(project: Project, *arguments: str) -> str:
    """Run `hookrun allow` at a terminal, and return the screen."""
    session = at_terminal(project, "allow", *arguments, columns=300)
    assert session.status == 0, session.screen
    return session.screen


def permission(project: Project) -> Path:
    """Return the file of the only permission."""
    (path,) = (project.home / DATA_DIR[1:]).glob(f"{allowed_calls.PREFIX}*")
    return path


@rows("name", ["claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok"])
def test_an_allowed_call_runs_once(name: str, agent_of: AgentOf) -> None:
    """In each agent, by the command that its refusal names."""
    agent = agent_of(name)
    agent.project.user_hooks(GUARD)
    assert "allowed once until" in allow(agent.project, *refused(agent))
    assert fire(agent).refusal is None
    assert refused(agent)


def test_only_that_call_runs(claude: Agent, tmp_path: Path) -> None:
    """Not with another argument, another directory, past another hook, nor in another project."""
    claude.project.user_hooks(GUARD)
    allow(claude.project, *refused(claude))
    assert refused(claude, "rm -r build ")
    message = claude.shell("rm -r build")
    elsewhere = {**message, "cwd": str(tmp_path)}
    assert claude.fire(elsewhere, event="PreToolUse").refusal
    described = {**message, "tool_input": {**message["tool_input"], "description": "remove"}}
    assert claude.fire(described, event="PreToolUse").refusal
    claude.project.user_hooks({**GUARD, "name": "other"})
    assert refused(claude)
    claude.project.user_hooks(GUARD)
    assert fire(claude).refusal is None


def test_other_hooks_still_refuse_it(claude: Agent) -> None:
    """And use up no permission, so that the user can let it past both."""
    claude.project.user_hooks(GUARD, {**GUARD, "name": "second", "command": "echo nor there >&2; exit 2"})
    (first,) = refused(claude)
    allow(claude.project, first)
    (second,) = refused(claude)
    assert second != first
    (again,) = refused(claude)
    assert again == second
    allow(claude.project, second)
    assert fire(claude).refusal is None
    assert refused(claude) == [first]


def test_hooks_that_refuse_together_are_allowed_together(claude: Agent) -> None:
    """By one command, which the refusal names."""
    claude.project.user_hooks({**GUARD, "parallel": True}, {**GUARD, "name": "second", "parallel": True})
    ids = refused(claude)
    assert len(ids) == 2
    allow(claude.project, *ids)
    assert fire(claude).refusal is None


def test_of_two_calls_at_the_same_time_one_runs(claude: Agent) -> None:
    """The permission is used once, whatever the order."""
    claude.project.user_hooks({**GUARD, "command": "cat >/dev/null; sleep 0.2; exit 2"})
    allow(claude.project, *refused(claude))
    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(lambda _: fire(claude, approved=False), range(6)))
    assert sum(each.refusal is None for each in told) == 1


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """Return the change of a permission's fields, with a right checksum."""

    def rewrite(path: Path) -> None:
        fields = json.loads(unsealed(path.read_bytes()))
        change(fields)
        path.write_bytes(seal(json.dumps(fields)))

    return rewrite


def as_directory(path: Path) -> None:
    """Replace a file by a directory."""
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "half written": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "empty": lambda path: path.write_bytes(b""),
    "a changed byte": lambda path: path.write_bytes(path.read_bytes().replace(b"guard", b"guarD")),
    "without its checksum": lambda path: path.write_text(unsealed(path.read_bytes())),
    "no object": lambda path: path.write_bytes(seal("[]")),
    "a directory": as_directory,
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("elsewhere"))),
    "others can write it": lambda path: path.chmod(0o666),
    "too old": changed(lambda it: it.update(begin=it["begin"] - 600, until=it["until"] - 600)),
    "for longer": changed(lambda it: it.update(until=it["until"] + 1)),
    "from the future": changed(lambda it: it.update(begin=it["begin"] + 60, until=it["until"] + 60)),
    "for another call": changed(lambda it: it.update(call="0" * 64)),
    "its times are texts": changed(lambda it: it.update(begin=str(it["begin"]))),
    "the directory is open to others": lambda path: path.parent.chmod(0o777),
}


@rows("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_permission_allows_nothing(damage: Callable[[Path], object], agent_of: AgentOf) -> None:
    """Nor one that others could have written, nor one for another time."""
    agent = agent_of("claude")
    agent.project.user_hooks(GUARD)
    allow(agent.project, *refused(agent))
    damage(permission(agent.project))
    assert fire(agent).refusal is not None


def test_what_could_not_be_judged_uses_none(claude: Agent) -> None:
    """Here a message with arguments that are cut off, and a config that cannot be read."""
    claude.project.user_hooks(GUARD)
    allow(claude.project, *refused(claude))
    undecodable = json.dumps(claude.shell("rm -r build")).encode().replace(b'"s1"', b'"s1", "more": "\xff"')
    assert claude.fire(undecodable, event="PreToolUse").refusal
    config = claude.project.home / ".config" / "hookrun" / "hooks.json"
    text = config.read_text()
    claude.project.hooks({"command": "true"})
    (claude.project.root / "coder.json").write_text("{")
    told = fire(claude, approved=False)
    assert told.refusal is not None
    (claude.project.root / "coder.json").unlink()
    config.write_text(text)
    assert fire(claude).refusal is None


def test_a_failure_is_not_allowed(claude: Agent) -> None:
    """A guard that crashes has not judged the call: its refusal has no id."""
    claude.project.user_hooks({**GUARD, "command": "exit 1"})
    assert refused(claude) == []


def test_a_proof_uses_none(claude: Agent) -> None:
    """It asks the guard itself, so it is refused, and the user's call may still run."""
    claude.project.user_hooks(GUARD)
    allow(claude.project, *refused(claude))
    assert fire(claude, "rm -r build", "--proof", "guard").refusal is not None
    assert fire(claude).refusal is None


@pytest.mark.only_cold
def test_a_managed_guard_is_not_the_users_to_lift(claude: Agent, tmp_path: Path) -> None:
    """Unless it says so."""
    folder = tmp_path / "managed"
    folder.mkdir()

    def told(**fields: object) -> Told:
        entry = {"event": "pre_tool_use", **GUARD, **fields}
        (folder / "hooks.json").write_text(json.dumps({"hooks": [entry]}))
        message, home = claude.shell("rm -r build"), str(claude.project.home)
        return claude.fire_changed("managed_elsewhere.py", message, "--home", home, MANAGED=str(folder))

    first = told()
    assert first.refusal is not None
    assert "hookrun allow" not in json.dumps(first.json)
    assert told(on_block="ask").refusal is not None
    (found,) = IDS.findall(json.dumps(told(overridable=True).json))
    allow(claude.project, found)
    assert told().refusal is not None  # the permission is there, but the guard is fixed
    assert told(overridable=True).refusal is None
    assert told(overridable=True, on_block="ask").own["permissionDecision"] == "ask"


def test_only_the_user_allows(claude: Agent) -> None:
    """Neither an agent nor a program without a terminal; looking and undoing are free."""
    claude.project.user_hooks(GUARD)
    (found,) = refused(claude)
    done = hookrun(claude.project, "allow", found, CLAUDECODE="1")
    assert (done.status, "an agent or a hook runs this command" in done.stderr) == (1, True)
    done = hookrun(claude.project, "allow", found)
    assert (done.status, "without a terminal" in done.stderr) == (1, True)
    assert refused(claude)
    allow(claude.project, found)
    listed = hookrun(claude.project, "allow", "--json").json["calls"]
    assert isinstance(listed, list)
    assert [(each["hook"], each["tool"], each["subject"]) for each in listed] == [("guard", "bash", "rm -r build")]
    assert "no longer allowed" in hookrun(claude.project, "allow", "--forget", found).stdout
    assert hookrun(claude.project, "allow").stdout == "no call is allowed\n"
    assert refused(claude)


def test_an_id_that_names_no_refusal(claude: Agent) -> None:
    """Or several, or none at all."""
    claude.project.user_hooks(GUARD)
    (found,) = refused(claude)
    for given, said in (("0000", "no refused call"), ("abc", "no refused call"), ("", "no refused call")):
        done = hookrun(claude.project, "allow", given)
        assert (done.status, said in done.stderr) == (1, True), done.stderr
    record = next(each for each in claude.project.audit() if each.get("call"))
    twin = {**record, "call": str(record["call"])[:10] + "f" * 54, "request_id": "b" * 16}
    with claude.project.audit_path.open("a") as file:
        file.write(json.dumps(twin) + "\n")
    assert "several calls" in hookrun(claude.project, "allow", found).stderr
    assert "without a terminal" in hookrun(claude.project, "allow", str(record["call"])[:64]).stderr  # one is meant


def test_log_and_why_show_it(claude: Agent) -> None:
    """The refusal with its id, the permission, and the run that used it."""
    claude.project.user_hooks(GUARD)
    (found,) = refused(claude)
    why = hookrun(claude.project, "why").stdout
    assert f"to let this call through once: `hookrun allow {found}`" in why
    allow(claude.project, found)
    assert "guard: you allowed this call once at" in hookrun(claude.project, "why").stdout
    assert fire(claude).refusal is None
    for command in ("why", "log"):
        assert f"    {found}: you let this call through once" in hookrun(claude.project, command).stdout
    log = hookrun(claude.project, "log").stdout
    assert "guard: you allowed this call once at" in log
    allowed = [each for each in claude.project.audit() if each.get("allowed")]
    assert [(each["hook"], each["action"]) for each in allowed] == [("guard", "continue")]


def test_a_program_that_fires_gets_it_too(project: Project) -> None:
    """By the id in the audit."""
    project.user_hooks(GUARD)
    assert project.fire().action == "block"
    allow(project, str(project.audit()[0]["call"])[:6])
    assert [project.fire().action, project.fire().action] == ["continue", "block"]


@rows("name", ["claude", "copilot", "qwen", "grok"])
def test_a_block_is_asked_about_where_the_agent_can_ask(name: str, agent_of: AgentOf) -> None:
    """By `on_block: ask`; a failure still blocks, and so does another hook."""
    agent = agent_of(name)
    agent.project.user_hooks({**GUARD, "on_block": "ask"})
    told = fire(agent)
    assert (told.own or told.json)["permissionDecision"] == "ask"
    agent.project.user_hooks({**GUARD, "on_block": "ask"}, {**GUARD, "name": "second"})
    assert fire(agent).refusal is not None
    agent.project.user_hooks({**GUARD, "on_block": "ask", "command": "exit 1"})
    assert fire(agent).refusal is not None


@rows("name", ["codex", "gemini", "cline", "opencode", "kilo", "pi", "vibe"])
def test_elsewhere_it_blocks(name: str, agent_of: AgentOf) -> None:
    """And the refusal names the command that lets the call through."""
    agent = agent_of(name)
    agent.project.user_hooks({**GUARD, "on_block": "ask"})
    assert refused(agent)


def test_who_cannot_be_asked_can_allow(agent_of: AgentOf) -> None:
    """A question of a hook that the agent cannot ask is a refusal that the user can lift."""
    agent = agent_of("codex")
    agent.project.user_hooks({"name": "guard", "command": says(action="ask", message="sure?")})
    allow(agent.project, *refused(agent))
    assert fire(agent).refusal is None
    assert refused(agent)
