"""Find the files that a hook's command names, without running it, for `look` and for approvals.

A program and a script are named only where the shell, an option and chance leave no other reading. Any word that may be
a path is covered by the approval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hookrun.shell.syntax_tree import parse

if TYPE_CHECKING:
    from tree_sitter import Node

VARIABLES = (
    *("HOOKRUN_PROJECT_DIR", "HOOKRUN_CONFIG_DIR", "HOOKRUN_WORKING_DIR", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"),
)
"""Variables that may begin a word: it keeps them as `${NAME}`, for callers that know their values."""

INTO_PROJECT = re.compile(r"""\s*cd\s+("?)\$\{?((?:CLAUDE|HOOKRUN)_PROJECT_DIR)\}?\1\s*&&""")
"""The beginning of a line that first changes to the project's directory."""

LONGEST_LINE = 65536
"""Limit on the characters of a shell line; longer ones are not parsed."""

SLOW_TO_PARSE = ("|", "<<", "=(")
MAX_SLOW = 128
"""Limit on the tokens of SLOW_TO_PARSE in a line."""

SCRIPT_FLAGS = {
    **dict.fromkeys(("bash", "dash", "ksh", "sh", "zsh"), "aefuvx"),
    **dict.fromkeys(("pypy", "python"), "uBIsSEObqvP"),
    **dict.fromkeys(("Rscript", "bun", "lua", "node"), ""),
    "perl": "wWXTt",
    "php": "nq",
    "ruby": "w",
}
"""Interpreters -> flags without a value, which may be combined. After these the next word is the script."""

LONG_FLAGS = {"bash": ("--norc", "--noprofile", "--posix"), "Rscript": ("--vanilla",)}

SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
RESOLVING = frozenset({"bun", "node"})
"""Those whose script has one of SCRIPT_SUFFIXES: other words may be resolved to something else."""

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
"""Keywords and builtins of the shell: they name no program."""

PREFIXES = frozenset({"command", "env", "exec", "nohup", "time"})
"""Words that run the command after them."""

