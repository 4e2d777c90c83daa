"""The script of a project's line: which hookrun it runs and which never, in each shell and according to doctor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.core.state import account_home
from hookrun.launch import launcher_file
from hookrun.shell import fire_call
from hookrun.shell.fire_call import fire_calls
from hookrun.wiring import committed
from tests.account import can_make_accounts, second_account

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN = ("sh", "bash --posix", "dash", "ksh", "busybox sh")
SHELLS = [shell for shell in KNOWN if shutil.which(shell.split(maxsplit=1)[0])]
pytestmark = pytest.mark.skipif(
    Path(account_home(), ".local", "bin", "hookrun").exists(), reason="the account has a hookrun, which is found first"
)


EARLIER = (Path(__file__).parent / "earlier_project_line.sh").read_text()
"""The script of the hookrun of 2026-11-22."""


def line_of(*arguments: str, script: str) -> list[str]:
    """Return the words of an earlier version's line for a project."""
    return ["/bin/sh", "-c", script, "hookrun", "warn", "PWD", "", *arguments]


class Clone:
    """A repository, and a directory of programs outside it."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "it's a (clone) $HOME"
        self.sub = self.root / "sub"
        self.outside = directory / "outside"
        for each in (self.root / ".git", self.sub, self.outside, self.root / "bin"):
            each.mkdir(parents=True)
        self.program(self.root / "bin")
        (self.root / ".hookrun").mkdir()
        self.script = self.root / ".hookrun" / "run"
        self.script.write_text(committed.script())

    @staticmethod
    def program(directory: Path, text: str = '#!/bin/sh\nprintf "%s|" "$0" "$@"; env; exit 3\n') -> Path:
        """Make a program called hookrun that prints how it was called."""
        path = directory / "hookrun"
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, path: str, *, shell: str = "sh", cwd: Path | None = None, **env: str) -> tuple[int, str]:
        """Return exit status and output of the script, as an agent runs it, where PATH is `path`."""
        program = shutil.which(shell.split(maxsplit=1)[0])
        assert program is not None
        done = subprocess.run(
            [program, *shell.split()[1:], self.script, "x", "Before"], cwd=cwd or self.root, env={"PATH": path, **env},
            capture_output=True, check=False, text=True,
        )  # fmt: skip
        assert done.stderr == "" or "BASH_FUNC_[%%" in env
        return done.returncode, done.stdout

    def found(self, path: str) -> list[str] | None:
        """Return the hookrun that doctor finds through the line."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", path)
            return committed.found_by("x", str(self.root))


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone with a hookrun in its own `bin`."""
    return Clone(tmp_path)


def test_what_starts_hookrun_is_no_other_program_and_no_second_call() -> None:
    """By whatever program that runs another one, and options of Python with a value."""
    rows = [
        ("uvx --from x hookrun@1", []),
        ("npx hookrun", []),
        ("pipx run --spec git+x hookrun", []),
        ("uv tool run hookrun", []),
        ("poetry run hookrun", []),
        ("uv run --project . python -m hookrun", []),
        ("python -X dev -m hookrun", []),
        ("python3 -W ignore /a/hookrun/__main__.py", []),
        ("uv run sh -c 'touch x; hookrun", ["touch"]),
        ("touch x; uvx hookrun", ["touch"]),
        ("touch x; /h/.local/share/hookrun/claude.Stop; true #", ["touch", "true"]),
    ]
    calls = {line: fire_calls(f"{line} fire --agent claude" + "'" * line.count("'")) for line, _ in rows}
    found = {line: [(call.agent, call.others) for call in each] for line, each in calls.items()}
    assert found == {line: [("claude", others)] for line, others in rows}


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_on_path_outside_the_repository_is_run(clone: Clone, shell: str) -> None:
    """With its own arguments and exit status."""
    program = clone.program(clone.outside)
    status, printed = clone.run(f"{clone.outside}:/usr/bin:/bin", shell=shell)
    assert (status, printed.split("\n")[0].split("|")[:6]) == (
        3,
        [str(program), "fire", "--agent", "x", "Before", "--scope"],
    )
    assert clone.found(f"{clone.outside}:/usr/bin:/bin") == [str(program)]


def test_nothing_of_the_clone_is_run(clone: Clone) -> None:
    """Not by a directory in it, a link to that, a relative entry or an empty one, which mean the working directory."""
    link, up, bin_directory = clone.outside / "link", clone.outside / "up", clone.root / "bin"
    link.symlink_to(bin_directory)
    up.symlink_to("../" + clone.root.name)
    clone.program(clone.root)
    entries = (bin_directory, f"{bin_directory}/", f"{bin_directory}/../bin", link, f"{link}/../bin")
    paths = [f"{entry}:/usr/bin:/bin" for entry in (*entries, "bin", ".", "", "sub/../bin", up)]
    ran = {(path, shell): clone.run(path, shell=shell) for path in paths for shell in SHELLS}
    assert {each: result for each, result in ran.items() if result != (0, "")} == {}
    assert {path: found for path in paths if (found := clone.found(path)) is not None} == {}


def test_the_repository_is_that_around_the_working_directory_and_the_script(clone: Clone, tmp_path: Path) -> None:
    """In a directory of the clone, in a submodule, or elsewhere."""
    (clone.sub / ".git").write_text("gitdir: ../.git/modules/sub\n")
    path = f"{clone.root}/bin:/usr/bin:/bin"
    for directory in (clone.sub, tmp_path, clone.outside):
        assert clone.run(path, cwd=directory) == (0, "")
        assert clone.found(path) is None
    clone.program(clone.sub)
    assert clone.run(f"{clone.outside}:/usr/bin:/bin", cwd=clone.outside) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_what_the_environment_exports_silences_nothing(clone: Clone, shell: str) -> None:
    """Neither functions for bash nor a separator, a home or a file for interactive shells."""
    program = clone.program(clone.outside)
    names = ("[", "cd", "printf", "read", "pwd", "exec", "unset", "id", "exit", "eval", "set", "test")
    functions = {f"BASH_FUNC_{name}%%": "() { exit 0; }" for name in names}
    evil = clone.root / "evil.sh"
    evil.write_text("exit 0\n")
    link = clone.outside / "sh"  # by this name, bash reads what it would read for an agent
    link.symlink_to(shutil.which(shell.split(maxsplit=1)[0]) or "")
    env: dict[str, Any] = {
        **functions,
        "IFS": "/x",
        "ENV": str(evil),
        "HOME": str(clone.root),
        "CDPATH": str(clone.root),
    }
    status, printed = clone.run(f"{clone.outside}:/usr/bin:/bin", shell=str(link), **env)
    assert (status, printed.split("|")[0]) == (3, str(program))


class Launcher:
    """The launcher of an account for the agent `toy`, without its configuration."""

    def __init__(self, clone: Clone) -> None:
        self.clone = clone
        self.home = clone.outside / "home"
        self.directory = self.home / ".local" / "share" / "hookrun"
        self.directory.mkdir(parents=True)
        (self.directory / "toy").write_text('#!/bin/sh\nprintf "%s|" launcher "$@"; cat; exit 4\n')
        (self.directory / "toy").chmod(0o755)
        clone.program(clone.root)
        self.script = committed.script().replace('eval "home=~$user"', f"home={shlex.quote(str(self.home))}")

    def configure(self, *lines: str) -> None:
        """Write its configuration."""
        launcher_file.write(str(self.directory / "launcher.conf"), "".join(f"{line}\n" for line in lines).encode())

    def run(self, shell: str) -> tuple[int, str]:
        """Return exit status and output of the script in this account."""
        self.clone.script.write_text(self.script)
        done = subprocess.run(
            [*shell.split(), self.clone.script, "toy", "before"], cwd=self.clone.root, env={"PATH": "/usr/bin:/bin"},
            input="message", capture_output=True, check=False, text=True,
            executable=shutil.which(shell.split(maxsplit=1)[0]),
        )  # fmt: skip
        return done.returncode, done.stdout

    def found(self) -> list[str] | None:
        """Return the hookrun that doctor finds through the line."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", "/usr/bin:/bin")
            patch.setattr(committed, "script", lambda: self.script)
            return committed.found_by("toy", str(self.clone.root))


