"""A lead commits a project's hookrun line; a teammate on another path clones it, approves, and is guarded.

If the tests run as root, the teammate is a second account of the machine, with a separate hookrun; else the same
account with another home, whose hookrun is on PATH and takes that home for the account's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hookrun.core.state import account_home
from hookrun_conformance.driver import put
from hookrun_conformance.drivers import DRIVERS, SLOW
from hookrun_conformance.model import ScriptedModel, Turn, say
from tests.account import can_make_accounts, second_account
from tests.live.conftest import settle
from tests.live.installed import PINS
from tests.live.run import PACKAGE, Agent, Place, Ran
from tests.live.test_wiring import trust_the_project
from tests.waiting import limit

DONE = say("all-is-done")
GUARD = {
    "name": "guard",
    "event": "pre_tool_use",
    "command": "grep -q forbidden && { echo not-here >&2; exit 2; }; true",
}


OWN_CHANGES = {"qwen": [" M .qwen/settings.json"]}
"""What an agent itself changes in a clone: Qwen Code writes the version of its settings into them."""

SILENT = ("codex", "copilot", "cline", "grok")
"""Agents that show the user nothing of hooks if they run headless."""

ONE_ACCOUNT = ("vibe",)
"""Agents whose interpreter may be readable only for the account that installed them."""


class Teammate:
    """A teammate with a separate home and clone; `uid` is None if the account is the same."""

    def __init__(self, lead: Agent, home: Path, uid: int | None) -> None:
        self.driver = lead.driver
        self.place = Place.__new__(Place)
        self.place.path = lead.place.path
        self.place.home, self.place.project, self.place.temporary = home, home / "work" / "clone", home / "temporary"
        self.place.programs = home / "bin"  # without one for a second account, whose own directory is searched first
        self.program = home / (".local/bin/hookrun" if uid is not None else "bin/hookrun")
        self.model = ScriptedModel()
        self._uid = uid
        self._python = _python_for(uid)
        self.driver.settle(home, self.model.url)
        self.place.temporary.mkdir()
        clone = self.place.project
        subprocess.run(["git", "clone", "--quiet", lead.place.project, clone], check=True)
        trust_the_project(self.driver, self.place)
        self._own()

    def _own(self) -> None:
        if self._uid is not None:
            subprocess.run(["chown", "-R", f"{self._uid}:{self._uid}", self.place.home], check=True)

    def install_hookrun(self) -> None:
        """Put a virtual environment with hookrun into the home, and its program where `uv tool install` puts it."""
        venv = self.place.home / ".local" / "share" / "hookrun"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = venv / "lib" / version / "site-packages"
        packages.mkdir(parents=True)
        (packages / "hookrun.pth").write_text(f"{PACKAGE.parent}\n{sysconfig.get_path('purelib')}\n")
        (venv / "bin").mkdir()
        (venv / "bin" / "python").symlink_to(self._python)
        (venv / "pyvenv.cfg").write_text(f"home = {self._python.parent}\n")
        home = f"state.account_home = lambda: {str(self.place.home)!r}\n" if self._uid is None else ""
        main = "import hookrun.__main__\nhookrun.__main__.main()\n"
        text = f"#!{venv}/bin/python\nfrom hookrun.core import state\n{home}{main}"
        put(venv / "bin" / "hookrun", text, mode=0o755)
        self.program.parent.mkdir(exist_ok=True)
        self.program.symlink_to(venv / "bin" / "hookrun")
        self._own()

    def remove_hookrun(self) -> None:
        """Remove it again."""
        self.program.unlink()

    def approve(self) -> None:
        """Approve the project's hooks, and let Codex trust hookrun's."""
        digests = self._hookrun("trust", "--digest", status=1).splitlines()
        self._hookrun("trust", "--yes", *(each.split()[0] for each in digests))
        self.trust()

    def trust(self) -> None:
        """Let Codex trust hookrun's hooks as a user does there: with the entries that any hookrun would write."""
        if self.driver.name == "codex":
            self._hookrun("install", "codex", "--scope", "project", "--trust")

    def _hookrun(self, *arguments: str, status: int = 0) -> str:
        done = self._call([str(self.program), *arguments], self.place.environment())
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def run(self, *turns: Turn) -> Ran:
        """Run the agent on one prompt in the clone."""
        self.model.begin(turns)
        words = [str(PINS[self.driver.name].program), *self.driver.arguments("do it"), *self.driver.allowing()]
        done = self._call(words, self.place.environment(**self.driver.environment(self.model.url)))
        return Ran(self.place, self.model, done.returncode, done.stdout, done.stderr)

    def _call(self, words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.place.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit(),
            check=False,
            user=self._uid,
            group=self._uid,
            extra_groups=None if self._uid is None else (),
        )


