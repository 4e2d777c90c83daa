"""`hookrun recipes`: the ready-made hooks: which there are, what each does, and those that are declared here."""

from __future__ import annotations

import json

import click

from hookrun.cli import FAILED
from hookrun.cli.making import dry_run_option, told
from hookrun.cli.recipe_files import add, declared_where, finish, opened, option_option, recipe_named, user_option
from hookrun.cli.report import Report, json_option as done_option
from hookrun.cli.wiring import home_option
from hookrun.config.diagnostics import printable
from hookrun.recipes import registry
from hookrun.recipes.recipe import Recipe

EXAMPLES = """\b
Examples:
  hookrun recipes list
  hookrun recipes show protect-hooks
  hookrun recipes add protect-hooks --user
  hookrun recipes update
  hookrun recipes remove protect-hooks --user
"""
LIST_EXAMPLES = """\b
Examples:
  hookrun recipes list
  hookrun recipes list --json
"""
SHOW_EXAMPLES = """\b
Examples:
  hookrun recipes show protect-hooks
  hookrun recipes show no-force-push --json
"""
ADD_EXAMPLES = """\b
Examples:
  hookrun recipes add no-force-push --option lease=yes
  hookrun recipes add protect-hooks --user --dry-run
"""
UPDATE_EXAMPLES = """\b
Examples:
  hookrun recipes update
  hookrun recipes update no-force-push --dry-run
  hookrun recipes update protect-hooks --user --replace

Exit status: 0 all are up to date, 1 a hook that both you and hookrun have changed stays as it is.
"""
REMOVE_EXAMPLES = """\b
Examples:
  hookrun recipes remove no-force-push
  hookrun recipes remove protect-hooks --user --dry-run
"""
json_option = click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")


@click.group(name="recipes", epilog=EXAMPLES, invoke_without_command=True)
@json_option
@home_option
@click.pass_context
def command(ctx: click.Context, home: str | None, *, as_json: bool) -> None:
    """Show, add, update and remove ready-made hooks. Without a command it lists them."""
    if ctx.invoked_subcommand is None:
        _list(home, as_json=as_json)


@command.command(name="list", epilog=LIST_EXAMPLES, short_help="List all recipes.")
@json_option
@home_option
def list_command(home: str | None, *, as_json: bool) -> None:
    """List all recipes, and where each is declared already."""
    _list(home, as_json=as_json)


def _list(home: str | None, *, as_json: bool) -> None:
    declared = declared_where(home)
    recipes = [registry.find(name) for name in registry.names()]
    if as_json:
        click.echo(json.dumps([_data(each, declared.get(each.name, [])) for each in recipes], indent=2))
        return
    width = max(len(each.name) for each in recipes)
    for each in recipes:
        where = f"  (declared: {', '.join(declared[each.name])})" if each.name in declared else ""
        click.echo(printable(f"{each.name.ljust(width)}  {each.summary}{where}"))


def _data(recipe: Recipe, declared: list[str]) -> dict[str, object]:
    options = {each.name: {"default": each.default, "description": each.description} for each in recipe.options}
    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "declared": declared,
        "options": options,
        "catches": list(recipe.catches),
        "misses": list(recipe.misses),
        "hooks": [dict(each) for each in recipe.hooks],
    }


@command.command(name="show", epilog=SHOW_EXAMPLES, short_help="Say what a recipe does.")
@click.argument("name")
@json_option
@home_option
def show_command(name: str, home: str | None, *, as_json: bool) -> None:
    """Say what the recipe NAME does, which options it takes, what it does not catch, and what it declares."""
    recipe = recipe_named(name)
    data = _data(recipe, declared_where(home).get(name, []))
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    click.echo(printable(f"{recipe.name}: {recipe.summary}"))
    options = [f"{each.name} (default {each.default or 'empty'}): {each.description}" for each in recipe.options]
    for title, lines in (("options", options), ("does", recipe.catches), ("does not catch", recipe.misses)):
        if lines:
            click.echo(f"\n{title}:")
        for line in lines:
            click.echo(printable(f"  - {line}"))
    click.echo("\ndeclares:")
    for line in json.dumps(data["hooks"], indent=2, ensure_ascii=False).splitlines():
        click.echo(printable(f"  {line}"))


@command.command(name="add", epilog=ADD_EXAMPLES, short_help="Declare recipes: hookrun add.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@option_option
@user_option
@dry_run_option
@home_option
@done_option
def add_command(
    names: tuple[str, ...], option: tuple[str, ...], home: str | None, *, user: bool, dry_run: bool, as_json: bool
) -> None:
    """Declare recipes here, or for yourself with --user: what hookrun add does."""
    add(names, option, home, user=user, dry_run=dry_run, as_json=as_json)


@command.command(name="update", epilog=UPDATE_EXAMPLES, short_help="Bring declared recipes up to date.")
@click.argument("name", required=False)
@click.option("--replace", is_flag=True, help="Where you and hookrun changed the same hook, take hookrun's.")
@user_option
@dry_run_option
@home_option
@done_option
@click.pass_context
def update_command(
    ctx: click.Context, name: str | None, home: str | None, *, replace: bool, user: bool, dry_run: bool, as_json: bool
) -> None:
    """Bring the recipe NAME, or all that are declared here, to the form in which this hookrun has them.

    Options stay, and so does whatever you changed. A hook that both you and hookrun have changed stays as it is, and
    the difference is shown: exit status 1.
    """
    recipes = opened(home, user=user, dry_run=dry_run)
    declared = recipes.declared()
    if name is not None and name not in declared:
        recipe_named(name)
        raise click.ClickException(f"{name} is not declared in {recipes.declaring.path}: hookrun add {name}")
    with told():
        for each in [name] if name is not None else list(declared):
            recipes.update(each, replace=replace)
    report = Report(as_json=as_json, dry_run=dry_run)
    if not declared:
        report.say(f"no recipe is declared in {recipes.declaring.path}")
    ctx.exit(0 if finish(recipes, home, report, dry_run=dry_run) else FAILED)


@command.command(name="remove", epilog=REMOVE_EXAMPLES, short_help="Take a recipe out.")
@click.argument("name")
@user_option
@dry_run_option
@home_option
@done_option
def remove_command(name: str, home: str | None, *, user: bool, dry_run: bool, as_json: bool) -> None:
    """Take the recipe NAME out of the declarations, with its cases unless you changed them."""
    recipes = opened(home, user=user, dry_run=dry_run)
    with told():
        recipes.remove(name)
    finish(recipes, home, Report(as_json=as_json, dry_run=dry_run), dry_run=dry_run)
