"""Write the file of compiled code for `boot`: the modules that `hookrun fire` needs."""

from __future__ import annotations
import __future__

import ast
import fcntl
import marshal
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import MAGIC_NUMBER, find_spec
from types import CodeType

from hookrun import files
from hookrun.agents import AGENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GROUPS = (
    """hookrun hookrun.__main__ hookrun.fire hookrun.fastjson hookrun.text hookrun.events hookrun.model hookrun.state
    hookrun.context hookrun.conditions hookrun.config hookrun.config.discovery hookrun.fire.invocation
    hookrun.fire.command""",
    "hookrun.audit",
    "hookrun.agents hookrun.agents.formats hookrun.agents.base hookrun.fire.agent",
    "hookrun.agents.patch",
    *(name for name in AGENTS.values() if name.startswith("hookrun.")),
    "hookrun.globs",
    "hookrun.credentials",
    "hookrun.recipes hookrun.shell hookrun.shell.prefilter hookrun.recipes.looks",
    """hookrun.engine hookrun.nesting hookrun.process hookrun.process.child hookrun.process.prepare
    hookrun.process.loop hookrun.process.runner""",
    "hookrun.verdicts",
    "hookrun.process.orphans",
    "hookrun.process.spawn hookrun.process.python_hook hookrun.process.python_state hookrun.process.python_host",
    "hookrun.session",
    "hookrun.recipes.recipe",
    "hookrun.recipes.recipe_state hookrun.recipes.rate_limit",
    "hookrun.files",
    """hookrun.shell.lazy_re hookrun.shell.words hookrun.shell.simple_command hookrun.shell.wrappers
    hookrun.shell.git_call hookrun.shell.named_files hookrun.shell.syntax_tree hookrun.shell.expand
    hookrun.shell.evaluate hookrun.shell.parse_line hookrun.recipes.shell_recipe hookrun.recipes.unseen_code
    hookrun.recipes.git_repository hookrun.recipes.block_destructive_commands hookrun.recipes.no_force_push
    hookrun.recipes.protect_files hookrun.recipes.protect_hooks hookrun.recipes.secret_scan
    hookrun.recipes.commit_message_check hookrun.recipes.package_manager""",
    "hookrun.trust hookrun.trust.store hookrun.trust.approvals",
    "hookrun.trust.hook_files hookrun.trust.digest",
    "hookrun.agents.reply",
    "hookrun.claude hookrun.claude.hook_protocol hookrun.claude.matcher",
    "hookrun.claude.answer",
    "hookrun.server_start",
)
"""The hot modules. A group is loaded together; each module follows what it imports.

A group of more than 128 kB costs more than two: it is read into new memory.
"""

TABLE, HEAD = 24 << 10, 36 << 10
"""Where the table begins, and the code of the first group."""
FORMAT = 4
"""The table's version: raised here and in `boot` with a change."""


def write(package: str, since: int | None = None) -> None:
    """Write the file into the package, unless another process does, or did `since` then. Raises OSError."""
    path = f"{package}/boot.{MAGIC_NUMBER.hex()}.code"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        now = os.stat(path)
        if since is None or not now.st_size or now.st_mtime_ns < since:
            files.sweep(package)  # what killed runs have left
            os.fchmod(lock, 0o644)  # despite the umask: as readable as the sources
            files.atomic_write(path, build(package))
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def build(package: str) -> bytes:
    """Return the file's content: the code of `boot`, the table of groups, and each group's code.

    Raises OSError and SyntaxError.
    """
    *own, code = _compiled(package, "hookrun.boot")
    boot = marshal.dumps(code)
    groups: list[Any] = []
    body = b""
    for names in GROUPS:
        compiled = [_compiled(package, name) for name in names.split()]
        codes = marshal.dumps(tuple(code for *_, code in compiled))  # together: shared parts are in it once
        groups.append([[source for *source, _ in compiled], HEAD + len(body), len(codes)])
        body += codes
    compiled_modules = ("_json", "_socket", "fcntl", "resource", "select")
    found = {name: getattr(find_spec(name), "origin", None) or "" for name in compiled_modules}
    found |= {f"{name}._binding": _binding(name) for name in ("tree_sitter", "tree_sitter_bash")}
    extensions = {name: path for name, path in found.items() if os.path.isfile(path)}
    extensions[""] = f"{sys.executable}".rpartition("/")[0] + f"/{sys.abiflags}"
    table = marshal.dumps([FORMAT, [own], groups, extensions])
    if len(boot) > TABLE or len(table) > HEAD - TABLE:
        raise ValueError("the head is too small")
    return boot.ljust(TABLE, b"\0") + table.ljust(HEAD - TABLE, b"\0") + body


def _binding(package: str) -> str:
    """Return the path of an installed package's compiled module, "" without one."""
    spec = PathFinder.find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    found = PathFinder.find_spec(f"{package}._binding", places) if places else None
    return (found.origin if found is not None else None) or ""


def _compiled(package: str, name: str) -> tuple[str, str, int, int, CodeType]:
    """Return what identifies a module for `boot`, and its code without docstrings and type checkers' parts."""
    path = "/".join(("", *name.split(".")[1:]))
    path += "/__init__.py" if os.path.isdir(package + path) else ".py"
    with open(package + path, "rb") as file:
        status = os.fstat(file.fileno())
        tree = ast.parse(file.read())
    tree.body = [each for each in tree.body if not (isinstance(each, ast.ImportFrom) and each.module == "__future__")]
    tree = _Untyped().visit(tree)
    flags = __future__.annotations.compiler_flag
    code = compile(tree, package + path, "exec", flags=flags, dont_inherit=True, optimize=2)
    return name, path, status.st_mtime_ns, status.st_size, _without_columns(code)


class _Untyped(ast.NodeTransformer):
    """Removes what only type checkers read, a tenth of the code."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:  # as the node
        """Leave out `if TYPE_CHECKING:`."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave out a function's return type."""
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Leave out an argument's type."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Leave out a variable's type."""
        self.generic_visit(node)
        bare = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return ast.copy_location(bare, node)


def _without_columns(code: CodeType) -> CodeType:
    """Return the code with its instructions' lines only, in the form of CPython's `locations.md`."""
    table, last = bytearray(), code.co_firstlineno
    for start, end, line in code.co_lines():
        for at in range(start, end, 16):
            length = min(end - at, 16) // 2 - 1
            if line is None:
                table.append(0xF8 | length)
                continue
            table.append(0xE8 | length)
            number, last = (line - last) * 2 if line >= last else (last - line) * 2 + 1, line
            while number >> 6:
                table.append(64 | number & 63)
                number >>= 6
            table.append(number)
    constants = tuple(_without_columns(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_linetable=bytes(table), co_consts=constants)
