"""JavaScript's regular expressions: what `new RegExp(text).test(value)` says, without the `u` flag.

Sources: ECMA-262 (Patterns, and Annex B.1.2, which every engine follows); compared with a real engine in the tests.
"""

from __future__ import annotations

from hookrun.claude.expression import (
    DIGITS,
    LETTERS,
    PLACES,
    WORD,
    Either,
    Look,
    Node,
    One,
    Place,
    Repeat,
    Run,
    Sequence,
    TiredError,
    units,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.claude.expression import Test

    Member = tuple[str, Test | None]

OCTAL, HIGHEST_OCTAL = frozenset("01234567"), 0o377
HEX = DIGITS | frozenset("abcdefABCDEF")
SPACE = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
LINE_ENDS = frozenset("\n\r\u2028\u2029")
CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
CLASSES: dict[str, Test] = {
    "d": lambda char: char in DIGITS,
    "D": lambda char: char not in DIGITS,
    "w": lambda char: char in WORD,
    "W": lambda char: char not in WORD,
    "s": lambda char: char in SPACE,
    "S": lambda char: char not in SPACE,
}
"""The letter of an escape -> the characters that it stands for."""

ASSERTIONS = {"(?=": (True, True), "(?!": (True, False), "(?<=": (False, True), "(?<!": (False, False)}
"""How an assertion begins -> whether it looks ahead, and whether what it looks for must be there."""

ENDLESS = 1 << 53
LONGEST, DEEPEST = 10_000, 50
"""Characters and nested groups of an expression that is read."""


class RegexError(ValueError):
    """An expression cannot be used: JavaScript does not take it, or it is not read here. The message says which."""


class Expression:
    """A regular expression."""

    __slots__ = ("_whole",)

    def __init__(self, pattern: str) -> None:
        """Read it. Raises RegexError."""
        if len(pattern) > LONGEST:
            raise RegexError(f"it is longer than {LONGEST} characters")
        self._whole = _Reader(units(pattern)).whole()

    def finds(self, value: str) -> bool:
        """Tell whether it is found in a value, or that takes too many steps: a guard rather looks once too often."""
        run = Run(units(value))
        try:
            return any(self._whole.ends(run, start) for start in range(run.end + 1))
        except TiredError:
            return True


class _Reader:
    """One expression, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.names: set[str] = set()
        self.groups, self.named = _count_groups(text)

    def whole(self) -> Node:
        """Return all of it."""
        node = self._either()
        if self.at < len(self.text):
            raise RegexError("a ) closes no group")
        return node

    def _char(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _either(self) -> Node:
        sides = [self._sequence()]
        while self._char() == "|":
            self.at += 1
            sides.append(self._sequence())
        return sides[0] if len(sides) == 1 else Either(sides)

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._char() not in ("", "|", ")"):
            part, repeatable = self._part()
            parts.append(self._repeated(part, repeatable=repeatable))
        return Sequence(parts)

    def _repeated(self, part: Node, *, repeatable: bool) -> Node:
        counts = self._counts()
        if counts is None:
            return part
        if not repeatable:
            raise RegexError("nothing to repeat before a *, +, ? or {")
        low, high = counts
        if low > high:
            raise RegexError("the numbers in {} are out of order")
        if self._char() == "?":
            self.at += 1
        if self._counts() is not None:
            raise RegexError("nothing to repeat before a second *, +, ? or {")
        return Repeat(part, low, high)

    def _counts(self) -> tuple[int, int] | None:
        """Read how often something is repeated; None where nothing says so."""
        simple = {"*": (0, ENDLESS), "+": (1, ENDLESS), "?": (0, 1)}.get(self._char())
        if simple is not None:
            self.at += 1
            return simple
        end = self.text.find("}", self.at)
        if self._char() != "{" or end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not low or not DIGITS.issuperset(low + high):
            return None
        self.at = end + 1
        least = _number(low)
        return least, _number(high) if high else ENDLESS if comma else least

    def _part(self) -> tuple[Node, bool]:
        """Read one part, and tell whether it may be repeated."""
        char = self._char()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class(), True
        if char == "\\":
            return self._escape()
        if self._counts() is not None:
            raise RegexError("nothing to repeat before a *, +, ? or {")
        self.at += 1
        if char in PLACES and char in "^$":
            return Place(PLACES[char]), False
        return One((lambda each: each not in LINE_ENDS) if char == "." else _is(char)), True

    def _group(self) -> tuple[Node, bool]:
        """Read a group. An assertion may be repeated if it looks ahead; one that looks behind may not."""
        start = next((each for each in ("(?:", *ASSERTIONS) if self.text.startswith(each, self.at)), "(")
        self.at += len(start)
        if start == "(" and self._char() == "?":
            self._name()
        self.depth += 1
        if self.depth > DEEPEST:
            raise RegexError(f"its groups are nested more than {DEEPEST} deep")
        inside = self._either()
        self.depth -= 1
        if self._char() != ")":
            raise RegexError("a group is not closed")
        self.at += 1
        if start not in ASSERTIONS:
            return inside, True
        ahead, wanted = ASSERTIONS[start]
        return Look(inside, ahead=ahead, wanted=wanted), ahead

    def _name(self) -> None:
        """Pass over the name of a group."""
        end = self.text.find(">", self.at)
        name = self.text[self.at + 2 : end] if self._char(1) == "<" and end > 0 else ""
        if not name or name[0] in DIGITS or not (WORD | {"$"}).issuperset(name):
            raise RegexError(f"({self.text[self.at : self.at + 3]} begins no group that JavaScript has")
        if name in self.names:
            raise RegexError(f"two groups are called {name}")
        self.names.add(name)
        self.at = end + 1

    def _escape(self) -> tuple[Node, bool]:
        """Read an escape outside of brackets."""
        char = self._char(1)
        if char in ("b", "B"):
            self.at += 2
            return Place(PLACES[char]), False
        if char in CLASSES:
            self.at += 2
            return One(CLASSES[char]), True
        if (char in DIGITS and char != "0" and self._reference() <= self.groups) or (char == "k" and self.named):
            raise RegexError(f"the reference \\{char} to a group is not read here")
        return One(_is(self._character(inside=False))), True

    def _reference(self) -> int:
        end = self.at + 1
        while self.text[end : end + 1] in DIGITS:
            end += 1
        return _number(self.text[self.at + 1 : end])

    def _character(self, *, inside: bool) -> str:
        """Read the one character that an escape stands for; `inside` of brackets there are a few more."""
        char = self._char(1)
        self.at += 2
        if not char:
            raise RegexError("it ends with a backslash")
        if char in CONTROLS:
            return CONTROLS[char]
        if char == "b" and inside:
            return "\b"
        if char == "c":
            return self._control(inside=inside)
        length = {"x": 2, "u": 4}.get(char, 0)
        digits = self.text[self.at : self.at + length]
        if length and len(digits) == length and HEX.issuperset(digits):
            self.at += length
            return chr(int(digits, 16))
        return self._octal(char) if char in OCTAL else char

    def _control(self, *, inside: bool) -> str:
        letter = self._char()
        if letter in LETTERS or (inside and letter in WORD):
            self.at += 1
            return chr(ord(letter) % 32)
        self.at -= 1  # a backslash, and then a c
        return "\\"

    def _octal(self, digits: str) -> str:
        while self._char() in OCTAL and int(digits + self._char(), 8) <= HIGHEST_OCTAL:
            digits += self._char()
            self.at += 1
        return chr(int(digits, 8))

    def _class(self) -> Node:
        """Read a set in brackets; an empty one fits nothing, `[^]` everything."""
        self.at += 1
        negate = self._char() == "^"
        self.at += negate
        tests: list[Test] = []
        while self._char() != "]":
            low = self._member()
            if self._char() == "-" and self._char(1) not in ("]", ""):
                self.at += 1
                tests += _range(low, self._member())
            else:
                tests.append(low[1] or _is(low[0]))
        self.at += 1
        return One(lambda char: any(test(char) for test in tests) is not negate)

    def _member(self) -> Member:
        """Read one member of a set: a character, or a class of characters as its test."""
        char = self._char()
        if not char:
            raise RegexError("a [ is not closed")
        if char != "\\":
            self.at += 1
            return char, None
        if self._char(1) in CLASSES:
            self.at += 2
            return "", CLASSES[self.text[self.at - 1]]
        return self._character(inside=True), None


def _is(char: str) -> Test:
    return lambda each: each == char


def _range(low: Member, high: Member) -> list[Test]:
    """Return a range; with a class at one of its ends the hyphen is itself."""
    if low[1] or high[1]:
        return [_is("-"), *(test or _is(char) for char, test in (low, high))]
    if low[0] > high[0]:
        raise RegexError(f"the range {low[0]}-{high[0]} runs backwards")
    return [lambda char: low[0] <= char <= high[0]]


def _number(digits: str) -> int:
    return min(int(digits[-20:]) if len(digits.lstrip("0")) <= len(str(ENDLESS)) else ENDLESS, ENDLESS)


def _count_groups(text: str) -> tuple[int, bool]:
    """Return how many groups capture something, and whether one of them has a name."""
    count, named, inside, at = 0, False, False, 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif inside:
            inside = char != "]"
        elif char == "[":
            inside = True
        elif char == "(":
            has_name = text.startswith("(?<", at) and text[at + 3 : at + 4] not in ("=", "!")
            count += has_name or text[at + 1 : at + 2] != "?"
            named |= has_name
        at += 1
    return count, named
