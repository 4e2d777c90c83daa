"""Match shell-style globs by the rules of `fnmatch.fnmatchcase`, without importing it where a star is all there is."""

from __future__ import annotations


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
