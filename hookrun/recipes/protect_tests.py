"""The recipe `protect-tests`: asks before tests are removed, skipped or weakened, and checks a turn's end."""

from __future__ import annotations

import os
import time

from hookrun.process.git_query import run
from hookrun.recipes import paths
from hookrun.recipes.recipe import Option, Recipe, one_of
from hookrun.recipes.recipe_state import LockedState, session_id
from hookrun.recipes.shell_recipe import CHANGING_TOOLS, SHELL_TOOLS, line_of, may, mcp_tool
from hookrun.shell.prefilter import QUOTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "protect-tests"

RECIPE = Recipe(
    NAME,
    "Ask before tests are removed, skipped or weakened; check at the end of a turn what it did to tests.",
    options=(
        Option(
            "calls",
            "ask",
            "What happens to a call that takes tests away: `ask`, `block` or `no`.",
            choices=("ask", "block", "no"),
        ),
        Option(
            "changes",
            "tell",
            "When a turn changed what tests assert, and no code: `tell` you, `block` its end once, or `no`.",
            choices=("tell", "block", "no"),
        ),
        Option(
            "claims",
            "block",
            "When the model says that tests pass, and none ran in the turn: `block` once, `tell` you, or `no`.",
            choices=("block", "tell", "no"),
        ),
    ),
    catches="""
        - Edits, and `sed -i`, `perl -pi`, `echo >` and the like, that skip a test (`@pytest.mark.skip`, `it.skip`,
          `xit`, `.only`, `t.Skip`, `#[ignore]`, `@Disabled`), remove one, or leave an assertion that nearly anything
          passes (`assert True`, `toBeDefined()`).
        - Removing, emptying and renaming test files and directories, and bringing back an older version of them.
        - Settings that leave tests out (`collect_ignore`, `--ignore`, `testPathIgnorePatterns`), have a run succeed
          (`pytest || true`, `continue-on-error: true`, `"test": "exit 0"`), or require less coverage; code that finds
          out whether a test runs it.
        - At the end of a turn: assertions of tests that changed while no code did, and a claim that tests pass although
          none ran since the turn began.
    """,
    misses="""
        - New test files, more tests, and changed assertions beside changed code: they are allowed.
        - A test file that git does not have yet may be removed.
        - Tests moved from one file to another: the user is asked.
        - Tests that assert little from the start, and code that is written for one test only.
        - Conditions (`skipif`), and files that scripts and generators write.
        - Claims of agents that do not pass on the model's answer, and claims in other languages than English.
    """,
)

# What names tests, or what says which of them run.
NAMING = ("cfg", "conf", "cov", "e2e", "ini", "just", "make", "package", "spec", "test", "toml", "yaml", "yml")
MADE_UP = "$`*?[{"
# Commands that run tests, and the names of MCP servers' tools that do.
RUNS = (
    r"\b(?:py\.?test|unittest|tox|nox|rspec|minitest|phpunit|ctest|jest|vitest|mocha|ava|karma|cypress|playwright"
    r"|nextest|gotestsum|bats|tests?|check|verify|spec|ci)\b|_tests?\b"
)
CLAIMS = (
    r"(?i)\btests?\b(?: suites?)?(?: (?:now|all|are|still|is|have|has))*"
    r" (?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b"
    r"|\b\d+ (?:tests? )?pass(?:ed|ing)\b|\ball green\b"
)
# What takes a claim back.
UNSURE = (
    r"(?i)\b(?:should|would|will|if|once|until|when|whether|unless|not|ensure|before|verify|run|make sure|check that)\b"
    r"|n't\b"
)
# Seconds by which the time of a file may be behind the clock.
COARSE = 0.05


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether a call may take tests away. False is certain."""
    if one_of(RECIPE, "calls") == "no":
        return False
    if line_of(context) is None:
        return not mcp_tool(context) and context.get("tool_name") in {"write", "edit", "delete"}
    return may(context, _may_change)


def _may_change(line: str) -> bool:
    bare = line.translate(QUOTES).lower()
    return any(each in bare for each in (*NAMING, *MADE_UP))


@RECIPE.hook("pre_tool_use", matcher=CHANGING_TOOLS, priority=40, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the question about a call that takes tests away, or its block, else None."""
    from hookrun.recipes.weaker_tests import reasons

    reason = next(reasons(context, line_of(context)), None)
    if reason is None:
        return None
    advice = "Say why if that is right, or fix the code instead."
    return {"action": one_of(RECIPE, "calls"), "message": f"This {reason}. {advice}"}


