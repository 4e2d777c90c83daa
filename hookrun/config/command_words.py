"""Find the program and script that a hook's command begins with, its `look`, without running it.

They are named only if the shell, options and run-time values leave no other reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from hookrun.shell.programs import having, values
from hookrun.shell.simple_command import ParsedLine, SimpleCommand
from hookrun.shell.syntax_tree import ALL_ENDS, join, split, substitutions
from hookrun.shell.words import Word

# Variables that may begin a word, kept as `${NAME}` for callers that know the values.
VARIABLES = (
    *("HOOKRUN_PROJECT_DIR", "HOOKRUN_CONFIG_DIR", "HOOKRUN_WORKING_DIR", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"),
)

# Beginnings of words in `args` that Claude's dialect expands before they run.
FILLED_IN = ("${CLAUDE_PROJECT_DIR}/", "${CLAUDE_PLUGIN_ROOT}/")

# Begin directories known only at run time: levels of the working directory, a variable's.
HERE, NAMED = "\uf8f0", "\uf8f1"

# The values of those variables and of `~` while a line is read.
KNOWN_VALUES = {name: f"/{NAMED}{name}" for name in (*VARIABLES, "HOME")}

# The beginning of a line that first changes to the project directory.
INTO_PROJECT = re.compile(r"""\s*cd\s+("?)\$\{?((?:CLAUDE|HOOKRUN)_PROJECT_DIR)\}?\1\s*&&""")

# Limit on the characters of a parsed shell line.
LONGEST_LINE = 65536

SLOW_TO_PARSE = ("|", "<<", "=(")
# Limit on the SLOW_TO_PARSE tokens of a line.
MAX_SLOW = 128

# Interpreters -> combinable flags without a value; the next other word is the script.
SCRIPT_FLAGS = having("flags")

# A program that `resolves` may find another file for a script without one of these.
SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")

# Names that end in a version: python3, python3.12.
VERSIONED = re.compile(rf"({'|'.join(having('versioned'))})[0-9]+(?:\.[0-9]+)*")

# Shell keywords and builtins, which name no program.
BUILTINS = having("builtin")

# Words that run the command after them.
PREFIXES = frozenset(having("prefix"))

# Before words that only bash expands, or values that depend on a variable being set.
BASH_ONLY = re.compile(r"\$(?=['\"]|\{\w+[^\w}])|(?<!\$)(?=\{)")


def is_slow_to_parse(line: str) -> bool:
    """Return whether a line is slow to parse: the time grows with the square of some tokens."""
    return sum(map(line.count, SLOW_TO_PARSE)) > MAX_SLOW


def program_and_script(kind: str, target: str | Sequence[str], dialect: str = "hookrun") -> list[str]:
    """Return the program's word and, for an interpreter, its script's: up to two words.

    `kind` is the hook's field (`command` or `args`), `target` its value. The first word is looked up as in a shell (on
    the PATH if it has no slash). The second is a path; without a slash, a shell also looks it up on the PATH.
    """
    if kind == "args" and not isinstance(target, str):
        filled = FILLED_IN if dialect == "claude" else ()
        words = [word if word.startswith(filled) or not word.startswith(("~/", "${")) else None for word in target]
        return [word for word, _ in _named(words)]
    if kind != "command" or not isinstance(target, str):
        return []
    into = INTO_PROJECT.match(target)
    parsed, is_all = _first_part(target[into.end() :] if into else target)
    command = _outermost(parsed) if is_all else None
    if command is None or ("/" not in command.words[0].text and "PATH" in command.assignments):
        return []
    found = [word for word, _ in _named(map(_as_path, command.words))]
    return [_within(f"${{{into[2]}}}", word, index) for index, word in enumerate(found)] if into else found


def _within(directory: str, word: str, index: int) -> str:
    """Return the path of a word after a change of directory. The first word is a program."""
    begins = word.startswith(("/", "~/", "${")) or (index == 0 and "/" not in word)
    return word if begins else f"{directory}/{word.removeprefix('./')}"


