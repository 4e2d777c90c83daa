"""Whether hooks run in a context, as hookrun decides it."""

from __future__ import annotations

from collections.abc import Mapping

from hookrun.claude.matcher import why_not
from hookrun.conditions import ConditionEvaluator
from hookrun.model import Hook


def applies(hook: Hook, context: Mapping[str, object]) -> bool:
    """Return whether a hook's conditions match the context."""
    view = ConditionEvaluator(context)
    return view.mismatch(hook.matcher, hook.when, hook.unless, hook.agents, hook.claude) is None


def applies_for_claude(claude: Mapping[str, object], context: Mapping[str, object]) -> bool:
    """Return whether what only Claude Code's form has matches the context; `claude` as in `model.Hook`."""
    return why_not(claude, context) is None
