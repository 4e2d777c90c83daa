"""Start without `site`, with the hot modules from a file of compiled code; become an ordinary Python when needed.

`start.py` runs this module. `boot_writer` writes the file, `boot.MAGIC.code` in the package. It has the hot modules in
groups: a group is used if all its sources have the time and size they were compiled from, else its modules are imported
as usual. Any other import makes this process what it would be without `-S` and this module. A `hookrun fire` started
otherwise is an ordinary Python, which uses the groups too (`attach`).
"""

import gc
import marshal
import posix
import sys
from _frozen_importlib import ModuleSpec, _find_spec  # type: ignore[attr-defined]
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader, spec_from_file_location
from _imp import _fix_co_filename  # type: ignore[attr-defined]
from time import time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

    Sources = tuple[tuple[str, str, int, int], ...]
    Group = tuple[Sources, int, int]

PLAIN = frozenset(
    ("stat", "genericpath", "posixpath", "select", "_json", "_socket", "fcntl", "resource", *sys.builtin_module_names)
)
"""Standard modules that need neither `site` nor all of `os`."""

STANDARD = 2
"""The last of the standard streams."""

TABLE = 24 << 10
"""Bytes before the table of groups, with this module's code."""


TYPE, DIRECTORY, LINK = 0o170000, 0o040000, 0o120000
"""Bits of a file's mode."""

FORMAT = 4
"""Of the table, as its `boot_writer` had it: another version may write it while hookrun is replaced."""


class Boot:
    """The file of compiled code, and what was used of it."""

    package = ""
    fd = -1
    """The file, open while groups may be needed: it stays the same when replaced."""
    groups: "Mapping[str, Group]" = {}  # noqa: RUF012  # replaced, never changed
    extensions: "Mapping[str, str]" = {}  # noqa: RUF012
    """Compiled modules -> their files: finding them costs as much as loading them. "" -> the interpreter."""
    taken: "tuple[ModuleType, ...]" = ()
    stale_since = 0
    """When something was found unusable, in nanoseconds since 1970."""
    light_os: "ModuleType | None" = None


def prepare(package: str, fd: int, head: bytes) -> None:
    """Prepare this process for `main`. `head` is the beginning of the file `fd`, empty without one."""
    above = package[:-8]
    if sys.flags.no_site and "os" not in sys.modules:
        gc.disable()
        _install_light_os()
        _take(package, fd, head)
    else:  # not started as launchers do
        if fd >= 0:
            posix.close(fd)
        if sys.path[0] != above:
            sys.path.insert(0, above)
        __import__("hookrun")  # this copy, not another one on the path
    if sys.path[0] == above:  # files beside it must not shadow the standard library
        sys.path.append(sys.path.pop(0))


def start(package: str, fd: int, head: bytes) -> None:
    """Prepare this process and run the command line, for the `start.py` of an earlier version.

    A downgrade leaves this version's file behind, unknown to installers.
    """
    prepare(package, fd, head)
    __import__("hookrun.__main__", fromlist=["main"]).main()  # above this module


def attach() -> None:
    """Use the groups in an ordinary Python, for its loaded copy of hookrun."""
    if Boot.package:  # started by `start.py`
        return
    (package,) = sys.modules["hookrun"].__path__
    fd, head = -1, b""
    try:
        fd = posix.open(_file(package), posix.O_RDONLY)
        head = posix.read(fd, 36 << 10)
    except OSError:
        pass
    _take(package, fd, head)


def _file(package: str) -> str:
    return f"{package}/boot.{MAGIC_NUMBER.hex()}.code"


def _take(package: str, fd: int, head: bytes) -> None:
    """Add the first finder, for the groups in the file `fd` that begins with `head`."""
    own, groups, extensions = _table(head)
    if 0 <= fd <= STANDARD:  # a closed standard stream stays closed
        posix.close(fd)
        fd, groups = -1, ()
    Boot.package, Boot.fd = package, fd
    sys.meta_path.insert(0, BootFinder)  # type: ignore[arg-type]
    if own and _unchanged(own):
        Boot.extensions = extensions
        Boot.groups = {source[0]: group for group in groups for source in group[0]}
    else:
        Boot.stale_since = time_ns()


def _table(head: bytes) -> "tuple[Sources, tuple[Group, ...], Mapping[str, str]]":
    """Return what follows this module's code: its source, the groups and the extensions; else nothing."""
    try:
        version, own, groups, extensions = marshal.loads(memoryview(head)[TABLE:])  # noqa: S302  # of this package
    except (ValueError, EOFError, TypeError):
        return (), (), {}
    return (own, groups, extensions) if version == FORMAT else ((), (), {})


