"""The recipe `format-on-edit`: formats each file that the agent writes or edits."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass
from hashlib import blake2b
from stat import S_IMODE, S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from hookrun import Context, Verdict
from hookrun.core.text import escape, printable_lines
from hookrun.events import FileChanged, PostToolUse
from hookrun.process.program import ProgramError, run_program
from hookrun.recipes import recipe_state, turn_files
from hookrun.recipes.paths import WRITING_TOOLS, EditedFile, edited_file, project_tools_allowed
from hookrun.recipes.recipe import Option, Recipe, known_words, number, yes
from hookrun.recipes.turn_files import JAVASCRIPT, PYTHON, SHELL, YAML

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrun import Engine

log = logging.getLogger("hookrun.recipes")

# Larger files are generated and not formatted.
MAX_BYTES = 8 << 20
# Files remembered with their state after formatting.
MAX_REMEMBERED = 1024
# The last bytes of a formatter's stderr, for the model.
MAX_STDERR = 2000
# Early: later hooks (tests, checks) see the formatted file.
PRIORITY = 100
# Seconds by which the engine's timeout exceeds the formatter's.
GRACE = 5.0


class Formatter(NamedTuple):
    """A program that formats a file in place.

    `commands` are run one after the other, each with the file's path as its last argument, without a shell. Their first
    words are looked up in the project's own `node_modules/.bin` and `.venv/bin`, then on PATH.
    """

    name: str
    endings: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]


RUFF_FORMAT = ("ruff", "format", "--force-exclude")

# Also applies the fixes that ruff considers safe. That removes imports that are not used *yet*.
RUFF_WITH_FIXES = Formatter("ruff", PYTHON, (("ruff", "check", "--fix-only", "--force-exclude"), RUFF_FORMAT))

# The first one whose programs are all installed is used for a file's extension.
FORMATTERS = (
    Formatter("ruff", PYTHON, (RUFF_FORMAT,)),
    Formatter("black", PYTHON, (("black", "--quiet"),)),
    Formatter(
        "prettier",
        (*JAVASCRIPT, ".json", ".css", ".scss", ".less", ".html", ".md", *YAML),
        (("prettier", "--write", "--log-level", "warn"),),
    ),
    Formatter("gofmt", (".go",), (("gofmt", "-w"),)),
    Formatter("rustfmt", (".rs",), (("rustfmt", "--edition", "2021"),)),  # its own default is 2015
    Formatter("shfmt", SHELL, (("shfmt", "-w"),)),
    Formatter("clang-format", (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), (("clang-format", "-i"),)),
    Formatter("biome", (*JAVASCRIPT, ".json"), (("biome", "format", "--write"),)),
    Formatter("dart", (".dart",), (("dart", "format"),)),
    Formatter("google-java-format", (".java",), (("google-java-format", "--replace"),)),
    Formatter("ktlint", (".kt", ".kts"), (("ktlint", "--format"),)),
    Formatter("mix", (".ex", ".exs"), (("mix", "format"),)),
    Formatter("stylua", (".lua",), (("stylua",),)),
    Formatter("taplo", (".toml",), (("taplo", "format"),)),
    Formatter("terraform", (".tf", ".tfvars"), (("terraform", "fmt"),)),
    Formatter("zig", (".zig",), (("zig", "fmt"),)),
)

RECIPE = Recipe(
    "format-on-edit",
    "Format each file that the agent writes or edits, and report the changed lines to the model.",
    options=(
        Option(
            "formatters",
            " ".join(each.name for each in FORMATTERS),
            "Formatters to use; for each file type the first installed one runs.",
            list_of=[each.name for each in FORMATTERS],
        ),
        Option("fixes", "no", "With `yes`, ruff also applies its safe fixes, such as removing unused imports.", yes),
        *turn_files.OPTIONS,
    ),
    catches="""
        - Formats files changed by the write and edit tools, in the repository of the working directory.
        - Restores a file that a failed formatter truncated, and reports the failure to the model. If the file has new
          text, which you may have saved meanwhile, it stays and the earlier content is saved as `.NAME.*.before`.
        - Notifies you once per session if no formatter is installed for a file type.
        - With `at=stop`, each file once at the end of the turn that edited it; then you get the messages.
    """,
    misses="""
        - Files written by shell commands.
        - Files over 8 MiB, outside the repository, or of a type that no formatter handles.
        - A formatter's config can be code (prettier plugins) and belongs to the project.
    """,
)


@dataclass(eq=False)
class FormatOnEdit:
    """Format each file that the agent writes or edits, after `file_changed` and `post_tool_use`.

    Only regular files in the repository of the working directory (without one, in that directory) are formatted; a link
    out of it is not followed. The model is informed (`additional_context`) when formatting has changed a file, and when
    it failed, with the end of the formatter's stderr; the file is then restored. If it has new text meanwhile, perhaps
    because the user has saved it, it stays as it is, and its earlier content is saved beside it (`.NAME.*.before`). The
    user is notified once for each type of file without an installed formatter (`system_message`). Files over 8 MiB are
    not formatted.

    Args:
        formatters: Instead of `FORMATTERS`; `(RUFF_WITH_FIXES, *FORMATTERS)` puts another one first.
        timeout: Seconds for one file; then the formatter is killed with everything it started.
        project_tools: Whether programs out of the project's own directories may be run. In an untrusted project they
            are untrusted code.
        name: The name of the hooks in the engine.

    >>> from hookrun.events import FileChanged
    >>> formatting = FormatOnEdit(timeout=10)
    >>> asyncio.run(formatting.format(FileChanged(file_path="/nowhere/notes.txt"))) is None
    True
    """

    formatters: Sequence[Formatter] | None = None
    timeout: float = 30.0
    _: KW_ONLY
    project_tools: bool = True
    name: str = "format-on-edit"

    def __post_init__(self) -> None:
        self.formatters = FORMATTERS if self.formatters is None else tuple(self.formatters)
        self._left: dict[str, tuple[int, bytes]] = {}
        self._running: dict[str, Future[None]] = {}
        self._missing: set[str] = set()

    def register(self, engine: Engine) -> None:
        """Register for `file_changed`, and for `post_tool_use` of the tools that write."""
        for event, matcher in ((FileChanged, None), (PostToolUse, WRITING_TOOLS)):
            engine.register(
                event,
                self.format,
                name=f"{self.name}-{event.event_name}",
                matcher=matcher,
                priority=PRIORITY,
                timeout=self.timeout + GRACE,
                on_failure="continue",
                description="format files that were written or edited",
            )

    async def format(self, ctx: Context) -> Verdict | None:
        """Format the file of a context; return a message for the model or the user, None if there is none."""
        if ctx.tool_result_error or (file := edited_file(ctx)) is None:
            return None
        fitting = [each for each in self.formatters or () if file.ending in each.endings]
        if not fitting:
            return None
        for formatter in fitting:
            if (commands := self._commands(formatter, file)) is not None:
                return await self._one_at_a_time(file, formatter.name, commands)
        if file.ending in self._missing:
            return None
        self._missing.add(file.ending)
        names = " or ".join(each.name for each in fitting)
        return Verdict(system_message=f"{file.ending} files are not formatted: {names} was not found")

    def _commands(self, formatter: Formatter, file: EditedFile) -> list[list[str]] | None:
        """Return a formatter's command lines, None if a program is not installed."""
        path = file.search_path(project_tools=self.project_tools)
        commands = []
        for program, *options in formatter.commands:
            if (found := shutil.which(program, path=path)) is None:
                return None
            commands.append([found, *options, file.path])
        return commands

    async def _one_at_a_time(self, file: EditedFile, name: str, commands: list[list[str]]) -> Verdict | None:
        """Format, unless another event of the same change has done so or is doing so: then wait for it."""
        mine: Future[None] = Future()
        while (other := self._running.setdefault(file.path, mine)) is not mine:
            await asyncio.shield(asyncio.wrap_future(other))  # handlers may run in many threads and loops
        try:
            if (state := _state(file.path)) is None or self._left.get(file.path) == state[0]:
                return None
            mode = S_IMODE(os.stat(file.path).st_mode)
            return await self._format(file, name, commands, before=state[1], mode=mode)
        finally:
            del self._running[file.path]
            mine.set_result(None)

    async def _format(
        self, file: EditedFile, name: str, commands: list[list[str]], *, before: bytes, mode: int
    ) -> Verdict | None:
        problem: str | None = "cancelled"
        saved = None
        try:
            problem = await self._run_all(commands, file)
        finally:
            if problem is not None:
                saved = _restore(file.path, before, mode)
            if saved is None and (state := _state(file.path)) is not None:
                self._left.pop(file.path, None)
                self._left[file.path] = state[0]  # the newest
                if len(self._left) > MAX_REMEMBERED:
                    del self._left[next(iter(self._left))]
        if saved is not None:
            where = escape(os.path.basename(saved))
            return Verdict.with_context(
                f"{name} could not format {file.shown}, which changed meanwhile and is left alone;"
                f" its earlier content is in {where}: {problem}"
            )
        if problem is not None:
            return Verdict.with_context(f"{name} could not format {file.shown}, which is unchanged: {problem}")
        if state is None or state[1] == before:
            return None
        return Verdict.with_context(f"formatted {file.shown} with {name}")

    async def _run_all(self, commands: list[list[str]], file: EditedFile) -> str | None:
        """Run the commands; return the first failing one's error."""
        end = asyncio.get_running_loop().time() + self.timeout
        for command in commands:
            left = max(0.0, end - asyncio.get_running_loop().time())
            try:
                result = await run_program(command, timeout=left, cwd=file.root, max_output=MAX_STDERR)
            except ProgramError as error:
                return f"cannot start {command[0]}: {error}"
            output = printable_lines(result.output).strip()
            if result.exit_code is None:
                return f"timed out after {self.timeout:g} s\n{output}".rstrip()
            if result.exit_code != 0:
                return f"exit status {result.exit_code}\n{output}".rstrip()
        return None


