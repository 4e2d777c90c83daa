"""Checking a hook and the settings: the message for each mistake, and what remains of the hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.config.declared import errors, examined, warnings
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from hookrun.core.model import Hook

GOOD: dict[str, object] = {"event": "stop", "command": "x"}
URL = {"command": None, "url": "http://h"}


def hook(path: Path, fields: dict[str, object], layer: str = "project") -> Hook:
    """Return the hook that these fields declare, on top of GOOD; a field that is None is left out."""
    entry = {key: value for key, value in {**GOOD, **fields}.items() if value is not None}
    hooks = examined(path / "a.json", {"hooks": [entry]}, layer).declarations.hooks
    assert len(hooks) == 1
    return hooks[0]


def kept(made: Hook, **expected: object) -> None:
    """Check that a hook has these fields."""
    assert {name: getattr(made, name) for name in expected} == expected


def test_defaults_of_a_hook(tmp_path: Path) -> None:
    """A hook with only an event and a command has every default."""
    made = hook(tmp_path, {})
    kept(made, error=None, name="x", events=["stop"], kind="command", target="x", layer="project")
    kept(made, timeout=30.0, priority=500, on_failure="continue", mode="enforce", cwd="project", max_output=1 << 20)
    kept(made, env_policy="inherit", dialect="hookrun", matcher=None, when=None, look=["x"])
    kept(made, source=str(tmp_path / "a.json"), line=1)


@rows(
    "fields, name, value",
    [
        ({"event": ["PreToolUse", "stop"]}, "events", ["pre_tool_use", "stop"]),
        ({"matcher": "bash|mcp__*"}, "matcher", ["bash", "mcp__*"]),
        ({"matcher": ["bash", "a|b"]}, "matcher", ["bash", "a", "b"]),
        ({"matcher": ""}, "matcher", ["*"]),
        (
            {"when": {"tool_args.n": 5, "a.b": [True, "x", 1.5]}},
            "when",
            {"tool_args.n": ["5"], "a.b": ["true", "x", "1.5"]},
        ),
        ({"unless": {"agent": "codex"}}, "unless", {"agent": ["codex"]}),
        ({"agents": "claude"}, "agents", ["claude"]),
        ({"timeout": 2}, "timeout", 2.0),
        ({"priority": 5.0}, "priority", 5),
        ({"command": None, "args": ["a", ""]}, "target", ["a", ""]),
        ({"command": None, "python": "a.b:c"}, "kind", "python"),
        ({"command": None, "python": "a.b:c", "interpreter": "/p"}, "interpreter", "/p"),
        ({"command": None, "url": "http://h/x"}, "target", "http://h/x"),
        ({"dialect": "claude"}, "cwd", "event"),
        ({"dialect": "claude", "cwd": "project"}, "cwd", "project"),
        ({"metadata": {"a": [1]}}, "metadata", {"a": [1]}),
        ({"command": "python3 hooks/guard.v2.py"}, "name", "guard.v2"),
        ({"command": "echo '{}'"}, "name", "echo"),
        ({"command": None, "url": "https://u:p@h.example:8/x"}, "name", "h.example"),
        ({"command": None, "python": "a.b:c"}, "name", "c"),
    ],
)
def test_fields_in_the_form_a_hook_keeps(tmp_path: Path, fields: dict[str, object], name: str, value: object) -> None:
    """Aliases become canonical, single values lists, numbers their JSON text; a name is made from what is run."""
    made = hook(tmp_path, fields)
    kept(made, error=None, **{name: value})


@rows(
    "fields, message",
    [
        ({"timeout": "5"}, '`timeout` must be a number greater than 0, not "5"; write a number without quotes or unit'),
        ({"timeout": 0}, "`timeout` must be a number greater than 0, not 0"),
        ({"timeout": True}, "`timeout` must be a number greater than 0, not true"),
        ({"priority": 1001}, "`priority` must be an integer from 0 to 1000, not 1001"),
        ({"priority": 1.5}, "`priority` must be an integer from 0 to 1000, not 1.5"),
        ({"max_output": 0}, "must be an integer from 1 to 67108864"),
        ({"parallel": "yes"}, '`parallel` must be true or false, not "yes"'),
        ({"parallel": "true"}, "remove the quotes"),
        ({"mode": "advice"}, '`mode` must be "enforce", "advise" or "off", not "advice"; did you mean "advise"?'),
        ({"matcher": [1]}, "not 1; quote it"),
        ({"mode": True}, '`mode` must be "enforce", "advise" or "off", not true'),
        ({"mode": False}, 'not false; write "off" in quotes'),
        ({"on_failure": "stop"}, '`on_failure` must be "continue" or "block", not "stop"'),
        ({"timout": 5}, 'unknown hook field "timout"; did you mean "timeout"?'),
        ({"tools": "bash"}, 'did you mean "matcher"?'),
        ({"command": None}, "the hook has nothing to run; add `command`, `args`, `python` or `url`"),
        ({"args": ["x"]}, "a hook cannot have `command` and `args`; keep one of them"),
        ({"command": " \n"}, "`command` must be a shell command line"),
        ({"command": "a\0b"}, "`command` contains a NUL character"),
        ({"command": None, "args": []}, "`args` must be a list of a program and its arguments, not an empty list"),
        ({"command": None, "args": [""]}, "`args[0]` must be a path, not an empty string"),
        ({"command": None, "args": ["a", 5]}, "`args[1]` must be a string, not 5; quote it"),
        ({"command": None, "args": "a b"}, 'write ["a b"]'),
        ({"command": None, "python": "a.b"}, '`python` must be "package.module:function", not "a.b"'),
        ({"command": None, "url": "ftp://x"}, "`url` must be an http or https URL, not"),
        ({"command": None, "url": "http://:8/"}, "`url` must be an http or https URL with a host"),
        ({"interpreter": "p"}, "`interpreter` needs `python`; add `python`, or remove `interpreter`"),
        ({"headers": {}}, "`headers` needs `url`"),
        ({**URL, "headers": {"A b": "x"}}, 'invalid key "A b" in `headers`; use an HTTP header name'),
        ({**URL, "headers": {"A": "x\r\nB: y"}}, "without control characters"),
        ({**URL, "headers": {"A": "$T"}}, "environment variable `T` is not in `allowed_env`"),
        ({**URL, "headers": {"Transfer-Encoding": "x"}}, 'hookrun sets the header "Transfer-Encoding" itself; remove'),
        ({"matcher": "a||b"}, "`matcher` must be one or more globs, none of them empty"),
        ({"matcher": []}, "not an empty list"),
        ({"when": {}}, "not an empty object; add a key, or remove the field"),
        ({"when": {"a": None}}, "`when.a` must be a glob or a list of globs, not null"),
        ({"when": {"a..b": "x"}}, 'invalid key "a..b" in `when`; use a dotted path'),
        ({"env": {"A": 1}}, "`env.A` must be a string, not 1; quote it"),
        ({"env": {"A=B": "x"}}, 'invalid key "A=B" in `env`; use a variable name'),
        ({"background": True, "on_failure": "block"}, "a background hook cannot block"),
        ({"name": "a\nb"}, "`name` must be a name without control characters"),
        ({"event": ["stop", "Stop"]}, 'duplicate event "Stop"'),
        ({"event": ["stop", "stpo"]}, 'unknown event "stpo"; did you mean "stop"?'),
        ({"metadata": []}, "`metadata` must be an object, not an empty list"),
        ({"cwd": ""}, '`cwd` must be "project", "event" or a path, not an empty string'),
    ],
)
def test_mistakes_in_a_hook(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    """A hook whose event can be read is kept with its error, which has its location."""
    made = hook(tmp_path, fields)
    assert made.error is not None
    assert message in made.error
    assert made.error.startswith(f"{tmp_path}/a.json:1:")
    assert made.error.isprintable()


@rows(
    "entry, message",
    [
        ({"command": "x"}, 'the hook has no event; add "event": "pre_tool_use" or another event'),
        ({"evnt": "stop", "command": "x"}, 'rename "evnt" to "event"'),
        ({"event": "pre_tool_us", "command": "x"}, 'did you mean "pre_tool_use"?'),
        ({"event": "PretoolUse", "command": "x"}, 'did you mean "'),
        ({"event": True, "command": "x"}, "`event` must be an event name, not true; quote it"),
        (
            {"event": [], "command": "x"},
            "`event` must be an event or a list of events, not an empty list; add an event",
        ),
        ("x", '`hooks[0]` must be an object, not "x"'),
        ({"matcher": "Bash", "hooks": []}, "a group in Claude Code's form in a list of hooks"),
    ],
)
def test_hook_whose_event_cannot_be_read(tmp_path: Path, entry: object, message: str) -> None:
    """It is unknown when such a hook should run: the file as a whole has a problem."""
    declarations = examined(tmp_path / "a.json", {"hooks": [entry]}).declarations
    assert declarations.hooks == []
    assert len(declarations.problems) == 1
    assert message in declarations.problems[0]


def test_event_that_can_be_read_beside_one_that_cannot(tmp_path: Path) -> None:
    """The hook fails on the event that can be read, and the file has a problem for the other."""
    declarations = examined(tmp_path / "a.json", {"hooks": [{**GOOD, "event": ["stop", "nope"]}]}).declarations
    assert [made.events for made in declarations.hooks] == [["stop"]]
    assert len(declarations.problems) == 1


@rows(
    "fields, on_failure",
    [
        ({"timeout": 0}, "continue"),
        ({"timeout": 0, "on_failure": "block"}, "block"),
        ({"on_failure": "blok"}, "block"),
        ({"on_failure": None, "on_fail": "block"}, "block"),
        ({"on_error": "block"}, "block"),
    ],
)
def test_on_failure_of_a_wrong_hook(tmp_path: Path, fields: dict[str, object], on_failure: str) -> None:
    """A wrong hook fails as its `on_failure` says; an invalid one blocks, as the user did not want the default."""
    made = hook(tmp_path, fields)
    assert made.error is not None
    assert made.on_failure == on_failure


def test_wrong_hook_keeps_what_can_be_read(tmp_path: Path) -> None:
    """Matcher, conditions, agents, mode and priority of a wrong hook still decide when it fails."""
    readable = {"matcher": "a|b", "when": {"agent": "x"}, "agents": ["claude"], "mode": "advise", "priority": 3}
    made = hook(tmp_path, {**readable, "timeout": 0})
    kept(made, matcher=["a", "b"], when={"agent": ["x"]}, agents=["claude"], mode="advise", priority=3)


def test_every_error_of_a_hook_is_told(tmp_path: Path) -> None:
    """The errors of one hook are joined, each with its place."""
    made = hook(tmp_path, {"timeout": 0, "priority": -1})
    assert made.error is not None
    assert made.error.count(f"{tmp_path}/a.json:1:") == 2


def test_names_are_unique_in_a_file(tmp_path: Path) -> None:
    """The second of two equal names is an error; made names give way to each other and to declared ones."""
    entries = [
        {**GOOD, "name": "a"},
        {**GOOD, "name": "a"},
        {**GOOD, "command": "./a.sh"},
        GOOD,
        GOOD,
        {**GOOD, "name": "x-2"},
    ]
    hooks = examined(tmp_path / "a.json", {"hooks": entries}).declarations.hooks
    assert [made.name for made in hooks] == ["a", "a", "a-2", "x", "x-3", "x-2"]
    assert [made.error is not None for made in hooks] == [False, True, False, False, False, False]


@rows(
    "fields, message",
    [
        ({"timeout": 5000}, "write 5 if you mean milliseconds"),
        ({"matcher": "bash"}, "stop has no tool, so the matcher never matches"),
        ({"event": "pre_tool_use", "matcher": "bash | write"}, "never matches because of its spaces"),
        ({"agents": ["claud"]}, 'did you mean "claude"?'),
        ({"when": {"tool_arg.x": "y"}}, 'did you mean "tool_args"?'),
        ({"name": "a,b"}, "HOOKRUN_SKIP"),
    ],
)
def test_what_is_doubtful_is_a_warning(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    """An unusual value is no error."""
    result = examined(tmp_path / "a.json", {"hooks": [{**GOOD, **fields}]})
    assert errors(result) == []
    assert [message in str(warning) for warning in warnings(result)] == [True] * len(warnings(result))
    assert len(warnings(result)) >= 1
    assert result.declarations.problems == []


@rows(
    "fields",
    [
        {"command": "./a"},
        {"command": "python3 a.py"},
        {"command": None, "args": ["hooks/a"]},
        {"command": None, "python": "a:b", "cwd": "/x", "interpreter": "venv/bin/python"},
        {"command": None, "python": "a:b"},
        {"command": None, "python": "a:b", "cwd": "event"},
        {"cwd": "sub"},
    ],
)
def test_relative_paths_above_the_project(tmp_path: Path, fields: dict[str, object]) -> None:
    """In managed and user declarations a relative path is an error, in a project's it is not."""
    assert hook(tmp_path, fields).error is None
    for layer in ("managed", "user"):
        error = hook(tmp_path, fields, layer).error
        assert error is not None
        assert "a user or managed" in error


