"""Remove hooks and recipes from config files: `hookrun remove`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from hookrun.agents.dialects import dialect
from hookrun.cli.commands import command, report_options, unknown_hook
from hookrun.cli.printing import CommandReport, is_interactive
from hookrun.cli.user_decisions import let_removed_go
from hookrun.config.config_file import ConfigFile
from hookrun.config.executed import file_words
from hookrun.config.load import LoadedConfig
from hookrun.core.files import relative_path
from hookrun.core.model import Hook
from hookrun.core.text import quote
from hookrun.edit.file_change import apply_all
from hookrun.recipes import GUARDS
from hookrun.scaffold.configured_recipes import REMOVED, ConfiguredRecipes, RecipeStatus, recipe_of
from hookrun.scaffold.declaration_file import DeclarationFile
from hookrun.scaffold.new_hook import CASES_SUFFIX, HOOKS_DIRECTORY
from hookrun.trust.project import refuse_if_run_by_agent

# A config file and the hooks to remove with their indices, none to remove a recipe.
Place = tuple["ConfigFile", "list[tuple[Hook, int]]"]


@command(
    "remove",
    "remove quiet-pip",
    "remove no-force-push --user",
    "remove guards",
    "remove quiet-pip --dry-run",
    note="Exit status: 0 removed, 1 not found or not removed.",
)
@click.argument("hooks", metavar="HOOK|RECIPE...", nargs=-1, required=True)
@click.option("--user", is_flag=True, help="Remove it from your own config.")
@report_options
def remove_command(hooks: tuple[str, ...], report: CommandReport, *, user: bool) -> None:
    """Remove hooks or recipes from the config file that declares them.

    Where several files declare one, it asks about each; --user takes your own. A hook's scripts stay; a
    recipe's tests are removed. hookrun remove guards removes what hookrun add guards added.
    """
    loaded = report.at.load()
    names = list(dict.fromkeys(hooks))
    for name in names:
        _places(loaded, name, user=user)  # a wrong name is an error before anything is removed
    for name in names:
        loaded = report.at.load()  # without those removed before
        places = _places(loaded, name, user=user)
        if len(places) > 1 and not report.dry_run:
            places = _chosen(name, places, report)
        for file, declared in places:
            _remove(name, file, declared, loaded, report)


def _places(loaded: LoadedConfig, name: str, *, user: bool) -> list[Place]:
    """Return the files that declare it. Raises click.ClickException if none does."""
    found: dict[str, Place] = {}
    for hook, file, path in loaded.written:
        index = int(path[-1])
        recipe = recipe_of(file.entries[index]) if file.handlers is None else None
        by_level = name == GUARDS and GUARDS in (hook.metadata or {})
        if not (by_level or name in (hook.name, recipe)) or (user and file.layer != "user"):
            continue
        if recipe not in (None, name) and not by_level:
            hint = "remove the recipe, or disable the hook with `hookrun disable`"
            raise click.ClickException(f"hook {quote(name)} is part of the recipe `{recipe}`\nhint: {hint}")
        if file.claudes or file.others:
            where, owner = relative_path(file.path), dialect(file.dialect).title
            raise click.ClickException(f"hook {quote(name)} is in a file of {owner}\nhint: edit {where}")
        if file.layer == "managed":
            where = file.path
            raise click.ClickException(f"hook {quote(name)} is managed\nhint: ask the administrator to edit {where}")
        found.setdefault(file.path, (file, []))[1].extend([] if recipe else [(hook, index)])
    if not found:
        if user and any(name == hook.name for hook in loaded.declarations.hooks):
            raise click.ClickException(f"no hook named {quote(name)} in your own config\nhint: leave out `--user`")
        raise unknown_hook(name, loaded.declarations.hooks, loaded.declarations.problems)
    return list(found.values())


def _chosen(name: str, places: list[Place], report: CommandReport) -> list[Place]:
    """Ask which files to remove it from. Raises click.ClickException without a terminal."""
    paths = [relative_path(file.path) for file, _ in places]
    if report.as_json or not is_interactive():
        only = "\nhint: `--user` removes it from your own config" if any(f.layer == "user" for f, _ in places) else ""
        raise click.ClickException(f"{quote(name)} is declared in {' and '.join(paths)}{only}")
    answers = [click.confirm(f"Remove {quote(name)} from {path}?") for path in paths]
    return [place for place, yes in zip(places, answers, strict=True) if yes]


def _remove(
    name: str, file: ConfigFile, hooks: list[tuple[Hook, int]], loaded: LoadedConfig, report: CommandReport
) -> None:
    if file.layer == "user" and not report.dry_run:
        refuse_if_run_by_agent("change your own hooks")
    config_file = DeclarationFile(file.path, file.layer, loaded.declarations.events)
    recipes = ConfiguredRecipes(config_file)
    for _, index in sorted(hooks, key=lambda each: -each[1]):
        config_file.remove(index)
    if not hooks:
        recipes.remove(name)
    where, changes = relative_path(file.path), recipes.changes
    before = {hook.name for hook in loaded.declarations.hooks}
    if not report.dry_run:
        apply_all(changes)  # may fail, so before any message
    for each in recipes.statuses or [RecipeStatus(name, REMOVED)]:
        removed = f"{'would be ' * report.dry_run}removed from {where}"
        report.add_hook(each.name, removed if each.state == REMOVED else each.state)
    if report.dry_run:
        report.show_diff(changes)
        return
    report.show_written(changes)
    let_removed_go(before - {hook.name for hook in report.at.load().declarations.hooks}, report)
    left = sorted({path for hook, _ in hooks for path in _files_of(hook, config_file.root)})
    if left:
        report.note(f"not removed: {', '.join(map(relative_path, left))}")


def _files_of(hook: Hook, root: str) -> Iterator[str]:
    for word in (*file_words(hook.kind, hook.target, hook.dialect), f"{HOOKS_DIRECTORY}/{hook.name}{CASES_SUFFIX}"):
        path = os.path.normpath(os.path.join(root, word))
        if path.startswith(f"{root}/") and os.path.isfile(path):
            yield path
