"""Query git about a repository: read-only, with a timeout, without running programs from its settings."""

from __future__ import annotations

import os
import select
from time import monotonic

from hookrun.process.child import CHUNK, RESTORED
from hookrun.process.loop import KILL

# Seconds for one command.
TIMEOUT = 5.0
# No program from a repository's settings runs. The output is not for a terminal.
QUIET = (
    "--no-optional-locks",
    "--no-pager",
    "-c", "safe.bareRepository=explicit",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false",
    "-c", "core.quotePath=false",
    "-c", "color.ui=false",
)  # fmt: skip
# Commands that compare files.
COMPARING = ("status", "diff-index")
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone fetches nothing, by any program
}


# In a replay, which judges calls of the past: answers about settings, asked for once, and nothing else is asked.
kept_answers: dict[tuple[str, ...], str | None] | None = None


def run(directory: str, *arguments: str, path: str | None = None) -> str | None:
    """Return a git command's output, None if it fails: no repository, no git, or too slow.

    Git is looked for in `path`, by default in PATH. In a replay, raises RuntimeError for all but settings.
    """
    if kept_answers is None:
        return _run(directory, arguments, path)
    if arguments[0] != "config" or not os.path.isdir(directory):
        raise RuntimeError("git is not asked about the past")
    if (key := (directory, *arguments)) not in kept_answers:
        kept_answers[key] = _run(directory, arguments, path)
    return kept_answers[key]


def _run(directory: str, arguments: tuple[str, ...], path: str | None) -> str | None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    program = "git"
    if path is not None:
        environment["PATH"] = path
        places = (f"{each}/git" for each in path.split(":"))
        program = next((each for each in places if os.access(each, os.X_OK)), "/nowhere/git")
    if arguments[0] in COMPARING:
        environment |= _without_filters(directory)
        arguments = (arguments[0], "--ignore-submodules=all", *arguments[1:])  # their settings are other ones
    output, write_end = os.pipe()
    try:
        # Not `subprocess`: its import costs four times as much as git's answer.
        pid = os.posix_spawnp(
            program,
            ("git", "-C", directory, *QUIET, *arguments),
            {**environment, **ENVIRONMENT},
            file_actions=(
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, write_end, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ),
            setsigdef=RESTORED,
        )
    except (OSError, ValueError):
        os.close(output)
        return None
    finally:
        os.close(write_end)
    listed = None
    try:
        listed = _read(output, monotonic() + TIMEOUT)
    finally:  # also where the time of the whole hook is up
        os.close(output)
        if listed is None:
            os.kill(pid, KILL)
        status = os.waitpid(pid, 0)[1]
    return os.fsdecode(listed) if listed is not None and status == 0 else None


def _read(fd: int, deadline: float) -> bytes | None:
    """Return a pipe's whole content, None if that takes too long."""
    data = bytearray()
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while poll.poll(max(0, (deadline - monotonic()) * 1000)):
        piece = os.read(fd, CHUNK)
        if not piece:
            return bytes(data)
        data += piece
    return None


def _without_filters(directory: str) -> dict[str, str]:
    """Return the variables that switch off all filters, which git runs to compare files."""
    names = (run(directory, "config", "-z", "--name-only", "--get-regexp", r"^filter\.") or "").split("\0")[:-1]
    variables = {"GIT_CONFIG_COUNT": str(len(names))}
    for number, name in enumerate(names):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = "false" if name.endswith(".required") else ""
    return variables
