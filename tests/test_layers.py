"""The architecture rules: imports go down, no cycles, one name for one thing, no module too large or too small."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from hookrun import agents
from hookrun.cli.commands import COMMANDS, CONFIG
from hookrun.recipes import RECIPES
from tests.rows import rows

pytestmark = pytest.mark.lint

PACKAGE = Path(__file__).resolve().parent.parent / "hookrun"

LAYERS = (
    ("__main__",),
    ("cli",),
    ("replay",),
    ("doctor", "scaffold", "testing"),
    ("compat",),
    ("launch",),
    ("fire", "integrations"),
    ("launch.server_start",),
    ("wiring", "library"),
    ("edit",),
    ("trust",),
    ("core.engine",),
    ("recipes",),
    ("observe",),
    ("events",),
    ("library.event_contexts",),
    ("config",),
    ("process",),
    ("agents",),
    ("core.audit_reader",),
    ("core.audit",),
    ("core.conditions",),
    ("claude",),
    ("shell",),
    ("core.gate",),
    ("core.verdicts", "core.context", "core.changes"),
    ("core.refusals",),
    ("core.crash", "launch.launcher_file", "launch.server_socket", "core.nesting", "core.model", "core.session"),
    (
        "core",
        "launch.client",
        "core.events",
        "core.globs",
        "core.fastjson",
        "core.files",
        "core.state",
        "core.credentials",
        "core.text",
        "core.terminal",
    ),
)
"""Rooms from the top down, and the modules of core/ and launch/, each in its own place. What is in a row imports only
from rows below; `hookrun` itself holds public names only."""

SIDEWAYS = frozenset(
    {
        ("core.conditions", "core.globs"),
        ("core.events", "core.text"),
        ("core.model", "core.events"),
        ("core.state", "core.text"),
        ("core.text", "core.terminal"),
    }
)
"""Imports within one row that are meant."""

BACKWARDS = {
    ("hookrun.recipes.protect_hooks", "hookrun.trust.guarded"): "which files decide what runs, only `trust` knows",
    ("hookrun.agents", "hookrun.agents.callers"): "it is loaded for agents without a module only",
    ("hookrun.core.state", "hookrun.core.crash"): "whatever has a bug can report it, and loads that only then",
}
"""Imports of a row above, or in a circle, that are meant, and why."""

PUBLIC_BELOW_RECIPES = frozenset(
    {
        "hookrun",
        "events",
        "agents",
        "shell",
        "process",
        "core.credentials",
        "core.fastjson",
        "core.globs",
        "core.text",
        "core.files",
        "core.state",
        "core.session",
        "core.nesting",
        "core.audit_reader",
    }
)
"""The modules that `recipes` and `observe` may import: those that a third party could."""

LARGEST, SMALLEST = 450, 100
"""Lines of a module."""

LONGEST_CHAIN = 14
"""Modules that import each other one after the other, at import time."""

AGENTS = sorted(agents.AGENTS.keys() - {"claude"})
"""Agents whose facts belong in their own module. Claude is also a dialect and a form of settings."""

AGENT_ROOMS = frozenset({"agents", "claude", "integrations"})


class Import(NamedTuple):
    """One import of a module of hookrun by another. `at_once` is one that is made when the module is loaded."""

    importer: str
    imported: str
    at_once: bool


MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
    if "templates" not in path.parts
}


ROW = {name: number for number, row in enumerate(LAYERS) for name in row}


@cache
def parsed(module: str) -> ast.Module:
    """Return the source of a module."""
    return ast.parse(MODULES[module].read_text())


def imported_by(node: ast.AST, module: str) -> list[str]:
    """Return the modules that a node imports: relative ones resolved, and those that `import_module` is given."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = source_of(node, module)
        return [each if (each := f"{base}.{alias.name}") in MODULES else base for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}:
        name = node.args[0]
        if isinstance(name, ast.JoinedStr):  # its beginning says which room
            name = name.values[0]
        if isinstance(name, ast.Constant):
            return [".".join(str(name.value).split(".")[:3]).removesuffix(".")]
    return []


def source_of(node: ast.ImportFrom, module: str) -> str:
    """Return the absolute name of what a `from` import imports from."""
    package = module.split(".") + ["__init__"] * (MODULES[module].name == "__init__.py")
    above = package[: len(package) - node.level] if node.level else []
    return ".".join([*above, *filter(None, [node.module])])