def relative_words(kind: str, target: str | Sequence[str]) -> list[str]:
    """Return the program and script words that are relative to the working directory.

    A program without a slash is looked up on the PATH instead; a script is not.
    """
    commands: list[Iterable[str | None]] = []
    if kind == "args" and not isinstance(target, str):
        commands = [target]
    elif kind == "command" and isinstance(target, str):
        found = _first_part(target)[0].commands
        here = [each for each in found if PREFIXES.issuperset(each.wrappers) and each.directory is None]
        commands = [map(_as_path, each.words) for each in here]
    anchors = ("/",) if kind == "args" else ("/", "~/", "${")
    named = [each for words in commands for each in _named(words, sure=False)]
    return [word for word, is_program in named if not word.startswith(anchors) and ("/" in word or not is_program)]


def _named(words: Iterable[str | None], *, sure: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield the program's word and the script's, if any, with whether it is the program's.

    A word is None if only known at run time. Unless `sure`, a script may also be a word that the interpreter may
    resolve to another file.
    """
    program, *rest = *words, None
    if not program or program.endswith("/"):
        return
    yield program, True
    name = program.rpartition("/")[2]
    versioned = VERSIONED.fullmatch(name)
    name = versioned[1] if versioned else name
    for text in rest if name in SCRIPT_FLAGS else ():
        if not text:
            return
        if not text.startswith(("-", "+")):
            if name not in having("resolves") or text.endswith(SCRIPT_SUFFIXES) or (not sure and "/" in text):
                yield text, False
            return
        letters = text[1:] if text[0] == "-" else ""
        if text not in values(name, "long_flags") and (not letters or letters.strip(SCRIPT_FLAGS[name])):
            return


@lru_cache(maxsize=8)  # called with the same line for its program, name and relative paths
def _first_part(line: str) -> tuple[ParsedLine, bool]:
    """Return a line's commands up to its first operator, and whether the rest runs only if these can run.

    It is empty if another shell may read that part differently.
    """
    from hookrun.shell.parse_line import parse_line  # a third of the shell reader; not for a config without commands

    line = line.strip()
    if len(line) > LONGEST_LINE or is_slow_to_parse(line):
        return ParsedLine(), False
    segments = split(line, ALL_ENDS)
    first = join(line, segments[:1])
    parsed = parse_line(BASH_ONLY.sub("$_", first), variables=KNOWN_VALUES)
    if parsed.problem or first.startswith("!"):
        return ParsedLine(), False
    operators = [line[before.end : after.start] for before, after in pairwise(segments)]
    if operators[-1:] == [";"] and segments[-1].start == len(line):
        operators.pop()
    continues = "&>" in first or "<<" in first or any(substitutions(line))
    return parsed, not continues and {"&&", "|"}.issuperset(operators)


def _outermost(parsed: ParsedLine) -> SimpleCommand | None:
    """Return the first command with a program, behind prefixes; None for a builtin or in doubt."""
    first = parsed.commands[:1]
    for command in (*(parsed.wrappers if first and first[0].wrappers else ()), *first):
        program, option = (*(word.text for word in command.words[:2]), "", "")[:2]
        if program not in PREFIXES:
            return None if not program or program in BUILTINS or "=" in program else command
        if option.startswith("-"):
            return None
    return None


def _as_path(word: Word) -> str | None:
    """Return a word as in `look`, with `~/` or `${NAME}` left for the shell to expand; None if unknown."""
    text = word.text
    if not word.known or word.globs or text.startswith(("~", "${")):
        return None
    if text.startswith(f"/{NAMED}"):
        name, slash, rest = text[2:].partition("/")
        text = f"~{slash}{rest}" if name == "HOME" else f"${{{name}}}{slash}{rest}"
    return None if NAMED in text or "$_" in text else text
