"""Every command that a message proposes works as printed.

The messages are read from the source: a command is between backquotes, or ends its line. Each has to be accepted by the
command line with every option; one without a placeholder is run, one with placeholders by a test that triggers its
message.
"""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from hookrun.agents import UnknownAgentError, load, opencode
from hookrun.cli import cli
from hookrun.cli.commands import COMMANDS, agents_named
from hookrun.fire.command import parse_arguments
from hookrun.fire.invocation import FireError
from hookrun.recipes.work_snapshots import take
from hookrun.wiring.plan import InstallRequest
from hookrun.wiring.targets import SCOPES, InstallLocation
from hookrun.wiring.wired_command import this_program
from tests.cli.command import Done, hookrun
from tests.cli.terminal import at_terminal
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Project

PACKAGE = Path(__file__).resolve().parent.parent.parent / "hookrun"

NAMES = "|".join(sorted(COMMANDS, key=len, reverse=True))
QUOTED = re.compile(rf"`((?:[^`\n]*\| |cd [^`\n]* && |HOME=[^`\n ]* )?hookrun (?:{NAMES})(?![\w:.-])[^`\n]*)`")
BARE = re.compile(rf"(?<![`\w./-])hookrun (?:{NAMES})(?![\w:.-])[^\n]*")
"""The text to copy, up to the end of its line: prose behind it would be copied, too."""

NAME = re.compile(r"hookrun (?:recipes )?[a-z]+")
"""A command without arguments, which a text may name without proposing to run it."""

HELP = ("Examples:\n", "Usage: ")
"""Help texts, whose examples are tested with the help."""

VALUES = {
    "AGENT": "claude", "EVENT": "pre_tool_use", "N": "3", "RECIPE": "no-force-push",
    "names": "claude", "agents": "claude",
    "name": "claude", "agent": "claude", "agent.NAME": "claude", "agent.agent.NAME": "claude", "self._agent": "claude",
    "other.scope": "project", "case.event": "stop", "header.get('event')": "stop", "hook": "claude",
    "near": "list", "case.agent.NAME": "claude",
    "request_id": "9db9ad05a220fadd", "fire.request_id": "9db9ad05a220fadd",
    "shlex.quote(config_file.root)": "/p", "shell_quoted(self.root)": "/p",
    "shell_quoted(root)": "/p", "quoted": "'rm x'", "self.event": "pre_tool_use", "fire.event": "stop",
    "shlex.quote(file.path)": "/p/coder.json", "shlex.quote(name)": "guard", "shlex.quote(hook)": "guard",
    "shlex.quote(account)": "/p",
    "shlex.quote(' '.join(argv[1:]))": "'rm x'",
    "fire.request_id[:8]": "9db9ad05", "' '.join(calls)": "3f2a91", "call": "3f2a91", "recipe.name": "no-force-push",
    "first": "droid",
    "level": "strict", **dict.fromkeys(("made.id", "snapshot.id", "chosen.id", "earlier.id", "kept"), "6a0b1c2d3f4e"),
}  # fmt: skip
"""A value for each word in capitals, and for each expression in a message. A new placeholder needs a value here."""

EMPTY = frozenset(
    {
        "home", "tool", "option", "options", "directory", "env", "quote(context)", "shlex.quote(self.home)", "RULE",
        "home_option(message.options.home, message.invocation.home)",
    }
)  # fmt: skip
"""Expressions with a piece of a command line, which may be empty."""

MARK = "\0"


def texts(node: ast.AST) -> list[str]:
    """Return what an expression of strings can be: each branch of a condition, an expression between two MARKs."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(each) for each in itertools.product(*map(texts, parts))]
        case ast.FormattedValue(value=value):
            return texts(value)
        case ast.IfExp(body=body, orelse=orelse):
            return [*texts(body), *texts(orelse)]
        case ast.BinOp(left=left, op=ast.Mult()) if isinstance(left, (ast.Constant, ast.JoinedStr)):
            return [*texts(left), ""]
    return [f"{MARK}{ast.unparse(node)}{MARK}"]


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines, docstrings left out."""
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring, or one of an attribute
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield from ((node.lineno, text) for text in texts(node))
        else:
            nodes.extend(ast.iter_child_nodes(node))


