"""`re` for modules with many expressions of which a run uses few: each is compiled on first use.

`import re` and the expressions of `shell` and `recipes` cost more than parsing a line. To be imported as `re`; other
names are the real module's.
"""

# ruff: noqa: A004, PLC0414 # for type checkers, re's own names

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import (
        DOTALL as DOTALL,
        MULTILINE as MULTILINE,
        VERBOSE as VERBOSE,
        Match as Match,
        Pattern as Pattern,
        compile as compile,
        error as error,
        escape as escape,
        findall as findall,
        split as split,
        sub as sub,
    )
else:
    MULTILINE, DOTALL, VERBOSE = 8, 16, 64

    class LazyExpression:
        """An expression not yet compiled."""

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self.pattern = pattern
            self.flags = flags

        def __getattr__(self, name: str) -> object:
            """Return a method that compiles the expression when called."""
            if name.startswith("__"):
                raise AttributeError(name)

            def call(*arguments: object, **more: object) -> object:
                import re

                method = getattr(re.compile(self.pattern, self.flags), name)
                setattr(self, name, method)
                return method(*arguments, **more)

            return call

    compile = LazyExpression  # noqa: A001  # as in `re`

    def __getattr__(name: str) -> object:
        import re

        return getattr(re, name)
