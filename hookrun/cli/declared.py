"""What the commands that look at declarations have in common: their options, and reading the declarations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import click

from hookrun.config.compile import Examined, examine
from hookrun.config.find import NoHomeError, find, home_directory

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


def read(config: str | None, home: str | None) -> Examined:
    """Return the declarations that are in force in the working directory."""
    try:
        cwd = os.getcwd()
    except OSError:
        message = "the working directory does not exist any more: what holds in it is unknown; go to another"
        raise click.ClickException(message) from None
    if config is not None:
        config = os.path.normpath(os.path.join(cwd, config))
    return examine(find(cwd, home_named(home), config=config))


def home_named(home: str | None) -> str:
    """Return the absolute path of the home that `--home` names, HOME without it."""
    if home is None:
        try:
            return home_directory()
        except NoHomeError as error:
            raise click.ClickException(str(error)) from None
    if not os.path.isdir(home):
        msg = f"--home {home} is no directory; name the directory that holds .config/hookrun"
        raise click.ClickException(msg)
    return os.path.abspath(home)
