"""What the files that a hook's line names load in turn by name, and where variables and options lead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.cli.command import hookrun

if TYPE_CHECKING:
    from tests.conftest import Project


class Line(NamedTuple):
    """A hook of these fields with its files' texts, and another file, which an approval covers or not."""

    fields: dict[str, object]
    files: dict[str, str]
    other: str
    text: str = ":\n"


PYTHON: dict[str, object] = {"command": "python3 hooks/guard.py"}
SHELL: dict[str, object] = {"command": "sh hooks/guard.sh"}
HERE = '. "$(dirname "$0")/lib.sh"\n'

CODE = {
    "a sibling that Python imports": Line(PYTHON, {"hooks/guard.py": "import json\nimport rules\n"}, "hooks/rules.py"),
    "one of two": Line(PYTHON, {"hooks/guard.py": "import os, rules as r\n"}, "hooks/rules.py"),
    "from a sibling": Line(PYTHON, {"hooks/guard.py": "if 1:\n    from rules import x\n"}, "hooks/rules.py"),
    "a package beside it": Line(PYTHON, {"hooks/guard.py": "import lib.rules\n"}, "hooks/lib/rules.py"),
    "its beginning": Line(PYTHON, {"hooks/guard.py": "import lib.rules\n"}, "hooks/lib/__init__.py"),
    "what a sibling imports": Line(
        PYTHON, {"hooks/guard.py": "import a\n", "hooks/a.py": "import rules\n"}, "hooks/rules.py"
    ),
    "json.py": Line(PYTHON, {"hooks/guard.py": "import json\n"}, "hooks/json.py"),
    "what a standard module imports": Line(PYTHON, {"hooks/guard.py": "import json\n"}, "hooks/re.py"),
    "a package like a standard module": Line(PYTHON, {"hooks/guard.py": "import json\n"}, "hooks/json/__init__.py"),
    "beside a program": Line({"command": "./g"}, {"g": "#!/usr/bin/env python3\nimport json\n"}, "json.py"),
    "a library beside a shell script": Line(SHELL, {"hooks/guard.sh": HERE}, "hooks/lib.sh"),
    "without a suffix": Line(SHELL, {"hooks/guard.sh": HERE.replace("lib.sh", "lib")}, "hooks/lib"),
    "above it": Line(SHELL, {"hooks/guard.sh": HERE.replace("lib.sh", "../lib/a.sh")}, "lib/a.sh"),
    "from the root": Line(SHELL, {"hooks/guard.sh": "[ -e x ] || . hooks/lib/a.sh\n"}, "hooks/lib/a.sh"),
    "source": Line(SHELL, {"hooks/guard.sh": "source ${0%/*}/lib.sh\n"}, "hooks/lib.sh"),
    "require": Line({"command": "node h/g.js"}, {"h/g.js": "const r = require('./rules')\n"}, "h/rules.js"),
    "import": Line({"command": "node h/g.mjs"}, {"h/g.mjs": "import r from './lib/rules.js'\n"}, "h/lib/rules.js"),
    "require_relative": Line({"command": "ruby g.rb"}, {"g.rb": "require_relative 'rules'\n"}, "rules.rb"),
    "an included makefile": Line({"command": "make check"}, {"Makefile": "include rules.mk\n"}, "rules.mk"),
    "env -S": Line({"command": "./g"}, {"g": "#!/usr/bin/env -S python3 hooks/guard.py\n"}, "hooks/guard.py"),
    "env -S with a variable": Line({"command": "./g"}, {"g": "#!/usr/bin/env -S PYTHONPATH=lib python3\n"}, "lib/a.py"),
    "HOME": Line({"command": "git status", "env": {"HOME": "h"}}, {}, "h/.gitconfig"),
    "HOME of a shell": Line({"command": "bash -ic true", "env": {"HOME": "h"}}, {}, "h/.bashrc"),
    "XDG_CONFIG_HOME": Line({"command": "git status", "env": {"XDG_CONFIG_HOME": "h"}}, {}, "h/git/config"),
    "GIT_DIR": Line({"command": "git status", "env": {"GIT_DIR": "g"}}, {}, "g/config"),
    "git's settings": Line({"command": "git status"}, {}, ".git/config", "[core]\n\tfsmonitor = ./x.sh\n"),
    "an alias of git": Line({"command": "git s"}, {}, ".git/config", "[alias]\n\ts = !./x.sh\n"),
    "those of a worktree": Line(
        {"command": "cd sub && git s"},
        {"sub/.git": "gitdir: ../g/w\n", "g/w/commondir": "..\n"},
        "g/config",
        "[alias]\n\ts = !./x.sh\n",
    ),
    "those above a directory that git passes over": Line(
        {"command": "cd sub && git s"}, {"sub/.git/config": ""}, ".git/config", "[alias]\n\ts = !./x.sh\n"
    ),
    "a program in git's settings": Line(
        {"command": "git status"}, {".git/config": "[core]\n\tfsmonitor = tools/x.sh --fast\n"}, "tools/x.sh"
    ),
    "more settings of git": Line(
        {"command": "git s"}, {".git/config": "[include]\n\tpath = ../.gitconfig\n"}, ".gitconfig"
    ),
    "a directory in git's settings": Line(
        {"command": "git commit -m x"}, {".git/config": "[core]\n\thooksPath = hooks\n"}, "hooks/pre-commit"
    ),
    "a directory of an option": Line({"command": "mytool --plugins plugins"}, {}, "plugins/a.py"),
    "glued": Line({"command": "mytool --plugins=plugins"}, {}, "plugins/a.py"),
}

DATA = {
    "a sibling that nothing loads": Line(PYTHON, {"hooks/guard.py": "import json\n"}, "hooks/other.py"),
    "state beside it": Line(PYTHON, {"hooks/guard.py": "import json\n"}, "hooks/json.txt"),
    "a sibling of a shell script": Line(SHELL, {"hooks/guard.sh": "echo lib.sh\n"}, "hooks/lib.sh"),
    "a standard module's name": Line(SHELL, {"hooks/guard.sh": "exit 0\n"}, "hooks/json.py"),
    "git's settings": Line({"command": "git status"}, {}, ".git/config", "[core]\n\tfsmonitor = true\n"),
    "an argument in git's settings": Line(
        {"command": "git status"}, {".git/config": '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n'}, "clean"
    ),
    "a cache in HOME": Line({"command": "sh g.sh", "env": {"HOME": "h"}}, {"g.sh": ":\n"}, "h/.cache/x"),
    "a directory of sources": Line({"command": "ruff check --output-file o src"}, {}, "src/a.py"),
}


def is_covered(project: Project, line: Line) -> bool:
    """Return whether the digest of a line's hook changes when the other file comes."""
    project.hooks(line.fields)
    for name, text in line.files.items():
        project.script(name, text)
    digests = []
    for text in ("", line.text):
        if text:
            project.script(line.other, text, 0o644)
        [found] = json.loads(hookrun(project, "trust", "--json").stdout)
        digests.append(found["digest"])
    assert None not in digests
    return bool(digests[0] != digests[1])


@pytest.mark.parametrize("line", CODE.values(), ids=CODE)
def test_what_a_covered_file_loads_by_name_is_covered(project: Project, line: Line) -> None:
    """As soon as it is there, so that no approval holds for a file that comes later."""
    assert is_covered(project, line)


@pytest.mark.parametrize("line", DATA.values(), ids=DATA)
def test_what_it_does_not_load_is_not_covered(project: Project, line: Line) -> None:
    """Its coming asks nothing."""
    assert not is_covered(project, line)
