"""How alike two texts are, and what an error message is when all that differs from time to time is taken out."""

from __future__ import annotations

import re
from hashlib import sha256

VARYING = (
    (re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]"), ""),
    (re.compile(r"(?<![\w+.-])[a-z][a-z0-9+.-]*://[^\s'\"<>]+", re.IGNORECASE), "<url>"),
    (
        re.compile(
            r"(?<!\w)(?:\"[^\"\n]*\"|'[^'\n]*'|`[^`'\n]*['`]|\u2018[^\u2019\n]*\u2019|\u201c[^\u201d\n]*\u201d)(?!\w)"
        ),
        "<value>",
    ),
    (re.compile(r"(?<![\w<>.~@+-])(?:[a-z]:)?(?:[\w.~@+-]*[/\\])+[\w.@+-]*(?::\d+)*", re.IGNORECASE), "<path>"),
    (re.compile(r"(?<![\w<>/.-])[\w-]+(?:\.[\w-]+)*\.[a-z]\w{0,4}(?::\d+)+", re.IGNORECASE), "<path>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "<n>"),
    (re.compile(r"\s+"), " "),
)
"""What differs between two errors that are the same, in the order in which it is replaced, and by what."""

WORD = re.compile(r"\w+|<[a-z]+>")
GRAM = 3
LONGEST = 2000
"""Characters of a text that count: of a longer one its beginning and its end."""


def normal(message: str) -> str:
    """Return a message in lower case with one word in the place of every number, id, path, URL and quoted value."""
    for pattern, word in VARYING:
        message = pattern.sub(word, message)
    message = message.strip().lower()
    half = LONGEST // 2
    return message if len(message) <= LONGEST else f"{message[:half]} {message[-half:]}"


def fingerprint(message: str) -> str:
    """Return a short digest that is the same for messages that differ only in what `normal` takes out."""
    return sha256(normal(message).encode("utf-8", "replace")).hexdigest()[:24]


def words(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case."""
    return frozenset(WORD.findall(text.lower()))


def likeness(one: str, other: str) -> float:
    """Return how alike two texts are, from 0 to 1: their common words and runs of three characters (Dice's measure)."""
    if one == other:
        return 1.0
    return (dice(words(one), words(other)) + dice(_grams(one), _grams(other))) / 2


def coverage(query: str, text: str) -> float:
    """Return how much of a query is found in a text, from 0 to 1; a word that is only nearly there counts in part."""
    wanted, there = words(query), words(text)
    if not wanted:
        return 0.0
    missing = wanted - there
    nearly = sum(max((dice(_grams(word), _grams(each)) for each in there), default=0.0) / 2 for word in missing)
    return (len(wanted) - len(missing) + nearly) / len(wanted)


def _grams(text: str) -> frozenset[str]:
    padded = f" {text.lower()} "
    return frozenset(padded[at : at + GRAM] for at in range(len(padded) - GRAM + 1))


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much of two sets is common to both, from 0 to 1 (Dice's measure)."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
