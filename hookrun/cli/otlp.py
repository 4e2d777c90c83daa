"""Send events of the audit to an OpenTelemetry receiver, as spans and metrics, through the official SDK."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hookrun.core import audit_reader
from hookrun.core.audit_reader import FireRecords, Record

# The opt-in of conventions that are in development, in a list with commas
# (opentelemetry.io/docs/specs/semconv/gen-ai).
OPT_IN, GEN_AI = "OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"

# Event -> target type and subtype of the GenAI conventions for guardrails, as proposed in 2026
# (github.com/open-telemetry/semantic-conventions-genai/pull/427). Hooks of other events guard nothing.
TARGETS = {
    "pre_tool_use": ("input", "tool_call"),
    "permission_request": ("input", "tool_call"),
    "post_tool_use": ("output", "tool_call"),
    "user_prompt_submit": ("input", "llm"),
    "stop": ("output", "llm"),
    "subagent_stop": ("output", "llm"),
}
# Action -> the conventions' verdict of a guardrail, and the action that its caller takes.
VERDICTS = {
    "block": ("deny", "block"),
    "skip": ("deny", "block"),
    "stop": ("deny", "block"),
    "modify": ("modify", "modify"),
    "ask": ("escalate", "escalate"),
    "allow": ("allow", "allow"),
    "continue": ("allow", "allow"),
}

# Fields of a record that are parts of a span, not its attributes.
NOT_ATTRIBUTES = frozenset({"v", "kind", "time", "traceparent"})
# Seconds: the histogram's bounds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

Attributes = dict[str, str | bool | int | float | Sequence[str]]


class ReceiverError(Exception):
    """The receiver was not reached, or refused; the message says why."""


class Receiver:
    """Sends to the receiver at a base URL (OTLP over HTTP, protobuf); further settings are OTEL_EXPORTER_OTLP_*."""

    def __init__(self, url: str) -> None:
        self._spans = OTLPSpanExporter(endpoint=f"{url.rstrip('/')}/v1/traces")
        self._metrics = OTLPMetricExporter(endpoint=f"{url.rstrip('/')}/v1/metrics")
        self._resource = Resource.create()
        if str(self._resource.attributes["service.name"]).startswith("unknown_service"):  # the SDK's own default
            self._resource = self._resource.merge(Resource({"service.name": "hookrun"}))
        self._scope = InstrumentationScope("hookrun", version("hookrun"))
        self._gen_ai = GEN_AI in os.environ.get(OPT_IN, "").split(",")

    def send(self, runs: Sequence[FireRecords]) -> None:
        """Send each run's spans, then the runs' metrics. Raises ReceiverError."""
        reports = _Reports()
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(reports)
        propagates, logger.propagate = logger.propagate, False
        try:
            spans = [span for run in runs for span in self._spans_of(run)]
            if (
                self._spans.export(spans).name != "SUCCESS"
                or self._metrics.export(self._measured(runs)).name != "SUCCESS"
            ):
                raise ReceiverError(reports.latest or "it took nothing")
        finally:
            logger.removeHandler(reports)
            logger.propagate = propagates

    def _spans_of(self, run: FireRecords) -> Iterator[ReadableSpan]:
        parent = _parent(run.header)
        trace = parent.trace_id if parent is not None else _number(run.request_id, 16)
        event = SpanContext(trace, _number(run.request_id, 8), is_remote=False, trace_flags=TraceFlags(1))
        begin, end = _times(run.header)
        if run.fire is not None:
            failure = "failed" if run.failed else None
            yield self._span(
                f"hookrun {run.fire.get('event')}", (event, parent), run.fire, (begin, end), failure=failure, more={}
            )
        finished = run.finished
        together = sum(_milliseconds(each) for each in finished) * 1_000_000 > end - begin
        for number, record in enumerate(finished):
            took = round(_milliseconds(record) * 1_000_000)
            name, own = str(record.get("hook")), _number(f"{run.request_id}/{record.get('kind')}/{number}", 8)
            context = SpanContext(trace, own, is_remote=False, trace_flags=TraceFlags(1))
            if record.get("kind") == audit_reader.BACKGROUND:
                times = _times(record)
            else:  # only the order and the durations are recorded
                times = begin, begin + took
                begin = begin if together else begin + took
            failure = str(record["failure"]) if "failure" in record else None
            guards = self._gen_ai and record.get("event") in TARGETS
            title = f"run_guardrail {name}" if guards else f"hook {name}"
            more = _guardrail(record, run.answer) if guards else {}
            yield self._span(title, (context, event), record, times, failure=failure, more=more)

    def _span(
        self,
        name: str,
        where: tuple[SpanContext, SpanContext | None],
        record: Record,
        times: tuple[int, int],
        *,
        failure: str | None,
        more: Mapping[str, str | bool],
    ) -> ReadableSpan:
        """Return a span, `where` is its own context and its parent's."""
        return ReadableSpan(
            name,
            *where,
            self._resource,
            {**_attributes(record), **more, **({"error.type": failure} if failure else {})},
            kind=SpanKind.CLIENT if "bytes_in" in record else SpanKind.INTERNAL,  # a process ran
            status=Status(StatusCode.ERROR, str(record.get("detail", failure))) if failure else Status(),
            start_time=times[0],
            end_time=times[1],
            instrumentation_scope=self._scope,
        )

    def _measured(self, runs: Sequence[FireRecords]):  # type: ignore[no-untyped-def]  # noqa: ANN202  # the SDK's own
        delta: dict[type, AggregationTemporality] = dict.fromkeys(
            (Counter, Histogram), AggregationTemporality.DELTA
        )  # a new process counts from nothing
        reader = InMemoryMetricReader(preferred_temporality=delta)
        provider = MeterProvider([reader], self._resource, shutdown_on_exit=False)
        meter = provider.get_meter("hookrun", version("hookrun"))
        count = meter.create_counter("hookrun.hook.runs", "{run}", "Runs of a hook.")
        duration = meter.create_histogram(
            "hookrun.hook.duration", "s", "How long a hook ran.", explicit_bucket_boundaries_advisory=BOUNDS
        )
        for run in runs:
            for record in run.finished:
                names = ("hook", "event", "agent", "action", "failure")
                about = {f"hookrun.{name}": str(record[name]) for name in names if name in record}
                count.add(1, about)
                duration.record(_milliseconds(record) / 1000, about)
        data = reader.get_metrics_data()
        provider.shutdown()
        return data


