"""The table of commands, and what they share: exit statuses, options, where they work."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cached_property, wraps
from typing import TYPE_CHECKING

import click

from hookrun.cli.printing import CONFIG_ERRORS, CommandReport, is_interactive, warn
from hookrun.core.files import relative_path
from hookrun.core.state import NoHomeError, home_directory, line_home
from hookrun.core.terminal import CHOICES, ColorChoice
from hookrun.core.text import did_you_mean, quote

if TYPE_CHECKING:
    from hookrun.agents.types import Agent
    from hookrun.config.load import LoadedConfig
    from hookrun.core.model import Hook
    from hookrun.trust.project import Project
    from hookrun.wiring.targets import InstallLocation

# Exit statuses of all commands: failure, Ctrl-C. Never 2: agents take that for a veto.
FAILED, INTERRUPTED = 1, 130

# Limit on the first line's characters in a command that explains something.
MAX_ANSWER = 120

# --- the table

# What `hookrun --help` lists: group -> name -> its module in `hookrun.cli`, and its purpose.
GROUPS = {
    "Get started": {
        "init": ("init", "Set up a project: recipes, agents, approval."),
        "add": ("recipes", "Add a recipe: a ready-made hook with tests."),
        "install": ("install", "Connect hookrun to your coding agents."),
        "status": ("status", "Show agents, hooks, approvals and the last run on one screen."),
        "doctor": ("status", "Check whether your hooks will run in each agent, and if not, why."),
    },
    "Write hooks": {
        "new": ("init", "Create a hook from a template, with tests."),
        "try": ("try_command", "Show what each hook says to a command line, a file or a prompt."),
        "test": ("test", "Run hook tests and report failures."),
    },
    "Look": {
        "list": ("status", "List hooks in the order in which they run."),
        "log": ("log", "Show recent events and what each hook did."),
        "why": ("log", "Show the result of a run and which hook decided it."),
        "report": ("report_page", "Write a page about the runs: times, blocks, failures."),
        "replay": ("replay", "Show what the hooks would have done with past calls."),
    },
    "Decide": {
        "trust": ("trust", "Review what a project's hooks run, and approve them."),
        "allow": ("user_decisions", "Let a refused call through once."),
        "disable": ("user_decisions", "Switch a hook, or all hooks, off for yourself."),
        "undo": ("undo", "List snapshots of uncommitted work, and bring one back."),
    },
    "Check and share": {
        "validate": ("validate_command", "Check config files and report errors."),
        "migrate": ("migrate", "Convert hooks of Claude Code, lefthook, pre-commit or husky."),
    },
    "Plumbing": {"fire": ("plumbing", "Run the hooks for an event and print their verdict.")},
}

# What only `hookrun help all` lists.
MORE = {
    "conformance": ("conformance", "Measure what an agent does with hooks."),
    "explain": ("explain", "Show which hooks would run for an event, and why."),
    "enable": ("user_decisions", "Re-enable what is disabled."),
    "recipes": ("recipes", "List and show ready-made hooks."),
    "remove": ("remove", "Remove a hook or a recipe from its config file."),
    "uninstall": ("install", "Disconnect hookrun from your coding agents."),
    "update": ("recipes", "Update recipes, and fetch included configs."),
    "stats": ("stats", "Show how often hooks ran and failed, and how long they took."),
    "export": ("export", "Export the log to OpenTelemetry or Prometheus."),
    "config": ("config_command", "Show the merged config or its schema."),
    "record": ("replay", "Keep whole calls in the log for a time."),
    "serve": ("plumbing", "Run hooks for agents in a server that is always loaded."),
    "completion": ("help", "Print the completion script for bash, zsh or fish."),
    "help": ("help", "Show help for a command or a topic."),
}

# The commands of `hookrun config`.
CONFIG = {
    "show": ("config_command", "Show the merged config, each value with the line that it comes from."),
    "schema": ("config_command", "Print the JSON Schema of config files."),
}

# Key in a context's `meta` for the sections that help lists instead of GROUPS.
SECTIONS = "hookrun.sections"

COMMANDS = {name: entry for group in (*GROUPS.values(), MORE) for name, entry in group.items()}

TOPICS = os.path.join(os.path.dirname(__file__), "topics")


def topics() -> list[str]:
    """Return the names of the topics of `hookrun help`."""
    return sorted(name.removesuffix(".txt") for name in os.listdir(TOPICS) if name.endswith(".txt"))


# --- commands and their options


def epilog(*examples: str, note: str = "") -> str:
    """Return the end of a command's help: examples, each after `hookrun`, and a note."""
    lines = "".join(f"  hookrun {each}\n" for each in examples)
    return f"\b\nExamples:\n{lines}" + (f"\n{note}\n" if note else "")


