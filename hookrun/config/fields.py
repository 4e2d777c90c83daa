"""The one table of everything that can be declared: all fields of a hook and all settings, with their limits."""

from __future__ import annotations

from hookrun.config.shapes import (
    Anything,
    Choice,
    Field,
    Flag,
    FlagOr,
    Integer,
    Many,
    Number,
    Record,
    Scalar,
    Table,
    Text,
)
from hookrun.events import EVENTS

NO_NUL = r"[^\u0000]*"
SOME_NO_NUL = r"[^\u0000]+"
NOT_BLANK = r"[ \t\r\n]*[^\u0000 \t\r\n][^\u0000]*"
NO_CONTROLS = r"[^\u0000-\u001f\u007f-\u009f]"
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
DOTTED = rf"{IDENTIFIER}(?:\.{IDENTIFIER})*"
ALTERNATIVES = r"[^|]+(?:\|[^|]+)*"

KINDS = ("command", "args", "python", "url")
"""The fields of which a hook has exactly one: it says what is run."""

BELONGS = {"interpreter": "python", "headers": "url", "allowed_env": "url"}
"""Fields that make sense beside one of KINDS only."""

SYNONYMS = {
    "argv": "args",
    "async": "background",
    "cmd": "command",
    "disabled": "mode",
    "enabled": "mode",
    "environment": "env",
    "if": "when",
    "on_error": "on_failure",
    "order": "priority",
    "run": "command",
    "script": "command",
    "tool": "matcher",
    "tool_name": "matcher",
    "tools": "matcher",
    "working_dir": "cwd",
}
"""What people write for a field whose name they do not remember."""

NOT_IN_DEFAULTS = frozenset({"event", *KINDS, "name", "description", "matcher", "when", "unless", "headers"})
"""Fields that describe one hook: a file cannot set them for all of its hooks."""

AGENTS = ("claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode", "cursor")
"""The agents that are known by name; another name is a warning."""

CONTEXT_FIELDS = (
    "session_id",
    "event",
    "tool_name",
    "tool_args",
    "tool_result_output",
    "tool_result_error",
    "user_prompt",
    "assistant_response",
    "root_session_id",
    "file_path",
    "working_dir",
    "version",
    "agent",
    "agent_event",
    "agent_tool_name",
    "request_id",
    "timestamp",
    "hook",
    "metadata",
    "tool_use_id",
    "permission_mode",
    "agent_id",
    "transcript_path",
    "stop_hook_active",
    "checkpoint_data",
    "error_info",
    "payload",
)
"""The fields of a context: `when` and `unless` look at one of them or at something inside of one."""

OWN_EVENT = Text("a name of letters, digits, _, - and .", r"[A-Za-z_][A-Za-z0-9_.-]*", but_not=tuple(EVENTS))
EVENT = Text("the name of an event", OWN_EVENT.pattern, known=tuple(EVENTS))
WORD = Text("a string without NUL", NO_NUL)
PATH = Text("a path", SOME_NO_NUL)
PATTERN = Text('names or globs with "|" between them', ALTERNATIVES)
PATTERN_OR_EMPTY = Text('names or globs with "|" between them, none of them empty', f"(?:{ALTERNATIVES})?")
CONDITIONS = Table(
    Text("a dotted path such as tool_args.command", r"[^.]+(?:\.[^.]+)*"),
    Many(Scalar(), "a glob or a list of globs", alone=Scalar()),
    "an object of dotted context path and glob",
    least=1,
)