@rows(
    "settings, message",
    [
        ([], "`hookrun` must be an object of settings, not an empty list"),
        ({"default": {}}, 'did you mean "defaults"?'),
        ({"timeout": 5}, 'unknown setting "timeout"; move it into a hook or into `hookrun.defaults`'),
        ({"defaults": {"timeout": "x"}}, "`hookrun.defaults.timeout` must be a number"),
        ({"defaults": {"matcher": "x"}}, "`defaults` cannot set `matcher`; set it in each hook"),
        ({"defaults": 5}, "`hookrun.defaults` must be an object of hook fields, not 5"),
        ({"on_error": "block"}, "`on_error` cannot be set in a project file; set it in your own config"),
        ({"audit": False}, "`audit` cannot be set in a project file"),
        ({"events": ["stop"]}, '"stop" is already known; remove it'),
        ({"events": ["a b"]}, "`hookrun.events[0]` must be"),
        ({"min_version": "99.0.0"}, "this config needs hookrun 99.0.0 or newer"),
        ({"min_version": "1"}, '`hookrun.min_version` must be a version such as "1.2.3", not "1"'),
    ],
)
def test_mistakes_in_settings(tmp_path: Path, settings: object, message: str) -> None:
    """A mistake in the settings is the file's, and its hooks stay in force."""
    declarations = examined(tmp_path / "a.json", {"hooks": [GOOD], "hookrun": settings}).declarations
    assert [made.error for made in declarations.hooks] == [None]
    assert len(declarations.problems) == 1
    assert message in declarations.problems[0]


