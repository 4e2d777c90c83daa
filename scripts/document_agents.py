"""Writes docs/reference/agents.md from the tables in hookrun/agents.

python scripts/document_agents.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun import agents, session  # noqa: E402  # the package beside this program, not an installed one
from hookrun.agents.base import Message  # noqa: E402
from hookrun.agents.callers import CALLERS, UNKNOWN  # noqa: E402
from hookrun.agents.formats import Reply  # noqa: E402
from hookrun.agents.reply import DEGRADATIONS, degrade  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.agents.types import Agent

PAGE = ROOT / "docs" / "reference" / "agents.md"

INTRODUCTION = """\
# Agents

<!-- Written by scripts/document_agents.py from the tables in hookrun/agents: change those. -->

```
hookrun fire --agent NAME [EVENT] [--deadline SECONDS] [--home DIR] [--explain]
```

With `--agent` hookrun reads the agent's own message on stdin and answers in the agent's own words on stdout. A hook is
written once, in hookrun's names: `bash` with `command`, `write` with `file_path` and `content`, and so on. What the
agent calls them is in `agent_event` and `agent_tool_name`; a `matcher` may use either. With `"payload": true` a hook
has the whole message in `payload`.

- **Nothing to say** is said by printing nothing. The exit status is 0 whatever is said, for an answer is JSON: it is 2
  only where a refusal could not be written to stdout, and 128 + n where signal n ended hookrun (0 on Copilot CLI, to
  which any other status is a refusal).
- **The project** is where the agent's own variable says, else where its message says, else where hookrun is started;
  from there the nearest declarations up to the root of the repository count.
- **The environment** is not believed, because a project can set an agent's: `HOME`, `XDG_*`, `HOOKRUN`, `HOOKRUN_SKIP`
  and `HOOKRUN_TRUST` do not count. User declarations, cache and audit are those of the account's home directory as the
  password database has it, or of `--home DIR`.
- **hookrun's own trouble** (declarations or a message that cannot be read, an unknown event, a wrong option) refuses
  nothing: the agent goes on, and the person is told once in a session. With `"on_error": "block"` in the user's or the
  managed settings it is a refusal, but for the end of a turn, where a refusal would mean to go on.
- **Time.** Where the wiring has no `--deadline`, hooks have what the agent gives for the event (below), less half a
  second for ending those that are late and for saying so.
- **One call that is several**: a patch is fired as one call for each file, a list of commands as one for each command.
  The strongest verdict is that of all.
- **`file_changed`** is fired after a write, an edit or a delete has succeeded, where the agent has no such event; both
  verdicts are one.
- **A block of the end of a turn** is the next instruction. After {blocks} in a row the agent may end, and the person is
  told.
- **Who calls** is told from the message: Copilot CLI also runs the hooks in a project's `.claude/settings.json`. It is
  answered in its own words there, unless a wiring of its own (`~/.copilot/hooks`, `.github/hooks`) fires the same
  event: then this one does nothing, and the audit says so (`left_to`).

## What becomes of what cannot be said

A part of a verdict that an event cannot say is said as something else. That is in the audit (`degraded`), in
`--explain`, and, where the person can be told, in the first answer of a session that it happens in.

"""


TOOLS = """
## Tools

A tool that is not here keeps its name; tools of MCP servers are `mcp__<server>__<tool>`. Copilot CLI (`server-tool`,
`server/tool`), OpenCode (`server_tool`) and Cline CLI (`server__tool`) have other names for these: the servers in your
own settings of the agent say which part is the server. Where they do not know it, `tool_name` is the agent's own name,
and a matcher is tried on every reading (`possible_tool_names` in the context). Cline cuts names beyond 64 characters:
match such a tool by `mcp__<server>__*`.

"""


BEFORE = """
## Before a tool call

`yes` is: as it is. Anything else is what it is said as, by the table above. Further down is the same for every event.

"""


CALLING = """
## Agents that run Claude Code's hooks

