"""`--scope project`: one line for everyone who works in the project, without a path or a home."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import load
from hookrun.wiring import committed, plan
from hookrun.wiring.wired_command import this_program
from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.cli.wiring import (
    ALL,
    BEFORE_TOOL,
    SETTINGS,
    TOOL_CALLS,
    before_tool,
    on_path,
    run_line,
    settings_file,
    tree,
    wired_line,
)
from tests.conftest import ROOT, Project

if TYPE_CHECKING:
    from collections.abc import Callable

EARLIER = ROOT / "tests" / "wiring" / "earlier"
IN_LINES = [agent for agent in ALL if agent not in ("opencode", "kilo", "pi")]
NOWHERE = "/usr/bin:/bin"
"""A PATH without hookrun."""


@pytest.fixture(autouse=True)
def _declared(project: Project) -> None:
    project.hooks({"name": "guard", "command": "echo refused >&2; exit 2"})
    project.approve()
    on_path(project)
    shutil.rmtree(project.root / ".git")
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)


HOW = "install it with uv tool install git+https://example.org/hookrun"


def _line(project: Project, agent: str, event: str) -> str:
    return wired_line(project, agent, event, "project")


def _install(project: Project, agent: str, *options: str) -> str:
    done = hookrun(project, "install", agent, "--scope", "project", "--trust", *options)
    assert done.status == 0, done.stderr
    return done.stdout


def _texts(project: Project, agent: str) -> dict[str, str]:
    """Return the files that an agent reads in the project."""
    top = project.root / Path(load(agent).INSTALL["project"]).parts[0]
    return {str(each.relative_to(project.root)): each.read_text() for each in top.rglob("*") if each.is_file()}


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", ALL)
def test_two_people_write_the_same_bytes(project: Project, tmp_path: Path, agent: str) -> None:
    """Whoever installs, and wherever the clone is: the file contains no path of a machine or a home."""
    _install(project, agent)
    texts = _texts(project, agent)
    for text in texts.values():
        for word in (str(project.root), str(project.home), str(ROOT), "--home", "__main__.py", "/root", "/home"):
            assert word not in text
    other = Project(tmp_path / "elsewhere")
    _install(other, agent)
    assert _texts(other, agent) == texts
    before = tree(project.root)
    assert "already installed for " in _install(project, agent)
    assert tree(project.root) == before


@pytest.mark.parametrize("agent", ALL)
def test_the_same_events_are_wired_as_for_a_user(project: Project, agent: str) -> None:
    """A hook for nearly any event needs no new install; nor does the first hook."""
    (project.root / "coder.json").unlink()
    _install(project, agent)
    listed = hookrun(project, "status", "--json").json["agents"]
    assert isinstance(listed, list)
    (shown,) = [each for each in listed if each["agent"] == agent]
    assert sorted(shown["wired"]["project"]) == sorted(plan.events_to_connect(load(agent), []))
    assert (shown["hand_written"].get("project"), shown["when_missing"]) == ([], "warn")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", IN_LINES)
def test_the_line_runs_the_projects_hooks(project: Project, agent: str) -> None:
    """With the hookrun that it finds."""
    _install(project, agent)
    line = _line(project, agent, BEFORE_TOOL[agent])
    assert "refused" in run_line(project, line, before_tool(project, agent)).stdout.decode()


TOLD_BESIDES = {"qwen": ["SessionStart"]}
"""Events besides the agent's own for messages to the user."""


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", IN_LINES)
def test_without_hookrun_the_user_is_told_in_the_agents_own_way(project: Project, agent: str) -> None:
    """Once in a session where the agent has an event for that, and the model when it begins; no tool is refused."""
    _install(project, agent)
    event = plan.notifying_event(load(agent))
    messages = {}
    for each in plan.events_to_connect(load(agent), []):
        line = _line(project, agent, each)
        done = run_line(project, line, before_tool(project, agent), PATH=NOWHERE)
        assert (done.returncode, done.stderr) == (0, b"")
        messages[each] = done.stdout.decode()
    told = {each: text for each, text in messages.items() if text}
    assert sorted(told) == sorted({event, *TOLD_BESIDES.get(agent, ())})
    assert all("install hookrun, then run hookrun trust" in text for text in told.values())
    assert json.loads(told[event])


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("agent", IN_LINES)
def test_when_missing_block_refuses_every_tool(project: Project, agent: str) -> None:
    """The option is written into the line; a later install keeps it, unless an option changes it."""
    _install(project, agent, "--when-missing", "block")
    for _ in range(2):
        line = _line(project, agent, BEFORE_TOOL[agent])
        answer = run_line(project, line, before_tool(project, agent), PATH=NOWHERE).stdout.decode()
        assert "no tool runs before that" in answer
        assert any(word in answer for word in ('"deny"', '"cancel":true'))
        assert "refused" in run_line(project, line, before_tool(project, agent)).stdout.decode()
        _install(project, agent)
    _install(project, agent, "--when-missing", "warn")
    line = _line(project, agent, BEFORE_TOOL[agent])
    answer = run_line(project, line, before_tool(project, agent), PATH=NOWHERE).stdout.decode()
    assert "no tool runs before that" not in answer


