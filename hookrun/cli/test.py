"""`hookrun test`: run the tests beside the hooks and report failures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from hookrun.cli.commands import FAILED, Workspace, command, json_option, user_is_present
from hookrun.cli.printing import (
    CommandReport,
    ProgressBar,
    confirm,
    print_json,
    print_line,
    print_lines,
    print_message,
    print_problems,
)
from hookrun.core.files import relative_path
from hookrun.core.text import one_of, quote
from hookrun.edit.file_change import apply_all
from hookrun.fire.dry_run import runs_here
from hookrun.scaffold.declaration_file import project_file
from hookrun.testing.case_runner import run_cases
from hookrun.testing.cases import Case, CaseFile, NoCaseFileError, find_case_files, load, select_cases, until_changed
from hookrun.testing.report import as_json as results_as_json, as_junit, report_lines, styled
from hookrun.testing.results import CaseRun, Coverage, TestRun

# Limit on the changed files that `--watch` names.
MAX_NAMED = 3

# The parameters valid with `--from-log`.
FOR_RECORDED = frozenset({"recorded", "paths", "as_json"})


@dataclass(frozen=True, slots=True)
class TestOptions:
    """The command line of `hookrun test`."""

    __test__ = False  # pytest would take it for a test by its name

    paths: tuple[str, ...]
    pattern: str | None
    at_once: int | None
    fail_under: float | None
    update: bool
    junit: str | None
    as_json: bool
    verbose: bool


@command(
    "test",
    "test",
    'test hooks/ -k "force push"',
    "test --update",
    "test --junit report.xml --fail-under 90",
    "test --from-log last hooks/recorded.hooktest.yaml",
    note="Exit status: 0 all tests passed, 1 otherwise, also where there are none.",
)
@click.argument("paths", nargs=-1)
@click.option(
    "-k", "pattern", metavar="PATTERN", help="Only tests whose file, name or hook contains this, or matches this glob."
)
@click.option(
    "-j", "at_once", type=click.IntRange(1, 256), help="Hooks to run in parallel. Default: 4 per core, at most 32."
)
@click.option("-v", "--verbose", is_flag=True, help="Show the tests that pass, and what no test covers.")
@click.option("--update", is_flag=True, help="Update the expected results with the actual ones.")
@click.option("--watch", is_flag=True, help="Run again whenever a file that matters changes, until Ctrl-C.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail below this coverage; list what lacks."
)
@click.option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
@json_option
@click.option(
    "--from-log",
    "recorded",
    metavar="ID",
    help="Make a test of a recorded run, by its id, or last; add it to the file PATH, or print it. Runs nothing.",
)
def test_command(*, paths: tuple[str, ...], recorded: str | None, watch: bool, **parameters: Any) -> int:
    """Run the tests in *.hooktest.yaml and *.hooktest.json files, by default all from here down."""
    options = TestOptions(paths or (".",), **parameters)
    if recorded is not None:
        _refuse_run_options(click.get_current_context())
        if len(paths) + options.as_json > 1:
            raise click.UsageError("--from-log prints the test, or adds it to one PATH")
        _from_log(recorded, *paths, as_json=options.as_json)
        return 0
    if watch and options.as_json:
        raise click.UsageError("--watch never ends, --json is one object: give one of the two.")
    if watch:
        _watch(options)
    tested, good = _once(options)
    if good and not options.as_json:
        _offer_approval(tested)
    return 0 if good else FAILED


def _offer_approval(tested: TestRun) -> None:
    """Name the hooks that passed and are not approved; at the user's terminal, show the changes and ask about them."""
    from hookrun.cli.connecting import fit_agents  # only after success
    from hookrun.cli.trust import UNDECIDED, review

    at = Workspace()
    project = at.project()
    configs = {id(run.config): run.config for run in tested.results if run.config is not None}.values()
    tried = {run.hook.name for each in tested.results if each.result is not None for run in each.result.runs}
    here = any(config.root == project.root for config in configs)
    waiting = [each for each in project.hooks() if here and each.state in UNDECIDED and each.hook.name in tried]
    if not waiting:
        return
    if not user_is_present(CommandReport(at, as_json=False, dry_run=False)):
        print_message(runs_here([each.hook.name for each in waiting]), "note")
        return
    advising = [each.hook.name for each in waiting if each.hook.mode == "advise"]
    if advising and confirm(f"Enforce {one_of(advising, 'and')} from now on, in place of `mode: advise`?"):
        config_file = project_file(at.directory, at.home)
        config_file.enforce(advising)
        apply_all(config_file.changes())
        project = at.project()
    names = [each.hook.name for each in waiting]
    review(project, [each for each in project.hooks() if each.hook.name in names])
    fit_agents(at)