Grok Build, Cursor, Devin and VS Code's local agent read `.claude/settings.json`, too: hookrun installed into Claude
Code is run by them, and its hooks hold there. Their messages tell them apart; their tools and arguments get hookrun's
names, a `matcher` may also use Claude Code's, and a hook with `"agents": ["claude"]` runs for them (`fired_through`
in the context is then `claude`). They are answered in words that they obey, and `hookrun doctor claude` lists them as
"also fired by".

For any other agent, a tool that is neither Claude Code's nor an MCP server's is taken by its arguments: a `command`
for `bash`, a path with a content for `write`, with an old or a new text for `edit`, a `url` for `web_fetch`, a path
alone for `read` (or `delete`, `edit`, if the tool's name says so). You are told once in a session. Of such an agent
it is not known what it obeys: a question, and changed arguments, become a refusal, which is also said by exit status
2 and on stderr.

Grok Build is measured (1.0.41); the others are as their documentation has it. Grok Build asks nobody with
`--always-approve`: there an `ask` is a refusal. Of arguments beyond 128 KiB it gives hooks the beginning: such a call
is refused where a hook is declared for the tool. Cursor does not say of which MCP server a tool is: match `MCP:tool`.

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """Return the text of docs/reference/agents.md."""
    modules = [agents.load(name) for name in agents.AGENTS]
    callers = list(CALLERS.values())
    parts = [
        INTRODUCTION.format(blocks=session.MAX_STOP_BLOCKS),
        table(("degradation", "what is done"), ((f"`{name}`", text) for name, text in DEGRADATIONS.items())),
        "\n## Events\n\nIn italics: made from this event, for the agent has none of its own.\n\n",
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
    "additional_context": Reply(context="C"),
    "system_message": Reply(user_message="P"),
}
"""What a hook can say, one at a time."""


def _before_a_tool(modules: Sequence[Agent]) -> str:
    rows = [
        [f"`{name}`", *(_said(module, module.PRE_TOOL_EVENT, said) for module in modules)]
        for name, said in VERDICTS.items()
    ]
    return table(["verdict", *(module.DISPLAY_NAME for module in modules)], rows)


def _said(module: Agent, native: str, said: Reply) -> str:
    """Return as what a verdict is said at an event: `yes` for as it is, else as the last of its degradations."""
    form = module.RESPONSE_FORMATS.get(native)
    event = module.EVENTS[native]
    if said.args is not None and event not in ("pre_tool_use", "permission_request"):
        return ""
    able = form.capabilities if form is not None else frozenset[str]()
    told, names = degrade(said, able, event)
    if form is not None:
        names += form.caveats(told, Message(native, [], tool=next(iter(module.TOOLS), None)))
    parts = (said.action, "block") if said.action != "continue" else ("context", "system_message")
    steps = [name.partition(" -> ")[2] for name in names if name.startswith(parts)]
    return steps[-1] if steps else "yes" if said.action != "allow" or "allow" in able else "continue"


def _agent(module: Agent) -> str:
    rows = [_row(module, native) for native in module.EVENTS]
    header = ["event", *VERDICTS, "seconds"]
    variables = ", ".join(f"`{name}`" for name in module.PROJECT_ENV_VARS) or "none"
    notes = "".join(f"- {note}\n" for note in module.NOTES)
    return (
        f"\n## {module.DISPLAY_NAME} (`--agent {module.NAME}`)\n\nMeasured: {module.TESTED_VERSIONS}. "
        f"Its variable for the project: {variables}.\n\n{notes}\n{table(header, rows)}"
    )


def _row(module: Agent, native: str) -> list[str]:
    limit = module.DEFAULT_TIMEOUTS.get(native, module.DEFAULT_TIMEOUTS[""])
    most = module.MAX_TIMEOUTS.get(native)
    seconds = f"{limit:g}" + (f" (at most {most:g})" if most is not None and most != limit else "")
    return [f"`{native}`", *(_said(module, native, said) for said in VERDICTS.values()), seconds]


if __name__ == "__main__":
    main()
