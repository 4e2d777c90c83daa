"""Files are formatted once, by the available tool, in the repository only; errors are reported, not raised."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookrun import Verdict
from hookrun.events import FileChanged, PostToolUse
from hookrun.recipes.format_on_edit import RUFF_WITH_FIXES, FormatOnEdit, Formatter
from tests.recipes.account import assert_dead
from tests.waiting import until_async

RUFF_DIRECTORY = str(Path(sys.executable).parent)
UGLY = "x = {  'a':1 }\n"
PRETTY = 'x = {"a": 1}\n'
SYSTEM = "/usr/bin:/bin"


class Repository:
    """A repository with its own formatters, and a PATH without any."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".git").mkdir(parents=True)

    def write(self, name: str, text: str = UGLY) -> Path:
        """Write a file as the agent would."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, place: str, text: str) -> Path:
        """Make an executable script; `$FILE` in it is the file to be formatted, its last argument."""
        path = self.write(place, f'#!/bin/sh\nfor FILE; do :; done\necho "$@" >> "{self.root}/calls"\n{text}\n')
        path.chmod(0o755)
        return path

    def calls(self) -> list[str]:
        """Return the arguments that the scripts were called with, a line for each call."""
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def changed(self, path: Path | str, **fields: object) -> FileChanged:
        """Return the context of a change to a file."""
        return FileChanged(**{"session_id": "s1", "file_path": str(path), "working_dir": str(self.root), **fields})  # type: ignore[arg-type]

    def written(self, path: Path | str, **fields: object) -> PostToolUse:
        """Return the context of a successful write."""
        args = {"file_path": str(path), "content": "x"}
        return PostToolUse(**{"tool_name": "write", "tool_args": args, "working_dir": str(self.root), **fields})  # type: ignore[arg-type]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Return a repository; ruff is on PATH."""
    monkeypatch.setenv("PATH", f"{RUFF_DIRECTORY}:{SYSTEM}")
    return Repository(tmp_path / "repository")


def run(formatting: FormatOnEdit, *contexts: FileChanged | PostToolUse) -> list[Verdict | None]:
    """Call the handler with each context, one after the other."""

    async def each() -> list[Verdict | None]:
        return [await formatting.format(context) for context in contexts]

    return asyncio.run(each())


def told(verdict: Verdict | None) -> str:
    """Return what the model gets; it is no objection."""
    assert verdict is not None
    assert verdict.action == "continue"
    assert verdict.additional_context is not None
    return verdict.additional_context


def test_a_changed_python_file_is_formatted_with_ruff(repository: Repository) -> None:
    """The file has ruff's form afterwards, and the model learns which file and which tool."""
    path = repository.write("a.py")
    assert told(run(FormatOnEdit(), repository.changed(path))[0]) == "formatted a.py with ruff"
    assert path.read_text() == PRETTY


def test_a_file_that_has_its_form_already_is_not_spoken_of(repository: Repository) -> None:
    """If formatting changes nothing, there is no message."""
    path = repository.write("a.py", PRETTY)
    assert run(FormatOnEdit(), repository.changed(path)) == [None]
    assert path.read_text() == PRETTY


def test_a_write_that_failed_is_not_formatted(repository: Repository) -> None:
    """After a tool error the file is whatever it was before."""
    path = repository.write("a.py")
    assert run(FormatOnEdit(), repository.written(path, tool_result_error="disk full")) == [None]
    assert path.read_text() == UGLY


def test_two_events_about_one_change_run_the_formatter_once(repository: Repository) -> None:
    """post_tool_use and file_changed of the same write: one run; another write of the same bytes: another run."""
    repository.program(".venv/bin/ruff", 'echo "# formatted" >> "$FILE"')
    formatting = FormatOnEdit()
    path = repository.write("a.py")
    first = run(formatting, repository.written(path), repository.changed(path))
    assert [verdict is None for verdict in first] == [False, True]
    assert len(repository.calls()) == 1
    before = path.stat().st_mtime_ns
    path.write_text(path.read_text())
    os.utime(path, ns=(before + 10**9, before + 10**9))
    run(formatting, repository.changed(path))
    assert len(repository.calls()) == 2


