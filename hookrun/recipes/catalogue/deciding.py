"""Decide about calls that lose something: the target decides, then what the catalogue says for an unknown one."""

from __future__ import annotations

import os

from hookrun.recipes.catalogue.may_lose import catalogue_of
from hookrun.recipes.recipe import words
from hookrun.recipes.shell_recipe import (
    KNOWN_VARIABLES,
    MCP,
    line_directory,
    line_of,
    mcp_tool,
    parse,
    unreadable,
)
from hookrun.shell.prefilter import ENDS
from hookrun.shell.programs import having
from hookrun.shell.simple_command import program_name
from hookrun.shell.words import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.recipes.catalogue.compiled_rows import Row
    from hookrun.recipes.catalogue.tool_call import ToolCall
    from hookrun.recipes.recipe import Recipe
    from hookrun.shell.simple_command import ParsedLine, SimpleCommand

UNDO = {
    "no": "It cannot be undone",
    "backup": "Only a backup brings it back",
    "redo": "It can be made again, with time and care",
}
# What is done, the strictest first.
ACTIONS = ("block", "ask", "allow")
# Programs, and words of each, that are looked at in a part that cannot be read.
MAX_PLACES, MAX_WORDS = 16, 64
ADVICE = "Ask the user to run it, or run it on a copy."
# Words before the name of a script, which is no program's.
SCRIPT = frozenset({"run", "run-script"})


def written_texts(command: SimpleCommand) -> Iterator[tuple[str, str]]:
    """Yield the files that a command writes a known text to, absolute, with the text."""
    from hookrun.shell.evaluate import output_of

    files = [each.target.text for each in command.redirections if each.writes]
    files += command.operands if command.program == "tee" else []
    text = output_of(command.program, command.words, command.stdin) if files and command.words else None
    if text is not None:
        yield from ((absolute(each, command.directory) or "", text.text) for each in files)


def _program(word: str) -> str:
    """Return the program that a word names, without its version: `python3.11`, `prisma@6`."""
    name = program_name(word)
    bare = name.rstrip("0123456789.")
    return bare if bare in having("versioned") else name.partition("@")[0]


