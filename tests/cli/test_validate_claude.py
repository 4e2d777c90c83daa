"""`hookrun validate` on Claude Code's settings: common mistakes, each with its location and the fix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.config.discovery import ConfigFiles
from hookrun.config.load import load_config
from tests.cli.command import hookrun
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

COMMAND = {"type": "command", "command": "/bin/true"}


def said(path: Path, event: str, *, matcher: object = None, **fields: object) -> list[str]:
    """Return the errors and warnings about settings with one handler that has these fields."""
    return said_of(path, event, {"hooks": [{**COMMAND, **fields}], **({} if matcher is None else {"matcher": matcher})})


def said_of(path: Path, event: str, group: object) -> list[str]:
    """Return the errors and warnings about settings with one group."""
    settings = path / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"hooks": {event: [group]}}, indent=1))
    found = ConfigFiles(str(path), str(path))
    found.add("project", str(settings))
    return [str(problem).removeprefix(f"{settings}:") for problem in load_config(found, warns=True).problems]


@rows(
    "event, matcher, message",
    [
        ("PreToolUse", "bash", 'Claude Code has no tool "bash": it never matches'),
        ("PreToolUse", "Bash|Wrte", 'did you mean "Write"?'),
        ("PreToolUse", "MultiEdit", 'Claude Code no longer has the tool "MultiEdit"\nhint: write "Edit"'),
        ("PreToolUse", "mcp__memory", 'write "mcp__memory__.*"'),
        ("PreToolUse", "Bash(git *)", 'write "matcher": "Bash", and "if": "Bash(git *)" in the hook'),
        (
            "PreToolUse",
            "Edit(*.py)|Write(*.py)",
            'write "matcher": "Edit|Write", and a hook for each of "if": "Edit(*.py)", "Write(*.py)"',
        ),
        ("PreToolUse", "Bash(git:*)|Write", 'write "matcher": "Bash", and "if": "Bash(git:*)" in the hook'),
        ("PreToolUse", "^MultiEdit$", 'Claude Code no longer has the tool "MultiEdit"\nhint: write "Edit"'),
        ("PreToolUse", "^bash$", 'matches no known tool of Claude Code\nhint: did you mean "Bash"?'),
        ("PreToolUse", "edit.*", 'matches no known tool of Claude Code\nhint: did you mean "Edit"?'),
        ("PreToolUse", "*.py", "invalid regular expression"),
        ("PreToolUse", r"(a)\1", "is not supported"),
        (
            "PreToolUse",
            ["Bash", "Edit"],
            '(Claude Code rejects the whole file)\nhint: write "Bash|Edit"',
        ),
        ("PreToolUse", 5, "Claude Code rejects the whole file"),
        ("Stop", "Bash", "Claude Code ignores the matcher of Stop: the hook always runs"),
        ("SessionStart", "start", 'did you mean "startup"?'),
        ("PreTool", "Bash", 'Claude Code has no event "PreTool"'),
        ("PostToolBatch", None, "only Claude Code has the event `PostToolBatch`: hookrun never runs this hook"),
    ],
)
def test_matchers_and_events_that_never_fit(tmp_path: Path, event: str, matcher: object, message: str) -> None:
    """Each is reported once, with its location."""
    (problem,) = said(tmp_path, event, matcher=matcher)
    assert message in problem
    assert problem[0].isdigit()


@rows(
    "matcher",
    [
        *("Bash", "Edit|Write", "Task", "mcp__a__b", "mcp__.*", "Notebook.*", "", "*", "SomethingNew", "PowerShell"),
        *(".*", "Bash:*", "^(Edit|Write)$", "^Monitor$", "Bash(Output)?", "Web(Fetch|Search)", "my__tool.*"),
    ],
)
def test_matchers_that_are_well(tmp_path: Path, matcher: str) -> None:
    """Also unknown tools: the list of known ones is not complete."""
    assert said(tmp_path, "PreToolUse", matcher=matcher) == []


@rows(
    "event, fields, message",
    [
        ("PreToolUse", {"timeout": 5000}, "a timeout of 5000 seconds is probably too long"),
        ("PreToolUse", {"timeout_ms": 5000}, 'unknown key "timeout_ms"'),
        ("PreToolUse", {"comand": "x"}, 'did you mean "command"?'),
        ("PreToolUse", {"onFailure": "deny"}, 'unknown `onFailure` "deny" is read as block'),
        ("PreToolUse", {"once": True}, "`once` has an effect only in skills"),
        ("PreToolUse", {"if": "bash(git *)"}, 'did you mean "Bash"?'),
        ("PreToolUse", {"if": "Bash(git"}, "invalid permission rule"),
        ("PreToolUse", {"if": "WebFetch(domain:a.org)"}, "Claude Code matches WebFetch only without arguments"),
        ("PreToolUse", {"if": "Monitor(tail *)"}, 'hookrun ignores the arguments of "Monitor(tail *)"'),
        ("Stop", {"if": "Bash"}, "`if` works only on events with a tool: on Stop the hook never runs"),
        ("PreToolUse", {"type": "prompt", "prompt": "x"}, 'only Claude Code can run handlers of type "prompt"'),
        ("PreToolUse", {"type": "shell"}, 'unknown handler type "shell"'),
        ("PreToolUse", {"shell": "powershell"}, "hookrun does not run PowerShell commands"),
        (
            "PreToolUse",
            {"type": "http", "url": "http://localhost/", "headers": {"content-length": "3"}},
            'the header "content-length" is ignored',
        ),
    ],
)
def test_handlers(tmp_path: Path, event: str, fields: dict[str, object], message: str) -> None:
    """Mistakes in a handler, and values that are hardly intended."""
    (problem,) = said(tmp_path, event, **fields)
    assert message in problem


@rows("key", ["matchers", "Matcher", "match"])
def test_a_group_s_matcher_by_another_name(tmp_path: Path, key: str) -> None:
    """Claude Code passes it over, and the hooks run on everything."""
    (problem,) = said_of(tmp_path, "PreToolUse", {key: "Bash", "hooks": [COMMAND]})
    assert f'unknown key "{key}"' in problem
    assert 'did you mean "matcher"?' in problem


@rows("group", [[], {"hooks": "x"}, {"hooks": [{"command": "x"}]}, {"hooks": [{"type": "command"}]}])
def test_what_costs_the_whole_file_in_claude_code_is_said_to(tmp_path: Path, group: object) -> None:
    """Here the others run, but there nothing does."""
    assert any("(Claude Code rejects the whole file)" in each for each in said_of(tmp_path, "Stop", group))


@pytest.mark.parametrize("name", [".claude/settings.json", "plug/hooks/hooks.json"])
def test_events_that_stand_at_the_top_are_told(project: Project, name: str) -> None:
    """Neither settings nor a plugin's file may leave out `hooks`."""
    (project.root / "plug" / ".claude-plugin").mkdir(parents=True)
    (project.root / "plug" / ".claude-plugin" / "plugin.json").write_text("{}")
    path = project.root / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"PreToolUse": [{"hooks": [COMMAND]}]}))
    done = hookrun(project, "validate", name)
    assert (done.status, "`PreToolUse` is not inside `hooks`, so Claude Code ignores it" in done.stdout) == (1, True)
    fired = project.fire(None, "--config", name)
    assert "`PreToolUse` is not inside `hooks`" in fired.stderr


