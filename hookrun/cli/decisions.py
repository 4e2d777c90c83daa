"""What the user has decided about hooks: list it and forget it."""

from __future__ import annotations

import os
import time

import click

from hookrun.cli.commands import Workspace
from hookrun.cli.printing import confirm, count, is_interactive, print_json, print_line
from hookrun.trust.approvals import described, is_in_force
from hookrun.trust.digest import PREFIX
from hookrun.trust.project import Project, require_terminal

# Seconds after which a decision about a project that no longer exists is proposed to be forgotten: until then its disk
# may only be unmounted.
LONG_GONE = 30 * 24 * 3600


def list_decisions(project: Project, *, as_json: bool) -> None:
    """Print every decision, for all projects; on a terminal, offer to forget those about projects long gone."""
    store = project.store
    if as_json:
        print_json({name: getattr(store, name) for name in ("approved", "disabled")})
        return
    approved = store.approved.items()
    rows = [("approved", each["name"], at, each["time"], digest) for digest, each in approved for at in each["roots"]]
    rows += [
        ("disabled", each["name"] or "all hooks", each["root"], each["time"], each["digest"] or described(each))
        for each in filter(is_in_force, store.disabled)
    ]
    missing = {root for _, _, root, _, _ in rows if root and not os.path.lexists(root)}
    for state, name, root, when, digest in sorted(rows, key=lambda row: (row[2], row[1], row[0])):
        where = f"{root or 'every project'}{' (gone)' if root in missing else ''}"
        print_line(f"{state:<9} {name}  {where}  {time.strftime('%Y-%m-%d', time.localtime(when))}  {digest}")
    if not rows:
        click.echo("no decisions yet")
    latest = {root: max(when for _, _, at, when, _ in rows if at == root) for root in missing}
    long_gone = {root for root, when in latest.items() if when < time.time() - LONG_GONE}
    if long_gone and is_interactive() and confirm(f"forget {count(len(long_gone), 'project')} long gone?"):
        require_terminal("forget an approval")
        forgotten = project.forget(digests=set(), roots={os.path.realpath(root) for root in long_gone})
        print_line(f"forgot {count(forgotten, 'decision')}")


def forget_decisions(at: Workspace, what: tuple[str, ...]) -> None:
    """Forget the decisions about the hooks of the one path, by default here, or about the one digest."""
    require_terminal("forget an approval")
    if len(what) > 1:
        raise click.UsageError("--forget takes one PATH or DIGEST")
    named = what[0] if what else "."
    is_digest = named.startswith(PREFIX)
    project = at.project(os.path.abspath("." if is_digest else named))
    if is_digest:
        digests, roots = {named}, set()
    else:
        digests = {found.digest for found in project.hooks() if found.digest}
        roots = {os.path.realpath(project.root)}
    forgotten = project.forget(digests=digests, roots=roots)
    if is_digest and not forgotten:
        raise click.ClickException(f"no decision about {named}\nhint: `hookrun trust --list` lists the decisions")
    print_line(f"forgot {count(forgotten, 'decision')} about {named if named != '.' else project.root}")
