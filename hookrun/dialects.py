"""Interpret a hook's output in its dialect: hookrun's own or Claude Code's."""

from __future__ import annotations

from hookrun import verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.model import Failure, Hook, Outcome, Verdict


def interpret(
    hook: Hook, outcome: Outcome, event: str, context: Mapping[str, object]
) -> tuple[Verdict | Failure, list[str]]:
    """Return the answer of one run of a hook to hookrun's `event`, and warnings, outside of a chain.

    `context` is what the hook has read.
    """
    if hook.dialect == "claude":
        from hookrun.claude.answer import interpret

        answer = interpret(hook, event, context, outcome)
        return answer.result, answer.notes
    return verdicts.from_process(hook, outcome, can_modify=True)
