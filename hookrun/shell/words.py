"""Make a command's words as a shell does: remove quotes, insert variables, expand braces, split at spaces."""

from __future__ import annotations

import os
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Represents, in a word's text, a part that only a shell knows. No word can hold it.
UNKNOWN = "\0"

# Names of the standard input.
STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})

# Kinds of pieces of a word: verbatim, in quotes, a variable's value, or the end of a word within quotes.
PLAIN, QUOTED, EXPANDED, BREAK = "plain", "quoted", "expanded", "break"

SPACES = " \t\n"
CUT = "\x1f"

# Words that one may become, and braces in one; with more the line is not read.
MAX_WORDS = 1024

# Characters of a word; a longer one, which variables can double up to, is unknown.
MAX_LENGTH = 1 << 16

# Characters that braces may make, and steps to find them.
MAX_SPREAD = 1 << 20


class LimitExceededError(Exception):
    """A line is nested too deep or runs too many commands. The message is its `problem`."""


class Piece:
    """A part of a word: its text, kind, and position in the line, None if not verbatim there."""

    # Slots, here and in Word: a line makes so many that it is read a tenth faster.
    __slots__ = ("at", "kind", "text")

    def __init__(self, text: str, kind: str = QUOTED, at: int | None = None) -> None:
        self.text = text
        self.kind = kind
        self.at = at


class Word:
    """A word as its program gets it.

    `at` is the byte of the line where `text` begins, None if not verbatim there. `globs`: an unquoted part has `*`, `?`
    or `[`, which the shell would replace by file names. `output` is the content of `<(...)`.
    """

    __slots__ = ("at", "globs", "output", "text")

    def __init__(self, text: str, at: int | None = None, *, globs: bool = False, output: Word | None = None) -> None:
        self.text = text
        self.at = at
        self.globs = globs
        self.output = output

    @property
    def known(self) -> bool:
        """Whether all of it is known."""
        return UNKNOWN not in self.text

    def __repr__(self) -> str:
        return f"Word({self.text!r})"


def split_words(pieces: list[Piece], home: str, separators: str = SPACES) -> list[Word]:
    """Return the words, none or several, of one word's pieces; `separators`, `$IFS`, cut variables' values."""
    pieces = _with_home(pieces, home)
    made: list[Word] = []
    for spread in _braces(pieces):
        made.extend(_split(spread, dict.fromkeys(map(ord, separators), CUT)))
        if len(made) > MAX_WORDS:
            raise LimitExceededError("too long")
    return made


def join_pieces(pieces: Iterable[Piece], home: str = "") -> Word:
    """Return the pieces as one unsplit word: a variable's value, a redirection's file."""
    pieces = _with_home(list(pieces), home) if home else list(pieces)
    if sum(len(piece.text) for piece in pieces) > MAX_LENGTH and any(piece.at is None for piece in pieces):
        return Word(UNKNOWN)
    text = "".join(" " if piece.kind == BREAK else piece.text for piece in pieces)
    while UNKNOWN * 2 in text:
        text = text.replace(UNKNOWN * 2, UNKNOWN)
    kept = [piece for piece in pieces if piece.text]
    globs = any(piece.kind in {PLAIN, EXPANDED} and any(char in piece.text for char in "*?[") for piece in kept)
    return Word(text, kept[0].at if len(kept) == 1 else None, globs=globs)


def _with_home(pieces: list[Piece], home: str) -> list[Piece]:
    """Return a word's pieces with a leading `~` replaced."""
    user, slash, rest = pieces[0].text.partition("/") if pieces and pieces[0].kind == PLAIN else ("", "", "")
    return [Piece(home), Piece(slash + rest, PLAIN), *pieces[1:]] if user == "~" else pieces


def _split(pieces: list[Piece], cuts: dict[int, str]) -> Iterator[Word]:
    """Cut at the separators in variables' values."""
    word: list[Piece] = []
    there = False
    for piece in pieces:
        if piece.kind not in {BREAK, EXPANDED}:
            word.append(piece)
            there = there or piece.kind == QUOTED or bool(piece.text)
            continue
        text = CUT if piece.kind == BREAK else piece.text.translate(cuts)
        for index, part in enumerate(text.split(CUT)):
            if index and there:
                yield join_pieces(word)
            if index:
                word, there = [], False
            if part:
                word.append(Piece(part, EXPANDED))
                there = True
    if there:
        yield join_pieces(word)


def _braces(pieces: list[Piece]) -> list[list[Piece]]:
    """Expand `a{b,c}` to `ab` and `ac`; quoted braces, `{a}` and `{1..3}` stay as they are."""
    if not any(piece.kind == PLAIN and "{" in piece.text for piece in pieces):
        return [pieces]
    chars = [Piece(char, piece.kind) for piece in pieces for char in (piece.text or [""])]
    if len(chars) * sum(char.kind == PLAIN and char.text == "{" for char in chars) > MAX_SPREAD:
        raise LimitExceededError("too long")
    spread = _spread(chars)
    return spread if len(spread) != 1 else [pieces]


def _spread(chars: list[Piece]) -> list[list[Piece]]:
    for start, char in enumerate(chars):
        if char.kind != PLAIN or char.text != "{":
            continue
        cuts = _cuts(chars, start)
        if len(cuts) < 2:  # noqa: PLR2004  # an unclosed brace, or one without a comma
            continue
        before, tails = chars[:start], _spread(chars[cuts[-1] + 1 :])
        middles = [each for left, right in pairwise([start, *cuts]) for each in _spread(chars[left + 1 : right])]
        if len(middles) * len(tails) > MAX_WORDS or len(middles) * len(tails) * len(chars) > MAX_SPREAD:
            raise LimitExceededError("too long")
        return [[*before, *middle, *tail] for middle in middles for tail in tails]
    return [chars]


def _cuts(chars: list[Piece], start: int) -> list[int]:
    """Return the positions of the commas and the end of the brace at `start`, [] without an end."""
    depth, cuts = 0, []
    for index in range(start, len(chars)):
        if chars[index].kind != PLAIN:
            continue
        text = chars[index].text
        if text == "{":
            depth += 1
        elif text == "," and depth == 1:
            cuts.append(index)
        elif text == "}":
            depth -= 1
            if depth == 0:
                return [*cuts, index] if cuts else []
    return []


def quoted(words: Iterable[Word]) -> str:
    """Return words as a shell reads them; patterns and unknown parts stay unquoted."""
    texts = [(word.text, word.known and not word.globs) for word in words]
    return " ".join("'" + text.replace("'", "'\\''") + "'" if is_plain else text for text, is_plain in texts)


def absolute(path: str, directory: str | None) -> str | None:
    """Return a normalized absolute path, None if a part of it, or its directory, is unknown."""
    if UNKNOWN in path or not path or (directory is None and path[0] != "/"):
        return None
    path = os.path.normpath(os.path.join(directory or "/", path))
    return path[1:] if path.startswith("//") else path  # normpath keeps two leading slashes
