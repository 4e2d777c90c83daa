"""Formats a file that the agent has written, with the tool for its type that is there."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import blake2b
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING

from hookrun.bundles import programs
from hookrun.bundles.edited import Edited, edited
from hookrun.bundles.places import WRITING
from hookrun.bundles.plain_text import visible
from hookrun.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrun.library.context import Context
    from hookrun.library.engine import Engine

log = logging.getLogger("hookrun.bundles")

LARGEST = 8 << 20
"""Bytes: a larger file was made by a program, and is left alone."""
MOST_REMEMBERED = 1024
"""Files of which it is remembered how they were left."""
PRIORITY = 100
"""Early: the hooks after it (tests, checks) see the file as it stays."""
GRACE = 5.0
"""Seconds that the engine's time limit is above that of the formatter."""


@dataclass(frozen=True)
class Formatter:
    """A program that formats a file in place.

    `commands` are run one after the other, each with the file's path as last argument, no shell between. The first word
    of each is looked up: in the project's own `node_modules/.bin` and `.venv/bin`, then on PATH.
    """

    name: str
    endings: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]


PYTHON = (".py", ".pyi")
RUFF_FORMAT = ("ruff", "format", "--force-exclude")

RUFF_WITH_FIXES = Formatter("ruff", PYTHON, (("ruff", "check", "--fix-only", "--force-exclude"), RUFF_FORMAT))
"""Also makes the fixes that ruff holds to be safe. It takes out an import that nothing uses *yet*, too."""

FORMATTERS = (
    Formatter("ruff", PYTHON, (RUFF_FORMAT,)),
    Formatter("black", PYTHON, (("black", "--quiet"),)),
    Formatter(
        "prettier",
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".json", ".css", ".scss", ".less", ".html",
         ".md", ".yaml", ".yml"),
        (("prettier", "--write", "--log-level", "warn"),),
    ),
    Formatter("gofmt", (".go",), (("gofmt", "-w"),)),
    Formatter("rustfmt", (".rs",), (("rustfmt", "--edition", "2021"),)),  # alone it takes the edition to be 2015
    Formatter("shfmt", (".sh", ".bash"), (("shfmt", "-w"),)),
    Formatter("clang-format", (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), (("clang-format", "-i"),)),
    Formatter(
        "biome",
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".json"),
        (("biome", "format", "--write"),),
    ),
    Formatter("dart", (".dart",), (("dart", "format"),)),
    Formatter("google-java-format", (".java",), (("google-java-format", "--replace"),)),
    Formatter("ktlint", (".kt", ".kts"), (("ktlint", "--format"),)),
    Formatter("mix", (".ex", ".exs"), (("mix", "format"),)),
    Formatter("stylua", (".lua",), (("stylua",),)),
    Formatter("taplo", (".toml",), (("taplo", "format"),)),
    Formatter("terraform", (".tf", ".tfvars"), (("terraform", "fmt"),)),
    Formatter("zig", (".zig",), (("zig", "fmt"),)),
)  # fmt: skip
"""Of those for a file's ending, the first whose programs are all found is used."""


@dataclass(frozen=True)
class _Before:
    """A file as it was before it was formatted."""

    content: bytes
    mode: int


