"""The list of ways in which a hook does not fire: how each comes about, which command is asked, and what it answers.

docs/faq.md is made from this list by scripts/document_why_not.py.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrun.trust.store_writer import locked_store
from tests.cli.command import hookrun
from tests.cli.wiring import settings_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.trust.store import Refused
    from tests.conftest import Project

BASH = ("explain", "pre_tool_use", "--tool", "bash", "--arg", "command=git push")
"""The question about the tool call that every case here is about, if it is about one."""


class Way(NamedTuple):
    """One way. `setup` brings it about, `command` asks, the first line of the answer has `says` in it.

    `below` is the directory below the project's root where it is asked, `env` what is set besides.
    """

    title: str
    setup: Callable[[Project], object]
    command: tuple[str, ...]
    says: str
    remedy: str
    below: str = ""
    env: dict[str, str] = {}  # noqa: RUF012  # never changed


def declared(**fields: object) -> Callable[[Project], None]:
    """Return what declares one approved hook, called `guard`, with these fields."""

    def setup(project: Project) -> None:
        project.hooks({"name": "guard", "command": "true", **fields})
        project.approve()

    return setup


def _both(*hooks: dict[str, object]) -> Callable[[Project], None]:
    def setup(project: Project) -> None:
        project.hooks(*hooks)
        project.approve()

    return setup


def _not_approved(project: Project) -> None:
    project.hooks({"name": "guard", "command": "true"})


def _changed(project: Project) -> None:
    project.hooks({"name": "guard", "command": project.script("guard.sh", "#!/bin/sh\n")})
    project.approve()
    project.script("guard.sh", "#!/bin/sh\nexit 2\n")


def _decided(what: str) -> Callable[[Project], None]:
    """Return what denies or disables the hook, as the command of that name does at a terminal."""

    def setup(project: Project) -> None:
        declared()(project)
        refused: Refused = {"name": "guard", "root": str(project.root), "digest": "", "time": 0.0}
        with locked_store(str(project.home)) as decided:
            getattr(decided, what).append(refused)

    return setup


def _paused(project: Project) -> None:
    declared()(project)
    now = time.time()
    with locked_store(str(project.home)) as decided:
        decided.paused.append({"hook": None, "begin": now, "until": now + 3600})


def _wired(agent: str, **fields: object) -> Callable[[Project], None]:
    def setup(project: Project) -> None:
        declared(**fields)(project)
        assert hookrun(project, "install", agent, "--all-events", "--trust").status == 0

    return setup


def _message_for_gemini(project: Project) -> None:
    _wired("gemini", agents=["claude"])(project)
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "git push"}}
    message = {"session_id": "s1", "cwd": str(project.root), "hook_event_name": "BeforeTool", **call}
    (project.root / "message.json").write_text(json.dumps(message))


def _not_executable(project: Project) -> None:
    project.script("guard.sh", "#!/bin/sh\n", 0o644)
    declared(command="./guard.sh")(project)


def _windows_line_ends(project: Project) -> None:
    project.script("guard.sh", "#!/bin/sh\r\nexit 0\r\n")
    declared(command="./guard.sh")(project)


def _no_interpreter(project: Project) -> None:
    project.script("guard.sh", "#!/no/such/sh\nexit 0\n")
    declared(command="./guard.sh")(project)


def _no_first_line(project: Project) -> None:
    project.script("guard.sh", "exit 0\n")
    project.hooks({"name": "guard", "args": ["./guard.sh"]})
    project.approve()


def _user_unreadable(project: Project) -> None:
    project.hooks({"name": "other", "command": "true"})
    project.approve()
    project.broken_user_hooks()


def _elsewhere(project: Project) -> None:
    project.script("guard.sh", "#!/bin/sh\n")
    (project.root / "web").mkdir()
    declared(command="./guard.sh", cwd="web")(project)


def _no_repository(project: Project) -> None:
    declared()(project)
    (project.root / ".git").rmdir()
    (project.root / "web").mkdir()


def _nearer(project: Project) -> None:
    declared()(project)
    (project.root / "web").mkdir()
    (project.root / "web" / "coder.json").write_text('{"hooks": []}')


def _two_files(project: Project) -> None:
    declared()(project)
    (project.root / "hookrun.yaml").write_text("hooks:\n  - event: stop\n    command: 'true'\n")


def _text(name: str, text: str) -> Callable[[Project], None]:
    def setup(project: Project) -> None:
        (project.root / name).write_text(text)

    return setup


def _user_relative(project: Project) -> None:
    project.user_hooks({"name": "guard", "command": "./guard.sh"})


def _not_wired(project: Project) -> None:
    declared()(project)


def _fallen_behind(project: Project) -> None:
    declared()(project)
    assert hookrun(project, "install", "claude").status == 0
    project.hooks({"name": "guard", "command": "true"}, {"name": "tests", "event": "stop", "command": "true"})
    project.approve()


def _agent_switched_off(project: Project) -> None:
    _wired("claude")(project)
    path = settings_file(project, "claude")
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": True}))


def _matcher_in_the_settings(project: Project) -> None:
    _wired("claude")(project)
    path = settings_file(project, "claude")
    data = json.loads(path.read_text())
    data["hooks"]["PreToolUse"][0]["matcher"] = "Write"
    path.write_text(json.dumps(data))


def _not_trusted_by_codex(project: Project) -> None:
    declared()(project)
    hookrun(project, "install", "codex")


WAYS: dict[str, Way] = {
    "wrong event name": Way(
        "The event is misspelt in the declaration",
        declared(event="pre_tool_us"),
        ("validate",),
        'unknown event "pre_tool_us"',
        "Write the event as it is called; every name that an agent has for it is known too.",
    ),
    "another event": Way(
        "The hook is declared for another event than the one that happens",
        declared(event="post_tool_use"),
        (*BASH, "--hook", "guard"),
        "guard runs for other events: post_tool_use",
        "Declare it for the event that you mean; `event` may be a list.",
    ),
    "wrong case of the tool": Way(
        "The matcher has the tool's name in the wrong case",
        declared(matcher="BASH"),
        BASH,
        'matcher: "BASH" does not match the tool "bash" (names are case-sensitive: write "bash")',
        "Write the tool's name as hookrun, or the agent, has it.",
    ),
    "a matcher that no tool has": Way(
        "The matcher is a regular expression, a permission rule or misspelt, so that no tool of any agent has it",
        declared(matcher="mcp__.*"),
        ("validate",),
        'a matcher is a glob, not a regular expression: "mcp__.*" never matches',
        "Write what the message names; `hookrun validate --strict` in CI makes it an error.",
    ),
    "an argument that no tool has": Way(
        "A condition names an argument that the matcher's tools do not have",
        declared(matcher="bash", when={"tool_args.comand": "git push*"}),
        ("validate",),
        'bash has no argument "comand": the condition never matches',
        "Write hookrun's name of the argument.",
    ),
    "a file by another name": Way(
        "The hooks are in a file whose name is not read",
        lambda project: (project.root / "hookrun.json").write_text('{"hooks": []}'),
        ("validate",),
        'hookrun does not read a file named "hookrun.json"',
        "Rename the file.",
    ),
    "another agent's name of the tool": Way(
        "The matcher has the name that another agent gives to the tool",
        _wired("claude", matcher="run_shell_command"),
        (*BASH, "--agent", "claude"),
        'matcher: "run_shell_command" does not match the tool "bash" (gemini, qwen use that name)',
        "Write hookrun's name of the tool, here `bash`: it matches in every agent.",
    ),
    "matcher on an event without a tool": Way(
        "The hook has a matcher, and its event has no tool",
        declared(event="stop", matcher="bash"),
        ("explain", "stop"),
        "stop has no tool, so a matcher never matches",
        "Take the matcher out.",
    ),
    "when on a missing key": Way(
        "A condition looks at something that is not in the context",
        declared(when={"tool_args.cmd": "git push*"}),
        BASH,
        'tool_args.cmd is missing, which "git push*" does not match (did you mean tool_args.command?)',
        "Correct the path; `hookrun explain --run` shows the whole context that a hook reads.",
    ),
    "when on another value": Way(
        "A condition does not match the whole value",
        declared(when={"tool_args.command": "push"}),
        BASH,
        'when: tool_args.command is "git push", which "push" does not match',
        "A glob describes the whole value: write `*push*`.",
    ),
    "unless": Way(
        "The exception holds",
        declared(unless={"tool_args.command": "git *"}),
        BASH,
        'guard: unless: tool_args.command is "git push"',
        "Make `unless` narrower.",
    ),
    "wrong agent": Way(
        "The hook is for other agents only",
        _message_for_gemini,
        ("explain", "pre_tool_use", "--agent", "gemini", "--ctx", "message.json"),
        'agents: "claude" does not include "gemini"',
        "Add the agent to `agents`, or leave that field out.",
    ),
    "not approved": Way(
        "Nobody has approved the project's hook",
        _not_approved,
        BASH,
        "guard is not approved: review with `hookrun trust`",
        "`hookrun trust`",
    ),
    "changed since approved": Way(
        "The hook, or its script, has changed since it was approved",
        _changed,
        BASH,
        "changed since it was approved",
        "`hookrun trust` shows the difference.",
    ),
    "disabled": Way(
        "You have disabled it",
        _decided("disabled"),
        BASH,
        "guard is disabled",
        "`hookrun enable guard`",
    ),
    "denied": Way("You have denied it", _decided("denied"), BASH, "guard is denied", "`hookrun enable guard`"),
    "mode off": Way("Its mode is off", declared(mode="off"), BASH, "guard is off: mode is off", "Take `mode` out."),
    "paused": Way("Hooks are paused", _paused, BASH, "guard is paused until ", "`hookrun resume`"),
    "HOOKRUN=0": Way(
        "HOOKRUN=0 is in the environment",
        declared(),
        BASH,
        "HOOKRUN=0 is set: `hookrun fire` runs no hooks",
        "Unset it. An agent's fire pays no heed to it.",
        env={"HOOKRUN": "0"},
    ),
    "HOOKRUN_SKIP": Way(
        "HOOKRUN_SKIP in the environment names it",
        declared(),
        BASH,
        "guard is off: HOOKRUN_SKIP names it",
        "Unset it. An agent's fire pays no heed to it.",
        env={"HOOKRUN_SKIP": "other,guard"},
    ),
    "not executable": Way(
        "The script is not executable",
        _not_executable,
        BASH,
        "guard.sh is not executable",
        "`chmod +x` the script.",
    ),
    "script missing": Way(
        "The script is not there",
        declared(command="python3 hooks/guard.py"),
        BASH,
        "guard would fail: missing: its script",
        "Correct the path, or commit the script.",
    ),
    "relative path": Way(
        "A relative path is taken from another directory than you think",
        _elsewhere,
        BASH,
        "web/./guard.sh does not exist",
        "Paths are taken from `cwd`, the project's root where it is not set: leave it out, or begin the path with "
        "`$HOOKRUN_PROJECT_DIR/`.",
    ),
    "Windows line ends": Way(
        "The script has Windows line endings, so that no interpreter has the name in its first line",
        _windows_line_ends,
        (*BASH, "--run"),
        "the file has Windows line endings: save it with LF",
        "Save the script with LF.",
    ),
    "no interpreter": Way(
        "The script's first line names an interpreter that is not there",
        _no_interpreter,
        BASH,
        "guard would fail: missing: the interpreter '/no/such/sh'",
        "Correct the #! line, or install what it names.",
    ),
    "no #! line": Way(
        "The script that `args` names has no #! line",
        _no_first_line,
        BASH,
        "guard would fail: spawn: ",
        "Give it a #! line, or put the interpreter before it in `args`.",
    ),
    "no such directory": Way(
        "The hook's `cwd` is not there",
        declared(cwd="nodir"),
        BASH,
        "nodir cannot be entered: No such file or directory",
        "Correct `cwd`, which is taken from the project's root, or leave it out.",
    ),
    "no such module": Way(
        "There is no module as `python` names it",
        lambda project: project.user_hooks({"name": "guard", "python": "nosuch_module:f", "cwd": "/"}),
        BASH,
        "guard would fail: missing: no module nosuch_module",
        "Correct the name; a module is looked for in `cwd` and where the interpreter looks.",
    ),
    "an earlier block": Way(
        "A hook before it blocks, which ends the chain",
        _both({"name": "first", "command": "echo no >&2; exit 2"}, {"name": "guard", "command": "true"}),
        (*BASH, "--run"),
        "block by first (no); ran: first; guard not run: first had ended the chain",
        "Give it a lower `priority`, or `always`.",
    ),
    "an earlier failure": Way(
        "A hook before it fails, and its failure is a block",
        _both({"name": "first", "command": "./gone.sh", "on_failure": "block"}, {"name": "guard", "command": "true"}),
        (*BASH, "--hook", "guard"),
        "guard would not be reached: first, which fails before it, ends the chain",
        "Mend the first one.",
    ),
    "no repository": Way(
        "The declarations are further up, and there is no repository",
        _no_repository,
        BASH,
        "coder.json has hooks, but no .git, so it is ignored",
        "`git init`, or work where the file is.",
        below="web",
    ),
    "a nearer file": Way(
        "A declaration file that is nearer hides the one that has the hook",
        _nearer,
        BASH,
        "../coder.json is hidden by the nearer config file",
        "Put the hooks into the nearer file, or `include` the other one there.",
        below="web",
    ),
    "two files": Way(
        "Both coder.json and hookrun.yaml have hooks",
        _two_files,
        ("validate",),
        "hooks in two files of the project layer",
        "Move all of them into one of the two.",
    ),
    "syntax error": Way(
        "The file cannot be read",
        _text("coder.json", '{"hooks": [\n  {"event": "stop", "command": "true"},\n]}\n'),
        ("validate",),
        'coder.json:2:39: trailing comma before "]"',
        "Correct the file at that place.",
    ),
    "milliseconds": Way(
        "The timeout is written in milliseconds",
        declared(timeout=5000),
        ("validate",),
        "a timeout of 5000 seconds is probably too long",
        "Write seconds.",
    ),
    "unknown field": Way(
        "A field has a name that hookrun does not know",
        _text("coder.json", '{"hooks": [{"event": "stop", "cmd": "true"}]}'),
        ("validate",),
        'unknown hook field "cmd"',
        "Write the field's name; `hookrun schema` has them all.",
    ),
    "declared wrongly": Way(
        "The declaration is wrong, so that the hook fails instead of running",
        _text("coder.json", '{"hooks": [{"event": "pre_tool_use", "name": "guard", "cmd": "true"}]}'),
        BASH,
        "guard would fail: declaration: ",
        "`hookrun validate`",
    ),
    "relative in the user layer": Way(
        "A hook in your own declarations names a relative path, which would run a project's file",
        _user_relative,
        ("validate",),
        'relative path in a user or managed hook, which could run a project\'s file: "./guard.sh"',
        "Write the whole path.",
    ),
    "misspelt key at the top": Way(
        "The file has `hook` at its top, where `hooks` is meant",
        _text("coder.json", '{"hook": [{"event": "pre_tool_use", "command": "true"}]}'),
        BASH,
        'coder.json:1:10: hookrun ignores the key "hook"',
        "Write `hooks`.",
    ),
    "unreadable user declarations": Way(
        "Your own declarations cannot be read, so that nobody knows what they hold",
        _user_unreadable,
        BASH,
        "1 config error; 1 of 1 hook would run: other",
        "`hookrun validate`",
    ),
    "not wired": Way(
        "hookrun is not in the agent's settings",
        _not_wired,
        ("doctor", "claude"),
        "hookrun is not in its settings",
        "`hookrun install claude`",
    ),
    "wiring fallen behind": Way(
        "The event is not wired: the hook is newer than the wiring",
        _fallen_behind,
        ("doctor", "claude"),
        "hooks are declared for Stop, which is not wired",
        "`hookrun install claude`",
    ),
    "no such event": Way(
        "The agent has no such event",
        declared(event="notification"),
        ("explain", "notification", "--agent", "cline"),
        "Cline CLI has no such event: its hooks never run there",
        "Declare the hook for an event that the agent has: docs/reference/agents.md.",
    ),
    "matcher in the agent's settings": Way(
        "A matcher in the agent's own settings keeps the tool from hookrun",
        _matcher_in_the_settings,
        ("doctor", "claude"),
        'PreToolUse reaches hookrun only where matcher "Write" fits',
        "`hookrun install claude` takes it out; which tools a hook is for is said in its declaration.",
    ),
    "switched off in the agent": Way(
        "The agent's own settings switch hooks off",
        _agent_switched_off,
        ("doctor", "claude"),
        "disableAllHooks is true",
        "Take that setting out.",
    ),
    "not trusted by Codex": Way(
        "Codex does not trust its hooks, and skips them in silence",
        _not_trusted_by_codex,
        ("doctor", "codex"),
        "Codex CLI does not trust the hook for PreToolUse",
        "`hookrun install codex --trust`",
    ),
}
"""What keeps a hook from firing -> how it comes about, who is asked, and what the first line of the answer says."""
