"""Select runs of the audit by the options that all commands share which read it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from itertools import islice
from time import time
from typing import Any

import click

from hookrun.agents import AGENTS, load
from hookrun.cli.commands import Workspace, in_workspace, parse_duration, unknown_hook
from hookrun.core import audit_reader
from hookrun.core.audit_reader import CHECKS, FireRecords, is_in, matches, real
from hookrun.core.events import UnknownEventError, resolve_event
from hookrun.core.model import PRECEDENCE
from hookrun.core.text import quote

CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
# The first part of a record's UTC time.
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S"

# How much older than its successors a record may be after the clock was set back.
DISORDER = timedelta(hours=1)

OPTIONS = (
    click.option("--since", metavar="WHEN", help="Only runs since then: 2h, 3d, 14:30, yesterday, 2026-11-22."),
    click.option("--until", metavar="WHEN", help="Only runs until then, in the same form."),
    click.option("--project", metavar="DIR", help="Only runs in this project, by directory or name; default this one."),
    click.option("--all-projects", is_flag=True, help="Runs in all projects."),
    click.option("--agent", metavar="NAME", help="Only runs for this agent."),
    click.option("--session", metavar="ID", help="Only runs of sessions whose id begins with this."),
    click.option("--event", metavar="EVENT", help="Only runs for this event, by any of its names."),
    click.option("--tool", metavar="NAME", help="Only runs for this tool, or tools that match a glob."),
    click.option("--hook", metavar="NAME", help="Only runs that included this hook."),
    click.option("--action", type=click.Choice(sorted(PRECEDENCE)), help="Only runs with this result."),
    click.option("--failures", is_flag=True, help="Only runs in which something failed."),
    in_workspace,
)


def filter_options(
    function: Callable[..., int | None], options: Sequence[Callable[..., Any]] = OPTIONS, *, described: bool = False
) -> Callable[..., int | None]:
    """Add the options to a command, passed as the RunFilter `runs`; without an `--all-projects` all are the default.

    The help only names them, unless they are `described`: that of `hookrun log` does it for all commands.
    """

    @wraps(function)
    def with_filter(*, at: Workspace, **arguments: object) -> int | None:
        filters = {name: arguments.pop(name) for name in (*CHECKS, *RUN_CHECKS, *WHERE) if name in arguments}
        filters.setdefault("all_projects", filters.get("project") is None)
        return function(runs=RunFilter(at, filters), **arguments)

    decorated: Any = with_filter
    for option in reversed(options):
        decorated = option(decorated)
    filters = [each for each in decorated.__click_params__ if each.name in {*CHECKS, *RUN_CHECKS, *WHERE}]
    if not described:
        for each in filters:
            each.hidden = True
        names = ", ".join(each.opts[0] for each in reversed(filters))
        decorated.__doc__ = f"{function.__doc__}\n\n    Filters are those of hookrun log: {names}."
    return decorated  # type: ignore[no-any-return]  # a click decorator's result


# Adds those of `hookrun log`.
log_options = partial(filter_options, described=True)
# Adds those that calls have which are judged anew, by a hook or all.
call_options = partial(
    filter_options,
    options=(*OPTIONS[:-4], click.option("--hook", metavar="NAME", help="Judge by this hook only."), in_workspace),
)
# Adds those of an export, which is of all projects.
OF_PROJECT = click.option("--project", metavar="DIR", help="Only runs in this project, by directory or name.")
export_options = partial(filter_options, options=(*OPTIONS[:2], OF_PROJECT, *OPTIONS[4:]))


NOT_LOGGED = "runs are not logged: the setting `audit` is false"


def _ran(pattern: str, run: FireRecords) -> bool:
    for each in run.hooks:  # a generator for each run would take as long as reading it
        if matches(pattern, each.get("hook")):
            return True
    return False


# Option -> whether a run is selected by its value; those of `CHECKS` need its header only.
RUN_CHECKS: dict[str, Callable[[str, FireRecords], bool]] = {"hook": _ran, "failures": lambda _, run: run.failed}
# Options that select by the project.
WHERE = ("project", "all_projects")


class RunFilter:
    """The options' selection: `given` are the options by name, `home` is where the audit is.

    `project` is the directory of the project whose runs are selected, None for all.

    Raises click.UsageError and UserError.
    """

    def __init__(self, at: Workspace, filters: dict[str, object]) -> None:
        self.home = at.home
        self.at = at
        resolve_names(at, filters)
        self.given = {name: str(value) for name, value in filters.items() if value not in (None, False)}
        self._filters = {name: value for name, value in self.given.items() if name not in WHERE}
        if "project" in self.given and "all_projects" in self.given:
            raise click.UsageError("--project and --all-projects exclude each other")
        times = {name: utc_text(self.given.get(name, ""), f"--{name}") for name in ("since", "until")}
        self.since = times["since"]
        values = {**self.given, **{name: time for name, time in times.items() if time}}
        self.wanted = {name: values[name] for name in CHECKS if name in values}
        self._checks = [partial(CHECKS[name], value) for name, value in self.wanted.items()]
        self._run_checks = [partial(check, values[name]) for name, check in RUN_CHECKS.items() if name in values]
        self.project = None if "all_projects" in self.given else self._project_root()

    def selected(self, *, any_project: bool = False) -> Iterator[FireRecords]:
        """Yield the selected runs, the newest first. Raises OSError."""
        stop = self.since and (datetime.strptime(self.since, TIME_FORMAT) - DISORDER).strftime(TIME_FORMAT)  # noqa: DTZ007  # UTC as text
        for run in audit_reader.fires(self.home):
            if stop and str(run.header.get("time")) < stop:
                return
            if self.selects(run, any_project=any_project):
                yield run

    def complete(self) -> Iterator[FireRecords]:
        """Yield the selected runs with the ends of hooks in the background: last those whose end is further up."""
        later: list[FireRecords] = []
        for run in self.selected():
            if run.may_have_more and any(each.get("background") for each in run.hooks):
                later.append(run)
            else:
                yield run
        yield from later

    def days(self) -> float | None:
        """Return how many days the runs may be old, None if any."""
        return max((time() - seconds(self.since)) / 86_400, 1e-9) if self.since else None

    def latest(self, limit: int, *, any_project: bool = False) -> list[FireRecords]:
        """Return the newest selected runs, oldest first. Raises OSError."""
        return list(islice(self.selected(any_project=any_project), limit))[::-1]

    @property
    def described(self) -> str:
        """What is selected, in words."""
        where = f"project {self.project}" if self.project is not None else "all projects"
        return ", ".join([where, *(f"{name} {value}" for name, value in self._filters.items())])

    def selects(self, run: FireRecords, *, any_project: bool = False) -> bool:
        """Return whether a run is selected; with `any_project`, in whatever project, and even if it is a proof."""
        header = run.header
        if not any_project and (
            header.get("proof") or (self.project is not None and not is_in(header.get("project"), self.project))
        ):
            return False
        for check in self._checks:
            if not check(header):
                return False
        for run_check in self._run_checks:
            if not run_check(run):
                return False
        return True

    @property
    def setting(self) -> object:
        """The setting `audit`: if it is False new runs are not logged, so the log's latest may not be the last."""
        return self.at.load().declarations.settings.get("audit")

    def why_nothing(self, command: str, *, any_project: bool = False) -> str:
        """Return the hints if no run is shown: a command that shows some, or why none."""
        if self.setting is False:
            return f"hint: {NOT_LOGGED}"
        if not audit_reader.paths(self.home):
            return "hint: nothing is recorded yet; `hookrun doctor` checks whether agents call hookrun"
        if not any_project and self.project is not None and self.latest(1, any_project=True):
            given = self._filters.items()
            filters = (f" --{name} {'' if name == 'failures' else shlex.quote(value)}" for name, value in given)
            there = f"hookrun {command}{''.join(filters)} --all-projects"
            return f"hint: other projects have some: `{there}`"
        if not any_project and RunFilter(self.at, {}).latest(1):
            return "hint: `hookrun log` shows the latest runs"
        return "hint: `hookrun log --all-projects` shows the latest runs"

    def require_known_hook(self) -> None:
        """Raise click.ClickException for the name of a hook that this project does not have."""
        hooks, name = self.at.load().declarations.hooks, self.given.get("hook", "")
        is_here = not self.given.keys() & WHERE and name.isprintable() and not set(name) & set("*?[")
        if name and is_here and name not in [hook.name for hook in hooks]:
            raise unknown_hook(name, hooks)

    def _project_root(self) -> str:
        """Return the root of the selected project, or the name given by `--project`."""
        directory = self.given.get("project")
        if directory is not None and not os.path.isdir(directory):
            if "/" in directory:
                raise click.BadParameter(f"no such directory: {quote(directory)}", param_hint="--project")
            return directory
        return real(self.at.load(directory and os.path.abspath(directory)).project)


