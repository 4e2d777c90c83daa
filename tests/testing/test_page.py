"""The page about test files has a line for every field."""

from __future__ import annotations

import re

from hookrun.testing.cases import CASE_FIELDS, EXPECT_FIELDS, FILE_FIELDS
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "reference" / "tests.md").read_text()


def test_every_field_has_its_line() -> None:
    """No more and no fewer, in each of the three tables."""
    for heading, fields in (("of a file", FILE_FIELDS), ("of a case", CASE_FIELDS), ("of `expect`", EXPECT_FIELDS)):
        (table,) = re.findall(
            rf"^\| {heading} \| meaning \|\n\|---\|---\|\n(.*?)\n(?:\n|\Z)", PAGE, re.MULTILINE | re.DOTALL
        )
        named = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])]
        assert sorted(named) == sorted(field.name for field in fields)
