"""Write docs/reference/agents.md from the tables in hookrun/agents.

python scripts/document_agents.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun import agents  # noqa: E402  # the package beside this program, not an installed one
from hookrun.agents.base import native_event  # noqa: E402
from hookrun.agents.callers import CALLERS, UNKNOWN  # noqa: E402
from hookrun.agents.formats import Reply  # noqa: E402
from hookrun.agents.grades import GRADED, MEANINGS, fallback, grades, measured  # noqa: E402
from hookrun.agents.reply import DEGRADATIONS  # noqa: E402
from hookrun.core import session  # noqa: E402  # the package beside this program, not an installed one
from hookrun.wiring import plan  # noqa: E402  # the package beside this program, not an installed one
from hookrun_conformance import scenarios as kit  # noqa: E402
from hookrun_conformance.command import ALL  # noqa: E402
from hookrun_conformance.measure import NOT_MEASURED  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.agents.types import Agent

PAGE = ROOT / "docs" / "reference" / "agents.md"

INTRODUCTION = """\
# Agents

<!-- Written by scripts/document_agents.py from the tables in hookrun/agents: change those. -->

`hookrun fire --agent NAME` reads the agent's message on stdin and answers on stdout in the agent's format. Hooks see
hookrun's names of events, tools and arguments in every agent.

- **No decision** prints nothing. The exit status is 0; 2 only for a block that could not be written; 128 + n if signal
  n ended hookrun (0 on Copilot CLI).
- **The project** is what the agent's own variable names, else the directory in its message, else the working directory.
- **The environment**: `HOME`, `XDG_*`, `HOOKRUN` and `HOOKRUN_SKIP` are ignored. The home directory is
  the account's, or the one that your settings name.
- **Internal errors** block a call for which there is a [guard](undecided.md), else the user is notified.
- **Time**: without `--deadline`, hooks get the agent's own limit less half a second.
- **Several calls in one**: a patch runs the hooks once for each file, a list of commands once for each command. The
  strongest verdict wins.
- **`file_changed`** runs after a successful write, edit or delete if the agent has no such event.
- **The end of a turn**: a block is the next instruction. After {blocks} in a row the agent may end.
- **Copilot CLI** also runs a project's `.claude/settings.json`, and is answered in its own format. If its own settings
  have the same event, that entry does nothing (`left_to` in the audit log).

## Fallbacks

Where an event cannot express part of a verdict, hookrun uses the closest form. The audit log (`degraded`) and
`--explain` show it; the user is notified once per session.

"""


GRADES = """
## Grades

What a hook's decision is worth in each agent, in the newest version measured; `hookrun doctor` says if yours is newer.

"""


SCENARIOS = """
Each scenario of [`hookrun conformance`](../guides/conformance.md):

"""


EVENTS = """
## Events

In italics: derived from this event, as the agent has none.

`hookrun install` connects every event that is sent at most once for a tool call, a prompt, a session or a subagent (✓
under "connected"), and the others ("for a hook") when a hook needs them.

"""


TOOLS = """
## Tools

Other tools keep their name; MCP tools are `mcp__SERVER__TOOL`. Copilot CLI, OpenCode and Cline CLI write these
differently: your own settings of the agent show which part is the server. If they do not, `tool_name` is the agent's
name, and a matcher is tried on every reading (`possible_tool_names`). Cline cuts names at 64 characters: match
`mcp__SERVER__*`.

"""


BEFORE = """
## Verdicts before a tool

✓ is supported, - has no effect; a word is the fallback. The agents' sections have every event.

"""


CALLING = """
## Agents that run Claude Code's hooks

Grok Build, Copilot CLI, Cursor, Devin and VS Code's local agent read `.claude/settings.json`, so hookrun installed into
Claude Code runs too. `"agents": ["claude"]` includes them (`fired_through` in the context is `claude`). The
last three follow their documentation.

- Other agents' tools are recognized by their arguments: `command` is `bash`, a path with content `write`, with old or
  new text `edit`, alone `read`, a `url` `web_fetch`. You are notified once per session. `ask` and changed arguments
  become a block: JSON, exit status 2 and stderr.
