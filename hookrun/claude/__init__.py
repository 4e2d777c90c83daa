"""Do what Claude Code does, for any agent: which hooks run, what they read, how their answers are interpreted."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.model import Failure, Hook, Outcome, Verdict


def interpret(
    hook: Hook, outcome: Outcome, event: str, context: Mapping[str, object]
) -> tuple[Verdict | Failure, list[str]]:
    """Return the verdict or failure of one run at hookrun's `event`, and notes, as if the hook ran outside a chain.

    Its output is in the dialect that it is declared in, hookrun's own or Claude Code's. `context` is what it read.
    """
    if hook.dialect == "claude":
        from hookrun.claude.answer import Interpretation

        answer = Interpretation(hook, event, context, outcome)
        return answer.result, answer.notes
    from hookrun import verdicts

    return verdicts.from_process(hook, outcome, can_modify=True)
