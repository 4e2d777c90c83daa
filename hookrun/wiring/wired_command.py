"""Write and read the shell line that an agent runs: hookrun, and the answer if hookrun is missing.

In the user's settings the line names a launcher in hookrun's data directory, or hookrun by absolute paths where there
can be no launcher; in a project's it finds hookrun where it is run.

A line is ours only if `install` could have written it, to the byte. Any other line that calls `hookrun fire` is
handwritten: it counts as an installation, but is neither changed nor run.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from functools import cached_property

import hookrun
from hookrun import launcher_file
from hookrun.edit.file_change import FileError
from hookrun.shell import fire_call
from hookrun.shell.fire_call import LAUNCHER_PATH, fire_calls, launcher_arguments

SAFE = re.compile(r"[^\x00-\x1f\x7f]+")
AGENT = re.compile(r"[a-z][a-z0-9_-]*")
EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")

QUOTED = r"""(?:[\w@%+=:,./-]+|'(?:[^']|'"'"')*')"""
FALLBACK = re.compile(rf"(?:; printf '%s\\n' {QUOTED})?(?:; printf '%s\\n' {QUOTED} >&2)?; exit 0", re.ASCII)
"""What a line of ours prints if hookrun is missing: any text, quoted as `shlex.quote` does it."""

EXEC = "exec "

OPTIONS = frozenset({"--agent", "--deadline", "--home", "--scope"})
"""The options of `hookrun fire` that install writes."""

START = (
    "import sys;from _frozen_importlib_external import SourceFileLoader as S;del sys.argv[0];__file__=sys.argv[0];"
    'exec(S("__main__",__file__).get_code("__main__"))'
)
"""Runs the file that the next argument names as a script, but with its code from `__pycache__`, as a module has it."""

PACKAGE_DOOR = "/hookrun/__main__.py"
"""How the path of hookrun's program ends."""

VARIABLE = re.compile(r"[A-Z][A-Z_]*")

WARN, BLOCK = "warn", "block"
"""What a portable line does without hookrun: warn only, or also block the agent's tools."""


@dataclass(frozen=True, slots=True)
class HookrunProgram:
    """The interpreter and the file that it runs, both absolute paths."""

    python: str
    main: str

    def missing(self) -> str | None:
        """Return the one of the two that is missing or unusable; None if neither is."""
        if not os.access(self.python, os.X_OK):
            return self.python
        return None if os.path.isfile(self.main) else self.main

    @classmethod
    def started_by(cls, command: list[str]) -> HookrunProgram:
        """Return the program of a command with which a launcher starts it, of whichever version of hookrun."""
        return cls(command[0], os.path.join(os.path.dirname(command[-2]), "__main__.py"))

    def cold_command(self) -> list[str]:
        """Return the words with which a launcher starts it, up to `fire`."""
        start = os.path.join(os.path.dirname(self.main), "start.py")
        if os.path.isfile(start):
            return [self.python, "-I", "-S", "-X", "utf8", "-c", START, start, "fire"]
        return [self.python, "-I", self.main, "fire"]


def program_of(launcher: str) -> HookrunProgram | None:
    """Return the program that a launcher starts; None where the file beside it does not say it."""
    found = launcher_file.read(os.path.join(os.path.dirname(launcher), launcher_file.NAME))
    if found is None or found.command[-1] != "fire" or len(found.command) < len(("python", "file", "fire")):
        return None
    return HookrunProgram.started_by(found.command)


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

    def launcher_arguments(self) -> list[str]:
        """Return the arguments of the agent's launcher, which adds `fire` and the agent itself."""
        return self.arguments()[len(("fire", "--agent", self.agent)) :]


def fallback_commands(stdout: str = "", stderr: str = "") -> str:
    """Return the end of a line: the commands that print these and exit, if hookrun has been moved or removed."""
    channels = ((stdout, ""), (stderr, " >&2"))
    printed = [f"printf '%s\\n' {shlex.quote(text.rstrip())}{to}" for text, to in channels if text]
    return "; ".join([*printed, "exit 0"])


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
        raise FileError(f"{path_shown!r}: the path is not valid UTF-8\nhint: move it elsewhere") from None
    if not SAFE.fullmatch(path):
        raise FileError(f"{path!r}: the path has a control character\nhint: move it elsewhere")


