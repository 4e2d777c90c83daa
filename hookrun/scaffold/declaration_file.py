"""Find and edit a project's or user's config file, whole or not at all, and fetch its includes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from io import BytesIO

from hookrun.config.config_file import COMMIT, ConfigFile, GitInclude, load_file, tree_digest
from hookrun.config.discovery import LAYER_FILES, PROJECT_FILES, find
from hookrun.config.document import YAML_SUFFIXES, Diagnostic, errors_in, parse
from hookrun.config.parse import MAX_VALUES, KeyPath
from hookrun.config.recipe_entries import explicit_names, validate_entry
from hookrun.config.validate import Scope
from hookrun.core.files import is_within, relative_path
from hookrun.core.state import CONFIG_DIR, make_private_dir
from hookrun.core.text import UserError
from hookrun.edit import editor_for
from hookrun.edit.file_change import FileChange, existing
from hookrun.edit.json_edit import EditError, SpanEditor
from hookrun.process.prepare import inherited

# The project's config file where there is none yet.
NEW_FILE = "hookrun.yaml"


class ScaffoldError(UserError):
    """A hook cannot be written; nothing was changed. The message says where, why and what to do."""


class DeclarationFile:
    """A declaration file with unwritten edits. The file at `path` may not exist.

    `root` is its directory, `layer` is project or user, `events` are its custom events.
    """

    def __init__(self, path: str, layer: str, events: list[str]) -> None:
        """Read the file. Raises ScaffoldError if it cannot be edited, FileError if unreadable."""
        self.path = path
        self.layer = layer
        self.root = os.path.dirname(path)
        self.events = events
        self._now = existing(path)
        file = load_file(path, layer) if self._now.data is not None else None
        if file is not None:
            _refuse_broken(file)
        self._entries_path: KeyPath = file.entries_path if file is not None else ("hooks",)
        self.defaults: Mapping[str, object] = file.defaults if file is not None else {}
        self._text = editor_for(path, self._now.text() if file is not None else _start(path))

    @property
    def is_new(self) -> bool:
        """Whether the file does not exist yet."""
        return self._now.data is None

    @property
    def entries(self) -> list[object]:
        """The hooks in order."""
        found = self._text.at(self._entries_path)
        return found if isinstance(found, list) else []

    def named(self, name: str) -> bool:
        """Return whether a hook has this name."""
        return name in explicit_names(self.entries)

    def add(self, entry: Mapping[str, object]) -> list[Diagnostic]:
        """Append a hook and return warnings about it. Raises ScaffoldError if it is invalid."""
        self._edit(lambda text: text.add(self._entries_path, entry), entry)
        return self._checked(len(self.entries) - 1)

    def replace(self, index: int, entry: Mapping[str, object]) -> list[Diagnostic]:
        """Replace a hook and return warnings about the new one. Raises ScaffoldError if it is invalid."""
        self._edit(lambda text: text.put((*self._entries_path, index), entry), entry)
        return self._checked(index)

    def remove(self, index: int) -> None:
        """Remove a hook. Raises ScaffoldError."""
        self._edit(lambda text: text.remove((*self._entries_path, index)), None)

    def enforce(self, names: Collection[str]) -> None:
        """Let the hooks of these names that only advise enforce. Raises ScaffoldError."""
        for index, entry in enumerate(self.entries):
            if isinstance(entry, dict) and entry.get("name") in names and entry.get("mode") == "advise":
                path = (*self._entries_path, index, "mode")
                self._edit(partial(SpanEditor.put, path=path, value="enforce"), None)

    def put_setting(self, path: KeyPath, value: object) -> None:
        """Set a setting, None to remove it, by its path below `hookrun`. Raises ScaffoldError."""
        path = ("hookrun", *path)
        if value is not None and not isinstance(self._text.at(path[:-1]), dict):  # such as `audit: true`
            path, value = path[:-1], {path[-1]: value}
        try:
            if value is not None:
                self._text = self._text.put(path, value)
            elif self._text.at(path) is not None:
                self._text = self._text.remove(path)
        except EditError as error:
            setting = ".".join(map(str, path))
            raise ScaffoldError(f"{relative_path(self.path)}: {error}\nhint: change `{setting}` by hand") from None

    def include(self, names: Iterable[str]) -> None:
        """Include these files, by their paths relative to this one. Raises ScaffoldError."""
        listed = self._text.at(("hookrun", "include"))
        before = listed if isinstance(listed, list) else []
        more = [name for name in names if name not in before]
        if more:
            self.put_setting(("include",), [*before, *more])

    def changes(self) -> list[FileChange]:
        """Return the change to show or write."""
        return [FileChange(self.path, self._now, self._now.encoded(self._text.text))]

    def _edit(self, edit: Callable[[SpanEditor], SpanEditor], entry: Mapping[str, object] | None) -> None:
        try:
            self._text = edit(self._text)
        except EditError:
            what = "by hand" if entry is None else f"by hand: {json.dumps(entry, ensure_ascii=False)}"
            raise ScaffoldError(
                f"{relative_path(self.path)}: these hooks cannot be edited in place: `hooks` is not a plain list\n"
                f"hint: make the change {what}"
            ) from None

    def _checked(self, index: int) -> list[Diagnostic]:
        """Return the warnings about a hook. Raises ScaffoldError with the first error."""
        entries = self.entries
        names = explicit_names(entry for at, entry in enumerate(entries) if at != index)
        scope = Scope(self.layer, frozenset(self.events), dict(self.defaults), named=names, reserved=set(names))
        document = parse(self.path, self._text.text, MAX_VALUES)
        checked = validate_entry(document, (*self._entries_path, index), entries[index], scope)
        problems = [problem for each in checked for problem in each.problems]
        for error in errors_in(problems):
            raise ScaffoldError(f"{error}\nnote: nothing was written")
        return problems


def schema_address() -> str | None:
    """Return the address of a config's schema in the documentation that this hookrun's package names, or None."""
    try:
        urls = distribution("hookrun").metadata.get_all("Project-URL") or ()
    except PackageNotFoundError:
        return None
    named = (url for name, _, url in (each.partition(", ") for each in urls) if name == "Documentation")
    return next((f"{url.rstrip('/')}/schemas/config.json" for url in named), None)


def _start(path: str) -> str:
    """Return the beginning of a new file, which names its schema for editors: by a key, in YAML in a comment."""
    address = schema_address()
    if path.endswith(YAML_SUFFIXES):
        return f"# yaml-language-server: $schema={address}\n" if address else ""
    return json.dumps({"$schema": address} if address else {}, indent=2) + "\n"


def _refuse_broken(file: ConfigFile) -> None:
    for error in errors_in(file.problems):
        raise ScaffoldError(f"{error}\nnote: nothing was written")
    if file.handlers is not None:
        raise ScaffoldError(
            f"{relative_path(file.path)}: its hooks are in Claude Code's format, so nothing was written\n"
            f"hint: convert them with `hookrun migrate {shlex.quote(file.path)} --dry-run`"
        )


def project_file(directory: str, home: str) -> DeclarationFile:
    """Return the config file of the project around a directory.

    In order of preference: a file with hooks, an existing file, a new one at the root of the repository or, without
    one, in the directory itself. Raises ScaffoldError and FileError.
    """
    from hookrun.config.load import load_config  # with all that finds and merges files

    loaded = load_config(find(directory, home))
    paths = [os.path.join(loaded.project, name) for name in PROJECT_FILES]
    return DeclarationFile(_chosen(paths, "project", NEW_FILE), "project", loaded.declarations.events)


def config_in(directory: str, names: Sequence[str] = PROJECT_FILES) -> str:
    """Return the path of a directory's config file: the one with hooks, one that exists, or the first of the names."""
    layer = "project" if names is PROJECT_FILES else "user"
    return _chosen([f"{directory.rstrip('/')}/{name}" for name in names], layer, names[0])


