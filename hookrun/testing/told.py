"""What is told of a case that did not pass, as plain lines: differences, who ran, stderr, and how to try it."""

from __future__ import annotations

import difflib
import json
import os
from shlex import quote
from typing import TYPE_CHECKING

from hookrun.testing.judge import as_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.testing.came import Came
    from hookrun.testing.judge import Difference
    from hookrun.testing.ran import Ran

LONGEST_CONTEXT = 4000
"""Characters of a context beyond which the line to try a case does not hold it."""


def failure(ran: Ran) -> Iterator[str]:
    """Yield the lines about a case that did not pass."""
    if ran.problems:
        yield from (f"BROKEN {problem}" for problem in ran.problems)
        return
    yield f"FAIL {ran.case.where}: {ran.name}"
    for each in ran.differences:
        yield from (f"  {line}" for line in difference(each))
    if ran.came is None:
        return
    yield f"  ran: {_what_ran(ran.came)}"
    for name, text in ran.came.stderr():
        yield f"  stderr of {name}:"
        yield from (f"    | {line}" for line in text.splitlines())
    gone = " (its own directory is gone)" if ran.directory is not None else ""
    yield f"  try it{gone}: {line_to_try(ran)}"


def difference(found: Difference) -> Iterator[str]:
    """Yield the lines of a difference: what was expected with `-`, what came with `+`."""
    expected, came = as_lines(found.expected), as_lines(found.came)
    if len(expected) == len(came) == 1:
        yield f"- {found.key}: {expected[0]}"
        yield f"+ {found.key}: {came[0]}"
    else:
        yield f"{found.key}:"
        yield from (f"{line[0]} {line[2:]}" for line in difflib.ndiff(expected, came) if line[0] != "?")
    if found.why:
        yield f"({found.why})"


def _what_ran(came: Came) -> str:
    said = []
    for run in came.runs:
        failed = f", failed: {run.failure.kind}" if run.failure is not None else ""
        said.append(f"{run.name} ({run.action}{failed}, {run.ms:.0f} ms)")
    return ", ".join(said) or "no hook"


def line_to_try(ran: Ran) -> str:
    """Return the command line that fires the same at the same hooks and says of each why it ran or did not."""
    case, came = ran.case, ran.came
    context = json.dumps(came.context if came is not None else case.context, ensure_ascii=False)
    if len(context) > LONGEST_CONTEXT:
        context = "..."
    where = ran.declared.root if ran.declared is not None else "."
    there = "" if where == os.getcwd() else f"cd {quote(where)} && "
    config = f" --config {quote(case.file.config)}" if case.file.config is not None else ""
    env = "".join(f"{name}={quote(value)} " for name, value in case.env.items())
    return f"{there}printf %s {quote(context)} | {env}hookrun fire {case.event} --explain{config}"
