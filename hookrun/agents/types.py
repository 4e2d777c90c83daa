"""What a module about an agent has, as a protocol: for the type checker and whoever adds one. Never imported to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, Protocol, TypedDict

if TYPE_CHECKING:
    from hookrun.agents.base import Message, NameMap
    from hookrun.agents.formats import ResponseFormat


class Agent(Protocol):
    """A module of hookrun.agents. Everything here is data but for `read`; docs/adding-an-agent.md shows one."""

    @property
    def NAME(self) -> str:
        """What it is called on the command line and in a context's `agent`."""

    @property
    def DISPLAY_NAME(self) -> str:
        """What people call it."""

    @property
    def TESTED_VERSIONS(self) -> str:
        """With which versions, and how, the facts in the module were seen."""

    @property
    def EVENTS(self) -> Mapping[str, str]:
        """Its name of an event, as its wiring has it -> hookrun's."""

    @property
    def SYNTHESIZED_FROM(self) -> Mapping[str, tuple[str, ...]]:
        """An event (hookrun's name) that it has none of its own for -> its events from which it is made."""

    @property
    def PRE_TOOL_EVENT(self) -> str:
        """Its event before a tool call: what is answered when a message cannot be read."""

    @property
    def TOOLS(self) -> Mapping[str, str]:
        """Its name of a tool -> hookrun's, as far as they differ or are worth telling."""

    @property
    def NAMES(self) -> NameMap:
        """Its names of tools and arguments, both ways."""

    @property
    def PROJECT_ENV_VARS(self) -> tuple[str, ...]:
        """The environment variables in which it names the project's root, to hooks."""

    @property
    def ENV_MARKERS(self) -> tuple[str, ...]:
        """The environment variables that it sets for the commands it runs."""

    @property
    def SETTINGS_GLOBS(self) -> tuple[str, ...]:
        """Where its hooks and what switches them off are, in a project or the home directory, as globs."""

    @property
    def DEFAULT_TIMEOUTS(self) -> Mapping[str, float]:
        """Its event -> how many seconds it gives to a hook whose wiring says nothing; "" for every other event."""

    @property
    def MAX_TIMEOUTS(self) -> Mapping[str, float]:
        """Its event -> the seconds that no wiring can raise it beyond."""

    @property
    def EXIT_ZERO_ONLY(self) -> bool:
        """Whether any other exit status than 0 is a refusal to it."""

    @property
    def RESPONSE_FORMATS(self) -> Mapping[str, ResponseFormat]:
        """Its event -> what can be said there, and how. An event that is missing takes no answer."""

    @property
    def NOTES(self) -> tuple[str, ...]:
        """What else people should know, for docs/agents.md, a sentence or two each."""

    @property
    def INSTALL(self) -> InstallSpec:
        """Where it reads its hooks, and how one is written there."""

    def read(self, payload: dict[str, object], event: str) -> Message:
        """Return what its message says. `event` is the one in its wiring, "" for none. Raises UnreadableError."""


class TrustFormat(Protocol):
    """How an agent keeps the trust of each hook in a TOML file: what the module in `hook_trust` has."""

    @property
    def CONFIG(self) -> str:
        """The file in its directory that holds the trust, for hooks of the user and of projects alike."""

    @property
    def DIGEST(self) -> str:
        """The key of the digest in a hook's table."""

    @property
    def ENABLED(self) -> str:
        """The key that switches a hook off with false."""

    @property
    def REMEDY(self) -> str:
        """Where users decide about hooks."""

    def hook_table(self, path: str, event: str, group: int, handler: int) -> tuple[str, ...]:
        """Return the key of the table of one hook in the file at `path`."""

    def project_trust(self, project: str) -> tuple[tuple[str, ...], str]:
        """Return the key of the trust of a project, and the value that grants it."""

    def definition_digest(self, event: str, group: object, handler: Mapping[str, object]) -> str:
        """Return the digest of one hook's definition."""


class FolderTrust(TypedDict):
    """How an agent keeps which folders it trusts, with all below them, in a JSON file of its directory."""

    file: str
    """The file: an object."""
    levels: NotRequired[Mapping[str, str]]
    """The object maps folders to these levels; what each trusts: `folder`, its `parent`, or `none`."""
    lists: NotRequired[tuple[str, ...]]
    """The object has lists of trusted folders under these keys."""
    switch: NotRequired[tuple[str, bool]]
    """The setting, as a path with dots, that asks for trust, and whether it does so if unset; always if left out."""
    project_hooks_only: bool
    """Whether the user's own hooks run in a folder without trust."""
    cause: str
    """What happens without trust."""
    remedy: str
    """How to give it."""


class InstallSpec(TypedDict):
    """Where an agent reads its hooks, and how one is written there: the constant INSTALL of its module."""

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
    """How such a file is written: one of json, jsonc, script, plugin."""
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
    parse_plugin: NotRequired[Callable[[str], tuple[list[str], list[str], float] | None]]
    """As a plugin: reads command, events and time limit in seconds back from its text; None if it has none."""
    shell: NotRequired[str]
    """Which shell runs a command: "login" is the person's own; sh if not said."""
    elsewhere: NotRequired[tuple[str, ...]]
    """Other files in which it reads hooks. `~/` is the home, `{directory}/` its directory, else it is from the root."""
    settings: NotRequired[tuple[str, ...]]
    """The files with its settings, the one that counts most first; written as those in `elsewhere`."""
    off: NotRequired[dict[str, object]]
    """A setting, as a path with dots -> the value that switches its hooks off."""
    read_by: NotRequired[Mapping[str, Callable[[dict[str, object]], bool]]]
    """Agents that run the hooks in these files, too -> whether a message is theirs."""
    own_hooks: NotRequired[tuple[str, ...]]
    """Directories of `{home}` or `{project}` with its own hooks, of an agent that also runs those of another."""
    dropped_if: NotRequired[Callable[[object, bool], Iterable[tuple[tuple[str | int, ...], str]]]]
    """Finds why it drops a whole file with hooks, from the data and whether a byte-order mark precedes it: where, and
    what is expected there."""
    hook_trust: NotRequired[str]
    """The module, a TrustFormat, that knows how it keeps the trust that it asks for each hook."""
    folder_trust: NotRequired[FolderTrust]
    """How it keeps the trust that it asks for a folder."""
