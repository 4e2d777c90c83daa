"""Find the slips that can be made in some lines of a module: plausible small changes of one line.

Docstrings, annotations, messages of exceptions, what is logged and what only type checkers read stay as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from textwrap import shorten
from typing import NamedTuple

PAIRS = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot))
SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {**dict(PAIRS), **{two: one for one, two in PAIRS}}
TYPES = frozenset({"dict", "frozenset", "list", "set", "tuple", "type"})
LOGGING = frozenset({"debug", "info", "warning", "exception"})
PROSE = re.compile(r"[A-Za-z]{2,} [a-z]+ [a-z]+ [a-z]+")
IN_FUNCTION, OUTSIDE, IN_VALUE, IN_TABLE, IN_WORDS = range(5)
"""Where an expression is. A table is a collection, or a text that is split, in a value of a module or a class."""

Change = tuple[str, ast.AST, ast.AST | None]
"""A kind of slip, a node's replacement, and the part that is dropped from it, if one is."""


class Slip(NamedTuple):
    """A text for the bytes from `start` to `end` of a file; `before` and `after` show what changes."""

    path: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the slip."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def slips(path: str, source: bytes, lines: set[int]) -> Iterator[Slip]:
    """Yield the slips that can be made in some lines of a file."""
    starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]
    for node, (kind, new, dropped) in _changes_below(ast.parse(source), OUTSIDE):
        at: ast.expr = dropped or node  # type: ignore[assignment]  # whatever has a line
        last = at.lineno if isinstance(at, ast.stmt) else at.end_lineno or at.lineno
        if changed := lines.intersection(range(at.lineno, last + 1)):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            text = ast.unparse(new) if isinstance(new, ast.stmt) else f"({ast.unparse(new)})"
            before, after = (shorten(ast.unparse(each), 80, placeholder="...") for each in (at, new))
            yield Slip(path, min(changed), kind, before, "(dropped)" if dropped else after, start, end, text)


def _changes_below(node: ast.AST, where: int) -> Iterator[tuple[ast.expr | ast.stmt, Change]]:
    if isinstance(node, ast.expr | ast.stmt):
        yield from ((node, change) for change in _changes(node, where))
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            where = IN_FUNCTION
        case ast.Assign() | ast.AnnAssign() if where == OUTSIDE:
            where = IN_VALUE
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="split")) if where != IN_FUNCTION:
            where = IN_WORDS
        case ast.Call() | ast.Dict() | ast.List() | ast.Set() | ast.Tuple() if where == IN_VALUE:
            where = IN_TABLE
    for child in _children(node):
        yield from _changes_below(child, where)


def _children(node: ast.AST) -> Iterable[ast.AST]:  # noqa: PLR0911  # a table
    """Return the parts that matter: no annotations, types, or texts for people."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
        case ast.If() if ast.unparse(node.test).endswith("TYPE_CHECKING"):
            return node.orelse
        case ast.Assign(targets=[ast.Name(id="__all__" | "TYPE_CHECKING")]) | ast.JoinedStr() | ast.Raise():
            return ()
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return filter(None, (node.value,))
        case ast.Subscript() if (name := ast.unparse(node.value).rpartition(".")[2]).istitle() or name in TYPES:
            return ()
        case ast.Expr() if _is_text(node.value):
            return ()
    return ast.iter_child_nodes(node)


def _is_text(node: ast.expr) -> bool:
    """Return whether an expression is a docstring, or writes into a log."""
    is_log = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in LOGGING
    return is_log or isinstance(node, ast.Constant)


def _changes(node: ast.expr | ast.stmt, where: int) -> Iterator[Change]:  # noqa: C901, PLR0912  # a table
    match node:
        case ast.Compare(ops=operators):
            for number, operator in enumerate(operators):
                swapped = [*operators[:number], SWAPPED[type(operator)](), *operators[number + 1 :]]
                yield "comparison", ast.Compare(node.left, swapped, node.comparators), None
        case ast.BoolOp(op=operator):
            yield "operator", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), node.values), None
        case ast.BinOp(op=ast.BitOr()) if where == IN_FUNCTION:  # of sets, flags, types of `isinstance`
            yield from (("operator", side, None) for side in (node.left, node.right))
        case ast.UnaryOp(op=ast.Not()):
            yield "not", node.operand, None
        case ast.Call():
            for keyword in (each for each in node.keywords if each.arg is not None):
                rest = [each for each in node.keywords if each is not keyword]
                yield "keyword", ast.Call(node.func, node.args, rest), keyword
        case ast.List() | ast.Tuple() | ast.Set() if not isinstance(getattr(node, "ctx", None), ast.Store):
            for each in node.elts:
                if isinstance(each, ast.Constant) or (isinstance(each, ast.Name) and each.id.isupper()):
                    left = [other for other in node.elts if other is not each]
                    yield "element", ast.Set(left) if isinstance(node, ast.Set) else type(node)(left, ast.Load()), each
        case ast.Dict():
            for key in (each for each in node.keys if isinstance(each, ast.Constant)):
                rows = [row for row in zip(node.keys, node.values, strict=True) if row[0] is not key]
                yield "row", ast.Dict([row[0] for row in rows], [row[1] for row in rows]), key
        case ast.Constant(value=bool(value)):
            yield "boolean", ast.Constant(not value), None
        case ast.Constant(value=int(value) | float(value)):
            yield from (("number", ast.Constant(value + step), None) for step in (1, -1))
        case ast.Constant(value=str(text)) if where == IN_WORDS or (where == IN_TABLE and not PROSE.search(text)):
            yield from (("string", ast.Constant(shorter), None) for shorter in _shorter(text))
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return", ast.Return(ast.Constant(None)), None
        case ast.Continue():
            yield "loop", ast.Break(), None
        case ast.Expr() if _is_text(node.value):
            return
        case (ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete()
            | ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_])):  # fmt: skip
            yield "statement", ast.Pass(), None


def _shorter(text: str) -> list[str]:
    """Return a string without one of its words, or without the last letter of its only one."""
    words = text.split()
    return [" ".join(words[:n] + words[n + 1 :]) for n in range(len(words))] if words[1:] else [text[:-1]][: len(text)]
