"""Prepare a hook: compute its environment and working directory, find its program, detect early failures."""

from __future__ import annotations

import os
import sys

from hookrun.core.credentials import NAME_ENDS, NAME_WORDS
from hookrun.core.model import UNTRUSTED_LAYERS, Failure
from hookrun.core.nesting import NESTING
from hookrun.process.child import Task, posix_spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hookrun.core.model import Hook
    from hookrun.process.child import Start
    from hookrun.process.coprocess import Coprocesses

# Bytes of a value in a hook's environment; the context has all of it.
MAX_VALUE = 4096

# Variables withheld from a program that answers several lines; the context has their values.
OF_ONE_RUN = (
    *(b"HOOKRUN_EVENT", b"HOOKRUN_AGENT", b"HOOKRUN_SESSION_ID", b"HOOKRUN_TOOL", b"HOOKRUN_WORKING_DIR"),
    b"HOOKRUN_REQUEST_ID",
)

# Variables that `env_policy: clean` keeps, besides LC_* and hookrun's own.
CLEAN = frozenset(
    {b"PATH", b"HOME", b"USER", b"LOGNAME", b"SHELL", b"LANG", b"LANGUAGE", b"TERM", b"TMPDIR", b"TZ", b"NO_COLOR"}
)

# Every `env_policy`, the strictest last.
POLICIES = ("inherit", "scrub", "clean")

# Parts and ends of variables' names that `env_policy: scrub` removes: an agent's socket is only a path, but opens keys.
VARIABLE_WORDS = (b"AUTH_SOCK", *(each.upper().encode() for each in NAME_WORDS))
VARIABLE_ENDS = (b"-KEY", *(each.upper().encode() for each in NAME_ENDS))

# Shells that look on PATH for a script without a slash that is not in the working directory.
SEARCH_PATH_FOR_SCRIPTS = frozenset({"sh", "bash", "ksh", "mksh"})

CLAUDE_PROJECT, CLAUDE_PLUGIN = "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"
LAST_RESORT = "/tmp"  # noqa: S108  # a working directory if even the home directory is gone; nothing is put there


def program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str) -> Start:
    """Return a function that starts argv[0] (a path). For a single-threaded process: it changes directory.

    The new process leads its own session, with every signal at its default and unblocked.
    """

    def start(stdin: int, stdout: int, stderr: int) -> int:
        try:
            return posix_spawn(argv, environment, (stdin, stdout, stderr), cwd=cwd)
        except (OSError, ValueError, NotImplementedError) as error:
            from hookrun.process import spawn  # rare

            return spawn.start_otherwise(error, argv, environment, cwd)(stdin, stdout, stderr)

    return start


