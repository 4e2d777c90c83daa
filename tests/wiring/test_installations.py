"""A hookrun that will be cleaned away is not installed: the built wheel run by pip, pipx, uv and from their caches."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.wiring.installations import ephemeral_directory
from hookrun.wiring.wired_command import HookrunProgram
from tests import isolation
from tests.cli.command import hookrun
from tests.conftest import ROOT, Project
from tests.rows import rows

TOOL_TIMEOUT = 170.0
"""Seconds for a tool that downloads from PyPI."""


class Tools:
    """uv and pipx, installed from PyPI, and the wheel of this source."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory / "bin"
        self._run(sys.executable, "-m", "venv", directory)
        self._run(self.bin / "python", "-m", "pip", "install", "--quiet", "uv", "pipx")
        self._run(self.bin / "uv", "build", "--quiet", "--wheel", "--out-dir", directory / "dist", ROOT)
        (self.wheel,) = map(str, (directory / "dist").glob("*.whl"))

    @staticmethod
    def _run(*command: str | Path) -> None:
        subprocess.run(command, check=True, timeout=TOOL_TIMEOUT, env=isolation.Account.environment)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """Return the tools; without PyPI the tests fail."""
    return Tools(tmp_path_factory.mktemp("tools"))


class Account:
    """An account with a permanent home: TMPDIR is outside it."""

    def __init__(self, directory: Path, tools: Tools) -> None:
        self.home = directory / "home"
        self.temporary = directory / "temporary"
        self.project = directory / "project"
        for each in (self.home, self.temporary, self.project):
            each.mkdir()
        self.settings = self.home / ".claude" / "settings.json"
        outside = isolation.Account.environment
        inherited = ("LANG", "LC_", "PIP_", "SSL_", "REQUESTS_", "http", "HTTP", "no_proxy", "NO_PROXY")
        self.environment = {
            **{name: value for name, value in outside.items() if name.startswith(inherited)},
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PATH": f"{self.home}/.local/bin:{tools.bin}:/usr/local/bin:/usr/bin:/bin",
        }

    def run(self, *command: str, status: int | None = 0) -> str:
        """Run a command and return what it printed on both streams."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=TOOL_TIMEOUT,
        )
        assert status is None or done.returncode == status, (command, done.stdout)
        return done.stdout

    def wired(self) -> str:
        """Return the line that Claude Code runs before a tool, empty for none."""
        if not self.settings.exists():
            return ""
        line = json.loads(self.settings.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        assert isinstance(line, str)
        return line


@pytest.fixture
def account(tmp_path: Path, tools: Tools) -> Account:
    """Return an account without hookrun."""
    return Account(tmp_path, tools)


INSTALL = ("install", "claude", "--all-events")


def _with_pip(account: Account, tools: Tools, place: Path) -> str:
    account.run(sys.executable, "-m", "venv", str(place))
    account.run(str(place / "bin/python"), "-m", "pip", "install", "--quiet", tools.wheel)
    return str(place / "bin/hookrun")


@pytest.mark.slow
def test_an_environment_that_lasts_is_wired(account: Account, tools: Tools) -> None:
    """What pip installs for good is installed into an agent, and doctor reports nothing about it."""
    _lasts(account, _with_pip(account, tools, account.home / "environment"), "environment")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("installing", "place"),
    [(["pipx", "install"], "pipx/venvs/hookrun"), (["uv", "tool", "install"], "uv/tools/hookrun")],
)
def test_an_installation_that_lasts_is_wired(account: Account, tools: Tools, installing: list[str], place: str) -> None:
    """So is what pipx and uv install."""
    account.run(*installing, tools.wheel)
    _lasts(account, "hookrun", f".local/share/{place}")


def _lasts(account: Account, program: str, place: str) -> None:
    account.run(program, *INSTALL)
    assert f"{account.home}/{place}/bin/python" in (account.home / ".local/share/hookrun/launcher.conf").read_text()
    assert " place: " not in account.run(program, "doctor", "claude", status=None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("running", "cache", "lasting"),
    [
        ("uvx --from {wheel}", "home/.cache/uv", "{by_uv}"),
        ("uvx --cache-dir elsewhere --from {wheel}", "project/elsewhere", "{by_uv}"),
        ("uv run --no-project --with {wheel}", "home/.cache/uv", "{by_uv}"),
        ("pipx run --spec {wheel}", "home/.cache/pipx", "{by_pipx}"),
    ],
)
def test_a_tool_cache_is_refused(account: Account, tools: Tools, running: str, cache: str, lasting: str) -> None:
    """Caches of uvx and pipx are refused, and the two commands in the message install permanently."""
    run = running.format(wheel=tools.wheel).split()
    place = account.home.parent / cache
    for option in ((), ("--dry-run",)):
        printed = account.run(*run, "hookrun", *INSTALL, *option, status=1)
        assert f"this hookrun is in {place}" in printed
        assert account.wired() == ""
    _, by_uv, by_pipx, wire, *_ = re.findall("`(.*?)`", printed)
    assert (by_uv, by_pipx) == (f"uv tool install {tools.wheel}", f"pipx install {tools.wheel}")
    account.run("sh", "-c", f"{lasting} && {wire} --all-events".format(by_uv=by_uv, by_pipx=by_pipx))
    account.run("rm", "-rf", str(place))
    message = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}})
    fired = account.run("sh", "-c", f"printf '%s' '{message}' | sh -c \"$1\"", "sh", account.wired())
    assert "hookrun is no longer at" not in fired


@pytest.mark.slow
def test_from_here_is_wired_and_recorded(account: Account, tools: Tools) -> None:
    """`--from-here` installs what the cache holds; it is recorded, and without the record doctor reports a problem."""
    uvx = ("uvx", "--from", tools.wheel, "hookrun")
    account.run(*uvx, *INSTALL, "--from-here")
    conf = account.home / ".local/share/hookrun/launcher.conf"
    assert f"{account.home}/.cache/uv" in conf.read_text()
    manifest = account.home / ".local/state/hookrun/backups/manifest.json"
    (recorded,) = json.loads(manifest.read_text())["from_here"]
    assert os.path.dirname(recorded) in conf.read_text()
    account.run(*uvx, *INSTALL)  # the user has decided about this one
    found = account.run(*uvx, "doctor", "claude", status=None)
    assert f"the installed hookrun, {recorded}, is in " in found
    entries = json.loads(manifest.read_text())
    del entries["from_here"]
    manifest.write_text(json.dumps(entries))
    found = account.run(*uvx, "doctor", "claude", status=1)
    assert f"the installed hookrun, {recorded}, is in {account.home}/.cache/uv\n" in found
    assert f"hint: run `uv tool install {tools.wheel}`" in found
    account.run("uv", "tool", "install", tools.wheel)  # a permanent hookrun reports the temporary line, too
    assert f"is in {account.home}/.cache/uv" in account.run("hookrun", "doctor", "claude", status=1)
    account.run("hookrun", *INSTALL)
    assert "place:" not in account.run("hookrun", "doctor", "claude", status=None)


@pytest.mark.slow
def test_a_temporary_directory_is_refused(account: Account, tools: Tools) -> None:
    """An environment in TMPDIR is not installed for the user, nor one in the system's directory."""
    program = _with_pip(account, tools, account.temporary / "environment")
    assert f"this hookrun is in {account.temporary}" in account.run(program, *INSTALL, status=1)
    assert account.wired() == ""
    del account.environment["TMPDIR"]
    if account.home.is_relative_to("/tmp"):
        assert "this hookrun is in /tmp," in account.run(program, *INSTALL, status=1)
        assert account.wired() == ""


