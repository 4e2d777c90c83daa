"""Lines of hooks with a file that each names, as code that it runs (executed.json) or as data (data.json).

A line is covered if the digest of its hook changes with the file.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.core.model import ClaudeForm
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.digest import HookInspector

if TYPE_CHECKING:
    from tests.conftest import Project

Line = dict[str, Any]

IDLE = {"javascript": "", "perl": "1;\n", "awk": "BEGIN { }\n", "jq": "def guard: 1;\n", "gdb": "\n", "package": "{}\n"}
"""What the code of a line is before it changes, by its language."""

CHANGED = {
    "sh": "#!/bin/sh\necho CHANGED\n",
    "python": "print('CHANGED')\n",
    "javascript": "console.log('CHANGED')\n",
    "perl": "print 'CHANGED'; 1;\n",
    "ruby": "puts 'CHANGED'\n",
    "awk": 'BEGIN { print "CHANGED" }\n',
    "sed": "1iCHANGED\n",
    "jq": 'def guard: "CHANGED";\n',
    "gdb": "shell echo CHANGED\n",
    "make": "guard:\n\t@echo CHANGED\n",
    "just": "guard:\n\t@echo CHANGED\n",
    "sql": "select 'CHANGED';\n",
    "package": '{"scripts": {"guard": "echo CHANGED"}}\n',
}
"""Code of each language that prints CHANGED."""


def lines(name: str) -> list[Line]:
    """Return the lines of a corpus."""
    found: list[Line] = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return found


def title(line: Line) -> str:
    """Return a line in a form for people."""
    command = line["command"]
    return " ".join(command) if isinstance(command, list) else command


class Place:
    """A project with the hook of one line."""

    def __init__(self, project: Project, line: Line) -> None:
        self.project = project
        self.line = line
        command = line["command"]
        kind = "args" if isinstance(command, list) else "command"
        fields: dict[str, object] = {name: line[name] for name in ("env", "dialect") if name in line}
        project.hooks({"name": "hook", kind: command, **fields})
        for path, text in line.get("files", {}).items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        """Write a file into the project, executable if it is code for a shell."""
        self.project.script(path, text, 0o755 if text.startswith("#!") or path == self.line.get("code") else 0o644)

    def track(self) -> None:
        """Let git track the files that the line lists."""
        subprocess.run(["git", "init", "-q", "."], cwd=self.project.root, check=True)
        subprocess.run(["git", "add", *self.line["tracked"]], cwd=self.project.root, check=True)

    def digest(self) -> str:
        """Return the hook's current digest; an empty one if it cannot be approved."""
        root, home = str(self.project.root), str(self.project.home)
        compiled = load_compiled(find(root, home))
        assert compiled is not None
        [hook] = compiled.hooks()
        assert hook.error is None, hook.error
        if "plugin" in self.line:
            hook.dialect, hook.claude = "claude", ClaudeForm({"plugin_root": f"{root}/{self.line['plugin']}"})
        environment = HookEnvironment({}, project=root, request_id="", home=home)
        return HookInspector(home, root, environment).inspect(hook).digest


def covers_code(project: Project, line: Line) -> bool:
    """Return whether a change of the code of a line changes the digest of its hook."""
    place = Place(project, line)
    language = line["language"]
    place.write(line["code"], IDLE.get(language, "#!/bin/sh\n" if language == "sh" else "\n"))
    if "tracked" in line:
        place.track()
    before = place.digest()
    place.write(line["code"], CHANGED.get(language, "other\n"))
    after = place.digest()
    return before != after


def covers_data(project: Project, line: Line) -> bool:
    """Return whether the digest of a hook changes with a file that its line reads or writes: its bytes, its being."""
    place = Place(project, line)
    absent = place.digest()
    place.write(line["data"], "before\n")
    if "tracked" in line:
        place.track()
    before = place.digest()
    place.write(line["data"], "after\n")
    return not absent == before == place.digest() != ""
