"""Which words of a command may name a local file: an approval covers the files behind them besides the declaration.

Rather one word too many than one too few: a word counts only where a file is there under its name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrun.config.plain import BLANK, OPERATOR, VARIABLES, word_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST_WORD = 4096
"""Characters of a path, the system's own limit (PATH_MAX, limits.h)."""

RUN = re.compile(r"[^\s'\"`$(){}<>|&;=\\,*?\[\]!#]+")
"""What is left of a text when all is cut away that a shell or an option puts around a path."""

FROM_VARIABLE = re.compile(rf"\$\{{?({'|'.join(VARIABLES)})\}}?\"?(/[^\s'\"`$(){{}}<>|&;\\,*?\[\]]+)")
"""A path that begins with one of the variables whose value is known, wherever it stands."""


WRITTEN = re.compile(r">{1,2}[|&]?[ \t]*(?:\"[^\"]*\"|'[^']*'|[^\s;&|<>()'\"]+)")
"""A redirection into a file: what a hook writes, such as a log, is no part of it."""


def file_words(kind: str, target: str | Sequence[str]) -> list[str]:
    """Return the words of a hook's command that may name a file, each once and in order; none for another `kind`.

    Besides the words as the shell would see them, these are the pieces of each: `--require=./early.js` has one, and so
    has `sh -c 'hooks/a.sh && hooks/b.sh'`. `~/` and `${NAME}` stand at their beginning as in `plain.look_for`.
    """
    texts: list[str] = []
    if kind == "command" and isinstance(target, str):
        line = WRITTEN.sub(" ", target)
        texts = [*_shell_words(line), line]
    elif kind == "args" and not isinstance(target, str):
        texts = [*target]
    words = dict.fromkeys(piece for text in texts for piece in _pieces(text))
    return [word for word in words if _may_be_a_path(word)]


def _shell_words(line: str) -> Iterator[str]:
    """Yield the words of all commands of a shell line, as far as it can be told where they end."""
    offset = 0
    while offset < len(line):
        operator = OPERATOR.match(line, offset)
        if operator:
            offset = operator.end()
        elif line[offset] in BLANK:
            offset += 1
        else:
            word, offset = word_at(line, offset)
            if word is not None:
                yield word.text


def _pieces(text: str) -> Iterator[str]:
    yield text
    yield from RUN.findall(text)
    for name, rest in FROM_VARIABLE.findall(text):
        yield f"${{{name}}}{rest}"


def _may_be_a_path(word: str) -> bool:
    return 0 < len(word) <= LONGEST_WORD and not word.startswith("-") and "\0" not in word and "\n" not in word