class HookEnvironment:
    """What the hooks of one run share: project, working directory, variables, and how a program is started.

    Without `may_fork`, as with threads, Python functions and URLs run in a new interpreter. `settings` are effective:
    `project_env_policy` limits what a project's hooks inherit, `path` adds to PATH, `claude_env` are the variables that
    Claude Code's settings above a project give its hooks. With an agent this process's environment is untrusted: `home`
    replaces HOME, and HOOKRUN_CHAIN is the only HOOKRUN_* inherited. `coprocesses` are the programs kept between runs.
    """

    def __init__(
        self,
        context: Mapping[str, object],
        *,
        project: str,
        request_id: str,
        program: Callable[[tuple[str, ...], Mapping[bytes, bytes], str], Start] = program,
        may_fork: bool = True,
        settings: Mapping[str, object] | None = None,
        home: str | None = None,
        coprocesses: Coprocesses | None = None,
    ) -> None:
        self.project = project
        self.coprocesses = coprocesses
        given = settings or {}
        self._project_env_policy = given.get("project_env_policy")
        place = _ours() if home is None else {b"HOME": os.fsencode(home)}
        added = [expand(each, place, "/") for each in given.get("path") or ()]  # type: ignore[attr-defined]
        self._more_path = os.fsencode("".join(f":{each}" for each in added))
        self._claude_env: Mapping[str, Mapping[str, str]] = given.get("claude_env") or {}  # type: ignore[assignment]
        self.program = program
        self.may_fork = may_fork
        self.event = str(context.get("event") or "")
        self.event_directory = _directory(context.get("working_dir"), project)
        self._request_id = request_id.encode()
        self._home = home
        self._hookrun_vars = {
            b"HOOKRUN_EVENT": _value(context.get("event")),
            b"HOOKRUN_AGENT": _value(context.get("agent")),
            b"HOOKRUN_SESSION_ID": _value(context.get("session_id")),
            b"HOOKRUN_TOOL": _value(context.get("tool_name")),
            b"HOOKRUN_PROJECT_DIR": os.fsencode(project),
            b"HOOKRUN_WORKING_DIR": os.fsencode(self.event_directory),
            b"HOOKRUN_REQUEST_ID": self._request_id,
        }
        self._count = 0

    def new_marker(self) -> bytes:
        """Return a string that no other run has in its environment."""
        # Counted, to tell apart descendants of hooks side by side (orphans.py).
        self._count += 1
        return b"%b.%d;" % (self._request_id, self._count)

    def variables(self, hook: Hook, marker: bytes) -> dict[bytes, bytes]:
        """Return a run's environment: inherited, configured and hookrun's own variables."""
        return {**self._inherited(self.env_policy(hook)), **self.own_variables(hook, marker)}

    def _inherited(self, policy: str) -> Mapping[bytes, bytes]:
        """Return our environment filtered by a policy; for an agent, without variables of hookrun and recipes.

        A project can set an agent's environment, but must not set the user's guards' options.
        """
        found = inherited(policy)
        if self._more_path:
            found = {**found, b"PATH": found.get(b"PATH", os.defpath.encode()) + self._more_path}
        if self._home is None:
            return found
        return {name: value for name, value in found.items() if not name.startswith(b"HOOKRUN_")}

    def own_variables(self, hook: Hook, marker: bytes) -> dict[bytes, bytes]:
        """Return a run's variables that it does not inherit."""
        own = {b"HOME": os.fsencode(self._home)} if self._home is not None else {}
        if hook.env or self._claude_env:
            for variables in (self._from_claude(hook, "user"), hook.env or {}, self._from_claude(hook, "managed")):
                for name, value in variables.items():
                    own[os.fsencode(name)] = os.fsencode(value)
        own.update(self._hookrun_vars)
        own[b"HOOKRUN_HOOK"] = _value(hook.name)
        own[b"HOOKRUN_CONFIG_DIR"] = os.fsencode(hook.source.rpartition("/")[0] or self.project)
        own[NESTING] = _ours().get(NESTING, b"") + marker
        for name in hook.allowed_env:  # for the headers of a URL
            if (granted := self._inherited("inherit").get(os.fsencode(name))) is not None:
                own.setdefault(os.fsencode(name), granted)
        if hook.dialect != "hookrun":
            names: tuple[str, ...] = (CLAUDE_PROJECT,)
            if hook.dialect != "claude":
                from hookrun.agents.dialects import dialect

                names += dialect(hook.dialect).variables
            for name in names:
                own[name.encode()] = os.fsencode(self.project)
            if hook.claude is not None and hook.claude.plugin_root is not None:
                own[CLAUDE_PLUGIN.encode()] = os.fsencode(hook.claude.plugin_root)
        return own

    def _from_claude(self, hook: Hook, layer: str) -> Mapping[str, str]:
        """Return the variables that the `env` of a layer's Claude Code settings gives a hook of theirs."""
        claude = hook.claude
        if not self._claude_env or claude is None or not (claude.own or claude.plugin_root):
            return {}
        return {} if layer == "user" and hook.layer == "managed" else self._claude_env.get(layer, {})

    def discard_program(self, hook: Hook) -> None:
        """Keep no program of a hook that may not run."""
        if self.coprocesses is not None:
            self.coprocesses.discard(hook, self.project)

    def env_policy(self, hook: Hook) -> str:
        """Return the hook's environment policy: as configured, for a project's hook at least the user's limit.

        A project's default is `scrub`, except in an agent's dialect: agents pass hooks the whole environment.
        """
        floor = self._project_env_policy or ("scrub" if hook.dialect == "hookrun" else "inherit")
        if hook.layer not in UNTRUSTED_LAYERS or floor not in POLICIES:
            return hook.env_policy
        return max(hook.env_policy, str(floor), key=POLICIES.index)

    def variables_and_directory(self, hook: Hook, marker: bytes = b"") -> tuple[dict[bytes, bytes], str]:
        """Return a run's environment and working directory."""
        variables = self.variables(hook, marker)
        return variables, self._directory(hook, variables)

    def _directory(self, hook: Hook, variables: Mapping[bytes, bytes]) -> str:
        """Return a hook's working directory; a relative one starts at the project's root."""
        if hook.cwd == "project":
            return self.project
        if hook.cwd == "event":
            if hook.dialect == "claude":
                home = os.fsdecode(variables.get(b"HOME", b""))
                places = (self.event_directory, self.project, home)
                return next((each for each in places if os.path.isdir(each)), LAST_RESORT)
            return self.event_directory
        return expand(hook.cwd, variables, self.project)


