"""The guides to the library: every Python block is a program, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests import tour
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GUIDES = [ROOT / "docs" / "guides" / name for name in ("python.md", "python-tools.md", "python-bundles.md")]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n+^```text\n(?P<text>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
PRINTED = re.compile(r"  # -> (.*)$", re.MULTILINE)
NEEDS = {
    "from hookrun.integrations.claude_agent_sdk": "claude_agent_sdk",
    "from hookrun.integrations.langchain": "langchain",
}


class Program(NamedTuple):
    """A block: its page and line, its code and its output."""

    page: Path
    line: int
    code: str
    output: str

    def needs(self) -> list[str]:
        """Return the packages that hookrun does not install by itself."""
        return [package for line, package in NEEDS.items() if line in self.code]


def programs() -> list[Program]:
    """Return the programs of the guides."""
    found: list[Program] = []
    for page in GUIDES:
        text = page.read_text()
        for match in BLOCK.finditer(text):
            printed = "".join(f"{line}\n" for line in PRINTED.findall(match["code"]))
            line = text.count("\n", 0, match.start("code")) + 1
            found.append(Program(page, line, match["code"], printed + (match["text"] or "")))
    return found


@pytest.mark.parametrize("program", programs(), ids=lambda program: f"{program.page.stem}-{program.line}")
def test_a_program_of_the_guides_prints_what_they_show(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a new directory with an empty home."""
    for package in program.needs():
        pytest.importorskip(package, reason=f"this block needs the package {package}")
    (tmp_path / "home").mkdir()
    (tmp_path / "shop").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "shop")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = compile("\n" * (program.line - 1) + program.code, str(program.page), "exec")
        exec(code, {"__name__": "__main__"})  # noqa: S102  # that is the test
    assert tour.matches(program.output, printed.getvalue()), f"\nshown:\n{program.output}\n{printed.getvalue()}"


@pytest.mark.lint
def test_every_block_is_found_and_most_of_them_print() -> None:
    """A block in another form would not be run."""
    found = programs()
    assert len(found) == sum(page.read_text().count("```python") for page in GUIDES) >= 11
    assert sum(bool(each.output) for each in found) >= len(found) * 2 // 3
