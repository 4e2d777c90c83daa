"""Hooks that never could match: an error where they are registered; other doubts are logged once."""

from __future__ import annotations

from typing import Any

import pytest

from hookrun import DeclarationError, Engine, RegistrationError, Verdict
from hookrun.library import handlers
from tests.conftest import Project
from tests.library.firing import answers
from tests.rows import rows

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"matcher": "mcp__.*"}, "a matcher is a glob, not a regular expression"),
    ({"matcher": "mcp__*"}, ""),
    ({"matcher": "^bash$"}, "a matcher is a glob, not a regular expression"),
    ({"matcher": "(write|edit).*"}, "a matcher is a glob, not a regular expression"),
    ({"when": {"command": "rm *"}}, 'unknown context field "command"; write "tool_args.command"'),
    ({"unless": {"tool": "bash"}}, 'unknown context field "tool"; write "tool_name"'),
    ({"when": {"my_field": "x"}}, ""),
    ({"matcher": "terminal"}, ""),  # a program has tools of its own
]


@pytest.fixture(autouse=True)
def _nothing_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "LOGGED", set())


@rows("options, expected", [(options, expected) for options, expected in WRONG if expected])
def test_what_never_matches_is_an_error(project: Project, options: dict[str, Any], expected: str) -> None:
    """At `register`, in `Engine(hooks=...)` and at `load`; without `strict` it is a problem of every result."""
    entry = {"event": "pre_tool_use", "command": "exit 2", **options}
    with Engine() as engine, pytest.raises(RegistrationError) as raised:
        engine.register("pre_tool_use", answers(None), **options)
    assert expected in str(raised.value)
    with pytest.raises(RegistrationError) as raised:
        Engine(hooks=[entry])
    assert expected in str(raised.value)
    project.user_hooks(entry)
    with pytest.raises(DeclarationError) as loaded:
        Engine.load(project.root, home=project.home)
    assert expected in str(loaded.value)
    with Engine.load(project.root, home=project.home, strict=False) as engine:
        assert expected in engine.fire_sync("pre_tool_use", tool_name="bash").problems[0]


@rows("options", [options for options, expected in WRONG if not expected])
def test_what_may_match_is_none(options: dict[str, Any]) -> None:
    """A program has events, fields and tools of its own."""
    with Engine(hooks=[{"event": "pre_tool_use", "command": "exit 2", **options}]) as engine:
        engine.register("pre_tool_use", answers(None), **options)


def test_other_doubts_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """As `hookrun validate` words them."""
    with Engine() as engine:
        for _ in range(2):
            engine.register("pre_tool_use", answers(None), name="h", matcher="bash", when={"tool_args.comand": "x"})
            engine.register("pre_tool_use", answers(None), name="h", matcher="bsh|terminal")
            engine.register("pre_tool_use", answers(None), name="h", agents=["claud", "in-house"])
    assert [record.message.partition("`: ")[2] for record in caplog.records] == [
        'bash has no argument "comand": the condition never matches; did you mean "command"?',
        'no agent has a tool "bsh": it never matches; did you mean "bash"?',
        'unknown agent "claud"; did you mean "claude"?',
    ]


DOUBTS: list[dict[str, Any]] = [
    {"matcher": "bash", "when": {"tool_args.comand": "x"}},
    {"matcher": "bsh"},
    {"when": {"tool_name": "bsh"}},
    {"agents": "claud"},
    *(options for options, expected in WRONG if expected),
]


@rows("options", DOUBTS)
def test_with_strict_every_doubt_is_an_error(project: Project, options: dict[str, Any]) -> None:
    """At `register`, in `Engine(hooks=...)` and at `load` alike, as with `hookrun validate --strict`."""
    entry = {"event": "pre_tool_use", "command": "exit 2", **options}
    for own in (False, True):  # of the engine, or of the handler
        with Engine(strict=not own) as engine, pytest.raises(RegistrationError):
            engine.register("pre_tool_use", answers(None), **{**options, "strict": True} if own else options)
    with Engine(strict=True) as engine:  # the handler's own comes first
        engine.register("pre_tool_use", answers(None), matcher="bsh", strict=False)
    with pytest.raises(RegistrationError):
        Engine(hooks=[entry], strict=True)
    with pytest.raises(RegistrationError):
        Engine.load(project.root, home=project.home, hooks=[entry], strict=True)
    project.user_hooks(entry)
    with pytest.raises(DeclarationError):
        Engine.load(project.root, home=project.home, strict=True)


