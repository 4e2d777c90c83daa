"""What an agent's module says of its wiring: for the type checker, and whoever adds one. Never imported to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NotRequired, TypedDict


class Wiring(TypedDict):
    """Where an agent reads its hooks, and how one is written there: the constant WIRING of its module."""

    program: str
    """What its program is called on PATH."""
    directory: str
    """Its directory in a person's home."""
    variable: NotRequired[str]
    """The environment variable that names that directory elsewhere."""
    user: str
    """The file with the person's hooks, in that directory. `{event}` stands for an event: then there are several."""
    project: str
    """The file with a project's hooks, from its root."""
    form: str
    """How such a file is written: one of hookrun.wiring.targets.FORMS."""
    handler: NotRequired[dict[str, object]]
    """In settings: one handler, with `{command}` where the command line stands, `{limit}` where its time limit does."""
    per_second: NotRequired[int]
    """In settings: how many of the units of its time limits are a second; 1 if not said."""
    nested: NotRequired[bool]
    """In settings: whether handlers stand in groups, as in Claude Code; true if not said."""
    first: NotRequired[dict[str, object]]
    """In settings: what a file of its own begins with."""
    plugin: NotRequired[Callable[[Sequence[str], Iterable[str]], str]]
    """As a plugin: makes its text of the command, to which the event is added, and the events."""
    plugin_says: NotRequired[Callable[[str], tuple[list[str], list[str], float] | None]]
    """As a plugin: reads command, events and time limit in seconds back from its text; None if it has none."""
    shell: NotRequired[str]
    """Which shell runs a command: "login" is the person's own; sh if not said."""
    elsewhere: NotRequired[tuple[str, ...]]
    """Other files in which it reads hooks. `~/` is the home, `{directory}/` its directory, else it is from the root."""
    settings: NotRequired[tuple[str, ...]]
    """The files with its settings, the one that counts most first; written as those in `elsewhere`."""
    off: NotRequired[dict[str, object]]
    """A setting, as a path with dots -> the value that switches its hooks off."""
    drops: NotRequired[str]
    """For what it drops a whole file with hooks: one of hookrun.doctor.checks.DROPS."""
    trust: NotRequired[str]
    """What it wants trusted before it runs hooks: one of hookrun.doctor.checks.KINDS."""
