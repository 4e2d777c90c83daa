"""`hookrun pause`: all hooks, or one, do not run for a while. Managed hooks go on."""

from __future__ import annotations

import re
import time

import click

from hookrun.cli.deciding import changing
from hookrun.cli.declared import here
from hookrun.cli.project import Project, a_person_asks, say_done
from hookrun.config.diagnostics import closest, quote
from hookrun.trust.approvals import clock

EXAMPLES = """\b
Examples:
  hookrun pause --for 10m
  hookrun pause no-force-push --for 1h30m
  hookrun resume
"""
SECONDS = {"s": 1, "m": 60, "h": 3600}
DURATION = re.compile(r"(?:[0-9]{1,6}[smh])+")
LONGEST = 24 * 3600
"""Seconds: a hook that is not wanted for longer is one to be taken out."""


@click.command(name="pause", epilog=EXAMPLES)
@click.argument("hook", required=False)
@click.option("--for", "duration", default="30m", show_default=True, metavar="TIME", help="Such as 90s, 30m or 1h30m.")
@click.option("--config", metavar="FILE", help="A declaration file in the place of the project's own.")
@click.option("--home", metavar="DIR", help="Whose hooks: default HOME.")
def command(hook: str | None, duration: str, config: str | None, home: str | None) -> None:
    """Let HOOK, or every hook, not run for a while: yours and every project's, not managed ones.

    Each fire in which it would have run says so, and hookrun list shows it.
    """
    a_person_asks("pause hooks")
    seconds = _seconds(duration)
    project = Project(here(), config, home)
    if hook is not None:
        _check(project, hook)
    now = time.time()
    with changing(project.home, project.owners) as store:
        store.paused = [each for each in store.paused if each["until"] > now and each["hook"] != hook]
        store.paused.append({"hook": hook, "begin": now, "until": now + seconds})
    what = f"hook {hook} is" if hook is not None else "all hooks but managed ones are"
    say_done(f"{what} paused until {clock(now + seconds)}; hookrun resume ends it")


def _seconds(duration: str) -> int:
    seconds = 0
    if DURATION.fullmatch(duration):
        seconds = sum(int(each[:-1]) * SECONDS[each[-1]] for each in re.findall(r"[0-9]+[smh]", duration))
    if not 0 < seconds <= LONGEST:
        found = f"--for: found {quote(duration)}, expected a time up to {LONGEST // 3600}h such as 30m"
        raise click.ClickException(f"{found}; write a number with s, m or h")
    return seconds


def _check(project: Project, name: str) -> None:
    hooks = [hook for hook in project.declarations.hooks if hook.name == name]
    if not hooks:
        near = closest(name, [hook.name for hook in project.declarations.hooks])
        hint = f"did you mean {quote(near)}?" if near else "hookrun list shows what there is"
        raise click.ClickException(f"found no hook {quote(name)} here, expected one that is in force; {hint}")
    if all(hook.layer == "managed" for hook in hooks):
        raise click.ClickException(f"hook {quote(name)} is managed: only {hooks[0].source} can switch it off")
