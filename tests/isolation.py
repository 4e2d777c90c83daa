"""Keep the tests and this account apart: what a test sees of the environment, and what a run may leave behind."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.waiting import SLOWNESS, slowness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ALLOWED = frozenset(
    {
        *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "PYENV_ROOT"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),  # a Python's own libraries
        *("HYPOTHESIS_DERANDOMIZE", "HOOKRUN_AGENTS", "HOOKRUN_OATS_PYTHON", SLOWNESS),  # options of a run
    }
)
"""The variables of the account that tests see, beside pytest's own."""
FOLDER = "HOOKRUN_TESTS_FOLDER"
"""The environment variable that names the folder of a run, which its workers share."""
PREFIX = "hr-tests-"
ACCOUNTS_FOLDERS = (".config/hookrun", ".local/share/hookrun", ".local/state/hookrun", ".cache/hookrun")
HANDLED = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGCHLD", "SIGPIPE"))
"""The signals whose handlers are compared. SIGALRM is pytest-timeout's."""
LARGEST_LOOKED_AT = 1 << 22  # bytes of a file's end in which the run's folders are looked for


class Account:
    """The account that runs the tests, as it was before `isolate`. Only what installs packages needs it."""

    environment: dict[str, str]
    home: Path
    temporary: Path


def isolate() -> None:
    """Give this process the environment of the tests: few variables of the account, and folders of the run.

    In a worker that has happened already, for it inherits the environment.
    """
    if FOLDER in os.environ:
        return
    Account.environment, Account.home = dict(os.environ), Path("~").expanduser()
    Account.temporary = Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # short names: a socket's path has at most 104 bytes
    folder.chmod(0o711)  # homes of other accounts are made here
    for name in ("home", "t"):
        (folder / name).mkdir(0o755)
    (folder / "gitconfig").touch()
    kept = {name: value for name, value in os.environ.items() if name in ALLOWED or name.startswith("PYTEST_")}
    os.environ.clear()
    os.environ.update(
        kept,
        HOME=str(folder / "home"),
        TMPDIR=str(folder / "t"),
        GIT_CONFIG_GLOBAL=str(folder / "gitconfig"),  # not /dev/null: a `git config --global` of root's replaces it
        GIT_CONFIG_NOSYSTEM="1",
        PYTEST_DEBUG_TEMPROOT=str(Account.temporary),  # what failed tests leave stays, where pytest keeps it
    )
    os.environ[FOLDER], os.environ[SLOWNESS] = str(folder), f"{slowness():.2f}"
    tempfile.tempdir = None


def be_a_place() -> None:
    """Show this process under a name that is no interpreter's, so that a user may work in it, whatever started the run.

    Commands that decide about hooks refuse to run below interpreters alone whose starter has ended: that may be the way
    in which a CI runner starts the tests. On Linux; see proc(5) for the fields arg_start and the name in `cmdline`.
    """
    try:
        start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45])
        size = len(Path("/proc/self/cmdline").read_bytes().partition(b"\0")[0])
    except (OSError, ValueError, IndexError):
        return
    if start:
        ctypes.memmove(start, b"tests"[:size].ljust(size, b"\0"), size)


def run_folder() -> Path:
    """Return the folder of this run."""
    return Path(os.environ[FOLDER])


class ProcessState(NamedTuple):
    """What a test may change of its process, and must restore."""

    directory: str
    umask: int
    handlers: tuple[object, ...]
    environment: dict[str, str]

    @classmethod
    def now(cls) -> ProcessState:
        """Return the state of this process."""
        umask = os.umask(0)
        os.umask(umask)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return cls(_directory(), umask, tuple(map(signal.getsignal, HANDLED)), variables)

    def restore(self) -> list[str]:
        """Restore this state, and return what was different."""
        now = ProcessState.now()
        different = [name for name in self._fields if getattr(now, name) != getattr(self, name)]
        if now.directory != self.directory:
            os.chdir(self.directory)
        os.umask(self.umask)
        for number, before, after in zip(HANDLED, self.handlers, now.handlers, strict=True):
            if before is not after:
                signal.signal(number, before)  # type: ignore[arg-type]  # what `getsignal` returned
        for name in now.environment.keys() - self.environment.keys():
            del os.environ[name]
        if now.environment != self.environment:
            os.environ.update(self.environment)
        return different


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "a directory that was removed"


class Keeper:
    """A plugin: fails a test that leaves its process changed, and a run that leaves files outside its folders."""

    state = pytest.StashKey[ProcessState]()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Remember how the process is before the test."""
        item.stash[self.state] = ProcessState.now()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Compare the process with that, after all fixtures of the test."""
        try:
            result = yield
        finally:
            different = item.stash[self.state].restore()
        if different:
            pytest.fail(f"the test left the process changed: {', '.join(different)}", pytrace=False)
        return result


class Guard:
    """A plugin of the run, not of its workers: what is written outside its folders makes it red, by name."""

    def __init__(self) -> None:
        self.before = {path: _changed(path) for path in _outside()}
        self.found: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: pytest.Config) -> None:
        """Let a worker know the account, by xdist's way."""
        node.workerinput["account"] = json.dumps(  # type: ignore[attr-defined]  # xdist has no types
            [Account.environment, str(Account.home), str(Account.temporary)]
        )

    @pytest.hookimpl(wrapper=True, trylast=True)  # within the terminal's, which shows the results
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Compare the account's folders and the temporary folder with how they were."""
        result = yield
        base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # only fixtures may ask
        mine = [str(run_folder()), str(base)]
        self.found = [str(path) for path in _outside() if self._is_left(path, mine)]
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        shutil.rmtree(run_folder(), ignore_errors=True)
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what was left."""
        if self.found:
            terminalreporter.section("left outside the folders of the run", red=True, bold=True)
            for path in self.found:
                terminalreporter.write_line(path)

    def _is_left(self, path: Path, mine: Iterable[str]) -> bool:
        """Return whether the run wrote this: it is new, or of hookrun's and changed, and names the run's folders.

        Others may write there meanwhile: the agent that runs the tests, or another run.
        """
        before = self.before.get(path)
        if before is not None and (path.parent == Account.temporary or before == _changed(path)):
            return False
        return any(each.encode() in text for text in _texts(path) for each in mine)


def take_over(account: str) -> None:
    """Know the account in a worker."""
    Account.environment, home, temporary = json.loads(account)
    Account.home, Account.temporary = Path(home), Path(temporary)


def _outside() -> list[Path]:
    """Return the files in hookrun's folders of the account, and this user's entries of the temporary folder."""
    files = [path for name in ACCOUNTS_FOLDERS for path in (Account.home / name).rglob("*")]
    for entry in os.scandir(Account.temporary):
        try:
            is_mine = entry.stat(follow_symlinks=False).st_uid == os.geteuid()
        except FileNotFoundError:
            continue
        if is_mine and not entry.name.startswith(("pytest-of-", PREFIX)):
            files.append(Path(entry.path))
    return files


def _changed(path: Path) -> tuple[int, int]:
    try:
        status = path.lstat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _texts(path: Path) -> Iterator[bytes]:
    """Yield what names a run: the names and the targets of links below a path, and the ends of its files."""
    yield bytes(path)
    try:
        if path.is_symlink():
            yield os.fsencode(path.readlink())
        elif path.is_dir():
            for each in path.iterdir():
                yield from _texts(each)
        elif path.is_file():
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - LARGEST_LOOKED_AT))
                yield file.read()
    except OSError:  # it was removed meanwhile, or is another account's
        return
