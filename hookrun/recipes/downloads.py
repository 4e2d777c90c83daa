"""Track the downloads in a line and find the command that runs one: `curl ... | sh` and similar."""

from __future__ import annotations

from hookrun.shell import lazy_re as re
from hookrun.shell.named_files import option_targets
from hookrun.shell.prefilter import READERS
from hookrun.shell.words import UNKNOWN, absolute
from hookrun.shell.wrappers import STDIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.shell.simple_command import SimpleCommand

DOWNLOADERS = ("curl", "wget", "fetch", "aria2c", "http", "https", "xh")
INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua|osascript|pwsh|powershell")
INLINE = re.compile(r"-[A-Za-z]*[cemEnpr]|--(?:eval|print|command|require|version|help)")
"""Options with which interpreters run something other than their input."""

SOURCES = frozenset({".", "source"})
READING_LINES = READERS | SOURCES | {"eval"}


class Downloads:
    """The downloads of a line so far."""

    def __init__(self) -> None:
        self._seen = False
        self._files: set[str] = set()

    def runs(self, command: SimpleCommand) -> bool:
        """Return whether a command runs an earlier download of the line; remember its own downloads."""
        program = command.one_of(DOWNLOADERS) if command.words else None
        if program is not None:
            self._seen = True
            self._remember(command, program)
            return False
        if not self._seen or not command.words:
            return False
        if command.program == UNKNOWN:  # `bash -c "$(curl ...)"`
            return not READING_LINES.isdisjoint(command.wrappers)
        return self._runs_file(command) or _runs_stream(command)

    def _remember(self, command: SimpleCommand, program: str) -> None:
        named = {each.target.text for each in command.redirections if each.writes}
        named.update(option_targets(program, command.arguments))
        if program == "wget":  # without -O it takes the name from the address
            named.update(text.partition("?")[0].rpartition("/")[2] for text in command.arguments if "/" in text)
        self._files.update(filter(None, (absolute(each, command.directory) for each in named)))

    def _runs_file(self, command: SimpleCommand) -> bool:
        program = command.words[0].text
        ran = [program] if "/" in program else []
        if _interprets(command):
            ran.append(_operand(command))
        return any(absolute(each, command.directory) in self._files for each in ran)


def _interprets(command: SimpleCommand) -> bool:
    return command.program in READERS | SOURCES or INTERPRETER.fullmatch(command.program) is not None


def _operand(command: SimpleCommand) -> str:
    return next((text for text in command.arguments if text[:1] != "-" or text == "-"), "")


def _runs_stream(command: SimpleCommand) -> bool:
    """Return whether a command runs its piped input or a process substitution."""
    if not _interprets(command) or any(INLINE.match(word) for word in command.arguments):
        return False
    first = _operand(command)
    if first == UNKNOWN:
        return True
    from_stdin = command.program in READERS and any(word[:2] == "-s" for word in command.arguments)
    return command.beside and command.stdin is None and (not first or first in STDIN or from_stdin)