def _python_for(uid: int | None) -> Path:
    """Return an interpreter of this version that an account can run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for each in (os.path.realpath(sys.executable), shutil.which(version, path="/usr/local/bin:/usr/bin:/bin")):
        if each is not None:
            try:
                subprocess.run([each, "-c", ""], cwd="/", user=uid, check=True)
            except (OSError, subprocess.CalledProcessError):
                continue
            return Path(each)
    pytest.skip(f"no {version} that another account can run")


@pytest.fixture(params=[*DRIVERS, *SLOW])
def lead(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    """Each agent in turn, for the lead."""
    yield from settle(request.param, request, tmp_path)


@pytest.fixture
def home(lead: Agent) -> Iterator[Path]:
    """The home of the teammate: of a second account where one can be made."""
    if Path(account_home(), ".local", "bin", "hookrun").exists():
        pytest.skip("this account has a hookrun in ~/.local/bin, which a project's line finds first")
    with TemporaryDirectory() as directory, ExitStack() as stack:
        Path(directory).chmod(0o755)
        second = os.geteuid() == 0 and can_make_accounts() and lead.name not in ONE_ACCOUNT
        made = stack.enter_context(second_account(Path(directory))) if second else Path(directory, "another")
        made.mkdir(exist_ok=True)
        yield made


def _commit(lead: Agent, *options: str) -> None:
    """Declare a hook in the lead's project, install it for everyone, and commit both."""
    put(lead.place.project / "coder.json", {"hooks": [GUARD]})
    lead.hookrun("install", lead.name, "--scope", "project", *options, status=1 if lead.name == "codex" else 0)
    for words in (["add", "."], ["-c", "user.name=lead", "-c", "user.email=lead@x", "commit", "-qm", "guarded"]):
        subprocess.run(["git", *words], cwd=lead.place.project, check=True)


def _teammate(lead: Agent, home: Path) -> Teammate:
    uid = home.stat().st_uid
    return Teammate(lead, home, uid if uid != os.geteuid() else None)


def test_who_clones_and_approves_is_guarded(lead: Agent, home: Path) -> None:
    """By the very bytes that the lead committed; before the approval the user sees that the hook does not run."""
    _commit(lead)
    teammate = _teammate(lead, home)
    teammate.install_hookrun()
    with teammate.model:
        teammate.approve()
        ran = teammate.run(
            lead.driver.shell("echo forbidden > forbidden.txt"), lead.driver.shell("echo hi > made.txt"), DONE
        )
        assert {"made.txt", "coder.json"} == set(ran.files), ran
        assert "not-here" in ran.heard, ran
        assert [each["action"] for each in ran.audit if each.get("hook") == "guard"].count("block") == 1, ran
    status = ["git", "-c", "safe.directory=*", "status", "--porcelain"]
    changed = subprocess.run(status, cwd=teammate.place.project, capture_output=True, text=True, check=True)
    lines = [line for line in changed.stdout.splitlines() if line not in OWN_CHANGES.get(lead.name, ())]
    assert lines == ["?? made.txt"]


def test_who_has_no_hookrun_is_told_what_to_install(lead: Agent, home: Path) -> None:
    """The tool runs, and the session names what is missing."""
    _commit(lead)
    teammate = _teammate(lead, home)
    teammate.install_hookrun()
    teammate.trust()
    teammate.remove_hookrun()
    with teammate.model:
        ran = teammate.run(lead.driver.shell("echo hi > made.txt"), DONE)
        assert "made.txt" in ran.files, ran
        if lead.name == "vibe":  # it has no event at the start, and headless it drops what is for the user at the end
            return
        assert "install hookrun, then run hookrun trust" in ran.printed + ran.heard, ran
        if lead.name not in SILENT:
            assert "install hookrun, then run hookrun trust" in ran.printed, ran


def test_where_the_line_says_block_no_tool_runs_without_hookrun(lead: Agent, home: Path) -> None:
    """The model gets the reason from all agents that can block a call of any tool without ending the run."""
    _commit(lead, "--when-missing", "block")
    teammate = _teammate(lead, home)
    teammate.install_hookrun()
    teammate.trust()
    teammate.remove_hookrun()
    with teammate.model:
        ran = teammate.run(lead.driver.shell("echo hi > made.txt"), DONE)
        assert "made.txt" not in ran.files, ran
        if lead.name != "cline":  # it ends the run, and does not show the reason
            assert "install hookrun, then run hookrun trust" in ran.heard, ran