def settings(project: Project, **commands: str) -> str:
    """Write settings with a handler of a command for each event, and return their path."""
    hooks = {event: [{"hooks": [{"type": "command", "command": line}]}] for event, line in commands.items()}
    path = project.root / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks}, indent=1))
    return ".claude/settings.json"


def test_scripts_that_are_missing_or_relative(project: Project) -> None:
    """Whether a script is there is looked up at the root; a relative path is warned of even if it is."""
    project.script(".claude/hooks/there.sh", "#!/bin/sh\n")
    path = settings(project, PreToolUse='"$CLAUDE_PROJECT_DIR"/.claude/hooks/none.sh', Stop="sh .claude/hooks/there.sh")
    done = hookrun(project, "validate", path)
    assert done.status == 1
    assert "none.sh` does not exist" in done.stdout
    assert 'write "$CLAUDE_PROJECT_DIR"/.claude/hooks/there.sh' in done.stdout
    assert done.stdout.endswith("checked 2 hooks in 1 file: 1 error, 1 warning\n")


@rows(
    "text, doubtful",
    [
        ("#!/bin/sh\ngrep -q rm && exit 1\nexit 0\n", True),
        ("#!/usr/bin/env python3\nimport sys\nsys.exit(1)\n", True),
        ("#!/usr/bin/env node\nprocess.exit(1)\n", True),
        ("#!/usr/bin/env python3\nimport sys\n# exit 2 would refuse\nsys.exit('BLOCKED')\n", True),
        ("#!/usr/bin/env python3\nraise SystemExit(f'no')  # exit 2\n", True),
        ("#!/bin/sh\ngrep -q rm && exit 2\nexit 1\n", False),
        ("#!/bin/sh\necho '{\"hookSpecificOutput\": {}}'\nexit 1\n", False),
        ("#!/bin/sh\nexit 0\n", False),
    ],
)
def test_a_script_that_ends_with_one_probably_means_two(project: Project, text: str, *, doubtful: bool) -> None:
    """It is only looked at, not run; one that refuses in another way is left alone."""
    project.script("guard.sh", text)
    done = hookrun(project, "validate", settings(project, PreToolUse='"$CLAUDE_PROJECT_DIR"/guard.sh'))
    assert ("`guard.sh` exits with 1, which does not block the call" in done.stdout) is doubtful


