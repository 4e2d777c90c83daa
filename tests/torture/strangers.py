"""An untrusted project, and an agent that works in it: Claude Code, or a Python program with an engine."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.process.prepare import HookEnvironment
from hookrun.trust import digest as digests
from hookrun.trust.digest import HookInspector, declaration
from hookrun.trust.store import load
from tests.cli.command import hookrun

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

WAYS = ("agent", pytest.param("library", marks=pytest.mark.only_cold("runs hooks in its own process")))
"""The caller: an agent through `hookrun fire --agent`, or a program through `Engine.load()`."""

GUARD = "#!/bin/sh\ncat >/dev/null\nexit 0\n"
RAN = "touch ran; exit 0"
"""A hook without objection, and one that leaves a trace."""

NATIVE = {"pre_tool_use": "PreToolUse", "session_start": "SessionStart", "stop": "Stop"}

PROGRAM = """
import json, sys
from hookrun import Engine

event, root, home, fields = json.loads(sys.argv[1])
with Engine.load(root, home=home, strict=False) as engine:
    print(json.dumps(engine.fire_sync(event, fields).to_dict()))
"""


class Answer:
    """The result of one run: whether the call is refused, all output, and the audit's entry for each hook."""

    def __init__(self, output: str, records: list[dict[str, object]]) -> None:
        self.output = output
        self.blocked = '"block"' in output or '"deny"' in output or '"decision":"block"' in output.replace(" ", "")
        self.failures = {str(each["hook"]): each.get("failure") for each in records if each["kind"] == "hook"}
        self.details = {str(each["hook"]): str(each.get("detail", "")) for each in records if each["kind"] == "hook"}
        self.fire = next((each for each in records if each["kind"] == "fire"), {})


def remember(project: Project, digest: str) -> Path:
    """Cache the digest of the project's only hook as it is now, however new its files are; return the cache's file.

    A run does this two seconds after the files have changed.
    """
    root, home = str(project.root), str(project.home)
    compiled = load_compiled(find(root, home))
    assert compiled is not None
    [hook] = compiled.hooks()
    around = HookEnvironment({}, project=root, request_id="", home=home)
    files = HookInspector(home, root, around).inspect(hook).files
    assert files
    known = digests.DigestCache(home, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "YOUNG", -1)
        known.remember(declaration(hook, root, home), files, digest)
    known.keep()
    [path] = (project.home / ".cache" / "hookrun").glob("*.trust.json")
    return path


class Stranger:
    """An agent's view of a project."""

    def __init__(self, project: Project, way: str) -> None:
        self.project = project
        self.way = way

    def fire(
        self,
        event: str = "pre_tool_use",
        command: str = "ls",
        *arguments: str,
        cwd: Path | None = None,
        session: str = "s1",
        env: dict[str, str] | None = None,
    ) -> Answer:
        """Fire an event as the agent would: the call of a shell tool, for those that have one."""
        before = len(self.project.audit())
        root = cwd or self.project.root
        if self.way == "agent":
            payload: dict[str, object] = {"session_id": session, "cwd": str(root), "hook_event_name": NATIVE[event]}
            if event == "pre_tool_use":
                payload |= {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"}
            line = ("fire", "--agent", "claude", event, *arguments, "--home", str(self.project.home))
            argv = self.project.command(*line)
            stdin = json.dumps(payload)
        else:
            fields = {"session_id": session, "tool_name": "bash", "tool_args": {"command": command}}
            asked = [event, str(root), str(self.project.home), fields if event == "pre_tool_use" else {}]
            argv, stdin = [sys.executable, "-c", PROGRAM, json.dumps(asked)], ""
        done = subprocess.run(
            argv,
            input=stdin.encode(),
            capture_output=True,
            cwd=root,
            env=self.project.environment(**(env or {})),
            check=False,
        )
        output = (done.stdout + done.stderr).decode("utf-8", "replace")
        return Answer(output, self.project.audit()[before:])

    def approve(self, cwd: Path | None = None) -> list[str]:
        """Approve all hooks of the project as they are now, and return the digests that were not approved before."""
        home = str(self.project.home)
        before = load(home).approved
        self.project.approve(cwd)
        return [digest for digest in load(home).approved if digest not in before]

    def digests(self, cwd: Path | None = None) -> list[str]:
        """Return the digests of all hooks of the project as they are now."""
        done = hookrun(self.project, "trust", "--json", str(cwd or self.project.root))
        found = json.loads(done.stdout)
        assert all(each["digest"] for each in found), found
        return [each["digest"] for each in found]


def commands(lines: dict[str, str], **more: object) -> list[dict[str, object]]:
    """Return hooks of shell lines, by their names."""
    return [{"name": name, "command": line, **more} for name, line in lines.items()]


def declare_script(stranger: Stranger, text: str = GUARD, **more: object) -> Path:
    """Declare a hook of one script and return the script's path."""
    stranger.project.script("hooks/guard.sh", text)
    stranger.project.hooks({"name": "guard", "command": "./hooks/guard.sh", **more})
    return stranger.project.root / "hooks" / "guard.sh"


def failures_after(stranger: Stranger) -> dict[str, object]:
    """Run after an attack; return how each hook that ran or was to run failed. None of the attack's code has run."""
    failures = stranger.fire().failures
    assert not (stranger.project.root / "ran").exists(), failures
    return failures


def is_untrusted(stranger: Stranger, name: str = "guard", event: str = "pre_tool_use") -> bool:
    """Run; return whether the hook failed as untrusted. An attack's code would create the file `ran`: it must not."""
    answer = stranger.fire(event)
    assert not (stranger.project.root / "ran").exists()
    return answer.failures[name] == "untrusted"
