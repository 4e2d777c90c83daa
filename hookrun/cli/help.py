"""`hookrun help`, command line errors, and shell completion."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from hookrun.agents import AGENTS
from hookrun.cli.commands import COMMANDS, GROUPS, MORE, SECTIONS, TOPICS, Workspace, command, topics
from hookrun.core.events import ALIASES, EVENTS
from hookrun.core.state import home_directory
from hookrun.core.text import closest, did_you_mean, escape, quote, suggest
from hookrun.recipes import GUARDS, RECIPES

if TYPE_CHECKING:
    from hookrun.config.discovery import CompiledConfig

# Returns the names to offer, each with a short help.
Names = Callable[[], Iterable[tuple[str, str]]]

# A command -> what people type for it.
SYNONYMS = {
    "--version": ("version",),
    "add": ("recipes add",),
    "completion": ("config completion",),
    "config schema": ("schema",),
    "config show": ("dump", "show", "view"),
    "disable": ("deny", "mute", "off", "reject"),
    "disable --all": ("pause",),
    "enable": ("on", "unblock"),
    "enable --all": ("resume", "unpause"),
    "explain": ("describe",),
    "help events": ("events",),
    "help matchers": ("matchers",),
    "init": ("setup", "start"),
    "install": ("connect", "wire"),
    "list": ("hooks", "ls"),
    "log": ("history", "logs"),
    "new": ("create", "generate"),
    "remove": ("delete", "recipes remove", "rm"),
    "stats": ("metrics",),
    "status": ("agents", "info", "ps"),
    "test": ("recipes test",),
    "trust": ("approve",),
    "trust --forget": ("forget", "untrust"),
    "try": ("dry-run", "run"),
    "try COMMAND --repeat N": ("bench",),
    "uninstall": ("disconnect",),
    "update": ("recipes update", "upgrade", "upgrade-recipes"),
    "validate": ("check", "lint", "verify"),
}

# An option -> what people type for it; only a command's own options are proposed.
OPTION_SYNONYMS = {
    "--agent": ("--client", "--tool-name", "--for"),
    "--config": ("--file", "--settings"),
    "--since": ("--days", "--last", "--age"),
    "--dry-run": ("--check", "--preview", "--no-write", "--simulate", "--diff"),
    "--event": ("--type", "--on", "--events"),
    "--failures": ("--failed", "--errors"),
    "--for": ("--duration", "--time", "--until"),
    "--help": ("--usage", "--man"),
    "--hook": ("--name", "--id", "--filter"),
    "--json": ("--format", "--output", "--output=json"),
    "--lang": ("--language", "--template"),
    "--long": ("--verbose", "--details", "--all", "--full"),
    "--user": ("--global", "--own"),
    "--yes": ("--force", "--assume-yes", "--no-input", "--non-interactive"),
}

# A command and an option that it lacks -> what has that.
ELSEWHERE = {
    ("explain", "--run"): "another command runs the hooks: see `hookrun help try`",
    ("report", "--open"): "open the file that it names",
    ("report", "--replay"): "`hookrun replay` shows the differences",
    ("serve", "--json"): "`hookrun status --json` has the servers",
    ("test", "--hook"): "`-k` selects tests by a hook, too",
    ("update", "--replace"): "remove the tests that you have changed first",
    ("why", "--hook"): "`hookrun log` has it",
}

EXTRA = re.compile(r"Got unexpected extra (arguments?) \(([^`]*)\)\.?$")


@command("help", "help all", "help trust", "help recipes show", "help matchers")
@click.argument("topic", metavar="[COMMAND|TOPIC]...", nargs=-1)
@click.pass_context
def help_command(ctx: click.Context, topic: tuple[str, ...]) -> None:
    """Show help for a command or a topic. `hookrun help all` lists every command."""
    root, words = ctx.find_root(), topic
    if words in ((), ("all",)):
        if words:
            root.meta[SECTIONS] = {**GROUPS, "More commands": MORE}
        click.echo(root.command.get_help(root))
        return
    is_topic = len(words) == 1 and words[0] in topics()
    found = _command_help(root, words)
    if found is None and not is_topic:
        name = " ".join(words)
        known = [*topics(), *COMMANDS]
        hint = did_you_mean(
            name, known, "`hookrun help all` lists commands and topics", lambda near: f"`hookrun help {near}`"
        )
        raise click.ClickException(f'no help for "{escape(name)}"\nhint: {hint}')
    if is_topic:
        with open(os.path.join(TOPICS, f"{words[0]}.txt"), encoding="utf-8") as file:
            click.echo(file.read().rstrip("\n"))
    if found is not None:
        click.echo(f"\n{found}" if is_topic else found)


def _command_help(root: click.Context, words: tuple[str, ...]) -> str | None:
    ctx = root
    for word in words:
        found = ctx.command.get_command(ctx, word) if isinstance(ctx.command, click.Group) else None
        if found is None:
            return None
        ctx = click.Context(found, parent=ctx, info_name=word)
    if words == ("fire",):
        from hookrun.fire.command import help_text  # it parses its own options

        return help_text().rstrip("\n")
    return ctx.command.get_help(ctx)


# --- errors in a command line


def usage_message(error: click.UsageError, argv: Sequence[str]) -> str:
    """Return the message for a usage error with a hint: the likely meaning, or where the help is."""
    text = _text(error)
    if isinstance(error, click.NoSuchOption) and argv[:1] == ["try"] and not argv[1].startswith("-"):
        fault, _, hint = text.partition("\nhint: ")
        if not hint.startswith("did you mean"):  # an option of the tried command, as in `rm -rf build`
            return f"{fault}\nhint: quote the command line: `hookrun try {shlex.quote(' '.join(argv[1:]))}`"
    if isinstance(error, click.NoSuchOption) and (elsewhere := ELSEWHERE.get((argv[0], error.option_name))):
        return f"unknown option `{error.option_name}`\nhint: {elsewhere}"
    if "\nhint: " in text:
        return text
    called = f"hookrun {argv[0]}" if argv and argv[0] in COMMANDS else "hookrun"
    if error.ctx is not None:
        called = error.ctx.command_path
    return f"{text}\nhint: `{called} --help` shows the usage"


def unknown_command(ctx: click.Context, name: str, commands: Iterable[str]) -> str:
    """Return the message for a group's unknown command."""
    root, group = ctx.find_root(), ctx.command_path
    near, typed = closest(name, commands), f"{group} {name.lower()}".removeprefix(f"{root.info_name} ")
    meant = next((command for command, others in SYNONYMS.items() if typed in others), None)
    if meant is not None and (near is None or near.lower() != name.lower()):
        near, group = meant, str(root.info_name)
    hint = suggest(near, f"`{ctx.command_path} --help` lists the commands", lambda near: f"`{group} {near}`")
    return f'unknown command "{escape(name)}"\nhint: {hint}'


