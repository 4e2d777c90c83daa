"""A file that the agent has written: where it lies, and where programs for it are looked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookrun.bundles.places import named_file, repository, upwards, within, working_dir
from hookrun.bundles.plain_text import visible

if TYPE_CHECKING:
    from hookrun.library.context import Context

PROJECT_TOOLS = ("node_modules/.bin", ".venv/bin")
"""Where a project keeps its own programs."""


@dataclass(frozen=True)
class Edited:
    """A file: where it really lies, in which repository, how it is called to the model, and the directories around."""

    path: str
    root: str
    shown: str
    directories: tuple[str, ...]

    @property
    def ending(self) -> str:
        """The end of the file's name, with its dot, in lower case."""
        return os.path.splitext(self.path)[1].lower()

    def search_path(self, *, project_tools: bool) -> str:
        """Return the PATH on which a program for this file is looked up: the project's own directories come first."""
        own = [os.path.join(each, tools) for each in self.directories for tools in PROJECT_TOOLS]
        return os.pathsep.join([*(own if project_tools else []), os.environ.get("PATH", os.defpath)])


def edited(ctx: Context) -> Edited | None:
    """Return the file that a context is about, None where it is none in the repository of the working directory."""
    named = named_file(ctx)
    if named is None:
        return None
    here = os.path.realpath(working_dir(ctx))
    root, path = repository(here), os.path.realpath(named)
    if not within(path, root):
        return None
    shown = visible(os.path.relpath(path, here if within(path, here) else root))
    directories = dict.fromkeys((*upwards(os.path.dirname(path), root), *upwards(here, root)))
    return Edited(path, root, shown, tuple(directories))
