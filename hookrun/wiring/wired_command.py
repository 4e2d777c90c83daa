"""Write and read the shell line that an agent runs: hookrun, and the answer if hookrun is missing.

In the user's settings it names a launcher in hookrun's data directory, or hookrun by absolute paths if there can be no
launcher; in a project's it finds hookrun at run time.

A line is ours only if `install` could have written every byte. Any other line that calls `hookrun fire` is handwritten:
it counts as an installation, but is neither changed nor run.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from functools import cached_property

import hookrun
from hookrun.edit.file_change import FileError
from hookrun.launch import launcher_file
from hookrun.shell import fire_call
from hookrun.shell.fire_call import LAUNCHER_PATH, fire_calls, launcher_arguments

SAFE = re.compile(r"[^\x00-\x1f\x7f]+")
AGENT = re.compile(r"[a-z][a-z0-9_-]*")
EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")

# A word as `shlex.quote` writes it.
QUOTED = r"""(?:[\w@%+=:,./-]+|'[^']*(?:'"'"'[^']*)*')"""
WORD = re.compile(QUOTED, re.ASCII)
# How our line begins: tests of the files that it needs, if it has a fallback, then the command's words.
BEGIN = re.compile(rf"(?:test -x {QUOTED} && (?:test -f {QUOTED} && )?)?(?:exec )?({QUOTED}(?: {QUOTED})*)", re.ASCII)
# What our line prints if hookrun is missing: any text, quoted as by `shlex.quote`.
FALLBACK = re.compile(rf"(?:; printf '%s\\n' {QUOTED})?(?:; printf '%s\\n' {QUOTED} >&2)?; exit 0", re.ASCII)

EXEC = "exec "

# The options of `hookrun fire` that install writes.
OPTIONS = frozenset({"--agent", "--deadline", "--home", "--scope"})

# The end of the path to hookrun's program.
PACKAGE_DOOR = "/hookrun/__main__.py"

# What a project's line does without hookrun: only warn, or block the agent's tools, too.
WARN, BLOCK = "warn", "block"

# A project's line: where its script is, what it does for which agent, and what ends it where that cannot start.
ROOT = r'(?:"\$\{[A-Z_]+:-\.\}"/|"\$\(git rev-parse --show-toplevel\)"/|"\$\{0%/\*\}"/\.\./\.\./)?[\w@%+=:,./-]*?'
WHAT = r'(?P<agent>[a-z][a-z0-9_-]*) (?P<event>[A-Za-z][A-Za-z0-9_.]*|"\$0")'
END = r"(?: \|\| (?:exit [02]|echo '[^']*'))?"
RUN = re.compile(rf"/bin/sh (?P<root>{ROOT})\.hookrun/run {WHAT}(?P<end>{END})", re.ASCII)
GO_ON = " || exit 0"

# The event in the line of a plugin, which adds it.
ADDED_EVENT = '"$0"'


@dataclass(frozen=True, slots=True)
class HookrunProgram:
    """The interpreter and its file, both absolute paths."""

    python: str
    main: str

    def missing(self) -> str | None:
        """Return which of the two is missing or unusable, or None."""
        if not os.access(self.python, os.X_OK):
            return self.python
        return None if os.path.isfile(self.main) else self.main

    @classmethod
    def started_by(cls, command: list[str]) -> HookrunProgram:
        """Return the program of a launcher's command, of any version of hookrun."""
        return cls(command[0], os.path.join(os.path.dirname(command[-2]), "__main__.py"))

    def cold_command(self) -> list[str]:
        """Return a launcher's words to start it, up to `fire`."""
        return [self.python, "-I", "-S", "-X", "utf8", self.main, "fire"]


def program_of(launcher: str) -> HookrunProgram | None:
    """Return the program that a launcher starts, or None if the file beside it does not say."""
    found = launcher_file.read(os.path.join(os.path.dirname(launcher), launcher_file.NAME))
    if found is None or found.command[-1] != "fire" or len(found.command) < len(("python", "file", "fire")):
        return None
    return HookrunProgram.started_by(found.command)


@dataclass(frozen=True, slots=True)
class FireFlags:
    """A line's arguments of `hookrun fire`: the agent, the event (None: the payload names it) and options.

    `deadline` is in seconds. `scope` is "project" in a project's settings, `home` is set if not the account's.
    """

    agent: str
    event: str | None = None
    deadline: float | None = None
    scope: str = "user"
    home: str | None = None

    def arguments(self) -> list[str]:
        """Return hookrun's arguments."""
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
        """Return the launcher's arguments; it adds `fire` and the agent itself."""
        return self.arguments()[len(("fire", "--agent", self.agent)) :]


def fallback_commands(stdout: str = "", stderr: str = "") -> str:
    """Return a line's end: commands that print these and exit, if hookrun was moved or removed."""
    channels = ((stdout, ""), (stderr, " >&2"))
    printed = [f"printf '%s\\n' {shlex.quote(text.rstrip())}{to}" for text, to in channels if text]
    return "; ".join([*printed, "exit 0"])


def this_program() -> HookrunProgram:
    """Return the running hookrun. Raises FileError if its path cannot be written into settings.

    The interpreter's link is not followed: it makes a virtual environment.
    """
    # A path, not a name on PATH, and __main__.py, not pip's script: it exists as long as hookrun does, and finds its
    # package anywhere, also under `python -I`.
    main = os.path.join(os.path.dirname(os.path.abspath(hookrun.__file__)), "__main__.py")
    python = os.path.abspath(sys.executable)
    name = os.path.join(os.path.dirname(python), "python3")  # the same for `python` and `python3`
    if os.path.exists(name) and os.path.samefile(name, python):
        python = name
    for path in (python, main):
        _writable(path)
    return HookrunProgram(python, main)


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
    """What a project's line has beside the flags: the shell's words for the root, with a slash, and the line's end.

    `earlier` are the words of an earlier version's line, which holds the script itself, else none.
    """

    root: str = ""
    end: str = ""
    earlier: tuple[str, ...] = ()

    @property
    def when_missing(self) -> str:
        """WARN or BLOCK: what it does without hookrun."""
        if self.earlier:
            return self.earlier[4]
        return WARN if self.end in ("", GO_ON) else BLOCK


@dataclass(frozen=True)
class WiredCommand:
    """A command that fires hookrun for an agent, with these flags.

    `install` writes it in one of three forms: with hookrun's absolute paths (`named`), with the account's `launcher`,
    or for a project (`form`), finding hookrun at run time. One without any is handwritten; `plain` says that hookrun
    can be started and, as far as can be seen, nothing around the call keeps its answer from the agent. A `direct` one
    is only the launcher's link for the event: the agent starts it without a shell. `guard` are the arguments of a
    managed line's script, which answers a gate if hookrun does not.
    """

    flags: FireFlags
    named: HookrunProgram | None = None
    plain: bool = False
    form: PortableForm | None = None
    launcher: str | None = None
    direct: bool = False
    guard: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The command as install writes it, without hookrun's path and a home in a project; none by hand."""
        if self.form is not None:
            return [*self.form.earlier] or ["/bin/sh", "-c", self.line(None)]
        if self.launcher is not None and self.direct:
            return [f"{self.launcher}.{self.flags.event}"]
        if self.launcher is not None:
            return [self.launcher, *self.flags.launcher_arguments()]
        if self.named is None:
            return []
        script = ["/bin/sh", "-c", fire_call.GUARDED, fire_call.SCRIPT_NAME, *self.guard] if self.guard else []
        # `-I`: imports nothing from the working directory or environment.
        return [*script, self.named.python, "-I", self.named.main, *self.flags.arguments()]

    def line(self, fallback: str | None) -> str:
        """Return the command line, which sh, bash, zsh and fish read alike. Raises FileError.

        It runs `fallback` if what it starts is missing. None for a project's, and for an agent that shows a missing
        command to the user and continues: then the line is the command alone, as with a `guard`.
        """
        for path in filter(None, (self.launcher, self.flags.home)):
            _writable(path)
        if self.form is not None and not self.form.earlier:
            event = self.flags.event or ADDED_EVENT
            return f"/bin/sh {self.form.root}.hookrun/run {self.flags.agent} {event}{self.form.end}"
        if fallback is not None:
            return f"{self.begin()}; {fallback}"
        # `exec` spares the process in which a shell would wait.
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
        """The program that it names or its launcher starts, or None if unknown."""
        return self.named if self.launcher is None else program_of(self.launcher)

    @property
    def is_ours(self) -> bool:
        """Whether `install` wrote it."""
        return self.named is not None or self.launcher is not None or self.form is not None

    @property
    def answers(self) -> bool:
        """Whether the program exists, and the line is only its call."""
        return self.plain if self.program is None and self.launcher is None else self.missing() is None

    def missing(self) -> str | None:
        """Return the first missing or unusable file of those that the command is known to need."""
        started = [self.launcher, self.words[0]] if self.launcher is not None else []
        for path in started:
            if not (os.path.isfile(path) and os.access(path, os.X_OK)):
                return path
        if self.launcher is not None and self.program is None:
            return os.path.join(os.path.dirname(self.launcher), launcher_file.NAME)
        return None if self.program is None else self.program.missing()


def read(text: object, agent: str) -> WiredCommand | None:
    """Return how a shell line fires hookrun for this agent, or None."""
    if not isinstance(text, str) or "hookrun" not in text:
        return None
    ours = (_run(text, agent) or _of_line(text, agent)) if SAFE.fullmatch(text) else None
    return ours or read_handwritten(text, agent)


def read_handwritten(text: str, agent: str) -> WiredCommand | None:
    """Return how a handwritten shell line fires hookrun for this agent, or None."""
    for call in fire_calls(text):
        if call.agent == agent:
            flags = _flags(call.arguments)
            plain = flags is not None and call.alone and _is_there(call.program)
            return WiredCommand(flags or FireFlags(agent), plain=plain)
    return None


def read_argv(words: list[str], agent: str) -> WiredCommand | None:
    """Return how a command that install could have written fires hookrun for this agent, or None."""
    launcher = LAUNCHER_PATH.fullmatch(words[0]) if words else None
    if words[:2] == ["/bin/sh", "-c"] and len(words) == len(("/bin/sh", "-c", "line")):
        return _run(words[2], agent)
    if words[2:4] == [fire_call.GUARDED, fire_call.SCRIPT_NAME]:
        found = _absolute(words[7:], tuple(words[4:7]))
    elif words[1:2] == ["-c"]:
        found = _portable(words)
    elif launcher is not None:
        found = _launcher(words, launcher)
    else:
        found = _absolute(words)
    return found if found is not None and found.flags.agent == agent and found.words == words else None


def _absolute(words: list[str], guard: tuple[str, ...] = ()) -> WiredCommand | None:
    flags = _flags(words[4:]) if (words[1:2], words[3:4]) == (["-I"], ["fire"]) else None
    if flags is None or not all(map(os.path.isabs, (words[0], words[2]))) or not words[2].endswith(PACKAGE_DOOR):
        return None
    return WiredCommand(flags, HookrunProgram(words[0], words[2]), guard=guard)


def _run(text: str, agent: str) -> WiredCommand | None:
    found = RUN.fullmatch(text)
    if found is None or found["agent"] != agent:
        return None
    event = None if found["event"] == ADDED_EVENT else found["event"]
    return WiredCommand(FireFlags(agent, event, scope="project"), form=PortableForm(found["root"], found["end"]))


def _portable(words: list[str]) -> WiredCommand | None:
    """Return the meaning of an earlier version's line for a project."""
    arguments = fire_call.arguments_of_fire(words)
    flags = _flags(arguments) if arguments is not None else None
    if flags is None or flags.scope != "project" or flags.home is not None or words[4] not in (WARN, BLOCK):
        return None
    return WiredCommand(flags, form=PortableForm(earlier=tuple(words)))


def _launcher(words: list[str], launcher: re.Match[str]) -> WiredCommand | None:
    flags = _flags([*launcher_arguments(launcher), *words[1:]])
    path, direct = words[0], launcher["event"] is not None
    if direct:
        path = path.removesuffix(f".{launcher['event']}")
    return None if flags is None else WiredCommand(flags, launcher=path, direct=direct)


def _of_line(text: str, agent: str) -> WiredCommand | None:
    """Return the meaning of a line that `WiredCommand.line` could have written."""
    line = BEGIN.match(text)
    if line is None:
        return None
    # Not `shlex.split`, which takes a third of the time of `hookrun doctor`.
    words = [each[1:-1].replace("'\"'\"'", "'") if each[0] == "'" else each for each in WORD.findall(line[1])]
    found = read_argv(words, agent)
    if found is None:
        return None
    if text.startswith("test -x "):
        begin = found.begin()
        return found if found.form is None and text.startswith(begin) and FALLBACK.fullmatch(text, len(begin)) else None
    call = text.removeprefix(EXEC)
    if (found.named is not None and not found.guard) or shlex.join(found.words) != call:
        return None
    return found if call == text or found.launcher is not None else None  # older launcher lines lack EXEC


def _flags(words: list[str]) -> FireFlags | None:
    """Return the flags in the arguments of `hookrun fire`, or None if any is not in FireFlags."""
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
    """Return whether a handwritten line's program can run, by its path or its name on PATH."""
    if "/" in program:
        return os.path.isabs(program) and os.access(program, os.X_OK)
    directories = filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep))
    return any(os.access(os.path.join(directory, program), os.X_OK) for directory in directories)