def commands_in(text: str) -> list[str]:
    """Return the commands in a text: those between backquotes, and those that end a line."""
    if "hookrun" not in text or any(each in text for each in HELP):
        return []
    rest = QUOTED.sub("", text)
    return [*QUOTED.findall(text), *(found.rstrip(" .\"'") for found in BARE.findall(rest))]


@cache
def proposed() -> dict[str, str]:
    """Return each command in a message of hookrun's, and where it is."""
    found: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for line, text in literals(path):
            for each in commands_in(text):
                # "as `hookrun install` writes it" only names the command
                if f"run `{each}`" in text or not (f"`{each}`" in text and NAME.fullmatch(each)):
                    found.setdefault(each, f"{path.relative_to(PACKAGE.parent)}:{line}")
    for each in commands_in(opencode.INSTALL["plugin"].source([], []).replace("\\`", "`")):
        found.setdefault(each, "plugin_head.js")
    return found


def filled(command: str) -> str:
    """Return a command with values for its expressions and its words in capitals."""

    def value(found: re.Match[str]) -> str:
        expression = found[1]
        assert expression in VALUES.keys() | EMPTY, f"{expression}: add a value for it to VALUES"
        return VALUES.get(expression, "")

    command = re.sub(f"(?:{MARK}|{{)([^{MARK}]*?)(?:{MARK}|}})", value, command)
    return re.sub(r"\b[A-Z]+\b", lambda found: VALUES.get(found[0], found[0]), command)


def check(words: list[str]) -> None:
    """Raise UsageError, UnknownAgentError or FireError where the command line of hookrun does not take these words."""
    if words == ["fire", "--help"]:
        return
    if words[0] == "fire":
        assert parse_arguments(words[1:])
        return
    group: click.Group = cli
    rest = words
    parent = click.Context(cli, **cli.context_settings)
    while True:
        name, command, rest = group.resolve_command(parent, rest)
        assert command is not None
        with command.make_context(name, list(rest), parent=parent) as ctx:
            agents_named(ctx.params.get("agents") or () if name in ("install", "uninstall", "doctor") else ())
        if not isinstance(command, click.Group) or not rest:
            return
        group, parent = command, ctx


def refusal(command: str) -> str:
    """Return why the command line of hookrun does not take the last command of a line; empty if it does."""
    try:
        words = shlex.split(command)
        check(words[len(words) - words[::-1].index("hookrun") :])
    except (AssertionError, ValueError, click.ClickException, FireError, UnknownAgentError) as error:
        return repr(error)
    return ""


@pytest.mark.lint
def test_the_command_line_takes_them() -> None:
    """Command, options, number and kind of the arguments; prose behind it would be arguments, too."""
    wrong = []
    for command, where in proposed().items():
        if refused := refusal(filled(command)):
            wrong.append((where, command, refused))
    assert wrong == []


@pytest.mark.lint
def test_the_messages_are_found() -> None:
    """The reading of the source sees each kind of message."""
    assert len(proposed()) > 25
    for each in "hookrun validate", "hookrun add protect-hooks --user", "hookrun doctor opencode", "hookrun trust":
        assert each in proposed()


@pytest.mark.lint
@rows(
    "message, wrong",
    [
        ("run `hookrun trus`", 0),
        ("look at it with `hookrun trust --al`", 1),
        ("run `hookrun explain`", 1),
        ("run `hookrun install cluade`", 1),
        ("hookrun list shows all hooks", 1),
        ("run `hookrun recipes updat`", 1),
        ("not as `hookrun install` writes it", 0),
        ("do it: hookrun list", 0),
    ],
)
def test_a_wrong_command_would_be_seen(message: str, wrong: int) -> None:
    """Of a command that there is; the name of one that there is not is no command."""
    found = [each for each in commands_in(message) if len(each.split()) > 2 or f"run `{each}`" in message]
    assert sum(bool(refusal(each)) for each in found) == wrong


