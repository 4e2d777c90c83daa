"""`hookrun report`: one page about the runs in the log, which needs no network."""

from __future__ import annotations

import os
from base64 import b64encode
from collections import Counter
from datetime import UTC, datetime
from hashlib import sha256
from heapq import nlargest

import click
import orjson

from hookrun.cli.commands import command, json_option
from hookrun.cli.log_filter import RunFilter, filter_options, seconds
from hookrun.cli.printing import count, print_json, print_line, print_message
from hookrun.cli.stats import AllHookStats, HookStats, metrics_of
from hookrun.core.audit_reader import FireRecords, Record
from hookrun.core.files import atomic_write, relative_path
from hookrun.core.model import BINDING_ACTIONS
from hookrun.core.state import STATE_DIR, make_private_dir

PAGE = os.path.join(os.path.dirname(__file__), "report_page.html")
# Limits on what the page lists, the newest: it says how many there are beyond.
MOST_STOPPED, MOST_FAILED, MOST_SLOW, MOST_SESSIONS, MOST_EVENTS = 500, 200, 20, 50, 200
# Characters of a command or a message on the page.
MAX_TEXT = 300
# Bars of the runs over time, and the seconds that one may be of.
MOST_BARS, STEPS = 240, (60, 300, 900, 3600, 21_600, 86_400, 604_800)
# Milliseconds: the upper bounds of the histograms' bars, but for the last.
BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)


@command("report", "report", "report --since 7d --all-projects --html report.html", "report --json")
@click.option(
    "--html", "path", metavar="FILE", help="Write the page to this file; default: one in your home directory."
)
@filter_options
@json_option
def report_command(*, runs: RunFilter, path: str | None, as_json: bool) -> None:
    """Write a page about the runs of this project: when hooks ran, how long, what they blocked and why, what failed.

    It is one file without links to the network.
    """
    data = PageData(runs)
    events = data.totals["events"]
    if not events:
        runs.require_known_hook()
    found = data.to_dict()
    recorded = metrics_of(runs)
    found["learned"] = recorded.learned() if recorded is not None else {}
    if as_json:
        print_json(found)
        return
    file = os.path.abspath(path or f"{runs.home}{STATE_DIR}/report.html")
    try:
        if path is None:
            make_private_dir(os.path.dirname(file))
        atomic_write(file, page(found).encode())
    except OSError as error:
        raise click.ClickException(f"{error.filename or file}: {error.strerror}") from None
    print_line(f"wrote {relative_path(file)}: {count(events, 'event')}")
    if not events:
        print_message(runs.why_nothing("report").removeprefix("hint: "), "hint")


