"""What `hookrun try --long` adds: what each hook read and wrote, and how it changed the arguments."""

from __future__ import annotations

from json import loads
from typing import TYPE_CHECKING

from hookrun.cli.printing import json_text
from hookrun.core.text import diff
from hookrun.fire.explanation import arguments, runs_in_background, runs_of, shown_lines, was_started

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookrun.cli.printing import Line
    from hookrun.core.model import Verdict
    from hookrun.fire.invocation import EventFire

DIFF_STYLES = {"+": "ok", "-": "error", "@": "dim"}


def transcript(fires: Sequence[tuple[EventFire, Verdict]], inputs: Mapping[int, bytes]) -> Iterator[Line]:
    """Yield the lines of each hook that was started; `inputs` is what they read, by the id of the outcome.

    An input equal to the last is omitted.
    """
    last: object = None
    for fire, verdict in fires:
        for run in runs_of(fire):
            if not (was_started(run) or runs_in_background(run)):
                continue
            yield from (("", ""), (run.name, "bold"))
            current, stdin = _parse_input(inputs.get(id(run.outcome), b""))
            if current == last:
                stdin = []
                yield "  input   as above", "dim"
            last = current
            output, errors = shown_lines(run.outcome.stdout), shown_lines(run.outcome.stderr)
            for title, texts in (("input", stdin), ("output", output), ("stderr", errors)):
                for number, text in enumerate(texts):
                    yield f"  {'' if number else title:<7} {text}", ""
            if run.outcome.exit_code:
                yield f"  exit status {run.outcome.exit_code}", ""
        if verdict.modified_args is not None:
            yield from (("", ""), ("arguments (- before, + after)", "bold"))
            for line in diff(*(json_text(each, 2) for each in arguments(fire))):
                yield f"  {line}", DIFF_STYLES.get(line[:1], "")


def _parse_input(stdin: bytes) -> tuple[object, list[str]]:
    """Return a hook's input without its name, to compare, and its lines, which can wrap."""
    try:
        data = loads(stdin)
    except ValueError:
        return stdin, shown_lines(stdin)
    spaced = json_text(data).encode("utf-8", "backslashreplace")
    return {**data, "hook": None} if isinstance(data, dict) else data, shown_lines(spaced)
