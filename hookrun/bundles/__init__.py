"""Ready-made handlers for a program that embeds the engine: `engine.use(QualityGate(60))`."""

from __future__ import annotations

from hookrun.bundles.agent_hooks import AgentHooks
from hookrun.bundles.agent_log import AgentLog
from hookrun.bundles.document_rules import extraction_rules, validation_rules
from hookrun.bundles.format_on_edit import FORMATTERS, RUFF_WITH_FIXES, FormatOnEdit, Formatter
from hookrun.bundles.notify import Bell, Channel, ChannelError, Command, Desktop, Note, Notify, Webhook
from hookrun.bundles.quality_gate import QualityGate
from hookrun.bundles.retry import Retry, RetryRule
from hookrun.bundles.validate_json import Rule, ValidateJSON

__all__ = [
    "FORMATTERS",
    "RUFF_WITH_FIXES",
    "AgentHooks",
    "AgentLog",
    "Bell",
    "Channel",
    "ChannelError",
    "Command",
    "Desktop",
    "FormatOnEdit",
    "Formatter",
    "Note",
    "Notify",
    "QualityGate",
    "Retry",
    "RetryRule",
    "Rule",
    "ValidateJSON",
    "Webhook",
    "extraction_rules",
    "validation_rules",
]
