"""Find a hook's files: the code that its command or module names, and those under `files`."""

from __future__ import annotations

import os
import sys
from errno import ENAMETOOLONG
from stat import S_IFDIR as DIRECTORY, S_IFMT, S_IFREG as REGULAR

from hookrun.config.discovery import CODE_SUFFIXES
from hookrun.core.globs import glob
from hookrun.core.model import as_object
from hookrun.core.state import identity_of
from hookrun.process.prepare import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrun.core.model import Hook
    from hookrun.core.state import Identity

# Files that an interpreter reads in a directory it is given.
ENTRY_POINTS = ("__main__.py", "index.js", "package.json")

NODE_SUFFIXES = ("", ".js", ".mjs", ".cjs", ".json", ".node", ".ts", ".rb", ".lua", ".jq")
MODULE_SUFFIXES = (".py", ".pyc", ".pm", ".rb", ".lua", ".class")

# Limit on directory entries read for a hook's globs.
MOST_LOOKED_AT = 10_000

# Bytes of a name in a directory (NAME_MAX, limits.h).
LONGEST_NAME = 255

# Flags of a compiled Python module loaded without checking its source (PEP 552).
UNCHECKED = 1

SHEBANG_LINE = 256

# Signs of a line of a script that loads another file, in any language, and the bytes of such names.
LOADING = ("import", "from ", "source ", ". ", "use ", "require", "load", "include", "do ")
NAME_BYTES = bytes(byte if chr(byte).isalnum() or byte in b"_-./" else ord(" ") for byte in range(256))
# Bytes read of a script for such lines.
LARGEST_SCRIPT = 256 << 10

# Interpreters of interpreters that are followed.
MAX_DEPTH = 4


class UnfitFilesError(Exception):
    """A hook has too many files, or an irregular one, and cannot be approved; the message says why."""


class LocalFile:
    """A hook's file: its `label` in the digest, its `path`, its `identity` when found; all of them as plain `data`.

    The label is the path from the project's root, so that it survives a move of the project.
    """

    __slots__ = ("data", "identity", "label", "path")

    def __init__(self, label: str, path: str, identity: Identity) -> None:
        self.label = label
        self.path = path
        self.identity = identity
        self.data: list[object] = [label, path, *identity]


def files_of(hook: Hook, environment: Mapping[bytes, bytes], cwd: str, root: str) -> list[LocalFile]:
    """Return the files of a hook that runs in `cwd` with this environment in the project at `root`.

    They include named system files. Raises UnfitFilesError.
    """
    finder = _Finder(hook, environment, cwd, root)
    # A hook in the agent's working directory may name files that exist only in the project's root.
    for directory in dict.fromkeys((cwd, root) if hook.cwd == "event" else (cwd,)):
        finder.references(hook.words or (), directory)
    if hook.interpreter:
        finder.program(hook.interpreter, cwd)
    if hook.kind == "python":
        finder.module(f"{cwd}:{str(hook.target).partition(':')[0]}", cwd)
    for pattern in hook.files:
        for path in finder.matching(expand(pattern, environment, root)):
            if not finder.is_state(path):
                finder.add(path)
    looked: set[str] = set()
    while new := [file for label, file in finder.found.items() if label not in looked]:  # those load others
        looked |= {file.label for file in new}
        for file in new:
            finder.loaded_by(file.path, cwd)
    return list(finder.found.values())


