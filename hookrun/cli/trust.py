"""`hookrun trust`: show what a project's hooks run, and approve those that a person says yes to."""

from __future__ import annotations

import json
import os
import sys

import click

from hookrun.cli import FAILED
from hookrun.cli.deciding import approve, deny
from hookrun.cli.declared import here
from hookrun.cli.project import Project, ProjectHook, decisions, not_by_an_agent
from hookrun.cli.showing import lines, texts_of
from hookrun.config.diagnostics import printable, quote
from hookrun.trust.digest import PREFIX

EXAMPLES = """\b
Examples:
  hookrun trust
  hookrun trust --digest
  hookrun trust --yes sha256:5891b5b5...

Exit status: 0 every hook of the project is decided about, 1 one is not.
"""
TO_ASK = ("new", "changed")
DECIDED = ("approved", "denied", "disabled")


@click.command(name="trust", epilog=EXAMPLES)
@click.argument("what", nargs=-1, metavar="[PATH]")
@click.option("--yes", is_flag=True, help="Approve exactly the digests that follow, without asking.")
@click.option("--list", "listing", is_flag=True, help="Everything that is decided, in all projects.")
@click.option("--digest", "digests", is_flag=True, help="The digest of each hook here, a line each; approves nothing.")
@click.option("--config", metavar="FILE", help="A declaration file in the place of the project's own.")
@click.option("--home", metavar="DIR", help="Whose decisions: default HOME.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs; approves nothing.")
@click.pass_context
def command(
    ctx: click.Context,
    what: tuple[str, ...],
    config: str | None,
    home: str | None,
    *,
    yes: bool,
    listing: bool,
    digests: bool,
    as_json: bool,
) -> None:
    """Approve hooks of the project in PATH (default: here): shows what each runs, and asks. Runs nothing.

    An agent runs only those hooks of a project that are approved. Every changed byte of a declaration or of a file that
    it names needs a new approval.
    """
    given = [digest for text in what for digest in text.split(",") if text.startswith(PREFIX)]
    paths = [text for text in what if not text.startswith(PREFIX)]
    if bool(given) != yes or len(paths) > 1:
        raise click.UsageError("give one PATH at most, and digests only after --yes", ctx)
    project = Project(os.path.abspath(paths[0] if paths else here()), config, home)
    if listing:
        _list_all(project, as_json=as_json)
        return
    hooks = project.hooks()
    if yes:
        not_by_an_agent("approve hooks")
        hooks = _approve_exactly(project, hooks, given)
    elif as_json:
        click.echo(json.dumps([_to_json(found) for found in hooks], indent=2))
    elif digests:
        for found in hooks:
            click.echo(f"{found.digest or '-':<71}  {found.state:<18}  {printable(found.hook.name)}")
    else:
        hooks = go_through(project, hooks)
    for problem in project.declarations.problems:
        click.echo(f"hookrun: {problem}", err=True)
    undecided = [found for found in hooks if found.state not in DECIDED]
    ctx.exit(FAILED if undecided or project.declarations.problems else 0)


def _list_all(project: Project, *, as_json: bool) -> None:
    store = decisions(project.home, project.owners)
    if as_json:
        everything = {name: getattr(store, name) for name in ("approved", "denied", "disabled", "paused")}
        click.echo(json.dumps(everything, indent=2))
        return
    rows = [("approved", each["name"], each["root"], digest) for digest, each in store.approved.items()]
    rows += [("denied", each["name"], each["root"], each["digest"]) for each in store.denied]
    rows += [("disabled", each["name"], each["root"], each["digest"]) for each in store.disabled]
    for state, name, root, digest in sorted(rows, key=lambda row: (row[2], row[1], row[0])):
        click.echo(printable(f"{state:<9} {name}  {root}  {digest}"))
    if not rows:
        click.echo("nothing is decided yet")


def _to_json(found: ProjectHook) -> dict[str, object]:
    hook = found.hook
    return {
        "name": hook.name,
        "state": found.state,
        "digest": found.digest or None,
        "problem": found.examined.problem,
        "source": hook.source,
        "line": hook.line,
        "kind": hook.kind,
        "target": hook.target,
        "files": [file.path for file in found.examined.files],
    }


def _approve_exactly(project: Project, hooks: list[ProjectHook], given: list[str]) -> list[ProjectHook]:
    """Approve the hooks that have these digests. Raises click.ClickException when one is nobody's; then none is."""
    by_digest = {found.digest: found for found in hooks if found.digest}
    for digest in given:
        if digest not in by_digest:
            expected = "the digest of a hook as it is now"
            raise click.ClickException(
                f"found {quote(digest)}, expected {expected}; hookrun trust --digest prints them"
            )
    for digest in given:
        approve(project, by_digest[digest], texts_of(by_digest[digest]))
        click.echo(printable(f"approved {by_digest[digest].hook.name} ({digest})"))
    return _again(project)


def go_through(project: Project, hooks: list[ProjectHook]) -> list[ProjectHook]:
    """Show every hook that is not decided about, and ask where somebody can answer."""
    if not hooks:
        click.echo(printable(f"no hooks are declared for {project.root}"))
    asked = sys.stdin.isatty() and sys.stdout.isatty()
    for found in hooks:
        if found.state in DECIDED:
            click.echo(printable(f"{found.hook.name}: {found.state}"))
            continue
        texts = texts_of(found)
        for line in lines(found, project, texts):
            click.echo(line)
        if asked and found.state in TO_ASK:
            not_by_an_agent("approve hooks")
            if not _ask(project, found, texts):
                break
    hooks = _again(project)
    if not asked and any(found.state in TO_ASK for found in hooks):
        click.echo("hookrun: nothing is approved without a terminal: run this in one, or give --yes DIGEST", err=True)
    return hooks


def _again(project: Project) -> list[ProjectHook]:
    project.store = decisions(project.home, project.owners)
    return project.hooks()


def _ask(project: Project, found: ProjectHook, texts: dict[str, str]) -> bool:
    """Ask about one hook; tell whether to go on with the next."""
    answer = click.prompt(
        "  approve it? [y]es, [n]o, [d]eny it for good, [q]uit", default="n", show_default=False
    ).lower()
    if answer.startswith("y"):
        if project.look(found.hook).digest != found.digest:
            click.echo("  it has changed while you looked at it: nothing is approved; run this again")
        else:
            approve(project, found, texts)
            click.echo("  approved")
    elif answer.startswith("d"):
        deny(project, found)
        click.echo("  denied: it never runs")
    return not answer.startswith("q")
