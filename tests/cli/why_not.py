"""The reasons why a hook does not run: how to cause each, which command to ask, and what it answers.

docs/troubleshooting.md is made from this list by scripts/document_why_not.py.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrun.trust.project import locked_store
from tests.cli.command import hookrun
from tests.cli.wiring import settings_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.trust.store import Disabled
    from tests.conftest import Project

    Setup = Callable[[Project], object]

BASH = ("explain", "pre_tool_use", "--tool", "bash", "--arg", "command=git push")
TRY = ("try", "git push")
"""The question about the tool call that every case here is about, if it is about one."""


def approved(*hooks: dict[str, object]) -> Setup:
    """Return the declaration of these hooks, approved."""

    def setup(project: Project) -> None:
        project.hooks(*hooks)
        project.approve()

    return setup


def declared(**fields: object) -> Setup:
    """Return the declaration of one approved hook, called `guard`, with these fields."""
    return approved({"name": "guard", "command": "true", **fields})


def scripted(text: str, mode: int = 0o755, **fields: object) -> Setup:
    """Return the declaration of one approved hook, whose script has this text; the fields start it."""

    def setup(project: Project) -> None:
        project.script("guard.sh", text, mode)
        approved({"name": "guard", **(fields or {"command": "./guard.sh"})})(project)

    return setup


class Way(NamedTuple):
    """One way. `setup` brings it about, `command` asks, the first line of the answer has `says` in it.

    `below` is the directory below the project's root where it is asked, `env` what is set besides.
    """

    title: str
    says: str
    remedy: str
    setup: Setup = declared()
    command: tuple[str, ...] = BASH
    below: str = ""
    env: dict[str, str] = {}  # noqa: RUF012  # never changed

    def answer_in(self, stdout: str) -> str:
        """Return the part of the output that has to name the cause: the first line, all of `try`'s table."""
        first = stdout.partition("\n")[0]
        return stdout if self.command[0] == "try" or first.endswith("...") else first


def _changed(project: Project) -> None:
    scripted("#!/bin/sh\n")(project)
    project.script("guard.sh", "#!/bin/sh\nexit 2\n")


def _disabled(*, every: bool = False) -> Setup:
    """Return what disables the hook, or all hooks for an hour, as `hookrun disable` does at a terminal."""

    def setup(project: Project) -> None:
        declared()(project)
        now = time.time()
        root = "" if every else str(project.root)
        entry: Disabled = {"name": "guard", "root": root, "digest": "", "time": now, "until": None}
        if every:
            entry |= {"name": None, "until": now + 3600}
        with locked_store(str(project.home)) as decided:
            decided.disabled.append(entry)

    return setup


def _wired(agent: str, **fields: object) -> Setup:
    def setup(project: Project) -> None:
        declared(**fields)(project)
        assert hookrun(project, "install", agent, "--all-events", "--trust").status == 0

    return setup


def _edited(change: Callable[[dict[str, Any]], object]) -> Setup:
    """Return an installation into Claude Code whose settings were changed afterwards."""

    def setup(project: Project) -> None:
        _wired("claude")(project)
        path = settings_file(project, "claude")
        settings = json.loads(path.read_text())
        change(settings)
        path.write_text(json.dumps(settings))

    return setup


def _message_for_gemini(project: Project) -> None:
    _wired("gemini", agents=["claude"])(project)
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "git push"}}
    message = {"session_id": "s1", "cwd": str(project.root), "hook_event_name": "BeforeTool", **call}
    (project.root / "message.json").write_text(json.dumps(message))


def _user_unreadable(project: Project) -> None:
    approved({"name": "other", "command": "true"})(project)
    project.broken_user_hooks()


def _elsewhere(project: Project) -> None:
    (project.root / "web").mkdir()
    scripted("#!/bin/sh\n", command="./guard.sh", cwd="web")(project)


def _no_repository(project: Project) -> None:
    declared()(project)
    (project.root / ".git").rmdir()


