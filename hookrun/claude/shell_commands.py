"""A shell line cut into the simple commands that an `if` rule is tried on. What cannot be cut is said to be so."""

from __future__ import annotations

BLANKS = " \t"
OPENING = frozenset({"{", "(", "!", "then", "do", "else", "if", "elif", "while", "until", "time"})
"""Words that may stand before a command without being part of it."""

TOO_HARD = frozenset({"case", "for", "select", "function", "[["})
"""Words that begin what is more than commands one after another."""

WRAPPERS = frozenset({"timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "noglob", "xargs"})
"""Programs that run the command after them."""

VALUED = frozenset({"timeout", "nice", "stdbuf"})
"""Those whose own options and numbers may stand before that command."""

LONGEST, DEEPEST = 65_536, 16


class UnclearError(ValueError):
    """A line is more than what is cut here."""


def simple_commands(line: str) -> list[list[str]]:
    """Return the simple commands of a line, each as its words in the order in which they stand, quotes taken off.

    Those inside of `$()`, backticks, `<()` and `()` are among them. Raises UnclearError.
    """
    if len(line) > LONGEST:
        raise UnclearError("the line is too long")
    reader = _Reader(line, 0)
    reader.read("")
    return [words for words in (_bare(words) for words in reader.commands) if words]


def is_expanded(line: str) -> bool:
    """Tell whether the shell puts something into the line that does not stand there."""
    for index, char in enumerate(line):
        after = line[index + 1 : index + 2]
        if char == "`" or (char == "$" and (after in ("(", "{") or after == "_" or after.isalnum())):
            return True
    return False


def forms(words: list[str]) -> list[str]:
    """Return the texts that a pattern is tried on: the command, without what is set before it, without wrappers."""
    rest = words
    while rest and _is_assignment(rest[0]):
        rest = rest[1:]
    found = [" ".join(words), " ".join(rest)]
    while rest and rest[0] in WRAPPERS:
        wrapper, rest = rest[0], rest[1:]
        while rest and (rest[0].startswith("-") or (wrapper in VALUED and rest[0][:1].isdecimal())):
            rest = rest[1:]
        found.append(" ".join(rest))
    return list(dict.fromkeys(text for text in found if text))


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier() and name.isascii()


def _bare(words: list[str]) -> list[str]:
    """Return a command without the words around it that are the shell's own."""
    while words and words[0] in OPENING:
        words = words[1:]
    if words and words[0] in TOO_HARD:
        raise UnclearError(f"{words[0]} is not followed here")
    return [] if words and words[0] in {"fi", "done", "}", "esac"} else words


class _Reader:
    """One pass over a line. `commands` are those found so far, the innermost first."""

    def __init__(self, text: str, depth: int) -> None:
        if depth > DEEPEST:
            raise UnclearError("it is nested too deeply")
        self.text = text
        self.depth = depth
        self.at = 0
        self.commands: list[list[str]] = []
        self.words: list[str] = []
        self.word: str | None = None

    def read(self, close: str) -> None:
        """Read up to `close`, which is passed over, or to the end where it is empty."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == close and close:
                self.at += 1
                self._end_command()
                return
            self._take(char)
        if close:
            raise UnclearError(f"{close} is missing")
        self._end_command()

    def _take(self, char: str) -> None:
        if char in BLANKS:
            self._end_word()
            self.at += 1
        elif char == "\\":
            self._backslash()
        elif char in "'\"":
            self._quoted(char)
        elif char == "`":
            self._inner("`")
        elif self.text.startswith(("$(", "<(", ">("), self.at):
            self._inner(")")
        elif char in "<>":
            self._redirection()
        elif char in "&|;\n":
            self._separator()
        elif char == "#" and self.word is None:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif char in "()":
            self._parenthesis(char)
        else:
            self._add(char)
            self.at += 1

    def _add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def _end_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
            self.word = None

    def _end_command(self) -> None:
        self._end_word()
        if self.words:
            self.commands.append(self.words)
        self.words = []

    def _backslash(self) -> None:
        after = self.text[self.at + 1 : self.at + 2]
        if not after:
            raise UnclearError("it ends with a backslash")
        if after != "\n":
            self._add(after)
        self.at += 2

    def _quoted(self, quote: str) -> None:
        """Read what is in quotes; in double ones commands may stand that the shell runs."""
        self._add("")
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == quote:
                self.at += 1
                return
            if quote == '"' and char == "\\":
                self._add(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif quote == '"' and char == "`":
                self._inner("`")
            elif quote == '"' and self.text.startswith("$(", self.at):
                self._inner(")")
            else:
                self._add(char)
                self.at += 1
        raise UnclearError("a quote is left open")

    def _inner(self, close: str) -> None:
        """Read commands within the command: they are commands of their own, and stand in the word as they are."""
        start = self.at
        if self.text.startswith("$((", self.at):
            raise UnclearError("arithmetic is not followed here")
        inside = _Reader(self.text, self.depth + 1)
        inside.at = self.at + (1 if close == "`" else 2)
        inside.read(close)
        self.commands += inside.commands
        self.at = inside.at
        self._add(self.text[start : self.at])

    def _parenthesis(self, char: str) -> None:
        """Read a group of commands; any other parenthesis is part of what is not followed here."""
        if char == ")" or self.word is not None or (self.words and self.words[-1] not in OPENING):
            raise UnclearError("a parenthesis is not followed here")
        inside = _Reader(self.text, self.depth + 1)
        inside.at = self.at + 1
        inside.read(")")
        self.commands += inside.commands
        self.at = inside.at

    def _redirection(self) -> None:
        """Pass over a redirection and the word that it leads to."""
        if self.text.startswith("<<", self.at):
            raise UnclearError("a here-document is not followed here")
        if self.word is not None and self.word.isdigit():
            self.word = None
        self._end_word()
        while self.text[self.at : self.at + 1] in ("<", ">", "&", "|") and self.at < len(self.text):
            self.at += 1
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        words, self.words = self.words, []
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;&|<>()":
            self._take(self.text[self.at])
        self.word, self.words = None, words

    def _separator(self) -> None:
        if self.text.startswith("&>", self.at):
            self._end_word()
            self.at += 1
            self._redirection()
            return
        self._end_command()
        self.at += 1
