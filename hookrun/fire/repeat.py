"""Measure `hookrun fire` (`--repeat`): run it many times and print the times on stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from itertools import groupby
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING

import hookrun
from hookrun.audit_reader import HOOK, latest_fires
from hookrun.events import resolve_event
from hookrun.files import relative_path
from hookrun.fire.invocation import FireInvocation
from hookrun.state import home_directory, timestamp
from hookrun.text import print_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from hookrun.fire.command import FireOptions
    from hookrun.model import Hook

# Milliseconds that a hook takes, or could save, from which advice is printed.
SLOW = 5.0

# Limit on the runs, also of `hookrun try --repeat`.
MAX_REPEAT = 1000

# Exit statuses of runs that hookrun completed: continue, and a refusal.
COMPLETED = (0, 2)

# How often an interpreter's start is measured.
STARTS = 5

# Fields of what a hook does besides continuing.
TEXTS = ("failure", "message", "additional_context", "system_message")


class HookTimes:
    """One hook's times in milliseconds, and whether it always continued without a message.

    `label` is its name, with the file if another hook has that name, too.
    """

    def __init__(self) -> None:
        self.label = ""
        self.times: list[float] = []
        self.silent = True

    @property
    def median(self) -> float:
        """The median of its times."""
        return percentile(self.times, 0.5) or 0.0


def repeat(argv: list[str], options: FireOptions) -> int:
    """Run `hookrun fire` with these arguments `options.repeat` times, each in a process, as an agent would.

    Print the last run's output, then the times and advice on making hooks faster. Return the last exit status. Each run
    is real and in the audit. A run that hookrun could not complete is the last, and nothing was measured.
    """
    main = os.path.join(os.path.dirname(os.path.abspath(hookrun.__file__)), "__main__.py")
    command = [sys.executable, "-I", main, "fire", *_without_repeat(argv)]
    stdin = sys.stdin.buffer.read() if options.ctx == "-" else b""
    times: list[float] = []
    hooks: dict[tuple[str, str], HookTimes] = {}
    for _ in range(options.repeat):
        since = timestamp()
        ms, done = _timed(lambda: subprocess.run(command, input=stdin, capture_output=True, check=False))
        if done.returncode not in COMPLETED:
            times.clear()
            break
        times.append(ms)
        if options.agent is None:
            _add_hooks(hooks, json.loads(done.stdout), _home(options), since)
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.buffer.flush()
    if times:
        print_message(f"{len(times)} run{'s' if len(times) > 1 else ''}: {_figures(times)}", "note")
        _report_hooks(hooks, options)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank percentile, or None without values."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)] if values else None


def _without_repeat(argv: list[str]) -> Iterator[str]:
    words = iter(argv)
    for word in words:
        if word == "--repeat":
            next(words, None)
        elif not word.startswith("--repeat="):
            yield word


def _timed(run: Callable[[], subprocess.CompletedProcess[bytes]]) -> tuple[float, subprocess.CompletedProcess[bytes]]:
    began = perf_counter()
    done = run()
    return (perf_counter() - began) * 1000, done


def _home(options: FireOptions) -> str:
    return os.path.abspath(options.home) if options.home else home_directory()


def _add_hooks(hooks: dict[tuple[str, str], HookTimes], verdict: dict[str, Any], home: str, since: str) -> None:
    """Add a run's hooks, by name and declaration. Only the log has these and each hook's texts.

    Without it, hooks of one name are one, and none is silent if the verdict has a text.
    """
    rows: list[dict[str, Any]] = [verdict | run for run in verdict["hooks"]]
    with suppress(OSError):
        for found in latest_fires(home, lambda run: run.request_id == verdict["request_id"], 1, not_before=since):
            rows = [run for run in found.hooks if run["kind"] == HOOK]
    for run in rows:
        times = hooks.setdefault((run.get("hook") or run["name"], run.get("source", "")), HookTimes())
        times.times.append(run["ms"])
        times.silent &= run.get("action") == "continue" and not any(map(run.get, TEXTS))


def _report_hooks(hooks: dict[tuple[str, str], HookTimes], options: FireOptions) -> None:
    names = [name for name, _ in hooks]
    for (name, source), each in hooks.items():
        each.label = name if names.count(name) == 1 else f"{name} ({relative_path(source)})"
        print_message(f"hook {each.label}: {_figures(each.times)}", "note")
    for line in _advice(hooks, options) if hooks else ():
        print_message(line, "hint")


def _figures(times: Sequence[float]) -> str:
    return f"min {min(times):.1f}, median {percentile(times, 0.5):.1f}, p95 {percentile(times, 0.95):.1f} ms"


def _advice(hooks: dict[tuple[str, str], HookTimes], options: FireOptions) -> Iterator[str]:
    invocation = FireInvocation(_home(options))
    invocation.load(os.getcwd(), options.config)
    if invocation.compiled is None:
        return
    candidates = invocation.compiled.candidates(resolve_event(options.event, invocation.events))
    ran: dict[Hook, HookTimes] = {}
    for hook in map(candidates.hook, range(candidates.count)):
        measured = hooks.get((hook.name, hook.location())) or hooks.get((hook.name, ""))
        if measured is not None:
            ran[hook] = measured
    for hook, measured in ran.items():
        if measured.median >= SLOW:
            yield from _about_one(hook, measured)
    for _, group in groupby(ran, key=lambda hook: hook.layer):
        neighbours = [hook for hook in group if not hook.background and ran[hook].silent]
        medians = [ran[hook].median for hook in neighbours]
        if all(hook.parallel for hook in neighbours) or sum(medians) - max(medians) < SLOW:
            continue
        names = ", ".join(ran[hook].label for hook in neighbours)
        figures = f"in sequence they take {sum(medians):.1f} ms, the slowest of them {max(medians):.1f} ms"
        yield f"{names}: set `parallel` if none depends on another's work: {figures}"


def _about_one(hook: Hook, measured: HookTimes) -> Iterator[str]:
    if measured.silent and not (hook.when or hook.unless or hook.background):
        figures = f"it allowed every call and took {measured.median:.1f} ms"
        yield f"{measured.label}: {figures}: a `when` would skip it for irrelevant calls"
    words = hook.look
    if words and os.path.basename(words[0]).startswith("python"):
        starts = []
        for _ in range(STARTS):
            try:
                starts.append(_timed(lambda: subprocess.run([words[0], "-c", ""], capture_output=True, check=False))[0])
            except OSError:  # only on the hook's own PATH
                return
        figures = f"starting {words[0]} takes {percentile(starts, 0.5):.1f} of its {measured.median:.1f} ms"
        yield f"{measured.label}: {figures}: configure the function with `python`, which forks instead"
