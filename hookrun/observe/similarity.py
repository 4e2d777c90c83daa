"""Measure the similarity of two strings, and remove numbers, paths and ids from error messages."""

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
"""What varies between two occurrences of the same error, in order of replacement, and its placeholder."""

WORD = re.compile(r"\w+|<[a-z]+>")
GRAM = 3
MAX_CHARS = 2000
"""Characters of a message that count: of a longer one its beginning and its end."""


def normalize(message: str) -> str:
    """Return a message in lower case with a placeholder for every number, id, path, URL and quoted value."""
    for pattern, word in VARYING:
        message = pattern.sub(word, message)
    message = message.strip().lower()
    half = MAX_CHARS // 2
    return message if len(message) <= MAX_CHARS else f"{message[:half]} {message[-half:]}"


def fingerprint(message: str) -> str:
    """Return a short digest that is the same for messages with the same normalized form."""
    return sha256(normalize(message).encode("utf-8", "replace")).hexdigest()[:24]


def words(text: str) -> frozenset[str]:
    """Return the words of a string, in lower case."""
    return frozenset(WORD.findall(text.lower()))


def similarity(one: str, other: str) -> float:
    """Return the similarity of two strings, 0 to 1: Dice's coefficient of their words and of their trigrams."""
    if one == other:
        return 1.0
    return (dice(words(one), words(other)) + dice(_trigrams(one), _trigrams(other))) / 2


def coverage(query: str, text: str) -> float:
    """Return the share of a query's words that a text has, 0 to 1; a similar word counts in part."""
    wanted, there = words(query), words(text)
    if not wanted:
        return 0.0
    missing = wanted - there
    nearly = sum(max((dice(_trigrams(word), _trigrams(each)) for each in there), default=0.0) / 2 for word in missing)
    return (len(wanted) - len(missing) + nearly) / len(wanted)


def _trigrams(text: str) -> frozenset[str]:
    padded = f" {text.lower()} "
    return frozenset(padded[at : at + GRAM] for at in range(len(padded) - GRAM + 1))


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return Dice's coefficient of two sets, 0 to 1: how much of them is common to both."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
