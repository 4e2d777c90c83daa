"""Deprecated names of the ready-made handlers, which moved to `hookrun.recipes` and `hookrun.compat.stackbench`."""

from __future__ import annotations

from importlib import import_module
from warnings import warn

MOVED = {
    "hookrun.compat.stackbench": "AgentHooks AgentLog extraction_rules validation_rules",
    "hookrun.recipes.format_on_edit": "FORMATTERS RUFF_WITH_FIXES FormatOnEdit Formatter",
    "hookrun.recipes.notify": "Notify",
    "hookrun.recipes.notify_channels": ("Bell Channel ChannelError Desktop Webhook Command=CommandChannel Note=Notice"),
    "hookrun.recipes.quality_gate": "QualityGate",
    "hookrun.recipes.retry": "Retry RetryRule",
    "hookrun.recipes.validate_json": "Rule ValidateJSON",
}
"""New module -> the names that moved there; `OLD=NEW` was renamed."""


def __getattr__(name: str) -> object:
    for module, names in MOVED.items():
        for each in names.split():
            old, _, new = each.partition("=")
            if old == name:
                new = new or old
                warn(f"hookrun.bundles.{name} is now {module}.{new}", DeprecationWarning, stacklevel=2)
                return getattr(import_module(module), new)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
