"""Undo what a `python` hook left in its process, or find that impossible (see python_host.py)."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see child.py
import _thread
import builtins
import os
import sys

from hookrun.nesting import stat_fields
from hookrun.process import spawn
from hookrun.process.child import STANDARD, possible_descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

CHILD_FAULTS, THREADS = 8, 17
"""Indices in /proc/self/stat, counted from the state (proc(5)); the first is of awaited children."""
OWN = b"HOOKRUN_"
"""Beginning of the variables in which a process's hooks may differ."""
TIMERS = (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF)

ALWAYS_LOADED = frozenset({
    "__main__", "_collections_abc", "_sitebuiltins", "abc", "codecs", "encodings", "genericpath", "hookrun",
    "importlib", "io", "os", "posixpath", "site", "stat", "zipimport", *sys.builtin_module_names,
})  # fmt: skip
"""What every started Python has; and hookrun."""
SUFFIXES = (".py", ".pyc", ".so")


UNCOUNTED = [0]
"""Page faults of the children of `wait_for`."""


class State:
    """The process's state before its first hook, which `restore` brings back."""

    def __init__(self) -> None:
        self._open = {*range(STANDARD + 1), spawn.KEPT}
        self._variables = {name: value for name, value in os.environb.items() if not name.startswith(OWN)}
        self._modules: dict[str, ModuleType] = {}
        self._faults = _accounts()[0] - UNCOUNTED[0]

    def prepare(self) -> None:
        """Note, before the first foreign hook, what it may change."""
        if self._modules:
            return
        self._umask = os.umask(0o77)
        os.umask(self._umask)
        self._rights = _rights()
        self._modules = dict(sys.modules)
        self._entries = frozenset(sys.path)
        self._namespaces = [(space, dict(space)) for space in map(vars, (sys, builtins, os))]
        self._lists = [(each, each[:]) for each in (sys.path, sys.meta_path, sys.path_hooks, sys.argv)]
        self._streams = (sys.stdout, sys.stderr)
        self._forms = [_form(each) for each in self._streams]
        self._recursion = sys.getrecursionlimit()

    def restore(self, marker: bytes, directory: str) -> bool:
        """Undo what a hook changed and return True, or False if something cannot be undone.

        The modules it imported from `directory` are loaded anew for the next hook; "" for hookrun's own hooks, which
        change neither the interpreter nor limits nor signals.
        """
        try:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            if directory:
                self._restore_interpreter(directory)
                if _rights() != self._rights or _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN:
                    return False
                if [_form(each) for each in self._streams] != self._forms or sys.gettrace() or sys.getprofile():
                    return False
                for stream in self._streams:
                    stream.flush()
                self._restore_process()
            return not self._is_left(marker)
        except Exception:  # something it replaced no longer works
            return False

    def set_variables(self, own: dict[bytes, bytes]) -> None:
        """Set the next hook's environment: the first one, with these variables of hookrun's."""
        spawn.set_environment(self._variables | own)

    def _restore_interpreter(self, directory: str) -> None:
        for space, before in self._namespaces:
            for name in space.keys() - before.keys():
                del space[name]
            for name, value in before.items():
                if space.get(name) is not value:
                    space[name] = value
        for each, content in self._lists:
            each[:] = content  # type: ignore[assignment]
        for name in [name for name, module in sys.modules.items() if not self._stays(name, module, directory)]:
            del sys.modules[name]
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
        sys.path_importer_cache.pop(directory, None)
        sys.setrecursionlimit(self._recursion)

    def _stays(self, name: str, module: ModuleType, directory: str) -> bool:
        """Return whether a module is hookrun's, the interpreter's, or on the interpreter's own path."""
        top = name.partition(".")[0]
        if top in self._modules:
            return True
        spec = getattr(sys.modules.get(top, module), "__spec__", None)
        if spec is None:
            return False
        if not spec.has_location:  # built in, frozen, or a directory without an __init__.py
            places = [os.path.dirname(each) for each in spec.submodule_search_locations or ()]
        else:
            place = os.path.dirname(spec.origin)
            places = [os.path.dirname(place) if spec.submodule_search_locations else place]
        return self._entries.issuperset(places) and directory not in places

    def _is_left(self, marker: bytes) -> bool:
        """Return whether a thread, a process or an open file is left."""
        faults, threads = _accounts()
        if threads > 1:
            return True
        started = faults - UNCOUNTED[0] != self._faults
        self._faults = faults - UNCOUNTED[0]
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:  # ended, but not reaped by the hook
                started = True
        except ChildProcessError:
            numbers = set(possible_descriptors())
            return (started and _has_family(marker)) or any(map(_is_open, numbers - self._open))
        return True

    def _restore_process(self) -> None:
        spawn.restore_signals()
        for timer in TIMERS:
            _signal.setitimer(timer, 0)
        os.umask(self._umask)


def wait_for(pid: int) -> int:
    """Wait for a program of hookrun's that leaves no process behind, so that none is searched for."""
    before = _accounts()[0]
    status = os.waitpid(pid, 0)[1]
    UNCOUNTED[0] += _accounts()[0] - before
    return status


def forget_shadowed(directory: str) -> None:
    """Have a hook's modules found before loaded ones of the same names.

    What is loaded depends on earlier runs and hooks. So if a name is taken, everything is imported anew except what
    each Python has, extension modules, which may not bear it, and the packages around them.
    """
    loaded = {name.partition(".")[0] for name in sys.modules}
    shadowed = (loaded - ALWAYS_LOADED) & _importable(directory)
    if not shadowed:
        return
    compiled = {name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).endswith(".so")}
    kept = {name.partition(".")[0] for name in compiled} | ALWAYS_LOADED
    for name in list(sys.modules):
        if name.partition(".")[0] not in kept - shadowed:
            del sys.modules[name]


def _importable(directory: str) -> set[str]:
    """Return the names of the modules and packages in a directory."""
    try:
        names = os.listdir(directory)
    except OSError:
        return set()
    modules = {name.partition(".")[0] for name in names if name.endswith(SUFFIXES)}
    return modules | {name for name in names if os.path.isfile(f"{directory}/{name}/__init__.py")}


def _form(stream: object) -> tuple[object, ...]:
    """Return what a hook may change in a standard stream."""
    names = ("closed", "encoding", "errors", "line_buffering", "write_through")
    return tuple(getattr(stream, name, None) for name in names)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:  # that of the listing itself
        return False
    return True


def _accounts() -> tuple[int, int]:
    """Return the page faults of awaited children (each has some) and the number of threads."""
    try:
        fields = stat_fields("self")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt, _thread._count() + 1  # noqa: SLF001  # what `threading` counts by, without it
    return int(fields[CHILD_FAULTS]), int(fields[THREADS])


def _rights() -> tuple[object, ...]:
    """Return what a process can give up for good."""
    try:
        with open("/proc/self/limits", "rb") as file:
            limits: object = file.read()
    except OSError:
        import resource

        limits = [resource.getrlimit(number) for number in range(resource.RLIMIT_NOFILE + 1)]
    return limits, os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups(), os.getpriority(0, 0)


def _has_family(marker: bytes) -> bool:
    """Return whether a process of the hook is left; without /proc (macOS) one may always be."""
    if not os.path.exists("/proc/self/stat"):
        return True
    from hookrun.process import orphans  # few hooks start a process

    family = orphans.ProcessFamily(os.getpid(), marker)
    orphans.find([family], after=os.getpid())
    return bool(family.known)
