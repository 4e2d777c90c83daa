"""The command line: a table of commands, imported when they are used, and the one place where errors end."""

from __future__ import annotations

import importlib
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from hookrun import __version__
from hookrun.cli.common import FAILED, INTERRUPTED
from hookrun.cli.printing import print_message
from hookrun.text import closest, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

COMMANDS = {
    "add": ("recipes", "Add a recipe: a ready-made hook."),
    "agents": ("install", "Show which coding agents are here, and for which events hookrun is installed in them."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
    "deny": ("user_decisions", "Never run a hook of the project."),
    "disable": ("user_decisions", "Switch a hook of the project off for yourself."),
    "doctor": ("doctor", "Check whether your hooks will run in each agent, and if not, why."),
    "dump": ("show_config", "Show the merged configuration, each value with the line that it comes from."),
    "enable": ("user_decisions", "Re-enable a disabled or denied hook."),
    "explain": ("explain", "Show which hooks would run for an event, and why the others would not."),
    "fire": ("fire_command", "Run the hooks for an event and print their verdict."),
    "init": ("new", "Set up a project with a first hook, its script and its tests."),
    "install": ("install", "Connect hookrun to your coding agents."),
    "list": ("show_config", "List every hook in the order in which they run."),
    "log": ("log", "Show recent events and what each hook did."),
    "migrate": ("migrate", "Convert hooks in Claude Code's settings into hookrun's own form."),
    "new": ("new", "Create one more hook from a template, with its tests."),
    "pause": ("user_decisions", "Pause hooks temporarily."),
    "recipes": ("recipes", "List, show, add, update and remove ready-made hooks."),
    "resume": ("user_decisions", "End a pause."),
    "schema": ("show_config", "Print the JSON Schema of config files."),
    "stats": ("stats", "Show how often each hook ran and failed, how long it took, and recorded metrics."),
    "test": ("test", "Run hook tests and report failures."),
    "trust": ("trust", "Show what a project's hooks run, and approve them."),
    "try": ("try_command", "Show what each hook says to a command line, a file or a prompt."),
    "uninstall": ("install", "Remove hookrun from your coding agents."),
    "untrust": ("user_decisions", "Forget the decisions about a project's hooks."),
    "validate": ("validate_command", "Check every config file and report errors."),
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

USER_ERRORS = frozenset(
    {
        "hookrun.agents.base.UnreadableMessageError",
        "hookrun.state.NoHomeError",
        "hookrun.context.ContextError",
        "hookrun.edit.file_change.FileError",
        "hookrun.events.UnknownEventError",
        "hookrun.fire.invocation.FireError",
        "hookrun.observe.database.DatabaseError",
        "hookrun.recipes.catalog.UnknownRecipeError",
        "hookrun.scaffold.declaration_file.ScaffoldError",
        "hookrun.testing.cases.NoCaseFileError",
        "hookrun.testing.update.NoCaseError",
        "hookrun.trust.project.NotAllowedError",
        "hookrun.trust.project.UnknownHookError",
        "hookrun.trust.store.StoreError",
    }
)
"""Exceptions whose message tells the user what to do, by name: none of their modules is imported for it."""

OLD_NAMES = {"metrics": "stats"}
"""Former names of commands, which still work and are not listed."""

REMOVED = {"bench": "`hookrun stats` shows how long hooks took, `hookrun fire EVENT --repeat N` measures one event."}
"""Former commands, each with what to use instead."""


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
        cmd_name = OLD_NAMES.get(cmd_name, cmd_name)
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
        if args[0] not in COMMANDS and args[0] not in OLD_NAMES and not ctx.resilient_parsing:
            near = closest(args[0], COMMANDS)
            hint = REMOVED.get(args[0]) or (
                f"did you mean `{near}`?" if near else "`hookrun --help` lists all commands"
            )
            ctx.fail(f'unknown command "{escape(args[0])}"\nhint: {hint}')
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
        return escape(f"{error.filename or 'the output'}: {error.strerror or error}")
    if any(f"{kind.__module__}.{kind.__name__}" in USER_ERRORS for kind in type(error).__mro__):
        return str(error)
    from hookrun.crash import report
    from hookrun.state import NoHomeError, home_directory  # only for an internal error

    home = None
    with suppress(NoHomeError):
        home = home_directory()
    return report(error, home, debug=True)


def _run(argv: list[str]) -> int:
    try:
        status = cli.main(argv, prog_name="hookrun", standalone_mode=False)
    except click.UsageError as error:
        from hookrun.cli.usage import usage_message

        return _print_error(usage_message(error))
    except click.ClickException as error:
        return _print_error(error.format_message())
    except click.Abort as abort:
        return INTERRUPTED if isinstance(abort.__cause__, KeyboardInterrupt) else _print_error("aborted")
    except SystemExit as end:  # click's answer to a broken pipe
        if end.code == FAILED:
            raise BrokenPipeError from end
        raise
    return status if isinstance(status, int) else 0


def _print_error(message: str) -> int:
    """Print an error on stderr; return the exit status for it."""
    print_message(message)
    return FAILED


def _discard_buffered(stream: object) -> None:
    """Redirect buffered output to nowhere, so that the interpreter does not fail to flush it at exit."""
    if isinstance(stream, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
