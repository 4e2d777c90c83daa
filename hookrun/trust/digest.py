"""Compute and cache hook digests: SHA-256 of declaration, location and file bytes."""

from __future__ import annotations

import os
from os.path import realpath
from stat import S_ISREG
from time import monotonic

from hookrun.core.fastjson import dumps, scan_own
from hookrun.core.model import Hook
from hookrun.core.state import YOUNG, cache_file, identity, now_ns, read_cached, report_bug, seal
from hookrun.core.text import one_line
from hookrun.trust import hook_files as local
from hookrun.trust.hook_files import LocalFile, place, within
from hookrun.trust.store import Owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from hashlib import _Hash as Hash

    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.store import Approved, Store

# Version of the digest's input.
FORM = "hookrun trust 2"

PREFIX = "sha256:"

# Limit on a file's size.
LARGEST = 256 << 20

CHUNK = 1 << 20

# System directories, whose files change with updates.
SYSTEM = (
    *("/bin/", "/sbin/", "/lib/", "/lib64/", "/usr/", "/opt/", "/nix/store/", "/gnu/store/", "/snap/", "/System/"),
    *("/etc/", "/proc/", "/sys/"),
)

# Fields that do not affect what runs, when, or how.
FOR_PEOPLE = frozenset({"description", "metadata"})

# Fields derived from others, and the declaration's location.
FROM_OTHERS = frozenset({"layer", "source", "line", "look", "words", "error"})

# Lists whose order does not matter.
IN_ANY_ORDER = frozenset({"events", "matcher", "agents", "files", "state", "allowed_env"})

# Keys of `claude` that depend on the project's place, other hooks and hookrun's version.
LABELS = frozenset({"base", "home", "mcp", "own", "pattern", "text", "tools", "twins"})


class UnreadableFileError(Exception):
    """A hook's file cannot be hashed; the message says why."""


# How a problem begins that leaves open whether a hook can be approved.
NOT_READ = "its files were not read"


class Budget:
    """One run's limits on inspecting hooks that may not be approved: time, hooks, files, bytes.

    `deadline` is a time of the monotonic clock; inspection takes at most SECONDS and half the time left when it begins.
    `is_interrupted` returns whether a signal has asked the run to end.
    """

    SECONDS, LEAST = 2.0, 0.1
    HOOKS = 500
    FILES = 10_000
    BYTES = 512 << 20

    def __init__(self, deadline: float, is_interrupted: Callable[[], bool]) -> None:
        self._deadline = deadline
        self._is_interrupted = is_interrupted
        self._seconds = max(self.LEAST, min(self.SECONDS, (deadline - monotonic()) / 2))
        self._begun = 0.0
        self._hooks = self.HOOKS
        self._files = self.FILES
        self._bytes = self.BYTES

    def begin(self) -> None:
        """Begin to inspect a hook. Raises UnreadableFileError at a limit, as `spend` does."""
        self._begun = monotonic()
        self._check()

    def end(self) -> None:
        """Count the time since `begin`."""
        self._seconds -= monotonic() - self._begun

    def spend(self, *, hooks: int = 0, files: int = 0, read: int = 0) -> None:
        """Count hashed hooks, opened files and bytes read."""
        self._hooks -= hooks
        self._files -= files
        self._bytes -= read
        if self._is_interrupted():
            raise UnreadableFileError(f"{NOT_READ}: interrupted by a signal")
        self._check()

    def _check(self) -> None:
        until = min(self._begun + self._seconds, self._deadline)
        if min(self._hooks, self._files, self._bytes) < 0 or monotonic() >= until:
            raise UnreadableFileError(
                f"{NOT_READ}: a run hashes at most {self.HOOKS} hooks, {self.FILES} files and {self.BYTES >> 20} MiB, "
                f"for at most {self.SECONDS:g} s or half of the time left"
            )


def declaration(hook: Hook, root: str, home: str) -> str:
    """Return the canonical text of a declaration.

    It has the file, relative to the project's root, and every significant field without its default, set by the hook,
    `defaults` or an included file.
    """
    return _declared_in(place(hook.source, root, home), hook)


def _declared_in(file: str, hook: Hook) -> str:
    fields = hook.given()
    said = [[name, _settled(name, fields[name])] for name in sorted(fields.keys() - FOR_PEOPLE - FROM_OTHERS)]
    return dumps([FORM, file, said])


