"""Predict what a few programs print, so that input piped into a shell, or put in by `$(...)`, can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.shell.expand import ansi_c
from hookrun.shell.find_xargs import EXECUTING, FILTERS, found_paths
from hookrun.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Callable

SEPARATOR = "\n"
"""Stands for a NUL that is printed: it separates as well, and no word can hold it."""


def output_of(program: str, argv: list[Word], stdin: Word | None) -> Word | None:
    """Return what a program prints, None where that is not known."""
    if program in PRINTERS:
        return PRINTERS[program](argv[1:])
    return FILTERING[program](argv[1:], stdin) if program in FILTERING and stdin is not None else None


def _echo(words: list[Word]) -> Word:
    escapes = ends = False
    while words and words[0].text in {"-n", "-e", "-E", "-ne", "-en", "-nE", "-En"}:
        escapes = escapes or "e" in words[0].text
        ends = ends or "n" in words[0].text
        words = words[1:]
    text = " ".join(word.text for word in words)
    at = words[0].at if len(words) == 1 and not (escapes and "\\" in text) else None
    return Word((ansi_c(text, SEPARATOR) if escapes else text) + ("" if ends else "\n"), at)


def _printf(words: list[Word]) -> Word | None:
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


def _find(words: list[Word]) -> Word | None:
    if any(word.text in EXECUTING or word.text == "-delete" for word in words):
        return None
    paths = [word.text for word in found_paths([Word("find"), *words])]
    if not any(word.text in FILTERS for word in words):
        paths = [path.replace(UNKNOWN, "*") for path in paths]  # everything in a directory
    return Word("".join(f"{path}\n" for path in paths))


def _cat(words: list[Word], stdin: Word) -> Word | None:
    return stdin if all(word.text in {"-", "-u"} for word in words) else None


def _base64(words: list[Word], stdin: Word) -> Word | None:
    if not stdin.known or [word.text for word in words] not in (["-d"], ["--decode"], ["-D"], ["-di"]):
        return None
    import base64
    import binascii

    try:
        return Word(base64.b64decode(stdin.text).decode("utf-8", "replace").replace("\0", UNKNOWN))
    except (binascii.Error, ValueError):
        return None


PRINTERS: dict[str, Callable[[list[Word]], Word | None]] = {"echo": _echo, "find": _find, "printf": _printf}
FILTERING: dict[str, Callable[[list[Word], Word], Word | None]] = {
    "base64": _base64,
    "cat": _cat,
    "tee": lambda _, stdin: stdin,
}
"""Programs that print what their words say, and those that print what they read."""
