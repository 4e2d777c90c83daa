"""What docs/guides/testing.md says is so: its example comes out as it shows, and every field has its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrun.testing.cases import CASE_FIELDS, EXPECT_FIELDS, FILE_FIELDS
from tests.cli.command import hookrun
from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.conftest import Project

PAGE = (ROOT / "docs" / "guides" / "testing.md").read_text()


def test_every_field_has_its_line() -> None:
    """No more and no fewer, in each of the three tables."""
    for heading, fields in (("at the top", FILE_FIELDS), ("of a case", CASE_FIELDS), ("of `expect`", EXPECT_FIELDS)):
        (table,) = re.findall(rf"^\| {heading} \| \|\n\|---\|---\|\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
        named = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])]
        assert sorted(named) == sorted(field.name for field in fields)


def test_the_example_comes_out_as_shown(project: Project) -> None:
    """But for the paths and the time."""
    (cases,) = re.findall(r"^```yaml\n# (hooks/.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```console\n\$ hookrun test\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    project.hooks({"name": "no-force-push", "matcher": "bash", "command": "exit 0"})
    path = project.root / cases[0]
    path.parent.mkdir()
    path.write_text(f"# {cases[0]}\n{cases[1]}")
    printed = hookrun(project, "test").stdout
    for changing in (r"\(/[^)]*\)", r", \d+ ms", r"in [0-9.]+ s"):
        shown, printed = (re.sub(changing, "...", text) for text in (shown, printed))
    assert printed == shown
