"""Word the predictions of `hookrun explain`: a hook's state and cause for the table, and the answer in one line."""

from __future__ import annotations

from collections.abc import Sequence

from hookrun.cli.printing import DIM, ERROR, OK, WARNING, count
from hookrun.dry_run import DEPENDS, ENDED, FAILS, NOT, OFF, RUNS, Prediction

STATES = {
    RUNS: ("runs", OK),
    DEPENDS: ("may run", WARNING),
    FAILS: ("fails", ERROR),
    OFF: ("off", WARNING),
    ENDED: ("not reached", WARNING),
    NOT: ("no match", DIM),
}
"""State of a prediction -> how the table shows it, and its style."""
UNAPPROVED = "not approved"
PHRASES = {RUNS: "would run", DEPENDS: "may run", FAILS: "would fail", OFF: "is off", ENDED: "would not be reached"}
"""State of a prediction -> the verb of the answer."""
CHOICES = ("denied", "disabled", "paused until")
"""The user's decisions, with which a hook is off."""
MAX_ANSWER, MAX_NAMED = 120, 3
"""Characters of the answer; hooks that do not run, up to which it names them."""
STATE_STYLES = {**dict(STATES.values()), UNAPPROVED: WARNING}


def _is_unapproved(prediction: Prediction) -> bool:
    return prediction.failure is not None and prediction.failure.kind == "untrusted"


def state(prediction: Prediction) -> str:
    """Return how a table shows the state of a prediction."""
    return UNAPPROVED if _is_unapproved(prediction) else STATES[prediction.state][0]


def why_not(prediction: Prediction) -> str:
    """Return why a hook does not run, or what that depends on."""
    why, failure = prediction.why, prediction.failure
    if failure is not None and _is_unapproved(prediction):
        why = failure.detail.removeprefix(f"{UNAPPROVED}: ")
    if failure is not None and prediction.state == FAILS:
        why += f" ({'blocks the call' if _blocks(prediction) else 'the call continues'})"
    return "; ".join(filter(None, (why, _depends(prediction))))


def _blocks(prediction: Prediction) -> bool:
    return prediction.hook.on_failure == "block" and prediction.hook.enforcing


def _depends(prediction: Prediction) -> str:
    return f"depends on {', '.join(prediction.depends)}" if prediction.depends else ""


def phrase(prediction: Prediction) -> str:
    """Return what would happen to one hook, as part of a sentence."""
    name, why = prediction.hook.name, prediction.why
    if prediction.failure is not None and _is_unapproved(prediction):
        why = prediction.failure.detail
        return f"{name} is {why}" if why.startswith(UNAPPROVED) else f"{name}: {why}"
    if why.startswith(CHOICES):
        return f"{name} is {why}"
    cause = why or _depends(prediction)
    if prediction.state == NOT:
        return f"{name}: {cause}"
    return f"{name} {PHRASES[prediction.state]}{f': {cause}' if cause else ''}"


def answer(predictions: Sequence[Prediction]) -> str:
    """Return which hooks would run and how many would not, or why the only one would not."""
    blocked = any(each.state == FAILS and not each.depends and _blocks(each) for each in predictions)
    if len(predictions) == 1 and predictions[0].state != RUNS:
        return f"{'blocked: ' if blocked else ''}{phrase(predictions[0])}"
    by_state: dict[str, list[str]] = {}
    for each in predictions:
        by_state.setdefault(state(each), []).append(each.hook.name)
    running = by_state.pop(STATES[RUNS][0], [])
    named = not running and sum(map(len, by_state.values())) <= MAX_NAMED
    others = [
        f"{len(names)} {shown}" + (f" ({', '.join(names)})" if named else "") for shown, names in by_state.items()
    ]
    if running:
        return "; ".join(
            [f"{len(running)} of {count(len(predictions), 'hook')} would run: {', '.join(running)}", *others]
        )
    if blocked:
        return f"blocked: {', '.join(others)}"
    return f"{'' if STATES[DEPENDS][0] in by_state else 'no hook would run: '}{', '.join(others)}"
