"""What a line runs from files: scripts, the lines of targets, and what the line itself has written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookrun.shell.opening import run_from_files
from hookrun.shell.parse_line import parse_line
from hookrun.shell.scripts import MAX_SCRIPT, ScriptFiles

MAKEFILE = """\
DIR ?= build
.PHONY: all
all: clean $(DIR)/x
\t@echo $@ $(shell pwd) $$HOME
clean:
\t-rm -rf $(DIR) \\
\t  out
%/x: src.c ; cc $< -o $@
lone:
\t$(MAKE) -C sub $(UNSET)
-include more.mk
"""
JUSTFILE = """\
dir := "build"
default: (clean "a")
clean what='x':
    @rm -rf {{dir}}/{{what}}
py:
    #!/usr/bin/env python3
    import shutil
    shutil.rmtree("/etc")
"""
TASKFILE = """\
version: '3'
tasks:
  build:
    deps: [clean]
    cmds:
      - go build {{.FLAGS}}
      - task: "db:drop"
  clean:
    desc: rm all
    cmd: rm -rf dist
  "db:drop": dropdb shop
"""
PACKAGE = """\
{"scripts": {"pretest": "npm run lint", "lint": "eslint .", "test": "vitest run",
  "loop": "npm run loop", "prepare": "husky"}}
