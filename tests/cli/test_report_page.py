"""`hookrun report`: its figures are those of `stats`, nothing from the log becomes markup, and a browser shows it."""

from __future__ import annotations

import functools
import json
import re
import threading
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.cli.report_page import MOST_EVENTS, MOST_STOPPED
from tests.cli.command import hookrun
from tests.docs import test_browser
from tests.docs.test_browser import BROWSER, NARROW, Handler, Site
from tests.fire.agents import says
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Project

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"

in_a_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on PATH: the report was NOT looked at in a browser"),
]

LOOK = """
<!doctype html><meta charset="utf-8"><body><script>
const frame = document.createElement("iframe");
frame.style = "width: WIDTHpx; height: 900px; border: 0";
frame.onload = () => {
  const page = frame.contentDocument, all = page.documentElement;
  const read = row => [...row.cells].map(it => it.textContent), color = it => frame.contentWindow.getComputedStyle(it);
  const picker = page.querySelector("select"), before = page.querySelectorAll("#session tbody tr").length;
  const filter = page.querySelector("#stopped input");
  const stopped = () => page.querySelectorAll("#stopped tbody tr").length;
  const counts = [stopped()];
  const more = page.querySelector("#stopped button");
  if (more) more.click();
  counts.push(stopped());
  if (filter) {
    filter.value = "no such text";
    filter.dispatchEvent(new frame.contentWindow.Event("input"));
    counts.push(stopped());
  }
  fetch("/report", {method: "POST", body: JSON.stringify({
    title: page.title, wide: all.scrollWidth > all.clientWidth, images: page.images.length,
    totals: Object.fromEntries([...page.querySelectorAll(".tiles b")].map(it => [it.id, it.textContent])),
    hooks: [...page.querySelectorAll("#hooks tbody tr")].map(read),
    replay: [...page.querySelectorAll("#replay tbody tr")].map(read),
    silent: [...page.querySelectorAll("#silent tbody tr")].map(read),
    learned: Object.fromEntries(["tools", "lessons", "sequences"].map(
      it => [it, [...page.querySelectorAll(`#${it} tbody tr`)].map(read)])),
    sections: [...page.querySelectorAll("section")].map(it => it.id), counts, before, sessions: picker.options.length,
    colors: [page.body, page.querySelector(".tiles div")].map(it => color(it).backgroundColor),
    unreachable: [...page.querySelectorAll("a, button, input, select, .wide")].filter(it => it.tabIndex < 0).length,
    targets: [...page.querySelectorAll("nav a")].every(it => page.querySelector(it.getAttribute("href"))),
  })});
};
frame.src = "/report.html";
document.body.append(frame);
</script>
"""
"""A page that loads the report in a frame, uses it, and reports what it shows."""