def _turn(context: Mapping[str, object]) -> LockedState:
    return LockedState(NAME, "turn", session_id(context))


# Without it nothing is said at the end of the turn.
@RECIPE.hook(
    ["session_start", "user_prompt_submit"],
    "Note when a turn begins",
    name=f"{NAME}-begin",
    timeout=10,
    on_failure="continue",
)
def begin(context: Mapping[str, object]) -> None:
    """Store when the turn began, and at which commit."""
    commit = (run(paths.project_root(context), "rev-parse", "-q", "--verify", "HEAD") or "").strip()
    with _turn(context) as turn:
        turn.clear()
        turn.update(began=time.time(), commit=commit)


@RECIPE.hook(
    ["post_tool_use", "post_tool_failure"],
    "Note that tests have run",
    name=f"{NAME}-note",
    matcher=SHELL_TOOLS,
    on_failure="continue",
)
def note(context: Mapping[str, object]) -> None:
    """Store that a line, or a tool of an MCP server, has run tests."""
    import re

    if re.search(RUNS, f"{line_of(context) or ''} {mcp_tool(context).replace('_', ' ')}"):
        with _turn(context) as turn:
            turn["ran"] = True


@RECIPE.hook("stop", "Check what the turn did to tests", name=f"{NAME}-at-stop", timeout=20, on_failure="continue")
def at_stop(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a turn that changed only tests, or claims too much; or what to tell the user."""
    with _turn(context) as turn:
        began, commit, ran = (turn.get(each) for each in ("began", "commit", "ran"))
    if not isinstance(began, float):
        return None
    root = paths.project_root(context)
    names = changed_since(root, str(commit), began)
    said: dict[str, list[str]] = {"block": [], "tell": [], "no": []}
    said[one_of(RECIPE, "claims")] += _claimed(context) if names and not ran else []
    said[one_of(RECIPE, "changes")] += _changed(root, str(commit), names)
    if said["block"] and context.get("stop_hook_active") is not True:
        return {"action": "block", "message": "\n".join(said["block"])}
    lines = [f"{NAME}: {each}" for each in said["tell"]]
    return {"action": "continue", "system_message": "\n".join(lines)} if lines else None


def changed_since(root: str, commit: str, began: float) -> list[str]:
    """Return the files of a repository that changed since a time, as far as git does not ignore them."""
    listed = (run(root, "diff", "--name-only", "--relative", "-z", commit or "HEAD") or "").split("\0")
    listed += (run(root, "ls-files", "--others", "--exclude-standard", "-z") or "").split("\0")
    found = []
    for name in filter(None, listed):
        try:
            if os.lstat(os.path.join(root, name)).st_mtime >= began - COARSE:
                found.append(name)
        except OSError:
            found.append(name)  # removed, at a time that is not known
    return found


def _claimed(context: Mapping[str, object]) -> list[str]:
    import re

    answer = context.get("assistant_response")
    sentences = re.split(r"(?<=[.!?:])\s+|\n+", answer) if isinstance(answer, str) else []
    claim = next((each for each in sentences if re.search(CLAIMS, each) and not re.search(UNSURE, each)), None)
    if claim is None:
        return []
    return [f'no tests have run in this turn, but it says "{" ".join(claim.split())[:100]}". Run them, or say so.']


def _changed(root: str, commit: str, names: list[str]) -> list[str]:
    """Return what to say about tests that changed while no code did."""
    from hookrun.recipes import weaker_tests

    tests = [each for each in names if weaker_tests.is_test_file(each)]
    if not tests or any(weaker_tests.is_code(each) for each in names):
        return []
    diff = run(root, "diff", "--relative", "-U0", commit or "HEAD", "--", *tests) or ""
    lost = weaker_tests.lost_assertions(diff)
    shown = ", ".join(tests[:3])
    return [f"this turn changed {lost} assertions of tests and no code: review {shown}"] if lost else []