def color_option(*, hidden: bool = True) -> click.Option:
    """Return `--color`, which every command but `fire` takes and only `hookrun --help` lists."""
    return click.Option(
        ["--color"],
        type=click.Choice(CHOICES),
        expose_value=False,
        is_eager=True,
        hidden=hidden,
        callback=_set_color,
        help="When to use color; default auto: on a terminal, unless NO_COLOR is set.",
    )


def _set_color(ctx: click.Context, param: click.Parameter, value: str | None) -> None:  # noqa: ARG001  # click's
    if value is not None:
        ColorChoice.value = value
        ctx.find_root().color = {"always": True, "never": False}.get(value)


def command(
    name: str, *examples: str, note: str = "", short_help: str | None = None
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Return the decorator for a command, whose function may return an exit status."""
    return click.command(name, epilog=epilog(*examples, note=note), short_help=short_help, params=[color_option()])


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
config_option = click.option("--config", metavar="FILE", help="Use this config file instead of the project's own.")


def in_workspace(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Pass a command the Workspace `at`, with its `--config` if it has that."""

    @wraps(function)
    def with_workspace(*, config: str | None = None, **arguments: object) -> int | None:
        return function(at=Workspace(config), **arguments)

    return with_workspace


def json_options(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add `--json` to a command in a Workspace."""
    return in_workspace(json_option(function))


def config_options(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add `--config` and `--json` to a command in a Workspace."""
    return config_option(json_options(function))


def report_options(function: Callable[..., None]) -> Callable[..., int | None]:
    """Add `--dry-run` and `--json` to a command that writes, passed as `report`."""

    @click.option("--dry-run", is_flag=True, help="Show the changes as a diff; write nothing.")
    @in_workspace
    @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; never ask.")
    @wraps(function)
    def with_report(*, at: Workspace, dry_run: bool, as_json: bool, **arguments: object) -> int:
        report = CommandReport(at, as_json=as_json, dry_run=dry_run)
        function(report=report, **arguments)
        return report.end()

    return with_report


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_duration(text: str, units: str = "smhdw") -> int | None:
    """Return the seconds of a duration such as `1h30m`, or None for other text or units."""
    if not re.fullmatch(rf"(?:\d{{1,9}}[{units}])+", text, re.ASCII):
        return None
    return sum(int(number) * SECONDS[unit] for number, unit in re.findall(r"(\d+)(\w)", text))


# --- where a command works


class Workspace:
    """Where a command works: its directory, HOME and `--config`."""

    def __init__(self, config: str | None = None) -> None:
        self.config = config

    @cached_property
    def directory(self) -> str:
        """The working directory. Raises click.ClickException if it was removed."""
        try:
            return os.getcwd()
        except OSError:
            raise click.ClickException("the working directory was removed\nhint: `cd` to another directory") from None

    @cached_property
    def home(self) -> str:
        """The home of hookrun's files: HOME, or the account's if only that is read here. Raises NoHomeError."""
        home = account = home_directory()
        with suppress(NoHomeError):
            account = line_home()
        if os.path.realpath(home) == os.path.realpath(account):
            return home
        from hookrun.launch.launcher_file import path_in
        from hookrun.wiring.presence import project_names_hookrun  # keeps `hookrun --help` quick

        if not project_names_hookrun(self.location.project):
            return home
        fault = f"HOME is {home}, but the lines in this project's settings read {account}, the account's home"
        conf = path_in(home)
        if os.path.exists(conf) and os.stat(conf).st_uid == os.getuid():  # your own lines read HOME
            warn(f"{fault}\nhint: approve hooks there, too: `HOME={shlex.quote(account)} hookrun trust`")
            return home
        warn(f"{fault}, so this command uses that")
        return account

    def config_from(self, directory: str) -> str | None:
        """Return the path that `--config` names from a directory, or None."""
        return None if self.config is None else os.path.normpath(os.path.join(directory, self.config))

    def load(self, directory: str | None = None, *, warns: bool = False, for_agents: bool = False) -> LoadedConfig:
        """Return a directory's config (default: the working directory); see `load_config`.

        With `for_agents` it is the one that agents use here, without `--config` and the user's environment.
        """
        from hookrun.config.discovery import find  # keeps `hookrun --help` quick
        from hookrun.config.load import load_config
        from hookrun.core.model import UNTRUSTED_LAYERS

        if directory is not None and not os.path.isdir(directory):
            where = quote(relative_path(directory))
            raise click.ClickException(f"no such directory: {where}\nhint: name the directory of a project")
        cwd = directory or self.directory
        config = self.config_from(cwd) if not for_agents else None
        found = find(cwd, self.home, config=config, own_environment=not for_agents)
        if config in [path for layer, path, _ in found.files if layer not in UNTRUSTED_LAYERS]:
            found.files = [each for each in found.files if each[0] not in UNTRUSTED_LAYERS]  # not also the project's
        return load_config(found, warns=warns)

    def project(self, directory: str | None = None) -> Project:
        """Return the project in a directory (default: the working directory)."""
        from hookrun.trust.project import Project  # needed for `list` and trust, but few others

        found = self.load(directory)
        return Project(found.declarations, found.project, self.home)

    @cached_property
    def location(self) -> InstallLocation:
        """Where to install; variables can move an agent's files."""
        from hookrun.config.discovery import find
        from hookrun.wiring.targets import InstallLocation  # only for agents' settings

        home = home_directory()
        return InstallLocation(home, find(self.directory, home).project_root(None), dict(os.environ))


def explain_call(event: object, *, tool: object, agent: object, **args: object) -> str:
    """Return the command that explains which hooks run for a call; what is None or empty is left out."""
    words = ["hookrun", "explain", str(event)]
    for option, value in (("--tool", tool), ("--agent", agent)):
        words += [option, str(value)] if value else []
    for name, value in args.items():
        words += ["--arg", f"{name}={value}"] if value else []
    return shlex.join(words)


def undoing(hook: str | None) -> str:
    """Return the command that enables a hook, or all of them, again."""
    return "hookrun enable --all" if hook is None else f"hookrun enable {shlex.quote(hook)}"


def unknown_hook(name: str, hooks: Iterable[Hook], problems: Collection[str] = ()) -> click.ClickException:
    """Return the error for an unknown name, perhaps in a broken file if there are `problems`."""
    other = CONFIG_ERRORS if problems else "`hookrun list` lists the hooks"
    hint = did_you_mean(name, [hook.name for hook in hooks], other)
    return click.ClickException(f"no hook named {quote(name)} here\nhint: {hint}")


def hooks_named(name: str, hooks: Collection[Hook], problems: Collection[str] = ()) -> list[Hook]:
    """Return the hooks with this name. Raises click.ClickException if there are none."""
    if found := [hook for hook in hooks if hook.name == name]:
        return found
    raise unknown_hook(name, hooks, problems)


# --- the user


def user_is_present(report: CommandReport, *, otherwise: str = "") -> bool:
    """Return whether a user at a terminal, not an agent, runs the command and can be asked.

    `otherwise` is the consequence, of which an agent is warned.
    """
    from hookrun.trust.project import NotAllowedError, refuse_if_run_by_agent  # most commands need none of it

    if report.as_json or not is_interactive():
        return False
    try:
        refuse_if_run_by_agent("approve hooks")
    except NotAllowedError as error:
        if otherwise:
            warn(f"{otherwise}: {error}")
        return False
    return True


# --- agents


def agents_named(names: Iterable[str]) -> list[Agent]:
    """Return the named agents, each once. Raises UnknownAgentError."""
    from hookrun.agents import load  # most commands need none

    return [load(name) for name in dict.fromkeys(names)]
