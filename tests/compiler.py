"""The C compiler, for all tests that need one."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope="session")
def compiler() -> str:
    """Return the path of the compiler. Where there is none, the tests that need it are skipped for that reason."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("needs a C compiler: `cc` is not on PATH")
    return found