def _nearer(project: Project) -> None:
    declared()(project)
    _text("web/coder.json", '{"hooks": []}')(project)


def _two_files(project: Project) -> None:
    declared()(project)
    _text("hookrun.yaml", "hooks:\n  - event: stop\n    command: 'true'\n")(project)


def _text(name: str, text: str) -> Setup:
    return lambda project: project.script(name, text, 0o644)


def _fallen_behind(project: Project) -> None:
    _edited(lambda settings: settings["hooks"].pop("Stop"))(project)
    approved({"name": "guard", "command": "true"}, {"name": "tests", "event": "stop", "command": "true"})(project)


def _not_trusted_by_codex(project: Project) -> None:
    declared()(project)
    hookrun(project, "install", "codex")


WAYS = (
    Way(
        "The event is misspelled",
        'unknown event "pre_tool_us"',
        "Use hookrun's name of the event, or any agent's.",
        setup=declared(event="pre_tool_us"),
        command=("validate",),
    ),
    Way(
        "The hook is for another event",
        "guard runs for other events: post_tool_use",
        "Change `event`; it may be a list.",
        setup=declared(event="post_tool_use"),
        command=(*BASH, "--hook", "guard"),
    ),
    Way(
        "The matcher has the wrong case",
        'matcher: "BASH" does not match the tool "bash" (names are case-sensitive: write "bash")',
        "Matchers are case-sensitive: write `bash`.",
        setup=declared(matcher="BASH"),
    ),
    Way(
        "The matcher is a regular expression or misspelled",
        'a matcher is a glob, not a regular expression: "mcp__.*" never matches',
        "Write the glob that the hint names. `hookrun validate --strict` makes it an error in CI.",
        setup=declared(matcher="mcp__.*"),
        command=("validate",),
    ),
    Way(
        "A condition names an unknown argument",
        'bash has no argument "comand": the condition never matches',
        "Use hookrun's name of the argument.",
        setup=declared(matcher="bash", when={"tool_args.comand": "git push*"}),
        command=("validate",),
    ),
    Way(
        "The config file has the wrong name",
        'hookrun does not read a file named "hookrun.json"',
        "Rename it to `hookrun.yaml` or `coder.json`.",
        setup=_text("hookrun.json", '{"hooks": []}'),
        command=("validate",),
    ),
    Way(
        "The matcher is a pattern of another agent's name of the tool",
        'matcher: "run_shell_*" does not match the tool "bash" (gemini, qwen use that name)',
        "Use hookrun's name, or a whole name of any agent: these match in every agent.",
        setup=_wired("claude", matcher="run_shell_*"),
        command=(*BASH, "--agent", "claude"),
    ),
    Way(
        "The hook has a matcher, but its event has no tool",
        "stop has no tool, so a matcher never matches",
        "Remove the matcher.",
        setup=declared(event="stop", matcher="bash"),
        command=("explain", "stop"),
    ),
    Way(
        "A condition uses a field that the context does not have",
        'tool_args.cmd is missing, which "git push*" does not match (did you mean "tool_args.command"?)',
        "Correct the path. `hookrun try --long` shows the whole context.",
        setup=declared(when={"tool_args.cmd": "git push*"}),
    ),
    Way(
        "A condition matches only a part of the value",
        'when: tool_args.command is "git push", which "push" does not match',
        "A glob must match the whole value: write `*push*`.",
        setup=declared(when={"tool_args.command": "push"}),
    ),
    Way(
        "`unless` excludes the call",
        'guard: unless: tool_args.command is "git push"',
        "Narrow `unless`.",
        setup=declared(unless={"tool_args.command": "git *"}),
    ),
    Way(
        "The hook is for other agents",
        'agents: "claude" does not include "gemini"',
        "Add the agent to `agents`, or remove the field.",
        setup=_message_for_gemini,
        command=("explain", "pre_tool_use", "--agent", "gemini", "--ctx", "message.json"),
    ),
    Way(
        "The hook is not approved",
        "guard runs here; agents need your approval: `hookrun trust`",
        "Run `hookrun trust`.",
        setup=lambda project: project.hooks({"name": "guard", "command": "true"}),
    ),
    Way(
        "The hook has changed since you approved it",
        "changed since it was approved",
        "Run `hookrun trust`, which shows the difference.",
        setup=_changed,
    ),
    Way("The hook is disabled", "guard is disabled", "Run `hookrun enable guard`.", setup=_disabled()),
    Way("The mode of the hook is off", "guard is off: mode is off", "Remove `mode`.", setup=declared(mode="off")),
    Way(
        "All hooks are disabled for a time",
        "guard is disabled until ",
        "Run `hookrun enable --all`.",
        setup=_disabled(every=True),
    ),
    Way(
        "HOOKRUN=0 is set",
        "HOOKRUN=0 is set: `hookrun fire` runs no hooks",
        "Unset it. Agents ignore it.",
        env={"HOOKRUN": "0"},
    ),
    Way(
        "HOOKRUN_SKIP names the hook",
        "guard is off: HOOKRUN_SKIP names it",
        "Unset it. Agents ignore it.",
        env={"HOOKRUN_SKIP": "other,guard"},
    ),
    Way(
        "The script is not executable",
        "guard.sh is not executable",
        "Run `chmod +x` on the script.",
        setup=scripted("#!/bin/sh\n", 0o644),
    ),
    Way(
        "The script does not exist",
        "guard would fail: missing: its script",
        "Correct the path, or commit the script.",
        setup=declared(command="python3 hooks/guard.py"),
    ),
    Way(
        "A relative path starts from another directory",
        "web/./guard.sh does not exist",
        "Paths start from `cwd`, by default the project's root. Remove `cwd`, or begin the path with "
        "`$HOOKRUN_PROJECT_DIR/`.",
        setup=_elsewhere,
    ),
    Way(
        "The script has Windows line endings",
        "the file has Windows line endings: save it with LF",
        "Save the script with LF line endings.",
        setup=scripted("#!/bin/sh\r\nexit 0\r\n"),
        command=TRY,
    ),
    Way(
        "The interpreter of the script is not installed",
        "guard would fail: missing: the interpreter '/no/such/sh'",
        "Correct the `#!` line, or install the interpreter.",
        setup=scripted("#!/no/such/sh\nexit 0\n"),
    ),
    Way(
        "The script has no `#!` line",
        "guard would fail: spawn: ",
        "Add a `#!` line, or put the interpreter first in `args`.",
        setup=scripted("exit 0\n", args=["./guard.sh"]),
    ),
    Way(
        "The working directory of the hook does not exist",
        "nodir cannot be entered: No such file or directory",
        "Correct `cwd`, which is relative to the project's root, or remove it.",
        setup=declared(cwd="nodir"),
    ),
    Way(
        "The Python module does not exist",
        "guard would fail: missing: no module nosuch_module",
        "Correct the name. Modules are searched in `cwd` and on the path of the interpreter.",
        setup=lambda project: project.user_hooks({"name": "guard", "python": "nosuch_module:f", "cwd": "/"}),
    ),
    Way(
        "An earlier hook blocks the call",
        "first already ended the chain",
        "Give the hook a lower `priority`, or `always: true`.",
        setup=approved({"name": "first", "command": "echo no >&2; exit 2"}, {"name": "guard", "command": "true"}),
        command=TRY,
    ),
    Way(
        "An earlier hook fails and blocks",
        "guard would not be reached: first, which fails before it, ends the chain",
        "Fix the earlier hook.",
        setup=approved(
            {"name": "first", "command": "./gone.sh", "on_failure": "block"}, {"name": "guard", "command": "true"}
        ),
        command=(*BASH, "--hook", "guard"),
    ),
    Way(
        "The config is in a parent directory outside of a git repository",
        "coder.json has hooks, but no .git, so it is ignored",
        "Run `git init`, or work where the file is.",
        setup=_no_repository,
        below="web",
    ),
    Way(
        "A nearer config file hides the one with the hook",
        "../coder.json is hidden by the nearer config file",
        "Move the hooks to the nearer file, or `include` the other one there.",
        setup=_nearer,
        below="web",
    ),
    Way(
        "Both coder.json and hookrun.yaml have hooks",
        "hooks in two files of the project layer",
        "Move all of them to one file.",
        setup=_two_files,
        command=("validate",),
    ),
    Way(
        "The config file is not valid JSON or YAML",
        'coder.json:2:39: trailing comma before "]"',
        "Correct the file at that place.",
        setup=_text("coder.json", '{"hooks": [\n  {"event": "stop", "command": "true"},\n]}\n'),
        command=("validate",),
    ),
    Way(
        "The timeout is in milliseconds",
        "a timeout of 5000 seconds is probably too long",
        "Write seconds.",
        setup=declared(timeout=5000),
        command=("validate",),
    ),
    Way(
        "A field is misspelled",
        'unknown hook field "cmd"',
        "Write the name that the hint gives.",
        setup=_text("coder.json", '{"hooks": [{"event": "stop", "cmd": "true"}]}'),
        command=("validate",),
    ),
    Way(
        "The config entry has an error, so that the hook fails",
        "guard would fail: declaration: ",
        "Run `hookrun validate`.",
        setup=_text("coder.json", '{"hooks": [{"event": "pre_tool_use", "name": "guard", "cmd": "true"}]}'),
    ),
    Way(
        "A hook of your own uses a relative path",
        'relative path in a user or managed hook, which could run a project\'s file: "./guard.sh"',
        "Write the absolute path: a relative one would run a project's file.",
        setup=lambda project: project.user_hooks({"name": "guard", "command": "./guard.sh"}),
        command=("validate",),
    ),
    Way(
        "The config has `hook` instead of `hooks`",
        'coder.json:1:10: hookrun ignores the key "hook"',
        "Write `hooks`.",
        setup=_text("coder.json", '{"hook": [{"event": "pre_tool_use", "command": "true"}]}'),
    ),
    Way(
        "Your own config cannot be read",
        "1 config error; 1 of 1 hook would run: other",
        "Run `hookrun validate`.",
        setup=_user_unreadable,
    ),
    Way(
        "hookrun is not installed into the agent",
        "hookrun is not in its settings",
        "Run `hookrun install claude`.",
        command=("doctor", "claude"),
    ),
    Way(
        "The event is not connected",
        "not connected for Stop, for which there are hooks",
        "Run `hookrun install claude` again.",
        setup=_fallen_behind,
        command=("doctor", "claude"),
    ),
    Way(
        "The agent does not have the event",
        "Cline CLI has no such event: its hooks never run there",
        "Choose an event that the agent has: see its page in the reference.",
        setup=declared(event="notification"),
        command=("explain", "notification", "--agent", "cline"),
    ),
    Way(
        "A matcher in the agent's settings hides the tool",
        'PreToolUse reaches hookrun only if matcher "Write" matches',
        "Run `hookrun install claude`, which removes the matcher.",
        setup=_edited(lambda settings: settings["hooks"]["PreToolUse"][0].update(matcher="Write")),
        command=("doctor", "claude"),
    ),
    Way(
        "The agent's settings disable all hooks",
        "disableAllHooks is true",
        "Remove that setting.",
        setup=_edited(lambda settings: settings.update(disableAllHooks=True)),
        command=("doctor", "claude"),
    ),
    Way(
        "Codex does not trust its hooks",
        "Codex CLI does not trust the hooks for SessionStart, ",
        "Run `hookrun install codex --trust`.",
        setup=_not_trusted_by_codex,
        command=("doctor", "codex"),
    ),
)
"""What keeps a hook from running: how to cause it, the command to ask, and the first line of its answer."""
