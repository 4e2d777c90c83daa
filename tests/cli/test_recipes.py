"""`hookrun recipes` and `hookrun add`, with a recipe of these tests' own beside hookrun's."""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from hookrun import recipes as hookrun_recipes
from hookrun.config import recipe_entries
from hookrun.recipes import catalog
from tests.cli.command import Done, hookrun
from tests.cli.programs import say_no
from tests.cli.terminal import Session, at_terminal
from tests.cli.wiring import tree
from tests.conftest import ROOT
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Project

MODULE = (Path(__file__).parent / "programs" / "say_no.py").read_text()
CASES = """\
cases:
  - name: the word is refused
    event: pre_tool_use
    hook: say-no
    tool: bash
    args: {command: echo no}
    expect: {action: block}
"""
BEFORE_ALL = """
import hookrun.recipes
hookrun.recipes.__path__.append(HERE)
hookrun.recipes.RECIPES = (*hookrun.recipes.RECIPES, "say_no")
import hookrun.config.recipe_entries
hookrun.config.recipe_entries.VERSIONS_FILE = HERE + "/versions.json"
"""


class Recipes:
    """A project in which hookrun has one recipe more."""

    def __init__(self, project: Project, directory: Path) -> None:
        self.project = project
        self.directory = directory
        self.cases = directory / "cases" / "say_no.hooktest.yaml"
        self.cases.parent.mkdir(parents=True)
        self.cases.write_text(CASES)
        (directory / "sitecustomize.py").write_text(f"HERE = {str(directory)!r}\n{BEFORE_ALL}")
        self.timeouts: list[int] = []
        self.has(timeout=5)

    def has(self, *, timeout: int) -> None:
        """Let hookrun have a newer version of the recipe, with this timeout."""
        self.timeouts.append(timeout)
        (self.directory / "say_no.py").write_text(MODULE.replace("TIMEOUT = 5", f"TIMEOUT = {timeout}"))
        versions: dict[str, dict[str, object]] = {}
        for number, each in enumerate(self.timeouts, 1):
            first, later = say_no.RECIPE.hooks
            versions[str(number)] = {"until": "9.0", "hooks": [first, {**later, "timeout": each}]}
        del versions[str(len(versions))]["until"]
        known = json.loads(Path(recipe_entries.VERSIONS_FILE).read_text())
        known["say-no"] = {"options": {"word": "HOOKRUN_OPTION_WORD"}, "versions": versions}
        (self.directory / "versions.json").write_text(json.dumps(known))

    @property
    def path(self) -> str:
        """Where Python finds the recipe and hookrun."""
        return f"{self.directory}:{ROOT}"

    @contextmanager
    def offered(self) -> Iterator[None]:
        """Let this process have the recipe, as processes have it by what Python imports at its start."""
        importlib.invalidate_caches()
        recipe_entries.recipes.cache_clear()
        with (
            mock.patch.object(catalog, "RECIPES", (*hookrun_recipes.RECIPES, "say_no")),
            mock.patch.object(hookrun_recipes, "__path__", [*hookrun_recipes.__path__, str(self.directory)]),
            mock.patch.object(recipe_entries, "VERSIONS_FILE", str(self.directory / "versions.json")),
            mock.patch.object(sys, "dont_write_bytecode", True),  # two versions within a second
        ):
            yield
        sys.modules.pop("hookrun.recipes.say_no", None)
        recipe_entries.recipes.cache_clear()

    def hookrun(self, *arguments: str) -> Done:
        """Run a command; the hooks that it runs have the recipe too."""
        with self.offered():
            return hookrun(self.project, *arguments, PYTHONPATH=self.path, PYTHONDONTWRITEBYTECODE="1")

    def at_terminal(self, *arguments: str, answers: tuple[str, ...] = ()) -> Session:
        """Run a command at a terminal."""
        with self.offered():
            return at_terminal(self.project, *arguments, answers=answers)

    def declared(self) -> list[dict[str, object]]:
        """Return the project's hooks."""
        hooks = self.project.config()["hooks"]
        assert isinstance(hooks, list)
        return hooks

    def edit(self, before: str, after: str) -> None:
        """Change something in the project's declarations."""
        path = self.project.root / "hookrun.yaml"
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))

    def states(self) -> dict[str, str]:
        """Return the decision about each hook of the project."""
        return {each["name"]: each["state"] for each in json.loads(self.hookrun("trust", "--json").stdout)}


