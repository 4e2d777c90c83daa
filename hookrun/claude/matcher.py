"""Does a hook that is declared in Claude Code's form apply here? Its matcher, its `if`, and who else runs it."""

from __future__ import annotations

import os

from hookrun.claude import matched
from hookrun.conditions import format_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|")
LIST = WORD | frozenset(", -")
"""The characters of a matcher that is a list of names, on most events; on those of NARROW only WORD."""

EVERYTHING = ("", "*")


def applies(claude: Mapping[str, object], context: Mapping[str, object]) -> bool:
    """Tell whether the hook with these words of Claude Code's applies in this context."""
    return why_not(claude, context) is None


def why_not(claude: Mapping[str, object], context: Mapping[str, object]) -> str | None:
    """Return why such a hook does not apply in this context, naming the rule and the value; None when it applies."""
    if claude.get("own") and context.get("agent") == "claude" and _runs_it(claude["own"], context):
        return "Claude Code runs it itself: it is declared in Claude Code's own settings"
    event = str(claude.get("event"))
    matcher = str(claude.get("matcher", ""))
    if not matches(matcher, event, context):
        value = matched.value(event, context)
        what = "the tool" if event in matched.TOOL_EVENTS else f"the {_called(event)}"
        named = format_value(value) if value else "of nothing"
        return f"matcher: {format_value(matcher)} {_reason(matcher, event)} {what} {named}"
    twins = claude.get("twins")
    for twin in twins if isinstance(twins, list) else ():
        if matches(str(twin), event, context):
            return "the same handler is declared before and applies: Claude Code runs it once"
    rule = claude.get("if")
    if isinstance(rule, str):
        from hookrun.claude import permission

        return permission.why_not(rule, event, claude, context)
    return None


def _runs_it(own: object, context: Mapping[str, object]) -> bool:
    """Tell whether Claude Code reads the file itself: always, or in the project in which it was started."""
    if not isinstance(own, str):
        return True
    started = os.environ.get("CLAUDE_PROJECT_DIR")
    if started:
        return os.path.realpath(started) == os.path.realpath(own)
    cwd = os.path.realpath(str(context.get("working_dir") or "/"))
    return f"{cwd}/".startswith(f"{os.path.realpath(own).rstrip('/')}/")


def matches(matcher: str, event: str, context: Mapping[str, object]) -> bool:
    """Tell whether a matcher fits what its event is about."""
    if event == matched.WATCHED:
        return _is_watched(matcher, context) and fits(matcher, event, matched.value(event, context))
    return (
        matcher in EVERYTHING or event in matched.WITHOUT_MATCHER or fits(matcher, event, matched.value(event, context))
    )


def fits(matcher: str, event: str, value: str) -> bool:
    """Tell whether a matcher fits a value: as a list of names, else as a regular expression that finds something.

    One that cannot be read fits nothing.
    """
    if matcher in EVERYTHING:
        return True
    listed = names_in(matcher, event)
    if listed is not None:
        now = matched.LEGACY.get(value, value)
        return any(matched.LEGACY.get(name, name) == now for name in listed)
    from hookrun.claude.javascript import Expression, RegexError

    try:
        expression = Expression(matcher)
    except RegexError:
        return False
    older = [name for name, now in matched.LEGACY.items() if now == value]
    return any(expression.finds(each) for each in (value, *older))


def names_in(matcher: str, event: str) -> list[str] | None:
    """Return the names that a matcher lists; None for one that is a regular expression."""
    narrow = event in matched.NARROW
    if not (WORD if narrow else LIST).issuperset(matcher):
        return None
    listed = matcher if narrow else matcher.replace(",", "|")
    return [name for each in listed.split("|") if (name := each.strip())]


def _is_watched(matcher: str, context: Mapping[str, object]) -> bool:
    """Tell whether the file of a context is one that the matcher lists: by its name, in the working directory."""
    path, cwd = context.get("file_path"), context.get("working_dir")
    if not isinstance(path, str) or not isinstance(cwd, str):
        return False
    directory, _, name = path.rpartition("/")
    return directory == cwd.rstrip("/") and name in matcher.split("|")


def _called(event: str) -> str:
    return "file" if event == matched.WATCHED else matched.VALUES.get(event, "value")


def _reason(matcher: str, event: str) -> str:
    if event == matched.WATCHED or names_in(matcher, event) is not None:
        return "does not list"
    from hookrun.claude.javascript import Expression, RegexError

    try:
        Expression(matcher)
    except RegexError as error:
        return f"matches nothing ({error}), so not"
    return "does not match"
