"""Ready-made hooks: `hookrun recipes` lists and shows them; `hookrun add` and `update`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click

from hookrun.cli.commands import Workspace, color_option, command, epilog, json_options, report_options
from hookrun.cli.connecting import connect_missing, events_of
from hookrun.cli.printing import CommandReport, json_text, print_json, print_line, print_table, print_wrapped
from hookrun.cli.user_decisions import APPROVE_IT, APPROVE_THEM, approve_written, note_reach
from hookrun.config.config_file import GitInclude, tree_digest
from hookrun.config.shapes import list_at
from hookrun.core.files import relative_path
from hookrun.core.text import quote
from hookrun.edit.file_change import apply_all
from hookrun.recipes import GUARDS, LEVELS, catalog
from hookrun.recipes.recipe import Recipe
from hookrun.scaffold.configured_recipes import (
    ADDED,
    CURRENT,
    NEWER,
    REMOVED,
    UPDATED,
    ConfiguredRecipes,
    RecipeStatus,
    recipe_of,
)
from hookrun.scaffold.declaration_file import fetch, project_file, user_file
from hookrun.scaffold.new_hook import CASES_SUFFIX
from hookrun.trust.project import refuse_if_run_by_agent

FETCHED = "fetched"

user_option = click.option("--user", is_flag=True, help="In your own config, for every project.")


# --- listing and showing


@command("list", "recipes list", "recipes list --json", short_help="List all recipes.")
@json_options
def list_recipes_command(at: Workspace, *, as_json: bool) -> None:
    """List all recipes, and where each is declared already."""
    declared = layers_of_recipes(at)
    recipes = [catalog.find(name) for name in catalog.names()]
    if as_json:
        print_json([_to_json(each, declared.get(each.name, [])) for each in recipes])
        return
    rows = [(each.name, ", ".join(declared.get(each.name, "-")), each.summary) for each in recipes]
    rows.append(
        (GUARDS, "", f"All guards of a level: {' or '.join(LEVELS)}. `hookrun recipes show guards` lists them.")
    )
    if declared:
        print_table(("RECIPE", "ADDED TO", "WHAT IT DOES"), rows, wrap=True)
    else:
        print_table(("RECIPE", "WHAT IT DOES"), [(name, summary) for name, _, summary in rows], wrap=True)


def layers_of_recipes(at: Workspace) -> dict[str, list[str]]:
    """Return the effective config's recipes, each with its layers."""
    found: dict[str, list[str]] = {}
    for file in at.load().files:
        for entry in file.entries:
            name = recipe_of(entry)
            if name is not None and file.layer not in (layers := found.setdefault(name, [])):
                layers.append(file.layer)
    return found


def _to_json(recipe: Recipe, declared: list[str]) -> dict[str, object]:
    options = {each.name: {"default": each.default, "description": each.description} for each in recipe.options}
    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "declared": declared,
        "levels": [level for level in LEVELS if recipe.name in catalog.of_level(level)],
        "options": options,
        "catches": list(recipe.catches),
        "misses": list(recipe.misses),
        "hooks": [dict(each) for each in recipe.hooks],
    }


@command("show", "recipes show protect-hooks", "recipes show no-force-push --json", short_help="Describe a recipe.")
@click.argument("recipe", metavar="NAME")
@json_options
def show_recipe_command(recipe: str, at: Workspace, *, as_json: bool) -> None:
    """Describe the recipe NAME: what it does, its options, what it does not catch, and what it declares.

    hookrun recipes show guards lists the recipes of each level.
    """
    if recipe == GUARDS:
        levels = {level: catalog.of_level(level) for level in LEVELS}
        if as_json:
            print_json({"name": GUARDS, "levels": levels})
            return
        rows = [(level, name, catalog.find(name).summary) for level, added in LEVELS.items() for name in sorted(added)]
        print_table(("LEVEL", "RECIPE", "WHAT IT DOES"), rows, wrap=True)
        return
    found = catalog.find(recipe.partition("@")[0])
    data = _to_json(found, layers_of_recipes(at).get(found.name, []))
    if as_json:
        print_json(data)
        return
    print_wrapped(f"{found.name}: {found.summary}")
    options = [f"{each.name} (default {each.default or 'empty'}): {each.description}" for each in found.options]
    for title, lines in (("options", options), ("does", found.catches), ("does not catch", found.misses)):
        if lines:
            click.echo(f"\n{title}:")
        for line in lines:
            print_wrapped(f"  - {line}")
    click.echo("\ndeclares:")
    for line in json_text(data["hooks"], 2).splitlines():
        print_line(f"  {line}")