def test_two_events_at_the_same_time_run_the_formatter_once(repository: Repository) -> None:
    """The second waits for the first, then sees that the file is unchanged since."""
    repository.program(".venv/bin/ruff", 'sleep 0.3\necho "# formatted" >> "$FILE"')
    formatting = FormatOnEdit()
    path = repository.write("a.py")

    async def both() -> list[Verdict | None]:
        events = repository.written(path), repository.changed(path)
        return list(await asyncio.gather(*map(formatting.format, events)))

    assert [verdict is None for verdict in asyncio.run(both())] == [False, True]
    assert len(repository.calls()) == 1


def test_a_failure_is_told_to_the_model_and_not_raised(repository: Repository) -> None:
    """A syntax error: the model gets ruff's message, the file is unchanged, and it is reported once for one change."""
    path = repository.write("a.py", "def broken(:\n")
    first, second = run(FormatOnEdit(), repository.written(path), repository.changed(path))
    assert "ruff could not format a.py, which is unchanged: exit status 2" in told(first)
    assert "a.py:1:12" in told(first)
    assert second is None
    assert path.read_text() == "def broken(:\n"


def test_only_the_end_of_a_long_stderr_is_told_without_control_characters(repository: Repository) -> None:
    """Thousands of lines of stderr become their last two thousand bytes; colours become spaces."""
    repository.program(".venv/bin/ruff", "seq 1 50000 >&2; printf '\\033[31mthe end\\033[0m' >&2; exit 3")
    text = told(run(FormatOnEdit(), repository.changed(repository.write("a.py")))[0])
    assert len(text) < 2200
    assert "50000\n [31mthe end" in text
    assert "\x1b" not in text


def test_what_a_failing_formatter_has_done_to_the_file_is_undone(repository: Repository) -> None:
    """A formatter that empties the file and then fails costs nothing."""
    repository.program(".venv/bin/ruff", ': > "$FILE"; echo "out of memory" >&2; exit 1')
    path = repository.write("a.py")
    assert "out of memory" in told(run(FormatOnEdit(), repository.changed(path))[0])
    assert path.read_text() == UGLY


def test_what_is_saved_while_a_formatter_fails_is_kept(repository: Repository) -> None:
    """The newer text stays, what the formatter was given lies beside it, and the newer text can be formatted."""
    repository.program(".venv/bin/ruff", '[ -e ../saved ] && exit 0; touch ../saved; echo "NEW = 1" > "$FILE"; exit 1')
    path = repository.write("a.py")
    formatting = FormatOnEdit()
    first, second = run(formatting, repository.changed(path), repository.changed(path))
    (copy,) = repository.root.glob(".a.py.*.before")
    text = told(first)
    assert "a.py, which changed meanwhile and is left alone; its earlier content is in " in text
    assert copy.name in text
    assert (path.read_text(), copy.read_text()) == ("NEW = 1\n", UGLY)
    assert second is None
    assert len(repository.calls()) == 2


def test_a_directory_in_the_place_of_the_file_is_left(repository: Repository) -> None:
    """The previous text is beside it."""
    repository.program(".venv/bin/ruff", 'rm "$FILE"; mkdir "$FILE"; exit 1')
    path = repository.write("a.py")
    assert "changed meanwhile" in told(run(FormatOnEdit(), repository.changed(path))[0])
    assert path.is_dir()
    assert [copy.read_text() for copy in repository.root.glob(".a.py.*.before")] == [UGLY]


@pytest.mark.parametrize("rest", ["", 'printf "x" > "$FILE";'])
def test_a_file_that_a_failing_formatter_removed_has_its_mode_again(repository: Repository, rest: str) -> None:
    """It is unchanged: its text, and its permissions."""
    repository.program(".venv/bin/ruff", f'rm "$FILE"; {rest} exit 1')
    path = repository.write("a.py")
    path.chmod(0o755)
    assert "which is unchanged" in told(run(FormatOnEdit(), repository.changed(path))[0])
    assert (path.read_text(), path.stat().st_mode & 0o777) == (UGLY, 0o755)


