"""Parse shell with tree-sitter and its bash grammar, loaded with the first line.

A text with an error is split so that the error hides no command.
"""

from __future__ import annotations

import re
from _frozen_importlib import module_from_spec  # as those of `importlib`, which would have to be loaded
from _frozen_importlib_external import PathFinder

from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tree_sitter import Node, Parser

_PARSER: list[Parser] = []

# The grammar's scanner crashes at some after a brace: it looks them up far beyond the end of a table (isdigit).
# Makes each byte of a non-ASCII character a letter, as a shell does.
LETTERS = bytes(range(128)) + b"x" * 128


class Source:
    """A parsed text, and its first byte's position in the line, None if not verbatim there.

    `row` is the number of its first line in a script, 0 if it is not one.
    """

    def __init__(self, data: bytes, at: int | None = None, row: int = 0) -> None:
        self.data = data
        self.at = at
        self.row = row

    def text(self, start: int, end: int) -> str:
        """Return the text between two bytes."""
        return self.data[start:end].decode("utf-8", "replace")

    def of(self, node: Node) -> str:
        """Return the text of a node."""
        return self.text(node.start_byte, node.end_byte)

    def place(self, start: int) -> int | None:
        """Return a byte's position in the line."""
        return None if self.at is None else self.at + start


def source_of(text: str, at: int | None = None, row: int = 0) -> Source:
    """Return a text as a source; unknown parts are a variable that is never set."""
    return Source(text.replace(UNKNOWN, "${_}").encode("utf-8", "surrogatepass"), at, row)


def parse(data: bytes) -> Node:
    """Return the root of a text's syntax tree; nodes have positions, no text."""
    if not _PARSER:
        library, grammar = _binding("tree_sitter"), _binding("tree_sitter_bash")
        _PARSER.append(library.Parser(library.Language(grammar.language())))
    return _PARSER[0].parse(data.translate(LETTERS)).root_node


