"""`hookrun export`: what an OpenTelemetry receiver gets, decoded, and the file for node_exporter."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.command import hookrun
from tests.fire.agents import says
from tests.rows import rows
from tests.waiting import ended, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Project

pytestmark = pytest.mark.skipif(
    find_spec("opentelemetry.sdk") is None, reason="no OpenTelemetry SDK: pip install 'hookrun[otel]'"
)

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GEN_AI = "http,gen_ai_latest_experimental"


class Receiver:
    """A receiver of OTLP over HTTP on loopback; `status` is what it answers."""

    def __init__(self) -> None:
        self.status = 200
        self.bodies: list[tuple[str, bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if receiver.status == 200:
                    receiver.bodies.append((self.path, body))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def spans(self) -> list[Any]:
        """Return the spans received, decoded."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = [ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/traces"]
        return [span for each in requests for one in each.resource_spans for of in one.scope_spans for span in of.spans]

    def metrics(self) -> list[Any]:
        """Return the metrics received, decoded."""
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        found = [ExportMetricsServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/metrics"]
        return [one for each in found for of in each.resource_metrics for it in of.scope_metrics for one in it.metrics]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Start a receiver."""
    found = Receiver()
    threading.Thread(target=found.server.serve_forever, daemon=True).start()
    yield found
    found.server.shutdown()
    found.server.server_close()


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a span or a data point."""
    found = {}
    for each in of.attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [it.string_value for it in value.values] if kind == "array_value" else value
    return found


def fire(project: Project, **env: str) -> str:
    """Run a guard that blocks, and one that fails; return the request id."""
    block = says(action="block", message="no")
    project.hooks({"name": "bad", "command": "exit 3", "priority": 1}, {"name": "guard", "command": block})
    return str(project.fire(env=env).verdict["request_id"])


def test_an_event_is_a_span_with_one_for_each_hook(project: Project, receiver: Receiver) -> None:
    """Their fields are attributes, their times those of the log; the failure is an error."""
    request = fire(project)
    done = hookrun(project, "export", "--otlp", receiver.url)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout == f"exported 1 event with 2 hook runs to {receiver.url}\n"
    event, *hooks = receiver.spans()
    record = next(each for each in project.audit() if each["kind"] == "fire")
    assert event.name == "hookrun pre_tool_use"
    found = attributes(event)
    assert (found["hookrun.request_id"], found["hookrun.action"], found["hookrun.tool"]) == (request, "block", "bash")
    assert found["hookrun.project"] == str(project.root)
    assert round((event.end_time_unix_nano - event.start_time_unix_nano) / 1e6, 1) == record["ms"]
    assert {each.parent_span_id for each in hooks} == {event.span_id}
    assert {each.trace_id for each in hooks} == {event.trace_id}
    assert event.parent_span_id == b""
    by_name = {each.name: each for each in hooks}
    assert by_name.keys() == {"hook bad", "hook guard"}
    assert attributes(by_name["hook bad"])["error.type"] == "exit_code"
    assert by_name["hook bad"].status.code == 2
    assert attributes(by_name["hook guard"])["hookrun.message"] == "no"
    assert not [name for each in hooks for name in attributes(each) if name.startswith("gen_ai.")]


def test_metrics_count_the_hooks_runs(project: Project, receiver: Receiver) -> None:
    """By hook, event and result; the histogram has seconds."""
    fire(project)
    hookrun(project, "export", "--otlp", receiver.url)
    metrics = {each.name: each for each in receiver.metrics()}
    runs = {attributes(each)["hookrun.hook"]: each for each in metrics["hookrun.hook.runs"].sum.data_points}
    assert {name: each.as_int for name, each in runs.items()} == {"bad": 1, "guard": 1}
    assert attributes(runs["guard"])["hookrun.action"] == "block"
    assert attributes(runs["bad"])["hookrun.failure"] == "exit_code"
    duration = metrics["hookrun.hook.duration"]
    times = {str(each["hook"]): each["ms"] for each in project.audit() if each["kind"] == "hook"}
    assert duration.unit == "s"
    for each in duration.histogram.data_points:
        assert (each.count, round(each.sum * 1000, 1)) == (1, times[attributes(each)["hookrun.hook"]])


def test_the_conventions_for_guardrails_are_opted_into(project: Project, receiver: Receiver) -> None:
    """The verdict of a hook stands apart from the action that was taken; events that guard nothing have neither."""
    fire(project)
    hookrun(project, "export", "--otlp", receiver.url, OTEL_SEMCONV_STABILITY_OPT_IN=GEN_AI)
    project.hooks({"name": "end", "event": "session_end", "command": "true"})
    project.fire({}, event="session_end")
    hookrun(project, "export", "--otlp", receiver.url, OTEL_SEMCONV_STABILITY_OPT_IN=GEN_AI)
    hooks = {each.name: attributes(each) for each in receiver.spans() if each.parent_span_id}
    assert hooks.keys() == {"run_guardrail bad", "run_guardrail guard", "hook end"}
    guard = {name: value for name, value in hooks["run_guardrail guard"].items() if name.startswith("gen_ai.")}
    assert guard == {
        "gen_ai.operation.name": "run_guardrail",
        "gen_ai.guardrail.component.name": "guard",
        "gen_ai.guardrail.target.type": "input",
        "gen_ai.guardrail.target.subtype": "tool_call",
        "gen_ai.guardrail.verdict.type": "deny",
        "gen_ai.guardrail.action.type": "block",
        "gen_ai.conversation.id": "s1",
    }
    bad = hooks["run_guardrail bad"]
    assert (bad["gen_ai.guardrail.verdict.type"], bad["gen_ai.guardrail.action.type"]) == ("allow", "block")


@rows(
    "given, parent",
    [
        (f"00-{TRACE}-{SPAN}-01", SPAN),
        (f"00-{TRACE}-{'0' * 16}-01", ""),
        ("x" * 55, ""),
        (f"{TRACE} or a secret of fifty-five characters, no trace", ""),
    ],
)
def test_spans_are_below_the_agents_own(project: Project, receiver: Receiver, given: str, parent: str) -> None:
    """By the TRACEPARENT of its environment, if that is one; they are in the same trace."""
    fire(project, TRACEPARENT=given)
    hookrun(project, "export", "--otlp", receiver.url)
    event = receiver.spans()[-3]
    assert event.parent_span_id.hex() == parent
    assert (event.trace_id.hex() == TRACE) == (parent == SPAN)


def test_each_run_is_exported_once(project: Project, receiver: Receiver) -> None:
    """Whatever happens to the log meanwhile: it grows, is rotated, and has a torn last line."""
    first = fire(project)
    assert hookrun(project, "export", "--otlp", receiver.url, "--json").json["events"] == 1
    assert hookrun(project, "export", "--otlp", receiver.url, "--json").json["events"] == 0
    second = fire(project)
    log = project.audit_path
    log.rename(f"{log}.1")
    third = fire(project)
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    assert hookrun(project, "export", "--otlp", receiver.url, "--json").json["events"] == 1
    log.write_bytes(whole)  # it is written to its end
    assert hookrun(project, "export", "--otlp", receiver.url, "--json").json["events"] == 1
    requests = [attributes(each)["hookrun.request_id"] for each in receiver.spans() if each.name[:7] == "hookrun"]
    assert requests == [first, second, third]
    assert [each.name for each in receiver.spans()] == ["hookrun pre_tool_use", "hook bad", "hook guard"] * 3
    other = hookrun(project, "export", "--otlp", f"{receiver.url}/", "--json").json
    assert other["events"] == 3  # another place


def test_what_was_removed_before_is_reported(project: Project, receiver: Receiver) -> None:
    """The log kept too little."""
    fire(project)
    hookrun(project, "export", "--otlp", receiver.url)
    project.audit_path.rename(f"{project.audit_path}.gone")
    fire(project)
    done = hookrun(project, "export", "--otlp", receiver.url)
    assert done.stderr.startswith("warning: runs were removed from the log before they were exported\nhint: ")


@rows("status, why", [(400, "400"), (401, "401")])
def test_a_receiver_that_refuses_gets_it_the_next_time(
    project: Project, receiver: Receiver, status: int, why: str
) -> None:
    """The error names it, the exit status is 1."""
    receiver.status = status
    fire(project)
    done = hookrun(project, "export", "--otlp", receiver.url)
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {receiver.url}: ")
    assert why in done.stderr
    assert done.stderr.endswith("\nhint: nothing is lost: the next export to it continues here\n")
    receiver.status = 200
    assert hookrun(project, "export", "--otlp", receiver.url, "--json").json["events"] == 1


def test_a_receiver_that_is_not_there(project: Project) -> None:
    """Is an error, too."""
    fire(project)
    done = hookrun(project, "export", "--otlp", "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1")
    assert (done.status, done.stderr.splitlines()[0][:27]) == (1, "error: http://127.0.0.1:9: ")


def test_what_is_sent_twice_has_the_same_ids(project: Project, receiver: Receiver) -> None:
    """So that a receiver can tell: here where it ended is forgotten."""
    fire(project)
    for _ in range(2):
        hookrun(project, "export", "--otlp", receiver.url)
        shutil.rmtree(project.home / ".local/state/hookrun/export")
    ids = [each.span_id for each in receiver.spans()]
    assert (ids[:3], len(set(ids))) == (ids[3:], 3)


def test_a_hook_in_the_background_is_below_its_event(project: Project, receiver: Receiver) -> None:
    """Though it ends later; it is one span."""
    project.hooks({"name": "later", "event": "stop", "command": "true", "background": True})
    project.fire({"session_id": "s1"}, event="stop")
    until(lambda: any(each["kind"] == "background" for each in project.audit()), "it never ended")
    hookrun(project, "export", "--otlp", receiver.url)
    event, later = receiver.spans()
    assert (later.name, later.parent_span_id, later.trace_id) == ("hook later", event.span_id, event.trace_id)


def test_it_follows(project: Project, receiver: Receiver) -> None:
    """New runs are sent as they come, until Ctrl-C; meanwhile no other export goes there."""
    fire(project)
    command = [sys.executable, "-m", "hookrun", "export", "--otlp", receiver.url, "--follow"]
    process = subprocess.Popen(
        command, cwd=project.root, env=project.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: len(receiver.spans()) == 3, "the first run was not sent")
        fire(project)
        until(lambda: len(receiver.spans()) == 6, "the second run was not sent")
        second = hookrun(project, "export", "--otlp", receiver.url)
        assert second.stderr == f"error: another export to {receiver.url} is running\n"
    finally:
        process.send_signal(signal.SIGINT)
        status = ended(process)
        out, err = process.communicate()
    assert status == 130
    assert out.startswith(f"exported 1 event with 2 hook runs to {receiver.url}\n"), err


def test_a_dry_run_sends_and_writes_nothing(project: Project, receiver: Receiver, tmp_path: Path) -> None:
    """It counts, or prints the file."""
    fire(project)
    done = hookrun(project, "export", "--otlp", receiver.url, "--dry-run")
    assert done.stdout == f"would export 1 event with 2 hook runs to {receiver.url}\n"
    text = hookrun(project, "export", "--prometheus", str(tmp_path / "a.prom"), "--dry-run").stdout
    assert 'hookrun_hook_runs_total{hook="guard",event="pre_tool_use",action="block"} 1\n' in text
    assert receiver.bodies == []
    assert not (project.home / ".local/state/hookrun/export").exists()
    assert not (tmp_path / "a.prom").exists()


def test_older_runs_are_left_out(project: Project, receiver: Receiver) -> None:
    """By `--since`."""
    fire(project)
    assert hookrun(project, "export", "--otlp", receiver.url, "--since", "2099-01-01", "--json").json["events"] == 0


def test_the_filters_are_those_of_the_log(project: Project, tmp_path: Path, receiver: Receiver) -> None:
    """Each selection continues where it ended; the default is all projects."""
    fire(project)
    (tmp_path / "web").mkdir()
    for options, events in (
        (["--project", str(tmp_path / "web")], 0),
        (["--project", str(project.root), "--hook", "guard"], 1),
        (["--event", "PreToolUse", "--action", "allow"], 0),
        ([], 1),
        ([], 0),
    ):
        done = hookrun(project, "export", "--otlp", receiver.url, "--json", *options)
        assert done.json["events"] == events, options


def test_totals_for_node_exporter_grow_though_the_log_is_rotated_away(project: Project, tmp_path: Path) -> None:
    """The file is replaced, and readable by everyone."""
    path = tmp_path / "hookrun.prom"
    for expected in (1, 2):
        fire(project)
        done = hookrun(project, "export", "--prometheus", str(path))
        assert (done.status, done.stderr) == (0, "" if expected == 1 else done.stderr)
        text = path.read_text()
        assert f'hookrun_hook_runs_total{{hook="guard",event="pre_tool_use",action="block"}} {expected}\n' in text
        bucket = r'hookrun_hook_duration_seconds_bucket\{hook="guard",event="pre_tool_use",le="\+Inf"\} (\d+)'
        assert re.findall(bucket, text) == [str(expected)]
        assert "hookrun_sessions_total 0\n" in text
        project.audit_path.unlink()
    assert path.stat().st_mode & 0o777 == 0o644


@rows(
    "arguments, error",
    [
        ("", "give either --otlp URL or --prometheus FILE"),
        ("--otlp http://a --prometheus b", "give either --otlp URL or --prometheus FILE"),
        ("--otlp localhost:4317", '"localhost:4317" is not an HTTP URL'),
        ("--otlp http://a --follow --dry-run", "--follow and --dry-run exclude each other"),
        ("--otlp http://a --since noon", '"noon" is not a time'),
        ("--prometheus missing/x.prom", "No such file or directory"),
    ],
)
def test_wrong_options(project: Project, arguments: str, error: str) -> None:
    """The error names them."""
    done = hookrun(project, "export", *arguments.split())
    assert done.status == 1
    assert error in done.stderr


def test_a_url_is_shown_without_its_password(project: Project, receiver: Receiver) -> None:
    """Neither on the screen nor in the state."""
    fire(project)
    done = hookrun(project, "export", "--otlp", receiver.url.replace("://", "://me:pa55word@"))
    assert done.stdout.endswith(f"to {receiver.url}\n")
    state = project.home / ".local/state/hookrun/export"
    assert "pa55word" not in "".join(each.read_text() for each in state.iterdir())
    assert json.loads(next(state.glob("*.json")).read_text())["to"] == receiver.url
