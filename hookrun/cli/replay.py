"""`hookrun replay`: what the hooks would have done with past calls; `hookrun record`: keep those to come whole."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import click

from hookrun import agents
from hookrun.agents import transcripts
from hookrun.cli.commands import (
    FAILED,
    Workspace,
    command,
    config_option,
    hooks_named,
    json_option,
    parse_duration,
    report_options,
)
from hookrun.cli.log_filter import NOT_LOGGED, TIME_FORMAT, RunFilter, call_options, seconds
from hookrun.cli.printing import (
    CONFIG_ERRORS,
    CommandReport,
    Line,
    ProgressBar,
    count,
    print_json,
    print_lines,
    shortened,
)
from hookrun.core import audit
from hookrun.core.audit_reader import local_time
from hookrun.core.model import Hook
from hookrun.core.state import timestamp
from hookrun.core.text import quote
from hookrun.edit.file_change import apply_all
from hookrun.replay import traffic, work
from hookrun.replay.differences import Report, as_junit, sentence
from hookrun.replay.traffic import Range
from hookrun.scaffold.declaration_file import user_file
from hookrun.trust.project import refuse_if_run_by_agent

# Bytes for which other processes are not worth their start.
LITTLE = 4 << 20
# Characters of an example.
MAX_EXAMPLE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """The command line of `hookrun replay`."""

    runs: RunFilter
    against: str | None
    sources: tuple[str, ...]
    run: bool
    dask: str | None
    examples: int
    junit: str | None

    @property
    def hook(self) -> str | None:
        """The only hook to judge by."""
        return self.runs.given.get("hook")


@command(
    "replay",
    "replay --since 30d --hook no-force-push",
    "replay --config new.yaml --examples 20",
    "replay --against main --junit replay.xml",
    "replay --all-projects --json",
    note="Exit status: 0 every call would end as it did, 1 otherwise, also where there are none.",
)
@click.option("--against", metavar="REV", help="Compare with the config at this git revision, not with what happened.")
@click.option(
    "--from", "sources", metavar="PATH", multiple=True, type=click.Path(exists=True),
    help="Read this transcript or log, or those in a directory, instead of your own.",
)  # fmt: skip
@click.option("--run", is_flag=True, help="Also run hooks that are programs, in a copy of the project.")
@click.option("--dask", metavar="ADDRESS", help="Judge on the Dask cluster with this scheduler.")
@click.option("--examples", default=3, show_default=True, type=click.IntRange(0), help="Calls to show of each kind.")
@click.option("--junit", metavar="FILE", help="Write the differences as JUnit XML.")
@config_option
@call_options
@json_option
def replay_command(*, as_json: bool, **given: object) -> int:
    """Show what these hooks would have done with past calls: of the log, and of the transcripts that agents keep.

    Nothing is run or written: conditions and recipes are judged in this program, other hooks are counted. Calls of all
    projects, or of another one, are judged by the config here.
    """
    options = ReplayOptions(**given)  # type: ignore[arg-type]  # click's options have these names
    if options.dask is not None and options.run:
        raise click.UsageError("--dask does not go with --run.")
    if options.run and options.against is not None:
        raise click.UsageError("--run does not go with --against.")
    with ExitStack() as stack:
        try:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="hookrun-replay-"))
        except OSError as error:
            raise click.ClickException(f"no temporary files can be made: {error.strerror}") from None
        report = _replay(options.runs.at, options, scratch, stack)
    if options.junit is not None:
        with open(options.junit, "wb") as file:
            file.write(as_junit(report))
    if as_json:
        print_json(report.to_dict())
    else:
        print_lines(_lines(report, options))
    return FAILED if report.differences else 0


def _replay(at: Workspace, options: ReplayOptions, scratch: str, stack: ExitStack) -> Report:
    """Return the report. Raises click.ClickException if the config has errors, and without hooks or calls."""
    loaded = at.load()
    hooks, problems = loaded.declarations.hooks, loaded.declarations.problems
    if problems:
        raise click.ClickException(f"{problems[0]}\nhint: {CONFIG_ERRORS}")
    if options.hook is not None:
        hooks = hooks_named(options.hook, hooks)
    before = None if options.against is None else _hooks_at(at, options, loaded.project, scratch)
    if not hooks and not before:
        raise click.ClickException("no hooks are configured here\nhint: `hookrun init` sets some up")
    runs = options.runs
    try:
        parts = list(_parts(at, options, scratch))
    except OSError as error:
        why = error.strerror or "no transcript"
        raise click.ClickException(f"cannot read {error.filename or error}: {why}") from None
    plan = work.Plan(
        hooks,
        before,
        loaded.project,
        at.home,
        loaded.declarations.settings,
        runs.wanted,
        options.hook,
        None if options.sources and "project" not in runs.given else runs.project,
        options.examples,
        work.copy_of(loaded.project, scratch) if options.run else None,
    )
    executor = _executor(options, parts, stack)
    with ProgressBar("replay") as bar:
        bar.begin(len(parts))
        try:
            report = work.replay(plan, parts, executor, lambda _bytes: bar.step())
        except BrokenExecutor:
            raise click.ClickException("a process of the replay was ended\nhint: is there enough memory?") from None
        except ModuleNotFoundError as error:
            raise click.ClickException(f"a worker of the cluster has no {error.name}\nhint: install it there") from None
    if not report.events:
        raise click.ClickException(_no_calls(options, report))
    return report


def _hooks_at(at: Workspace, options: ReplayOptions, project: str, scratch: str) -> list[Hook]:
    """Return the hooks that the project had at a git revision: from a copy of all its files then."""

    def git(*words: str) -> bytes:
        done = subprocess.run(["git", "-C", project, *words], capture_output=True, check=False)  # noqa: S607
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = said[0] if said else f"exit status {done.returncode}"
            raise click.ClickException(f"git cannot read {quote(str(options.against))}: {why}")
        return done.stdout

    then = f"{scratch}/then"
    os.makedirs(f"{then}/.git")
    top = git("rev-parse", "--show-toplevel").decode().strip()
    archive = git("archive", "--format=tar", "--end-of-options", f"{options.against}^{{tree}}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(then, filter="data")
    below = os.path.relpath(os.path.realpath(project), os.path.realpath(top))
    declared = at.load(os.path.join(then, below) if os.path.isdir(f"{then}/{below}") else then).declarations.hooks
    return [hook for hook in declared if options.hook in (None, hook.name)]


def _parts(at: Workspace, options: ReplayOptions, scratch: str) -> Iterator[Range]:
    """Yield where calls are: in the log and the agents' transcripts, or in the files that the options name."""
    if not options.sources:
        yield from traffic.audit_ranges(at.home)
        agent, since = options.runs.given.get("agent"), options.runs.since
        meant = [each for each in agents.AGENTS if agent in (None, each)]
        found = traffic.transcript_ranges(map(agents.load, meant), at.home, scratch, seconds(since) if since else 0.0)
        yield from traffic.without_known(found, traffic.known_calls(at.home))
        return
    for path in options.sources:
        directory = os.path.isdir(path)
        names = sorted(f"{top}/{name}" for top, _, files in os.walk(path) for name in files) if directory else [path]
        for each in names:
            source = traffic.source_of(each)
            if source is not None:
                yield from traffic.file_ranges(source, each, scratch)
            elif not directory:
                hint = f"it reads those of {', '.join(transcripts.FORMATS)}, and its own log"
                raise click.ClickException(f"{each} is no transcript that hookrun can read\nhint: {hint}")


