"""Find the agent's directory, the project root, the file that a tool uses, and the project's own programs."""

from __future__ import annotations

import os

from hookrun.files import is_within, upwards
from hookrun.recipes.recipe import Option, one_of
from hookrun.state import CONFIG_DIR, home_directory
from hookrun.text import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun import Context
    from hookrun.recipes.recipe import Recipe

WRITING_TOOLS = "write|edit|Write|Edit|MultiEdit"
"""The tools that change one file whose path is in their arguments, also by the names that agents give them."""
TOOL_DIRECTORIES = ("node_modules/.bin", ".venv/bin")
"""Where a project keeps its own programs."""

PROJECT_TOOLS = Option(
    "project_tools",
    "auto",
    "Whether to run programs from the project's `node_modules/.bin` and `.venv/bin`: `yes`, `no`, or `auto` (yes if "
    "the project's config has this hook, no if it is in your own).",
    choices=("auto", "yes", "no"),
)
"""The option of recipes that may run a project's own tools."""


def project_tools_allowed(recipe: Recipe) -> bool:
    """Return whether programs from the project's own directories may run, by the option `project_tools`.

    `auto`: only if the project configures this hook itself, which the user has then approved. A hook in the user's own
    config runs in every project, also in untrusted ones.
    """
    wanted = one_of(recipe, PROJECT_TOOLS.name)
    if wanted != "auto":
        return wanted == "yes"
    config = os.path.realpath(os.environ.get("HOOKRUN_CONFIG_DIR", "/"))
    project = os.path.realpath(os.environ.get("HOOKRUN_PROJECT_DIR", "/"))
    own = os.path.realpath(home_directory() + CONFIG_DIR)
    return project != "/" and is_within(config, project) and not is_within(config, own)


def working_directory(context: Mapping[str, object]) -> str:
    """Return the agent's directory with links resolved, else the project's root."""
    directory = context.get("working_dir")
    if not isinstance(directory, str) or not os.path.isabs(directory):
        directory = os.environ.get("HOOKRUN_PROJECT_DIR", os.curdir)
    return os.path.realpath(directory)


def project_root(context: Mapping[str, object]) -> str:
    """Return the project's root; if the agent works outside of it, that of the repository there."""
    here = working_directory(context)
    project = os.path.realpath(os.environ.get("HOOKRUN_PROJECT_DIR", here))
    return project if is_within(here, project) else repository(here)


def named_file(ctx: Context) -> str | None:
    """Return the path of the file that a context is about, absolute but not normalized; None if there is none.

    If `link` is a symbolic link, `link/../a` need not be `a`: to see where a write goes, the path is needed as the tool
    gets it. A relative path is relative to `working_dir`, else to the current directory.
    """
    path = ctx.tool_args.get("file_path")
    if not isinstance(path, str):
        path = ctx.file_path
    if not path or "\0" in path:
        return None
    return os.path.join(_agent_directory(ctx), path)


def _agent_directory(ctx: Context) -> str:
    return os.path.abspath(ctx.working_dir or os.curdir)


def repository(directory: str) -> str:
    """Return the nearest directory at or above `directory` that has a `.git`, links resolved; else `directory`."""
    start = os.path.realpath(directory)
    return next((each for each in upwards(start, os.sep) if os.path.lexists(os.path.join(each, ".git"))), start)


class EditedFile:
    """A file that the agent has written: `path` and repository `root` with links resolved, `shown` to the model."""

    def __init__(self, path: str, root: str, working_directory: str) -> None:
        inside = is_within(path, working_directory)
        self.path = path
        self.root = root
        self.shown = escape(os.path.relpath(path, working_directory if inside else root))
        around = (*upwards(os.path.dirname(path), root), *upwards(working_directory, root))
        self._directories = tuple(dict.fromkeys(around))

    @property
    def ending(self) -> str:
        """The extension of the file's name, with its dot, in lower case."""
        return os.path.splitext(self.path)[1].lower()

    def search_path(self, *, project_tools: bool) -> str:
        """Return the PATH for programs that handle this file: the project's own directories come first."""
        own = [os.path.join(each, tools) for each in self._directories for tools in TOOL_DIRECTORIES]
        return os.pathsep.join([*(own if project_tools else []), os.environ.get("PATH", os.defpath)])


def edited_file(ctx: Context) -> EditedFile | None:
    """Return the file that a context is about, None if it is not in the repository of the working directory."""
    named = named_file(ctx)
    if named is None:
        return None
    here = os.path.realpath(_agent_directory(ctx))
    root, path = repository(here), os.path.realpath(named)
    return EditedFile(path, root, here) if is_within(path, root) else None
