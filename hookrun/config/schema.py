"""Define all hook fields and settings with their shapes; write them as a JSON Schema."""

from __future__ import annotations

from hookrun.agents import DIALECTS
from hookrun.claude.hook_protocol import HANDLER_TARGETS, NATIVE_EVENTS, UNSUPPORTED_HANDLERS
from hookrun.config.document import Location
from hookrun.config.shapes import (
    BOOL,
    NUMBER,
    OBJECT,
    SCALAR,
    Choice,
    Field,
    Integer,
    ListOf,
    MapOf,
    OrRecord,
    Record,
    Schema,
    Shape,
    Str,
    object_schema,
)
from hookrun.core import audit
from hookrun.core.context import EMPTY
from hookrun.core.events import ALIASES, EVENTS

NO_NUL = r"[^\u0000]*"
SOME_NO_NUL = r"[^\u0000]+"
NOT_BLANK = r"[ \t\r\n]*[^\u0000 \t\r\n][^\u0000]*"
NO_CONTROLS = r"[^\u0000-\u001f\u007f-\u009f]"
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
DOTTED = rf"{IDENTIFIER}(?:\.{IDENTIFIER})*"
ALTERNATIVES = r"[^|]+(?:\|[^|]+)*"

# Field -> the hook kind it requires.
REQUIRES = {"interpreter": "python", "headers": "url", "allowed_env": "url"}

# Common wrong names -> the field.
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

# The top-level fields of a context, for paths in `when` and `unless`.
CONTEXT_FIELDS = (
    *(*EMPTY, "hook", "tool_use_id", "permission_mode", "agent_id", "transcript_path", "stop_hook_active"),
    *("checkpoint_data", "error_info", "payload"),
)

OWN_EVENT = Str("a name of letters, digits, _, - and .", r"[A-Za-z_][A-Za-z0-9_.-]*", but_not=tuple(EVENTS))
EVENT = Str("an event name", OWN_EVENT.pattern, known=tuple(ALIASES))
WORD = Str("a string", NO_NUL)
PATH = Str("a path", SOME_NO_NUL)
DIGEST = Str("a digest as `hookrun trust --digest` prints it", r"sha256:[0-9a-f]{64}")
ACCOUNT = Str("an account name or number", r"[A-Za-z0-9_][A-Za-z0-9_.$-]*")
AGENT = Str("an agent name", f"{NO_CONTROLS}+")
PATTERN = Str('globs with "|" between them', ALTERNATIVES)
PATTERN_OR_EMPTY = Str('globs with "|" between them, none of them empty', f"(?:{ALTERNATIVES})?")
CONDITIONS = MapOf(
    Str("a dotted path such as tool_args.command", r"[^.]+(?:\.[^.]+)*"),
    ListOf(SCALAR, "a glob or a list of globs", alone=SCALAR),
    'an object such as {"tool_args.command": "rm *"}',
    least=1,
)