@rows(
    "line, name, place",
    [
        ("echo $TOOL_INPUT", "$TOOL_INPUT", ".tool_input"),
        ('test "${CLAUDE_TOOL_NAME}" = Bash', "$CLAUDE_TOOL_NAME", ".tool_name"),
        ('prettier --write "$CLAUDE_FILE_PATHS"', "$CLAUDE_FILE_PATHS", ".tool_input.file_path"),
        ("eslint $FILE_PATH", "$FILE_PATH", ".tool_input.file_path"),
        ("echo $CLAUDE_TOOL_INPUT_COMMAND", "$CLAUDE_TOOL_INPUT_COMMAND", ".tool_input.command"),
        ("echo ${CLAUDE_SESSION_ID:-none}", "$CLAUDE_SESSION_ID", ".session_id"),
        ("echo $CLAUDE_HOOK_EVENT", "$CLAUDE_HOOK_EVENT", ".hook_event_name"),
    ],
)
def test_variables_that_nobody_sets(project: Project, line: str, name: str, place: str) -> None:
    """A common expectation; the values are on stdin instead."""
    done = hookrun(project, "validate", settings(project, PreToolUse=line))
    said = f"Claude Code does not set `{name}`: the input is JSON on stdin\nhint: read it with `jq -r {place}`\n"
    assert said in done.stdout


def test_a_variable_that_claude_code_never_sets_is_not_read_from_a_field(project: Project) -> None:
    """Whatever its name; one with a default, of the settings or of the environment is the user's."""
    line = "echo $CLAUDE_MODEL ${CLAUDE_COLOR:-red} $CLAUDE_MINE $CLAUDE_HERE"
    path = settings(project, PreToolUse=line)
    file = project.root / path
    file.write_text(json.dumps({**json.loads(file.read_text()), "env": {"CLAUDE_MINE": "1"}}))
    done = hookrun(project, "validate", path, CLAUDE_HERE="1")
    hint = "read that, or set the variable in `env` of the settings"
    assert f"does not set `$CLAUDE_MODEL`: the input is JSON on stdin\nhint: {hint}\n" in done.stdout
    assert done.stdout.count("does not set") == 1


@rows(
    "line",
    [
        "FILE_PATH=$(jq -r .tool_input.file_path); echo $FILE_PATH",
        "jq -r .tool_name | { read -r TOOL_NAME; echo $TOOL_NAME; }",
        "for FILE_PATH in *.py; do echo $FILE_PATH; done",
        "echo $CLAUDE_PROJECT_DIR $CLAUDE_ENV_FILE $CLAUDE_CODE_REMOTE $CLAUDE_PLUGIN_ROOT $SESSION_ID $PROMPT",
    ],
)
def test_variables_that_somebody_sets(project: Project, line: str) -> None:
    """The line itself, Claude Code, or perhaps the user."""
    assert "does not set" not in hookrun(project, "validate", settings(project, PreToolUse=line)).stdout


