"""Keeps shells closed to agents that send hooks nothing of what the model types into a program that runs."""

from __future__ import annotations

from hookrun import sends_typed_input
from hookrun.recipes.recipe import Option, Recipe, choice_of, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.shell.simple_command import ParsedLine

CHOICES = ("block", "allow")

OPTION = Option(
    "interactive",
    "block",
    "What is done with a shell or interpreter that reads commands from its terminal (`bash`, `python3`) under an agent "
    "that sends hooks nothing of what is typed there ([docs/agents.md](agents.md) says which): `block` or `allow`.",
    choice_of(*CHOICES),
)


def may_open(recipe: Recipe, context: Mapping[str, object], line: str) -> bool:
    """Return whether a line may start a program whose commands no hook would see; it surely starts none if not."""
    if sends_typed_input(str(context.get("agent"))) or one_of(recipe, OPTION.name, CHOICES) == "allow":
        return False
    from hookrun.shell.interactive import may_read_terminal

    return may_read_terminal(line)


def refusal(recipe: Recipe, context: Mapping[str, object], line: str, parsed: ParsedLine) -> str | None:
    """Return why a line is blocked that starts a program whose commands no hook would see, None for any other."""
    if not may_open(recipe, context, line):
        return None
    from hookrun.shell.interactive import terminal_reader

    program = terminal_reader(parsed)
    if program is None:
        return None
    return (
        f"`{program}` would read commands that no hook sees: {context['agent']} sends hooks nothing of what is typed "
        "into a program. Give it its commands in the line: `bash -c ...`, a script or a here-document"
    )
