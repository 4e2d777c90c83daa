"""`hookrun validate` looks at scripts: what keeps one from judging a call is an error."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.conftest import Project
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

SH, BASH, NODE = "#!/bin/sh\n", "#!/usr/bin/env bash\n", "#!/usr/bin/env node\n"

MISTAKES: dict[str, tuple[dict[str, object], str, str]] = {
    "no shebang, as args": ({"args": ["./guard"]}, "exit 2\n", "has no `#!` line"),
    "no shebang, in Python": ({"command": "./guard.py"}, "print(1)\n", "has no `#!` line"),
    "no such interpreter": ({"command": "./guard"}, "#!/opt/nothing/python9\n", "needs `/opt/nothing/python9`"),
    "nothing for env": ({"command": "./guard"}, "#!/usr/bin/env nosuch-python\n", "needs `nosuch-python`"),
    "CRLF": ({"command": "./guard"}, "#!/bin/sh\r\nexit 2\r\n", "has CRLF line ends"),
    "CRLF, by its shell": ({"command": "sh guard"}, "exit 2\r\n", "has CRLF line ends"),
    "unfinished": ({"command": "./guard"}, f"{SH}if true; then\nexit 2\n", "cannot be read by sh: "),
    "unfinished, by its shell": ({"args": ["sh", "guard"]}, "echo 'no end\n", "cannot be read by sh: "),
    "[[ in sh": ({"command": "./guard"}, f'{SH}x=1\nif [[ "$x" == 1 ]]; then exit 2; fi\n', "has `[[` in line 3"),
    "a replacement in sh": ({"command": "sh guard"}, 'echo "${x/a/b}"\n', "has `${x/` in line 1"),
    "source in sh": ({"command": "./guard"}, f"{SH}source ./lib.sh\n", "has `source` in line 2"),
    "pipefail in sh": ({"command": "./guard"}, f"{SH}set -eu\nset -o pipefail\n", "has `set -o pipefail` in line 3"),
    "masked": ({"command": "./guard || true"}, f"{SH}exit 2\n", "`|| true` hides its exit status"),
    "masked by an exit": ({"command": "./guard; exit 0"}, f"{SH}exit 2\n", "`; exit 0` hides its exit status"),
    "a line that is unfinished": ({"command": "if ./guard; then"}, f"{SH}exit 2\n", "the shell cannot read this: "),
}
NODE_MISTAKES: dict[str, tuple[dict[str, object], str, str]] = {
    "CommonJS": (
        {"command": "./guard.js"},
        f"{NODE}module.exports = (call) => {{\n  check(call);\n}};\n",
        "only exports",
    ),
    "a module": (
        {"command": "node guard.mjs"},
        "export default function check(call) {\n  return 1;\n}\n",
        "only exports",
    ),
}
"""What is declared, the script, and what is said of it."""

FINE: dict[str, tuple[dict[str, object], str]] = {
    "a script": ({"command": "./guard"}, f'{SH}# [[ in a comment\necho "[[ \'" >&2; [ "$1" = "(" ] || exit 2\n'),
    "bash": ({"command": "./guard"}, f'{BASH}if [[ "$x" == 1 ]]; then a=(1 2); source ./x; fi\n'),
    "by bash": ({"command": "bash guard"}, '[[ "$x" == 1 ]] && exit 2\n'),
    "a script of sh's own": ({"command": "./guard"}, "exit 2\n"),
    "a fallback within": ({"command": "./guard"}, f"{SH}grep x file || true\nexit 2\n"),
    "a verdict on stdout": ({"command": "./guard || true"}, f'{SH}echo \'{{"action": "block"}}\'\n'),
    "no gate": ({"command": "./guard || true", "event": "post_tool_use"}, f"{SH}exit 2\n"),
    "expansions of sh": ({"command": "./guard"}, f'{SH}echo "${{x%/*}} ${{x##*/}} ${{#x}} ${{x:-a/b}} $((1 + 2))"\n'),
    "a program": ({"command": "/bin/sh guard"}, "exit 2\n"),
    "node": ({"command": "node guard.js"}, "exports.x = 1;\nprocess.stdin.on('data', (call) => console.log(call));\n"),
}


@pytest.fixture
def project_of(tmp_path: Path) -> Callable[[], Project]:
    """Return a function that returns a project of its own, for the rows of a table."""
    return lambda: Project(Path(tempfile.mkdtemp(dir=tmp_path)))


def examined(project: Project, declared: dict[str, object], text: str) -> tuple[int, str]:
    """Return the exit status and the messages of `validate` for a hook with this script, under each of its names."""
    for name in ("guard", "guard.py", "guard.js", "guard.mjs"):
        project.script(name, text)
    project.hooks({"on_failure": "block", **declared})
    done = hookrun(project, "validate")
    return done.status, done.stdout + done.stderr


@rows("name", MISTAKES)
def test_a_script_that_cannot_judge_is_an_error(name: str, project_of: Callable[[], Project]) -> None:
    """With exit status 1, its place and what to do."""
    declared, text, said = MISTAKES[name]
    status, shown = examined(project_of(), declared, text)
    assert (status, shown.count("error: coder.json:")) == (1, 1), shown
    assert said in shown
    assert "hint: " in shown


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@rows("name", NODE_MISTAKES)
def test_a_node_file_that_only_exports_is_an_error(name: str, project_of: Callable[[], Project]) -> None:
    """Node runs it, and nothing happens."""
    declared, text, said = NODE_MISTAKES[name]
    status, shown = examined(project_of(), declared, text)
    assert (status, said in shown) == (1, True), shown


@rows("name", FINE)
def test_a_script_that_works_is_none(name: str, project_of: Callable[[], Project]) -> None:
    """What looks alike, and is no mistake."""
    status, shown = examined(project_of(), *FINE[name])
    assert (status, "error: " in shown) == (0, False), shown
