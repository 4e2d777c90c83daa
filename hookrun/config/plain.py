"""Reads a command without running it: the words that plainly name its program and, for an interpreter, its script.

Where anything is left to the shell, to an option or to luck, nothing is named: a wrong name is worse than none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VARIABLES = ("HOOKRUN_PROJECT_DIR", "HOOKRUN_CONFIG_DIR", "HOOKRUN_WORKING_DIR", "CLAUDE_PROJECT_DIR")
"""Variables that may begin a word: it keeps them as `${NAME}`, for whoever knows their values."""

FIRES = re.compile(r"hookrun(?:/__main__\.py)?['\"]? fire --agent ['\"]?([a-z][a-z0-9_-]*)")
"""How a line looks that fires hookrun for an agent, this one's or an older one's."""

INTO_PROJECT = re.compile(r"""\s*cd\s+("?)\$\{?((?:CLAUDE|HOOKRUN)_PROJECT_DIR)\}?\1\s*&&""")
"""How a line begins that first goes into the project."""

LONGEST_LINE = 65536
"""Characters of a shell line that is read here; a longer one names nothing plainly."""

SHELL_LETTERS = "aefuvx"
SHELL_FLAGS = ("--norc", "--noprofile", "--posix")
SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")


class Interpreter(NamedTuple):
    """Flags without a value that leave the next word the script: `letters` may be combined, `flags` stand alone.

    With `suffixes` only a word that ends in one of them is a script: others may be resolved to something else.
    """

    letters: str = ""
    flags: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()


PYTHON = Interpreter("uBIsSEObqvP")
INTERPRETERS = {
    "bash": Interpreter(SHELL_LETTERS, SHELL_FLAGS),
    "bun": Interpreter(suffixes=SCRIPT_SUFFIXES),
    "dash": Interpreter(SHELL_LETTERS),
    "ksh": Interpreter(SHELL_LETTERS),
    "lua": Interpreter(),
    "node": Interpreter(suffixes=SCRIPT_SUFFIXES),
    "perl": Interpreter("wWXTt"),
    "php": Interpreter("nq"),
    "pypy": PYTHON,
    "python": PYTHON,
    "Rscript": Interpreter(flags=("--vanilla",)),
    "ruby": Interpreter("w"),
    "sh": Interpreter(SHELL_LETTERS),
    "zsh": Interpreter(SHELL_LETTERS),
}
VERSIONED = re.compile(r"(lua|node|perl|php|pypy|python|ruby)[0-9]+(?:\.[0-9]+)*")
"""Names with a version at the end: python3, python3.12, ruby3.2, lua5.4, php8."""

SHELL_WORDS = (
    "if then else elif fi for while until do done case esac select function in { } ! [ [[ time coproc . : "
    "alias bg break builtin caller cd command complete continue declare dirs disown echo enable eval exec exit "
    "export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd "
    "read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit "
    "umask unalias unset wait "
)
BUILTINS = frozenset(SHELL_WORDS.split())
"""Words that the shell itself understands: they name no program."""

PREFIXES = frozenset({"command", "env", "exec", "nohup", "time"})
"""Words that run the command after them."""

PREFIX_PROGRAMS = frozenset({"env", "nohup"})
"""Those that are programs, and may stand after another one."""

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
VARIABLE = re.compile(r"\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))")
OPERATOR = re.compile(r"&&|\|\||>>|>&|<&|<>|>\||<<|[;&|<>()\n]")
LEAVING = frozenset({"||", "&", "(", ")", "<<"})
SEPARATORS = LEAVING | {";", "\n"}
"""After these the line goes on whether the first command could be run or not."""

BLANK = " \t"
LETTERS = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
IN_QUOTES = frozenset("$`\\")
IN_THE_OPEN = frozenset("$`\\*?[]{}")


class Word(NamedTuple):
    """One word of a shell line: `text` without quotes, `raw` as written; `plain` if the shell has nothing to expand."""

    text: str
    raw: str
    plain: bool


class _Line(NamedTuple):
    """The first simple command of a shell line; `alone` if its end is the end of the line or the line depends on it."""

    words: list[Word]
    alone: bool


