"""Do what Claude Code does, for any agent: which hooks run, what they read, what their answers mean."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.core.model import Failure, Hook, Outcome, Verdict


def interpret(
    hook: Hook, outcome: Outcome, event: str, context: Mapping[str, object]
) -> tuple[Verdict | Failure, list[str]]:
    """Return a run's verdict or failure at hookrun's `event`, and notes, as if outside a chain.

    The output is in hookrun's dialect or Claude Code's, as `agents.dialects` has made it for another agent's hook.
    `context` is the input.
    """
    if hook.dialect != "hookrun":
        from hookrun.claude.answer import Interpretation

        answer = Interpretation(hook, event, context, outcome)
        return answer.result, answer.notes
    from hookrun.core import events, verdicts

    return verdicts.from_process(hook, outcome, change=events.changed_by(event, None) or "modified_args")
