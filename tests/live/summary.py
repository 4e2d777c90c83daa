"""The end of a test run: which real agents were run, and which were not and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from tests.live.installed import PINS, absent

_OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


def report_agents(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each agent, if any test was for one."""
    reports = [report for outcome in _OUTCOMES for report in terminalreporter.stats.get(outcome, ())]
    lines = list(lines_of(reports))
    if lines:
        terminalreporter.section("real agents")
        for line in lines:
            terminalreporter.write_line(line)


def lines_of(reports: Iterable[object]) -> Iterator[str]:
    """Yield a line for each agent that these reports of tests are about."""
    ran: dict[str, list[str]] = {}
    for report in reports:
        name = dict(getattr(report, "user_properties", ())).get("agent")
        if isinstance(name, str):
            called = getattr(report, "when", None) == "call"
            ran.setdefault(name, []).extend([str(getattr(report, "outcome", None))] if called else [])
    for name, outcomes in ran.items():
        version, failed = PINS[name].version, outcomes.count("failed")
        if outcomes:
            yield f"{name} {version}: run, {len(outcomes)} tests" + (f", {failed} failed" if failed else "")
        else:
            yield f"{name} {version}: NOT RUN, {absent(name) or 'every test of it was skipped'}"
