"""Compile catalogues from YAML, and say what is wrong in one."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OF_TOOL = (
    "tool language guard valued target names variables modes source harms caught passes code words strings uses server "
    "reads commits settings"
)
_OF_HARM = "verbs matches unless place would loses undo do production anywhere instead caught passes"
OF_TOOL, OF_HARM = frozenset(_OF_TOOL.split()), frozenset(_OF_HARM.split())
CHOICES = {"undo": ("no", "backup", "redo"), "do": ("block", "ask", "allow"), "production": ("block", "ask", "allow")}
# Letters of a word by which a line may be harmful.
SHORTEST = 2
# Fields that are for readers and tests.
LEFT_OUT = frozenset({"source", "caught", "passes", "tool", "language"})


def files_of(path: str) -> list[str]:
    """Return the YAML files of a directory, sorted, or the file itself."""
    if not os.path.isdir(path):
        return [path]
    return sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith((".yaml", ".yml")))


def entries(files: Iterable[str]) -> list[dict[str, Any]]:
    """Return the entries of catalogues. Raises OSError, and ValueError for what is wrong in one."""
    import yaml

    found: list[dict[str, Any]] = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            try:
                listed = yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # a safe one
            except yaml.YAMLError as error:
                raise ValueError(f"{path}: {error}") from None
        for each in listed if isinstance(listed, list) else [listed]:
            if wrong := _wrong(each):
                raise ValueError(f"{path}: {each.get('tool') if isinstance(each, dict) else each}: {wrong}")
            found.append(each)
    return found


def _wrong(entry: object) -> str | None:
    """Return what is wrong in an entry, None if it is well-formed."""
    if not isinstance(entry, dict) or ("tool" in entry) == ("language" in entry):
        return "expected a mapping with `tool` or `language`"
    harms = entry.get("harms", [])
    unknown = {*entry} - OF_TOOL | {name for each in harms for name in each} - OF_HARM
    if unknown:
        return f"unknown fields: {', '.join(sorted(unknown))}"
    if "tool" in entry and "guard" not in entry:
        return "`guard` is missing"
    for each in harms:
        if "loses" not in each or ("verbs" in each) == ("matches" in each):
            return "a harm needs `loses`, and `verbs` or `matches`"
        for name, known in CHOICES.items():
            if each.get(name, known[0]) not in known:
                return f"`{name}` is one of: {', '.join(known)}"
    return None


def compiled(files: Iterable[str]) -> str:
    """Return the compiled form of these files. Raises OSError and ValueError."""
    rows: list[str] = []
    numbers: dict[str, list[str]] = defaultdict(list)
    heads: dict[str, dict[str, set[str] | None]] = defaultdict(dict)
    for number, entry in enumerate(entries(files)):
        row = {name: value for name, value in entry.items() if name not in LEFT_OUT}
        row["harms"] = [
            {name: value for name, value in each.items() if name not in LEFT_OUT} for each in row.get("harms", [])
        ]
        rows.append(f"#{number}\t{json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(',', ':'))}")
        tools = [f"language {each}" for each in _listed(entry.get("language", []))] or _listed(entry["tool"])
        for name in tools:
            numbers[name].append(f"#{number}")
            if "guard" in entry:
                words, before = _words(entry), heads[entry["guard"]].get(name, set())
                heads[entry["guard"]][name] = None if words is None or before is None else words | before
    first = (
        "\t".join((f"guard {guard}", *("|".join((name, *sorted(each[name] or ()))) for name in sorted(each))))
        for guard, each in sorted(heads.items())
    )
    named = (f"{name}\t{' '.join(numbers[name])}" for name in sorted(numbers))
    return "".join(f"{line}\n" for line in (*first, *named, *rows))


def _words(entry: Mapping[str, Any]) -> set[str] | None:
    """Return words of which a line has one if it has a harm of an entry, in lower case; None if there are none."""
    if "words" in entry:
        return {*entry["words"]}
    verbs = [verb for harm in entry.get("harms", ()) for verb in harm["verbs"]]
    found = None if "code" in entry else {word for verb in verbs for word in _literals(verb)}
    return None if not found or "" in found else found


def _literals(verb: str) -> list[str]:
    """Return the literal parts of the alternatives of one word in a verb, [""] if it has no such word."""
    for word in sorted(verb.split(), key=lambda each: each[0] == "-"):  # operands first
        parts = [max(re.split(r"[*?\[\]\0]+", each.partition("=")[0]), key=len) for each in word.lower().split("|")]
        shortest = len("-xy") if word[0] == "-" else SHORTEST  # `-x` may be within `-yx`
        if word not in {"...", "$"} and min(map(len, parts)) >= shortest:
            return parts
    return [""]


def _listed(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
