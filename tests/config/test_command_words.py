"""The files that a command names: its program and script where they are sure, and every word that may be a path."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from hypothesis import given, strategies as st

from hookrun.config.command_words import program_and_script, relative_words
from hookrun.config.executed import file_words
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path


@rows(
    "line, words",
    [
        ("./a.sh", ["./a.sh"]),
        ("  ./a.sh one 'two'  ", ["./a.sh"]),
        ("jq -r .x", ["jq"]),
        ("python3 hook.py", ["python3", "hook.py"]),
        ("python3.12 -uB hooks/x.py -c a", ["python3.12", "hooks/x.py"]),
        ("/usr/bin/python3 -u -B -I ./x", ["/usr/bin/python3", "./x"]),
        ("sh -eu hook.sh", ["sh", "hook.sh"]),
        ("bash --norc -x 'my hook.sh'", ["bash", "my hook.sh"]),
        ("node x.mjs", ["node", "x.mjs"]),
        ("ruby -w x.rb", ["ruby", "x.rb"]),
        ("FOO=1 BAR='x y' ./a", ["./a"]),
        ("exec env A=1 nohup ./x", ["./x"]),
        ('"$HOOKRUN_PROJECT_DIR"/h/x.sh "$1"', ["${HOOKRUN_PROJECT_DIR}/h/x.sh"]),
        ('"${CLAUDE_PROJECT_DIR}/h x/y.sh"', ["${CLAUDE_PROJECT_DIR}/h x/y.sh"]),
        ("$HOOKRUN_CONFIG_DIR/x", ["${HOOKRUN_CONFIG_DIR}/x"]),
        ('python3 "$HOOKRUN_WORKING_DIR/x.py"', ["python3", "${HOOKRUN_WORKING_DIR}/x.py"]),
        ("~/bin/x", ["~/bin/x"]),
        ('"$HOME"/bin/x', ["~/bin/x"]),
        ("./a\\ b", ["./a b"]),
        (">log ./a", ["./a"]),
        ("./a | ./b", ["./a"]),
        ("./a && ./b", ["./a"]),
        ("./a >log 2>&1", ["./a"]),
        ("./a;", ["./a"]),
        ("./a # why not || that", ["./a"]),
        ("PATH=/x ./a", ["./a"]),
        ('"a b"/c', ["a b/c"]),
        # the shell has something to expand, or continues without the program
        ("", []),
        ("'", []),
        ('"', []),
        ("if true; then ./a; fi", []),
        ("for x in a b; do ./$x; done", []),
        ("f() { ./a; }", []),
        ("{ ./a; }", []),
        ("(./a)", []),
        ("! ./a", []),
        ("[ -x ./a ] && ./a", []),
        ("test -x ./a && ./a", []),
        ("cd x && ./a", []),
        (". ./a", []),
        ("echo '{}'", []),
        ("exit 1", []),
        ("env -i ./a", []),
        ("exec -a b ./a", []),
        ("command -v ./a", []),
        ("nohup A=1 ./a", []),
        ("${HOOKRUN_PROJECT_DIR:-.}/a", []),
        ("$'./a'", []),
        ("$HOOKRUN_PROJECT_DIRS/a", []),
        ("'${HOOKRUN_PROJECT_DIR}'/a", []),
        ("''\"\"'~'/a", []),
        ("'~/a'", []),
        ("~user/a", []),
        ("$(which a)", []),
        ("`which a`", []),
        ("A=$(b) ./a", []),
        ("./a*", []),
        ("./{a,b}", []),
        ("PATH=/x a", []),
        ("env PATH=/x a", []),
        ("./a || true", []),
        ("./a || ./b", []),
        ("./a; ./b", []),
        ("./a & ./b", []),
        ("./a &", []),
        ("./a\n./b", []),
        ("./a <<E\nx\nE", []),
        # a flag with a value or an unknown one, and what an interpreter resolves by itself, leave only the program
        ("python3 -c 'x' hook.py", ["python3"]),
        ("python3 -m pytest", ["python3"]),
        ("python3 -X dev hook.py", ["python3"]),
        ("python3 - hook.py", ["python3"]),
        ("python3 $X/hook.py", ["python3"]),
        ("python3 ''", ["python3"]),
        ("bash -euo pipefail x.sh", ["bash"]),
        ("sh -c ./a", ["sh"]),
        ("node hook", ["node"]),
        ("node --require x y.js", ["node"]),
        ("bun run hook", ["bun"]),
        ("perl -ne 1 x.pl", ["perl"]),
        ("sh2 x.sh", ["sh2"]),
    ],
)
def test_what_is_named_is_what_is_plain_and_sure(line: str, words: list[str]) -> None:
    """The program is found after assignments and prefixes, the script after flags that take no value."""
    assert program_and_script("command", line) == words


@rows(
    "kind, target, words",
    [
        ("args", ["./a b"], ["./a b"]),
        ("args", ["python3", "-u", "$x.py"], ["python3", "$x.py"]),
        ("args", ["python3", "-m", "x"], ["python3"]),
        ("args", ["~/a"], []),
        ("args", ["${HOOKRUN_PROJECT_DIR}/a"], []),
        ("args", ["if"], ["if"]),
        ("python", "a:b", []),
        ("url", "http://x/y", []),
    ],
)
def test_arguments_are_taken_as_they_are(kind: str, target: str | list[str], words: list[str]) -> None:
    """No shell reads `args`: what looks like a variable is none. A Python function and a URL are no files."""
    assert program_and_script(kind, target) == words


@rows(
    "kind, target, words",
    [
        ("command", "./a", ["./a"]),
        ("command", "hooks/a", ["hooks/a"]),
        ("command", "python3 hook.py", ["hook.py"]),
        ("command", "./venv/bin/python ./hook.py", ["./venv/bin/python", "./hook.py"]),
        ("command", "./a || true", ["./a"]),
        ("command", "node ./hook", ["./hook"]),
        ("command", "PATH=/x ./a", ["./a"]),
        ("command", "env -i ./a", ["./a"]),
        ("command", "A=$(./b) ./a", ["./b", "./a"]),
        ("command", "env -C /x ./a", []),
        ("command", "jq .", []),
        ("command", "/a/b", []),
        ("command", "~/a", []),
        ("command", '"$HOOKRUN_CONFIG_DIR"/a', []),
        ("command", "$X/a", []),
        ("args", ["a/b"], ["a/b"]),
        ("args", ["~/a"], ["~/a"]),
        ("args", ["python3", "/a/b.py"], []),
        ("url", "http://a/b", []),
    ],
)
def test_relative_words(kind: str, target: str | list[str], words: list[str]) -> None:
    """A path that depends on the working directory is relative, a bare program is not, a bare script is."""
    assert relative_words(kind, target) == words


@given(st.text(st.sampled_from("ab/.~ '\"\\$`|&;<>(){}[]*?#=\n-H"), max_size=14))
def test_no_line_is_too_strange(line: str) -> None:
    """Any line is read to its end without an error, and gives two words at most."""
    assert len(program_and_script("command", line)) <= 2
    assert len(relative_words("command", line)) <= 2


@given(
    words=st.lists(st.text(st.sampled_from("ab/.~ '\"\\$`|&;*?#=\n{}"), min_size=1, max_size=6), min_size=1, max_size=3)
)
def test_quoted_words_come_back(words: list[str]) -> None:
    """For a string in shell single quotes the word itself is named, or nothing."""
    line = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    assert program_and_script("command", line) in ([], [words[0]])


SIMPLE = ("./a", '"./a"', "X=1 ./a", "exec ./a", "env X=1 ./a", "./a 2>&1", "sh ./a", "sh -eu ./a")


@rows("line", [*SIMPLE, "./a | cat", "./a && true"])
def test_what_is_named_is_what_a_shell_runs(tmp_path: Path, line: str) -> None:
    """A real shell runs the file that is named, and fails where it is missing."""
    assert program_and_script("command", line)[-1] == "./a"
    script = tmp_path / "a"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    done = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"ran\n"


@rows(
    "line, word",
    [
        ("./a.sh", "a.sh"),
        ("cd x && ./a.sh --strict", "x/a.sh"),
        ("A=1 exec ./a.sh", "a.sh"),
        ("node --require=./early.js main.js", "early.js"),
        ("'my hook.sh' x", "my hook.sh"),
        ('"$HOOKRUN_PROJECT_DIR"/a.sh', "${HOOKRUN_PROJECT_DIR}/a.sh"),
        ('sh -c "$CLAUDE_PROJECT_DIR/a.sh"', "${CLAUDE_PROJECT_DIR}/a.sh"),
        ("~/a.sh", "~/a.sh"),
        ("x=$(./a.sh)", "a.sh"),
        ("`./a.sh`", "a.sh"),
        ("./never 'closed", "never"),
        ("a; b\n./a.sh", "a.sh"),
        ("cat <./rules.txt", "rules.txt"),
        ("./a.sh 2>&1 >/dev/null | ./b.sh", "b.sh"),
        ("bash -c './a.sh && ./b.sh'", "b.sh"),
    ],
)
def test_a_path_is_found_wherever_it_stands_in_a_line(line: str, word: str) -> None:
    """As a shell word, in an option, in quotes, in a nested line, after a known variable."""
    assert word in file_words("command", line)


@rows(
    "line, word",
    [("./a.sh > out.log", "out.log"), ("./a.sh >>'o.log' 2>e.log", "e.log"), ("a &>> o.log", "o.log"), ("a -x", "-x")],
)
def test_what_a_line_writes_and_its_options_are_none(line: str, word: str) -> None:
    """A log that a hook appends to changes with each run: it is no part of the hook."""
    assert word not in file_words("command", line)


def test_an_argument_list_is_read_as_it_is() -> None:
    """Each argument, and the pieces of those with a space or an equals sign; nothing of other kinds of hooks."""
    words = file_words("args", ["python3", "-u", "hooks/a b.py", "--rules=r.txt", "sh -c ./x.sh"])
    assert {"python3", "hooks/a b.py", "r.txt", "x.sh"} <= set(words)
    assert file_words("python", "a.b:c") == []
    assert file_words("url", "http://a/b") == []


@given(st.text(max_size=300))
def test_any_line_is_read_in_time_and_names_only_what_the_system_takes(line: str) -> None:
    """For any untrusted input: no exception, no NUL, no line break, no duplicate."""
    words = file_words("command", line)
    assert len(words) == len(set(words))
    assert all(word and "\0" not in word and "\n" not in word for word in words)
