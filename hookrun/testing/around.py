"""What a case runs in: its environment, its own directory, and the fire that is given both and leaves no record."""

from __future__ import annotations

import os
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from hookrun import audit
from hookrun.config.find import NoHomeError, home_directory
from hookrun.library.bounded import FOREVER
from hookrun.library.fire import Fire
from hookrun.library.processes import Processes
from hookrun.process.popen import program
from hookrun.process.prepare import HookEnvironment, inherited
from hookrun.testing.came import Failed
from hookrun.testing.cases import WORKDIR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.library.registry import Selection
    from hookrun.library.services import Services
    from hookrun.model import Hook, Outcome

Value = TypeVar("Value")

ACCOUNT = "${HOME}"
"""What stands for the account's home in values of `env`."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a case runs in: its own `directory`, None where it has none, a `home` of its own, and its environment.

    `project` is the root of the project where that is not the one of the declarations.
    """

    directory: str | None
    home: str
    env: Mapping[str, str]
    project: str | None = None

    def filled(self, value: Value) -> Value:
        """Return a value with this directory in its texts."""
        return value if self.directory is None else filled(value, {WORKDIR: self.directory})

    def texts(self, paths: object) -> dict[str, str | None]:
        """Return what these files of the directory hold now, None for one that is not there."""
        names = paths if isinstance(paths, dict) and self.directory is not None else ()
        return {str(name): _text(os.path.join(self.directory or "", str(name))) for name in names}


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return None


def filled(value: Value, words: Mapping[str, str]) -> Value:
    """Return a JSON value with these words replaced in every text."""
    return _filled(value, words)  # type: ignore[return-value]  # of the same type, key by key


def _filled(value: object, words: Mapping[str, str]) -> object:
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, dict):
        return {key: _filled(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, words) for each in value]
    return value


def account_home() -> str:
    """Return the account's home, empty where nobody knows it."""
    try:
        return home_directory()
    except NoHomeError:
        return ""


class CaseSurroundings(HookEnvironment):
    """The surroundings of a real fire, in an environment that has other variables."""

    env: Mapping[bytes, bytes] = {}

    def variables(self, hook: Hook, marker: bytes) -> dict[bytes, bytes]:
        """Return the environment of one run, with the case's variables except those that tell of the fire."""
        own = self.own_variables(hook, marker)
        declared = {os.fsencode(name) for name in hook.env or {}}
        own |= {name: value for name, value in self.env.items() if name in declared or name not in own}
        return {**inherited(self.env_policy(hook)), **own}


class CaseProcesses(Processes):
    """Declared hooks in the surroundings of a case. Nobody has decided anything about them."""

    env: Mapping[bytes, bytes] = {}
    project: str | None = None

    def _is_asked_about(self, hook: Hook) -> bool:  # noqa: ARG002  # of no hook
        return False

    @property
    def _around(self) -> HookEnvironment:
        if self._surroundings is None:
            self._surroundings = around = CaseSurroundings(
                self._chain.context,
                project=self.project or self._services.project,
                request_id=self._request_id,
                program=program,
                may_fork=False,
            )
            around.env = self.env
        return self._surroundings


class CaseFire(Fire):
    """A fire in the surroundings of a case: it leaves no record, and knows how its background hooks ended."""

    def __init__(
        self,
        services: Services,
        event: str,
        data: Mapping[str, object],
        selection: Selection,
        around: Around,
    ) -> None:
        super().__init__(services, event, data, selection, state=None, deadline=FOREVER)
        self._env = {os.fsencode(name): os.fsencode(value) for name, value in around.env.items()}
        self._project = around.project
        self._ended: SimpleQueue[Failed | None] = SimpleQueue()

    def background_failures(self, count: int) -> list[Failed]:
        """Wait until so many background hooks have ended; return those that failed."""
        ended = [self._ended.get() for _ in range(count)]
        return [failed for failed in ended if failed is not None]

    def _to_run(self) -> Processes:
        if self._processes is None:
            self._processes = processes = CaseProcesses(
                self._services,
                self._chain,
                request_id=self._request_id,
                deadline=self._deadline,
                on_background_end=self._record_background,
            )
            processes.env, processes.project = self._env, self._project
        return self._processes

    def _audit(self, *_: object, **__: object) -> None:
        """Nothing is recorded."""

    def _failures(self) -> tuple[()]:
        """Nothing is logged: what failed is told with its case. There are no handlers to be told."""
        return ()

    def _record_background(self, hook: Hook, outcome: Outcome) -> None:
        """Note how a background hook ended; this is called in another thread."""
        record = audit.of_background(hook, outcome, self._data)
        kind = record.get("failure")
        failed = Failed(hook.name, str(kind), str(record.get("detail", ""))) if kind is not None else None
        self._ended.put(failed)
