"""With one system call failing no answer allows a call that a guard refuses: a sample of what the nightly run tries."""

from __future__ import annotations

import pytest

from tests.rows import rows
from tests.torture.inject_faults import inject, why_impossible


@pytest.mark.slow
@rows("way, every", [("cold", 83), ("warm", 17)])
def test_no_failing_system_call_allows_what_a_guard_refuses(way: str, every: int) -> None:
    """Nor one of Python, below the launcher."""
    reason = why_impossible()
    if reason is not None:
        pytest.skip(reason)
    count, allowed = inject(way, every=every)
    assert allowed == []
    assert count
