"""Report a test run: on a terminal, as plain lines, as JSON, or as JUnit XML for CI servers."""

from __future__ import annotations

import json
import os
import re
from shlex import quote
from typing import TYPE_CHECKING

from hookrun.core.text import diff, one_line
from hookrun.testing.results import RAN, CaseResult, CaseRun, Coverage, Difference, TestRun, as_lines

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterable, Iterator

# A line's first word, or an indented one's first character -> its terminal style.
STYLES = {
    **dict.fromkeys(("FAIL", "ERROR"), "failed"),
    "PASS": "ok",
    "-": "error",
    "+": "ok",
}
# Limit on a context's characters in the command that reproduces a case.
MAX_CONTEXT = 4000
# Characters that XML 1.0 cannot hold in any form.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def styled(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield a report's lines with their styles."""
    for line in lines:
        word = line.split(" ", 1)[0] if not line.startswith(" ") else line.lstrip()[:1]
        yield line, STYLES.get(word, "")


def report_lines(
    done: TestRun, coverage: Coverage | None, *, update: bool = False, verbose: bool = False, missing: bool = False
) -> Iterator[str]:
    """Yield a test run's lines; after an `update`, only the failures that could not be updated.

    `verbose` adds passed tests, `missing` what no test covers. Tests that did not run because of
    `TestRun.config_problems` are only counted.
    """
    for problem in done.problems:
        yield f"ERROR {one_line(str(problem))}"
    for run in done.results:
        if run.config is not None and run.config.problems:
            continue
        if run.problems or not (update or run.passed):
            yield from failure_lines(run)
        elif verbose and run.passed:
            took = f" ({run.result.ms:.0f} ms)" if run.result is not None else ""
            yield f"PASS {run.case.where}: {run.name}{took}"
    if coverage is not None and coverage.total:
        more = "" if missing or coverage.reached == coverage.total else "; -v lists the rest"
        yield f"coverage: {coverage.percent:.0f} % ({coverage.reached} of {coverage.total}{more})"
        for each in coverage.hooks if missing else ():
            if each.missing:
                yield f"  {each.hook.name}: {RAN if RAN in each.missing else '; '.join(each.missing)}"
    yield from (f"ERROR not updated: {line}" for line in done.not_updated)
    yield _summary(done)


def _summary(done: TestRun) -> str:
    count, broken, failed = len(done.results), len(done.problems), done.failed - done.updated
    parts = [f"{count - done.failed} passed"]
    parts += [f"{done.updated} updated"] if done.updated else []
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{broken} invalid {'file' if broken == 1 else 'files'}"] if broken else []
    return f"{count} {'test' if count == 1 else 'tests'}: {', '.join(parts)} in {done.seconds:.1f} s"


def failure_lines(run: CaseRun) -> Iterator[str]:
    """Yield a failed test's report: differences, hooks, their stderr, and how to reproduce it."""
    if run.problems:
        yield from (f"ERROR {one_line(problem)}" for problem in run.problems)
        return
    yield f"FAIL {run.case.where}: {run.name}"
    yield "  - expected  + actual"
    shown = "\n".join(line for each in run.differences for line in difference_lines(each))
    yield from (f"  {line}" for line in shown.split("\n"))
    if run.result is None:
        return
    yield f"  ran: {_hooks_that_ran(run.result)}"
    for name, text in run.result.stderr():
        if text.replace("\n", "\n+   ") not in shown:
            yield f"  stderr of {name}:"
            yield from (f"    {line}" for line in text.splitlines())
    gone = " (its temporary directory was removed)" if run.directory is not None else ""
    yield f"  reproduce{gone}: {reproduce_command(run)}"


def difference_lines(found: Difference) -> Iterator[str]:
    """Yield a difference's lines: the expected value with `-`, the actual one with `+`."""
    expected, actual = as_lines(found.expected), as_lines(found.actual)
    if max(len(expected), len(actual)) > 1 and all(
        isinstance(each, dict | list) for each in (found.expected, found.actual)
    ):
        yield f"  {found.key}:"
        lines = diff("\n".join(expected), "\n".join(actual), context=len(expected))
        yield from (f"{line[0]}   {line[1:]}" for line in lines[1:])
    else:
        yield from (f"- {line}" for line in _as_field(found.key, expected))
        yield from (f"+ {line}" for line in _as_field(found.key, actual))
    if found.why:
        yield f"  ({found.why.partition('; stderr: ')[0]})"


def _as_field(key: str, lines: list[str]) -> Iterator[str]:
    yield f"{key}: {lines[0]}"
    yield from (f"  {line}" for line in lines[1:])


