"""Every page: its blocks can be pasted and are run, its data can be read, and it is short enough."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
import yaml

from tests import tour
from tests.conftest import ROOT
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

DOCS = ROOT / "docs"

PAGES = [
    page
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        ROOT / "examples" / "README.md",
        *sorted(DOCS.rglob("*.md")),
    ]
    if page.exists()
]
MOST_WORDS = 1500
"""On a page outside the reference and the appendix."""

HOSTS = frozenset(
    {
        "127.0.0.1",
        "localhost",
        "docs.astral.sh",
        "opentelemetry.io",
        "pipx.pypa.io",
        "tree-sitter.github.io",
        "www.rfc-editor.org",
    }
)
"""The hosts that pages may name: other projects' own sites, and this machine. hookrun has no home on the internet."""

LANGUAGES = frozenset({"go", "ini", "js", "json", "json5", "python", "ruby", "sh", "text", "toml", "yaml"})


def name(page: Path) -> str:
    """Return a page's path in the repository."""
    return str(page.relative_to(ROOT))


def runs(page: Path) -> bool:
    """Return whether a page has something to run."""
    return any(block.language == "sh" for block in tour.blocks(page.read_text()))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=name)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, project: Project) -> None:
    """In the page's order, in one new account."""
    journey = tour.Tour(project)
    journey.take(page.read_text())
    if journey.skipped:
        pytest.skip(f"not installed, so that blocks of {name(page)} were NOT run: {', '.join(journey.skipped)}")


@pytest.mark.lint
@rows("page", PAGES, ids=map(name, PAGES))
def test_the_blocks_of_a_page_can_be_pasted(page: Path) -> None:
    """Each has a language; no command has a prompt before it; JSON and YAML are valid."""
    text = page.read_text()
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(re.findall(r"^ *```\w", text, re.MULTILINE))
    for block in tour.blocks(text):
        assert block.language in LANGUAGES, block.text
        if block.language == "sh":
            assert not re.search(r"^(?:\$|>|#) ", block.text, re.MULTILINE), block.text
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            yaml.safe_load(block.text)


@pytest.mark.lint
def test_the_tutorial_shows_the_script_that_the_template_writes() -> None:
    """Line for line."""
    shown = [block.text for block in tour.blocks((DOCS / "tutorial.md").read_text()) if block.language == "python"]
    written = (ROOT / "hookrun" / "templates" / "python.txt").read_text()
    assert shown
    for text in shown:
        assert text.partition("\n")[2] in written


@pytest.mark.lint
def test_a_page_is_short() -> None:
    """Outside the reference and the appendix."""
    long = (DOCS / "reference", DOCS / "appendix")
    words = {name(page): len(page.read_text().split()) for page in PAGES if not {*long} & {*page.parents}}
    assert [page for page, count in words.items() if count > MOST_WORDS] == []


@pytest.mark.lint
@rows("page", PAGES, ids=map(name, PAGES))
def test_a_page_names_no_address_that_does_not_exist(page: Path) -> None:
    """Only hosts that are known."""
    hosts = set(re.findall(r"https?://([\w.-]+)", page.read_text()))
    assert sorted(hosts - HOSTS) == []
