"""The launchers in hookrun's data directory: created when settings name them, start hookrun, removed with the last."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import load
from hookrun.agents.base import native_event
from hookrun.agents.grades import measured
from hookrun.core import files
from hookrun.launch import launcher_file
from hookrun.launch.client import compiled_client
from hookrun.wiring import launchers, plan
from hookrun.wiring.launchers import plan_launcher
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import InstallLocation, WiredLine
from hookrun.wiring.wired_command import HookrunProgram, this_program
from tests.cli.command import hookrun
from tests.cli.wiring import ALL, before_tool, launcher, launcher_conf, run_line, settings_file, tree, wired_line
from tests.conftest import ROOT, copy_package

if TYPE_CHECKING:
    from tests.conftest import Project

SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish", "dash") if shutil.which(shell)]
MESSAGE = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
BLOCK: dict[str, object] = {"name": "b", "event": "pre_tool_use", "command": "exit 2"}


@pytest.fixture
def project(project: Project) -> Project:
    """Return a project with a hook."""
    project.hooks({"name": "a", "command": "true"})
    return project


@pytest.fixture(params=["script", "client"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each form of a launcher: the script, and the compiled client where the package has it."""
    if request.param == "client" and compiled_client() is None:
        pytest.skip("this package has no compiled client")
    if request.param == "script":
        monkeypatch.setattr(launchers, "compiled_client", lambda: None)
    return str(request.param)


def put(home: Path, agent: str, program: HookrunProgram) -> Path:
    """Write the launcher of an agent into a home."""
    request = InstallRequest(load(agent), "user", InstallLocation(str(home), "/", {}), program)
    for each in plan_launcher(request):
        each.write()
    return Path(launcher_file.path_in(str(home), agent))


def guard(home: Path, program: HookrunProgram, agent: str = "claude") -> Path:
    """Make a home with a hook that blocks, and write the launcher of an agent into it."""
    (home / ".config/hookrun").mkdir(parents=True)
    (home / ".config/hookrun/hooks.json").write_text(json.dumps({"hooks": [BLOCK]}))
    return put(home, agent, program)


def findings(project: Project, agent: str, check: str = "program") -> list[str]:
    """Return what doctor finds out by a check."""
    report = hookrun(project, "doctor", agent, "--json").json["agents"]
    assert isinstance(report, list)
    return [each["found"] for each in report[0]["findings"] if each["check"] == check]


def line_in(home: Path) -> WiredLine:
    """Return what install writes for Claude Code before a tool."""
    request = InstallRequest(load("claude"), "user", InstallLocation(str(home), "/", {}), this_program())
    return request.line("PreToolUse")


def copy_of_hookrun(directory: Path) -> HookrunProgram:
    """Copy the package, so that it can be moved away."""
    package = copy_package(directory / "hookrun", "*.code")
    return HookrunProgram(this_program().python, str(package / "__main__.py"))


