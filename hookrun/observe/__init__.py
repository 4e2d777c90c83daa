"""What hooks learn about the work: causes of errors and their fixes, patterns, workflow, times and costs, in SQLite."""

from __future__ import annotations

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
