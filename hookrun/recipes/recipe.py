"""Define recipes: ready-made hooks and the options they read from their environment."""

from __future__ import annotations

import os

from hookrun.recipes import NO, YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from re import Pattern
    from typing import NoReturn, TypeVar

    Environment = Callable[[str, str], str]
    """Returns the value of a variable, or the default, as `os.environ.get` does."""
    Check = Callable[["Recipe", str], object]
    Concerns = Callable[[Mapping[str, object]], bool]
    Function = TypeVar("Function", bound=Callable[[Mapping[str, object]], object])

# The prefix of an option's environment variable; its name in capitals follows.
PREFIX = "HOOKRUN_OPTION_"


class Option:
    """A recipe's setting. `check` reads it, raising WrongOptionError if invalid; None accepts any text.

    The value is one of `choices`, or a list of words in `list_of`, if given. `variable` is that of the environment, set
    in a declaration's `env`.
    """

    def __init__(
        self,
        name: str,
        default: str,
        description: str,
        check: Check | None = None,
        *,
        choices: Iterable[str] = (),
        list_of: Iterable[str] = (),
    ) -> None:
        self.known = (*choices, *list_of)
        self.check = check or (one_of if choices else known_words if list_of else None)
        self.name = name
        self.variable = PREFIX + name.upper()
        self.default = default
        self.description = description


class WrongOptionError(SystemExit):
    """An option has an invalid value; `expected` describes a valid one. The hook fails."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.expected = expected


class Recipe:
    """One or more hooks that belong together; the first has the recipe's name.

    `hooks` are declarations as in coder.json; the decorator `hook` adds more. `catches` and `misses` are lists for the
    documentation, with `- ` before each item. Options are read from `environment`. `version` is raised when the recipe
    blocks more or less; an old version has its own module, and `until` is the last hookrun with it.

    `concerns` has, by a function's name, the cheap test of a context that hookrun makes before it starts a process for
    the function: False means that the function returns None and changes nothing. Functions with one only judge a
    context, so that a server's worker calls them itself. `python_only` has those without native code, which no call can
    crash: they never need another process. See `process/recipe_calls.py`.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        hooks: tuple[Mapping[str, object], ...] = (),
        options: tuple[Option, ...] = (),
        catches: str = "",
        misses: str = "",
        environment: Environment | None = None,
        version: int = 1,
        until: str = "",
    ) -> None:
        self.name = name
        self.summary = summary
        self.hooks = hooks
        self.options = options
        self.catches = _items(catches)
        self.misses = _items(misses)
        self.environment = environment
        self.version = version
        self.until = until
        self.concerns: dict[str, Concerns] = {}
        self.python_only: set[str] = set()

    def hook(
        self,
        event: str | list[str],
        description: str = "",
        *,
        name: str = "",
        concerns: Concerns | None = None,
        python_only: bool = False,
        **fields: object,
    ) -> Callable[[Function], Function]:
        """Return a decorator that adds a function to `hooks`; `fields` are further fields of its declaration.

        Description and name default to the recipe's summary and name. `concerns` is the function's cheap test, without
        which it is not called; `python_only` says that the function reads no shell line and runs no program.
        """

        def add(function: Function) -> Function:
            text = description or self.summary.removesuffix(".")
            declaration: dict[str, object] = {"name": name or self.name, "description": text, "event": event}
            if "matcher" in fields:
                declaration["matcher"] = fields["matcher"]
            target = f"{function.__module__}:{function.__name__}"
            if python_only:
                self.python_only.add(function.__name__)
            self.hooks = (*self.hooks, {**declaration, "python": target, "cwd": "/", **fields})
            if concerns is None or self.concerns.get(function.__name__) is concerns:  # of another hook
                return function
            if function.__name__ in self.concerns:  # with either, a guard would be silent at the other's calls
                raise ValueError(f"{target}: two hooks of a function have different tests")
            self.concerns[function.__name__] = concerns
            return _asked_after(concerns, function)

        return add

    def option(self, name: str) -> Option:
        """Return the declaration of an option. Raises KeyError for an unknown one."""
        for each in self.options:
            if each.name == name:
                return each
        raise KeyError(f"{self.name} has no option {name!r}")

    def wrong_value(self, name: str, value: str) -> str | None:
        """Return what a valid value is if this one is invalid; None for unknown options."""
        try:
            found = self.option(name)
            if found.check is not None:
                environment = {found.variable: value}.get
                found.check(Recipe(self.name, self.summary, options=self.options, environment=environment), name)
        except KeyError:
            return None
        except WrongOptionError as error:
            return error.expected
        return None