def _directory(value: object, otherwise: str) -> str:
    """Return the value if it is a representable absolute path."""
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


# Variables with which git tells its own hooks their repository: `git rev-parse --local-env-vars` of git 2.39.
# Inherited, they would have a hook's git look into the caller's repository.
OF_A_REPOSITORY = (
    b"GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_OBJECT_DIRECTORY GIT_DIR "
    b"GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE "
    b"GIT_PREFIX GIT_INTERNAL_SUPER_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR"
).split()

# Policy -> our environment filtered by it; replaced when our environment has changed.
_INHERITED: list[dict[str, dict[bytes, bytes]]] = [{}]


def inherited(policy: str) -> Mapping[bytes, bytes]:
    """Return our current environment filtered by a policy; read-only."""
    now = _ours()
    # Cached until our environment changes: a long-lived program would filter it for each hook.
    kept = _INHERITED[0]
    if kept.get("inherit") != now:
        kept = _INHERITED[0] = {"inherit": dict(now)}
        for name in (b"", *OF_A_REPOSITORY):  # no process can start with a variable without a name
            kept["inherit"].pop(name, None)
    if policy not in kept:
        kept[policy] = _under_policy(kept["inherit"], policy)
    return kept[policy]


def _ours() -> Mapping[bytes, bytes]:
    """Return our current environment; read-only."""
    return getattr(os.environb, "_data", os.environb)  # twenty times as fast as its items


def _under_policy(variables: Mapping[bytes, bytes], policy: str) -> dict[bytes, bytes]:
    """Return the variables that `clean` keeps, or for `scrub` those not named like a credential."""
    if policy == "clean":
        return {name: value for name, value in variables.items() if name in CLEAN or name.startswith(b"LC_")}
    names = b"\n".join(variables).upper()
    words = [word for word in VARIABLE_WORDS if word in names]  # usually few: most names are looked at once
    return {name: value for name, value in variables.items() if not looks_like_credential(name, words)}


def looks_like_credential(name: bytes, words: Collection[bytes] = VARIABLE_WORDS) -> bool:
    """Return whether an environment variable's name suggests a credential."""
    upper = name.upper()
    return upper.endswith(VARIABLE_ENDS) or bool(words and any(word in upper for word in words))