# Every field of a hook.
HOOK_FIELDS = (
    Field(
        "event",
        ListOf(EVENT, "an event or a list of events", alone=EVENT, unique=True),
        "Events that run the hook: hookrun's names, or any agent's.",
    ),
    Field("command", Str("a shell command line", NOT_BLANK), "A shell command line, run by `/bin/sh`.", runs=True),
    Field(
        "args",
        ListOf(WORD, "a list of a program and its arguments", first=PATH),
        "A program and its arguments, run without a shell.",
        runs=True,
    ),
    Field(
        "python",
        Str('"package.module:function"', rf"{DOTTED}:{DOTTED}"),
        "A Python function, called with the context.",
        runs=True,
    ),
    Field(
        "url",
        Str("an http or https URL", r"https?://[^\u0000-\u0020\u007f/?#]+(?:[/?#][^\u0000-\u0020\u007f]*)?"),
        "A URL to post the context to.",
        runs=True,
    ),
    Field("interpreter", PATH, "The Python interpreter of a `python` hook, instead of hookrun's own."),
    Field(
        "headers",
        MapOf(
            Str("an HTTP header name", r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"),
            Str("a string without control characters", f"{NO_CONTROLS}*"),
            'an object such as {"Name": "value"}',
        ),
        "Headers of the request. `$NAME` is replaced by an environment variable listed in `allowed_env`.",
    ),
    Field(
        "allowed_env",
        ListOf(Str("a variable name", IDENTIFIER), "a list of variable names", least=0),
        "Environment variables that `headers` may use.",
    ),
    Field(
        "matcher",
        ListOf(PATTERN, "one or more globs, none of them empty", alone=PATTERN_OR_EMPTY),
        "Run only for these tools: case-sensitive globs, as a list or separated by `|`. Any agent's name of a tool "
        "means that tool in every agent.",
    ),
    Field("when", CONDITIONS, "Run only if all of these context fields match their globs."),
    Field("unless", CONDITIONS, "Do not run if all of these context fields match their globs."),
    Field("timeout", NUMBER, "Timeout in seconds.", default=30),
    Field("priority", Integer(0, 1000), "Lower numbers run first, equal ones in the order of the file.", default=500),
    Field("parallel", BOOL, "Run at the same time as neighboring hooks that are also `parallel`.", default=False),
    Field("always", BOOL, "Run even when an earlier hook has ended the chain.", default=False),
    Field("exclusive", BOOL, "Run at most one at a time in a project on this machine.", default=False),
    Field("serve", BOOL, "The program answers lines of JSON, so that it can be kept between calls.", default=False),
    Field(
        "on_failure",
        Choice(("continue", "block")),
        "When the hook fails: `continue` warns, `block` blocks the call.",
        default="continue",
    ),
    Field(
        "on_block",
        Choice(("block", "ask")),
        "When the hook blocks a tool call: `ask` has the agent ask the user instead, where it can.",
        default="block",
    ),
    Field(
        "overridable",
        BOOL,
        "Let users `hookrun allow` a call that the hook refuses, and `on_block` apply (managed layer only).",
        default=False,
    ),
    Field(
        "mode",
        Choice(("enforce", "advise", "off")),
        "`advise` only reports what the hook would block or change; `off` disables it.",
        default="enforce",
    ),
    Field("background", BOOL, "Do not wait for the hook: it cannot block or change anything.", default=False),
    Field(
        "dialect", Choice(("hookrun", *DIALECTS)), "The JSON format that the hook reads and writes.", default="hookrun"
    ),
    Field("agents", ListOf(AGENT, "an agent or a list of agents", alone=AGENT), "Run only for these agents."),
    Field(
        "env",
        MapOf(Str("a variable name", r"[^=\u0000]+"), WORD, 'an object such as {"NAME": "value"}'),
        "Environment variables to add.",
    ),
    Field(
        "env_policy",
        Choice(("inherit", "scrub", "clean")),
        "Environment variables to inherit: all (`inherit`), all but credentials (`scrub`), or almost none (`clean`).",
        default="inherit",
    ),
    Field(
        "cwd",
        Str('"project", "event" or a path', SOME_NO_NUL),
        "The working directory: the project's root (`project`), the agent's directory (`event`), or a path.",
        default="project",
    ),
    Field(
        "files",
        ListOf(PATH, "a list of globs", least=0),
        "Files that the hook uses besides its script: part of its approval.",
    ),
    Field(
        "state",
        ListOf(Str("a relative path", r"(?![/~])[^\u0000]+"), "a list of relative paths", least=0),
        "Data files that may change without a new approval, relative to the root.",
    ),
    Field("payload", BOOL, "Add the agent's whole message to the context.", default=False),
    Field("max_output", Integer(1, 64 << 20), "Bytes to keep of each output stream.", default=1 << 20),
    Field(
        "name",
        Str("a name without control characters", f"{NO_CONTROLS}+"),
        "The hook's name, unique in the file. Derived from the command by default.",
    ),
    Field("description", Str("a string"), "What the hook is for."),
    Field("metadata", OBJECT, "Data for other tools."),
)

# The fields that name what a hook runs; it has exactly one.
KINDS = tuple(field.name for field in HOOK_FIELDS if field.runs)

# Fields of a single hook; `defaults` cannot set them.
NOT_IN_DEFAULTS = frozenset({"event", *KINDS, "name", "description", "matcher", "when", "unless", "headers", "serve"})

# The fields of a recipe's entry, beside fields for each of its hooks.
RECIPE_FIELDS = (
    Field(
        "recipe",
        Str('a recipe such as "no-force-push@1"', r"[a-z][a-z0-9-]*(?:@[1-9][0-9]*)?"),
        "A ready-made hook by its name, pinned to a version with `@`: see `hookrun recipes`.",
    ),
    Field(
        "options",
        MapOf(
            Str("the name of an option", r"[a-z][a-z0-9_]*"),
            ListOf(SCALAR, "a value or a list of values", alone=SCALAR, least=0),
            "an object of option and value",
        ),
        "The options of the recipe: see `hookrun recipes`.",
    ),
)

# Hook fields that a recipe sets itself.
NOT_BESIDE = frozenset({"event", "cwd", "serve", *KINDS, *REQUIRES})

# The fields of the setting `audit`.
AUDIT_FIELDS = (
    Field("max_bytes", Integer(65536), "Size in bytes at which the log is rotated.", default=audit.MAX_BYTES),
    Field("keep", Integer(1), "Number of rotated logs to keep.", default=audit.KEEP),
    Field("max_size", Integer(65536), "Size in bytes of all logs together: the oldest are removed."),
    Field("max_age", Integer(1), "Days after the last record of a rotated log, after which it is removed."),
    Field(
        "details",
        Choice((audit.NONE, audit.SUMMARY, audit.FULL)),
        "How much of a call to log: `none`, only the tool's name; `summary`, its file and the first 200 characters of "
        "its command without credentials; `full`, the whole context up to 1 MiB, credentials removed.",
        default=audit.SUMMARY,
    ),
    Field(
        "full_until",
        Str("a UTC time such as 2026-12-06T08:00:00Z", r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z"),
        "Until then `details` is `full`: `hookrun record on` sets it.",
    ),
)

AUDIT = Record(AUDIT_FIELDS, "an object of max_bytes, keep, max_size, max_age, details and full_until")

# A config in a git repository, which `hookrun update` fetches.
GIT_INCLUDE = Record(
    (
        Field("git", Str("the URL or path of a repository", NOT_BLANK), "The repository, as `git fetch` takes it."),
        Field(
            "rev",
            Str("a commit, tag or branch", r"[^\u0000-\u0020-][^\u0000-\u0020]*"),
            "A whole commit id, or with `digest` a tag or branch.",
        ),
        Field("digest", Str("a digest as `hookrun update` prints it", DIGEST.pattern), "The digest of the files."),
        Field("path", PATH, "The config file in the repository.", default="coder.json"),
    ),
    "an object of git, rev, digest and path",
)

# The fields that `defaults` can set.
DEFAULTS_FIELDS = tuple(field for field in HOOK_FIELDS if field.name not in NOT_IN_DEFAULTS)


class DefaultsRecord(Record):
    """The fields of hooks that `defaults` sets."""

    def report_unknown(self, key: str, fields: dict[str, Field], at: Location) -> None:
        """Report a field that only a hook has, or that none has."""
        if key in NOT_IN_DEFAULTS:
            at.at(key).report(f"`defaults` cannot set `{key}`", "set it in each hook")
        else:
            at.unknown_key(key, "hook field", fields)


# Every setting under `hookrun`.
SETTINGS = (
    Field(
        "defaults",
        DefaultsRecord(DEFAULTS_FIELDS, "an object of hook fields", "write {}"),
        "Default fields for the hooks of this file and of the files it includes.",
    ),
    Field(
        "on_error",
        Choice(("continue", "block")),
        "If hookrun cannot judge a call: let it `continue`, or `block` it; by default it is blocked where a guard may "
        "be (managed and user layer only).",
    ),
    Field(
        "audit",
        OrRecord(Shape(f"true, false or {AUDIT.says}", BOOL.schema, normal=BOOL.normal), AUDIT),
        "Keep an audit log, and how much of it (managed and user layer only).",
        default=True,
    ),
    Field(
        "project_env_policy",
        Choice(("inherit", "scrub", "clean")),
        "The most that project hooks may inherit, `scrub` by default (managed and user layer only).",
    ),
    Field(
        "install",
        Str("a command without quotes, of one line", r"[-A-Za-z0-9 +:/@.=_,~#]+"),
        "What installs hookrun, such as `uv tool install git+ssh://HOST/hookrun`.",
    ),
    Field(
        "when_missing",
        Choice(("warn", "block")),
        "What a project's entries do without hookrun: `warn` or `block` every tool.",
    ),
    Field(
        "path",
        ListOf(Str("an absolute path, or one that begins with ~/", r"(?:~?/)[^\u0000:]*"), "a list of paths", least=0),
        "Directories at the end of the PATH of hooks, such as a version manager's (managed and user layer only).",
    ),
    Field(
        "warm",
        Choice(("auto", "on", "off")),
        "Run hooks in a server that stays loaded: `auto`, the default, except in CI (managed and user layer only).",
    ),
    Field(
        "trusted",
        ListOf(DIGEST, "a list of digests", least=0),
        "Digests of approved project hooks, besides those approved with `hookrun trust` (managed and user layer only).",
    ),
    Field(
        "trusted_owners",
        ListOf(ACCOUNT, "a list of accounts", least=0),
        "Accounts that may own the files of project hooks, besides you and root (managed and user layer only).",
    ),
    Field(
        "include",
        ListOf(OrRecord(PATH, GIT_INCLUDE), "a list of paths and git repositories", least=0),
        "More files of the same layer: paths relative to this file, or files of git repositories.",
    ),
    Field("include_claude", BOOL, "Also run the hooks in Claude Code's settings.", default=False),
    Field(
        "events",
        ListOf(OWN_EVENT, "a list of names of your own events", least=0, unique=True),
        "Names of your program's own events.",
    ),
    Field(
        "min_version",
        Str('a version such as "1.2.3"', r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}"),
        "The oldest version of hookrun that can read this file.",
    ),
)

# Settings of the managed and user layers only, which can have no relative paths to run.
TRUSTED_SETTINGS = ("on_error", "audit", "project_env_policy", "path", "warm", "trusted", "trusted_owners")


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> Schema:
    """Return the schema of coder.json and hookrun.yaml. Other top-level keys are allowed."""
    is_recipe: Schema = {"type": "object", "required": ["recipe"]}
    entry: Schema = {"if": is_recipe, "then": _reference("recipe"), "else": _reference("hook")}
    nested: Schema = {
        "type": "object",
        "properties": {"hooks": _reference("hooks")},
        "required": ["hooks"],
        "additionalProperties": False,
    }
    by_event: Schema = {
        "type": "object",
        "properties": {event: _reference("claude") for event in NATIVE_EVENTS},
        "additionalProperties": False,
        "minProperties": 1,
    }
    return {
        "$schema": DIALECT,
        "title": "hookrun config",
        "description": "Hooks for coding agents, and hookrun's settings. Other keys belong to other programs.",
        "type": "object",
        "properties": {
            "$schema": {"type": "string", "description": "The schema of this file, for editors."},
            "hooks": {
                "anyOf": [_reference("hooks"), nested, by_event],
                "description": "A list of hooks, or an object of events in Claude Code's form.",
            },
            "hookrun": _reference("settings"),
        },
        "$defs": {
            "hooks": {"type": "array", "items": entry, "description": "A list of hooks."},
            "hook": _hook(),
            "recipe": _recipe(),
            "claude": _claude_groups(),
            "settings": {**object_schema(SETTINGS), "description": "hookrun's settings."},
        },
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _claude_groups() -> Schema:
    types = [*HANDLER_TARGETS, *UNSUPPORTED_HANDLERS]
    handler = {
        "type": "object",
        "properties": {"type": {"enum": types, "description": "What the handler runs; hookrun runs command and http."}},
        "required": ["type"],
    }
    matcher = {"type": ["string", "null"], "description": "Run only for these tools: names, or a regular expression."}
    hooks = {"type": "array", "items": handler, "description": "The handlers."}
    group = {"type": "object", "properties": {"matcher": matcher, "hooks": hooks}, "required": ["hooks"]}
    return {"type": "array", "items": group, "description": "Groups of handlers, in Claude Code's form."}


def _recipe() -> Schema:
    beside = tuple(field for field in HOOK_FIELDS if field.name not in NOT_BESIDE)
    return {**object_schema((*RECIPE_FIELDS, *beside)), "description": "A ready-made hook.", "required": ["recipe"]}


def _hook() -> Schema:
    return {
        **object_schema(HOOK_FIELDS),
        "description": "A hook.",
        "required": ["event"],
        "oneOf": [{"required": [kind]} for kind in KINDS],
        "dependentRequired": {name: [kind] for name, kind in REQUIRES.items()},
        "not": {
            "anyOf": [
                {
                    "properties": {"background": {"const": True}, "on_failure": {"const": "block"}},
                    "required": ["background", "on_failure"],
                },
                {"properties": {"serve": {"const": True}}, "required": ["serve", "url"]},
            ]
        },
    }
