"""Transcripts that real agents wrote, and what their hooks saw meanwhile: recorded once, read by the tests.

`HOOKRUN_AGENTS=... python -m tests.replay.recorded` makes them anew. Texts of the agents themselves are shortened, and
directories renamed; nothing else is changed.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hookrun.agents.transcripts import FORMATS
from hookrun_conformance.driver import Driver
from hookrun_conformance.model import Turn, say

HERE = Path(__file__).parent / "transcripts"
AGENTS = sorted(FORMATS)
LONGEST = 300
"""Characters of a text that is kept whole."""

SEEN = ("event", "session_id", "tool_name", "agent_tool_name", "tool_args", "file_path", "working_dir", "user_prompt")
"""What must be the same in a context from a transcript and in the one that a hook got."""

KEPT = ("session`", "message`", "part`", 'session"', 'message"', 'part"')
BEGINNINGS = ("CREATE TABLE `", 'INSERT INTO "')
"""What is before a table's name in a dump."""


def turns(driver: Driver, project: Path) -> Iterator[Turn]:
    """Yield a session's turns: calls that run, fail, are refused and are changed, by hookrun_conformance/hooks.json."""
    yield driver.shell("echo fine > a.txt && cat a.txt")
    yield driver.shell("echo forbidden > made.txt")
    yield driver.shell("echo original > original.txt")
    yield driver.shell("cat missing.txt; exit 3")
    yield from driver.write(project / "new.txt", "written\n")
    yield from driver.edit(project / "watched.txt", "second", "changed")
    yield driver.shell("git push --force origin main")
    yield say("all-is-done")


def place(agent: str, home: Path) -> Path:
    """Put an agent's recorded transcript where it keeps them in a home, and return its path."""
    pattern = FORMATS[agent].files[0]
    path = home / pattern.replace("{directory}", f".{agent}").replace("*.jsonl", "recorded.jsonl").replace("*", "x")
    path.parent.mkdir(parents=True)
    if agent == "opencode":
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript((HERE / "opencode.sql").read_text())
    else:
        path.write_text((HERE / f"{agent}.jsonl").read_text())
    if root_file := FORMATS[agent].root_file:
        (path.parent / root_file).write_text("/home/dev/shop")
    return path


def seen(agent: str) -> list[dict[str, Any]]:
    """Return what an agent's hooks saw before tools and at prompts, in order."""
    return [json.loads(line) for line in (HERE / f"{agent}.seen").read_text().splitlines()]


def seen_fields(lines: str) -> list[dict[str, Any]]:
    """Return those fields of hooks' contexts, one JSON object a line."""
    contexts = [json.loads(line) for line in lines.splitlines()]
    wanted = [each for each in contexts if each["event"] in ("pre_tool_use", "user_prompt_submit")]
    return [{name: each.get(name) for name in SEEN} for each in wanted]


def scrubbed(text: str, directory: Path) -> str:
    """Return a text without a machine's directories."""
    return text.replace(f"{directory}/project", "/home/dev/shop").replace(f"{directory}/home", "/home/dev")


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST or value.startswith("{") else f"{value[:20]}..."
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    return [_shortened(each) for each in value] if isinstance(value, list) else value


def keep(agent: str, home: Path) -> None:
    """Keep the transcript and the contexts in an agent's home."""
    (path,) = home.glob(FORMATS[agent].files[0].replace("{directory}", f".{agent}"))
    if agent == "opencode":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE message SET data = json_remove(data, '$.summary')")
            kept = tuple(f"{begin}{name}" for name in KEPT for begin in BEGINNINGS)
            text = "".join(f"{line}\n" for line in connection.iterdump() if line.startswith(kept))
        (HERE / "opencode.sql").write_text(scrubbed(text, home.parent))
    else:
        lines = (json.loads(line) for line in path.read_text().splitlines())
        wanted = (line for line in lines if not str(line.get("type")).startswith("api-"))
        text = "".join(f"{json.dumps(_shortened(line), separators=(',', ':'))}\n" for line in wanted)
        (HERE / f"{agent}.jsonl").write_text(scrubbed(text, home.parent))
    found = seen_fields(scrubbed((home / "seen.jsonl").read_text(), home.parent))
    (HERE / f"{agent}.seen").write_text("".join(f"{json.dumps(each)}\n" for each in found))


def record(agent: str) -> None:
    """Run an agent, and keep what it wrote."""
    from hookrun_conformance.drivers import DRIVERS
    from tests.live.conftest import SAME_FOR_ALL
    from tests.live.run import Agent, Place

    with tempfile.TemporaryDirectory() as directory, Agent(DRIVERS[agent], Place(Path(directory))) as real:
        real.declare(*SAME_FOR_ALL)
        (real.place.project / "watched.txt").write_text("first\nsecond\n")
        real.run(*turns(real.driver, real.place.project), prompt="please do it")
        keep(agent, real.place.home)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name in sys.argv[1:] or AGENTS:
        record(name)
