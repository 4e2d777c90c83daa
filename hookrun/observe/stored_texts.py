"""Make texts fit for storage (without credentials, cut to a size), and recognise errors that are the same."""

from __future__ import annotations

import json
import re

from hookrun.core.credentials import HIDDEN, names_credential, redact
from hookrun.core.text import truncate

# Limit on the examined characters of a string.
MAX_EXAMINED = 50_000
# Limits on the stored levels of a value, and on the names of members left out.
MAX_DEPTH, MAX_NAMES = 8, 20
COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What varies between occurrences of an error, in order of replacement, and its placeholder. What is quoted stays, with
# one kind of quotes: it is what the error is about.
VARYING = (
    (re.compile(r"^(?:e\s+|(?:error|fatal):\s+)(?=\S)", re.IGNORECASE), ""),
    (re.compile('["`\u2018\u2019\u201c\u201d]'), "'"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"/(?:private/)?(?:var/folders|tmp)/[\w./-]+"), "<path>"),
    (re.compile(r"\bv\d+(?:\.\d+)+\b"), "v<n>"),
    (re.compile(r"(?<![\w'-])\d+(?:[.,:]\d+)*(?=\W|$|m?s\b)"), "<n>"),
    (re.compile(r"\s+"), " "),
)
# Lines at the end of an error that say nothing about it: of task runners and package managers, and advice.
SAYS_NOTHING = re.compile(
    r"(?:\W*(?:exit (?:code|status)|exited with|command failed|error: command failed|process (?:completed|exited))\b"
    r"|.*\b(?:failed|exited|returned)\b.* (?:code|status) \d+\W*$|aborting\W*$|(?:error: )?please "
    r"|make(?:\[\d+\])?:|npm (?:err!|error) (?:a complete log|lifecycle|[\w.-]+@|path|cwd|in workspace|$)"
    r"|npm (?:err!|error)\s+/|elifecycle|info visit |node\.js v|hint:|note:|help:|\[notice\]|for more information"
    r"|warning:|try .*--help|see .*--help|error: could not compile|error: aborting due|=+$|-+$|\W*$"
    r"|(?:=+ )?(?:(?:tests?|test files) +)?(?:\d+ (?:failed|passed|errors?|warnings?|tests?|problems?)\b.*)"
    r"|found \d+ (?:errors?|problems?)"
    r"|(?:tests?|test suites|snapshots|time|failures?|ran all test suites)\s*:.*|!+ .* !+|traceback\b)",
    re.IGNORECASE,
)
WORD = re.compile(r"\w+|<[a-z]+>")
# What an error quotes; a path is where it happened.
QUOTED = re.compile(r"(?<!\w)'(@?[^'/\\\n]{1,80}|@[^'\n]{1,80})'(?!\w)")
# Characters of the mark by which an error is known, and the lines at the end of the error whose quotes are in it.
MAX_MARK, MAX_LINES = 300, 8
# A place in a traceback and its line of code: what that quotes is not what the error is about.
CODE = re.compile(r"^([ \t]*)File ['\"].*\n(?:\1[ \t]+.*(?:\n|$))*", re.MULTILINE)


def clean_text(value: str, longest: int) -> str:
    """Return a string without credentials; beyond `longest` characters, its middle is left out."""
    return _encodable(_shorten(redact(_shorten(value, MAX_EXAMINED)), longest))


def clean_line(value: str, longest: int) -> str:
    """Return a string as one line without credentials, cut at its end."""
    return truncate(_encodable(" ".join(redact(_shorten(value, MAX_EXAMINED)).split())), longest)


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
    return _encodable(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _encodable(value: str) -> str:
    """Replace lone surrogates, which JSON can name but UTF-8 cannot, with question marks."""
    return value.encode("utf-8", "replace").decode()


def _clean(value: object, depth: int, key: str = "") -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if key and isinstance(value, str | list | tuple) and names_credential(key):
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


def mark(message: str, project: str = "") -> str:
    r"""Return by what an error is known: its last line that says something, in lower case, and what is named before.

    Named is what is quoted, and what is alone on a line, as a file in a list.

    Numbers, ids and temporary files become placeholders, and the project's directory goes.

    >>> mark("Traceback ...\nModuleNotFoundError: No module named \"yaml\"\nmake: *** [test] Error 1")
    "modulenotfounderror: no module named 'yaml'"
    """
    if project:
        message = message.replace(f"{project.rstrip('/')}/", "")
    lines = [line for each in CODE.sub("", COLOURS.sub("", message)).splitlines() if (line := each.strip())]
    telling = [_normal(each) for each in lines if not SAYS_NOTHING.match(each)][-MAX_LINES:]
    last = next((each for each in reversed(telling) if " " in each), _normal(lines[-1]) if lines else "")
    named = (value for each in telling for value in (QUOTED.findall(each) if " " in each else [each]))
    return f"{last}{''.join(f', {value!r}' for value in sorted({*named}) if value not in last)}"[:MAX_MARK]


def _normal(line: str) -> str:
    for pattern, word in VARYING:
        line = pattern.sub(word, line)
    return line.strip().lower()


def words(text: str) -> frozenset[str]:
    """Return a string's words in lower case."""
    return frozenset(WORD.findall(text.lower()))


def similarity(one: str, other: str) -> float:
    """Return the similarity of two strings, 0 to 1: Dice's coefficient of their words."""
    if one == other:
        return 1.0
    mine, others = words(one), words(other)
    return 2 * len(mine & others) / (len(mine) + len(others)) if mine or others else 0.0


def coverage(query: str, text: str) -> float:
    """Return the share of a query's words in a text, 0 to 1."""
    wanted = words(query)
    return len(wanted & words(text)) / len(wanted) if wanted else 0.0