def started(*words: object, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a launcher as an agent does before a tool."""
    message = json.dumps(MESSAGE).encode()
    environment = {"PATH": "/usr/bin:/bin"}
    return subprocess.run([*map(str, words)], input=message, cwd=cwd, env=environment, capture_output=True, check=False)


def test_its_name_says_the_event_and_the_home(form: str, tmp_path: Path) -> None:
    """For an agent that starts it without a shell, and for one that does not know how to, and uses one."""
    home = tmp_path / "home"
    guard(home, this_program())
    line = line_in(home)
    assert line.argv == [line.text] == [f"{home}/.local/share/hookrun/claude.PreToolUse"]
    for shell in ([], ["/bin/sh", "-c"]):
        done = started(*shell, line.text, cwd=tmp_path)
        assert (done.returncode, b"blocked by b" in done.stdout) == (0, True), (form, shell, done)


def test_a_name_with_an_event_elsewhere_says_that_no_hook_has_run(tmp_path: Path) -> None:
    """The client knows the home only from the place that launchers have in it."""
    client = compiled_client()
    if client is None:
        pytest.skip("the client is not compiled here")
    (tmp_path / "claude").symlink_to(client)
    (tmp_path / "claude.Stop").symlink_to("claude")
    for name in ("claude", "claude.Stop"):
        done = subprocess.run([tmp_path / name], capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"no hook has run" in done.stderr


def test_any_shell_starts_it_from_any_home(form: str, tmp_path: Path) -> None:
    """Quotes, spaces and variables in the path of the home change nothing."""
    home = tmp_path / 'it\'s a "home" $HOME `x`'
    guard(home, this_program())
    for shell in SHELLS:
        done = started(shell, "-c", line_in(home).text, cwd=tmp_path)
        denied = b'"permissionDecision":"deny"' in done.stdout
        assert (done.returncode, denied) == (0, True), (form, shell, done)


def test_hooks_run_without_a_launcher_conf_that_can_be_read(form: str, tmp_path: Path) -> None:
    """It need not be there, and one that others can read is not believed."""
    home = tmp_path / "home"
    path = guard(home, copy_of_hookrun(tmp_path / "old"))
    for spoil in (lambda conf: conf.chmod(0o644), Path.unlink):
        spoil(path.with_name("launcher.conf"))
        assert b"blocked by b" in started(path, "PreToolUse", "--home", home, cwd=tmp_path).stdout, form


@pytest.mark.sampled(7)
@pytest.mark.parametrize("agent", ALL)
def test_without_the_package_the_agent_is_told_and_goes_on(form: str, agent: str, tmp_path: Path) -> None:
    """In the agent's own format, and naming the place; without anything beside the launcher by its status alone."""
    home = tmp_path / "home"
    path = guard(home, copy_of_hookrun(tmp_path / "old"), agent)
    (tmp_path / "old").rename(tmp_path / "new")
    words = [path, native_event(load(agent), "pre_tool_use"), "--home", home]
    done = started(*words, cwd=tmp_path)
    output = (done.stdout or done.stderr).decode()
    assert (done.returncode, "no hook has run" in output, str(tmp_path / "old") in output) == (0, True, True), form
    assert done.stdout == b"" or json.loads(done.stdout)
    path.with_name("launcher.conf").unlink()
    path.with_name("gone").unlink()
    done = started(*words, cwd=tmp_path)
    assert b"no hook has run" in (done.stdout or done.stderr), (form, done)
    assert done.returncode != 2


def test_install_writes_them_and_the_last_uninstall_removes_them(project: Project) -> None:
    """Each agent has its own; what all need stays until none is left, and every file has its mode."""
    assert hookrun(project, "install", "claude", "gemini").status == 0
    directory = launcher(project, "claude").parent
    links = [each for each in directory.iterdir() if each.is_symlink()]
    assert {each.name for each in links} == {f"claude.{event}" for event in load("claude").EVENTS}
    assert {str(each.readlink()) for each in links} == {"claude"}
    assert {each.name: oct(each.stat().st_mode) for each in directory.iterdir() if not each.is_symlink()} == {
        **dict.fromkeys(("claude", "disconnect", "gemini", "gone"), "0o100700"),
        "launcher.conf": "0o100600",
    }
    assert "already installed" in hookrun(project, "install", "claude").stdout
    launcher_conf(project).chmod(0o644)
    assert "already installed" not in hookrun(project, "install", "claude").stdout
    assert oct(launcher_conf(project).stat().st_mode) == "0o100600"
    hookrun(project, "uninstall", "claude")
    assert sorted(os.listdir(directory)) == ["disconnect", "gemini", "gone", "launcher.conf"]
    hookrun(project, "uninstall", "gemini")
    assert not directory.exists() or os.listdir(directory) == []


def test_a_link_that_was_removed_is_noticed_and_restored(project: Project) -> None:
    """Claude Code starts it, and without it only reports that a hook gave no answer."""
    hookrun(project, "install", "claude")
    link = launcher(project, "claude.PreToolUse")
    for target in (None, "gone", "/bin/true"):
        link.unlink()
        if target is not None:
            link.symlink_to(target)
        assert findings(project, "claude")
        assert "already installed" not in hookrun(project, "install", "claude").stdout
        assert str(link.readlink()) == "claude"
        assert not findings(project, "claude")
    launcher(project, "claude").unlink()
    hookrun(project, "uninstall", "claude")
    assert not link.is_symlink()


@pytest.mark.slow
def test_a_directory_in_the_place_of_a_link_is_in_the_way(project: Project) -> None:
    """Nothing is written then, and no settings name it."""
    hookrun(project, "install", "claude")
    link = launcher(project, "claude.PreToolUse")
    link.unlink()
    link.mkdir()
    assert findings(project, "claude")
    before = settings_file(project, "claude").read_bytes()
    refused = hookrun(project, "install", "claude", "--all-events")
    assert refused.status == 1
    assert f"{link} is not a regular file" in refused.stderr.replace("~", str(project.home))
    assert settings_file(project, "claude").read_bytes() == before
    link.rmdir()
    assert hookrun(project, "install", "claude").status == 0


@pytest.mark.parametrize("args", [None, "", {}])
def test_arguments_that_are_no_list_are_said_and_corrected(project: Project, args: object) -> None:
    """Claude Code then runs no hook of the event, without a message (measured with 2.1.329)."""
    hookrun(project, "install", "claude")
    path = settings_file(project, "claude")
    before = path.read_text()
    path.write_text(before.replace('"args": []', f'"args": {json.dumps(args)}'))
    assert findings(project, "claude", "wired") == ["hookrun is not in its settings"]
    hookrun(project, "install", "claude")
    assert path.read_text() == before
    path.write_text(before.replace('"args": []', f'"args": {json.dumps(args)}'))
    hookrun(project, "uninstall", "claude")
    assert not path.exists()


def test_links_are_on_disk_before_settings_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut that takes only the links leaves hooks that no longer run; here launcher.conf is there already."""
    home = tmp_path / "home"
    path = guard(home, this_program())
    link = path.with_name("claude.PreToolUse")
    link.unlink()
    synced: list[bool] = []
    sync = files.sync_directory

    def noting(directory: str) -> None:
        synced.append(link.is_symlink())
        sync(directory)

    monkeypatch.setattr(files, "sync_directory", noting)
    put(home, "claude", this_program())
    assert synced[-1:] == [True]


def test_approvals_beside_them_stay(project: Project) -> None:
    """The directory is the trust store's, too."""
    project.approve()
    before = shared(project)
    assert before
    hookrun(project, "install", "claude")
    hookrun(project, "uninstall", "claude")
    assert shared(project) == before


def shared(project: Project) -> dict[str, bytes]:
    """Return every file in hookrun's data directory."""
    return {str(path): path.read_bytes() for path in (project.home / ".local/share").rglob("*") if path.is_file()}


def test_dry_run_shows_them_and_writes_nothing(project: Project) -> None:
    """Both ways; the launchers are named, the text of launcher.conf is shown."""
    before = shared(project)
    printed = hookrun(project, "install", "claude", "--dry-run").stdout
    assert f"+++ {launcher(project, 'claude')}\n  (generated)" in printed
    assert "\n+hookrun-launcher 1\n" in printed
    assert shared(project) == before
    hookrun(project, "install", "claude")
    printed = hookrun(project, "uninstall", "claude", "--dry-run").stdout
    assert f"--- {launcher(project, 'claude')}\n" in printed
    assert "\n-hookrun-launcher 1\n" in printed
    assert launcher(project, "claude").exists()


def test_two_directories_of_an_agent_share_one(project: Project) -> None:
    """The launcher stays while the settings in the other directory name it."""
    other = str(project.home / "other")
    hookrun(project, "install", "claude")
    hookrun(project, "install", "claude", CLAUDE_CONFIG_DIR=other)
    hookrun(project, "uninstall", "claude")
    assert launcher(project, "claude").exists()
    hookrun(project, "uninstall", "claude", CLAUDE_CONFIG_DIR=other)
    assert not launcher(project, "claude").exists()


@pytest.mark.slow
def test_two_installations_after_one_another(project: Project, tmp_path: Path) -> None:
    """The second one has the launchers of all agents and says so; the lines are unchanged."""
    other = copy_of_hookrun(tmp_path / "other")
    run = [other.python, "-I", other.main, "install"]
    subprocess.run([*run, "gemini"], cwd=project.root, env=project.environment(), check=True, capture_output=True)
    line = wired_line(project, "gemini", "BeforeTool")
    done = hookrun(project, "install", "claude")
    assert f"claude: all agents now use {ROOT}/hookrun/__main__.py instead of {other.main}" in done.stdout + done.stderr
    assert wired_line(project, "gemini", "BeforeTool") == line
    shutil.rmtree(tmp_path / "other")
    assert run_line(project, line, before_tool(project, "gemini")).returncode == 0
    assert not findings(project, "gemini")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a home to another account")
def test_root_writes_no_launcher_into_the_home_of_another_account(project: Project) -> None:
    """Nor where directories of root's own are in it already: the account could not run it."""
    os.chown(project.home, 12345, 12345)
    assert hookrun(project, "install", "claude").status == 0
    assert wired_line(project, "claude", "PreToolUse").startswith("test -x ")
    assert not launcher_conf(project).exists()


def line_without_a_launcher(project: Project) -> str:
    """Return what install writes where there can be no launcher."""
    request = InstallRequest(load("claude"), "user", InstallLocation(str(project.home), "/", {}), this_program())
    assert launchers.why_unusable(str(project.home)) is not None
    assert request.launcher is None
    assert plan_launcher(request) == []
    line = request.line("PreToolUse").text
    assert line.startswith(f"test -x {this_program().python} && ")
    assert " --deadline 595" in line
    return line


def data_directory_in_the_way(project: Project) -> Path:
    """Put a file where the data directory would be."""
    (project.home / ".local").mkdir(exist_ok=True)
    share = project.home / ".local" / "share"
    shutil.rmtree(share, ignore_errors=True)
    share.write_text("in the way")
    return share


def test_where_there_can_be_no_launcher_the_line_names_hookrun(project: Project) -> None:
    """As where the data directory cannot be written."""
    assert launchers.why_unusable(str(project.home)) is None
    data_directory_in_the_way(project)
    line = line_without_a_launcher(project)
    done = hookrun(project, "install", "claude")
    assert (done.status, wired_line(project, "claude", "PreToolUse")) == (0, line)
    assert "starts without a launcher, so never warm: " in done.stdout
    assert "differs from" not in hookrun(project, "doctor", "claude").stdout


def test_there_is_no_launcher_where_nothing_runs_or_of_another_account_s(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data directory of a file system that is mounted with `noexec`, and one of another account, as with sudo."""
    real = os.statvfs("/")
    no_programs = os.statvfs_result([*real[:8], os.ST_NOEXEC, *real[9:]])
    for name, found in (("statvfs", lambda _: no_programs), ("geteuid", lambda: 54321)):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, found)
            line_without_a_launcher(project)


def test_a_line_with_paths_becomes_a_launchers_once_there_can_be_one(project: Project) -> None:
    """And an upgrade in place brings a launcher that is stale up to date."""
    share = data_directory_in_the_way(project)
    hookrun(project, "install", "claude")
    share.unlink()
    assert "differs from what this version of hookrun writes" in hookrun(project, "doctor", "claude").stdout
    hookrun(project, "install", "claude")
    assert wired_line(project, "claude", "PreToolUse") == f"{launcher(project, 'claude')}.PreToolUse"
    launcher(project, "claude").write_bytes(b"#!/bin/sh\nexit 1\n")
    hookrun(project, "install", "claude")
    assert not findings(project, "claude")


@pytest.mark.parametrize(
    ("agent", "now", "earlier"),
    [
        ("codex", '"exec {launcher} ', '"{launcher} '),
        ("claude", '"{launcher}.PreToolUse",{space}"args": [],', '"exec {launcher} PreToolUse --home {home}",'),
        ("claude", '"{launcher}.PreToolUse",{space}"args": [],', '"{launcher} PreToolUse --home {home}",'),
    ],
)
def test_a_launchers_line_of_an_earlier_install_is_replaced(
    agent: str, now: str, earlier: str, project: Project
) -> None:
    """It had no `exec`, or was for a shell where there is none now: ours all the same, and one line afterwards."""
    hookrun(project, "install", agent, "--trust")
    settings = settings_file(project, agent)
    written = settings.read_text()
    names = {"launcher": launcher(project, agent), "home": project.home, "space": f"\n{' ' * 12}"}
    assert now.format(**names) in written
    settings.write_text(written.replace(now.format(**names), earlier.format(**names)))
    found = hookrun(project, "doctor", agent).stdout
    assert "differs from what this version of hookrun writes" in found
    assert "written by hand" not in found
    hookrun(project, "install", agent, "--trust")
    assert settings.read_text() == written


def test_a_running_launcher_is_replaced_and_not_written_to(project: Project) -> None:
    """The program that runs has another file than the new one."""
    hookrun(project, "install", "claude")
    before = launcher(project, "claude").stat().st_ino
    launcher(project, "claude").chmod(0o755)
    held = launcher(project, "claude").open("rb")
    hookrun(project, "install", "claude")
    assert launcher(project, "claude").stat().st_ino != before
    assert os.fstat(held.fileno()).st_nlink == 0
    held.close()


def test_a_link_in_their_place_is_replaced(project: Project) -> None:
    """Nothing is written through it."""
    launcher_conf(project).parent.mkdir(parents=True, exist_ok=True)
    target = project.home / "precious"
    target.write_text("mine")
    for name in ("claude", "launcher.conf"):
        launcher(project, name).symlink_to(target)
    assert hookrun(project, "install", "claude").status == 0
    assert target.read_text() == "mine"
    assert not launcher(project, "claude").is_symlink()
    assert launcher_file.read(str(launcher_conf(project))) is not None


def test_a_launcher_has_the_deadline_that_install_wrote_into_the_settings(form: str, project: Project) -> None:
    """Not the agent's default of 30 seconds for a prompt, and for another agent in the same file neither."""
    project.user_hooks({"name": "slow", "event": "user_prompt_submit", "command": "true"})
    put(project.home, "claude", this_program())
    message = {"session_id": "s", "cwd": str(project.root), "hook_event_name": "UserPromptSubmit", "prompt": "x"}
    line = f"{launcher(project, 'claude')} UserPromptSubmit --home {project.home}"
    assert run_line(project, line, message).returncode == 0
    (start,) = [each for each in project.audit() if each["kind"] == "fire"]
    assert start["cold"] in ("no-client", "no-server", "off"), form


def test_an_install_does_not_read_launcher_conf_for_every_line(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher's target is read on demand, once for each line."""
    assert hookrun(project, "install", "claude", "--all-events").status == 0
    found: list[str] = []
    read = launcher_file.read

    def counted(path: str) -> launcher_file.LauncherFile | None:
        found.append(path)
        return read(path)

    monkeypatch.setattr(launcher_file, "read", counted)
    request = InstallRequest(load("claude"), "user", InstallLocation(str(project.home), "/", {}), this_program())
    events = plan.all_events(request.agent)
    assert len(plan.plan_install(request, events, Ledger(str(project.home)))) == 1
    assert found == []
    wired = plan.wired_events(request)
    assert [wired[0].command.program, wired[0].command.program] == [this_program()] * 2
    assert found == [str(launcher_conf(project))]


def test_events_and_lines_are_those_of_every_agent(project: Project) -> None:
    """Install, look and uninstall for all agents: the files that settings name are created, and removed."""
    before = tree(project.home, project.root)
    assert hookrun(project, "install", *ALL, "--trust").status == 0
    for agent in ALL:
        assert str(launcher(project, agent)) in settings_file(project, agent).read_text()
        assert measured(load(agent))["version"]
    hookrun(project, "uninstall", *ALL)
    assert tree(project.home, project.root) == before
    assert not launcher_conf(project).exists()


def test_an_event_is_unsent_only_if_none_of_its_names_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of an agent's events may be one of hookrun's: hooks for it run at the other one."""
    agent = load("cline")
    names = plan.events_for(agent, ["session_start"])
    assert len(names) == 2
    for unsent, expected in ((names[:1], []), (names, ["session_start"])):
        monkeypatch.setitem(agent.INSTALL, "unsent", tuple(unsent))
        assert plan.unsent_events(agent, ["session_start", "pre_tool_use"]) == expected
