"""`hookrun fire` as a command among others. The process that an agent starts never comes here: it goes to fire.py."""

from __future__ import annotations

import click


@click.command(
    name="fire",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Run the hooks declared for an event and print their verdict."""
    from hookrun.fire import main  # it sets the process up for a fire

    ctx.exit(main(list(arguments)))
