"""What came of cases that were to be run: of one, and of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookrun.config.problem import Problem
    from hookrun.testing.came import Came
    from hookrun.testing.cases import Case
    from hookrun.testing.declared import Declared
    from hookrun.testing.judge import Difference


@dataclass(repr=False, slots=True)
class Ran:
    """One case that was to be run, once for each of its agents (`agent` None: for a program).

    `problems` are why it could not be run, a line each; else `came` is what came of it, and `differences` are what was
    expected and did not hold. `declared` is what it was run against, `directory` the case's own, which is gone now.
    """

    case: Case
    agent: str | None
    came: Came | None = None
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    declared: Declared | None = None
    directory: str | None = None

    @property
    def passed(self) -> bool:
        """Whether it could be run and all holds."""
        return not (self.problems or self.differences)

    @property
    def name(self) -> str:
        """The name of the case, and the agent if it is run as one."""
        return f"{self.case.name} [{self.agent}]" if self.agent else self.case.name


@dataclass(repr=False, slots=True)
class Tested:
    """What came of all cases, in their order, and what is wrong with files of cases. `seconds` is how long it took."""

    results: list[Ran]
    problems: list[Problem]
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """How many did not pass."""
        return sum(not ran.passed for ran in self.results)

    @property
    def ok(self) -> bool:
        """Whether there was something to run, all of it passed, and every file could be read."""
        return bool(self.results) and not self.failed and not self.problems
