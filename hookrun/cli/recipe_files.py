"""What the commands that declare recipes have in common: which file, writing it, and saying what became of each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from hookrun.cli.approving import approve_written
from hookrun.cli.declared import here, home_of, read
from hookrun.cli.making import pairs, told, write
from hookrun.cli.project import not_by_an_agent
from hookrun.cli.report import Report
from hookrun.recipes import registry
from hookrun.scaffold.configured_recipes import ADDED, CONFLICT, UPDATED, ConfiguredRecipes, recipe_metadata
from hookrun.scaffold.declaration_file import project_file, user_file
from hookrun.scaffold.new_hook import CASES_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.recipes.recipe import Recipe

user_option = click.option("--user", is_flag=True, help="In your own declarations, for every project.")
option_option = click.option("--option", metavar="NAME=VALUE", multiple=True, help="An option of the recipe.")


def recipe_named(name: str) -> Recipe:
    """Return a recipe. Raises click.ClickException for one that there is not."""
    try:
        return registry.find(name)
    except registry.UnknownRecipeError as error:
        raise click.ClickException(str(error)) from None


def declared_where(home: str | None) -> dict[str, list[str]]:
    """Return the recipes that are declared, and the layers in which each is."""
    found: dict[str, list[str]] = {}
    for file in read(None, home).files:
        for entry in file.entries:
            mark = recipe_metadata(entry)
            if mark is not None and file.layer not in (layers := found.setdefault(str(mark["recipe"]), [])):
                layers.append(file.layer)
    return found


def opened(home: str | None, *, user: bool, dry_run: bool) -> ConfiguredRecipes:
    """Return the recipes of a person's own file, or of the project's.

    Raises click.ClickException where an agent would change a person's own hooks, which need no approval.
    """
    if user and not dry_run:
        not_by_an_agent("change your own hooks")
    with told():
        return ConfiguredRecipes(user_file(home_of(home)) if user else project_file(here(), home_of(home)))


def add(
    names: tuple[str, ...], given: tuple[str, ...], home: str | None, *, user: bool, dry_run: bool, as_json: bool
) -> None:
    """Declare recipes with these options, written NAME=VALUE."""
    wanted = [recipe_named(name) for name in dict.fromkeys(names)]
    if given and len(wanted) > 1:
        raise click.ClickException("found options for several recipes, expected those of one: add them one by one")
    options = pairs(given, "NAME=VALUE, each name once", "--option")
    for name, value in options.items():
        expected = wanted[0].wrong_value(name, value)
        if expected is not None:
            raise click.ClickException(
                f"found {value!r} for the option {name} of {wanted[0].name}, expected {expected}"
            )
    recipes = opened(home, user=user, dry_run=dry_run)
    where = declared_where(home)
    report = Report(as_json=as_json, dry_run=dry_run)
    with told():
        for recipe in wanted:
            recipes.add(recipe, options)
            others = [layer for layer in where.get(recipe.name, []) if layer != recipes.declaring.layer]
            if others:
                said = f"{recipe.name} is declared in the layer {' and '.join(others)} as well: it runs twice"
                report.warn(f"warning: {said}")
    finish(recipes, home, report, dry_run=dry_run)


def finish(recipes: ConfiguredRecipes, home: str | None, report: Report, *, dry_run: bool) -> bool:
    """Show or write what was changed, say what became of each hook, approve; tell whether nothing is in conflict."""
    for each in recipes.statuses:
        report.hook(each.name, each.state, each.difference, conflict=each.state == CONFLICT)
    for problem in recipes.warnings:
        report.warn(f"warning: {problem}")
    changes = recipes.changes
    if dry_run:
        report.show(changes)
    elif changes:
        write(changes, report)
        if recipes.names(ADDED) or recipes.names(UPDATED):
            report.next_steps(list(_steps(recipes, home, report)))
    return report.end(ok=not any(each.state == CONFLICT for each in recipes.statuses))


def _steps(recipes: ConfiguredRecipes, home: str | None, report: Report) -> Iterator[tuple[str, str]]:
    declaring = recipes.declaring
    own = declaring.layer == "user"
    added, updated = recipes.names(ADDED), recipes.names(UPDATED)
    if own:
        report.decided([*added, *updated])
    approved = own or approve_written(declaring.root, home_of(home), added, recipes.changes, report, changed=updated)
    if any(each.path.endswith(CASES_SUFFIX) for each in recipes.changes):
        yield f"hookrun test {shlex.quote(declaring.root)}" if own else "hookrun test", "runs its cases"
    if not approved:
        yield "hookrun trust", "shows what it runs, and asks: agents do not run it before"
