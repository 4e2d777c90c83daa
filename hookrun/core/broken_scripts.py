"""Recognize what a shell or an interpreter itself says on stderr about a hook's script that it cannot run as written.

Measured with dash 0.5.12, bash 5.2, busybox 1.35, mksh R59, zsh 5.9, Python 3.11, Node.js 20, Perl 5.36 and Ruby 3.1.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Characters of an error that are kept.
MAX_ERROR = 300

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"})

# Of what a script may try, errors are an answer; so are warnings, and that a signal has ended a child.
TRIED = "cd|pushd|popd|kill|wait|type|hash|command|read|echo|printf|ulimit|umask|trap|jobs|fg|bg|disown|warning"
WHAT = rf"(?!(?:{TRIED}): |(?:cannot (?:open|create) )?/dev/tty: |\s*\d+ [A-Z]).+"

# Program -> the form of its errors, from the beginning of a line. `name` is the script, the shell, or what is no file.
FORMS = {
    "dash": rf"(?P<name>[^\s:]+): \d+: {WHAT}",
    "bash": rf"(?P<name>[^\s:]+): (?:-c: |eval: )?line \d+: {WHAT}",
    "busybox": rf"(?P<name>[^\s:]+): (?!(?:{TRIED}): )\S+: line \d+: .+",
    "busybox sh -c": (
        r"(?P<name>sh|ash): (?:.+: (?:not found|Permission denied|parameter not set|bad number|is read only)$|"
        r"syntax error: |divide by zero$|missing \]$|can't (?:create|open) (?!/dev/tty)).*"
    ),
    "mksh": rf"[EW]: (?P<name>[^\s:\[]+)(?:\[\d+\])?: {WHAT}",
    "zsh": rf"(?P<name>[^\s:]+):(?!(?:{TRIED}):)(?:[^\s:]+:)?\d+: {WHAT}",
    "python": r'Traceback \(most recent call last\):\n  File "(?P<name>[^"\n]+)"',
    "python's parser": r' *File "(?P<name>[^"\n]+)", line \d+\n(?: .*\n){0,3}(?:Syntax|Indentation|Tab)Error: ',
    "python's start": r"(?P<name>\S*python[\d.]*): (?:can't open file |No module named |Error while finding module )",
    "node": r"(?:file://)?(?P<name>[^\n:]+|\[\w+\]|node:[^\n:]+):\d+\n(?:.*\n){1,6}?\w*(?:Error\b|Node\.js v)",
    "perl": (
        r"(?:syntax error|Can't |Undefined subroutine |Global symbol |Bareword |Illegal division |BEGIN failed).*?"
        r' (?:at|script) "?(?P<name>[^\s"]+)(?: line \d+|": )'
    ),
    "ruby": r"(?P<name>[^\n:]+):\d+:(?:in [`'].*' ?: .* \(\w+(?:::\w+)*\)$| syntax error)",
    "ruby's start": r"(?P<name>\S*ruby[\d.]*): No such file or directory -- .*\(LoadError\)",
}
# Forms with the name of the program, not of a script.
STARTS = ("python's start", "ruby's start")
# What begins a name that is no file: of a program that is read from the command line, stdin or an interpreter itself.
NO_FILE = ("<", "[", "(", "-", "node:")


# The form of an error that has ended a script, unless its own exit status is 0: then the script caught and logged it.
CAUGHT = "python"
# Suffix of a script in no shell's language -> what runs it. A warning or a log of theirs may look like a shell's error.
RUN_BY = {".py": "python3", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "node", ".rb": "ruby", ".pl": "perl"}
OF_SHELLS = ("dash", "bash", "busybox", "mksh", "zsh")


def own_error(target: str | Sequence[str], stderr: str, exit_code: int) -> str | None:
    """Return the first error of the shell or interpreter that runs a hook's command, None if there is none.

    It must be about that shell, or a word of the command: the hook may report errors in other files.
    """
    line = target if isinstance(target, str) else " ".join(target)
    known = SHELLS.union(word.strip("\"';()&|").rpartition("/")[2] for word in line.split())
    is_line = isinstance(target, str) or target[0].rpartition("/")[2] in SHELLS
    is_caught = exit_code == 0 and not (is_line and any(each in line for each in ";|&\n"))  # these hide a status
    for program, form in FORMS.items():
        for found in re.finditer(f"^(?:{form})", stderr, re.MULTILINE):
            name = found["name"]
            if is_caught and program == CAUGHT and ("python" in line or not name.startswith(NO_FILE)):
                continue
            if program in OF_SHELLS and name.endswith(tuple(RUN_BY)):
                continue
            if name.rpartition("/")[2] in known or name.startswith(NO_FILE) or program in STARTS:
                said = found[0] if "\n" not in found[0] else stderr[found.start() :].strip()
                return said[-MAX_ERROR:]
    return None
