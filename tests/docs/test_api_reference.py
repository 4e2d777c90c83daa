"""The reference is whole: it builds without a warning, names everything public, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import hookrun
import hookrun.events
import hookrun.library
import hookrun.observe
from tests.conftest import ROOT
from tests.rows import rows

WITH_EXAMPLES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "hookrun").rglob("*.py")
    if ">>> " in path.read_text()
}
"""The modules with examples in their docstrings."""

HANDLERS = {
    "hookrun.compat.oats": "HookContext HookEngine HookEvent HookHandler HookResult",
    "hookrun.compat.session_buddy": "Hook HookContext HookResult HookType HooksManager",
    "hookrun.compat.stackbench": (
        "AgentLogger HookManager create_agent_hooks create_extraction_validation_hook create_logging_hooks "
        "create_validation_output_hook extraction_rules validation_rules"
    ),
    "hookrun.recipes.format_on_edit": "FORMATTERS RUFF_WITH_FIXES FormatOnEdit Formatter",
    "hookrun.integrations.hooked": "HookedCall hooked",
    "hookrun.recipes.notify": "Notify",
    "hookrun.recipes.notify_channels": "Bell Channel ChannelError CommandChannel Desktop Notice Webhook",
    "hookrun.recipes.quality_gate": "QualityGate",
    "hookrun.recipes.retry": "Retry RetryRule",
    "hookrun.recipes.validate_json": "Rule ValidateJSON",
}
"""The handlers that a program can register: module -> names."""
ELSEWHERE = {"hooked", "load", "run_tool"}
"""Public names that the pages show under their longer ones."""
PUBLIC = [
    *(f"hookrun.{name}" for name in hookrun.__all__ if name not in ELSEWHERE),
    *(f"hookrun.events.{name}" for name in hookrun.events.__all__),
    *(f"hookrun.library.{name}" for name in hookrun.library.__all__ if name not in hookrun.__all__),
    *(f"{module}.{name}" for module, names in HANDLERS.items() for name in names.split()),
    *(f"hookrun.observe.{name}" for name in hookrun.observe.__all__),
]
TOOLS = ("mkdocs", "mkdocstrings_handlers.python")


def is_there(module: str) -> bool:
    """Return whether a module could be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built as strictly as can be."""
    missing = [tool for tool in TOOLS if not is_there(tool)]
    if missing:
        pytest.skip(f"the reference is built with {' and '.join(missing)}: pip install 'hookrun[docs]'")
    directory = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def anchors(site: Path) -> set[str]:
    """Return the names that can be linked to on the pages of the reference."""
    pages = (site / "reference" / "api").glob("**/index.html")
    return {found for page in pages for found in re.findall(r'id="(hookrun\.[\w.]+)"', page.read_text())}


@pytest.mark.slow
def test_the_site_is_built_and_names_everything_public(site: Path) -> None:
    """Every public name and every field of a context is on a page, and no example is mistaken for a quotation."""
    from hookrun.events import CLASSES
    from hookrun.library.event_contexts import Context, ContextField

    there = anchors(site)
    assert sorted(set(PUBLIC) - there) == []
    owners: list[type[Context]] = [Context, *CLASSES.values()]
    for owner in owners:
        place = "hookrun.Context" if owner is Context else f"hookrun.events.{owner.__qualname__}"
        own = [name for name, value in vars(owner).items() if isinstance(value, (ContextField, property))]
        assert [name for name in own if f"{place}.{name}" not in there] == [], owner
    for page in (site / "reference" / "api").glob("**/index.html"):
        assert "<blockquote>" not in page.read_text(), page


@rows("name", sorted(WITH_EXAMPLES))
def test_the_examples_of_a_module_run(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each line of an example in a docstring gives the output below it."""
    with caplog.at_level("CRITICAL"):
        assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.lint
def test_there_are_examples() -> None:
    """The modules that a program begins with show how they are used: else the test above could not fail."""
    found = {
        name: doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)) for name in WITH_EXAMPLES
    }
    assert sum(sum(len(each.examples) for each in tests) >= 3 for tests in found.values()) >= 18
