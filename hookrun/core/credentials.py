"""Recognise credentials by form or name: `secret-scan` finds and the audit redacts them by one table.

`re` is imported only for a text with a word of the table: on the hot path most have none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

HIDDEN = "[redacted]"

# Credentials known by form, hidden whole: lower-case words of which the text has one, a pattern, and the kind; those
# without a kind are public.
FORMS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("sk-", "rk-", "pk-"), r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}", "an API key"),
    (("sk_",), r"\bsk_(?:live|test)_[A-Za-z0-9]{16,}", "a secret key of Stripe"),
    (("rk_",), r"\brk_(?:live|test)_[A-Za-z0-9]{16,}", "a restricted key of Stripe"),
    (("pk_",), r"\bpk_(?:live|test)_[A-Za-z0-9]{16,}", ""),
    (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{16,}",
        "a token of GitHub",
    ),
    (("npm_",), r"\bnpm_[A-Za-z0-9]{16,}", "a token of npm"),
    (("hf_",), r"\bhf_[A-Za-z0-9]{16,}", "a token of Hugging Face"),
    (("glpat-", "pypi-"), r"\b(?:glpat-|pypi-)[A-Za-z0-9_-]{16,}", "a token of GitLab"),
    (("aiza",), r"\bAIza[A-Za-z0-9_-]{30,}", "an API key of Google"),
    (("xox", "xapp-"), r"\b(?:xox[abeposr]|xapp)-[A-Za-z0-9-]{10,}", "a token of Slack"),
    (("akia", "asia"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "an access key of AWS"),
    (("eyj",), r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", "a signed token (JWT)"),
    (
        ("private key",),
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        "a private key",
    ),
    (("sg.",), r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "an API key of SendGrid"),
    (("_v1_",), r"\bdo[opr]_v1_[0-9a-f]{64}\b", "a token of DigitalOcean"),
    (
        ("hooks.slack.com",),
        r"https://hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}",
        "a webhook of Slack",
    ),
    (
        ("/api/webhooks/",),
        r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{40,}",
        "a webhook of Discord",
    ),
    ((":aa",), r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}", "a credential"),
    (("accountkey=",), r"\bAccountKey=[A-Za-z0-9+/]{80,}={0,2}", "an account key of Azure"),
    (("age-secret-key-",), r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}", "a secret key of age"),
    (("shpat_", "shpca_", "shppa_", "shpss_"), r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "a token of Shopify"),
    (("hvs.", "hvb."), r"\bhv[sb]\.[A-Za-z0-9_-]{24,}", "a token of Vault"),
    (("dapi",), r"\bdapi[0-9a-f]{32}\b", "a token of Databricks"),
    (("lin_api_",), r"\blin_api_[A-Za-z0-9]{32,}", "an API key of Linear"),
    (("gocspx-",), r"\bGOCSPX-[A-Za-z0-9_-]{20,}", "an OAuth secret of Google"),
    (("ya29.",), r"\bya29\.[A-Za-z0-9_-]{30,}", "an access token of Google"),
)

# Beginnings with another kind than their row's. They share a row because one may hold another.
KINDS = {"sk-ant-": "an API key of Anthropic", "pk-": "", "pypi-": "a token of PyPI"}

# What precedes a password in a URL; an `@` follows.
URL = ("://",)

NAME_WORDS = (
    "token", "secret", "passw", "passphrase", "credential", "cookie", "authorization", "api_key", "apikey",
    "access_key", "accesskey", "private_key", "privatekey", "signing_key", "encryption_key", "session_key",
)  # fmt: skip
# Ends of names of credentials.
NAME_ENDS = ("_key", "_pat", "_auth", "_pass", "_pw", "_dsn", "database_url")

NAME_HINTS = (*NAME_WORDS, *(each.replace("_", "-") for each in NAME_WORDS if "_" in each), *NAME_ENDS)
NAME = (
    f"(?:{'|'.join(NAME_WORDS)})".replace("_", "[_-]")
    .replace("passw|", "passw(?:or)?d|")
    .replace("credential", "credentials?")
    .replace("authorization", r"authorization(?!\s*:)")  # a header: see PLACES
)
# Words of which a text with such a name has one, and patterns. In a text, the ends count in capitals only, as variables
# have them: small letters name a program's own values, such as `sort_key=`.
NAMES = f"(?:{NAME}|(?-i:{'|'.join(NAME_ENDS).upper()}))"

# The same for values revealed by the name or place before them: the first group is kept.
PLACES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("authorization",), r"(?i)(\bauthorization\s*:\s*[a-z]+\s+)[A-Za-z0-9._~+/=-]{4,}"),
    (("bearer", "basic"), r"(?i)(\b(?:bearer|basic)\s+)(?=[^\s]*[0-9])[A-Za-z0-9._~+/=-]{8,}"),
    (URL, r"(://[^/\s:@]*:)[^/\s@]+(?=@)"),
    (("cookie",), r"(?i)(\bcookie\s*:\s*)[^\r\n\"']{4,}"),
    (NAME_HINTS, rf"(?i)({NAMES}[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&}}]{{4,}}"),
)

# An argument in a shell command, quoted or not.
ARGUMENT = r"""(?:"[^"]*"?|'[^']*'?|[^\s"'|;&]+)"""

