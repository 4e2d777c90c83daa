"""Which tests run: by default, and with the options that choose among them."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chosen import SMOKE, in_quarter, of_agents, shuffled
from tests.conftest import pytest_collection_modifyitems
from tests.rows import rows

LETTERS = "abcdefg"


class Case(pytest.Item):
    """A case of a test that was collected."""

    def runtest(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("marks", "run"),
    [
        ([pytest.mark.sampled], "a"),
        ([pytest.mark.sampled(2)], "aceg"),
        ([pytest.mark.sampled(3)], "adg"),
        ([], LETTERS),
    ],
)
def test_of_a_sampled_test_some_cases_run_by_default(
    request: pytest.FixtureRequest, marks: list[pytest.MarkDecorator], run: str
) -> None:
    """The first, or one in so many; of each test anew; a case that is slow by itself does not count."""
    cases: list[pytest.Item] = []
    for test in ("one", "two"):
        for letter in LETTERS:
            case = Case.from_parent(request.node.parent, name=f"{test}[{letter}]")
            for mark in marks:
                case.add_marker(mark)
            cases.append(case)
        warm = Case.from_parent(request.node.parent, name=f"{test}[warm]")
        warm.add_marker(pytest.mark.slow)
        cases.insert(0, warm)
    pytest_collection_modifyitems(cases)
    left = [case.name for case in cases if case.get_closest_marker("slow") is None]
    assert left == [f"{test}[{letter}]" for test in ("one", "two") for letter in run]


def test_a_seed_names_a_quarter() -> None:
    """The same seed, the same quarter; of many seeds no test is left out."""
    names = [f"tests/test_a.py::test_{number}[é {number}]" for number in range(400)]
    quarters = [[name for name in names if in_quarter(name, str(seed))] for seed in range(60)]
    assert quarters[0] == [name for name in names if in_quarter(name, "0")]
    assert all(60 < len(quarter) < 140 for quarter in quarters)
    assert set().union(*quarters) == set(names)


def test_shuffled_tests_stay_with_their_file() -> None:
    """Files and tests change places; fixtures of a file are still made once. A seed names one order."""
    items = [(file, number) for file in "abcdefgh" for number in range(9)]
    first, second = (shuffled(items, seed, lambda item: Path(item[0])) for seed in ("1", "2"))
    assert sorted(first) == sorted(second) == items
    assert first == shuffled(items, "1", lambda item: Path(item[0])) != second
    files = [file for file, _ in first]
    assert files[::9] == list(dict.fromkeys(files)) != list("abcdefgh")
    assert [number for _, number in first[:9]] != list(range(9))


def test_of_the_agents_some_are_tested_and_the_others_once() -> None:
    """What concerns no agent runs, too. A test that compares two agents runs for each of them."""

    def item(name: str, file: str = "test_tools", *, fixtures: tuple[str, ...] = (), **params: object) -> Any:
        return SimpleNamespace(
            name=name, nodeid=f"{file}::{name}", path=Path(f"{file}.py"), fixturenames=fixtures,
            callspec=SimpleNamespace(params=params),
        )  # fmt: skip

    smoke = min(SMOKE)
    items = [
        item(f"{smoke}[qwen-a]", agent="qwen", way="a"),
        item(f"{smoke}[qwen-b]", agent="qwen", way="b"),
        item("test_other[qwen]", agent="qwen"),
        item("test_other[codex]", agent="codex"),
        item("test_more", fixtures=("codex",)),
        item("test_alone", "test_model"),
        item("test_compared[codex]", "test_same_as_claude", agent="codex"),
        item("test_it", "test_same_as_claude"),
    ]
    kept = {"test_model::test_alone", f"test_tools::{smoke}[qwen-a]"}
    of_codex = {"test_tools::test_other[codex]", "test_tools::test_more", "test_same_as_claude::test_compared[codex]"}
    assert of_agents(items, set()) == kept
    assert of_agents(items, {"codex"}) == kept | of_codex
    compared = {"test_same_as_claude::test_compared[codex]", "test_same_as_claude::test_it"}
    assert of_agents(items, {"claude"}) == kept | compared


def test_each_row_that_fails_is_named() -> None:
    """And no other; a failure does not hide those after it, and fixtures are those of the test."""

    @rows("divisor, expected", [(1, 6), (2, 4), (0, 1), (6, 1)], ids="abcd")
    def test(number: int, divisor: int, expected: int) -> None:
        assert number // divisor == expected

    with pytest.raises(ExceptionGroup, match="2 of 4 rows: b; c") as caught:
        test(number=6)
    assert [error.__notes__ for error in caught.value.exceptions] == [["in the row b"], ["in the row c"]]
    assert [*inspect.signature(test).parameters] == ["number"]
