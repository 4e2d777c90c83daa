"""`hookrun validate`: all problems with their locations, and an exit status that shows whether there were errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len, chop_cells

from tests.cli.command import hookrun, hookrun_process
from tests.cli.terminal import at_terminal
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project


def test_good_declarations(project: Project) -> None:
    """Valid hooks are counted, and the status is 0; without a config a hint shows what to do."""
    done = hookrun(project, "validate")
    assert (done.status, done.stderr) == (0, "")
    assert "no config file found: run `hookrun init`" in done.stdout
    project.hooks({"command": project.script("a.sh", "#!/bin/sh\n")}, {"name": "b", "command": "true"})
    project.user_hooks({"command": "/bin/sh -c true"})
    done = hookrun(project, "validate")
    assert (done.status, done.stdout, done.stderr) == (0, "checked 3 hooks in 2 files: 0 errors, 0 warnings\n", "")


def test_errors_have_their_place(project: Project) -> None:
    """Every error of every layer is a line that begins with its place; the status is 1."""
    project.hooks({"command": "true", "timeout": "5"}, {"event": "stp", "name": "b", "command": "true"})
    project.user_hooks({"command": "./relative.sh"})
    done = hookrun(project, "validate")
    assert done.status == 1
    lines = done.stdout.splitlines()
    assert lines[-1] == "checked 3 hooks in 2 files: 3 errors, 0 warnings"
    assert lines[0].startswith("error: ~/.config/hookrun/hooks.json:1:")
    assert lines[1:-1] == [
        "hint: write the absolute path",
        'error: coder.json:1:84: `timeout` must be a number greater than 0, not "5"',
        "hint: write a number without quotes or unit",
        'error: coder.json:1:113: unknown event "stp"',
        'hint: did you mean "stop"?',
    ]


@rows(
    "hook, message",
    [
        ({"command": "./none.sh"}, "`none.sh` does not exist\nhint: create it, or correct the command"),
        ({"command": "./plain.sh"}, "`plain.sh` is not executable\nhint: run `chmod +x plain.sh`"),
        ({"command": "./sub"}, "`sub` is a directory\nhint: correct the command"),
        ({"command": "python3 none.py"}, "`none.py` does not exist\nhint: create it"),
        ({"args": ["no-such-program-anywhere"]}, "command not found: `no-such-program-anywhere`\nhint: install it"),
        ({"command": '"$HOOKRUN_PROJECT_DIR"/none.sh'}, "`none.sh` does not exist"),
        ({"command": "/nowhere/none.sh"}, "`/nowhere/none.sh` does not exist"),
    ],
)
def test_program_that_is_not_there(project: Project, hook: dict[str, object], message: str) -> None:
    """A file of the project that cannot be run is an error: every clone lacks it. What a machine lacks is a warning."""
    project.script("plain.sh", "#!/bin/sh\n", 0o644)
    (project.root / "sub").mkdir(exist_ok=True)
    project.hooks(hook)
    done = hookrun(project, "validate")
    machine = "command not found" in message or "/nowhere" in message
    assert done.status == (0 if machine else 1)
    kind = next(iter(hook))
    column = (project.root / "coder.json").read_text().index(json.dumps(hook[kind])) + 1
    assert f"{'warning' if machine else 'error'}: coder.json:1:{column}: {message}" in done.stdout


def test_keys_that_are_not_hookruns(project: Project) -> None:
    """Those with `x-` are the user's; a file with a misspelled one only was read."""
    project.script("hookrun.yaml", "x-team: [a]\nhooks:\n- {event: stop, command: 'true'}\n")
    done = hookrun(project, "validate")
    assert (done.status, done.stdout) == (0, "checked 1 hook in 1 file: 0 errors, 0 warnings\n")
    (project.root / "hookrun.yaml").unlink()
    project.script("coder.json", '{"hookss": []}')
    done = hookrun(project, "validate")
    assert done.stdout == (
        'warning: coder.json:1:12: hookrun ignores the key "hookss"\nhint: did you mean "hooks"?\n'
        "checked 0 hooks in 1 file: 0 errors, 1 warning\n"
    )


@rows("field, value", [("enabled", False), ("enabled", True), ("disabled", True)])
def test_a_switch_of_others(project: Project, field: str, value: object) -> None:
    """The hint says what to write instead."""
    project.hooks({"command": "true", field: value})
    said = hookrun(project, "validate").stdout
    assert f'unknown hook field "{field}"\nhint: write "mode": "off" to turn the hook off, and nothing to' in said


