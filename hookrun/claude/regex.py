r"""JavaScript regular expressions (`new RegExp(text).test(value)`, no flags), translated for Python's `re`.

Sources: ECMA-262 (Patterns, and Annex B.1.2, which every engine follows); compared with a real engine in the tests.

Matchers can come from an untrusted project, and `re` has no limit: `(){1000000000}b` takes all memory and `(a*)*b` all
time. What could take too long is never compiled and counts as found, so that the hook runs.
"""

from __future__ import annotations

import re

# Ways to match: a factor times the value's length to a power.
Cost = tuple[int, int]

# An escape's letter -> its characters, as in brackets. `re` has other white space.
SETS = {
    "d": "0-9",
    "D": r"\D",
    "w": "0-9A-Z_a-z",
    "W": r"\W",
    "s": "\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    "S": "\0-\b\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e"
    "\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\uffff",
}

CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
PLACES = {"^": r"\A", "$": r"\Z", r"\b": r"\b", r"\B": r"(?!\b)"}  # `re` finds no \B in an empty value
ANY, NOTHING, NOT_A_LINE_END = "(?s:.)", "(?!)", "[^\n\r\u2028\u2029]"

BEHIND = ("(?<=", "(?<!")
NOTHING_TO_REPEAT = "nothing to repeat before a *, +, ? or {"

CODE = r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-3]?[0-7]{1,2}"
MEMBER = rf"\\(?:{CODE}|c\w|.)|[^\\]"
RANGE = re.compile(rf"({MEMBER})(?:-({MEMBER}))?", re.ASCII | re.DOTALL)
COUNT = r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}"
TOKEN = re.compile(
    rf"(?:(?P<open>\((?:\?(?:[:=!]|<[=!]|<(?P<name>[A-Za-z_$][\w$]*)>))?)|(?P<close>\))|(?P<bar>\|)|(?P<bare>{COUNT})"
    rf"|\[(?P<not>\^?)(?P<set>(?:\\.|[^\]\\])*)\]|(?P<escape>\\(?:{CODE}|c[A-Za-z]|.))|(?P<char>.))"
    rf"(?P<count>(?:{COUNT})\??)?",
    re.ASCII | re.DOTALL,
)

# Limits on the characters and nested groups of an expression.
MAX_LENGTH, MAX_DEPTH = 10_000, 50

# Estimated steps of a search (about 0.2 s).
MAX_STEPS = 10_000_000

# Limits on repetitions of a group, loops, and bracket sets (up to 7 ms each to compile).
MAX_COUNT, MAX_DEGREE, MAX_SETS = 1000, 64, 100

# More repetitions than any value has characters, and still a valid count for `re`.
ENDLESS = 1 << 31


class RegexError(ValueError):
    """JavaScript rejects the expression, or hookrun cannot run it; the message says which."""


class Expression:
    """A regular expression."""

    def __init__(self, pattern: str) -> None:
        """Translate it. Raises RegexError."""
        if len(pattern) > MAX_LENGTH:
            raise RegexError(f"it is longer than {MAX_LENGTH} characters")
        source, self._cost, self._required = _translate(units(pattern))
        self._compiled: re.Pattern[str] | None = None
        if self._cost[0] <= MAX_STEPS and self._cost[1] <= MAX_DEGREE and source.count("[") <= MAX_SETS:
            try:
                self._compiled = re.compile(source, re.ASCII)
            except re.error:  # a look-behind of variable length
                return

    def search(self, value: str) -> bool:
        """Return whether it is found in a value; true if that could take too long."""
        text = units(value)
        if not self._required.issubset(text):
            return False
        if self._compiled is None or self._steps(len(text)) > MAX_STEPS:
            return True
        return self._compiled.search(text) is not None

    def _steps(self, length: int) -> int:
        steps, degree = self._cost
        for each in range(1, degree + 2):  # a search begins anywhere: one loop more
            steps = steps * (length + each) // each
        return steps


class _Group:
    """An open group: its opening, its source so far, and the cost of each side of its `|`."""

    def __init__(self, opened: str, *, leads: bool = False) -> None:
        self.opened = opened
        self.leads = leads
        self.sources = [""]
        self.costs: list[Cost] = [(1, 0)]

    def add(self, source: str, cost: Cost = (1, 0)) -> None:
        paths, degree = self.costs[-1]
        self.sources[-1] += source
        self.costs[-1] = _capped(paths * cost[0], degree + cost[1])

    def close(self) -> tuple[str, Cost]:
        # A search that begins with a look-behind searches its parts in turn.
        start = "(?:" if self.leads and self.opened == "(?<=" else self.opened
        cost = _capped(sum(paths for paths, _ in self.costs), max(degree for _, degree in self.costs))
        return f"{start}{'|'.join(self.sources)})", cost


