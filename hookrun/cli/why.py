"""`hookrun why`: what came of one fire, and why, by the audit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from hookrun import audit, records
from hookrun.cli import painted
from hookrun.cli.declared import home_of
from hookrun.cli.log import headline, hook_lines, wrong
from hookrun.config.diagnostics import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.records import Fired

EXAMPLES = """\b
Examples:
  hookrun why
  hookrun why 9db9ad05a220fadd --json

The id of a fire is in every verdict, in every hook's context, and in hookrun log.
"""
ENOUGH = 4
"""Characters by which a request may be named."""


@click.command(name="why", epilog=EXAMPLES)
@click.argument("request_id", required=False, metavar="[REQUEST_ID|last]")
@click.option("--home", metavar="DIR", help="Whose audit: default HOME.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(request_id: str | None, home: str | None, *, as_json: bool) -> None:
    """Say what came of a fire and who decided it: the last one, or the one with this id or its beginning."""
    where = home_of(home)
    fired = _find(where, request_id or "last")
    if as_json:
        click.echo(
            json.dumps({"answer": answer(fired), "fire": fired.fire, "start": fired.start, "hooks": fired.hooks})
        )
    else:
        painted.tell(_lines(fired))


def _find(home: str, name: str) -> Fired:
    if name != "last" and len(name) < ENOUGH:
        raise click.UsageError(f"found {quote(name)}, expected at least {ENOUGH} characters of a request's id")
    found = records.fires(home, lambda fired: name == "last" or fired.request_id.startswith(name), 1)
    if not found:
        where = audit.path(home)
        if name == "last":
            raise click.ClickException(f"found no fire at all in {where}; hookrun doctor says whether agents fire")
        raise click.ClickException(f"found no fire {quote(name)} in {where}; hookrun log shows those that are there")
    return found[-1]


def answer(fired: Fired) -> str:
    """Return what it came to and who decided that, in a line."""
    about = fired.about
    event = about.get("event")
    if fired.unanswered:
        return f"{event}: it has begun at {about.get('time')} and not answered: it still runs, or was killed"
    action = about.get("action")
    if action is None:
        return f"{event}: no verdict: {'; '.join(wrong(about)) or 'nothing more is known'}"
    deciders = [each for each in fired.hooks if each.get("action") == action]
    reasons = [_reason(each) for each in deciders if action != "continue"]
    if reasons:
        return f"{event}: {action}: {'; '.join(reasons)}"
    ran = ", ".join(dict.fromkeys(str(each.get("hook")) for each in fired.hooks))
    beside = [*(_reason(each) for each in fired.hooks if each.get("failure")), *wrong(about)]
    return f"{event}: {action}: {'; '.join([f'ran: {ran}' if ran else _nothing_ran(fired), *beside])}"


def _reason(record: records.Record) -> str:
    if record.get("failure"):
        return f"{record.get('hook')} failed ({record['failure']}: {record.get('detail')})"
    changed = record.get("changed")
    what = f"changed {', '.join(map(str, changed))}" if isinstance(changed, list) else record.get("message")
    return f"{record.get('hook')}{f': {what}' if what else ''}"


def _nothing_ran(fired: Fired) -> str:
    declared = fired.about.get("declared")
    if not declared:
        return "no hook was declared for it"
    return f"of {declared} hooks that are declared for it none ran"


def _lines(fired: Fired) -> Iterator[painted.Line]:
    yield answer(fired), painted.STRONG
    yield f"  {headline(fired)}", painted.QUIET
    about = fired.about
    if about.get("session_id"):
        yield f"  session {about['session_id']}", painted.QUIET
    for record in fired.hooks:
        (first, style), *more = hook_lines(record)
        yield f"{first[2:]}  ({record.get('source')})", style
        yield from ((line[2:], each) for line, each in more)
    for what in wrong(about):
        yield f"  {what}", painted.BAD
    ran = len({str(each.get("hook")) for each in fired.hooks})
    declared = about.get("declared")
    if isinstance(declared, int) and declared > ran:
        event = about.get("event")
        tool = f" --tool {about['tool']}" if about.get("tool") else ""
        yield f"  {declared - ran} more declared for it did not run: hookrun explain {event}{tool}", painted.QUIET
