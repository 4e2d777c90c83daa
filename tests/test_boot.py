"""`start.py` answers as `__main__.py` does, with the hot modules from one file or without it, and without `site`."""

from __future__ import annotations

import json
import marshal
import os
import re
import runpy
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun import agents, boot, boot_writer
from hookrun.config import cache_writer
from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.wiring import wired_command
from tests import test_import_budget as budget

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.conftest import Project

PACKAGE = Path(boot_writer.__file__).resolve().parent
OPTIONS = ("-I", "-S", "-X", "utf8")
START = (*OPTIONS, "-c", wired_command.START)
CONTEXT = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}
MESSAGE = {**CONTEXT, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}

PROGRAMS = Path(__file__).parent / "programs"
CONSOLE = (PROGRAMS / "boot_console.py").read_text()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of hookrun, as a place that a file of compiled code can be written into."""
    return shutil.copytree(
        PACKAGE, tmp_path / "installed" / "hookrun", ignore=shutil.ignore_patterns("boot.*.code", "*.tmp", "*.pyc.*")
    )


def started(
    project: Project,
    *words: str | Path,
    message: object = CONTEXT,
    before: tuple[str, ...] = (),
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run an interpreter, perhaps through the program `before` it, with a message on stdin."""
    return subprocess.run(
        [*before, sys.executable, *map(str, words)],
        input=json.dumps(message).encode(),
        capture_output=True,
        cwd=cwd or project.root,
        env=project.environment(**(env or {})),
        check=False,
    )


def fire(project: Project, package: Path, *arguments: str, options: tuple[str, ...] = START) -> dict[str, object]:
    """Return the verdict of a run through `start.py`, which must print nothing else."""
    done = started(project, *options, package / "start.py", "fire", "pre_tool_use", *arguments)
    assert done.stderr == b"" or done.returncode == 2
    verdict: dict[str, object] = json.loads(done.stdout)
    return verdict


def code_file(package: Path) -> Path:
    """Return the path of the file of compiled code."""
    return package / f"boot.{MAGIC_NUMBER.hex()}.code"


def loaded(project: Project, package: Path) -> dict[str, bool]:
    """Return the modules at the end of a run, and of each whether it was in the file."""
    done = started(project, *OPTIONS, PROGRAMS / "boot_loaded.py", package / "start.py", "fire", "pre_tool_use")
    assert done.returncode == 0, done.stderr.decode()
    rows = [line.split() for line in done.stderr.decode().splitlines()]
    return {name: found == "True" for name, found in rows}


def console(
    project: Project, package: Path, *words: str, program: str = CONSOLE, **environment: str
) -> tuple[dict[str, object], list[str]]:
    """Return the verdict of a run of the console script, and the modules that were in the file."""
    done = started(project, *words, "-c", program, package, "fire", "pre_tool_use", env=environment)
    assert done.returncode in {0, 2}, done.stderr.decode()
    verdict: dict[str, object] = json.loads(done.stdout)
    return verdict, [line for line in done.stderr.decode().splitlines() if line.startswith("hookrun.")]


