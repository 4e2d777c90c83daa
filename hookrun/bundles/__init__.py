"""Ready-made handlers for a program that embeds the engine: `engine.use(QualityGate(60))`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # for those who check types; at run time `__getattr__` does it
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

PUBLIC = {
    "hookrun.bundles.agent_hooks": "AgentHooks",
    "hookrun.bundles.agent_log": "AgentLog",
    "hookrun.bundles.document_rules": "extraction_rules validation_rules",
    "hookrun.bundles.format_on_edit": "FORMATTERS RUFF_WITH_FIXES FormatOnEdit Formatter",
    "hookrun.bundles.notify": "Bell Channel ChannelError Command Desktop Note Notify Webhook",
    "hookrun.bundles.quality_gate": "QualityGate",
    "hookrun.bundles.retry": "Retry RetryRule",
    "hookrun.bundles.validate_json": "Rule ValidateJSON",
}
"""Module -> the public names that it holds: each is loaded when one of them is first used (PEP 562)."""


def __getattr__(name: str) -> object:
    from hookrun.lazy import load

    found = globals()[name] = load(__name__, PUBLIC, name)
    return found
