"""Run a `python` hook in a child forked for it: an ordinary Python, in which the hook's own modules come first."""

from __future__ import annotations

import gc
import os
import sys

from hookrun.core import fastjson
from hookrun.process import python_hook

# Beginning of hookrun's own functions, which need no ordinary Python.
RECIPES = "hookrun.recipes."
# What they print for None: a process that native code has ended, with whatever exit status, prints nothing.
ALLOWED = "null"
# What every started Python has; and hookrun.
ALWAYS_LOADED = frozenset({
    "__main__", "_collections_abc", "_sitebuiltins", "abc", "codecs", "encodings", "genericpath", "hookrun",
    "importlib", "io", "os", "posixpath", "site", "stat", "zipimport", *sys.builtin_module_names,
})  # fmt: skip
SUFFIXES = (".py", ".pyc", ".so")


def run(target: str, directory: str) -> int:
    """Run the function of a hook in this process, without the modules that `json` loads."""
    load_site()
    if target.startswith(RECIPES):  # they end before garbage matters
        return python_hook.run(target, directory, _loads, _dumps, nothing=ALLOWED)
    _forget_shadowed(directory)
    gc.enable()
    return python_hook.run(target, directory, _loads, _dumps)


def serve(target: str, directory: str) -> int:
    """Run the function of a hook that serves, likewise."""
    load_site()
    _forget_shadowed(directory)
    return python_hook.serve(target, directory, _loads, _dumps)


def load_site() -> None:
    """Have the installed packages on the path, and whatever else Python does at its start but launchers leave out."""
    if sys.flags.no_site and "site" not in sys.modules:
        import site

        site.main()


def _loads(text: str) -> object:
    return fastjson.scan(text, 0)[0]


def _dumps(value: object) -> str:
    try:
        return fastjson.dumps(value)
    except (TypeError, ValueError):
        import json

        return json.dumps(value)  # with NaN, which makes the verdict wrong, or its own error


def _forget_shadowed(directory: str) -> None:
    """Find a hook's modules before loaded ones of the same names.

    What is loaded depends on earlier runs. So if a name is taken, everything is imported anew except what each Python
    has, extension modules, which may not bear it, and the packages around them.
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