@dataclass(frozen=True, slots=True)
class PortableForm:
    """What a portable line says beside the flags: the variable in which the agent names the project, and WARN or BLOCK.

    `message` is the answer to the agent where there is no hookrun; empty for none.
    """

    variable: str = "PWD"
    when_missing: str = WARN
    message: str = ""


@dataclass(frozen=True)
class WiredCommand:
    """A command that fires hookrun for an agent, with these flags.

    `install` writes it in one of three forms: with hookrun's absolute paths (`named`), with a `launcher` of the
    account, or for a project (`form`), where hookrun is found when it runs. One without any is handwritten; `plain`
    says of it that hookrun can be started and that nothing around the call keeps its answer from the agent, as far as
    that can be seen. A `direct` one is the launcher's link for the event, alone: the agent starts it without a shell.
    """

    flags: FireFlags
    named: HookrunProgram | None = None
    plain: bool = False
    form: PortableForm | None = None
    launcher: str | None = None
    direct: bool = False

    @property
    def words(self) -> list[str]:
        """The command as install writes it, in a project neither with a path of hookrun nor a home; none by hand."""
        if self.form is not None:
            arguments = [self.form.when_missing, self.form.variable, self.form.message.rstrip()]
            return ["/bin/sh", "-c", fire_call.SCRIPT, fire_call.SCRIPT_NAME, *arguments, *self.flags.arguments()]
        if self.launcher is not None and self.direct:
            return [f"{self.launcher}.{self.flags.event}"]
        if self.launcher is not None:
            return [self.launcher, *self.flags.launcher_arguments()]
        # `-I`: nothing of the working directory or the environment is imported.
        return [] if self.named is None else [self.named.python, "-I", self.named.main, *self.flags.arguments()]

    def line(self, fallback: str | None) -> str:
        """Return the command line, which sh, bash, zsh and fish read alike. Raises FileError.

        It runs `fallback` if what it starts is missing. None for a project's, and for an agent that shows a missing
        command to the user and continues: then the line is the command alone.
        """
        for path in filter(None, (self.launcher, self.flags.home)):
            _writable(path)
        if fallback is not None:
            return f"{self.begin()}; {fallback}"
        # `exec` spares the process that a shell would wait with.
        return f"{EXEC if self.launcher is not None and not self.direct else ''}{shlex.join(self.words)}"

    def begin(self) -> str:
        """Return the beginning of a line that prints something if what it starts is missing."""
        files = [("-x", self.launcher)]
        if self.launcher is None and self.named is not None:
            files = [("-x", self.named.python), ("-f", self.named.main)]
        tests = [f"test {test} {shlex.quote(path or '')}" for test, path in files]
        return f"{' && '.join(tests)} && exec {shlex.join(self.words)}"

    @cached_property
    def program(self) -> HookrunProgram | None:
        """The program that it names, or that its launcher starts; None where that is not known."""
        return self.named if self.launcher is None else program_of(self.launcher)

    @property
    def is_ours(self) -> bool:
        """Whether `install` wrote it."""
        return self.named is not None or self.launcher is not None or self.form is not None

    @property
    def answers(self) -> bool:
        """Whether the program is there, and the line nothing but its call."""
        return self.plain if self.program is None and self.launcher is None else self.missing() is None

    def missing(self) -> str | None:
        """Return the file that is missing or unusable of those that the command needs, as far as they are known."""
        started = [self.launcher, self.words[0]] if self.launcher is not None else []
        for path in started:
            if not (os.path.isfile(path) and os.access(path, os.X_OK)):
                return path
        if self.launcher is not None and self.program is None:
            return os.path.join(os.path.dirname(self.launcher), launcher_file.NAME)
        return None if self.program is None else self.program.missing()


def read(text: object, agent: str) -> WiredCommand | None:
    """Return how a shell line fires hookrun for this agent; None if it does not."""
    if not isinstance(text, str) or "hookrun" not in text:
        return None
    ours = _of_line(text, agent) if SAFE.fullmatch(text) else None
    return ours or read_handwritten(text, agent)