def test_what_a_machine_lacks_is_said_once(project: Project) -> None:
    """A program that many hooks need is one warning, with their number, where the first needs it."""
    handlers = [{"type": "command", "command": f"no-such-program {each}"} for each in "abc"]
    path = project.root / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": handlers}]}}))
    done = hookrun(project, "validate", str(path))
    assert done.stdout.count("command not found") == 1
    assert "command not found: `no-such-program` (3 hooks)\nhint: install it" in done.stdout


@rows("matcher", ["Edit|MultiEdit|Write", "^(Edit|MultiEdit)$", "(Multi)?Edit"])
def test_a_tool_of_older_versions(project: Project, matcher: str) -> None:
    """Beside tools that live it is no mistake."""
    path = project.root / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [COMMAND]}]}}))
    assert "no longer has the tool" not in hookrun(project, "validate", str(path)).stdout


def test_a_script_of_the_exec_form_is_no_relative_path(project: Project) -> None:
    """`${CLAUDE_PROJECT_DIR}` is filled in."""
    project.script(".claude/hooks/a.sh", "#!/bin/sh\n")
    path = project.root / ".claude" / "settings.json"
    script = "${CLAUDE_PROJECT_DIR}/.claude/hooks/a.sh"
    handlers = [{**COMMAND, "command": "sh", "args": [script]}, {**COMMAND, "command": script, "args": []}]
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": handlers}]}}))
    done = hookrun(project, "validate", str(path))
    assert done.stdout == "checked 2 hooks in 1 file: 0 errors, 0 warnings\n"


def test_a_script_that_is_missing_where_the_line_goes_first(project: Project) -> None:
    """After `cd` into the project later paths are looked up there, as at run time."""
    path = settings(project, PreToolUse='cd "$CLAUDE_PROJECT_DIR" && sh .claude/hooks/none.sh')
    assert "none.sh` does not exist" in hookrun(project, "validate", path).stdout
    fired = project.fire(None, "--config", path)
    assert "hook none failed (missing)" in fired.stderr


def test_probe_tells_of_a_stop_hook_that_never_lets_go(project: Project) -> None:
    """One that looks at `stop_hook_active` is fine."""
    looks = "grep -q 'stop_hook_active.: *true' && exit 0; echo more >&2; exit 2"
    assert "stop_hook_active" not in hookrun(project, "validate", settings(project, Stop=looks), "--probe").stdout
    path = settings(project, Stop="echo more >&2; exit 2")
    assert "blocks Stop even when stop_hook_active is true" in hookrun(project, "validate", path, "--probe").stdout


def test_probe_judges_answers(project: Project) -> None:
    """Each hook runs on a sample of its event in a separate directory: unreadable answers and failures are reported."""
    nameless = {"hookSpecificOutput": {"permissionDecision": "deny"}}
    path = settings(
        project,
        PreToolUse=f"echo '{json.dumps(nameless)}'",
        PostToolUse="pwd >> /dev/null; touch here; exit 1",
        UserPromptSubmit="""jq -r .prompt 2>/dev/null || grep -o retry""",
        Stop='echo \'{"decision": "deny", "reason": "no"}\'',
    )
    without = hookrun(project, "validate", path)
    assert without.stdout.endswith("checked 4 hooks in 1 file: 0 errors, 0 warnings\n")
    done = hookrun(project, "validate", path, "--probe")
    assert done.status == 0
    assert "on a sample of PreToolUse: wrong_field: its block counts" in done.stdout
    assert "hookEventName" in done.stdout
    assert "failed on a sample of PostToolUse: it exited with status 1" in done.stdout
    assert 'failed on a sample of Stop: decision is "deny"' in done.stdout
    assert "UserPromptSubmit" not in done.stdout
    assert not (project.root / "here").exists()