HOOK_FIELDS = (
    Field(
        "event",
        Many(EVENT, "an event or a list of different events", alone=EVENT, unique=True),
        "When the hook runs: one event or several, by canonical name or by any agent's name for it.",
    ),
    Field("command", Text("a shell command line", NOT_BLANK), "A command line that `/bin/sh` runs."),
    Field(
        "args",
        Many(WORD, "a list of a program and its arguments", first=PATH),
        "A program and its arguments, run without a shell.",
    ),
    Field(
        "python",
        Text('"package.module:function"', rf"{DOTTED}:{DOTTED}"),
        "A Python function that is called with the context.",
    ),
    Field(
        "url",
        Text("an http or https URL", r"https?://[^\u0000-\u0020\u007f/?#]+(?:[/?#][^\u0000-\u0020\u007f]*)?"),
        "An address that the context is posted to.",
    ),
    Field("interpreter", PATH, "The Python that runs a `python` hook, instead of hookrun's own."),
    Field(
        "headers",
        Table(
            Text("the name of an HTTP header", r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"),
            Text("a string without control characters", f"{NO_CONTROLS}*"),
            "an object of header name and value",
        ),
        "Headers of the request to `url`; `$NAME` stands for a variable named in `allowed_env`.",
    ),
    Field(
        "allowed_env",
        Many(Text("the name of a variable", IDENTIFIER), "a list of names of variables", least=0),
        "The environment variables that `headers` may use.",
    ),
    Field(
        "matcher",
        Many(PATTERN, "a glob on the tool's name or a list of globs, none of them empty", alone=PATTERN_OR_EMPTY),
        "Only for these tools: globs, `|` between alternatives or a list, case-sensitive.",
    ),
    Field("when", CONDITIONS, "Only if all of these places in the context look like this."),
    Field("unless", CONDITIONS, "Not if all of these places in the context look like this."),
    Field("timeout", Number(0), "How many seconds the hook may take.", default=30),
    Field("priority", Integer(0, 1000), "Lower runs first; equal ones run as declared.", default=500),
    Field("parallel", Flag(), "Neighbours in order that all say true run side by side.", default=False),
    Field("always", Flag(), "Run even when an earlier hook has ended the chain.", default=False),
    Field("exclusive", Flag(), "Never run two at once in one project on one machine.", default=False),
    Field("on_failure", Choice(("continue", "block")), "What it means when this hook fails.", default="continue"),
    Field(
        "mode",
        Choice(("enforce", "advise", "off")),
        "`advise` turns a block into a message and tells a change without making it; `off` never runs.",
        default="enforce",
    ),
    Field("background", Flag(), "Start the hook and do not wait for it: it has no say.", default=False),
    Field("dialect", Choice(("hookrun", "claude")), "Which JSON the hook reads and writes.", default="hookrun"),
    Field(
        "agents",
        Many(
            Text("the name of an agent", f"{NO_CONTROLS}+"), "an agent or a list of agents", Text("", f"{NO_CONTROLS}+")
        ),
        "Only for these agents.",
    ),
    Field(
        "env",
        Table(Text("the name of a variable", r"[^=\u0000]+"), WORD, "an object of variable and value"),
        "Variables that are added to the hook's environment.",
    ),
    Field(
        "env_policy",
        Choice(("inherit", "scrub", "clean")),
        "What the hook inherits: everything, everything but what looks like a credential, or next to nothing.",
        default="inherit",
    ),
    Field(
        "cwd",
        Text('"project", "event" or a path', SOME_NO_NUL),
        "Where the hook runs: at the project's root, where the agent is, or in this directory (relative to the root).",
        default="project",
    ),
    Field("files", Many(PATH, "a list of globs", least=0), "Files that belong to the hook besides its script."),
    Field("payload", Flag(), "Put the agent's whole message into the context.", default=False),
    Field("max_output", Integer(1, 64 << 20), "How many bytes of each output stream are kept.", default=1 << 20),
    Field(
        "name",
        Text("a name without control characters", f"{NO_CONTROLS}+"),
        "What the hook is called, once in a file; made from the command when absent.",
    ),
    Field("description", Text("a string"), "What the hook is for, for people."),
    Field("metadata", Anything(), "Anything, for tools."),
)
"""Every field of a hook."""

AUDIT_FIELDS = (
    Field("max_bytes", Integer(65536), "How large the log may grow before it is set aside.", default=10485760),
    Field("keep", Integer(1), "How many logs that were set aside are kept.", default=5),
)
"""The fields of the setting `audit`."""

DEFAULTS_FIELDS = tuple(field for field in HOOK_FIELDS if field.name not in NOT_IN_DEFAULTS)
"""The fields that `defaults` may set for every hook of a file."""

SETTINGS = (
    Field(
        "defaults",
        Record(DEFAULTS_FIELDS, "an object of hook fields"),
        "Fields for every hook of this file and of the files it includes; a hook's own field counts more.",
    ),
    Field(
        "on_error",
        Choice(("continue", "block")),
        "Whether an agent goes on or is refused when hookrun itself is in trouble (managed and user layer only).",
        default="continue",
    ),
    Field(
        "audit",
        FlagOr(Record(AUDIT_FIELDS, "an object of max_bytes and keep")),
        "Whether the audit log is kept, and how much of it (managed and user layer only).",
        default=True,
    ),
    Field(
        "record_context",
        Flag(),
        "Whether the whole context, up to 1 MiB, goes into the audit log too (managed and user layer only).",
        default=False,
    ),
    Field(
        "include",
        Many(PATH, "a list of paths", least=0),
        "Further files of the same layer, relative to this file.",
    ),
    Field("include_claude", Flag(), "Whether hooks in Claude Code's own settings are taken in as well.", default=False),
    Field(
        "events",
        Many(OWN_EVENT, "a list of different names of your own events", least=0, unique=True),
        "Events of the program that fires them, beyond those that are known.",
    ),
    Field(
        "min_version",
        Text('a version such as "1.2.3"', r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}"),
        "The oldest hookrun that these declarations are written for.",
    ),
)
"""Every setting under `hookrun`."""

TRUSTED_LAYERS = ("managed", "user")
"""The layers whose word counts for the machine: only they have TRUSTED_SETTINGS and may not run relative programs."""

TRUSTED_SETTINGS = ("on_error", "audit", "record_context")
"""Settings that only the managed and the user layer may set."""


def names(fields: tuple[Field, ...]) -> dict[str, Field]:
    """Return the fields by their names."""
    return {field.name: field for field in fields}
