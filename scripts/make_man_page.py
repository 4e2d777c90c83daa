"""Writes man/hookrun.1 from the commands themselves, so that the manual cannot say what they do not.

python scripts/make_man_page.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun import __version__  # noqa: E402  # the package beside this program, not an installed one
from hookrun.cli import cli, load_command  # noqa: E402
from hookrun.cli.commands import COMMANDS  # noqa: E402
from hookrun.fire.command import help_text  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "man" / "hookrun.1"

NAME = "hookrun \\- write a hook once, in any language; every coding agent obeys it"
DESCRIPTION = """\
A hook is a command that runs before or after a coding agent does something. hookrun reads the config, runs the hooks
that match with one JSON context on stdin, and combines their answers into one verdict: continue, block or modify.
.PP
Every command has \\-\\-help with examples, and \\-\\-color; \\-\\-json is for programs."""
FILES = (
    ("coder.json, hookrun.yaml, coder.local.json", "Config of a project, at its root."),
    ("~/.config/hookrun/hooks.json, hooks.yaml", "Your own config, which comes before any project's."),
    ("/etc/hookrun/hooks.json, hooks.yaml", "Managed config, which comes first."),
    ("~/.local/state/hookrun/audit.jsonl", "The audit log: one line for each hook that ran, and for each event."),
)
ENVIRONMENT = (
    ("HOOKRUN", "0 disables all hooks, except for agents."),
    ("HOOKRUN_SKIP", "Names of hooks to skip, separated by commas, except for agents."),
    ("NO_COLOR", "If set, output is not colored."),
    ("FORCE_COLOR", "If set, output is colored also where it is no terminal."),
)
STATUS = (
    "0: success. 1: failure, or a problem was found. Only \\fBfire\\fR exits with 2, for a refusal. 130: interrupted."
)


def page() -> str:
    """Return the page, in the language of man(7)."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield '.\\" Written by scripts/make_man_page.py from the commands: change those.'
    yield f'.TH HOOKRUN 1 "" "hookrun {__version__}" "User Commands"'
    yield from (".SH NAME", NAME, ".SH SYNOPSIS", ".B hookrun", ".I COMMAND", "[\\fIARGUMENTS\\fR]")
    yield ".SH DESCRIPTION"
    yield DESCRIPTION
    yield ".SH COMMANDS"
    for name in sorted(COMMANDS):
        yield from _command(name)
    yield from (".SH EXIT STATUS", STATUS)
    for title, table in (("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        yield f".SH {title}"
        for term, text in table:
            yield from (".TP", f".B {_text(term)}", _text(text))


def _command(name: str) -> Iterator[str]:
    yield f".SS hookrun {_text(name)}"
    if name == "fire":
        yield from _as_it_is(help_text())
        return
    command = load_command(name)
    yield from _help(name, command)
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for within in command.list_commands(ctx):
            inner = command.get_command(ctx, within)
            if inner is not None:
                yield f".SS hookrun {_text(f'{name} {within}')}"
                yield from _help(f"{name} {within}", inner)


def _help(name: str, command: click.Command) -> Iterator[str]:
    root = click.Context(cli, info_name="hookrun", **cli.context_settings)
    with click.Context(command, info_name=name, parent=root) as ctx:
        yield f".B {_text(' '.join(['hookrun', name, *command.collect_usage_pieces(ctx)]))}"
        for paragraph in (command.help or "").split("\n\n"):
            yield from (".PP", _text(" ".join(paragraph.split())))
        for param in command.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                # a command has the names of this option by which it was first called
                names = "-h, --help" if "--help" in param.opts else record[0]
                yield from (".TP", f".B {_text(names)}", _text(" ".join(record[1].split())))
    yield ".PP"
    yield from _as_it_is((command.epilog or "").replace("\b\n", ""))


def _as_it_is(text: str) -> Iterator[str]:
    yield ".nf"
    for line in text.strip("\n").splitlines():
        yield _text(line) or "\\&"
    yield ".fi"


def _text(text: str) -> str:
    """Return a text as man(7) has it: a hyphen is one, and no line begins with a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
