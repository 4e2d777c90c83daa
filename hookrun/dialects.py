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
    """Return what one run of a hook answered at hookrun's `event`, and warnings: outside of a chain, which knows more.

    `context` is what it has read.
    """
    if hook.dialect == "claude":
        from hookrun.claude.answer import interpret

        answer = interpret(hook, event, context, outcome)
        return answer.result, answer.notes
    return verdicts.from_process(hook, outcome, can_modify=True)
