"""`hookrun completion`: the script that lets a shell complete hookrun's command lines."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from hookrun.cli import COMPLETING
from hookrun.config.diagnostics import quote

EXAMPLES = """\b
Examples:
  hookrun completion bash > ~/.local/share/bash-completion/completions/hookrun
  hookrun completion zsh > "${fpath[1]}/_hookrun"
  hookrun completion fish > ~/.config/fish/completions/hookrun.fish
"""
SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion", epilog=EXAMPLES)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str | None) -> None:
    """Print the completion script for SHELL, by default the one that SHELL in the environment names.

    It completes commands, options, events, agents, recipes and the names of the hooks that are declared where you are.
    Nothing of a project is run for it.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    made = get_completion_class(name) if name in SHELLS else None
    if made is None:
        found = f"the shell {quote(name)}" if name else "no SHELL in the environment"
        raise click.ClickException(f"found {found}, expected one of {', '.join(SHELLS)}; name one of them")
    complete = made(ctx.find_root().command, {}, "hookrun", COMPLETING)
    click.echo(complete.source_template % complete.source_vars())