def prepare(hook: Hook, stdin: bytes, environment: HookEnvironment, *, locks: Callable[[], str]) -> Task | Failure:
    """Return the hook's task, or a failure known in advance.

    `locks` returns the directory for the locks of exclusive hooks.
    """
    try:
        return _prepared(hook, stdin, environment, locks)
    except ValueError as error:  # a NUL or a lone surrogate where the system accepts none
        return Failure("spawn", f"{hook.location()}: cannot be passed to the system: {error}")


def _prepared(hook: Hook, stdin: bytes, environment: HookEnvironment, locks: Callable[[], str]) -> Task | Failure:
    if hook.error is not None:
        return Failure("declaration", hook.error)
    marker = environment.new_marker()
    variables, cwd = environment.variables_and_directory(hook, marker)
    variables[b"PWD"] = os.fsencode(cwd)
    for name in OF_ONE_RUN if hook.serve else ():
        variables.pop(name, None)
    if (failure := check_program_exists(hook.look, variables, cwd)) is not None:
        return failure
    starter = STARTS.get(hook.kind)
    if starter is None:
        from importlib import import_module

        starter = import_module(f"hookrun.process.{hook.kind}_hook").start
    begin: Start | Failure = starter(hook, variables, cwd, environment)
    if isinstance(begin, Failure):
        return begin
    task = Task(
        begin,
        stdin,
        timeout=hook.timeout,
        max_output=hook.max_output,
        marker=marker,
        lock=_lock(hook, environment.project, locks()) if hook.exclusive else None,
    )
    if hook.serve:
        from hookrun.process import coprocess

        program = resolve(hook.look[0], variables, cwd) if hook.look else None
        task.line = coprocess.line_for(hook, variables, cwd, environment, program)
        task.stdin = coprocess.wrap(hook, task.line.number, stdin)
    return task


def _start_args(hook: Hook, variables: dict[bytes, bytes], cwd: str, environment: HookEnvironment) -> Start | Failure:
    if hook.kind == "command":
        return environment.program(("/bin/sh", "-c", str(hook.target)), variables, cwd)
    argv = list(hook.target)
    if hook.dialect == "claude":
        argv = _with_claude_paths(argv, variables)
    program = resolve(argv[0], variables, cwd)
    if program is None:
        return _missing(argv[0], variables)
    return environment.program((program, *argv[1:]), variables, cwd)


def _start_python(hook: Hook, variables: dict[bytes, bytes], cwd: str, environment: HookEnvironment) -> Start | Failure:
    from hookrun.process import python_hook, spawn

    target = str(hook.target)
    if hook.interpreter is None and environment.may_fork:
        from hookrun.process import python_child

        call = python_child.serve if hook.serve else python_child.run
        return spawn.function(lambda: call(target, cwd), variables, cwd)
    if hook.interpreter is None and not sys.executable:
        return _no_python(hook)
    interpreter = resolve(hook.interpreter or sys.executable, variables, cwd)
    if interpreter is None:
        return _missing(hook.interpreter or sys.executable, variables)
    serve = ("serve",) if hook.serve else ()
    return environment.program((interpreter, python_hook.__file__, target, cwd, *serve), variables, cwd)


def _start_url(hook: Hook, variables: dict[bytes, bytes], cwd: str, environment: HookEnvironment) -> Start | Failure:
    from hookrun.process import http_hook, spawn

    arguments = {name: getattr(hook, name) for name in ("target", "headers", "allowed_env", "max_output")}
    if environment.may_fork:
        return spawn.function(lambda: http_hook.run(**arguments), variables, cwd)
    if not sys.executable:
        return _no_python(hook)
    import json

    variables[http_hook.REQUEST] = json.dumps(arguments).encode()
    return environment.program((sys.executable, "-I", "-S", http_hook.__file__), variables, cwd)


def _no_python(hook: Hook) -> Failure:
    return Failure("spawn", f"no Python interpreter can run a `{hook.kind}` hook: sys.executable is not set")