def look_for(kind: str, target: str | Sequence[str], *, filled: tuple[str, ...] = ()) -> list[str]:
    """Return the program's word and, if it is an interpreter, its script's: no, one or two words.

    `filled` are the beginnings of words in `args` that somebody fills in before they are run.

    `kind` is the hook's field (`command` or `args`), `target` its value. The first word is looked up as a shell does
    (on the PATH if it has no slash). The second is a path; a shell looks for one without a slash on the PATH as well.
    """
    if kind == "args" and not isinstance(target, str):
        left = ("~/", "${")
        words = [Word(word, word, word.startswith(filled) or not word.startswith(left)) for word in target]
        return _plain(words)
    if kind == "command" and isinstance(target, str):
        into = INTO_PROJECT.match(target)
        line = _first_command(target[into.end() :] if into else target)
        found = _plain(_without_prefixes(line.words)) if line.alone else []
        return [_within(f"${{{into[2]}}}", word, index) for index, word in enumerate(found)] if into else found
    return []


def _within(directory: str, word: str, index: int) -> str:
    """Return what a word names for a line that has gone into a directory. The first is a program."""
    begins = word.startswith(("/", "~/", "${")) or (index == 0 and "/" not in word)
    return word if begins else f"{directory}/{word.removeprefix('./')}"


def relative_words(kind: str, target: str | Sequence[str]) -> list[str]:
    """Return the program and script words that are relative paths: what they run depends on the working directory.

    A program without a slash is looked up on the PATH and is not relative; a script without one is.
    """
    if kind == "args" and not isinstance(target, str):
        words = [Word(word, word, plain=True) for word in target]
        return [word for word, is_program in _named(words, sure=False) if not _anchored(word, is_program=is_program)]
    if kind != "command" or not isinstance(target, str):
        return []
    words = _without_prefixes(_first_command(target).words, sure=False)
    return [
        word
        for word, is_program in _named(words, sure=False)
        if not _anchored(word, is_program=is_program) and not word.startswith(("~/", "${"))
    ]


def _anchored(word: str, *, is_program: bool) -> bool:
    return word.startswith("/") or (is_program and "/" not in word)


def _plain(words: list[Word]) -> list[str]:
    return [word for word, _ in _named(words)]