# --- changing


@command(
    "add",
    "add block-destructive-commands",
    "add guards --level strict",
    "add protect-hooks --user",
    "add no-force-push@1 --option lease=yes --dry-run",
)
@click.argument("recipes", metavar="RECIPE...", nargs=-1, required=True)
@click.option("--option", metavar="NAME=VALUE", multiple=True, help="Set an option of the recipe.")
@click.option("--level", type=click.Choice([*LEVELS]), help="Which of the guards to add (default: standard).")
@user_option
@report_options
def add_command(
    recipes: tuple[str, ...], option: tuple[str, ...], level: str | None, report: CommandReport, *, user: bool
) -> None:
    """Add recipes, ready-made hooks, to this project, or to your own config for every project, with their tests.

    hookrun recipes lists them, and hookrun recipes show RECIPE describes one: what it does, its options, and what it
    does not catch. On a terminal the hooks are approved too.

    hookrun add guards adds all guards of a level. Repeat it to add what a newer hookrun has more.
    """
    guards = GUARDS in recipes
    if level and not guards:
        raise click.ClickException(f"`--level` chooses guards\nhint: `hookrun add guards --level {level}` adds those")
    level = level or next(iter(LEVELS))
    pinned = dict(name.partition("@")[::2] for name in recipes if name != GUARDS)
    of_level = [name for name in catalog.of_level(level) if name not in pinned] if guards else []
    pinned |= dict.fromkeys(of_level, "")
    wanted = [catalog.find(name) for name in pinned]
    if option and len(wanted) > 1:
        raise click.ClickException("`--option` needs a single recipe\nhint: add the recipes one by one")
    options: dict[str, str] = {}
    for each in option:
        name, equals, value = each.partition("=")
        name = name.replace("-", "_")  # also `outside-project=block`, as options are written
        if not equals or name in options:
            fault = "is given twice" if equals else "is not NAME=VALUE"
            raise click.BadParameter(f"{quote(name if equals else each)} {fault}", param_hint="--option")
        options[name] = value
    configured = _open(report, user=user)
    declared = layers_of_recipes(report.at)
    for recipe in wanted:
        configured.add(recipe, options, pinned[recipe.name], level if recipe.name in of_level else "")
        others = [layer for layer in declared.get(recipe.name, []) if layer != configured.config_file.layer]
        if others:
            twice = f"{recipe.name} is in the config of the {' and '.join(others)} too: its hooks run twice"
            report.warn(twice)
    if guards and (kept := [name for name in configured.guards() if name not in pinned]):
        report.note(f"kept, as guards of another level: {', '.join(kept)}")
    _finish(configured, report)


@command(
    "update",
    "update",
    "update no-force-push --dry-run",
    "update protect-hooks --user",
)
@click.argument("declared_recipe", metavar="[RECIPE]", required=False)
@user_option
@report_options
def update_command(declared_recipe: str | None, report: CommandReport, *, user: bool) -> None:
    """Update RECIPE, or all recipes of the project, to the newest version; fetch the configs that `include` names.

    Your options, fields and changed tests stay. The difference between a recipe's versions is shown. Included configs
    are fetched from their git repositories only here, never when hooks run.
    """
    recipes, name = _open(report, user=user), declared_recipe
    declared = recipes.declared()
    if name is not None and name not in declared:
        catalog.find(name)  # raises another error for an unknown name
        hint = f"`hookrun add {name}{' --user' * user}` adds it"
        where = relative_path(recipes.config_file.path)
        raise click.ClickException(f"{where} has no recipe {quote(name)}\nhint: {hint}")
    for each in [name] if name is not None else list(declared):
        recipes.update(each)
    includes = _git_includes(report.at, user=user) if name is None else []
    for include in includes:
        recipes.statuses.append(_fetched(include, report))
    if not declared and not includes:
        report.note("nothing to update: no recipes, no configs included from repositories")
    _finish(recipes, report)