# The same for quoted values and commands' arguments; only redacted, not reported by `secret-scan`.
ARGUMENTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (NAME_HINTS, rf"(?is)({NAMES}\"?\s*[=:]\s*\")(?:[^\"\\]|\\.){{4,}}"),
    (NAME_HINTS, rf"(?i)({NAMES}'?\s*[=:]\s*')[^']{{4,}}"),
    (NAME_HINTS, rf"(?i)({NAMES}(?:\\\")?\s*[=:]\s*\\\")(?:[^\"\\]|\\[^\"]){{4,}}"),
    (NAME_HINTS, rf"(?i)(\s--(?!no-)(?:\w+-)*{NAME}\s+)(?!-){ARGUMENT}"),
    (NAME_HINTS, rf"(?i)(\b(?:config(?:ure)?\s+set|set\s+-\w+)\s[^|;&\n]{{0,100}}?{NAME}\s+)(?!-){ARGUMENT}"),
    (NAME_HINTS, rf"(?i)({NAME}(?-i:_[A-Z0-9_]{{0,40}})=){ARGUMENT}"),
    (("mysql", "mariadb"), rf"(\b(?:mysql|mariadb)[^|;&\n]{{0,200}}?\s-p){ARGUMENT}"),
    (("login",), rf"(\b(?:docker|podman|az|oc)\s+login\b[^|;&\n]{{0,200}}?\s-p\s*){ARGUMENT}"),
    (("sshpass",), rf"(\bsshpass\s+(?:-[ve]\s+)*-p\s*){ARGUMENT}"),
    (
        ("curl",),
        (
            r"(\bcurl\s(?:[^|;\n]|\\\n){0,300}?(?<=\s)(?:-[A-Za-z]*[uU]|--(?:proxy-)?user)[\s=]*([\"'])?[^\s:\"']*:)"
            r"(?(2)(?:(?!\2).)+|\S+)"
        ),
    ),
)

# All of these in the order of redaction, each with its replacement.
REDACTIONS = (
    *((words, pattern, HIDDEN) for words, pattern, _ in FORMS),
    *((words, pattern, rf"\g<1>{HIDDEN}") for words, pattern in (*ARGUMENTS, *PLACES)),
)

# Found in placeholders for credentials.
PLACEHOLDERS = r"(?i)example|placeholder|redacted|dummy|fake|your|x{4,}|\*{3,}|\.{3,}|0{8,}|(.)\1{7,}|1234567890"

# A team's, bot's or channel's number in a credential: any digits will do.
NUMBERS = r"^xox[a-z]-(?:[0-9]+-)*|^[0-9]+(?=:)|(?<=/webhooks/)[0-9]+"

# Different characters of a credential; values with fewer are made up.
MIN_DIFFERENT = 8

# Beginnings of ordinary words, too: these credentials must have digits.
AMBIGUOUS = ("sk-", "rk-")


class SecretMatch:
    """A credential found in a text: its `kind`, for people, and its `value`."""

    def __init__(self, kind: str, value: str) -> None:
        self.kind = kind
        self.value = value

    @property
    def shown(self) -> str:
        """The kind, and enough of the value to identify it."""
        return f"{self.kind} ({self.value[:6]}...)" if not self.value.startswith("-----") else self.kind


def redact(text: str) -> str:
    """Return the text with credentials, known by form, name or place, replaced by `[redacted]`."""
    low = text.lower()
    for words, pattern, replacement in REDACTIONS:
        if _may_match(words, low):
            import re

            text = re.sub(pattern, replacement, text)
    return text


def _may_match(words: tuple[str, ...], low: str) -> bool:
    """Return whether a pattern with these words is worth importing `re`; most URLs have no password."""
    return any(word in low for word in words) and (words is not URL or "@" in low)


def redact_json(value: object, name: str = "") -> object:
    """Return a JSON value with credentials replaced in all strings; `name` is its key, if any."""
    if isinstance(value, str):
        return HIDDEN if value and names_credential(name) else redact(value)
    if isinstance(value, dict):
        return {key: redact_json(each, str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_json(each, name) for each in value]
    return value


def names_credential(name: str) -> bool:
    """Return whether a value called `name` is wholly a credential."""
    low = name.lower().replace("-", "_")
    return low.endswith(NAME_ENDS) or any(word in low for word in NAME_WORDS)


def may_hold_secret(text: str) -> bool:
    """Return whether `find_secrets` may find a credential by its form. False is certain."""
    low = text.lower()
    return any(_may_match(words, low) for words, *_ in FORMS)


def find_secrets(text: str, *, by_place: bool = False) -> Iterator[SecretMatch]:
    """Yield the credentials in a text; with `by_place` also those known only by name or place."""
    low = text.lower()
    for words, pattern, row_kind in FORMS:
        for match in _matches(words, pattern, text, low):
            kind = next((KINDS[each] for each in KINDS if match[0].startswith(each)), row_kind)
            if kind and _is_real(match[0]):
                yield SecretMatch(kind, match[0])
    for words, pattern in PLACES if by_place else ():
        for match in _matches(words, pattern, text, low):
            value = match[0][len(match[1]) :]
            if not _is_placeholder(value) and not value.startswith(("$", "<", "{", "%")):
                yield SecretMatch(f"a credential, by its place ({match[1].strip()})", value)


def _matches(words: tuple[str, ...], pattern: str, text: str, low: str) -> Iterator[re.Match[str]]:
    if _may_match(words, low):
        import re

        yield from re.finditer(pattern, text)


def _is_placeholder(value: str) -> bool:
    import re

    return re.search(PLACEHOLDERS, value) is not None


def _is_real(value: str) -> bool:
    import re

    if value.startswith("-----"):
        return True
    if _is_placeholder(re.sub(NUMBERS, "", value)) or len(set(value)) < MIN_DIFFERENT:
        return False
    return not value.startswith(AMBIGUOUS) or sum(char.isdigit() for char in value) > 1
