"""Call recipes in hookrun's own process, as far as that is safe.

A recipe's function may have a cheap test, `concerns` (see `recipes/recipe.py`). A process of its own makes the test and
leaves the rest to one forked child, unless that is plain Python: native code reads shell lines, and a guard that
crashes or hangs must still refuse.
A server's worker calls the whole function: if it crashes the launcher refuses, if it hangs the server ends it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see child.py
import os
from _collections_abc import Mapping  # `collections` costs a tenth of a run
from time import monotonic

from hookrun.core.fastjson import dumps, loads
from hookrun.core.model import Failure, Outcome
from hookrun.process import python_hook
from hookrun.process.loop import ENDING, TERM, Loop
from hookrun.process.recipe_child import RecipeChild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn, Protocol

    from hookrun.core.model import Hook
    from hookrun.process.prepare import HookEnvironment

    Context = Mapping[str, object]

    class CallSupervisor(Protocol):
        """Ends this process from outside if a call runs too long, however it hangs."""

        def begin(self, deadline: float) -> None:
            """Have the next call end by this (monotonic) time."""

        def end(self) -> None:
            """Take note that it has ended."""


# Beginning of the functions of recipes, a room above this one.
RECIPES = "hookrun.recipes."
# Bytes of the longest context that is looked at here: on a longer one even a cheap test takes long.
MAX_CONTEXT = 1 << 16
# Seconds that a timer takes; 0 would switch it off.
SHORTEST, LONGEST = 1e-6, 1e6


class _OverdueError(BaseException):
    """The time of a call is up. No recipe catches this."""


class _InterruptedError(BaseException):
    """A signal to end came during a call. No recipe catches this."""


class Variables(Mapping[str, str]):
    """A hook's environment in the form of `os.environ`; decoding all of it would take longer than a test."""

    def __init__(self, variables: Mapping[bytes, bytes]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> str:
        return os.fsdecode(self._variables[os.fsencode(name)])

    def __iter__(self) -> Iterator[str]:
        return map(os.fsdecode, self._variables)

    def __len__(self) -> int:
        return len(self._variables)


class RecipeCalls:
    """Calls recipes for one run; `deadline` is a monotonic time. With a `watch` it calls them in this process.

    Without one it makes the tests, and has one child for the rest if it `forks`.
    """

    def __init__(
        self, environment: HookEnvironment, deadline: float, watch: CallSupervisor | None, *, forks: bool
    ) -> None:
        self._environment = environment
        self._deadline = deadline
        self._watch = watch
        self._child = RecipeChild(_answer) if forks and watch is None else None

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()

    def outcome(self, hook: Hook, stdin: bytes) -> Outcome | None:
        """Return a hook's outcome, as of a process of its own; None if it has to have one."""
        begun = monotonic()
        functions = functions_of(str(hook.target)) if is_usual(hook, stdin) and begun < self._deadline else None
        if functions is None:
            return None
        concerns, check, is_python_only = functions
        before = os.environ
        try:
            context: Context = loads(stdin.decode())  # type: ignore[assignment]  # an object
            variables = self._environment.variables(hook, self._environment.new_marker())
            os.environ = Variables(variables)  # type: ignore[assignment]  # noqa: B003  # for recipes, which only read
            child, answer = self._child, lambda: python_hook.answer(check, context, dumps)
            if self._watch is not None:
                outcome = self._checked(hook, self._watch, answer)
            elif not concerns(context):
                outcome = _ended(hook, None)
            elif child is None:
                return None
            elif is_python_only:
                outcome = self._checked(hook, child, answer)
            else:
                outcome = self._checked(hook, child, lambda: child.ask(str(hook.target), stdin, variables))
        except (Exception, SystemExit):  # a wrong option, or a bug: a process of its own reports it as any hook's
            return None
        finally:
            os.environ = before  # noqa: B003
        outcome.bytes_in = len(stdin)
        outcome.ms = (monotonic() - begun) * 1000
        return outcome

    def _checked(self, hook: Hook, watch: CallSupervisor, answer: Callable[[], str | None]) -> Outcome:
        """Wait for the answer of a recipe's function, until its time is up or a signal to end comes."""
        own_end = monotonic() + hook.timeout
        until = min(own_end, self._deadline)
        handlers = {_signal.SIGALRM: _overdue, **dict.fromkeys(ENDING, _interrupted)}
        before = {number: _signal.getsignal(number) for number in handlers}
        watch.begin(until)
        try:
            for number, handler in handlers.items():
                if before[number] != _signal.SIG_IGN or number == _signal.SIGALRM:
                    _signal.signal(number, handler)
            _signal.setitimer(_signal.ITIMER_REAL, min(max(until - monotonic(), SHORTEST), LONGEST))
            return _ended(hook, answer())
        except _InterruptedError:  # the loop gets the signal as well
            outcome = Outcome()
            outcome.exit_code = -TERM
            return outcome
        except _OverdueError:
            Loop.has_ended_hooks = True
            when = f"after {hook.timeout:g} s" if until == own_end else "by the deadline"
            return Outcome(Failure("timeout", f"no answer {when}"))
        finally:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                _signal.signal(number, handler)
            watch.end()


def is_usual(hook: Hook, stdin: bytes) -> bool:
    """Return whether a hook is a recipe's, as a recipe declares it, with a context of usual size."""
    return (
        str(hook.target).startswith(RECIPES)
        and len(stdin) <= MAX_CONTEXT
        and hook.cwd == "/"
        and not (hook.error or hook.interpreter or hook.background or hook.serve or hook.exclusive)
    )


def functions_of(target: str) -> tuple[Callable[[Context], bool], Callable[[Context], object], bool] | None:
    """Return the test of a recipe's function, the function, and whether it is plain Python; None without a test."""
    module, _, name = target.partition(":")
    try:
        loaded = __import__(module, fromlist=[name])
        return loaded.RECIPE.concerns[name], getattr(loaded, name), name in loaded.RECIPE.python_only
    except (ImportError, AttributeError, LookupError, ValueError):  # a process of its own reports it
        return None


def _answer(target: str, stdin: bytes, variables: Mapping[bytes, bytes]) -> str | None:
    """Return what a recipe's function says of a context, in the child."""
    functions = functions_of(target)
    if functions is None:
        raise LookupError(target)
    os.environ = Variables(variables)  # type: ignore[assignment]  # noqa: B003  # this process is for recipes only
    return python_hook.answer(functions[1], loads(stdin.decode()), dumps)  # type: ignore[arg-type]  # an object


def _ended(hook: Hook, text: str | None) -> Outcome:
    outcome, data = Outcome(), (text or "").encode()
    outcome.exit_code, outcome.stdout = 0, data[: hook.max_output]
    outcome.bytes_out, outcome.truncated = len(data), len(data) > hook.max_output
    return outcome


def _overdue(_number: int, _frame: object) -> NoReturn:
    raise _OverdueError


def _interrupted(_number: int, _frame: object) -> NoReturn:
    raise _InterruptedError