class FormatOnEdit:
    """Format each file that the agent writes or edits, after `file_changed` and `post_tool_use`.

    Only regular files in the repository of the working directory (without one: in that directory) are touched; a link
    that leads out of it is not followed. The model is told (`additional_context`) when formatting has changed a file,
    and when it failed: with the end of the formatter's stderr, and the file as it was before. Where the file then has
    text that it did not have before, perhaps because somebody has saved it meanwhile, it is left so, and what it held
    before is kept beside it (`.NAME.*.before`). The person is told once for each type of file that no formatter for it
    is there (`system_message`). Files over 8 MiB are left alone.

    Args:
        formatters: Instead of `FORMATTERS`; `(RUFF_WITH_FIXES, *FORMATTERS)` puts one of your own first.
        timeout: Seconds for one file; then the formatter is killed with its process group.
        project_tools: Whether programs out of the project's own directories are run. They are a stranger's code where
            the project is a stranger's.
        name: The name of the hooks in the engine.

    >>> from hookrun.library.event_contexts import FileChanged
    >>> formatting = FormatOnEdit(timeout=10)
    >>> asyncio.run(formatting.format(FileChanged(file_path="/nowhere/notes.txt"))) is None
    True
    """

    def __init__(
        self,
        formatters: Sequence[Formatter] | None = None,
        timeout: float = 30.0,
        *,
        project_tools: bool = True,
        name: str = "format-on-edit",
    ) -> None:
        self.formatters = FORMATTERS if formatters is None else tuple(formatters)
        self.timeout = timeout
        self.project_tools = project_tools
        self.name = name
        self._left: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._running: dict[str, Future[None]] = {}
        self._missing: set[str] = set()

    def register(self, engine: Engine) -> None:
        """Register for `file_changed`, and for `post_tool_use` of the tools that write."""
        for event, matcher in (("file_changed", None), ("post_tool_use", WRITING)):
            engine.register(
                event,
                self.format,
                name=f"{self.name}-{event}",
                matcher=matcher,
                priority=PRIORITY,
                timeout=self.timeout + GRACE,
                on_failure="continue",
                description="format the file with the tool for its type",
            )

    async def format(self, ctx: Context) -> Verdict | None:
        """Format the file that the context is about; return what there is to tell, None if nothing."""
        if ctx.tool_result_error or (file := edited(ctx)) is None:
            return None
        ending = file.ending
        fitting = [each for each in self.formatters if ending in each.endings]
        if not fitting:
            return None
        for formatter in fitting:
            if (commands := self._commands(formatter, file)) is not None:
                return await self._one_at_a_time(file, formatter.name, commands)
        if ending in self._missing:
            return None
        self._missing.add(ending)
        names = " or ".join(each.name for each in fitting)
        return Verdict(system_message=f"{ending} files are not formatted: {names} was not found")

    def _commands(self, formatter: Formatter, file: Edited) -> list[list[str]] | None:
        """Return the command lines of a formatter, None where one of its programs is not there."""
        path = file.search_path(project_tools=self.project_tools)
        commands = []
        for program, *options in formatter.commands:
            if (found := shutil.which(program, path=path)) is None:
                return None
            commands.append([found, *options, file.path])
        return commands

    async def _one_at_a_time(self, file: Edited, name: str, commands: list[list[str]]) -> Verdict | None:
        """Format, unless another event about the same change has seen to it, or does so now: that is waited for."""
        mine: Future[None] = Future()
        while (other := self._running.setdefault(file.path, mine)) is not mine:
            await asyncio.shield(asyncio.wrap_future(other))  # handlers may run in several threads, with a loop each
        try:
            if (state := _state(file.path)) is None or self._left.get(file.path) == state[0]:
                return None
            return await self._run(file, name, commands, _Before(state[1], _mode(file.path)))
        finally:
            del self._running[file.path]
            mine.set_result(None)

    async def _run(self, file: Edited, name: str, commands: list[list[str]], before: _Before) -> Verdict | None:
        problem: str | None = "cancelled"
        kept = None
        try:
            problem = await self._problem(commands, file)
        finally:
            if problem is not None:
                kept = _undo(file.path, before)
            if kept is None and (state := _state(file.path)) is not None:
                self._remember(file.path, state[0])
        if kept is not None:
            where = visible(os.path.basename(kept))
            return Verdict.with_context(
                f"{name} could not format {file.shown}, which has changed meanwhile and is left as it is now;"
                f" what it held before is beside it, in {where}: {problem}"
            )
        if problem is not None:
            return Verdict.with_context(
                f"{name} could not format {file.shown}, which is left as it was written: {problem}"
            )
        if state is None or state[1] == before.content:
            return None
        return Verdict.with_context(f"formatted {file.shown} with {name}")

    async def _problem(self, commands: list[list[str]], file: Edited) -> str | None:
        """Run the commands; return what went wrong with one of them, None if nothing."""
        end = asyncio.get_running_loop().time() + self.timeout
        for command in commands:
            left = max(0.0, end - asyncio.get_running_loop().time())
            try:
                ended = await programs.run(command, seconds=left, cwd=file.root)
            except OSError as error:
                return f"{command[0]} could not be started: {error.strerror}"
            if ended.exit_code is None:
                return f"it had not ended after {self.timeout:g} s and was killed\n{ended.output}".rstrip()
            if ended.exit_code != 0:
                return f"exit status {ended.exit_code}\n{ended.output}".rstrip()
        return None

    def _remember(self, path: str, state: tuple[int, bytes]) -> None:
        self._left[path] = state
        self._left.move_to_end(path)
        while len(self._left) > MOST_REMEMBERED:
            self._left.popitem(last=False)


def _state(path: str) -> tuple[tuple[int, bytes], bytes] | None:
    """Return when a file was written and what its bytes come to, and the bytes; None where it is not to be formatted.

    Both count: the same bytes written again are another change, whose problems are told again.
    """
    try:
        info = os.stat(path)
        if not S_ISREG(info.st_mode) or info.st_size > LARGEST:
            return None
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    return (info.st_mtime_ns, blake2b(content, digest_size=16).digest()), content


def _mode(path: str) -> int:
    return S_IMODE(os.stat(path).st_mode)


def _undo(path: str, before: _Before) -> str | None:
    """Put back what a formatter that did not come to its end has left half done.

    Text that was not there before may be somebody's who saved the file meanwhile: it stays, and what was there before
    is kept beside it. Returns where, None where it was put back.
    """
    state = _state(path)
    if state is not None and state[1] == before.content:
        return None
    if (state is None and os.path.lexists(path)) or (state is not None and not _is_left_of(state[1], before.content)):
        directory, name = os.path.split(path)
        fd, copy = tempfile.mkstemp(prefix=f".{name}.", suffix=".before", dir=directory)
        with os.fdopen(fd, "wb") as file:
            file.write(before.content)
        log.warning("hookrun: %s has changed while it was formatted; what it held before is in %s", path, copy)
        return copy
    with open(path, "wb") as file:
        file.write(before.content)
        os.fchmod(file.fileno(), before.mode)
    return None


def _is_left_of(content: bytes, before: bytes) -> bool:
    """Tell whether the content is what was there before up to some place, but for white space."""
    return b"".join(before.split()).startswith(b"".join(content.split()))
