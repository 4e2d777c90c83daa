"""Which words of a command are code by what the program does with them, whatever a look at the file says."""

from __future__ import annotations

from hookrun.config.executed import executed
from tests.rows import rows


@rows(
    "line, reference",
    [
        # a script, past options with and without a value
        ("sh guard", "path:guard"),
        ("bash -euo pipefail guard", "path:guard"),
        ("bash -- guard", "path:guard"),
        ("python3 -W ignore guard", "path:guard"),
        ("python3 -Wonce hooks/guard", "path:hooks/guard"),
        ("python3 -Xfrozen_modules=off hooks/guard", "path:hooks/guard"),
        ("python3 -Xc hooks/guard", "path:hooks/guard"),
        ("python3.12 -I guard", "path:guard"),
        ("perl -Ihooks guard", "path:guard"),
        ("node --title x guard", "node:guard"),
        ("deno run --allow-all guard", "node:guard"),
        ("php -d auto_prepend_file=hooks/early guard", "path:guard"),
        ("java -jar guard", "path:guard"),
        ("gdb -batch -x guard ./program", "path:guard"),
        ("expect -f guard", "path:guard"),
        ("PATH=bin:$PATH bash guard", "program:bin/guard"),
        ("PATH=bin:$PATH . guard", "program:bin/guard"),
        # its input
        ("python3 - < guard", "path:guard"),
        ("cat guard | python3 -", "path:guard"),
        ("sqlite3 db < guard", "path:guard"),
        ("cat guard | sqlite3 db", "path:guard"),
        ('python3 -c "$(cat guard)"', "path:guard"),
        # modules and their directories
        ("python3 -um guard", "module:.:guard"),
        ("python3 -Ec 'import os, guard'", "module:.:guard"),
        ("python3 -c \"sys.path.insert(0, 'lib'); import guard\"", "module:lib:guard"),
        ("perl -e 'use lib \"lib\"; use My::Guard;'", "module:lib:My.Guard"),
        ("perl -wMGuard -e 1", "module:.:Guard"),
        ("lua -l guard -e 1", "module:.:guard"),
        ("lua -e 'require(\"my.guard\")'", "module:.:my.guard"),
        ("java -cp lib/a.jar:lib my.Guard", "module:lib:my.Guard"),
        ("java -cp lib/a.jar:lib my.Guard", "path:lib/a.jar"),
        ("node -r early guard.js", "up:.:node_modules/early"),
        # files of code for programs that also take it as text
        ("awk -F: -f guard data", "path:guard"),
        ("sed -n --file=guard data", "path:guard"),
        ("jq -rf guard data", "path:guard"),
        ("jq --arg a b -Llib 'include \"guard\"; x'", "node:lib/guard"),
        ("sed -n '1e sh guard.sh' data", "maybe:guard.sh"),
        ("psql -c '\\i guard' db", "path:guard"),
        # files that a program finds, in a directory that it is given
        ("make --directory=hooks x", "path:hooks/Makefile"),
        ("just --working-directory hooks x", "path:hooks/justfile"),
        ("ninja -C hooks", "path:hooks/build.ninja"),
        ("npm --prefix hooks test", "path:hooks/package.json"),
        ("pre-commit run -c guard", "path:guard"),
        ("go run ./hooks", "path:hooks/*.go"),
        # what another program runs
        ("npm x guard@2", "up:.:node_modules/.bin/guard"),
        ("rbenv exec ruby guard", "path:guard"),
        ("aws-vault exec me -- python guard", "path:guard"),
        ("git -c core.hooksPath=hooks commit", "path:hooks/*"),
        ("git -c core.editor=./guard commit", "program:./guard"),
        ("GIT_SSH_COMMAND='sh guard' git fetch", "path:guard"),
        ("rsync -e 'sh guard' a b", "path:guard"),
        ("tar --to-command=./guard -xf a.tar", "program:./guard"),
        ("curl --config guard", "path:guard"),
    ],
)
def test_what_a_program_runs_is_code_whatever_its_name(line: str, reference: str) -> None:
    """The file has no suffix and no execute bit: only the command says that it is code."""
    assert reference in executed("command", line).code


@rows(
    "line, word",
    [
        ("python3 -u hook.py state.db", "state.db"),
        ("python3 -I hook.py state.db", "state.db"),
        ("python3 -m hook state.db", "state.db"),
        ("python3 -c 'import sys' state.db", "state.db"),
        ("bash -e hooks/guard log", "log"),
        ("perl -lane 'print $F[0]' data", "data"),
        ("perl -i.bak -pe 's/a/b/' notes", "notes"),
        ("node --no-warnings hook.js state.db", "state.db"),
        ("sqlite3 -separator , state.db 'select 1'", "state.db"),
        ("jq --slurpfile x rules.json .x data.json", "rules.json"),
        ('cat rules.txt | jq -R . "$FILE"', "rules.txt"),
    ],
)
def test_an_argument_of_a_script_is_code_only_if_it_looks_like_it(line: str, word: str) -> None:
    """It is covered, if at all, by a look at the file."""
    assert {f"path:{word}", f"node:{word}", f"program:{word}"}.isdisjoint(executed("command", line).code)


@rows(
    "line",
    [
        "awk -f a.awk src/app.py",
        "awk '$1 == \"src/app.py\"' list",
        "sed 's|src/app.py|x|' list",
        "jq -e '.tool_input.file_path | test(\"src/app.py\")'",
        "sqlite3 state.db \"insert into x values ('src/app.py')\"",
        "make src/app.py",
        "pre-commit run --files src/app.py",
        "grep -e src/app.py list",
        "git commit -m 'see src/app.py'",
        "tar -cf a.tar src/app.py",
        "uv run ruff check src | grep src/app.py",
    ],
)
def test_what_looks_like_code_is_data_for_a_program_that_runs_none_of_its_words(line: str) -> None:
    """A hook that checks sources does not ask again whenever they change."""
    assert [each for each in executed("command", line).code if each.endswith("app.py")] == []
