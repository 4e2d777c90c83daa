"""Which words of a command may name a file that belongs to the hook."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hookrun.config.words import file_words


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("./a.sh", "./a.sh"),
        ("cd x && ./a.sh --strict", "./a.sh"),
        ("A=1 exec ./a.sh", "./a.sh"),
        ("node --require=./early.js main.js", "./early.js"),
        ("'my hook.sh' x", "my hook.sh"),
        ('"$HOOKRUN_PROJECT_DIR"/a.sh', "${HOOKRUN_PROJECT_DIR}/a.sh"),
        ('sh -c "$CLAUDE_PROJECT_DIR/a.sh"', "${CLAUDE_PROJECT_DIR}/a.sh"),
        ("~/a.sh", "~/a.sh"),
        ("x=$(./a.sh)", "./a.sh"),
        ("`./a.sh`", "./a.sh"),
        ("./never 'closed", "./never"),
        ("a; b\n./a.sh", "./a.sh"),
        ("cat <./rules.txt", "./rules.txt"),
        ("./a.sh 2>&1 >/dev/null | ./b.sh", "./b.sh"),
        ("bash -c './a.sh && ./b.sh'", "./b.sh"),
    ],
)
def test_a_path_is_found_wherever_it_stands_in_a_line(line: str, word: str) -> None:
    """As the shell's word, in an option, in quotes, in a line within the line, behind a known variable."""
    assert word in file_words("command", line)


@pytest.mark.parametrize(
    ("line", "word"),
    [("./a.sh > out.log", "out.log"), ("./a.sh >>'o.log' 2>e.log", "e.log"), ("a &>> o.log", "o.log"), ("a -x", "-x")],
)
def test_what_a_line_writes_and_its_options_are_none(line: str, word: str) -> None:
    """A log that a hook appends to changes with each run: it is no part of the hook."""
    assert word not in file_words("command", line)


def test_an_argument_list_is_read_as_it_is() -> None:
    """Each argument, and the pieces of those with a space or an equals sign; nothing of other kinds of hooks."""
    words = file_words("args", ["python3", "-u", "hooks/a b.py", "--rules=r.txt", "sh -c ./x.sh"])
    assert {"python3", "hooks/a b.py", "r.txt", "./x.sh"} <= set(words)
    assert file_words("python", "a.b:c") == []
    assert file_words("url", "http://a/b") == []


@given(st.text(max_size=300))
def test_any_line_is_read_in_time_and_names_only_what_the_system_takes(line: str) -> None:
    """Whatever a stranger writes: no exception, no NUL, no line break, nothing twice."""
    words = file_words("command", line)
    assert len(words) == len(set(words))
    assert all(word and "\0" not in word and "\n" not in word for word in words)
