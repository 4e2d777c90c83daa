"""How hookrun answers wrong input: at most three lines with the fault, its location and the fix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.cli.command import Done, hookrun, hookrun_process
from tests.cli.terminal import at_terminal
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

HOOK = '{"event": "stop", "command": "true"}'
ON_THE_COMMAND_LINE = {
    # typos
    "lst": 'unknown command "lst" hint: did you mean `hookrun list`?',
    "ls": 'unknown command "ls" hint: did you mean `hookrun list`?',
    "show": 'unknown command "show" hint: did you mean `hookrun config show`?',
    "dump": 'unknown command "dump" hint: did you mean `hookrun config show`?',
    "metrics --json": 'unknown command "metrics" hint: did you mean `hookrun stats`?',
    "check": 'unknown command "check" hint: did you mean `hookrun validate`?',
    "run": 'unknown command "run" hint: did you mean `hookrun try`?',
    "remov": 'unknown command "remov" hint: did you mean `hookrun remove`?',
    "\x1b[2J": 'unknown command "\\x1b[2J" hint: ',
    "rm guard": 'unknown command "rm" hint: did you mean `hookrun remove`?',
    "bench": 'unknown command "bench" hint: did you mean `hookrun try COMMAND --repeat N`?',
    "events": 'unknown command "events" hint: did you mean `hookrun help events`?',
    "config shw": 'unknown command "shw" hint: did you mean `hookrun config show`?',
    "recipes sho": 'unknown command "sho" hint: did you mean `hookrun recipes show`?',
    "--verison": "unknown option `--verison` hint: did you mean `--version`?",
    "log --evnt stop": "unknown option `--evnt` hint: did you mean `--event`?",
    "log --name x": "unknown option `--name` hint: did you mean `--hook`?",
    "stats --since 2": 'invalid value for `--since`: "2" is not a time hint: ',
    "stats --days 7": "unknown option `--days` hint: ",
    "list --failures": "unknown option `--failures` hint: `hookrun list --help`",
    "list --hook gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "list --agent claud": 'unknown agent "claud" hint: did you mean "claude"?',
    "explain stop --agent claud": 'unknown agent "claud" hint: did you mean "claude"?',
    "uninstall xyz": 'unknown agent "xyz" hint: supported agents are claude, codex',
    "try a --event pre_tool_us": 'unknown event "pre_tool_us" hint: did you mean "pre_tool_use"?',
    "try a --agent cloude": 'unknown agent "cloude" hint: did you mean "claude"?',
    "try a --hook gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "new x --lang sh --event pre_tol": 'unknown event "pre_tol" hint: did you mean "pre_tool_use"?',
    "try ls --event pretooluse": 'unknown event "pretooluse" hint: did you mean "pre_tool_use"?',
    "explain pretooluse": 'unknown event "pretooluse" hint: did you mean "pre_tool_use"?',
    "install claud": 'unknown agent "claud" hint: did you mean "claude"?',
    "install cursor": '"cursor": Cursor reads Claude Code\'s hooks if its settings include',
    "install devin": '"devin": Devin CLI reads Claude Code\'s hooks hint: run `hookrun install claude`',
    "install kiro": "hookrun cannot write Kiro's hooks yet hint: have `.kiro/hooks` run `hookrun fire --agent kiro ",
    "doctor claud": 'unknown agent "claud" hint: did you mean "claude"?',
    "explain stop --agent zed": 'unknown agent "zed" hint: supported agents are claude, codex',
    "explain stop --hook gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "remove guard gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "log --hook gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "stats --hook gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "report --hook gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "why --hook gard": "unknown option `--hook` hint: `hookrun log` has it",
    "undo --yes": "--yes needs an ID",
    "record soon": '"soon" is not on, off or a time such as 12h',
    "remove gard": 'no hook named "gard" here hint: did you mean "guard"?',
    "add no-force": 'unknown recipe "no-force" hint: did you mean `no-force-push`?',
    "help matcher": 'no help for "matcher" hint: did you mean `hookrun help matchers`?',
    # missing, superfluous and contradictory things
    "explain": "missing argument `EVENT` hint: `hookrun explain --help`",
    "remove": "missing argument `HOOK|RECIPE...` hint: `hookrun remove --help`",
    "list extra": "unexpected argument `extra` hint: `hookrun list --help`",
    "try ls --hook": "option `--hook` needs a value hint: `hookrun try --help`",
    "try": "nothing to try hint: ",
    "try rm x": "more than one command line hint: quote it: `hookrun try 'rm x'`",
    "config show --yaml": "unknown option `--yaml` hint: ",
    "try a --prompt b": "cannot be combined",
    "explain stop --ctx c.json --tool bash": "--ctx holds the whole context",
    "trust a b": "more than one PATH",
    "trust --yes": "`--yes` needs a digest hint: `hookrun trust --digest`",
    "trust --yes foo": '"foo" is not a digest hint: `hookrun trust --digest`',
    "trust sha256:00": 'a digest needs `--yes`: "sha256:00"',
    "list --since 2h": "unknown option `--since` hint: ",
    "install claude --when-missing block": "--when-missing is only for --scope project",
    "test --from-log last a b": "adds it to one PATH",
    "test --watch --json": "--watch never ends",
    # values of a wrong type or range
    "list --color pink": 'invalid value for `--color`: "pink" is not one of auto, always, never',
    "new x --lang perl": 'invalid value for `--lang`: "perl" is not one of sh, python, node, ruby, go hint: for',
    "test -j many": 'invalid value for `-j`: "many" is not a whole number',
    "test -j 0": "invalid value for `-j`: 0 is not from 1 to 256",
    "explain stop --arg x": 'invalid value for `--arg`: "x" hint: use NAME=TEXT or NAME:=JSON',
    "explain stop --arg x:=[": "the value after := is not JSON",
    "new x --lang sh --when nothing": "unknown option `--when` hint: ",
    "try a --repeat 0": "invalid value for `--repeat`: 0 is not from 1 to 1000",
    "try a --repeat 1001": "invalid value for `--repeat`: 1001 is not from 1 to 1000",
    "stats --format xml": "unknown option `--format` hint: ",
    "install claude --scope world": 'invalid value for `--scope`: "world" is not one of user, project',
    "add no-force-push@99": 'has no version "99" of `no-force-push` hint: use no-force-push@1',
    "add no-force-push --option lease": 'invalid value for `--option`: "lease" is not NAME=VALUE',
    "add no-force-push --option lease=perhaps": 'recipe "no-force-push" cannot be "perhaps" hint: it takes yes or no',
    # files and directories that are missing, or something else
    "config show --config none.json": "none.json:1:1: no such file hint: ",
    "validate hooks": "hooks:1:1: is a directory hint: ",
    "test --hook guard": "unknown option `--hook` hint: `-k` selects tests by a hook",
    "recipes test": 'unknown command "test" hint: did you mean `hookrun test`?',
    "trust nowhere": 'nowhere" hint: name the directory of a project',
    "explain stop --ctx none.json": 'cannot read "none.json": No such file or directory hint: ',
    "explain stop --ctx hooks": 'cannot read "hooks": Is a directory hint: ',
    "explain stop --ctx list.json": "list.json: the context is a list hint: give one JSON object",
    "migrate": "no Claude Code settings here hint: name the file: `hookrun migrate FILE`",
    "migrate none.json": "none.json:1:1: no such file hint: ",
    "completion tcsh": 'invalid value for `SHELL`: "tcsh" is not one of bash, zsh, fish',
}
"""Command line -> the expected message, its lines joined."""
FOR_FIRE = {
    "fire pretooluse": 'unknown event "pretooluse" hint: did you mean "pre_tool_use"?',
    "fire stop --ctx /dev/null": "/dev/null: the context is empty hint: give one JSON object",
}
"""The same for the command that ends its process."""


def check(status: int, stdout: str, stderr: str, expected: str) -> None:
    """Assert that an answer has the form of a message and contains this text."""
    shown = stderr if stderr.strip() else stdout
    assert status == 1, (stdout, stderr)
    lines = shown.rstrip("\n").splitlines()
    assert len(lines) <= 3, shown
    assert re.match(r"(error|warning): [^A-Z].*[^.]$", lines[0]), shown
    assert all(re.match(r"(hint|note): .*[^.]$", line) for line in lines[1:] if not line.startswith("checked ")), shown
    assert "Traceback" not in shown
    assert "".join(lines).isprintable(), shown
    assert not re.search(r"found .*, expected ", shown), shown
    assert expected in " ".join(lines), shown


@rows(
    "run, line, message",
    [
        *((hookrun, *each) for each in ON_THE_COMMAND_LINE.items()),
        *((hookrun_process, *each) for each in FOR_FIRE.items()),
    ],
)
def test_a_wrong_command_line(project: Project, run: Callable[..., Done], line: str, message: str) -> None:
    """Typos, wrong values, missing files: the fault, its location and the fix; nothing is printed or written."""
    project.hooks({"name": "guard", "event": "stop", "command": "true"})
    project.script("hooks/guard.sh", "exit 0\n")
    project.script("list.json", "[]")
    before = (project.root / "coder.json").read_bytes()
    done = run(project, *line.split())
    check(done.status, done.stdout, done.stderr, message)
    assert (project.root / "coder.json").read_bytes() == before


IN_THE_CONFIG = {
    '{"hooks": [{"event": "stop" "command": "x"}]}': "coder.json:1:29: unexpected",
    '{"hooks": [{"event": "pretooluse", "command": "x"}]}': 'coder.json:1:22: unknown event "pretooluse"',
    '{"hooks": {"a": 1}}': 'coder.json:1:11: `hooks` must be a list of hooks, not {"a": 1} hint: list the hooks, ',
    f'{{"hooks": [{HOOK[:-1]}, "timout": 3}}]}}': 'unknown hook field "timout" hint: did you mean "timeout"?',
    f'{{"hooks": [{HOOK[:-1]}, "timeout": "5"}}]}}': '`timeout` must be a number greater than 0, not "5"',
    '{"hooks": [{"event": "stop"}]}': "coder.json:1:12: the hook has nothing to run hint: add `command`",
    "[1]": "coder.json:1:1: the file must be an object",
    "": "coder.json:1:1: the file is empty hint: write ",
    '{"hooks": [], "hooks": []}': 'coder.json:1:15: duplicate key "hooks" hint: ',
    '{"hookrun": {"include": ["no.json"]}}': 'coder.json:1:26: included file not found: "no.json"',
    '{"hookrun": {"min_version": "99.0.0"}}': "needs hookrun 99.0.0 or newer",
    "\x00\x01\x02": "coder.json:1:1: ",
    f'{{"hooks": [{HOOK[:-1]}, "enabled": false}}]}}': 'unknown hook field "enabled" hint: write "mode": "off"',
    '{\n<<<<<<< HEAD\n"hooks": []\n=======\n}': "coder.json:2:1: an unfinished merge left its markers hint: keep one ",
    '{"hooks": [{"event": "stop", "command": "./none.sh"}]}': "`none.sh` does not exist hint: create it, or ",
}


@rows("text, message", IN_THE_CONFIG.items())
def test_a_wrong_config(project: Project, text: str, message: str) -> None:
    """`validate` shows file, line, column, the fault and the fix."""
    (project.root / "coder.json").write_text(text)
    done = hookrun(project, "validate")
    check(done.status, done.stdout, done.stderr, message)


@rows("name", ["validate", "list", "explain stop", "status", "config show", "trust", "test", "doctor"])
def test_a_config_that_is_a_directory_or_a_dangling_link(project: Project, name: str) -> None:
    """Every command reports it, and none fails otherwise."""
    path = project.root / "coder.json"
    path.unlink(missing_ok=True)
    path.mkdir()
    first = hookrun(project, *name.split())
    path.rmdir()
    path.symlink_to("nowhere")
    second = hookrun(project, *name.split())
    for done in first, second:
        assert (done.status, "Traceback" in done.stderr + done.stdout) == (1, False)
        assert "internal error" not in done.stderr


@rows("name", ["disable guard", "disable --all", "trust --forget", "trust"])
def test_what_needs_a_terminal(project: Project, name: str) -> None:
    """Without one it is an error with a way out; in an agent's terminal, too."""
    project.hooks({"name": "guard", "event": "stop", "command": "true"})
    done = hookrun(project, *name.split())
    assert (done.status, "terminal" in done.stderr) == (1, True)
    assert done.stderr.count("\n") <= 3
    session = at_terminal(project, *name.split(), env={"CLAUDECODE": "1"})
    assert session.status == 1, session.screen


