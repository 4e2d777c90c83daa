"""The command line: a table of commands, imported when they are used, and the one place where errors end."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from hookrun import __version__
from hookrun.cli.commands import GROUPS
from hookrun.cli.common import FAILED, INTERRUPTED
from hookrun.cli.dispatch import Commands, color_option, require_command
from hookrun.cli.printing import print_message
from hookrun.terminal import ColorChoice, is_terminal
from hookrun.text import escape

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


@click.group(
    cls=Commands,
    sections=GROUPS,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="hookrun %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Write a hook once, in any language; every coding agent obeys it."""
    require_command(ctx)


cli.params.append(color_option(hidden=False))


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status; every error is one line on stderr."""
    ColorChoice.value = "auto"
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

        return _print_error(usage_message(error, argv))
    except click.ClickException as error:
        return _print_error(error.format_message())
    except click.Abort as abort:
        if isinstance(abort.__cause__, KeyboardInterrupt):
            return INTERRUPTED
        if is_terminal(2):
            click.echo(err=True)  # the cursor is still on the line of the question
        return _print_error("aborted")
    except SystemExit as end:  # click's answer to a broken pipe
        if end.code == FAILED:
            raise BrokenPipeError from end
        raise
    return status if isinstance(status, int) else 0


def _print_error(message: str) -> int:
    print_message(message)
    return FAILED


def _discard_buffered(stream: object) -> None:
    """Redirect buffered output to nowhere, so that the interpreter does not fail to flush it at exit."""
    if isinstance(stream, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