def _state(path: str) -> tuple[tuple[int, bytes], bytes] | None:
    """Return a file's time, digest and content; None if it is not to be formatted.

    The same content written again is another change, with problems reported again: hence the time.
    """
    try:
        info = os.stat(path)
        if not S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
            return None
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    return (info.st_mtime_ns, blake2b(content, digest_size=16).digest()), content


def _restore(path: str, before: bytes, mode: int) -> str | None:
    """Restore a file cut off by a failed formatter.

    New text, perhaps saved by the user meanwhile, stays, with the earlier content saved beside it: returns that path,
    None if the file was restored.
    """
    state = _state(path)
    if state is not None and state[1] == before:
        return None
    is_cut_off = state is not None and b"".join(before.split()).startswith(b"".join(state[1].split()))
    if not is_cut_off and (state is not None or os.path.lexists(path)):
        directory, name = os.path.split(path)
        fd, copy = tempfile.mkstemp(prefix=f".{name}.", suffix=".before", dir=directory)
        with os.fdopen(fd, "wb") as file:
            file.write(before)
        log.warning("hookrun: %s changed while it was being formatted; its earlier content is in %s", path, copy)
        return copy
    with open(path, "wb") as file:
        file.write(before)
        os.fchmod(file.fileno(), mode)
    return None