class _Reports(logging.Handler):
    """Keeps the SDK's latest report of what went wrong."""

    latest = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.latest = record.getMessage()


def _number(text: str, size: int) -> int:
    """Return an id of so many bytes that is the same whenever this is sent: a receiver can drop the second."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()) or 1


def _parent(record: Record) -> SpanContext | None:
    """Return the span of the agent in which the event happened, if the agent named one that is valid."""
    carrier = {"traceparent": str(record.get("traceparent", ""))}
    found = get_current_span(TraceContextTextMapPropagator().extract(carrier)).get_span_context()
    return found if found.is_valid else None


def _milliseconds(record: Record) -> float:
    ms = record.get("ms")
    return ms if isinstance(ms, int | float) else 0.0


def _times(record: Record) -> tuple[int, int]:
    """Return when it began and ended, in nanoseconds since 1970: a record is written at the end."""
    try:
        end = round(datetime.fromisoformat(str(record.get("time"))).timestamp() * 1000) * 1_000_000
    except ValueError:
        end = 0
    return max(0, end - round(_milliseconds(record) * 1_000_000)), end


def _attributes(record: Record) -> Attributes:
    """Return a record's fields as `hookrun.FIELD`: texts, numbers and lists of texts."""
    found: Attributes = {}
    for name, value in record.items():
        if name not in NOT_ATTRIBUTES and isinstance(value, str | bool | int | float):
            found[f"hookrun.{name}"] = value
        elif isinstance(value, list):
            found[f"hookrun.{name}"] = [str(each) for each in value]
    return found


def _guardrail(record: Record, taken: str) -> Mapping[str, str | bool]:
    """Return the attributes of the GenAI conventions: the hook's verdict, apart from the action that was taken."""
    kind, subtype = TARGETS[str(record.get("event"))]
    found: dict[str, str | bool] = {
        "gen_ai.operation.name": "run_guardrail",
        "gen_ai.guardrail.component.name": str(record.get("hook")),
        "gen_ai.guardrail.target.type": kind,
        "gen_ai.guardrail.target.subtype": subtype,
        "gen_ai.guardrail.verdict.type": VERDICTS.get(str(record.get("action")), ("allow", ""))[0],
    }
    if taken in VERDICTS:
        found["gen_ai.guardrail.action.type"] = VERDICTS[taken][1]
    if record.get("changed"):
        found["gen_ai.guardrail.security.content.modified"] = True
    if "session_id" in record:
        found["gen_ai.conversation.id"] = str(record["session_id"])
    return found