# --- run


class Shell:
    """A project, and a shell in which `hookrun` is on PATH."""

    def __init__(self, project: Project) -> None:
        self.project = project
        directory = project.root.parent / "bin"
        directory.mkdir()
        program = directory / "hookrun"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(project.command())} "$@"\n')
        program.chmod(0o755)
        self.path = str(directory)

    def run(self, line: str) -> Done:
        """Run a command line as printed."""
        done = subprocess.run(
            ["/bin/sh", "-c", f'PATH="{self.path}:$PATH"; {line}'],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.project.root,
            env=self.project.environment(),
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def shell(project: Project) -> Shell:
    """Return a project with a hook, and a shell."""
    project.hooks({"name": "guard", "command": "true"})
    return Shell(project)


REPORTS = ("conformance", "doctor", "explain", "replay", "test", "trust", "validate", "why", "fire")
"""Commands whose exit status 1 is a finding, not an error."""


def assert_works(done: Done, line: str) -> None:
    """Assert that a command worked."""
    assert "Try: hookrun" not in done.stderr, (line, done.stderr)
    status = (0, 1, 2) if any(f"hookrun {each}" in line for each in REPORTS) else (0,)
    assert done.status in status, (line, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr


TITLE = "hookrun config"
"""The schema's title, which only looks like a command."""


def fixed() -> list[str]:
    """Return the proposed commands without a value."""
    return sorted(each for each in proposed() if not re.search(rf"{MARK}|{{|\b[A-Z]+\b", each) and each != TITLE)


DECISIONS = ("hookrun allow", "hookrun disable")
"""Commands for a terminal of the user's own."""


def at_user_terminal(project: Project, line: str) -> Done:
    """Run a command line as the user types it."""
    session = at_terminal(project, *shlex.split(line)[1:])
    return Done(session.status, session.screen.encode(), b"")


def run_as_proposed(shell: Shell, line: str) -> Done:
    """Run a command line as printed, a decision at the user's terminal."""
    if "fire --agent" in line:  # with an agent the account's home counts, not the variable
        line = f"{line} --home {shlex.quote(str(shell.project.home))}"
    return at_user_terminal(shell.project, line) if line.startswith(DECISIONS) else shell.run(line)


@pytest.mark.slow
def test_every_command_without_a_value_runs(shell: Shell) -> None:
    """In a project with a hook, as printed."""
    (shell.project.root / "a.hooktest.yaml").write_text("cases: [{name: a, event: pre_tool_use, expect: {}}]\n")
    (shell.project.root / "ctx.json").write_text("{}")
    assert len(fixed()) > 8
    for line in fixed():
        assert_works(run_as_proposed(shell, line), line)


def _asked(*arguments: str) -> Callable[[Project], Done]:
    return lambda project: hookrun(project, *arguments)


def _guarded(project: Project) -> Done:
    project.hooks({"command": "true", "on_failure": "block"})
    return hookrun(project, "install", "claude", "--scope", "project")


def _without_script(project: Project) -> Done:
    assert hookrun(project, "install", "claude", "--scope", "project").status == 0
    (project.root / ".hookrun" / "run").unlink()
    return hookrun(project, "validate")


def _doctor(agent: str, *options: str) -> Callable[[Project], Done]:
    def bring_about(project: Project) -> Done:
        hookrun(project, "install", agent, *options)
        if agent == "claude":  # a limit below hookrun's own deadline
            path = (project.root if options else project.home) / ".claude" / "settings.json"
            path.write_text(path.read_text().replace('"timeout": 600', '"timeout": 1'))
        return hookrun(project, "doctor", agent)

    return bring_about


def _unconnected(project: Project) -> Done:
    hookrun(project, "install", "claude")
    path = project.home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace('"PreToolUse"', '"Another"'))
    return hookrun(project, "list")


def _newer_version(project: Project) -> Done:
    program = project.root.parent / "bin" / "gemini"
    program.write_text("#!/bin/sh\necho 99.0.0\n")
    program.chmod(0o755)
    assert hookrun(project, "install", "gemini").status == 0
    return hookrun(project, "doctor", "gemini", PATH=f"{program.parent}:{os.environ['PATH']}")


def _unreadable(project: Project) -> Done:
    assert hookrun(project, "install", "claude").status == 0
    (project.home / ".claude" / "settings.json").write_text("{")
    return hookrun(project, "status")


def _ended_early(project: Project) -> Done:
    project.hooks({"name": "guard", "command": "exit 2"}, {"name": "later", "command": "true"})
    project.fire()
    records = project.audit()
    for each in records:
        each.pop("not_run", None)  # as in a record of a Python program
    project.audit_path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return hookrun(project, "why")


def _decided(what: str) -> Callable[[Project], Done]:
    def bring_about(project: Project) -> Done:
        project.hooks({"name": "my guard", "command": "true"})
        return at_user_terminal(project, f"hookrun {what} 'my guard'")

    return bring_about


def _claude_form(project: Project) -> Done:
    group = {"hooks": [{"type": "command", "command": "true"}]}
    (project.root / "coder.json").write_text(json.dumps({"hooks": {"Stop": [group]}}))
    return hookrun(project, "new", "other", "--lang", "sh")


def _failing_case(project: Project) -> Done:
    (project.root / "a.hooktest.yaml").write_text(
        "cases: [{name: a, event: pre_tool_use, tool: bash, expect: {action: block}}]\n"
    )
    return hookrun(project, "test")


def _no_match(project: Project) -> Done:
    project.hooks({"name": "guard", "matcher": "write", "command": "true"})
    return hookrun(project, "try", "ls")


def _untrusted(project: Project) -> Done:
    message = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
    fired = project.fire(message, "--agent", "claude", "--home", str(project.home))
    return Done(fired.status, fired.stdout.decode().replace("\\n", "\n").encode(), fired.stderr.encode())


def _kept(project: Project) -> Done:
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", *words], cwd=project.root, check=True)
    (project.root / "new.txt").write_text("x")
    made = take(str(project.root), "a test")
    assert made is not None
    (project.root / "new.txt").unlink()
    return hookrun(project, "undo", made.id)


SITUATIONS: dict[str, tuple[Callable[[Project], Done], str]] = {
    "a guard in a project": (_guarded, "hookrun install claude --scope project --when-missing block"),
    "validate, without a script": (_without_script, "hookrun install claude --scope project"),
    "codex asks for trust": (_asked("install", "codex"), "hookrun install codex --trust"),
    "of a project": (
        _asked("install", "codex", "--scope", "project"),
        "hookrun install codex --scope project --trust",
    ),
    "doctor, without trust": (_doctor("codex"), "hookrun install codex --trust"),
    "doctor, without trust in a project": (
        _doctor("codex", "--scope", "project"),
        "hookrun install codex --scope project --trust",
    ),
    "doctor, another limit": (_doctor("claude"), "hookrun install claude"),
    "doctor, another limit in a project": (
        _doctor("claude", "--scope", "project"),
        "hookrun install claude --scope project",
    ),
    "list, not connected": (_unconnected, "hookrun install claude"),
    "status, unreadable settings": (_unreadable, "hookrun doctor claude"),
    "doctor, a newer version": (_newer_version, "hookrun doctor gemini --measure"),
    "doctor, not installed": (_asked("doctor", "gemini"), "hookrun install gemini"),
    "explain, not installed": (
        _asked("explain", "pre_tool_use", "--tool", "bash", "--agent", "claude"),
        "hookrun install claude",
    ),
    "update of a recipe that is not declared": (
        _asked("update", "no-force-push"),
        "hookrun add no-force-push",
    ),
    "a level without guards": (
        _asked("add", "no-force-push", "--level", "strict"),
        "hookrun add guards --level strict",
    ),
    "of one's own": (_asked("update", "no-force-push", "--user"), "hookrun add no-force-push --user"),
    "disabled": (_decided("disable"), "hookrun enable 'my guard'"),
    "hooks in another form": (_claude_form, "hookrun migrate /"),
    "a recipe of one's own": (_asked("add", "no-force-push", "--user"), "hookrun test /"),
    "a new hook": (_asked("new", "other", "--lang", "sh", "--matcher", "bash"), "hookrun trust"),
    "hooks that did not run": (_ended_early, "hookrun explain pre_tool_use --tool bash"),
    "a test that fails": (_failing_case, "hookrun fire pre_tool_use --explain"),
    "several command lines": (_asked("try", "rm", "x"), "hookrun try 'rm x'"),
    "nothing to try that matches": (_no_match, "hookrun explain pre_tool_use"),
    "not approved": (_untrusted, "hookrun trust"),
    "an agent that is wired by hand": (_asked("install", "droid"), "hookrun fire --agent droid PreToolUse"),
    "a snapshot": (_kept, "hookrun undo "),
}
"""What brings a message about, and how a command in it begins."""


ELSEWHERE = {
    "hookrun why ": "fire --explain proposes it, and test_explain.py runs it",
    "hookrun log --all-projects": "test_log.py looks for what is not there",
    "hookrun uninstall ": "two scopes at once, and the first line of a script of ours",
    "hookrun migrate FILE": "a word in capitals",
    "hookrun install AGENT": "words in capitals",
    "hookrun try COMMAND --repeat N": "words in capitals",
    "hookrun allow ": "tests/fire/test_allowed_once.py runs it, at a terminal",
    "HOME=": "tests/torture/test_homes.py has another home",
    "hookrun help ": "test_frame.py asks for what there is no help for",
}
"""Commands with values that no situation here brings about, and where they are."""


@pytest.mark.lint
def test_each_command_with_a_value_has_a_situation() -> None:
    """A new message with a value is brought about here, so that its command is run with a real one."""
    shown = [expected for _, expected in SITUATIONS.values()]
    for command, where in proposed().items():
        begin = re.split(rf"{MARK}|{{", command)[0].rpartition("| ")[2]
        if command in (*fixed(), TITLE) or any(begin.startswith(each) for each in ELSEWHERE):
            continue
        assert any(each.startswith(begin) or begin.startswith(each) for each in shown), (command, where)


@pytest.mark.lint
def test_commands_that_are_put_together_are_taken(project: Project) -> None:
    """`InstallRequest.command` adds agent and scope to a verb and options, which are words in the source."""
    calls = [
        [ast.literal_eval(each) for each in node.args]
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "command"
        and not (isinstance(node.func.value, ast.Name) and node.func.value.id == "click")
    ]
    assert len(calls) > 2
    for scope, (verb, *options) in itertools.product(SCOPES, calls):
        spot = InstallLocation("/", str(project.root), {})
        text = InstallRequest(load("claude"), scope, spot, this_program()).command(verb, *options)
        check(shlex.split(text.strip("`"))[1:])
        assert ("--scope project" in text) == (scope == "project")


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("situation", SITUATIONS)
def test_it_works_where_it_is_proposed(shell: Shell, situation: str) -> None:
    """Each command in the output is run there, as printed."""
    bring_about, expected = SITUATIONS[situation]
    done = bring_about(shell.project)
    found: list[str] = []
    for text in (done.stdout, done.stderr):
        for line in text.splitlines():
            steps = line.startswith(("next:", "      hookrun"))  # a table: the command, two spaces, its purpose
            found += [re.split(r"\s{2,}", line[5:].strip())[0]] if steps else commands_in(line.strip())
            if " | " in line and "hookrun fire" in line:
                found[-1:] = [line.strip()]
    assert any(each.partition("| ")[2].startswith(expected) or each.startswith(expected) for each in found), (
        done.stdout,
        done.stderr,
    )
    for each in dict.fromkeys(found):
        assert_works(run_as_proposed(shell, each), each)
