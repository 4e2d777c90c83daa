"""Find what the catalogue says of a program, in its compiled form: no YAML is read in a call.

Its first lines are one for each guard, `guard NAME`, with the programs that it knows, and behind each, after `|`, words
of which a harmful line has one; none where it has none. Then come lines `NAME<tab>#1 #2`, and of each number a line
`#1<tab>ROW`, in JSON.
"""

from __future__ import annotations

import os

from hookrun.core.fastjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Row = dict[str, Any]

COMPILED = os.path.join(os.path.dirname(__file__), "compiled.txt")
# The entry points of packages with catalogues: a module beside whose file the YAML is.
GROUP = "hookrun.catalogues"
_PROGRAMS: dict[str, dict[str, str]] = {}
_TEXTS: dict[object, str] = {}


class Catalogue:
    """What a guard knows. `more` names other catalogues: paths of YAML, or of a directory of it, or entry points."""

    def __init__(self, guard: str, more: Iterable[str] = ()) -> None:
        self._guard = guard
        self._more = tuple(more)

    def programs(self) -> dict[str, str]:
        """Return the programs that the guard knows, each with words of which a harmful line has one.

        Between them is `|`: a cold call needs the words of few. "" if it has none.
        """
        found = _shipped_programs(self._guard)
        for text in self._others():
            for name, words in _programs(_line(text, f"guard {self._guard}")).items():
                before = found.get(name)
                both = f"{before}|{words}" if before and words else ""
                found = {**found, name: words if before is None else both}
        return found

    def rows(self, name: str) -> list[Row]:
        """Return this guard's rows of a program; a language, `language NAME`, is of all guards."""
        texts = () if name.startswith(("#", "guard ")) else (_shipped(), *self._others())
        found: list[Any] = [loads(_line(text, each)) for text in texts for each in _line(text, name).split()]
        return [row for row in found if row.get("guard", self._guard) == self._guard]

    def _others(self) -> list[str]:
        return [_compiled(each) for each in self._more]


def _line(text: str, name: str) -> str:
    """Return what a name has in the compiled form, "" if there is no such line."""
    start = f"\n{text}".find(f"\n{name}\t")
    return "" if start < 0 else text[start + len(name) + 1 : text.index("\n", start)]


def _shipped_programs(guard: str) -> dict[str, str]:
    if guard not in _PROGRAMS:
        _PROGRAMS[guard] = _programs(_line(_shipped(), f"guard {guard}"))
    return _PROGRAMS[guard]


def _programs(line: str) -> dict[str, str]:
    parted = (each.partition("|") for each in line.split("\t") if each)
    return {name: words for name, _, words in parted}


def _shipped() -> str:
    if COMPILED not in _TEXTS:
        with open(COMPILED, encoding="utf-8") as file:
            _TEXTS[COMPILED] = file.read()
    return _TEXTS[COMPILED]


def _compiled(named: str) -> str:
    """Return another catalogue in the compiled form. Raises OSError, LookupError, ValueError if it cannot be read."""
    path = os.path.expanduser(named)
    if "/" not in path:
        from importlib.metadata import entry_points

        (entry,) = entry_points(group=GROUP, name=named) or [None]
        if entry is None:
            raise LookupError(f"no installed package has the catalogue `{named}`")
        path = os.path.dirname(entry.load().__file__)
    from hookrun.recipes.catalogue.compiling import compiled, files_of

    files = files_of(path)
    key = tuple((each, os.stat(each).st_mtime_ns) for each in files)
    if key not in _TEXTS:
        _TEXTS[key] = compiled(files)
    return _TEXTS[key]
