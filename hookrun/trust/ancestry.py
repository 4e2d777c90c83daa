"""Find what runs a command if it is no user: an agent above it, an agent's variable, a terminal that no user opened.

An agent that tries hard gets past: docs/guides/security.md says how.

Sources: proc(5), pts(4), ps(1) of macOS; processes and variables measured with each agent (tests/live/test_markers.py).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import NamedTuple

from hookrun.agents import AGENTS, MARKERS_OF_OTHERS, env_markers, load
from hookrun.core.nesting import NESTING
from hookrun.core.terminal import is_terminal

INTERPRETER = re.compile(r"bun|deno|node(?:js)?|(?:python|pypy)[\d.]*")
# Programs that any program can put around a command.
GENERAL = re.compile(
    rf"-?(?:{INTERPRETER.pattern}|(?:ba|da|k|mk|z|a|fi)?sh|busybox|env|expect|hookrun|nohup|perl|php|ruby|script|setsid"
    r"|socat|stdbuf|timeout|unbuffer|xargs)"
)
# Terminals, notebooks and editors that an interpreter runs.
PLACES = re.compile(r"guake|jupyter|terminator|(?:code|cursor|vscode|windsurf)-server")

# The first major number of pseudo-terminals on Linux, and the paths of their other ends.
PTS_MAJOR = 136
MASTERS = frozenset({"/dev/ptmx", "/dev/pts/ptmx"})


class Ancestor(NamedTuple):
    """A process, its parent, session and terminal, and the paths of its program, its first word and its script."""

    pid: int
    parent: int
    session: str
    terminal: str
    program: str
    word: str
    script: str

    def names(self) -> list[str]:
        """Return the names of its program, as a file and as it was called."""
        return [os.path.basename(path) for path in (self.program, self.word) if path]

    def is_init(self) -> bool:
        """Return whether it adopts processes whose parent has ended."""
        return self.pid == 1 or "systemd" in self.names()

    def is_place(self) -> bool:
        """Return whether a user may work in it: a terminal, an editor, ssh, any program that is not general."""
        return not all(map(GENERAL.fullmatch, self.names())) or PLACES.search(self.word + self.script) is not None

    def __str__(self) -> str:
        """Return it as in messages."""
        return f"`{os.path.basename(self.script or self.word)}`, process {self.pid}"


def what_runs_this() -> str | None:
    """Return why it is not the user who runs this process, as the end of a sentence; None if it may be the user."""
    own = lineage(os.getpid())
    if (above := _agent_in(own)) is not None:
        return f"it runs below {above}"
    for name in (*env_markers(), NESTING.decode()):
        if os.environ.get(name):
            return f"{name} is set, so an agent or a hook runs this command"
    if not is_terminal(0):
        return f"its starter has ended ({own[0]}), and it has no terminal" if _is_cut(own) else None
    others = [each.pid for each in own if each.terminal != own[0].terminal and not each.is_init()]
    for opener in map(lineage, [*_holders(os.fstat(0))] or others[:1]):
        if (above := _agent_in(opener)) is not None:
            return f"{above} has opened its terminal"
        if _is_cut(opener):
            return f"no login, ssh, tmux, container or editor has opened its terminal, but {opener[0]}"
    return None


def lineage(pid: int) -> list[Ancestor]:
    """Return a process and its ancestors, as far as they can be seen: in a container, those in it."""
    found: dict[int, Ancestor] = {}
    while pid not in found and (process := _read(pid)) is not None:
        found[pid] = process
        pid = process.parent
    return list(found.values())


def _agent_in(chain: list[Ancestor]) -> str | None:
    """Return the first agent's name and process, None if there is none."""
    known = agents_programs()
    for process in chain:
        paths = [f"/{path}".removesuffix(".exe") + "\n" for path in (process.program, process.word, process.script)]
        for title, name, *parts in known:
            if any(part in path for path in paths for part in (f"/{name}\n", *parts)):
                return f"{title} ({process})"
    return None


def agents_programs() -> list[tuple[str, ...]]:
    """Return each agent's name, that of its program, and parts of the paths of other ones."""
    own = [(agent.DISPLAY_NAME, agent.INSTALL) for agent in map(load, AGENTS)]
    known = [(title, spec["program"], *spec.get("processes", ())) for title, spec in own]
    return [*known, *((name, name) for name in MARKERS_OF_OTHERS)]


def _is_cut(chain: list[Ancestor]) -> bool:
    """Return whether what began a chain has ended, so that it does not show who started it."""
    below = [process for process in chain if not process.is_init()]
    if len(below) in (0, len(chain)) or any(process.is_place() for process in below):
        return False  # one that ends at no init begins outside of this container
    return below[-1].session != chain[len(below)].session  # else it is a container's command


def _holders(terminal: os.stat_result) -> Iterator[int]:
    """Yield the processes that can be seen to hold a pseudo-terminal's other end (Linux)."""
    index = f"tty-index:\t{(os.major(terminal.st_rdev) - PTS_MAJOR) * 256 + os.minor(terminal.st_rdev)}\n"
    for fd in glob("/proc/[0-9]*/fd/*"):
        with suppress(OSError):  # another account's, or gone
            _, _, pid, _, number = fd.split("/")
            is_end = os.readlink(fd) in MASTERS and index in Path(f"/proc/{pid}/fdinfo/{number}").read_text("ascii")
            # in another container the same number is another terminal
            if is_end and os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
                yield int(pid)


def _read(pid: int) -> Ancestor | None:
    program = ""
    try:
        if os.path.exists("/proc/self/stat"):
            stat = os.fsdecode(Path(f"/proc/{pid}/stat").read_bytes())
            _, parent, _, session, terminal, *_ = stat.rpartition(")")[2].split()
            words = os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
            with suppress(OSError):  # another account's
                program = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")  # agents replace themselves
        else:
            ps = ["/bin/ps", "-ww", "-o", "ppid=,tty=,args=", "-p", str(pid)]
            parent, terminal, *words = os.fsdecode(subprocess.run(ps, capture_output=True, check=False).stdout).split()
            session = str(os.getsid(pid))
    except (OSError, ValueError):
        return None
    found = Ancestor(pid, int(parent), session, terminal, program, (*words, "")[0], "")
    if not any(map(INTERPRETER.fullmatch, found.names())):
        return found
    return found._replace(script=next((word for word in words[1:] if not word.startswith("-")), ""))
