"""From a declared hook to a task: its environment, its working directory, its program looked up, its failure known."""

from __future__ import annotations

import os
import sys

from hookrun.model import UNTRUSTED_LAYERS, Failure
from hookrun.process import spawn
from hookrun.process.child import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.model import Hook

MAX_VALUE = 4096
"""Bytes of a value in a hook's environment; the context has it whole."""

NESTING = b"HOOKRUN_CHAIN"
"""The variable that holds a word for each hook around us: how deep we are, and whose child a process is."""

MAX_NESTING = 3
"""Hooks that start an agent fire hooks again: so often, and no more."""

CLEAN = frozenset(
    {b"PATH", b"HOME", b"USER", b"LOGNAME", b"SHELL", b"LANG", b"LANGUAGE", b"TERM", b"TMPDIR", b"TZ", b"NO_COLOR"}
)
"""What `env_policy: clean` leaves, beside LC_* and what is hookrun's own."""

POLICIES = ("inherit", "scrub", "clean")
"""Every `env_policy`, the strictest last."""

SEARCH_PATH_FOR_SCRIPTS = frozenset({"sh", "bash", "ksh", "mksh"})
"""Shells that look for a script without a slash on PATH when it is not in the working directory."""


CLAUDE_PROJECT, CLAUDE_PLUGIN = "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"
LAST_RESORT = "/tmp"  # noqa: S108  # a working directory, where even the home directory is gone; nothing is put there


class Inherited(dict[bytes, bytes]):
    """What a policy leaves of our own environment. `vector` is kept by what starts processes with it, None at first."""

    __slots__ = ("vector",)

    def __init__(self, variables: Mapping[bytes, bytes]) -> None:
        super().__init__(variables)
        self.vector: object = None


class Environment(dict[bytes, bytes]):
    """The environment of one run of a hook: what it has `inherited`, and over it what is its `own`."""

    __slots__ = ("inherited", "own")

    def __init__(self, inherited: Inherited, own: dict[bytes, bytes]) -> None:
        super().__init__(inherited)
        self.update(own)
        self.inherited = inherited
        self.own = own

    def __setitem__(self, name: bytes, value: bytes) -> None:
        """Give the run a variable of its own."""
        self.own[name] = value
        super().__setitem__(name, value)


