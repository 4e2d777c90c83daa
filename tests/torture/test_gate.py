"""A gate that cannot be asked is shut: each cause under each agent, with the answer, what the user sees and the log."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.conftest import Project, copy_package
from tests.fire.agents import AGENTS, Agent, AgentOf, Told, person_of, run, says
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, pytest.mark.sampled(3)]

GUARD: dict[str, object] = {
    "name": "guard",
    "event": "pre_tool_use",
    "matcher": "bash",
    "when": {"tool_args.command": "*force*"},
    "command": says(action="block", message="not by force"),
    "on_failure": "block",
}
BY_THE_MODEL = ("copilot", "cline", "grok")
"""Agents that show the user nothing at the gate itself: what is said reaches them once a session."""

FORBIDDEN, HARMLESS = "git push --force", "ls"


@pytest.fixture
def agent_of(tmp_path: Path, server: object) -> AgentOf:
    """Return a function that returns an agent with a project of its own, for the rows of a table."""
    return lambda name: Agent(name, Project(Path(tempfile.mkdtemp(prefix=name, dir=tmp_path))))


def a_directory(path: Path) -> None:
    """Put a directory in a file's place."""
    path.unlink()
    path.mkdir()


def a_fifo(path: Path) -> None:
    """Put a FIFO in a file's place."""
    path.unlink()
    os.mkfifo(path)


def a_link_that_leads_nowhere(path: Path) -> None:
    """Put a dangling link in a file's place."""
    path.unlink()
    path.symlink_to("gone")


def rewritten(change: Callable[[str], str]) -> Callable[[Path], object]:
    """Return a function that rewrites a file's text."""
    return lambda path: path.write_text(change(path.read_text()))


UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a stray comma": (rewritten(lambda text: text.replace("[{", "[,{")), ": unexpected"),
    "merge markers": (
        rewritten(lambda text: f"<<<<<<< ours\n{text}=======\n{{}}\n>>>>>>> theirs\n"),
        "unfinished merge",
    ),
    "half of it": (rewritten(lambda text: text[: len(text) // 2]), "end of file"),
    "an empty file": (rewritten(lambda _: ""), "the file is empty"),
    "not UTF-8": (lambda path: path.write_bytes(b"\xff\xfe\x00"), "UTF-16"),
    "no object": (rewritten(lambda _: "[]"), "must be an object"),
    "hooks that are no list": (rewritten(lambda _: '{"hooks": 1}'), "must be a list"),
    "a directory": (a_directory, "is a directory"),
    "a FIFO": (a_fifo, "not a regular file"),
    "a link that leads nowhere": (a_link_that_leads_nowhere, "no such file"),
}
"""What happens to a configuration file, and what is said of it."""


def fire(agent: Agent, command: str) -> tuple[str | None, str]:
    """Return why an agent's shell line is refused, None if it runs, and what the user sees."""
    told = agent.fire(agent.shell(command), event=agent.events["pre"], approved=False)
    return told.reason, person_of(agent, told)


def check_kept(agent: Agent, path: Path, cause: str) -> None:
    """Break a file after a call with it: the guard in it refuses as before, and the user hears of it each time."""
    assert fire(agent, FORBIDDEN)[0] == "not by force"
    damage, said = UNREADABLE[cause]
    damage(path)
    reason, person = fire(agent, FORBIDDEN)
    assert str(reason).startswith("not by force")
    assert said in person or said in str(reason)
    reason, person = fire(agent, HARMLESS)
    assert reason is None
    assert ("stay in force" in person) == (agent.name not in BY_THE_MODEL)
    assert said in str(agent.project.audit()[-1]["problems"])


@rows("name, cause", [*(("claude", each) for each in UNREADABLE), *((name, "half of it") for name in AGENTS)])
def test_a_user_s_guard_stays_in_force_while_its_file_cannot_be_read(name: str, cause: str, agent_of: AgentOf) -> None:
    """Whatever is in its place."""
    agent = agent_of(name)
    agent.project.user_hooks(GUARD)
    check_kept(agent, agent.project.home / ".config/hookrun/hooks.json", cause)


@rows("name, cause", [*(("claude", each) for each in UNREADABLE), *((name, "half of it") for name in AGENTS)])
def test_an_approved_guard_of_the_project_stays_in_force(name: str, cause: str, agent_of: AgentOf) -> None:
    """It still needs its approval: one that has none does not run."""
    agent = agent_of(name)
    agent.project.hooks(GUARD)
    agent.project.approve()
    check_kept(agent, agent.project.root / "coder.json", cause)


@rows("suffix", ["json", "yaml"])
def test_an_included_file_counts_as_it_was(suffix: str, agent_of: AgentOf) -> None:
    """In YAML, too."""
    agent = agent_of("codex")
    included = agent.project.home / f".config/hookrun/guards.{suffix}"
    agent.project.user_hooks(include=[included.name])
    included.write_text(json.dumps({"hooks": [GUARD]}))
    check_kept(agent, included, "merge markers")


def test_whoever_looks_for_mistakes_sees_the_file_as_it_is(project: Project) -> None:
    """`validate` names the error of today, no warning about what the file held before."""
    project.hooks({**GUARD, "matcher": "Bahs"})
    project.fire()
    (project.root / "coder.json").write_text('{"hooks": [')
    done = hookrun(project, "validate")
    printed = done.stdout + done.stderr
    assert (done.status, "Bahs" in printed, printed.count("coder.json:")) == (1, False, 1)


def test_a_mended_file_counts_at_once(agent_of: AgentOf) -> None:
    """And is what stays in force the next time."""
    agent = agent_of("claude")
    path = agent.project.home / ".config/hookrun/hooks.json"
    agent.project.user_hooks(GUARD)
    assert fire(agent, FORBIDDEN)[0] == "not by force"
    path.write_text("{")
    assert fire(agent, FORBIDDEN)[0] == "not by force"
    agent.project.user_hooks({**GUARD, "command": says(action="block", message="never")})
    assert fire(agent, FORBIDDEN) == ("never", "")
    path.write_text("{")
    assert fire(agent, FORBIDDEN)[0] == "never"


@pytest.mark.parametrize("name", AGENTS)
def test_a_user_s_file_that_never_was_readable_shuts_the_gate(name: str, agent_of: AgentOf) -> None:
    """It may have a guard for any tool. The command that the refusal prints opens it."""
    agent = agent_of(name)
    agent.project.user_hooks()
    (agent.project.home / ".config/hookrun/hooks.json").write_text('{"hooks": [')
    reason, _ = fire(agent, HARMLESS)
    assert "end of file" in str(reason)
    assert "`hookrun disable --all --for 10m`" in str(reason)
    assert agent.fire(agent.ran(), event=agent.events["post"]).status == 0
    paused = at_terminal(agent.project, "disable", "--all", "--for", "10m")
    assert paused.status == 0, paused.screen
    assert fire(agent, HARMLESS)[0] is None


@pytest.mark.only_cold("replaces what the interpreter that is started has")
@rows("everything", [False, True])
def test_a_machine_s_file_is_for_its_administrator_to_mend(agent_of: AgentOf, *, everything: bool) -> None:
    """No pause switches managed hooks off, and that is said; it works with no config that can be read."""
    agent = agent_of("claude")
    home, managed = str(agent.project.home), agent.project.home.parent / "managed"
    managed.mkdir()
    own = [agent.project.home / ".config/hookrun/hooks.json", agent.project.root / "coder.json"]
    agent.project.user_hooks(GUARD)
    agent.project.hooks(GUARD)
    agent.project.approve()
    for path in own * everything:
        path.write_text('{"hooks": [{"na')
        path.chmod(0)
    (managed / "hooks.json").write_text('{"hooks": [{"na')

    def reason() -> str:
        told = agent.fire_changed("managed_elsewhere.py", agent.shell(HARMLESS), "--home", home, MANAGED=str(managed))
        return str(told.reason)

    said = "managed hooks stay on: whoever manages this machine can correct or remove their config"
    assert f"`hookrun disable --all --for 10m` in a terminal of their own; {said}" in reason()
    assert at_terminal(agent.project, "disable", "--all", "--for", "10m").status == 0
    assert said in reason()
    (managed / "hooks.json").write_text("{}")
    assert reason() == "None"


@pytest.mark.parametrize("name", AGENTS)
def test_guards_that_have_judged_the_call_refuse_nothing_for_another_file(name: str, agent_of: AgentOf) -> None:
    """A project's file that cannot be read, and never had an approved guard, leaves the user's guards their word."""
    agent = agent_of(name)
    agent.project.user_hooks({"name": "any", "command": "true", "on_failure": "block"}, GUARD)
    (agent.project.root / "coder.json").write_text('{"hooks": [')
    reason, person = fire(agent, HARMLESS)
    assert reason is None
    assert "end of file" in person
    assert str(fire(agent, FORBIDDEN)[0]).startswith("not by force")


def test_the_user_s_word_on_errors_comes_first(agent_of: AgentOf) -> None:
    """`on_error: continue`, in another file of the layer, lets such calls through."""
    agent = agent_of("claude")
    agent.project.user_hooks(on_error="continue")
    (agent.project.home / ".config/hookrun/hooks.yaml").write_text("hooks: [")
    reason, person = fire(agent, HARMLESS)
    assert reason is None
    assert "hookrun failed" in person


def test_the_user_s_word_on_errors_holds_for_a_program(project: Project) -> None:
    """`on_error: block` refuses what cannot be judged, guard or not."""
    project.user_hooks(on_error="block")
    (project.root / "coder.json").write_text("{")
    fired = project.fire()
    assert (fired.status, fired.verdict["action"]) == (2, "block")
    assert "hookrun could not judge this" in fired.stderr


@pytest.mark.only_cold("hookrun is incomplete there")
@pytest.mark.parametrize("name", AGENTS)
def test_a_hookrun_that_cannot_even_look_for_guards_refuses(name: str, agent_of: AgentOf, tmp_path: Path) -> None:
    """A message that cannot be read, and a module that is being replaced: the exit status is all there is."""
    agent = agent_of(name)
    agent.project.user_hooks(GUARD)
    package = copy_package(tmp_path / "lib" / "hookrun", "unread.py")
    line = [sys.executable, "-I", str(package / "__main__.py"), "fire", "--agent", name, agent.events["pre"]]
    done = run(agent.project, [*line, "--home", str(agent.project.home)], stdin=b"nonsense")
    assert done.returncode == 2, (done.stdout, done.stderr)


@pytest.mark.only_cold("hookrun is broken there")
@pytest.mark.parametrize("name", AGENTS)
def test_a_block_survives_an_error_after_the_hooks_have_run(name: str, agent_of: AgentOf, tmp_path: Path) -> None:
    """What fails is the note about a wrong field of its answer."""
    agent = agent_of(name)
    agent.project.user_hooks({"command": says(action="block", message=["no way"])})
    package = copy_package(tmp_path / "lib" / "hookrun")
    with (package / "core" / "session.py").open("a") as file:
        file.write("\n\ndef mark_notice_shown(*_):\n    raise ZeroDivisionError\n")
    line = [sys.executable, "-I", str(package / "__main__.py"), "fire", "--agent", name, agent.events["pre"]]
    done = run(agent.project, [*line, "--home", str(agent.project.home)], stdin=agent.shell())
    assert "no way" in str(Told(agent, done).reason)


@rows("on_failure, refused", [("block", True), ("continue", False)])
def test_without_a_record_the_approvals_tell_whether_a_project_has_a_guard(
    on_failure: str, refused: bool, agent_of: AgentOf
) -> None:
    """What it held is not known any more, but that the user approved a guard there is."""
    agent = agent_of("claude")
    agent.project.hooks({**GUARD, "on_failure": on_failure})
    agent.project.approve()
    for kept in (agent.project.home / ".local/share/hookrun/readable").glob("*"):
        kept.unlink()
    (agent.project.root / "coder.json").write_text("{")
    reason, _ = fire(agent, HARMLESS)
    assert (reason is not None) == refused


def test_a_program_gets_the_same(project: Project) -> None:
    """Exit status 2 where a guard may be, a warning where what was readable counts."""
    project.user_hooks(GUARD)
    context = {"tool_name": "bash", "tool_args": {"command": FORBIDDEN}}
    assert project.fire(context).status == 2
    (project.home / ".config/hookrun/hooks.json").write_text("{")
    fired = project.fire(context)
    assert fired.status == 2
    assert "stay in force" in fired.stderr
    fired = project.fire({**context, "tool_args": {"command": HARMLESS}})
    assert (fired.status, fired.verdict["action"]) == (0, "continue")
    for kept in (project.home / ".local/share/hookrun/readable").glob("*"):
        kept.unlink()
    (project.home / ".config/hookrun/hooks.json").write_text("{{")
    fired = project.fire({**context, "tool_args": {"command": HARMLESS}})
    assert (fired.status, fired.verdict["action"]) == (2, "block")