@pytest.mark.slow
def test_a_hanging_formatter_is_killed_with_what_it_started(repository: Repository) -> None:
    """After the timeout neither it nor its children live, and what it had begun to write is undone."""
    pids = repository.root / "pids"
    repository.program(
        ".venv/bin/ruff", f'trap "" TERM; : > "$FILE"; sleep 1000 & echo $$ $! > "{pids}"; sleep 1000; wait'
    )
    path = repository.write("a.py")
    text = told(run(FormatOnEdit(timeout=2), repository.changed(path))[0])
    assert "timed out after 2 s" in text
    assert path.read_text() == UGLY
    assert_dead(*pids.read_text().split())


async def cancel(context: FileChanged, when: Callable[[], object]) -> None:
    """Have a file formatted, and cancel that."""
    task = asyncio.create_task(FormatOnEdit().format(context))
    await until_async(when, "the formatter does nothing")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancelled_formatter_is_killed_and_its_work_undone(repository: Repository) -> None:
    """After a cancelled call nothing continues in the background."""
    pids = repository.root / "pids"
    repository.program(".venv/bin/ruff", f': > "$FILE"; echo $$ > "{pids}"; exec sleep 1000')
    path = repository.write("a.py")

    asyncio.run(cancel(repository.changed(path), lambda: pids.exists() and pids.read_text()))
    assert_dead(pids.read_text().strip())
    assert path.read_text() == UGLY


