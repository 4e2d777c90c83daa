"""The engine that a Python program embeds: its handlers and configured hooks, fired in one order."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from hookrun.agents.known_tools import with_canonical_tool
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.events import GATES, TOOLS
from hookrun.core.gate import refuses
from hookrun.core.state import home_directory
from hookrun.core.text import HookrunError
from hookrun.events import CLASSES
from hookrun.library import Result, handlers
from hookrun.library.calls import FOREVER, current_task, end_of, result_at_once
from hookrun.library.engine_fire import AgentNamedFire, EngineFire
from hookrun.library.engine_session import EngineSession, State
from hookrun.library.engine_state import EngineState
from hookrun.library.event_contexts import Context
from hookrun.library.fire_context import KNOWN, KNOWN_IN_ANY, checked, known_fields
from hookrun.library.registration import HandlerRegistration
from hookrun.library.tables import HookTable, TableCandidates
from hookrun.process.loop import MAX_PROCESSES
from hookrun.process.pool import ClosedError

if TYPE_CHECKING:
    from hookrun.core.literals import EventName
    from hookrun.library.fire_fields import FireFields

LOG = logging.getLogger("hookrun")
# Seconds for background work, such as a session's last message, to finish when the engine is closed.
BACKGROUND_WAIT = 5.0


class DeclarationError(HookrunError, ValueError):
    """Config files are invalid, so that their hooks are unknown; the message has one line per error."""


class Engine(HandlerRegistration):
    """Fires events for handlers registered by a program and for hooks configured in files (`Engine.load`).

    `hooks` are hook entries as in a config file, defined by the program itself. `events` are custom events of the
    program. At most `max_processes` configured hooks run at once; more are queued. `directory` is the agent's working
    directory if a context has none; it defaults to that of the process. With `strict`, conditions that
    `hookrun validate` warns of are errors, also at `register`; otherwise they are logged once.

    All methods are thread-safe, and `fire` may be called from any number of tasks and loops at once. Close an engine
    after use (`async with`, `with`, `close`): that ends all running hooks. It can be entered again, and by several at
    once: the last one to leave closes it.

    >>> from hookrun import Engine, Verdict
    >>> engine = Engine()
    >>> @engine.on("pre_tool_use", matcher="bash")
    ... def no_sudo(ctx):
    ...     return Verdict.block("no sudo here") if "sudo" in ctx.tool_args["command"] else None
    >>> result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "sudo ls"})
    >>> result.action, result.message
    ('block', 'no sudo here')
    >>> engine.close_sync()

    Raises RegistrationError for a `max_processes` below 1, invalid names in `events`, and invalid `hooks`.
    """

    def __init__(
        self,
        *,
        hooks: Iterable[Mapping[str, object]] = (),
        events: Iterable[str] = (),
        max_processes: int = MAX_PROCESSES,
        directory: str | os.PathLike[str] | None = None,
        strict: bool = False,
    ) -> None:
        if not isinstance(max_processes, int) or max_processes < 1:
            raise handlers.RegistrationError(f"max_processes must be at least 1, not {max_processes!r}")
        self._services = EngineState(os.path.abspath(directory or os.getcwd()), max_processes=max_processes)
        if isinstance(events, str):
            raise handlers.RegistrationError(f"events must be a list of names, not {events!r}")
        names = list(events)
        wrong = [name for name in names if not isinstance(name, str) or not name]
        if wrong:
            raise handlers.RegistrationError(f"events has {wrong[0]!r}, which is not a valid name for a custom event")
        super().__init__(names, strict=strict)
        self._given = handlers.declared_hooks(hooks, self._own_events, strict=strict)
        self._registry.declare(self._given)
        self._closed = False
        self._entered = 0
        self._entering = Lock()
        self._load: Callable[[], None] | None = None

    @classmethod
    def load(
        cls,
        directory: str | os.PathLike[str] | None = None,
        *,
        home: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
        trust_project: bool = False,
        strict: bool | None = None,
        hooks: Iterable[Mapping[str, object]] = (),
        events: Iterable[str] = (),
        max_processes: int = MAX_PROCESSES,
    ) -> Self:
        """Return an engine with the hooks configured for `directory`, as `hookrun fire` would find them there.

        `home` is the home directory of the user's hooks, cache and audit; the default is HOME. `config` is a config
        file to use instead of the project's. Hooks of a project are untrusted: without approval (`hookrun trust`) they
        fail as `untrusted`, unless `trust_project` is true. Every fire that runs a hook is recorded in the audit,
        according to the user's settings.

        Raises DeclarationError for an invalid file; if `strict`, also for conditions that `hookrun validate` warns of.
        With `strict=False`, every result has the `problems` instead, and while a file cannot be read, calls that a hook
        in it may guard are blocked ("When hookrun cannot decide"). Raises FileNotFoundError or NotADirectoryError if
        `directory` is none.
        """
        if directory is not None:
            os.stat(directory and os.path.join(directory, "."))
        engine = cls(
            hooks=hooks, events=events, max_processes=max_processes, directory=directory, strict=strict is True
        )
        engine._services.home = os.path.abspath(home) if home is not None else home_directory()
        engine._services.trusted = trust_project
        engine._load = lambda: engine._take_declarations(
            os.fspath(config) if config is not None else None, strict=strict
        )
        engine._load()
        return engine

    def reload(self) -> None:
        """Read the config files again. Raises DeclarationError, and keeps the old hooks, if they are invalid."""
        # Files are not watched: only the agent knows when hooks may change, between turns.
        if self._load is None:
            raise RuntimeError("this engine reads no config files: create it with Engine.load()")
        self._load()

    def _take_declarations(self, config: str | None, *, strict: bool | None) -> None:
        from hookrun.config.cache_writer import load_compiled  # for engines that read files
        from hookrun.config.discovery import find

        services = self._services
        if config is not None:
            config = os.path.normpath(os.path.join(services.directory, config))
        home = services.home or "/"
        found = find(services.directory, home, config=config, own_environment=True)
        compiled = load_compiled(found)
        problems = compiled.problems if compiled is not None else []
        hooks = compiled.hooks() if compiled is not None else []
        own_events = set(compiled.events) if compiled is not None else set()
        problems = problems + handlers.mistakes_in(hooks, own_events, strict=self._strict)
        if problems and strict is not False:
            raise DeclarationError("\n".join(problems))
        for problem in problems:
            LOG.error("%s", problem)
        for notice in compiled.gone if compiled is not None else ():
            LOG.warning("%s", notice)
        services.problems = problems
        services.unread = compiled.unread if compiled is not None else []
        services.take_settings(compiled.settings if compiled is not None else {})
        services.project = found.project_root(compiled.root if compiled is not None else None)
        self._declared_events = own_events
        self._registry.declare([*self._given, *hooks])

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<Engine {state}, {len(self.hooks())} hooks, directory {self._services.directory!r}>"

    # --- firing

    async def fire(
        self,
        event: EventName | Context,
        context: Mapping[str, object] | None = None,
        /,
        *,
        state: object = None,
        deadline: float | None = None,
        **fields: Unpack[FireFields],
    ) -> Result:
        """Fire an event; return the combined verdict and the result of each hook.

        The context is a `Context`, a mapping, or keyword arguments, which override the others. `state` is passed to
        every handler as `ctx.state`; the default is that of the `Context`. Hooks that have not answered within
        `deadline` seconds fail as `timeout`.

        Cancelling it ends the running hooks. Errors in a hook are its failure and are not raised. Raises ValueError for
        an unknown event and invalid or misspelled fields, NestedError if a handler fires events more than three levels
        deep, ClosedError after `close`, NotAsyncioError in another loop than asyncio's.

        >>> import asyncio
        >>> from hookrun import Verdict
        >>> engine = Engine()
        >>> @engine.on("user_prompt_submit")
        ... async def no_keys(ctx):
        ...     return Verdict.block("Take the key out first.") if "sk-" in ctx.user_prompt else None
        >>> asyncio.run(engine.fire("user_prompt_submit", user_prompt="use sk-123")).message
        'Take the key out first.'
        """
        fire = self._begin(event, context, fields, state, deadline)
        if isinstance(fire, Result):
            return fire
        with fire:
            for waits_for in fire.drive(sync=False):
                await waits_for
        return fire.result()

    def fire_sync(
        self,
        event: EventName | Context,
        context: Mapping[str, object] | None = None,
        /,
        *,
        state: object = None,
        deadline: float | None = None,
        **fields: Unpack[FireFields],
    ) -> Result:
        """Fire an event as `fire` does, without an event loop. Handlers that are not async run in this thread.

        Async handlers run in a loop in a thread of the engine. Raises RuntimeError if such a handler calls `fire_sync`
        instead of awaiting `fire`.

        >>> from hookrun.events import PreToolUse
        >>> engine = Engine(hooks=[{"event": "pre_tool_use", "matcher": "bash", "command": "echo no >&2; exit 2"}])
        >>> result = engine.fire_sync(PreToolUse(tool_name="bash", tool_args={"command": "ls"}))
        >>> result.go_on, result.message
        (False, 'no')
        >>> engine.close_sync()
        """
        fire = self._begin(event, context, fields, state, deadline)
        return fire if isinstance(fire, Result) else fire.run_sync()

    @overload
    def session(
        self, context: Mapping[str, object] | None = None, /, **fields: Unpack[FireFields]
    ) -> EngineSession[None]: ...
    @overload
    def session(
        self, context: Mapping[str, object] | None = None, /, *, state: State, **fields: Unpack[FireFields]
    ) -> EngineSession[State]: ...
    def session(
        self, context: Mapping[str, object] | None = None, /, *, state: Any = None, **fields: Unpack[FireFields]
    ) -> EngineSession[Any]:
        """Return what several events share: these fields, of your own in a mapping, `state`, and one `request_id`.

        A given `request_id` is kept, also by `fire`; else there is a new one. Raises ValueError for invalid and
        misspelled fields.

        >>> engine = Engine()
        >>> handler = engine.register("stop", lambda ctx: ctx.state.append(ctx.request_id), name="seen")
        >>> session = engine.session(session_id="s1", working_dir="/work", state=[])
        >>> session.fire_sync("stop").go_on, session.state == [session.request_id]
        (True, True)
        """
        return EngineSession(self, state, checked({**(context or {}), **fields}, "session", KNOWN_IN_ANY))

    def _begin(
        self,
        given: EventName | Context,
        context: Mapping[str, object] | None,
        fields: Mapping[str, object],
        state: object,
        deadline: float | None,
    ) -> EngineFire | Result:
        """Return the fire to run, or a result at once if no hook matches."""
        own: type[Context] = Context
        if isinstance(given, str):  # asking for a Context takes ten times as long
            event: str = given
        elif isinstance(given, Context):
            own, event, state = type(given), given.event, given.state if state is None else state
            context = {**given.given, **context} if context is not None else given.given
        else:
            event = handlers.event_name(given, self._known_events(), "fire")
        if type(context) is dict and not fields:
            data: Mapping[str, object] = context  # it is only read
        elif context is None:
            data = fields
        else:
            data = {**context, **fields}
            if state is None and isinstance(context, Context):
                state = context.state
        table = self._registry.tables.get(event) or self._table(event, own)
        data = table.checked(data)
        new_fire: Callable[..., EngineFire] = EngineFire
        if data.get("tool_name", "bash") not in TOOLS and (canonical := with_canonical_tool(data)) is not data:
            new_fire, data = partial(AgentNamedFire, data["tool_name"]), canonical
        if self._closed and not self._services.background.is_waited_for_here():
            raise ClosedError("the engine is closed")
        candidates = table.candidates_for(data)
        until = FOREVER if deadline is None else end_of(deadline)
        if not candidates.count and not (self._services.unread and table.event in GATES):
            result = Result()
            result.problems = self._services.problems
            return result
        fire = new_fire(self._services, table.event, data, candidates, state)
        fire.context_class, fire.deadline = table.context_class, until
        return fire

    def _table(self, event: str, given: type[Context]) -> HookTable:
        """Return an event's hooks, by any of its names. Raises RegistrationError for an unknown one."""
        name = handlers.event_name(event, self._known_events(CLASSES.get(given.event_name, given)), "fire")
        cls = CLASSES.get(name) or self._own_classes.get(name, Context)
        return self._registry.table(name, event, KNOWN.get(name) or known_fields(cls), cls)

    def refuses_unjudged(self, event: str, fields: Mapping[str, object] | None = None, on_error: object = None) -> bool:
        """Return whether a call is refused that could not be judged, as after an exception of `fire`.

        It is where a hook with `on_failure="block"` may have been asked; without its `fields`, one for any tool.
        `on_error`, `continue` or `block`, comes first, then the user's setting.
        """
        services = self._services

        def may_be_guarded() -> bool:
            if event not in GATES:
                return False
            if services.unread and EngineFire(services, event, {}, TableCandidates([])).may_have_unread_guard():
                return True
            view = ConditionEvaluator(with_canonical_tool(fields or {}))
            return any(
                hook.on_failure == "block"
                and hook.enforcing
                and self._registry.is_on(hook)
                and (fields is None or view.mismatch(hook.matcher, agents=hook.agents) is None)
                for hook in self._registry.hooks(event)
            )

        return refuses(on_error or services.settings.get("on_error"), may_be_guarded)

    # --- closing

    @property
    def closed(self) -> bool:
        """Whether the engine was closed and not entered again."""
        return self._closed

    async def wait_background(self) -> None:
        """Wait until all background work of handlers has finished.

        Raises RuntimeError if called in such work, which would wait for itself.
        """
        self._services.background.check()
        await self._services.background.wait()

    async def close(self, wait: float = BACKGROUND_WAIT) -> None:
        """Close the engine: wait up to `wait` seconds for background work, then end it and all running hooks.

        Work that had to be cancelled is logged, as are functions in threads that still run: nothing can end those.
        Background work that closes the engine itself is not waited for. Closing twice does nothing.
        """
        await self._close(wait, sync=False)

    def close_sync(self, wait: float = BACKGROUND_WAIT) -> None:
        """Close the engine as `close` does, without an event loop."""
        result_at_once(self._close(wait, sync=True))

    async def _close(self, wait: float, *, sync: bool) -> None:
        if not sync:
            current_task()
        self._closed = True
        await self._services.close(wait, sync=sync)

    def _enter(self) -> Self:
        with self._entering:
            self._entered += 1
            if self._closed:
                self._services, self._closed = self._services.reopened(), False
        return self

    def _leave(self) -> bool:
        """Return whether the last one leaves."""
        with self._entering:
            self._entered -= 1
            return self._entered == 0

    async def __aenter__(self) -> Self:
        current_task()
        return self._enter()

    async def __aexit__(self, *_raised: object) -> None:
        if self._leave():
            await self.close()

    def __enter__(self) -> Self:
        return self._enter()

    def __exit__(self, *_raised: object) -> None:
        if self._leave():
            self.close_sync()


load = Engine.load
