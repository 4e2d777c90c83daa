"""`hookrun enable`: take back that a hook of the project is disabled or denied."""

from __future__ import annotations

import click

from hookrun.cli import deciding
from hookrun.cli.declared import here
from hookrun.cli.project import Project, not_by_an_agent, say_done

EXAMPLES = """\b
Examples:
  hookrun enable format-on-edit
"""


@click.command(name="enable", epilog=EXAMPLES)
@click.argument("name")
@click.option("--config", metavar="FILE", help="A declaration file in the place of the project's own.")
@click.option("--home", metavar="DIR", help="Whose decisions: default HOME.")
def command(name: str, config: str | None, home: str | None) -> None:
    """Take back that the project's hook NAME is disabled or denied. One that was denied is then to be approved."""
    not_by_an_agent("switch a hook on")
    project = Project(here(), config, home)
    for found in project.named(name):
        was = deciding.enable(project, found)
        say_done(f"{name} ({found.hook.location()}) {'is enabled' if was else 'was neither disabled nor denied'}")
