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
from hookrun.cli import COMMANDS, cli, load_command  # noqa: E402
from hookrun.fire.command import help_text  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "man" / "hookrun.1"

NAME = "hookrun \\- write a hook once, in any language; every coding agent obeys it"
DESCRIPTION = """\
A hook is a command that runs when a coding agent is about to do something, or has done it. hookrun reads declarations
of hooks, gives each that applies one JSON context on stdin, and makes one verdict of their JSON answers: go on, do not,
or do it differently.
.PP
Every command has \\-\\-help with examples. What a person reads is in colour only on a terminal, and never where
NO_COLOR is set; what a program reads is given by \\-\\-json."""
FILES = (
    ("coder.json, hookrun.yaml, coder.local.json", "Declarations of a project, at its root."),
    ("~/.config/hookrun/hooks.json, hooks.yaml", "Your own declarations, which come before any project's."),
    ("/etc/hookrun/hooks.json, hooks.yaml", "Managed declarations, which come before all."),
    ("~/.local/state/hookrun/audit.jsonl", "One line for each run of a hook and for each fire."),
)
ENVIRONMENT = (
    ("HOOKRUN", "0 switches every hook off, in what a person or a program fires."),
    ("HOOKRUN_SKIP", "Names of hooks that are switched off there, with commas between them."),
    ("NO_COLOR", "If set, nothing is in colour."),
)
STATUS = (
    "0: it is done, or all is well. 1: it could not be done, or something is wrong. Only \\fBfire\\fR ends with 2, for "
    "\\(lqdo not\\(rq. 130: it was interrupted."
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
    for within in sorted(command.commands) if isinstance(command, click.Group) else ():
        yield f".SS hookrun {_text(f'{name} {within}')}"
        yield from _help(f"{name} {within}", command.commands[within])


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
