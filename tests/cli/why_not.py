"""The reasons why a hook does not run: how to cause each, which command to ask, and what it answers.

docs/troubleshooting.md is made from this list by scripts/document_why_not.py.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrun.trust.project import locked_store
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
    """Return the declaration of one approved hook, called `guard`, with these fields."""

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
        "The event is misspelled",
        declared(event="pre_tool_us"),
        ("validate",),
        'unknown event "pre_tool_us"',
        "Use hookrun's name of the event, or any agent's.",
    ),
    "another event": Way(
        "The hook is for another event",
        declared(event="post_tool_use"),
        (*BASH, "--hook", "guard"),
        "guard runs for other events: post_tool_use",
        "Change `event`; it may be a list.",
    ),
    "wrong case of the tool": Way(
        "The matcher has the wrong case",
        declared(matcher="BASH"),
        BASH,
        'matcher: "BASH" does not match the tool "bash" (names are case-sensitive: write "bash")',
        "Matchers are case-sensitive: write `bash`.",
    ),
    "a matcher that no tool has": Way(
        "The matcher is a regular expression or misspelled",
        declared(matcher="mcp__.*"),
        ("validate",),
        'a matcher is a glob, not a regular expression: "mcp__.*" never matches',
        "Write the glob that the hint names. `hookrun validate --strict` makes it an error in CI.",
    ),
    "an argument that no tool has": Way(
        "A condition names an unknown argument",
        declared(matcher="bash", when={"tool_args.comand": "git push*"}),
        ("validate",),
        'bash has no argument "comand": the condition never matches',
        "Use hookrun's name of the argument.",
    ),
    "a file by another name": Way(
        "The config file has the wrong name",
        lambda project: (project.root / "hookrun.json").write_text('{"hooks": []}'),
        ("validate",),
        'hookrun does not read a file named "hookrun.json"',
        "Rename it to `coder.json` or `hookrun.yaml`.",
    ),
    "another agent's name of the tool": Way(
        "The matcher uses another agent's name of the tool",
        _wired("claude", matcher="run_shell_command"),
        (*BASH, "--agent", "claude"),
        'matcher: "run_shell_command" does not match the tool "bash" (gemini, qwen use that name)',
        "Use hookrun's name, which matches in every agent.",
    ),
    "matcher on an event without a tool": Way(
        "The hook has a matcher, but its event has no tool",
        declared(event="stop", matcher="bash"),
        ("explain", "stop"),
        "stop has no tool, so a matcher never matches",
        "Remove the matcher.",
    ),
    "when on a missing key": Way(
        "A condition uses a field that the context does not have",
        declared(when={"tool_args.cmd": "git push*"}),
        BASH,
        'tool_args.cmd is missing, which "git push*" does not match (did you mean "tool_args.command"?)',
        "Correct the path. `hookrun explain --run` shows the whole context.",
    ),
    "when on another value": Way(
        "A condition matches only a part of the value",
        declared(when={"tool_args.command": "push"}),
        BASH,
        'when: tool_args.command is "git push", which "push" does not match',
        "A glob must match the whole value: write `*push*`.",
    ),
    "unless": Way(
        "`unless` excludes the call",
        declared(unless={"tool_args.command": "git *"}),
        BASH,
        'guard: unless: tool_args.command is "git push"',
        "Narrow `unless`.",
    ),
    "wrong agent": Way(
        "The hook is for other agents",
        _message_for_gemini,
        ("explain", "pre_tool_use", "--agent", "gemini", "--ctx", "message.json"),
        'agents: "claude" does not include "gemini"',
        "Add the agent to `agents`, or remove the field.",
    ),
    "not approved": Way(
        "The hook is not approved",
        _not_approved,
        BASH,
        "guard is not approved: review with `hookrun trust`",
        "Run `hookrun trust`.",
    ),
    "changed since approved": Way(
        "The hook has changed since you approved it",
        _changed,
        BASH,
        "changed since it was approved",
        "Run `hookrun trust`, which shows the difference.",
    ),
    "disabled": Way(
        "The hook is disabled",
        _decided("disabled"),
        BASH,
        "guard is disabled",
        "Run `hookrun enable guard`.",
    ),
    "denied": Way(
        "The hook is denied",
        _decided("denied"),
        BASH,
        "guard is denied",
        "Run `hookrun enable guard`, then `hookrun trust`.",
    ),
    "mode off": Way(
        "The mode of the hook is off", declared(mode="off"), BASH, "guard is off: mode is off", "Remove `mode`."
    ),
    "paused": Way("Hooks are paused", _paused, BASH, "guard is paused until ", "Run `hookrun resume`."),
    "HOOKRUN=0": Way(
        "HOOKRUN=0 is set",
        declared(),
        BASH,
        "HOOKRUN=0 is set: `hookrun fire` runs no hooks",
        "Unset it. Agents ignore it.",
        env={"HOOKRUN": "0"},
    ),
    "HOOKRUN_SKIP": Way(
        "HOOKRUN_SKIP names the hook",
        declared(),
        BASH,
        "guard is off: HOOKRUN_SKIP names it",
        "Unset it. Agents ignore it.",
        env={"HOOKRUN_SKIP": "other,guard"},
    ),
    "not executable": Way(
        "The script is not executable",
        _not_executable,
        BASH,
        "guard.sh is not executable",
        "Run `chmod +x` on the script.",
    ),
    "script missing": Way(
        "The script does not exist",
        declared(command="python3 hooks/guard.py"),
        BASH,
        "guard would fail: missing: its script",
        "Correct the path, or commit the script.",
    ),
    "relative path": Way(
        "A relative path starts from another directory",
        _elsewhere,
        BASH,
        "web/./guard.sh does not exist",
        "Paths start from `cwd`, by default the project's root. Remove `cwd`, or begin the path with "
        "`$HOOKRUN_PROJECT_DIR/`.",
    ),
    "Windows line ends": Way(
        "The script has Windows line endings",
        _windows_line_ends,
        (*BASH, "--run"),
        "the file has Windows line endings: save it with LF",
        "Save the script with LF line endings.",
    ),
    "no interpreter": Way(
        "The interpreter of the script is not installed",
        _no_interpreter,
        BASH,
        "guard would fail: missing: the interpreter '/no/such/sh'",
        "Correct the `#!` line, or install the interpreter.",
    ),
    "no #! line": Way(
        "The script has no `#!` line",
        _no_first_line,
        BASH,
        "guard would fail: spawn: ",
        "Add one, or put the interpreter first in `args`.",
    ),
    "no such directory": Way(
        "The working directory of the hook does not exist",
        declared(cwd="nodir"),
        BASH,
        "nodir cannot be entered: No such file or directory",
        "Correct `cwd`, which is relative to the project's root, or remove it.",
    ),
    "no such module": Way(
        "The Python module does not exist",
        lambda project: project.user_hooks({"name": "guard", "python": "nosuch_module:f", "cwd": "/"}),
        BASH,
        "guard would fail: missing: no module nosuch_module",
        "Correct the name. Modules are searched in `cwd` and on the path of the interpreter.",
    ),
    "an earlier block": Way(
        "An earlier hook blocks the call",
        _both({"name": "first", "command": "echo no >&2; exit 2"}, {"name": "guard", "command": "true"}),
        (*BASH, "--run"),
        "block by first (no); ran: first; guard not run: first already ended the chain",
        "Give the hook a lower `priority`, or `always: true`.",
    ),
    "an earlier failure": Way(
        "An earlier hook fails and blocks",
        _both({"name": "first", "command": "./gone.sh", "on_failure": "block"}, {"name": "guard", "command": "true"}),
        (*BASH, "--hook", "guard"),
        "guard would not be reached: first, which fails before it, ends the chain",
        "Fix the earlier hook.",
    ),
    "no repository": Way(
        "The config is in a parent directory outside of a git repository",
        _no_repository,
        BASH,
        "coder.json has hooks, but no .git, so it is ignored",
        "Run `git init`, or work where the file is.",
        below="web",
    ),
    "a nearer file": Way(
        "A nearer config file hides the one with the hook",
        _nearer,
        BASH,
        "../coder.json is hidden by the nearer config file",
        "Move the hooks to the nearer file, or `include` the other one there.",
        below="web",
    ),
    "two files": Way(
        "Both coder.json and hookrun.yaml have hooks",
        _two_files,
        ("validate",),
        "hooks in two files of the project layer",
        "Move all of them to one file.",
    ),
    "syntax error": Way(
        "The config file is not valid JSON or YAML",
        _text("coder.json", '{"hooks": [\n  {"event": "stop", "command": "true"},\n]}\n'),
        ("validate",),
        'coder.json:2:39: trailing comma before "]"',
        "Correct the file at that place.",
    ),
    "milliseconds": Way(
        "The timeout is in milliseconds",
        declared(timeout=5000),
        ("validate",),
        "a timeout of 5000 seconds is probably too long",
        "Write seconds.",
    ),
    "unknown field": Way(
        "A field is misspelled",
        _text("coder.json", '{"hooks": [{"event": "stop", "cmd": "true"}]}'),
        ("validate",),
        'unknown hook field "cmd"',
        "Write the name that the hint gives.",
    ),
    "declared wrongly": Way(
        "The config entry has an error, so that the hook fails",
        _text("coder.json", '{"hooks": [{"event": "pre_tool_use", "name": "guard", "cmd": "true"}]}'),
        BASH,
        "guard would fail: declaration: ",
        "Run `hookrun validate`.",
    ),
    "relative in the user layer": Way(
        "A hook of your own uses a relative path",
        _user_relative,
        ("validate",),
        'relative path in a user or managed hook, which could run a project\'s file: "./guard.sh"',
        "Write the absolute path: a relative one would run a project's file.",
    ),
    "misspelt key at the top": Way(
        "The config has `hook` instead of `hooks`",
        _text("coder.json", '{"hook": [{"event": "pre_tool_use", "command": "true"}]}'),
        BASH,
        'coder.json:1:10: hookrun ignores the key "hook"',
        "Write `hooks`.",
    ),
    "unreadable user declarations": Way(
        "Your own config cannot be read",
        _user_unreadable,
        BASH,
        "1 config error; 1 of 1 hook would run: other",
        "Run `hookrun validate`.",
    ),
    "not wired": Way(
        "hookrun is not installed into the agent",
        _not_wired,
        ("doctor", "claude"),
        "hookrun is not in its settings",
        "Run `hookrun install claude`.",
    ),
    "wiring fallen behind": Way(
        "The event is not connected",
        _fallen_behind,
        ("doctor", "claude"),
        "not installed for Stop, for which there are hooks",
        "Run `hookrun install claude` again.",
    ),
    "no such event": Way(
        "The agent does not have the event",
        declared(event="notification"),
        ("explain", "notification", "--agent", "cline"),
        "Cline CLI has no such event: its hooks never run there",
        "Choose an event that the agent has: see its page in the reference.",
    ),
    "matcher in the agent's settings": Way(
        "A matcher in the agent's settings hides the tool",
        _matcher_in_the_settings,
        ("doctor", "claude"),
        'PreToolUse reaches hookrun only if matcher "Write" matches',
        "Run `hookrun install claude`, which removes the matcher.",
    ),
    "switched off in the agent": Way(
        "The agent's settings disable all hooks",
        _agent_switched_off,
        ("doctor", "claude"),
        "disableAllHooks is true",
        "Remove that setting.",
    ),
    "not trusted by Codex": Way(
        "Codex does not trust its hooks",
        _not_trusted_by_codex,
        ("doctor", "codex"),
        "Codex CLI does not trust the hook for PreToolUse",
        "Run `hookrun install codex --trust`.",
    ),
}
"""What keeps a hook from running -> how to cause it, the command to ask, and the first line of its answer."""