@pytest.fixture
def launcher(clone: Clone) -> Launcher:
    """Have a launcher outside the clone."""
    return Launcher(clone)


def test_the_launcher_of_the_account_is_started(launcher: Launcher) -> None:
    """With the arguments after the agent's name, and the agent's own message."""
    program = f"{launcher.clone.root}/hookrun"
    launcher.configure("hookrun-launcher 1", "exec /bin/sh", f"exec {program}", "exec fire")
    ran = {shell: launcher.run(shell) for shell in SHELLS}
    assert ran == dict.fromkeys(SHELLS, (4, "launcher|before|--scope|project|message"))
    assert launcher.found() == ["/bin/sh", program]


def test_a_launcher_that_cannot_start_is_passed_over(launcher: Launcher) -> None:
    """Without its configuration, where that is cut off, and where the program that it names is missing."""
    ran = [launcher.run(shell) for shell in SHELLS]
    found = [launcher.found()]
    for lines in ([f"exec {launcher.clone.root}/hookrun"], [f"exec {launcher.clone.outside}/hookrun", "exec fire"]):
        launcher.configure("hookrun-launcher 1", "exec /bin/sh", *lines)
        ran += [launcher.run(shell) for shell in SHELLS]
        found.append(launcher.found())
    assert ran == [(0, "")] * 3 * len(SHELLS)
    assert found == [None] * 3


