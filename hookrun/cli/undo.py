"""`hookrun undo`: list the snapshots of uncommitted work, show what one would change, and bring it back."""

from __future__ import annotations

import os
import time

import click

from hookrun.cli.commands import command, json_option
from hookrun.cli.printing import confirm, count, is_interactive, print_json, print_line, print_table, print_wrapped
from hookrun.core.text import quote
from hookrun.recipes.work_snapshots import Change, Snapshot, SnapshotError, bring_back, changes, root_of, snapshots

NONE = "no snapshots here: the recipe snapshot-before takes them (`hookrun add snapshot-before`)"


@command("undo", "undo", "undo 6a0b1c2d3f4e", "undo 6a0b1c2d3f4e src --yes", "undo --json")
@click.argument("snapshot", metavar="[ID]", required=False)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Write the files without asking.")
@json_option
def undo_command(snapshot: str | None, paths: tuple[str, ...], *, yes: bool, as_json: bool) -> int:
    """List the snapshots of this work tree; with ID, show what bringing that one back changes, and ask.

    With PATH, only those files or directories.

    What is there now is kept in a snapshot first; no file is removed. Exit status: 0 shown or written, 1 on errors and
    if a file cannot be written.
    """
    if snapshot is None and yes:
        raise click.UsageError("--yes needs an ID")
    try:
        root = root_of(os.getcwd())
        here = [each for each in snapshots(root) if each.root == root]
        if snapshot is None:
            _list(here, as_json=as_json)
            return 0
        if (chosen := next((each for each in here if each.id == snapshot), None)) is None:
            hint = "`hookrun undo` lists them"
            raise click.ClickException(f"no snapshot {quote(snapshot)} in this work tree\nhint: {hint}")
        return _undo(root, chosen, paths, yes=yes, as_json=as_json)
    except (SnapshotError, OSError) as error:
        raise click.ClickException(str(error)) from None


def _about(each: Snapshot) -> dict[str, object]:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(each.time))
    return {"id": each.id, "time": when, "before": each.before, "files": each.files, "left_out": each.left_out}


def _list(here: list[Snapshot], *, as_json: bool) -> None:
    if as_json:
        print_json([_about(each) for each in here])
    elif not here:
        print_wrapped(NONE)
    else:
        rows = [(each.id, _local(each), str(each.files), each.before) for each in here]
        print_table(("ID", "TIME", "FILES", "BEFORE"), rows)


def _local(each: Snapshot) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.time))


def _undo(root: str, chosen: Snapshot, paths: tuple[str, ...], *, yes: bool, as_json: bool) -> int:
    under = tuple(_from_root(root, path) for path in paths)
    found = changes(chosen, root, tuple(each for each in under if each != "."))
    wanted = [each for each in found if not each.problem]
    if not as_json:
        _show(chosen, found)
    agreed = bool(wanted) and (yes or (not as_json and is_interactive() and confirm("Write these files?")))
    earlier = bring_back(root, chosen, wanted) if agreed else None
    if as_json:
        rows = [{"path": each.path, "missing": each.is_missing, "problem": each.problem or None} for each in found]
        print_json({**_about(chosen), "changes": rows, "written": agreed, "kept": earlier.id if earlier else None})
    elif agreed:
        back = f"; `hookrun undo {earlier.id}` goes back" if earlier is not None else ""
        print_wrapped(f"wrote {count(len(wanted), 'file')}{back}")
    elif wanted:
        print_wrapped(f"nothing was written; `hookrun undo {chosen.id} --yes` writes these files")
    return 1 if any(each.problem for each in found) else 0


def _from_root(root: str, path: str) -> str:
    full = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path.rstrip("/")))
    return os.path.relpath(os.path.normpath(full), os.path.realpath(root))


def _show(chosen: Snapshot, found: list[Change]) -> None:
    print_wrapped(f"snapshot {chosen.id} of {_local(chosen)}, before `{chosen.before}`")
    for each in found:
        print_line(f"  {'+' if each.is_missing else '~'} {each.path}{f'  ({each.problem})' if each.problem else ''}")
    for name in chosen.left_out:
        print_line(f"  - {name}  (not in the snapshot)")
    if not found:
        print_line("nothing differs")
