"""Text that must not be kept is hidden; other text stays readable."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hookrun.core.audit import summarized
from hookrun.core.credentials import FORMS, HIDDEN, KINDS, NAME_ENDS, NAME_WORDS, find_secrets, redact, redact_json
from hookrun.process.prepare import looks_like_credential
from hookrun.recipes.log_tools import LogSanitizer

BODY = "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"
"""Thirty-six characters as a token may have them; every credential here is made up."""

CREDENTIALS = (
    ("an API key of SendGrid", f"SG.{BODY}.{BODY}"),
    ("a token of DigitalOcean", "dop_v1_" + "0123456789abcdef" * 4),
    ("a webhook of Slack", f"https://hooks.slack.com/services/T0AB/B0CD/{BODY[:24]}"),
    ("a webhook of Discord", f"https://discord.com/api/webhooks/99887766/{BODY}{BODY}"),
    ("an account key of Azure", f"AccountKey={BODY}{BODY}{BODY}=="),
    ("a secret key of age", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN" * 3),
    ("a token of Shopify", "shpat_" + "0123456789abcdef" * 2),
    ("a token of Vault", f"hvs.{BODY}"),
    ("a token of Databricks", "dapi" + "0123456789abcdef" * 2),
    ("an API key of Linear", f"lin_api_{BODY}"),
    ("an OAuth secret of Google", f"GOCSPX-{BODY}"),
    ("an access token of Google", f"ya29.{BODY}"),
    ("a private key", f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----"),
    ("an API key of Anthropic", f"sk-ant-api03-{BODY}-{BODY}_x"),
    ("an API key", f"sk-proj-{BODY}"),
    ("an API key", f"rk-{BODY}"),
    ("a secret key of Stripe", f"sk_live_{BODY}"),
    ("a restricted key of Stripe", f"rk_live_{BODY}"),
    ("a restricted key of Stripe", f"rk_test_{BODY[:24]}"),
    ("a token of GitHub", f"ghp_{BODY}"),
    ("a token of GitHub", f"gho_{BODY}"),
    ("a token of GitHub", f"ghs_{BODY}"),
    ("a token of GitHub", f"github_pat_11ABCDEFG0_{BODY}"),
    ("a token of npm", f"npm_{BODY}"),
    ("a token of Hugging Face", f"hf_{BODY[:34]}"),
    ("a token of GitLab", f"glpat-{BODY[:20]}"),
    ("a token of GitLab", "glpat-aB3dE5gH-jK9mN1pQ3sT"),
    ("a token of PyPI", f"pypi-{BODY}"),
    ("an API key of Google", f"AIza{BODY[:35]}"),
    ("a token of Slack", "xoxb-12345-67890-aB3dE5gH7jK9mN1p"),
    ("a token of Slack", "xoxp-123456789012-aB3dE5gH7jK9"),
    ("a token of Slack", "xapp-1-A0B1C2D3E4F-67890-aB3dE5gH7jK9mN1p"),
    ("a token of Slack", "xoxe-1-aB3dE5gH7jK9mN1p"),
    ("an access key of AWS", "AKIAQWERTYUIOPASDFGH"),
    ("an access key of AWS", "ASIAQWERTYUIOPASDFGH"),
    ("a signed token (JWT)", f"eyJ{BODY}.{BODY}.{BODY}"),
    ("a credential", f"123456789:AA{BODY}"),
)
"""Kinds, and credentials of them."""

SURROUNDINGS = [
    "{}",
    "x {} y",
    "fatal: cannot log in with {}, give another",
    "KEY={}",
    "'{}'",
    '{"a": ["{}"]}',
    "a\n{}\nb",
]


def differing(expected: dict[str, str]) -> dict[str, str]:
    """Return the texts that are redacted to another text than expected, with that text."""
    return {text: redacted for text, hidden in expected.items() if (redacted := redact(text)) != hidden}


def test_credentials_are_hidden_by_their_form() -> None:
    """A well-known credential is replaced completely wherever it is, and the text around it stays."""
    forms = [(around, credential) for around in SURROUNDINGS for _, credential in CREDENTIALS]
    assert differing({around.replace("{}", each): around.replace("{}", HIDDEN) for around, each in forms}) == {}


COMMANDS = {
    "export API_KEY='abc def ghi'": "abc def ghi",
    'PGPASSWORD="two words" psql': "two words",
    'PASSWORD="a \\" quote" psql': 'a \\" quote',
    'echo "{\\"password\\": \\"hunter2\\"}"': "hunter2",
    'echo "{\\"password\\": \\"two words\\"}"': "two words",
    "mysql --password hunter22": "hunter22",
    "x --auth-token 'two words' y": "'two words'",
    "mysql -u root -phunter22 app": "hunter22",
    "docker login -u me -p s3cretpw r.example.com": "s3cretpw",
    "sshpass -p topsecret ssh -p 2222 h": "topsecret",
    "aws configure set aws_secret_access_key wJalrXUt": "wJalrXUt",
    "curl -u bob:pw12345 http://h": "pw12345",
    "curl -sSu 'bob:pw 12345' http://h": "pw 12345",
    "curl --user bob:pw12345 h": "pw12345",
    "curl \\\n  --user=bob:pw12345 h": "pw12345",
}
"""Commands with a credential in an argument: redacted, but no finding of `secret-scan`."""


def test_an_argument_of_a_command_is_found_by_the_quick_look_only_to_be_redacted() -> None:
    """The audit's quick look does not skip it; `secret-scan` does not block it without its option `places`."""
    assert {text: kept for text, secret in COMMANDS.items() if secret in (kept := summarized(text))} == {}
    assert {text: found for text in COMMANDS if (found := [*find_secrets(text)])} == {}


