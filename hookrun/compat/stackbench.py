"""The names of StackBench's hooks (`stackbench.hooks`), on hookrun's: validation and logs of its documentation agents.

A program that uses them as documented only changes its import: what it gives to `ClaudeAgentOptions(hooks=...)` comes
from `hooks_for`, so that a hook that fails or is late lets no invalid file through, edits are checked as writes are,
logs have no credentials and no forged lines, and a denial is in both logs.

Required members of documents are those of the agents' published schema definitions; other members are allowed.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from hookrun import Engine
from hookrun.core import files
from hookrun.core.model import as_object
from hookrun.core.state import timestamp
from hookrun.core.text import escape
from hookrun.observe.database import register_observers
from hookrun.recipes.log_tools import MAX_VALUE, LogSanitizer, append_entry, append_line
from hookrun.recipes.validate_json import Rule, ValidateJSON

if TYPE_CHECKING:
    from claude_agent_sdk import HookMatcher
    from claude_agent_sdk.types import HookCallback, HookEvent

    from hookrun import Context, Verdict
    from hookrun.events import PreToolUse
    from hookrun.library import Bundle

    Hooks = dict[HookEvent, list[HookMatcher]]

    Schema = dict[str, object]
    Directory = str | os.PathLike[str] | None
    Factory = Callable[[Directory], Iterable[Bundle]]

# Last: the call is logged with the changes of earlier hooks.
PRIORITY = 1000
# Levels of messages that count as errors.
ERRORS = frozenset({"ERROR", "CRITICAL"})

# The schemas by their titles: a document's analysis, the summary of all, and a document's validation.
_FILE = resources.files("hookrun.compat").joinpath("stackbench_schemas.json")
_SCHEMAS: dict[str, Schema] = json.loads(_FILE.read_text("utf-8"))
DOCUMENT_ANALYSIS, EXTRACTION_SUMMARY, VALIDATION_OUTPUT = (
    _SCHEMAS[title] for title in ("DocumentAnalysis", "ExtractionSummary", "ValidationOutput")
)


def extraction_rules() -> list[Rule]:
    """Return the rules for an extraction agent: `*_analysis.json`, `extraction_summary.json`.

    Raises ImportError if `jsonschema` is not installed.
    """
    return [Rule("*_analysis.json", DOCUMENT_ANALYSIS), Rule("extraction_summary.json", EXTRACTION_SUMMARY)]


def validation_rules() -> list[Rule]:
    """Return the rule for an agent that checks signatures or examples: `*_validation.json`.

    Raises ImportError if `jsonschema` is not installed.
    """
    return [Rule("*_validation.json", VALIDATION_OUTPUT)]


class AgentLogger:
    """Logs what an agent does: `pre_tool_use`, `post_tool_use` and `post_tool_failure`, refused calls included.

    A call is a line of JSON in `tools_log_file` when it is requested (`"event_type": "pre_tool"`: `timestamp`,
    `tool_name`, `tool_input`, `tool_use_id`) and another when it is finished (`"post_tool"`: `tool_output` and `error`
    as well), with the agent's own name of the tool and its output as the agent sent it. A denied call has only the
    first, with the reason as its `error`. Each of these is also a line of `log_file`. Each line is one append: threads
    and processes can share a file. Files are private (0600); missing directories are created.

    A log that cannot be written never stops the agent: its hook fails, which the result and the audit report.

    Args:
        log_file: For people: calls, and what `log_message` writes.
        tools_log_file: For programs: JSON Lines.
        redact: Whether credentials are removed, from both.
        max_value: Characters of one value (`tool_output`, an argument); a longer one is cut, and ends with its length.
        name: The name of the hooks in the engine. A second log in one engine adds its file to the name.
    """

    def __init__(
        self,
        log_file: str | os.PathLike[str],
        tools_log_file: str | os.PathLike[str],
        *,
        redact: bool = True,
        max_value: int = MAX_VALUE,
        name: str = "agent-log",
    ) -> None:
        self.log_file = os.path.abspath(log_file)
        self.tools_log_file = os.path.abspath(tools_log_file)
        self.name = name
        self._sanitizer = LogSanitizer(max_value, redact=redact)
        self._started = timestamp()
        self._lock = Lock()
        self._tools: Counter[str] = Counter()
        self._messages = 0
        self._errors = 0
        self._denials: dict[str, str] = {}

    def register(self, engine: Engine) -> None:
        """Register for tool calls, after all other hooks and whatever they decide."""
        register_observers(
            engine,
            self.tools_log_file,
            {
                f"{self.name}-pre_tool_use": ("pre_tool_use", self.before),
                f"{self.name}-post_tool_use": ("post_tool_use", self.after),
                f"{self.name}-post_tool_failure": ("post_tool_failure", self.after),
            },
            priority=PRIORITY,
            thread=False,
            description=f"log tool calls to {self.tools_log_file}",
        )

    def deny(self, ctx: Context, reason: str) -> None:
        """Note that the call of this context is denied, for its line."""
        self._denials[ctx.fire_id] = reason

    def before(self, ctx: Context) -> None:
        """Log that a tool is about to run, or was denied. Raises OSError."""
        entry, reason = _entry("pre_tool", ctx), self._denials.pop(ctx.fire_id, None)
        self.log_tool_call(entry if reason is None else {**entry, "error": f"denied: {reason}"})
        given = json.dumps(self._sanitizer.value(entry["tool_input"]), ensure_ascii=False)
        self._append("INFO", f"{entry['tool_name']} {given}")
        if reason is not None:
            self._append("WARNING", f"{entry['tool_name']} denied: {reason}")

    def after(self, ctx: Context) -> None:
        """Log the result of a tool, or its error. Raises OSError."""
        error = ctx.tool_result_error
        sent = as_object(ctx.get("payload"))
        output = sent["tool_response"] if "tool_response" in sent else ctx.get("tool_result_output")
        entry = {**_entry("post_tool", ctx), "tool_output": output, "error": error}
        self.log_tool_call(entry)
        self._append(
            "ERROR" if error else "INFO", f"{entry['tool_name']} {f'failed: {error}' if error else 'finished'}"
        )

    def log_message(self, message: str, level: str = "INFO") -> None:
        """Append a line with time and level to the log for people; DEBUG, INFO, WARNING, ERROR, CRITICAL or any word.

        Line ends and control characters are escaped: no message can look like two. Raises OSError.
        """
        level = escape(level).upper()
        with self._lock:
            self._messages += 1
            self._errors += level in ERRORS
        self._append(level, message)

    def _append(self, level: str, message: str) -> None:
        append_line(self.log_file, f"{timestamp()} [{level}] {escape(self._sanitizer.text(message))}\n")

    def log_tool_call(self, entry: Mapping[str, object]) -> None:
        """Append an entry to the log of tool calls, with a `timestamp` if it has none. Raises OSError.

        Values that are not JSON are logged as text. A `pre_tool` entry counts as a call, any with an `error` as an
        error.
        """
        with self._lock:
            if entry.get("event_type") == "pre_tool":
                self._tools[str(entry.get("tool_name"))] += 1
            self._errors += bool(entry.get("error"))
        append_entry(self.tools_log_file, {"timestamp": timestamp(), **entry}, self._sanitizer)

    def get_stats(self) -> dict[str, object]:
        """Return the counts of this object: `tool_calls`, `tools` (name -> calls), `messages`, `errors`."""
        with self._lock:
            return {
                "tool_calls": self._tools.total(),
                "tools": dict(sorted(self._tools.items())),
                "messages": self._messages,
                "errors": self._errors,
            }

    def write_summary(self, path: str | os.PathLike[str]) -> None:
        """Add the statistics of this log to a `summary.json`, beside those of other logs.

        The file is an object with `documents` (name -> statistics, files and times); this log's name is that of its
        `log_file` without `_agent.log`. It is replaced atomically, by one writer at a time.

        Raises:
            OSError: It cannot be written.
            ValueError: The existing file is not such a summary; it is not changed.
        """
        path = os.path.abspath(path)
        directory = os.path.dirname(path)
        os.makedirs(directory, exist_ok=True)
        name = os.path.basename(self.log_file).removesuffix(".log").removesuffix("_agent")
        with files.Locked(directory):
            documents = _documents(path)
            documents[name] = {
                **self.get_stats(),
                "log_file": self.log_file,
                "tools_log_file": self.tools_log_file,
                "started_at": self._started,
                "written_at": timestamp(),
            }
            files.atomic_write(path, (json.dumps({"documents": documents}, indent=2) + "\n").encode())


def _entry(event_type: str, ctx: Context) -> dict[str, object]:
    return {
        "timestamp": ctx.timestamp or timestamp(),
        "event_type": event_type,
        "tool_name": ctx.agent_tool_name or ctx.tool_name,
        "tool_input": ctx.get("tool_args"),
        "tool_use_id": ctx.tool_use_id,
    }


def _documents(path: str) -> dict[str, object]:
    try:
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path} exists and is not JSON: {error}") from error
    documents = summary.get("documents") if isinstance(summary, dict) else None
    if not isinstance(documents, dict):
        raise ValueError(f"{path} exists and has no object `documents`")  # noqa: TRY004
    return documents


class _Validation(ValidateJSON):
    """Tells the agent's log what it denies."""

    logger: AgentLogger | None = None

    def check(self, ctx: PreToolUse) -> Verdict | None:
        verdict = super().check(ctx)
        if verdict is not None and self.logger is not None:
            self.logger.deny(ctx, str(verdict.message))
        return verdict


