"""Block interactive shells under agents that do not send typed input to hooks."""

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
    "Shells and interpreters that read commands from a terminal (`bash`, `python3`), under agents that hide typed "
    "input from hooks: `block` or `allow`.",
    choice_of(*CHOICES),
)


def may_open(recipe: Recipe, context: Mapping[str, object], line: str) -> bool:
    """Return whether a line may start a program whose commands no hook would see. False is certain."""
    if sends_typed_input(str(context.get("agent"))) or one_of(recipe, OPTION.name, CHOICES) == "allow":
        return False
    from hookrun.shell.prefilter import may_read_terminal

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
        f"`{program}` would read commands that no hook sees: {context['agent']} does not send typed input to hooks. "
        "Pass the commands in the line: `bash -c ...`, a script or a here-document"
    )
