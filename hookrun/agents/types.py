"""Define what an agent's module provides, for type checkers and authors. No run of hooks imports it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NotRequired, Protocol, TypedDict

from hookrun.agents.base import Message, NameMap
from hookrun.agents.formats import ResponseFormat
from hookrun.agents.plugin import Plugin


class Agent(Protocol):
    """A module of hookrun.agents, or its AGENT: data, and `read`. docs/appendix/adding-an-agent.md shows one."""

    NAME: str
    """Its name on the command line and in a context's `agent`."""
    DISPLAY_NAME: str
    """Its name in messages and documentation."""
    EVENTS: dict[str, str]
    """Its name of an event, as in its settings -> hookrun's."""
    TOOLS: dict[str, str]
    """Its name of a tool -> hookrun's, if different or worth documenting."""
    NAMES: NameMap
    """Its names of tools and arguments, both ways."""
    DEFAULT_TIMEOUTS: dict[str, float]
    """Its event -> the seconds of a hook without a timeout; "" for all other events."""
    MAX_TIMEOUTS: dict[str, float]
    """Its event -> the longest timeout it allows, in seconds."""
    RESPONSE_FORMATS: dict[str, ResponseFormat]
    """Its event -> what a response can express. Missing events take no response."""
    INSTALL: InstallSpec
    """Where it reads its hooks, and how to write one there."""

    @property
    def SYNTHESIZED_FROM(self) -> Mapping[str, tuple[str, ...]]:
        """A missing event (hookrun's name) -> its events from which hookrun synthesizes that."""

    # Optional: UNMEASURED, events (its or hookrun's) and grades where the effect of an answer follows documentation;
    # WEAKER, scenarios of the conformance kit whose grade is not that of the answer -> the grade.

    @property
    def PROJECT_ENV_VARS(self) -> tuple[str, ...]:
        """Environment variables in which it passes the project's root to hooks."""

    @property
    def ENV_MARKERS(self) -> tuple[str, ...]:
        """Environment variables it sets for its commands."""

    @property
    def NOTES(self) -> tuple[str, ...]:
        """Other facts for users, shown in docs/reference/agents.md, a sentence or two each."""

    def read(self, payload: dict[str, object], event: str) -> Message:
        """Return the message in a payload. `event` is the installed one or "". Raises UnreadableMessageError."""


class WithHooks(Protocol):
    """What `dialects` reads of an agent whose own hooks hookrun runs in others; see Agent."""

    DISPLAY_NAME: str
    EVENTS: dict[str, str]
    TOOLS: dict[str, str]
    NAMES: NameMap
    PROJECT_ENV_VARS: tuple[str, ...]
    DEFAULT_TIMEOUTS: dict[str, float]
    MAX_TIMEOUTS: dict[str, float]
    INSTALL: InstallSpec
    HOOKS: HookForm
    """How its own hooks differ from Claude Code's."""


class HookForm(TypedDict):
    """How an agent's own hooks differ from Claude Code's: the constant HOOKS of its module.

    A path in an answer is dotted; of several the first counts. Claude Code's events and answers are meant by `event`.
    """

    flat: NotRequired[bool]
    """Whether handlers may stand in an event's list without a group."""
    keys: NotRequired[dict[str, str]]
    """A handler's keys -> Claude Code's; several for one are alternatives, the first counts."""
    without_effect: NotRequired[tuple[str, ...]]
    """Keys of handlers that matter to the agent alone."""
    milliseconds_from: NotRequired[float]
    """Timeouts from this number on are milliseconds."""
    matches: NotRequired[str]
    """How matchers are compared with names: `names` as in Claude Code, `search` or `whole` as regular expressions."""
    star: NotRequired[bool]
    """Whether the matcher `*` of a handler without a group matches every tool; default true."""
    tools: NotRequired[dict[str, tuple[str, ...]]]
    """Names in matchers -> hookrun's tools, beside TOOLS."""
    mcp: NotRequired[str]
    """Its names of MCP servers' tools, with `{0}` for the server and `{1}` for the tool; default hookrun's."""
    narrow: NotRequired[dict[str, tuple[str, str]]]
    """Events of some tools alone -> hookrun's event and these tools, as a matcher."""
    message: NotRequired[Callable[[dict[str, object], Mapping[str, object]], dict[str, object]]]
    """Returns a hook's input, given Claude Code's in the agent's names, and the context."""
    answer: NotRequired[dict[str, tuple[str, ...]]]
    """Paths in an answer: of its `decision`, `reason`, `args`, `context`, text for the `user`, or next prompt (`next`).

    Default: Claude Code's form. Refusals are found in every form.
    """
    grants: NotRequired[bool]
    """Whether `allow` spares the user the question; default true."""
    veto_from: NotRequired[dict[str, int]]
    """An event ("" for others) -> the least exit status that blocks; default: 2 does, no other."""
    answers_on_stderr: NotRequired[bool]
    """Whether it reads stderr if stdout is empty."""
    plain: NotRequired[str]
    """Who gets stdout that is no answer: the `model` where Claude Code's does (default), the `user` or `nobody`."""


