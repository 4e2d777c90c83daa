"""Everything that the guide shows is run, and prints what stands there."""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GUIDE = ROOT / "docs" / "guides" / "python.md"
BLOCK = re.compile(
    r"(?P<goes_on><!-- goes on -->\n)?^```python\n(?P<code>.*?)^```$(?:\n+^```text\n(?P<text>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
SAID = re.compile(r"  # -> (.*)$", re.MULTILINE)
NEEDS = {
    "from hookrun.integrations.claude_agent_sdk": "claude_agent_sdk",
    "from hookrun.integrations.langchain": "langchain",
}


class Program:
    """The blocks of one program: each with its line, its code and what it prints."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, str, str]] = []

    @property
    def line(self) -> int:
        """The line of the guide at which it begins."""
        return self.blocks[0][0]

    @property
    def needs(self) -> list[str]:
        """The packages without which it cannot run."""
        return [package for line, package in NEEDS.items() if any(line in code for _, code, _ in self.blocks)]


def programs() -> list[Program]:
    """Return the programs of the guide: a block each, or several where one continues the one before."""
    found: list[Program] = []
    text = GUIDE.read_text()
    for match in BLOCK.finditer(text):
        if match["goes_on"] is None:
            found.append(Program())
        said = "".join(f"{line}\n" for line in SAID.findall(match["code"]))
        line = text.count("\n", 0, match.start("code")) + 1
        found[-1].blocks.append((line, match["code"], said + (match["text"] or "")))
    return found


def fits(shown: str, printed: str) -> bool:
    """Tell whether an output is what is shown, where `...` stands for anything within a line."""
    return re.fullmatch("[^\n]*?".join(map(re.escape, shown.split("..."))), printed) is not None


@pytest.mark.parametrize("program", programs(), ids=lambda program: f"line-{program.line}")
def test_a_program_of_the_guide_prints_what_stands_there(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory and a home of its own, with what the block before it has defined where it continues that."""
    for package in program.needs:
        pytest.importorskip(package, reason=f"this block needs the package {package}")
    (tmp_path / "home").mkdir()
    (tmp_path / "shop").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.syspath_prepend(str(tmp_path / "shop"))
    names: dict[str, object] = {"__name__": "__main__"}
    for line, code, shown in program.blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, str(GUIDE), "exec"), names)  # noqa: S102  # that is the test
        assert fits(shown, printed.getvalue()), f"line {line}\nshown:\n{shown}\nprinted:\n{printed.getvalue()}"


def test_every_block_is_found_and_most_of_them_print() -> None:
    """A block that is written otherwise would not be run."""
    blocks = [block for program in programs() for block in program.blocks]
    assert len(blocks) == GUIDE.read_text().count("```python") >= 20
    assert sum(bool(shown) for _, _, shown in blocks) >= len(blocks) * 2 // 3
