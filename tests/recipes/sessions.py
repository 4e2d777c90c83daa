"""Sessions of everyday work, replayed with the guards of a level: how many calls they ask about or block.

    python -m tests.recipes.sessions [LEVEL]

prints each such call, and the figures. A guard that stops harmless work is switched off.

everyday/*.yaml are scripted sessions, each with the `branch` and the `files` of its repository. Its `calls` are lines
of shell, or a tool with its arguments: `read: FILE`, `edit: [FILE, OLD, NEW]`, `mcp__github__get_issue: {owner: acme}`.
What they write and edit is there for the calls that follow. They were written without the guards in mind: change no
session to suit a guard. The recorded sessions are what agents sent in tests/golden and tests/replay.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hookrun.recipes import catalog
from tests import isolation
from tests.recipes.corpus_cases import Case, Corpus, corpus, guards
from tests.replay import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE = Path(__file__).parent
SCRIPTED = HERE / "everyday"
CONTEXTS = HERE.parent / "golden" / "contexts"

MAIN_ARGUMENTS = {
    "bash": "command", "read": "file_path", "glob": "pattern", "grep": "pattern", "web_fetch": "url",
    "web_search": "query", "task": "prompt",
}  # fmt: skip
LISTED_ARGUMENTS = {"edit": ("file_path", "old_string", "new_string"), "write": ("file_path", "content")}

MEANT_TO_BE_STOPPED = "git push --force origin main"
"""What every recorded session of tests/replay tries, so that its hooks block it."""


@dataclass(frozen=True)
class Call:
    """A tool call."""

    tool: str
    args: Mapping[str, Any]

    @classmethod
    def of(cls, entry: str | dict[str, Any]) -> Call:
        """Return the call that an entry of a session is."""
        if isinstance(entry, str):
            return cls("bash", {"command": entry})
        ((tool, given),) = entry.items()
        if isinstance(given, list):
            return cls(tool, dict(zip(LISTED_ARGUMENTS[tool], given, strict=True)))
        return cls(tool, given if isinstance(given, dict) else {MAIN_ARGUMENTS[tool]: given})

    @property
    def shown(self) -> str:
        """The call in one line."""
        return " ".join(str(self.args["command"] if self.tool == "bash" else f"{self.tool} {self.args}").split())


@dataclass(frozen=True)
class Session:
    """The calls of a session, and what its repository has."""

    name: str
    calls: tuple[Call, ...]
    files: Mapping[str, str]
    branch: str


@dataclass(frozen=True)
class Stopped:
    """A call that a guard asks about or blocks."""

    session: str
    call: Call
    guard: str
    action: str
    message: str


def scripted() -> list[Session]:
    """Return the scripted sessions."""
    found = []
    for path in sorted(SCRIPTED.glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        found.append(Session(path.stem, tuple(map(Call.of, data["calls"])), data.get("files", {}), data["branch"]))
    return found


def recordings() -> list[Session]:
    """Return what agents have sent before each of their tool calls, one session an agent."""
    calls: dict[str, list[Call]] = {}
    for path in sorted(CONTEXTS.glob("*.json")):
        every = json.loads(path.read_text())
        sent = [each for contexts in every.values() if isinstance(contexts, list) for each in contexts]
        calls[path.stem] = _before_tools(sent)
    for agent in recorded.AGENTS:
        calls[agent] += _before_tools(recorded.seen(agent))
    return [Session(agent, tuple(each), {}, "main") for agent, each in calls.items()]


def _before_tools(contexts: list[dict[str, Any]]) -> list[Call]:
    wanted = [each for each in contexts if each["event"] == "pre_tool_use"]
    made = [Call(each["tool_name"], each.get("tool_args") or {}) for each in wanted]
    return [call for call in made if call.args.get("command") != MEANT_TO_BE_STOPPED]


def stopped(session: Session, asked: Corpus, level: str) -> list[Stopped]:
    """Replay a session; return the calls that the guards of a level ask about or block, each once."""
    place = Case("session", session.name, "", {}, session.files, session.branch, {}, "pass")
    with asked.placed(place):
        return [found for call in session.calls if (found := _replay(session, call, asked, level)) is not None]


def _replay(session: Session, call: Call, asked: Corpus, level: str) -> Stopped | None:
    work = asked.account.work
    context: dict[str, Any] = {"event": "pre_tool_use", "agent": "claude", "tool_name": call.tool}
    context["tool_args"] = args = dict(call.args)
    if "file_path" in args:
        context["file_path"] = args["file_path"] = str(work / args["file_path"])
    for guard in guards(call.tool, tuple(catalog.of_level(level))):
        answer = asked.account.call(guard, **context)
        if answer is not None and answer["action"] in {"ask", "block"}:
            return Stopped(session.name, call, guard.partition(":")[0], answer["action"], answer["message"])
    _write(work, call.tool, args)
    return None


def _write(work: Path, tool: str, args: dict[str, Any]) -> None:
    """Do what a call does to the repository's files."""
    path = Path(args.get("file_path", ""))
    if not path.is_relative_to(work):
        return
    if tool == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(args["content"])
    elif tool == "edit" and path.exists():
        path.write_text(path.read_text().replace(args["old_string"], args["new_string"], 1))


def replayed(sessions: list[Session], asked: Corpus, level: str) -> Iterator[Stopped]:
    """Yield the calls of sessions that the guards of a level stop."""
    for session in sessions:
        yield from stopped(session, asked, level)


def main() -> None:
    """Print what the guards of a level stop."""
    level = sys.argv[1] if len(sys.argv) > 1 else "standard"
    isolation.isolate()
    try:
        with pytest.MonkeyPatch.context() as patch, corpus(isolation.run_folder() / "t", patch) as asked:
            for kind, sessions in (("recorded", recordings()), ("scripted", scripted())):
                count = sum(len(each.calls) for each in sessions)
                found = list(replayed(sessions, asked, level))
                for each in found:
                    print(f"{each.session}: {each.guard} {each.action}s: {each.call.shown[:200]}")
                per_100 = 100 * len(found) / count
                print(f"{len(sessions)} {kind} sessions, {count} calls: {len(found)} stopped, {per_100:.2f} of 100")
    finally:
        shutil.rmtree(isolation.run_folder())


if __name__ == "__main__":
    main()
