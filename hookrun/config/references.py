"""Collect references to the files that words of a command name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hookrun.config.command_words import HERE, KNOWN_VALUES, NAMED
from hookrun.config.interpreters import PLAIN, argument, looks_like_code
from hookrun.shell.words import STDIN, UNKNOWN, Word, absolute

DEPTH = 16  # levels that a line may leave the working directory by `cd ..`
WORKING_DIRECTORY = f"/{HERE}" * DEPTH
NO_FILES = STDIN | {"", ".", "/dev/null", "/dev/tty"}
LITERAL = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`")


def literals(text: str) -> list[str]:
    """Return the texts in quotes."""
    return ["".join(each) for each in LITERAL.findall(text)]


class References:
    """The references to `code`, and the parts of a command known only at run time (`unknown`).

    `runs_output` is whether code was wholly unknown: the line may run what its programs print. With `below` a file may
    be in any directory below. Paths begin with WORKING_DIRECTORY or a variable's name until added.
    """

    def __init__(self) -> None:
        self.code: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.runs_output = False
        self.below = False

    def add(self, kind: str, value: str) -> None:
        """Add a reference."""
        if HERE in value or NAMED in value:  # a name joined to a directory
            self.unknown[value.replace(HERE, "...").replace(NAMED, "$")] = None
        else:
            self.code[f"{kind}:{value}"] = None

    def maybe(self, word: Word, directory: str | None) -> None:
        """Add a word that is code only if its file looks like it, and pieces that may be paths."""
        if word.globs:
            self.path(word.text, directory, "maybe")
        else:
            self.pieces(argument(word.text), directory)

    def pieces(self, text: str, directory: str | None) -> None:
        """Add the paths that a text may contain, each if its file looks like code."""
        whole = dict.fromkeys((text, *literals(text)))
        found = PLAIN.findall(text)
        for piece in dict.fromkeys((*whole, *found, *(part for each in found for part in each.split(":")))):
            for part in piece.split(UNKNOWN):
                if part.strip("./-") and "\n" not in part and (piece in whole or "/" in part or "." in part[:-1]):
                    self.path(part.removeprefix("@"), directory, "maybe")

    def path(self, text: str, directory: str | None, kind: str = "path") -> None:
        """Add a file, or those that match a glob; an unknown part may be any name."""
        text = text.removeprefix("file://")
        if text in NO_FILES:
            return
        if kind != "maybe" and not text.strip(UNKNOWN):
            self.runs_output = True
        known = text[0] == "/" or directory is not None
        if UNKNOWN not in text and known:
            self._located(kind, text, directory)
            return
        self.unknown[text] = None
        tail = text.rpartition(UNKNOWN)[2]
        if "/" in text.partition(UNKNOWN)[0] and known:
            self._located(kind, text.replace(UNKNOWN, "*"), directory)
        elif tail.strip("/"):  # most likely from the project's root
            for base in (KNOWN_VALUES["HOOKRUN_PROJECT_DIR"], WORKING_DIRECTORY):
                self.path(tail.lstrip("/"), base, kind)

    def _located(self, kind: str, text: str, directory: str | None) -> None:
        path = located(text, directory)
        self.add(kind, path if kind != "program" or "/" in path else f"./{path}")
        if self.below:
            above, slash, name = path.rpartition("/")
            self.add(kind, f"{above}{slash}**/{name}")

    def up(self, name: str, directory: str | None) -> None:
        """Add a file searched for in a directory and those above it."""
        self.add("up", f"{located('.', directory)}:{name}")

    def module(self, name: str, directory: str | None, roots: Iterable[str], *, quoted: bool = False) -> None:
        """Add a module that a language may find in one of the `roots`: by its path if it is `quoted` in code."""
        if UNKNOWN in name:
            self.unknown[name] = None
            return
        for root in roots:
            if quoted or "/" in name:
                self.path(name if name[:1] == "/" else f"{root}/{name}", directory, "node")
            if "/" not in name:
                self.add("module", f"{located(root, directory)}:{name.replace('::', '.').partition(':')[0]}")
        self.up(f"node_modules/{name}", directory)


def located(text: str, directory: str | None) -> str:
    """Return a path as declared: relative to the working directory, or from a variable."""
    path = text if text[:1] == "/" else f"{directory or WORKING_DIRECTORY}/{text}"
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if parts and parts[0][0] == NAMED:
        name, rest = parts[0][1:], "/".join(parts[1:])
        return f"~/{rest}" if name == "HOME" else f"${{{name}}}/{rest}".rstrip("/")
    levels = next((i for i, part in enumerate(parts) if part != HERE), len(parts))
    if not levels:
        return "/" + "/".join(parts)
    relative = "/".join([*[".."] * (DEPTH - levels), *parts[levels:]])
    return f"./{relative}" if relative[:1] == "~" or relative[:2] == "${" else relative or "."


def state_that_is_code(code: Iterable[str], state: Iterable[str]) -> list[str]:
    """Return the paths of `state` that a reference names as code, or that contain such a file."""
    named = []
    for reference in code:
        kind, _, value = reference.partition(":")
        directory, _, name = value.rpartition(":")
        if kind in {"module", "up"}:
            value = f"{directory}/{name.replace('.', '/') if kind == 'module' else name}"
        if kind in {"path", "program", "node", "module", "up"} or (kind == "maybe" and looks_like_code(value)):
            value = re.sub(r"^\$\{(?:CLAUDE|HOOKRUN)_PROJECT_DIR\}/", "", value)
            if kind != "program" or "/" in value:
                named.append(absolute(value, "/") or "/")
    found = []
    for each in state:
        path = absolute(each, "/") or "/"
        stem = path.rpartition(".")[0] or path
        if any(name in {path, stem} or name.startswith(f"{path.rstrip('/')}/") for name in named):
            found.append(each)
    return found
