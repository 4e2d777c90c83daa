"""What hooks learn about the work: causes of errors and their fixes, patterns, workflow, times and costs, in SQLite."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # for those who check types; at run time `__getattr__` does it
    from hookrun.observe.causes import CauseChains
    from hookrun.observe.costs import CostTracker
    from hookrun.observe.export import MetricsExport
    from hookrun.observe.patterns import PatternLearning
    from hookrun.observe.store import Store, StoreError
    from hookrun.observe.tools import ToolTimes
    from hookrun.observe.usage import Price
    from hookrun.observe.workflow import WorkflowMetrics

__all__ = [
    "CauseChains",
    "CostTracker",
    "MetricsExport",
    "PatternLearning",
    "Price",
    "Store",
    "StoreError",
    "ToolTimes",
    "WorkflowMetrics",
]

PUBLIC = {
    "hookrun.observe.causes": "CauseChains",
    "hookrun.observe.costs": "CostTracker",
    "hookrun.observe.export": "MetricsExport",
    "hookrun.observe.patterns": "PatternLearning",
    "hookrun.observe.store": "Store StoreError",
    "hookrun.observe.tools": "ToolTimes",
    "hookrun.observe.usage": "Price",
    "hookrun.observe.workflow": "WorkflowMetrics",
}
"""Module -> the public names that it holds: each is loaded when one of them is first used (PEP 562)."""


def __getattr__(name: str) -> object:
    from hookrun.lazy import load

    found = globals()[name] = load(__name__, PUBLIC, name)
    return found
