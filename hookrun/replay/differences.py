"""The differences between the results of calls then and now: found call by call, merged in any order."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from hookrun.agents.transcripts import CHANGED, DECLINED, RAN, REFUSED, UNKNOWN
from hookrun.core.audit import summarized
from hookrun.core.model import as_object
from hookrun.replay.judge import Judged
from hookrun.replay.traffic import Past
from hookrun.testing.report import xml_element

# How a verdict's action shows in a transcript.
SHOWN = {"continue": RAN, "allow": RAN, "modify": CHANGED, "block": REFUSED, "skip": REFUSED, "stop": REFUSED}

# The results of calls in words: what was, or would be, done to them; what they did if that is nothing.
DONE = {
    CHANGED: "changed",
    REFUSED: "refused",
    "modify": "changed",
    "allow": "allowed",
    "ask": "asked about",
    "block": "blocked",
    "skip": "skipped",
    "stop": "stopped",
}
DID = {"continue": "ran", RAN: "ran", UNKNOWN: "have no known end"}


class Example(NamedTuple):
    """A call with a difference, without credentials. `time` is ISO 8601 in UTC, `said` the message to the model."""

    time: str
    agent: str
    session_id: str
    event: str
    tool: str
    subject: str
    said: str


class CallGroup(NamedTuple):
    """The calls that a hook would treat otherwise: how many, and the first of them."""

    calls: int
    examples: list[Example]


class Report:
    """What a replay found so far. Reports of parts can be added in any order; `most` examples are kept of each kind.

    `differences` are by hook, the result of the call and the action now. `unjudged` counts the calls that a hook would
    have seen that was not asked; `without_context` runs in the audit of which not all is kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.events: Counter[str] = Counter()
        self.unjudged: Counter[str] = Counter()
        self.differences: dict[tuple[str, str, str], CallGroup] = {}
        self.unreadable = self.without_context = 0
        self.first, self.last = "", ""

    def add(self, past: Past, key: tuple[str, str, str] | None, now: Judged) -> None:
        """Count a call, and its difference if there is one."""
        self.events[str(past.context.get("agent") or "a program")] += 1
        if now.unjudged:
            self.unjudged.update(now.unjudged)
        self._date(past.time, past.time)
        if key is not None:
            self._put(key, CallGroup(1, [_example(past, now)]))

    def merge(self, other: Report | None) -> None:
        """Add what another part found, None if its file was changed or removed meanwhile."""
        if other is None:
            self.unreadable += 1
            return
        self.events += other.events
        self.unjudged += other.unjudged
        self.unreadable += other.unreadable
        self.without_context += other.without_context
        self._date(other.first, other.last)
        for key, difference in other.differences.items():
            self._put(key, difference)

    def _date(self, first: str, last: str) -> None:
        if first and (not self.first or first < self.first):
            self.first = first
        self.last = max(self.last, last)

    def _put(self, key: tuple[str, str, str], more: CallGroup) -> None:
        known = self.differences.get(key, CallGroup(0, []))
        examples = heapq.nsmallest(self.most, [*known.examples, *more.examples])
        self.differences[key] = CallGroup(known.calls + more.calls, examples)

    def sorted(self) -> list[tuple[tuple[str, str, str], CallGroup]]:
        """Return the differences, the most frequent first."""
        return sorted(self.differences.items(), key=lambda item: (-item[1].calls, item[0]))

    def to_dict(self) -> dict[str, object]:
        """Return the report as a JSON object."""
        return {
            "events": dict(sorted(self.events.items())),
            "first": self.first or None,
            "last": self.last or None,
            "differences": [
                {
                    **dict(zip(("hook", "was", "now"), key, strict=True)),
                    "count": found.calls,
                    "examples": [each._asdict() for each in found.examples],
                }
                for key, found in self.sorted()
            ],
            "not_judged": dict(sorted(self.unjudged.items())),
            "unreadable": self.unreadable,
            "without_context": self.without_context,
        }


def sentence(key: tuple[str, str, str], count: int) -> str:
    """Return a difference in words: `3 calls that ran would be blocked by no-force-push`."""
    hook, was, now = key
    did = DID.get(was) or f"{'was' if count == 1 else 'were'} {DONE[was]}"
    calls = f"{count:,} call{'' if count == 1 else 's'} that {did}"
    if now == "continue":
        return f"{calls}{f' by {hook}' if hook else ''} would run"
    return f"{calls} would be {DONE[now]} by {hook or 'hookrun'}"


def difference(past: Past, now: Judged, before: Judged | None, hook: str | None) -> tuple[str, str, str] | None:
    """Return the key of a call's difference, None if it would end as it did.

    With `before` it is compared with that verdict, not with its result. `hook` is the only one that was judged:
    what others did is not its difference.
    """
    if before is not None:
        same = now.action == before.action and now.args == before.args
        return None if same else (_names(now, before.hooks), before.action, now.action)
    if past.action is not None:
        was = past.action if hook is None else past.hooks.get(hook, "continue")
        then = tuple(sorted(name for name, action in past.hooks.items() if action == was and hook in (None, name)))
        undecided = now.action == "continue" and not {*now.unjudged}.isdisjoint(then)
        return None if was == now.action or undecided else (_names(now, then), was, now.action)
    would = SHOWN.get(now.action, now.action)
    if past.then in (DECLINED, would) or (past.then == UNKNOWN and would == RAN):
        return None
    if past.then in (REFUSED, CHANGED) and (would in (RAN, "ask") and (hook is not None or now.unjudged)):
        return None
    return None if past.then == REFUSED and would == "ask" else (_names(now, ()), past.then, now.action)


def _names(now: Judged, then: tuple[str, ...]) -> str:
    return ", ".join(now.hooks if now.action != "continue" else then)


def _example(past: Past, now: Judged) -> Example:
    context = past.context
    agent, session, tool = (str(context.get(name) or "") for name in ("agent", "session_id", "tool_name"))
    subject = summarized(" ".join(_subject(context).split()))
    return Example(past.time, agent, session, past.event, tool, subject, summarized(now.message))


def _subject(context: Mapping[str, object]) -> str:
    """Return what a call is about: its command, its file, else its arguments or the prompt."""
    args = as_object(context.get("tool_args"))
    found = (args.get("command"), context.get("file_path"), *args.values(), context.get("user_prompt"))
    return next((each for each in found if isinstance(each, str) and each), "")


def as_junit(report: Report) -> bytes:
    """Return the report as JUnit XML in UTF-8: a test case for each kind of difference, one that passes without any."""
    import xml.etree.ElementTree as ET

    found = report.sorted()
    suites = ET.Element("testsuites", name="hookrun replay")
    number = str(max(1, len(found)))
    suite = xml_element(suites, "testsuite", name="replay", tests=number, failures=str(len(found)), errors="0")
    for key, difference_ in found:
        case = xml_element(suite, "testcase", classname="replay", name=sentence(key, difference_.calls))
        lines = [f"{each.time} {each.agent} {each.subject}" for each in difference_.examples]
        xml_element(case, "failure", "\n".join(lines), message=sentence(key, difference_.calls))
    if not found:
        xml_element(suite, "testcase", classname="replay", name=f"{report.events.total():,} events end as they did")
    ET.indent(suites)
    whole: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"
