"""Tell what an approval of a hook does not cover: the data that its command names, and what only a run can tell."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrun.config.command_words import file_words
from hookrun.config.executed import executed
from hookrun.process.prepare import expand
from hookrun.shell.words import UNKNOWN
from hookrun.text import truncate
from hookrun.trust.hook_files import within

if TYPE_CHECKING:
    from hookrun.model import Hook
    from hookrun.trust.digest import Inspection
    from hookrun.trust.project import Project

LONGEST_SHOWN = 60
"""Characters of a part of a command that is shown."""


class Coverage:
    """What is not covered of a hook of the project.

    `data` are the words of its command that name files which may change, `unknown` the parts of it that name files
    which only a run can tell.
    """

    def __init__(self, hook: Hook, inspection: Inspection, project: Project) -> None:
        environment = project.around.variables(hook, b"")
        cwd = project.around.directory(hook, environment)
        covered = {os.path.realpath(file.path) for file in inspection.files}
        root = os.path.realpath(project.root)
        self.data: list[str] = []
        for word in file_words(hook.kind, hook.target):
            path = os.path.realpath(expand(word, environment, cwd))
            if os.path.isfile(path) and within(path, root) and path not in covered:
                covered.add(path)
                self.data.append(word)
        unknown = executed(hook.kind, hook.target, hook.env, hook.dialect).unknown
        self.unknown = [truncate(part.replace(UNKNOWN, "..."), LONGEST_SHOWN) for part in unknown]
