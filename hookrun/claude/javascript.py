"""JavaScript's regular expressions in Python's: what `new RegExp(text).test(value)` says, without the `u` flag.

Sources: ECMA-262 (Patterns, and Annex B.1.2, which every engine follows); compared with a real engine in the tests.
"""

from __future__ import annotations

import re

SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NOT_SPACE = (
    "\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\ufefe"
    "\uff00-\uffff"
)
LINE_ENDS = "\n\r\u2028\u2029"
CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
CLASSES = {"d": "0-9", "D": "\x00-/:-\uffff", "w": "A-Za-z0-9_", "W": "\x00-/:-@\\[-\\^`{-\uffff"}
CLASSES |= {"s": SPACE, "S": NOT_SPACE}
"""The letter of an escape -> what it stands for within brackets."""

COUNT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
GROUP_NAME = re.compile(r"\(\?<([A-Za-z_$][A-Za-z0-9_$]*)>")
HIGHEST = 0xFFFF
OCTAL, HIGHEST_OCTAL = frozenset("01234567"), 0o377
NOTHING = "(?!)"


class RegexError(ValueError):
    """A pattern cannot be used: JavaScript does not take it, or Python has nothing like it. The message says which."""


def compiled(pattern: str) -> re.Pattern[str]:
    """Return what finds, by `search`, in `units(value)` what JavaScript would find in a value. Raises RegexError."""
    translated = _Translation(units(pattern)).whole()
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise RegexError(f"it is no regular expression, or none that can be read here: {error}") from None


