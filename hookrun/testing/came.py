"""What came of one case: the verdict, or what an agent is told of it, the hooks that ran and how they failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookrun.agents.answer import Answer
    from hookrun.model import HookResult, Verdict

MOST_LINES = 10
"""Lines of a hook's stderr that are kept: the last ones."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A hook that failed, how, and a sentence on it."""

    hook: str
    kind: str
    detail: str


@dataclass(repr=False, slots=True)
class Came:
    """What came of a fire.

    `verdict` is the combined one. `action`, the texts and `args` (the tool's arguments after the chain, by hookrun's
    names) are its own; with an agent, what it is told. `fired` are the hooks that ran, in order, each once. `degraded`
    are the names of what the agent was told differently. `files` are those of the case's directory of which something
    is expected, None where there is none. `context` is what the hooks were given first.
    """

    verdict: Verdict
    action: str
    message: str | None = None
    additional_context: str | None = None
    system_message: str | None = None
    args: dict[str, object] | None = None
    fired: list[str] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)
    files: dict[str, str | None] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    runs: list[HookResult] = field(default_factory=list)
    context: dict[str, object] = field(default_factory=dict)
    ms: float = 0.0

    @property
    def go_on(self) -> bool:
        """Whether it may be done: nobody refuses, skips, stops or asks."""
        return self.action in {"continue", "allow", "modify"}

    def stderr(self) -> list[tuple[str, str]]:
        """Return what each hook wrote to stderr, if anything: its name and the last lines."""
        found = []
        for run in self.runs:
            text = run.outcome.stderr.decode("utf-8", "replace").rstrip()
            if text:
                found.append((run.name, "\n".join(text.splitlines()[-MOST_LINES:])))
        return found


def of_verdict(verdict: Verdict, runs: list[HookResult], context: dict[str, object]) -> Came:
    """Return what came of a fire on this context."""
    came = Came(verdict, verdict.action, verdict.message, verdict.additional_context, verdict.system_message)
    came.args = verdict.modified_args if verdict.modified_args is not None else _given(context)
    came.runs = runs
    came.fired = list(dict.fromkeys(run.name for run in runs))
    came.failures = [Failed(run.name, run.failure.kind, run.failure.detail) for run in runs if run.failure is not None]
    came.context = context
    return came


def as_told(came: Came, answer: Answer) -> Came:
    """Change what came of a fire to what an agent is told of it; return it.

    A message beside an action that goes on is told as context: it is still the message here if it is in there.
    """
    said = answer.said
    came.action, came.degraded = said.action, list(dict.fromkeys(answer.degraded))
    if said.goes_on:
        came.message = came.message if came.message and came.message in (said.context or "") else None
    else:
        came.message = said.reason
    if not (came.additional_context and said.context and came.additional_context in said.context):
        came.additional_context = said.context if said.context != came.message else None
    came.system_message = said.person
    if said.args is None:
        came.args = _given(came.context)
    return came


def _given(context: dict[str, object]) -> dict[str, object] | None:
    args = context.get("tool_args")
    return args if isinstance(args, dict) else None