def _once(options: TestOptions) -> tuple[TestRun, bool]:
    """Run the tests once and report. Raises click.ClickException if there are none."""
    files = [load(path) for path in find_case_files(options.paths)]
    cases = select_cases(files, options.pattern)
    tested = _run_shown(files, cases, options.at_once)
    _require_tests(tested, files, options.pattern)
    coverage = Coverage(tested.results)
    if options.update:
        from hookrun.testing.update import update  # rarely needed

        update(tested)
    good = tested.ok
    if options.fail_under is not None and coverage.percent < options.fail_under:
        print_message(f"coverage is {coverage.percent:.1f} %, below {options.fail_under:g} %")
        good = False
    asked = options.fail_under is not None
    # Unasked, a part of the tests says nothing about coverage.
    shown = coverage if asked or options.pattern is None else None
    if options.as_json:
        print_json(results_as_json(tested, shown, ok=good))
    else:
        flags = {"update": options.update, "verbose": options.verbose, "missing": options.verbose or asked}
        print_lines(styled(report_lines(tested, shown, **flags)))
    if options.junit is not None:
        with open(options.junit, "wb") as file:
            file.write(as_junit(tested))
    return tested, good


def _run_shown(files: list[CaseFile], cases: list[Case], at_once: int | None) -> TestRun:
    """Run these cases with a progress bar, and print their configs' errors."""
    failed = 0

    def report(run: CaseRun) -> None:
        nonlocal failed
        failed += not run.passed
        bar.step(f"tests, {failed} failed" if failed else "tests")

    with ProgressBar("tests") as bar:
        where = Workspace().directory
        tested = run_cases(files, cases, at_once=at_once, directory=where, on_begin=bar.begin, on_ran=report)
    print_problems(tested.config_problems)
    return tested


def _require_tests(tested: TestRun, files: list[CaseFile], pattern: str | None) -> None:
    """Raise click.ClickException if no test ran and nothing else explains it."""
    if tested.results or tested.problems:
        return
    if not files:
        endings = "*.hooktest.yaml, *.hooktest.yml or *.hooktest.json"
        raise click.ClickException(f"no tests here\nhint: `hookrun new` writes some; tests are files named {endings}")
    if pattern is not None:
        raise click.ClickException(f"no tests match -k {quote(pattern)}\nhint: `hookrun test` runs all tests")
    raise click.ClickException(f"no tests in {', '.join(file.shown for file in files)}")


def _watch(options: TestOptions) -> None:
    changed: list[str] = []
    while True:
        begun = time.time_ns()
        files: set[str] = set()
        click.clear()
        if changed:
            more = f" and {len(changed) - MAX_NAMED} more" if len(changed) > MAX_NAMED else ""
            names = ", ".join(map(relative_path, changed[:MAX_NAMED]))
            print_line(f"{time.strftime('%H:%M:%S')} changed: {names}{more}")
        try:
            tested, _ = _once(options)
            files = tested.files
        except (click.ClickException, NoCaseFileError) as error:
            print_message(str(error))
        click.echo("watching for changes; Ctrl-C stops", err=True)
        changed = until_changed(options.paths, files, begun)


def _refuse_run_options(ctx: click.Context) -> None:
    """Raise click.UsageError for a test run's option: `--from-log` runs nothing."""
    for param in ctx.command.params:
        is_given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name not in FOR_RECORDED:
            raise click.UsageError(f"--from-log runs nothing: leave {param.opts[0]} out.")


def _from_log(recorded: str, into: str | None = None, *, as_json: bool) -> None:
    from hookrun.testing import update as writing  # rarely needed

    case = writing.case_from_log(Workspace().home, recorded)
    if as_json:
        print_json({"cases": [case]})
    elif into is None:
        click.echo(writing.case_as_text(case), nl=False)
    else:
        writing.append_case(into, case)
        print_line(f"added the test {quote(case['name'])} to {into}")
