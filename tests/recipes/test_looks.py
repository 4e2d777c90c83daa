"""The cheap looks of recipes: they know all that the recipes know, hide nothing, and save the child."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.credentials import FORMS, may_hold_secret
from hookrun.recipes import RECIPES, block_destructive_commands, downloads, looks, protect_files, protect_hooks
from hookrun.recipes.looks import LOOKS, may_matter
from tests.recipes import shipped

if TYPE_CHECKING:
    from tests.conftest import Project

FIVE = ("block-destructive-commands", "no-force-push", "protect-files", "secret-scan", "protect-hooks")
HARMLESS = ("ls -la src", "cargo build --release", "echo done", "make test", "rg TODO src", "go vet ./...")


def test_a_look_knows_every_program_that_its_recipe_has_rules_for() -> None:
    """A rule for another program needs that program in the look."""
    destructive = {
        *block_destructive_commands.RULES,
        *block_destructive_commands.REMOVERS,
        *downloads.DOWNLOADERS,
        "git",
        "hub",
    }
    assert destructive == set(looks.DESTRUCTIVE)
    assert {*protect_hooks.PROGRAMS, "hookrun"} == set(looks.WRITING)


@pytest.mark.parametrize("name", ["SECRETS", "LOCKED", "SETTINGS"])
def test_a_look_knows_every_file_that_is_protected_by_default(name: str) -> None:
    """One of its texts is in what every path has that a default glob matches."""
    for text in looks.texts_of(getattr(protect_files, name)):
        assert any(each in text for each in looks.PROTECTED), text


def test_every_look_is_of_a_function_that_a_recipe_declares() -> None:
    """A renamed function would lose its look."""
    declared = {hook.get("python") for module in RECIPES for hook in shipped.recipe(module).hooks}
    assert set(LOOKS) <= declared


@pytest.mark.parametrize("line", HARMLESS)
@pytest.mark.parametrize("target", LOOKS)
def test_a_harmless_line_concerns_no_recipe(target: str, line: str) -> None:
    """Neither under an agent that sends typed input to hooks, nor under one that does not."""
    for agent in ("claude", "codex"):
        context = {"event": "pre_tool_use", "agent": agent, "tool_name": "bash", "tool_args": {"command": line}}
        assert not may_matter(target, context, {})


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("no_force_push:check", "INTERACTIVE"),
        ("block_destructive_commands:check", "INTERACTIVE"),
        ("protect_files:check", "READ"),
        ("secret_scan:check", "ARGUMENTS"),
        ("secret_scan:check", "PLACES"),
    ],
)
def test_a_wrong_option_is_not_hidden(target: str, name: str) -> None:
    """The hook runs and fails, as it does without a look."""
    context = {"event": "pre_tool_use", "agent": "claude", "tool_args": {"command": "ls"}}
    assert not may_matter(f"hookrun.recipes.{target}", context, {})
    assert may_matter(f"hookrun.recipes.{target}", context, {f"HOOKRUN_OPTION_{name}".encode(): b"perhaps"})


def test_a_protected_file_of_an_option_is_looked_for() -> None:
    """As are all those that are protected by default."""
    variables = {b"HOOKRUN_OPTION_SECRETS": b"*.vault private/*"}
    target = "hookrun.recipes.protect_files:check"
    lines = {"cat a.vault": True, "ls Private": True, "cat a.txt": False, "cat uv.lock": True}
    for line, matters in lines.items():
        assert may_matter(target, {"tool_args": {"command": line}}, variables) == matters


def test_a_credential_in_any_argument_is_seen() -> None:
    """Also in lists and keys, and where the arguments are no object."""
    token = "ghp_" + "a1B2c3D4" * 5
    arguments = ({"a": [{"b": token}]}, {token: 1}, [token], token)
    for args in arguments:
        assert may_matter("hookrun.recipes.secret_scan:check", {"event": "pre_tool_use", "tool_args": args}, {})
    assert all(may_hold_secret(f"x {words[0].upper()}@") for words, _ in FORMS)


def add(project: Project, *names: str) -> None:
    """Add recipes to the user's config."""
    path = project.home / ".config" / "hookrun" / "hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": [{"recipe": f"{name}@1"} for name in names]}))
    path.chmod(0o600)


def test_recipes_that_have_nothing_to_say_start_no_process(project: Project) -> None:
    """They are in the audit like any other run."""
    add(project, *FIVE)
    fired = project.fire(context={"tool_name": "bash", "tool_args": {"command": "ls -la"}})
    assert fired.action == "continue"
    for name in FIVE:
        record = fired.record(name)
        assert (record["action"], record["exit"]) == ("continue", 0)
        assert int(str(record["bytes_in"])) > 0
    refused = project.fire(context={"tool_name": "bash", "tool_args": {"command": "git push --force"}})
    assert refused.action == "block"
    assert json.dumps(refused.verdict).count("Pushing") == 1


def test_a_long_context_is_not_looked_at_in_hookruns_own_process(project: Project) -> None:
    """The recipe runs, with its timeout."""
    add(project, "no-force-push")
    for line, action in (("git push -f", "block"), ("ls", "continue")):
        args = {"command": line, "description": "x" * 20_000}
        fired = project.fire(context={"tool_name": "bash", "tool_args": args})
        assert fired.action == action
        assert float(str(fired.record("no-force-push")["ms"])) > 0
