"""Make texts fit for storage (without credentials, cut to a size), and recognise equivalent ones."""

from __future__ import annotations

import json
import re
from hashlib import sha256

from hookrun.core.credentials import HIDDEN, redact
from hookrun.core.text import truncate
from hookrun.observe.context_fields import encodable
from hookrun.process.prepare import looks_like_credential

# Limit on the examined characters of a string.
MAX_EXAMINED = 50_000
# Limits on the stored levels of a value, and on the names of members left out.
MAX_DEPTH, MAX_NAMES = 8, 20
_QUOTES = (('"', '"'), ("'", "'"), ("`", "`'"), ("\u2018", "\u2019"), ("\u201c", "\u201d"))
# A quoted text without a placeholder, or the normal form would not be its own normal form.
_QUOTED = "|".join(rf"{begin}(?:(?!<(?:n|id|value|path|url)>)[^{end}\n])*[{end}]" for begin, end in _QUOTES)
# What varies between occurrences of an error, in order of replacement, and its placeholder.
VARYING = (
    (re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]"), ""),
    (re.compile(rf"(?<![\w>])(?:{_QUOTED})(?![\w<])"), "<value>"),
    (re.compile(r"(?<![\w+.-])[a-z][a-z0-9+.-]*://[^\s'\"<>]+", re.IGNORECASE), "<url>"),
    (re.compile(r"(?<![\w<>.~@+-])(?:[a-z]:)?(?:[\w.~@+-]*[/\\])+[\w.@+-]*(?::\d+)*", re.IGNORECASE), "<path>"),
    (re.compile(r"(?<![\w<>/.-])[\w-]+(?:\.[\w-]+)*\.[a-z]\w{0,4}(?::\d+)+", re.IGNORECASE), "<path>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "<n>"),
    (re.compile(r"\s+"), " "),
)

WORD = re.compile(r"\w+|<[a-z]+>")
GRAM = 3
# Limit on a message's characters: of a longer one, its beginning and end count.
MAX_CHARS = 2000


def clean_text(value: str, longest: int) -> str:
    """Return a string without credentials; beyond `longest` characters, its middle is left out."""
    return encodable(_shorten(redact(_shorten(value, MAX_EXAMINED)), longest))


def clean_line(value: str, longest: int) -> str:
    """Return a string as one line without credentials, cut at its end."""
    return truncate(encodable(" ".join(redact(_shorten(value, MAX_EXAMINED)).split())), longest)


def clean_json(value: object, longest: int) -> str:
    """Return a JSON value as a string of about `longest` characters, without credentials.

    Too large an object keeps its smallest members, and the others' names as `left_out`; any other value that is too
    large becomes a shortened string.
    """
    clean = _clean(value, MAX_DEPTH)
    whole = _dumps(clean)
    if len(whole) <= longest:
        return whole
    if not isinstance(clean, dict):
        return _dumps(_shorten(whole, longest))
    members: dict[str, object] = {}
    room = longest
    for key in sorted(clean, key=lambda key: len(_dumps(clean[key]))):
        room -= len(_dumps({key: clean[key]}))
        if room >= 0:
            members[key] = clean[key]
    return _dumps({**members, "left_out": sorted(clean.keys() - members.keys())[:MAX_NAMES]})


def _dumps(value: object) -> str:
    return encodable(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _clean(value: object, depth: int, key: str = "") -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if key and isinstance(value, str | list | tuple) and looks_like_credential(key.encode("utf-8", "replace")):
        return HIDDEN
    if depth == 0 or not isinstance(value, str | dict | list | tuple | set | frozenset):
        value = repr(value)
    if isinstance(value, str):
        return clean_text(value, MAX_EXAMINED)
    if isinstance(value, dict):
        return {clean_text(str(key), 200): _clean(each, depth - 1, str(key)) for key, each in value.items()}
    return [_clean(each, depth - 1) for each in value]


def _shorten(value: str, longest: int) -> str:
    if len(value) <= longest:
        return value
    mark = f"\n... ({len(value) - longest} characters left out)\n"
    head = longest // 3
    return value[:head] + mark + value[len(value) - (longest - head) :]


def normalize(message: str) -> str:
    """Return a message in lower case with placeholders for numbers, ids, paths, URLs and quoted values."""
    for pattern, word in VARYING:
        message = pattern.sub(word, message)
    message = message.strip().lower()
    half = MAX_CHARS // 2
    return message if len(message) <= MAX_CHARS else f"{message[:half]} {message[-half:]}"


def fingerprint(message: str) -> str:
    """Return a short digest, the same for messages of the same normalized form."""
    return sha256(normalize(message).encode("utf-8", "replace")).hexdigest()[:24]


def words(text: str) -> frozenset[str]:
    """Return a string's words in lower case."""
    return frozenset(WORD.findall(text.lower()))


def similarity(one: str, other: str) -> float:
    """Return the similarity of two strings, 0 to 1: Dice's coefficient of their words and trigrams."""
    if one == other:
        return 1.0
    return (dice(words(one), words(other)) + dice(_trigrams(one), _trigrams(other))) / 2


def coverage(query: str, text: str) -> float:
    """Return the share of a query's words in a text, 0 to 1; a similar word counts in part."""
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
    """Return Dice's coefficient of two sets, 0 to 1: the share that they have in common."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