def _program(directory: Path, environment: str = "environment") -> HookrunProgram:
    """Return an installed hookrun of which only the files exist."""
    files = (directory / environment / "bin/python3", directory / environment / "lib/hookrun/__main__.py")
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    return HookrunProgram(*map(str, files))


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory that counts as lasting: home and TMPDIR are beside it."""
    for name in ("XDG_CACHE_HOME", "UV_CACHE_DIR", "PIPX_HOME", "UV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)  # where a relative path that a tool prints would be found
    return tmp_path


@rows(
    "variables, directory",
    [
        ({}, "home/.cache/uv/archive-v0/x"),
        ({}, "home/.cache/pipx/x"),
        ({}, "home/.local/share/pipx/trash/x"),
        ({}, "temporary/x"),
        ({"XDG_CACHE_HOME": "caches"}, "caches/uv/x"),
        ({"XDG_CACHE_HOME": "caches"}, "caches/pipx/x"),
        ({"UV_CACHE_DIR": "mine"}, "mine/x"),
        ({"PIPX_HOME": "pipx"}, "pipx/.cache/x"),
        ({"PIPX_HOME": "pipx"}, "pipx/.trash/x"),
    ],
)
def test_the_documented_places_count_without_the_tools(
    quiet: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], directory: str
) -> None:
    """Without uv and pipx on PATH their variables and defaults locate their caches."""
    with monkeypatch.context() as patched:
        for name, value in variables.items():
            patched.setenv(name, str(quiet / value))
        found = ephemeral_directory(_program(quiet, directory), str(quiet / "home"))
    assert found is not None
    assert str(quiet / directory).startswith(found)
    assert ephemeral_directory(_program(quiet, "home/.local/share/uv/tools/x"), str(quiet / "home")) is None


def test_a_link_into_a_cache_is_in_it(quiet: Path) -> None:
    """An environment whose package is a link into uv's cache (`--link-mode symlink`) breaks with the cache."""
    program = _program(quiet)
    cached = quiet / "home/.cache/uv/archive-v0/__main__.py"
    cached.parent.mkdir(parents=True)
    Path(program.main).rename(cached)
    Path(program.main).symlink_to(cached)
    assert ephemeral_directory(program, str(quiet / "home")) == str(quiet / "home/.cache/uv")


@rows("name", ["uv", "pipx"])
@pytest.mark.parametrize(
    ("tool", "counts"),
    [
        ("#!/bin/sh\necho {here}/environment\n", True),
        ("#!/bin/sh\necho {here}/environment\nexit 1\n", False),
        ("#!/bin/sh\necho environment\n", False),
        ("no program", False),
    ],
)
def test_the_tools_are_asked(quiet: Path, name: str, tool: str, *, counts: bool) -> None:
    """What uv and pipx report counts, but not of one that fails, or prints no absolute path."""
    program = quiet / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(tool.format(here=quiet))
    program.chmod(0o755)
    found = ephemeral_directory(_program(quiet), str(quiet / "home"))
    program.unlink()
    assert (found, counts) in ((str(quiet / "environment"), True), (None, False))


def test_the_system_directory_counts_for_a_home_elsewhere(quiet: Path) -> None:
    """A TMPDIR below /tmp does not make the rest of /tmp last, unless the home is there as well."""
    program = HookrunProgram("/tmp/venv/bin/python3", "/tmp/venv/lib/hookrun/__main__.py")
    assert ephemeral_directory(program, "/home/somebody") == "/tmp"


def test_the_project_scope_takes_any(project: Project) -> None:
    """A hookrun in a temporary directory is refused for the user; what a project shares is another matter."""
    done = hookrun(project, *INSTALL, TMPDIR=str(ROOT))
    assert done.status == 1
    assert f"this hookrun is in {ROOT}" in done.stderr
    assert hookrun(project, *INSTALL, "--scope", "project", TMPDIR=str(ROOT)).status == 0
