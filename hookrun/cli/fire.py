"""`hookrun fire` as a command among others. The process that an agent starts never comes here: it goes to fire.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Fire(click.Command):
    """A command that reads its options itself, and says to a shell which they are."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the options that begin like this."""
        from hookrun.cli.completing import for_fire  # only where a shell asks

        return for_fire(ctx, (), incomplete)


class Words(click.types.UnprocessedParamType):
    """The words after `fire`."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return what can come next."""
        from hookrun.cli.completing import for_fire  # only where a shell asks

        return for_fire(ctx, tuple(ctx.params.get(param.name or "") or ()), incomplete)


@click.command(
    name="fire",
    cls=Fire,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=Words())
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Run the hooks declared for an event and print their verdict."""
    from hookrun.fire.command import main  # it sets the process up for a fire

    ctx.exit(main(list(arguments)))