def test_defaults_apply_where_a_hook_is_silent(tmp_path: Path) -> None:
    """Defaults fill in what a hook leaves out, and only where it makes sense for its kind."""
    defaults = {"timeout": 3, "on_failure": "block", "interpreter": "/p", "allowed_env": ["T"]}
    entries = [GOOD, {**GOOD, "timeout": 4}, {"event": "stop", "python": "a:b"}, {**GOOD, "background": True}]
    hooks = examined(tmp_path / "a.json", {"hooks": entries, "hookrun": {"defaults": defaults}}).declarations.hooks
    assert [made.timeout for made in hooks] == [3.0, 4.0, 3.0, 3.0]
    assert [made.interpreter for made in hooks] == [None, None, "/p", None]
    assert [made.error is not None for made in hooks] == [False, False, False, True]


def test_own_events_are_known_once_declared(tmp_path: Path) -> None:
    """An event of the host's own is as good as any other, in every file."""
    entry = {"event": "deploy.done", "command": "x", "matcher": "bash"}
    result = examined(tmp_path / "a.json", {"hooks": [entry], "hookrun": {"events": ["deploy.done"]}})
    assert result.problems == []
    assert result.declarations.events == ["deploy.done"]
    assert result.declarations.hooks[0].events == ["deploy.done"]


def test_values_in_messages_cannot_reach_the_terminal(tmp_path: Path) -> None:
    """Values from an untrusted file are shown escaped and shortened."""
    error = hook(tmp_path, {"mode": "\x1b[2J" + "x" * 500}).error
    assert error is not None
    assert error.isprintable()
    assert len(error) < 400