def test_a_home_that_is_a_file(project: Project) -> None:
    """The account's files cannot be read or written: an error that names it."""
    home = project.root / "file"
    home.write_text("")
    for words in ("list",), ("status",), ("log",), ("add", "no-force-push", "--user"), ("install", "claude"):
        done = hookrun(project, *words, HOME=str(home))
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr


def test_a_name_that_yaml_reads_as_something_else(project: Project) -> None:
    """`off` is a boolean in YAML: the hint is to quote it."""
    (project.root / "hookrun.yaml").write_text("hooks:\n  - name: off\n    event: stop\n    command: 'true'\n")
    done = hookrun(project, "validate")
    check(done.status, done.stdout, done.stderr, "hookrun.yaml:2:11: `name` must be")
    assert "hint: quote it\n" in done.stdout


def test_a_syntax_error_shows_its_line_with_a_caret(project: Project) -> None:
    """On a terminal, in three lines: the line of the file moves to leave room for the hint."""
    (project.root / "coder.json").write_text('{"hooks": [{"event": "stop" "command": "x"}]}')
    for columns in 80, 120:
        error, line, caret = at_terminal(project, "validate", columns=columns).screen.splitlines()[:3]
        assert error.startswith("error: coder.json:1:29: unexpected")
        assert line[caret.index("^") :].startswith('"command"')
        assert caret.endswith('^ put "," between items, or "}" after the last one')
        assert max(map(len, (line, caret))) <= columns
