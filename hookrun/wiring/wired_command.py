"""Write and read the shell line that an agent runs: hookrun by absolute paths, and the answer when it is gone."""

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
    """The interpreter and the file that it runs, both absolute paths."""

    python: str
    main: str

    def missing(self) -> str | None:
        """Return the one of the two that is gone or cannot be used; None if neither is."""
        if not os.access(self.python, os.X_OK):
            return self.python
        return None if os.path.isfile(self.main) else self.main


@dataclass(frozen=True, slots=True)
class FireFlags:
    """The arguments of `hookrun fire` in a line: the agent, the event (None: the payload names it) and options.

    `deadline` is seconds. `scope` is "project" in a project's settings, `home` is given where it is not the account's.
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
    """What the line prints, with exit status 0, if hookrun has been moved or removed."""

    stdout: str = ""
    stderr: str = ""


def this_program() -> HookrunProgram:
    """Return the running hookrun. Raises FileError where its path cannot be written into settings.

    The interpreter's link is not followed: a virtual environment is made by it.
    """
    # A path, not a name to find on PATH, and __main__.py, not pip's script: it exists exactly as long as hookrun does,
    # and finds its package wherever that lies, also under `python -I`.
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


def argv(program: HookrunProgram, flags: FireFlags) -> list[str]:
    """Return the command as words. `-I`: nothing of the working directory or the environment is imported."""
    return [program.python, "-I", program.main, *flags.arguments()]


def shell_line(program: HookrunProgram, flags: FireFlags, gone: FallbackResponse) -> str:
    """Return the command line, which sh, bash, zsh and fish read alike; it prints `gone` if the program is missing."""
    if flags.home is not None:
        _writable(flags.home)
    quoted = shlex.quote
    words = [f"test -x {quoted(program.python)} && test -f {quoted(program.main)} && "]
    words += ["exec ", shlex.join(argv(program, flags))]
    for text, channel in ((gone.stdout, ""), (gone.stderr, " >&2")):
        if text:
            words.append(f"; printf '%s\\n' {quoted(text.rstrip())}{channel}")
    words.append("; exit 0")
    return "".join(words)


def is_ours(text: object, agent: str) -> bool:
    """Return whether a command fires hookrun for this agent, whichever hookrun and wherever it was."""
    match = FIRES.search(text) if isinstance(text, str) else None
    return match is not None and match.group(1) == agent


def parse(text: str) -> tuple[HookrunProgram | None, FireFlags]:
    """Return the program and the flags of a line of hookrun's; no program where `shell_line` would not write it so."""
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
    return program, _flags(match.group(1), words[fire + 1 :])


def _words(text: str) -> list[str]:
    """Return the words of a shell line; `;` is one. Raises ValueError where a quote is left open."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _flags(agent: str, words: list[str]) -> FireFlags:
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
