"""Deprecated names: modules and names of the previous release, and where they are now. The next release drops them.

`hookrun` finds the modules of `MOVED` here; `hookrun.bundles` itself became `hookrun.recipes` and
`hookrun.compat.stackbench`.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import spec_from_loader
from sys import modules
from warnings import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

MOVED = {
    "hookrun.agents.names": {"hookrun.agents.base": "Names=NameMap"},
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
"""Old module -> new module -> the names that moved there; `OLD=NEW` was renamed."""


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


def find_spec(name: str) -> ModuleSpec | None:
    """Find an old module; this module is its loader."""
    return spec_from_loader(name, modules[__name__]) if name in MOVED else None


def create_module(spec: ModuleSpec) -> ModuleType | None:
    """Leave it to the import system."""


def exec_module(module: ModuleType) -> None:
    """Let the names be looked up when they are used."""
    module.__dict__["__getattr__"] = partial(_moved, module.__name__)
