"""Takes what looks like a credential out of a text before it is kept."""

from __future__ import annotations

import re

HIDDEN = "[redacted]"

FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("sk-", "rk-", "pk-"), re.compile(r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}")),
    (("sk_", "rk_", "pk_"), re.compile(r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}")),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "npm_", "hf_"),
        re.compile(r"\b(?:gh[pousr]_|github_pat_|npm_|hf_)[A-Za-z0-9_]{16,}"),
    ),
    (("glpat-", "pypi-"), re.compile(r"\b(?:glpat-|pypi-)[A-Za-z0-9_-]{16,}")),
    (("aiza",), re.compile(r"\bAIza[A-Za-z0-9_-]{30,}")),
    (("xox",), re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}")),
    (("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    (("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    (
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
    ),
)
"""The forms of well-known credentials, hidden whole. Each with what is somewhere in it, in lower case: see `redact`."""

PLACES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("authorization",), re.compile(r"(?i)(\bauthorization\s*:\s*[a-z]+\s+)[A-Za-z0-9._~+/=-]{4,}")),
    (("bearer", "basic"), re.compile(r"(?i)(\b(?:bearer|basic)\s+)(?=[^\s]*[0-9])[A-Za-z0-9._~+/=-]{8,}")),
    (("://",), re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)")),
    (
        (
            "token", "secret", "passw", "passphrase", "api_key", "apikey", "api-key", "access_key", "accesskey",
            "access-key", "private_key", "privatekey", "private-key",
        ),
        re.compile(
            r"(?i)((?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key)"
            r"[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&}]{4,}"
        ),
    ),
)  # fmt: skip
"""The same for a value that its name or place gives away: the name stays."""


def redact(text: str) -> str:
    """Return the text with every credential that can be told by its form or name replaced by `[redacted]`.

    A pattern is tried only where one of its words is in the text at all: that is many times as fast.
    """
    low = text.lower()
    for words, pattern in FORMS:
        if any(word in low for word in words):
            text = pattern.sub(HIDDEN, text)
    for words, pattern in PLACES:
        if any(word in low for word in words):
            text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return text
