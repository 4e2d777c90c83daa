"""Show the problems of config files: for people, as annotations of GitHub, as SARIF."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import quote as quote_url

from hookrun import __version__
from hookrun.terminal import render_message, terminal_width, wants_color, wrap
from hookrun.text import message_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.config.diagnostics import Diagnostic

MAX_LINES = 3
"""Lines of a problem on a terminal that are not exceeded to show the line of the file."""

PIPED_WIDTH = 120

RULES = {
    "error": ("invalid-config", "The config cannot be used as it is"),
    "warning": ("suspicious-config", "The config is valid but probably does not do what is intended"),
}
"""Severity -> id and description of its rule in SARIF."""


def to_text(problems: Iterable[Diagnostic], *, verbose: bool) -> list[str]:
    """Return each problem as a message; on a terminal with the line of the file where that fits, `verbose` always."""
    width, files = terminal_width(1), dict[str, list[str]]()
    color = wants_color(1)
    shown = []
    for problem in problems:
        message = str(problem)
        if verbose or width is not None:
            message = _with_source(problem, message, width, files, verbose=verbose)
        shown.append(render_message(message_lines(message, problem.severity), color=color, width=width))
    return shown


def _with_source(
    problem: Diagnostic, message: str, width: int | None, files: dict[str, list[str]], *, verbose: bool
) -> str:
    """Return the message with the line of the file, a caret, and the hint beside it if it fits there."""
    lines = files.setdefault(problem.path, _lines(problem.path))
    if (problem.line, problem.column) == (1, 1) or problem.line > len(lines):
        return message
    from rich.cells import cell_len  # only for a terminal

    columns = width or PIPED_WIDTH
    heading, _, _ = message.partition("\n")
    margin = f"  {problem.line} | "
    source, before = _excerpt(lines[problem.line - 1], problem.column - 1, columns - len(margin))
    caret = " " * (len(margin) - 2) + "| " + " " * cell_len(before) + "^"
    beside = problem.hint is not None and len(caret) + 1 + len(problem.hint) <= columns
    if beside:
        caret += f" {problem.hint}"
    hint = [f"hint: {problem.hint}"] if problem.hint and not beside else []
    count = len(wrap(f"{problem.severity}: {heading}", columns)) + 2 + len(hint)
    return "\n".join([heading, margin + source, caret, *hint]) if verbose or count <= MAX_LINES else message


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read().split("\n")
    except (OSError, ValueError):
        return []


def _excerpt(line: str, column: int, width: int) -> tuple[str, str]:
    """Return the part of a line around a column that fits the width in cells, and the text before the column in it."""
    from rich.cells import cell_len, chop_cells  # only for a terminal

    line = "".join(char if char.isprintable() else " " for char in line.rstrip())
    start = 0
    if cell_len(line[: column + width]) > width and cell_len(line[:column]) > width // 2:
        start = max(0, column - width // 3)
        while cell_len(line[start:column]) > width // 3:
            start += 1
    shown, *_ = chop_cells(line[start : start + width], width) or [""]
    return shown, line[start:column]


def to_github(problems: Iterable[Diagnostic]) -> list[str]:
    """Return each problem as a command that GitHub Actions shows beside the line."""
    lines = []
    for problem in problems:
        path = _escaped(_path_in_repository(problem)).replace(":", "%3A").replace(",", "%2C")
        text = problem.message if problem.hint is None else f"{problem.message}\nhint: {problem.hint}"
        lines.append(
            f"::{problem.severity} file={path},line={problem.line},col={problem.column},title=hookrun::{_escaped(text)}"
        )
    return lines


def _path_in_repository(problem: Diagnostic) -> str:
    """Return the path of the file relative to the checkout of GitHub Actions, elsewhere to the working directory."""
    return os.path.relpath(problem.path, os.environ.get("GITHUB_WORKSPACE") or os.curdir)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def to_sarif(problems: Iterable[Diagnostic]) -> dict[str, object]:
    """Return the problems as a log of SARIF 2.1.0."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.values()]
    driver = {"name": "hookrun", "semanticVersion": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(problem) for problem in problems]}],
    }


def _result(problem: Diagnostic) -> dict[str, object]:
    path = _path_in_repository(problem)
    uri = quote_url(path) if not path.startswith("..") else f"file://{quote_url(os.path.abspath(problem.path))}"
    text = problem.message if problem.hint is None else f"{problem.message} ({problem.hint})"
    region = {"startLine": problem.line, "startColumn": problem.column}
    return {
        "ruleId": RULES[problem.severity][0],
        "level": problem.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }
