"""Why a hook could not be started though its program is there: seen from its files, without running anything."""

from __future__ import annotations

import os
import sys
from errno import ENOEXEC
from importlib.machinery import PathFinder

from hookrun.model import Failure
from hookrun.process.prepare import expand, resolve
from hookrun.process.spawn import cannot_enter, explain_exec_error, interpreter_of, missing_interpreter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.model import Hook
    from hookrun.process.prepare import HookEnvironment


def cannot_start(hook: Hook, around: HookEnvironment) -> Failure | None:
    """Return how the hook would fail before its program begins, None where nothing tells that it would."""
    if hook.error is not None:
        return None
    environment = around.variables(hook, b"")
    try:
        directory = around.directory(hook, environment)
        return _directory(directory) or _module(hook, directory) or _program(hook, environment, directory)
    except ValueError:  # half a character: that is told by who prepares it
        return None


def _directory(path: str) -> Failure | None:
    try:
        os.stat(f"{path}/.")
    except OSError as error:
        return cannot_enter(path, error).failure
    return None


def _module(hook: Hook, directory: str) -> Failure | None:
    """Look for the file of a Python hook's topmost package; one of another interpreter is looked for by that."""
    if hook.kind != "python" or hook.interpreter is not None:
        return None
    name = str(hook.target).partition(":")[0].partition(".")[0]
    if name in sys.modules or name in sys.builtin_module_names or PathFinder.find_spec(name, [directory, *sys.path]):
        return None
    return Failure("missing", f"there is no module {name} (looked in {directory} and the interpreter's own path)")


def _program(hook: Hook, environment: Mapping[bytes, bytes], directory: str) -> Failure | None:
    """Look at the first line of the script that is a hook's program; a shell runs one without a #! line itself."""
    word = hook.target[0] if hook.kind == "args" else hook.look[0] if hook.look else None
    path = resolve(word, environment, directory) if isinstance(word, str) else None
    if path is None:
        return None
    interpreter = interpreter_of(path)
    if interpreter is not None:
        there = os.path.exists(expand(interpreter, {}, directory))
        return None if there else missing_interpreter(path, interpreter)
    if hook.kind == "args" and _is_text(path):
        return explain_exec_error(path, OSError(ENOEXEC, os.strerror(ENOEXEC)))
    return None


def _is_text(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:
            return b"\0" not in file.read(256)
    except OSError:
        return False
