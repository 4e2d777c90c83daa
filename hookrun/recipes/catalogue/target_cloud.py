"""Find where in a cloud a call is aimed: by its words and variables, and by the settings in which tools keep it."""

from __future__ import annotations

import os
import re

from hookrun.core.files import read_or_none
from hookrun.core.globs import glob
from hookrun.recipes.catalogue.target_kinds import Target, variable
from hookrun.recipes.catalogue.tool_call import MAX_FILE
from hookrun.recipes.protected_paths import TEMPORARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.recipes.catalogue.compiled_rows import Row
    from hookrun.recipes.catalogue.tool_call import ToolCall


def cloud(call: ToolCall) -> Target:
    """Return what a call names: its options, variables, the current context in settings, and its operands.

    A context on this machine is all: `kubectl --context minikube delete namespace prod` is aimed at nothing else. No
    file is: a plan in a temporary directory has a cloud for its target, so that of a file only its name counts.
    """
    row = call.row
    names = [each for each in row.get("names", ()) if each != "*"]
    values = (value for name, value in call.options if any(glob(each, name) for each in names))
    contexts = [part for value in values for part in _parts(value)]
    contexts += (variable(call, each) for each in row.get("variables", ()))
    contexts += _current(call)
    here = [each for each in contexts if Target([each], remote=call.is_remote).kind([], [])[0] == "local"]
    operands = [each for each in call.named() if "*" in row.get("names", ()) and each[:1] not in {"/", ".", "~"}]
    return Target(here[:1] or [*contexts, *call.hosts, *operands], remote=call.is_remote)


def _parts(value: str) -> list[str]:
    """Return a name, and the directories in a path, of which a temporary one says nothing."""
    path = next((value[len(each) + 1 :] for each in TEMPORARY if value.startswith(f"{each}/")), value)
    return [path] if "://" in path or path[:1] == "/" else [path, *path.split("/")[:-1]]


def _current(call: ToolCall) -> Iterator[str]:
    """Yield the current contexts that the row's `settings` find, each as `{}` in the file names of the next."""
    found = "default"
    for each in call.row.get("settings", ()):
        given = {name for name, _ in call.options}
        if given.isdisjoint(each.get("unless", ())):
            match = next(filter(None, (re.search(each["finds"], text) for text in _texts(call, each, found))), None)
            if match is not None:
                found = match[1]
                yield found


def _texts(call: ToolCall, setting: Row, found: str) -> Iterator[str]:
    """Yield the texts of the regular files that are there, of the first that names any: an option, a variable, a path.

    As kubectl does, a variable may name several files, and those of the next are not looked at if none is there.
    """
    options = dict(call.options)
    directory = os.path.join(call.directory or "/", options.get(setting.get("directory", ""), ""))
    for each in setting["files"]:
        named = options.get(each) or (variable(call, each[1:]) if each[0] == "$" else "" if each[0] == "-" else each)
        for path in named.replace("{}", found).split(os.pathsep):
            data = read_or_none(os.path.join(directory, os.path.expanduser(path)), MAX_FILE) if path else None
            if data is not None:
                yield data.decode("utf-8-sig", errors="replace")
        if named and each[0] in "-$":
            return
