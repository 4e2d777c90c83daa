"""What a project's own tests are given: an object that fires events at the project's hooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrun.testing.around import Around
from hookrun.testing.runner import CannotRunError, Runner, chosen, known_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hookrun.testing.came import Came
    from hookrun.testing.declared import Declared


class Hookrun:
    """Fires events at the hooks that are declared around a test. Only the project's own are in force.

    `home` is the HOME of the hooks, empty at first and kept from fire to fire: what one leaves there the next one sees.
    Nothing of the account's is read or written, and nobody is asked whether the hooks may run.
    """

    def __init__(self, runner: Runner, directories: Sequence[Path], home: Path) -> None:
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
    ) -> Came:
        """Fire an event and return what came of it: `action`, `message`, `args`, `fired`, `failures` and more.

        `tool` and `args` are the context's `tool_name` and `tool_args`; other fields go by their names. `hook` names
        the only hooks that are asked. As an `agent`, what comes is what that agent would be told. `env` is laid over
        the environment of the hooks. `config` is a declaration file in the place of the project's own.

        Raises ValueError for an unknown event, hook or agent, and for declarations that cannot be read.
        """
        against = self._against(config)
        names = (hook,) if isinstance(hook, str) else hook
        if tool is not None:
            context["tool_name"] = tool
        if args is not None:
            context["tool_args"] = dict(args)
        around = Around(None, str(self.home), {"HOME": str(self.home), **(env or {})})
        name, hooks = known_event(event, against), chosen(names, against)
        if agent is None:
            return self._runner.fire(name, context, against, hooks=hooks, around=around)
        return self._runner.fire_as(agent, name, context, against, hooks=hooks, around=around)

    def _against(self, config: str | os.PathLike[str] | None) -> Declared:
        """Return the declarations. Raises ValueError where they cannot be read."""
        if config is not None:
            found = [self._runner.declared_at("", os.path.abspath(config))]
        else:
            found = [self._runner.declared_at(str(directory)) for directory in self._directories]
        against = next((each for each in found if each.found), found[0])
        if against.problems:
            raise CannotRunError("\n".join(against.problems))
        return against