class TrustFormat(Protocol):
    """How an agent records trust in each hook in a TOML file: the module named by `hook_trust`."""

    CONFIG: str
    """The file in its directory with the trust in all hooks, the user's and projects'."""
    DIGEST: str
    """The key of the digest in a hook's table."""
    ENABLED: str
    """The key that disables a hook if it is false."""
    REMEDY: str
    """Where users review hooks."""

    def hook_table(self, path: str, event: str, group: int, handler: int) -> tuple[str, ...]:
        """Return the key of a hook's table in the file at `path`."""

    def project_trust(self, project: str) -> tuple[tuple[str, ...], str]:
        """Return the key of a project's trust, and the value that grants it."""

    def definition_digest(self, event: str, group: object, handler: Mapping[str, object]) -> str:
        """Return the digest of a hook's definition."""


class FolderTrust(TypedDict):
    """How an agent records trusted folders, with everything below, in a JSON or TOML file of its directory."""

    file: str
    """The file, which holds an object."""
    levels: NotRequired[Mapping[str, str]]
    """The object maps folders to these levels; each trusts the `folder`, its `parent` or `none`."""
    lists: NotRequired[tuple[str, ...]]
    """The object has lists of trusted folders under these keys."""
    under: NotRequired[tuple[str, str]]
    """The key of the folders in that object, and the key of the level in a folder's."""
    switch: NotRequired[tuple[str, bool]]
    """The setting (a dotted path) that requires trust, and its default; without it trust is always required."""
    project_hooks_only: NotRequired[bool]
    """Whether the user's own hooks run in an untrusted folder; default true."""
    cause: str
    """What happens without trust."""
    remedy: str
    """How to give it."""


class McpForm(TypedDict):
    """How an agent without `mcp__SERVER__TOOL` names MCP servers' tools, and where it has its servers."""

    prefix: NotRequired[str]
    """The text before a server's name."""
    joins: tuple[str, ...]
    """The texts between a server's name and its tool's."""
    unsafe: str
    """The replacement in a server's name for all but ASCII letters, digits, `_` and `-`."""
    servers: tuple[tuple[str, str], ...]
    """Files below `{home}` or `{project}`, and the key of the object with the servers in each."""


class PluginParts(TypedDict):
    """The installation in a plugin's source."""

    command: list[str]
    """The command it runs, with the event added."""
    events: list[str]
    """The events for which it runs the command."""
    seconds: float
    """How long it waits."""
    unchanged: bool
    """Whether some version of hookrun wrote the rest of the source."""


