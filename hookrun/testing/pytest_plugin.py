"""pytest's plugin: files of cases become tests, and a project's own tests get a fixture with which they fire events.

Every pytest run where hookrun is installed loads this: what is not needed for that is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.testing.names import is_case_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrun.testing.cases import Case
    from hookrun.testing.fixture import Hookrun
    from hookrun.testing.ran import Ran
    from hookrun.testing.runner import Runner

RUNNER: pytest.StashKey[Runner] = pytest.StashKey()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take files of cases for tests."""
    if not is_case_file(file_path.name):
        return None
    collected: pytest.Collector = Cases.from_parent(parent, path=file_path)
    return collected


class NotPassedError(Exception):
    """A case did not pass; what came of it is its `ran`."""

    def __init__(self, ran: Ran) -> None:
        super().__init__(ran.name)
        self.ran = ran


class Cases(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case, and for each agent of one. Raises CollectError for what cannot be read."""
        from hookrun.testing.cases import load

        file = load(str(self.path), self.nodeid or self.path.name)
        if file.problems:
            raise self.CollectError("\n".join(map(str, file.problems)))
        for case in file.cases:
            for agent in case.agents or (None,):
                name = f"{case.name} [{agent}]" if agent else case.name
                yield OneCase.from_parent(self, name=name, case=case, agent=agent)


class OneCase(pytest.Item):
    """One case, as one agent would have it."""

    def __init__(self, *, case: Case, agent: str | None, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]  # what pytest gives every node
        self._case = case
        self._agent = agent

    def runtest(self) -> None:
        """Run the case. Raises NotPassedError."""
        runner = runner_of(self.config)
        ran = runner.run(runner.to_run(self._case, self._agent))
        if not ran.passed:
            raise NotPassedError(ran)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Return what is told of a case that did not pass; of anything else, what pytest would."""
        if isinstance(excinfo.value, NotPassedError):
            from hookrun.testing.told import failure

            return "\n".join(failure(excinfo.value.ran))
        return str(super().repr_failure(excinfo, style))  # type: ignore[arg-type]  # pytest's own value

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the case is."""
        return self.path, self._case.line - 1, self.name


def runner_of(config: pytest.Config) -> Runner:
    """Return what runs all cases and fires of this pytest run."""
    if RUNNER not in config.stash:
        from hookrun.testing.runner import Runner

        runner = config.stash[RUNNER] = Runner(directory=str(config.rootpath))
        config.add_cleanup(runner.close)
    return config.stash[RUNNER]


@pytest.fixture
def hookrun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Hookrun:
    """Fires events at the hooks of the project in which the test lies: `hookrun.fire("pre_tool_use", tool="bash")`."""
    from hookrun.testing.fixture import Hookrun

    directories = (request.path.parent, request.config.rootpath)
    return Hookrun(runner_of(request.config), directories, tmp_path_factory.mktemp("hookrun-home"))
