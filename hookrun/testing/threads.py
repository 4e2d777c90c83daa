"""Runs cases side by side in one process: one at a time, and more in threads beside it while hooks are waited for."""

from __future__ import annotations

from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hookrun.testing.ran import Ran
    from hookrun.testing.runner import Runner

    OnRan = Callable[[Ran], object]

PATIENCE = 0.01
"""Seconds that a case takes before another is begun beside it: hooks that keep a core busy gain nothing by company."""


def run_all(runner: Runner, to_run: Iterable[Ran], width: int, on_ran: OnRan) -> None:
    """Run these, at most `width` at a time; `on_ran` is told of each as soon as it has run, of one at a time.

    Whatever is raised meanwhile, none is left running, and the runner runs no more.
    """
    work = _Work(runner, to_run, on_ran)
    more: list[Thread] = []
    over = Event()
    if width > 1:
        more.append(Thread(target=_watch, args=(work, over, more, width), daemon=True))
        more[0].start()
    try:
        work.go_on()
    except BaseException:
        work.stop()
        raise
    finally:
        over.set()
        for thread in more:
            thread.join()
    if work.error is not None:
        raise work.error


def _watch(work: _Work, over: Event, more: list[Thread], width: int) -> None:
    """Begin one more thread whenever all that run have been waiting for a while. `more` holds this one, too."""
    while len(more) < width and not over.wait(PATIENCE):
        if work.waits():
            thread = Thread(target=work.go_on_beside, daemon=True)
            more.append(thread)
            thread.start()


class _Work:
    """What is to be run, handed out to threads, each once."""

    def __init__(self, runner: Runner, to_run: Iterable[Ran], on_ran: OnRan) -> None:
        self.error: BaseException | None = None
        self._runner = runner
        self._left: Iterator[Ran] = iter(to_run)
        self._on_ran = on_ran
        self._over = False
        self._since: dict[int, float] = {}
        self._taking, self._telling = Lock(), Lock()

    def go_on(self) -> None:
        """Run one after another until there is none left."""
        while (ran := self._next()) is not None:
            self._since[id(ran)] = monotonic()
            self._runner.run(ran)
            del self._since[id(ran)]
            with self._telling:
                self._on_ran(ran)

    def go_on_beside(self) -> None:
        """Do the same in a thread of its own; what is raised there ends all of it."""
        try:
            self.go_on()
        except BaseException as error:
            self.error = error
            self.stop()

    def stop(self) -> None:
        """Hand out no more, and end what runs."""
        with self._taking:
            self._left = iter(())
        self._runner.stop()

    def waits(self) -> bool:
        """Tell whether there is more to be run, and every case that runs has run for a while."""
        late = monotonic() - PATIENCE
        running = list(self._since.values())
        return not self._over and bool(running) and all(since < late for since in running)

    def _next(self) -> Ran | None:
        with self._taking:
            ran = next(self._left, None)
            self._over = ran is None
            return ran
