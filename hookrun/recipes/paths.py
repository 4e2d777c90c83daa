"""Find the agent's directory, the project root, a tool's file, and the project's programs."""

from __future__ import annotations

import os

from hookrun.core.files import is_within, upwards
from hookrun.core.state import CONFIG_DIR, home_directory
from hookrun.core.text import escape
from hookrun.recipes.recipe import Option, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun import Context
    from hookrun.recipes.recipe import Recipe

# Tools that change the one file in their arguments, also by agents' names.
WRITING_TOOLS = "write|edit|Write|Edit|MultiEdit"
# Where a project keeps its own programs.
TOOL_DIRECTORIES = ("node_modules/.bin", ".venv/bin")

# The option of recipes for a project's own tools.
PROJECT_TOOLS = Option(
    "project_tools",
    "auto",
    "Whether to run programs from the project's `node_modules/.bin` and `.venv/bin`: `yes`, `no`, or `auto` (yes if "
    "the project's config has this hook, no if it is in your own).",
    choices=("auto", "yes", "no"),
)


def project_tools_allowed(recipe: Recipe) -> bool:
    """Return whether programs from the project's directories may run, by the option `project_tools`.

    `auto`: only if the project configures this hook, with the user's approval. A hook in the user's config runs in
    every project, even untrusted ones.
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
    """Return the project's root; if the agent works outside it, the repository's there."""
    here = working_directory(context)
    project = os.path.realpath(os.environ.get("HOOKRUN_PROJECT_DIR", here))
    return project if is_within(here, project) else repository(here)


def named_file(ctx: Context) -> str | None:
    """Return the path of a context's file, if any, absolute but not normalized.

    If `link` is a symbolic link, `link/../a` need not be `a`: where a write goes depends on the tool's own path. A
    relative path starts at `working_dir`, else at the current directory.
    """
    path = ctx.tool_args.get("file_path")
    if not isinstance(path, str):
        path = ctx.file_path
    if not path or "\0" in path:
        return None
    return os.path.join(os.path.abspath(ctx.working_dir or os.curdir), path)


def repository(directory: str) -> str:
    """Return the nearest directory with a `.git` at or above `directory`, links resolved; else `directory`."""
    start = os.path.realpath(directory)
    return next((each for each in upwards(start, os.sep) if os.path.lexists(os.path.join(each, ".git"))), start)


class EditedFile:
    """A file written by the agent: `path` and repository `root` with links resolved, `shown` to the model.

    `ending` is its name's extension, with dot, in lower case.
    """

    def __init__(self, path: str, root: str, working_directory: str) -> None:
        inside = is_within(path, working_directory)
        self.path = path
        self.ending = os.path.splitext(path)[1].lower()
        self.root = root
        self.shown = escape(os.path.relpath(path, working_directory if inside else root))
        around = (*upwards(os.path.dirname(path), root), *upwards(working_directory, root))
        self._directories = tuple(dict.fromkeys(around))

    def search_path(self, *, project_tools: bool) -> str:
        """Return the PATH for programs that handle this file: the project's directories first."""
        own = [os.path.join(each, tools) for each in self._directories for tools in TOOL_DIRECTORIES]
        return os.pathsep.join([*(own if project_tools else []), os.environ.get("PATH", os.defpath)])


def edited_file(ctx: Context) -> EditedFile | None:
    """Return a context's file, None if it is not in the working directory's repository."""
    named = named_file(ctx)
    if named is None:
        return None
    here = os.path.realpath(ctx.working_dir or os.curdir)
    root, path = repository(here), os.path.realpath(named)
    return EditedFile(path, root, here) if is_within(path, root) else None
