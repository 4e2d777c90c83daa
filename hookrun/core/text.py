"""Make text fit for people and terminals: escape, truncate, suggest, compare; write it to standard streams.

On the hot path: what is rarely needed is imported where it is used.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Characters of a value in a message.
MAX_QUOTED = 60
# Characters shown of an exception's text.
MAX_EXCEPTION_TEXT = 2000


class HookrunError(Exception):
    """The base of every error that hookrun raises for a program to handle."""


class UserError(HookrunError):
    """An error whose message says what is wrong and what to do; any other exception is a bug of hookrun."""


def escape(text: str, *, keep_newlines: bool = False) -> str:
    r"""Return the text with characters that a terminal would not simply show escaped (`\n`, `\x1b`)."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or (keep_newlines and char == "\n") else char.encode("unicode_escape").decode()
        for char in text
    )


def escape_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a table's rows with each cell escaped."""
    return [[escape(cell) for cell in row] for row in rows]


def printable_lines(text: str) -> str:
    """Return the text with a space for each unprintable character except line ends."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def truncate(text: str, limit: int) -> str:
    """Return the text, cut to `limit` characters if longer, the last three as dots."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@%:,=")


def shell_quoted(path: str) -> str:
    """Return a path quoted for a shell."""
    return path if PLAIN.issuperset(path) else "'" + path.replace("'", "'\\''") + "'"


def quote(value: object) -> str:
    """Return the value as a line of JSON, escaped and cut to MAX_QUOTED characters."""
    import json

    if isinstance(value, str):
        value = value[: MAX_QUOTED + 1]
    return truncate(escape(json.dumps(value, ensure_ascii=False, default=repr)), MAX_QUOTED)


def closest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the valid name most like `name`, in any case; None if no likeness (0 to 1) reaches `cutoff`."""
    from difflib import get_close_matches

    by_lower = {valid.lower(): valid for valid in names}
    near = get_close_matches(name[:60].lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[near[0]] if near else None


def did_you_mean(
    name: object, names: Iterable[str], otherwise: str | None = None, show: Callable[[str], str] = quote
) -> str | None:
    """Return the hint with the closest valid name, as `show` writes it; `otherwise` if none is close."""
    return suggest(closest(name, names) if isinstance(name, str) else None, otherwise, show)


def suggest(near: str | None, otherwise: str | None = None, show: Callable[[str], str] = quote) -> str | None:
    """Return the hint with a name that was probably meant; `otherwise` if there is none."""
    return f"did you mean {show(near)}?" if near else otherwise


def one_of(words: Iterable[str], before_last: str = "or") -> str:
    """Return the words as a choice: `a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} {before_last} {last}" if most else last


def diff(before: str, after: str, old: str = "", new: str = "", *, context: int = 3) -> list[str]:
    """Return the lines of a unified diff without line ends, headed by the names `old` and `new` if given."""
    from difflib import unified_diff

    lines = list(unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="", n=context))
    return lines if old else lines[2:]


def describe_exception(error: BaseException) -> str:
    """Return `Type: text`, `Type` without text; raises nothing but KeyboardInterrupt.

    The text is cut at MAX_EXCEPTION_TEXT characters; control characters except line ends are escaped.

    >>> describe_exception(ValueError("no such file"))
    'ValueError: no such file'
    """
    name = type(error).__name__
    try:
        text = escape(str(error)[: MAX_EXCEPTION_TEXT + 1], keep_newlines=True)
    except KeyboardInterrupt:
        raise
    except BaseException as other:  # the exception's author wrote its __str__ too
        return f"{name} (it cannot say what it says: {type(other).__name__})"
    return f"{name}: {truncate(text, MAX_EXCEPTION_TEXT)}" if text else name


def write_all(fd: int, data: bytes) -> str | None:
    """Write all of the data and return None, or the error's text."""
    view = memoryview(data)
    try:
        while view:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                import select

                poll = select.poll()
                poll.register(fd, select.POLLOUT)
                poll.poll(1000)
    except OSError as error:
        return error.strerror
    return None


def message_lines(message: str, label: str) -> list[tuple[str, str]]:
    r"""Return a message's lines with their labels, escaped: the first with `label`, then hints and notes.

    Lines after two spaces (a file's line, a caret below it) have no label.

    >>> message_lines('unknown event "pretooluse"\nhint: did you mean "pre_tool_use"?', "error")
    [('error', 'unknown event "pretooluse"'), ('hint', 'did you mean "pre_tool_use"?')]
    """
    lines = [(label, "")]
    for index, line in enumerate(message.rstrip("\n").split("\n")):
        name, colon, text = line.partition(": ")
        if index and colon and name in ("hint", "note"):
            lines.append((name, text))
        elif index and line.startswith("  "):
            lines.append(("", line))
        else:  # a line break in an outside value
            lines[-1] = (lines[-1][0], f"{lines[-1][1]}\n{line}" if index else line)
    return [(name, escape(text)) for name, text in lines]


def one_line(message: str) -> str:
    r"""Return a message and its hints as one line.

    >>> one_line('unknown event "pretooluse"\nhint: did you mean "pre_tool_use"?')
    'unknown event "pretooluse"; did you mean "pre_tool_use"?'
    """
    return "; ".join(text for name, text in message_lines(message, "error") if name)


def print_message(message: str, label: str = "error") -> None:
    """Print `error: MESSAGE` and its hints on stderr, control characters escaped."""
    if os.environ.get("FORCE_COLOR") or os.isatty(2):
        from hookrun.core.terminal import render_for

        shown = render_for(2, message_lines(message, label))
    else:
        shown = "\n".join(f"{name}: {text}" if name else text for name, text in message_lines(message, label))
    write_all(2, shown.encode("utf-8", "backslashreplace") + b"\n")


def print_for_agent(message: str) -> None:
    """Print `hookrun: MESSAGE` on stderr for an agent's user, to name the sender."""
    write_stderr(f"hookrun: {message}")


def write_stderr(text: str) -> None:
    """Print a text on stderr, control characters except newlines escaped."""
    write_all(2, escape(text, keep_newlines=True).encode("utf-8", "backslashreplace") + b"\n")


class InvalidVerdictError(HookrunError, ValueError):
    """A verdict's action is none of `actions`. Its hook may have meant to block: see `refusals.from_exception`."""

    def __init__(self, action: object, actions: Iterable[str] = ()) -> None:
        hint = did_you_mean(action, actions, f"expected one of {', '.join(actions)}")
        shown = repr(action[:80]) if isinstance(action, str) else f"of type {type(action).__name__}"
        super().__init__(f"unknown action {shown}: {hint}")
