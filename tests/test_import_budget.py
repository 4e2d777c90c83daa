"""What `hookrun fire` imports: every module is paid for on each cold call."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.agents import AGENTS
from hookrun.config import cache_writer
from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.trust import digest
from tests.fire.agents import Agent
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

ROOT = Path(__file__).resolve().parent.parent

BARE = "import sys; print(*sorted(sys.modules))"

FIRE = (Path(__file__).parent / "programs" / "fire_modules.py").read_text()

NEVER = {
    "re", "json", "subprocess", "pathlib", "dataclasses", "typing", "enum", "signal", "logging", "asyncio", "click",
    "yaml", "rich", "fnmatch", "shlex", "hashlib", "uuid", "datetime", "functools", "collections", "contextlib",
    "argparse", "threading", "tempfile", "shutil", "inspect", "socket", "orjson", "importlib.metadata",
}  # fmt: skip
"""What costs milliseconds and must not creep in, not even through something that is allowed."""


@cache
def bare_modules() -> set[str]:
    """Return the modules of an interpreter that has done nothing."""
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


CALL = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}


def loaded_by(project: Project, message: object, *arguments: str) -> set[str]:
    """Return the modules that a run beyond a bare Python has loaded, from a cache that was filled before it."""
    project.audit_path.parent.mkdir(parents=True, exist_ok=True)  # the very first fire of an account makes it
    filled = load_compiled(find(str(project.root), str(project.home)))
    assert filled is None or list((project.home / ".cache" / "hookrun").iterdir()) != []
    done = subprocess.run(
        [sys.executable, "-c", FIRE, *arguments],
        input=json.dumps(message).encode(),
        capture_output=True,
        cwd=project.root,
        env=project.environment(),
        check=True,
    )
    assert done.stderr == b""
    found = set((project.root / "modules").read_text().split()) - bare_modules()
    return found if "hookrun.process.loop" in found else found - {"select"}  # for a context that comes slowly


@pytest.fixture(autouse=True)
def _keeps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is compiled, and the digests, be kept however young the files are."""
    monkeypatch.setattr(cache_writer, "YOUNG", -1)
    monkeypatch.setattr(digest, "YOUNG", -1)


SAYS = """echo '{"action": "continue", "message": "well", "additional_context": "1e5"}'"""
CHOOSY: dict[str, object] = {
    "matcher": "b*|mcp__*",
    "when": {"tool_args.command": ["l*s", "*git*"]},
    "unless": {"agent": "claude"},
}
OTHERS: list[dict[str, object]] = [
    {"name": "other tool", "command": "true", "matcher": "write"},
    {"name": "other argument", "command": "true", "when": {"tool_args.command": "*git push*"}},
    {"name": "other event", "command": "true", "event": "stop"},
]


CLAUDE_S = {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "true"}]}]}


@rows(
    "hooks, most",
    [
        ([], 19),
        (OTHERS, 20),
        ([{"command": "true"}], 28),
        ([{**CHOOSY, "command": SAYS}], 30),
        ([{"dialect": "claude", "command": """echo '{"systemMessage": "well"}'"""}], 32),
    ],
)
def test_hooks_load_what_they_need_and_no_more(project: Project, hooks: list[dict[str, object]], most: int) -> None:
    """None, none that applies, one that is silent, one with globs that answers, one in Claude's dialect."""
    project.hooks(*hooks)
    check(loaded_by(project, CALL, "pre_tool_use"), most)


@rows("matcher", ["Edit|Write", "^Edit$|mcp__.*"])
def test_a_list_of_names_in_claude_s_form_needs_no_regular_expressions(project: Project, matcher: str) -> None:
    """Where it does not fit, nothing of the dialect is loaded either."""
    settings = json.dumps({"hooks": CLAUDE_S}).replace("Edit|Write", matcher)
    (project.root / "coder.json").write_text(settings)
    check(loaded_by(project, CALL, "pre_tool_use"), 23)


def test_a_context_from_a_file_loads_nothing_more(project: Project) -> None:
    """`--ctx FILE` and `--deadline` cost no module."""
    project.hooks({"command": "true"})
    (project.root / "ctx.json").write_text(json.dumps(CALL))
    check(loaded_by(project, CALL, "pre_tool_use", "--ctx", "ctx.json", "--deadline", "20"), 28)


SHARED = {"opencode": 1, "kilo": 2, "grok": 8}
"""Modules that an agent shares with others: the plugin's, for Kilo OpenCode's, for Grok what knows Claude's."""


@rows("name", AGENTS)
@rows("hooks, most", [([], 25), ([{"command": "true"}], 42), ([{"command": "exit 2"}], 48)])
def test_an_agent_s_fire_loads_its_own_module_and_little_else(
    project: Project, name: str, hooks: list[dict[str, object]], most: int
) -> None:
    """Without a hook, with one that is approved, and with one that refuses."""
    agent = Agent(name, project)
    project.hooks(*hooks)
    project.approve()
    loaded = loaded_by(project, agent.shell(), "--agent", name, agent.events["pre"], "--home", str(project.home))
    check(loaded, most + SHARED.get(name, 0))


def check(loaded: set[str], most: int) -> None:
    """Check that nothing that costs milliseconds is among these modules, and that they are few."""
    assert NEVER.isdisjoint(loaded), NEVER & loaded
    assert len(loaded) <= most, sorted(loaded)


def test_an_agent_without_a_module_of_its_own_loads_nothing_that_costs_milliseconds() -> None:
    """Each call of Cursor or Devin, which run Claude Code's hooks, loads what knows them."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import hookrun.agents.callers; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert NEVER.isdisjoint(loaded.stdout.split())


WAYS = {"fire": (16, 119), "fire --agent": (24, 171), "explain": (54, 640)}
"""A way from stdin to the answer -> the modules that it may enter, and how often it may change between them.

`explain` also looks for hooks that hookrun does not run, by what each agent's module says of its own.
"""


@pytest.mark.lint
def test_a_context_passes_few_modules_on_its_way_to_the_answer() -> None:
    """A newcomer can follow the call, and each change of module costs a call."""
    counted = subprocess.run(
        [sys.executable, ROOT / "scripts" / "call_path.py"], capture_output=True, text=True, check=True
    )
    lines = [line.rsplit(maxsplit=7) for line in counted.stdout.splitlines()]
    assert [way for way, *_ in lines] == [*WAYS]
    for way, modules, _, _, changes, *_ in lines:
        assert int(modules) <= WAYS[way][0], counted.stdout
        assert int(changes) <= WAYS[way][1], counted.stdout


EMBEDDED = Path(__file__).parent / "programs" / "embedded_engine.py"


def test_a_program_without_a_loop_does_not_load_asyncio() -> None:
    """It takes as long as all the rest of an engine; what encodes contexts and starts processes comes later, too."""
    done = subprocess.run([sys.executable, EMBEDDED], capture_output=True, text=True, check=True)
    imported, used = map(str.split, done.stdout.splitlines())
    assert {"asyncio", "orjson", "subprocess", "uuid"}.isdisjoint(imported)
    assert {"asyncio", "orjson", "subprocess"}.isdisjoint(used)