@pytest.mark.parametrize("directory", ["project/bin", "link"])
def test_a_hookrun_in_the_clone_is_not_run(project: Project, directory: str) -> None:
    """Though PATH names it, or a link to it; the user is notified as if there were none."""
    _install(project, "claude", "--when-missing", "block")
    evil = project.root / "bin" / "hookrun"
    evil.parent.mkdir()
    evil.write_text(f"#!/bin/sh\ntouch {project.root}/PWNED\n")
    evil.chmod(0o755)
    (project.root.parent / "link").symlink_to(evil.parent)
    path = f"{project.root.parent / directory}:{NOWHERE}"
    line = _line(project, "claude", "PreToolUse")
    done = run_line(project, line, before_tool(project, "claude"), PATH=path)
    assert b"no tool runs before that" in done.stdout
    report = hookrun(project, "doctor", "claude", "--prove", PATH=path)
    assert "the project's settings find no hookrun here" in report.stdout
    assert not (project.root / "PWNED").exists()


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", ALL)
def test_beside_the_users_own_it_is_not_refused(project: Project, agent: str) -> None:
    """In either order; each is removed separately."""
    (project.home / ".codex").mkdir()
    before = tree(project.home, project.root)
    for first, second in (("user", "project"), ("project", "user")):
        for scope in (first, second):
            assert hookrun(project, "install", agent, "--scope", scope, "--trust").status == 0
        assert settings_file(project, agent, "user").exists()
        assert settings_file(project, agent, "project").exists()
        for scope in (first, second):
            assert hookrun(project, "uninstall", agent, "--scope", scope).status == 0
        assert tree(project.home, project.root) == before


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("agent", ALL)
def test_doctor_proves_what_the_line_finds(project: Project, agent: str) -> None:
    """The program is named, the probe refuses through it; without one that is a problem, with what to install."""
    _install(project, agent)
    done = hookrun(project, "doctor", agent, "--prove", PATH=on_path(project))
    assert f"the project's settings find {project.home.parent}/bin/hookrun" in done.stdout
    assert done.stdout.count("the probe blocked the call") == len(TOOL_CALLS.get(agent, [agent])), done.stdout
    gone = hookrun(project, "doctor", agent, "--prove", PATH=NOWHERE)
    assert gone.status == 1
    assert "the project's settings find no hookrun here" in gone.stdout
    assert "install hookrun for your account" in gone.stdout
    assert "the probe blocked the call" not in gone.stdout


def _old_line(project: Project, agent: str) -> Callable[[], None]:
    """Install into the project as earlier versions did: the user's line, with `--scope project`."""
    program = this_program()
    text = (EARLIER / SETTINGS[agent, "user"].removeprefix(".")).read_text()
    text = text.replace("/opt/hookrun/bin/python3", program.python).replace(
        "/opt/hookrun/lib/hookrun/__main__.py", program.main
    )
    text = text.replace(" --home /home/ada", f" --scope project --home {project.home}")
    path = settings_file(project, agent, "project")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return lambda: shutil.rmtree(path.parent)


@pytest.mark.parametrize("agent", [each for each in IN_LINES if each not in ("vibe", "grok")])  # new since
def test_a_projects_line_of_an_earlier_version_is_replaced(project: Project, agent: str) -> None:
    """It contains one user's paths: doctor reports it, install writes the portable line, uninstall removes either."""
    _old_line(project, agent)
    found = hookrun(project, "doctor", agent).stdout
    assert "the project's settings contain paths of one machine" in found
    assert f"`hookrun install {agent} --scope project`" in found
    _install(project, agent)
    for text in _texts(project, agent).values():
        assert str(project.home) not in text
    assert hookrun(project, "uninstall", agent, "--scope", "project").status == 0
    assert all("fire" not in text for text in _texts(project, agent).values())