def _text(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        params = error.ctx.command.params if error.ctx is not None else []
        options = [name for each in params for name in each.opts]
        hint = suggest(_option_meant(error.option_name, options), None, "`{}`".format)
        return f"unknown option `{escape(error.option_name)}`" + (f"\nhint: {hint}" if hint else "")
    if isinstance(error, click.BadOptionUsage):
        return f"option `{error.option_name}` needs a value" if "requires" in error.message else _plain(error.message)
    name = _parameter_name(error) if isinstance(error, click.BadParameter) else ""
    if isinstance(error, click.MissingParameter):
        return f"missing {'option' if name.startswith('-') else 'argument'} `{name}`"
    if isinstance(error, click.BadParameter):
        message = error.message
        kind = error.param.type if error.param is not None else None
        if isinstance(kind, click.Choice):
            value = message.partition("'")[2].partition("' is not one of")[0]
            choices = list(map(str, kind.choices))
            hint = did_you_mean(value, choices, getattr(kind, "hint", None))
            message = f"{quote(value)} is not one of {', '.join(choices)}" + (f"\nhint: {hint}" if hint else "")
        message = _plain(
            message.replace("a valid float", "a number")
            .replace("a valid integer", "a whole number")
            .replace("number range", "number")
        )
        typed, outside, _ = message.partition(" is not in the range ")
        if outside and isinstance(kind, (click.IntRange, click.FloatRange)):
            limits = f"at least {kind.min}" if kind.max is None else f"from {kind.min} to {kind.max}"
            message = f"{typed} is not {limits}"
        message = re.sub(r"'([^'`]*)' is", r'"\1" is', message)
        return f"invalid value for `{name}`: {message}" if name else message
    message = error.format_message()
    if message.startswith("No such command") and error.ctx is not None and isinstance(error.ctx.command, click.Group):
        typed = message.partition("'")[2].partition("'")[0]
        return unknown_command(error.ctx, typed, error.ctx.command.commands)
    return _plain(EXTRA.sub(r"unexpected \1 `\2`", message))


def _option_meant(typed: str, options: list[str]) -> str | None:
    for option, others in OPTION_SYNONYMS.items():
        if typed in others and option in options:
            return option
    near = closest(typed.strip("-"), [option.strip("-") for option in options if option.startswith("--")])
    return f"--{near}" if near else None


def _parameter_name(error: click.BadParameter) -> str:
    """Return the option's long form (`--name`), or the argument in capitals."""
    if error.param_hint is not None:
        hint = error.param_hint
        return (hint if isinstance(hint, str) else hint[-1]).strip("'")
    if error.param is None:
        return ""
    longest = max(error.param.opts, key=len)
    return longest if longest.startswith("-") else error.param.human_readable_name


def _plain(message: str) -> str:
    """Return a message in lower case without its full stop: click's are sentences."""
    message = message.removesuffix(".")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


# --- completion: events, hooks, agents, recipes and files

# This reads only config files. Names that are not one plain word to a shell are not offered: in an untrusted project
# they may be an attack.

SHELLS = ("bash", "zsh", "fish")
# The environment variable, named by click, by which a shell asks for completions.
VARIABLE = "_HOOKRUN_COMPLETE"

HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@%+/-")


@command(
    "completion",
    "completion bash >> ~/.bash_completion",
    'completion zsh > "${fpath[1]}/_hookrun"',
    "completion fish > ~/.config/fish/completions/hookrun.fish",
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str | None) -> None:
    """Print the completion script for SHELL, by default the one that SHELL in the environment names.

    It completes commands, options, events, agents, recipes and the names of hooks. It runs nothing of a project.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        fault = f"unsupported shell {quote(name)}" if name else "no SHELL in the environment"
        raise click.ClickException(f"{fault}\nhint: name one of {', '.join(SHELLS)}")
    complete = kind(ctx.find_root().command, {}, "hookrun", VARIABLE)
    click.echo(complete.source_template % complete.source_vars())


class OneOf(click.types.StringParamType):
    """A parameter that offers names, and accepts any text."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002  # click's signature
        """Return the names that begin with what is typed already."""
        return completions(self.names, incomplete)


def completions(names: Names, incomplete: str) -> list[CompletionItem]:
    """Return the names with this beginning that are harmless to a shell; none on an error."""
    try:
        found = list(names())
    except Exception:  # the command itself reports it; an error would only disturb the typing
        return []
    return [
        CompletionItem(name, help=help_)
        for name, help_ in found
        if name.startswith(incomplete) and name and HARMLESS.issuperset(name) and not name.startswith("-")
    ]


def _events() -> Iterable[tuple[str, str]]:
    yield from ((event, "") for event in ALIASES)
    yield from ((name, f"also called {event}") for name, event in EVENTS.items() if name != event)
    compiled = _compiled()
    yield from ((own, "declared here") for own in (compiled.events if compiled is not None else ()))


def _hooks() -> Iterable[tuple[str, str]]:
    compiled = _compiled()
    return [(each.name, ", ".join(each.events)) for each in compiled.hooks()] if compiled is not None else []


def _compiled() -> CompiledConfig | None:
    """Return the config in force here from the cache: reading the files takes longer."""
    from hookrun.config.cache_writer import load_compiled  # to complete a command is quicker without
    from hookrun.config.discovery import find

    home = home_directory()
    return load_compiled(find(os.getcwd(), home, own_environment=True))


def _declared_recipes() -> Iterable[tuple[str, str]]:
    from hookrun.cli.recipes import layers_of_recipes  # only where a recipe is completed

    return ((name, ", ".join(layers)) for name, layers in layers_of_recipes(Workspace()).items())


def _help() -> Iterable[tuple[str, str]]:
    yield from ((name, purpose) for name, (_, purpose) in COMMANDS.items())
    yield from ((name, "") for name in topics() if name not in COMMANDS)


# A parameter of any command -> what is offered for it.
BY_NAME: dict[str, click.ParamType[Any]] = {
    **dict.fromkeys(("agent", "agents"), OneOf(lambda: ((name, "") for name in AGENTS))),
    **dict.fromkeys(("config", "ctx", "source"), click.Path(dir_okay=False)),
    **dict.fromkeys(("project", "what"), click.Path(file_okay=False)),
    **dict.fromkeys(("hook", "hooks"), OneOf(_hooks)),
    **dict.fromkeys(
        ("recipe", "recipes"), OneOf(lambda: ((name.replace("_", "-"), "") for name in (*RECIPES, GUARDS)))
    ),
    "declared_recipe": OneOf(_declared_recipes),
    "event": OneOf(_events),
    "topic": OneOf(_help),
}


def attach(command: click.Command) -> None:
    """Set what the parameters of a command, and of its subcommands, offer."""
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        attach(each)
    for param in command.params:
        kind = BY_NAME.get(param.name or "")
        if kind is not None and not isinstance(param.type, click.Choice) and not getattr(param, "is_flag", False):
            param.type = kind