def _unchanged(sources: "Sources") -> bool:
    try:
        for _, path, mtime, size in sources:
            now = posix.stat(Boot.package + path)
            if now.st_mtime_ns != mtime or now.st_size != size:
                return False
    except OSError:  # hookrun is being replaced
        return False
    return True


def installed(name: str) -> "ModuleSpec | None":
    """Return the spec of another package's compiled module, which `site` would have to find."""
    place = Boot.extensions.get(name)
    # `python3` or `python`: pip's script starts it by another name than launchers.
    interpreter = f"{sys.executable}".rpartition("/")[0] + f"/{sys.abiflags}"
    return spec_from_file_location(name, place) if place and Boot.extensions[""] == interpreter else None


class BootFinder:
    """Finder and loader of the modules in the file, before all others."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        """Return the spec of a module in the file, its group loaded, or what other finders have."""
        if name in PLAIN:
            place = Boot.extensions.get(name, "")
            return spec_from_file_location(name, place) if place.rpartition("/")[0] in sys.path else None
        group = Boot.groups.get(name)
        if group is not None and _load(group):
            return ModuleSpec(name, BootFinder)  # type: ignore[arg-type]
        if Boot.light_os is None:
            return None
        complete()
        if name == "hookrun":  # this copy, not another one on the path
            return spec_from_file_location(
                name, Boot.package + "/__init__.py", submodule_search_locations=[Boot.package]
            )
        return _find_spec(name, path, target)

    @staticmethod
    def create_module(spec: ModuleSpec) -> "ModuleType":
        """Return the loaded module."""
        return sys.modules[spec.name]

    @staticmethod
    def exec_module(module: "ModuleType") -> None:
        """Do nothing: the module was executed with its group. In an ordinary Python, complete the group.

        Not before: the import system would load a module with a spec once more.
        """
        if Boot.light_os is None:
            for each in Boot.taken:
                if each.__spec__ is None or each is module:
                    _describe(each)


def _load(group: "Group") -> bool:
    """Load a group's modules; return whether that succeeded."""
    loaded: list[ModuleType] = []
    try:
        sources, offset, length = group
        if not _unchanged(sources):
            raise ImportError  # noqa: TRY301  # one way out
        codes = marshal.loads(posix.pread(Boot.fd, length, offset))  # noqa: S302  # code of this package
        for (name, path, _, _), code in zip(sources, codes, strict=True):
            if name in sys.modules:
                continue
            sys.modules[name] = module = type(sys)(name)
            loaded.append(module)
            module.__file__ = Boot.package + path
            above, _, last = name.rpartition(".")
            if path.endswith("/__init__.py"):
                module.__path__ = [module.__file__[:-12]]
            module.__package__ = name if path.endswith("/__init__.py") else above
            if code.co_filename != module.__file__:  # the package was moved since
                _fix_co_filename(code, module.__file__)
            exec(code, module.__dict__)  # noqa: S102
            if above:
                setattr(sys.modules[above], last, module)
    except (OSError, ImportError, ValueError, EOFError, TypeError, KeyError):  # the last: of a package above
        for module in loaded:
            del sys.modules[module.__name__]
        Boot.stale_since = time_ns()
        return False
    Boot.taken += (*loaded,)
    return True


def _describe(module: "ModuleType") -> None:
    """Give a module the loader and spec of an import."""
    name, path = module.__name__, str(module.__file__)
    module.__loader__ = loader = SourceFileLoader(name, path)
    module.__spec__ = spec = ModuleSpec(name, loader, origin=path)
    spec.has_location = True
    spec.submodule_search_locations = module.__dict__.get("__path__")  # it may have `__getattr__`


