"""The files in `.hookrun` that a project's entries need: the script that finds hookrun, its settings, its attributes.

The entries of all agents in the project start the same script.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from hookrun.agents import AGENTS, load
from hookrun.edit import file_change
from hookrun.edit.file_change import FileChange, FileError, existing, missing_directories
from hookrun.launch import launcher_file
from hookrun.shell.fire_call import LAUNCHER_PATH
from hookrun.wiring.installations import run_for_output
from hookrun.wiring.plan import InstallRequest, answer_when_missing, wired_events
from hookrun.wiring.wired_command import BLOCK, WARN, this_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.config.config_file import ConfigFile
    from hookrun.wiring.targets import InstallLocation, WiredEvent

DIRECTORY = ".hookrun"
PATH = f"{DIRECTORY}/run"
RUN, SETTINGS, ATTRIBUTES = "run", "settings", ".gitattributes"

# The message in the script's answers.
TEXT = "'\"$text\"'"

# What the script executes where it finds hookrun, and the exit status with which a look for it ends instead.
EXECUTED, FOUND = ('"$launcher"', '"$python" -I "$found"', '"$found"'), 100

# SHA-256 of earlier versions' scripts: such a script is hookrun's, too.
EARLIER_SCRIPTS = frozenset({"99699f163e13d0066c5200700b49ed26c43fbf155b80b1cd1602ce2275bc41c3"})


@dataclass(frozen=True, slots=True)
class CommittedChange(FileChange):
    """The change of one of these files."""

    def write(self) -> None:
        """Write or remove the file. Raises FileError."""
        file_change.apply(self)


@cache
def script() -> str:
    """Return the script, with the answers of all agents where hookrun is missing."""
    with open(os.path.join(os.path.dirname(__file__), "run.txt"), encoding="utf-8") as file:
        return file.read().replace("@CASES@", "\n".join(_cases()))


def _cases() -> Iterator[str]:
    """Yield the script's cases: what it prints, and for which agents and events; refusals first."""
    notices: dict[str, list[str]] = {}
    refusals: dict[str, list[str]] = {}
    for agent in map(load, AGENTS):
        for event in agent.EVENTS if agent.INSTALL["form"] != "plugin" else ("*",):
            notice, refusal = (answer_when_missing(agent, event, each, TEXT).rstrip() for each in (WARN, BLOCK))
            if refusal != notice:
                refusals.setdefault(refusal, []).append(f"block:{agent.NAME}:{event}")
            if notice:
                notices.setdefault(notice, []).append(f"*:{agent.NAME}:{event}")
    for answer, words in [*refusals.items(), *notices.items()]:
        yield f"{' | '.join(words)}) say '{answer}' ;;"


def found_by(agent: str, project: str) -> list[str] | None:
    """Return the command up to `fire` that a project's script would execute for an agent here, None if none."""
    text = script()
    for words in EXECUTED:
        shown = f"{{ printf '%s\\n' {words}; exit {FOUND}; }}"
        text = re.sub(rf"(?m)exec {re.escape(words)} .*?(?= ;;|$)", lambda _: shown, text)  # noqa: B023  # used at once
    done = run_for_output(["/bin/sh", "-c", text, f"{project}/{PATH}", agent, "-"], project)
    found = os.fsdecode(done.stdout).splitlines() if done is not None and done.returncode == FOUND else []
    if found and LAUNCHER_PATH.fullmatch(found[0]):
        conf = launcher_file.read(os.path.join(os.path.dirname(found[0]), launcher_file.NAME))
        return None if conf is None else conf.command[:-1]
    return found or None


def settings(install: str | None, when_missing: str) -> str:
    """Return the text of the settings: lines of a name and a value."""
    return f"{f'install {install}{chr(10)}' if install else ''}when_missing {when_missing}\n"


