"""`hookrun disable`: a hook of the project that does not run for oneself."""

from __future__ import annotations

import click

from hookrun.cli import deciding
from hookrun.cli.declared import here
from hookrun.cli.project import Project, a_person_asks, say_done

EXAMPLES = """\b
Examples:
  hookrun disable format-on-edit
  hookrun enable format-on-edit
"""


@click.command(name="disable", epilog=EXAMPLES)
@click.argument("name")
@click.option("--config", metavar="FILE", help="A declaration file in the place of the project's own.")
@click.option("--home", metavar="DIR", help="Whose decisions: default HOME.")
def command(name: str, config: str | None, home: str | None) -> None:
    """Switch the project's hook NAME off for yourself. hookrun list and the audit show it."""
    a_person_asks("switch a hook off")
    project = Project(here(), config, home)
    for found in project.named(name):
        deciding.disable(project, found)
        say_done(f"disabled {name} ({found.hook.location()}); hookrun enable takes it back")
