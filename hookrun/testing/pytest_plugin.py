"""The pytest plugin: collects files of cases as tests; its fixture fires events in a project's own tests.

Every pytest run loads this if hookrun is installed, so it imports the rest on use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.testing import is_case_file

if TYPE_CHECKING:
    from hookrun import Engine, Result
    from hookrun.core.literals import EventName
    from hookrun.testing.case_runner import CaseRunner
    from hookrun.testing.cases import Case
    from hookrun.testing.results import CaseRun

RUNNER: pytest.StashKey[CaseRunner] = pytest.StashKey()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect files of cases."""
    if not is_case_file(file_path.name):
        return None
    collected: pytest.Collector = Cases.from_parent(parent, path=file_path)
    return collected


class NotPassedError(Exception):
    """A case did not pass; `run` holds its result."""

    def __init__(self, run: CaseRun) -> None:
        super().__init__(run.name)
        self.run = run


class Cases(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case and agent. Raises CollectError if the file cannot be read."""
        from hookrun.testing.cases import load

        file = load(str(self.path), self.nodeid or self.path.name)
        if file.problems:
            raise self.CollectError("\n".join(map(str, file.problems)))
        for case in file.cases:
            for agent in case.agents or (None,):
                name = f"{case.name} [{agent}]" if agent else case.name
                yield OneCase.from_parent(self, name=name, case=case, agent=agent)


class OneCase(pytest.Item):
    """One case, as one agent or as a program."""

    def __init__(self, *, case: Case, agent: str | None, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]  # pytest's
        self._case = case
        self._agent = agent

    def runtest(self) -> None:
        """Run the case. Raises NotPassedError."""
        runner = runner_of(self.config)
        for prepared in runner.prepare(self._case, self._agent):
            run = runner.run(prepared)
            if not run.passed:
                raise NotPassedError(run)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Return the report of a failed case; for anything else, pytest's own."""
        if isinstance(excinfo.value, NotPassedError):
            from hookrun.testing.report import failure_lines

            return "\n".join(failure_lines(excinfo.value.run))
        return str(super().repr_failure(excinfo, style))  # type: ignore[arg-type]  # pytest's

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the position of the case."""
        return self.path, self._case.line - 1, self.name


def runner_of(config: pytest.Config) -> CaseRunner:
    """Return the runner of this pytest run."""
    if RUNNER not in config.stash:
        from hookrun.testing.case_runner import CaseRunner

        runner = config.stash[RUNNER] = CaseRunner(directory=str(config.rootpath))
        config.add_cleanup(runner.close)
    return config.stash[RUNNER]


class FireHooks:
    """The fixture `fire_hooks`: fires an event at an engine, or at the project's configured hooks.

    Configured hooks run as in `hookrun test`: the account's files are neither read nor written, and no hook needs
    approval. `home` is their HOME, initially empty and kept between events.
    """

    def __init__(self, runner: CaseRunner, directories: Sequence[Path], home: Path) -> None:
        self._runner = runner
        self._directories = directories
        self.home = home

    def __call__(
        self,
        event: EventName,
        *,
        engine: Engine | None = None,
        hook: str | Sequence[str] | None = None,
        agent: str | None = None,
        env: Mapping[str, str] | None = None,
        config: str | os.PathLike[str] | None = None,
        **fields: object,
    ) -> Result:
        """Fire an event with these fields of its context; return the result, as `Engine.fire_sync` does.

        With an `engine`, the handlers and hooks of that. Otherwise `hook` names the only configured hooks to run, by
        default all; with `agent`, the result is what that agent sees; `env` is merged into the hooks' environment; and
        `config` is a config file to use instead of the project's.

        Raises ValueError for an unknown event, hook or agent, for an unreadable config, and for one of these options
        with an engine.
        """
        from hookrun.testing.sandbox import CannotRunError, Sandbox

        if engine is not None:
            if (hook, agent, env, config) != (None,) * 4:
                raise ValueError("hook, agent, env and config are for configured hooks, not for an engine")
            return engine.fire_sync(event, fields)
        against = self._runner.config_for(
            map(str, self._directories), os.path.abspath(config) if config is not None else None
        )
        if against.problems:
            raise CannotRunError("\n".join(against.problems))
        names = (hook,) if isinstance(hook, str) else hook
        sandbox = Sandbox(None, str(self.home), {"HOME": str(self.home), **(env or {})})
        name, hooks = against.resolve_event(event), against.select_hooks(names)
        return self._runner.fire(name, fields, against, agent=agent, hooks=hooks, sandbox=sandbox).as_result()


@pytest.fixture
def fire_hooks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FireHooks:
    """Fire an event at an engine, or at the hooks of the project around the test: `fire_hooks("stop")`."""
    directories = (request.path.parent, request.config.rootpath)
    return FireHooks(runner_of(request.config), directories, tmp_path_factory.mktemp("hookrun-home"))
