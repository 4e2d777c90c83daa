"""Credentials in a text: which are there, and of what kind, by the forms that are known of them."""

from __future__ import annotations

import re

from hookrun.redact import FORMS, PLACES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MORE: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("sg.",), re.compile(r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}")),
    (("_v1_",), re.compile(r"\bdo[opr]_v1_[0-9a-f]{64}\b")),
    (("hooks.slack.com",), re.compile(r"https://hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}")),
    (("/api/webhooks/",), re.compile(r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{40,}")),
    ((":aa",), re.compile(r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}")),
    (("accountkey=",), re.compile(r"\bAccountKey=[A-Za-z0-9+/]{80,}={0,2}")),
    (("age-secret-key-",), re.compile(r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}")),
    (("shpat_", "shpca_", "shppa_", "shpss_"), re.compile(r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}")),
    (("hvs.", "hvb."), re.compile(r"\bhv[sb]\.[A-Za-z0-9_-]{24,}")),
    (("dapi",), re.compile(r"\bdapi[0-9a-f]{32}\b")),
    (("lin_api_",), re.compile(r"\blin_api_[A-Za-z0-9]{32,}")),
    (("gocspx-",), re.compile(r"\bGOCSPX-[A-Za-z0-9_-]{20,}")),
    (("ya29.",), re.compile(r"\bya29\.[A-Za-z0-9_-]{30,}")),
    (("-----begin pgp",), re.compile(r"-----BEGIN PGP PRIVATE KEY BLOCK-----")),
)
"""Forms beside those that are taken out of the audit, each with what is somewhere in it, in lower case."""

KINDS = {
    "sk-ant-": "an API key of Anthropic",
    "sk-": "an API key",
    "rk-": "an API key",
    "pk-": "",
    "sk_": "a secret key of Stripe",
    "rk_": "a restricted key of Stripe",
    "pk_": "",
    "gh": "a token of GitHub",
    "github_pat_": "a token of GitHub",
    "npm_": "a token of npm",
    "hf_": "a token of Hugging Face",
    "glpat-": "a token of GitLab",
    "pypi-": "a token of PyPI",
    "AIza": "an API key of Google",
    "GOCSPX-": "an OAuth secret of Google",
    "ya29.": "an access token of Google",
    "xox": "a token of Slack",
    "https://hooks.slack.com": "a webhook of Slack",
    "https://": "a webhook of Discord",
    "AKIA": "an access key of AWS",
    "ASIA": "an access key of AWS",
    "eyJ": "a signed token (JWT)",
    "-----BEGIN": "a private key",
    "SG.": "an API key of SendGrid",
    "do": "a token of DigitalOcean",
    "AccountKey=": "an account key of Azure",
    "AGE-": "a secret key of age",
    "shp": "a token of Shopify",
    "hv": "a token of Vault",
    "dapi": "a token of Databricks",
    "lin_": "an API key of Linear",
}
"""What a credential is, by how it begins, the longest beginning first; no name: it is public."""

PLACEHOLDERS = re.compile(
    r"(?i)example|placeholder|redacted|dummy|fake|your|x{4,}|\*{3,}|\.{3,}|0{8,}|(.)\1{7,}|1234567890"
)
"""What is somewhere in a value that only stands for one."""

NUMBERS = re.compile(r"^xox[a-z]-(?:[0-9]+-)*|^[0-9]+(?=:)|(?<=/webhooks/)[0-9]+")
"""What of a credential is the number of a team, a bot or a channel: it may be any."""

FEWEST_DIFFERENT = 8
"""Different characters of a credential; with fewer it is made up."""

SHORT = ("sk-", "rk-")
"""Beginnings that other words have too: these must hold digits as well."""


class Found:
    """A credential: its `kind`, for people, and its `value`."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: str) -> None:
        self.kind = kind
        self.value = value

    @property
    def shown(self) -> str:
        """The kind, and as much of the value as tells which one it is."""
        return f"{self.kind} ({self.value[:6]}...)" if not self.value.startswith("-----") else self.kind


def find(text: str, *, by_place: bool = False) -> Iterator[Found]:
    """Yield the credentials in a text; `by_place` also those that only their name or place gives away."""
    low = text.lower()
    for words, pattern in (*FORMS, *MORE):
        if any(word in low for word in words):
            for match in pattern.finditer(text):
                kind = _kind(match[0])
                if kind and _real(match[0]):
                    yield Found(kind, match[0])
    for words, pattern in PLACES if by_place else ():
        if any(word in low for word in words):
            for match in pattern.finditer(text):
                value = match[0][len(match[1]) :]
                if PLACEHOLDERS.search(value) is None and not value.startswith(("$", "<", "{", "%")):
                    yield Found(f"a credential, by its place ({match[1].strip()})", value)


def _kind(value: str) -> str:
    beginnings = sorted((each for each in KINDS if value.startswith(each)), key=len)
    return KINDS[beginnings[-1]] if beginnings else "a credential"


def _real(value: str) -> bool:
    if value.startswith("-----"):
        return True
    if PLACEHOLDERS.search(NUMBERS.sub("", value)) is not None or len(set(value)) < FEWEST_DIFFERENT:
        return False
    return not value.startswith(SHORT) or sum(char.isdigit() for char in value) > 1
