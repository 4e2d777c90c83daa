"""The names of session_buddy's hooks on hookrun's: handlers around a session's life.

A program that uses them as documented only changes its import, and gains: priorities hold after a replacement, a hook
that raises or returns something else is a failure with its kind, hooks of config files can run beside them
(`HooksManager(engine=Engine.load())`), and the default hooks need no other part of session_buddy: they are hookrun's
FormatOnEdit, QualityGate, PatternLearning, CauseChains and WorkflowMetrics.

>>> import asyncio
>>> from datetime import UTC, datetime
>>> from hookrun.compat.session_buddy import Hook, HookContext, HookResult, HooksManager, HookType
>>> async def tag(context: HookContext) -> HookResult:
...     return HookResult(success=True, modified_context={"tag": "v1"})
>>> async def main() -> None:
...     manager = HooksManager()
...     await manager.register_hook(Hook("tag", HookType.POST_CHECKPOINT, priority=100, handler=tag))
...     context = HookContext(HookType.POST_CHECKPOINT, "s1", datetime.now(UTC))
...     (result,) = await manager.execute_hooks(HookType.POST_CHECKPOINT, context)
...     print(result.success, context.metadata)
>>> asyncio.run(main())
True {'tag': 'v1'}
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from hookrun import Context, Engine, Verdict
from hookrun.events import CLASSES
from hookrun.library.engine_fire import new_id
from hookrun.observe import CauseChains, ObserverDatabase, PatternLearning, WorkflowMetrics
from hookrun.recipes.format_on_edit import RUFF_WITH_FIXES, FormatOnEdit
from hookrun.recipes.quality_gate import QualityGate

if TYPE_CHECKING:
    from hookrun.library import Failure, HookResult as Run

    Check = Callable[[Any], Verdict | Awaitable[Verdict | None] | None]


# What a context may have in its `metadata` and hookrun's matchers and conditions read elsewhere.
SHARED = ("tool_name", "tool_args", "user_prompt")


class HookType(str, Enum):  # noqa: UP042  # as in session_buddy
    """The lifecycle events of session_buddy."""

    PRE_CHECKPOINT = "pre_checkpoint"
    PRE_TOOL_EXECUTION = "pre_tool_execution"
    PRE_REFLECTION_STORE = "pre_reflection_store"
    PRE_SESSION_END = "pre_session_end"
    PRE_SEARCH_QUERY = "pre_search_query"
    POST_CHECKPOINT = "post_checkpoint"
    POST_TOOL_EXECUTION = "post_tool_execution"
    POST_FILE_EDIT = "post_file_edit"
    POST_ERROR = "post_error"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    USER_PROMPT_SUBMIT = "user_prompt_submit"


@dataclass
class HookContext:
    """What a handler gets. Its `metadata` gathers the `modified_context` of every hook."""

    hook_type: HookType
    session_id: str
    timestamp: datetime
    metadata: dict[str, Any] = field(default_factory=dict)
    error_info: dict[str, Any] | None = None
    file_path: str | None = None
    checkpoint_data: dict[str, Any] | None = None
    request_id: str | None = None  # of the run of the hooks, by which the default ones know their event

    def fields(self) -> dict[str, Any]:
        """Return the fields of hookrun's context; from `metadata` also those in SHARED."""
        known = {each: self.metadata[each] for each in SHARED if each in self.metadata}
        own = {"error_info": self.error_info, "file_path": self.file_path, "checkpoint_data": self.checkpoint_data}
        given = {name: value for name, value in {**own, "request_id": self.request_id}.items() if value is not None}
        about = {"session_id": self.session_id, "timestamp": self.timestamp.isoformat(), "metadata": self.metadata}
        return {**known, **given, **about}


@dataclass
class HookResult:
    """The result of one hook. `execution_time_ms` is set by the manager."""

    success: bool
    modified_context: dict[str, Any] | None = None
    error: str | None = None
    execution_time_ms: float = 0.0
    causal_chain_id: str | None = None


@dataclass
class Hook:
    """A handler of one event; of one name there is one for each event. `priority` is 0 to 1000, lower first."""

    name: str
    hook_type: HookType
    priority: int
    handler: Callable[[HookContext], Awaitable[HookResult]]
    error_handler: Callable[[Exception], Awaitable[None]] | None = None
    enabled: bool = True
    metadata: dict[str, Any] = field(default_factory=dict)