class _Finder:
    def __init__(self, hook: Hook, environment: Mapping[bytes, bytes], cwd: str, root: str) -> None:
        # Outside Claude's dialect the variable may be unset; its file is then looked up in the root.
        self._environment = {b"CLAUDE_PROJECT_DIR": os.fsencode(root), **environment}
        self._root = root
        on_path = os.fsdecode(environment.get(b"PATH", b"")).split(":")
        paths = [os.path.normpath(os.path.join(cwd, each)) for each in on_path]
        self._on_path = [path for path in paths if within(path, root)]  # programs there are the project's files
        self._state = {_plain(os.path.join(root, each)) for each in hook.state}
        self._looked_at = [0]
        self._index: tuple[str, bytes] | None = None
        self.found: dict[str, LocalFile] = {}

    def expand(self, word: str, cwd: str) -> str:
        return expand(word, self._environment, cwd)

    def add(self, path: str, *, sure: bool = True) -> int:
        """Add a regular file; return the path's type (S_IFMT), 0 if it does not exist."""
        path = _plain(path)
        label = _label(path, self._root)
        if label in self.found:
            return REGULAR
        try:
            status = os.stat(path)
        except OSError as error:
            if sure and error.errno == ENAMETOOLONG and max(map(len, os.fsencode(path).split(b"/"))) <= LONGEST_NAME:
                raise UnfitFilesError(f"the path {path[:64]}... is longer than the system allows") from None
            return 0
        except ValueError:
            return 0
        kind = S_IFMT(status.st_mode)
        if kind == REGULAR:
            self.found[label] = LocalFile(label, path, identity_of(status))
        elif sure and kind != DIRECTORY:
            raise UnfitFilesError(f"{path} is neither a file nor a directory, so its content cannot be checked")
        return kind

    def is_state(self, path: str) -> bool:
        """Return whether the declaration lists a file under `state`: the hook may change it."""
        path = _plain(path)
        return any(within(path, each) for each in self._state)

    def references(self, references: Iterable[str], cwd: str) -> None:
        for reference in references:
            kind, _, value = reference.partition(":")
            FINDERS[kind](self, value, cwd)

    # --- the kinds of references

    def _paths(self, value: str, cwd: str) -> Iterator[str]:
        """Yield a path and, as it may be a glob, those that match it."""
        path = self.expand(value, cwd)
        yield path
        if any(sign in value for sign in "*?["):
            yield from self.matching(path)

    def path(self, value: str, cwd: str) -> None:
        for path in self._paths(value, cwd):
            if self.add(path) == DIRECTORY:
                for name in ENTRY_POINTS:
                    self.add(f"{path}/{name}")

    def program(self, value: str, cwd: str, depth: int = 0) -> None:
        on_path = (f"{each}/{value}" for each in self._on_path)
        for path in self._paths(value, cwd) if "/" in value else filter(self._is_within_really, on_path):
            if self.add(path) == REGULAR and within(path, self._root) and depth < MAX_DEPTH:
                self._interpreter(path, cwd, depth)

    def _interpreter(self, path: str, cwd: str, depth: int) -> None:
        words = _start(path).partition(b"\n")[0][2:].decode("utf-8", "surrogateescape").split()
        if words and words[0].rpartition("/")[2] == "env" and words[1:] and words[1][:2] == "-S":
            from hookrun.config.executed import executed  # rarely needed: it is a command line

            self.references(executed("command", " ".join((words[1][2:], *words[2:])).strip()).code, cwd)
            return
        if words and words[0].rpartition("/")[2] == "env":
            words = [word for word in words[1:] if word[:1] != "-" and "=" not in word]
        for index, word in enumerate(words):
            if index or "/" not in word:
                if not index:
                    self.program(word, cwd, depth + 1)
                self.maybe(word.partition("=")[2] if word[:1] == "-" else word, cwd)
            elif within(_plain(self.expand(word, cwd)), self._root):
                self.program(word, cwd, depth + 1)

    def _is_within_really(self, path: str) -> bool:
        """Return whether a file is in the project, unlike a virtual environment's link to a system interpreter."""
        return os.path.exists(path) and within(os.path.realpath(path), os.path.realpath(self._root))

    def node(self, value: str, cwd: str) -> None:
        for path in self._paths(value, cwd):
            self._node(path)

    def _node(self, path: str, *, follow: bool = True) -> None:
        kinds = [self.add(path + suffix) for suffix in NODE_SUFFIXES]
        if kinds[0] != DIRECTORY:
            return
        for name in ("package.json", *(f"index{suffix}" for suffix in NODE_SUFFIXES[1:])):
            self.add(f"{path}/{name}")
        main = _main_of(f"{path}/package.json") if follow else None
        if main is not None:
            self._node(f"{path}/{main}", follow=False)

    def module(self, value: str, cwd: str) -> None:
        directory, _, name = value.rpartition(":")
        for path in _modules(name, self.expand(directory, cwd)):
            self.add(path)

    def up(self, value: str, cwd: str) -> None:
        start, _, name = value.rpartition(":")
        directory = os.path.normpath(self.expand(start, cwd))
        below = ""
        while within(directory, self._root) and directory != below:
            path = f"{directory}/{name}"
            if name.startswith("node_modules/") and not name.startswith("node_modules/.bin/"):
                self._node(path)
            elif self.add(path) == REGULAR:
                self._interpreter(path, cwd, 0)
            directory, below = os.path.dirname(directory), directory

    def maybe(self, value: str, cwd: str) -> None:
        for path in self._paths(value, cwd):
            self._if_code(path)

    def option(self, value: str, cwd: str) -> None:
        """Add the code in a directory that an option names."""
        directory = self.expand(value, cwd)
        if directory.rstrip("/") not in ("", self._root) and os.path.isdir(directory):
            for name, is_directory in _entries(directory, self._looked_at):
                if not is_directory and name.rpartition(".")[2] in CODE_SUFFIXES:
                    self.add(f"{directory}/{name}", sure=False)

    def git(self, value: str, cwd: str) -> None:
        """Add the repository's settings if they name programs, and the files that they name."""
        from hookrun.trust.git_files import settings_with_programs

        found = settings_with_programs(os.path.normpath(self.expand(value, cwd)))
        for each in (each for path in found for each in self.matching(path)):
            self.add(each, sure=False)

    def loaded_by(self, path: str, cwd: str) -> None:
        """Add the files beside a script of the project that it loads by name, or would load as a standard module."""
        if not within(path, self._root):
            return
        lines = text_of_script(path).splitlines()
        loading = " ".join(line for line in lines if any(sign in line for sign in LOADING))
        words = {*loading.encode("utf-8", "surrogateescape").translate(NAME_BYTES).decode("utf-8", "replace").split()}
        names = {part for word in words for part in (word.rpartition("/")[2], *word.split("."))}
        is_python = path.endswith((".py", ".pyw")) or (lines and lines[0][:2] == "#!" and "python" in lines[0])
        standard = sys.stdlib_module_names if is_python else frozenset[str]()
        for directory in dict.fromkeys((os.path.dirname(path), os.path.dirname(os.path.realpath(path)))):
            for word in words:
                if "/" in word.strip("/"):
                    self._loaded(f"{directory}/{word.lstrip('/')}")
                    self._loaded(os.path.join(cwd, word))
                elif is_python and "." in word.strip("."):
                    self._loaded(f"{directory}/{word.strip('.').replace('.', '/')}.py")
            for name, is_directory in _entries(directory, self._looked_at):
                stem, _, suffix = name.partition(".")
                is_code = is_directory or suffix.rpartition(".")[2] in CODE_SUFFIXES
                if name in names or (is_code and (stem in names or stem in standard)):
                    self._loaded(f"{directory}/{name}/__init__.py" if is_directory else f"{directory}/{name}")

    def _loaded(self, path: str) -> None:
        if not self.is_state(path) and within(os.path.normpath(path), self._root):
            for suffix in ("", ".js", ".py", ".rb"):
                self.add(os.path.normpath(path) + suffix, sure=False)

    def unread(self, value: str, cwd: str) -> None:  # noqa: ARG002  # for the table
        raise UnfitFilesError(value)

    def _if_code(self, path: str) -> None:
        """Add a program's argument if it looks like code or is configuration tracked by git."""
        path = _plain(path)
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return
        if S_IFMT(status.st_mode) != REGULAR:
            return
        name = path.rpartition("/")[2]
        suffix = name.rpartition(".")[2].lower() if "." in name[1:] else ""
        if suffix in CODE_SUFFIXES or status.st_mode & 0o111 or _start(path)[:2] == b"#!":
            if self.is_state(path):
                raise UnfitFilesError(
                    f"`state` lists {_label(path, self._root)}, which is code; remove it from `state`"
                )
        elif self.is_state(path) or not (suffix in CONFIGURATION or name[:1] == ".") or not self._is_tracked(path):
            return
        self.add(path, sure=False)

    def _is_tracked(self, path: str) -> bool:
        from hookrun.trust.git_files import git_index, is_tracked

        self._index = self._index or git_index(self._root)
        return is_tracked(path, *self._index)

    def matching(self, path: str) -> Iterator[str]:
        """Yield a glob's files. `*` matches in one directory, `**` in any below; a directory means all in it."""
        return _below("", [part for part in path.split("/") if part not in ("", ".")], self._looked_at)


