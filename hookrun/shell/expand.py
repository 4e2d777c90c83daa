"""Expand the nodes of a simple command and its redirections to words and streams."""

from __future__ import annotations

import re

from hookrun.shell.simple_command import Redirection, Streams
from hookrun.shell.syntax_tree import substitutions
from hookrun.shell.words import (
    BREAK,
    CUT,
    EXPANDED,
    MAX_WORDS,
    PLAIN,
    QUOTED,
    UNKNOWN,
    LimitExceededError,
    Piece,
    Word,
    join_pieces,
    split_words,
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from hookrun.shell.simple_command import ShellScope
    from hookrun.shell.syntax_tree import Source

    Substitute = Callable[[Node, Source, ShellScope], Word | None]
    CommandPart = tuple[list[Word], dict[str, str], Streams]
    """A command's words, the variables set before it, and its streams."""

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
CHAINING = frozenset({"&&", "||"})


def parts(node: Node, source: Source, scope: ShellScope, streams: Streams, expand: Expander) -> list[CommandPart]:
    """Return a node's command: several if the parser has misread a `;`."""
    made: list[CommandPart] = [([], {}, streams)]
    into = ""
    for child in node.children:
        words, assignments, given = made[-1]
        words.extend(left_out(child, source))
        if child.type == "ERROR":
            sign = source.of(child).strip()
            if sign in {";", "&", ""}:
                made.append(([], {}, Streams(stdin=streams.stdin)))
            elif sign in {">", ">>", "<"}:
                into = sign
            else:
                expand.run_within(child, source, scope)
        elif child.type == "variable_assignment":
            name, value = assigned(child, source, scope, expand)
            assignments[name] = value
        elif child.type in REDIRECTS:
            redirect(child, source, scope, given, expand)
        elif child.is_named and into:
            given.redirections.append(Redirection(into, expand.word(child, source, scope)))
            into = ""
        elif child.is_named:
            _add(words, child, source, expand.words(child, source, scope))
    return made


def _add(words: list[Word], node: Node, source: Source, more: list[Word]) -> None:
    """Add a node's words; join the first to the previous one if only a line's end is between."""
    between = _between(node, source)
    if words and more and between and not between.replace("\\\n", ""):
        before, first, *more = words.pop(), *more
        words.append(Word(before.text + first.text, globs=before.globs or first.globs))
    words.extend(more)


def _between(node: Node, source: Source) -> str:
    before = node.prev_sibling
    return source.text(before.end_byte, node.start_byte) if before is not None else ""


def left_out(node: Node, source: Source) -> list[Word]:
    """Return the words before a node that the tree omits: the `-` of `cat - <<END`."""
    return [Word(each) for each in _between(node, source).replace("\\\n", " ").split()]


def assigned(node: Node, source: Source, scope: ShellScope, expand: Expander) -> tuple[str, str]:
    """Return the variable that a node sets, and its value: an array's first element; `NAME[@]` has all."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    name = source.of(target) if target is not None else ""
    if target is not None:
        expand.run_within(target, source, scope)
    adds = any(child.type == "+=" for child in node.children)
    if value is not None and value.type == "array":
        listed = f"{name}[@]"
        elements = scope.variables[listed].split(CUT) if adds and listed in scope.variables else []
        nodes = [child for child in value.named_children if child.type != "comment"]
        elements += (word.text for child in nodes for word in expand.words(child, source, scope))
        scope.variables[listed] = CUT.join(filter(None, elements)) if len(elements) <= MAX_WORDS else UNKNOWN
        return name, elements[0] if elements else ""
    text = expand.word(value, source, scope).text if value is not None else ""
    return name, scope.value(name) + text if adds else text


def redirect(
    node: Node, source: Source, scope: ShellScope, streams: Streams, expand: Expander
) -> list[tuple[str, Node]]:
    """Add a redirection to the streams; return statements that the parser put into it, with their operators."""
    if node.type == "heredoc_redirect":
        return _document(node, source, scope, streams, expand)
    named = [child for child in node.named_children if child.type != "file_descriptor"]
    if node.type == "herestring_redirect":
        if named:
            word = expand.word(named[0], source, scope)
            streams.stdin, streams.own_stdin = Word(word.text + "\n", word.at), True
        return []
    descriptor = next((child for child in node.named_children if child.type == "file_descriptor"), None)
    operator = next((child.type for child in node.children if not child.is_named), ">")
    number = source.of(descriptor) if descriptor is not None else ""
    if named:
        words = expand.words(named[0], source, scope)
        target = words[0] if len(words) == 1 else expand.word(named[0], source, scope)
        streams.redirections.append(Redirection(operator, target, number))
        if operator == "<":
            streams.stdin, streams.own_stdin = target.output, True
    into = streams.words  # `> out rm x`: to the parser they are more files
    for child in named[1:]:
        if child.type == "ERROR":
            into = streams.later  # `<< END > out; rm x`: the `;` confuses it
        else:
            into.extend(expand.words(child, source, scope))
    return []


def _document(
    node: Node, source: Source, scope: ShellScope, streams: Streams, expand: Expander
) -> list[tuple[str, Node]]:
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    end = source.of(start) if start is not None else ""
    streams.stdin, streams.own_stdin = Word(""), True
    following: list[tuple[str, Node]] = []
    into = joins = ""
    words = streams.words
    for child in node.children:
        if child.type == "heredoc_body":
            plain = any(sign in end for sign in "'\"\\")
            tabs = node.children[0].type == "<<-"
            streams.stdin = expand.body(child, source, scope, plain=plain, tabs=tabs)
        elif child.type in CHAINING:
            joins = child.type
        elif child.type == "pipeline":
            following.append(("|", child))
        elif child.type in REDIRECTS:
            following.extend(redirect(child, source, scope, streams, expand))
        elif child.type == "ERROR":
            into = source.of(child).strip()
            words = streams.later if into in {";", "&"} else words
        elif child.is_named and child.type not in {"heredoc_start", "heredoc_end", "file_descriptor"}:
            if joins:
                following.append((joins, child))
            elif into in {">", ">>"}:
                streams.redirections.append(Redirection(into, expand.word(child, source, scope)))
                into = ""
            else:
                words.extend(expand.words(child, source, scope))
    return following


# Nodes into which the grammar does not look.
PATTERNS = frozenset({"extglob_pattern", "regex"})

COMMANDS_WITHIN = frozenset({"command_substitution", "process_substitution"})

ANSI_C = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
CODES = r"(?s)\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|0?([0-7]{1,3})|c(.)|(.))"

# Bytes of all words and nested lines, each time they are read.
MAX_BYTES = 1 << 23

# Bytes that each word counts besides its text.
EACH = 16

BACKTICK = r"(?<!\\)`"

DEFAULTS = frozenset({":-", "-", ":=", "="})
# `${NAME:-...}` and its like: the variable's value, if it has one.
CHECKED = DEFAULTS | {":?", "?"}


class Expander:
    """Makes words of nodes. `substitute` reads a node's commands and returns what they print, if known."""

    def __init__(self, substitute: Substitute) -> None:
        self._substitute = substitute
        self.left = MAX_BYTES

    def spend(self, count: int) -> None:
        """Count bytes of a word or nested line. Raises LimitExceededError."""
        self.left -= count
        if self.left < 0:
            raise LimitExceededError("too long")

    def _counted(self, words: list[Word]) -> list[Word]:
        self.spend(sum(len(word.text) + EACH for word in words))
        return words

    def words(self, node: Node, source: Source, scope: ShellScope) -> list[Word]:
        """Return the words of a node in a command."""
        if node.type == "process_substitution":
            return [Word(UNKNOWN, output=self._substitute(node, source, scope))]
        pieces = list(self._pieces(node, source, scope))
        return self._counted(split_words(pieces, scope.home, scope.variables["IFS"]))

    def word(self, node: Node, source: Source, scope: ShellScope) -> Word:
        """Return a node's word where nothing is split: a value, a redirection's file."""
        return self._counted([join_pieces(self._pieces(node, source, scope), scope.home)])[0]

    def body(self, node: Node, source: Source, scope: ShellScope, *, plain: bool, tabs: bool) -> Word:
        """Return a here-document's text: verbatim if its end is quoted, without leading tabs for `<<-`."""
        if plain:
            text = source.of(node)
            made = Word(text, source.place(node.start_byte))
        else:
            made = self._counted([join_pieces(self._between(node, source, scope))])[0]
        if tabs:
            return Word("\n".join(line.lstrip("\t") for line in made.text.split("\n")))
        return made

    def run_within(self, node: Node, source: Source, scope: ShellScope) -> None:
        """Read the commands inside a node of another kind: a test, a sum, a pattern."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type in COMMANDS_WITHIN:
                self._substitute(each, source, scope)
            elif each.type in PATTERNS:
                for line in substitutions(source.of(each)):
                    scope.reads(line, scope.copy())
            else:
                waiting.extend(reversed(each.named_children))

    def _pieces(self, node: Node, source: Source, scope: ShellScope) -> Iterator[Piece]:
        kind = node.type
        if kind == "raw_string":
            yield Piece(source.text(node.start_byte + 1, node.end_byte - 1), QUOTED, source.place(node.start_byte + 1))
        elif kind == "ansi_c_string":
            yield Piece(ansi_c(source.text(node.start_byte + 2, node.end_byte - 1)))
        elif kind in {"string", "translated_string"}:
            yield Piece("")
            yield from self._between(node, source, scope)
        elif kind in {"concatenation", "command_name"}:
            for child in node.children:
                yield from self._pieces(child, source, scope)
        elif kind in {"simple_expansion", "expansion"}:
            yield from self._variable(node, source, scope, EXPANDED)
        elif kind in COMMANDS_WITHIN:
            yield self._output(node, source, scope, EXPANDED)
        elif node.named_child_count and kind != "brace_expression":
            self.run_within(node, source, scope)
            yield Piece(UNKNOWN)
        else:
            yield from self._plain(node, source, scope)

    def _plain(self, node: Node, source: Source, scope: ShellScope) -> Iterator[Piece]:
        text = source.of(node)
        if _has_backticks(text):  # the grammar misses those in `"${x:-`id`}"`
            for index, part in enumerate(re.split(BACKTICK, text)):
                yield _put_in(scope.reads(part, scope.copy())) if index % 2 else Piece(part)
        else:
            yield from unescaped(text, source.place(node.start_byte))

    def _between(self, node: Node, source: Source, scope: ShellScope) -> Iterator[Piece]:
        """Yield the expansions in double quotes or a here-document, and the text between, which the tree may omit."""
        quoted = node.type != "heredoc_body"
        position = node.start_byte + (1 if quoted else 0)
        end = node.end_byte - (1 if quoted else 0)
        for child in node.named_children:
            if child.type in {"string_content", "heredoc_content"}:
                continue
            text = source.of(child)
            start = child.start_byte + len(text) - len(text.lstrip())
            yield from self._text(source, position, start, scope, quoted=quoted)
            if child.type in {"simple_expansion", "expansion"}:
                yield from self._variable(child, source, scope, QUOTED)
            elif child.type in COMMANDS_WITHIN:
                yield self._output(child, source, scope, QUOTED)
            else:
                self.run_within(child, source, scope)
                yield Piece(UNKNOWN)
            position = child.end_byte
        yield from self._text(source, position, end, scope, quoted=quoted)

    def _text(self, source: Source, start: int, end: int, scope: ShellScope, *, quoted: bool) -> Iterator[Piece]:
        if end <= start:
            return
        text = source.text(start, end)
        escapes = '\\$`"' if quoted else "\\$`"
        if _has_backticks(text) and not quoted:  # the grammar misses them in a here-document
            for index, part in enumerate(re.split(BACKTICK, text)):
                yield _put_in(scope.reads(part, scope.copy())) if index % 2 else Piece(_without(escapes, part))
        elif "\\" in text:
            yield Piece(_without(escapes, text))
        else:
            yield Piece(text, QUOTED, source.place(start))

    def _output(self, node: Node, source: Source, scope: ShellScope, kind: str) -> Piece:
        printed = self._substitute(node, source, scope)
        return _put_in(printed if node.type == "command_substitution" else None, kind)

    def _variable(self, node: Node, source: Source, scope: ShellScope, kind: str) -> Iterator[Piece]:
        names = [child for child in node.named_children if child.type.endswith("variable_name")]
        name = source.of(names[0]) if names else ""
        if node.type == "expansion":
            operators = [child.type for child in node.children if not child.is_named][1:-1]
            value = scope.value(name) if names else UNKNOWN
            others = [child for child in node.named_children if child not in names]
            if not operators and others and others[0].type == "subscript":
                self.run_within(others[0], source, scope)
                yield from _elements(source.of(others[0]), scope, kind)
                return
            if operators[:1] and operators[0] in DEFAULTS and value in {"", UNKNOWN}:
                for other in others:  # an unknown variable is most likely unset
                    yield from (Piece(piece.text, kind) for piece in self._pieces(other, source, scope))
                return
            self.run_within(node, source, scope)
            kept = not operators and not others
            yield Piece(value if kept or (operators[:1] and operators[0] in CHECKED) else UNKNOWN, kind)
        elif name == "@" and kind == QUOTED and scope.positional is not None:
            yield from _in_quotes([word.text for word in scope.positional])
        else:
            yield Piece(scope.value(name), kind)


def _put_in(printed: Word | None, kind: str = QUOTED) -> Piece:
    """Return what stands for commands that print this."""
    return Piece(UNKNOWN if printed is None else printed.text.rstrip("\n"), kind)


def _in_quotes(texts: list[str]) -> Iterator[Piece]:
    """Yield the pieces of `"$@"`, or of an array's."""
    for index, text in enumerate(texts):
        if index:
            yield Piece("", BREAK)
        yield Piece(text, QUOTED)


def _elements(subscript: str, scope: ShellScope, kind: str) -> Iterator[Piece]:
    """Yield the pieces of `${NAME[@]}`, or of one element, such as `${NAME[0]}`."""
    name, _, index = subscript.removesuffix("]").partition("[")
    listed = scope.variables.get(f"{name}[@]")
    texts = listed.split(CUT) if listed else []
    if listed is None or index not in {"@", "*"}:
        number = int(index) if index.isdecimal() else len(texts)
        yield Piece(texts[number] if number < len(texts) else UNKNOWN, kind)
    elif kind == QUOTED and index == "@":
        yield from _in_quotes(texts)
    else:
        yield Piece(" ".join(texts), kind)


def _has_backticks(text: str) -> bool:
    return "`" in text.replace("\\`", "")


def _without(escapes: str, text: str) -> str:
    """Return a text without backslashes before one of the characters, or with a line's end."""
    return re.sub(rf"\\([{re.escape(escapes)}\n])", lambda found: found[1].strip("\n"), text)


def unescaped(text: str, at: int | None) -> Iterator[Piece]:
    """Yield the pieces of unquoted text: a backslash quotes the next character."""
    if "\\" not in text:
        yield Piece(text, PLAIN, at)
        return
    for part in re.findall(r"\\.|[^\\]+|\\", text, re.DOTALL):
        if part[0] != "\\":
            yield Piece(part, PLAIN)
        elif part != "\\\n":
            yield Piece(part[1:] or part, QUOTED)


def ansi_c(text: str, zero: str = "") -> str:
    r"""Return the text of `$'...'` and of arguments of `echo -e` and `printf`: `\x72` is `r`, `\0` is `zero`."""
    return re.sub(CODES, lambda found: _code(found, zero), text)


def _code(found: re.Match[str], zero: str) -> str:
    two, four, eight, octal, control, letter = found.groups()
    digits = two or four or eight
    if digits or octal:
        number = int(digits, 16) if digits else int(octal, 8) & 0xFF
        return chr(number) if 0 < number < 0x110000 else zero  # noqa: PLR2004  # the end of Unicode
    if control:
        return chr(ord(control) & 31)
    return ANSI_C.get(letter, found[0])
