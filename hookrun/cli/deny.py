"""`hookrun deny`: a hook of the project that never runs, and is no failure."""

from __future__ import annotations

import click

from hookrun.cli import deciding
from hookrun.cli.declared import here
from hookrun.cli.project import Project, a_person_asks, say_done

EXAMPLES = """\b
Examples:
  hookrun deny upload-logs
  hookrun enable upload-logs      (takes it back)
"""


@click.command(name="deny", epilog=EXAMPLES)
@click.argument("name")
@click.option("--config", metavar="FILE", help="A declaration file in the place of the project's own.")
@click.option("--home", metavar="DIR", help="Whose decisions: default HOME.")
def command(name: str, config: str | None, home: str | None) -> None:
    """Decide that the project's hook NAME never runs. It is then no failure, and hookrun list shows it."""
    a_person_asks("deny a hook")
    project = Project(here(), config, home)
    for found in project.named(name):
        deciding.deny(project, found)
        say_done(f"denied {name} ({found.hook.location()}): it never runs; hookrun enable takes it back")
