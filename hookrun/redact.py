"""Takes what looks like a credential out of a text before it is kept."""

from __future__ import annotations

import re

HIDDEN = "[redacted]"

PATTERNS = (
    re.compile(r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    re.compile(r"\b(?:gh[pousr]_|github_pat_|npm_|hf_)[A-Za-z0-9_]{16,}"),
    re.compile(r"\b(?:glpat-|pypi-)[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{30,}"),
    re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
)
"""The forms of well-known credentials, hidden whole."""

NAMED = (
    re.compile(r"(?i)(\bauthorization\s*:\s*[a-z]+\s+)[A-Za-z0-9._~+/=-]{4,}"),
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)(?=[^\s]*[0-9])[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"),
    re.compile(
        r"(?i)((?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key)"
        r"[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&}]{4,}"
    ),
)
"""A value that its name or place gives away: the name stays."""


def redact(text: str) -> str:
    """Return the text with every credential that can be told by its form or name replaced by `[redacted]`."""
    for pattern in PATTERNS:
        text = pattern.sub(HIDDEN, text)
    for pattern in NAMED:
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return text