def user_file(home: str) -> DeclarationFile:
    """Return the user's config file. Raises ScaffoldError and FileError."""
    return DeclarationFile(config_in(home + CONFIG_DIR, LAYER_FILES), "user", [])


def _chosen(paths: list[str], layer: str, new: str) -> str:
    """Return the file with hooks, else one that exists, else the path of the `new` one."""
    there = [load_file(path, layer) for path in paths if os.path.lexists(path)]
    ranked = [*(each for each in there if "hooks" in each.data), *(each for each in there if each.is_effective), *there]
    return ranked[0].path if ranked else os.path.join(os.path.dirname(paths[0]), new)


def check_within(path: str, root: str) -> None:
    """Raise ScaffoldError if symbolic links lead a path out of its directory."""
    real = os.path.realpath(path)
    if not is_within(real, os.path.realpath(root)):
        raise ScaffoldError(f"{path}: links out of {root}, to {real}\nhint: replace the link with a directory")


# --- configs included from git repositories; nothing of a repository is run

# Limit in seconds on one call of git.
GIT_TIMEOUT = 120

# Limit on all files of a repository.
MAX_BYTES = 64 << 20

PROTOCOLS = ("https", "ssh", "file")
# Options of git: a project's config must not make it run programs (`ext::`) or read over open lines.
SAFE = (
    *("-c", "protocol.allow=never"),
    *(word for name in PROTOCOLS for word in ("-c", f"protocol.{name}.allow=always")),
)


