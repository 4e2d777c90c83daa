"""Parse a line: walk its syntax tree as a shell would run it, and note each simple command."""

from __future__ import annotations

from hookrun.core.globs import glob
from hookrun.shell.evaluate import Evaluator
from hookrun.shell.expand import Expander, assigned, left_out, parts, redirect
from hookrun.shell.simple_command import ParsedLine, ShellScope, SimpleCommand, Streams
from hookrun.shell.syntax_tree import Recovery, Source, parse, source_of, statements, substitutions, without_oddities
from hookrun.shell.words import UNKNOWN, LimitExceededError, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tree_sitter import Node

    from hookrun.shell.scripts import ScriptFiles

    Walk = Callable[[Node, Source, ShellScope, Streams], Word | None]

# Bytes of a line; a longer one is not read.
MAX_BYTES = 256 * 1024

# Nesting levels of statements, those of nested lines included.
MAX_DEPTH = 40

# Statements walked, those of a loop each time.
MAX_STEPS = 20_000

# How often the bytes of a text with an error count: it is parsed part by part.
RECOVERY = 16

# Values of a `for` that are tried; with more the variable is unknown.
MAX_VALUES = 16

ENDINGS = frozenset({";", "&", "\n", ";;"})
LOOSE = frozenset({"word", "string", "raw_string", "ansi_c_string", "concatenation", "number"})
SEQUENCES = frozenset(
    {"ERROR", "compound_statement", "do_group", "elif_clause", "else_clause", "negated_command", "program", "subshell"}
)


def parse_line(
    line: str,
    *,
    directory: str | None = None,
    variables: Mapping[str, str] | None = None,
    files: ScriptFiles | None = None,
) -> ParsedLine:
    """Return the simple commands that a shell would run for the line.

    `directory` is where it would run, `variables` are the known ones of its environment, with `HOME`. Each branch of
    the line counts as taken. With `files` the scripts that it runs are read, too. Never raises: see
    `ParsedLine.problem`, which is that of the line alone.
    """
    reader = LineReader(files)
    data = line.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        reader.parsed.problem = "too long"
        return reader.parsed
    try:
        reader.line(Source(data, 0), ShellScope(variables or {}, directory, reader.line_within), Streams())
    except LimitExceededError as error:
        reader.parsed.problem = str(error)
    except RecursionError:
        reader.parsed.problem = "too deep"
    return reader.parsed


