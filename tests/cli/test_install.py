"""`hookrun install` and `uninstall` through the real command: which files they write, and that all of it is removed."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import load
from hookrun.agents.base import installed_deadline
from tests.cli.command import hookrun
from tests.cli.wiring import ALL, launcher, settings_file, tree, wired_line
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

FOREIGN = {"type": "command", "command": "./mine.sh", "timeout": 5}
PEOPLE_WRITE = {
    "nothing but an object": b"{}",
    "an empty file": b"",
    "spaces": b"\n  \n",
    "foreign hooks": json.dumps(
        {"z": 1, "hooks": {"Stop": [{"hooks": [FOREIGN]}], "PreToolUse": [{"matcher": "Bash", "hooks": [FOREIGN]}]}},
        indent=4,
    ).encode(),
    "one line": b'{"b":[1,2],"a":{"x":null}}',
    "tabs and no last line end": b'{\n\t"b": true,\n\t"a": "\\u00e9"\n}',
    "CRLF": b'{\r\n  "theme": "dark",\r\n  "hooks": {}\r\n}\r\n',
    "a byte-order mark": b'\xef\xbb\xbf{\n  "theme": "dark"\n}\n',
    "empty lists": b'{"hooks": {"PreToolUse": [], "Stop": [{"hooks": []}]}}\n',
    "everything crooked": b' {  "a"  :1 ,\n\n\n "hooks" :\n{ "Stop": [\n] } }\n\n\n',
}
WITH_COMMENTS = {
    "comments": b'// mine\n{\n  "a": 1, // of a\n  /* hooks: */\n  "hooks": { // none yet\n  }\n}\n// end',
    "trailing commas": b'{\n  "a": [1, 2,],\n  "hooks": {"Stop": [],},\n}\n',
}
IN_JSON = ("claude", "codex", "gemini", "qwen")
TEXTS = [
    *((agent, name, text) for agent in IN_JSON for name, text in PEOPLE_WRITE.items()),
    *((agent, name, text) for agent in ("gemini", "qwen") for name, text in WITH_COMMENTS.items()),
]


@pytest.fixture(autouse=True)
def _declared(project: Project) -> None:
    """Declare hooks for two events."""
    project.hooks({"name": "a", "command": "true"}, {"name": "b", "event": "stop", "command": "true"})
    project.approve()


@pytest.mark.sampled
@pytest.mark.parametrize("scope", ["user", "project"])
def test_without_a_file_before_there_is_none_after(project: Project, scope: str) -> None:
    """Install and uninstall leave nothing in any agent, no file, no directory; installing twice changes nothing."""
    before = tree(project.home, project.root)
    done = hookrun(project, "install", *ALL, "--scope", scope, "--trust")
    assert (done.status, done.stderr) == (0, "")
    wired = tree(project.home, project.root)
    assert all(settings_file(project, agent, scope).exists() for agent in ALL)
    assert os.access(settings_file(project, "cline", scope), os.X_OK), "Cline's hooks are files that it runs"
    again = hookrun(project, "install", *ALL, "--scope", scope, "--trust")
    assert again.stdout.count(": already installed for ") == len(ALL)
    assert tree(project.home, project.root) == wired
    out = hookrun(project, "uninstall", *ALL, "--scope", scope)
    assert (out.status, out.stderr) == (0, "")
    assert tree(project.home, project.root) == before


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("agent", "text"), [text[::2] for text in TEXTS], ids=[f"{a}, {n}" for a, n, _ in TEXTS])
def test_what_people_write_comes_back_byte_for_byte(project: Project, agent: str, text: bytes) -> None:
    """Whatever stood in the settings, uninstall gives it back to the byte."""
    path = settings_file(project, agent)
    path.parent.mkdir()
    path.write_bytes(text)
    path.chmod(0o640)
    done = hookrun(project, "install", agent, "--trust")
    assert (done.status, done.stderr) == (0, "")
    assert path.read_bytes() != text
    assert str(launcher(project, agent)).encode() in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert hookrun(project, "uninstall", agent).status == 0
    assert path.read_bytes() == text


@pytest.mark.parametrize("agent", IN_JSON)
def test_only_what_is_ours_is_taken_out_of_what_others_changed(project: Project, agent: str) -> None:
    """Settings that were edited since keep the edits, and so do other programs' hooks and comments."""
    path = settings_file(project, agent)
    path.parent.mkdir()
    path.write_bytes(PEOPLE_WRITE["foreign hooks"])
    hookrun(project, "install", agent, "--trust")
    text = path.read_text()
    path.write_text(text.replace('"z": 1,', '"z": 1,\n    "model": "new",'))
    assert hookrun(project, "uninstall", agent).status == 0
    assert path.read_bytes() == PEOPLE_WRITE["foreign hooks"].replace(b'"z": 1,', b'"z": 1,\n    "model": "new",')


