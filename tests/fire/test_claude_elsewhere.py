"""What a hook for Claude Code reads and changes under agents whose tools work otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.fire.agents import Agent, AgentOf
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project
    from tests.fire.agents import Json, Told


def keep(project: Project, *events: str, answer: Json | None = None) -> None:
    """Declare a hook of Claude Code's at these events that keeps its input in `EVENT.json` and gives an answer."""
    (project.root / "answer.json").write_text(json.dumps(answer or {}))
    groups = {
        each: [{"hooks": [{"type": "command", "command": f"cat > {each}.json; cat answer.json"}]}] for each in events
    }
    (project.root / "coder.json").write_text(json.dumps({"hooks": groups}))


def read(project: Project, event: str) -> Json:
    """Return what the hook read at this event, an empty object if it did not run."""
    path = project.root / f"{event}.json"
    return json.loads(path.read_text()) if path.exists() else {}


WRAPPED = "<untrusted_context>\nOutput: {}\nProcess Group PGID: 7070\n</untrusted_context>"


@rows(
    "text, said",
    [
        (WRAPPED.format("hi\nthere"), "hi\nthere"),
        (WRAPPED.format("(empty)"), ""),
        ("Output: hi\nExit Code: 0\nSignal: 0", "hi"),
        ("another form", "another form"),
    ],
)
def test_the_output_of_a_shell_command_of_gemini_is_as_in_claude_code(text: str, said: str, agent_of: AgentOf) -> None:
    """What it wrote is there alone, and nothing has failed."""
    agent = agent_of("gemini")
    keep(agent.project, "PostToolUse", "PostToolUseFailure")
    agent.fire(agent.ran("x", text))
    assert read(agent.project, "PostToolUse")["tool_response"]["stdout"] == said
    assert read(agent.project, "PostToolUseFailure") == {}


@rows("output, error", [("(empty)", "Exit code 3"), ("boom", "Exit code 3\nboom")])
def test_a_shell_command_of_gemini_that_exits_with_3_has_failed(output: str, error: str, agent_of: AgentOf) -> None:
    """Claude Code's event for that runs, and no other."""
    agent = agent_of("gemini")
    keep(agent.project, "PostToolUse", "PostToolUseFailure")
    agent.fire(agent.ran("x", WRAPPED.format(f"{output}\nExit Code: 3")))
    assert read(agent.project, "PostToolUseFailure")["error"] == error
    assert read(agent.project, "PostToolUse") == {}


def test_what_gemini_asks_the_user_is_claude_codes_permission_prompt(project: Project) -> None:
    """A hook whose matcher names that one runs."""
    agent = Agent("gemini", project)
    keep(project, "Notification")
    about = {**agent.stop(), "hook_event_name": "Notification", "notification_type": "ToolPermission", "message": "M"}
    agent.fire(about)
    assert read(project, "Notification")["notification_type"] == "permission_prompt"


ADD = "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch"
EDIT = "*** Begin Patch\n*** Update File: a.txt\n@@ def f\n-one\n+uno\n*** End Patch"
TWO_FILES = "*** Begin Patch\n*** Add File: n.txt\n+x\n*** Delete File: a.txt\n*** End Patch"
TWO_PLACES = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+uno\n@@\n-two\n+dos\n*** End Patch"


def wants(agent: Agent, patch: str, wanted: Json) -> Told:
    """Return the answer about a patch where a hook wants these arguments of one in the project."""
    path = f"{agent.project.root}/{wanted['file_path']}"
    own = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {**wanted, "file_path": path}}
    keep(agent.project, "PreToolUse", answer={"hookSpecificOutput": own})
    return agent.fire(agent.call("apply_patch", {"command": patch}))


@rows(
    "patch, wanted, changed",
    [
        (ADD, {"file_path": "n.txt", "content": "y\nz\n"}, ADD.replace("+x", "+y\n+z")),
        (ADD, {"file_path": "m.txt", "content": "x\n"}, ADD.replace("n.txt", "m.txt")),
        (EDIT, {"file_path": "a.txt", "old_string": "one", "new_string": "1"}, EDIT.replace("uno", "1")),
    ],
)
def test_other_arguments_for_a_write_are_another_patch(
    patch: str, wanted: Json, changed: str, agent_of: AgentOf
) -> None:
    """Codex takes the changed patch."""
    told = wants(agent_of("codex"), patch, wanted)
    assert (told.reason, told.args) == (None, {"command": changed})


@rows(
    "patch, wanted",
    [
        (EDIT, {"file_path": "a.txt", "old_string": "on", "new_string": "1"}),
        (EDIT, {"file_path": "a.txt", "old_string": "one", "new_string": "1", "replace_all": True}),
        (TWO_FILES, {"file_path": "n.txt", "content": "y\n"}),
        (TWO_PLACES, {"file_path": "a.txt", "old_string": "one\ntwo", "new_string": "1\n2"}),
    ],
)
def test_where_no_patch_does_just_that_the_call_is_refused(patch: str, wanted: Json, agent_of: AgentOf) -> None:
    """With what was wanted, so that the model can make a patch of it."""
    told = wants(agent_of("codex"), patch, wanted)
    assert "apply_patch may run with these arguments instead" in str(told.reason)
