"""What to read instead of a text in which the parser has found an error, so that no error hides a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrun.recipes.shell.cut import ALL_ENDS, cut, joined, substitutions
from hookrun.recipes.shell.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator


TEST = re.compile(
    r"""(?<![\\'"])(^|[;&|(`\n])
        ([ \t]*(?:(?:if|while|until|elif|then|else|do|time|!|\{)[ \t]+)*(?:\[[ \t]|(\[\[[ \t])))
        ((?(3)(?:[^;&|`\n\[\]]|&&|\|\|)|[^;&|`\n\[\]])*)
        (?=[ \t]\])""",
    re.VERBOSE,
)
"""A test: what is before it, how it begins, its operands."""

ODD = re.compile(r"""(?<=[ \t])(?=[^ \t]*[~/*?{}])[^ \t'"$()<>\\=!-][^ \t'"$()<>\\]*(?=[ \t]|$)""")
"""An operand that the grammar may not see as one, such as `/`, `~` and `*`."""

DESCRIPTOR = re.compile(r"(?<![^\s;&|(])\{\w+\}(?=[<>])")
"""The variable that is given the number of a new descriptor."""

MIDDLE = re.compile(r"(?:\s|(?:then|elif|else|fi|do|done|esac|\})(?=[\s<>]|$))+")
"""What goes on with a compound command, before a simple one."""

OPENINGS = re.compile(rf"(?:{MIDDLE.pattern}|(?:if|while|until|time|coproc|function\s+\S+|!|\{{)(?=[\s<>]|$))+")
"""What of a compound command may stand before a simple one."""

NOTHING_PUT_IN = str.maketrans("$`", "__")
"""Makes a here-document one into which nothing is put: errors may be in it, which a shell only tells of."""

AHEAD = 32
"""Pieces that are tried as one compound command."""

MOST_BYTES = 1 << 19
"""Bytes that are parsed so; beyond it each piece is read alone."""


def plainer(text: str) -> str:
    """Return a text of the same length without what the grammar trips over: odd words in tests, `{name}>`."""
    text = DESCRIPTOR.sub(lambda found: "9".rjust(len(found[0])), text)
    return TEST.sub(lambda found: found[1] + found[2] + _plain(found[4]), text)


def _plain(operands: str) -> str:
    return ODD.sub(lambda found: re.sub("[!-~]", "x", found[0]), f" {operands}")[1:]


def parts(text: str) -> Iterator[str]:
    """Yield the statements of a text that the parser understands alone; the others are cut as finely as they can be."""
    pieces = cut(text)
    budget = MOST_BYTES
    while pieces:
        pieces[0].start += _length(MIDDLE, text[pieces[0].start : pieces[0].end])
        taken = 0
        for count in range(1, min(AHEAD, len(pieces)) + 1):
            statement = joined(text, pieces[:count])
            budget -= len(statement)
            if understood(statement):
                taken = count
                yield statement
                break
            if budget < 0:
                break
        if not taken:
            taken = 1
            yield from _cut_finely(joined(text, pieces[:1]))
        pieces = pieces[taken:]


def understood(text: str) -> bool:
    """Tell whether the parser finds no error in a text."""
    return not parse(text.encode("utf-8", "surrogatepass")).has_error


def _cut_finely(text: str) -> Iterator[str]:
    text = text[_length(OPENINGS, text) :]
    if understood(text):
        yield text
        return
    for piece in cut(text, ALL_ENDS):
        part = joined(text, [piece])
        part = part[_length(OPENINGS, part) :]
        documents = [document for each in cut(part) for document in each.documents]
        if documents and not understood(part):
            for at, document in documents:
                yield from substitutions(document)
                part = part[:at] + document.translate(NOTHING_PUT_IN) + part[at + len(document) :]
        yield part


def _length(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found is not None else 0
