"""Split a shell line into simple commands for an `if` rule, as Claude Code 2.1.329 does.

Where it splits and gives up was measured (tests/conformance/claude_chosen.json). This runs in `hookrun fire`, so it
does without the parser of `hookrun.shell`: loading tree-sitter, and `re` for it, takes 34 million instructions, this
module with a line 3.5 million (valgrind --tool=callgrind; bare Python takes 39).
"""

from __future__ import annotations

BLANKS = " \t"
# Words that may precede a command.
OPENING = frozenset({"!", "then", "do", "else", "if", "elif", "while", "until"})

# Words that begin something other than a command.
ENDING = frozenset({"fi", "done", "for"})

# Words that begin compound commands.
TOO_HARD = frozenset({"case", "select", "function", "{", "}", "esac", "read"})

# Commands whose expanded values are no arguments.
DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset", "for"})

# Characters after `$` that name a special variable of the shell.
SPECIAL = frozenset("0123456789@*#?$!-_")

KNOWN = frozenset({"HOME"})
# Variables that are always one word, and those that are so in quotes.
QUOTABLE = frozenset({"HOME", "PWD"})

GOES_ON = frozenset({"&&", "||", "|", "|&"})
MAX_DEPTH = 16
MAX_LENGTH = 16_384


class UnsupportedSyntaxError(ValueError):
    """The line has unsupported syntax."""


def split_commands(line: str) -> CommandSplitter:
    """Return the splitter of a line. Raises UnsupportedSyntaxError."""
    if len(line) > MAX_LENGTH:
        raise UnsupportedSyntaxError("the line is too long")
    splitter = CommandSplitter(line, 0)
    splitter.read("")
    if splitter.has_expansions and splitter.own > 1:
        raise UnsupportedSyntaxError("one of several commands has an argument that the shell makes up")
    return splitter


def matchable_texts(words: list[str]) -> list[str]:
    """Return the texts to match with a pattern: without leading assignments and a bare `xargs`."""
    while words and is_assignment(words[0]):
        words = words[1:]
    if len(words) > 1 and words[0] == "xargs" and not words[1].startswith("-"):
        return [" ".join(words), " ".join(words[1:])]
    return [" ".join(words)] if words else []


def is_assignment(word: str) -> bool:
    """Return whether a word sets a variable."""
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier() and name.isascii()


