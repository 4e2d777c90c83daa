"""Claude Code's matchers are JavaScript's expressions: what ours find is compared with a real engine."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from hookrun.claude.regex import Expression, RegexError
from tests.rows import rows

TABLE = [
    ("a.c", "abc"),
    ("a.c", "a\nc"),
    ("a.c", "a\u2028c"),
    ("^a$", "a\n"),
    ("a$", "ba"),
    (r"\d+", "\u0663"),
    (r"\d", "7"),
    (r"\w", "é"),
    (r"^\W$", "é"),
    (r"\s", "\ufeff"),
    (r"\s", "\x1c"),
    (r"^\S$", "\x1c"),
    (r"[\s]", "\u00a0"),
    (r"^[\S]$", "\u00a0"),
    (r"^[^\s]$", "\x85"),
    (r"\bfoo\b", "éfoo"),
    (r"\Boo", "foo"),
    (r"\B", ""),
    (r"a\/b", "a/b"),
    (r"(?<name>a)b", "ab"),
    (r"(?<=a)b", "ab"),
    (r"(?<!a)b", "ab"),
    (r"(?<=a+)b", "aab"),
    (r"(?<=^a*)b", "caab"),
    (r"(?:a|ab)(?:c|bcd)(?:d*)$", "abcd"),
    (r"(?:^|a){3}b", "aab"),
    (r"a{2,}b", "ab"),
    (r"a{0}b", "b"),
    (r"a{99999999999999999999}", "a"),
    (r"(?:){5}a", "a"),
    (r"[^\W\d]", "_"),
    (r"[\s-a]", "-"),
    (r"(?!)|b", "b"),
    (r"(?=a)a", "a"),
    (r"(?!a)b", "b"),
    (r"(?:ab)+?c", "ababc"),
    (r"[^]", "\n"),
    (r"[]", "a"),
    (r"[]a]", "a]"),
    (r"[^]a]", "xa]"),
    (r"[a-]", "-"),
    (r"[\w-a]", "-"),
    (r"[a\-z]", "b"),
    (r"[[]", "["),
    (r"[\b]", "\b"),
    (r"[\d\D]", "x"),
    (r"[&&a]", "&"),
    (r"\cJ", "\n"),
    (r"\c1", "\\c1"),
    (r"[\c1]", "\x11"),
    (r"\x41", "A"),
    (r"\x4", "x4"),
    (r"\u0041", "A"),
    (r"\u{3}", "uuu"),
    (r"\u{41}", "A"),
    (r"\p{L}", "p{L}"),
    (r"\0", "\0"),
    (r"\101", "A"),
    (r"\8", "8"),
    (r"\A", "A"),
    (r"\Z", "Z"),
    (r"a{2}", "aa"),
    (r"a{,2}", "a{,2}"),
    (r"a{,2}", "aa"),
    (r"a{1,2}?$", "aaa"),
    (r"a{", "a{"),
    (r"a}", "a}"),
    (r"a]", "a]"),
    (r"x*", ""),
    (r"(?=a)*b", "b"),
    (r"a|b|", "zzz"),
    (r"()", ""),
    ("^\U0001f600$", "\U0001f600"),
    (r"^.$", "\U0001f600"),
    (r"^..$", "\U0001f600"),
    ("\u017f", "s"),
    (r"\$\^", "$^"),
    (r"\k", "k"),
    (r"mcp__(github|gitlab)__.*", "mcp__github__get"),
    (r"^(Edit|Write)$", "MultiEdit"),
    (r"*a", "a"),
    (r"a**", "a"),
    (r"a++", "a"),
    (r"a?+", "a"),
    (r"a{2}{3}", "a"),
    (r"{2}", "a"),
    (r"^*", "a"),
    (r"\b+", "a"),
    (r"(?<=a)*b", "b"),
    (r"(a", "a"),
    (r"a)", "a"),
    (r"[a", "a"),
    (r"[b-a]", "a"),
    (r"a{2,1}", "a"),
    (r"(?P<n>a)", "a"),
    (r"(?i)a", "a"),
    (r"(?#c)a", "a"),
    (r"(?>a)", "a"),
    (r"(?<n>a)(?<n>b)", "ab"),
    ("a\\", "a"),
]
"""Expressions and values at which Python and JavaScript differ, or could."""

SCRIPT = """
const table = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const answer = ([pattern, value]) => { try { return new RegExp(pattern).test(value) } catch { return null } };
console.log(JSON.stringify(table.map(answer)));
"""


def found(pattern: str, value: str) -> bool | None:
    """Return the result of our translation; None for an expression that cannot be used."""
    try:
        return Expression(pattern).search(value)
    except RegexError:
        return None


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here: nothing to compare expressions with")
def test_2_3_3_expressions_say_what_javascript_says() -> None:
    """Every line of the table, in a real engine and in ours."""
    done = subprocess.run(["node", "-e", SCRIPT], input=json.dumps(TABLE).encode(), capture_output=True, check=True)
    expected = json.loads(done.stdout)
    assert True in expected
    assert False in expected
    assert None in expected
    differ = [(*line, theirs) for line, theirs in zip(TABLE, expected, strict=True) if found(*line) is not theirs]
    assert differ == []


@rows("pattern", [r"(a)\1", r"(?<n>a)\k<n>", "(" * 60 + ")" * 60, "a" * 20_000])
def test_what_is_not_read_matches_nothing(pattern: str) -> None:
    """References to groups, and constructs that no matcher needs: they are reported."""
    assert found(pattern, "aab") is None


@rows(
    "pattern", ["(a*)*b", "(a|a)*b", "(.*)*(.*)*x", "a?" * 40 + "a" * 40 + "b", "((((a*)*)*)*)*b", "(?=(.*(?=.*)*)*)*b",
                "(?:a{0,1000}){1000}b", "(){1000000000}b", "(?<=(a*)*)b"]
)  # fmt: skip
def test_no_expression_takes_for_ever(pattern: str) -> None:
    """Expressions that take others centuries are fast; one that is still too slow counts as a match: the hook runs."""
    assert found(pattern, "a" * 20) is False
    assert found(pattern, "a" * 2000) is not None
    assert found(r"(?:a|aa|aaa){500}b", "b" + "a" * 2000) is True
