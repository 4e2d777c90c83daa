"""Calls of the past are judged as `hookrun fire` would, without a process."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from unittest import mock

from hypothesis import given, strategies as st

from hookrun.config.document import Document, errors_in
from hookrun.config.recipe_entries import hooks_from_data
from hookrun.core.conditions import mismatches
from hookrun.core.globs import glob, matcher_of_any
from hookrun.core.model import Hook
from hookrun.process import git_query
from hookrun.recipes import no_force_push
from hookrun.replay.judge import Judge, Judged

ALPHABET = "ab*?[]!\n"


def judge(*entries: dict[str, object], project: str = "/p", home: str = "/h") -> Judge:
    """Return the judge by hooks that are declared so."""
    return Judge(declared(*entries), project, home, {})


def declared(*entries: dict[str, object]) -> list[Hook]:
    """Return hooks that are declared so."""
    common = {"event": "pre_tool_use"}
    named = [each if "recipe" in each else {"name": f"h{n}", **common, **each} for n, each in enumerate(entries)]
    found: list[object] = [*named]
    hooks, problems = hooks_from_data(Document.from_data("hooks", found), (), found, [])
    assert errors_in(problems) == []
    return hooks


def bash(command: str, **fields: object) -> dict[str, object]:
    """Return the context of a command."""
    return {"tool_name": "bash", "tool_args": {"command": command}, "agent": "claude", **fields}


@given(st.lists(st.text(ALPHABET, max_size=5), max_size=4), st.text(ALPHABET, max_size=7))
def test_one_pattern_matches_what_any_of_its_globs_does(globs: list[str], text: str) -> None:
    """Whatever the globs."""
    assert bool(matcher_of_any(globs)(text)) == any(glob(each, text) for each in globs)


CONDITIONS: tuple[dict[str, object], ...] = (
    {"matcher": "bash", "when": {"tool_args.command": "git *"}},
    {"matcher": "Bash", "when": {"tool_args.command": ["rm *", "*--force*"]}, "unless": {"agent": "codex"}},
    {"when": {"tool_args.command": "*push*", "agent": "cl*"}},
    {"matcher": "write|edit", "when": {"file_path": "*/src/*"}},
    {"agents": ["codex"]},
    {"unless": {"tool_args.command": "ls*"}},
)


@given(
    st.sampled_from(["git push --force", "rm x", "ls", "git status", ""]),
    st.sampled_from(["claude", "codex", None]),
    st.sampled_from(["bash", "write", "edit"]),
)
def test_the_hooks_that_match_are_those_that_fire_would_select(command: str, agent: str | None, tool: str) -> None:
    """Whichever conditions they have; programs are not asked, but named."""
    hooks = declared(*({**each, "command": "true"} for each in CONDITIONS))
    context = {"event": "pre_tool_use", **bash(command, agent=agent), "tool_name": tool, "file_path": "/p/src/x"}
    fields = ("matcher", "when", "unless", "agents")
    conditions = {n: {name: getattr(each, name) for name in fields} for n, each in enumerate(hooks)}
    selected = [number for number, missed in mismatches(conditions, context).items() if missed is None]
    found = Judge(hooks, "/p", "/h", {}).verdict("pre_tool_use", context)
    assert set(found.unjudged) == {hooks[number].name for number in selected}


def test_a_recipe_is_asked_and_what_keeps_a_state_is_not(tmp_path: Path) -> None:
    """The state would change, and would be that of today."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    asked = judge({"recipe": "no-force-push"}, {"recipe": "rate-limit"}, project=str(project), home=str(home))
    found = asked.verdict("pre_tool_use", bash("git push --force", working_dir=str(project)))
    assert (found.action, found.hooks) == ("block", ("no-force-push",))
    assert asked.verdict("pre_tool_use", bash("ls")) == Judged(unjudged=("rate-limit",))
    assert list(home.iterdir()) == []


def test_the_strongest_verdict_counts_and_a_block_ends_the_chain() -> None:
    """As in a run."""
    both = judge({"recipe": "block-destructive-commands"}, {"recipe": "no-force-push"})
    found = both.verdict("pre_tool_use", bash("rm -rf / && git push --force"))
    assert found.hooks == ("block-destructive-commands",)


def test_git_is_asked_for_settings_once_a_directory_and_for_nothing_else(tmp_path: Path) -> None:
    """A recipe that wants to know more is not judged; so is one whose directory is gone."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "config", "alias.p", "push --force"], check=True)
    asked = judge({"recipe": "no-force-push"}, {"recipe": "protect-hooks"}, project=str(tmp_path))
    with mock.patch.object(os, "posix_spawnp", wraps=os.posix_spawnp) as spawned:
        for _ in range(3):
            assert asked.verdict("pre_tool_use", bash("git p", working_dir=str(tmp_path))).action == "block"
        (tmp_path / "coder.json").write_text("{}")
        stash = asked.verdict("pre_tool_use", bash("git stash -u", working_dir=str(tmp_path)))
    assert (spawned.call_count, stash.unjudged) == (1, ("protect-hooks",))
    assert git_query.kept_answers is None


def test_the_environment_is_as_before() -> None:
    """A recipe reads its hook's variables for the time of a call."""
    before = os.environ
    judge({"recipe": "no-force-push"}).verdict("pre_tool_use", bash("git push -f"))
    assert os.environ is before


def test_a_recipe_that_does_more_than_judge_is_stopped_and_not_judged(tmp_path: Path) -> None:
    """Even one that continues after an error: it neither writes nor starts a program."""

    def check(_context: object) -> dict[str, object]:
        for change in (
            lambda: (tmp_path / "made").write_text("x"),
            (tmp_path / "dir").mkdir,
            lambda: subprocess.run(["touch", str(tmp_path / "run")], check=False),
        ):
            with suppress(OSError):
                change()
        return {"action": "block"}

    asked = judge({"recipe": "no-force-push"})
    with mock.patch.object(no_force_push, "check", check):
        found = asked.verdict("pre_tool_use", bash("git push -f"))
    assert (found.action, found.unjudged, list(tmp_path.iterdir())) == ("continue", ("no-force-push",), [])