SCRIPTS = json.loads((ROOT / "tests" / "wiring" / "earlier_project_scripts.json").read_bytes())
"""Each script that a project's lines once held themselves."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("when_missing", ["warn", "block"])
@pytest.mark.parametrize("script", SCRIPTS, ids=len)
@pytest.mark.parametrize("agent", [agent for agent in IN_LINES if agent != "cline"])
def test_a_line_that_held_its_script_is_replaced(project: Project, agent: str, script: str, when_missing: str) -> None:
    """By every earlier version: install writes today's line, with what it did without hookrun; uninstall removes it."""
    _install(project, agent, "--when-missing", when_missing)
    path = settings_file(project, agent, "project")
    today = path.read_text()
    event = BEFORE_TOOL[agent]
    words = ["/bin/sh", "-c", script, "hookrun", when_missing, "PWD", "{}", "fire", "--agent", agent, event]
    earlier = json.dumps(shlex.join([*words, "--scope", "project"]))
    before = today.replace(json.dumps(wired_line(project, agent, event, "project")), earlier)
    assert before != today
    for command, expected in (("install", True), ("uninstall", False)):
        shutil.rmtree(project.root / ".hookrun", ignore_errors=True)
        path.write_text(before)
        assert "a handwritten line" not in hookrun(project, "doctor", agent).stdout
        hookrun(project, command, agent, "--scope", "project")
        assert (path.exists() and path.read_text() == today) == expected
        assert not path.exists() or "fire" not in path.read_text()


def test_a_projects_settings_are_no_reason_to_look_at_an_agent(project: Project) -> None:
    """Users without that agent get no problem report about it."""
    _install(project, "codex")
    assert "codex" not in hookrun(project, "doctor", PATH=NOWHERE).stdout.partition("no coding agent")[0]


def test_git_shows_what_to_commit(project: Project) -> None:
    """The agent's file, and what its entries start."""
    for words in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=project.root, check=True)
    assert "commit this and .hookrun to share it" in _install(project, "claude")
    status = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=project.root, check=True, capture_output=True, text=True
    )
    files = [".claude/settings.json", ".hookrun/.gitattributes", ".hookrun/run", ".hookrun/settings"]
    assert status.stdout.splitlines() == [f"?? {file}" for file in files]


SEVEN = ("claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode")
"""The agents that the limit of 32 KB is for: each further plugin adds 7 to 9 KB."""


@pytest.mark.slow
def test_what_is_committed_is_small_and_readable(project: Project) -> None:
    """Seven agents together: at most 32 KB, no line of a command over 90 characters, one script for all."""
    before = tree(project.root)
    for agent in SEVEN:
        _install(project, agent, "--when-missing", "block")
    after = tree(project.root)
    new = {path: data for path, data in after.items() if isinstance(data, bytes) and before.get(path) != data}
    assert sum(map(len, new.values())) <= 32 * 1024
    script = project.root / ".hookrun" / "run"
    assert len(script.read_text().splitlines()) < 120
    assert script.read_bytes() == committed.script().encode()
    for agent in {*SEVEN}.intersection(IN_LINES):
        for event in plan.events_to_connect(load(agent), []):
            lines = wired_line(project, agent, event, "project").splitlines()
            assert [line for line in lines if len(line) > 90 and not line.startswith("#")] == []
    for agent in SEVEN:
        assert script.exists()
        assert hookrun(project, "uninstall", agent, "--scope", "project").status == 0
    assert not script.parent.exists()


REFUSED_BY_STATUS: dict[str, Callable[[int], bool]] = {
    "claude": lambda status: status == 2,
    "codex": lambda status: status == 2,
    "gemini": lambda status: status >= 2,
    **dict.fromkeys(("qwen", "grok"), lambda status: status == 2),
    "copilot": lambda status: status != 0,
    "cline": lambda _status: False,  # it obeys only JSON
    "vibe": lambda status: status != 0,  # by `strict`
}
"""Which statuses each agent takes for a refusal of a tool, as measured live."""
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]


def _refused(agent: str, done: subprocess.CompletedProcess[bytes]) -> bool:
    return REFUSED_BY_STATUS[agent](done.returncode) or any(
        word in done.stdout for word in (b'"deny"', b'"decision":"block"', b'"cancel":true')
    )