_KINDS = (_Finder.path, _Finder.program, _Finder.node, _Finder.module, _Finder.up, _Finder.maybe, _Finder.unread)
FINDERS = {each.__name__: each for each in (*_KINDS, _Finder.option, _Finder.git)}

_CONFIGURATION = "json jsonc json5 yaml yml toml ini cfg conf config xml properties env rules hcl tf rc plist"
# Suffixes of configuration.
CONFIGURATION = frozenset(_CONFIGURATION.split())


def _plain(path: str) -> str:
    """Return a path without `.` and double slashes. `..` stays: after a link it leads elsewhere."""
    if "//" not in path and "/." not in path:
        return path
    return "/" + "/".join(part for part in path.split("/") if part not in {"", "."})


def _label(path: str, root: str) -> str:
    """Return a plain path from the project's root, or the whole path outside it."""
    return path[len(root.rstrip("/")) + 1 :] if within(path, root) else path


def place(source: str, root: str, home: str) -> str:
    """Return a path relative to the project's root, with `~/` in the home directory, or absolute."""
    path = os.path.normpath(source)
    if within(path, home) and not within(path, root):
        return f"~/{_label(path, home)}"
    return _label(path, root)


def within(path: str, root: str) -> bool:
    """Return whether a normalized path is the directory or in it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def _start(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            data = os.read(fd, SHEBANG_LINE)
        finally:
            os.close(fd)
    except OSError:
        return b""
    return data if data[:2] == b"#!" else b""


def text_of_script(path: str) -> str:
    """Return the beginning of a text file, "" for any other."""
    from hookrun.core.files import read_or_none  # only after a change

    data = read_or_none(path, LARGEST_SCRIPT) or b""
    return "" if b"\0" in data else data.decode("utf-8", "surrogateescape")


def _main_of(path: str) -> str | None:
    from hookrun.core.fastjson import loads
    from hookrun.core.files import read_or_none

    try:
        main = as_object(loads((read_or_none(path, 1 << 20) or b"").decode())).get("main")
    except ValueError:
        return None
    return main if isinstance(main, str) and "\0" not in main else None


def _modules(name: str, directory: str) -> Iterator[str]:
    """Yield the files of this directory that a language may load for a module and its packages, or Python run."""
    from _imp import extension_suffixes

    suffixes = (*MODULE_SUFFIXES, *extension_suffixes())
    for part in name.split("."):
        for suffix in suffixes:
            yield f"{directory}/{part}{suffix}"
            yield f"{directory}/{part}/__init__{suffix}"
        yield from _unchecked(directory, part)
        yield from _unchecked(f"{directory}/{part}", "__init__")
        directory = f"{directory}/{part}"
    yield f"{directory}/__main__.py"
    yield f"{directory}/__main__.pyc"
    yield from _unchecked(directory, "__main__")


def _unchecked(directory: str, part: str) -> Iterator[str]:
    """Yield a module's compiled forms that Python loads without checking the source."""
    try:
        names = sorted(os.listdir(f"{directory}/__pycache__"))
    except (OSError, ValueError):
        return
    for path in (f"{directory}/__pycache__/{name}" for name in names if name.startswith(part + ".")):
        from hookrun.core.files import read_or_none  # as above

        if int.from_bytes((read_or_none(path, 8) or b"")[4:8], "little") == UNCHECKED:
            yield path


