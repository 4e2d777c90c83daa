"""The ten hooks, each alone, as Claude Code would run it: its messages on stdin, its variable for the project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conformance.claude_project import furnish, handlers, why_not
from tests.rows import rows

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

SESSION = {"session_id": "5a11", "transcript_path": "/home/dev/.claude/projects/shop/5a11.jsonl"}
TRASH = "BLOCKED: rm -rf is not allowed here, name the files instead\n"


class Said(NamedTuple):
    """The result of one run of a hook."""

    status: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> Any:
        """The JSON on stdout."""
        assert self.status == 0, self
        return json.loads(self.stdout)


NOTHING = Said(0, "", "")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a repository with the hooks in it, in a directory whose name contains a space."""
    project = tmp_path / "my shop"
    project.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "trunk"], cwd=project, check=True)
    furnish(project)
    return project


def say(project: Path, event: str, which: int = 0, **message: object) -> Said:
    """Run one hook of an event on a message."""
    handler = handlers(event)[which]
    root = str(project)
    command = ["/bin/sh", "-c", handler["command"]]
    if "args" in handler:
        command = [handler["command"], *(each.replace("${CLAUDE_PROJECT_DIR}", root) for each in handler["args"])]
    done = subprocess.run(
        command,
        input=json.dumps({**SESSION, "cwd": root, "hook_event_name": event, **message}) + "\n",
        capture_output=True,
        text=True,
        cwd=project,
        env={**os.environ, "CLAUDE_PROJECT_DIR": root},
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def before(project: Path, which: int, tool: str, **tool_input: object) -> Said:
    """Run one hook before a tool."""
    return say(project, "PreToolUse", which, tool_name=tool, tool_input=tool_input, tool_use_id="toolu_1")


def after(project: Path, which: int, tool: str, response: object, **tool_input: object) -> Said:
    """Run one hook after a tool."""
    message = {"tool_name": tool, "tool_input": tool_input, "tool_response": response, "tool_use_id": "toolu_1"}
    return say(project, "PostToolUse", which, **message)


def test_the_log_has_a_line_for_each_command(shop: Path) -> None:
    """A jq one-liner; its output goes into a file."""
    assert before(shop, 0, "Bash", command="ls", description="look") == NOTHING
    assert before(shop, 0, "Bash", command="git status") == NOTHING
    assert (shop / ".claude" / "bash-commands.log").read_text() == "Bash: ls\nBash: git status\n"


@rows(
    "command, said",
    [
        ("rm -rf build", Said(2, "", TRASH)),
        ("cd x && rm -fr build", Said(2, "", TRASH)),
        ("rm build/a.o", NOTHING),
        ("echo farm -rf", NOTHING),
    ],
)
def test_a_guard_in_bash_exits_2(shop: Path, command: str, said: Said) -> None:
    """With the reason on stderr."""
    assert before(shop, 1, "Bash", command=command) == said


def test_a_rewriter_answers_with_the_whole_input(shop: Path) -> None:
    """Fields that it does not know are unchanged."""
    changed = before(shop, 2, "Bash", command="npm install && npm run build", description="build").answer
    assert changed["hookSpecificOutput"]["updatedInput"] == {
        "command": "pnpm install && pnpm run build",
        "description": "build",
    }
    assert before(shop, 2, "Bash", command="pnpm install") == NOTHING


def test_a_guard_in_python_denies_in_json(shop: Path) -> None:
    """At exit status 0."""
    denied = before(shop, 3, "Write", file_path=str(shop / ".env.local"), content="").answer["hookSpecificOutput"]
    assert (denied["hookEventName"], denied["permissionDecision"]) == ("PreToolUse", "deny")
    assert denied["permissionDecisionReason"] == ".env.local holds secrets: ask the user to change it"
    assert before(shop, 3, "Write", file_path=str(shop / "env.py"), content="") == NOTHING


def test_a_formatter_changes_the_file_that_was_written(shop: Path) -> None:
    """By the path in the tool's input; its stdout is a line of text."""
    page, module = shop / "page.md", shop / "module.py"
    for file in (page, module):
        file.write_text("text  \n")
    wrote = {"type": "create", "filePath": str(page)}
    assert after(shop, 0, "Write", wrote, file_path=str(page)) == Said(0, f"formatted {page}\n", "")
    assert after(shop, 0, "Write", wrote, file_path=str(module)) == NOTHING
    assert (page.read_text(), module.read_text()) == ("text\n", "text  \n")


def test_a_script_with_a_header_for_uv_is_python_too(shop: Path) -> None:
    """As `python3 script.py`, which is how the settings run it."""
    data = shop / "data.json"
    data.write_text("{]")
    refused = after(shop, 1, "Write", {"type": "create", "filePath": str(data)}, file_path=str(data))
    assert (refused.status, refused.stdout) == (2, "")
    assert refused.stderr.startswith("data.json is not valid JSON: ")
    data.write_text("{}")
    assert after(shop, 1, "Write", {"type": "create", "filePath": str(data)}, file_path=str(data)) == NOTHING


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed: run by its header, the script needs it")
def test_a_script_with_a_header_for_uv_is_run_by_uv(shop: Path) -> None:
    """Started as a program; it has no dependency that would have to be fetched."""
    data = shop / "data.json"
    data.write_text("{]")
    message = {"tool_name": "Write", "tool_input": {"file_path": str(data)}, "tool_response": {}}
    done = subprocess.run(
        [shop / ".claude" / "hooks" / "check_json.py"],
        input=json.dumps(message),
        capture_output=True,
        text=True,
        env={**os.environ, "UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never"},
        check=False,
    )
    assert done.returncode == 2, done.stderr


def test_a_node_script_reads_what_the_command_printed(shop: Path) -> None:
    """In the fields of Bash's answer; configured as arguments, without a shell."""
    printed = {"stdout": "5 passed, 2 failed\n", "stderr": "", "interrupted": False, "isImage": False}
    answer = after(shop, 2, "Bash", printed, command="make test").answer
    assert answer == {"decision": "block", "reason": "Tests are red (2 failed): mend them before you go on."}
    assert after(shop, 2, "Bash", {**printed, "stdout": "5 passed, 0 failed"}, command="make test") == NOTHING


def test_what_is_printed_at_a_prompt_is_plain_text(shop: Path) -> None:
    """Found from the directory in which Claude Code runs its hooks: the script is named without a variable."""
    expected = "Current branch: trunk\nUntracked files: 11\n"
    assert say(shop, "UserPromptSubmit", prompt="go on") == Said(0, expected, "")


def test_the_notes_are_given_as_json_when_a_session_starts(shop: Path) -> None:
    """Where there are any; the matched value is in the message."""
    assert say(shop, "SessionStart", source="startup", model="m") == NOTHING
    (shop / "NOTES.md").write_text('Prices are in "cents".\n')
    output = {
        "hookEventName": "SessionStart",
        "additionalContext": 'Notes of this project (at startup): Prices are in "cents".',
    }
    assert say(shop, "SessionStart", source="startup", model="m").answer == {"hookSpecificOutput": output}


def test_a_stop_hook_blocks_once(shop: Path) -> None:
    """The second time its input has `stop_hook_active`."""
    (shop / "TODO.md").write_text("- [x] one\n- [ ] two\n")
    blocked = say(shop, "Stop", stop_hook_active=False, last_assistant_message="done").answer
    assert blocked == {"decision": "block", "reason": "TODO.md has open items: work on the next one."}
    assert say(shop, "Stop", stop_hook_active=True, last_assistant_message="done") == NOTHING


def test_events_are_logged(shop: Path) -> None:
    """One script for two of them."""
    message = "Claude needs your permission"
    assert say(shop, "Notification", message=message, notification_type="permission_prompt") == NOTHING
    assert say(shop, "SessionEnd", reason="other") == NOTHING
    lines = (shop / ".claude" / "logs" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"event": "Notification", "session": "5a11", "about": message},
        {"event": "SessionEnd", "session": "5a11", "about": "other"},
    ]
