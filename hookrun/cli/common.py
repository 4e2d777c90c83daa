"""Share what the commands need: exit statuses, options, and the configuration and agents that they are about."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import click

from hookrun.cli.printing import CommandReport
from hookrun.config.discovery import claude_directory, find
from hookrun.files import relative_path
from hookrun.model import UNTRUSTED_LAYERS, Hook
from hookrun.state import home_directory
from hookrun.text import closest, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookrun.agents.types import Agent
    from hookrun.config.load import Declarations, LoadedConfig
    from hookrun.trust.project import Project
    from hookrun.wiring.targets import InstallLocation

Function = TypeVar("Function", bound="Callable[..., int | None]")

FAILED, INTERRUPTED = 1, 130
"""Exit statuses of every command: it failed; Ctrl-C. Never 2: agents take that for a veto."""

# --- commands and options


def epilog(*examples: str, note: str = "") -> str:
    """Return the end of a command's help: examples, given without `hookrun`, and a note below them."""
    lines = "".join(f"  hookrun {each}\n" for each in examples)
    return f"\b\nExamples:\n{lines}" + (f"\n{note}\n" if note else "")


def command(
    name: str, *examples: str, note: str = "", short_help: str | None = None
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Return the decorator that makes a command of a function, which may return its exit status."""
    return click.command(name, epilog=epilog(*examples, note=note), short_help=short_help)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
home_option = click.option("--home", metavar="DIR", help="Home directory to use; default HOME.")
config_option = click.option("--config", metavar="FILE", help="Use this config file instead of the project's own.")
hook_option = click.option("--hook", metavar="NAME", help="Only this hook.")
event_option = click.option("--event", metavar="EVENT", help="Only the hooks of this event, by any of its names.")
agent_option = click.option("--agent", metavar="NAME", help="Only the hooks that run in this agent.")


def config_options(function: Function) -> Function:
    """Add `--config`, `--home` and `--json` to a command."""
    return config_option(home_option(json_option(function)))


def report_options(function: Callable[..., None]) -> Callable[..., int]:
    """Add `--dry-run`, `--home` and `--json` to a command that writes, and pass them to it as its `report`."""

    @click.option("--dry-run", is_flag=True, help="Show the changes as a diff; write nothing.")
    @home_option
    @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; never ask.")
    @wraps(function)
    def with_report(*, home: str | None, dry_run: bool, as_json: bool, **arguments: object) -> int:
        report = CommandReport(home, as_json=as_json, dry_run=dry_run)
        function(report=report, **arguments)
        return report.end()

    return with_report


def parse_pairs(given: Iterable[str], form: str, option: str) -> dict[str, str]:
    """Return the values of a repeatable option that takes NAME=VALUE.

    Raises click.BadParameter for a value of another form or a repeated name; `form` describes it.
    """
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{quote(text)} is not {form}", param_hint=option)
        if name in pairs:
            raise click.BadParameter(f"{quote(name)} is given twice", param_hint=option)
        pairs[name] = value
    return pairs


# --- where a command runs, and the configuration there


def working_directory() -> str:
    """Return the working directory. Raises click.ClickException where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        raise click.ClickException("the working directory was removed\nhint: `cd` to another directory") from None


def resolve_home(home: str | None) -> str:
    """Return the home directory that `--home` names, by default HOME. Raises NoHomeError, click.ClickException."""
    if home is None:
        return home_directory()
    if not os.path.isdir(home):
        raise click.ClickException(
            f"--home: no such directory: {quote(home)}\nhint: name the directory that contains .config/hookrun"
        )
    return os.path.abspath(home)


def read_config(
    config: str | None, home: str | None, directory: str | None = None, *, warns: bool = False
) -> LoadedConfig:
    """Return the configuration in force in a directory, by default the working directory; see `load_config`."""
    from hookrun.config.load import load_config  # `hookrun --help` is quick without

    if directory is not None and not os.path.isdir(directory):
        raise click.ClickException(
            f"no such directory: {quote(relative_path(directory))}\nhint: name the directory of a project"
        )
    cwd = directory or working_directory()
    if config is not None:
        config = os.path.normpath(os.path.join(cwd, config))
    named = resolve_home(home)
    found = find(cwd, named, config=config, claude=claude_directory(named))
    if config in [path for layer, path, _ in found.files if layer not in UNTRUSTED_LAYERS]:
        found.files = [each for each in found.files if each[0] not in UNTRUSTED_LAYERS]  # not the project's as well
    return load_config(found, warns=warns)


def load_project(config: str | None, home: str | None, directory: str | None = None) -> Project:
    """Return the project in a directory, by default the working directory, with the user's decisions about it."""
    from hookrun.trust.project import Project  # `list` and those about trust need it, most others do not

    declarations = read_config(config, home, directory).declarations
    return Project(declarations, directory or working_directory(), resolve_home(home))


def unknown_hook(name: str, hooks: Iterable[Hook]) -> click.ClickException:
    """Return the error for a name that none of the hooks has."""
    near = closest(name, [hook.name for hook in hooks])
    hint = f"did you mean {quote(near)}?" if near else "`hookrun list` lists the hooks"
    return click.ClickException(f"no hook named {quote(name)} here\nhint: {hint}")


def hooks_named(name: str, hooks: Iterable[Hook]) -> list[Hook]:
    """Return the hooks with this name. Raises click.ClickException where there is none."""
    every = list(hooks)
    found = [hook for hook in every if hook.name == name]
    if not found:
        raise unknown_hook(name, every)
    return found


# --- agents


def agents_named(names: Iterable[str]) -> list[Agent]:
    """Return the agents with these names, each once. Raises click.ClickException for an unknown name."""
    from hookrun.agents import AGENTS, load  # many commands are about none

    found = []
    for name in dict.fromkeys(names):
        if name not in AGENTS:
            near = closest(name, AGENTS)
            hint = f"did you mean {quote(near)}?" if near else f"supported agents are {', '.join(AGENTS)}"
            raise click.ClickException(f"unknown agent {quote(name)}\nhint: {hint}")
        found.append(load(name))
    return found


def install_location(home: str | None) -> InstallLocation:
    """Return the home and project to install into; variables that move an agent's files count only without `--home`."""
    from hookrun.wiring.targets import InstallLocation  # only for those that look at agents' settings

    cwd, named = working_directory(), resolve_home(home)
    found = find(cwd, named)
    return InstallLocation(named, found.repository or cwd, {} if home is not None else dict(os.environ))


def declarations_at(location: InstallLocation) -> Declarations:
    """Return what is declared in the working directory for agents installed at `location`."""
    from hookrun.config.load import load_config  # as above

    return load_config(find(os.getcwd(), location.home)).declarations