def page(data: Record) -> str:
    """Return the page with the data in it, of which nothing can become markup; no other script may run."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    script = text.partition("<script>")[2].partition("</script>")[0]
    own = b64encode(sha256(script.encode()).digest()).decode()
    embedded = orjson.dumps(data).decode().replace("<", "\\u003c").replace("&", "\\u0026")
    return text.replace("OWN-SCRIPT", own, 1).replace("THE-DATA", embedded, 1)


class PageData:
    """What the page shows, of the selected runs."""

    def __init__(self, runs: RunFilter) -> None:
        self._runs = runs
        self._table = AllHookStats()
        self._objected: Counter[str] = Counter()
        self._ran: Counter[str] = Counter()
        self._failing: set[str] = set()
        self._minutes: dict[int, list[int]] = {}
        self._sessions: dict[str, dict[str, object]] = {}
        self._stopped: list[Record] = []
        self._failed: list[Record] = []
        self._slow: list[tuple[float, str, Record]] = []
        self.totals: Counter[str] = Counter(events=0, hooks=0, stopped=0, failed=0)
        for run in runs.complete():
            self._add(run)

    def _add(self, run: FireRecords) -> None:
        header, finished = run.header, run.finished
        moment = seconds(header.get("time"))
        failed = [each for each in finished if each.get("failure")]
        stopped = run.answer in BINDING_ACTIONS
        if run.fire is not None:
            self._table.add(run.fire)
            self.totals["events"] += 1
            self.totals["stopped"] += stopped
            bar = self._minutes.setdefault(moment // 60, [0, 0])
            bar[0] += 1
            bar[1] += stopped
        about = {"time": moment, "id": run.request_id[:8], "event": header.get("event"), "tool": header.get("tool")}
        about["subject"] = _short(header.get("command") or header.get("file"))
        for each in finished:
            self._table.add(each)
            name, ms = str(each.get("hook")), each.get("ms")
            self.totals["hooks"] += not each.get("interrupted")
            self._ran[name] += 1
            self._objected[name] += each.get("action") in BINDING_ACTIONS
            if isinstance(ms, int | float):
                self._slow.append((ms, str(each.get("time")), {**about, "hook": name, "ms": ms}))
        self._slow = nlargest(MOST_SLOW, self._slow, key=lambda slow: slow[:2])
        for each in failed:
            self.totals["failed"] += 1
            self._failing.add(str(each.get("hook")))
            if len(self._failed) < MOST_FAILED:
                why = {"hook": each.get("hook"), "failure": each["failure"], "reason": _short(each.get("detail"))}
                self._failed.append({**about, **why})
        if stopped and len(self._stopped) < MOST_STOPPED:
            reason = next((each["message"] for each in run.deciding if each.get("message")), header.get("message"))
            names = ", ".join(dict.fromkeys(str(each.get("hook")) for each in run.deciding)) or "hookrun"
            self._stopped.append({**about, "action": run.answer, "hook": names, "reason": _short(reason)})
        self._add_to_session(run, {**about, "action": run.answer, "ms": header.get("ms"), "failed": run.failed})

    def _add_to_session(self, run: FireRecords, event: Record) -> None:
        name = str(run.header.get("session_id", ""))
        known = name in self._sessions
        if not known and len(self._sessions) >= MOST_SESSIONS:
            self.totals["sessions_not_shown"] = 1
            return
        first = {"id": name, "agent": run.header.get("agent"), "project": run.header.get("project")}
        session = self._sessions.setdefault(name, {**first, "count": 0, "events": []})
        session["count"] += 1  # type: ignore[operator]
        events = session["events"]
        if isinstance(events, list) and len(events) < MOST_EVENTS:
            events.append(event)

    def to_dict(self) -> dict[str, object]:
        """Return the data of the page; times are seconds since 1970."""
        hooks = [self._hook(each) for each in self._table.sorted()]
        return {
            "made": int(datetime.now(UTC).timestamp()),
            "about": self._runs.described,
            "totals": dict(self.totals),
            "bars": self._bars(),
            "bounds": BOUNDS,
            "hooks": hooks,
            "stopped": self._stopped,
            "failed": self._failed,
            "slow": [each for _, _, each in self._slow],
            "silent": self._silent(),
            "sessions": list(self._sessions.values()),
        }

    def _hook(self, stats: HookStats) -> dict[str, object]:
        bars = [0] * (len(BOUNDS) + 1)
        for ms, number in stats.times.items():
            bars[next((place for place, bound in enumerate(BOUNDS) if ms <= bound), len(BOUNDS))] += number
        return {**stats.to_dict(), "times": bars, "objected": self._objected[stats.name]}

    def _bars(self) -> dict[str, object]:
        """Return the events and the stopped ones over time, each bar `step` seconds from `first` on."""
        if not self._minutes:
            return {"step": STEPS[0], "first": 0, "bars": []}
        first, last = min(self._minutes) * 60, max(self._minutes) * 60
        step = next((each for each in STEPS if (last - first) // each < MOST_BARS), STEPS[-1])
        first -= first % step
        bars = [[0, 0] for _ in range(min((last - first) // step + 1, 10 * MOST_BARS))]
        for minute, found in self._minutes.items():
            place = min((minute * 60 - first) // step, len(bars) - 1)
            bars[place] = [bars[place][0] + found[0], bars[place][1] + found[1]]
        return {"step": step, "first": first, "bars": bars}

    def _silent(self) -> list[dict[str, object]]:
        """Return the hooks that are configured here and never objected or failed."""
        hooks = {each.name: each for each in self._runs.at.load().declarations.hooks}
        return [
            {"name": name, "events": list(hook.events), "runs": self._ran[name], "guard": hook.on_failure == "block"}
            for name, hook in hooks.items()
            if not self._objected[name] and name not in self._failing
        ]


def _short(text: object) -> str:
    shown = " ".join(str(text or "").split())
    return shown if len(shown) <= MAX_TEXT else f"{shown[:MAX_TEXT]}..."
