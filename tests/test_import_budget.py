"""What `hookrun fire` imports: every module is paid for on each tool call, so that each one is listed here."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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

WITHOUT_HOOKS = {
    "__future__", "_json", "gc", "hookrun", "hookrun.__main__", "hookrun.audit", "hookrun.boot",
    "hookrun.conditions", "hookrun.config", "hookrun.config.discovery", "hookrun.context", "hookrun.events",
    "hookrun.fastjson", "hookrun.fire", "hookrun.fire.command", "hookrun.fire.invocation", "hookrun.model",
    "hookrun.state", "hookrun.text",
}  # fmt: skip
"""Modules that a run loads if no hook matches, beyond those of a bare Python."""

FOR_A_PROCESS = {
    "hookrun.engine", "hookrun.nesting", "hookrun.process", "hookrun.process.prepare", "hookrun.process.loop",
    "hookrun.process.runner", "hookrun.process.child", "select",
}  # fmt: skip
"""Added by one hook that is a process."""

FOR_A_VERDICT = {"hookrun.verdicts"}
"""Added if its answer is not `continue` in one of the usual spellings."""

FOR_CLAUDE_S_DIALECT = {"hookrun.claude", "hookrun.claude.answer", "hookrun.claude.hook_protocol"}
"""Added if a hook reads and answers as Claude Code's do."""

FOR_AN_AGENT = {"hookrun.fire.agent", "hookrun.agents", "hookrun.agents.base", "hookrun.agents.formats"}
"""Added if an agent runs hookrun, besides the agent's module and what it shares with others."""

OF_THE_AGENT: dict[str, set[str]] = {
    "claude": set(),
    "codex": {"hookrun.agents.patch"},
    "gemini": set(),
    "qwen": set(),
    "copilot": {"_signal", "hookrun.agents.patch"},
    "cline": {"hookrun.agents.patch"},
    "opencode": {"hookrun.agents.patch"},
}
"""Modules that the agent's module shares with others."""

FOR_TRUST = {
    "errno", "hookrun.globs", "hookrun.trust", "hookrun.trust.approvals", "hookrun.trust.digest",
    "hookrun.trust.hook_files", "hookrun.trust.store",
}  # fmt: skip
"""Added if a project hook's approval is checked, its digest known from before."""

FOR_AN_ANSWER = FOR_A_VERDICT | {"hookrun.agents.reply", "pwd"}
"""Added if a hook gave an answer; a refusal proposes a command, so it looks up the account's home."""

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


def loaded_by_fire(project: Project, *arguments: str) -> set[str]:
    """Return the modules that a run without an agent loads beyond a bare Python."""
    return loaded_by(project, CALL, "pre_tool_use", *arguments)