@pytest.mark.slow
def test_the_console_script_takes_the_modules_from_the_file_too(
    project: Project, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first run writes the file; later ones have all but what begins from it, each once and as if imported."""
    monkeypatch.setattr(cache_writer, "YOUNG", -1)
    project.hooks({"command": "exit 2"})
    load_compiled(find(str(project.root), str(project.home)))
    verdict, modules = console(project, package)
    assert (verdict["action"], modules) == ("block", [])
    assert code_file(package).stat().st_mode & 0o777 == 0o644
    for options in ((), ("-O",), ("-E",), ("-W", "error")):
        verdict, modules = console(project, package, *options)
        assert verdict["action"] == "block"
        known = budget.WITHOUT_HOOKS | budget.FOR_A_PROCESS | budget.FOR_A_VERDICT
        begun = {"hookrun", "hookrun.__main__", "hookrun.boot"}
        assert {name for name in known if name.startswith("hookrun")} - begun <= set(modules), options


@pytest.mark.slow
@pytest.mark.parametrize("start", [("-m", "hookrun"), ("-I", "__main__.py"), ("-I", "start.py")])
def test_however_it_is_started_it_takes_the_modules_and_runs_its_own_copy(
    project: Project, package: Path, start: tuple[str, ...]
) -> None:
    """As a module and by its path: a changed copy is the one that runs, without the file and with it."""
    project.hooks({"command": "exit 2"})
    source = package / "model.py"
    source.write_text(source.read_text().replace('"hooks": hooks', '"of_the_copy": hooks'))
    *options, last = start
    program = last if options == ["-m"] else package / last
    words = [*options, program, "fire", "pre_tool_use", "--config", project.root / "coder.json"]
    strace = ("strace", "-f", "-e", "trace=openat") if shutil.which("strace") else ()
    for before in ((), strace):
        done = started(project, *words, before=before, cwd=package.parent)
        assert done.returncode == 2, done.stderr.decode()
        assert b"of_the_copy" in done.stdout
        if before:
            assert b"invocation" not in done.stderr
            assert code_file(package).name.encode() in done.stderr
    assert code_file(package).exists()


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("options", "environment"),
    [(("-B",), {}), ((), {"PYTHONDONTWRITEBYTECODE": "1"}), ((), {"PYTHONPYCACHEPREFIX": "elsewhere"})],
    ids=["-B", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"],
)
def test_who_wants_no_compiled_code_in_packages_gets_none_written(
    project: Project, package: Path, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    """The file is not written, but used if it exists, as Python does with its own."""
    assert console(project, package, *options, **environment)[0]["action"] == "continue"
    assert not code_file(package).exists()
    boot_writer.write(str(package))
    written = code_file(package).stat()
    assert "hookrun.model" in console(project, package, *options, **environment)[1]
    with (package / "verdicts.py").open("a") as file:
        file.write("# changed\n")
    assert console(project, package, *options, **environment)[0]["action"] == "continue"
    assert code_file(package).stat().st_ino == written.st_ino


@pytest.mark.slow
def test_a_group_with_a_changed_source_is_imported_and_the_file_written_anew_by_the_console_script(
    project: Project, package: Path
) -> None:
    """What was compiled before a source changed is never run; the other groups still are from the file."""
    project.hooks({"command": "exit 2"})
    boot_writer.write(str(package))
    for name, taken in (("verdicts.py", "hookrun.model"), ("model.py", "hookrun.verdicts"), ("boot.py", "")):
        written = code_file(package).stat()
        with (package / name).open("a") as file:
            file.write("# changed\n")
        verdict, modules = console(project, package)
        assert verdict["action"] == "block"
        assert f"hookrun.{name[:-3]}" not in modules
        assert taken in modules if taken else modules == []
        assert code_file(package).stat().st_ino != written.st_ino
    assert {"hookrun.verdicts", "hookrun.model"} <= set(console(project, package)[1])


@pytest.mark.slow
def test_the_console_script_runs_where_nothing_can_be_written_and_from_an_archive(
    project: Project, package: Path
) -> None:
    """Another account's package, and one in a zip file, are imported as usual."""
    archive = shutil.make_archive(str(project.root / "packed"), "zip", package.parent, "hookrun")
    assert console(project, Path(archive) / "hookrun")[0]["action"] == "continue"
    os.chown(package, 12345, 12345) if os.geteuid() == 0 else package.chmod(0o555)
    assert console(project, package)[0]["action"] == "continue"
    assert not code_file(package).exists()


@pytest.mark.slow
def test_a_moved_package_shows_its_own_paths(project: Project, package: Path, tmp_path: Path) -> None:
    """Tracebacks name the files where they are, not where they were when the file was written."""
    boot_writer.write(str(package))
    moved = tmp_path / "moved" / "hookrun"
    package.parent.rename(moved.parent)
    paths = 'print("hookrun.", sys.modules["hookrun.fire.command"].main.__code__.co_filename, file=sys.stderr)'
    modules = console(project, moved, program=CONSOLE.replace("    end(status)", f"    {paths}\n    end(status)"))[1]
    assert modules[-1] == f"hookrun. {moved}/fire/command.py"
    assert "hookrun.fire.command" in modules


@pytest.mark.slow
def test_a_package_far_down_has_the_file_too(package: Path, tmp_path: Path) -> None:
    """Its path is in the code of `boot`, for which the file has limited room."""
    deep = tmp_path.joinpath(*(letter * 250 for letter in "abcdef")) / "hookrun"
    deep.parent.mkdir(parents=True)
    package.rename(deep)
    boot_writer.write(str(deep))
    assert code_file(deep).stat().st_size > boot_writer.HEAD


@pytest.mark.slow
def test_a_program_that_imports_hookrun_is_left_alone(package: Path) -> None:
    """No finder, no open file, no module from the file: only `hookrun fire` takes them."""
    boot_writer.write(str(package))
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); finders = [*sys.meta_path]\n"
        "import hookrun, hookrun.__main__; hookrun.Engine, hookrun.Verdict\n"
        "from hookrun.model import Hook\n"
        "assert sys.meta_path == finders and 'hookrun.boot' not in sys.modules\n"
        "assert Hook.__module__ == 'hookrun.model' and sys.modules['hookrun.model'].__cached__\n"
    )
    subprocess.run([sys.executable, "-c", program, str(package.parent)], check=True)


