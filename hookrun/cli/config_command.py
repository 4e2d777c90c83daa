"""`hookrun config`: show the config, print its schema, convert Claude Code hooks, print completion scripts."""

from __future__ import annotations

import click

from hookrun.cli.commands import CONFIG
from hookrun.cli.common import epilog
from hookrun.cli.dispatch import Commands, require_command


@click.group(
    "config",
    cls=Commands,
    table=CONFIG,
    invoke_without_command=True,
    epilog=epilog("config show", "config schema > hookrun.schema.json", "config migrate", "config completion bash"),
)
@click.pass_context
def config_command(ctx: click.Context) -> None:
    """Show the merged config, print its schema, convert Claude Code hooks, print completion scripts."""
    require_command(ctx)