def _translate(text: str) -> tuple[str, Cost, set[str]]:
    """Return the expression for `re`, its cost, and characters that every match contains."""
    tokens = list(TOKEN.finditer(text))
    names = [token["name"] for token in tokens if token["name"]]
    captures = sum(token["open"] == "(" for token in tokens) + len(names)
    _check(tokens, names)
    required: set[str] = set()
    groups = [_Group("(?:")]
    for token in tokens:
        group, atom = groups[-1], token["escape"] or token["char"]
        low, high = _counts(token["count"])
        if token["open"]:
            opened = "(?:" if token["open"] == "(" or token["name"] else token["open"]
            groups.append(_Group(opened, leads=len(groups) == 1 and not group.sources[-1]))
        elif token["close"]:
            if token["count"] and group.opened in BEHIND:
                raise RegexError(NOTHING_TO_REPEAT)
            source, cost = groups.pop().close()
            groups[-1].add(source + _quantifier(low, high), _repeated(cost, low, high))
        elif token["bar"]:
            group.sources.append("")
            group.costs.append((1, 0))
        elif atom in PLACES:
            group.add(PLACES[atom])
        else:
            source, literal = _set(token) if atom is None else _atom(token, atom, captures, names)
            group.add(source + _quantifier(low, high), (1, 1) if high - low > MAX_COUNT else (high - low + 1, 0))
            if len(groups) == 1 and low:
                required.update(literal)
    return *groups[0].close(), required if len(groups[0].sources) == 1 else set()


def _check(tokens: list[re.Match[str]], names: list[str]) -> None:
    """Raise RegexError if groups are malformed, or a count has nothing to repeat."""
    if len(set(names)) < len(names):
        raise RegexError("two groups have the same name")
    depth = 0
    for token in tokens:
        fixed = token["open"] or token["bar"] or (token["escape"] or token["char"]) in PLACES
        if token["bare"] or (fixed and token["count"]):
            raise RegexError(NOTHING_TO_REPEAT)
        depth += (token["open"] is not None) - (token["close"] is not None)
        if depth < 0:
            raise RegexError("a ) closes no group")
        if depth > MAX_DEPTH:
            raise RegexError(f"its groups are nested more than {MAX_DEPTH} deep")
    if depth:
        raise RegexError("a group is not closed")


def _counts(count: str | None) -> tuple[int, int]:
    if count is None:
        return 1, 1
    if count[0] != "{":
        return int(count[0] == "+"), 1 if count[0] == "?" else ENDLESS
    low, comma, high = count.rstrip("?")[1:-1].partition(",")
    counts = _number(low), _number(high) if high else ENDLESS if comma else _number(low)
    if counts[0] > counts[1]:
        raise RegexError("the numbers in {} are out of order")
    return counts


def _number(digits: str) -> int:
    return min(int(digits.lstrip("0")[:10] or 0), ENDLESS)


def _quantifier(low: int, high: int) -> str:
    return "" if (low, high) == (1, 1) else f"{{{low},{'' if high == ENDLESS else high}}}"


def _repeated(cost: Cost, low: int, high: int) -> Cost:
    paths, degree = cost
    if cost == (1, 0) and high == ENDLESS and low <= MAX_COUNT:
        return 1, 1
    if high > MAX_COUNT:
        return MAX_STEPS + 1, 0
    return _capped(paths**high * max(high, 1), degree * high)


def _capped(paths: int, degree: int) -> Cost:
    return min(paths, MAX_STEPS + 1), min(degree, MAX_DEGREE + 1)


def _atom(token: re.Match[str], atom: str, captures: int, names: list[str]) -> tuple[str, str]:
    """Return the source of a character or class, and the character itself if it is one."""
    if atom == ".":
        return NOT_A_LINE_END, ""
    if atom in ("[", "\\"):
        raise RegexError("a [ is not closed" if atom == "[" else "it ends with a backslash")
    if atom[1:] in SETS:
        return f"[^{SETS['s']}]" if atom[1] == "S" else f"[{SETS[atom[1]]}]", ""
    if atom[0] == "\\":
        reference = re.compile(r"[1-9][0-9]{,8}").match(token.string, token.start() + 1)
        if (reference and int(reference[0]) <= captures) or (atom == r"\k" and names):
            raise RegexError(f"the reference {atom} to a group is not supported")
    char = _character(atom)
    return re.escape(char), char


def _character(text: str) -> str:
    r"""Return the current character, literal or escaped; of `\c` without a letter, both."""
    if text[0] != "\\" or text == r"\c":
        return text
    letter, code = text[1], text[2:]
    if letter == "c":
        return chr(ord(code) % 32)
    if letter in "01234567":
        return chr(int(text[1:], 8))
    return chr(int(code, 16)) if code else CONTROLS.get(letter, letter)


def _set(token: re.Match[str]) -> tuple[str, str]:
    """Return the source of a set in brackets; an empty one matches nothing, `[^]` everything."""
    members = ""
    for low, high in RANGE.findall(token["set"]):
        ends = [SETS.get(each[1:]) if each[0] == "\\" else None for each in (low, high) if each]
        chars = ["\b" if each == r"\b" else _character(each) for each in (low, high) if each]
        sources = [known or re.escape(char) for known, char in zip(ends, chars, strict=True)]
        if high and not any(ends) and chars[0] > chars[1]:
            raise RegexError(f"the range {low}-{high} runs backwards")
        members += (r"\-" if any(ends) else "-").join(sources)
    if not members:
        return (ANY if token["not"] else NOTHING), ""
    return f"[{token['not']}{members}]", ""


def units(text: str) -> str:
    """Return the text as JavaScript has it: a character beyond U+FFFF is two."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(low | high << 8) for low, high in zip(data[::2], data[1::2], strict=True))