def test_an_earlier_script_is_known_and_a_changed_one_is_not() -> None:
    """Its line is hookrun's own, so that install replaces it."""
    words = line_of("fire", "--agent", "claude", "Stop", script=EARLIER)
    assert fire_call.arguments_of_fire(words) == ["--agent", "claude", "Stop"]
    assert [call.agent for call in fire_calls(shlex.join(words))] == ["claude"]
    words[2] = EARLIER.replace("exit 0", "exit 2")
    assert fire_call.arguments_of_fire(words) is None


def test_a_virtual_environments_program_runs_isolated(clone: Clone) -> None:
    """By its interpreter with -I: nothing that the environment names is imported instead of hookrun."""
    venv = clone.outside / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    (venv / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    code = f"#!{venv}/bin/python\nimport sys\nprint(sys.flags.isolated, sys.argv[1:])\n"
    program = clone.program(venv / "bin", code)
    evil = clone.root / "evil"
    evil.mkdir()
    (evil / "sitecustomize.py").write_text("print('PWNED')")
    status, printed = clone.run(f"{venv}/bin:/bin", PYTHONPATH=str(evil))
    assert (status, printed) == (0, "1 ['fire', '--agent', 'x', 'Before', '--scope', 'project']\n")
    assert clone.found(f"{venv}/bin:/bin") == [f"{venv}/bin/python", "-I", str(program)]


def test_elsewhere_pythons_variables_do_not_count(clone: Clone) -> None:
    """A program that is no virtual environment's starts without them, and with the account's home."""
    clone.program(clone.outside)
    _, printed = clone.run(f"{clone.outside}:/bin", PYTHONPATH="/evil", PYTHONUSERBASE="/evil", HOME="/evil", KEPT="1")
    assert "evil" not in printed
    assert f"HOME={account_home()}" in printed
    assert "KEPT=1" in printed


def test_a_directory_that_is_no_program_is_passed_over(clone: Clone) -> None:
    """Neither a directory called hookrun nor a file that cannot be executed."""
    (clone.outside / "hookrun").mkdir()
    other = clone.outside / "other"
    other.mkdir()
    clone.program(other).chmod(0o644)
    path = f"{clone.outside}:{other}:/no/where:/usr/bin:/bin"
    assert clone.run(path)[0] == 0
    assert clone.found(path) is None


@pytest.fixture
def account() -> Iterator[Path]:
    """The home of a second account."""
    if os.geteuid() != 0 or not can_make_accounts():
        pytest.skip("a second account needs root and useradd")
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        with second_account(Path(directory)) as home:
            yield home


def test_the_home_is_that_of_the_password_database(clone: Clone, account: Path) -> None:
    """A hookrun in `~/.local/bin` is found before PATH, whatever HOME is."""
    (account / ".local" / "bin").mkdir(parents=True)
    program = clone.program(account / ".local" / "bin")
    own = clone.program(clone.outside)
    there = account.stat()
    script = account / "run"  # where that account can read it
    shutil.copy(clone.script, script)
    script.chmod(0o644)
    done = subprocess.run(
        ["/bin/sh", script, "x", "Before"], cwd="/", env={"PATH": f"{clone.outside}:/bin", "HOME": str(clone.root)},
        user=there.st_uid, group=there.st_gid, extra_groups=(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith(f"{program}|fire|--agent|x|"), (own, done)
