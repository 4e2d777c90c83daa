"""What a few programs print, so that what is piped into a shell, or put in by `$(...)`, can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.shell.expand import ansi_c
from hookrun.shell.find_xargs import EXECUTING, FILTERS, finds
from hookrun.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Callable


SEPARATOR = "\n"
"""What stands for a NUL that is printed, which separates as well and is no part of a text."""


def printed(program: str, argv: list[Word], stdin: Word | None) -> Word | None:
    """Return what a program prints, None where that is not known."""
    prints = PRINTS.get(program)
    return prints(argv[1:], stdin) if prints is not None else None


def _echo(words: list[Word], stdin: Word | None) -> Word | None:  # noqa: ARG001  # one of a table
    escapes = ends = False
    while words and words[0].text in {"-n", "-e", "-E", "-ne", "-en", "-nE", "-En"}:
        escapes = escapes or "e" in words[0].text
        ends = ends or "n" in words[0].text
        words = words[1:]
    text = " ".join(word.text for word in words)
    at = words[0].at if len(words) == 1 else None
    return Word(
        (ansi_c(text, SEPARATOR) if escapes else text) + ("" if ends else "\n"),
        None if escapes and "\\" in text else at,
    )


def _printf(words: list[Word], stdin: Word | None) -> Word | None:  # noqa: ARG001  # one of a table
    if words and words[0].text == "--":
        words = words[1:]
    if not words or words[0].text == "-v":
        return None
    form, values = ansi_c(words[0].text, SEPARATOR), [word.text for word in words[1:]]
    places = form.replace("%%", "").count("%")
    if places != form.count("%s") + form.count("%b"):
        return None
    text = ""
    while True:
        given, values = values[:places], values[places:]
        parts = form.replace("%%", "\1").replace("%b", "%s").split("%s")
        text += "".join(part + value for part, value in zip(parts, [*given, *[""] * len(parts)], strict=False))
        if not values or not places:
            return Word(text.replace("\1", "%"))


def _cat(words: list[Word], stdin: Word | None) -> Word | None:
    return stdin if all(word.text in {"-", "-u"} for word in words) else None


def _tee(words: list[Word], stdin: Word | None) -> Word | None:  # noqa: ARG001  # one of a table
    return stdin


def _base64(words: list[Word], stdin: Word | None) -> Word | None:
    if stdin is None or not stdin.known or [word.text for word in words] not in (["-d"], ["--decode"], ["-D"], ["-di"]):
        return None
    import base64
    import binascii

    try:
        return Word(base64.b64decode(stdin.text).decode("utf-8", "replace").replace("\0", UNKNOWN))
    except (binascii.Error, ValueError):
        return None


def _find(words: list[Word], stdin: Word | None) -> Word | None:  # noqa: ARG001  # one of a table
    """What it may find, a star for everything under a directory."""
    argv = [Word("find"), *words]
    if any(word.text in EXECUTING or word.text == "-delete" for word in words):
        return None
    everything = not any(word.text in FILTERS for word in words)
    return Word("".join(f"{each.text.replace(UNKNOWN, '*') if everything else each.text}\n" for each in finds(argv)))


PRINTS: dict[str, Callable[[list[Word], Word | None], Word | None]] = {
    "base64": _base64,
    "cat": _cat,
    "echo": _echo,
    "find": _find,
    "printf": _printf,
    "tee": _tee,
}
"""Programs that print what they are told, or what they read."""
