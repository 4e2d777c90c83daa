"""What came of cases, for programs: one JSON object, or the XML that CI servers read as JUnit's."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from hookrun.testing.told import failure

if TYPE_CHECKING:
    from hookrun.testing.coverage import Coverage
    from hookrun.testing.ran import Ran, Tested

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, in no form."""


def as_json(tested: Tested, coverage: Coverage | None, *, ok: bool, updated: int = 0) -> dict[str, object]:
    """Return all of it as one JSON object; `ok` is whether all is well, after so many were `updated`."""
    data: dict[str, object] = {
        "ok": ok,
        "passed": len(tested.results) - tested.failed,
        "failed": tested.failed - updated,
        "updated": updated,
        "seconds": round(tested.seconds, 3),
        "cases": [_case(ran) for ran in tested.results],
        "problems": [problem.to_dict() for problem in tested.problems],
    }
    if coverage is not None:
        data["coverage"] = coverage.to_dict()
    return data


def _case(ran: Ran) -> dict[str, object]:
    data: dict[str, object] = {
        "file": ran.case.file.shown,
        "line": ran.case.line,
        "name": ran.case.name,
        "agent": ran.agent,
        "passed": ran.passed,
        "differences": [each.to_dict() for each in ran.differences],
        "problems": ran.problems,
    }
    if (came := ran.came) is not None:
        data["came"] = {
            "action": came.action,
            "message": came.message,
            "additional_context": came.additional_context,
            "system_message": came.system_message,
            "args": came.args,
            "fired": came.fired,
            "degraded": came.degraded,
            "ms": round(came.ms, 1),
        }
        data["hooks"] = [run.summary() for run in came.runs]
    return data


def junit(tested: Tested) -> bytes:
    """Return all of it as JUnit XML: a suite for each file, a test case for each case and agent; in UTF-8."""
    root = ET.Element("testsuites", name="hookrun test", time=f"{tested.seconds:.3f}")
    suites: dict[str, list[Ran]] = {}
    for ran in tested.results:
        suites.setdefault(ran.case.file.shown, []).append(ran)
    for name, results in suites.items():
        failed = sum(bool(ran.differences) for ran in results)
        broken = sum(bool(ran.problems) for ran in results)
        counts = {"tests": str(len(results)), "failures": str(failed), "errors": str(broken)}
        suite = ET.SubElement(root, "testsuite", {"name": _text(name), **counts})
        for ran in results:
            _add_case(suite, ran)
    for problem in tested.problems:
        suite = ET.SubElement(root, "testsuite", name=_text(problem.path), tests="1", failures="0", errors="1")
        case = ET.SubElement(suite, "testcase", classname=_class(problem.path), name="the file can be read")
        _add(case, "error", str(problem), [str(problem)])
    ET.indent(root)
    whole: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"


def _add_case(suite: ET.Element, ran: Ran) -> None:
    shown = ran.case.file.shown
    seconds = ran.came.ms / 1000 if ran.came is not None else 0.0
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_class(shown),
        name=_text(ran.name),
        file=_text(shown),
        line=str(ran.case.line),
        time=f"{seconds:.3f}",
    )
    if ran.problems:
        _add(case, "error", ran.problems[0], ran.problems)
    elif ran.differences:
        keys = ", ".join(each.key for each in ran.differences)
        _add(case, "failure", f"not as expected: {keys}", list(failure(ran)))


def _add(case: ET.Element, tag: str, message: str, lines: list[str]) -> None:
    ET.SubElement(case, tag, message=_text(message)).text = _text("\n".join(lines))


def _class(path: str) -> str:
    return _text(os.path.splitext(path)[0].replace("/", "."))


def _text(text: str) -> str:
    return NOT_IN_XML.sub(lambda match: match.group().encode("unicode_escape", "surrogatepass").decode("ascii"), text)