NAMED_OR_PLACED = {
    "Authorization: Bearer abcdef123456": "abcdef123456",
    "authorization: bearer abcdef.123-456_x=": "abcdef.123-456_x=",
    "curl -H 'Authorization: Basic dXNlcjpwYXNzd29yZA=='": "dXNlcjpwYXNzd29yZA==",
    "https://user:hunter22@example.com/x": "hunter22",
    "postgres://app:p%40ss:w0rd@db:5432/app": "p%40ss:w0rd",
    "redis://:onlypassword@cache": "onlypassword",
    "password=hunter22": "hunter22",
    "PGPASSWORD=hunter22 psql": "hunter22",
    "passwd: hunter22": "hunter22",
    "passphrase = hunter22": "hunter22",
    '{"password": "hunter22"}': "hunter22",
    "{'api_key': 'abcd1234'}": "abcd1234",
    "X-Api-Key: abcd1234": "abcd1234",
    "apikey=abcd1234&q=1": "abcd1234",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG": "wJalrXUtnFEMI/K7MDENG",
    "client_secret=abcd1234;": "abcd1234",
    "export GITHUB_TOKEN=abcd1234": "abcd1234",
    'PRIVATE_KEY="abcd1234"': "abcd1234",
    "access-key: abcd1234": "abcd1234",
    "Cookie: theme=dark; session=abcd1234": "theme=dark; session=abcd1234",
    '{"authorization": "Basic abcd"}': "Basic abcd",
    "SECRET_KEY_BASE=abcd1234 rails s": "abcd1234",
    **COMMANDS,
}


def test_values_are_hidden_by_their_name_or_place() -> None:
    """What a name or the place in a URL gives away is hidden, the name and everything else stays."""
    assert differing({text: text.replace(secret, HIDDEN) for text, secret in NAMED_OR_PLACED.items()}) == {}


VALUE = "hunter2Zq81"
NAMES = [
    *["MY_passwd" if word == "passw" else f"MY_{word}" for word in NAME_WORDS],
    *[f"MY{end}" for end in NAME_ENDS],
    *["API-KEY", "X-Signing-Key", "NPM_AUTH", "COOKIE", "DATABASE_URL", "AWS_CREDENTIALS"],
]


NAMED = [each for name in NAMES for each in (name.upper(), name)]


def test_a_name_of_a_credential_is_known_everywhere() -> None:
    """To `env_policy: scrub`, the audit, `secret-scan` and `log-tools`."""
    log = LogSanitizer(100, redact=True)
    assert [name for name in NAMED if not looks_like_credential(name.encode())] == []
    assert [name for name in NAMED if redact_json({name: VALUE}) != {name: HIDDEN}] == []
    assert [name for name in NAMED if log.value({name: VALUE}) != {name: HIDDEN}] == []


