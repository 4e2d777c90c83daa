"""Tables: rows that one slip in the code would change together are one case, which names each row that fails."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Test = Callable[..., None]


def rows(names: str, values: Iterable[object], ids: Iterable[str] | None = None) -> Callable[[Test], Test]:
    """Run a test for every row, as `pytest.mark.parametrize` does, but as one case. Fixtures are those of the case."""
    given = [name.strip() for name in names.split(",")]
    table = [(value,) if len(given) == 1 else tuple(value) for value in values]  # type: ignore[arg-type]
    assert table, "an empty table proves nothing"
    known_as = list(ids) if ids is not None else [", ".join(map(repr, row)) for row in table]

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def case(*instance: object, **fixtures: object) -> None:
            failed: dict[str, BaseException] = {}
            for name, row in zip(known_as, table, strict=True):
                try:
                    test(*instance, **fixtures, **dict(zip(given, row, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # none is skipped unseen
                    error.add_note(f"in the row {name}")
                    failed[name] = error
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows: {'; '.join(failed)}", [*failed.values()])

        others = [each for name, each in signature.parameters.items() if name not in given]
        case.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return case

    return decorate
