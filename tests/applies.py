"""Whether hooks run in a context, as hookrun decides it."""

from __future__ import annotations

from collections.abc import Mapping

from hookrun.claude import matcher
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.model import ClaudeForm, Hook


def applies(hook: Hook, context: Mapping[str, object]) -> bool:
    """Return whether a hook's conditions match the context."""
    view = ConditionEvaluator(context)
    return view.mismatch(hook.matcher, hook.when, hook.unless, hook.agents, hook.claude) is None


def form_of(hook: Hook) -> dict[str, object]:
    """Return what only Claude Code's form has of a hook, as in its JSON; empty for one in another form."""
    return {} if hook.claude is None else hook.claude.to_dict()


def why_not(claude: Mapping[str, object], context: Mapping[str, object]) -> str | None:
    """Return why a hook in Claude Code's form does not run in the context, or None; `claude` is as in a hook's JSON."""
    return matcher.why_not(ClaudeForm(claude), context)


def applies_for_claude(claude: Mapping[str, object], context: Mapping[str, object]) -> bool:
    """Return whether a hook in Claude Code's form runs in the context; `claude` is as in a hook's JSON."""
    return why_not(claude, context) is None