class HooksManager:
    """Registers and runs hooks, one after the other by priority, whatever the others return.

    Args:
        logger: For what the manager says; failures of hooks are also logged by hookrun.
        engine: hookrun's engine, if other hooks are to run, too: their results follow in the list, in running order.
        store: Where the default hooks keep what they learn, by default the account's observer database.
    """

    def __init__(
        self,
        logger: logging.Logger | None = None,
        *,
        engine: Engine | None = None,
        store: ObserverDatabase | None = None,
    ) -> None:
        self.logger = logger or logging.getLogger(__name__)
        self.engine = engine or Engine()
        self._store = store
        self._hooks: dict[str, Hook] = {}

    async def initialize(self) -> None:
        """Register the default hooks."""
        store = self._store or ObserverDatabase()
        formatting, gate = FormatOnEdit([RUFF_WITH_FIXES]), QualityGate(60)
        defaults: tuple[tuple[str, HookType, int, Check], ...] = (
            ("auto_format_python", HookType.POST_FILE_EDIT, 100, formatting.format),
            ("quality_validation", HookType.PRE_CHECKPOINT, 50, gate.check),
            ("learn_from_checkpoint", HookType.POST_CHECKPOINT, 200, PatternLearning(store).on_checkpoint),
            ("track_error_fix_chain", HookType.POST_ERROR, 10, CauseChains(store).on_error),
            ("collect_workflow_metrics", HookType.POST_CHECKPOINT, 300, WorkflowMetrics(store).on_checkpoint),
        )
        for name, hook_type, priority, check in defaults:
            await self.register_hook(Hook(name, hook_type, priority, _handler(check, self.logger)))

    async def register_hook(self, hook: Hook) -> None:
        """Register a hook; it replaces one of the same name and event. Raises RegistrationError (a ValueError)."""

        async def run(ctx: Context) -> Verdict | None:
            context, returned = ctx.state
            if not hook.enabled:
                return None
            result = await hook.handler(context)
            changes = result.modified_context
            returned[name] = result
            if not changes:
                return None
            context.metadata.update(changes)
            return Verdict(modified_context={str(key): value for key, value in changes.items()})

        async def on_error(failure: Failure, _: Context) -> None:
            if hook.error_handler is not None and isinstance(failure.exception, Exception):
                await hook.error_handler(failure.exception)

        event: Any = HookType(hook.hook_type).value
        name = f"{hook.name}@{event}"
        self.engine.register(
            event, run, name=name, priority=hook.priority, timeout=None, on_error=on_error, metadata=hook.metadata
        )
        self._hooks[name] = hook
        self.logger.debug("Registered hook: name=%s, type=%s, priority=%d", hook.name, event, hook.priority)

    async def execute_hooks(self, hook_type: HookType, context: HookContext) -> list[HookResult]:
        """Run the enabled hooks of an event and return their results, in running order."""
        returned: dict[str, HookResult] = {}
        context.request_id = new_id()
        event: Any = HookType(hook_type).value
        result = await self.engine.fire(event, context.fields(), state=(context, returned))
        ran = [each for each in result.runs if each.name not in self._hooks or each.name in returned or each.failure]
        results = [_result(run, returned.get(run.name)) for run in ran]
        for run, its in zip(ran, results, strict=True):
            if run.failure is not None:
                self.logger.error("Hook %s failed: %s", run.name, its.error)
        return results

    def list_hooks(self, hook_type: HookType | None = None) -> dict[HookType, list[dict[str, Any]]]:
        """Return the name, priority, `enabled` and metadata of the hooks, by event, in running order."""
        types: list[Any] = list(HookType) if hook_type is None else [HookType(hook_type)]
        listed: dict[HookType, list[dict[str, Any]]] = {each: [] for each in types}
        for each in types:
            for found in self.engine.hooks(each.value):
                if (hook := self._hooks.get(found.name)) is not None:
                    listed[each].append(
                        {key: getattr(hook, key) for key in ("name", "priority", "enabled", "metadata")}
                    )
        return listed if hook_type is not None else {each: hooks for each, hooks in listed.items() if hooks}


def _result(run: Run, returned: HookResult | None) -> HookResult:
    """Return the result of a run: what its handler returned, or what a failure or a hook of another kind amounts to."""
    if returned is None or run.failure is not None:
        error = str(run.failure.exception or run.failure.detail) if run.failure is not None else run.verdict.message
        ok = run.failure is None and run.action in ("continue", "allow", "modify")
        returned = HookResult(ok, run.verdict.modified_context, None if ok else error)
    returned.execution_time_ms = run.ms
    return returned


def _handler(check: Check, logger: logging.Logger) -> Callable[[HookContext], Awaitable[HookResult]]:
    """Return a function of hookrun's bundles as a handler; after a checkpoint, its error is only logged."""

    async def handler(context: HookContext) -> HookResult:
        ctx = Context(HookType(context.hook_type).value, **context.fields())
        try:
            verdict = check(CLASSES[ctx.event].of(ctx.given))
            verdict = (await verdict if isawaitable(verdict) else verdict) or Verdict()
        except Exception as raised:
            if ctx.event != HookType.POST_CHECKPOINT:
                raise
            logger.warning("After the checkpoint of session %s: %s", context.session_id, raised)
            return HookResult(success=True)
        changes, said = verdict.modified_context, verdict.additional_context or ""
        error = verdict.system_message or (said if " could not format " in said else None)
        if verdict.action != "continue":
            error = verdict.message or verdict.action
        chain: Any = (changes or {}).get("causal_chain_id")
        return HookResult(error is None, changes, error, causal_chain_id=chain)

    return handler