def _binding(name: str) -> Any:  # what a package of C has
    """Return a package's compiled module, loaded without the package, whose imports cost as much as a whole run."""
    package = PathFinder.find_spec(name)
    places = package.submodule_search_locations if package is not None else None
    spec = PathFinder.find_spec(f"{name}._binding", places) if places else None
    if spec is None or spec.loader is None:
        return __import__(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- a text with an error

DOCUMENT = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|((?:\\.|[^\s;&|<>()'\"\\])+))")
# Redirections with a character that elsewhere ends a command.
NO_END = re.compile(r"<<<|&>>?|>\||[<>]&")

ENDS = re.compile(r";;&|;;|;&|;|&&|\|\||&")
# What ends a command; ALL_ENDS cuts pipelines and subshells too.
ALL_ENDS = re.compile(rf"{ENDS.pattern}|\|&|\||[()]")

SUBSTITUTIONS = frozenset({"$(", "<(", ">("})
# What begins a part that may hold others, and its end.
NESTED = {'"': '"', "${": "}", **dict.fromkeys(SUBSTITUTIONS, ")")}

# What begins a part in which only backslashes are special, and its end.
ESCAPED = {"$'": "'", "`": "`"}

BEFORE_COMMENT = " \t\n;&|("


class Segment:
    """A part of a text, and the here-documents that begin in it, with positions."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.documents: list[tuple[int, str]] = []


def split(text: str, ends: re.Pattern[str] = ENDS) -> list[Segment]:
    """Split a text into its commands, or parts of compound ones; here-documents belong to the command they begin in."""
    segments = [Segment(0)]
    waiting: list[tuple[Segment, re.Match[str]]] = []
    at = 0
    while at < len(text):
        end = ends.match(text, at)
        passed = NO_END.match(text, at)
        document = DOCUMENT.match(text, at)
        if passed is not None:
            at = passed.end()
        elif document is not None:
            waiting.append((segments[-1], document))
            at = document.end()
        elif text[at] == "\n":
            segments[-1].end = at
            at = _past_documents(text, at + 1, waiting)
            waiting = []
            segments.append(Segment(at))
        elif end is not None:
            segments[-1].end = at
            at = end.end()
            segments.append(Segment(at))
        else:
            at = _past_comment(text, at) or end_of(text, at)
    segments[-1].end = len(text)
    return segments


def _past_documents(text: str, at: int, waiting: list[tuple[Segment, re.Match[str]]]) -> int:
    """Give segments their here-documents; one without an end is ignored."""
    for segment, found in waiting:
        word = found[2] or found[3] or (found[4] or "").replace("\\", "")
        tabs = r"\t*" if found[1] else ""
        end = re.compile(rf"^{tabs}{re.escape(word)}$", re.MULTILINE).search(text, at)
        if end is not None:
            segment.documents.append((at, text[at : end.end()]))
            at = min(end.end() + 1, len(text))
    return at


def join(text: str, segments: list[Segment]) -> str:
    """Return the text from the first segment to the last, with its here-documents."""
    first, last = segments[0], segments[-1]
    after = [document for segment in segments for at, document in segment.documents if at >= last.end]
    return "\n".join([text[first.start : last.end], *after])


def end_of(text: str, at: int) -> int:
    """Return the end of the quoted part, substitution or character at `at`."""
    if text[at] == "\\":
        return min(at + 2, len(text))
    for begins in (text[at : at + 2], text[at]):
        if begins in NESTED:
            return _past_nested(text, at + len(begins), NESTED[begins])
        if begins in ESCAPED:
            return _past_escaped(text, at + len(begins), ESCAPED[begins])
        if begins == "'":
            return (text.find("'", at + 1) + 1) or len(text)
    return at + 1


def _past_escaped(text: str, at: int, closing: str) -> int:
    while at < len(text) and text[at] != closing:
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))


def _past_nested(text: str, at: int, closing: str) -> int:
    while at < len(text):
        if text[at] == closing:
            return at + 1
        if closing == ")" and text[at] == "(":
            at = _past_nested(text, at + 1, ")")
        elif closing == '"' and text[at] == "'":
            at += 1
        else:
            at = (_past_comment(text, at) if closing == ")" else 0) or end_of(text, at)
    return len(text)


def _past_comment(text: str, at: int) -> int:
    """Return the end of the comment at `at`, 0 if there is none."""
    if text[at] != "#" or (at and text[at - 1] not in BEFORE_COMMENT):
        return 0
    end = text.find("\n", at)
    return end if end > 0 else len(text)


def substitutions(text: str) -> Iterator[str]:
    """Yield the lines in a text's substitutions, also in double quotes and `${...}`."""
    at = 0
    while at < len(text):
        begins, end = text[at : at + 2], end_of(text, at)
        if begins in SUBSTITUTIONS:
            yield text[at + 2 : end].removesuffix(")")
        elif begins == "${":
            yield from substitutions(text[at + 2 : end])
        elif begins[0] == "`":
            yield text[at + 1 : end].removesuffix("`").replace("\\`", "`")
        elif begins[0] == '"':
            yield from substitutions(text[at + 1 : end].replace("'", " "))
        at = end


# A test: what is before it, how it begins, its operands.
TEST = re.compile(
    r"""(?<![\\'"])(^|[;&|(`\n])
        ([ \t]*(?:(?:if|while|until|elif|then|else|do|time|!|\{)[ \t]+)*(?:\[[ \t]|(\[\[[ \t])))
        ((?(3)(?:[^;&|`\n\[\]]|&&|\|\|)|[^;&|`\n\[\]])*)
        (?=[ \t]\])""",
    re.VERBOSE,
)

# An operand that the grammar may miss, such as `/`, `~` and `*`.
ODD = re.compile(r"""(?<=[ \t])(?=[^ \t]*[~/*?{}])[^ \t'"$()<>\\=!-][^ \t'"$()<>\\]*(?=[ \t]|$)""")

# The variable that gets a new descriptor's number.
DESCRIPTOR = re.compile(r"(?<![^\s;&|(])\{\w+\}(?=[<>])")

# The keywords that continue a compound command, before a simple one.
MIDDLE = re.compile(r"(?:\s|(?:then|elif|else|fi|do|done|esac|\})(?=[\s<>]|$))+")

# The part of a compound command that may precede a simple one.
OPENINGS = re.compile(rf"(?:{MIDDLE.pattern}|(?:if|while|until|time|coproc|function\s+\S+|!|\{{)(?=[\s<>]|$))+")

# Disables the expansions of a here-document: a shell reports errors in one and runs the rest.
NOTHING_PUT_IN = str.maketrans("$`", "__")

# Segments that are tried as one compound command.
MAX_JOINED = 32

# Bytes parsed so; beyond it each piece is read alone.
MAX_BYTES_TRIED = 1 << 18


def without_oddities(text: str) -> str:
    """Mask what the grammar misreads, odd words in tests and `{name}>`; the text keeps its length."""
    text = DESCRIPTOR.sub(lambda found: "9".rjust(len(found[0])), text)
    return TEST.sub(lambda found: found[1] + found[2] + _masked(found[4]), text)


def _masked(operands: str) -> str:
    return ODD.sub(lambda found: re.sub("[!-~]", "x", found[0]), f" {operands}")[1:]


class Recovery:
    """How many bytes may still be parsed to find what belongs together, in all texts of a line."""

    def __init__(self) -> None:
        self.left = MAX_BYTES_TRIED


def statements(text: str, recovery: Recovery) -> Iterator[str]:
    """Yield the statements that the parser understands alone; others are split as finely as possible."""
    segments = split(text)
    while segments:
        segments[0].start += _length(MIDDLE, text[segments[0].start : segments[0].end])
        taken = 0
        for count in range(1, min(MAX_JOINED, len(segments)) + 1):
            statement = join(text, segments[:count])
            recovery.left -= len(statement)
            if is_valid(statement):
                taken = count
                yield statement
                break
            if recovery.left < 0:
                break
        if not taken:
            taken = 1
            yield from _split_finely(join(text, segments[:1]))
        segments = segments[taken:]


def is_valid(text: str) -> bool:
    """Return whether the parser finds no error in a text."""
    return not parse(text.encode("utf-8", "surrogatepass")).has_error


def _split_finely(text: str) -> Iterator[str]:
    text = text[_length(OPENINGS, text) :]
    if is_valid(text):
        yield text
        return
    for segment in split(text, ALL_ENDS):
        part = join(text, [segment])
        part = part[_length(OPENINGS, part) :]
        documents = [document for each in split(part) for document in each.documents]
        if documents and not is_valid(part):
            for at, document in documents:
                yield from substitutions(document)
                part = part[:at] + document.translate(NOTHING_PUT_IN) + part[at + len(document) :]
        yield part


def _length(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found is not None else 0