@pytest.fixture
def look(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Serve a directory, and return what a browser finds on a report in it."""
    directory = tmp_path / "site"
    directory.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = Site(directory, f"http://127.0.0.1:{server.server_address[1]}")

    def report(project: Project, *arguments: str, width: int = 1200) -> Any:
        done = hookrun(project, "report", "--html", str(directory / "report.html"), *arguments)
        assert (done.status, done.stderr) == (0, "")
        return site.report(LOOK.replace("WIDTH", str(width)))

    yield report
    server.shutdown()
    server.server_close()


def fire(project: Project, command: str = "ls") -> None:
    """Run a guard that blocks, a hook that fails, and one that is silent."""
    block: dict[str, object] = {"name": "guard", "command": says(action="block", message="no <b>bold</b> moves")}
    quiet: dict[str, object] = {"name": "quiet", "command": "true", "priority": 1}
    project.hooks(quiet, {"name": "bad", "command": "exit 3", "priority": 2}, block)
    project.fire({"session_id": "s1", "tool_name": "bash", "tool_args": {"command": command}})


def write_log(project: Project, events: int) -> None:
    """Write a log of so many events with one hook each; every fourth is blocked."""
    lines = []
    for number in range(events):
        moment = (
            f"2026-01-{1 + number // 86400:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        )
        action = "block" if number % 4 == 0 else "continue"
        about = {"v": 1, "time": moment, "request_id": f"{number:016x}", "session_id": f"s{number // 1000}"}
        about |= {"event": "pre_tool_use", "tool": "bash", "action": action}
        source = {"hook": "guard", "source": "/p/coder.json:3", "message": "no"}
        lines.append(json.dumps({**about, "kind": "hook", **source, "ms": number % 977 / 10}))
        lines.append(json.dumps({**about, "kind": "fire", "ms": 2.0, "own_ms": 1.0, "project": "/p", "command": "ls"}))
    project.audit_path.parent.mkdir(parents=True, exist_ok=True)
    project.audit_path.write_text("\n".join(lines) + "\n")


def figures(hooks: Any) -> list[tuple[object, ...]]:
    """Return the figures that `stats` and the report share."""
    names = ("name", "source", "runs", "failures", "p50_ms", "p95_ms", "max_ms")
    return [tuple(each[name] for name in names) for each in hooks]


def test_its_figures_are_those_of_stats(project: Project) -> None:
    """Hooks in the same order, counts and times; also of hooks in the background."""
    fire(project)
    fire(project)
    project.hooks({"name": "later", "event": "stop", "command": "true", "background": True})
    project.fire({"session_id": "s1"}, event="stop")
    until(lambda: any(each["kind"] == "background" for each in project.audit()), "it never ended")
    found = hookrun(project, "report", "--json").json
    assert figures(found["hooks"]) == figures(hookrun(project, "stats", "--json").json["hooks"])
    totals = found["totals"]
    assert isinstance(totals, dict)
    assert (totals["events"], totals["stopped"], totals["failed"]) == (3, 2, 2)


def test_what_was_stopped_failed_and_silent(project: Project) -> None:
    """With the reason, the run's id, and the hooks that never objected."""
    fire(project)
    found: Any = hookrun(project, "report", "--json").json
    (stopped,) = found["stopped"]
    assert (stopped["hook"], stopped["reason"], stopped["subject"]) == ("guard", "no <b>bold</b> moves", "ls")
    assert hookrun(project, "why", stopped["id"]).status == 0
    assert [(each["hook"], each["failure"]) for each in found["failed"]] == [("bad", "exit_code")]
    assert [(each["name"], each["runs"]) for each in found["silent"]] == [("quiet", 1)]
    assert {each["hook"] for each in found["slow"]} == {"guard", "bad", "quiet"}
    (session,) = found["sessions"]
    assert (session["id"], session["count"], len(session["events"])) == ("s1", 1, 1)


def test_a_hostile_command_is_text(project: Project) -> None:
    """It cannot end the script that holds the data, and the page lets no script run but its own."""
    fire(project, HOSTILE)
    assert hookrun(project, "report", "--html", "r.html").stdout == "wrote r.html: 1 event\n"
    text = (project.root / "r.html").read_text()
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='\"", text)
    assert re.findall(r"(?:src|href)=\"?https?:|url\(|@import", text) == []


def test_where_it_goes(project: Project) -> None:
    """By default into the account's state, for this account only."""
    fire(project)
    done = hookrun(project, "report")
    page = project.home / ".local/state/hookrun/report.html"
    assert done.stdout.endswith("hookrun/report.html: 1 event\n")
    assert page.stat().st_mode & 0o777 == 0o600
    done = hookrun(project, "report", "--html", "missing/r.html")
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")


def test_nothing_is_recorded(project: Project) -> None:
    """The page says so, too."""
    done = hookrun(project, "report", "--html", "r.html")
    assert (done.status, done.stdout) == (0, "wrote r.html: 0 events\n")
    assert done.stderr.startswith("hint: nothing is recorded yet")


def test_lists_are_cut_and_say_so(project: Project) -> None:
    """The page of a large log is small."""
    write_log(project, 4000)
    found: Any = hookrun(project, "report", "--all-projects", "--json").json
    assert len(found["stopped"]) == MOST_STOPPED < found["totals"]["stopped"] == 1000
    assert {len(each["events"]) for each in found["sessions"]} == {MOST_EVENTS}
    assert {each["count"] for each in found["sessions"]} == {1000}
    assert sum(all_of for all_of, _ in found["bars"]["bars"]) == 4000


class TestInABrowser:
    """Headless Chromium; errors on its console fail a test."""

    pytestmark = in_a_browser

    def test_it_shows_what_stats_has(self, project: Project, look: Callable[..., Any]) -> None:
        """The same figures; every part can be reached by keyboard; nothing hostile ran."""
        fire(project, HOSTILE)
        fire(project)
        shown = look(project)
        assert (shown["title"], shown["images"], shown["unreachable"]) == ("hookrun report", 0, 0)
        assert shown["sections"] == ["time", "hooks", "stopped", "failed", "slow", "silent", "session"]
        assert shown["targets"]
        stats: Any = hookrun(project, "stats", "--json").json["hooks"]
        of_page = {row[0]: (row[1], row[3], row[8]) for row in shown["hooks"]}
        failed = {"exit_code": "2 exit_code"}
        assert of_page == {
            each["name"]: (str(each["runs"]), "".join(failed[kind] for kind in each["failures"]), each["source"])
            for each in stats
        }
        assert shown["totals"] == {"total-events": "2", "total-hook": "6", "total-stopped": "2", "total-failed": "2"}
        assert [row[0] for row in shown["silent"]] == ["quiet"]

    def test_what_was_learned_is_that_of_stats(self, project: Project, look: Callable[..., Any]) -> None:
        """Times of tools, fixes of errors and sequences that work, by the recipes that keep them."""
        recipes = ("tool-times", "learn-from-errors", "learn-patterns")
        (project.root / "coder.json").write_text(json.dumps({"hooks": [{"recipe": each} for each in recipes]}))
        for number in range(4):
            session = {"session_id": f"s{number}", "tool_name": "bash", "working_dir": str(project.root)}
            for place, (command, error) in enumerate(
                [
                    ("pytest -q", "ModuleNotFoundError: No module named 'yaml'"),
                    ("pip install pyyaml", None),
                    ("pytest -q", None),
                ]
            ):
                call = {**session, "tool_args": {"command": command}, "duration_ms": 100 * number + place}
                failed = {"tool_result_error": error} if error else {}
                project.fire({**call, **failed}, event="post_tool_failure" if error else "post_tool_use")
        shown = look(project)
        stats: Any = hookrun(project, "stats", "--json").json
        (tool,), (lesson,) = stats["tools"], stats["lessons"]
        assert (tool["count"], tool["failures"], lesson["fix"]) == (12, 4, "running `pip install pyyaml`")
        times = [f"{round(tool[name])} ms" for name in ("p50_ms", "p95_ms", "max_ms")]
        assert shown["learned"] == {
            "tools": [["bash", "12", "4", *times]],
            "lessons": [
                [lesson["fingerprint"], lesson["fix"], f"{lesson['held']} of {lesson['tried']}", lesson["at"][:10]]
            ],
            "sequences": [
                [" before ".join(each["steps"]), str(each["times"]), f"{each['worked']} of the latest {each['latest']}"]
                for each in stats["sequences"]
            ],
        }
        assert shown["sections"][-3:] == ["tools", "lessons", "sequences"]
        assert shown["targets"]

    def test_a_phone_and_a_large_log(self, project: Project, look: Callable[..., Any]) -> None:
        """50,000 events: no sideways scrolling, rows come in parts, and the filter works."""
        write_log(project, 50_000)
        shown = look(project, "--all-projects", width=NARROW)
        assert not shown["wide"]
        assert shown["totals"]["total-events"] == "50,000"
        assert shown["counts"] == [100, 200, 0]
        assert (shown["before"], shown["sessions"]) == (100, 50)

    def test_light_and_dark(self, project: Project, look: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """As the system is set."""
        fire(project)
        light = look(project)["colors"]
        monkeypatch.setattr(test_browser, "FLAGS", (*test_browser.FLAGS, "--blink-settings=preferredColorScheme=0"))
        dark = look(project)["colors"]
        assert [bright(each) > bright(other) for each, other in zip(light, dark, strict=True)] == [True, True]

    def test_differences_of_a_replay(self, project: Project, look: Callable[..., Any]) -> None:
        """From the JSON of `hookrun replay`."""
        fire(project)
        example = {"subject": HOSTILE, "time": "2026-01-01T00:00:00Z", "agent": "claude", "said": "no"}
        difference = {"hook": "guard", "was": "ran", "now": "block", "count": 1200, "examples": [example]}
        (project.root / "replay.json").write_text(json.dumps({"differences": [difference]}))
        shown = look(project, "--replay", "replay.json")
        assert shown["replay"] == [["guard", "ran", "block", "1,200", HOSTILE]]


def bright(color: str) -> int:
    """Return the sum of a color's parts."""
    return sum(map(int, re.findall(r"\d+", color)[:3]))
