"""Read the nodes of a simple command, and of the redirections around it, into words and streams."""

from __future__ import annotations

from hookrun.shell.evaluate import Streams
from hookrun.shell.simple_command import Redirection
from hookrun.shell.words import UNKNOWN, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from hookrun.shell.expand import Expander
    from hookrun.shell.scope import ShellScope
    from hookrun.shell.syntax_tree import Source

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
CHAINING = frozenset({"&&", "||"})


class CommandPart:
    """One command of a node: its words, what is set before it, and its streams."""

    __slots__ = ("assignments", "streams", "words")

    def __init__(self, streams: Streams) -> None:
        self.words: list[Word] = []
        self.assignments: dict[str, str] = {}
        self.streams = streams


def parts(node: Node, source: Source, scope: ShellScope, streams: Streams, expand: Expander) -> list[CommandPart]:
    """Return the command that a node is. Where the parser has misread a `;` it is several."""
    made = [CommandPart(streams)]
    into = ""
    for child in node.children:
        part = made[-1]
        part.words.extend(left_out(child, source))
        if child.type == "ERROR":
            sign = source.of(child).strip()
            if sign in {";", "&", ""}:
                made.append(CommandPart(Streams(stdin=streams.stdin)))
            elif sign in {">", ">>", "<"}:
                into = sign
            else:
                expand.run_within(child, source, scope)
        elif child.type == "variable_assignment":
            name, value = assigned(child, source, scope, expand)
            part.assignments[name] = value
        elif child.type in REDIRECTS:
            redirect(child, source, scope, part.streams, expand)
        elif child.is_named and into:
            part.streams.redirections.append(Redirection(into, expand.word(child, source, scope)))
            into = ""
        elif child.is_named:
            _add(part.words, child, source, expand.words(child, source, scope))
    return made


def _add(words: list[Word], node: Node, source: Source, more: list[Word]) -> None:
    """Add the words of a node; the first is joined to the previous one if only a line's end is between them."""
    between = _between(node, source)
    if words and more and between and not between.replace("\\\n", ""):
        before, first, *more = words.pop(), *more
        words.append(Word(before.text + first.text, globs=before.globs or first.globs))
    words.extend(more)


def _between(node: Node, source: Source) -> str:
    before = node.prev_sibling
    return source.text(before.end_byte, node.start_byte) if before is not None else ""


def left_out(node: Node, source: Source) -> list[Word]:
    """Return the words before a node that the tree has left out: the `-` of `cat - <<END`."""
    return [Word(each) for each in _between(node, source).replace("\\\n", " ").split()]


def assigned(node: Node, source: Source, scope: ShellScope, expand: Expander) -> tuple[str, str]:
    """Return the variable that a node sets, and its value; that of a list is not known."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    name = source.of(target) if target is not None else ""
    if target is not None:
        expand.run_within(target, source, scope)
    text = ""
    if value is not None and value.type == "array":
        expand.run_within(value, source, scope)
        text = UNKNOWN
    elif value is not None:
        text = expand.word(value, source, scope).text
    if any(child.type == "+=" for child in node.children):
        text = scope.value(name) + text
    return name, text


def redirect(
    node: Node, source: Source, scope: ShellScope, streams: Streams, expand: Expander
) -> list[tuple[str, Node]]:
    """Add a redirection to the streams; return the statements that the parser has put into it, with what joins them."""
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
    into = streams.words  # `> out rm x`: the parser takes them for more files
    for child in named[1:]:
        if child.type == "ERROR":
            into = streams.later  # `<< END > out; rm x`: it loses its way at the `;`
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