@pytest.fixture(autouse=True)
def _keeps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is compiled, and the digests, be kept however young the files are."""
    monkeypatch.setattr(cache_writer, "YOUNG", -1)
    monkeypatch.setattr(digest, "YOUNG", -1)


def test_a_fire_without_a_declaration_loads_next_to_nothing(project: Project) -> None:
    """Where nothing is declared, exactly these modules are loaded."""
    assert loaded_by_fire(project) == WITHOUT_HOOKS


SAYS = """echo '{"action": "continue", "message": "well", "additional_context": "1e5"}'"""
CHOOSY: dict[str, object] = {
    "matcher": "b*|mcp__*",
    "when": {"tool_args.command": ["l[s]", "*git*"]},
    "unless": {"agent": "claude"},
}
OTHERS: list[dict[str, object]] = [
    {"name": "other tool", "command": "true", "matcher": "write"},
    {"name": "other argument", "command": "true", "when": {"tool_args.command": "*git push*"}},
    {"name": "other event", "command": "true", "event": "stop"},
]


@rows(
    "hooks, more",
    [
        (OTHERS, {"hookrun.globs"}),
        ([{"command": "true"}], FOR_A_PROCESS),
        ([{**CHOOSY, "command": SAYS}], FOR_A_PROCESS | FOR_A_VERDICT | {"hookrun.globs"}),
        (
            [{"dialect": "claude", "command": """echo '{"systemMessage": "well"}'"""}],
            FOR_A_PROCESS | FOR_A_VERDICT | FOR_CLAUDE_S_DIALECT,
        ),
    ],
    ids=("none applies", "one that is silent", "one with globs that answers", "one in Claude's dialect"),
)
def test_hooks_load_what_they_need_and_no_more(
    project: Project, hooks: list[dict[str, object]], more: set[str]
) -> None:
    """Exactly these modules beside those that are always loaded."""
    project.hooks(*hooks)
    assert loaded_by_fire(project) == WITHOUT_HOOKS | more


def test_a_list_of_names_in_claude_s_form_loads_what_compares_them_and_no_more(project: Project) -> None:
    """Its matcher needs no regular expressions, and where it does not fit nothing of the dialect."""
    handler = {"type": "command", "command": "true"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [handler]}]}}
    (project.root / "coder.json").write_text(json.dumps(settings))
    compared = {"hookrun.globs", "hookrun.claude", "hookrun.claude.matcher", "hookrun.claude.hook_protocol"}
    assert loaded_by_fire(project) == WITHOUT_HOOKS | compared
    (project.root / "coder.json").write_text(json.dumps(settings).replace("Edit|Write", "^Edit$|mcp__.*"))
    assert loaded_by_fire(project) == WITHOUT_HOOKS | compared


def test_a_context_from_a_file_loads_nothing_more(project: Project) -> None:
    """`--ctx FILE` and `--deadline` cost no module."""
    project.hooks({"command": "true"})
    (project.root / "ctx.json").write_text('{"tool_name": "bash", "tool_args": {"command": "ls"}}')
    assert loaded_by_fire(project, "--ctx", "ctx.json", "--deadline", "20") <= WITHOUT_HOOKS | FOR_A_PROCESS


@pytest.mark.parametrize("agent", OF_THE_AGENT)
def test_an_agent_s_fire_loads_its_own_module_and_little_else(project: Project, agent: str) -> None:
    """Without a matching hook exactly these; with one also the runner, and the reply's module if it answers."""
    own = {f"hookrun.agents.{agent}"} | FOR_AN_AGENT | OF_THE_AGENT[agent]
    assert loaded_for(project, agent) == (WITHOUT_HOOKS | own) - bare_modules()
    own |= FOR_A_PROCESS | FOR_TRUST
    for command, more in (("true", set()), ("exit 2", FOR_AN_ANSWER), ("echo no >&2; exit 2", FOR_AN_ANSWER)):
        project.hooks({"command": command})
        project.approve()
        assert loaded_for(project, agent) == (WITHOUT_HOOKS | own | more) - bare_modules()


def loaded_for(project: Project, name: str) -> set[str]:
    """Return the modules that a run for an agent loads beyond a bare Python."""
    agent = Agent(name, project)
    return loaded_by(project, agent.shell(), "--agent", name, agent.events["pre"], "--home", str(project.home))


def test_an_agent_without_a_module_of_its_own_loads_nothing_that_costs_milliseconds() -> None:
    """Each call of Cursor or Grok Build, which run Claude Code's hooks, loads what knows them."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import hookrun.agents.callers; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert NEVER.isdisjoint(loaded.stdout.split())


def test_the_list_of_what_may_be_loaded_is_free_of_what_may_not() -> None:
    """The two lists of this file do not contradict each other."""
    assert NEVER.isdisjoint(
        FOR_CLAUDE_S_DIALECT | WITHOUT_HOOKS | FOR_A_PROCESS | FOR_AN_AGENT | FOR_TRUST | FOR_AN_ANSWER
    )
    assert NEVER.isdisjoint(set().union(*OF_THE_AGENT.values()))


WAYS = {"fire": (16, 110), "fire --agent": (26, 180), "explain": (25, 250)}
"""A way from stdin to the answer -> the modules that it may enter, and how often it may change between them."""


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
