"""`hookrun validate` looks at scripts: what keeps one from judging a call is an error."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.hook_scripts import NODES, OTHERS, POLYGLOTS, PYTHONS, SHELLS
from tests.conftest import Project
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

NEEDS_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
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
    "masked by the background": ({"command": "./guard &"}, f"{SH}exit 2\n", "`&` hides its exit status"),
    "masked by cat": ({"command": "./guard | cat"}, f"{SH}exit 2\n", "`| cat` hides its exit status"),
    "masked by tee": (
        {"command": "./guard 2>&1 | tee -a log"},
        f"{SH}exit 2\n",
        "`| tee -a log` hides its exit status",
    ),
    "empty": ({"command": "./guard"}, "", "is empty or only defines"),
    "a comment": ({"command": "./guard"}, f"{SH}# exit 2; comes later\n\n", "is empty or only defines"),
    "a function": (
        {"command": "./guard"},
        f"{BASH}set -eu\nX=1\nguard() {{\n  exit 2\n}}\n",
        "is empty or only defines",
    ),
    "a function, by its shell": ({"command": "sh guard"}, "guard() { exit 2; }\n", "is empty or only defines"),
    "a function of Python": (
        {"command": "python3 guard.py"},
        "import sys\nX = 1\n\n\ndef main():\n    sys.exit(2)\n",
        "is empty or only defines",
    ),
    "after a heredoc": ({"command": "./guard"}, f"{SH}cat <<E\n[[ x\nE\n[[ x ]] && exit 2\n", "has `[[` in line 5"),
    "after a string": ({"command": "./guard"}, f"{SH}echo 'a\nb'\n[[ x ]] && exit 2\n", "has `[[` in line 4"),
    "after a long line": ({"command": "./guard"}, f"{SH}echo a \\\n  b\n[[ x ]] && exit 2\n", "has `[[` in line 4"),
}
NODE_MISTAKES: dict[str, tuple[dict[str, object], str, str]] = {
    "CommonJS": (
        {"command": "./guard.js"},
        f"{NODE}module.exports = (call) => {{\n  check(call);\n}};\n",
        "only exports",
    ),
    "an object": ({"command": "node guard.js"}, "module.exports = {\n  check(call) {}\n};\n", "only exports"),
    "functions": (
        {"command": "node guard.js"},
        "const fs = require('fs');\nfunction check() {\n  process.exit(2);\n}\n",
        "is empty or only defines",
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
    "a decorator": (
        {"command": "python3 guard.py"},
        "import sys\nfrom hooklib import guard\n\n\n@guard\ndef main(call):\n    sys.exit(2)\n",
    ),
    "a call": ({"command": "python3 guard.py"}, "import sys\n\n\ndef main():\n    sys.exit(2)\n\n\nmain()\n"),
}
NODE_FINE: dict[str, tuple[dict[str, object], str]] = {
    "exports": (
        {"command": "node guard.js"},
        "exports.x = 1;\nprocess.stdin.on('data', (call) => console.log(call));\n",
    ),
    "a call with a function": (
        {"command": "node guard.js"},
        "const { hook } = require('./lib');\nconst guard = hook(function (call) {\n  process.exit(2);\n});\n",
    ),
    "a call with an object": (
        {"command": "node guard.js"},
        "const guard = require('./lib');\nmodule.exports = guard({\n  check(call) {},\n});\n",
    ),
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


@pytest.mark.parametrize("table", [MISTAKES, pytest.param(NODE_MISTAKES, marks=NEEDS_NODE)], ids=["any", "node"])
def test_a_script_that_cannot_judge_is_an_error(
    table: dict[str, tuple[dict[str, object], str, str]], project_of: Callable[[], Project]
) -> None:
    """With exit status 1, its place and what to do."""
    for name, (declared, text, said) in table.items():
        status, shown = examined(project_of(), declared, text)
        assert (status, shown.count("error: coder.json:")) == (1, 1), (name, shown)
        assert said in shown, (name, shown)
        assert "hint: " in shown


@pytest.mark.parametrize("table", [FINE, pytest.param(NODE_FINE, marks=NEEDS_NODE)], ids=["any", "node"])
def test_a_script_that_works_is_none(
    table: dict[str, tuple[dict[str, object], str]], project_of: Callable[[], Project]
) -> None:
    """What looks alike, and is no mistake."""
    for name, case in table.items():
        status, shown = examined(project_of(), *case)
        assert (status, "error: " in shown) == (0, False), (name, shown)


@rows("kind", ["sh", "python", "node", "other"])
def test_scripts_as_they_are_written_are_no_errors(kind: str, project_of: Callable[[], Project]) -> None:
    """Each of them works; of interpreters that this machine lacks only that is said."""
    tables = {"sh": {**SHELLS, **POLYGLOTS}, "python": PYTHONS, "node": NODES, "other": OTHERS}
    project, scripts = project_of(), tables[kind]
    guards: list[dict[str, object]] = []
    for name, text in scripts.items():
        project.script(name, text)
        guards.append({"name": name, "args": [f"./{name}"], "on_failure": "block"})
    project.hooks(*guards)
    done = hookrun(project, "validate")
    errors = [line for line in (done.stdout + done.stderr).splitlines() if "error: coder.json:" in line]
    assert [each for each in errors if "which is not found" not in each] == []
    assert kind in ("node", "other") or (done.status, errors) == (0, [])


@rows("line", ["set -o pipefail; ./guard | tee log", "./guard && true", "./guard & wait $!", "./guard | grep -v x"])
def test_lines_that_keep_an_exit_status(line: str, project_of: Callable[[], Project]) -> None:
    """Of the script, or of another command that is meant."""
    status, shown = examined(project_of(), {"command": line}, f"{SH}exit 2\n")
    assert (status, "error: " in shown) == (0, False), shown
