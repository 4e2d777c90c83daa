"""The command line: commands imported on use, and the one place where errors end."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from errno import ENOSPC
from typing import TYPE_CHECKING

import click

from hookrun import __version__
from hookrun.cli.commands import COMMANDS, FAILED, GROUPS, INTERRUPTED, SECTIONS, color_option
from hookrun.cli.printing import print_message, styled
from hookrun.core.state import CurrentRun, report_bug
from hookrun.core.terminal import ColorChoice, is_terminal
from hookrun.core.text import UserError, escape

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

EPILOG = """\b
Examples:
  hookrun init
  hookrun add block-destructive-commands
  hookrun try "rm -rf build"

\b
`hookrun help all` lists every command.
`hookrun help COMMAND` or `hookrun help TOPIC` explains one.
Topics: agents, conditions, config, context, events, exit-codes, matchers,
troubleshooting, trust, verdicts
"""

# Commands that read no config, or that report a file with a mistaken name themselves.
WITHOUT_CONFIG = frozenset({"completion", "fire", "help", "serve", "validate"})

# Command -> the filter that is its argument, and also an option.
POSITIONAL = {
    **dict.fromkeys(("doctor", "install", "uninstall"), "--agent"),
    "explain": "--event",
    **dict.fromkeys(("disable", "enable", "remove"), "--hook"),
}


def load_command(name: str, table: Mapping[str, tuple[str, str]] = COMMANDS) -> click.Command:
    """Import a command and return it. Raises KeyError for an unknown name."""
    command: click.Command = getattr(importlib.import_module(f"hookrun.cli.{table[name][0]}"), f"{name}_command")
    return command


def require_command(ctx: click.Context) -> None:
    """Print a group's help on stderr and exit with 1 if no command was given."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(FAILED)


class HelpFormatter(click.HelpFormatter):
    """Titles, and the names of commands and options, in colour on a terminal."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:  # noqa: ARG002  # click's
        """Write the usage line."""
        super().write_usage(prog, args, prefix=f"{styled('Usage:', 'title')} ")

    def write_heading(self, heading: str) -> None:
        """Write the title of a section."""
        self.write(f"{'':>{self.current_indent}}{styled(f'{heading}:', 'title')}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write names, each with its purpose."""
        super().write_dl([(styled(name, "name"), purpose) for name, purpose in rows], col_max, col_spacing)


click.Context.formatter_class = HelpFormatter  # every command's, also those that click makes itself


class Commands(click.Group):
    """A group with a table's commands, by default all of hookrun's, grouped in its help."""

    def __init__(self, *arguments: object, table: Mapping[str, tuple[str, str]] = COMMANDS, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # click.Group's
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names of all commands."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # as above
        """Import a command and return it; None for an unknown one."""
        if cmd_name not in self.table:
            return None
        command = load_command(cmd_name, self.table)
        if "_HOOKRUN_COMPLETE" in os.environ:
            from hookrun.cli.help import attach  # only if a shell asks

            attach(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands with this beginning, without importing any."""
        from hookrun.cli.help import completions  # only if a shell asks

        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*completions(lambda: ((name, entry[1]) for name, entry in self.table.items()), incomplete), *options]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one suggests a similar one."""
        name = args[0]
        if name not in self.table and not ctx.resilient_parsing and not name.startswith("-"):
            from hookrun.cli.help import unknown_command  # only for an error

            ctx.fail(unknown_command(ctx, name, self.table))
        option = POSITIONAL.get(name) if self.table is COMMANDS else None
        if option is not None:
            args = [word.removeprefix(f"{option}=") for word in args if word != option]
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in their groups without importing any, then the options."""
        sections = ctx.meta.get(SECTIONS, GROUPS) if self.table is COMMANDS else {"Commands": self.table}
        width = max(len(name) for section in sections.values() for name in section)
        for title, section in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry[1]) for name, entry in section.items()])
        click.Command.format_options(self, ctx, formatter)


@click.group(
    cls=Commands,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="hookrun %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Write a hook once, in any language; every coding agent obeys it."""
    require_command(ctx)
    if ctx.invoked_subcommand not in WITHOUT_CONFIG:
        from hookrun.cli.event_query import warn_of_unread_files  # keeps `hookrun --help` quick

        warn_of_unread_files()


cli.params.append(color_option(hidden=False))  # listed after --version


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status; errors are one line on stderr."""
    ColorChoice.value = "auto"
    CurrentRun.home, CurrentRun.for_agent = "", False
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
    except BrokenPipeError:  # the reader has gone, as with `| head`
        _discard_buffered_output()
        return FAILED
    except Exception as error:
        return _print_error(_error_message(error))
    return status


def _error_message(error: Exception) -> str:
    if isinstance(error, OSError):
        if (failed := _output_error()) is not None:
            _discard_buffered_output()
            return escape(f"the output: {failed.strerror or failed}")
        if error.errno == ENOSPC:  # click's write of what is longer than the buffer, which is lost then
            _discard_buffered_output()
            return escape(f"{error.filename or 'the output'}: {error.strerror}")
        if error.filename:
            return escape(f"{error.filename}: {error.strerror or error}")
    if isinstance(error, UserError):
        return str(error)
    return report_bug(error)


def _output_error() -> OSError | None:
    """Return the error of the output if that has failed: what could not be written is buffered, and fails again."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError as error:
            return error
    return None


def _run(argv: list[str]) -> int:
    try:
        status = cli.main(argv, prog_name="hookrun", standalone_mode=False)
    except click.UsageError as error:
        from hookrun.cli.help import usage_message

        return _print_error(usage_message(error, argv))
    except click.ClickException as error:
        return _print_error(error.format_message())
    except click.Abort as abort:
        if isinstance(abort.__cause__ or abort.__context__, KeyboardInterrupt):  # that of a question has no cause
            return INTERRUPTED
        if is_terminal(2):
            click.echo(err=True)  # the cursor is still on the question's line
        return _print_error("aborted")
    except SystemExit as end:  # click's answer to a broken pipe
        if end.code == FAILED:
            raise BrokenPipeError from end
        raise
    return status if isinstance(status, int) else 0


def _print_error(message: str) -> int:
    print_message(message)
    return FAILED


def _discard_buffered_output() -> None:
    """Discard buffered output, or the interpreter fails to flush it at exit."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