def read_handwritten(text: str, agent: str) -> WiredCommand | None:
    """Return how a shell line that install has not written fires hookrun for this agent; None if it does not."""
    for call in fire_calls(text):
        if call.agent == agent:
            flags = _flags(call.arguments)
            plain = flags is not None and call.alone and _is_there(call.program)
            return WiredCommand(flags or FireFlags(agent), plain=plain)
    return None


def read_argv(words: list[str], agent: str) -> WiredCommand | None:
    """Return how the words of a command fire hookrun for this agent, if install could have made them; else None."""
    launcher = LAUNCHER_PATH.fullmatch(words[0]) if words else None
    if words[1:2] == ["-c"]:
        found = _portable(words)
    elif launcher is not None:
        found = _launcher(words, launcher)
    else:
        found = _absolute(words)
    return found if found is not None and found.flags.agent == agent and found.words == words else None


def _absolute(words: list[str]) -> WiredCommand | None:
    flags = _flags(words[4:]) if (words[1:2], words[3:4]) == (["-I"], ["fire"]) else None
    if flags is None or not all(map(os.path.isabs, (words[0], words[2]))) or not words[2].endswith(PACKAGE_DOOR):
        return None
    return WiredCommand(flags, HookrunProgram(words[0], words[2]))


def _portable(words: list[str]) -> WiredCommand | None:
    arguments = fire_call.arguments_of_fire(words)
    flags = _flags(arguments) if arguments is not None else None
    if flags is None or flags.scope != "project" or flags.home is not None:
        return None
    when_missing, variable, message = words[4:7]
    if when_missing not in (WARN, BLOCK) or not VARIABLE.fullmatch(variable):
        return None
    return WiredCommand(flags, form=PortableForm(variable, when_missing, message))


def _launcher(words: list[str], launcher: re.Match[str]) -> WiredCommand | None:
    flags = _flags([*launcher_arguments(launcher), *words[1:]])
    path, direct = words[0], launcher["event"] is not None
    if direct:
        path = path.removesuffix(f".{launcher['event']}")
    return None if flags is None else WiredCommand(flags, launcher=path, direct=direct)


def _of_line(text: str, agent: str) -> WiredCommand | None:
    """Return what a line says that `WiredCommand.line` could have written."""
    if not text.startswith("test -x "):
        call = text.removeprefix(EXEC)
        found = read_argv(_words(call), agent) if call.startswith(("/bin/sh -c ", "/", "'/")) else None
        if found is None or found.named is not None or shlex.join(found.words) != call:
            return None
        return found if call == text or found.launcher is not None else None  # a launcher's line began without it once
    words = _words(text)
    command = words[words.index("exec") + 1 : words.index(";")] if "exec" in words and ";" in words else []
    found = read_argv(command, agent)
    if found is None or found.form is not None:
        return None
    begin = found.begin()
    return found if text.startswith(begin) and FALLBACK.fullmatch(text, len(begin)) else None


def _words(text: str) -> list[str]:
    """Return the words of a shell line, `;` being one; none where a quote is left open."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _flags(words: list[str]) -> FireFlags | None:
    """Return the flags in the arguments of `hookrun fire`; None where one of them is not as `FireFlags` has it."""
    values: dict[str, str] = {}
    event = None
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in OPTIONS and name not in values:
            values[name] = value if equals else next(rest, "")
        elif event is None and EVENT.fullmatch(word):
            event = word
        else:
            return None
    agent, deadline = values.get("--agent", ""), values.get("--deadline", "1")
    if not AGENT.fullmatch(agent) or not SECONDS.fullmatch(deadline):
        return None
    seconds = float(deadline) if "--deadline" in values else None
    return FireFlags(agent, event, seconds, values.get("--scope", "user"), values.get("--home"))


def _is_there(program: str) -> bool:
    """Return whether the program of a handwritten line can be run, by its path or by its name on PATH."""
    if "/" in program:
        return os.path.isabs(program) and os.access(program, os.X_OK)
    directories = filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep))
    return any(os.access(os.path.join(directory, program), os.X_OK) for directory in directories)