@pytest.fixture
def recipes(project: Project, tmp_path: Path) -> Recipes:
    """Return a project that offers a recipe."""
    return Recipes(project, tmp_path / "more")


def test_recipes_are_listed_and_shown(recipes: Recipes) -> None:
    """Name and summary, where it is declared; all there is to know of one; the same as JSON."""
    recipes.hookrun("add", "say-no")
    listed = recipes.hookrun("recipes").stdout
    assert "say-no" in listed
    assert "say-no                      project   Says no to a word." in listed
    assert recipes.hookrun("recipes", "list").stdout == listed
    as_json = {each["name"]: each for each in json.loads(recipes.hookrun("recipes", "list", "--json").stdout)}
    assert as_json["say-no"]["declared"] == ["project"]
    assert as_json["protect-hooks"]["declared"] == []
    shown = recipes.hookrun("recipes", "show", "say-no").stdout
    for text in ("word (default no): The word.", "does not catch:\n  - Other words.", '"name": "say-no-later"'):
        assert text in shown
    assert recipes.hookrun("recipes", "show", "say-no", "--json").json["misses"] == ["Other words."]
    wrong = recipes.hookrun("recipes", "show", "say-noo")
    assert (wrong.status, "did you mean `say-no`?" in wrong.stderr) == (1, True)


@pytest.mark.slow
def test_a_recipe_is_one_entry_with_its_options(recipes: Recipes) -> None:
    """It blocks by its option, it is pinned, and its tests are beside the hooks."""
    done = recipes.hookrun("add", "say-no", "--option", "word=never")
    assert done.status == 0, done.stderr
    assert recipes.declared() == [{"recipe": "say-no@1", "options": {"word": "never"}}]
    context = {"tool_name": "bash", "tool_args": {"command": "never"}}
    assert recipes.project.fire(context, env={"PYTHONPATH": recipes.path}).action == "block"
    assert recipes.hookrun("validate").status == 0
    cases = (recipes.project.root / "hooks" / "say-no.hooktest.yaml").read_text()
    assert cases.endswith(f"\nconfig: ../hookrun.yaml\n{CASES}")
    again = recipes.hookrun("add", "say-no")
    assert (again.status, again.stdout) == (0, "say-no: up to date\n")
    recipes.hookrun("add", "say-no", "--option", "word=no")
    assert recipes.declared() == [{"recipe": "say-no@1", "options": {"word": "no"}}]
    assert recipes.hookrun("test").status == 0


@pytest.mark.slow
def test_an_older_version_can_be_pinned(recipes: Recipes) -> None:
    """By its number; one that does not exist is refused."""
    recipes.has(timeout=6)
    assert recipes.hookrun("add", "say-no@1").status == 0
    assert recipes.declared() == [{"recipe": "say-no@1"}]
    wrong = recipes.hookrun("add", "rate-limit@9")
    assert (wrong.status, 'has no version "9" of `rate-limit`' in wrong.stderr) == (1, True)


@pytest.mark.slow
def test_it_is_declared_in_yaml_where_hooks_are(recipes: Recipes) -> None:
    """The file with hooks is the file, and keeps its comments."""
    path = recipes.project.root / "hookrun.yaml"
    path.write_text("# ours\nhooks:\n- {name: one, event: stop, command: exit 0} # one\n")
    assert recipes.hookrun("add", "say-no").status == 0
    ours = "# ours\nhooks:\n- {name: one, event: stop, command: exit 0} # one\n"
    assert path.read_text() == f"{ours}- recipe: say-no@1\n"
    assert recipes.hookrun("test").status == 0
    recipes.has(timeout=6)
    assert "say-no: updated" in recipes.hookrun("update").stdout
    assert path.read_text() == f"{ours}- recipe: say-no@2\n"
    assert recipes.hookrun("remove", "say-no").status == 0
    assert path.read_text() == ours
    assert not (recipes.project.root / "hooks").exists()


