"""What an exception says, for people: a text of bounded length that does a terminal no harm, whatever it is."""

from __future__ import annotations

MOST = 2000
"""Characters of an exception's text that are told."""


def exception_text(error: BaseException) -> str:
    """Return `Type: text`, or `Type` where it says nothing; an exception that cannot say what it says is named so.

    The text is cut at MOST characters; control characters but for line ends are escaped. Raises nothing but
    KeyboardInterrupt.

    >>> exception_text(ValueError("no such file"))
    'ValueError: no such file'
    """
    name = type(error).__name__
    try:
        text = plain(str(error), MOST)
    except KeyboardInterrupt:
        raise
    except BaseException as other:  # whoever wrote the exception wrote its text too
        return f"{name} (it cannot say what it says: {type(other).__name__})"
    return f"{name}: {text}" if text else name


def plain(text: str, most: int) -> str:
    """Return the text cut at `most` characters, with everything escaped that a terminal would obey, line ends kept."""
    shown = text[: most + 1]
    if not shown.isprintable():
        shown = "".join(
            char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode("ascii")
            for char in shown
        )
    return shown if len(shown) <= most else shown[: most - 3] + "..."