@rows(
    "hook",
    [
        {"command": "./none.sh", "cwd": "event"},
        {"command": "$HOOKRUN_WORKING_DIR/none.sh"},
        {"command": "./none.sh || exit 1"},
        {"command": "$SOMEWHERE/none.sh"},
        {"url": "http://localhost:1/"},
    ],
)
def test_program_that_cannot_be_told(project: Project, hook: dict[str, object]) -> None:
    """If the program depends on the event or the shell, there is no warning."""
    project.hooks(hook)
    assert hookrun(project, "validate").stdout == "checked 1 hook in 1 file: 0 errors, 0 warnings\n"


def test_nothing_is_run_or_expanded(project: Project) -> None:
    """Validating untrusted config runs nothing of it."""
    project.hooks({"command": "touch ran; $(touch ran)"}, {"name": "b", "python": "hooks:f"})
    project.script("hooks.py", "open('ran', 'w')\n")
    hookrun(project, "validate")
    hookrun(project, "list")
    assert not (project.root / "ran").exists()


def test_named_file(project: Project) -> None:
    """FILE checks that file instead of the project's own; one without hooks gets a warning, which is no error.

    A file of the user may set what only the user may set, and counts as one file.
    """
    (project.root / "coder.json").write_text("{")
    project.script("other.json", '{"hook": []}')
    done = hookrun(project, "validate", "other.json")
    assert done.status == 0
    assert "warning: other.json:1:1: the file has neither `hooks` nor `hookrun`" in done.stdout
    project.user_hooks(audit={"details": "full"})
    done = hookrun(project, "validate", str(project.home / ".config" / "hookrun" / "hooks.json"))
    assert (done.status, done.stdout) == (0, "checked 0 hooks in 1 file: 0 errors, 0 warnings\n")


def test_home_selects_the_user_config(project: Project) -> None:
    """HOME does."""
    project.user_hooks({"command": "./relative.sh"})
    assert hookrun(project, "validate", HOME="/nowhere").status == 0
    assert hookrun(project, "validate").status == 1


def test_json(project: Project) -> None:
    """`--json` has every part of each problem by name."""
    project.hooks({"command": "true", "mod": "off"})
    done = hookrun(project, "validate", "--json")
    assert done.status == 1
    report = done.json
    assert (report["ok"], report["hooks"], report["files"]) == (False, 1, [str(project.root / "coder.json")])
    problems = report["problems"]
    assert isinstance(problems, list)
    assert problems[0].pop("text").startswith(f"{project.root}/coder.json:1:")
    assert problems == [
        {
            "severity": "error",
            "path": str(project.root / "coder.json"),
            "line": 1,
            "column": 73,
            "key": "hooks[0].mod",
            "message": 'unknown hook field "mod"',
            "hint": 'did you mean "mode"?',
        },
    ]


def test_strange_names_cannot_reach_the_terminal(project: Project) -> None:
    """Escape sequences in untrusted config are shown, not sent."""
    project.hooks(
        {"name": "\x1b[2J\u202e", "command": "./\x1b[2J"}, {"name": "b\u009b", "command": "true", "\x1bkey": 1}
    )
    for arguments in (["validate"], ["list"], ["validate", "--json"], ["list", "--json"]):
        done = hookrun(project, *arguments)
        assert (done.stdout + done.stderr).replace("\n", "").isprintable()


def test_working_directory_that_is_gone(project: Project) -> None:
    """Without a working directory the config is unknown: an error, as in `fire`, and no traceback."""
    gone = project.root / "gone"
    gone.mkdir()
    command = ["sh", "-c", 'cd "$1" && rmdir "$1" && shift && exec "$@"', "sh", str(gone), *project.command("validate")]
    project.command = lambda *_: command  # type: ignore[method-assign]  # the same process behind a shell
    done = hookrun_process(project)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the working directory was removed")


FAULTY = """{
  "hooks": [
    {"event": "pretooluse", "name": "日本", "command": "true", "mod": "off"},
    {"event": "pre_tool_use", "name": "b", "command": "true", "timeout": "30", "env": {"LONG": "%s"}, "timeuot": 1}
  ]
}
""" % ("x" * 200)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_line_of_the_file_at_a_terminal(project: Project, columns: int) -> None:
    """With a caret under the place and the hint beside it, in at most three lines; left out where that is too long."""
    (project.root / "coder.json").write_text(FAULTY, encoding="utf-8")
    screen = at_terminal(project, "validate", columns=columns, env={"COLUMNS": str(columns)}).screen
    assert all(cell_len(line) <= columns for line in screen.splitlines())
    problems = screen.split("error: ")[1:]
    assert [problem.count("\n") <= 3 for problem in problems[:-1]] == [True] * 3
    assert problems[0].splitlines() == [
        'coder.json:3:15: unknown event "pretooluse"',
        f"  3 | {chop_cells(FAULTY.splitlines()[2], columns - 6)[0]}",
        '    |               ^ did you mean "pre_tool_use"?',
    ]
    _, source, caret = problems[-1].splitlines()[:3]
    assert source[len(caret.partition("^")[0]) :].startswith('"timeuot"')
