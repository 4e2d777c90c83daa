"""The set of hooks that an agent of some type needs, put together by the type's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hookrun.bundles.document_rules import extraction_rules, validation_rules
from hookrun.bundles.validate_json import ValidateJSON

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from hookrun.bundles.agent_log import AgentLog
    from hookrun.bundles.json_rules import Rule
    from hookrun.library.engine import Bundle, Engine

    Place = str | os.PathLike[str] | None
    Factory = Callable[[Place], Iterable[Bundle]]


def _validation(agent_type: str, rules: Callable[[], list[Rule]]) -> Factory:
    return lambda output_dir: [ValidateJSON(rules(), output_dir, name=f"validate-json-{agent_type}")]


class AgentHooks:
    """The bundles of one agent, in order; itself a bundle: `engine.use(AgentHooks.create("extraction", log))`.

    `AgentHooks.types` is the table of types: name -> function that is given the output directory (or None) and returns
    the bundles of such an agent. A program adds its own by `define`.

    >>> AgentHooks.define("reviewer", lambda output_dir: [])
    >>> AgentHooks.create("reviewer").bundles
    ()
    >>> AgentHooks.create("poet")
    Traceback (most recent call last):
        ...
    ValueError: unknown agent type 'poet', expected one of api_validation, code_validation, extraction, reviewer
    >>> del AgentHooks.types["reviewer"]
    """

    types: ClassVar[dict[str, Factory]] = {
        "extraction": _validation("extraction", extraction_rules),
        "api_validation": _validation("api_validation", validation_rules),
        "code_validation": _validation("code_validation", validation_rules),
    }

    def __init__(self, *bundles: Bundle) -> None:
        self.bundles = bundles

    @classmethod
    def define(cls, name: str, factory: Factory) -> None:
        """Add a type of agent to the table, or replace it."""
        cls.types[name] = factory

    @classmethod
    def create(cls, agent_type: str, log: AgentLog | None = None, output_dir: Place = None) -> AgentHooks:
        """Return the hooks of an agent of this type: its validation, then the log, which sees refused calls too.

        `output_dir` is where its files belong. Raises ValueError for a type that is not in the table, ImportError where
        its validation needs a package that is not installed.
        """
        factory = cls.types.get(agent_type)
        if factory is None:
            raise ValueError(f"unknown agent type {agent_type!r}, expected one of {', '.join(sorted(cls.types))}")
        bundles = list(factory(output_dir))
        return cls(*bundles, log) if log is not None else cls(*bundles)

    def register(self, engine: Engine) -> None:
        """Register the handlers of every bundle, in order."""
        for bundle in self.bundles:
            bundle.register(engine)