def test_what_is_saved_while_a_formatter_is_cancelled_is_kept(
    repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    """No user sees a message, so the log has the path of the previous text."""
    repository.program(".venv/bin/ruff", 'echo "NEW = 1" > "$FILE"; touch ../saved; exec sleep 1000')
    path = repository.write("a.py")
    asyncio.run(cancel(repository.changed(path), (repository.root.parent / "saved").exists))
    (copy,) = repository.root.glob(".a.py.*.before")
    assert (path.read_text(), copy.read_text()) == ("NEW = 1\n", UGLY)
    assert str(copy) in caplog.text


def test_a_helper_that_keeps_the_pipe_open_is_not_waited_for(repository: Repository) -> None:
    """A formatter may leave a daemon behind that holds its stderr: it still runs when all is reported."""
    repository.program(".venv/bin/ruff", f'sleep 60 & echo $! > "{repository.root}/pid"; echo "# done" >> "$FILE"')
    path = repository.write("a.py")
    assert told(run(FormatOnEdit(), repository.changed(path))[0]) == "formatted a.py with ruff"
    subprocess.run(["kill", (repository.root / "pid").read_text().strip()], check=True)


def test_the_project_s_own_tool_comes_before_the_one_on_path(repository: Repository) -> None:
    """The nearest one to the file, up to the repository's root."""
    repository.program(".venv/bin/ruff", 'echo "# root" >> "$FILE"')
    repository.program("packages/one/.venv/bin/ruff", 'echo "# one" >> "$FILE"')
    near, far = repository.write("packages/one/src/a.py"), repository.write("packages/two/a.py")
    run(FormatOnEdit(), repository.changed(near), repository.changed(far))
    assert near.read_text() == UGLY + "# one\n"
    assert far.read_text() == UGLY + "# root\n"


def test_the_tools_of_the_working_directory_are_looked_up_too(repository: Repository) -> None:
    """A file beside the working directory is formatted by the tool that the agent's directory has."""
    repository.program("app/node_modules/.bin/prettier", 'echo "/* done */" >> "$FILE"')
    path = repository.write("shared/a.css", "a{}")
    verdict = run(FormatOnEdit(), repository.changed(path, working_dir=str(repository.root / "app")))[0]
    assert told(verdict) == "formatted shared/a.css with prettier"


def test_tools_above_the_repository_are_not_run(repository: Repository) -> None:
    """Files above the repository's root are not the project's."""
    repository.program("../.venv/bin/ruff", 'echo "# not mine" >> "$FILE"')
    path = repository.write("a.py")
    run(FormatOnEdit(), repository.changed(path))
    assert path.read_text() == PRETTY


def test_project_tools_can_be_left_alone(repository: Repository) -> None:
    """With `project_tools=False` only PATH counts."""
    repository.program(".venv/bin/ruff", 'echo "# stranger" >> "$FILE"')
    path = repository.write("a.py")
    run(FormatOnEdit(project_tools=False), repository.changed(path))
    assert path.read_text() == PRETTY


def test_a_missing_formatter_is_told_once_for_each_type(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no failure, and not reported for every file."""
    monkeypatch.setenv("PATH", "/nowhere")
    formatting = FormatOnEdit()
    files = [repository.write(name) for name in ("a.py", "b.py", "a.go", "a.txt")]
    verdicts = run(formatting, *(repository.changed(path) for path in files))
    said = [verdict.system_message if verdict else None for verdict in verdicts]
    assert said == [
        ".py files are not formatted: ruff or black was not found",
        None,
        ".go files are not formatted: gofmt was not found",
        None,
    ]


def test_the_second_formatter_is_used_where_the_first_is_missing(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ruff, black it is."""
    monkeypatch.setenv("PATH", SYSTEM)
    repository.program(".venv/bin/black", 'echo "# black" >> "$FILE"')
    path = repository.write("a.py")
    assert told(run(FormatOnEdit(), repository.changed(path))[0]) == "formatted a.py with black"
    assert repository.calls() == [f"--quiet {path}"]


@pytest.mark.parametrize(
    ("name", "program", "arguments"),
    [
        ("a.ts", "prettier", "--write --log-level warn"),
        ("a.json", "prettier", "--write --log-level warn"),
        ("A.MD", "prettier", "--write --log-level warn"),
        ("a.go", "gofmt", "-w"),
        ("a.rs", "rustfmt", "--edition 2021"),
        ("a.sh", "shfmt", "-w"),
        ("a.cpp", "clang-format", "-i"),
    ],
)
def test_each_type_of_file_has_its_tool(repository: Repository, name: str, program: str, arguments: str) -> None:
    """Tool and options of each type, the file last."""
    repository.program(f"node_modules/.bin/{program}", 'echo >> "$FILE"')
    path = repository.write(name)
    assert told(run(FormatOnEdit(), repository.changed(path))[0]) == f"formatted {name} with {program}"
    assert repository.calls() == [f"{arguments} {path}"]


def test_a_name_is_an_argument_and_never_code(repository: Repository) -> None:
    """Spaces, quotes, a leading dash and `$(...)` in a name are just a name; control characters become escapes."""
    path = repository.write("-x $(touch pwned) \"'\n.py")
    text = told(run(FormatOnEdit(), repository.changed(path))[0])
    assert text == "formatted -x $(touch pwned) \"'\\n.py with ruff"
    assert path.read_text() == PRETTY
    assert not (repository.root / "pwned").exists()


def test_fixes_are_made_only_where_they_are_asked_for(repository: Repository) -> None:
    """`RUFF_WITH_FIXES` takes out an unused import, the default leaves it in."""
    source = f"import os\n\n{UGLY}"
    plain, fixed = repository.write("plain.py", source), repository.write("fixed.py", source)
    run(FormatOnEdit(), repository.changed(plain))
    run(FormatOnEdit([RUFF_WITH_FIXES]), repository.changed(fixed))
    assert plain.read_text() == f"import os\n\n{PRETTY}"
    assert fixed.read_text() == PRETTY


def test_a_formatter_of_one_s_own(repository: Repository) -> None:
    """Several commands are run in order; when one fails, the rest are not."""
    repository.program("node_modules/.bin/first", '[ -e stop ] && : > "$FILE" && exit 1; echo first >> "$FILE"')
    repository.program("node_modules/.bin/second", 'echo second >> "$FILE"')
    formatting = FormatOnEdit([Formatter("pair", (".txt",), (("first",), ("second",)))])
    path = repository.write("a.txt", "")
    run(formatting, repository.changed(path))
    assert path.read_text() == "first\nsecond\n"
    repository.write("stop")
    path.write_text("again\n")
    assert "pair could not format a.txt" in told(run(formatting, repository.changed(path))[0])
    assert path.read_text() == "again\n"


def test_a_relative_path_counts_from_the_working_directory(repository: Repository) -> None:
    """As the tool itself would take it; the argument comes before the context's own field."""
    path = repository.write("deep/a.py")
    fields: dict[str, object] = {"working_dir": str(repository.root / "deep"), "file_path": "/elsewhere/a.py"}
    run(FormatOnEdit(), repository.written("a.py", **fields))
    assert path.read_text() == PRETTY


def test_files_outside_the_repository_are_left_alone(repository: Repository) -> None:
    """Neither a path that leads out, nor a link that does, nor a linked directory: `/x/repository-old` is outside."""
    outside = repository.root.parent / f"{repository.root.name}-old"
    outside.mkdir()
    (outside / "a.py").write_text(UGLY)
    (repository.root / "link.py").symlink_to(outside / "a.py")
    (repository.root / "directory").symlink_to(outside)
    names = (f"../{outside.name}/a.py", "link.py", "directory/a.py", str(outside / "a.py"))
    assert run(FormatOnEdit(), *(repository.changed(name) for name in names)) == [None] * 4
    assert (outside / "a.py").read_text() == UGLY


def test_a_link_within_the_repository_stays_a_link(repository: Repository) -> None:
    """The file that it leads to is formatted."""
    target = repository.write("real.py")
    link = repository.root / "link.py"
    link.symlink_to("real.py")
    assert told(run(FormatOnEdit(), repository.changed(link))[0]) == "formatted real.py with ruff"
    assert link.is_symlink()
    assert target.read_text() == PRETTY


def test_without_a_repository_only_the_working_directory_counts(tmp_path: Path, repository: Repository) -> None:
    """Without a repository the extent of a project is unknown."""
    (tmp_path / "plain" / "inner").mkdir(parents=True)
    for name in ("plain/a.py", "plain/inner/a.py"):
        (tmp_path / name).write_text(UGLY)
    inner = {"working_dir": str(tmp_path / "plain" / "inner")}
    formatting = FormatOnEdit()
    assert run(formatting, repository.changed(tmp_path / "plain" / "a.py", **inner)) == [None]
    assert run(formatting, repository.changed(tmp_path / "plain" / "inner" / "a.py", **inner)) != [None]


def test_what_is_no_ordinary_file_is_left_alone(repository: Repository) -> None:
    """Missing, a directory, a pipe without a writer: no run, no hang, no message. So are a NUL, and over 8 MiB."""
    repository.write("large.py", UGLY * 700_000)
    (repository.root / "directory.py").mkdir()
    os.mkfifo(repository.root / "pipe.py")
    names = ("gone.py", "directory.py", "pipe.py", "nul\0.py", "", "large.py")
    assert run(FormatOnEdit(), *(repository.changed(name) for name in names)) == [None] * 6


def test_a_program_that_cannot_be_started_is_told(repository: Repository) -> None:
    """A script whose interpreter is missing (after a virtual environment was moved)."""
    repository.program(".venv/bin/ruff", "").write_text("#!/nowhere/python\n")
    path = repository.write("a.py")
    assert "cannot start" in told(run(FormatOnEdit(), repository.changed(path))[0])
    assert path.read_text() == UGLY


def test_what_is_remembered_is_bounded(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long session over many files does not grow without bound."""
    monkeypatch.setattr("hookrun.recipes.format_on_edit.MAX_REMEMBERED", 3)
    repository.program(".venv/bin/ruff", "")
    formatting = FormatOnEdit()
    paths = [repository.write(f"{number}.py") for number in range(6)]
    run(formatting, *map(repository.changed, paths))
    calls = len(repository.calls())
    run(formatting, *map(repository.changed, paths[3:]))
    assert len(repository.calls()) == calls
    run(formatting, *map(repository.changed, paths[:3]))
    assert len(repository.calls()) == calls * 3 // 2
