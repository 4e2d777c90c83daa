"""Rule out cheaply that a line runs some programs, so that it need not be parsed: most runs of a hook end here."""

from __future__ import annotations

from hookrun.globs import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MADE_UP = ("$", "`", "{")
"""Characters from which a shell makes words that are not in the line."""

READERS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "csh", "tcsh", "fish"})
"""Programs that run what they read, which any other may have written."""

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
