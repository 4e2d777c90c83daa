"""Run the hook `package.module:function` in a child process: forked, or a script of another interpreter.

Standard library only: this file also runs as a script, in an interpreter without hookrun.
"""

import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    Loads = Callable[[str], Any]
    Dumps = Callable[[object], str]

# Exit status, as a shell's, for a missing function; stderr begins with NOT_FOUND_MARK.
NOT_FOUND = 127
NOT_FOUND_MARK = "hookrun: "


def run(
    target: str,
    directory: str,
    loads: "Loads | None" = None,
    dumps: "Dumps | None" = None,
    *,
    nothing: "str | None" = None,
) -> int:
    """Call the function with the context on stdin, print its result as JSON, return the exit status.

    What the function prints goes to stderr: stdout is for the verdict. `nothing` is printed for None.
    """
    answer_to = os.dup(1)
    os.dup2(2, 1)
    try:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # the standard stream itself
        if directory:
            sys.path.insert(0, directory)
        context = (loads or _loads)(sys.stdin.read())
        function = _find(target)
        if function is None:
            return NOT_FOUND
        text = answer(function, context, dumps or _dumps) or nothing
        if text is not None:
            with open(answer_to, "w", encoding="utf-8", closefd=False) as stdout:
                stdout.write(text)
        return 0
    finally:
        os.close(answer_to)


def _loads(text: str) -> "Any":  # a JSON value
    import json

    return json.loads(text)


def _dumps(data: object) -> str:
    import json

    return json.dumps(data)


def serve(target: str, directory: str, loads: "Loads | None" = None, dumps: "Dumps | None" = None) -> int:
    """Do the same for each line of stdin: answer `{"id", "hook", "context"}` with `{"id", "verdict"}`."""
    lines, stdout = open(os.dup(0), "rb"), open(os.dup(1), "wb")  # noqa: SIM115  # until the end of the process
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nothing else may read the next line
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # the standard stream itself
    sys.path.insert(0, directory)
    function = _find(target)
    if function is None:
        return NOT_FOUND
    versions: dict[str, object] = {}
    while not _have_changed(directory, versions):
        line = lines.readline()
        if not line:
            break
        asked = (loads or _loads)(line.decode())
        text = answer(function, asked["context"], dumps or _dumps)
        sys.stdout.flush()
        stdout.write(f'{{"id":"{asked["id"]}","verdict":{text or "null"}}}\n'.encode())
        stdout.flush()
        _have_changed(directory, versions)
        select.select([lines], [], [])  # an unread line goes to a new process
    return 0


def _have_changed(directory: str, versions: "dict[str, object]") -> bool:
    """Note the module files below the directory; return whether one has changed since it was first noted."""
    below, changed = os.path.join(os.path.abspath(directory), ""), False
    for path in {getattr(module, "__file__", None) for module in list(sys.modules.values())}:
        if isinstance(path, str) and path.startswith(below):
            try:
                found = os.stat(path)
                version = (found.st_mtime_ns, found.st_size)
            except OSError:
                version = None
            changed |= versions.setdefault(path, version) != version
    return changed


def answer(function: "Callable[..., Any]", context: "Mapping[str, object]", dumps: "Dumps") -> "str | None":
    """Call the function; return its verdict as JSON, None for nothing."""
    try:
        found = function(context)
        if hasattr(found, "__await__"):
            import asyncio

            found = asyncio.run(_awaited(found))
    except Exception as error:
        found = _meant(error, str(context.get("event")))
        if found is None:
            raise
    if found is None:
        return None
    return _as_json(found.to_dict() if hasattr(found, "to_dict") else found, dumps)


def _meant(error: Exception, event: str) -> "Any":  # it has `to_dict`
    """Return the verdict of a hookrun exception, None for any other."""
    if "hookrun" not in sys.modules:
        return None
    from hookrun.core.refusals import from_exception

    return from_exception(error, event)


def _as_json(data: object, dumps: "Dumps") -> str:
    """Return the answer as JSON; a refusal's fields without a JSON form become text."""
    try:
        return dumps(data)
    except (TypeError, ValueError, RecursionError):
        if not isinstance(data, dict) or data.get("action") not in ("block", "skip", "ask", "stop"):
            raise
        fields = {}
        for name, value in data.items():
            try:
                fields[str(name)] = _loads(dumps(value))
            except (TypeError, ValueError, RecursionError):
                fields[str(name)] = _as_text(value)
        return dumps(fields)


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # a program's own object
        return type(value).__name__


async def _awaited(answer: "Awaitable[object]") -> object:
    return await answer


def _find(target: str) -> "Any":  # what the module has by that name
    """Return the function `package.module:function`, or None with the reason on stderr."""
    name, _, path = target.partition(":")
    try:
        __import__(name)
        found = sys.modules[name]
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise
        print(
            f"{NOT_FOUND_MARK}no module {name} (looked in {sys.path[0]} and on the interpreter's own path)",
            file=sys.stderr,
        )
        return None
    for part in path.split("."):
        if not hasattr(found, part):
            print(f"{NOT_FOUND_MARK}module {name} has no {path}", file=sys.stderr)
            return None
        found = getattr(found, part)
    if not callable(found):
        print(f"{NOT_FOUND_MARK}{target} is not a function", file=sys.stderr)
        return None
    return found


if __name__ == "__main__":
    if sys.path[:1] == [os.path.dirname(os.path.abspath(__file__))]:
        del sys.path[0]  # ours must not shadow the hook's modules: one is called http
    sys.exit((serve if sys.argv[3:] else run)(sys.argv[1], sys.argv[2]))
