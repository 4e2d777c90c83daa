"""`hookrun resume`: end a pause."""

from __future__ import annotations

import click

from hookrun.cli.deciding import changing
from hookrun.cli.declared import home_of
from hookrun.cli.project import say_done

EXAMPLES = """\b
Examples:
  hookrun resume
  hookrun resume no-force-push
"""


@click.command(name="resume", epilog=EXAMPLES)
@click.argument("hook", required=False)
@click.option("--home", metavar="DIR", help="Whose hooks: default HOME.")
def command(hook: str | None, home: str | None) -> None:
    """End every pause, or that of HOOK."""
    with changing(home_of(home), []) as store:
        before = len(store.paused)
        store.paused = [each for each in store.paused if hook is not None and each["hook"] != hook]
        ended = before - len(store.paused)
    say_done(f"ended {ended} pause{'' if ended == 1 else 's'}" if ended else "nothing was paused by that name")
