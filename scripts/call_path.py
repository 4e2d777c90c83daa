"""Count the modules of hookrun that a context visits on its way from stdin to the answer, and the changes between them.

Usage: python scripts/call_path.py [--modules]

Three ways through a project with one `sh` hook whose declarations are compiled and whose digest is known: `fire`,
`fire --agent` with the hook approved, and `explain`. A module is entered when one of its functions is called; a change
is a call, or a return to a caller within hookrun, after which another of its modules executes. Imports are left out.
The counts do not depend on the machine's speed. Set PYTHONPATH to count in another copy of the package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

ANY_CHANGE = 2.2
"""Seconds after which hookrun believes that a file's times show any change, and keeps what it made of it."""

CONTEXT = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}


def ways(home: Path, project: Path) -> dict[str, tuple[list[str], object]]:
    """Return the command line and stdin of each way."""
    message = {
        "session_id": "s1",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "t1",
    }
    return {
        "fire": (["fire", "pre_tool_use"], CONTEXT),
        "fire --agent": (["fire", "--agent", "claude", "--home", str(home)], message),
        "explain": (["explain", "pre_tool_use", "--ctx", str(project / "ctx.json")], None),
    }


IMPORTING = frozenset({"<module>", "_find_and_load", "_handle_fromlist"})
"""The code of a module, and the functions of importlib that look for modules and for names in packages."""


class CallPath:
    """Counts the modules whose functions run, and the changes between them."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.changes = 0
        self._current = ""

    def profile(self, frame: FrameType, event: str, _argument: object) -> None:
        """Take in one call or return (`sys.setprofile`)."""
        module = _module(frame)
        if module is None or event not in {"call", "return"}:
            return
        if event == "return":
            module = _module(frame.f_back) if frame.f_back is not None else None
            if module is None:
                return
        self.modules.add(module)
        if module != self._current:
            self.changes += 1
            self._current = module


def _module(frame: FrameType) -> str | None:
    """Return the module of hookrun that a frame's function belongs to; None for others and for imports."""
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.partition(".")[0] == "hookrun" and not _is_import(frame) else None


def _is_import(frame: FrameType | None) -> bool:
    """Return whether a module is being imported: it is looked for, its own code runs, or what these call."""
    while frame is not None and frame.f_globals.get("__name__") != "__main__":
        if frame.f_code.co_name in IMPORTING:
            return True
        frame = frame.f_back
    return False


def walk(arguments: list[str], stdin: object, project: Path, report: Path) -> None:
    """Run hookrun in a child of this process under the profiler, and write down what was counted."""
    data = project / "stdin.json"
    data.write_text(json.dumps(stdin))
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.chdir(project)
    os.dup2(os.open(data, os.O_RDONLY), 0)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    counted, leave = CallPath(), os._exit

    def end(_status: int = 0) -> None:
        sys.setprofile(None)
        report.write_text(json.dumps({"modules": sorted(counted.modules), "changes": counted.changes}))
        leave(0)

    os._exit = end  # type: ignore[assignment]
    sys.argv = ["hookrun", *arguments]
    from hookrun.__main__ import main

    sys.setprofile(counted.profile)
    try:
        main()
    finally:
        end()


def approve(project: Path) -> None:
    """Approve the project's hook, as its user would."""
    command = [sys.executable, "-m", "hookrun", "trust"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    listed = subprocess.run(  # exit status 1: not everything is approved yet
        [*command, "--digest"], cwd=project, env=environment, capture_output=True, text=True, check=False
    ).stdout
    digest = next(word for word in listed.split() if word.startswith("sha256:"))
    subprocess.run([*command, "--yes", digest], cwd=project, env=environment, capture_output=True, check=True)
    time.sleep(ANY_CHANGE)


def main() -> None:
    """Print a line for each way."""
    with tempfile.TemporaryDirectory() as directory:
        home, project = Path(directory, "home"), Path(directory, "project")
        (project / ".git").mkdir(parents=True)
        home.mkdir()
        os.environ["HOME"] = str(home)
        hook = {"name": "hook", "event": "pre_tool_use", "matcher": "bash", "command": "cat > /dev/null"}
        (project / "coder.json").write_text(json.dumps({"hooks": [hook]}))
        (project / "ctx.json").write_text(json.dumps(CONTEXT))
        time.sleep(ANY_CHANGE)
        report = Path(directory, "report.json")
        for name, (arguments, stdin) in ways(home, project).items():
            if name == "fire --agent":
                approve(project)
            for _ in range(3):  # the first ones fill the caches
                walk(arguments, stdin, project, report)
            counted = json.loads(report.read_text())
            print(f"{name:14} {len(counted['modules']):3} modules entered, {counted['changes']:4} changes of module")
            if "--modules" in sys.argv:
                print("  " + "\n  ".join(counted["modules"]))


if __name__ == "__main__":
    main()