class HookEnvironment:
    """What the hooks of one fire have in common: where they run, what they are told, whose children they are.

    `program` starts one. A process with threads may not fork: there Python functions and URLs get an interpreter anew.
    `project_env_policy` is the user's word on what a project's hooks inherit. `home` is the HOME of hooks where that of
    this process is not to be believed.
    """

    def __init__(
        self,
        context: Mapping[str, object],
        *,
        project: str,
        request_id: str,
        program: Callable[[tuple[str, ...], Environment, str], spawn.Start] = spawn.program,
        may_fork: bool = True,
        project_env_policy: object = None,
        home: str | None = None,
    ) -> None:
        self.project = project
        self._project_env_policy = project_env_policy
        self.program = program
        self.may_fork = may_fork
        self.event = str(context.get("event") or "")
        self.event_directory = _directory(context.get("working_dir"), project)
        self.request_id = request_id
        self._home = home
        self._hookrun_vars = {
            b"HOOKRUN_EVENT": _value(context.get("event")),
            b"HOOKRUN_AGENT": _value(context.get("agent")),
            b"HOOKRUN_SESSION_ID": _value(context.get("session_id")),
            b"HOOKRUN_TOOL": _value(context.get("tool_name")),
            b"HOOKRUN_PROJECT_DIR": os.fsencode(project),
            b"HOOKRUN_WORKING_DIR": os.fsencode(self.event_directory),
        }
        self._count = 0
        self._usual: dict[int, tuple[Hook, Inherited, Inherited]] | None = None

    def again(self, request_id: str) -> HookEnvironment:
        """Return the same surroundings for another fire; what they tell each hook is put together once for all."""
        if self._usual is None:
            self._usual = {}
        other = HookEnvironment.__new__(type(self))
        other.__dict__.update(self.__dict__, request_id=request_id, _count=0)
        return other

    def new_marker(self) -> bytes:
        """Return a word that no other run of a hook carries in its environment."""
        self._count += 1
        return f"{self.request_id}.{self._count};".encode()

    def variables(self, hook: Hook, marker: bytes) -> Environment:
        """Return the environment of one run of a hook: what its policy leaves, what it declares, what we tell it."""
        left = inherited(self.env_policy(hook))
        everything = _INHERITED[0]["inherit"]
        own: dict[bytes, bytes] = {}
        if self._usual is None:
            own = self._own(hook, everything)
        else:
            kept = self._usual.get(id(hook))
            if kept is None or kept[0] is not hook or kept[1] is not left:
                kept = self._usual[id(hook)] = hook, left, Inherited({**left, **self._own(hook, everything)})
            left = kept[2]
        own[b"HOOKRUN_REQUEST_ID"] = self.request_id.encode()
        own[NESTING] = everything.get(NESTING, b"") + marker
        return Environment(left, own)

    def _own(self, hook: Hook, everything: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Return what a hook declares and what we tell it, but for what is another in each run."""
        own = {b"HOME": os.fsencode(self._home)} if self._home is not None else {}
        for name, value in (hook.env or {}).items():
            own[os.fsencode(name)] = os.fsencode(value)
        own.update(self._hookrun_vars)
        own[b"HOOKRUN_HOOK"] = _value(hook.name)
        own[b"HOOKRUN_CONFIG_DIR"] = os.fsencode(hook.source.rpartition("/")[0] or self.project)
        for name in hook.allowed_env:  # granted by name: for the headers of a URL
            if (granted := everything.get(os.fsencode(name))) is not None:
                own.setdefault(os.fsencode(name), granted)
        if hook.dialect == "claude":
            own.update(_claude_variables(hook, self.project))
        return own

    def env_policy(self, hook: Hook) -> str:
        """Return what a hook inherits: as declared, but for a project's nothing like a credential, or as the user says.

        Hooks in the dialect of Claude, which gives its hooks everything, are only bounded by the user's word.
        """
        floor = self._project_env_policy or ("inherit" if hook.dialect == "claude" else "scrub")
        if hook.layer not in UNTRUSTED_LAYERS or floor not in POLICIES:
            return hook.env_policy
        return max(hook.env_policy, str(floor), key=POLICIES.index)

    def directory(self, hook: Hook, environment: Mapping[bytes, bytes]) -> str:
        """Return the working directory of a hook; a relative one is taken from the project's root."""
        if hook.cwd == "project":
            return self.project
        if hook.cwd == "event":
            if hook.dialect == "claude":
                return _existing_directory(self.event_directory, self.project, environment)
            return self.event_directory
        return expand(hook.cwd, environment, self.project)


def nesting_depth() -> int:
    """Return how many hooks this process runs inside of."""
    return os.environb.get(NESTING, b"").count(b";")


def runs_inside_hook() -> bool:
    """Tell whether a process that we descend from runs inside of a hook: what the variable says may be made up.

    A project can set an agent's environment, not the one that the agent itself was started with. Where there is no
    /proc (macOS) the variable is believed.
    """
    mark = NESTING + b"="
    number = os.getppid()
    while number > 1:
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                environment = file.read()
            with open(f"/proc/{number}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            return not os.path.exists("/proc/self/environ")
        if any(each.startswith(mark) and b";" in each for each in environment.split(b"\0")):
            return True
        number = int(stat[stat.rfind(b")") + 2 :].split()[1])
    return False


def _directory(value: object, otherwise: str) -> str:
    """Return the value if it is an absolute path that the system could have."""
    if value == otherwise or not isinstance(value, str) or not os.path.isabs(value) or "\0" in value:
        return otherwise
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return otherwise
    return value


def _value(value: object) -> bytes:
    if not isinstance(value, str):
        return b""
    data = value[:MAX_VALUE].encode("utf-8", "replace")
    return data.replace(b"\0", b"")[:MAX_VALUE]


_INHERITED: list[dict[str, Inherited]] = [{}]
"""One table, replaced as a whole: policy -> what it left of our environment, as that was when it was looked at last."""


def inherited(policy: str) -> Inherited:
    """Return what a policy leaves of our own environment as it is now: the same object while nothing changes."""
    now = getattr(os.environb, "_data", os.environb)  # twenty times as fast as its items
    kept = _INHERITED[0]
    if kept.get("inherit") != now:
        kept = _INHERITED[0] = {"inherit": Inherited(now)}
    if policy not in kept:
        kept[policy] = Inherited(_under_policy(kept["inherit"], policy))
    return kept[policy]


def _under_policy(variables: Mapping[bytes, bytes], policy: str) -> dict[bytes, bytes]:
    if policy == "clean":
        return {name: value for name, value in variables.items() if name in CLEAN or name.startswith(b"LC_")}
    from hookrun.credentials import scrubbed

    return scrubbed(variables)


def prepare(hook: Hook, stdin: bytes, around: HookEnvironment, *, locks: str) -> Task | Failure:
    """Return the task that runs the hook, or the failure that is known before it is run.

    `locks` is the directory for the locks of exclusive hooks.
    """
    try:
        return _prepared(hook, stdin, around, locks)
    except ValueError as error:  # a NUL or half a character where the system takes none
        return Failure("spawn", f"{hook.location()}: it cannot be given to the system as it is: {error}")


def _prepared(hook: Hook, stdin: bytes, around: HookEnvironment, locks: str) -> Task | Failure:
    if hook.error is not None:
        return Failure("declaration", hook.error)
    marker = around.new_marker()
    environment = around.variables(hook, marker)
    cwd = around.directory(hook, environment)
    environment[b"PWD"] = os.fsencode(cwd)
    failure = check_program_exists(hook.look, environment, cwd)
    if failure is not None:
        return failure
    begin = (STARTS.get(hook.kind) or _starter(hook.kind))(hook, environment, cwd, around)
    if isinstance(begin, Failure):
        return begin
    return Task(
        begin,
        stdin,
        timeout=hook.timeout,
        max_output=hook.max_output,
        marker=marker,
        lock=_lock(hook, around.project, locks) if hook.exclusive else None,
    )


def _start_command(hook: Hook, environment: Environment, cwd: str, around: HookEnvironment) -> spawn.Start:
    return around.program(("/bin/sh", "-c", str(hook.target)), environment, cwd)


def _start_args(hook: Hook, environment: Environment, cwd: str, around: HookEnvironment) -> spawn.Start | Failure:
    argv = list(hook.target)
    if hook.dialect == "claude":
        argv = _with_claude_paths(argv, environment)
    program = resolve(argv[0], environment, cwd)
    if program is None:
        return _missing(argv[0])
    return around.program((program, *argv[1:]), environment, cwd)


def _start_python(hook: Hook, environment: Environment, cwd: str, around: HookEnvironment) -> spawn.Start | Failure:
    from hookrun.process import python_hook

    target = str(hook.target)
    if hook.interpreter is None and around.may_fork:
        return spawn.function(lambda: python_hook.run(target, cwd), environment, cwd)
    if hook.interpreter is None and not sys.executable:
        return _no_python(hook)
    interpreter = resolve(hook.interpreter or sys.executable, environment, cwd)
    if interpreter is None:
        return _missing(hook.interpreter or sys.executable)
    return around.program((interpreter, python_hook.__file__, target, cwd), environment, cwd)


def _start_url(hook: Hook, environment: Environment, cwd: str, around: HookEnvironment) -> spawn.Start | Failure:
    from hookrun.process import http_hook

    if around.may_fork:
        return spawn.function(lambda: http_hook.run(hook), environment, cwd)
    if not sys.executable:
        return _no_python(hook)
    environment[http_hook.REQUEST] = http_hook.as_environment(hook)
    return around.program((sys.executable, "-I", "-S", http_hook.__file__), environment, cwd)


def _no_python(hook: Hook) -> Failure:
    return Failure("spawn", f"this program knows no Python interpreter (sys.executable) that could run {hook.kind}")


STARTS = {"command": _start_command, "args": _start_args, "python": _start_python, "url": _start_url}
"""Kind of hook -> how it is started; another kind is started by `start` of its module `process/KIND_hook.py`."""


def _starter(kind: str) -> Callable[[Hook, dict[bytes, bytes], str, HookEnvironment], spawn.Start | Failure]:
    from importlib import import_module

    start: Callable[..., spawn.Start | Failure] = import_module(f"hookrun.process.{kind}_hook").start
    return start


def check_program_exists(words: object, environment: Mapping[bytes, bytes], cwd: str) -> Failure | None:
    """Look up the program and script that a declaration names plainly; return the failure if one is not there.

    Without this `python3 missing.py`, which exits 2, would be taken for a veto.
    """
    program, script = (*words, None, None)[:2] if isinstance(words, (list, tuple)) else (None, None)
    if isinstance(program, str) and resolve(program, environment, cwd) is None:
        return _missing(program if "/" not in program else expand(program, environment, cwd))
    if isinstance(script, str):
        return _check_script_exists(script, str(program), environment, cwd)
    return None


def _check_script_exists(script: str, program: str, environment: Mapping[bytes, bytes], cwd: str) -> Failure | None:
    path = expand(script, environment, cwd)
    if os.path.exists(path):  # also a directory: Python takes one with a __main__.py
        readable = os.access(path, os.R_OK)
        return None if readable else Failure("missing", f"its script {path} cannot be read: look at its permissions")
    if "/" not in script and os.path.basename(program) in SEARCH_PATH_FOR_SCRIPTS:
        for directory in _path(environment):
            if os.path.isfile(os.path.join(cwd, directory, script)):
                return None
    return Failure("missing", f"its script {path} {_what_is_there(path)}")


def expand(word: str, environment: Mapping[bytes, bytes], cwd: str) -> str:
    """Return the path that a plain word names: `~/` is the home directory, `${NAME}` at its beginning a variable."""
    if word.startswith("${"):
        name, _, rest = word[2:].partition("}")
        word = os.fsdecode(environment.get(os.fsencode(name), b"")) + rest
    elif word.startswith("~/"):
        word = os.fsdecode(environment.get(b"HOME", b"")) + word[1:]
    return os.path.join(cwd, word)


def resolve(word: str, environment: Mapping[bytes, bytes], cwd: str) -> str | None:
    """Return the path of a program as a shell in `cwd` would find it, None when it would not."""
    if "/" in word:
        path = expand(word, environment, cwd)
        return path if _executable(path) else None
    for directory in _path(environment):
        path = os.path.join(cwd, directory, word)
        if _executable(path):
            return path
    return None


def _path(environment: Mapping[bytes, bytes]) -> list[str]:
    return os.fsdecode(environment.get(b"PATH", os.defpath.encode())).split(":")


def _executable(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)


def _missing(program: str) -> Failure:
    if "/" not in program:
        return Failure("missing", f"its program {program} is not on PATH")
    return Failure("missing", f"its program {program} {_what_is_there(program)}")


def _what_is_there(path: str) -> str:
    if os.path.isdir(path):
        return "is a directory"
    if os.path.exists(path):
        return f"is not executable: chmod +x {path}"
    if os.path.islink(path):
        return f"is a link to {os.readlink(path)}, which does not exist"
    return "does not exist"


def _lock(hook: Hook, project: str, locks: str) -> str:
    """Return the lock file of an exclusive hook in this project."""
    from hookrun.state import file_name_for

    return f"{locks}/{file_name_for(project, hook.layer, hook.source, hook.name)}.lock"


def _claude_variables(hook: Hook, project: str) -> dict[bytes, bytes]:
    """Return what a hook in Claude's dialect has in its environment besides what every hook has."""
    own = {CLAUDE_PROJECT.encode(): os.fsencode(project)}
    plugin = hook.claude.get("plugin_root") if hook.claude is not None else None
    if isinstance(plugin, str):
        own[CLAUDE_PLUGIN.encode()] = os.fsencode(plugin)
    return own


def _with_claude_paths(words: list[str], environment: Mapping[bytes, bytes]) -> list[str]:
    """Return the words of `args` with `${CLAUDE_PROJECT_DIR}` and `${CLAUDE_PLUGIN_ROOT}` filled in, as plain text."""
    for name in (CLAUDE_PROJECT, CLAUDE_PLUGIN):
        value = environment.get(name.encode())
        if value is not None:
            words = [word.replace(f"${{{name}}}", os.fsdecode(value)) for word in words]
    return words


def _existing_directory(path: str, project: str, environment: Mapping[bytes, bytes]) -> str:
    """Return a working directory that is there: where the agent is, else the project, else home, else LAST_RESORT."""
    home = os.fsdecode(environment.get(b"HOME", b""))
    return next((each for each in (path, project, home) if os.path.isdir(each)), LAST_RESORT)
