"""Match shell-style globs by the rules of `fnmatch.fnmatchcase`, without importing it where a star is all there is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from re import Match


def glob(pattern: str, text: str) -> bool:
    """Return whether the shell-style `pattern` matches all of `text`, case-sensitively.

    `*` is any run of characters, `/` and newlines included, `?` any one, `[seq]` and `[!seq]` one in or not in a set,
    as for `fnmatch.fnmatchcase`.
    """
    if "?" in pattern or "[" in pattern:
        from fnmatch import fnmatchcase  # with `re`, 8 ms of a cold run; few patterns have these

        return fnmatchcase(text, pattern)
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


def matcher_of_any(patterns: Iterable[str]) -> Callable[[str], Match[str] | None]:
    """Return the function that says whether one of the globs matches a text: all of them as one compiled pattern."""
    import re
    from fnmatch import translate

    def searched(pattern: str) -> str:
        if "?" in pattern or "[" in pattern:
            return rf"\A{translate(pattern)}"
        begin, end = "" if pattern[:1] == "*" else r"\A", "" if pattern[-1:] == "*" else r"\Z"
        return begin + ".*?".join(map(re.escape, filter(None, pattern.split("*")))) + end

    every = [searched(each) for each in dict.fromkeys(patterns)]
    return re.compile("|".join(every) if every else r"(?!)", re.DOTALL).search