"""
FILES = {
    "x.sh": '#!/bin/bash\nf() { rm -rf "$1"; }\nf "$1"\ncase "$2" in drop) dropdb x ;; *) ls "$0" ;; esac\n',
    "vars": "D=/srv/data\ncd sub\n",
    "run": "#!/usr/bin/env -S python3 -u\nimport os\nos.system('date')\n",
    "other": "#!/usr/bin/tclsh\nexec rm x\n",
    "outer.sh": "sh inner.sh; echo $? && ./outer.sh\n",
    "inner.sh": "rm inner\n",
    "odd.sh": "rm a; ) rm b\n",
    "x.py": "import shutil\nshutil.rmtree('/etc')\n",
    "Makefile": MAKEFILE,
    "more.mk": "more: lone\n\trm more\n",
    "sub/Makefile": "first:\n\trm first\n",
    "justfile": JUSTFILE,
    "Taskfile.yml": TASKFILE,
    "package.json": PACKAGE,
    "composer.json": '{"scripts": {"reset": ["@php artisan migrate:fresh", "@lint"], "lint": "phpcs"}}',
    "Rakefile": "task :wipe => :env do\n  sh 'dropdb shop'\nend\n\ntask :test do\n  sh 'rspec'\nend\n",
    "names": "/home /etc\n",
}
RAN = {
    "bash -eux x.sh / drop": ["rm -rf /", "dropdb x"],
    "./x.sh a b": ["rm -rf a", "ls ./x.sh"],
    "sh -n x.sh; cat x.sh; chmod +x x.sh; bash missing.sh": ["cat x.sh", "chmod +x x.sh"],
    "source vars; rm $D a": ["cd sub", "rm /srv/data a"],
    "(cd sub && . ../vars); rm $D": ["cd sub", "cd sub", "rm ?"],
    "./run a": ["date"],
    "./other": [],
    "sh outer.sh": [*["rm inner", "echo ?"] * 7, "echo ?"],
    "bash odd.sh": ["rm a", "rm b"],
    "python3 x.py": ["rm -rf -- /etc"],
    "uv run x.py": ["rm -rf -- /etc"],
    "make": ["rm -rf build out", "cc src.c -o build/x", "pwd", "echo all / /home/me"],
    "make -s DIR=/ clean": ["rm -rf / out"],
    "make more": ["rm first", "rm more"],
    "make -C sub; gmake -f more.mk lone": ["rm first"],
    "make -n clean; make nothing": [],
    "just": ["rm -rf build/x"],
    "just clean /": ["rm -rf build//"],
    "just py": ["rm -rf -- /etc"],
    "task build": ["rm -rf dist", "go build ?", "dropdb shop"],
    "task --dry build": [],
    "npm test -- -u": ["eslint .", "vitest run -u"],
    "yarn lint; pnpm run lint": ["eslint .", "eslint ."],
    "npm ci": ["husky"],
    "cd sub && npm run lint": ["cd sub", "eslint ."],
    "composer run reset": ["php artisan migrate:fresh", "phpcs"],
    "rake wipe": ["dropdb shop"],
    "cat > y.sh <<'E'\nrm $HOME\nE\nbash y.sh": ["cat", "rm /home/me"],
    "printf 'rm %s\\n' a > y.sh; echo rm b >> y.sh; sh ./y.sh": ["printf rm %s\\n a", "echo rm b", "rm a", "rm b"],
    "{ echo rm a; echo rm b; } | tee y.sh; . ./y.sh": ["echo rm a", "echo rm b", "tee y.sh", "rm a", "rm b"],
    "date > x.sh; sh x.sh": ["date"],
    "bash < x.sh": ["rm -rf ", "dropdb x", "ls ?"],
    "cat inner.sh | sh; sh <(cat inner.sh)": ["cat inner.sh", "rm inner", "cat inner.sh", "rm inner"],
    "xargs rm < names; xargs -a names rm": ["rm /home /etc", "rm /home /etc"],
    "rm $(cat names)": ["cat names", "rm /home /etc"],
}
RUNNERS = (
    "bash sh source . x.sh run other outer.sh inner.sh python3 uv make gmake just task npm yarn pnpm composer rake "
    "xargs x.py"
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with files that run others."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return tmp_path


def ran(line: str, directory: Path) -> list[str]:
    """Return the commands of a line and of what it runs, without those that run others; `?` is unknown."""
    parsed = parse_line(line, directory=str(directory), variables={"HOME": "/home/me"}, files=ScriptFiles())
    assert parsed.problem is None
    texts = [
        " ".join(word.text for word in each.words) for each in parsed.commands if each.program not in RUNNERS.split()
    ]
    return [text.replace("\0", "?").replace(f"{directory}/", "").replace(str(directory), "/") for text in texts]


def test_what_a_line_runs_from_files_is_read(place: Path) -> None:
    """With its arguments, in its directory, whatever runs it; what only shows a file runs nothing."""
    assert {line: ran(line, place) for line in RAN} == RAN


def test_without_files_nothing_is_opened(place: Path) -> None:
    """Who only wants the line gets that."""
    assert [each.program for each in parse_line("sh x.sh; make", directory=str(place)).commands] == ["sh", "make"]


def test_a_command_says_where_it_stands(place: Path) -> None:
    """With the file and the line in it; one of the line says nothing."""
    line = "rm a; ./x.sh b; make clean; npm test; python3 x.py; python3 -c 'import os; os.remove(\"c\")'"
    parsed = parse_line(line, directory=str(place), files=ScriptFiles())
    assert [each.place for each in parsed.commands if each.program == "rm"] == [
        "", " (./x.sh, line 2)", " (Makefile, line 6)", " (x.py, line 2)", " (the code of python3, line 1)",
    ]  # fmt: skip


def test_only_small_regular_files_are_read(place: Path) -> None:
    """A pipe does not make it wait, a device does not fill it."""
    os.mkfifo(place / "pipe")
    (place / "zero").symlink_to("/dev/zero")
    (place / "link").symlink_to("inner.sh")
    (place / "large").write_text("rm a\n" + "#" * MAX_SCRIPT)
    (place / "binary").write_bytes(b"rm a\n\0")
    lines = {
        "sh pipe; sh zero; sh large; sh binary; sh sub; . pipe; python3 zero; make -f pipe": [],
        "sh link": ["rm inner"],
    }
    assert {line: ran(line, place) for line in lines} == lines


def test_a_script_that_is_too_much_ends_there(place: Path) -> None:
    """What it is does not keep the rest of the line from being read."""
    (place / "deep.sh").write_text("(" * 60 + "rm a" + ")" * 60)
    (place / "many.sh").write_text("for a in {1,2,3,4}{1,2,3,4}; do\n" * 5 + "rm b\n" + "done\n" * 5)
    parsed = parse_line("sh deep.sh; sh many.sh; rm c", directory=str(place), files=ScriptFiles())
    assert parsed.problem is None
    assert parsed.commands[-1].arguments == ["c"]


SPARED = {
    "npm run lint": ["eslint ."],
    "npm test": ["npm run lint", "eslint .", "vitest run"],
    "ls -la src && git status": [],
    "git add x.sh sub; cat ./x.sh; ruff check x.py": [],
    "sh inner.sh": ["rm inner\n"],
    "python3 -c 'print(1)'": [],
    "task clean": ["rm -rf dist"],
    "if . vars; then ls; fi": ["D=/srv/data\ncd sub\n"],
    "./missing.sh": [],
}
READ = ("./x.sh", "cd sub && npm test", "time make", "./x.sh > out", "python3 x.py", "'./x.sh'", "sudo ./inner.sh",
        ". vars; npm test", "python3 -c 'import os; os.system(1)'", "find . -exec ./inner.sh {} +")  # fmt: skip


def test_the_cheap_look_tells_what_is_run(place: Path) -> None:
    """None stands for a line that has to be read to know."""
    assert {line: run_from_files(line, str(place), ScriptFiles()) for line in SPARED} == SPARED
    assert [line for line in READ if run_from_files(line, str(place), ScriptFiles()) is not None] == []