def plan_files(request: InstallRequest, install: str | None, when_missing: str) -> list[CommittedChange]:
    """Return the changes that write the files of a project, none in another scope. Raises FileError."""
    if request.scope != "project":
        return []
    texts = {RUN: script(), SETTINGS: settings(install, when_missing), ATTRIBUTES: "* text eol=lf\n"}
    return [change for name, text in texts.items() if (change := _change(request, name, text)).has_effect]


def plan_removal(request: InstallRequest, *, changing: bool = False) -> list[CommittedChange]:
    """Return the changes that remove the files once no agent's entries need them. Raises FileError.

    With `changing` the request's own agent has its entries still, and loses them.
    """
    others = [name for name in AGENTS if not changing or name != request.agent.NAME]
    if request.scope != "project" or any(map(request.uses_script, others)):
        return []
    return [change for name in (RUN, SETTINGS, ATTRIBUTES) if (change := _change(request, name, None)).has_effect]


def configured(files: Iterable[ConfigFile]) -> dict[str, str]:
    """Return the settings that a project's config has for these files: `install` and `when_missing`."""
    found = [file.settings for file in files if file.layer == "project"]
    return {name: str(each[name]) for each in reversed(found) for name in ("install", "when_missing") if name in each}


def _change(request: InstallRequest, name: str, text: str | None) -> CommittedChange:
    now = existing(os.path.join(request.location.project, DIRECTORY, name), request.within)
    directories = [os.path.dirname(now.path)] if text is None else missing_directories(now.path)
    data = None if text is None else text.encode()
    return CommittedChange(now.path, now, data, 0o755 if name == RUN else 0o644, directories, is_generated=name == RUN)


def entries(location: InstallLocation) -> dict[str, list[WiredEvent]]:
    """Return the agents with entries of a project's form in its settings, and these; unreadable settings have none."""
    found = {}
    for agent in map(load, AGENTS):
        with suppress(FileError):
            wired = wired_events(InstallRequest(agent, "project", location, this_program()))
            found[agent.NAME] = [each for each in wired if each.command.form is not None]
    return {name: wired for name, wired in found.items() if wired}


def when_missing(location: InstallLocation) -> str:
    """Return WARN or BLOCK, as a project's settings file says, else its entries. Raises FileError."""
    written = written_settings(location.project).get("when_missing")
    if written in (WARN, BLOCK):
        return written
    forms = [each.command.form for wired in entries(location).values() for each in wired]
    return BLOCK if any(form is not None and form.when_missing == BLOCK for form in forms) else WARN


def why_not_ours(project: str) -> str | None:
    """Return what is wrong with a project's script, None if some version of hookrun wrote it."""
    try:
        data = existing(os.path.join(project, DIRECTORY, RUN)).data
    except FileError:
        return "cannot be read"
    if data is None:
        return "is missing"
    if data == script().encode() or sha256(data).hexdigest() in EARLIER_SCRIPTS:
        return None
    return "has line ends of Windows" if b"\r\n" in data else "is none that hookrun has written"


def differing(project: str, wanted: Mapping[str, str]) -> list[str]:
    """Return how a project's settings file differs from `wanted`, as the config has it. Raises FileError."""
    written = written_settings(project)
    names = [name for name in ("install", "when_missing") if name in wanted or name == "install"]
    return [
        f"has {_setting(name, written)}, the config {_setting(name, wanted)}"
        for name in names
        if written.get(name) != wanted.get(name)
    ]


def _setting(name: str, values: Mapping[str, str]) -> str:
    return f"`{name} {values[name]}`" if name in values else f"no `{name}`"


def written_settings(project: str) -> dict[str, str]:
    """Return the names and values in a project's settings file, none without one. Raises FileError."""
    found = existing(os.path.join(project, DIRECTORY, SETTINGS))
    lines = found.text().splitlines() if found.data is not None else ()
    return {name: value for name, _, value in (line.partition(" ") for line in lines)}


def how_to_install(project: str) -> str:
    """Return what a project's settings say about how to install hookrun, for a message, or "". Raises FileError."""
    command = written_settings(project).get("install")
    return f": `{command}`" if command else ""