# Kind of hook -> how to start it; other kinds use `start` of their module `process/KIND_hook.py`.
STARTS = {"command": _start_args, "args": _start_args, "python": _start_python, "url": _start_url}


def check_program_exists(words: object, variables: Mapping[bytes, bytes], cwd: str) -> Failure | None:
    """Return a failure if a program or script named literally does not exist.

    Without this check `python3 missing.py`, which exits 2, would look like a block.
    """
    program, script = (*words, None, None)[:2] if isinstance(words, (list, tuple)) else (None, None)
    if isinstance(program, str) and resolve(program, variables, cwd) is None:
        return _missing(program if "/" not in program else expand(program, variables, cwd), variables)
    if isinstance(script, str):
        return _check_script_exists(script, str(program), variables, cwd)
    return None


def _check_script_exists(script: str, program: str, variables: Mapping[bytes, bytes], cwd: str) -> Failure | None:
    path = expand(script, variables, cwd)
    if os.path.exists(path):  # also a directory: Python accepts one with a __main__.py
        readable = os.access(path, os.R_OK)
        return None if readable else Failure("missing", f"its script {path} cannot be read: check its permissions")
    if "/" not in script and os.path.basename(program) in SEARCH_PATH_FOR_SCRIPTS:
        for directory in _path(variables):
            if os.path.isfile(os.path.join(cwd, directory, script)):
                return None
    return Failure("missing", f"its script {path} {_what_is_there(path)}")


def expand(word: str, variables: Mapping[bytes, bytes], cwd: str) -> str:
    """Return a word's path, with a leading `~/` or `${NAME}` expanded."""
    if word.startswith("${"):
        name, _, rest = word[2:].partition("}")
        word = os.fsdecode(variables.get(os.fsencode(name), b"")) + rest
    elif word.startswith("~/"):
        word = os.fsdecode(variables.get(b"HOME", b"")) + word[1:]
    return os.path.join(cwd, word)


def resolve(word: str, variables: Mapping[bytes, bytes], cwd: str) -> str | None:
    """Return a program's path as a shell in `cwd` finds it, or None."""
    if "/" in word:
        path = expand(word, variables, cwd)
        return path if _executable(path) else None
    for directory in _path(variables):
        path = os.path.join(cwd, directory, word)
        if _executable(path):
            return path
    return None


def _path(variables: Mapping[bytes, bytes]) -> list[str]:
    return os.fsdecode(variables.get(b"PATH", os.defpath.encode())).split(":")


def _executable(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)


def _missing(program: str, variables: Mapping[bytes, bytes]) -> Failure:
    if "/" not in program:
        whose = os.fsdecode(variables.get(b"HOOKRUN_AGENT") or b"this process")
        return Failure("missing", f"its program {program} is not on the PATH of {whose} (`hookrun.path` adds to it)")
    return Failure("missing", f"its program {program} {_what_is_there(program)}")


def _what_is_there(path: str) -> str:
    if os.path.isdir(path):
        return "is a directory"
    if os.path.exists(path):
        return f"is not executable: run `chmod +x {path}`"
    if os.path.islink(path):
        return f"is a link to {os.readlink(path)}, which does not exist"
    return "does not exist"


def _lock(hook: Hook, project: str, locks: str) -> str:
    """Return the lock file of an exclusive hook in this project."""
    from hookrun.core.state import file_name_for

    return f"{locks}/{file_name_for(project, hook.layer, hook.source, hook.name)}.lock"


def _with_claude_paths(words: list[str], variables: Mapping[bytes, bytes]) -> list[str]:
    """Return `args` with `${CLAUDE_PROJECT_DIR}` and `${CLAUDE_PLUGIN_ROOT}` replaced."""
    for name in (CLAUDE_PROJECT, CLAUDE_PLUGIN):
        if (value := variables.get(name.encode())) is not None:
            words = [word.replace(f"${{{name}}}", os.fsdecode(value)) for word in words]
    return words