class LineReader:
    """Walks the tree of a line and of nested lines."""

    def __init__(self, files: ScriptFiles | None) -> None:
        self.parsed = ParsedLine()
        self._expand = Expander(self._substitute)
        self._evaluator = Evaluator(self.parsed, self._apart, self.line, self._walk, files)
        self._in_script = False
        self._for_scripts = (MAX_BYTES, 0)
        self._recovery = Recovery()
        self._deep = 0
        self._steps = 0
        self._walks: dict[str, Walk] = {
            "command": self._command,
            "declaration_command": self._assignments,
            "file_redirect": self._redirected,
            "function_definition": self._function,
            "list": self._list,
            "pipeline": self._pipeline,
            "redirected_statement": self._redirected,
            "unset_command": self._unset,
            "variable_assignment": self._assignments,
            "variable_assignments": self._assignments,
        }
        self._compounds: dict[str, Callable[[Node, Source, ShellScope, Streams], None]] = {
            "c_style_for_statement": self._loop,
            "case_statement": self._case,
            "for_statement": self._for,
            "if_statement": self._branches,
            "while_statement": self._branches,
        }

    def line(self, source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        """Read a whole line; return what it prints, if known."""
        self._expand.spend(len(source.data))
        root = parse(source.data)
        if root.has_error:
            self._expand.spend(RECOVERY * len(source.data))
            text = without_oddities(source.text(0, len(source.data)))
            plain = Source(text.encode("utf-8", "replace"), source.at, source.row)
            again = parse(plain.data)
            if again.has_error:
                self._recover(plain.text(0, len(plain.data)), scope, streams)
                return None
            root, source = again, plain
        return self._walk(root, source, scope, streams)

    def _recover(self, text: str, scope: ShellScope, streams: Streams) -> None:
        """Read a text with errors part by part: its tree may be anything."""
        self.parsed.problem = "syntax"
        for part in statements(text, self._recovery):
            source = source_of(part)
            root = parse(source.data)
            if root.has_error:
                self.parsed.unparsed.append(part)
                for line in substitutions(part):
                    if line.strip() != text.strip():
                        self.line_within(line, scope.copy())
            self._walk(root, source, scope, Streams(stdin=streams.stdin))

    def _apart(self, read: Callable[[], object]) -> None:
        """Read a script. Its limits are its own, and what is not understood of it does not count."""
        kept = (self._deep, self._in_script, self.parsed.problem, self.parsed.unparsed[:])
        before = (self._expand.left, self._steps)
        if not self._in_script:
            self._expand.left, self._steps = self._for_scripts
        self._in_script = True
        try:
            read()
        except (LimitExceededError, RecursionError):
            pass
        self._deep, self._in_script, self.parsed.problem, self.parsed.unparsed[:] = kept
        if not self._in_script:
            self._for_scripts = (self._expand.left, self._steps)
            self._expand.left, self._steps = before

    def line_within(self, line: str, scope: ShellScope) -> Word | None:
        """Read a line that is not in the text verbatim."""
        return self.line(source_of(line), scope, Streams())

    def _walk(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        if self._deep >= MAX_DEPTH:
            raise LimitExceededError("too deep")
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise LimitExceededError("too long")
        self._deep += 1
        if source.row:
            scope.row = source.row + node.start_point[0]
        try:
            if node.type in self._walks:
                return self._walks[node.type](node, source, scope, streams)
            self._note_redirections(scope, streams)
            if node.type in self._compounds:
                self._compounds[node.type](node, source, scope, streams)
                return None
            if node.type not in SEQUENCES or any(child.type == "((" for child in node.children[:1]):
                self._expand.run_within(node, source, scope)
                return Word("")
            inner = scope.copy() if node.type == "subshell" else scope
            return self._sequence(node.children, source, inner, streams)
        finally:
            self._deep -= 1

    def _note_redirections(self, scope: ShellScope, streams: Streams) -> None:
        if streams.redirections:
            self._evaluator.note(SimpleCommand([], streams, scope))

    def _sequence(self, nodes: Iterable[Node], source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        """Walk statements in order. Loose words, which only an error leaves, are a command too."""
        printed: list[Word | None] = []
        loose: list[Word] = []
        for node in nodes:
            if node.type in LOOSE:
                loose.extend(self._expand.words(node, source, scope))
                continue
            if loose and (node.is_named or node.type in ENDINGS):
                printed.append(self._evaluator.evaluate(loose, scope, Streams(stdin=streams.stdin)))
                loose = []
            if node.is_named and node.type != "comment":
                following = node.next_sibling
                inner = scope
                if following is not None and following.type == "&":
                    inner = scope.copy()
                    inner.beside = True
                printed.append(self._walk(node, source, inner, Streams(stdin=streams.stdin)))
        if loose:
            printed.append(self._evaluator.evaluate(loose, scope, Streams(stdin=streams.stdin)))
        return _concatenated(printed)

    def _list(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        """Walk `a && b || c`, of any length: the tree nests it to the left."""
        chain: list[tuple[str, Node]] = []
        while node.type == "list" and len(node.children) > 2:  # noqa: PLR2004  # left, operator, right
            chain.append((node.children[1].type, node.children[-1]))
            node = node.children[0]
        chain.append(("&&", node))
        printed: list[Word | None] = []
        before = scope.copy()
        for index, (joins, each) in enumerate(reversed(chain)):
            given = streams if index == len(chain) - 1 else Streams(stdin=streams.inherited)
            if joins == "||":
                other = before.copy()
                printed.append(self._walk(each, source, other, given))
                before.merge(scope.copy(), other)
                scope.become(before)
            else:
                before = scope.copy()
                printed.append(self._walk(each, source, scope, given))
        return _concatenated(printed)

    def _pipeline(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        stdin = streams.inherited
        stages = [child for child in node.named_children if child.type != "comment"]
        for stage in stages:
            inner = scope.copy()
            inner.beside = True
            inner.piped = scope.piped or stage != stages[0]
            given = Streams(stdin=stdin)
            if stage == stages[-1]:
                given.redirections, given.words = streams.redirections, streams.words
                given.stdin = streams.stdin if streams.own_stdin else stdin
            stdin = self._walk(stage, source, inner, given)
        return stdin

    def _redirected(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        body = node.child_by_field_name("body")
        given = Streams([*streams.redirections], streams.stdin)
        given.words = [*streams.words]
        following: list[tuple[str, Node]] = []
        for child in [node] if node.type == "file_redirect" else node.named_children:  # `$(< file)` has it alone
            if child != body:
                given.words.extend(left_out(child, source))
                following.extend(redirect(child, source, scope, given, self._expand))
        if body is not None:
            printed = self._walk(body, source, scope, given)
            if body.type in SEQUENCES:
                self._evaluator.write(printed, given, scope)
        elif given.words:
            words, given.words = given.words, []
            printed = self._evaluator.evaluate(words, scope, given)
        else:
            self._note_redirections(scope, given)
            printed = Word("")
        if given.later:
            self._evaluator.evaluate(given.later, scope, Streams())
        for joins, each in following:
            if joins == "|":
                printed = self._pipeline(each, source, scope, Streams(stdin=printed))
            else:
                self._walk(each, source, scope, Streams(stdin=streams.stdin))
                printed = None
        return printed

    def _command(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        printed: list[Word | None] = []
        for words, assignments, given in parts(node, source, scope, streams, self._expand):
            if words or given.words:
                printed.append(self._evaluator.evaluate(words, scope, given, assignments))
            else:
                scope.variables.update(assignments)
                self._note_redirections(scope, given)
        return _concatenated(printed)

    def _branches(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> None:
        """Walk `if` and `while`: the condition and what follows from it, then each branch as if taken."""
        apart = [child for child in node.named_children if child.type in {"elif_clause", "else_clause"}]
        taken = scope.copy()
        self._sequence([child for child in node.children if child not in apart], source, taken, streams)
        branches = [taken]
        for child in apart:
            branches.append(scope.copy())
            self._sequence(child.children, source, branches[-1], streams)
        scope.merge(*branches)

    def _case(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> None:
        """Walk each branch of `case`; of a script only the one that a known word takes."""
        branches = []
        value = node.child_by_field_name("value")
        word = self._expand.word(value, source, scope) if value is not None else Word(UNKNOWN)
        falls = any(each.type in {";&", ";;&"} for child in node.named_children for each in child.children)
        taken, decides = False, self._in_script and not falls and word.known
        for child in node.named_children:
            if child.type == "case_item":
                close = next((i for i, each in enumerate(child.children) if each.type == ")"), -1)
                patterns = [each for each in child.children[: max(close, 0)] if each.is_named]
                texts = [self._expand.word(pattern, source, scope) for pattern in patterns]
                decided = decides and all(each.known for each in texts)
                if taken or (decided and not any(glob(each.text, word.text) for each in texts)):
                    continue
                taken = decided
                branches.append(scope.copy())
                self._sequence(child.children[close + 1 :], source, branches[-1], streams)
            else:
                self._expand.run_within(child, source, scope)
        scope.merge(*branches)

    def _for(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> None:
        variable, *rest = [child for child in node.named_children if child.type != "comment"]
        *listed, body = rest or [variable]
        values = [word for child in listed for word in self._expand.words(child, source, scope)]
        if not values or len(values) > MAX_VALUES:
            values = [Word(UNKNOWN)]
        for value in values:
            scope.variables[source.of(variable)] = value.text
            self._sequence(body.children, source, scope, streams)

    def _loop(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> None:
        """Walk `for ((...))`: its sums, then its body once."""
        for child in node.named_children:
            if child.type in SEQUENCES:
                self._walk(child, source, scope, Streams(stdin=streams.stdin))
            elif child.type == "variable_assignment":
                scope.variables[assigned(child, source, scope, self._expand)[0]] = UNKNOWN
            else:
                self._expand.run_within(child, source, scope)

    def _function(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:  # noqa: ARG002  # one of a table
        """Keep the body; its redirections count at the definition, called or not."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            scope.functions[source.of(name)] = (body, source)
        given = Streams()
        for child in node.children_by_field_name("redirect"):
            redirect(child, source, scope, given, self._expand)
        self._note_redirections(scope, given)
        return Word("")

    def _assignments(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:
        for child in [node] if node.type == "variable_assignment" else node.named_children:
            if child.type == "variable_assignment":
                name, value = assigned(child, source, scope, self._expand)
                scope.variables[name] = value
            else:
                self._expand.run_within(child, source, scope)
        self._note_redirections(scope, streams)
        return Word("")

    def _unset(self, node: Node, source: Source, scope: ShellScope, streams: Streams) -> Word | None:  # noqa: ARG002  # one of a table
        for child in node.named_children:
            scope.variables[source.of(child)] = ""
        return Word("")

    def _substitute(self, node: Node, source: Source, scope: ShellScope) -> Word | None:
        """Read `$(...)`, backticks and `<(...)`; return what is printed, if known."""
        if self._deep >= MAX_DEPTH:
            raise LimitExceededError("too deep")
        self._deep += 1
        inner = scope.copy()
        inner.beside, inner.captured = False, True
        printed = self._sequence(node.children, source, inner, Streams())
        self._deep -= 1
        return printed


def _concatenated(printed: list[Word | None]) -> Word | None:
    """Return what several commands print, if all is known."""
    known = [word for word in printed if word is not None]
    if len(known) != len(printed):
        return None
    shown = [word for word in known if word.text]
    return shown[0] if len(shown) == 1 else Word("".join(word.text for word in shown))