def _executor(options: ReplayOptions, parts: Sequence[Range], stack: ExitStack) -> Executor | None:
    if options.dask is None:
        small = not options.run and sum(part.end - part.begin for part in parts) < LITTLE
        width = 1 if small else max(1, min(len(os.sched_getaffinity(0)), len(parts)))
        return stack.enter_context(work.processes(width))
    try:
        return stack.enter_context(work.cluster(options.dask))
    except ImportError:
        hint = "install hookrun with its extra: `pip install 'hookrun[dask]'`"
        raise click.ClickException(f"--dask needs the package distributed\nhint: {hint}") from None
    except (OSError, ValueError) as error:
        raise click.ClickException(f"no Dask scheduler at {quote(options.dask)}: {error}") from None


def _no_calls(options: ReplayOptions, report: Report) -> str:
    if options.sources:
        return "no calls are in these files"
    hint = "other options may select some, `--all-projects` those in other projects"
    if report.without_context:
        hint += "; the log keeps a summary of each run only: `hookrun record on` keeps all of it for a time"
    where = f"in {options.runs.project}" if options.runs.project is not None else "in any project"
    return f"no calls to replay {where}\nhint: {hint}"


def _lines(report: Report, options: ReplayOptions) -> Iterator[Line]:
    """Yield the report for people."""
    by_agent = ", ".join(f"{agent} {events:,}" for agent, events in sorted(report.events.items()))
    first, last = (local_time(each, with_date=True)[:10] for each in (report.first, report.last))
    when = first if first == last else f"{first} to {last}"
    yield f"{report.events.total():,} events replayed, {when} ({by_agent})", "bold"
    for key, found in report.sorted():
        yield sentence(key, found.calls), "warning" if key[2] == "continue" else "error"
        for each in found.examples:
            event = "" if each.event == "pre_tool_use" else f" ({each.event})"
            text = f"{local_time(each.time, with_date=True)}  {each.agent}  {each.subject}{event}"
            yield f"  {shortened(text, MAX_EXAMPLE)}", ""
        if found.calls > len(found.examples) > 0:
            yield f"  and {count(found.calls - len(found.examples), 'other')}: `--examples` shows more", "dim"
    if not report.differences:
        then = f"at {options.against}" if options.against else "it did"
        yield f"no differences: every call would end as {then}", "ok"
    for hook, calls in sorted(report.unjudged.items()):
        yield f"not judged: {hook}, for {count(calls, 'call')}", "dim"
    if report.unjudged and not options.run:
        yield "  they are programs or keep a state; `--run` runs them in a copy of the project", "dim"
    if report.unreadable:
        yield f"{count(report.unreadable, 'line')} could not be read", "warning"


