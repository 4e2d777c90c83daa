"""Bundles that learn from the work, in SQLite: errors' causes and fixes, patterns, workflow, times, costs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # for type checkers; at run time `__getattr__` does it
    from hookrun.observe.costs import CostTracker as CostTracker, Price as Price
    from hookrun.observe.database import ObserverDatabase as ObserverDatabase
    from hookrun.observe.durations import ToolTimes as ToolTimes
    from hookrun.observe.error_chains import CauseChains as CauseChains
    from hookrun.observe.metrics_report import MetricsExport as MetricsExport
    from hookrun.observe.patterns import PatternLearning as PatternLearning
    from hookrun.observe.spool import DatabaseError as DatabaseError
    from hookrun.observe.workflow import WorkflowMetrics as WorkflowMetrics

# Module -> its public names, loaded when one is first used (PEP 562).
PUBLIC = {
    "hookrun.observe.error_chains": "CauseChains",
    "hookrun.observe.costs": "CostTracker Price",
    "hookrun.observe.metrics_report": "MetricsExport",
    "hookrun.observe.patterns": "PatternLearning",
    "hookrun.observe.database": "ObserverDatabase",
    "hookrun.observe.spool": "DatabaseError",
    "hookrun.observe.durations": "ToolTimes",
    "hookrun.observe.workflow": "WorkflowMetrics",
}

__all__ = [name for names in PUBLIC.values() for name in names.split()]


def __getattr__(name: str) -> object:
    for module, names in PUBLIC.items():
        if name in names.split():
            from importlib import import_module

            found = globals()[name] = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
