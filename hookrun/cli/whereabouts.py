"""Where declarations are looked for, what was found there, and what was not found and why."""

from __future__ import annotations

import os

from hookrun.config.config_file import load_file
from hookrun.config.diagnostics import closest, quote
from hookrun.config.discovery import LOCAL_FILE, PROJECT_FILES, find
from hookrun.config.load import load_config


class Whereabouts:
    """The declarations in force in a directory, as a fire there finds them; `project` is the root of that fire.

    `claude` is where a person's own fire finds their Claude Code settings, as `find` has it.
    """

    def __init__(self, cwd: str, home: str, config: str | None = None, *, claude: str | None = None) -> None:
        self.cwd = cwd
        self.config = config
        named = os.path.normpath(os.path.join(cwd, config)) if config is not None else None
        self._found = find(cwd, home, config=named, claude=claude)
        self._examined = load_config(self._found)
        self.declarations = self._examined.declarations
        self.project = self.declarations.root or self._found.repository or cwd

    @property
    def files(self) -> list[tuple[str, str]]:
        """Layer and path of each file that has a say."""
        return [(file.layer, file.path) for file in self._examined.files if file.is_effective]

    def others(self, event: str) -> dict[str, list[str]]:
        """Return the hooks of all other events: event -> names."""
        others: dict[str, list[str]] = {}
        for hook in self.declarations.hooks:
            for each in hook.events:
                if each != event:
                    others.setdefault(each, []).append(hook.name)
        return others

    def why_nothing(self, event: str) -> str:
        """Return why no hook is declared for an event here."""
        problems = self.declarations.problems
        if problems:
            return problems[0]
        odd = self._mistaken()
        if odd is not None and not self.files:
            return odd
        beside = f"; {odd}" if odd is not None else self._passed_over()
        if not self.files:
            root = self._found.repository
            around = f" or above it up to {root}" if root else " (no git repository: no directory above it counts)"
            return f"there is no declaration file in {self.cwd}{around}{beside}"
        others = ", ".join(f"{each} ({', '.join(names)})" for each, names in self.others(event).items())
        there = f"hooks are declared for {others}" if others else "no hook is declared at all"
        return f"none is declared for it in {', '.join(path for _, path in self.files)}; {there}{beside}"

    def _mistaken(self) -> str | None:
        """Return what is odd in a file that is there and has no say."""
        say = {path for _, path in self.files}
        return next((str(each) for each in self._examined.problems if each.path not in say), None)

    def _passed_over(self) -> str:
        """Return, as the end of a sentence, which file has hooks that are not in force because of where it lies."""
        if self.config is not None:
            return ""
        for layer, path, _ in self._found.files:
            if (
                layer in ("project", "local")
                and path not in self.declarations.files
                and load_file(path, layer).has_hooks
            ):
                return f"; {path} has hooks, but the file in {self.declarations.root} is nearer and counts alone"
        top = self._found.repository or self.cwd
        while top != "/":
            top = os.path.dirname(top)
            for name in (*PROJECT_FILES, LOCAL_FILE):
                path = os.path.join(top, name)
                if os.path.isfile(path) and load_file(path, "project").has_hooks:
                    within = f"the repository {self._found.repository}" if self._found.repository else "a repository"
                    return f"; {path} has hooks, but it lies outside of {within}, where nothing is looked for"
        return ""

    @staticmethod
    def no_hook(name: str, names: list[str]) -> str:
        """Return what to say where no hook has this name."""
        near = closest(name, names)
        hint = f"did you mean {quote(near)}?" if near else "hookrun list shows what there is"
        return f"found no hook {quote(name)} here, expected one that is declared; {hint}"