- For agents with hooks of their own, `hookrun install NAME` says where to write `hookrun fire --agent NAME PreToolUse`.
  Hooks get 30 seconds. Measured in November 2026: Hermes 0.19.0, deepagents-code 0.1.88, OpenHands SDK 1.58.2.
  Documented: Amp, Auggie, Crush, Droid, Goose, Kimi Code, Kiro, Windsurf.
- Cursor does not name the MCP server: match `MCP:tool`.

"""


# Agent -> its events without one of hookrun's -> why.
BY_USER = "the user does it, or it comes before any prompt"
AFTERWARDS = "it comes after what its own events already reported"
NOT_MAPPED: dict[str, dict[str, str]] = {
    "claude": {
        "PostToolBatch": AFTERWARDS,
        "UserPromptExpansion": "the prompt itself comes at `UserPromptSubmit`",
        "PreModelSwitch": BY_USER,
        "PostModelSwitch": BY_USER,
        "Setup": BY_USER,
        "TeammateIdle": "no call, prompt or end of a turn",
        "TaskCreated": "an entry in a list; the work it leads to is guarded",
        "TaskCompleted": "an entry in a list",
        "Elicitation": "an MCP server asks the user",
        "ElicitationResult": "an MCP server asks the user",
        "ConfigChange": "an answer could keep the user from changing their own settings",
        "WorktreeCreate": "a hook there replaces git's own worktree",
        "WorktreeRemove": "a hook there replaces git's own worktree",
        "InstructionsLoaded": "nothing can be answered",
        "CwdChanged": "nothing can be answered; each call has its directory",
        "DirectoryAdded": BY_USER,
    },
    "codex": {"Interrupt": BY_USER},
    "gemini": {"BeforeToolSelection": "it is part of a request to the model, and no call"},
    "qwen": {
        "PostToolBatch": AFTERWARDS,
        "UserPromptExpansion": "the prompt itself comes at `UserPromptSubmit`",
        "InstructionsLoaded": "nothing can be answered",
        "SessionDelete": BY_USER,
        "TodoCreated": "an entry in a list; the work it leads to is guarded",
        "TodoCompleted": "an entry in a list",
    },
    "cline": {"TaskCancel": BY_USER},
}


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """Return the text of docs/reference/agents.md."""
    modules = [agents.load(name) for name in agents.AGENTS]
    callers = list(CALLERS.values())
    parts = [
        INTRODUCTION.format(blocks=session.MAX_STOP_BLOCKS),
        table(("Fallback", "Effect"), ((f"`{name}`", text) for name, text in DEGRADATIONS.items())),
        GRADES,
        "".join(f"- **{name}**: {meaning}.\n" for name, meaning in MEANINGS.items()),
        "\n",
        _grades([*modules, *callers]),
        SCENARIOS,
        _scenarios([each for each in modules if measured(each)["grades"]]),
        EVENTS,
        _events(modules),
        TOOLS,
        _tools(modules),
        BEFORE,
        _before_a_tool(modules),
        CALLING,
        _tools(callers),
        "\n",
        _before_a_tool([*callers, UNKNOWN]),
        *(_agent(module) for module in modules),
    ]
    return "".join(parts)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _events(modules: Sequence[Agent]) -> str:
    events = list(
        dict.fromkeys(event for module in modules for event in (*module.EVENTS.values(), *module.SYNTHESIZED_FROM))
    )
    rows = [[f"`{event}`", *(_natives(module, event) for module in modules)] for event in events]
    return table(["hookrun", *(module.DISPLAY_NAME for module in modules)], rows)


def _grades(modules: Sequence[Agent]) -> str:
    rows = [
        [module.DISPLAY_NAME, ", ".join(_measured(module)) or "no", *(f"`{each}`" for each in grades(module).values())]
        for module in modules
    ]
    return table(["", "measured", *(f"`{name}`" for name in GRADED)], rows)


def _scenarios(modules: Sequence[Agent]) -> str:
    seen = {f"`{module.NAME}`": measured(module)["grades"] for module in modules}
    names = [each.name for each in kit.SCENARIOS if any(each.name in grades for grades in seen.values())]
    rows = [[f"`{name}`", *(f"`{_seen(module, name)}`" for module in modules)] for name in names]
    return table(["", *seen], rows)


def _seen(module: Agent, scenario: str) -> str:
    found: str = measured(module)["grades"].get(scenario) or kit.without(ALL[module.NAME], scenario) or NOT_MEASURED
    return found


def _measured(module: Agent) -> list[str]:
    return [found for name in ("version", "date") if (found := measured(module)[name])]


def _natives(module: Agent, event: str) -> str:
    own = [f"`{native}`" for native, name in module.EVENTS.items() if name == event]
    made = [f"*`{native}`*" for native in module.SYNTHESIZED_FROM.get(event, ())]
    return ", ".join([*own, *made])


def _tools(modules: Sequence[Agent]) -> str:
    tools = list(dict.fromkeys(name for module in modules for name in module.TOOLS.values()))
    rows = [
        [
            f"`{tool}`",
            *(", ".join(f"`{own}`" for own, name in module.TOOLS.items() if name == tool) for module in modules),
        ]
        for tool in tools
    ]
    return table(["hookrun", *(module.DISPLAY_NAME for module in modules)], rows)


VERDICTS = {
    "allow": Reply("allow"),
    "ask": Reply("ask", "R"),
    "modify": Reply("modify", args={}),
    "skip": Reply("skip", "R"),
    "block": Reply("block", "R"),
    "stop": Reply("stop", "R"),
    "modified_output": Reply(output="O"),
    "modified_prompt": Reply(prompt="N"),
    "additional_context": Reply(context="C"),
    "system_message": Reply(user_message="P"),
}
"""The parts of a verdict, one at a time."""


def _before_a_tool(modules: Sequence[Agent]) -> str:
    rows = [
        [f"`{name}`", *(fallback(module, native_event(module, "pre_tool_use"), said) for module in modules)]
        for name, said in VERDICTS.items()
        if said.output is said.prompt is None
    ]
    return table(["verdict", *(module.DISPLAY_NAME for module in modules)], rows)


def _agent(module: Agent) -> str:
    rows = [_row(module, native) for native in module.EVENTS]
    header = ["event", *VERDICTS, "seconds", "connected"]
    variables = ", ".join(f"`{name}`" for name in module.PROJECT_ENV_VARS) or "none"
    often = [
        f"`{native}` is sent {when}: connected for a hook only."
        for native, when in module.INSTALL.get("on_demand", {}).items()
    ]
    unmeasured = [
        f"By its documentation, not measured: {', '.join(f'`{native}`' for native in natives)}."
        for natives in [getattr(module, "UNMEASURED", ())]
        if natives
    ]
    unmapped = [f"Not mapped: `{native}` ({why})." for native, why in NOT_MAPPED.get(module.NAME, {}).items()]
    notes = "".join(f"- {note}\n" for note in (*module.NOTES, *unmeasured, *often, *unmapped))
    return (
        f"\n## {module.DISPLAY_NAME} (`{module.NAME}`)\n\n"
        f"Project variable: {variables}.\n\n{notes}\n{table(header, rows)}"
    )


def _row(module: Agent, native: str) -> list[str]:
    limit = module.DEFAULT_TIMEOUTS.get(native, module.DEFAULT_TIMEOUTS[""])
    most = module.MAX_TIMEOUTS.get(native)
    seconds = f"{limit:g}" + (f" (at most {most:g})" if most is not None and most != limit else "")
    return [
        f"`{native}`",
        *(fallback(module, native, said) for said in VERDICTS.values()),
        seconds,
        _connected(module, native),
    ]


def _connected(module: Agent, native: str) -> str:
    """Return ✓ for an event that is connected from the first installation on."""
    if native in plan.events_to_connect(module, []):
        return "✓"
    return "for a hook" if native in module.INSTALL.get("on_demand", {}) else "-"


if __name__ == "__main__":
    main()
