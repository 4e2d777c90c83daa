"""Starting a program from any thread, in another directory: by `subprocess` or through a shell."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from errno import E2BIG, EACCES, ENOENT
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.process import prepare, program as programs
from hookrun.process.child import CannotStart
from hookrun.process.runner import inheritable
from tests.process.bench import program, through_a_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.process.child import Start

PATH = {b"PATH": os.environb[b"PATH"]}
WAYS = {"subprocess": lambda _: None, "a shell": through_a_shell}
THREADS = 8
PROGRAMS = Path(__file__).with_name("programs")

linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the directory changed in each of the two ways."""
    WAYS[request.param](monkeypatch)


def run(argv: tuple[str, ...], cwd: Path | str, environment: Mapping[bytes, bytes] = PATH) -> tuple[int, bytes]:
    """Start a program, wait for it and return its exit status, negative for a signal, and its output."""
    reader, writer = os.pipe()
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        pid = program(argv, environment, str(cwd))(null, writer, writer)
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
        os.close(null)
    with os.fdopen(reader, "rb") as stream:
        written = stream.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), written


def sh(script: str, cwd: Path | str, environment: Mapping[bytes, bytes] = PATH) -> tuple[int, bytes]:
    """Run a shell's script as `run` does."""
    return run(("/bin/sh", "-c", script), cwd, environment)


def python(script: str, cwd: Path | str) -> bytes:
    """Run a Python script as `run` does and return its output."""
    status, written = run((sys.executable, "-c", script), cwd)
    assert status == 0, written
    return written


