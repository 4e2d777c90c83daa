"""Rule out cheaply that a line runs some programs, so that it need not be parsed: most lines end here."""

from __future__ import annotations

from hookrun.globs import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MADE_UP = ("$", "`", "{")
"""Characters from which a shell makes words that are not in the line."""

READERS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "csh", "tcsh", "fish"})
"""Programs that run what they read, which any other may have written."""

INTERPRETERS = frozenset({
    "bpython", "bun", "deno", "elvish", "erl", "expect", "ghci", "groovysh", "guile", "iex", "ipython", "ipython3",
    "irb", "jshell", "julia", "lua", "luajit", "node", "nodejs", "nu", "octave", "osascript", "perl", "php",
    "powershell", "pry", "ptpython", "pwsh", "r", "racket", "ruby", "sbcl", "scala", "swipl", "tclsh", "utop", "xonsh",
})  # fmt: skip

OPENING = frozenset({"login", "newgrp", "screen", "script", "tmux", "unshare"})
"""Programs that start a shell if they are given no command."""

INTERACTIVE = READERS | INTERPRETERS | OPENING | {".", "at", "batch", "python3", "source", "ssh", "su", "sudo"}
"""Programs that may read commands from the terminal, besides other versions of Python."""

QUOTES = str.maketrans("", "", "'\"\\")
ENDS = str.maketrans(dict.fromkeys(";|&()<>\n\t=,", " "))


def may_run(line: str, names: Iterable[str]) -> bool:
    """Return whether the line may run one of the programs (in lower case): False only where it surely runs none."""
    if any(sign in line for sign in MADE_UP):
        return True
    names = tuple(names)
    bare = line.replace("\\\n", "").translate(QUOTES).lower()
    for word in bare.translate(ENDS).split():
        program = word.rpartition("/")[2]
        if program in READERS or word.endswith(names):  # the end: `su -crm` runs rm
            return True
        if any(sign in program for sign in "*?[") and (word[0] == "-" or any(glob(program, name) for name in names)):
            return True
    return False


def may_read_terminal(line: str) -> bool:
    """Return whether the line may run a program that reads commands from the terminal: False only where it does not."""
    if any(sign in line for sign in MADE_UP):
        return True
    for word in line.replace("\\\n", "").translate(QUOTES).lower().translate(ENDS).split():
        program = word.rpartition("/")[2]
        if program in INTERACTIVE or program.startswith(("python", "pypy")):
            return True
        if any(sign in program for sign in "*?[") and any(glob(program, name) for name in INTERACTIVE):
            return True
    return False
