"""`hookrun status` and `doctor`: lines that fit a terminal, what their colour means, and plain text in a pipe."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.cli.wiring import settings_file

if TYPE_CHECKING:
    from tests.conftest import Project

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def declare(project: Project) -> None:
    """Connect two agents, one of them not for every event, and declare hooks that need care."""
    hookrun(project, "install", "claude", "codex")
    path = settings_file(project, "claude")
    data = json.loads(path.read_text())
    del data["hooks"]["SessionEnd"]
    path.write_text(json.dumps(data))
    project.hooks(
        {"name": "a-guard-with-a-name-of-some-length", "command": "true", "on_failure": "block"},
        {"name": "at-the-end", "event": "session_end", "command": "true"},
        {"name": "misspelt", "command": "true", "timout": 3},
    )


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_status_wraps_between_words(project: Project, columns: int) -> None:
    """Every line fits, and its words are those of the output in a pipe; commands in backquotes stay whole."""
    declare(project)
    plain = hookrun(project, "status")
    screen = at_terminal(project, "status", columns=columns).screen
    for line in screen.splitlines():
        assert len(line) <= columns or re.fullmatch(r" *(`[^`]+`|\S+)\S*", line), line
    words = (plain.stdout + plain.stderr).split()
    assert [word for word in screen.split() if "…" not in word and word not in words] == []


def test_the_colour_of_status_shows_what_needs_care(project: Project) -> None:
    """Red what fails, yellow what the user should do, green what works."""
    declare(project)
    screen = at_terminal(project, "status", env={"TERM": "xterm"}, columns=200).screen

    def colour(text: str) -> str:
        line = next(line for line in screen.splitlines() if text in line)
        return "".join(COLOUR.findall(line.partition(text)[0])[-1:])

    green, yellow, red = "\x1b[32m", "\x1b[33m", "\x1b[31m"
    assert (colour("hooks      3"), colour("approvals ")) == (red, yellow)
    assert colour("claude ") == yellow  # an event is missing
    assert colour("last run ") == ""
    assert colour("not approved\x1b") == yellow
    project.hooks({"name": "guard", "command": "true", "on_failure": "block"})
    project.approve()
    hookrun(project, "install", "claude")
    screen = at_terminal(project, "status", env={"TERM": "xterm"}, columns=200).screen
    assert (colour("claude "), colour("hooks      1")) == (green, "")


def test_doctor_is_plain_in_a_pipe(project: Project) -> None:
    """No escape codes, and no line is cut, however narrow the terminal that started it was."""
    declare(project)
    done = hookrun(project, "doctor", "claude", "codex", COLUMNS="40", TERM="xterm")
    shown = done.stdout + done.stderr
    assert done.status == 1
    assert not {"\x1b", "…"} & set(shown)
    said = [finding for agent in done_json(project) for finding in agent["findings"]]
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for finding in said:
        assert any(" ".join(finding["found"].split()) in line for line in lines), finding


def done_json(project: Project) -> list[dict[str, list[dict[str, str]]]]:
    """Return what `doctor --json` has of each agent."""
    agents = hookrun(project, "doctor", "claude", "codex", "--json").json["agents"]
    assert isinstance(agents, list)
    return agents