@pytest.mark.slow
def test_for_oneself_it_runs_no_file_of_a_project(recipes: Recipes) -> None:
    """With --user it is in the user's own config, whose modules are never looked up in a project."""
    done = recipes.hookrun("add", "say-no", "--user")
    assert (done.status, done.stderr) == (0, "")
    twice = recipes.hookrun("add", "say-no", "--dry-run")
    assert "say-no is in the config of the user too: its hooks run twice" in twice.stderr
    assert not (recipes.project.root / "hookrun.yaml").exists()
    own = recipes.project.home / ".config" / "hookrun" / "hooks.json"
    assert json.loads(own.read_text())["hooks"] == [{"recipe": "say-no@1"}]
    assert f"hookrun test {own.parent}" in done.stdout
    assert recipes.hookrun("test", str(own.parent)).status == 0
    assert recipes.hookrun("validate").stdout == "checked 2 hooks in 1 file: 0 errors, 0 warnings\n"
    assert recipes.hookrun("update", "--user").stdout == "say-no: up to date\n"
    assert recipes.hookrun("remove", "say-no", "--user").status == 0
    assert json.loads(own.read_text())["hooks"] == []


@pytest.mark.slow
def test_update_moves_to_the_newest_version_and_shows_the_difference(recipes: Recipes) -> None:
    """Options and the user's fields stay; a dry run writes nothing."""
    recipes.hookrun("add", "say-no", "--option", "word=never")
    recipes.edit("recipe: say-no@1", "recipe: say-no@1\n    priority: 7")
    assert recipes.hookrun("update").stdout == "say-no: up to date\n"
    recipes.has(timeout=7)
    before = tree(recipes.project.root)
    shown = recipes.hookrun("update", "--dry-run")
    assert (shown.status, tree(recipes.project.root)) == (0, before)
    assert "say-no: would be updated" in shown.stdout
    done = recipes.hookrun("update", "say-no")
    assert done.status == 0
    for line in ("--- say-no@1", "+++ say-no@2", '-    "timeout": 5', '+    "timeout": 7'):
        assert line in done.stdout
    assert recipes.declared() == [{"recipe": "say-no@2", "priority": 7, "options": {"word": "never"}}]


@pytest.mark.slow
def test_a_pin_of_a_newer_hookrun_stays(recipes: Recipes) -> None:
    """A colleague with an older hookrun does not move the team's pin back."""
    recipes.hookrun("add", "say-no")
    recipes.edit("say-no@1", "say-no@9")
    done = recipes.hookrun("update")
    assert (done.status, "does not have; upgrade hookrun" in done.stdout) == (1, True)
    assert recipes.declared() == [{"recipe": "say-no@9"}]


@pytest.mark.slow
def test_a_recipe_that_hookrun_has_no_more_stays(recipes: Recipes) -> None:
    """Its entry is the user's, and the command reports it."""
    (recipes.project.root / "coder.json").write_text('{"hooks": [{"recipe": "gone-by@1"}]}')
    assert "gone-by: not a recipe of this hookrun any more" in recipes.hookrun("update").stdout
    assert recipes.declared() == [{"recipe": "gone-by@1"}]


@pytest.mark.slow
def test_cases_that_somebody_changed_stay(recipes: Recipes) -> None:
    """Unchanged ones follow the recipe; changed ones stay on update and on remove, and the command reports it."""
    recipes.hookrun("add", "say-no")
    path = recipes.project.root / "hooks" / "say-no.hooktest.yaml"
    recipes.cases.write_text(CASES.replace("echo no", "echo no no"))
    recipes.hookrun("update")
    assert "echo no no" in path.read_text()
    path.write_text(path.read_text().replace("refused", "refused by us"))
    recipes.cases.write_text(CASES)
    assert "say-no.hooktest.yaml: kept as you changed it" in recipes.hookrun("update").stdout
    assert "say-no.hooktest.yaml: kept as you changed it" in recipes.hookrun("remove", "say-no").stdout
    assert "by us" in path.read_text()
    assert recipes.declared() == []


@pytest.mark.slow
def test_at_a_terminal_what_was_declared_is_approved(recipes: Recipes) -> None:
    """And nothing else; a module of the project never comes before hookrun's own."""
    recipes.project.hooks({"name": "theirs", "command": "exit 0"})
    env = {"PYTHONPATH": recipes.path}
    session = recipes.at_terminal("add", "say-no")
    assert "approved say-no-later" in session.screen
    assert recipes.states() == {"theirs": "new", "say-no": "approved", "say-no-later": "approved"}
    recipes.hookrun("remove", "say-no")
    recipes.project.script("hookrun/recipes/say_no.py", "raise SystemExit('evil')\n")
    recipes.at_terminal("add", "say-no")
    assert recipes.states()["say-no"] == "approved"
    context = {"tool_name": "bash", "tool_args": {"command": "no"}}
    assert recipes.project.fire(context, env=env).action == "block"


