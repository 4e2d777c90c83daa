"""The cases of engine.py: one call each of an engine, a handler or a process, and what it has to return."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from time import perf_counter
from typing import TYPE_CHECKING, Any

import fixtures
import plain_spawn
from fixtures import BLOCKING_HOOK, EVENT, HOOK, hook
from measure import BrokenCaseError

from hookrun import Engine, Verdict
from hookrun.events import PreToolUse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hookrun import Result

    Clock = Callable[[], float]

BATCH = 200  # calls in one sample of a case within the process: long enough for the clock, short enough for a pair
CONTEXTS = 8  # different ones, by turns
MANY = 10  # handlers
DIRECT, DIRECT_ASYNC = "direct", "direct-async"
ANSWER = {"action": "continue"}  # what HOOK prints


@dataclass(frozen=True)
class Case:
    """One call to be measured, with each of `arguments` in turn. `right` tells whether what it returned is.

    The time of `base`, measured in the same round, is what the call would cost without what is measured.
    """

    name: str
    about: str
    call: Callable[..., Any]
    arguments: Sequence[object]
    right: Callable[[Any], bool]
    base: str | None = None
    is_async: bool = False

    def sample(self, loop: asyncio.AbstractEventLoop, clock: Clock = perf_counter) -> float:
        """Return the seconds that one call took. Raises BrokenCaseError when the last one returned something wrong."""
        took, last = loop.run_until_complete(self._awaiting(clock)) if self.is_async else self._calling(clock)
        if not self.right(last):
            raise BrokenCaseError(f"{self.name}: it returned {last!r}")
        return took / len(self.arguments)

    def _calling(self, clock: Clock) -> tuple[float, Any]:
        call, last = self.call, None
        started = clock()
        for argument in self.arguments:
            last = call(argument)
        return clock() - started, last

    async def _awaiting(self, clock: Clock) -> tuple[float, Any]:
        call, last = self.call, None
        started = clock()
        for argument in self.arguments:
            last = await call(argument)
        return clock() - started, last


# --- handlers: a guard that continues, and other answers


def looks(ctx: PreToolUse) -> Verdict | None:
    """Look at what the tool is to do, and have no objection."""
    return Verdict.block("no") if "rm -rf" in ctx.tool_args["command"] else None


async def looks_async(ctx: PreToolUse) -> Verdict | None:
    """Do the same."""
    return looks(ctx)


def blind(_: PreToolUse) -> None:
    """Look at nothing: what is left is the engine's alone, without the handler's own copy of the arguments."""


def blocks(ctx: PreToolUse) -> Verdict:
    """Object."""
    return Verdict.block(f"not {ctx.tool_name}")


def modifies(ctx: PreToolUse) -> Verdict:
    """Change an argument."""
    return Verdict.modify(ctx.tool_args | {"timeout": 5})


def in_process_cases() -> list[Case]:
    """Return the cases without a process: each fire has the context of a tool call as a mapping."""
    given = _contexts() * (BATCH // CONTEXTS)
    ready = [PreToolUse(**fields) for fields in given]
    one, one_async, ten = _engine(looks), _engine(looks_async), _engine(*[looks] * MANY)
    other = _engine(looks, matcher="edit")

    def fire(name: str, about: str, engine: Engine, right: Callable[[Result], bool], event: str = EVENT) -> Case:
        return Case(name, about, partial(engine.fire, event), given, right, DIRECT, is_async=True)

    def sync(name: str, about: str, engine: Engine, right: Callable[[Result], bool], event: str = EVENT) -> Case:
        return Case(name, about, partial(engine.fire_sync, event), given, right, DIRECT)

    return [
        Case(DIRECT, "the handler alone, reading a context made before", looks, ready, _nothing),
        Case(DIRECT_ASYNC, "the async handler alone", looks_async, ready, _nothing, is_async=True),
        sync("sync-none", "fire_sync, a handler without objection", one, _answered("continue", 1)),
        fire("fire-none", "await fire, the same", one, _answered("continue", 1)),
        Case(
            "fire-none-async",
            "await fire, an async handler without objection",
            partial(one_async.fire, EVENT),
            given,
            _answered("continue", 1),
            DIRECT_ASYNC,
            is_async=True,
        ),
        sync("sync-blind", "fire_sync, a handler that looks at nothing", _engine(blind), _answered("continue", 1)),
        sync("sync-other-tool", "fire_sync, a handler for another tool", other, _answered("continue", 0)),
        fire("fire-other-tool", "await fire, the same", other, _answered("continue", 0)),
        sync("sync-no-event", "fire_sync, no handler for the event", one, _answered("continue", 0), "before_inference"),
        fire("fire-no-event", "await fire, the same", one, _answered("continue", 0), "before_inference"),
        sync("sync-block", "fire_sync, a handler that blocks", _engine(blocks), _answered("block", 1)),
        fire("fire-block", "await fire, the same", _engine(blocks), _answered("block", 1)),
        sync("sync-modify", "fire_sync, a handler that changes an argument", _engine(modifies), _modified),
        fire("fire-modify", "await fire, the same", _engine(modifies), _modified),
        sync("sync-ten", "fire_sync, ten handlers without objection", ten, _answered("continue", MANY)),
        fire("fire-ten", "await fire, the same", ten, _answered("continue", MANY)),
    ]


def _contexts() -> list[dict[str, Any]]:
    fields = json.loads(fixtures.context())
    del fields["event"]
    return [
        fields | {"session_id": f"session-{number}", "tool_args": {"command": f"ls -la src/{number}"}}
        for number in range(CONTEXTS)
    ]


def _engine(*handlers: Callable[[PreToolUse], Any], matcher: str = fixtures.TOOL) -> Engine:
    engine = Engine()
    for number, handler in enumerate(handlers):
        engine.register(EVENT, handler, name=f"handler-{number}", matcher=matcher)
    return engine


def _nothing(answer: object) -> bool:
    return answer is None


def _answered(action: str, runs: int) -> Callable[[Result], bool]:
    def right(result: Result) -> bool:
        return result.action == action and len(result.runs) == runs and all(run.failure is None for run in result.runs)

    return right


def _modified(result: Result) -> bool:
    return result.modified_args is not None and result.modified_args["timeout"] == 5  # noqa: PLR2004 - see `modifies`


# --- processes


def process_cases(project: Path, home: Path, home_without_audit: Path) -> list[Case]:
    """Return the cases of one sh hook: started by hand in three ways, and declared, through the engine."""
    fields = _contexts()[:1]
    line = [json.dumps(fields[0]).encode() + b"\n"]
    engine = Engine.load(project, home=home, trust_project=True)
    silent = Engine.load(project, home=home_without_audit, trust_project=True)

    def by_hand(name: str, about: str, call: Callable[..., Any], *, is_async: bool = False) -> Case:
        return Case(name, about, partial(call, HOOK), line, _continues, is_async=is_async)

    def sync(name: str, about: str, engine: Engine) -> Case:
        return Case(name, about, partial(engine.fire_sync, EVENT), fields, ran)

    def fire(name: str, about: str, engine: Engine) -> Case:
        return Case(name, about, partial(engine.fire, EVENT), fields, ran, is_async=True)

    return [
        by_hand("posix-spawn", "os.posix_spawn, three pipes and a poll", plain_spawn.by_posix_spawn),
        by_hand("popen", "subprocess.Popen and communicate", plain_spawn.by_popen),
        by_hand("asyncio-exec", "asyncio.create_subprocess_exec", plain_spawn.by_asyncio, is_async=True),
        sync("fire-sync", "fire_sync, the hook declared, audit on", engine),
        fire("fire", "await fire, the same", engine),
        sync("fire-sync-no-audit", "fire_sync, audit off", silent),
        fire("fire-no-audit", "await fire, audit off", silent),
    ]


def process_controls(project: Path, home: Path) -> list[Case]:
    """Return cases that are only checked: the same hook, when it blocks, must be understood by each of them."""
    fields = _contexts()[:1]
    line = [json.dumps(fields[0]).encode() + b"\n"]
    engine = Engine.load(project, home=home, trust_project=True)

    def said_no(answer: dict[str, Any]) -> bool:
        return answer == {"action": "block", "message": "no"}

    return [
        Case("posix-spawn-control", "", partial(plain_spawn.by_posix_spawn, BLOCKING_HOOK), line, said_no),
        Case("popen-control", "", partial(plain_spawn.by_popen, BLOCKING_HOOK), line, said_no),
        Case("asyncio-control", "", partial(plain_spawn.by_asyncio, BLOCKING_HOOK), line, said_no, is_async=True),
        Case("fire-sync-control", "", partial(engine.fire_sync, EVENT), fields, _answered("block", 1)),
        Case("fire-control", "", partial(engine.fire, EVENT), fields, _answered("block", 1), is_async=True),
    ]


def ran(result: Result) -> bool:
    """Return whether the one configured hook ran, read its context and continued: a failure would not block either."""
    return _answered("continue", 1)(result) and result.runs[0].outcome.bytes_out > 0


def _continues(answer: dict[str, Any]) -> bool:
    return answer == ANSWER


# --- peers


def pluggy_cases() -> list[Case]:
    """Return a call of a hook with one implementation. It has no verdicts, matchers, limits, failures, records."""
    import pluggy  # type: ignore[import-not-found, unused-ignore]

    specify, implement = pluggy.HookspecMarker("benchmark"), pluggy.HookimplMarker("benchmark")

    class Specification:
        @specify
        def pre_tool_use(self, ctx: PreToolUse) -> Verdict | None:
            """Guard a tool call."""

    class Plugin:
        @implement
        def pre_tool_use(self, ctx: PreToolUse) -> Verdict | None:
            return looks(ctx)

    manager = pluggy.PluginManager("benchmark")
    manager.add_hookspecs(Specification)
    manager.register(Plugin())

    def call(ctx: PreToolUse) -> list[Verdict]:
        return manager.hook.pre_tool_use(ctx=ctx)  # type: ignore[no-any-return, unused-ignore]

    ready = [PreToolUse(**fields) for fields in _contexts() * (BATCH // CONTEXTS)]
    about = f"pluggy {pluggy.__version__}, one implementation: calls it; knows no event, tool, verdict, time limit"
    return [Case("pluggy", about, call, ready, lambda found: found == [], DIRECT)]


def oats_cases() -> tuple[list[Case], list[Case], list[Case]]:
    """Return what the hook engine of oats-coder can do of this: in the process, with a process, and its control.

    It has no handlers within the process, so only a fire that concerns no hook can be compared there.
    """
    from oats.hook.engine import (  # type: ignore[import-not-found, unused-ignore]
        HookContext,
        HookEngine,
        HookEvent,
    )

    event = HookEvent(EVENT)
    given = [HookContext(event=event, **fields) for fields in _contexts() * (BATCH // CONTEXTS)]

    def case(name: str, about: str, declared: dict[str, Any], arguments: Sequence[object], action: str) -> Case:
        engine = HookEngine([declared])

        def right(result: Any) -> bool:
            return bool(result.action == action)

        return Case(name, about, partial(engine.fire, event), arguments, right, is_async=True)

    engine = f"the HookEngine of oats-coder {version('oats-coder')}, await fire"
    about = f"{engine}, a hook for another tool: it has no handlers in the process"
    does = f"{engine}, the hook, which gets no session of its own there; no audit, no word on what failed"
    return (
        [case("oats-other-tool", about, hook(matcher="edit"), given, "continue")],
        [case("oats-fire", does, hook(), given[:1], "continue")],
        [case("oats-control", "", hook(command=BLOCKING_HOOK), given[:1], "block")],
    )