# The file is written already: a failing formatter blocks nothing.
@RECIPE.hook(
    "post_tool_use",
    "Format files that were written or edited",
    matcher="write|edit",
    priority=100,
    timeout=60,
    exclusive=True,
    on_failure="continue",
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Format the file; return a message for the model or the user, None if there is none."""
    known = {each.name: each for each in (*FORMATTERS, *((RUFF_WITH_FIXES,) if yes(RECIPE, "fixes") else ()))}
    chosen = [known[name] for name in known_words(RECIPE, "formatters")]
    project_tools = project_tools_allowed(RECIPE)
    formatting = FormatOnEdit(chosen, number(RECIPE, "seconds"), project_tools=project_tools)
    given = Context.of(dict(context))
    file = edited_file(given)
    if file is None or turn_files.is_kept(RECIPE, context, file.path):
        return None
    before = _lines_of(file.path)
    try:
        verdict = asyncio.run(formatting.format(given))
    except OSError as error:
        raise SystemExit(f"format-on-edit: cannot restore {file.shown}: {error.strerror}") from None
    if verdict is None:
        return None
    if verdict.system_message is not None:
        hint = "" if project_tools else " (the project's own programs do not run: see the option `project_tools`)"
        return recipe_state.once(
            context, f"format-on-edit {file.ending}", f"format-on-edit: {verdict.system_message}{hint}"
        )
    message = verdict.additional_context or ""
    return {"action": "continue", "additional_context": message + _changed(before, _lines_of(file.path))}


@RECIPE.hook(
    "stop",
    "Format the files that the turn has edited",
    name="format-on-edit-at-stop",
    priority=100,
    timeout=turn_files.TIMEOUT,
    exclusive=True,
    on_failure="continue",
)
def check_turn(context: Mapping[str, object]) -> dict[str, object] | None:
    """Format the files that were left to the end of the turn; return the messages for the user, if any."""
    return turn_files.handle(RECIPE, context, check)


def _lines_of(path: str) -> list[bytes]:
    state = _state(path)
    return state[1].split(b"\n") if state is not None else []


def _changed(before: list[bytes], after: list[bytes]) -> str:
    """Return the range of changed lines as text for the model, "" without any."""
    if before == after:
        return ""
    shorter = min(len(before), len(after))
    first = next((number for number in range(shorter) if before[number] != after[number]), shorter)
    same = next((number for number in range(shorter - first) if before[-1 - number] != after[-1 - number]), None)
    last = len(after) - (shorter - first if same is None else same)
    return f"; lines {first + 1} to {max(last, first + 1)} changed: read them again before you edit them"
