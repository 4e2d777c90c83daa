"""What scripts/check_words.py, which CI runs over all that people read, finds and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import check_words
from tests.rows import rows

pytestmark = pytest.mark.lint


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory that the check takes for the project."""
    monkeypatch.setattr(check_words, "ROOT", tmp_path)
    return tmp_path


@rows(
    "name, text, line",
    [
        ("page.md", "One.\n\nShow what came of a run.\n", 3),
        ("page.md", "It waits, then it goes\non with the call.\n", 1),
        ("page.md", "found no terminal, expected one\n", 1),
        ("page.md", "Nothing is put in the\n   place of the text.\n", 1),
        ("hook.sh", "# nobody is told\nexit 0\n", 1),
        ("module.py", '"""Return it.\n\n    It IS TOLD.\n    """\n', 3),
        ("module.py", "x = 1\n# what comes\n# of it\n", 2),
        ("module.py", 'raise ValueError("the user "\n    f"is told {1}")\n', 1),
        ("module.py", 'x = f"{1} lets it pass"\n', 1),
    ],
)
def test_a_phrase_is_an_error_wherever_it_stands(page: Path, name: str, text: str, line: int) -> None:
    """Line breaks, letter case and the kind of file make no difference."""
    for earlier in page.iterdir():
        earlier.unlink()
    (page / name).write_text(text)
    errors, _ = check_words.report([page])
    assert (len(errors), check_words.main([str(page)])) == (1, 1)
    assert errors[0].startswith(f"error: {name}:{line}: ")


@rows(
    "name, text",
    [
        ("page.md", "Event `came of`, and\n\n```\nwhat came of it\n```\n\n[x](came%20of is told)\n"),
        ("page.md", "The option goes on the command line; the result goes on stdout.\n"),
        ("module.py", 'is_told = {"is_told": 1}\ncame.of("came")\n'),
        ("module.py", '"""Return `is told`.\n\n    >>> "is told"\n    """\n'),
    ],
)
def test_code_is_exempt(page: Path, name: str, text: str) -> None:
    """Identifiers, quoted code, code blocks and the places that links lead to are no prose."""
    (page / name).write_text(text)
    assert check_words.report([page]) == ([], [])


def test_strings_of_tests_are_data_and_tests_speak_of_users(page: Path) -> None:
    """There, docstrings and comments are read, words are not counted, and those retired are an error at once."""
    (page / "tests").mkdir()
    (page / "tests" / "test_x.py").write_text('"""Told, told, told, told."""\nx = "it is told"  # it is told\n')
    (page / "tests" / "test_y.py").write_text('"""Without trouble."""\nx = "nobody"  # nobody\n')
    (page / "y.py").write_text('"""Without trouble."""\n')
    errors, warnings = check_words.report([page])
    assert errors[0] == 'error: tests/test_x.py:2: "is told"; write instead: is notified, gets, is reported'
    assert sorted(each.split(";")[0] for each in errors[1:]) == [
        'error: tests/test_y.py:1: "trouble"', 'error: tests/test_y.py:2: "nobody"',
    ]  # fmt: skip
    assert not warnings


def test_words_are_reported_above_three(page: Path) -> None:
    """A word that is acceptable now and then is a warning from the fourth time in one file."""
    (page / "few.md").write_text("nobody " * 3)
    (page / "many.md").write_text("nobody " * 4)
    assert check_words.report([page]) == ([], ['warning: many.md: "nobody" 4 times'])
    assert check_words.main([str(page)]) == 0