def _named(words: list[Word], *, sure: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield the program's word, then the script's if it has one; each with whether it is the program's.

    Unless `sure`, a script is also what the interpreter may resolve to another file name.
    """
    if not words or not words[0].plain or not words[0].text or words[0].text.endswith("/"):
        return
    program = words[0].text
    yield program, True
    interpreter = _interpreter(program.rpartition("/")[2])
    if interpreter is None:
        return
    for word in words[1:]:
        if not word.plain or not word.text:
            return
        if not word.text.startswith(("-", "+")):
            if word.text.endswith(interpreter.suffixes or ("",)) or (not sure and "/" in word.text):
                yield word.text, False
            return
        if not _is_harmless(word.text, interpreter):
            return


def _interpreter(name: str) -> Interpreter | None:
    versioned = VERSIONED.fullmatch(name)
    return INTERPRETERS.get(versioned.group(1) if versioned else name)


def _is_harmless(flag: str, interpreter: Interpreter) -> bool:
    letters = flag.removeprefix("-")
    return flag in interpreter.flags or (flag[0] == "-" and letters != "" and set(letters) <= set(interpreter.letters))


def _without_prefixes(words: list[Word], *, sure: bool = True) -> list[Word]:
    """Return the words from the program's on; none when it is a word of the shell's own or, if `sure`, in doubt."""
    path_changes = False
    prefix = ""
    for index, word in enumerate(words):
        assignment = ASSIGNMENT.match(word.raw)
        if assignment and prefix in {"", "env"}:
            path_changes |= assignment.group(1) == "PATH"
        elif word.raw in (PREFIX_PROGRAMS if prefix else PREFIXES):
            prefix = word.raw
        elif assignment or word.text in BUILTINS or (prefix and word.text.startswith("-")):
            return []
        else:
            return [] if sure and path_changes and "/" not in word.text else words[index:]
    return []


def _first_command(line: str) -> _Line:
    """Cut the first simple command of a shell line into words."""
    if len(line) > LONGEST_LINE:
        return _Line([], alone=False)
    words: list[Word] = []
    offset = 0
    line = line.strip(BLANK + "\n")
    while offset < len(line):
        if line[offset] in BLANK:
            offset += 1
            continue
        if line[offset] == "#":
            return _Line([], alone=False) if not words else _ended(words, line, line.find("\n", offset))
        operator = OPERATOR.match(line, offset)
        if operator:
            return _ended(words, line, offset)
        word, offset = word_at(line, offset)
        if word is None:
            return _Line([], alone=False)
        if not (word.raw.isdigit() and line[offset : offset + 1] in {"<", ">"} and offset < len(line)):
            words.append(word)
    return _Line(words, alone=True)


def _ended(words: list[Word], line: str, offset: int) -> _Line:
    """Return the words if what comes after them, from an operator at `offset`, does not make them optional."""
    if offset < 0:
        return _Line(words, alone=True)
    if line[offset] in "()":
        return _Line([], alone=False)
    alone = True
    while offset < len(line):
        operator = OPERATOR.match(line, offset)
        if operator:
            goes_on = line[operator.end() :].strip(BLANK) != ""
            alone &= operator.group() not in (SEPARATORS if goes_on else LEAVING)
            offset = operator.end()
        elif line[offset] in BLANK:
            offset += 1
        else:
            word, offset = word_at(line, offset)
            if word is None:
                return _Line(words, alone=False)
    return _Line(words, alone)


def word_at(line: str, start: int) -> tuple[Word | None, int]:
    """Return the word that begins at `start` and the offset after it; no word if it cannot be told where it ends."""
    text: list[str] = []
    plain = True
    offset = start
    begins = line.startswith("~/", start)
    while offset < len(line) and line[offset] not in BLANK and not OPERATOR.match(line, offset):
        char = line[offset]
        letters = LETTERS.match(line, offset)
        if letters:
            piece, ok = letters.group(), True
            offset = letters.end()
        elif char in "'\"":
            end = _closing(line, offset)
            if end < 0:
                return None, len(line)
            variable = _variable(line, offset + 1) if char == '"' and offset == start else None
            begins |= variable is not None
            inside = offset + 1 + (len(_written(line, offset + 1)) if variable else 0)
            piece = (variable or "") + line[inside:end]
            ok = char == "'" or IN_QUOTES.isdisjoint(line[inside:end])
            offset = end + 1
        elif char == "\\":
            piece, ok = line[offset : offset + 2], False
            offset += 2
        elif char == "`" or line.startswith("$(", offset):
            return None, len(line)
        else:
            variable = _variable(line, offset) if offset == start else None
            begins |= variable is not None
            piece, ok = variable or char, variable is not None or char not in IN_THE_OPEN
            offset += len(_written(line, offset)) if variable else 1
        text.append(piece)
        plain &= ok
    plain &= begins or not "".join(text).startswith(("~", "${"))
    return Word("".join(text), line[start:offset], plain), offset


def _closing(line: str, offset: int) -> int:
    """Return where the quote that opens at `offset` closes, -1 if that is not plain to see."""
    quote = line[offset]
    if quote == "'":
        return line.find("'", offset + 1)
    offset += 1
    while offset < len(line):
        if line[offset] == '"':
            return offset
        if line[offset] == "`" or line.startswith("$(", offset):
            return -1
        offset += 2 if line[offset] == "\\" else 1
    return -1


def _written(text: str, offset: int) -> str:
    match = VARIABLE.match(text, offset)
    return match.group() if match else ""


def _variable(text: str, offset: int) -> str | None:
    """Return `${NAME}` if one of VARIABLES stands at `offset`, however it is written."""
    match = VARIABLE.match(text, offset)
    name = match and (match.group(1) or match.group(2))
    return f"${{{name}}}" if name in VARIABLES else None
