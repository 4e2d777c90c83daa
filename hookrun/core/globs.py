"""Match shell-style globs by the rules of `fnmatch.fnmatchcase`, without importing it on the hot path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    One = Callable[[str], bool]

# Characters of text times those of pattern beyond which `fnmatch` is faster despite its 5 ms import.
LARGE = 100_000


def glob(pattern: str, text: str) -> bool:
    """Return whether the shell-style `pattern` matches all of `text`, case-sensitively.

    `*` is any run of characters, `/` and newlines included, `?` any one, `[seq]` and `[!seq]` one in or not in a set,
    as for `fnmatch.fnmatchcase`.
    """
    if "?" in pattern or "[" in pattern:
        if len(text) * len(pattern) > LARGE:
            from fnmatch import fnmatchcase

            return fnmatchcase(text, pattern)
        return _matches(_split(pattern), text)
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


def _matches(tokens: list[str | One], text: str) -> bool:
    """Match a pattern with sets and `?`: what follows the last star is tried further on until it matches."""
    token = position = begun = 0
    star = -1
    while position < len(text):
        one = tokens[token] if token < len(tokens) else ""
        if one == "*":
            star, begun = token, position
            if star == len(tokens) - 1:
                return True
        elif one in ("?", text[position]) if isinstance(one, str) else one(text[position]):
            position += 1
        else:
            one = tokens[star + 1]
            if isinstance(one, str) and one not in ("?", "*"):
                begun = text.find(one, begun + 1)
            else:
                begun += 1
            if star < 0 or begun < 0:
                return False
            token, position = star, begun
        token += 1
    return all(one == "*" for one in tokens[token:])


def _split(pattern: str) -> list[str | One]:
    """Cut a pattern into characters, literal or `*` or `?`, and tests for one in a set."""
    tokens: list[str | One] = []
    position, last = 0, pattern.rfind("]")
    while position < len(pattern):
        one: str | One = pattern[position]
        position += 1
        if one == "[" and position <= last and (close := _closing(pattern, position)) >= 0:
            one = _character_set(pattern[position:close])
            position = close + 1
        tokens.append(one)
    return tokens


def _closing(pattern: str, position: int) -> int:
    """Return where the set opened before `position` closes, -1 if `[` is literal."""
    start = position + 1 if pattern[position : position + 1] == "!" else position
    return pattern.find("]", start + 1 if pattern[start : start + 1] == "]" else start)


def _character_set(body: str) -> One:
    """Return the test for `[body]`: a first `!` negates, `a-z` is a range, a backward range is empty."""
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