def _validation(agent_type: str, rules: Callable[[], list[Rule]]) -> Factory:
    return lambda output_dir: [_Validation(rules(), output_dir, name=f"validate-json-{agent_type}")]


class HookManager:
    """The hooks of one agent: its validation, then the log, which sees denied calls too.

    It is a bundle, too, for an engine with other hooks: `engine.use(HookManager("extraction", logger))`.

    `HookManager.types` maps a type's name to a function that takes the output directory (or None) and returns the
    bundles of such an agent. A program adds its own with `define`.

    Args:
        agent_type: The type of the agent.
        logger: Its log, if any.
        output_dir: Where its files belong.

    Raises ValueError for an unknown type, ImportError if its validation needs a package that is not installed.

    >>> HookManager.define("reviewer", lambda output_dir: [])
    >>> HookManager("reviewer").bundles
    ()
    >>> HookManager("poet")
    Traceback (most recent call last):
        ...
    ValueError: unknown agent type 'poet', expected one of api_validation, code_validation, extraction, reviewer
    >>> del HookManager.types["reviewer"]
    """

    types: ClassVar[dict[str, Factory]] = {
        "extraction": _validation("extraction", extraction_rules),
        "api_validation": _validation("api_validation", validation_rules),
        "code_validation": _validation("code_validation", validation_rules),
    }

    def __init__(self, agent_type: str, logger: AgentLogger | None = None, output_dir: Directory = None) -> None:
        factory = self.types.get(agent_type)
        if factory is None:
            raise ValueError(f"unknown agent type {agent_type!r}, expected one of {', '.join(sorted(self.types))}")
        bundles = tuple(factory(output_dir))
        for each in bundles:
            if isinstance(each, _Validation):
                each.logger = logger
        self.bundles: tuple[Bundle, ...] = bundles if logger is None else (*bundles, logger)

    @classmethod
    def define(cls, name: str, factory: Factory) -> None:
        """Add or replace a type of agent."""
        cls.types[name] = factory

    def register(self, engine: Engine) -> None:
        """Register the handlers of every bundle, in order."""
        for bundle in self.bundles:
            bundle.register(engine)

    def create_hooks(self) -> Hooks:
        """Return the value for `ClaudeAgentOptions(hooks=...)`. Raises ImportError without claude-agent-sdk."""
        return _hooks(self)


def create_agent_hooks(agent_type: str, logger: AgentLogger | None = None, output_dir: Directory = None) -> Hooks:
    """Return `HookManager(...).create_hooks()`."""
    return HookManager(agent_type, logger, output_dir).create_hooks()


def create_logging_hooks(logger: AgentLogger) -> Hooks:
    """Return the hooks that only log. Raises ImportError without claude-agent-sdk."""
    return _hooks(logger)


def create_extraction_validation_hook(output_dir: Directory = None) -> HookCallback:
    """Return a callback of the SDK for `PreToolUse` that denies invalid files of an extraction agent."""
    return _hooks(HookManager("extraction", None, output_dir))["PreToolUse"][0].hooks[0]


def create_validation_output_hook(output_dir: Directory = None) -> HookCallback:
    """Return a callback of the SDK for `PreToolUse` that denies invalid files of a validation agent."""
    return _hooks(HookManager("api_validation", None, output_dir))["PreToolUse"][0].hooks[0]


def _hooks(bundle: Bundle) -> Hooks:
    from hookrun.integrations.claude_agent_sdk import hooks_for  # needs a package

    return hooks_for(Engine().use(bundle), events=("PreToolUse", "PostToolUse", "PostToolUseFailure"))
