"""`hookrun test`: run the tests beside the hooks and report failures."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hookrun.cli.common import FAILED, command, json_option, resolve_home, working_directory
from hookrun.cli.printing import print_json, print_message
from hookrun.testing.case_runner import run_cases
from hookrun.testing.cases import NoCaseFileError, load_all, select_cases
from hookrun.testing.report import TestReporter, as_json as results_as_json, as_junit
from hookrun.testing.results import Coverage, TestRun

if TYPE_CHECKING:
    from hookrun.testing.cases import Case, CaseFile
    from hookrun.testing.sandbox import CaseConfig

FEW_COLLECTIONS = 50_000
"""Objects made between two garbage collections: what tests leave behind is kept to the end anyway."""

FOR_RECORDED = frozenset({"recorded", "into", "home", "as_json"})
"""The parameters that are valid with `--from-log`."""


@dataclass(frozen=True, slots=True)
class TestOptions:
    """The command line of `hookrun test`."""

    __test__ = False  # to pytest, its name is that of a test

    paths: tuple[str, ...]
    pattern: str | None
    at_once: int | None
    coverage: bool
    fail_under: float | None
    update: bool
    junit: str | None
    as_json: bool


@command(
    "test",
    "test",
    'test hooks/ -k "force push"',
    "test --update",
    "test --junit report.xml --fail-under 90",
    "test --from-log last --into hooks/recorded.hooktest.yaml",
    note="Exit status: 0 all tests passed, 1 otherwise, also where there are none.",
)
@click.argument("paths", nargs=-1)
@click.option(
    "-k", "pattern", metavar="PATTERN", help="Only tests whose file or name contains this, or matches this glob."
)
@click.option(
    "-j",
    "at_once",
    type=click.IntRange(1, 256),
    help="Hooks to run in parallel. Default: 4 per core, at most 32.",
)
@click.option("--update", "accept", is_flag=True, help="Update the expected results with the actual ones.")
@click.option("--watch", is_flag=True, help="Run again whenever a file that matters changes, until Ctrl-C.")
@click.option("--coverage/--no-coverage", default=None, help="Report what no test covers. Default: without -k.")
@click.option("--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail below this coverage.")
@click.option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
@json_option
@click.option(
    "--from-log", "recorded", metavar="ID", help="Make a test of a recorded run: its id, or last. Runs nothing."
)
@click.option("--into", metavar="FILE", help="The file to which --from-log adds the test. Default: stdout.")
@click.option("--home", metavar="DIR", help="Home directory whose log --from-log reads; default HOME.")
@click.pass_context
def test_command(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    pattern: str | None,
    at_once: int | None,
    fail_under: float | None,
    junit: str | None,
    recorded: str | None,
    into: str | None,
    home: str | None,
    accept: bool,
    watch: bool,
    coverage: bool | None,
    as_json: bool,
) -> None:
    """Run the tests in *.hooktest.yaml and *.hooktest.json files, by default all from here down."""
    if recorded is not None:
        _nothing_to_run(ctx)
        if into is not None and as_json:
            raise click.UsageError("--into writes a file, --json prints: give one of the two with --from-log.")
        _from_log(recorded, into, home, as_json=as_json)
        return
    if into is not None or home is not None:
        raise click.UsageError("--into and --home go with --from-log.")
    if watch and as_json:
        raise click.UsageError("--watch never ends, --json is one object: give one of the two.")
    if coverage is None:
        coverage = pattern is None or fail_under is not None
    options = TestOptions(paths or (".",), pattern, at_once, coverage, fail_under, accept, junit, as_json)
    if watch:
        _watch(options)
    ctx.exit(0 if _once(options)[1] else FAILED)


def _once(options: TestOptions) -> tuple[TestRun, bool]:
    """Run all tests once and report; return the results, and whether all is well."""
    report = TestReporter()
    tested = _run(options, report)
    coverage = Coverage(tested.results)
    good, updated = tested.ok, None
    if options.update:
        from hookrun.testing.update import update  # rarely asked for

        updated = update(tested.results)
        good = not (updated.problems or tested.problems or any(ran.problems for ran in tested.results))
    if options.fail_under is not None and coverage.percent < options.fail_under:
        print_message(f"coverage is {coverage.percent:.1f} %, expected at least {options.fail_under:g} %")
        good = False
    shown = coverage if options.coverage else None
    if options.as_json:
        data = results_as_json(tested, shown, ok=good, updated=updated.results if updated is not None else 0)
        print_json(data)
    else:
        report.all(tested, shown, updated)
    if options.junit is not None:
        with open(options.junit, "wb") as file:
            file.write(as_junit(tested))
    return tested, good


def _run(options: TestOptions, report: TestReporter) -> TestRun:
    """Read and run the tests. Raises click.ClickException where there are none."""
    files = load_all(options.paths)
    cases = select_cases(files, options.pattern)
    tested = _run_shown(report, files, cases, at_once=options.at_once)
    _nothing_is_no_success(tested, files, options.pattern)
    return tested


def _run_shown(
    report: TestReporter,
    files: list[CaseFile],
    cases: list[Case],
    *,
    at_once: int | None = None,
    given: CaseConfig | None = None,
) -> TestRun:
    """Run these cases, with their progress shown."""
    gc.freeze()  # these objects stay: collecting through them again and again is a tenth of the cost of a test
    gc.set_threshold(FEW_COLLECTIONS)
    report.begin(len(cases))
    try:
        where = working_directory()
        return run_cases(files, cases, at_once=at_once, given=given, directory=where, on_ran=report.ran)
    finally:
        report.end()


def report_run(files: list[CaseFile], given: CaseConfig, *, as_json: bool) -> bool:
    """Run every case of these files with a configuration, report, and return whether all passed."""
    report = TestReporter()
    tested = _run_shown(report, files, select_cases(files, None), given=given)
    if as_json:
        print_json(results_as_json(tested, None, ok=tested.ok))
    else:
        report.all(tested, None, None)
    return tested.ok


def _nothing_is_no_success(tested: TestRun, files: list[CaseFile], pattern: str | None) -> None:
    """Raise click.ClickException where no test was run and nothing else explains it."""
    if tested.results or tested.problems:
        return
    if not files:
        expected = "expected files that end in .hooktest.yaml, .hooktest.yml or .hooktest.json"
        raise click.ClickException(f"found no cases here, {expected}; write one, or name a path")
    if pattern is not None:
        raise click.ClickException(f"found no case that fits {pattern!r}; `hookrun test` without -k runs them all")
    raise click.ClickException(f"found no cases in {', '.join(file.shown for file in files)}; write some")


def _watch(options: TestOptions) -> None:
    """Run all again whenever a file that matters has changed."""
    from hookrun.testing import watch

    while True:
        begun = time.time_ns()
        files: set[str] = set()
        try:
            tested, _ = _once(options)
            files = watch.files_of(tested.results)
        except (click.ClickException, NoCaseFileError) as error:
            print_message(str(error))
        click.echo("watching; Ctrl-C ends it", err=True)
        watch.until_changed(options.paths, files, begun)


def _nothing_to_run(ctx: click.Context) -> None:
    """Raise click.UsageError for an option of a test run: `--from-log` runs nothing."""
    for param in ctx.command.params:
        given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and param.name not in FOR_RECORDED:
            what = param.opts[0] if isinstance(param, click.Option) else "a path"
            raise click.UsageError(f"--from-log runs nothing: leave {what} out.")


def _from_log(recorded: str, into: str | None, home: str | None, *, as_json: bool) -> None:
    """Make a test of a recorded run, and print it or add it to a file."""
    from hookrun.testing import update as writing  # rarely asked for

    case = writing.case_from_log(resolve_home(home), recorded)
    if as_json:
        print_json({"cases": [case]})
    elif into is None:
        click.echo(writing.case_as_text(case), nl=False)
    else:
        writing.append_case(into, case)
        click.echo(f"put the case {case['name']!r} into {into}")
