"""The parts of a regular expression, and where each can end: no part takes one way only, so that none is gone twice.

The steps of a search are counted: whatever a project writes, it does not keep an agent waiting.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Test = Callable[[str], bool]

DIGITS = frozenset("0123456789")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
WORD = DIGITS | LETTERS | {"_"}

MOST_STEPS = 100_000
"""Steps of a search, some 50 ms; ordinary expressions need hundreds."""


class TiredError(Exception):
    """A search has taken more than MOST_STEPS."""


class Run:
    """One value that is searched. What a repetition or an assertion found at a position is found once."""

    __slots__ = ("end", "known", "left", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.left = MOST_STEPS
        self.known: dict[tuple[int, int], frozenset[int]] = {}


class Node:
    """A part of an expression: `ends` are the positions at which it can end when it begins at one."""

    __slots__ = ()

    def ends(self, run: Run, at: int) -> frozenset[int]:
        """Return them; none where it does not fit."""
        raise NotImplementedError


NOWHERE: frozenset[int] = frozenset()


class One(Node):
    """One character that a test takes."""

    __slots__ = ("test",)

    def __init__(self, test: Test) -> None:
        self.test = test

    def ends(self, run: Run, at: int) -> frozenset[int]:
        """The next position, if the character fits."""
        return frozenset((at + 1,)) if at < run.end and self.test(run.text[at]) else NOWHERE


class Place(Node):
    """A position that a test takes: a beginning, an end, a word's boundary."""

    __slots__ = ("test",)

    def __init__(self, test: Callable[[Run, int], bool]) -> None:
        self.test = test

    def ends(self, run: Run, at: int) -> frozenset[int]:
        """The same position, if it fits."""
        return frozenset((at,)) if self.test(run, at) else NOWHERE


class Sequence(Node):
    """Parts one after another."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Node]) -> None:
        self.parts = parts

    def ends(self, run: Run, at: int) -> frozenset[int]:
        """All ways through the parts."""
        found = frozenset((at,))
        for part in self.parts:
            run.left -= len(found)
            if run.left < 0:
                raise TiredError
            found = frozenset(end for start in found for end in part.ends(run, start))
            if not found:
                break
        return found


class Either(Node):
    """One of several."""

    __slots__ = ("sides",)

    def __init__(self, sides: list[Node]) -> None:
        self.sides = sides

    def ends(self, run: Run, at: int) -> frozenset[int]:
        """The ends of all sides."""
        return frozenset(end for side in self.sides for end in side.ends(run, at))


class Repeat(Node):
    """A part several times."""

    __slots__ = ("high", "low", "part")

    def __init__(self, part: Node, low: int, high: int) -> None:
        self.part = part
        self.low = low
        self.high = high

    def ends(self, run: Run, at: int) -> frozenset[int]:
        """The ends after `low` to `high` times. More often than there are characters changes nothing any more."""
        key = (id(self), at)
        if key not in run.known:
            now = frozenset((at,))
            for _ in range(min(self.low, run.end + 2)):
                before, now = now, self._next(run, now)
                if now == before:
                    break
            found = set(now)
            for _ in range(min(self.high - self.low, run.end + 2)):
                now = self._next(run, now) - found
                if not now:
                    break
                found |= now
            run.left -= len(found)
            run.known[key] = frozenset(found)
        return run.known[key]

    def _next(self, run: Run, starts: frozenset[int]) -> frozenset[int]:
        run.left -= len(starts)
        if run.left < 0:
            raise TiredError
        return frozenset(end for start in starts for end in self.part.ends(run, start))


class Look(Node):
    """An assertion about what comes after a position, or before it."""

    __slots__ = ("ahead", "part", "wanted")

    def __init__(self, part: Node, *, ahead: bool, wanted: bool) -> None:
        self.part = part
        self.ahead = ahead
        self.wanted = wanted

    def ends(self, run: Run, at: int) -> frozenset[int]:
        """The same position, if it holds."""
        key = (id(self), at)
        if key not in run.known:
            if self.ahead:
                there = bool(self.part.ends(run, at))
            else:
                there = any(at in self.part.ends(run, start) for start in range(at + 1))
            run.known[key] = frozenset((at,)) if there is self.wanted else NOWHERE
        return run.known[key]


def _is_word(run: Run, at: int) -> bool:
    return 0 <= at < run.end and run.text[at] in WORD


PLACES: dict[str, Callable[[Run, int], bool]] = {
    "^": lambda _run, at: at == 0,
    "$": lambda run, at: at == run.end,
    "b": lambda run, at: _is_word(run, at - 1) != _is_word(run, at),
    "B": lambda run, at: _is_word(run, at - 1) == _is_word(run, at),
}


def units(text: str) -> str:
    """Return the text as JavaScript sees it: a character beyond U+FFFF is two."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(low | high << 8) for low, high in zip(data[::2], data[1::2], strict=True))