def _run_by(project: Project, shell: str, agent: str, line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line where `/bin/sh` is a certain shell, and hookrun is missing."""
    sh = project.home.parent / "shells" / shell / "sh"
    if not sh.exists():
        sh.parent.mkdir(parents=True)
        sh.symlink_to(str(shutil.which(shell)))
    return run_line(project, line.replace("/bin/sh ", f"{sh} "), before_tool(project, agent), PATH=NOWHERE, **env)


@pytest.mark.parametrize(
    "broken",
    [
        Path.unlink,
        lambda script: script.write_bytes(script.read_bytes().replace(b"\n", b"\r\n")),
        lambda script: shutil.rmtree(script.parent),
        lambda script: script.write_text("if\n"),
    ],
    ids=["missing", "crlf", "sparse", "broken"],
)
@pytest.mark.parametrize("agent", IN_LINES)
def test_a_script_that_cannot_start_refuses_the_tool(
    project: Project, agent: str, broken: Callable[[Path], object]
) -> None:
    """With `block`, in the agent's form, whatever shell `sh` is; doctor names the script."""
    _install(project, agent, "--when-missing", "block")
    script = project.root / ".hookrun" / "run"
    script.chmod(0o644)  # the execute bit is not needed
    line = _line(project, agent, BEFORE_TOOL[agent])
    assert "refused" in run_line(project, line, before_tool(project, agent)).stdout.decode()
    broken(script)
    for shell in SHELLS:
        assert _refused(agent, _run_by(project, shell, agent, line)), shell
    assert ".hookrun/run " in hookrun(project, "doctor", agent).stdout


@pytest.mark.parametrize("agent", IN_LINES)
def test_with_warn_the_shells_status_is_what_the_agent_gets(project: Project, agent: str) -> None:
    """For a missing script dash has the status 2, which is hookrun's own where it cannot answer: it stays."""
    _install(project, agent, "--when-missing", "warn")
    line = _line(project, agent, BEFORE_TOOL[agent])
    for shell in SHELLS:
        assert not _refused(agent, _run_by(project, shell, agent, line)), shell
    (project.root / ".hookrun" / "run").unlink()
    statuses = {shell: _run_by(project, shell, agent, line).returncode for shell in SHELLS}
    assert statuses == {shell: {"dash": 2, "bash": 127}[shell] for shell in SHELLS}


HOSTILE = {
    "BASH_ENV": "{project}/silence",
    "ENV": "{project}/silence",
    "BASH_FUNC_[%%": "() {{ return 1; }}",
    "BASH_FUNC_printf%%": "() {{ :; }}",
    "IFS": "/",
    "CDPATH": "/",
}


@pytest.mark.parametrize(
    ("shell", "name", "value", "refused"),
    [
        *((shell, name, value, True) for shell in SHELLS for name, value in HOSTILE.items()),
        ("dash", "SHELLOPTS", "noexec", True),
        ("bash", "SHELLOPTS", "noexec", False),
    ],
)
def test_the_environment_does_not_silence_the_script(
    project: Project, shell: str, name: str, value: str, *, refused: bool
) -> None:
    """But for bash's `SHELLOPTS`, which silences the agent's own shell as well: there is no line that it would run."""
    _install(project, "claude", "--when-missing", "block")
    (project.root / "silence").write_text("exit 0\n")
    line = _line(project, "claude", "PreToolUse")
    done = _run_by(project, shell, "claude", line, **{name: value.format(project=project.root)})
    assert _refused("claude", done) == refused


def test_the_config_says_how_to_install_and_what_to_do_without(project: Project) -> None:
    """Install copies both, the script tells the one and does the other."""
    config = {"hooks": [], "hookrun": {"install": HOW.removeprefix("install it with "), "when_missing": "block"}}
    (project.root / "coder.json").write_text(json.dumps(config))
    _install(project, "claude")
    written = (project.root / ".hookrun" / "settings").read_text()
    assert written == "install uv tool install git+https://example.org/hookrun\nwhen_missing block\n"
    line = _line(project, "claude", "PreToolUse")
    answer = run_line(project, line, before_tool(project, "claude"), PATH=NOWHERE).stdout.decode()
    assert '"deny"' in answer
    assert HOW in answer


GUARD: dict[str, object] = {"name": "keeper", "event": "pre_tool_use", "command": "true", "on_failure": "block"}


def test_block_is_proposed_where_a_guard_is(project: Project) -> None:
    """With the reason; without a terminal the option or the config's key decides, and what was decided lasts."""
    project.hooks(GUARD)
    proposed = "hookrun install claude codex --scope project --when-missing block"
    for words in (("--dry-run",), (), ()):
        done = hookrun(project, "install", "claude", "codex", "--scope", "project", "--trust", *words)
        assert "where hookrun is missing, no guard runs (keeper), and tools run" in done.stderr
        assert f"`{proposed}`" in done.stderr
    settings = project.root / ".hookrun" / "settings"
    assert settings.read_text() == "when_missing warn\n"
    assert hookrun(project, *proposed.split()[1:], "--trust").status == 0
    assert settings.read_text() == "when_missing block\n"
    later = hookrun(project, "install", "gemini", "--scope", "project", "--trust")
    assert "no guard runs" not in later.stderr
    assert settings.read_text() == "when_missing block\n"
    assert wired_line(project, "gemini", "BeforeTool", "project").endswith(" || exit 2")
    project.hooks(GUARD, when_missing="warn")
    assert "no guard runs" not in hookrun(project, "install", "claude", "--scope", "project").stderr
    assert settings.read_text() == "when_missing warn\n"


@pytest.mark.parametrize(("answer", "decided"), [("", "block"), ("n", "warn")])
def test_at_a_terminal_the_user_decides(project: Project, answer: str, decided: str) -> None:
    """Enter accepts the proposal."""
    project.hooks(GUARD)
    project.approve()
    done = at_terminal(project, "install", "claude", "--scope", "project", answers=(answer,), question="]: ")
    assert done.status == 0
    assert "Where hookrun is missing, no guard runs (keeper)." in " ".join(done.screen.split())
    written = (project.root / ".hookrun" / "settings").read_text()
    assert written == f"when_missing {decided}\n"


def _put_directory_there(script: Path) -> None:
    script.unlink()
    script.mkdir()


CHANGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "is missing"),
    "crlf": (
        lambda script: script.write_bytes(script.read_bytes().replace(b"\n", b"\r\n")),
        "has line ends of Windows",
    ),
    "changed": (lambda script: script.write_text("#!/bin/sh\nexit 0\n"), "is none that hookrun has written"),
    "no file": (_put_directory_there, "cannot be read"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_validate_and_doctor_name_a_script_that_is_not_hookruns(project: Project, change: str) -> None:
    """Each with the command that writes it again."""
    for agent in ("claude", "gemini"):
        _install(project, agent)
    assert "0 warnings" in hookrun(project, "validate").stdout
    alter, expected = CHANGED[change]
    script = project.root / ".hookrun" / "run"
    alter(script)
    done = hookrun(project, "validate")
    assert f".hookrun/run:1:1: the script {expected}" in done.stdout
    proposed = "hookrun install claude gemini --scope project"
    assert f"hint: run `{proposed}`" in " ".join(done.stdout.split())
    assert hookrun(project, "validate", "--strict").status == 1
    found = hookrun(project, "doctor", "claude").stdout
    assert f"its .hookrun/run {expected}" in found
    shutil.rmtree(script, ignore_errors=True)
    assert hookrun(project, *proposed.split()[1:]).status == 0
    assert "0 warnings" in hookrun(project, "validate").stdout


def test_validate_and_doctor_say_when_the_settings_differ_from_the_config(project: Project) -> None:
    """What the config has changed since; installing again copies it, also into the entries of every agent named."""
    for agent in ("claude", "gemini"):
        _install(project, agent)
    how = "uv tool install git+https://example.org/hookrun"
    project.hooks({"name": "guard", "command": "true"}, install=how, when_missing="block")
    project.approve()
    done = hookrun(project, "validate")
    shown = " ".join(done.stdout.split())
    texts = [
        f"has no `install`, the config `install {how}`",
        "has `when_missing warn`, the config `when_missing block`",
    ]
    found = hookrun(project, "doctor", "claude").stdout
    for text in texts:
        assert f".hookrun/settings:1:1: {text}" in shown
        assert f".hookrun/settings {text}" in " ".join(found.split())
    assert hookrun(project, "install", "claude", "--scope", "project").status == 0
    assert "0 warnings" in hookrun(project, "validate").stdout
    assert "the command differs" in hookrun(project, "doctor", "gemini").stdout
    assert hookrun(project, "install", "gemini", "--scope", "project").status == 0
    assert "the command differs" not in hookrun(project, "doctor", "gemini").stdout
    project.hooks({"name": "guard", "command": "true"})
    assert f"has `install {how}`, the config no `install`" in hookrun(project, "validate").stdout