@rows("strict", [False, True])
def test_strict_changes_nothing_for_hooks_that_can_match(project: Project, *, strict: bool) -> None:
    """The same engine, without a word."""
    entry: dict[str, Any] = {
        "event": "pre_tool_use",
        "matcher": "bash|mcp__*",
        "when": {"my_field": "x"},
        "command": "exit 2",
    }
    project.user_hooks(entry)
    with Engine.load(project.root, home=project.home, hooks=[entry], strict=strict) as engine:
        engine.register("pre_tool_use", answers(None), matcher="write|Edit", strict=strict)
        assert len(engine.hooks()) == 3


TOOLS: list[tuple[dict[str, Any], bool]] = [
    ({"tool_name": "terminal", "tool_args": {"command": "ls"}}, True),
    ({"tool_name": "weather", "tool_args": {"city": "Oslo"}}, False),
    ({"tool_name": "fetch", "tool_args": {"url": "x"}}, False),  # no hook is for web_fetch
    ({"tool_name": "Bash", "tool_args": {"command": "ls"}}, False),
    ({"tool_name": "mcp__x__run", "tool_args": {"command": "ls"}}, False),
]


@rows("context, warned", TOOLS)
def test_a_tool_that_no_matcher_means_is_warned_of_once(
    caplog: pytest.LogCaptureFixture, context: dict[str, Any], *, warned: bool
) -> None:
    """If a hook is for the tool that it is by its arguments; the warning has the alias to write."""
    caplog.clear()
    handlers.LOGGED.clear()
    with Engine() as engine:
        engine.register("pre_tool_use", answers(Verdict.block("no")), name="guard", matcher="bash")
        for _ in range(2):
            engine.fire_sync("pre_tool_use", context)
            engine.register("stop", answers(None), name="other", replace=True)
        expected = ['write "matcher": "bash|terminal", or pass names=NameMap({"terminal": "bash"})'] * warned
        assert [record.message.partition("if it is one, ")[2] for record in caplog.records] == expected
        engine.register("pre_tool_use", answers(Verdict.block("no")), name="guard", matcher="bash|terminal")
        assert engine.fire_sync("pre_tool_use", tool_name="terminal", tool_args={"command": "ls"}).refused


def test_the_alias_names_the_arguments_too(caplog: pytest.LogCaptureFixture) -> None:
    """Configured hooks would not read them otherwise; a hook for every tool is not one for this tool."""
    with Engine() as engine:
        engine.register("pre_tool_use", answers(None), name="guard", matcher="bash")
        engine.register("pre_tool_use", answers(None), name="log", matcher="*")
        engine.fire_sync("pre_tool_use", tool_name="terminal", tool_args={"cmd": "ls"})
    assert [record.message.partition("if it is one, ")[2] for record in caplog.records] == [
        'pass names=NameMap({"terminal": "bash"}, {"terminal": {"cmd": "command"}})'
    ]


ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"tool_name": "bash", "tool_args": {"cmd": "ls"}}, '({"bash": "bash"}, {"bash": {"cmd": "command"}})'),
    (
        {"tool_name": "bash", "tool_args": {"cmd": "ls"}, "agent_tool_name": "terminal"},
        '({"terminal": "bash"}, {"terminal": {"cmd": "command"}})',
    ),
    ({"tool_name": "bash", "tool_args": {"command": "ls", "cmd": "ls"}}, ""),
    ({"tool_name": "grep", "tool_args": {"pattern": "x", "path": "a"}}, ""),
    ({"tool_name": "exec_command", "tool_args": {"cmd": "ls"}}, ""),
]


@rows("context, names", ARGUMENTS)
def test_arguments_that_configured_hooks_do_not_read_are_warned_of_once(
    caplog: pytest.LogCaptureFixture, context: dict[str, Any], names: str
) -> None:
    """With the alias to write; a handler reads what the program has."""
    caplog.clear()
    handlers.LOGGED.clear()
    entry = {"event": "pre_tool_use", "name": "guard", "command": "exit 2", "when": {"tool_args.command": "rm *"}}
    with Engine() as engine:
        engine.register("pre_tool_use", answers(None))
        engine.fire_sync("pre_tool_use", context)
    assert caplog.records == []
    with Engine(hooks=[entry]) as engine:
        for _ in range(2):
            engine.fire_sync("pre_tool_use", context)
    assert [record.message.partition("NameMap")[2] for record in caplog.records] == [names][: len(names)]
