"""The times of `hookrun try --repeat`, and advice on making hooks faster."""

from __future__ import annotations

import os
import subprocess
from itertools import groupby
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING

from hookrun.core.files import relative_path
from hookrun.core.model import Hook
from hookrun.fire.explanation import was_started

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrun.core.model import AnyHook, HookResult

# Limit on the runs.
MAX_REPEAT = 1000

# Milliseconds that a hook takes, or could save, from which advice is given.
SLOW = 5.0

# How often an interpreter's start is measured.
STARTS = 5


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank percentile, or None without values."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)] if values else None


def figures(times: Sequence[float]) -> str:
    """Return the minimum, median and 95th percentile of times in milliseconds."""
    return f"min {min(times):.1f}, median {percentile(times, 0.5):.1f}, p95 {percentile(times, 0.95):.1f} ms"


class HookTimes:
    """One hook's times in milliseconds, and whether it always continued without a message."""

    def __init__(self, hook: AnyHook) -> None:
        self.hook = hook
        self.times: list[float] = []
        self.silent = True

    @property
    def median(self) -> float:
        """The median of its times."""
        return percentile(self.times, 0.5) or 0.0

    def add(self, run: HookResult) -> None:
        """Add one run."""
        verdict = run.verdict
        texts = (run.failure, verdict.message, verdict.additional_context, verdict.system_message)
        self.times.append(run.ms)
        self.silent &= run.action == "continue" and not any(texts)


class Times:
    """The times of a call's hooks, together and by hook, in the order in which they ran."""

    def __init__(self) -> None:
        self.together: list[float] = []
        self._hooks: dict[tuple[str, str], HookTimes] = {}

    def add(self, runs: Sequence[HookResult]) -> None:
        """Add the runs of one call."""
        for run in filter(was_started, runs):
            self._hooks.setdefault(_identity(run.hook), HookTimes(run.hook)).add(run)

    def of(self, hook: AnyHook) -> list[float]:
        """Return a hook's times; none if it never ran."""
        found = self._hooks.get(_identity(hook))
        return found.times if found is not None else []

    def label(self, hook: AnyHook) -> str:
        """Return a hook's name, with its file if another hook that ran has that name, too."""
        is_unique = [name for name, _ in self._hooks].count(hook.name) <= 1
        return hook.name if is_unique else f"{hook.name} ({relative_path(hook.location())})"

    def advice(self) -> Iterator[str]:
        """Yield what would make the hooks faster; measures the start of interpreters."""
        for each in self._hooks.values():
            if each.median >= SLOW:
                yield from self._about_one(each)
        for _, group in groupby(self._hooks.values(), key=lambda each: each.hook.layer):
            neighbours = [each for each in group if not getattr(each.hook, "background", False) and each.silent]
            medians = [each.median for each in neighbours]
            if all(each.hook.parallel for each in neighbours) or sum(medians) - max(medians) < SLOW:
                continue
            names = ", ".join(self.label(each.hook) for each in neighbours)
            took = f"in sequence they take {sum(medians):.1f} ms, the slowest of them {max(medians):.1f} ms"
            yield f"{names}: set `parallel` if none depends on another's work: {took}"

    def _about_one(self, measured: HookTimes) -> Iterator[str]:
        hook, label = measured.hook, self.label(measured.hook)
        if measured.silent and not (hook.when or hook.unless or getattr(hook, "background", False)):
            took = f"it allowed every call and took {measured.median:.1f} ms"
            yield f"{label}: {took}: a `when` would skip it for irrelevant calls"
        words = hook.look if isinstance(hook, Hook) else ()
        if words and os.path.basename(words[0]).startswith("python"):
            starts = []
            for _ in range(STARTS):
                began = perf_counter()
                try:
                    subprocess.run([words[0], "-c", ""], capture_output=True, check=False)
                except OSError:  # only on the hook's own PATH
                    return
                starts.append((perf_counter() - began) * 1000)
            took = f"starting {words[0]} takes {percentile(starts, 0.5):.1f} of its {measured.median:.1f} ms"
            yield f"{label}: {took}: configure the function with `python`, which forks instead"


def _identity(hook: AnyHook) -> tuple[str, str]:
    return hook.name, hook.location()
