"""The README: its commands are those that CI runs, its guards block as described, its links lead to files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.cli.command import hookrun
from tests.conftest import ROOT

if TYPE_CHECKING:
    from tests.conftest import Project

README = (ROOT / "README.md").read_text()

LINES = [
    ("rm -r -f /", "block"),
    ("rm -fR ~", "block"),
    ('git commit -m "do not rm -rf"', "continue"),
    ("git push -f", "block"),
    ("git push origin +main", "block"),
    ("git push origin new-feature", "continue"),
]


def test_the_first_hooks_are_right(project: Project) -> None:
    """The hooks that `hookrun init` proposes block each spelling of a command, and no text that only mentions it."""
    assert "hookrun init" in README
    assert hookrun(project, "init", "--yes", "--no-install").status == 0
    fired = {line: project.fire({"tool_name": "bash", "tool_args": {"command": line}}).action for line, _ in LINES}
    assert fired == dict(LINES)


def test_the_commands_for_a_fresh_machine_are_where_ci_takes_them_from() -> None:
    """The two commands are alone in their blocks, one line each."""
    for name in ("try", "test"):
        found = re.findall(rf"<!-- command: {name} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
        assert len(found) == 1
        assert "\n" not in found[0]
        assert "venv" in found[0]


def test_every_link_leads_somewhere() -> None:
    """Files that the README and the docs link to exist."""
    for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "examples" / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