def _install_light_os() -> None:
    """Make `import os` cheap: the hot modules' names are in `posix` and `posixpath`; any other completes."""
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    decoded = {name.decode(encoding, errors): value.decode(encoding, errors) for name, value in posix.environ.items()}
    Boot.light_os = sys.modules["os"] = light = type(sys)("os")
    names = light.__dict__
    names |= posix.__dict__
    names |= {
        "__name__": "os",
        "__spec__": None,
        "__loader__": None,
        "__getattr__": _attribute_of_os,
        "devnull": "/dev/null",
        "defpath": "/bin:/usr/bin",
        "environ": type(type.__dict__)(decoded),  # read-only: a change would not reach the real one
        "environb": type(type.__dict__)(posix.environ),  # type: ignore[arg-type]
        "fsdecode": lambda path: path.decode(encoding, errors) if isinstance(path, bytes) else posix.fspath(path),
        "fsencode": lambda path: path.encode(encoding, errors) if isinstance(path, str) else posix.fspath(path),
        "SEEK_CUR": 1,
        "sep": "/",
        "pathsep": ":",
    }
    sys.modules["os.path"] = names["path"] = path = type(sys)("os.path")
    names = path.__dict__
    names |= {
        "__getattr__": lambda name: getattr(_posixpath(name), name),
        "abspath": lambda path: path if _is_plain(path) else _posixpath().abspath(path),
        "dirname": lambda path: (
            path.rpartition("/")[0] if _is_plain(path) and path.count("/") > 1 else _posixpath().dirname(path)
        ),
        "exists": lambda path: _type_of(posix.stat, path) >= 0,
        "isabs": lambda path: posix.fspath(path)[:1] in ("/", b"/"),
        "isdir": lambda path: _type_of(posix.stat, path) == DIRECTORY,
        "islink": lambda path: _type_of(posix.lstat, path) == LINK,
        "join": lambda path, *more: (
            (more[0] if more[0][:1] == "/" else f"{path}/{more[0]}")
            if _is_plain(path) and len(more) == 1 and type(more[0]) is str
            else _posixpath().join(path, *more)
        ),
        "normpath": lambda path: path if _is_plain(path) else _posixpath().normpath(path),
    }


def _posixpath(name: str = "") -> "Any":  # a module
    if name[:2] == "__":
        raise AttributeError(name)
    import posixpath  # loading it costs twenty times as much as loading its replacement here

    return posixpath


def _is_plain(path: object) -> bool:
    """Return whether a path is absolute and normal."""
    ends = f"{path}/"
    return type(path) is str and path[:1] == "/" and "//" not in ends and "/./" not in ends and "/../" not in ends


def _type_of(stat: "Callable[[str], posix.stat_result]", path: str) -> int:
    """Return a file's type, -1 without one."""
    try:
        return stat(path).st_mode & TYPE
    except (OSError, ValueError):
        return -1


def _attribute_of_os(name: str) -> object:
    if name[:2] == "__":
        raise AttributeError(name)
    complete()
    found: object = getattr(sys.modules["os"], name)
    return found


def set_environment(variables: "Mapping[bytes, bytes]") -> bool:
    """Replace the environment of this forked child; return False if `os` is complete and can do so."""
    if Boot.light_os is None:
        return False
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    for name in posix.environ.keys() - variables.keys():
        posix.unsetenv(name)
    for name, value in variables.items():
        posix.putenv(name, value)
    posix.environ.clear()  # the source of `os` when this completes
    posix.environ.update(variables)
    decoded = {name.decode(encoding, errors): value.decode(encoding, errors) for name, value in variables.items()}
    Boot.light_os.environ = type(type.__dict__)(decoded)  # type: ignore[attr-defined]
    return True


def complete() -> None:
    """Make this process what it would be without `-S` and this module, once."""
    if BootFinder not in sys.meta_path:  # type: ignore[comparison-overlap]
        return
    if Boot.fd >= 0:
        posix.close(Boot.fd)
        Boot.fd = -1
    light = Boot.light_os
    for fd in posix.pipe() if light is not None else ():  # if this fails `site` would print a traceback
        posix.close(fd)
    sys.meta_path.remove(BootFinder)  # type: ignore[arg-type]
    if light is None:
        return
    Boot.light_os = None
    del sys.modules["os"]
    import os

    light.__dict__.update(os.__dict__)
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get("os") is light:  # never `module.os`: a module may import more for missing names
            names["os"] = os
    for module in Boot.taken:
        _describe(module)
    import site

    site.main()
    above = Boot.package.rpartition("/")[0]
    if above not in sys.path:
        sys.path.append(above)  # last: files beside the package must not shadow the standard library


def renew() -> None:
    """Write the unusable file again if the package is this account's. Raises nothing."""
    try:
        if sys.dont_write_bytecode or sys.pycache_prefix:  # packages are not to be written to
            return
        if posix.stat(Boot.package).st_uid == posix.geteuid():
            flags = posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC
            posix.close(posix.open(_file(Boot.package), flags, 0o644))  # before much is loaded
            from hookrun.boot_writer import write

            write(Boot.package, Boot.stale_since)
    except Exception:  # noqa: S110  # the next run tries again; this one has answered
        pass