PREFIX_PROGRAMS = frozenset({"env", "nohup"})
"""Those of them that are programs and may follow each other."""

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
BLANK = " \t"
KNOWN = "|".join(VARIABLES)
BEGINS = re.compile(rf"(\"?)\$(?:\{{({KNOWN})\}}|({KNOWN})(?!\w))", re.ASCII)
PARTS = re.compile(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|(\\.|[^'\"\\]+|.)", re.DOTALL)
IN_QUOTES = frozenset("$`\\")
IN_THE_OPEN = frozenset("$`\\*?[]{}")

LEAVING = frozenset(
    ["||", "&", "|&", "&>", "&>>", "(", ")", "((", "))", "<<", "<<-", "<<<", "$(", "$((", "`", "<(", ">("]
)
"""Tokens after which the line continues, or may continue, even if its first command could not run."""

QUOTING = frozenset({"ansi_c_string", "concatenation", "raw_string", "string", "variable_assignment"})
"""Nodes of the tree in which a line may end without ending a command."""

LONGEST_WORD = 4096
"""Limit on the characters of a path (PATH_MAX in limits.h)."""

SHELL_WORD = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^ \t\n;&|<>()'"`\\])+""", re.DOTALL)
"""A word of a line, also of one that is not shell."""

RUN = re.compile(r"[^\s'\"`$(){}<>|&;=\\,*?\[\]!#]+")
"""A piece of a text without the characters that a shell or an option puts around a path."""

FROM_VARIABLE = re.compile(rf"\$\{{?({KNOWN})\}}?\"?(/[^\s'\"`$(){{}}<>|&;\\,*?\[\]]+)")
"""A path that begins with one of the variables whose value is known, anywhere in a text."""

# An approval that covered a log would be asked for again after each run.
WRITTEN = re.compile(r">{1,2}[|&]?[ \t]*(?:\"[^\"]*\"|'[^']*'|[^\s;&|<>()'\"]+)")
"""A redirection to a file: the output of a hook, such as a log, is not part of it."""


class ShellWord(NamedTuple):
    """One word of a shell line: `text` without quotes, `raw` as written; `plain` if the shell has nothing to expand."""

    text: str
    raw: str
    plain: bool


def is_slow_to_parse(line: str) -> bool:
    """Return whether parsing a line would be slow: its time grows with the square of some tokens."""
    return sum(map(line.count, SLOW_TO_PARSE)) > MAX_SLOW


def program_and_script(kind: str, target: str | Sequence[str], *, filled: tuple[str, ...] = ()) -> list[str]:
    """Return the program's word and, if it is an interpreter, its script's: no, one or two words.

    `kind` is the hook's field (`command` or `args`), `target` its value; `filled` are the beginnings of words in `args`
    that are filled in before they run. The first word is looked up as a shell does (on the PATH if it has no slash).
    The second is a path; a shell looks for one without a slash on the PATH as well.
    """
    if kind == "args" and not isinstance(target, str):
        words = [ShellWord(word, word, word.startswith(filled) or not word.startswith(("~/", "${"))) for word in target]
        return [word for word, _ in _named(words)]
    if kind != "command" or not isinstance(target, str):
        return []
    into = INTO_PROJECT.match(target)
    words, alone = _first_command(target[into.end() :] if into else target)
    found = [word for word, _ in _named(_without_prefixes(words))] if alone else []
    return [_within(f"${{{into[2]}}}", word, index) for index, word in enumerate(found)] if into else found


def _within(directory: str, word: str, index: int) -> str:
    """Return the path that a word names after a change of directory. The first word is a program."""
    begins = word.startswith(("/", "~/", "${")) or (index == 0 and "/" not in word)
    return word if begins else f"{directory}/{word.removeprefix('./')}"


def relative_words(kind: str, target: str | Sequence[str]) -> list[str]:
    """Return the program and script words that are relative paths, and so depend on the working directory.

    A program without a slash is looked up on the PATH and is not relative; a script without one is.
    """
    if kind == "args" and not isinstance(target, str):
        words = [ShellWord(word, word, plain=True) for word in target]
    elif kind == "command" and isinstance(target, str):
        words = _without_prefixes(_first_command(target)[0], sure=False)
    else:
        return []
    anchors = ("/",) if kind == "args" else ("/", "~/", "${")
    named = _named(words, sure=False)
    return [word for word, is_program in named if not word.startswith(anchors) and ("/" in word or not is_program)]


def _named(words: list[ShellWord], *, sure: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield the program's word, then the script's if it has one; each with whether it is the program's.

    Unless `sure`, a script is also what the interpreter may resolve to another file name.
    """
    if not words or not words[0].plain or not words[0].text or words[0].text.endswith("/"):
        return
    program = words[0].text
    yield program, True
    name = program.rpartition("/")[2]
    versioned = VERSIONED.fullmatch(name)
    name = versioned[1] if versioned else name
    for word in words[1:] if name in SCRIPT_FLAGS else ():
        text = word.text
        if not word.plain or not text:
            return
        if not text.startswith(("-", "+")):
            if name not in RESOLVING or text.endswith(SCRIPT_SUFFIXES) or (not sure and "/" in text):
                yield text, False
            return
        letters = text[1:] if text[0] == "-" else ""
        if text not in LONG_FLAGS.get(name, ()) and (not letters or letters.strip(SCRIPT_FLAGS[name])):
            return


def _without_prefixes(words: list[ShellWord], *, sure: bool = True) -> list[ShellWord]:
    """Return the words from the program's on; none if it is a builtin or, with `sure`, if it is in doubt."""
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


def _first_command(line: str) -> tuple[list[ShellWord], bool]:
    """Return the words of a line's first simple command, and whether the line depends on it to its end."""
    line = line.strip(BLANK + "\n")
    if len(line) > LONGEST_LINE or is_slow_to_parse(line):
        return [], False
    data = line.encode("utf-8", "surrogatepass")
    root = parse(data)
    node = root
    while node.type in {"program", "list", "pipeline", "redirected_statement"} and node.children:
        node = node.children[0]
    if node.type != "command" or node.has_error:
        return [], False
    words: list[ShellWord] = []
    for child in node.children:
        if child.type.endswith(("_redirect", "process_substitution")):
            break
        before = child.prev_sibling
        gap = data[before.end_byte : child.start_byte] if before is not None else b""
        if b"\\" in gap:  # a line continuation, inside a word if no blank precedes it
            words = [*(words if gap[:1].isspace() else words[:-1]), ShellWord("", "\\", plain=False)]
        words.append(_word(_text(child)))
    return words, not root.has_error and _is_one_chain(root, data)


def _is_one_chain(root: Node, data: bytes) -> bool:
    """Return whether a line is one command, or runs the rest only if that can run: `a && b`, `a | b`."""
    if any(node.type in LEAVING for node in _nodes(root)):
        return False
    end = 0
    for node in _nodes(root, QUOTING):
        gap = data[end : node.start_byte].replace(b"\\\n", b"")
        if b"\n" in gap or (node.type == ";" and node.end_byte < len(data)):
            return False
        end = node.end_byte
    return True


def _nodes(root: Node, whole: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Yield the leaves of the tree, in order; those of `whole` types are not looked into."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in whole or not node.child_count:
            yield node
        else:
            waiting.extend(reversed(node.children))


def _text(node: Node) -> str:
    return node.text.decode("utf-8", "surrogatepass") if node.text else ""


def _word(raw: str) -> ShellWord:
    begins = BEGINS.match(raw)
    text, plain = "", True
    for single, double, bare in PARTS.findall(begins[1] + raw[begins.end() :] if begins else raw):
        text += single or double or bare
        plain = plain and IN_QUOTES.isdisjoint(double) and IN_THE_OPEN.isdisjoint(bare)
    if begins:
        text = f"${{{begins[2] or begins[3]}}}{text}"
    elif not raw.startswith("~/"):
        plain = plain and not text.startswith(("~", "${"))
    return ShellWord(text, raw, plain)


def file_words(kind: str, target: str | Sequence[str]) -> list[str]:
    """Return the words of a hook's command that may name a file, each once and in order; none for another `kind`.

    Besides the words as the shell would see them, these are the pieces of each: `--require=./early.js` has one, and so
    has `sh -c 'hooks/a.sh && hooks/b.sh'`. They begin with `~/` and `${NAME}` as in `program_and_script`. A word too
    many costs little: it counts only where a file has that name.
    """
    texts: list[str] = []
    if kind == "command" and isinstance(target, str):
        line = WRITTEN.sub(" ", target)
        texts = [*(_word(raw).text for raw in SHELL_WORD.findall(line)), line]
    elif kind == "args" and not isinstance(target, str):
        texts = [*target]
    words = dict.fromkeys(piece for text in texts for piece in _pieces(text))
    return [
        word
        for word in words
        if 0 < len(word) <= LONGEST_WORD and word[0] != "-" and "\0" not in word and "\n" not in word
    ]


def _pieces(text: str) -> Iterator[str]:
    yield text
    yield from RUN.findall(text)
    for name, rest in FROM_VARIABLE.findall(text):
        yield f"${{{name}}}{rest}"