@pytest.mark.slow
def test_a_python_hook_of_the_console_script_has_an_ordinary_python(project: Project, package: Path) -> None:
    """Neither the finder nor the open file is left in it, and what it imports of hookrun is imported as usual."""
    boot_writer.write(str(package))
    shutil.copy(PROGRAMS / "ordinary_python.py", project.root / "mine.py")
    project.hooks({"name": "mine", "python": "mine:hook", "timeout": 20})
    verdict, modules = console(project, package)
    assert verdict["action"] == "block", verdict
    assert "hookrun.process.loop" in modules


def test_the_first_run_writes_the_file_and_later_ones_load_their_modules_from_it(
    project: Project, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without it imports as usual and writes it; with it no module is looked for, and `site` is missing."""
    monkeypatch.setattr(cache_writer, "YOUNG", -1)
    project.hooks({"command": "true", "matcher": "write"})
    assert fire(project, package)["action"] == "continue"
    assert code_file(package).stat().st_mode & 0o777 == 0o644
    written = code_file(package).stat()
    load_compiled(find(str(project.root), str(project.home)))
    modules = loaded(project, package)
    assert {name for name in modules if name.startswith("hookrun")} == {
        name for name in budget.WITHOUT_HOOKS if name.startswith("hookrun")
    }
    assert all(found for name, found in modules.items() if name.startswith("hookrun"))
    assert {"site", "_collections_abc", "__future__"}.isdisjoint(modules)
    assert code_file(package).stat().st_ino == written.st_ino


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"no code", b"cut", b"end", b"version"])
def test_a_file_that_cannot_be_read_is_passed_over_and_written_anew(
    project: Project, package: Path, damage: bytes
) -> None:
    """Empty, foreign, cut off at its head or its end: the run answers, and the file is whole afterwards."""
    project.hooks({"command": "exit 2"})
    boot_writer.write(str(package))
    whole = code_file(package).read_bytes()
    changed = {b"cut": whole[:2000], b"end": whole[:60_000], b"version": b"\0\0\r\n" + whole[4:]}
    code_file(package).write_bytes(changed.get(damage, damage))
    assert fire(project, package)["action"] == "block"
    assert abs(code_file(package).stat().st_size - len(whole)) < 5000


@pytest.mark.slow
def test_a_source_that_changed_is_imported_itself(project: Project, package: Path) -> None:
    """What was compiled before it changed is never run, be it a hot module or `boot` itself."""
    boot_writer.write(str(package))
    for name in ("verdicts.py", "boot.py", "start.py"):
        with (package / name).open("a") as file:
            file.write("\n# changed\n")
    with (package / "fire" / "command.py").open("a") as file:
        file.write("\nFAILED = 7\n")
    assert fire(project, package)["action"] == "continue"
    before = code_file(package).read_bytes()
    assert started(project, *START, package / "start.py", "fire").returncode == 7
    assert code_file(package).read_bytes() == before


def test_every_module_stands_behind_what_it_imports() -> None:
    """Each group can be executed from its first module to its last."""
    script = (
        "import sys; from hookrun import boot_writer as w\n"
        "for name in ' '.join(w.GROUPS).split():\n"
        "    before = set(sys.modules); __import__(name)\n"
        "    print(name, *(set(sys.modules) - before - {name}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    order: list[str] = []
    for line in done.stdout.splitlines():
        name, *others = line.split()
        order.append(name)
        assert [other for other in others if other.startswith("hookrun")] == [], name
    assert len(order) == len(set(order))
    known = set(budget.WITHOUT_HOOKS | budget.FOR_A_PROCESS | budget.FOR_AN_AGENT | budget.FOR_TRUST)
    assert {name for name in known if name.startswith("hookrun")} - {"hookrun.boot"} <= set(order)


def test_no_module_of_another_package_is_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may have added an agent to the table; the file is for all that run this copy of hookrun."""
    monkeypatch.setitem(agents.AGENTS, "toy", "toy")
    names = " ".join(runpy.run_path(boot_writer.__file__)["GROUPS"]).split()
    assert [name for name in names if name.partition(".")[0] != "hookrun"] == []


@pytest.mark.slow
def test_what_only_type_checkers_read_is_not_in_the_file(package: Path) -> None:
    """Annotations and the names in them take time to load; sources keep their lines."""
    code = boot_writer.build(str(package))
    assert b"Mapping[str, object]" not in code
    assert b"TYPE_CHECKING" in code
    assert b"Mapping[str, object]" in (package / "fire" / "invocation.py").read_bytes()


@pytest.mark.slow
def test_what_needs_packages_finds_them(project: Project, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """YAML is compiled without `site` at the start, and a `python` hook has all that it has elsewhere."""
    boot_writer.write(str(package))
    shutil.copy(PROGRAMS / "ordinary_packages.py", project.root / "mine.py")
    (project.root / "hookrun.yaml").write_text(
        "hooks:\n- {name: mine, event: pre_tool_use, python: 'mine:hook', timeout: 20}\n"
    )
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789")
    verdict = fire(project, package)
    assert verdict["action"] == "block", verdict


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_closed_stream_stays_closed(project: Project, package: Path, closed: str) -> None:
    """The file of compiled code never becomes a standard stream: answers and statuses are those of `__main__.py`."""
    boot_writer.write(str(package))
    project.user_hooks({"command": "echo no >&2; exit 2"})

    def run(name: str) -> tuple[int, bytes, bytes]:
        options = START if name == "start.py" else ("-I",)
        arguments = ["fire", "--agent", "claude", "PreToolUse", "--home", str(project.home)]
        shell = ("sh", "-c", f'exec "$@" {closed}', "sh")
        done = started(project, *options, package / name, *arguments, message=MESSAGE, before=shell)
        return done.returncode, re.sub(rb"hookrun why \w+", b"", done.stdout), done.stderr

    written = code_file(package).stat()
    assert run("start.py") == run("__main__.py")
    assert code_file(package).stat().st_ino == written.st_ino


@pytest.mark.slow
def test_it_may_be_started_with_site_too(project: Project, package: Path) -> None:
    """Whatever the options of the interpreter, and with the file or without it, it answers."""
    project.hooks({"command": "exit 2"})
    for options in (("-I",), ("-S",), (), ("-I",)):
        assert fire(project, package, options=options)["action"] == "block"
        boot_writer.write(str(package))


def test_a_package_with_a_stale_file_is_not_left_for_another_one(project: Project, package: Path) -> None:
    """If the environment has another hookrun, such as an editable one, a copy still runs its own modules."""
    fire(project, package)
    assert list(package.glob("boot.*.code"))
    source = package / "__init__.py"
    source.write_text(source.read_text().replace('__version__ = "', '__version__ = "9.9.'))
    assert b"9.9." in started(project, *START, package / "start.py", "--version").stdout


def test_a_package_of_another_account_is_left_alone(project: Project, package: Path) -> None:
    """Where nothing can be written, the run answers as without the file."""
    os.chown(package, 12345, 12345) if os.geteuid() == 0 else package.chmod(0o555)
    assert fire(project, package)["action"] == "continue"
    assert not code_file(package).exists()


@pytest.mark.slow
def test_runs_that_start_together_write_it_once(project: Project, package: Path) -> None:
    """Ten runs without the file all answer, and it is whole."""
    (project.root / "ctx.json").write_text(json.dumps(CONTEXT))
    with ThreadPoolExecutor(10) as pool:
        runs = [pool.submit(fire, project, package, "--ctx", "ctx.json") for _ in range(10)]
    assert [run.result()["action"] for run in runs] == ["continue"] * 10
    names = {name for name in os.listdir(package) if "boot" in name}
    assert names == {"boot.py", "boot_writer.py", code_file(package).name}
    assert "hookrun.fire.command" in loaded(project, package)


def broken(project: Project, package: Path, agent: str, *words: str) -> tuple[int, str]:
    """Return the status and stderr of a run for an agent; stdout must be empty."""
    fires = ("fire", "--agent", agent, "PreToolUse", "--home", project.home)
    done = started(project, *START, package / "start.py", *fires, before=words)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


def no_file(_: str) -> None:
    """Leave the package without the file."""


with_the_file_or_not = pytest.mark.parametrize("write", [no_file, boot_writer.write])


def lose(package: Path, lost: str) -> None:
    """Remove what is named so from the package, but for `start.py` and the file."""
    for path in package.glob(lost):
        if path.name not in {"start.py", code_file(package).name}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.sampled(16)
@with_the_file_or_not
@pytest.mark.parametrize(("agent", "statuses"), [("claude", {0, 1}), ("copilot", {0})])
@pytest.mark.parametrize("lost", ["*", "__init__.py", "__main__.py", "fire", "fire/command.py", "agents", "text.py"])
def test_a_package_that_is_being_replaced_ends_in_one_line(
    project: Project, package: Path, *, lost: str, agent: str, statuses: set[int], write: Callable[[str], None]
) -> None:
    """Whatever is missing: no traceback, and a status that refuses nothing."""
    write(str(package))
    lose(package, lost)
    status, stderr = broken(project, package, agent)
    assert re.fullmatch("hookrun: cannot be loaded, so no hook has run: .+\n", stderr), stderr
    assert status in statuses


@pytest.mark.slow
def test_boot_py_is_missed_only_without_the_file(project: Project, package: Path) -> None:
    """It is in the file."""
    lose(package, "boot.py")
    status, stderr = broken(project, package, "copilot")
    assert (status, stderr.count("\n")) == (0, 1)
    shutil.copy(PACKAGE / "boot.py", package)
    boot_writer.write(str(package))
    lose(package, "boot.py")
    assert broken(project, package, "copilot") == (0, "")


@pytest.mark.sampled
@pytest.mark.parametrize("text", ["def (", "raise KeyError", "import nothing_of_this_name"])
def test_a_module_that_is_half_written_ends_in_one_line(project: Project, package: Path, text: str) -> None:
    """A file that an installer has half written need not be Python."""
    (package / "fire" / "command.py").write_text(text)
    status, stderr = broken(project, package, "claude")
    assert (status, stderr.count("\n")) == (1, 1), stderr


@pytest.mark.sampled
@pytest.mark.parametrize("agent", ["claude", "copilot"])
def test_without_a_free_descriptor_it_ends_in_one_line(project: Project, package: Path, agent: str) -> None:
    """`site` prints no traceback; the status is 1 for every agent: hooks are never disabled silently."""
    limit = 'ulimit -n 4; exec "$@"'
    status, stderr = broken(project, package, agent, "sh", "-c", limit, "sh")
    assert re.fullmatch("hookrun: cannot be loaded, so no hook has run: .*Too many open files.*\n", stderr), stderr
    assert status == 1


def test_no_module_is_asked_for_what_it_does_not_have(package: Path) -> None:
    """Some import more then: `shell/lazy_re.py` the whole of `re`."""
    done = subprocess.run(
        [sys.executable, *OPTIONS, PROGRAMS / "boot_complete.py", package], capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_the_light_os_path_answers_as_the_real_one(package: Path) -> None:
    """Whatever the path; the real one is loaded for what the light one does not know."""
    done = subprocess.run(
        [sys.executable, *OPTIONS, PROGRAMS / "boot_paths.py", package], capture_output=True, check=False
    )
    assert (done.stdout, done.stderr.decode()) == (b"", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "loaded_besides"),
    [
        ("", ""),
        ("sys.executable += '-by-another-name'", ""),
        ("boot.Boot.extensions[''] = '/other/python'", " site"),
        ("sys.abiflags = 'other'", " site"),
        ("boot.Boot.extensions['tree_sitter._binding'] = '/gone.so'", " site"),
        ("del boot.Boot.extensions['tree_sitter_bash._binding']", " site"),
    ],
    ids=["as written", "another name", "another interpreter", "another build", "installed anew", "not found"],
)
def test_a_line_is_parsed_without_what_the_parser_s_package_imports(
    package: Path, change: str, loaded_besides: str
) -> None:
    """Neither `site` nor `enum` is needed, unless the parser is not where it was."""
    boot_writer.write(str(package))
    paths = map(str, (PROGRAMS / "boot_parsed.py", package, code_file(package)))
    words = [sys.executable, *OPTIONS, *paths, change]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"program{loaded_besides}\n", "")


@pytest.mark.slow
def test_a_file_with_a_table_of_another_version_is_written_anew(project: Project, package: Path) -> None:
    """While hookrun is replaced, the writer of the old one may meet the `boot` of the new one."""
    assert boot.FORMAT == boot_writer.FORMAT
    *_, groups, extensions = marshal.loads(boot_writer.build(str(package))[boot_writer.TABLE :])  # noqa: S302  # our own
    found = (package / "boot.py").stat()
    own = ["hookrun.boot", "/boot.py", found.st_mtime_ns, found.st_size]
    for table in ([[[*own, 0, 0]], [], {}], [boot.FORMAT + 1, [own], groups, extensions]):
        whole = boot_writer.build(str(package))
        replaced = marshal.dumps(table).ljust(boot_writer.HEAD - boot_writer.TABLE, b"\0")
        code_file(package).write_bytes(whole[: boot_writer.TABLE] + replaced + whole[boot_writer.HEAD :])
        assert fire(project, package)["action"] == "continue"
        assert _table_of(code_file(package).read_bytes()) == _table_of(whole)


@pytest.mark.parametrize(("arguments", "status"), [(["pre_tool_use"], 130), (["--agent", "copilot", "preToolUse"], 0)])
def test_ctrl_c_while_the_modules_are_taken_ends_in_silence(
    project: Project, package: Path, arguments: list[str], status: int
) -> None:
    """As at any later moment; any other status than 0 is a refusal to Copilot."""
    program = (
        "import os, signal, sys; sys.path[:0] = [os.path.dirname(sys.argv.pop(1))]\n"
        "import hookrun.__main__, hookrun.boot\n"
        "hookrun.boot.attach = lambda: signal.raise_signal(signal.SIGINT)\n"
        "hookrun.__main__.main()\n"
    )
    done = started(project, "-c", program, package, "fire", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


@pytest.mark.slow
@pytest.mark.parametrize("function", ["open", "read"])
def test_ctrl_c_before_the_modules_are_taken_ends_in_silence(project: Project, package: Path, function: str) -> None:
    """While start.py looks for the file, and reads it."""
    fire(project, package)
    interrupted = (
        "import posix, _signal\n"
        "def interrupt(*_, **__):\n"
        "    posix.kill(posix.getpid(), _signal.SIGINT)\n"
        f"posix.{function} = interrupt\n"
    )
    program = wired_command.START.replace("exec(", f"exec({interrupted!r});exec(")
    done = started(project, *OPTIONS, "-c", program, package / "start.py", "fire", "pre_tool_use")
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.slow
def test_start_py_of_an_earlier_version_runs_on_the_file_of_this_one(project: Project, package: Path) -> None:
    """As after a downgrade: what is installed is replaced, and the file, which no installer knows, stays."""
    project.hooks({"command": "exit 2"})
    boot_writer.write(str(package))
    written = code_file(package).stat()
    begin, _, end = (package / "start.py").read_text().partition("        prepare, sys")
    _, _, end = end.partition("    main()\n")
    (package / "start.py").write_text(
        f"""{begin}        sys.modules["hookrun.boot"] = boot
    except (OSError, ValueError, EOFError, TypeError):
        sys.path.append(package[:-8])
        from hookrun import boot
    boot.start(package, fd, head)
{end}"""
    )
    assert fire(project, package)["action"] == "block"
    assert code_file(package).stat().st_ino == written.st_ino
    with (package / "boot.py").open("a") as file:
        file.write("# earlier\n")
    assert fire(project, package)["action"] == "block"
    assert code_file(package).stat().st_ino != written.st_ino
    assert fire(project, package)["action"] == "block"


def _table_of(content: bytes) -> list[Any]:
    """Return the table of a file without sizes: `marshal` writes what objects a process happens to share only once."""
    version, own, groups, extensions = marshal.loads(content[boot_writer.TABLE :])  # noqa: S302  # our own
    return [version, own, [sources for sources, *_ in groups], extensions]


@pytest.mark.slow
@pytest.mark.sampled(4)
@with_the_file_or_not
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
    project: Project,
    package: Path,
    *,
    seconds: float,
    answer: str,
    words: list[str],
    message: dict[str, object],
    write: Callable[[str], None],
) -> None:
    """An installer takes the package away while a hook runs: the hook's answer counts all the same."""
    write(str(package))
    project.user_hooks(
        {"name": "guard", "on_failure": "block", "command": f"sleep {seconds}; rm -r {package}; {answer}"}
    )
    message = {**message, "cwd": str(project.root)}
    done = started(project, *START, package / "start.py", "fire", *words, "--home", project.home, message=message)
    assert not package.exists()
    assert done.returncode == 2 or b'"deny"' in done.stdout, done
    assert b"internal error" not in done.stderr, done
    assert "guard" in project.audit_path.read_text()
