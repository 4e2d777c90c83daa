"""`hookrun log`: what was fired, and what each hook did, by the audit."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click
import orjson

from hookrun import audit, records
from hookrun.cli import painted
from hookrun.cli.declared import home_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.records import Fired, Record

EXAMPLES = """\b
Examples:
  hookrun log
  hookrun log -n 100 --failures
  hookrun log --hook no-force-push --json
  hookrun log --follow
"""
PAUSE = 0.2
"""Seconds between two looks at what is new."""


@click.command(name="log", epilog=EXAMPLES)
@click.option("-n", "most", default=20, show_default=True, type=click.IntRange(1), help="How many fires.")
@click.option("--hook", "name", metavar="NAME", help="Only fires in which this hook ran.")
@click.option("--failures", is_flag=True, help="Only fires in which something failed or was wrong.")
@click.option("--follow", is_flag=True, help="Go on with what is fired from now on, until Ctrl-C.")
@click.option("--home", metavar="DIR", help="Whose audit: default HOME.")
@click.option("--json", "as_json", is_flag=True, help="The records as they are, one a line.")
def command(*, most: int, name: str | None, failures: bool, follow: bool, home: str | None, as_json: bool) -> None:
    """Show the last fires, the newest last: event, tool, agent, what they came to, and what each hook answered."""
    where = home_of(home)

    def wanted(fired: Fired) -> bool:
        if name is not None and all(each.get("hook") != name for each in fired.hooks):
            return False
        return not failures or went_wrong(fired)

    end = Tail(where) if follow else None
    found = records.fires(where, wanted, most)
    if not found and not follow and not as_json:
        click.echo(f"nothing of that is in {audit.path(where)}")
    for fired in found:
        show(fired, as_json=as_json)
    shown = {fired.request_id for fired in found}
    while end is not None:
        for fired in end.new():
            if wanted(fired) and (fired.fire is None or fired.request_id not in shown):
                show(fired, as_json=as_json)
        time.sleep(PAUSE)


def went_wrong(fired: Fired) -> bool:
    """Tell whether a hook failed, or hookrun itself was in trouble."""
    about = fired.about
    return (
        fired.unanswered
        or any(each.get("failure") for each in fired.hooks)
        or bool(about.get("problems") or about.get("error") or about.get("interrupted"))
    )


def show(fired: Fired, *, as_json: bool) -> None:
    """Print one fire."""
    if as_json:
        every = [*([fired.start] if fired.start else []), *fired.hooks, *([fired.fire] if fired.fire else [])]
        for record in every:
            click.echo(orjson.dumps(record))
        return
    painted.tell(lines(fired))


def lines(fired: Fired) -> Iterator[painted.Line]:
    """Yield the lines of a fire: what it was and came to, then each hook."""
    yield headline(fired), painted.STRONG
    for record in fired.hooks:
        yield from hook_lines(record)
    for what in wrong(fired.about):
        yield f"    {what}", painted.BAD


def headline(fired: Fired) -> str:
    """Return when, what, by whom, and what it came to."""
    about = fired.about
    what = " ".join(str(about[key]) for key in ("event", "tool") if about.get(key))
    by = f" from {about['agent']}" if about.get("agent") else ""
    came_to = (
        "has not answered: it still runs, or was killed" if fired.unanswered else about.get("action") or "no verdict"
    )
    ms = f" in {about['ms']} ms" if "ms" in about and not fired.unanswered else ""
    return f"{about.get('time')}  {what}{by}: {came_to}{ms}  ({fired.request_id})"


def hook_lines(record: Record) -> Iterator[painted.Line]:
    """Yield the lines of what one hook did."""
    failure = record.get("failure")
    marks = [mark for mark in ("recheck", "interrupted", "truncated") if record.get(mark)]
    marks += ["background"] if record.get("kind") == records.BACKGROUND else []
    marked = f" ({', '.join(marks)})" if marks else ""
    failed = f", failed ({failure}: {record.get('detail')})" if failure else ""
    message = f": {record['message']}" if record.get("message") and not failure else ""
    said = f"{record.get('action') or 'no verdict'} in {record.get('ms')} ms{failed}{message}"
    yield f"    {record.get('hook')}{marked}: {said}", painted.BAD if failure else ""
    changed = record.get("changed")
    if isinstance(changed, list):
        yield f"        changed: {', '.join(map(str, changed))}", painted.DOUBTFUL
    notes = record.get("notes")
    yield from ((f"        note: {note}", painted.DOUBTFUL) for note in (notes if isinstance(notes, list) else ()))


def wrong(about: Record) -> Iterator[str]:
    """Yield what the record of a fire has to say beside its hooks."""
    if about.get("off"):
        yield "HOOKRUN=0: every hook was switched off"
    for key, said in SAID.items():
        value = about.get(key)
        for each in value if isinstance(value, list) else [value] if value else ():
            yield f"{said}: {each}"


SAID = {
    "skipped": "HOOKRUN_SKIP",
    "switched_off": "switched off",
    "left_to": "nothing was run",
    "problems": "trouble",
    "error": "trouble",
    "interrupted": "interrupted by signal",
    "degraded": "the agent was told otherwise",
}
"""A field of a fire's record -> how it is said."""


class Tail:
    """What is written to an audit from now on."""

    def __init__(self, home: str) -> None:
        self._path = audit.path(home)
        self._inode, self._offset = self._state()
        self._open: dict[str, records.Fired] = {}

    def _state(self) -> tuple[int, int]:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return 0, 0
        return status.st_ino, status.st_size

    def new(self) -> Iterator[Fired]:
        """Yield the fires that are over since the last time; a file that was put aside is read to its end first."""
        inode, size = self._state()
        if inode != self._inode:
            if self._inode:
                yield from self._read(f"{self._path}.1")
            self._inode, self._offset = inode, 0
        if size > self._offset:
            yield from self._read(self._path)

    def _read(self, path: str) -> Iterator[Fired]:
        try:
            with open(path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            record = records.read(line)
            if record is None:
                continue
            name = str(record.get("request_id"))
            fired = self._open.setdefault(name, records.Fired(name))
            if record.get("kind") in (records.HOOK, records.BACKGROUND):
                fired.hooks.append(record)
            else:
                fired.take(record)
            if record.get("kind") in (records.FIRE, records.BACKGROUND):
                yield self._open.pop(name)
