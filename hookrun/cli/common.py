"""Share what the commands need: exit statuses, options, the loaded configuration, printing and reports."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TypeVar

import click

from hookrun.agents import AGENTS, load
from hookrun.config.discovery import claude_directory, find
from hookrun.state import home_directory
from hookrun.text import closest, escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hookrun.agents.types import Agent
    from hookrun.config.load import Declarations, LoadedConfig
    from hookrun.edit.file_change import FileChange
    from hookrun.model import Hook
    from hookrun.trust.project import Project
    from hookrun.wiring.targets import InstallLocation

    Line = tuple[str, str]
    """A line of text and its style on a terminal, empty for none."""

Function = TypeVar("Function", bound="Callable[..., None]")

FAILED, INTERRUPTED = 1, 130
"""Exit statuses of every command: it failed; Ctrl-C. Never 2: agents take that for a veto."""

OK, ERROR, WARNING, DIM, BOLD = "green", "red", "yellow", "dim", "bold"

# --- options

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
report_json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; never ask.")
home_option = click.option("--home", metavar="DIR", help="Home directory to use; default HOME.")
config_option = click.option("--config", metavar="FILE", help="Use this config file instead of the project's own.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show the changes as a diff; write nothing.")


def config_options(function: Function) -> Function:
    """Add `--config`, `--home` and `--json` to a command."""
    return config_option(home_option(json_option(function)))


def parse_pairs(given: Iterable[str], expected: str, option: str) -> dict[str, str]:
    """Return the values of a repeatable option that takes NAME=VALUE.

    Raises click.BadParameter for a value of another form or a repeated name; `expected` describes the form.
    """
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name in pairs:
            raise click.BadParameter(f"found {text!r}, expected {expected}", param_hint=option)
        pairs[name] = value
    return pairs


# --- where a command runs, and the configuration there


def working_directory() -> str:
    """Return the working directory. Raises click.ClickException where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        raise click.ClickException("the working directory does not exist any more: change to another") from None


def resolve_home(home: str | None) -> str:
    """Return the home directory that `--home` names, by default HOME. Raises NoHomeError, click.ClickException."""
    if home is None:
        return home_directory()
    if not os.path.isdir(home):
        raise click.ClickException(f"--home {home} is no directory; name the directory that holds .config/hookrun")
    return os.path.abspath(home)


def read_config(config: str | None, home: str | None, directory: str | None = None) -> LoadedConfig:
    """Return the configuration in force in a directory, by default the working directory."""
    from hookrun.config.load import load_config  # `hookrun --help` is quick without

    if directory is not None and not os.path.isdir(directory):
        raise click.ClickException(f"{directory}: no such directory; give the directory of a project")
    cwd = directory or working_directory()
    if config is not None:
        config = os.path.normpath(os.path.join(cwd, config))
    named = resolve_home(home)
    return load_config(find(cwd, named, config=config, claude=claude_directory(named)))


def load_project(config: str | None, home: str | None, directory: str | None = None) -> Project:
    """Return the project in a directory, by default the working directory, with the user's decisions about it."""
    from hookrun.trust.project import Project  # `list` and those about trust need it, most others do not

    declarations = read_config(config, home, directory).declarations
    return Project(declarations, directory or working_directory(), resolve_home(home))


def unknown_hook(name: str, hooks: Iterable[Hook]) -> click.ClickException:
    """Return the error for a name that none of the hooks has."""
    near = closest(name, [hook.name for hook in hooks])
    hint = f'did you mean "{near}"?' if near else "hookrun list shows all hooks"
    return click.ClickException(f'no hook is called "{name}" here; {hint}')


# --- agents


def agents_named(names: Iterable[str]) -> list[Agent]:
    """Return the agents with these names, each once. Raises click.ClickException for an unknown name."""
    found = []
    for name in dict.fromkeys(names):
        if name not in AGENTS:
            near = closest(name, AGENTS)
            hint = f"did you mean {near}?" if near else f"expected one of {', '.join(AGENTS)}"
            raise click.ClickException(f'unknown agent "{name}": {hint}')
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


def declared_events(agent: Agent, declared: Declarations) -> list[str]:
    """Return the canonical events that have a hook for this agent, broken hooks included."""
    events: dict[str, None] = {}
    for hook in declared.hooks:
        native = agent.NAME == "claude" and hook.claude is not None and hook.claude.get("own")  # Claude runs it itself
        if hook.mode != "off" and not native and (hook.agents is None or agent.NAME in hook.agents):
            events.update(dict.fromkeys(hook.events))
    return list(events)