def test_a_comment_that_somebody_adds_stays(project: Project) -> None:
    """An edit that means the same to the agent is still an edit: the text from before install does not overwrite it."""
    path = settings_file(project, "gemini")
    path.parent.mkdir()
    path.write_text('{\n  "a": 1\n}\n')
    hookrun(project, "install", "gemini")
    path.write_text(path.read_text().replace('"a": 1,', '"a": 1, // mine'))
    assert hookrun(project, "uninstall", "gemini").status == 0
    assert path.read_text() == '{\n  "a": 1 // mine\n}\n'


@pytest.mark.parametrize("name", ["there.json", "missing.json"])
def test_a_link_stays_a_link(project: Project, name: str) -> None:
    """The target of a link is written, created, and restored; the link itself is not touched."""
    path = settings_file(project, "claude")
    path.parent.mkdir()
    (project.home / "dotfiles").mkdir()
    (project.home / "dotfiles" / "there.json").write_bytes(PEOPLE_WRITE["CRLF"])
    target = project.home / "dotfiles" / name
    path.symlink_to(f"../dotfiles/{name}")
    before = tree(project.home)
    assert hookrun(project, "install", "claude").status == 0
    assert path.is_symlink()
    assert b"/hookrun/claude.PreToolUse" in target.read_bytes()
    assert hookrun(project, "uninstall", "claude").status == 0
    assert tree(project.home) == before


def test_a_projects_link_out_of_it_is_not_followed(project: Project) -> None:
    """A project's settings that link to a file elsewhere are left alone, and the error names that file."""
    (project.root / ".claude").mkdir()
    (project.home / "precious.json").write_text("{}")
    (project.root / ".claude" / "settings.json").symlink_to(project.home / "precious.json")
    done = hookrun(project, "install", "claude", "--scope", "project")
    assert done.status == 1
    assert f"a symbolic link to a file outside the project: {project.home}/precious.json" in done.stderr
    assert (project.home / "precious.json").read_text() == "{}"


BOTH = ("install", "uninstall")


@rows(
    "agent, text, message, commands",
    [
        ("claude", b'{\n  "a": 1,\n}\n', ':2:9: trailing comma before "}"', BOTH),
        ("claude", b"// mine\n{}", ":1:1: JSON has no comments", BOTH),
        (
            "codex",
            b'{"hooks": []}',
            ":1:11: `hooks` must be an object with a list of hooks for each event, not []",
            BOTH[:1],
        ),
        ("gemini", b'{\n  "a" 1\n}', ':2:7: unexpected "1"', BOTH),
        ("qwen", b'{"hooks": {"Stop": {}}}', ":1:20: `hooks.Stop` must be a list of hooks, not {}", BOTH[:1]),
        ("claude", b'{"a": "\xff"}', ":1:8: invalid UTF-8 byte 0xff", BOTH),
        ("claude", b"[]", ":1:1: the file must be an object with the agent's settings, not []", BOTH[:1]),
        ("claude", "{}".encode("utf-16"), ":1:1: the file is UTF-16", BOTH),
    ],
)
def test_settings_that_are_not_valid_are_left_alone(
    project: Project, agent: str, text: bytes, message: str, commands: tuple[str, ...]
) -> None:
    """The error shows file, line and column, and not a byte is changed."""
    path = settings_file(project, agent)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text)
    before = tree(project.home)
    for command in commands:
        done = hookrun(project, command, agent)
        assert done.status == 1
        assert f"~{str(path).removeprefix(str(project.home))}{message}" in done.stderr
        assert tree(project.home) == before


def test_a_dry_run_shows_a_diff_and_writes_nothing(project: Project) -> None:
    """The changes of install and uninstall are shown as a unified diff; not even a directory is created."""
    before = tree(project.home, project.root)
    done = hookrun(project, "install", "claude", "codex", "--dry-run", "--trust")
    assert done.status == 0
    assert f"+++ {settings_file(project, 'claude')}" in done.stdout
    assert f"+++ {project.home}/.codex/config.toml" in done.stdout
    assert tree(project.home, project.root) == before
    assert not (project.home / ".local" / "state").exists()
    hookrun(project, "install", "claude")
    wired = tree(project.home)
    done = hookrun(project, "uninstall", "claude", "--dry-run")
    assert f"--- {settings_file(project, 'claude')}" in done.stdout
    assert tree(project.home) == wired
    assert hookrun(project, "install", "claude", "--dry-run").stdout == "claude: nothing to change\n"


def _wired_events(project: Project, agent: str) -> list[str]:
    listed = hookrun(project, "status", "--json").json["agents"]
    assert isinstance(listed, list)
    return next(list(each["wired"].get("user", [])) for each in listed if each["agent"] == agent)


