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
    from hookrun.testing.case_runner import CaseRunner
    from hookrun.testing.cases import Case
    from hookrun.testing.results import CaseResult, CaseRun

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


class Hookrun:
    """The pytest fixture: fires events for the project's hooks around a test.

    `home` is the hooks' HOME, initially empty and kept between events. The account's files are neither read nor
    written, and no hook needs approval.
    """

    def __init__(self, runner: CaseRunner, directories: Sequence[Path], home: Path) -> None:
        self._runner = runner
        self._directories = directories
        self.home = home

    def fire(
        self,
        event: str,
        *,
        tool: str | None = None,
        args: Mapping[str, object] | None = None,
        hook: str | Sequence[str] | None = None,
        agent: str | None = None,
        env: Mapping[str, str] | None = None,
        config: str | os.PathLike[str] | None = None,
        **context: object,
    ) -> CaseResult:
        """Fire an event and return the result: `action`, `message`, `args`, `fired`, `failures` and more.

        `tool` and `args` are the context's `tool_name` and `tool_args`; other fields have their own names. `hook` names
        the only hooks to run, by default all. With `agent`, the result is what it sees. `env` is merged into the hooks'
        environment. `config` is a declaration file to use instead of the project's.

        Raises ValueError for an unknown event, hook or agent, and for an unreadable config.
        """
        from hookrun.testing.sandbox import CannotRunError, Sandbox

        against = self._runner.config_for(
            map(str, self._directories), os.path.abspath(config) if config is not None else None
        )
        if against.problems:
            raise CannotRunError("\n".join(against.problems))
        names = (hook,) if isinstance(hook, str) else hook
        if tool is not None:
            context["tool_name"] = tool
        if args is not None:
            context["tool_args"] = dict(args)
        sandbox = Sandbox(None, str(self.home), {"HOME": str(self.home), **(env or {})})
        name, hooks = against.resolve_event(event), against.select_hooks(names)
        return self._runner.fire(name, context, against, agent=agent, hooks=hooks, sandbox=sandbox)


@pytest.fixture
def hookrun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Hookrun:
    """Fire events for the hooks of the project around the test: `hookrun.fire("pre_tool_use", tool="bash")`."""
    directories = (request.path.parent, request.config.rootpath)
    return Hookrun(runner_of(request.config), directories, tmp_path_factory.mktemp("hookrun-home"))
