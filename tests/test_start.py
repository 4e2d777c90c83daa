"""However hookrun is started it runs its own copy; one that is incomplete ends in one line, never in a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun import __version__
from hookrun.__main__ import DEPENDENCIES
from tests.conftest import ROOT, copy_package
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

CONTEXT = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}
MESSAGE = {**CONTEXT, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
OPTIONS = ("-I", "-S", "-X", "utf8")
PROGRAMS = Path(__file__).parent / "programs"
ONE_LINE = "hookrun: cannot be loaded, so no hook has run: .+\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of hookrun that may be damaged."""
    return copy_package(tmp_path / "installed" / "hookrun")


def started(
    project: Project,
    *words: str | Path,
    message: object = CONTEXT,
    before: tuple[str, ...] = (),
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run an interpreter, perhaps through the program `before` it, with a message on stdin."""
    return subprocess.run(
        [*before, sys.executable, *map(str, words)],
        input=json.dumps(message).encode(),
        capture_output=True,
        cwd=cwd or project.root,
        env=project.environment(),
        check=False,
    )


def broken(project: Project, package: Path, agent: str, *before: str) -> tuple[int, str]:
    """Return the status and stderr of a run for an agent; stdout must be empty."""
    fires = ("fire", "--agent", agent, "PreToolUse", "--home", project.home)
    done = started(project, *OPTIONS, package / "__main__.py", *fires, before=before)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


@rows("options", [("-m",), ("-I",), (), ("-O",), ("-E",), ("-W", "error")])
def test_however_it_is_started_it_runs_its_own_copy(project: Project, package: Path, options: tuple[str, ...]) -> None:
    """As a module and by its path, though the environment has another hookrun, such as an editable one."""
    project.hooks({"command": "exit 2"})
    source = package / "core" / "context.py"
    source.write_text(source.read_text().replace('"hooks": [run', '"of_the_copy": [run'))
    program = {"-m": "hookrun"}.get(" ".join(options), package / "__main__.py")
    words = [*options, program, "fire", "pre_tool_use", "--config", project.root / "coder.json"]
    done = started(project, *words, cwd=package.parent)
    assert done.returncode == 2, done.stderr.decode()
    assert b"of_the_copy" in done.stdout


def test_a_copy_shows_its_own_version(project: Project, package: Path) -> None:
    """Other commands than `fire` are those of the copy, too."""
    source = package / "__init__.py"
    source.write_text(source.read_text().replace(f'"{__version__}"', '"9.9.9"'))
    assert b"9.9.9" in started(project, *OPTIONS, package / "__main__.py", "--version").stdout


def test_nothing_beside_the_package_takes_the_place_of_a_module(project: Project, package: Path) -> None:
    """The directory that it is found in comes last, and its own is not on the path."""
    for directory in (package, package.parent):
        for name in ("select", "struct", "fcntl", "signal"):
            (directory / f"{name}.py").write_text("raise SystemExit(77)\n")
    project.hooks({"command": "exit 2"})
    assert started(project, *OPTIONS, package / "__main__.py", "fire", "pre_tool_use").returncode == 2


def test_dependencies_may_be_in_several_places(project: Project, package: Path) -> None:
    """One beside the package and another elsewhere, as where a virtual environment has the system's packages, too."""
    for name in ("tree_sitter", "tree_sitter_bash"):
        (package.parent / name).symlink_to(Path(__import__(name).__file__ or "").parent)
    (project.root / "coder.json").unlink(missing_ok=True)
    (project.root / "hookrun.yaml").write_text("hooks:\n- {name: guard, event: pre_tool_use, command: exit 2}\n")
    assert started(project, *OPTIONS, package / "__main__.py", "fire", "pre_tool_use").returncode == 2


def test_every_dependency_is_looked_for() -> None:
    """Those of pyproject.toml, by the names that are imported."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = {re.split(r"[<>=]", each)[0].lower() for each in declared}
    imported = packages_distributions()
    assert {imported[each][0].lower() for each in DEPENDENCIES} == wanted


@pytest.mark.slow
def test_it_runs_from_an_archive(project: Project, package: Path) -> None:
    """Python finds the modules in it as anywhere."""
    archive = shutil.make_archive(str(package.parent / "hookrun"), "zip", package.parent, "hookrun")
    program = f"import sys; sys.path.insert(0, {archive!r})\nfrom hookrun.__main__ import main; main()"
    done = started(project, "-c", program, "fire", "pre_tool_use")
    assert (done.returncode, json.loads(done.stdout)["action"]) == (0, "continue")


@pytest.mark.slow
def test_a_python_hook_has_the_installed_packages(
    project: Project, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all else that it has elsewhere."""
    shutil.copy(PROGRAMS / "needs_packages.py", project.root / "mine.py")
    (project.root / "hookrun.yaml").write_text(
        "hooks:\n- {name: mine, event: pre_tool_use, python: 'mine:hook', timeout: 20}\n"
    )
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789")
    done = started(project, *OPTIONS, package / "__main__.py", "fire", "pre_tool_use")
    assert json.loads(done.stdout)["action"] == "block", done


@pytest.mark.slow
@rows("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_closed_stream_stays_closed(project: Project, package: Path, closed: str) -> None:
    """No file that a run opens becomes a standard stream: the refusal is on the streams that are open, nothing else."""
    project.user_hooks({"command": "echo no >&2; exit 2"})
    arguments = ("fire", "--agent", "claude", "PreToolUse", "--home", project.home)
    shell = ("sh", "-c", f'exec "$@" {closed}', "sh")
    done = started(project, *OPTIONS, package / "__main__.py", *arguments, message=MESSAGE, before=shell)
    assert done.stdout == b"" or json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert b"Traceback" not in done.stderr
    assert [path for path in project.root.rglob("*") if path.is_file()] == []


LOST = ["*", "__init__.py", "fire", "fire/command.py", "agents", "core/text.py"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("agent", "statuses"), [("claude", {0, 1}), ("copilot", {0})])
@pytest.mark.parametrize("lost", LOST)
def test_a_package_that_is_being_replaced_ends_in_one_line(
    project: Project, package: Path, lost: str, agent: str, statuses: set[int]
) -> None:
    """Whatever is missing: no traceback, and a status that refuses nothing."""
    for path in package.glob(lost):
        if path.name != "__main__.py":  # without it launchers say so themselves
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    status, stderr = broken(project, package, agent)
    assert re.fullmatch(ONE_LINE, stderr), stderr
    assert status in statuses


@pytest.mark.sampled
@pytest.mark.parametrize("text", ["def (", "raise KeyError", "import nothing_of_this_name"])
def test_a_module_that_is_half_written_ends_in_one_line(project: Project, package: Path, text: str) -> None:
    """A file that an installer has half written need not be Python."""
    (package / "fire" / "command.py").write_text(text)
    status, stderr = broken(project, package, "claude")
    assert (status, stderr.count("\n")) == (1, 1), stderr


@rows("agent", ["claude", "copilot"])
def test_without_a_free_descriptor_a_guard_is_not_silently_missing(project: Project, package: Path, agent: str) -> None:
    """Whether the interpreter starts depends on its version: the call is refused, or the status is Python's, 1."""
    project.user_hooks({"command": "exit 2", "on_failure": "block"})
    words = (package / "__main__.py", "fire", "--agent", agent, "PreToolUse", "--home", project.home)
    limit = ("sh", "-c", 'ulimit -n 4; exec "$@"', "sh")
    done = started(project, *OPTIONS, *words, message=MESSAGE, before=limit)
    assert done.returncode in (1, 2) or b'"deny"' in done.stdout, done


@rows(
    "words, status",
    [
        (["--agent", "claude", "PreToolUse"], 2),
        (["--agent", "copilot", "PreToolUse"], 2),
        (["pre_tool_use"], 2),
        (["--agent", "claude", "PreSkillShellCommand"], 2),
        (["--agent", "claude", "PostToolUse"], 1),
    ],
)
@pytest.mark.parametrize("error", ["MemoryError", "OSError(24, 'Too many open files')"])
def test_what_cannot_be_loaded_for_want_of_something_refuses_at_a_gate(
    project: Project, package: Path, words: list[str], status: int, error: str
) -> None:
    """Whether there is a guard is not known, and no launcher stands before this Python."""
    (package / "fire" / "command.py").write_text(f"raise {error}\n")
    done = started(project, *OPTIONS, package / "__main__.py", "fire", *words, "--home", project.home)
    assert (done.returncode, done.stdout) == (status, b"")
    assert re.fullmatch(ONE_LINE, done.stderr.decode()), done.stderr


@pytest.mark.parametrize("error", ["MemoryError", "OSError(24, 'Too many open files')"])
def test_what_is_wanting_may_be_wanting_for_the_answer_too(project: Project, package: Path, error: str) -> None:
    """The modules that know the gates cannot be loaded either."""
    for name in ("fire/command.py", "core/events.py"):
        (package / name).write_text(f"raise {error}\n")
    for words in (["--agent", "claude", "PreToolUse"], ["pre_tool_use"]):
        done = started(project, *OPTIONS, package / "__main__.py", "fire", *words, "--home", project.home)
        assert (done.returncode, done.stdout) == (2, b"")


@rows("arguments, status", [(["pre_tool_use"], 130), (["--agent", "copilot", "preToolUse"], 0)])
def test_ctrl_c_while_modules_are_loaded_ends_in_silence(
    project: Project, package: Path, arguments: list[str], status: int
) -> None:
    """As at any later moment; any other status than 0 is a refusal to Copilot."""
    source = package / "fire" / "__init__.py"
    source.write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    done = started(project, *OPTIONS, package / "__main__.py", "fire", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


def test_a_package_of_another_account_is_left_alone(project: Project, package: Path) -> None:
    """Where nothing can be written, the run answers."""
    os.chown(package, 12345, 12345) if os.geteuid() == 0 else package.chmod(0o555)
    done = started(project, *OPTIONS, package / "__main__.py", "fire", "pre_tool_use")
    assert json.loads(done.stdout)["action"] == "continue"


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pre_tool_use"], CONTEXT),
        (["--agent", "claude", "PreToolUse"], MESSAGE),
        (["--agent", "codex", "PreToolUse"], MESSAGE),
    ],
)
@pytest.mark.parametrize(
    ("seconds", "answer"),
    [
        (0.3, """echo '{"action": "block", "message": "no"}'"""),
        (0.3, "echo no >&2; exit 2"),
        (0.3, "exit 1"),
        (1.3, """echo '{"action": "block", "message": 1}'"""),
    ],
)
def test_a_refusal_is_not_lost_with_the_package(
    project: Project, package: Path, *, seconds: float, answer: str, words: list[str], message: dict[str, object]
) -> None:
    """An installer takes the package away while a hook runs: the hook's answer counts all the same."""
    project.user_hooks(
        {"name": "guard", "on_failure": "block", "command": f"sleep {seconds}; rm -r {package}; {answer}"}
    )
    message = {**message, "cwd": str(project.root)}
    done = started(project, *OPTIONS, package / "__main__.py", "fire", *words, "--home", project.home, message=message)
    assert not package.exists()
    assert done.returncode == 2 or b'"deny"' in done.stdout, done
    assert b"internal error" not in done.stderr, done
    assert "guard" in project.audit_path.read_text()