def test_from_the_first_install_on_events_without_a_cost_are_wired(project: Project) -> None:
    """Those that an agent sends often are added for a hook, and none is taken away; `--all-events` adds them too."""
    often = "MessageDisplay"
    hookrun(project, "install", "claude")
    first = _wired_events(project, "claude")
    assert {"PreToolUse", "SessionStart", "SessionEnd", "Stop", "Notification"} < {*first}
    assert {often, "FileChanged"}.isdisjoint(first)
    project.hooks({"name": "c", "event": "assistant_response", "command": "true"})
    hookrun(project, "install", "claude")
    assert {*_wired_events(project, "claude")} == {*first, often}
    project.hooks({"name": "c", "event": "stop", "command": "true"})
    hookrun(project, "install", "claude")
    assert {*_wired_events(project, "claude")} == {*first, often}
    hookrun(project, "install", "claude", "--all-events")
    assert {*_wired_events(project, "claude")} == {*first, often}


def test_events_that_an_agent_does_not_have_are_told(project: Project) -> None:
    """A hook that can never run in an agent is named during install."""
    project.hooks({"name": "s", "event": ["subagent_start", "stop"], "command": "true"})
    done = hookrun(project, "install", "gemini")
    assert "gemini: has no event for subagent_start; such hooks do not run there" in done.stdout


@rows(
    "hook, wired",
    [
        ({}, True),
        ({"agents": ["claude"]}, True),
        ({"agents": ["codex"]}, False),
        ({"mode": "off"}, False),
        ({"timeout": "soon"}, True),
    ],
    ids=["any agent", "this agent", "another agent", "off", "declared wrongly: it may block"],
)
def test_an_event_that_is_sent_often_is_wired_only_for_a_hook_that_would_run(
    project: Project, hook: dict[str, object], *, wired: bool
) -> None:
    """A hook that would not run in this agent is no reason to install its event."""
    hookrun(project, "uninstall", "claude")
    project.hooks({"event": "assistant_response", "command": "true", **hook})
    hookrun(project, "install", "claude")
    assert ("MessageDisplay" in _wired_events(project, "claude")) is wired


def test_without_a_hook_it_is_wired_for_those_to_come(project: Project) -> None:
    """That there is none is said, and what adds one."""
    (project.root / "coder.json").unlink()
    done = hookrun(project, "install", "claude")
    assert done.status == 0
    assert "no hooks are configured here\nhint: add some with `hookrun init`" in done.stderr
    assert "Stop" in _wired_events(project, "claude")


@pytest.mark.parametrize("ours", [False, True], ids=["foreign", "ours, changed since"])
@pytest.mark.parametrize("agent", ["cline", "opencode"])
def test_a_file_that_is_not_as_install_wrote_it_is_left_alone(project: Project, agent: str, *, ours: bool) -> None:
    """Another program's file, or a script or plugin of ours that was changed, is neither overwritten nor removed."""
    path = settings_file(project, agent)
    assert hookrun(project, "install", agent).status == 0
    path.write_text(path.read_text() * ours + "touch('PWNED')\n")
    before = path.read_text()
    done = hookrun(project, "install", agent)
    assert done.status == 1
    assert f"{path} was not written by hookrun, or has been changed since" in done.stderr
    out = hookrun(project, "uninstall", agent)
    assert (out.status, "by a handwritten line" in out.stderr) == (0, ours)
    assert path.read_text() == before


@rows(
    "agent, limit, deadline",
    [
        ("claude", '"timeout": 60', 55),
        ("codex", '"timeout": 3', 2),
        ("gemini", '"timeout": 600000', 595),
        ("qwen", '"timeout": 600', 595),
        ("copilot", '"timeoutSec": 600', 595),
    ],
)
def test_time_limits_are_the_agents_own_and_above_the_deadline(
    project: Project, agent: str, limit: str, deadline: int
) -> None:
    """The limit is written in the agent's unit; hookrun's deadline is below it, and no line names it."""
    project.hooks({"name": "e", "event": "session_end", "command": "true"})
    hookrun(project, "install", agent, "--trust")
    handler = json.dumps(json.loads(settings_file(project, agent).read_bytes())["hooks"]["SessionEnd"][0])
    assert re.search(rf"{limit}\b", handler)
    assert "--deadline" not in handler
    hookrun(project, "install", agent, "--scope", "project", "--trust")
    assert "--deadline" not in wired_line(project, agent, "SessionEnd", "project")
    assert installed_deadline(load(agent), "SessionEnd") == deadline


def test_an_agents_directory_may_be_named_by_its_variable(project: Project) -> None:
    """CLAUDE_CONFIG_DIR and CODEX_HOME are followed."""
    other = project.home / "elsewhere"
    hookrun(project, "install", "claude", CLAUDE_CONFIG_DIR=str(other))
    assert (other / "settings.json").exists()
    hookrun(project, "uninstall", "claude", CLAUDE_CONFIG_DIR=str(other))
    assert not other.exists()
