"""Deprecated names: modules and names of the previous release, and where they are now. The next release drops them.

`hookrun.bundles` itself became `hookrun.recipes` and `hookrun.compat.stackbench`.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from sys import modules
from types import ModuleType
from warnings import warn

# Old module -> new module -> the names that moved there; `OLD=NEW` was renamed.
MOVED = {
    "hookrun.bundles": {
        "hookrun.compat.stackbench": "AgentHooks AgentLog extraction_rules validation_rules",
        "hookrun.recipes.format_on_edit": "FORMATTERS RUFF_WITH_FIXES FormatOnEdit Formatter",
        "hookrun.recipes.notify": "Notify",
        "hookrun.recipes.notify_channels": (
            "Bell Channel ChannelError Desktop Webhook Command=CommandChannel Note=Notice"
        ),
        "hookrun.recipes.quality_gate": "QualityGate",
        "hookrun.recipes.retry": "Retry RetryRule",
        "hookrun.recipes.validate_json": "Rule ValidateJSON",
    },
    "hookrun.integrations.tool_call": {"hookrun.integrations.tool_loop": "ToolFailed ToolOutcome"},
    "hookrun.observe.chains": {"hookrun.observe.error_chains": "Attempt Fix Similar Chain=ErrorChain"},
    "hookrun.observe.report": {"hookrun.observe.metrics_report": "collect Report=MetricsReport"},
    "hookrun.observe.summary": {"hookrun.observe.workflow": "Checkpoint Session Summary"},
    "hookrun.observe.tools": {"hookrun.observe.tool_times": "ToolTime"},
    "hookrun.observe.usage": {"hookrun.observe.costs": "Tokens"},
}


def _moved(old_module: str, name: str) -> object:
    for module, names in MOVED[old_module].items():
        for each in names.split():
            old, _, new = each.partition("=")
            if old == name:
                new = new or old
                warn(f"{old_module}.{name} is now {module}.{new}", DeprecationWarning, stacklevel=2)
                return getattr(import_module(module), new)
    raise AttributeError(f"module {old_module!r} has no attribute {name!r}")


__getattr__ = partial(_moved, __name__)


def register_moved(package: str) -> None:
    """Let the old modules of a package be imported. The package calls it, so that there is no finder for them."""
    for name in MOVED:
        if name.startswith(f"{package}."):
            modules[name] = ModuleType(name)
            modules[name].__dict__["__getattr__"] = partial(_moved, name)