class CommandSplitter:
    """One pass over a line.

    `commands` are the simple commands so far, as words without quotes; those inside `$()`, backticks and `()` are among
    them, innermost first, and `own` counts those not inside others. `has_expansions`: the shell adds an argument that
    is not in the line.
    """

    def __init__(self, text: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise UnsupportedSyntaxError("it is nested too deeply")
        self.text = text
        self.depth = depth
        self.at = 0
        self.commands: list[list[str]] = []
        self.own = 0
        self.words: list[str] = []
        self.word: str | None = None
        self.has_expansions = self.made_up = False
        self.goes_on = self.in_order = self.prints_text = False
        self.values: dict[str, str | None] = {}

    def read(self, close: str) -> None:
        """Read through `close`, or to the end if it is empty."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == close and close:
                self.at += 1
                self._end_all()
                return
            self._take(char)
        if close:
            raise UnsupportedSyntaxError(f"{close} is missing")
        self._end_all()

    def _take(self, char: str) -> None:
        if char in BLANKS:
            self._end_word()
            self.at += 1
        elif char == "\\":
            self._backslash()
        elif char in "'\"":
            self._quoted(char)
        elif char in "$`":
            self._expansion(quoted=False)
        elif char in "<>":
            self._redirection()
        elif char in "&|;\n":
            self._separator()
        elif char == "#" and self.word is None:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif char in "()":
            self._parenthesis(char)
        elif char == "{":
            self._brace()
        else:
            self._add(char)

    def _add(self, text: str) -> None:
        self.word = (self.word or "") + text
        self.at += len(text)

    def _end_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
            self.word = None

    def _end_command(self) -> None:
        self._end_word()
        words, self.words = self.words, []
        if words:
            self.goes_on = False
        made_up, self.made_up = self.made_up, False
        while words and words[0] in OPENING:
            words = words[1:]
        if words and words[0] in TOO_HARD:
            raise UnsupportedSyntaxError(f"{words[0]} is not supported")
        if len(words) > 1 and all(is_assignment(word) for word in words):
            raise UnsupportedSyntaxError("several variables are set, and nothing is run")
        self._set(words, made_up=made_up)
        if words and words[0] not in ENDING:
            self.commands.append(words)
            self.own += 1

    def _set(self, words: list[str], *, made_up: bool) -> None:
        """Record the values of variables that a command sets, if they are in the line."""
        if words[:1] == ["for"]:
            self.values.update(dict.fromkeys(words[1:2]))
        elif (words and words[0] in DECLARING) or all(is_assignment(word) for word in words):
            for word in words:
                name, equals, value = word.partition("=")
                if equals:
                    self.values[name] = None if made_up or any(char in value for char in " \t\n*?[") else value

    def _end_all(self) -> None:
        self._end_command()
        if self.goes_on:
            raise UnsupportedSyntaxError("it ends where another command is expected")

    def _begins_command(self) -> bool:
        return not self.word and all(word in OPENING or is_assignment(word) for word in self.words)

    def _is_value(self) -> bool:
        if self.words and self.words[0] in DECLARING:
            return True
        return is_assignment(self.word or "") and all(is_assignment(word) for word in self.words)

    def _backslash(self) -> None:
        after = self.text[self.at + 1 : self.at + 2]
        if not after or after in " \t{}" or self.text[self.at + 1 :] == "\n":
            raise UnsupportedSyntaxError("what this backslash does is not supported")
        self.at += 1
        if after == "\n":
            self.at += 1
        else:
            self._add(after)

    def _quoted(self, quote: str) -> None:
        """Read a quoted string; double quotes may contain command substitutions."""
        self.word = self.word or ""
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == quote:
                self.at += 1
                return
            if quote == '"' and char == "\\":
                self.at += 1
                self._add(self.text[self.at : self.at + 1])
            elif quote == '"' and char in "$`":
                self._expansion(quoted=True)
            else:
                self._add(char)
        raise UnsupportedSyntaxError("a quote is left open")

    def _expansion(self, *, quoted: bool) -> None:
        """Read a variable, a command substitution or arithmetic."""
        after = self.text[self.at + 1 : self.at + 2]
        if self.text.startswith("$((", self.at):
            self._arithmetic()
        elif self.text[self.at] == "`" or after == "(":
            self._inner("`" if self.text[self.at] == "`" else ")", quoted=quoted)
        elif after in ("{", "[") or (after in ("'", '"') and not quoted):
            raise UnsupportedSyntaxError(f"${after} is not supported")
        elif after and (after in SPECIAL or after.isalpha()):
            self._variable(after, quoted=quoted)
        else:
            self._add("$")

    def _variable(self, first: str, *, quoted: bool) -> None:
        name, end = first, self.at + 2
        while (first.isalpha() or first == "_") and (
            self.text[end : end + 1].isalnum() or self.text[end : end + 1] == "_"
        ):
            name, end = self.text[self.at + 1 : end + 1], end + 1
        then = self.text[end : end + 1]
        alone = not quoted and self.word is None and (not then or then in " \t\n;&|)")
        value = self.values.get(name)
        if any(word.startswith(f"{name}=") for word in self.words) or (name in self.values and value is None):
            raise UnsupportedSyntaxError(f"what ${name} is by then is not supported")
        if value is not None:
            self.word = (self.word or "") + value
        elif name in (QUOTABLE if quoted else KNOWN):
            self.word = f"{self.word or ''}${name}"
        elif alone and not self._begins_command() and not (first.isdigit() and then.isdigit()):
            self.has_expansions = True
            self.word = f"${name}"
        else:
            raise UnsupportedSyntaxError(f"what ${name} is a part of is not supported")
        self.at = end

    def _arithmetic(self) -> None:
        end = self.text.find("))", self.at)
        inside = self.text[self.at : end + 2] if end >= 0 else "$(($("
        if "$(" in inside[3:] or "`" in inside:
            raise UnsupportedSyntaxError("arithmetic with commands in it is not supported")
        self._add(inside)

    def _inner(self, close: str, *, quoted: bool) -> None:
        """Read a command substitution: a command that stays in the word unexpanded.

        Neither a quoted part nor text that is only printed makes up an argument.
        """
        if self._begins_command():
            raise UnsupportedSyntaxError("the name of a command is what another one prints")
        start = self.at
        inside = self._inside(self.at + (1 if close == "`" else 2), close)
        if inside.own > 1:
            raise UnsupportedSyntaxError("several commands print one argument")
        part = quoted and (bool(self.word) or not self.text.startswith('"', inside.at))
        if self._is_value():
            self.made_up = True
        elif not part and not inside.prints_text:
            self.has_expansions = True
        self.at, after = start, inside.at
        self._add(self.text[start:after])

    def _inside(self, at: int, close: str) -> CommandSplitter:
        """Read a nested construct up to `close`."""
        inside = CommandSplitter(self.text, self.depth + 1)
        inside.at = at
        inside.read(close)
        if not inside.prints_text:
            self.commands += inside.commands
        return inside

    def _parenthesis(self, char: str) -> None:
        """Read a group of commands; other parentheses are not supported."""
        if char == ")" or not self._begins_command() or self.word is not None or self.text.startswith("((", self.at):
            raise UnsupportedSyntaxError("a parenthesis is not supported")
        inside = self._inside(self.at + 1, ")")
        if inside.in_order:
            raise UnsupportedSyntaxError("a group of commands one after another is not supported")
        self.has_expansions |= inside.has_expansions
        self.own += inside.own
        self.at, self.goes_on = inside.at, False

    def _brace(self) -> None:
        """Read a brace literally, unless the shell expands it to several words."""
        end = self.text.find("}", self.at)
        inside = self.text[self.at + 1 : end] if end >= 0 else ""
        if not any(blank in inside for blank in " \t\n") and ("," in inside or ".." in inside):
            raise UnsupportedSyntaxError("braces are not supported")
        self._add("{")

    def _redirection(self) -> None:
        if self.text.startswith("<<", self.at) and not self.text.startswith("<<<", self.at):
            self._here_document()
            return
        if self.text.startswith(("<(", ">("), self.at):
            raise UnsupportedSyntaxError("process substitution is not supported")
        if self.word is not None and self.word.isdigit():
            self.word = None
        self._end_word()
        while self.text[self.at : self.at + 1] in ("<", ">", "&", "|") and self.at < len(self.text):
            self.at += 1
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        words, self.words = self.words, []
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;&|<>()":
            if self.text[self.at] in "$`":
                raise UnsupportedSyntaxError("where it is redirected to is made up by the shell")
            self._take(self.text[self.at])
        self.word, self.words = None, words

    def _here_document(self) -> None:
        """Skip a here-document with a quoted delimiter (nothing is expanded) at the end of its line."""
        line, newline, body = self.text[self.at + 2 :].partition("\n")
        end = line.removeprefix("-").strip()
        bare = end.strip("'\"").removeprefix("\\")
        if bare == end or not bare.isidentifier() or not newline:
            raise UnsupportedSyntaxError("a here-document in which something may be replaced is not supported")
        read = len(self.text) - len(body)
        for text in body.splitlines(keepends=True):
            read += len(text)
            if (text.lstrip("\t") if line.startswith("-") else text).rstrip("\n") == bare:
                self.at = read
                self._end_command()
                self.prints_text = self.commands == [["cat"]]
                return
        raise UnsupportedSyntaxError("a here-document does not end")

    def _separator(self) -> None:
        if self.text.startswith("&>", self.at):
            self._end_word()
            self.at += 1
            self._redirection()
            return
        self._end_command()
        two, one = self.text[self.at : self.at + 2], self.text[self.at]
        found = two if two in GOES_ON else one
        self.goes_on |= found in GOES_ON
        self.in_order |= found not in GOES_ON
        self.at += len(found)