def test_a_value_is_hidden_by_the_name_of_a_credential_before_it() -> None:
    """In the audit and to `secret-scan`; an end such as `_key` in small letters is a program's own: `sort_key=...`."""
    names = [name for name in NAMED if not name.endswith(NAME_ENDS) or name.endswith("api_key")]
    assert differing({f"export {name}={VALUE} x": f"export {name}={HIDDEN} x" for name in names}) == {}
    found = {name: [*find_secrets(f"export {name}={VALUE} x", by_place=True)] for name in names}
    assert [name for name, matches in found.items() if [each.value for each in matches] != [VALUE]] == []


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH "])
def test_private_keys_are_hidden_whole_and_each_alone(kind: str) -> None:
    """Every line of a private key is removed, of a truncated one as well; the text between two is not part of them."""
    key = f"-----BEGIN {kind}PRIVATE KEY-----\nMIIE{BODY}\n{BODY}\n-----END {kind}PRIVATE KEY-----"
    assert redact(f"before\n{key}\nafter") == f"before\n{HIDDEN}\nafter"
    assert redact(f"{key}\nbetween\n{key}") == f"{HIDDEN}\nbetween\n{HIDDEN}"
    assert redact(f"before\n{key[:60]}") == f"before\n{HIDDEN}"


def test_every_credential_of_a_text_is_hidden() -> None:
    """Not only the first one, and different ones side by side."""
    assert (
        redact(f"ghp_{BODY} ghp_{BODY} password=abcd AKIAIOSFODNN7EXAMPLE")
        == f"{HIDDEN} {HIDDEN} password={HIDDEN} {HIDDEN}"
    )


ORDINARY = [
    "",
    "git push --force is not allowed here",
    "blocked by guard (exit 2, no reason given)",
    "hook lint failed (exit_code): it exited with status 1; stderr: E501 line too long",
    "the password is wrong",
    "no token was given",
    "a token: x",
    "see https://example.com:8080/path@v2?a=b",
    "git@github.com:owner/repository.git",
    "ssh://git@github.com/owner/repository",
    "mail someone@example.com: done",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "risk-assessment-of-the-migration",
    "the secretary wrote it",
    "sk-learn",
    "AKIA",
    "eyJ.x.y",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "key: value",
    "import tokenize; tokens = 5",
    "éè 日本語 \x00\x1b[31m",
    "this needs basic arithmetic only",
    "it is a basic requirement of bearer instruments",
    "desk-top-publishing-with-open-tools",
    "docker login --password-stdin r.example.com",
    "docker run -u 1000:1000 -p 80:80 x",
    "mysql -u root -p app",
    "psql --no-password app",
    "mysql --password -h db",
    "sshpass -e ssh -p 2222 host",
    "curl -s https://example.com:8080/x",
    "curl -u bob https://example.com",
    "mkdir -p src/login && cd src",
    "vault --token-file f",
    "echo $npm_config_user_agent $npm_package_dependencies_react",
    "hf_transformers_cache_directory = x",
    "sorted(rows, key=by_name, sort_key=created_at)",
    "MAX_TOKENS=4096 passwordless: true",
]


def test_ordinary_text_is_left_as_it_is() -> None:
    """A message without a credential in it is kept letter for letter."""
    assert differing({text: text for text in ORDINARY}) == {}


@given(st.text(max_size=30), st.sampled_from(CREDENTIALS), st.text(max_size=30))
def test_a_credential_is_gone_whatever_is_around_it(before: str, found: tuple[str, str], after: str) -> None:
    """Between any two texts, with a space to each side, no credential is left."""
    assert found[1] not in redact(f"{before} {found[1]} {after}")


@given(st.text(st.sampled_from("abcdefghij klmno.,\n"), max_size=200))
def test_plain_words_are_never_touched(text: str) -> None:
    """Small letters, spaces and stops alone hold no credential."""
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "://" * 30_000,
        "-----BEGIN PRIVATE KEY-----" * 3000,
        "token=" * 20_000,
        "SECRET_" * 20_000,
        "eyJ" + "a." * 30_000,
        *(text * 10_000 for text in ("mysql ", "curl -u ", "docker login ", "config set ", 'token="', "sshpass -e ")),
    ],
)
def test_a_long_text_is_redacted_in_time(text: str) -> None:
    """No text makes the patterns try again and again: this ends."""
    assert isinstance(redact(text), str)


def test_secret_scan_finds_them_by_their_kind() -> None:
    """Each alone, and whole."""
    found = [[*find_secrets(f"x {credential} y")] for _, credential in CREDENTIALS]
    assert [[(each.kind, each.value) for each in matches] for matches in found] == [[it] for it in CREDENTIALS]


def test_every_kind_of_the_table_is_tried() -> None:
    """There is a credential of each kind above; those without one are public."""
    assert {kind for kind in (*(row[2] for row in FORMS), *KINDS.values()) if kind} == {kind for kind, _ in CREDENTIALS}
