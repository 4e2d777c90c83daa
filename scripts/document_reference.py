"""Write docs/reference/cli.md from the commands, and the tables of config.md and events.md from hookrun's own.

python scripts/document_reference.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun.cli import cli, load_command  # noqa: E402  # the package beside this program, not an installed one
from hookrun.cli.commands import GROUPS, MORE  # noqa: E402
from hookrun.config.schema import AUDIT_FIELDS, GIT_INCLUDE, HOOK_FIELDS, RECIPE_FIELDS, SETTINGS  # noqa: E402
from hookrun.config.shapes import Field  # noqa: E402
from hookrun.core.events import ALIASES, REFUSABLE, WITH_ARGUMENTS, WITH_TOOL  # noqa: E402
from hookrun.fire.command import help_text  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLI = ROOT / "docs" / "reference" / "cli.md"
CONFIG = ROOT / "docs" / "reference" / "config.md"
EVENTS = ROOT / "docs" / "reference" / "events.md"
TABLES = {
    "hook": HOOK_FIELDS,
    "recipe": RECIPE_FIELDS,
    "settings": SETTINGS,
    "audit": AUDIT_FIELDS,
    "include": GIT_INCLUDE.fields,
}
"""The name of a table in config.md -> its fields."""

FIELD_HEADER = ("Field", "Value", "Default", "Meaning")
EVENT_HEADER = ("Event", "When", "Tool", "Can block", "Can change arguments", "Other names")
WHEN = {
    "session_start": "a session starts or resumes",
    "session_end": "a session ends",
    "user_prompt_submit": "the user sends a prompt",
    "assistant_response": "the model has answered",
    "pre_tool_use": "before a tool runs",
    "post_tool_use": "after a tool ran",
    "post_tool_failure": "after a tool failed",
    "tool_call_requested": "the model requests a tool call",
    "tool_call_aborted": "a tool call was aborted or denied",
    "permission_request": "the agent is about to ask for permission",
    "file_changed": "after a file was written, edited or deleted",
    "stop": "the agent ends its turn",
    "subagent_start": "a subagent starts",
    "subagent_stop": "a subagent ends its turn",
    "pre_compact": "before the conversation is compacted",
    "post_compact": "after it was compacted",
    "notification": "the agent notifies the user",
    "error": "the agent reports an error",
    "before_request": "before the program handles a request",
    "after_request": "after it handled one",
    "before_inference": "before a call of the model",
    "after_inference": "after a call of the model",
    "pre_checkpoint": "before a checkpoint is written",
    "post_checkpoint": "after it was written",
    "pre_reflection_store": "before a reflection is stored",
    "pre_search_query": "before a search",
    "pre_session_end": "before a session ends",
}
"""When each event occurs."""

INTRODUCTION = """\
# Commands

<!-- Written by scripts/document_reference.py from hookrun/cli: change that. -->

Every command has `--help` and `--color auto|always|never`. `--json` prints JSON for programs. `hookrun help TOPIC`
explains a topic. `hookrun completion SHELL` prints a completion script.
"""


def main() -> None:
    """Write the pages."""
    CLI.write_text(cli_page())
    for page in (CONFIG, EVENTS):
        page.write_text(with_tables(page.read_text()))


def with_tables(text: str) -> str:
    """Return the text of a page with its tables, between two comments, as they are now."""
    tables: dict[str, list[Sequence[str]]] = {name: [FIELD_HEADER, *map(_row, each)] for name, each in TABLES.items()}
    tables["events"] = [EVENT_HEADER, *map(_event, WHEN)]
    for name, (header, *rows) in tables.items():
        start, end = f"<!-- table: {name} -->\n\n", "\n<!-- end -->"
        if start in text:
            before, _, rest = text.partition(start)
            lines = (f"| {' | '.join(each)} |\n" for each in (header, ["---"] * len(header), *rows))
            text = before + start + "".join(lines) + end + rest.partition(end)[2]
    return text


def _event(name: str) -> tuple[str, ...]:
    marks = ("yes" if name in events else "" for events in (WITH_TOOL, REFUSABLE, WITH_ARGUMENTS))
    return (f"`{name}`", WHEN[name], *marks, ", ".join(f"`{alias}`" for alias in ALIASES[name]))


def _row(field: Field) -> tuple[str, ...]:
    default = "" if field.default is None else f"`{json.dumps(field.default)}`"
    return f"`{field.name}`", field.shape.says, default, field.description.replace("|", "\\|")


def cli_page() -> str:
    """Return the text of cli.md."""
    return INTRODUCTION + "".join(_sections())


def _sections() -> Iterator[str]:
    for group, commands in (*GROUPS.items(), ("More", MORE)):
        yield f"\n## {group}\n"
        for name, (_, purpose) in commands.items():
            if name == "fire":
                yield _section(("fire",), purpose, help_text())
            else:
                yield from _command((name,), purpose, load_command(name))


def _command(names: tuple[str, ...], purpose: str, command: click.Command) -> Iterator[str]:
    ctx = click.Context(cli, info_name="hookrun", terminal_width=96, **cli.context_settings)
    for name in names[:-1]:
        ctx = click.Context(load_command(names[0]), info_name=name, parent=ctx)
    ctx = click.Context(command, info_name=names[-1], parent=ctx)
    text = re.sub(r"\n  (?:-h, )?--help .*", "", command.get_help(ctx))
    yield _section(names, purpose, text.replace("\n\nOptions:\n\n", "\n\n"))
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None and not inner.hidden:
                yield from _command((*names, name), inner.get_short_help_str(limit=200), inner)


def _section(names: tuple[str, ...], purpose: str, text: str) -> str:
    return f"\n### hookrun {' '.join(names)}\n\n{purpose}\n\n```text\n{text.strip()}\n```\n"


if __name__ == "__main__":
    main()
