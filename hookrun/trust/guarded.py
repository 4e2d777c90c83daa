"""Name the files that decide which hooks run, for hooks that protect them from the agent."""

from __future__ import annotations

import os
import sys

from hookrun import agents
from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import LAYER_FILES, LOCAL_FILE, MANAGED_DIRECTORY, PROJECT_FILES, find
from hookrun.core.files import is_within
from hookrun.core.state import home_directory
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.digest import SYSTEM
from hookrun.trust.hook_files import UnfitFilesError, files_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.core.model import Hook

CONFIG, OWN, SETTINGS, HOOK = "a declaration of hooks", "hookrun's own", "an agent's settings", "part of a hook"

# hookrun's own files in the home directory: the user's config files, approvals, audit, cache.
OWN_DIRECTORIES = (".config/hookrun", ".local/share/hookrun", ".local/state/hookrun", ".cache/hookrun")


def guarded_files(directory: str | None = None) -> dict[str, str]:
    """Return globs of the files that decide which hooks run, with the kind of file ("an agent's settings", ...).

    A glob that begins with `*/` matches a file in any directory; the others are absolute paths, in which `*` matches
    any text. Without a `directory` the globs are those that apply everywhere; with one, they include the scripts and
    files of the hooks in effect there, under their configured paths and the targets of links.

        >>> guarded_files()["*/.claude/settings.json"]
        "an agent's settings"
    """
    home = home_directory()
    found = {f"*/{name}": CONFIG for name in (*PROJECT_FILES, LOCAL_FILE)}
    found |= {f"{MANAGED_DIRECTORY}/{name}": CONFIG for name in LAYER_FILES}
    found |= {f"{home}/{each}/*": OWN for each in OWN_DIRECTORIES}
    found |= {f"*/{each}": SETTINGS for each in agents.settings_globs()}
    if directory is not None:
        compiled = load_compiled(find(directory, home))
        environment = HookEnvironment({}, project=directory, request_id="")
        for hook in compiled.hooks() if compiled is not None else ():
            for path in _files(hook, environment):
                for each in (os.path.normpath(path), os.path.realpath(path)):
                    if not each.startswith(SYSTEM) or is_within(each, directory):
                        found.setdefault(each, HOOK)
                        found |= dict.fromkeys(_shadows(each), HOOK)
    return found


def _shadows(path: str) -> Iterator[str]:
    """Yield the paths of files that a Python hook would load as standard modules: it looks beside itself first."""
    directory, slash, name = path.rpartition("/")
    for each in sys.stdlib_module_names if name.endswith((".py", ".pyw")) else ():
        yield from (f"{directory}{slash}{each}.py", f"{directory}{slash}{each}/__init__.py")


def _files(hook: Hook, environment: HookEnvironment) -> Iterator[str]:
    """Yield a hook's files covered by an approval; data named in its command may be edited."""
    # The approval covers a Makefile or package.json that the program reads, but agents may edit it.
    hook.words = [each for each in hook.words or () if not each.startswith("up:")]
    try:
        for file in files_of(hook, *environment.variables_and_directory(hook), environment.project):
            yield file.path
    except UnfitFilesError:
        return
