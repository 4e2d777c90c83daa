"""Decide the result of a call at a gate that hookrun cannot judge.

A gate is an event whose answer can refuse the call. A guard is an enforcing hook with `on_failure: block` there. If one
may have been asked, the call is refused; without one it continues, and the user is notified each time.
"""

from __future__ import annotations

from hookrun.core.events import GATES, WITH_OUTPUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hookrun.core.model import AnyVerdict, Failure, HookResult, Verdict

# What the user can do besides mending the cause; agents cannot.
WAY_OUT = "to go on without hooks, the user can run `hookrun disable --all --for 10m` in a terminal of their own"

# Managed hooks are no user's to switch off.
MANAGED = "managed hooks stay on: whoever manages this machine can correct or remove their config"

# The output of a tool that a hook with `on_failure: block` could not check, and how a line about that failure ends.
WITHHELD = "(withheld by hookrun: a hook that checks it has failed)"
OUTPUT_WITHHELD = "so the output was withheld"
# Failures whose detail may quote what the hook read.
QUOTING = frozenset({"bad_verdict", "exception", "http"})

# What a launcher says that is left alone: the run ended without an answer, or hookrun was removed.
UNANSWERED, REMOVED = "hookrun ended before it answered", "hookrun is no longer installed"
# The script that `install` writes for a user without hookrun; its directory is DATA_DIR.
DISCONNECT = "disconnect"
# Gate -> what a refusal means there, if not NO_CALL.
NOT_RUN = {"user_prompt_submit": "the prompt was not sent"}
NO_CALL = "the call was not run"


def refuses(on_error: object, may_be_guarded: Callable[[], bool]) -> bool:
    """Return whether such a call is refused.

    `on_error` is the user's setting, which comes first. If even `may_be_guarded` fails, the call is refused.
    """
    if on_error in ("block", "continue"):
        return on_error == "block"
    try:
        return may_be_guarded()
    except Exception:  # what failed before may fail again
        return True


def conclude(event: str, runs: Sequence[HookResult], action: str, combined: AnyVerdict) -> AnyVerdict:
    """Have lines about failures at a gate end in the consequence, that of the final action: in the runs' verdicts.

    After a tool, these are failures that withhold its output: a final refusal is one that does. Return the `combined`
    one of them with the same lines.
    """
    for run in runs if event in GATES or event in WITH_OUTPUT else ():
        if run.failure is not None and (event in GATES or run.verdict.modified_output == WITHHELD):
            its_own = run.verdict.action == "block" and not run.lines[1:]  # else not each is a reason
            was, run.consequence = run.consequence, _consequence(event, action, its_own=its_own)
            for line in run.lines or (run.failure.line(f"hook {run.hook.name}"),):
                before, now = (_ended(line, run.failure, end) for end in (was, run.consequence))
                run.verdict, combined = _replace(run.verdict, before, now), _replace(combined, before, now)
    return combined


def _replace(verdict: AnyVerdict, before: str, now: str) -> Verdict:
    texts = {"message": verdict.message, "system_message": verdict.system_message}
    return verdict.replace(**{name: text and text.replace(before, now) for name, text in texts.items()})


def _consequence(event: str, action: str, *, its_own: bool) -> str:
    from hookrun.core.model import TERMINAL_ACTIONS  # what refuses without memory needs none of it

    if event in WITH_OUTPUT:
        return OUTPUT_WITHHELD if action in TERMINAL_ACTIONS else "this agent's hooks cannot withhold the output"
    what, sent = ("the prompt", "was sent") if event == "user_prompt_submit" else ("the call", "continued")
    if action in TERMINAL_ACTIONS:
        return f"{'so ' if its_own else ''}{what} was {'skipped' if action == 'skip' else 'blocked'}"
    # Where no hook answers a permission request, the agent asks.
    asked = action == "ask" or (event == "permission_request" and action != "allow")
    return f"{what} needed the user's approval" if asked else f"{what} {sent}"


def _ended(line: str, failure: Failure, consequence: str) -> str:
    """Return a failure's line with this end; of a withheld output without what the hook said, which may quote it."""
    if consequence == OUTPUT_WITHHELD:
        from hookrun.core.verdicts import STDERR

        ours = "" if failure.kind in QUOTING else failure.detail.partition(STDERR)[0]
        line = line.replace(f": {failure.detail}", ours and f": {ours}")
    return with_end(line, consequence)


def with_end(line: str, consequence: str) -> str:
    """Return a failure's line, or detail, with this end: before the hook's stderr, which may be long and be cut."""
    if not consequence:
        return line
    from hookrun.core.verdicts import STDERR

    ours, stderr, lines = line.partition(STDERR)
    return f"{ours}{', ' if consequence.startswith('so ') else '; '}{consequence}{stderr}{lines}"


def alone(event: str, cause: str, script: str = "") -> str:
    """Return the reason of a launcher's refusal at a gate; `script` is the path of DISCONNECT, "" for managed hooks."""
    what = f"{cause}, so {NOT_RUN.get(event, NO_CALL)}"
    if cause == REMOVED:
        return f"{what}; the user can install it again, or run `{script}` in a terminal of their own"
    if not script:
        return f"{what}; if trying again does not help, hookrun must be installed again; {MANAGED}"
    return f"{what}; try again; {WAY_OUT}, or `{script}`"


def refusal(cause: str, layers: Iterable[str] = ()) -> str:
    """Return the reason of a refusal: why, and the way out where hooks of these layers may be the reason."""
    return f"{cause}; {WAY_OUT}" + (f"; {MANAGED}" if "managed" in layers else "")
