"""The shell line that an agent runs: hookrun by absolute paths, and what is said instead when it is gone."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass

import hookrun
from hookrun.config.command_words import FIRES
from hookrun.edit.file_change import FileError

SAFE = re.compile(r"[^\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class HookrunProgram:
    """Where hookrun is: the interpreter and the file that it runs, both absolute paths."""

    python: str
    main: str

    def missing(self) -> str | None:
        """Return the one of the two that is not there any more, or cannot be used; None if all is well."""
        if not os.access(self.python, os.X_OK):
            return self.python
        return None if os.path.isfile(self.main) else self.main


@dataclass(frozen=True, slots=True)
class FireFlags:
    """What a wired line says: for which agent, which event (None: the payload names it), and how.

    `deadline` is seconds. `scope` is "project" in a project's wiring, `home` is named where it is not the account's.
    """

    agent: str
    event: str | None = None
    deadline: float | None = None
    scope: str = "user"
    home: str | None = None

    def arguments(self) -> list[str]:
        """Return the arguments of hookrun."""
        words = ["fire", "--agent", self.agent]
        if self.event is not None:
            words.append(self.event)
        if self.deadline is not None:
            words += ["--deadline", f"{self.deadline:g}"]
        if self.scope != "user":
            words += ["--scope", self.scope]
        if self.home is not None:
            words += ["--home", self.home]
        return words


@dataclass(frozen=True, slots=True)
class FallbackResponse:
    """What a program says to an agent: two texts and an exit status."""

    stdout: str = ""
    stderr: str = ""
    status: int = 0


def this_program() -> HookrunProgram:
    """Return where the running hookrun is. Raises FileError where its path cannot be written into settings.

    The interpreter's link is not followed: it is what makes a virtual environment.
    """
    main = os.path.join(os.path.dirname(os.path.abspath(hookrun.__file__)), "__main__.py")
    program = HookrunProgram(_interpreter(os.path.abspath(sys.executable)), main)
    for path in (program.python, program.main):
        _writable(path)
    return program


def _interpreter(path: str) -> str:
    """Return the name of an interpreter that is the same whether it was started as `python` or `python3`."""
    name = os.path.join(os.path.dirname(path), "python3")
    return name if os.path.exists(name) and os.path.samefile(name, path) else path


def _writable(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        path_shown = path.encode("utf-8", "surrogateescape")
        raise FileError(f"{path_shown!r}: found a path that is not UTF-8, expected one; move it elsewhere") from None
    if not SAFE.fullmatch(path):
        raise FileError(f"{path!r}: found a control character in a path, expected none; move it elsewhere")


def argv(program: HookrunProgram, fires: FireFlags) -> list[str]:
    """Return the command as words. `-I`: nothing of the working directory or the environment is imported."""
    return [program.python, "-I", program.main, *fires.arguments()]


def shell_line(program: HookrunProgram, fires: FireFlags, gone: FallbackResponse) -> str:
    """Return the command for a shell: sh, bash, zsh and fish read it alike.

    Where interpreter or program is gone, the line says `gone` in the agent's own way.
    """
    if fires.home is not None:
        _writable(fires.home)
    quoted = shlex.quote
    words = [f"test -x {quoted(program.python)} && test -f {quoted(program.main)} && "]
    words += ["exec ", shlex.join(argv(program, fires))]
    for text, channel in ((gone.stdout, ""), (gone.stderr, " >&2")):
        if text:
            words.append(f"; printf '%s\\n' {quoted(text.rstrip())}{channel}")
    words.append(f"; exit {gone.status}")
    return "".join(words)


def is_ours(text: object, agent: str) -> bool:
    """Tell whether a command fires hookrun for this agent, whichever hookrun and wherever it was."""
    match = FIRES.search(text) if isinstance(text, str) else None
    return match is not None and match.group(1) == agent


def parse(text: str) -> tuple[HookrunProgram | None, FireFlags]:
    """Return what a line that is ours runs, and what it says; no program where the line is not as `line` writes it."""
    match = FIRES.search(text)
    if match is None:
        raise ValueError(f"{text!r} does not fire hookrun")
    try:
        words = _words(text)
    except ValueError:
        return None, FireFlags(match.group(1))
    words = words[words.index("exec") + 1 :] if "exec" in words else words
    words = words[: words.index(";")] if ";" in words else words
    fire = words.index("fire") if "fire" in words else len(words)
    program = HookrunProgram(words[0], words[2]) if words[1:2] == ["-I"] and words[3:4] == ["fire"] else None
    return program, _fires(match.group(1), words[fire + 1 :])


def _words(text: str) -> list[str]:
    """Return the words of a shell line; `;` is one. Raises ValueError where a quote is left open."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _fires(agent: str, words: list[str]) -> FireFlags:
    values: dict[str, str] = {}
    event = None
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            values[name] = value if equals else next(rest, "")
        elif event is None:
            event = word
    deadline = values.get("--deadline", "")
    seconds = float(deadline) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", deadline) else None
    return FireFlags(agent, event, seconds, values.get("--scope", "user"), values.get("--home"))