def utc_text(text: str, option: str) -> str:
    """Return the time that an option names as a record's begins; nothing for nothing. Raises click.BadParameter."""
    if not text:
        return ""
    try:
        return parse_time(text).astimezone(UTC).strftime(TIME_FORMAT)
    except (ValueError, OverflowError):
        hint = "use a duration such as 2h or 3d, or a time such as 14:30, yesterday or 2026-11-22"
        raise click.BadParameter(f"{quote(text)} is not a time\nhint: {hint}", param_hint=option) from None


def seconds(time: object) -> int:
    """Return a record's time, or one of `utc_text`, in seconds since 1970; 0 for other text."""
    try:
        return int(datetime.fromisoformat(str(time)[: len("2026-11-22T14:30:00")]).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return 0


def resolve_names(at: Workspace, filters: dict[str, Any]) -> None:
    """Make the event's name canonical, and check the agent's. Raises UnknownEventError and UnknownAgentError.

    Programs may name agents that hookrun does not know: these are known by their runs.
    """
    event, agent = filters.get("event"), filters.get("agent")
    if event is not None:
        try:
            filters["event"] = resolve_event(event)
        except UnknownEventError:
            filters["event"] = resolve_event(event, at.load().declarations.events)
    runs = audit_reader.newest_first(at.home)
    if agent is not None and agent not in AGENTS and all(agent != each.get("agent") for each in runs):
        load(agent)


def parse_time(text: str) -> datetime:
    """Return the time named by a duration, a clock time, a day or a date. Raises ValueError."""
    now = datetime.now().astimezone()
    days = {"now": now, "today": _midnight(now), "yesterday": _midnight(now - timedelta(days=1))}
    if text in days:
        return days[text]
    seconds = parse_duration(text)
    if seconds is not None:
        return now - timedelta(seconds=seconds)
    if CLOCK.fullmatch(text):
        text = f"{now:%Y-%m-%d} {text.zfill(len('14:30') if text.count(':') == 1 else len('14:30:00'))}"
    return datetime.fromisoformat(text).astimezone()


def _midnight(day: datetime) -> datetime:
    return datetime(day.year, day.month, day.day).astimezone()  # local time