def _settled(name: str, value: object) -> object:
    if isinstance(value, dict):
        return [[key, value[key]] for key in sorted(value) if name != "claude" or key not in LABELS]
    if name == "matcher" and isinstance(value, (list, tuple)) and len(value) > 1:
        from hookrun.agents.known_tools import ARGUMENTS, canonical_tools

        # Which of hookrun's names an agent's stands for is a matter of hookrun's version, not of the declaration.
        implied = {ours for each in value if each not in ARGUMENTS for ours in canonical_tools(each)}
        value = [each for each in value if each not in implied]
    if name in IN_ANY_ORDER and isinstance(value, (list, tuple)):
        return sorted(value)
    return value


def _digest_of(declared: str, files: Iterable[tuple[LocalFile, str]], root: str, budget: Budget | None) -> str:
    """Return a hook's digest: `sha256:` and 64 hexadecimal digits.

    `declared` is the result of `declaration`; each file is given with its real path. System files outside the project
    are left out; a project's link to one includes its target. Raises UnreadableFileError, also when the budget is used
    up.
    """
    real_root = realpath(root)
    contents: list[list[str]] = []
    for file, real in files:
        if within(real, real_root) or not real.startswith(SYSTEM):
            contents.append([file.label, sum_of(file, budget)])
        elif within(os.path.normpath(file.path), root):
            contents.append([file.label, f"link to {real}"])
    return PREFIX + sum_of_text(dumps([declared, sorted(contents)]))


def sum_of_text(text: str) -> str:
    """Return the SHA-256 of an ASCII text."""
    made = sha256()
    made.update(text.encode("ascii"))
    return made.hexdigest()


def sum_of(file: LocalFile, budget: Budget | None = None) -> str:
    """Return the SHA-256 of a file unchanged since it was found. Raises UnreadableFileError."""
    made = sha256()
    if budget is not None:
        budget.spend(files=1)
    try:
        fd = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if not S_ISREG(os.fstat(fd).st_mode) or file.identity[2] > LARGEST:
                raise UnreadableFileError(f"{file.path} is not a regular file of at most {LARGEST >> 20} MiB")
            before = identity(fd)
            while chunk := os.read(fd, CHUNK):
                made.update(chunk)
                if budget is not None:
                    budget.spend(read=len(chunk))
            if (before, identity(fd)) != (file.identity, file.identity):
                raise UnreadableFileError(f"{file.path} changed while it was read")
        finally:
            os.close(fd)
    except OSError as error:
        raise UnreadableFileError(f"{file.path} cannot be read ({error.strerror})") from None
    return made.hexdigest()


def sha256() -> Hash:
    """Return a new SHA-256 in bare C: importing `hashlib` costs more than hashing."""
    for name in ("_sha2", "_sha256"):  # Python 3.12 and later, 3.11
        try:
            made: Hash = __import__(name).sha256()
        except ImportError:
            continue
        return made
    import hashlib

    return hashlib.sha256()


VERSION = 1
# Of a project's file of cached digests.
SUFFIX = ".trust.json"

# Limit on a project's cached digests.
MOST_HOOKS = 1000


class DigestCache:
    """A cache of digests by declaration and file identities. Unreadable entries are recomputed.

    If it has `changed`, `keep` writes it.
    """

    def __init__(self, home: str, root: str) -> None:
        self._home = home
        self._root = root
        self._known: dict[str, list[object]] = {}
        self.changed = False
        try:
            data, _ = scan_own(read_cached(home, SUFFIX, root), 0)
            if isinstance(data, dict) and (data["version"], data["root"]) == (VERSION, root):
                self._known = dict(data["hooks"])
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            pass

    def digest(self, declared: str, files: list[LocalFile]) -> str | None:
        """Return the cached digest of a declaration with these files, or None."""
        known = self._known.get(declared)
        if not isinstance(known, list) or known[1:] != [file.data for file in files]:
            return None
        return known[0] if known and isinstance(known[0], str) else None

    def remember(self, declared: str, files: list[LocalFile], digest: str) -> None:
        """Add a digest unless a file's times are too recent to show another change."""
        now = now_ns()
        if all(abs(now - file.identity[4]) > YOUNG for file in files):
            self._known[declared] = [digest, *(file.data for file in files)]
            self.changed = True

    def keep(self) -> None:
        """Write new digests to disk, ignoring failure."""
        if not self.changed:
            return
        from hookrun.config.cache_writer import write

        hooks = dict(list(self._known.items())[-MOST_HOOKS:])
        try:
            text = dumps({"version": VERSION, "root": self._root, "hooks": hooks})
            write(seal(text), cache_file(self._home, SUFFIX, self._root))
        except (OSError, ValueError, TypeError):
            return