def _hooks_that_ran(result: CaseResult) -> str:
    parts = []
    for run in result.runs:
        failed = f", failed: {run.failure.kind}" if run.failure is not None else ""
        parts.append(f"{run.name} ({run.action}{failed}, {run.ms:.0f} ms)")
    return ", ".join(parts) or "no hooks"


def reproduce_command(run: CaseRun) -> str:
    """Return the command that fires the same event and explains which hooks ran and why."""
    case, config = run.case, run.config
    context = json.dumps(run.result.context if run.result is not None else case.context, ensure_ascii=False)
    if len(context) > MAX_CONTEXT:
        context = "..."
    here = config is None or config.rootless or config.root == os.getcwd()
    directory = f"cd {quote(config.root)} && " if config is not None and not here else ""
    option = f" --config {quote(case.file.config)}" if case.file.config is not None else ""
    env, wanted = dict(case.env), run.hooks
    if others := [each.name for each in config.hooks if each.name not in wanted] if config and wanted else []:
        env["HOOKRUN_SKIP"] = ",".join(others)
    variables = "".join(f"{name}={quote(value)} " for name, value in env.items())
    return f"{directory}printf %s {quote(context)} | {variables}hookrun fire {case.event} --explain{option}"


def as_json(done: TestRun, coverage: Coverage | None, *, ok: bool) -> dict[str, object]:
    """Return the test run as a JSON object; `ok` is as after an update."""
    data: dict[str, object] = {
        "ok": ok,
        "passed": len(done.results) - done.failed,
        "failed": done.failed - done.updated,
        "updated": done.updated,
        "seconds": round(done.seconds, 3),
        "cases": [_case_to_json(run) for run in done.results],
        "problems": [problem.to_dict() for problem in done.problems],
    }
    if coverage is not None:
        data["coverage"] = coverage.to_dict()
    return data


def _case_to_json(run: CaseRun) -> dict[str, object]:
    data: dict[str, object] = {
        "file": run.case.file.shown,
        "line": run.case.line,
        "name": run.case.name,
        "agent": run.agent,
        **({"warm": True} if run.warm else {}),
        "passed": run.passed,
        "differences": [each.to_dict() for each in run.differences],
        "problems": run.problems,
    }
    if (result := run.result) is not None:
        keys = ("action", "message", "additional_context", "system_message", "args", "fired", "degraded")
        data["came"] = {**{key: getattr(result, key) for key in keys}, "ms": round(result.ms, 1)}
        data["hooks"] = [each.summary() for each in result.runs]
    return data


def as_junit(done: TestRun) -> bytes:
    """Return the run as JUnit XML in UTF-8: a suite per file, a test case per case and agent."""
    import xml.etree.ElementTree as ET

    root = ET.Element("testsuites", name="hookrun test", time=f"{done.seconds:.3f}")
    suites: dict[str, list[CaseRun]] = {}
    for run in done.results:
        suites.setdefault(run.case.file.shown, []).append(run)
    for name, runs in suites.items():
        failed = sum(bool(run.differences) for run in runs)
        broken = sum(bool(run.problems) for run in runs)
        counts = {"tests": str(len(runs)), "failures": str(failed), "errors": str(broken)}
        suite = xml_element(root, "testsuite", name=name, **counts)
        for run in runs:
            _add_junit_case(suite, run)
    for problem in done.problems:
        suite = xml_element(root, "testsuite", name=problem.path, tests="1", failures="0", errors="1")
        case = xml_element(suite, "testcase", classname=_class_name(problem.path), name="the file can be read")
        xml_element(case, "error", str(problem), message=str(problem))
    ET.indent(root)
    whole: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"


def _add_junit_case(suite: ET.Element, run: CaseRun) -> None:
    shown = run.case.file.shown
    case = xml_element(
        suite,
        "testcase",
        classname=_class_name(shown),
        name=run.name,
        file=shown,
        line=str(run.case.line),
        time=f"{run.result.ms / 1000 if run.result is not None else 0.0:.3f}",
    )
    if run.problems:
        xml_element(case, "error", "\n".join(run.problems), message=run.problems[0])
    elif run.differences:
        keys = ", ".join(each.key for each in run.differences)
        xml_element(case, "failure", "\n".join(failure_lines(run)), message=f"not as expected: {keys}")


def xml_element(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """Append and return an element, escaping what XML cannot hold in its text and attributes."""
    element = parent.makeelement(tag, {name: _xml_text(value) for name, value in attributes.items()})
    element.text = text and _xml_text(text)
    parent.append(element)
    return element


def _class_name(path: str) -> str:
    return os.path.splitext(path)[0].replace("/", ".")


def _xml_text(text: str) -> str:
    return NOT_IN_XML.sub(lambda match: match.group().encode("unicode_escape", "surrogatepass").decode("ascii"), text)
