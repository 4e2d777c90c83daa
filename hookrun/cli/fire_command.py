"""`hookrun fire` as one of the commands, for its help and completion: an agent's process goes to hookrun.fire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete(ctx: click.Context, _: click.Parameter | None, incomplete: str) -> list[CompletionItem]:
    """Return what can come after the words so far."""
    from hookrun.cli.completion import complete_fire  # only where a shell asks

    return complete_fire(ctx, tuple(ctx.params.get("arguments") or ()), incomplete)


class FireCommand(click.Command):
    """A command that parses its options itself, and offers them to a shell."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the options that begin like this."""
        return _complete(ctx, None, incomplete)


@click.command(
    name="fire",
    cls=FireCommand,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=_complete)
@click.pass_context
def fire_command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Run the hooks for an event and print their verdict."""
    from hookrun.fire.command import main  # it sets the process up for a run

    ctx.exit(main(list(arguments)))
