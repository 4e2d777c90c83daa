"""`hookrun untrust`: forget what was decided about a project's hooks, or about one digest."""

from __future__ import annotations

import os

import click

from hookrun.cli.deciding import forget
from hookrun.cli.project import Project, a_person_asks, say_done
from hookrun.trust.digest import PREFIX

EXAMPLES = """\b
Examples:
  hookrun untrust
  hookrun untrust ~/src/shop
  hookrun untrust sha256:5891b5b5...
"""


@click.command(name="untrust", epilog=EXAMPLES)
@click.argument("what", default=".", metavar="[PATH|DIGEST]")
@click.option("--config", metavar="FILE", help="A declaration file in the place of the project's own.")
@click.option("--home", metavar="DIR", help="Whose decisions: default HOME.")
def command(what: str, config: str | None, home: str | None) -> None:
    """Forget what was decided about the hooks of the project in PATH (default: here), or about one DIGEST."""
    a_person_asks("take an approval back")
    project = Project(os.path.abspath("." if what.startswith(PREFIX) else what), config, home)
    if what.startswith(PREFIX):
        digests, roots = {what}, set()
    else:
        digests = {found.digest for found in project.hooks() if found.digest}
        roots = {os.path.realpath(project.root)}
    gone = forget(project.home, project.owners, digests=digests, roots=roots)
    say_done(f"forgot {gone} decision{'' if gone == 1 else 's'} about {what if what != '.' else project.root}")
