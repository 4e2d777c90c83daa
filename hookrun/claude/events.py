"""What Claude Code obeys at each event: one table. The names are Claude's, as in what a hook prints."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Holds = str | tuple[str, ...]
    Fields = Mapping[str, Holds]

TEXT, FLAG, OBJECT, TEXTS, ANYTHING = "a string", "true or false", "an object", "a list of strings", "anything"
"""What a field may hold. A tuple stands for one of its texts."""

TOP: Fields = {
    "continue": FLAG,
    "stopReason": TEXT,
    "suppressOutput": FLAG,
    "systemMessage": TEXT,
    "terminalSequence": TEXT,
    "decision": ("approve", "block"),
    "reason": TEXT,
    "hookSpecificOutput": OBJECT,
}
"""The fields of an answer at any event, and what each holds."""

CONTEXT: Fields = {"additionalContext": TEXT}
BLOCK, PERSON, NOTHING = "block", "person", "nothing"
"""What exit status 2 comes to: a refusal, a text for the person, or nothing at all."""


class Rules:
    """What counts at an event.

    `exit_2` is what that exit status comes to. `obeys` are the fields out of TOP that have an effect, `fields` those of
    `hookSpecificOutput` and what each holds: None where there is no such object. `lost` are those that have an effect
    in Claude Code and none here. `plain` tells that plain text on stdout is text for the model.
    """

    __slots__ = ("exit_2", "fields", "lost", "obeys", "plain")

    def __init__(
        self,
        exit_2: str,
        obeys: str = "",
        fields: Fields | None = None,
        *,
        lost: str = "",
        plain: bool = False,
    ) -> None:
        self.exit_2 = exit_2
        self.obeys = frozenset(obeys.split())
        self.fields = fields
        self.lost = frozenset(lost.split())
        self.plain = plain


EVERYTHING = "decision continue systemMessage"
OTHER = Rules(BLOCK, EVERYTHING, CONTEXT)
"""What counts at an event that Claude Code has not."""

RULES = {
    "PreToolUse": Rules(
        BLOCK,
        EVERYTHING,
        {
            "permissionDecision": ("allow", "deny", "ask", "defer"),
            "permissionDecisionReason": TEXT,
            "updatedInput": OBJECT,
            **CONTEXT,
        },
    ),
    "PermissionRequest": Rules(NOTHING, "continue systemMessage", {"decision": OBJECT}),
    "PermissionDenied": Rules(NOTHING, "", {"retry": FLAG}, lost="retry"),
    "PostToolUse": Rules(
        BLOCK,
        EVERYTHING,
        {**CONTEXT, "classifierContext": TEXT, "updatedToolOutput": ANYTHING, "updatedMCPToolOutput": ANYTHING},
        lost="classifierContext updatedToolOutput updatedMCPToolOutput",
    ),
    "PostToolUseFailure": Rules(BLOCK, EVERYTHING, CONTEXT),
    "UserPromptSubmit": Rules(
        BLOCK,
        EVERYTHING,
        {**CONTEXT, "sessionTitle": TEXT, "suppressOriginalPrompt": FLAG},
        lost="sessionTitle suppressOriginalPrompt",
        plain=True,
    ),
    "SessionStart": Rules(
        PERSON,
        "systemMessage",
        {**CONTEXT, "initialUserMessage": TEXT, "sessionTitle": TEXT, "watchPaths": TEXTS, "reloadSkills": FLAG},
        lost="initialUserMessage sessionTitle watchPaths reloadSkills",
        plain=True,
    ),
    "SessionEnd": Rules(PERSON),
    "Stop": Rules(BLOCK, EVERYTHING, CONTEXT),
    "SubagentStop": Rules(BLOCK, EVERYTHING, CONTEXT),
    "SubagentStart": Rules(PERSON, "continue systemMessage", CONTEXT),
    "StopFailure": Rules(NOTHING),
    "Notification": Rules(NOTHING, "", CONTEXT, lost="additionalContext"),
    "PreCompact": Rules(BLOCK, "decision"),
    "PostCompact": Rules(PERSON),
    "FileChanged": Rules(NOTHING, "systemMessage", {"watchPaths": TEXTS}, lost="watchPaths"),
    "MessageDisplay": Rules(NOTHING, "", {"displayContent": TEXT}, lost="displayContent"),
}
"""Claude's event -> what counts there."""

GOES_ON = frozenset({"Stop", "SubagentStop"})
"""The events at which a block means to go on: text for the model does so too, and `onFailure` has no effect."""


def rules(event: str) -> Rules:
    """Return what counts at an event by Claude's name."""
    return RULES.get(event, OTHER)


def failure_blocks(event: str) -> bool:
    """Tell whether `onFailure: block` has an effect at an event: it counts as exit status 2 does."""
    return rules(event).exit_2 == BLOCK and event not in GOES_ON
