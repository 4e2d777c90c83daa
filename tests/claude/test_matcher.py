"""Matchers without `re`, and expressions that could take too long."""

from __future__ import annotations

from time import process_time

from hypothesis import given, strategies as st

from hookrun.claude.matcher import globs_of
from hookrun.claude.regex import Expression
from hookrun.core.globs import glob
from tests.rows import rows

PARTS = ("Edit", "Notebook", "mcp__", "a", "b", "^", "$", ".*", "|", "(", ")", "-", "_", "*", ".")
TOOLS = ("Edit", "NotebookEdit", "mcp__a__b", "a", "b", "ab", "ba", "", "EditX", "a-b", "aB")


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join))
def test_globs_match_what_the_expression_matches(matcher: str) -> None:
    """Whatever can be written as globs is a valid expression, and both match the same tools."""
    globs = globs_of(matcher)
    if globs is None:
        return
    expression = Expression(matcher)
    matched = [tool for tool in TOOLS if any(glob(pattern, tool) for pattern in globs)]
    assert matched == [tool for tool in TOOLS if expression.search(tool)]


@rows(
    "matcher, globs",
    [
        ("Edit.*|^Write$", ["*Edit**", "Write"]),
        ("^(Edit|Write)$", ["Edit", "Write"]),
        ("mcp__.*__write", ["*mcp__*__write*"]),
        ("^mcp__(github|gitlab)__.*", ["mcp__github__**", "mcp__gitlab__**"]),
        ("Edit|Write(a)", None),
        ("(a)(b)", None),
        ("[Ee]dit", None),
        ("Edit.+", None),
        ("(B.)*", None),
    ],
)
def test_common_matchers_need_no_expression(matcher: str, globs: list[str] | None) -> None:
    """Alternatives with `.*`, anchors and one group become globs; anything else does not."""
    assert globs_of(matcher) == globs


@rows(
    "pattern",
    [r"\S" * 4000, r"[\s\S]" * 1000, "(?:(?:a{1000}){1000}){1000}", ".*" * 50 + "x", "(?:a|b){40}x", "(?<!^.*a)b"],
)
def test_what_could_take_too_long_counts_as_found(pattern: str) -> None:
    """Neither compiling nor searching is tried: a guard runs once too often rather than never."""
    start = process_time()
    assert Expression(pattern).search("xab" * 80)
    assert process_time() - start < 5
