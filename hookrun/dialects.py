"""Interpret a hook's output by the dialect it is declared in: hookrun's own or Claude Code's."""

from __future__ import annotations

from hookrun import verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.model import Failure, Hook, Outcome, Verdict


def interpret(
    hook: Hook, outcome: Outcome, event: str, context: Mapping[str, object]
) -> tuple[Verdict | Failure, list[str]]:
    """Return the verdict or failure of one run at hookrun's `event`, and notes, as if the hook ran outside a chain.

    `context` is the one that the hook read.
    """
    if hook.dialect == "claude":
        from hookrun.claude.answer import interpret

        answer = interpret(hook, event, context, outcome)
        return answer.result, answer.notes
    return verdicts.from_process(hook, outcome, can_modify=True)