def units(text: str) -> str:
    """Return the text as JavaScript sees it: a character beyond U+FFFF is two."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(low | high << 8) for low, high in zip(data[::2], data[1::2], strict=True))


class _Translation:
    """One pattern, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = len(re.findall(r"(?<!\\)\((?!\?)|\(\?<[^=!]", text))
        self.named = GROUP_NAME.search(text) is not None
        self.names: set[str] = set()
        self.open: list[bool] = []
        self.repeatable = False

    def whole(self) -> str:
        """Return all of it in Python's words."""
        parts: list[str] = []
        while self.at < len(self.text):
            parts.append(self._next())
        if self.open:
            raise RegexError("a group is not closed")
        return "".join(parts)

    def _next(self) -> str:
        char = self.text[self.at]
        if char in "*+?" or (char == "{" and COUNT.match(self.text, self.at)):
            return self._repeat()
        special = {"(": self._open, ")": self._close, "[": self._class, "\\": self._escape}.get(char)
        if special is not None:
            return special()
        self.at += 1
        self.repeatable = char not in "^$|"
        if char in "^|":
            return char
        return {"$": r"\Z", ".": f"[^{LINE_ENDS}]"}.get(char) or _literal(char)

    def _open(self) -> str:
        """Begin a group. An assertion may be repeated if it looks ahead; one that looks behind may not."""
        rest = self.text[self.at :]
        self.repeatable = False
        for start in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
            if rest.startswith(start):
                self.at += len(start)
                self.open.append(not start.startswith("(?<"))
                return start
        self.open.append(True)
        name = GROUP_NAME.match(self.text, self.at)
        if name:
            if name.group(1) in self.names:
                raise RegexError(f"two groups are called {name.group(1)}")
            self.names.add(name.group(1))
            self.at = name.end()
            return "("
        if rest.startswith("(?"):
            raise RegexError(f"{rest[:4]} begins no group that JavaScript has")
        self.at += 1
        return "("

    def _close(self) -> str:
        if not self.open:
            raise RegexError("a ) closes no group")
        self.at += 1
        self.repeatable = self.open.pop()
        return ")"

    def _repeat(self) -> str:
        if not self.repeatable:
            raise RegexError(f"nothing to repeat before {self.text[self.at]}")
        count = COUNT.match(self.text, self.at)
        end = count.end() if count else self.at + 1
        if self.text[end : end + 1] == "?":
            end += 1
        repeat, self.at, self.repeatable = self.text[self.at : end], end, False
        return repeat

    def _escape(self) -> str:
        """Read an escape outside of brackets."""
        char = self.text[self.at + 1 : self.at + 2]
        self.repeatable = char not in ("b", "B")
        if char in ("b", "B"):
            self.at += 2
            return r"\b" if char == "b" else r"(?!\b)"
        if char in CLASSES and char:
            self.at += 2
            return f"[{CLASSES[char]}]"
        if (char.isdecimal() and char != "0" and int(self._digits()) <= self.groups) or (char == "k" and self.named):
            raise RegexError(f"the reference \\{char} to a group is not read here")
        return _literal(self._character(inside=False))

    def _digits(self) -> str:
        end = self.at + 1
        while self.text[end : end + 1].isdecimal():
            end += 1
        return self.text[self.at + 1 : end]

    def _character(self, *, inside: bool) -> str:
        """Return the one character that an escape stands for."""
        self.at += 2
        char = self.text[self.at - 1 : self.at]
        if not char:
            raise RegexError("it ends with a backslash")
        if char in CONTROLS:
            return CONTROLS[char]
        if char == "b" and inside:
            return "\b"
        if char == "c":
            return self._control(inside=inside)
        for letter, length in (("x", 2), ("u", 4)):
            digits = self.text[self.at : self.at + length]
            if char == letter and re.fullmatch(f"[0-9A-Fa-f]{{{length}}}", digits):
                self.at += length
                return chr(int(digits, 16))
        return self._octal(char) if char in OCTAL else char

    def _control(self, *, inside: bool) -> str:
        letter = self.text[self.at : self.at + 1]
        if letter.isascii() and (letter.isalpha() or (inside and (letter.isdecimal() or letter == "_"))):
            self.at += 1
            return chr(ord(letter) % 32)
        self.at -= 1  # a backslash, and then a c
        return "\\"

    def _octal(self, first: str) -> str:
        digits = first
        while self.text[self.at : self.at + 1] in OCTAL and int(digits + self.text[self.at], 8) <= HIGHEST_OCTAL:
            digits += self.text[self.at]
            self.at += 1
        return chr(int(digits, 8))

    def _class(self) -> str:
        """Read a set in brackets; an empty one fits nothing, `[^]` everything."""
        self.at += 1
        negate = self.text.startswith("^", self.at)
        self.at += negate
        parts: list[str] = []
        while not self.text.startswith("]", self.at):
            low = self._member()
            if self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._member()
                parts.append(_range(low, high))
            else:
                parts.append(low[0] if low[1] else _escaped(low[0]))
        self.at += 1
        self.repeatable = True
        body = "".join(parts)
        if not body:
            return f"[\x00-{chr(HIGHEST)}]" if negate else NOTHING
        return f"[{'^' if negate else ''}{body}]"

    def _member(self) -> tuple[str, bool]:
        """Return one member of a set: a character, or what a class of characters stands for and that it is one."""
        if self.at >= len(self.text):
            raise RegexError("a [ is not closed")
        char = self.text[self.at]
        if char != "\\":
            self.at += 1
            return char, False
        letter = self.text[self.at + 1 : self.at + 2]
        if letter and letter in CLASSES:
            self.at += 2
            return CLASSES[letter], True
        return self._character(inside=True), False


def _range(low: tuple[str, bool], high: tuple[str, bool]) -> str:
    """Return a range; with a class at one of its ends the hyphen is itself."""
    if low[1] or high[1]:
        return "".join(text if of_class else _escaped(text) for text, of_class in (low, ("-", False), high))
    if low[0] > high[0]:
        raise RegexError(f"the range {low[0]}-{high[0]} runs backwards")
    return f"{_escaped(low[0])}-{_escaped(high[0])}"


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}"


def _literal(char: str) -> str:
    return char if char.isalnum() or char == "_" else _escaped(char)
