"""The command line: the table of commands, each imported when it is used, and the one place where errors end."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import TYPE_CHECKING

import click

from hookrun.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

COMMANDS = {
    "add": ("hookrun.cli.add", "Declare a recipe: a ready-made hook."),
    "agents": ("hookrun.cli.agents", "Show which coding agents are here, which are wired, and for which events."),
    "bench": ("hookrun.cli.bench", "Measure what hooks cost here, and what would make it less."),
    "completion": ("hookrun.cli.completion", "Print the completion script for bash, zsh or fish."),
    "deny": ("hookrun.cli.deny", "Decide that a hook of the project never runs."),
    "disable": ("hookrun.cli.disable", "Switch a hook of the project off for yourself."),
    "doctor": ("hookrun.cli.doctor", "Say whether the hooks declared here will run in each agent, and if not, why."),
    "dump": ("hookrun.cli.dump", "Show all declarations merged, each value with the line that it comes from."),
    "enable": ("hookrun.cli.enable", "Take back that a hook is disabled or denied."),
    "explain": ("hookrun.cli.explain", "Say which hooks would run at an event, and of every other why not."),
    "fire": ("hookrun.cli.fire", "Run the hooks declared for an event and print their verdict."),
    "init": ("hookrun.cli.init", "Begin: declare a first hook, with its script and its cases."),
    "install": ("hookrun.cli.install", "Let coding agents fire the hooks that are declared."),
    "list": ("hookrun.cli.listing", "Show every hook in the order in which they run."),
    "log": ("hookrun.cli.log", "Show what was fired, and what each hook did."),
    "metrics": ("hookrun.cli.metrics", "Show what hooks have learned about the work: sessions, times, costs, errors."),
    "migrate": ("hookrun.cli.migrate", "Turn hooks in Claude Code's settings into hookrun's own form."),
    "new": ("hookrun.cli.new", "Write one more hook from a template, with its cases."),
    "pause": ("hookrun.cli.pause", "Let hooks not run for a while."),
    "recipes": ("hookrun.cli.recipes", "Show, add, update and remove ready-made hooks."),
    "resume": ("hookrun.cli.resume", "End a pause."),
    "schema": ("hookrun.cli.schema", "Print the JSON Schema of declaration files."),
    "test": ("hookrun.cli.test", "Run the cases beside the hooks and say which do not hold."),
    "trust": ("hookrun.cli.trust", "Show what a project's hooks run, and approve them."),
    "uninstall": ("hookrun.cli.uninstall", "Take hookrun out of coding agents' settings."),
    "untrust": ("hookrun.cli.untrust", "Forget what was decided about a project's hooks."),
    "validate": ("hookrun.cli.validate", "Check every declaration file and say what is wrong."),
    "why": ("hookrun.cli.why", "Say what came of a fire, and who decided it."),
}
"""Name -> the module that holds it as `command`, and what it does in a sentence."""

EXAMPLES = """\b
Examples:
  hookrun init
  hookrun validate
  hookrun list --event pre_tool_use
  echo '{"tool_name": "bash"}' | hookrun fire pre_tool_use --explain
"""
COMPLETING = "_HOOKRUN_COMPLETE"
"""The environment variable by which a shell asks what it can offer on Tab; the name is click's."""

FAILED, INTERRUPTED = 1, 130
"""Exit statuses of every command: it could not be done; Ctrl-C. Never 2: to an agent that means a veto."""


class Commands(click.Group):
    """A group whose commands are imported when they are used, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import a command and return it; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        if COMPLETING in os.environ:
            from hookrun.cli.completing import attach  # only where a shell asks

            attach(cmd_name, command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin like this by the table, so that none of them is imported for it."""
        from hookrun.cli.completing import commands, offered  # only where a shell asks

        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*offered(commands, incomplete), *options]

    def resolve_command(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant; one that does not exist is an error that names the nearest."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            from hookrun.config.diagnostics import closest, quote  # only for a mistake

            near = closest(args[0], COMMANDS)
            ctx.fail(f"There is no command {quote(args[0])}.{f' Did you mean {near}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's
        """List the commands by the table, so that none of them is imported for it."""
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
    """Run a command line and return its exit status; whatever goes wrong is one line on stderr."""
    if sys.stdout is None:
        return _say("stdout is closed")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_is_gone()
    except OSError as error:
        _silence(sys.stdout)
        return _say(f"{error.filename or 'the output'}: {error.strerror or error}")
    except Exception as error:
        return _say(f"internal error, please report it: {type(error).__name__}: {error}")
    return status


def _run(argv: list[str]) -> int:
    try:
        status = cli.main(argv, prog_name="hookrun", standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "hookrun"
        return _say(f"{error.format_message()} Try: {path} --help")
    except click.ClickException as error:
        return _say(error.format_message())
    except click.Abort as abort:
        return INTERRUPTED if isinstance(abort.__cause__, KeyboardInterrupt) else _say("aborted")
    except SystemExit as end:  # what click makes of a broken pipe
        if end.code == FAILED:
            raise BrokenPipeError from end
        raise
    return status if isinstance(status, int) else 0


def _say(message: str) -> int:
    """Tell what went wrong, on one line, and return the exit status for it."""
    from hookrun.config.diagnostics import printable  # nobody pays for it who needs it not

    click.echo(f"hookrun: {printable(' '.join(message.split()))}", err=True)
    return FAILED


def _reader_is_gone() -> int:
    """Return the exit status for an output that nobody reads to its end, as `| head` does: what is left is dropped."""
    _silence(sys.stdout)
    return FAILED


def _silence(stream: object) -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not fail over it at its end."""
    if isinstance(stream, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
