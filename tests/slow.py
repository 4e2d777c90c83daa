"""Leave most cases of an expensive parametrized test out of the default run: `pytest -m slow` runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark.structures import ParameterSet


def sampled(cases: Iterable[object], every: int) -> list[ParameterSet]:
    """Return the cases with all marked slow but one in `every`, so that the default run has some of each kind."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.slow] if number % every else []
        )
        for number, case in enumerate(cases)
    ]