def imports_of(module: str) -> list[Import]:
    """Return the run-time imports of a module: those for type checkers are left out."""
    found: list[Import] = []

    def visit(node: ast.AST, *, at_once: bool) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for each in node.orelse:
                visit(each, at_once=at_once)
            return
        names = imported_by(node, module)
        found.extend(Import(module, name, at_once=at_once) for name in names if name in MODULES and name != module)
        inside = at_once and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, at_once=inside)

    visit(parsed(module), at_once=True)
    return found


@cache
def all_imports() -> dict[str, list[Import]]:
    """Return the imports of each module but those in BACKWARDS."""
    return {
        module: [each for each in imports_of(module) if (module, each.imported) not in BACKWARDS] for module in MODULES
    }


def room(module: str) -> str:
    """Return what a module is in LAYERS, itself or its room; `hookrun` for the package's public names."""
    _, _, inside = module.partition(".")
    return inside if inside in ROW else inside.partition(".")[0] or module


def test_every_room_has_its_place() -> None:
    """No room is left out of the order, and none is in it that does not exist."""
    assert {room(module) for module in MODULES} - {"hookrun"} == set(ROW)


def test_imports_go_down_only() -> None:
    """A room imports from rows below its own."""
    wrong = sorted(
        f"{each.importer} -> {each.imported}"
        for imports in all_imports().values()
        for each in imports
        if "hookrun" not in {each.importer, each.imported}
        and room(each.importer) != room(each.imported)
        and ROW[room(each.importer)] >= ROW[room(each.imported)]
        and (room(each.importer), room(each.imported)) not in SIDEWAYS
    )
    assert wrong == []


def test_ready_made_hooks_stand_on_what_is_public() -> None:
    """Recipes and observe import what a third party could, and nothing of the core beside it."""
    own = {"observe": {"observe"}, "recipes": {"recipes", "observe"}}
    wrong = sorted(
        f"{each.importer} -> {each.imported}"
        for imports in all_imports().values()
        for each in imports
        if (below := own.get(room(each.importer))) and room(each.imported) not in PUBLIC_BELOW_RECIPES | below
    )
    assert wrong == []


def test_ready_made_hooks_import_public_names_only() -> None:
    """A name that begins with `_` is none, in any module outside of their rooms."""
    wrong = sorted(
        f"{module} -> {source_of(node, module)}.{alias.name}"
        for module in MODULES
        if room(module) in {"recipes", "observe"}
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.ImportFrom) and source_of(node, module).startswith("hookrun")
        for alias in node.names
        if alias.name.startswith("_") and alias.name != "__version__"
    )
    assert wrong == []


def test_the_kit_is_known_to_its_entry_only() -> None:
    """It may be missing: nothing else imports it."""
    importers = [module for module, path in MODULES.items() if "import hookrun_conformance" in path.read_text()]
    importers += [module for module, path in MODULES.items() if "from hookrun_conformance" in path.read_text()]
    assert importers == ["hookrun.cli.conformance"]


def downwards(*, late: bool) -> TopologicalSorter[str]:
    """Return the modules with those that they import, `late` imports within functions included."""
    return TopologicalSorter(
        {name: {each.imported for each in imports if late or each.at_once} for name, imports in all_imports().items()}
    )


def test_no_module_imports_itself_by_way_of_others() -> None:
    """There is no circle of run-time imports: else this raises CycleError with it."""
    downwards(late=True).prepare()


def test_no_long_chain_of_imports() -> None:
    """From any module, imports at import time are at most so many modules deep."""
    depth: dict[str, int] = {}
    for module in downwards(late=False).static_order():
        depth[module] = 1 + max((depth[each.imported] for each in all_imports()[module] if each.at_once), default=0)
    assert max(depth.values()) <= LONGEST_CHAIN


