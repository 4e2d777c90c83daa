"""`hookrun add`: declares a recipe, the same as `hookrun recipes add`."""

from __future__ import annotations

import click

from hookrun.cli.making import dry_run_option
from hookrun.cli.recipe_files import add, option_option, user_option
from hookrun.cli.report import json_option
from hookrun.cli.wiring import home_option

EXAMPLES = """\b
Examples:
  hookrun add block-destructive-commands
  hookrun add protect-hooks --user
  hookrun add no-force-push --option lease=yes --dry-run
"""


@click.command(name="add", epilog=EXAMPLES)
@click.argument("names", metavar="RECIPE...", nargs=-1, required=True)
@option_option
@user_option
@dry_run_option
@home_option
@json_option
def command(
    names: tuple[str, ...], option: tuple[str, ...], home: str | None, *, user: bool, dry_run: bool, as_json: bool
) -> None:
    """Declare recipes, ready-made hooks, in this project, or for yourself in every project, and write their cases.

    hookrun recipes lists them, and hookrun recipes show RECIPE says what each does, which options it takes, and what it
    does not catch. At a terminal what was written is approved as well.
    """
    add(names, option, home, user=user, dry_run=dry_run, as_json=as_json)
