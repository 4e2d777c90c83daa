"""The command line: a table of commands, imported when they are used, and the one place where errors end."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import TYPE_CHECKING

import click

from hookrun.cli.common import FAILED, INTERRUPTED
from hookrun.text import closest, escape
from hookrun.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

COMMANDS = {
    "add": ("recipes", "Add a recipe: a ready-made hook."),
    "agents": ("install", "Show which coding agents are here, and for which events hookrun is installed in them."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
    "deny": ("decisions", "Never run a hook of the project."),
    "disable": ("decisions", "Switch a hook of the project off for yourself."),
    "doctor": ("doctor", "Check whether your hooks will run in each agent, and if not, why."),
    "dump": ("show_config", "Show the merged configuration, each value with the line that it comes from."),
    "enable": ("decisions", "Re-enable a disabled or denied hook."),
    "explain": ("explain", "Show which hooks would run for an event, and why the others would not."),
    "fire": ("fire", "Run the hooks for an event and print their verdict."),
    "init": ("new", "Set up a project with a first hook, its script and its tests."),
    "install": ("install", "Connect hookrun to your coding agents."),
    "list": ("show_config", "List every hook in the order in which they run."),
    "log": ("log", "Show recent events and what each hook did."),
    "metrics": ("metrics", "Show what hooks have learned about the work: sessions, times, costs, errors."),
    "migrate": ("migrate", "Convert hooks in Claude Code's settings into hookrun's own form."),
    "new": ("new", "Create one more hook from a template, with its tests."),
    "pause": ("decisions", "Pause hooks temporarily."),
    "recipes": ("recipes", "List, show, add, update and remove ready-made hooks."),
    "resume": ("decisions", "End a pause."),
    "schema": ("show_config", "Print the JSON Schema of config files."),
    "test": ("test", "Run hook tests and report failures."),
    "trust": ("trust", "Show what a project's hooks run, and approve them."),
    "uninstall": ("install", "Remove hookrun from your coding agents."),
    "untrust": ("decisions", "Forget the decisions about a project's hooks."),
    "validate": ("validate", "Check every config file and report errors."),
    "why": ("log", "Show the result of a run and which hook decided it."),
}
"""Name -> the module in `hookrun.cli` that has it as `NAME_command`, and its purpose in one sentence."""

EXAMPLES = """\b
Examples:
  hookrun init
  hookrun validate
  hookrun list --event pre_tool_use
  echo '{"tool_name": "bash"}' | hookrun fire pre_tool_use --explain
"""


def load_command(name: str) -> click.Command:
    """Import a command and return it. Raises KeyError for an unknown name."""
    command: click.Command = getattr(importlib.import_module(f"hookrun.cli.{COMMANDS[name][0]}"), f"{name}_command")
    return command


class Commands(click.Group):
    """A group whose commands are imported when they are used, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import a command and return it; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command = load_command(cmd_name)
        if "_HOOKRUN_COMPLETE" in os.environ:
            from hookrun.cli.completion import attach  # only where a shell asks

            attach(cmd_name, command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin like this, without importing any of them."""
        from hookrun.cli.completion import completions  # only where a shell asks

        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*completions(lambda: ((name, COMMANDS[name][1]) for name in COMMANDS), incomplete), *options]

    def resolve_command(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant; the error for an unknown one suggests the closest."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = closest(args[0], COMMANDS)
            ctx.fail(f"There is no command {escape(args[0])}.{f' Did you mean {near}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's
        """List the commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(
    cls=Commands,
    epilog=EXAMPLES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="hookrun %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Write a hook once, in any language; every coding agent obeys it."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(FAILED)


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status; every error is one line on stderr."""
    if sys.stdout is None:
        return _print_error("stdout is closed")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has gone, as `| head` does
        _discard_buffered(sys.stdout)
        return FAILED
    except Exception as error:
        return _print_error(_error_message(error))
    return status


def _error_message(error: Exception) -> str:
    if isinstance(error, OSError):
        _discard_buffered(sys.stdout)
        return f"{error.filename or 'the output'}: {error.strerror or error}"
    if isinstance(error, _user_errors()):
        return str(error)
    return f"internal error, please report it: {type(error).__name__}: {error}"


def _run(argv: list[str]) -> int:
    try:
        status = cli.main(argv, prog_name="hookrun", standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "hookrun"
        return _print_error(f"{error.format_message()} Try: {path} --help")
    except click.ClickException as error:
        return _print_error(error.format_message())
    except click.Abort as abort:
        return INTERRUPTED if isinstance(abort.__cause__, KeyboardInterrupt) else _print_error("aborted")
    except SystemExit as end:  # click's answer to a broken pipe
        if end.code == FAILED:
            raise BrokenPipeError from end
        raise
    return status if isinstance(status, int) else 0


def _user_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions whose message tells the user what to do. Imported here: most commands raise none."""
    from hookrun.agents.base import UnreadableMessageError
    from hookrun.config.discovery import NoHomeError
    from hookrun.context import ContextError
    from hookrun.edit.file_change import FileError
    from hookrun.events import UnknownEventError
    from hookrun.fire.invocation import FireError
    from hookrun.observe.database import StoreError as MetricsError
    from hookrun.recipes.catalog import UnknownRecipeError
    from hookrun.scaffold.declaration_file import ScaffoldError
    from hookrun.testing.cases import NoCaseFileError
    from hookrun.testing.update import NoCaseError
    from hookrun.trust.project import NotAllowedError, UnknownHookError
    from hookrun.trust.store import StoreError

    return (
        *(ContextError, MetricsError, NoCaseError, NoHomeError, NoCaseFileError, NotAllowedError, ScaffoldError),
        *(StoreError, FireError, UnknownEventError, UnknownHookError, UnknownRecipeError, UnreadableMessageError),
        FileError,
    )


def _print_error(message: str) -> int:
    """Print one line on stderr; return the exit status for it."""
    click.echo(f"hookrun: {escape(' '.join(message.split()))}", err=True)
    return FAILED


def _discard_buffered(stream: object) -> None:
    """Redirect buffered output to nowhere, so that the interpreter does not fail to flush it at exit."""
    if isinstance(stream, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
