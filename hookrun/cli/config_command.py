"""`hookrun config`: show the config, print its schema, convert Claude Code hooks, print completion scripts."""

from __future__ import annotations

from hookrun.cli.commands import CONFIG
from hookrun.cli.common import epilog
from hookrun.cli.group import Commands

config_command = Commands(
    "config",
    table=CONFIG,
    no_args_is_help=False,
    help="Show the merged config, print its schema, convert Claude Code hooks, print completion scripts.",
    epilog=epilog("config show", "config schema > hookrun.schema.json", "config migrate", "config completion bash"),
)