def test_an_option_may_be_written_with_hyphens(project: Project) -> None:
    """As options of command lines are; both spellings in one line are one name twice."""
    once = ("add", "block-destructive-commands", "--option", "outside-project=block")
    assert hookrun(project, *once, "--option", "outside_project=ask").status == 1
    assert hookrun(project, *once).status == 0
    (declared,) = project.config()["hooks"]
    assert declared["options"] == {"outside_project": "block"}


def test_an_entry_that_was_there_is_not_approved_for_an_option(recipes: Recipes) -> None:
    """The rest of a project's entry may be anything: it is shown, and the user decides."""
    entry = {"recipe": "say-no@1", "env": {"PYTHONPATH": "/evil"}}
    (recipes.project.root / "hookrun.yaml").write_text(json.dumps({"hooks": [entry]}))
    session = recipes.at_terminal("add", "say-no", "--option", "word=x", answers=("n", "n"))
    assert "/evil" in session.screen
    assert recipes.states() == {"say-no": "new", "say-no-later": "new"}


@pytest.mark.slow
def test_changed_cases_are_kept_until_they_are_removed(recipes: Recipes) -> None:
    """Then they are the recipe's again."""
    recipes.hookrun("add", "say-no")
    path = recipes.project.root / "hooks" / "say-no.hooktest.yaml"
    before = path.read_text()
    changed = before.replace("refused", "refused by us")
    path.write_text(changed)
    assert "kept as you changed it" in recipes.hookrun("update").stdout
    assert path.read_text() == changed
    path.unlink()
    assert recipes.hookrun("update").status == 0
    assert path.read_text() == before


@rows(
    "arguments, message",
    [
        (("add", "say-noo"), "did you mean `say-no`?"),
        (("add", "say-no", "--option", "wort=x"), 'did you mean "word"?'),
        (("add", "say-no", "--option", "word"), '"word" is not NAME=VALUE'),
        (("add", "say-no", "protect-hooks", "--option", "word=x"), "add the recipes one by one"),
        (("update", "say-no"), 'has no recipe "say-no"'),
        (("remove", "say-no"), 'no hook named "say-no" here'),
        (("recipes", "sho"), "did you mean `hookrun recipes show`?"),
        (("add",), "missing argument"),
    ],
)
def test_what_cannot_be_is_told(recipes: Recipes, arguments: tuple[str, ...], message: str) -> None:
    """One line, status 1, nothing written."""
    done = recipes.hookrun(*arguments)
    assert (done.status, done.stdout) == (1, "")
    assert message in done.stderr
    assert done.stderr.count("\n") <= 2
    assert not (recipes.project.root / "hookrun.yaml").exists()


def test_a_hook_of_ones_own_is_not_taken_for_the_recipes(recipes: Recipes) -> None:
    """A hook of the same name without the mark stops it."""
    recipes.project.hooks({"name": "say-no-later", "command": "exit 0"})
    before = tree(recipes.project.root)
    done = recipes.hookrun("add", "say-no")
    assert (done.status, tree(recipes.project.root)) == (1, before)
    assert "a hook of yours is called `say-no-later`" in done.stderr


@rows(
    "words",
    [
        ("add", "protect-hooks"),
        ("update",),
        ("remove", "protect-hooks"),
    ],
)
def test_an_agent_does_not_change_a_persons_own_hooks(project: Project, words: tuple[str, ...]) -> None:
    """They need no approval, so only the user may add or remove a guard; reading is free."""
    assert hookrun(project, "add", "protect-hooks", "--user").status == 0
    before = tree(project.home)
    refused = hookrun(project, *words, "--user", CLAUDECODE="1")
    assert (refused.status, refused.stdout) == (1, "")
    assert "CLAUDECODE is set" in refused.stderr
    assert tree(project.home) == before
    assert hookrun(project, *words, "--user", "--dry-run", CLAUDECODE="1").status == 0
