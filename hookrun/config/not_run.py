"""Find the hooks in a project that hookrun does not run: agents' own files that no config includes.

Looked at are agents' files, plugins of Claude Code that are passed over, and frontmatter. Nothing of them is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from glob import glob
from typing import NamedTuple

from hookrun.agents import DIALECTS, SETTINGS_GLOBS, load_sender
from hookrun.agents.dialects import dialect
from hookrun.config.claude_settings import in_claudes_keys, is_settings
from hookrun.config.config_file import load_file
from hookrun.config.load import LoadedConfig
from hookrun.core.files import read_or_none
from hookrun.core.model import as_object
from hookrun.core.text import one_of
from hookrun.shell.fire_call import fire_calls, handler_line

MAX_BYTES = 1 << 20  # read of a file
# Directories of files with Claude Code's hooks for one subagent, skill or command alone, the end of a file's path, and
# whose hooks these are. Agents that read such a subagent run its hooks; none says that the user has loaded a skill.
FRONTMATTER = (("agents", ".md", "a subagent"), ("skills", "/SKILL.md", "a skill"), ("commands", ".md", "a command"))
# The beginning of such a file, and a handler in it.
HEAD = re.compile(rb"\A---\r?(\n.*?\n)---", re.DOTALL)
HANDLER = re.compile(rb"(?:^|[-{,])\s*\"?type\"?:", re.MULTILINE)
# Hooks in an agent's TOML, and what a program of its own is called.
TABLE = re.compile(rb"^\[\[?hooks\.[^\]]*\.hooks\]\]", re.MULTILINE)
PROGRAM = re.compile(r"(\.[cm]?[jt]s|\.py|\.sh|/\w+)\Z")


class NotRun(NamedTuple):
    """A file with hooks that hookrun does not run, of an agent with this `title`.

    `name` is relative to the project's root, or a plugin's, whose `hooks` are not known (0). A file that is not
    `includable` cannot be run by hookrun.
    """

    name: str
    title: str
    hooks: int
    includable: bool = False

    def __str__(self) -> str:
        count = f"{self.hooks} hook{'s' * (self.hooks != 1)} of " if self.hooks else ""
        return f"{self.name} ({count}{self.title})"


def not_run(examined: LoadedConfig) -> list[NotRun]:
    """Return the hooks of the project that hookrun does not run, in the order of agents."""
    root = examined.project
    read = {os.path.realpath(file.path) for file in examined.files}
    run = {(hook.dialect, str(hook.target)) for hook in examined.declarations.hooks}
    found = [*_of_agents(root, read, run), *_in_frontmatter(root)]
    return [*found, *(NotRun(name, "a plugin of Claude Code", 0) for name in examined.passed_over)]


def notice(found: list[NotRun]) -> str | None:
    """Return what to tell the user about these, with the next command, or None if there are none."""
    if not found:
        return None
    text = f"hookrun does not run {one_of([*map(str, found)], 'and')}"
    names = [each.name for each in found if each.includable]
    return f"{text}\nhint: `hookrun init` includes {one_of(names, 'and')}" if names else text


def _of_agents(root: str, read: set[str], run: set[tuple[str, str]]) -> Iterator[NotRun]:
    for agent, patterns in SETTINGS_GLOBS.items():
        for name in dict.fromkeys(name for each in patterns for name in sorted(glob(each, root_dir=root))):
            path = f"{root.rstrip('/')}/{name}"
            if not os.path.isfile(path) or os.path.realpath(path) in read:
                continue
            if agent in DIALECTS and name.endswith(".json"):
                if (hooks := _handlers(path, agent, run)) > 0:
                    yield NotRun(name, dialect(agent).title, hooks, includable=True)
            elif agent != "claude" and (hooks := _programs(path)) > 0:
                yield NotRun(name, load_sender(agent).DISPLAY_NAME, hooks)


def _handlers(path: str, agent: str, run: set[tuple[str, str]]) -> int:
    """Return how many handlers in a file are not hookrun's own, nor hooks of a config since `migrate`."""
    if agent == "claude" and not is_settings(path):
        return 0
    file = load_file(path, "project")
    handlers = (in_claudes_keys(as_object(each.handler), dialect(file.dialect)) for each in file.handlers or ())
    return sum(not fire_calls(line) and (agent, line) not in run for line in map(str, map(handler_line, handlers)))


def _programs(path: str) -> int:
    """Return how many hooks an agent's file has that is no JSON file with hooks; none if it is hookrun's."""
    data = read_or_none(path, MAX_BYTES) or b""
    if b"hookrun" in data:
        return 0
    if path.endswith(".toml"):
        return len(TABLE.findall(data))
    return int(b'"hooks"' in data if path.endswith(".json") else PROGRAM.search(path) is not None)


def _in_frontmatter(root: str) -> Iterator[NotRun]:
    for directory, end, kind in FRONTMATTER:
        found = (f"{at}/{name}" for at, _, names in os.walk(f"{root}/.claude/{directory}") for name in names)
        for path in sorted(each for each in found if each.endswith(end)):
            head = HEAD.match(read_or_none(path, MAX_BYTES) or b"")
            if head is not None and b"\nhooks:" in head[1]:
                hooks = len(HANDLER.findall(head[1].partition(b"\nhooks:")[2]))
                yield NotRun(
                    os.path.relpath(path, root), f"{kind} of {load_sender('claude').DISPLAY_NAME}", max(1, hooks)
                )