class InstallSpec(TypedDict):
    """Where an agent reads its hooks, and how to write one there: the constant INSTALL of its module."""

    program: str
    """The name of its program on PATH, and of its processes."""
    processes: NotRequired[tuple[str, ...]]
    """Other names of its processes; with a slash, a part of the path of a program or of an interpreter's script."""
    directory: str
    """Its directory in the user's home."""
    variable: NotRequired[str]
    """The environment variable that overrides that directory."""
    user: str
    """The file with the user's hooks, in that directory; with `{event}` in its name, one for each event."""
    project: str
    """The file with a project's hooks, relative to its root."""
    project_root: NotRequired[str]
    """The shell's words for the project's root in a project's line, with a slash at the end.

    Default: the directory in which the agent starts hooks. With git's words it is found from subdirectories.
    """
    form: str
    """The format of these files: json, jsonc, toml (an array `[[hooks]]`), script or plugin."""
    handler: NotRequired[dict[str, object]]
    """In settings: a handler; `{command}` becomes the command line, `{limit}` its timeout; `{event}`, `{name}`.

    Default: Claude Code's. With `args` the agent starts a one-word line without a shell.
    """
    more: NotRequired[dict[str, dict[str, object]]]
    """In settings: an event -> what its handler has besides."""
    shut: NotRequired[dict[str, object]]
    """In settings: what a gate's handler has besides if a guard may be asked, so that no answer is a block."""
    per_second: NotRequired[int]
    """In settings: units of its timeouts in a second; default 1."""
    nested: NotRequired[bool]
    """In settings: whether handlers are grouped, as in Claude Code; default true."""
    shows_missing_command: NotRequired[bool]
    """Whether it reports a missing command to the user and continues: then a line needs no answer for that."""
    first: NotRequired[dict[str, object]]
    """In settings: the first keys of a new file."""
    plugin: NotRequired[Plugin]
    """The plugin."""
    elsewhere: NotRequired[tuple[str, ...]]
    """Other files with hooks, in `~/` or `{directory}/`, or relative to the project's root."""
    settings: NotRequired[tuple[str, ...]]
    """Its settings files, highest precedence first; paths as in `elsewhere`."""
    managed: NotRequired[tuple[str, ...]]
    """Globs of the administrator's settings, absolute."""
    managed_hooks: NotRequired[str]
    """The file with the administrator's hooks on this system, absolute."""
    keeps_managed: NotRequired[bool]
    """Whether a user's settings cannot switch the administrator's hooks off."""
    managed_only: NotRequired[dict[str, tuple[object, ...]]]
    """An administrator's setting (a dotted path) -> the values with which only managed hooks run."""
    on_demand: NotRequired[dict[str, str]]
    """Events that are connected only for a hook -> when they are sent, if that is often.

    All others are sent at most once for a tool call, a prompt, a session or a subagent, and change nothing else.
    """
    shell_lines: NotRequired[dict[str, str]]
    """Globs of a project's command files -> the regular expression of shell lines in them, which it runs unasked."""
    unsent: NotRequired[tuple[str, ...]]
    """Events in its documentation or schemas that were never sent."""
    off: NotRequired[dict[str, object]]
    """A setting (a dotted path) -> the value that disables its hooks."""
    exit_zero_only: NotRequired[bool]
    """Whether it takes every exit status but 0 for a block."""
    read_by: NotRequired[Callable[[dict[str, object]], str | None]]
    """For files whose hooks other agents also run: returns the sender of a message, None for this one."""
    reads_user_settings: NotRequired[bool]
    """For an agent that also runs Claude Code's hooks: whether it runs those in the user's settings, too."""
    may_ignore: NotRequired[tuple[str, ...]]
    """What may keep it from that: a variable, a word, and the files (absolute or in the home) that may have it."""
    refused_by_status: NotRequired[bool]
    """For such an agent: whether a refusal needs exit status 2 and stderr, as it may not read the answer."""
    hooks_off: NotRequired[str]
    """The file, in the home, with the names of the user's hooks that it skips."""
    mcp: NotRequired[McpForm]
    """How it names MCP servers' tools, if not as hookrun does."""
    dropped_if: NotRequired[Callable[[object, bool], Iterable[tuple[tuple[str | int, ...], str]]]]
    """Yields why it ignores a whole file, given its data and whether it has a BOM: a path, and what is needed there."""
    hook_trust: NotRequired[str]
    """The module, a TrustFormat, with how it records trust in each hook."""
    folder_trust: NotRequired[FolderTrust]
    """How it records trust in folders."""


def starts_directly(spec: InstallSpec) -> bool:
    """Return whether an agent starts commands without a shell, so that the launcher's name must have the event."""
    return "args" in spec.get("handler", {})