def in_another_python(script: str, *arguments: str) -> str:
    """Run a script, which can use `program` and `os`, in a separate Python whose descriptors it may break."""
    text = f"import os, sys\nfrom hookrun.process.program import program\n{script}"
    root = Path(programs.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def executable(path: Path, text: str) -> str:
    """Write a file that may be executed; return its path."""
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


# --- properties of the new process


def test_a_program_runs_in_its_directory_and_ours_stays(way: None, tmp_path: Path) -> None:
    """The new process is where it was sent, the one that started it where it was."""
    before = os.getcwd()
    assert sh("pwd -P", tmp_path) == (0, os.fsencode(tmp_path.resolve()) + b"\n")
    assert os.getcwd() == before


def test_a_directory_may_be_called_anything(way: None, tmp_path: Path) -> None:
    """Blanks, quotes and shell syntax are only characters of a name."""
    seen, directories = [], [tmp_path / name for name in ("a b", "-x", "$HOME", "it's; a\nb", "%s", "é")]
    for directory in directories:
        directory.mkdir()
        seen.append(sh("pwd -P; echo .", directory))
    assert seen == [(0, os.fsencode(directory.resolve()) + b"\n.\n") for directory in directories]


@pytest.mark.sampled
def test_threads_start_programs_in_different_directories_at_once(way: None, tmp_path: Path) -> None:
    """Eight threads, each with a different directory: every process starts in its own."""
    together = threading.Barrier(THREADS)

    def spawn(number: int) -> list[bool]:
        directory = tmp_path / str(number)
        directory.mkdir()
        together.wait()
        return [sh("basename $(pwd -P)", directory) == (0, b"%d\n" % number) for _ in range(20)]

    before = os.getcwd()
    with ThreadPoolExecutor(THREADS) as pool:
        assert all(map(all, pool.map(spawn, range(THREADS))))
    assert os.getcwd() == before


def test_the_environment_is_what_was_given_and_no_more(tmp_path: Path) -> None:
    """Every variable is there with its value, empty and undecodable ones too, and none of ours."""
    for size in (0, 1, 60):
        environment = {b"NAME_%d" % number: b"= \xff"[: number % 4] for number in range(size)}
        lines = sorted(b"%b=%b\n" % item for item in environment.items())
        status, written = run(("/usr/bin/env",), tmp_path, environment)
        assert (status, sorted(written.splitlines(keepends=True))) == (0, lines), size


def test_a_shell_that_changes_the_directory_leaves_no_trace_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An environment with PWD is passed unchanged: the previous directory does not leak."""
    through_a_shell(monkeypatch)
    status, written = run(("/usr/bin/env",), tmp_path, {b"A": b"1", b"PWD": os.fsencode(tmp_path)})
    told = set(written.splitlines()) - {b"_=/usr/bin/env", b"SHLVL=0"}  # of a bash that is /bin/sh
    assert (status, told) == (0, {b"A=1", b"PWD=" + os.fsencode(tmp_path)})


def test_a_program_leads_a_session_of_its_own(way: None, tmp_path: Path) -> None:
    """Session, process group and process are the same."""
    session, group, process = python("import os; print(os.getsid(0), os.getpgid(0), os.getpid())", tmp_path).split()
    assert session == group == process


def test_a_signal_that_we_ignore_is_at_its_default(way: None, tmp_path: Path) -> None:
    """A program is ended by a signal that the process that started it ignores."""
    ends = {}
    for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGUSR1):
        before = signal.signal(number, signal.SIG_IGN)
        try:
            ends[number] = sh(f"kill -{int(number)} $$; echo alive", tmp_path)
        finally:
            signal.signal(number, before)
    assert ends == {number: (-number, b"") for number in ends}


def test_a_signal_that_we_block_is_not_blocked(way: None, tmp_path: Path) -> None:
    """A program is ended by a signal that is blocked in the thread that started it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
    try:
        assert sh("kill -USR1 $$; echo alive", tmp_path) == (-signal.SIGUSR1, b"")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


OPEN = """
import os
for fd in range(256):
    try: os.fstat(fd)
    except OSError: continue
    print(fd)"""


def test_three_descriptors_are_open_and_no_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the host has open does not get into a hook, here or elsewhere, even if it made it inheritable."""
    monkeypatch.setattr(programs, "LISTED_FOR", -1)
    fds = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    os.dup2(fds[0], 200)
    try:
        os.set_inheritable(fds[1], True)
        elsewhere = python(OPEN, tmp_path)
        monkeypatch.chdir(tmp_path)
        assert [elsewhere.split(), python(OPEN, os.getcwd()).split()] == [[b"0", b"1", b"2"]] * 2
    finally:
        for fd in (*fds, 200):
            os.close(fd)


def no_such_directory(path: str) -> list[str]:
    """List a directory that does not exist."""
    raise FileNotFoundError(ENOENT, os.strerror(ENOENT), path)


@pytest.mark.parametrize("listdir", [no_such_directory, lambda _: []], ids=["missing", "empty"])
def test_no_others_are_open_where_nothing_lists_them(
    monkeypatch: pytest.MonkeyPatch, listdir: Callable[[str], list[str]]
) -> None:
    """Without /dev/fd and /proc, or where these are empty directories, every number is tried."""
    monkeypatch.setattr(programs, "LISTED_FOR", -1)
    fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(fd, 200)
    try:
        with monkeypatch.context() as patch:
            patch.setattr("os.listdir", listdir)
            found = inheritable()
            assert python(OPEN, os.getcwd()).split() == [b"0", b"1", b"2"]
        assert (200 in found, fd in found) == (True, False)
    finally:
        os.close(fd)
        os.close(200)


# --- descriptors 0, 1 and 2 of our own as the ends of pipes, in a host that has closed its streams

PLACES = (*itertools.permutations((0, 1, 2)), (2, 7, 0), (7, 0, 8), (1, 9, 8))


def test_streams_that_lie_on_each_others_places_are_not_mixed_up(tmp_path: Path) -> None:
    """Wherever the three descriptors are, each ends up in its place, and no copy of one stays open here."""
    (tmp_path / "in").write_text("question")
    in_another_python((PROGRAMS / "crossed_streams.py").read_text(), str(tmp_path), repr(PLACES))
    found = {places: [(tmp_path / f"{name}{places}").read_text() for name in ("out", "err")] for places in PLACES}
    assert found == {places: ["question", "problem\n"] for places in PLACES}


# --- programs that cannot be started


def failure(
    begin: Callable[..., Start], argv: tuple[str, ...], cwd: str, environment: Mapping[bytes, bytes]
) -> tuple[str, str]:
    """Return the kind and the text of the failure to start a program."""
    with pytest.raises(CannotStart) as caught:
        begin(argv, environment, cwd)(0, 1, 2)
    return caught.value.failure.kind, caught.value.failure.detail


def same_failure(monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...], cwd: Path | str) -> tuple[str, str]:
    """Return the failure, which has to be that of a program that is started by a process with one thread."""
    monkeypatch.chdir("/")  # and back at the end: prepare.program leaves it
    told = failure(program, argv, str(cwd), PATH)
    assert told == failure(prepare.program, argv, str(cwd), PATH)
    return told


def test_a_missing_program_is_a_failure_that_names_it(
    way: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing program in an existing directory is reported by its path."""
    kind, detail = same_failure(monkeypatch, ("/no/such/program",), tmp_path)
    assert (kind, "/no/such/program" in detail) == ("spawn", True)


def test_a_missing_interpreter_is_a_failure_that_names_it(
    way: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A script whose #! line names a missing program fails as `missing`, with a hint for Windows line ends."""
    for end, hint in (("\n", "does not exist"), ("\r\n", "Windows line endings")):
        script = executable(tmp_path / "script", f"#!/no/such/interpreter{end}")
        kind, detail = same_failure(monkeypatch, (script,), tmp_path)
        assert (kind, "/no/such/interpreter" in detail, hint in detail) == ("missing", True, True), end


def test_what_is_no_program_is_a_failure_that_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An executable text without a #! line is reported as no program."""
    text = executable(tmp_path / "text", "echo hello\n")
    kind, detail = same_failure(monkeypatch, (text,), tmp_path)
    assert (kind, "add a #! line" in detail) == ("spawn", True)


def test_a_directory_that_is_none_is_a_failure_that_names_it(
    way: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A working directory that is missing or a file is what is reported, even where the program is missing too."""
    (tmp_path / "file").touch()
    for below, reason in (("gone", "No such file"), ("file", "Not a directory")):
        for named in ("/bin/sh", "/no/such/program"):
            kind, detail = same_failure(monkeypatch, (named,), tmp_path / below)
            found = kind, str(tmp_path / below) in detail, reason in detail
            assert found == ("spawn", True, True), (below, named, detail)


@pytest.mark.skipif(os.geteuid() == 0, reason="root enters every directory")
def test_a_directory_that_may_not_be_entered_is_a_failure_that_names_it(
    way: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A working directory without permission to search it is reported, and not the program."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o600)
    kind, detail = same_failure(monkeypatch, ("/bin/sh",), closed)
    assert (kind, str(closed) in detail, "Permission denied" in detail) == ("spawn", True, True)


UNSAYABLE: dict[str, tuple[tuple[str, ...], dict[bytes, bytes]]] = {
    "a NUL in an argument": (("/bin/echo", "a\0b"), {}),
    "a NUL in the program": (("/bin/echo\0",), {}),
    "a NUL in a value": (("/bin/echo",), {b"A": b"a\0b"}),
    "a NUL in a name": (("/bin/echo",), {b"A\0": b"a"}),
    "an = in a name": (("/bin/echo",), {b"A=B": b"a"}),
    "a name of nothing": (("/bin/echo",), {b"": b"a"}),
    "half a character": (("/bin/echo", "\ud800"), {}),
}


def test_what_c_cannot_say_is_refused_and_not_cut_short(way: None, tmp_path: Path) -> None:
    """No text is given to a program only as far as a NUL, and no variable under another name."""
    failures = {what: failure(program, argv, str(tmp_path), env) for what, (argv, env) in UNSAYABLE.items()}
    found = {what: (kind, detail.split(":")[0]) for what, (kind, detail) in failures.items()}
    assert found == dict.fromkeys(UNSAYABLE, ("spawn", "cannot be passed to the system"))


def test_a_directory_with_a_nul_is_refused(way: None, tmp_path: Path) -> None:
    """The directory that its name would be cut to is not entered."""
    kind, detail = failure(program, ("/bin/sh",), f"{tmp_path}\0x", PATH)
    assert (kind, detail.split(":")[0]) == ("spawn", f"its working directory {tmp_path}\0x cannot be entered")


def test_a_file_that_may_not_be_executed_is_the_systems_error(tmp_path: Path) -> None:
    """No permission to execute is an OSError with the path, which the loop words."""
    (tmp_path / "file").touch(0o644)
    with pytest.raises(OSError, match="file") as caught:
        run((str(tmp_path / "file"),), tmp_path)
    assert caught.value.errno == EACCES


def test_long_arguments_arrive_whole(way: None, tmp_path: Path) -> None:
    """The program gets two arguments of 10,000 characters."""
    long = "é" * 10_000
    assert run(("/bin/echo", long, long), tmp_path) == (0, f"{long} {long}\n".encode())


def test_more_than_the_system_takes_is_the_systems_error(way: None, tmp_path: Path) -> None:
    """A variable of 4 MB is an OSError, E2BIG, as with os.posix_spawn."""
    with pytest.raises(OSError, match="list too long") as caught:
        sh("true", tmp_path, {b"A": b"x" * (4 << 20)})
    assert caught.value.errno == E2BIG


@pytest.mark.parametrize("what", ["processes", "descriptors"])
def test_want_of_what_others_may_give_back_is_the_systems_error(what: str) -> None:
    """With too many processes or descriptors an OSError makes the loop retry, and nothing stays open."""
    in_another_python((PROGRAMS / "lacking.py").read_text(), what)


# --- nothing is left behind


@pytest.mark.slow
@linux
def test_two_thousand_starts_leave_no_descriptor_and_no_memory(tmp_path: Path) -> None:
    """Starts that succeed or fail, with a directory of 3,000 characters: most leave nothing of it behind."""
    directory = tmp_path.joinpath(*["d" * 250] * 12)
    directory.mkdir(parents=True)
    descriptors, memory = map(int, in_another_python((PROGRAMS / "many_starts.py").read_text(), str(directory)).split())
    assert (descriptors, memory < 1_000_000) == (0, True), memory


# --- in our own directory, which posix_spawn need not change


def test_in_our_own_directory_neither_a_shell_nor_subprocess_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Signals that are ignored are at their default, and a text is no program: a shell would run it."""
    monkeypatch.setattr(subprocess, "Popen", None)
    text = executable(tmp_path / "text", "echo hello\n")
    monkeypatch.chdir(tmp_path)
    assert failure(program, (text,), os.getcwd(), PATH)[0] == "spawn"
    assert sh("pwd -P", os.getcwd()) == (0, os.fsencode(tmp_path.resolve()) + b"\n")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert sh("kill -HUP $$; echo alive", os.getcwd()) == (-signal.SIGHUP, b"")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_directory_of_ours_that_is_gone_hinders_no_start(tmp_path: Path) -> None:
    """A process whose working directory was removed starts programs elsewhere."""
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])\npid = program(('/bin/pwd',), {}, '/')(0, 1, 2)\n"
    assert in_another_python(f"{script}os.waitpid(pid, 0)", str(gone)) == "/\n"


def test_without_sessions_in_the_c_library_subprocess_makes_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If os.posix_spawn cannot create a session, the program still runs in a new session."""

    def without_session(*_arguments: object, **_options: object) -> int:
        raise NotImplementedError

    monkeypatch.setattr(os, "posix_spawn", without_session)
    monkeypatch.chdir(tmp_path)
    session, process = python("import os; print(os.getsid(0), os.getpid())", os.getcwd()).split()
    assert session == process


@pytest.mark.usefixtures("way")
def test_a_relative_interpreter_is_looked_for_where_the_program_runs(tmp_path: Path) -> None:
    """The system resolves it from the new directory, so it is not missing although this process has no such file."""
    (tmp_path / "shell").symlink_to("/bin/sh")
    script = tmp_path / "script"
    script.write_text("#!./shell\necho found\n")
    script.chmod(0o755)
    assert run((str(script),), tmp_path) == (0, b"found\n")