class CatalogueGuard:
    """Judges a call by the recipe's part of the catalogue."""

    def __init__(self, recipe: Recipe, context: Mapping[str, object]) -> None:
        self._context = context
        self._catalogue = catalogue_of(recipe)
        self._production, self._tests = words(recipe, "production"), words(recipe, "tests")

    def verdict(self) -> dict[str, object] | None:
        """Return the block of the call or the question about it, None if it may run."""
        line = line_of(self._context)
        found = [] if line is None else self._of_line(line)
        found += self._of_mcp() if mcp_tool(self._context) else []
        action, reason = min(found, key=lambda each: ACTIONS.index(each[0]), default=("allow", ""))
        return None if action == "allow" else {"action": action, "message": reason}

    def _of_line(self, line: str) -> list[tuple[str, str]]:
        parsed = parse(self._context, line)
        found = list(self._of_commands(parsed))
        if found and "$" in line:  # what the agent's variables say of the target
            found = list(self._of_commands(parse(self._context, line, self._variables(line))))
        found += (("block", f"{reason}.") for reason in unreadable(parsed, self._is_harmful))
        return found

    def _variables(self, line: str) -> dict[str, str]:
        """Return the variables that the line uses: the agent's, those of `.env`, or their names if they are unknown."""
        import re

        from hookrun.recipes.catalogue.target_kinds import env_file

        files = env_file(line_directory(self._context))
        used = set(re.findall(r"\$\{?([A-Za-z]\w*)", line)).difference(KNOWN_VARIABLES, ("IFS", "PWD", "OLDPWD"))
        return {name: os.environ.get(name) or files.get(name) or f"${name}" for name in used}

    def _of_commands(self, parsed: ParsedLine) -> Iterator[tuple[str, str]]:
        before: SimpleCommand | None = None
        launchers: dict[str, list[str]] = {}
        written: dict[str, str] = {}
        for command in parsed.commands:
            for call in self._calls(command):
                call.around = [word for each in command.wrappers for word in launchers.get(each, ())]
                call.written = written
                yield from self._of_call(call, command, before)
            written.update(written_texts(command))
            before = command
            if command.program in having("launches"):
                launchers[command.program] = command.arguments

    def _calls(self, command: SimpleCommand) -> Iterator[ToolCall]:
        """Yield a command as a call of a program in the catalogue, and the calls that its words may be."""
        from hookrun.recipes.catalogue.tool_call import ToolCall

        texts = [word.text for word in command.words]
        programs = [_program(text) for text in texts]
        hosts = programs[:1] if having("hosts").keys() & programs[:1] else []
        for start, name in enumerate(programs):
            if start and programs[0] not in having("carries"):
                return
            if programs[0] == "npm" and texts[start - 1] in SCRIPT:
                continue
            known = name if start else command.one_of(self._catalogue.programs()) or name
            inner = [
                ToolCall(known, texts[start + 1 :], row, command.directory, command.variables)
                for row in self._catalogue.rows(known)
            ]
            if start and hosts and " " in texts[start]:  # `docker exec db sh -c LINE`, `heroku run LINE`
                inner += (call for each in parse(self._context, texts[start]).commands for call in self._calls(each))
            for call in inner:
                call.hosts = [*(texts[1:start] if hosts else ()), *call.hosts]
                call.is_remote = bool(call.hosts) or not having("hosts").keys().isdisjoint(command.wrappers)
                yield call

    def _of_call(
        self, call: ToolCall, command: SimpleCommand | None = None, before: SimpleCommand | None = None
    ) -> Iterator[tuple[str, str]]:
        place = command.place if command is not None else ""
        for harm, name in self._harms(call, command, before):
            action, reason = self._decide(call, harm, name)
            yield action, f"{reason}{place}. {ADVICE}"

    def _harms(
        self, call: ToolCall, command: SimpleCommand | None, before: SimpleCommand | None
    ) -> Iterator[tuple[Row, str]]:
        """Yield what a call loses, by its verbs and by the code that it is given, each with a name of it."""
        yield from ((harm, "") for harm in call.harms())
        for text in call.codes(command, before):
            call.code = text
            yield from self._coded(call.row, text)

    def _coded(self, row: Row, text: str) -> Iterator[tuple[Row, str]]:
        if "code" in row:
            from hookrun.recipes.catalogue.code_harms import harms_in  # loads `re`

            yield from harms_in(self._catalogue, row["code"]["language"], text)

    def _decide(self, call: ToolCall, harm: Row, name: str) -> tuple[str, str]:
        """Return what is done about a harm, and why."""
        from hookrun.recipes.catalogue.target_kinds import target_of

        target = target_of(call)
        if target is not None:
            target.places += [name] if harm.get("place") else []
            target.around = call.around
        kind, shown = target.kind(self._production, self._tests) if target is not None else ("unknown", "")
        if kind == "production":
            action = harm.get("production", "block")
        elif kind != "unknown":
            action = "ask" if harm.get("anywhere") else "allow"
        else:
            action = harm.get("do", "ask")
        where = f" ({shown})" if shown else ""
        which = ", in what looks like production" if kind == "production" else ""
        undo = UNDO[harm.get("undo", "backup")]
        instead = f". Instead, {harm['instead']}" if "instead" in harm else ""
        loses = f"would {harm.get('would', 'delete')} {harm['loses'].format(name=name)}"
        return action, f"`{call.shown()}` {loses}{which}{where}. {undo}{instead}"

    def _of_mcp(self) -> list[tuple[str, str]]:
        """Judge a call of an MCP server: its tool is the operand, its arguments are the options."""
        from hookrun.core.fastjson import dumps
        from hookrun.core.globs import glob
        from hookrun.recipes.catalogue.tool_call import ToolCall

        server, _, tool = mcp_tool(self._context).removeprefix(MCP).partition("__")
        given = self._context.get("tool_args")
        arguments = given if isinstance(given, dict) else {}
        options = [f"--server={server}"]
        for name, value in arguments.items():
            values = value if isinstance(value, list) else [value]
            texts = [each if isinstance(each, str) else dumps(each) for each in values]
            options.append(f"--{name}={'; '.join(texts)}")
        found: list[tuple[str, str]] = []
        for row in self._catalogue.rows("mcp"):
            if any(glob(each, f"{server}__{tool}".lower()) for each in row.get("server", ["*"])):
                call = ToolCall(server, [tool.replace("-", "_"), *options], row, line_directory(self._context), {})
                found += self._of_call(call)
        return found

    def _is_harmful(self, part: str) -> bool:
        """Return whether a part of a line that cannot be read as shell may be a call that loses something."""
        from hookrun.recipes.catalogue.tool_call import ToolCall

        texts, names = part.translate(ENDS).split(), self._catalogue.programs()
        places = [(start, name) for start, name in enumerate(map(_program, texts), 1) if name in names]
        if len(places) > MAX_PLACES:
            return True
        for start, name in places:
            words = texts[start : start + MAX_WORDS]
            for row in self._catalogue.rows(name):
                codes = (" ".join(words[at:]) for at in range(len(words)))
                if any(ToolCall(name, words, row, None, {}).harms()) or any(any(self._coded(row, it)) for it in codes):
                    return True
        return False