class Inspection:
    """A hook's `digest` and `files`, or the `problem` that prevents its approval.

    `variables_and_directory` are the environment and directory in which its files were looked for.
    """

    __slots__ = ("digest", "files", "problem", "variables_and_directory")

    def __init__(
        self,
        digest: str,
        files: list[LocalFile],
        problem: str | None = None,
        variables_and_directory: tuple[Mapping[bytes, bytes], str] = ({}, ""),
    ) -> None:
        self.digest = digest
        self.files = files
        self.problem = problem
        self.variables_and_directory = variables_and_directory


class HookInspector:
    """Inspects hooks of the project at `root`: files, who else can change them, digest.

    `owners` are accounts, besides this one and root, whose files are trusted. `limits` are those of a Budget, if any.
    """

    def __init__(
        self,
        home: str,
        root: str,
        environment: HookEnvironment,
        owners: Iterable[int] = (),
        limits: tuple[float, Callable[[], bool]] | None = None,
    ) -> None:
        self.home = home
        self.root = root
        self._environment = environment
        self._owners = owners
        self._budget = Budget(*limits) if limits is not None else None
        self.cache = DigestCache(home, root)
        self._indexed: Store | None = None
        self._by_hook: dict[tuple[str, str], dict[str, Approved]] = {}

    def approved_declaration(self, hook: Hook, store: Store) -> str | None:
        """Return the hook's declaration if approved, whatever its files are now, else None."""
        file = place(hook.source, self.root, self.home)
        known = {each["declaration"] for each in self._approvals_of(hook.name, file, store).values()}
        if not known:
            return None
        declared = _declared_in(file, hook)
        return declared if sum_of_text(declared) in known else None

    def last_approved(self, hook: Hook, store: Store) -> str | None:
        """Return the digest last approved for the hook in this project, or None."""
        approved = self._approvals_of(hook.name, place(hook.source, self.root, self.home), store)
        root = realpath(self.root)
        here = [(each["time"], digest) for digest, each in approved.items() if root in map(realpath, each["roots"])]
        return max(here)[1] if here else None

    def _approvals_of(self, name: str, file: str, store: Store) -> Mapping[str, Approved]:
        """Return the approvals of the hooks of this name in this file, by digest."""
        if self._indexed is not store:  # a project can have thousands of hooks
            self._indexed, self._by_hook = store, {}
            for digest, each in store.approved.items():
                self._by_hook.setdefault((each["name"], each["source"]), {})[digest] = each
        return self._by_hook.get((name, file), {})

    def inspect(self, hook: Hook, declared: str | None = None) -> Inspection:
        """Return the hook's current state, with a cached digest if no file has changed.

        `declared` is its `declaration`, if known.
        """
        try:
            if self._budget is not None:
                self._budget.begin()
            return self._look(hook, declared or declaration(hook, self.root, self.home))
        except UnreadableFileError as error:
            return Inspection("", [], str(error))
        except (OSError, ValueError, RecursionError) as error:  # an untrusted project may only break its own hook
            return Inspection("", [], f"inspection failed ({type(error).__name__}: {error})")
        except Exception as error:
            return Inspection("", [], f"inspection failed ({one_line(report_bug(error, self.home))})")
        finally:
            if self._budget is not None:
                self._budget.end()

    def _look(self, hook: Hook, declared: str) -> Inspection:
        variables, cwd = self._environment.variables_and_directory(hook)
        try:
            files = local.files_of(hook, variables, cwd, self.root)
        except local.UnfitFilesError as error:
            return Inspection("", [], str(error))
        resolved: list[tuple[LocalFile, str]] = []
        if files:
            owners = Owners(self._owners)
            for file in files:
                real, problem = owners.resolve_and_check(file.path)
                if problem is not None and not real.startswith(SYSTEM):  # another account can change the file
                    return Inspection("", files, problem)
                resolved.append((file, real))
        # Nothing is hashed if declaration and file identities are those of the last run.
        digest = self.cache.digest(declared, files)
        if digest is None:
            try:
                if self._budget is not None:
                    self._budget.spend(hooks=1)
                digest = _digest_of(declared, resolved, self.root, self._budget)
            except UnreadableFileError as error:
                return Inspection("", files, str(error))
            self.cache.remember(declared, files, digest)
        return Inspection(digest, files, variables_and_directory=(variables, cwd))
