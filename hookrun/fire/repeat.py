"""Measure `hookrun fire` (`--repeat`): run it many times and print the times on stderr."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from itertools import groupby
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING

import hookrun
from hookrun.events import resolve_event
from hookrun.fire.invocation import FireInvocation
from hookrun.state import home_directory
from hookrun.text import print_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hookrun.fire.command import FireOptions
    from hookrun.model import Hook

SLOW = 5.0
"""Milliseconds that a hook takes, or could save, from which advice is printed."""

STARTS = 5
"""How often an interpreter's start is measured."""


class HookTimes:
    """One hook's times in milliseconds, and whether it always continued without a message."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.silent = True

    @property
    def median(self) -> float:
        """The median of its times."""
        return percentile(self.times, 0.5) or 0.0


def repeat(argv: list[str], options: FireOptions) -> int:
    """Run `hookrun fire` with these arguments `options.repeat` times, each in a process, as an agent would.

    Print the last run's output, then the times and advice on making hooks faster. Return the last exit status. Each run
    is real and in the audit.
    """
    main = os.path.join(os.path.dirname(os.path.abspath(hookrun.__file__)), "__main__.py")
    command = [sys.executable, "-I", main, "fire", *_without_repeat(argv)]
    stdin = sys.stdin.buffer.read() if options.ctx == "-" else b""
    times: list[float] = []
    hooks: dict[str, HookTimes] = {}
    for _ in range(options.repeat):
        ms, done = _timed(lambda: subprocess.run(command, input=stdin, capture_output=True, check=False))
        times.append(ms)
        if options.agent is None:
            _add_hooks(hooks, done.stdout)
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.buffer.flush()
    print_message(f"{len(times)} runs: {_figures(times)}", "note")
    for name, each in hooks.items():
        print_message(f"hook {name}: {_figures(each.times)}", "note")
    for line in _advice(hooks, options) if hooks else ():
        print_message(line, "hint")
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


def _add_hooks(hooks: dict[str, HookTimes], stdout: bytes) -> None:
    try:
        verdict = json.loads(stdout)
    except ValueError:  # an error, printed on stderr
        return
    for run in verdict["hooks"]:
        times = hooks.setdefault(run["name"], HookTimes())
        times.times.append(run["ms"])
        times.silent &= run["action"] == "continue" and not run.get("failure")


def _figures(times: Sequence[float]) -> str:
    return f"min {min(times):.1f}, median {percentile(times, 0.5):.1f}, p95 {percentile(times, 0.95):.1f} ms"


def _advice(hooks: dict[str, HookTimes], options: FireOptions) -> Iterator[str]:
    invocation = FireInvocation(os.path.abspath(options.home) if options.home else home_directory())
    invocation.load(os.getcwd(), options.config)
    if invocation.compiled is None:
        return
    candidates = invocation.compiled.candidates(resolve_event(options.event, invocation.events))
    ran = [hook for hook in map(candidates.hook, range(candidates.count)) if hook.name in hooks]
    for hook in ran:
        measured = hooks[hook.name]
        if measured.median >= SLOW:
            yield from _about_one(hook, measured)
    for _, group in groupby(ran, key=lambda hook: hook.layer):
        neighbours = [hook for hook in group if not hook.background and hooks[hook.name].silent]
        medians = [hooks[hook.name].median for hook in neighbours]
        if all(hook.parallel for hook in neighbours) or sum(medians) - max(medians) < SLOW:
            continue
        names = ", ".join(hook.name for hook in neighbours)
        figures = f"in sequence they take {sum(medians):.1f} ms, the slowest of them {max(medians):.1f} ms"
        yield f"{names}: set `parallel` if none depends on another's work: {figures}"


def _about_one(hook: Hook, measured: HookTimes) -> Iterator[str]:
    if measured.silent and not (hook.when or hook.unless or hook.background):
        figures = f"it allowed every call and took {measured.median:.1f} ms"
        yield f"{hook.name}: {figures}: a `when` would skip it for irrelevant calls"
    words = shlex.split(hook.target) if isinstance(hook.target, str) and hook.kind == "command" else list(hook.target)
    if hook.kind in ("command", "args") and words and os.path.basename(words[0]).startswith("python"):
        starts = []
        for _ in range(STARTS):
            try:
                starts.append(_timed(lambda: subprocess.run([words[0], "-c", ""], capture_output=True, check=False))[0])
            except OSError:  # only on the hook's own PATH
                return
        figures = f"starting {words[0]} takes {percentile(starts, 0.5):.1f} of its {measured.median:.1f} ms"
        yield f"{hook.name}: {figures}: configure the function with `python`, which forks instead"
