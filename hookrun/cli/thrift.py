"""What would make hooks cost less: each piece of advice stands on figures that were measured here, or is not given."""

from __future__ import annotations

import re
import shlex
from itertools import groupby
from typing import TYPE_CHECKING

from hookrun.measure import of_a_condition
from hookrun.process.prepare import HookEnvironment, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrun.measure import Bench, Cost

PLAIN_LINE = re.compile(r"[A-Za-z0-9_@%+:,./ -]+")
"""A shell line in which the shell has nothing to do but to start a program."""

WORTH = 0.3
"""Milliseconds a call below which nobody needs advice."""
MUCH = 5.0
"""Milliseconds a call that are worth a change of declarations."""
SHARE = 0.8
"""Side by side is advised where it takes no more than this share of one after the other."""


def advice(bench: Bench, costs: Sequence[Cost]) -> list[str]:
    """Return the advice there is for hooks that ran well; measures what it needs besides."""
    well = [cost for cost in costs if not cost.failures]
    return [*_without_shell(bench, well), *_conditions(bench, well), *_side_by_side(bench, well)]


def _without_shell(bench: Bench, costs: Sequence[Cost]) -> Iterator[str]:
    for cost in costs:
        words = _words(cost)
        if not words:
            continue
        bench.as_words(cost, words)
        saved = cost.whole.p50 - cost.as_words.p50
        if saved >= WORTH and saved >= 0.05 * cost.whole.p50:
            figures = f"measured {cost.whole.p50:.1f} ms with a shell, {cost.as_words.p50:.1f} ms without"
            yield f'{cost.hook.name}: write "args": {_listed(words)} instead of "command": {figures}'


def _words(cost: Cost) -> tuple[str, ...]:
    """Return the words of a line that needs no shell, none for any other."""
    hook = cost.hook
    if hook.kind != "command" or not PLAIN_LINE.fullmatch(str(hook.target)):
        return ()
    words = tuple(shlex.split(str(hook.target)))
    around = HookEnvironment({}, project="/", request_id="")
    environment = around.variables(hook, b"")
    is_program = "/" in words[0] or resolve(words[0], environment, "/") is not None
    return words if is_program else ()


def _listed(words: Sequence[str]) -> str:
    return f"[{', '.join(chr(34) + word + chr(34) for word in words)}]"


def _conditions(bench: Bench, costs: Sequence[Cost]) -> Iterator[str]:
    for cost in costs:
        hook = cost.hook
        if hook.when or hook.unless or not cost.never_objected or cost.whole.p50 < WORTH or hook.background:
            continue
        price = of_a_condition(hook, bench.context(hook, cost.event))
        yield (
            f"{hook.name}: it had no objection in any round, and takes {cost.whole.p50:.1f} ms: with a `when` that "
            f"says which calls concern it, all others cost {price:.3f} ms; leave it if it is there for what it does"
        )


def _side_by_side(bench: Bench, costs: Sequence[Cost]) -> Iterator[str]:
    for _, group in groupby(costs, key=lambda cost: (cost.event, cost.hook.layer)):
        neighbours = [cost for cost in group if not cost.hook.background]
        changes = any(each.modified_args or each.args_patch for cost in neighbours for each in cost.verdicts)
        if len(neighbours) < 2 or changes or all(cost.hook.parallel for cost in neighbours):  # noqa: PLR2004  # a pair
            continue
        one_by_one = sum(cost.whole.p50 for cost in neighbours)
        together = bench.side_by_side(neighbours).p50
        if together <= SHARE * one_by_one and one_by_one - together >= MUCH:
            names = ", ".join(cost.hook.name for cost in neighbours)
            figures = f"measured {one_by_one:.1f} ms one after the other, {together:.1f} ms side by side"
            yield f"{names}: `parallel` if none depends on another's work: {figures}"