def test_every_name_of_a_file_or_class_is_there_once() -> None:
    """One name means one thing; compat has the classes of other engines, by design."""
    names = Counter(path.name for path in MODULES.values() if path.parent != PACKAGE and path.name != "__init__.py")
    for module in MODULES:
        nodes = () if room(module) == "compat" else ast.walk(parsed(module))
        names.update(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_is_too_large_or_too_small() -> None:
    """A module has one job; a small one is used by several or keeps cold code off the hot path."""
    users = defaultdict(set)
    late = {each.imported for imports in all_imports().values() for each in imports if not each.at_once}
    for module in MODULES:
        for node in ast.walk(parsed(module)):  # those for type checkers are users too
            for name in imported_by(node, module):
                users[name].add(module)
    wrong = {}
    for module, path in MODULES.items():
        lines = len(path.read_text().splitlines())
        needed = path.name in {"__init__.py", "__main__.py"} or module in BY_NAME | COLD.keys() | FOR_PROGRAMS
        small = lines < SMALLEST and len(users[module]) < 2 and module not in late
        dead = not users[module] - {module}
        if lines > LARGEST or ((small or dead) and not needed):
            wrong[module] = lines
    assert wrong == {}


COUNTED_TOGETHER = {
    "launch": "__main__ launch",
    "agents": "agents claude",
    "library": "library events",
    "compat": "compat integrations observe",
    "rest": "__init__",
}
"""Rooms that are counted together, among them what is in none."""

BUDGETS = {
    "core": 4688, "launch": 1942, "config": 6045, "agents": 7139, "shell": 4543, "process": 3794, "trust": 2429,
    "fire": 2248, "wiring": 2244, "doctor": 1144, "scaffold": 1039, "edit": 847, "library": 3975, "cli": 8259,
    "testing": 1927, "recipes": 9679, "compat": 4650, "rest": 64, "replay": 801,
}  # fmt: skip
"""Lines that a room may have. A change that needs more raises its number in a commit of its own that says why."""


def test_every_module_is_in_a_room() -> None:
    """At the top of the package stands what Python looks for there, and the contexts that programs import."""
    assert sorted(path.name for path in PACKAGE.glob("*.py")) == ["__init__.py", "__main__.py", "events.py"]


def test_no_room_outgrows_its_budget() -> None:
    """What one room gains, it loses elsewhere, or its number is raised on purpose."""
    home = {name: room for room, names in COUNTED_TOGETHER.items() for name in names.split()}
    lines: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        lines[home.get(name, name)] += len(path.read_text().splitlines())
    assert {room: count for room, count in lines.items() if count > BUDGETS.get(room, 0)} == {}


def test_what_a_constant_means_is_a_comment_above_it() -> None:
    """No string below it, which a reader takes for code."""
    wrong = [
        f"{module}:{below.lineno}"
        for module in MODULES
        for above, below in pairwise(parsed(module).body)
        if isinstance(above, (ast.Assign, ast.AnnAssign)) and isinstance(below, ast.Expr)
        if isinstance(below.value, ast.Constant)
    ]
    assert wrong == []


BY_NAME = {
    *agents.AGENTS.values(),
    *(str(agents.load(each).INSTALL.get("hook_trust")) for each in agents.AGENTS),
    *(f"hookrun.recipes.{each}" for each in RECIPES),
    *(f"hookrun.cli.{module}" for module, _ in (*COMMANDS.values(), *CONFIG.values())),
}
"""Modules that a table names: an agent, its trust in hooks, a recipe, a command."""

FOR_PROGRAMS = {
    "hookrun.compat.oats",
    "hookrun.compat.session_buddy",
    "hookrun.compat.stackbench",
    "hookrun.integrations.claude_agent_sdk",
    "hookrun.library.fire_fields",
    "hookrun.integrations.hooked",
    "hookrun.integrations.langchain",
    "hookrun.recipes.quality_gate",
    "hookrun.recipes.retry",
    "hookrun.testing.pytest_plugin",
}
"""Modules that only other programs import."""

COLD = {
    "hookrun.core.crash": "loaded after a bug of ours",
    "hookrun.trust.guarded": "loaded when a recipe asks for it",
}
"""Small modules with one user, or none, and why each is apart: it keeps cold code off the hot path."""


@rows("agent", AGENTS)
def test_an_agent_is_known_to_its_own_module_only(agent: str) -> None:
    """No agent's name outside the rooms that know agents: what is particular about one is in its module."""
    word = re.compile(rf"(?<![a-z])(?<! -){agent}(?![a-z])", re.IGNORECASE)  # `perl -pi` is none
    named = sorted(
        f"{module}:{number}"
        for module, path in MODULES.items()
        if room(module) not in AGENT_ROOMS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if word.search(line)
    )
    assert named == []
