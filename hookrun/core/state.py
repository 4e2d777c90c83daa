"""Manage an account's directories (0700) and private files (0600); give the time."""

from __future__ import annotations

import os
from _imp import source_hash
from time import gmtime, strftime, time_ns

from hookrun.core.text import UserError, describe_exception, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    Identity = tuple[int, int, int, int, int]

# Where an account's files are: each is added to the path of its home directory.

# Of the user layer.
CONFIG_DIR = "/.config/hookrun"
# Of the audit, session markers, locks and backups.
STATE_DIR = "/.local/state/hookrun"
# Of texts that wait for an event of their session; exists only while some do.
KEPT_TEXTS_DIR = STATE_DIR + "/kept"
# Of compiled configs and digests; all can be recreated.
CACHE_DIR = "/.cache/hookrun"
# Of the user's decisions (the trust store).
DATA_DIR = "/.local/share/hookrun"
# Of what the next run does for launchers: lines `changed`, or time, agent and event of a refusal that one gave alone.
PENDING = DATA_DIR + "/pending"
# The file of the user's approvals and other decisions about hooks.
TRUST_STORE = DATA_DIR + "/trust.json"


class CurrentRun:
    """Where internal errors are reported: a run's home, and whether an agent reads stderr, which gets no traceback."""

    home = ""
    for_agent = False


def report_bug(error: BaseException, home: str | None = None) -> str:
    """Return the message for a bug of ours; its traceback goes to crash.log. Raises nothing.

    The log is in `home`, by default in that of the current run.
    """
    try:
        from hookrun.core.crash import report_in_run  # only after a bug

        return report_in_run(error, home)
    except Exception:  # hookrun is incomplete, or no descriptor is free
        return bug_message(error)


def bug_message(error: BaseException) -> str:
    """Return what a bug of ours is to the user: a module of hookrun that is not there is none."""
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "hookrun":
        return f"{error.name} cannot be loaded: hookrun is being replaced (try again), or must be installed again"
    return f"internal error, please report it: {describe_exception(error)}"


# The last nanosecond of Python's clock, in 2262.
END_OF_TIME = (1 << 63) - 1


def now_ns() -> int:
    """Return nanoseconds since 1970, at most END_OF_TIME: a wrong clock must not stop a guard."""
    try:
        return time_ns()
    except OverflowError:
        return END_OF_TIME


def timestamp() -> str:
    """Return the current time in UTC as RFC 3339 with milliseconds."""
    now = now_ns()
    began, text = _LATEST[0]
    if not 0 <= now - began < SECOND:
        second = now // SECOND
        began, text = _LATEST[0] = second * SECOND, strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))
    return f"{text}.{(now - began) // 1_000_000:03d}Z"


SECOND = 1_000_000_000
# When the last second began, and its text: a program fires many events in one.
_LATEST = [(-SECOND, "")]

# Nanoseconds within which a file can change with the same times (FAT has a resolution of 2 s).
YOUNG = 2_000_000_000


class NoHomeError(UserError, LookupError):
    """The account's home directory is unknown; the message says what to do."""


def home_directory() -> str:
    """Return the home directory: HOME, or the account's if HOME is no absolute path. Raises NoHomeError."""
    home = os.environ.get("HOME", "")
    if os.path.isabs(home):
        return home.rstrip("/") or "/"
    try:
        return account_home()
    except NoHomeError as error:
        raise NoHomeError(f"HOME is not set, and {error}") from None