def _below(directory: str, parts: list[str], looked_at: list[int]) -> Iterator[str]:
    if not parts:
        if os.path.isdir(directory):
            yield from _below(directory, ["**"], looked_at)
        else:
            yield directory
        return
    part, rest = parts[0], parts[1:]
    if not any(char in part for char in "*?["):
        yield from _below(f"{directory}/{part}", rest, looked_at)
        return
    if part == "**" and rest:
        yield from _below(directory, rest, looked_at)
    for name, is_directory in _entries(directory, looked_at):
        path = f"{directory}/{name}"
        if part == "**":
            if is_directory:
                yield from _below(path, parts, looked_at)
            elif not rest:
                yield path
        elif glob(part, name):
            yield from _below(path, rest, looked_at)


def _entries(directory: str, looked_at: list[int]) -> list[tuple[str, bool]]:
    """Return the names in a directory except .git, and whether each is a real directory."""
    try:
        with os.scandir(directory or "/") as entries:
            found = sorted((each.name, each.is_dir(follow_symlinks=False)) for each in entries if each.name != ".git")
    except OSError:
        return []
    looked_at[0] += len(found)
    if looked_at[0] > MOST_LOOKED_AT:
        raise UnfitFilesError(f"it has more than {MOST_LOOKED_AT} files: list fewer under `files`")
    return found