def fetch(include: GitInclude, home: str) -> str:
    """Fetch an include's files for an account, check them against its digest, and return their digest.

    Only a complete copy replaces an existing one. Raises ScaffoldError.
    """
    directory = include.directory(home)
    try:
        make_private_dir(os.path.dirname(directory))
        with tempfile.TemporaryDirectory(dir=os.path.dirname(directory), prefix=".fetch-") as temporary:
            files = os.path.join(temporary, "files")
            _extract(_archive(include, os.path.join(temporary, "git")), files)
            digest = tree_digest(files)
            if include.digest and digest != include.digest:
                raise ScaffoldError(
                    f"{include}: its files have the digest {digest}, not {include.digest}\n"
                    "hint: review the files: they have changed, or the digest is wrong; then write this digest"
                )
            if not os.path.isfile(os.path.join(files, include.path)):
                raise ScaffoldError(f"{include}: no file `{include.path}`\nhint: name the config file as `path`")
            shutil.rmtree(directory, ignore_errors=True)
            os.rename(files, directory)
    except OSError as error:
        raise ScaffoldError(f"{error.filename or directory}: {error.strerror or error}") from None
    return digest


def _archive(include: GitInclude, repository: str) -> bytes:
    _git("init", "--quiet", "--bare", repository, about=include)
    rev = include.rev
    try:
        _git("-C", repository, "fetch", "--quiet", "--depth=1", "--", include.git, rev, about=include)
        rev = "FETCH_HEAD"
    except ScaffoldError:  # a server may give only branches and tags
        if not COMMIT.fullmatch(rev):
            raise
        _git("-C", repository, "fetch", "--quiet", "--", include.git, "+refs/*:refs/fetched/*", about=include)
    commit = _git("-C", repository, "rev-parse", "--verify", "--end-of-options", f"{rev}^{{commit}}", about=include)
    if COMMIT.fullmatch(include.rev) and commit.decode().strip() != include.rev:
        raise ScaffoldError(f"{include}: git fetched {commit.decode().strip()} instead")
    return _git("-C", repository, "archive", "--format=tar", commit.decode().strip(), about=include)


def _git(*arguments: str, about: GitInclude) -> bytes:
    try:
        done = subprocess.run(  # the user's git; a project's values stand behind `--`
            ["git", *SAFE, *arguments],  # noqa: S607  # as above
            capture_output=True,
            timeout=GIT_TIMEOUT,
            check=False,
            env={**inherited("inherit"), b"GIT_TERMINAL_PROMPT": b"0", b"GIT_ATTR_NOSYSTEM": b"1"},
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise ScaffoldError(
            "command not found: `git`\nhint: install git to include configs from repositories"
        ) from None
    except subprocess.TimeoutExpired:
        raise ScaffoldError(
            f"{about}: git took more than {GIT_TIMEOUT} seconds\nhint: check the network and the URL"
        ) from None
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").splitlines()
        why = next((line for line in lines if line.startswith(("fatal:", "error:"))), "git failed")
        raise ScaffoldError(f"{about}: {why}\nhint: check `git` and `rev`, and that you can read the repository")
    return done.stdout


def _extract(archive: bytes, directory: str) -> None:
    """Write an archive's regular files. Raises ScaffoldError for links and excess size."""
    import tarfile  # rarely needed

    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        members = [member for member in tar.getmembers() if not member.isdir()]
        if sum(member.size for member in members) > MAX_BYTES:
            raise ScaffoldError(f"the repository has more than {MAX_BYTES >> 20} MiB of files\nhint: use a smaller one")
        os.mkdir(directory, 0o700)
        for member in members:
            content = tar.extractfile(member) if member.isfile() else None
            if content is None:
                raise ScaffoldError(f"the repository has a link, `{member.name}`\nhint: use one of plain files only")
            path = os.path.join(directory, member.name)  # git allows no `..` in names
            check_within(path, directory)
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            mode = 0o700 if member.mode & 0o100 else 0o600
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content.read())
