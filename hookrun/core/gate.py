"""Decide the result of a call at a gate that hookrun cannot judge.

A gate is an event whose answer can refuse the call. A guard is an enforcing hook with `on_failure: block` there. If one
may have been asked, the call is refused; without one it continues, and the user is notified each time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What the user can do besides mending the cause; agents cannot.
WAY_OUT = "to go on without hooks, the user can run `hookrun pause --for 10m` in a terminal of their own"

# Managed hooks are no user's to switch off.
MANAGED = "managed hooks stay on: whoever manages this machine can correct or remove their config"

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


def alone(event: str, cause: str, script: str = "") -> str:
    """Return the reason of a launcher's refusal at a gate; `script` is the path of DISCONNECT, "" for managed hooks."""
    what = f"{cause}, so {NOT_RUN.get(event, NO_CALL)}"
    if cause == REMOVED:
        return f"{what}; the user can install it again, or run `{script}` in a terminal of their own"
    return f"{what}; try again; {WAY_OUT}, or `{script}`" if script else f"{what}; try again; {MANAGED}"


def refusal(cause: str, layers: Iterable[str] = ()) -> str:
    """Return the reason of a refusal: why, and the way out where hooks of these layers may be the reason."""
    return f"{cause}; {WAY_OUT}" + (f"; {MANAGED}" if "managed" in layers else "")
