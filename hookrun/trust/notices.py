"""Summarize for the user and the model which hooks the project's config kept from running.

Loaded only if there is such a hook: a project can have thousands.
"""

from __future__ import annotations

from hookrun.core.engine import HAD_ENDED
from hookrun.core.model import Failure
from hookrun.core.text import shell_quoted
from hookrun.trust.approvals import UserDecisions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrun.core.engine import Candidates, HookChain
    from hookrun.core.model import AnyHook, HookResult

# Failures of hooks that did not run because of the project's config.
KINDS = ("untrusted", "declaration")

# Limit on the hooks named; the others are counted.
MAX_NAMED = 20


def combine_failures(
    runs: Sequence[HookResult],
    behind: Sequence[tuple[AnyHook, Failure]],
    root: str,
    is_new: Callable[[str], bool] = lambda _: True,
) -> None:
    """Replace the messages of failed hooks of the project at `root`, to user and model, by one summary.

    `is_new` returns whether the user has not yet seen a cause. If an unapproved hook blocks, the text also names the
    unapproved hooks `behind` it and has the model ask the user.
    """
    failed = [run for run in runs if run.failure is not None and run.failure.kind in KINDS]
    if not failed:
        return
    blocking = [run for run in failed if run.verdict.action == "block"]
    asks = any(run.failure is not None and run.failure.kind == "untrusted" for run in blocking)
    failures = [(run.hook, run.failure) for run in failed if run.failure is not None] + [*(behind if asks else ())]
    lines = _lines(failures)
    text = "\n".join(lines)
    new = [is_new(f"{why.kind} {hook.location()} {hook.name}: {why.detail}") for hook, why in failures[:MAX_NAMED]]
    for run in failed:
        run.verdict = run.verdict.replace(message=None, system_message=None)
        run.lines = lines
    failed[0].verdict = failed[0].verdict.replace(system_message=text if any(new) else None)
    if blocking:
        ask = (
            f"Only the user can approve hooks. Ask the user to run `hookrun trust {shell_quoted(root)}` in a terminal."
        )
        blocking[0].verdict = blocking[0].verdict.replace(message=f"{text}\n{ask}" if asks else text)


def unapproved_behind(chain: HookChain, candidates: Candidates, trust: UserDecisions) -> list[tuple[AnyHook, Failure]]:
    """Return the unapproved hooks that the chain did not reach."""
    hooks = [candidates.hook(index) for index, status in chain.statuses.items() if status.endswith(HAD_ENDED)]
    refused = [(hook, trust.refusal(hook)) for hook in hooks if hook.mode != "off" and trust.reason_off(hook) is None]
    return [(hook, why) for hook, why in refused if why is not None]


def _lines(failures: list[tuple[AnyHook, Failure]]) -> list[str]:
    """Return a line for each cause of the first MAX_NAMED failures, and one that counts the others."""
    names: dict[tuple[str, str], list[str]] = {}
    for hook, failure in failures[:MAX_NAMED]:
        names.setdefault((failure.kind, failure.detail), []).append(hook.name)
    lines = [
        Failure(*cause).line(f"hook{'s' if len(each) > 1 else ''} {', '.join(each)}") for cause, each in names.items()
    ]
    others = len(failures) - MAX_NAMED
    if others > 0:
        more = f"{others} more hook{'s' if others > 1 else ''}"
        lines.append(f"{more} did not run: not approved or invalid (see `hookrun list`)")
    return lines
