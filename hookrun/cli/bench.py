"""`hookrun bench`: what each hook costs here, what hookrun adds, what a session costs, and what would make it less."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hookrun import context as contexts
from hookrun.cli import FAILED, INTERRUPTED, painted
from hookrun.cli.asked import canonical_event, somebody_can_answer
from hookrun.cli.declared import here, home_of, options
from hookrun.cli.thrift import advice
from hookrun.cli.whereabouts import Whereabouts
from hookrun.config.diagnostics import printable
from hookrun.config.discovery import claude_directory
from hookrun.measure import Bench, Cost, Times
from hookrun.model import Interrupted
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.approvals import UserDecisions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookrun.model import Hook

EXAMPLES = """\b
Examples:
  hookrun bench
  hookrun bench no-force-push --rounds 100
  hookrun bench --event pre_tool_use --ctx context.json --yes --json

Exit status: 0 every hook ran well, 1 one failed or could not be measured.
"""
CALLS = 200
PER_CALL = ("pre_tool_use", "post_tool_use")
"""The events that each tool call fires."""


@click.command(name="bench", epilog=EXAMPLES)
@click.argument("hook", required=False)
@click.option("--rounds", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How often each is run.")
@click.option("--event", metavar="EVENT", help="Only the hooks of this event.")
@click.option("--ctx", "source", metavar="FILE", help="The context as JSON; by default one is made up for each hook.")
@click.option("--yes", is_flag=True, help="Do not ask: they are run for real.")
@options
@click.pass_context
def command(
    ctx: click.Context,
    hook: str | None,
    *,
    rounds: int,
    event: str | None,
    source: str | None,
    yes: bool,
    config: str | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Measure what HOOK, or every hook here, costs on this machine. The hooks are run for real, with all they do.

    As with `hookrun fire`, nobody asks whether a project's hooks are approved; what you have denied, disabled or paused
    is left out. Nothing is kept in the audit.
    """
    own = home_of(home)
    where = Whereabouts(here(), own, config, claude=claude_directory(own))
    name = canonical_event(event, where.declarations.events) if event is not None else None
    chosen = _chosen(where, own, hook, name)
    if not yes:
        _ask(chosen, rounds)
    with _progress(len(chosen) * rounds) as tick:
        bench = Bench(
            where.project, where.declarations.settings.get("project_env_policy"), rounds, _given(source), tick
        )
        try:
            costs = [bench.cost(each, name or each.events[0]) for each in chosen]
            added = bench.hookrun_itself()
            hints = advice(bench, costs)
        except Interrupted:
            ctx.exit(INTERRUPTED)
    if as_json:
        click.echo(json.dumps(_to_json(costs, added, hints, rounds), indent=2))
    else:
        painted.tell(_lines(costs, added, hints, rounds))
    ctx.exit(FAILED if any(cost.failures for cost in costs) else 0)


def _chosen(where: Whereabouts, home: str, name: str | None, event: str | None) -> list[Hook]:
    """Return the hooks to be measured. Raises click.ClickException where there is none."""
    hooks = [each for each in where.declarations.hooks if event is None or event in each.events]
    names = [each.name for each in hooks]
    if name is not None and name not in names:
        raise click.ClickException(where.no_hook(name, names))
    settings = where.declarations.settings
    around = HookEnvironment({}, project=where.project, request_id="", home=home)
    switches = UserDecisions(home, where.project, around, settings)
    found = [
        each
        for each in hooks
        if (name is None or each.name == name)
        and each.error is None
        and each.mode != "off"
        and switches.why_off(each) is None
    ]
    if not found:
        raise click.ClickException("found no hook that could be run here; hookrun list shows what there is")
    return found


def _given(source: str | None) -> dict[str, object] | None:
    if source is None:
        return None
    try:
        data = contexts.from_stdin(float("inf")) if source == "-" else contexts.from_file(source, float("inf"))
        contexts.check(data, source)
    except contexts.ContextError as error:
        raise click.ClickException(str(error)) from None
    return data


def _ask(hooks: list[Hook], rounds: int) -> None:
    """Ask whether to run them. Raises click.ClickException where nobody can answer."""
    names = ", ".join(dict.fromkeys(each.name for each in hooks))
    what = f"run {names} for real, {rounds} times each and somewhat more"
    if not somebody_can_answer():
        raise click.ClickException(f"found no terminal to ask on whether to {what}; give --yes")
    click.confirm(printable(f"This will {what}. Go on?"), abort=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show on a terminal how far it is; give what is called at each step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # only for a terminal
    from rich.progress import Progress  # only for a terminal

    # without a thread that refreshes it: some hooks are run by a fork
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task = progress.add_task("running hooks", total=total)
        yield lambda: progress.update(task, advance=1, refresh=True)


def _lines(costs: list[Cost], added: Times, hints: list[str], rounds: int) -> Iterator[painted.Line]:
    title = f"milliseconds, {rounds} rounds"
    width = max(len(text) for text in (title, *(f"  {cost.hook.name}" for cost in costs)))
    yield f"{title.ljust(width)}       p50       p95  its start", painted.STRONG
    for cost in costs:
        failed = "".join(f"; failed {count} times: {kind}" for kind, count in cost.failures.items())
        figures = f"{cost.whole.p50:10.1f}{cost.whole.p95:10.1f}{min(cost.start.p50, cost.whole.p50):11.1f}"
        line = f"{f'  {cost.hook.name}'.ljust(width)}{figures}  {cost.event}{failed}"
        yield line, painted.BAD if failed else ""
    yield f"{'  hookrun itself'.ljust(width)}{added.p50:10.1f}{added.p95:10.1f}             each fire", ""
    yield "", ""
    for event, ms in _per_call(costs, added).items():
        yield f"{event}: {ms:.1f} ms a tool call, if every hook applies to it", ""
    whole = sum(_per_call(costs, added).values()) * CALLS / 1000
    yield f"a session of {CALLS} tool calls: {whole:.1f} s", painted.STRONG
    for hint in hints:
        yield f"- {hint}", ""


def _per_call(costs: list[Cost], added: Times) -> dict[str, float]:
    """Return the milliseconds of each event of a tool call that has hooks: hookrun's, and theirs in order.

    Of neighbours that run side by side the longest counts, of one in the background only its start.
    """
    found: dict[str, float] = {}
    for event in PER_CALL:
        ours = [cost for cost in costs if event in cost.hook.events]
        if ours:
            found[event] = added.p50 + _in_order(ours)
    return found


def _in_order(costs: list[Cost]) -> float:
    total = beside = 0.0
    for cost in costs:
        ms = cost.start.p50 if cost.hook.background else cost.whole.p50
        if not cost.hook.parallel:
            total, beside = total + beside + ms, 0.0
        else:
            beside = max(beside, ms)
    return total + beside


def _to_json(costs: list[Cost], added: Times, hints: list[str], rounds: int) -> dict[str, object]:
    return {
        "rounds": rounds,
        "hookrun": _times(added),
        "hooks": [
            {
                "name": cost.hook.name,
                "event": cost.event,
                "source": cost.hook.source,
                "line": cost.hook.line,
                "start": _times(cost.start),
                "whole": _times(cost.whole),
                "failures": cost.failures,
            }
            for cost in costs
        ],
        "per_call": {event: round(ms, 1) for event, ms in _per_call(costs, added).items()},
        "session": {"calls": CALLS, "seconds": round(sum(_per_call(costs, added).values()) * CALLS / 1000, 1)},
        "advice": hints,
    }


def _times(times: Times) -> dict[str, float]:
    return {"p50_ms": round(times.p50, 2), "p95_ms": round(times.p95, 2)}