def _asked_after(concerns: Concerns, function: Function) -> Function:
    def asked(context: Mapping[str, object]) -> object:
        return function(context) if concerns(context) else None

    asked.__module__, asked.__name__, asked.__doc__ = function.__module__, function.__name__, function.__doc__
    asked.__wrapped__ = function  # type: ignore[attr-defined]  # not `functools`, whose import takes milliseconds
    return asked  # type: ignore[return-value]  # the same but for the test


def _items(text: str) -> tuple[str, ...]:
    lines = "".join(f"\n{line.strip()}" for line in text.split("\n"))
    return tuple(" ".join(each.split()) for each in lines.split("\n- ")[1:])


def request_of(context: Mapping[str, object]) -> object:
    """Return the id of this run, of the environment: a program's context may have one for several calls."""
    return os.environ.get("HOOKRUN_REQUEST_ID") or context.get("request_id")


def option(recipe: Recipe, name: str) -> str:
    """Return the value of an option, or its default. Raises KeyError for an unknown one."""
    declared = recipe.option(name)
    return (recipe.environment or os.environ.get)(declared.variable, declared.default)


def number(recipe: Recipe, name: str) -> float:
    """Return an option's number, at least 0."""
    try:
        given = float(option(recipe, name))
    except ValueError:
        given = -1.0
    if not 0 <= given < float("inf"):
        fail_option(recipe, name, "a number of at least 0")
    return given


def count(recipe: Recipe, name: str) -> int:
    """Return an option's whole number, at least 0."""
    value = option(recipe, name).strip()
    if not (value.isascii() and value.isdigit()):
        fail_option(recipe, name, "a whole number of at least 0")
    return int(value)


def words(recipe: Recipe, name: str) -> list[str]:
    """Return an option that is a list of words."""
    return option(recipe, name).split()


def directories(recipe: Recipe, name: str) -> list[str]:
    """Return an option's directories, absolute or after `~/`: others would never match."""
    given = words(recipe, name)
    if any(not each.startswith(("/", "~/")) or "*" in each for each in given):
        fail_option(recipe, name, "a list of directories, absolute or starting with `~/`, such as ~/work")
    return given


def known_words(recipe: Recipe, name: str) -> list[str]:
    """Return an option that is a list of known words."""
    given, known = words(recipe, name), recipe.option(name).known
    if any(each not in known for each in given):
        fail_option(recipe, name, f"a list of: {', '.join(known)}")
    return given


def one_of(recipe: Recipe, name: str) -> str:
    """Return an option that is one of its known words."""
    value, known = option(recipe, name).strip().lower(), recipe.option(name).known
    if value not in known:
        fail_option(recipe, name, f"{', '.join(known[:-1])} or {known[-1]}")
    return value


def pattern(recipe: Recipe, name: str) -> Pattern[str] | None:
    """Return an option's regular expression, None if empty."""
    text = option(recipe, name)
    import re

    try:
        return re.compile(text) if text else None
    except re.error as error:
        fail_option(recipe, name, f"a valid regular expression ({error})")


def yes(recipe: Recipe, name: str) -> bool:
    """Return an option that is yes or no."""
    value = option(recipe, name).strip().lower()
    if value not in YES + NO:
        fail_option(recipe, name, "yes or no")
    return value in YES


def fail_option(recipe: Recipe, name: str, expected: str) -> NoReturn:
    """Fail the hook for an invalid option. The value, maybe a secret URL, is not shown."""
    raise WrongOptionError(
        f"{recipe.name}: option `{name}` must be {expected}; fix {PREFIX}{name.upper()} in the hook's `env`",
        expected,
    )