def account_home() -> str:
    """Return the account's home directory in the password database. Raises NoHomeError."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir.rstrip("/") or "/"
    except KeyError:
        raise NoHomeError(f"account {os.getuid()} has no home directory\nhint: set HOME") from None


def line_home() -> str:
    """Return the home that an agent's line without `--home` reads: the account's. Raises NoHomeError.

    Without an account (a container's `--user 12345`) it is HOME, unless that is another's, in a repository or in the
    working directory: a project can set HOME.
    """
    try:
        return account_home()
    except NoHomeError:
        from contextlib import suppress  # rarely needed

        with suppress(OSError):
            around = [home := os.path.realpath(os.environ.get("HOME", ""))]
            while around[-1] != "/":
                around.append(os.path.dirname(around[-1]))
            is_own = os.stat(home).st_uid == os.getuid() and os.getcwd() not in around[:-1]
            if is_own and not any(os.path.lexists(f"{each}/.git") for each in around):
                return home
        cause = f"there is no account {os.getuid()}, and HOME is not its own directory outside of the project"
        raise NoHomeError(f"{cause}\nhint: give --home DIR") from None


def named_home(path: str) -> str:
    """Return the absolute path of the directory given as --home. Raises NoHomeError if it does not exist."""
    try:
        path = path and os.path.abspath(path)
    except OSError:
        raise NoHomeError(
            f"--home {path}: the working directory no longer exists\nhint: give an absolute path"
        ) from None
    if not os.path.isdir(path):
        hint = "give the directory that contains .config/hookrun"
        raise NoHomeError(f"--home {path or quote(path)} is not a directory\nhint: {hint}")
    return path


def cache_file(home: str, suffix: str, *parts: str) -> str:
    """Return the cache file for texts. Two that share one only overwrite each other."""
    return f"{home}{CACHE_DIR}/{file_name_for(*parts)}{suffix}"


def make_private_dir(path: str) -> None:
    """Create a directory and its missing parents with mode 0700 less the umask. Raises OSError.

    The umask is left alone: it is all threads'.
    """
    try:
        _make_one(path)
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above == path:
            raise
        make_private_dir(above)
        _make_one(path)  # once: in /proc nothing can be created


def _make_one(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def file_name_for(*parts: str) -> str:
    """Return a file name of 32 hexadecimal digits for arbitrary texts.

    Not a digest: `hashlib` costs 3 ms on the hot path, and colliding texts only harm their author.
    """
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{int.from_bytes(data, 'big') % ((1 << 127) - 1):032x}"


def open_private(path: str, flags: int) -> int:
    """Open a file with mode 0600, in a directory created if missing; return its descriptor. Raises OSError.

    A symbolic link at the path is not followed.
    """
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_private_dir(os.path.dirname(path))
        return os.open(path, flags, 0o600)


class ForeignFileError(ValueError):
    """Another account could have written the file; the message has its owner and mode."""


def read_own(path: str, directory: int | None = None) -> bytes:
    """Return the bytes of an account's file; the path may be relative to an open directory.

    Symbolic links are not followed. Raises OSError, and ForeignFileError for a file that others can write.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise ForeignFileError(f"owner {status.st_uid}, mode {status.st_mode & 0o777:o}")
        data = os.read(fd, status.st_size + 1)
        while len(data) < status.st_size and (more := os.read(fd, status.st_size - len(data))):
            data += more
        return data
    finally:
        os.close(fd)


def remove_oldest(directory: str, keep: int) -> None:
    """Remove a directory's oldest files beyond `keep`. Other processes may do so, too."""
    try:
        with os.scandir(directory) as entries:
            own = [each for each in entries if each.is_file(follow_symlinks=False)]
            files = sorted((each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in own)
        for _, path in files[:-keep]:
            os.unlink(path)
    except OSError:
        return


def identity(path: str | int) -> Identity:
    """Return attributes that change with a file (a path or a descriptor). Raises OSError."""
    return identity_of(os.stat(path))


def identity_of(status: os.stat_result) -> Identity:
    """Return a file's device, inode, size, mtime and ctime (nanoseconds)."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


# --- cache files: a checksum before the text, as damage could hide a hook

# Characters of the checksum and the line end after it.
SEAL = 17
SEAL_KEY = 6


def seal(text: str) -> bytes:
    """Return a text as a cache file's content, after a checksum."""
    data = text.encode("ascii")
    return _checksum(data) + data


def _checksum(data: bytes) -> bytes:
    # Python's own for .pyc files: builtin, so nothing is imported; no secret is needed.
    return b"%b\n" % source_hash(SEAL_KEY, data).hex().encode()


def read_cached(home: str, suffix: str, *parts: str) -> str:
    """Return the text of a `cache_file`. Raises OSError, and ValueError if damaged or another account's."""
    return unsealed(read_own(cache_file(home, suffix, *parts)))


def unsealed(data: bytes) -> str:
    """Return the text that `seal` was given. Raises ValueError if it is damaged."""
    text = data[SEAL:]
    if _checksum(text) != data[:SEAL]:
        raise ValueError("a damaged file")
    return text.decode("ascii")
