"""Manage an account's directories and private files, every directory 0700, every file 0600; tell the time."""

from __future__ import annotations

import os
from _imp import source_hash
from time import gmtime, strftime, time_ns

from hookrun.text import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    Identity = tuple[int, int, int, int, int]

# Where an account's files are: each is added to the path of its home directory.

CONFIG_DIR = "/.config/hookrun"
"""Of the user layer."""
STATE_DIR = "/.local/state/hookrun"
"""Of the audit, session markers, locks and backups."""
KEPT_TEXTS_DIR = STATE_DIR + "/kept"
"""Of texts that wait for an event of their session; it exists only while some do."""
CACHE_DIR = "/.cache/hookrun"
"""Of compiled configs and digests, all of which can be recreated."""
DATA_DIR = "/.local/share/hookrun"
"""Of the user's decisions (the trust store)."""
TRUST_STORE = DATA_DIR + "/trust.json"
"""The file of the user's approvals and other decisions about hooks."""

END_OF_TIME = (1 << 63) - 1
"""The last nanosecond that Python's clock can express, in 2262."""


def now_ns() -> int:
    """Return the time in nanoseconds since 1970, at most END_OF_TIME: a wrong clock must not stop a guard."""
    try:
        return time_ns()
    except OverflowError:
        return END_OF_TIME


def timestamp() -> str:
    """Return the current time in UTC as RFC 3339 with milliseconds."""
    second, milliseconds = divmod(now_ns() // 1_000_000, 1000)
    text = _LATEST.get(second)
    if text is None:
        _LATEST.clear()
        text = _LATEST[second] = strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))
    return f"{text}.{milliseconds:03d}Z"


_LATEST: dict[int, str] = {}
"""The last second and its text: a program fires many events in one."""

YOUNG = 2_000_000_000
"""Nanoseconds within which a file can change again without its times showing it (FAT has a resolution of 2 s)."""


class NoHomeError(UserError, LookupError):
    """The account's home directory is unknown; the message says what to do."""


def home_directory() -> str:
    """Return the home directory: HOME, or that of the account where HOME is no absolute path. Raises NoHomeError."""
    home = os.environ.get("HOME", "")
    if os.path.isabs(home):
        return home.rstrip("/") or "/"
    try:
        return account_home()
    except NoHomeError as error:
        raise NoHomeError(f"HOME is not set, and {error} (or set HOME)") from None


def account_home() -> str:
    """Return the home directory that the password database has for the account. Raises NoHomeError."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir.rstrip("/") or "/"
    except KeyError:
        raise NoHomeError(f"account {os.getuid()} has no home directory\nhint: give --home DIR") from None


def cache_file(home: str, suffix: str, *parts: str) -> str:
    """Return the file of the cache for texts. Two that share one only overwrite each other."""
    return f"{home}{CACHE_DIR}/{file_name_for(*parts)}{suffix}"


def make_private_dir(path: str) -> None:
    """Create a directory and its missing parents with mode 0700 less the umask. Raises OSError.

    The umask itself is left alone: it belongs to all threads of a program.
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
    """Return a file name of 32 hexadecimal digits that stands for arbitrary texts.

    Not a digest, because `hashlib` costs 3 ms on the hot path; texts chosen to collide only harm their author.
    """
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{int.from_bytes(data, 'big') % ((1 << 127) - 1):032x}"


def open_private(path: str, flags: int) -> int:
    """Open a file with mode 0600 and return its descriptor; its directory is created if missing. Raises OSError.

    A symbolic link at the path is not followed.
    """
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_private_dir(os.path.dirname(path))
        return os.open(path, flags, 0o600)


class ForeignFileError(ValueError):
    """A file that another account could have written; the message says what its owner and mode are."""


def read_own(path: str, directory: int | None = None) -> bytes:
    """Return the bytes of a file of the account, whose path may be relative to an open directory.

    A symbolic link is not followed. Raises OSError, and ForeignFileError for a file that others can write to.
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
    """Remove the oldest files of a directory beyond `keep`. Other processes may do so at the same time."""
    try:
        with os.scandir(directory) as entries:
            files = sorted((each.stat(follow_symlinks=False).st_mtime_ns, each.path) for each in entries)
        for _, path in files[:-keep]:
            os.unlink(path)
    except OSError:
        return


def identity(path: str | int) -> Identity:
    """Return attributes that change with a file (a path or a descriptor). Raises OSError if they are unavailable."""
    return identity_of(os.stat(path))


def identity_of(status: os.stat_result) -> Identity:
    """Return device, inode, size, mtime and ctime (in nanoseconds) of a file."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


# --- files of the cache: a checksum before the text, for damage could hide a hook

SEAL = 17
"""Characters of the checksum and the line end after it."""
SEAL_KEY = 6


def seal(text: str) -> bytes:
    """Return a text as the content of a cache file, with a checksum before it."""
    data = text.encode("ascii")
    return _checksum(data) + data


def _checksum(data: bytes) -> bytes:
    # Python's own for .pyc files: builtin, so that nothing is imported for it, and no secret is needed here.
    return b"%b\n" % source_hash(SEAL_KEY, data).hex().encode()


def read_sealed(path: str) -> str:
    """Return the text of a cache file. Raises OSError, and ValueError if it is damaged or another account's."""
    data = read_own(path)
    text = data[SEAL:]
    if _checksum(text) != data[:SEAL]:
        raise ValueError("a damaged cache file")
    return text.decode("ascii")