# --- hookrun record


@command("record", "record", "record on", "record 12h", "record off")
@click.argument("duration", required=False, metavar="[on|TIME|off]")
@report_options
def record_command(*, duration: str | None, report: CommandReport) -> None:
    """Keep whole calls in the log for a time, for `hookrun replay`: credentials removed, up to 1 MiB each.

    TIME is how long, such as 12h; on is 7d. Otherwise only a call's file and the beginning of its command are kept.
    Without an argument, show what is kept.
    """
    if report.at.load().declarations.settings.get("audit") is False:
        raise click.ClickException(NOT_LOGGED)
    ends = None
    if duration is not None:
        refuse_if_run_by_agent("change what the log keeps")
        switches_on = duration != "off"
        if switches_on:
            seconds = parse_duration("7d" if duration == "on" else duration)
            if not seconds:
                raise click.BadParameter(f"{quote(duration)} is not on, off or a time such as 12h", param_hint="TIME")
            ends = f"{datetime.now(UTC) + timedelta(seconds=seconds):{TIME_FORMAT}}Z"
        config_file = user_file(report.at.home)
        config_file.put_setting(("audit", "full_until"), ends)
        changes = [each for each in config_file.changes() if switches_on or not config_file.is_new]
        if report.dry_run:
            report.show_diff(changes)
            return
        apply_all(changes)
        report.show_written(changes)
    setting = report.at.load().declarations.settings.get("audit")
    until = setting.get("full_until") if isinstance(setting, dict) else None
    if ends not in (None, until):
        report.fail("the administrator's config has the setting `audit`: it decides what is kept")
    elif audit.details_of(setting) != audit.FULL:
        report.note("the log keeps a summary of each call: `hookrun record on` keeps all of it for a time")
    elif isinstance(until, str) and until > timestamp():
        when = local_time(until, with_date=True)
        report.note(f"the log keeps whole calls until {when}; `hookrun record off` ends that")
    else:
        report.note("the log keeps whole calls: the setting `audit.details` is full")
