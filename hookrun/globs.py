"""Match shell-style globs by the rules of `fnmatch.fnmatchcase`, without importing it on the hot path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    One = Callable[[str], bool]

LARGE = 100_000
"""Characters of text times characters of pattern beyond which `fnmatch` is faster despite its 5 ms import."""


def glob(pattern: str, text: str) -> bool:
    """Return whether the shell-style `pattern` matches the whole of `text`, case-sensitively.

    `*` is any run of characters, `/` and newlines included, `?` any one, `[seq]` and `[!seq]` one in or not in a set:
    the rules of Python's `fnmatch.fnmatchcase`.
    """
    if "?" in pattern or "[" in pattern:
        if len(text) * len(pattern) > LARGE:
            from fnmatch import fnmatchcase

            return fnmatchcase(text, pattern)
        return _match_pieces(_split(pattern), text)
    if "*" not in pattern:
        return pattern == text
    pieces = pattern.split("*")
    if not (text.startswith(pieces[0]) and text.endswith(pieces[-1])):
        return False
    position, end = len(pieces[0]), len(text) - len(pieces[-1])
    for piece in pieces[1:-1]:
        position = text.find(piece, position, end)
        if position < 0:
            return False
        position += len(piece)
    return position <= end


def _match_pieces(pieces: list[Sequence[str | One]], text: str) -> bool:
    """Match a pattern that was cut at its stars, for patterns with sets and `?`."""
    if len(pieces) == 1:
        return _matches_at(pieces[0], text, 0, len(text))
    first, last = pieces[0], pieces[-1]
    start, end = len(first), len(text) - len(last)
    if end < start or not _matches_at(first, text, 0, start) or not _matches_at(last, text, end, len(text)):
        return False
    for piece in pieces[1:-1]:
        found = _find(piece, text, start, end)
        if found < 0:
            return False
        start = found + len(piece)
    return True


def _split(pattern: str) -> list[Sequence[str | One]]:
    """Cut a pattern at its stars. A piece without `?` and `[` is a string, any other a list of character tests."""
    pieces: list[Sequence[str | One]] = []
    literal: list[str] = []
    tests: list[str | One] = []
    plain = True
    position, last = 0, pattern.rfind("]")
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            pieces.append("".join(literal) if plain else tests)
            literal, tests, plain = [], [], True
            continue
        one: str | One = char
        if char == "?":
            one, plain = _any, False
        elif char == "[" and position <= last and (close := _closing(pattern, position)) >= 0:
            one, plain = _character_set(pattern[position:close]), False
            position = close + 1
        literal.append(char)
        tests.append(one)
    pieces.append("".join(literal) if plain else tests)
    return pieces


def _any(char: str) -> bool:  # noqa: ARG001  # one of the tests for one character
    return True


def _closing(pattern: str, position: int) -> int:
    """Return where the set opened before `position` closes, or -1: then `[` is a literal."""
    start = position + 1 if pattern[position : position + 1] == "!" else position
    return pattern.find("]", start + 1 if pattern[start : start + 1] == "]" else start)


def _character_set(body: str) -> One:
    """Return the test for `[body]`: `!` first negates, `a-z` is a range, a range that runs backwards is empty."""
    negate = body.startswith("!")
    if negate:
        body = body[1:]
    singles: set[str] = set()
    ranges: list[tuple[str, str]] = []
    position = 0
    while position < len(body):
        if body[position + 1 : position + 2] == "-" and position + 2 < len(body):
            ranges.append((body[position], body[position + 2]))
            position += 3
        else:
            singles.add(body[position])
            position += 1

    def test(char: str) -> bool:
        return (char in singles or any(low <= char <= high for low, high in ranges)) is not negate

    return test


def _matches_at(piece: Sequence[str | One], text: str, start: int, end: int) -> bool:
    if end - start != len(piece):
        return False
    if isinstance(piece, str):
        return text.startswith(piece, start)
    return all(
        one == text[start + offset] if isinstance(one, str) else one(text[start + offset])
        for offset, one in enumerate(piece)
    )


def _find(piece: Sequence[str | One], text: str, start: int, end: int) -> int:
    if isinstance(piece, str):
        return text.find(piece, start, end)
    for position in range(start, end - len(piece) + 1):
        if _matches_at(piece, text, position, position + len(piece)):
            return position
    return -1
