"""Which tests run by default: the others are slow, and CI runs both."""

from __future__ import annotations

import tomllib

import pytest

from tests.conftest import ROOT, pytest_collection_modifyitems


class Case(pytest.Item):
    """A case of a test that was collected."""

    def runtest(self) -> None:
        """Do nothing."""


def test_ci_runs_what_the_default_leaves_out() -> None:
    """The README's command takes the default; a command beside it takes the rest."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    commands = (ROOT / ".ci" / "run").read_text().splitlines()
    assert "-m 'not slow and not lint'" in options
    assert 'bash -c "$(readme_command test)"' in commands
    assert ".venv/bin/python -m pytest -m slow" in commands


@pytest.mark.parametrize(
    ("mark", "run"),
    [(pytest.mark.sampled, "a"), (pytest.mark.sampled(2), "aceg"), (pytest.mark.sampled(3), "adg"), (None, "abcdefg")],
)
def test_of_a_sampled_test_some_cases_run_by_default(
    request: pytest.FixtureRequest, mark: pytest.MarkDecorator | None, run: str
) -> None:
    """The first, or one in so many; of each test anew; a case that is slow by itself does not count."""
    cases: list[pytest.Item] = []
    for test in ("one", "two"):
        for letter in "abcdefg":
            case = Case.from_parent(request.node.parent, name=f"{test}[{letter}]")
            if mark is not None:
                case.add_marker(mark)
            cases.append(case)
        warm = Case.from_parent(request.node.parent, name=f"{test}[warm]")
        warm.add_marker(pytest.mark.slow)
        cases.insert(0, warm)
    pytest_collection_modifyitems(cases)
    left = [case.name for case in cases if case.get_closest_marker("slow") is None]
    assert left == [f"{test}[{letter}]" for test in ("one", "two") for letter in run]