# --- printing


def is_interactive() -> bool:
    """Return whether a question would be seen and could be answered."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def print_line(text: str) -> None:
    """Print one line, control characters escaped."""
    click.echo(escape(text))


def warn(text: str) -> None:
    """Print `hookrun: ...` on stderr, control characters escaped."""
    click.echo(f"hookrun: {escape(text)}", err=True)


def print_json(data: object) -> None:
    """Print an object as indented JSON."""
    import json  # `hookrun --help` is quick without

    click.echo(json.dumps(data, indent=2))


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines, in colour on a terminal. rich leaves colours out where NO_COLOR is set or the terminal has none."""
    if not sys.stdout.isatty():
        for text, _ in lines:
            print_line(text)
        return
    from rich.console import Console  # only for a terminal
    from rich.text import Text  # only for a terminal

    console = Console(highlight=False)
    for text, style in lines:
        console.print(Text(escape(text), style=style), soft_wrap=True)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines with aligned columns, control characters escaped."""
    cells = [[escape(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def print_rich_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None, styles: Sequence[str] = ()
) -> None:
    """Print a table on a terminal, its cells folded where they are too long; `styles` are those of its first rows."""
    from rich.console import Console  # only for a terminal
    from rich.table import Table  # only for a terminal
    from rich.text import Text  # only for a terminal

    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style=BOLD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for number, row in enumerate(rows):
        cells = [Text(escape(cell)) for cell in row]
        table.add_row(*cells, style=styles[number] if number < len(styles) else None)
    Console().print(table)


def relative_path(path: str) -> str:
    """Return a path relative to the working directory if it lies below it, else as it is."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else path


# --- reports of commands that write

KEYS = ("written", "removed", "hooks", "approved", "not_approved", "conflicts", "next", "notes", "diff")
"""The keys of a report's JSON object besides `ok` and `dry_run`; each holds a list."""


class CommandReport:
    """Report what a command writes: line by line, or with `as_json` as one object at the end."""

    def __init__(self, *, as_json: bool, dry_run: bool) -> None:
        self.as_json = as_json
        self._dry_run = dry_run
        self._lists: dict[str, list[object]] = {key: [] for key in KEYS}

    def note(self, text: str) -> None:
        """Report something on stdout."""
        if self.as_json:
            self._lists["notes"].append(text)
        else:
            print_line(text)

    def warn(self, text: str) -> None:
        """Report a possible mistake on stderr."""
        if self.as_json:
            self._lists["notes"].append(text)
        else:
            warn(text)

    def add_files(self, changes: Iterable[FileChange]) -> None:
        """Add the files that are written and removed to the JSON object."""
        for each in changes:
            if each.has_effect:
                self._lists["removed" if each.after is None else "written"].append(each.path)

    def show_diff(self, changes: Iterable[FileChange], otherwise: str = "nothing to change") -> None:
        """Show as a diff what would be written."""
        would = [each for each in changes if each.has_effect]
        self.add_files(would)
        if self.as_json:
            self._lists["diff"] += [line for each in would for line in each.diff().splitlines()]
        else:
            click.echo("\n".join(each.diff() for each in would) if would else otherwise)

    def add_hook(self, name: str, state: str, difference: str = "", *, conflict: bool = False) -> None:
        """Report the new state of a hook, and how it differs from what it would be."""
        self._lists["hooks"].append({"name": name, "state": state, "difference": difference})
        self._lists["conflicts"] += [name] if conflict else []
        if not self.as_json:
            print_line(f"{name}: {state}")
            for line in difference.splitlines():
                print_line(f"  {line}")

    def add_approvals(self, approved: Iterable[str], not_approved: Iterable[str] = ()) -> None:
        """Add which hooks agents run as they are now, and which await the user's approval, to the JSON object."""
        self._lists["approved"] += approved
        self._lists["not_approved"] += not_approved

    def next_steps(self, steps: Iterable[tuple[str, str]]) -> None:
        """Report what to do next: commands and the purpose of each."""
        rows = list(steps)
        self._lists["next"] += [command for command, _ in rows]
        if self.as_json:
            return
        width = max((len(command) for command, _ in rows), default=0)
        for index, (command, purpose) in enumerate(rows):
            print_line(f"{'next:' if index == 0 else '':<5} {command.ljust(width)}  {purpose}")

    def end(self, *, ok: bool = True) -> bool:
        """Print the JSON object if that is asked for; return `ok`."""
        if self.as_json:
            print_json({"ok": ok, "dry_run": self._dry_run, **self._lists})
        return ok