def _git_includes(at: Workspace, *, user: bool) -> list[GitInclude]:
    """Return the repositories included by the project's config or the user's, each once.

    Raises click.ClickException for one that is not pinned.
    """
    layers = ("user",) if user else ("project", "local")
    found = []
    for file in at.load().files:
        for item in list_at(file.settings, "include") if file.layer in layers else ():
            include = GitInclude.from_item(item, file.path)
            if include is not None:
                if problem := include.problem(at.home, fetching=True):
                    raise click.ClickException(f"{relative_path(file.path)}: " + "\nhint: ".join(problem))
                found.append(include)
    return list(dict.fromkeys(found))


def _fetched(include: GitInclude, report: CommandReport) -> RecipeStatus:
    home = report.at.home
    if include.problem(home) is None:
        return RecipeStatus(str(include), CURRENT, f"digest {include.digest or tree_digest(include.directory(home))}")
    return RecipeStatus(str(include), FETCHED, "" if report.dry_run else f"digest {fetch(include, home)}")


def _open(report: CommandReport, *, user: bool) -> ConfiguredRecipes:
    """Return the recipes in the user's own config file or the project's.

    Raises NotAllowedError if an agent would change the user's own hooks, which need no approval.
    """
    if user and not report.dry_run:
        refuse_if_run_by_agent("change your own hooks")
    at = report.at
    return ConfiguredRecipes(user_file(at.home) if user else project_file(at.directory, at.home))


def _finish(recipes: ConfiguredRecipes, report: CommandReport) -> None:
    """Write and approve the changes, or show them, and report each hook's new state."""
    if not report.dry_run:
        apply_all(recipes.changes)  # may fail, so before any message
    for each in recipes.statuses:
        would = "would be " * (report.dry_run and each.state in (ADDED, UPDATED, REMOVED, FETCHED))
        report.add_hook(each.name, would + each.state, each.difference, conflict=each.state == NEWER)
    report.ok = not any(each.state == NEWER for each in recipes.statuses)
    for problem in recipes.warnings:
        report.warn(str(problem))
    if report.dry_run:
        if recipes.changes or not any(each.state == FETCHED for each in recipes.statuses):
            report.show_diff(recipes.changes)
            added = [catalog.find(each.name.partition("@")[0]) for each in recipes.statuses if each.state == ADDED]
            hooks = [hook for recipe in added for hook in recipe.hooks]
            connect_missing(report, *(event for hook in hooks for event in events_of(hook)))
    elif recipes.changes:
        report.show_written(recipes.changes)
        note_reach(recipes.config_file, report)
        if recipes.names(ADDED) or recipes.names(UPDATED):
            steps = list(_next_steps(recipes, report))
            connect_missing(report)  # with the guards that are approved now
            report.next_steps(steps)


def _next_steps(recipes: ConfiguredRecipes, report: CommandReport) -> Iterator[tuple[str, str]]:
    config_file = recipes.config_file
    own = config_file.layer == "user"
    added, updated = recipes.names(ADDED), recipes.names(UPDATED)
    if own:
        report.add_approvals([*added, *updated])
    approved = own or approve_written(config_file.root, added, recipes.changes, report, changed=updated)
    if any(each.path.endswith(CASES_SUFFIX) for each in recipes.changes):
        yield f"hookrun test {shlex.quote(config_file.root)}" if own else "hookrun test", "runs its tests"
    if not approved:
        yield "hookrun trust", APPROVE_IT if len([*added, *updated]) == 1 else APPROVE_THEM


@click.group(
    "recipes",
    epilog=epilog("recipes list", "recipes show protect-hooks"),
    invoke_without_command=True,
    params=[color_option()],
    commands=[list_recipes_command, show_recipe_command],
)
@click.pass_context
def recipes_command(ctx: click.Context) -> None:
    """List and show ready-made hooks. Without a command it lists them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_recipes_command)
