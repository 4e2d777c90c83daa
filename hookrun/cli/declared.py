"""What the commands that look at declarations have in common: their options, and reading the declarations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import click

from hookrun.config.discovery import NoHomeError, claude_directory, find, home_directory
from hookrun.config.load import LoadedConfig, load_config

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., None]")


def options(function: Function) -> Function:
    """Add `--config`, `--home` and `--json` to a command."""
    for add in (
        click.option("--json", "as_json", is_flag=True, help="As JSON, for programs."),
        click.option("--home", metavar="DIR", help="Whose user declarations: default HOME."),
        click.option("--config", metavar="FILE", help="A declaration file in the place of the project's own."),
    ):
        function = add(function)
    return function


def read(config: str | None, home: str | None, directory: str | None = None) -> LoadedConfig:
    """Return the declarations that are in force in a directory, by default the working directory."""
    if directory is not None and not os.path.isdir(directory):
        raise click.ClickException(f"{directory}: found no directory, expected that of a project; correct the path")
    cwd = directory or here()
    if config is not None:
        config = os.path.normpath(os.path.join(cwd, config))
    named = home_of(home)
    return load_config(find(cwd, named, config=config, claude=claude_directory(named)))


def here() -> str:
    """Return the working directory. Raises click.ClickException when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        message = "the working directory does not exist any more: what holds in it is unknown; go to another"
        raise click.ClickException(message) from None


def home_of(home: str | None) -> str:
    """Return the home directory that `--home` names, or HOME. Raises click.ClickException when there is none."""
    if home is None:
        try:
            return home_directory()
        except NoHomeError as error:
            raise click.ClickException(str(error)) from None
    if not os.path.isdir(home):
        msg = f"--home {home} is no directory; name the directory that holds .config/hookrun"
        raise click.ClickException(msg)
    return os.path.abspath(home)
