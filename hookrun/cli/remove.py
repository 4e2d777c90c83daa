"""`hookrun remove`: remove a hook or a recipe from its config file."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from hookrun.cli.commands import command, read_config, report_options, unknown_hook
from hookrun.cli.printing import CommandReport, is_interactive
from hookrun.config.command_words import file_words
from hookrun.config.config_file import ConfigFile
from hookrun.config.load import LoadedConfig
from hookrun.edit.file_change import apply_all
from hookrun.files import relative_path
from hookrun.model import Hook
from hookrun.scaffold.configured_recipes import ConfiguredRecipes, recipe_of
from hookrun.scaffold.declaration_file import DeclarationFile
from hookrun.scaffold.new_hook import CASES_SUFFIX, HOOKS_DIRECTORY
from hookrun.text import quote
from hookrun.trust.project import refuse_if_run_by_agent


@command(
    "remove",
    "remove quiet-pip",
    "remove no-force-push --user",
    "remove quiet-pip --dry-run",
    note="Exit status: 0 removed, 1 not found or not removed.",
)
@click.argument("hook", metavar="HOOK|RECIPE")
@click.option("--user", is_flag=True, help="Remove it from your own config.")
@report_options
def remove_command(hook: str, report: CommandReport, *, user: bool) -> None:
    """Remove a hook or a recipe from the config file that declares it.

    Where several files declare it, it asks about each; --user takes your own. A hook's scripts stay; a
    recipe's tests are removed.
    """
    loaded = read_config(None, report.home)
    places = _places(loaded, hook, user=user)
    if len(places) > 1 and not report.dry_run:
        places = _chosen(hook, places, report)
    for file, hooks in places:
        _remove(hook, file, hooks, loaded, report)


Place = tuple["ConfigFile", "list[tuple[Hook, int]]"]
"""A config file, and the hooks to remove from it with their indices; none where a whole recipe is meant."""


def _places(loaded: LoadedConfig, name: str, *, user: bool) -> list[Place]:
    """Return the files that declare the hook or recipe. Raises click.ClickException where none does."""
    found: dict[str, Place] = {}
    for hook, file, path in loaded.written:
        index = path[-1] if path else None
        entry = file.entries[index] if isinstance(index, int) and index < len(file.entries) else None
        recipe = recipe_of(entry)
        if name not in (hook.name, recipe) or (user and file.layer != "user"):
            continue
        if recipe not in (None, name):
            hint = "remove the recipe, or disable the hook with `hookrun disable`"
            raise click.ClickException(f"hook {quote(name)} is part of the recipe `{recipe}`\nhint: {hint}")
        if file.claudes or not isinstance(index, int):
            where = relative_path(file.path)
            raise click.ClickException(f"hook {quote(name)} is in Claude Code's settings\nhint: edit {where}")
        if file.layer == "managed":
            where = file.path
            raise click.ClickException(f"hook {quote(name)} is managed\nhint: ask the administrator to edit {where}")
        found.setdefault(file.path, (file, []))[1].extend([] if recipe else [(hook, index)])
    if not found:
        raise unknown_hook(name, loaded.declarations.hooks)
    return list(found.values())


def _chosen(name: str, places: list[Place], report: CommandReport) -> list[Place]:
    """Ask in which of several files the hook is to be removed. Raises click.ClickException without a terminal."""
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
    declaring = DeclarationFile(file.path, file.layer, loaded.declarations.events)
    if hooks:
        for _, index in sorted(hooks, key=lambda each: -each[1]):
            declaring.remove(index)
        changes = declaring.changes()
    else:
        recipes = ConfiguredRecipes(declaring)
        recipes.remove(name)
        changes = recipes.changes
    where = relative_path(file.path)
    if report.dry_run:
        report.add_hook(name, f"would be removed from {where}")
        report.show_diff(changes)
        return
    apply_all(changes)
    report.add_hook(name, f"removed from {where}")
    report.show_written(changes)
    left = sorted({path for hook, _ in hooks for path in _files_of(hook, declaring.root)})
    if left:
        report.note(f"not removed: {', '.join(map(relative_path, left))}")


def _files_of(hook: Hook, root: str) -> Iterator[str]:
    for word in (*file_words(hook.kind, hook.target), f"{HOOKS_DIRECTORY}/{hook.name}{CASES_SUFFIX}"):
        path = os.path.normpath(os.path.join(root, word))
        if path.startswith(f"{root}/") and os.path.isfile(path):
            yield path
