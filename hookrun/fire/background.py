"""The end of a hook in the background: its record, and its texts for the model at a later event of the session."""

from __future__ import annotations

from hookrun.claude import hook_protocol
from hookrun.claude.answer import MAX_TEXT, VETO, Interpretation, shorten
from hookrun.core import audit, verdicts
from hookrun.core.session import keep_texts, save_overflow_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.core.model import Hook, Outcome
    from hookrun.fire.invocation import EventFire


def keep_end(fire: EventFire, hook: Hook, outcome: Outcome) -> None:
    """Record the end of a hook in its supervisor; keep what it says in Claude Code's form."""
    home, session = fire.invocation.home, fire.context.get("session_id")
    if hook.dialect == "claude" and fire.invocation.agent is not None and isinstance(session, str):
        text = text_for_model(hook, fire.event, fire.context, outcome)
        if len(text) > MAX_TEXT:
            text = shorten(text, lambda whole: save_overflow_text(home, whole), whole=not outcome.truncated)
        keep_texts(home, session, [("context", text)])
    fire.invocation.write_audit([audit.background_record(hook, outcome, fire.context)])


def text_for_model(hook: Hook, event: str, context: Mapping[str, object], outcome: Outcome) -> str:
    """Return what Claude Code gives the model of such a hook: `additionalContext` and `systemMessage`, no decision.

    With `asyncRewake` and exit status 2 it is stderr, or stdout without any.
    """
    if outcome.exit_code == VETO and outcome.failure is None:
        rewakes = hook.claude is not None and hook.claude.rewakes
        return verdicts.decode(outcome.stderr) or verdicts.decode(outcome.stdout) if rewakes else ""
    answer = Interpretation(hook, event, context, outcome)
    said = answer.verdict
    text = said.message if answer.native in hook_protocol.CONTINUES_TURN else said.additional_context
    return "\n\n".join(filter(None, (text, said.system_message))) if answer.failure is None else ""
