"""`hookrun test`: run the cases beside the hooks and say which do not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hookrun.cli import FAILED
from hookrun.testing import find
from hookrun.testing.coverage import Coverage
from hookrun.testing.report import Report
from hookrun.testing.run import run_cases

if TYPE_CHECKING:
    from hookrun.testing.cases import CaseFile
    from hookrun.testing.run import Tested

EXAMPLES = """\b
Examples:
  hookrun test
  hookrun test hooks/ -k "force push"
  hookrun test --update
  hookrun test --junit report.xml --fail-under 90

Exit status: 0 all cases passed, 1 otherwise, also where there is none.
"""


@click.command(name="test", epilog=EXAMPLES)
@click.argument("paths", nargs=-1)
@click.option(
    "-k", "pattern", metavar="PATTERN", help="Only cases whose file or name has this in it, or fits this glob."
)
@click.option(
    "-j", "at_once", type=click.IntRange(1, 256), help="Hooks that run at once. Default: 4 per core, at most 32."
)
@click.option("--coverage/--no-coverage", default=None, help="Say what no case reaches. Default: without -k.")
@click.option("--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail below this coverage.")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    pattern: str | None,
    at_once: int | None,
    fail_under: float | None,
    *,
    coverage: bool | None,
) -> None:
    """Run the cases in *.hooktest.yaml and *.hooktest.json files, by default all from here down."""
    try:
        files = find.read(paths or (".",))
    except find.NotThereError as error:
        raise click.ClickException(str(error)) from None
    cases = find.chosen(files, pattern)
    report = Report()
    report.begin(len(cases))
    try:
        tested = run_cases(files, cases, at_once=at_once, on_ran=report.ran)
    finally:
        report.end()
    _nothing_is_no_success(tested, files, pattern)
    report.problems(tested.problems)
    report.failures(tested.results)
    covered = Coverage(tested.results)
    if coverage or (coverage is None and pattern is None) or fail_under is not None:
        report.coverage(covered)
    report.sum(tested)
    if fail_under is not None and covered.percent < fail_under:
        report.line(f"coverage is {covered.percent:.1f} %, expected at least {fail_under:g} %")
        ctx.exit(FAILED)
    ctx.exit(0 if tested.ok else FAILED)


def _nothing_is_no_success(tested: Tested, files: list[CaseFile], pattern: str | None) -> None:
    """Raise click.ClickException where no case was run and nothing else explains it."""
    if tested.results or tested.problems:
        return
    if not files:
        expected = "expected files that end in .hooktest.yaml, .hooktest.yml or .hooktest.json"
        raise click.ClickException(f"found no cases here, {expected}; write one, or name a path")
    if pattern is not None:
        raise click.ClickException(f"found no case that fits {pattern!r}; hookrun test without -k runs them all")
    raise click.ClickException(f"found no cases in {', '.join(file.shown for file in files)}; write some")
