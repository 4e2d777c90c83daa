"""Cline CLI's calls that do several things, in every shape in which its model may list them."""

from __future__ import annotations

from hookrun.agents import cline
from hookrun.agents.base import Message
from hookrun.agents.formats import Reply
from tests.rows import rows


def read(tool: str, args: object, **more: object) -> Message:
    """Return the context read from a message about a call, or with `more` about its result."""
    about = {"id": "c1", "name": tool, "input": args, **more}
    name = "tool_result" if more else "tool_call"
    return cline.read({"hookName": name, "taskId": "s1", name: about}, "")


@rows(
    "tool, args, name, seen",
    [
        ("run_commands", {"commands": ["ls", "pwd"]}, "bash", [{"command": "ls"}, {"command": "pwd"}]),
        ("run_commands", {"command": "ls"}, "bash", [{"command": "ls"}]),
        ("run_commands", {"cmd": "ls"}, "bash", [{"command": "ls"}]),
        ("run_commands", ["ls"], "bash", [{"command": "ls"}]),
        ("run_commands", "ls", "bash", [{"command": "ls"}]),
        ("run_commands", {"commands": {"command": "rm", "args": ["a b"]}}, "bash", [{"command": "rm 'a b'"}]),
        ("run_commands", [{"command": "rm", "args": ["-rf", "/"]}], "bash", [{"command": "rm -rf /"}]),
        ("read_files", {"files": [{"path": "/a", "start_line": 2}]}, "read", [{"file_path": "/a", "start_line": 2}]),
        ("read_files", {"paths": ["/a", "/b"]}, "read", [{"file_path": "/a"}, {"file_path": "/b"}]),
        ("read_files", {"file_paths": "/a"}, "read", [{"file_path": "/a"}]),
        ("search_codebase", {"queries": ["x"]}, "grep", [{"pattern": "x"}]),
        ("fetch_web_content", {"requests": [{"url": "u", "prompt": "p"}]}, "web_fetch", [{"url": "u", "prompt": "p"}]),
        ("spawn_agent", {"systemPrompt": "s", "task": "t"}, "task", [{"systemPrompt": "s", "prompt": "t"}]),
        ("editor", {"path": "/a", "new_text": "x"}, "write", [{"file_path": "/a", "content": "x"}]),
        ("editor", {"path": "/a", "old_text": None, "new_text": "x"}, "write", None),
        ("editor", {"path": "/a", "old_text": "y", "new_text": "x"}, "edit", None),
        ("editor", {"path": "/a", "new_text": "x", "insert_line": 3}, "edit", None),
        ("apply_patch", {"input": "*** Add File: a\n+x"}, "write", [{"file_path": "a", "content": "x\n"}]),
        ("apply_patch", "*** Delete File: a", "delete", [{"file_path": "a"}]),
        ("run_commands", {"strange": 1}, "bash", [{"strange": 1}]),
    ],
)
def test_every_thing_is_a_call(tool: str, args: object, name: str, seen: list[object] | None) -> None:
    """By hookrun's names, so that a guard sees each."""
    calls = read(tool, args).calls
    assert {call.fields["tool_name"] for call in calls} == {name}
    assert seen is None or [call.fields["tool_args"] for call in calls] == seen


@rows(
    "tool, args, wanted, own",
    [
        ("run_commands", {"commands": ["a", "b"]}, [None, {"command": "c"}], {"commands": ["a", "c"]}),
        ("run_commands", "a", [{"command": "c"}], {"commands": ["c"]}),
        ("run_commands", [{"command": "a", "args": ["b"]}], [{"command": "c d"}], {"commands": ["c d"]}),
        (
            "read_files",
            {"files": [{"path": "/a", "end_line": 1}, "/b"]},
            [{"file_path": "/c", "end_line": 1}, {"file_path": "/d"}],
            {"files": [{"path": "/c", "end_line": 1}, "/d"]},
        ),
        (
            "editor",
            {"path": "/a", "new_text": "x"},
            [{"file_path": "/b", "content": "y"}],
            {"path": "/b", "new_text": "y"},
        ),
        ("apply_patch", "*** Delete File: a", [{"file_path": "b"}], None),
    ],
)
def test_a_change_goes_where_it_came_from(tool: str, args: object, wanted: list[object], own: object) -> None:
    """Everything else stays as the model sent it; the patched text cannot be changed."""
    assert read(tool, args).to_native_args(wanted) == own  # type: ignore[arg-type]


def test_each_thing_has_its_own_result() -> None:
    """Of two commands one may fail: then it is a failure, and the other is not."""
    output = [{"query": "a", "result": "fine", "success": True}, {"query": "b", "error": "broken", "success": False}]
    first, second = read("run_commands", {"commands": ["a", "b"]}, output=output).calls
    assert (first.event, first.fields["tool_result_output"]) == ("post_tool_use", "fine")
    assert (second.event, second.fields["tool_result_error"]) == ("post_tool_failure", "broken")


def test_a_failed_edit_changes_no_file() -> None:
    """It is one failure, however Cline reports it."""
    args = {"path": "/a", "new_text": "x"}
    for more in ({"output": None, "error": "no"}, {"output": {"result": "", "error": "no", "success": False}}):
        (call,) = read("editor", args, **more).calls
        assert (call.event, call.fields["tool_result_error"]) == ("post_tool_failure", "no")
    done = read("editor", args, output={"query": "edit:/a", "result": "written", "success": True}).calls
    assert [call.event for call in done] == ["post_tool_use", "file_changed"]


FAILING = {"overrideInput": cline.FAILING, "context": "no"}
END = {"cancel": True, "errorMessage": "no"}


@rows(
    "tool, answer",
    [("run_commands", FAILING), ("spawn_agent", FAILING), ("my_files__make_it", END), ("skills", END)],
)
def test_a_block_ends_the_run_only_where_no_arguments_make_the_call_fail(tool: str, answer: object) -> None:
    """A server may accept any arguments; a subagent without a task does not start (measured)."""
    assert cline.RESPONSE_FORMATS["PreToolUse"].render(Reply("block", "no"), read(tool, {"task": "t"})) == answer
