"""A script that its shell or interpreter cannot run in full: a note, and no "continue" of a guard without a verdict."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from hookrun.core.broken_scripts import own_error
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

SAID = {
    "dash": ["./h: 1: [[: not found", "/bin/sh: 1: jq: not found", "./h: 3: Bad substitution", "h: 1: [: missing ]"],
    "bash": [
        "./h: line 1: jq: command not found",
        "/usr/bin/bash: line 7: ${a!b}: bad substitution",
        "bash: -c: line 2: syntax error: unexpected end of file",
        "./h: eval: line 2: syntax error: unexpected end of file",
        "./h: line 1: [: missing `]'",
        "./h: line 4: x: unbound variable",
    ],
    "busybox": [
        "./h: line 1: jq: not found",
        "./h: .: line 1: can't open './lib.sh': No such file or directory",
        "sh: jq: not found",
        "sh: syntax error: bad substitution",
        "sh: missing ]",
    ],
    "mksh": ["E: ./h[1]: jq: inaccessible or not found", "E: /bin/mksh: ${a!b}: bad substitution"],
    "zsh": [
        "./h:1: command not found: jq",
        "zsh:1: bad substitution",
        "./h:[:1: ']' expected",
        "(eval):1: parse error",
    ],
    "python": [
        'Traceback (most recent call last):\n  File "/repo/h", line 1, in <module>\n    import x\nImportError: x',
        '  File "/repo/h", line 1\n    x = 1 +\n           ^\nSyntaxError: invalid syntax',
        '  File "<string>", line 1\n    x x\n      ^\nSyntaxError: invalid syntax',
        "python3: can't open file '/repo/gone.py': [Errno 2] No such file or directory",
        "/usr/bin/python3: No module named nosuch",
    ],
    "node": [
        "/repo/h:1\nx = = 1\n    ^\n\nSyntaxError: Unexpected\n    at wrapSafe (node:x:1:18)",
        "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module 'nosuch'",
        "[eval]:1\nfoo()\n^\n\nReferenceError: foo is not defined",
        "file:///repo/h:1\ny()\n^\n\nReferenceError: y is not defined",
    ],
    "perl": [
        "Can't locate NoSuch.pm in @INC (you may need to install it) at h line 1.",
        'syntax error at h line 1, near "}"',
        "Undefined subroutine &main::foo called at h line 1.",
        'Can\'t open perl script "h": No such file or directory',
    ],
    "ruby": [
        "h:1:in `<main>': undefined local variable or method `foo' for main:Object (NameError)",
        "h:1: syntax error, unexpected end-of-input",
        "ruby: No such file or directory -- h.rb (LoadError)",
    ],
}
"""What each program says of a script `h`, as measured: see the module."""

OTHER_WORDS = [
    "not found",
    "jq: not found",
    "no config found: command not found",
    "lib/other.sh: line 3: jq: command not found",
    "src/app.py:12: not found",
    'edited.sh: 3: Syntax error: "fi" unexpected',
    "./h: line 3: kill: (99) - No such process",
    "./h: 3: type: jq: not found",
    "./h: line 1: warning: setlocale: LC_ALL: cannot change locale (xx)",
    "./h: line 3:  1234 Killed                  sleep 9",
    "./h: line 2: /dev/tty: No such device or address",
    "./h: 1: cannot open /dev/tty: No such device or address",
    "Traceback of the request: 3 calls",
    'Traceback (most recent call last):\n  File "/repo/other.py", line 1, in <module>\n    1/0\nZeroDivisionError',
    "w at h line 1.",
    "perl: warning: Setting locale failed.",
    "lib/x.h:12: trailing whitespace",
]
"""What a hook may say of other files, and what shells say of a command that was tried."""


@rows("program, error", [(program, error) for program, errors in SAID.items() for error in errors])
def test_the_own_errors_of_shells_and_interpreters_are_recognized(program: str, error: str) -> None:
    """Among other lines, too."""
    said = own_error("./h --strict", f"checking\n{error}\nchecked", 1)
    assert said is not None, program
    assert said.splitlines()[0] in error


@rows("text", OTHER_WORDS)
def test_a_hook_s_own_words_are_none(text: str) -> None:
    """Whatever they say of other files, or of commands that were only tried."""
    assert own_error("./h --strict", text, 1) is None


CAUGHT = [
    'Traceback (most recent call last):\n  File "/repo/hooks/h.py", line 3, in <module>\n    open("x")\nOSError: x',
    "hooks/h.py:3: UserWarning: deprecated\n  warnings.warn('deprecated')",
    "/repo/hooks/h.py:7: slow check",
]


@rows("text", CAUGHT)
def test_what_a_script_has_caught_or_warns_of_is_none(text: str) -> None:
    """It ended well."""
    assert own_error("python3 hooks/h.py", text, 0) is None


UNCAUGHT = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nZeroDivisionError: x'


@rows(
    "target",
    [
        """python3 -c '1/0'; true""", """python3 -c '1/0' || true""", """printf '' | python3 -c '1/0' | cat""",
        ["sh", "-c", """python3 -c '1/0'\nexit 0"""], "./guard.sh",
    ],
)  # fmt: skip
def test_a_traceback_counts_where_the_status_is_another_program_s(target: str | list[str]) -> None:
    """Of what follows in the line, or of the script that runs it."""
    assert own_error(target, UNCAUGHT, 0) is not None


@rows("target", ["python3 -c 'import h'", ["python3", "-c", "import h; h.main()"]])
def test_a_traceback_of_python_that_ended_well_was_caught(target: str | list[str]) -> None:
    """Its status is its own."""
    assert own_error(target, UNCAUGHT, 0) is None


ANSWERED = """echo '{"action": "continue"}'"""
BROKEN = {
    "sh": "nosuch-command --check",
    "bash": "echo ${a!b}; true",
    "dash": '[[ "$1" == x ]]; true',
    "python3": "x = = 1",
}
LINES = {name: line for name, line in BROKEN.items() if shutil.which(name)}


@pytest.mark.parametrize("dialect", ["hookrun", "claude"])
@pytest.mark.parametrize("program", LINES)
def test_a_guard_without_a_verdict_blocks(program: str, dialect: str, project: Project) -> None:
    """Without `on_failure: block` it continues, as before. Either way the note says why."""
    path = project.script("guard", f"#!/usr/bin/env {program}\n{LINES[program]}\n")
    kinds: dict[str, dict[str, object]] = {
        "command": {"command": f"{path}; true"},
        "args": {"args": ["sh", "-c", f"{path}; exit 0"]},
    }
    hooks = {f"{each} {kind}": {"on_failure": each, **kinds[kind]} for each in ("block", "continue") for kind in kinds}
    project.hooks(*({"name": name, "dialect": dialect, "always": True, **hook} for name, hook in hooks.items()))
    fired = project.fire()
    found = {name: (fired.record(name)["action"], fired.record(name).get("failure")) for name in hooks}
    expected = {"block": ("block", "broken_script"), "continue": ("continue", None)}
    assert found == {name: expected[name.split()[0]] for name in hooks}
    assert [name for name in hooks if "broken_script: " not in str(fired.record(name).get("notes"))] == []


@pytest.mark.parametrize("dialect", ["hookrun", "claude"])
def test_a_script_that_falls_back_has_answered(dialect: str, project: Project) -> None:
    """It tries a program that is missing: a note, and its verdict counts."""
    project.hooks(
        {"command": f"nosuch-jq . || {ANSWERED}", "on_failure": "block", "dialect": dialect, "name": "continues"},
        {"command": "nosuch-jq 2>/dev/null || true", "on_failure": "block", "dialect": dialect, "name": "silent"},
    )
    fired = project.fire()
    assert fired.action == "continue", fired.stderr
    assert "broken_script: " in str(fired.record("continues").get("notes"))
    assert fired.record("silent").get("notes") is None


def test_a_block_beside_the_error_keeps_its_reason(project: Project) -> None:
    """What it says on stdout counts, whatever its exit status."""
    for status in (0, 1, 2):
        project.hooks({"command": f'nosuch-jq; echo \'{{"action": "block", "message": "no"}}\'; exit {status}'})
        fired = project.fire()
        assert (fired.action, fired.verdict["message"]) == ("block", "no")
        assert "broken_script: " in str(fired.record("hook")["notes"])
