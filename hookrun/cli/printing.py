"""Talk to the user: print lines, tables and JSON, ask questions, report what a command writes."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import click

from hookrun.core.files import relative_path
from hookrun.core.terminal import is_terminal, render_for, terminal_width, wants_color, wrap as wrap_words
from hookrun.core.text import escape, escape_rows, message_lines, one_line, quote, truncate

if TYPE_CHECKING:
    from hookrun.cli.commands import Workspace
    from hookrun.edit.file_change import FileChange

# A line of text and its terminal style, one of STYLES or empty.
Line = tuple[str, str]

# A style of ours -> click's.
STYLES: dict[str, dict[str, Any]] = {
    "ok": {"fg": "green"},
    "error": {"fg": "red"},
    "failed": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
    "bold": {"bold": True},
    "dim": {"dim": True},
    "title": {"fg": "green", "bold": True},
    "name": {"fg": "cyan", "bold": True},
}
# First character of a diff's line -> its style.
DIFF_STYLES = {"+": "ok", "-": "error", "@": "dim"}


def localized(text: str) -> str:
    """Return a text with paths relative to the working directory."""
    return text.replace(f"{os.getcwd()}/", "")


def is_interactive() -> bool:
    """Return whether a question would be seen and could be answered."""
    return is_terminal(0) and is_terminal(1)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the value that a share of them, as 0.95, does not exceed: one of them (nearest rank), None without any."""
    times = Counter(values)
    rank, seen = share * times.total(), 0
    for value in sorted(times):
        seen += times[value]
        if seen >= rank:
            return value
    return None


def shortened(text: object, limit: int) -> str:
    """Return a text on one line of at most so many characters."""
    return truncate(" ".join(str(text).split()), limit)


def print_line(text: str) -> None:
    """Print one line with control characters escaped."""
    click.echo(escape(text))


def print_message(message: str, label: str = "error") -> None:
    """Print `error: MESSAGE` and its hints on stderr; `label` may be `warning` or `note`."""
    click.echo(render_for(2, message_lines(message, label)), err=True, color=True)


def print_problems(problems: Iterable[str]) -> None:
    """Print config errors stored as one line each (`Diagnostic.text`): short path, hint below."""
    for problem in problems:
        from hookrun.config.document import problem_message  # rarely needed

        print_message(problem_message(problem))


# Printed if these kept all hooks from loading.
CONFIG_ERRORS = "the config has errors: run `hookrun validate`"


def warn(message: str) -> None:
    """Print `warning: MESSAGE` and its hints on stderr."""
    print_message(message, "warning")


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON for people, without ASCII escapes."""
    import json  # keeps `hookrun --help` quick

    return json.dumps(value, indent=indent, ensure_ascii=False)


def field_text(value: object) -> str:
    """Return a field's value as shown: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json_text(value)


def print_json(data: object) -> None:
    """Print an object as indented JSON."""
    import json

    click.echo(json.dumps(data, indent=2))


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines with control characters escaped, in color if wanted."""
    for text, style in lines:
        click.echo(styled(escape(text), style), color=True)


def styled(text: str, style: str) -> str:
    """Return a text with the colours of one of STYLES, if stdout shows them."""
    return click.style(text, **STYLES[style]) if style and text and wants_color(1) else text


def print_wrapped(text: str, indent: str | None = None, style: str = "") -> None:
    """Print a line, on a terminal wrapped at words and indented by two more spaces by default."""
    width, text = terminal_width(1), escape(text)
    if indent is None:
        indent = " " * (len(text) - len(text.lstrip()) + 2)
    lines = wrap_words(text, width, indent) if width is not None else [text]
    print_lines((line, style) for line in lines)


def print_paragraphs(lines: Iterable[Line]) -> None:
    """Print lines, on a terminal wrapped at words with further lines indented."""
    for text, style in lines:
        print_wrapped(text, style=style)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines with aligned columns and escaped control characters."""
    cells = escape_rows(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    styles: Mapping[str, str] | None = None,
    wrap: bool = False,
) -> None:
    """Print a table, in full if stdout is not a terminal; without `columns` it has no heading.

    A terminal gets a line for each row, with long cells shortened or, with `wrap`, the last column continued below.
    `styles` are cell styles by text.
    """
    if title is not None:
        print_lines([(title, "bold")])
    screen = terminal_width(1)
    rows = _right_aligned([columns, *rows] if columns else rows)
    if screen is None and not wants_color(1):
        click.echo("\n".join(aligned(rows)))
        return
    from rich.cells import cell_len  # only for a terminal

    cells = escape_rows(rows)
    kept = {number for number, title in enumerate(columns) if title in NEVER_CUT}
    widths = _column_widths(cells, screen or UNLIMITED, kept, wrap=wrap)
    indent = " " * sum(width + 2 for width in widths[:-1])
    for number, row in enumerate(cells):
        row_styles = [(styles or {}).get(cell, "dim" if columns and not number else "") for cell in row]
        *shown, last = (_shortened(cell, width) for cell, width in zip(row, widths, strict=True))
        parts = wrap_words(row[-1], widths[-1]) if wrap else [last]
        line = ""
        for cell, width, style in zip(shown, widths, row_styles, strict=False):
            line += styled(cell, style) + " " * (width - cell_len(cell) + 2)
        line += f"\n{indent}".join(styled(part, row_styles[-1]) for part in parts)
        click.echo(line.rstrip(" "), color=True)


def _right_aligned(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the rows, heading first, with numbers and milliseconds aligned right."""
    columns = []
    for heading, *cells in zip(*rows, strict=True):
        numbers = [cell.removesuffix(" ms").replace(".", "").isdecimal() for cell in cells]
        numeric = any(numbers) and all(one or cell in ("", "-") for one, cell in zip(numbers, cells, strict=True))
        width = max(MIN_TIME if any(cell.endswith(" ms") for cell in cells) else 0, *map(len, (heading, *cells)))
        columns.append([cell.rjust(width) if numeric else cell for cell in (heading, *cells)])
    return list(zip(*columns, strict=True))


# Width of a column of milliseconds.
MIN_TIME = 7
# Width if stdout is not a terminal.
UNLIMITED = 1 << 20
# Width below which a column shrinks last; width that a wrapped column needs.
MIN_COLUMN, MIN_WRAPPED = 13, 30
# Columns with the news: they never shrink.
NEVER_CUT = ("STATE", "VERDICT")


def _column_widths(rows: Sequence[Sequence[str]], width: int, kept: Collection[int], *, wrap: bool) -> list[int]:
    """Return the widths that fit a terminal: the widest columns but the `kept` ones shrink, the first one last."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    excess = sum(widths) + 2 * len(widths) - 2 - width
    if wrap and excess > 0:
        reduction = min(excess, max(widths[-1] - MIN_WRAPPED, 0))
        widths[-1] -= reduction
        excess -= reduction
    shrinking = [number for number in range(len(widths)) if number not in kept]
    while excess > 0 and any(widths[number] > 1 for number in shrinking):
        widest = max(shrinking[1:] or shrinking, key=widths.__getitem__)
        if widths[widest] <= MIN_COLUMN:
            widest = max(shrinking, key=widths.__getitem__)
        widths[widest] -= 1
        excess -= 1
    return widths


def _shortened(cell: str, width: int) -> str:
    """Shorten a cell that is too wide at its end, a path at its beginning."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(cell) <= width:
        return cell
    if cell.startswith(("/", "~/", "../")):
        end = cell[len(cell) - width + 1 :]
        return f"…{end[max(end.find('/'), 0) :]}"
    return f"{set_cell_size(cell, width - 1).rstrip(' ,|')}…"


class ProgressBar:
    """A progress bar on stderr, if a terminal. `begin` it, and `step` often."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def begin(self, total: int) -> None:
        """Show the bar, unless there is little to do."""
        if total >= MIN_STEPS and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._bar = click.progressbar(length=total, label=self._title, file=sys.stderr, show_pos=True)
            self._bar.render_progress()

    def step(self, title: str | None = None) -> None:
        """Count one more as done, and change the title if given."""
        if self._bar is not None:
            self._bar.label = title or self._title
            self._bar.update(1)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            click.echo(f"\r{CLEAR_LINE}{SHOW_CURSOR}", err=True, nl=False, color=True)


# Limit on steps without a progress bar.
MIN_STEPS = 3
# What removes the bar, and shows the cursor that it has hidden.
CLEAR_LINE, SHOW_CURSOR = "\x1b[K", "\x1b[?25h"


# --- questions

SEPARATORS = re.compile(r"[\s,]+")
RANGE = re.compile(r"(\d+)-(\d+)")
# Characters that click adds to a question.
YES_NO_WIDTH = len(" [Y/n]: ")


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask a yes/no question, wrapped at words."""
    lines = wrap_words(escape(question), (terminal_width(1) or 80) - YES_NO_WIDTH)
    return click.confirm("\n".join(lines), default=default)


def choose(
    question: str, columns: tuple[str, str], options: Sequence[tuple[str, str]], selected: Collection[str]
) -> list[str]:
    """Return the names that the user chooses from `options`, names and descriptions; Enter takes `selected`.

    The user answers with numbers, ranges or names; `all` and `none` are answers too.
    """
    names = [name for name, _ in options]
    chosen = [name for name in names if name in selected]

    def parsed(answer: str) -> list[str]:
        words = [word for word in SEPARATORS.split(answer.strip()) if word]
        if words in (["all"], ["none"]):
            return names if words == ["all"] else []
        found = []
        for word in words:
            if word in names:
                found.append(word)
                continue
            ends = RANGE.fullmatch(word if "-" in word else f"{word}-{word}")
            first, last = (int(ends[1]), int(ends[2])) if ends is not None else (0, 0)
            if not 0 < first <= last <= len(names):
                hint = "give numbers such as `1,3` or `1-3`, names, `all` or `none`"
                raise click.UsageError(f"{quote(word)} is not in the list\nhint: {hint}")
            found += names[first - 1 : last]
        return [name for name in names if name in found]

    rows = [
        [f"{number:>2}", "[x]" if name in selected else "[ ]", name, text]
        for number, (name, text) in enumerate(options, 1)
    ]
    click.echo()
    print_table(("", "", *columns), rows, title=question, wrap=True)
    default = ",".join(str(names.index(name) + 1) for name in chosen) or "none"
    while True:
        try:
            return parsed(click.prompt("Numbers, all or none", default=default))
        except click.UsageError as error:
            print_message(error.message)


# --- reports of commands that write

# The list-valued keys of a report's JSON object, besides `ok` and `dry_run`.
KEYS = ("written", "removed", "hooks", "approved", "not_approved", "conflicts", "next", "notes", "diff")


class CommandReport:
    """Report what a command writes: line by line, or with `as_json` as one object at the end.

    `at` is where the command works. `ok` decides the exit status.
    """

    def __init__(self, at: Workspace, *, as_json: bool, dry_run: bool) -> None:
        self.at = at
        self.as_json = as_json
        self.dry_run = dry_run
        self.ok = True
        self._lists: dict[str, list[object]] = {key: [] for key in KEYS}

    def note(self, text: str) -> None:
        """Report something on stdout."""
        self._lists["notes"].append(text)
        if not self.as_json:
            print_wrapped(text)

    def warn(self, message: str, label: str = "warning") -> None:
        """Report a possible mistake on stderr."""
        self._lists["notes"].append(one_line(message))
        if not self.as_json:
            print_message(message, label)

    def fail(self, message: str) -> None:
        """Report an error on stderr; the command continues and exits with 1."""
        self.ok = False
        self.warn(message, "error")

    def show_written(self, changes: Collection[FileChange]) -> None:
        """Report the files written and removed."""
        self.add_files(changes)
        for verb, removed in (("wrote", False), ("removed", True)):
            found = [each.path for each in changes if each.has_effect and (each.after is None) is removed]
            if found and not self.as_json:
                print_wrapped(f"{verb} {', '.join(map(relative_path, found))}")

    def add_files(self, changes: Iterable[FileChange]) -> None:
        """Add the files written and removed to the JSON object."""
        for each in changes:
            if each.has_effect:
                self._lists["removed" if each.after is None else "written"].append(each.path)

    def add_removed(self, directories: Iterable[str]) -> None:
        """Add directories that are removed with all that is in them to the JSON object."""
        self._lists["removed"] += directories

    def show_diff(self, changes: Iterable[FileChange], otherwise: str = "nothing to change") -> None:
        """Show what would be written as a diff."""
        would = [each for each in changes if each.has_effect]
        self.add_files(would)
        if self.as_json:
            self._lists["diff"] += [line for each in would for line in each.diff().splitlines()]
        else:
            click.echo("\n".join(each.diff() for each in would) if would else otherwise)

    def add_hook(self, name: str, state: str, difference: str = "", *, conflict: bool = False) -> None:
        """Report a hook's new state, and how it differs from what it would be."""
        self._lists["hooks"].append({"name": name, "state": state, "difference": difference})
        self._lists["conflicts"] += [name] if conflict else []
        if not self.as_json:
            print_line(f"{name}: {state}")
            for line in difference.splitlines():
                print_line(f"  {line}")

    def add_approvals(self, approved: Iterable[str], not_approved: Iterable[str] = ()) -> None:
        """Add to the JSON object the hooks that agents run, and those that await approval."""
        self._lists["approved"] += approved
        self._lists["not_approved"] += not_approved

    def next_steps(self, steps: Iterable[tuple[str, str]]) -> None:
        """Report the next steps: commands and their purposes."""
        rows = list(steps)
        self._lists["next"] += [command for command, _ in rows]
        if self.as_json:
            return
        width = max((len(command) for command, _ in rows), default=0)
        for index, (command, purpose) in enumerate(rows):
            print_line(f"{'next:' if index == 0 else '':<5} {command.ljust(width)}  {purpose}")

    def end(self) -> int:
        """Print the JSON object if `as_json`; return the exit status."""
        if self.as_json:
            print_json({"ok": self.ok, "dry_run": self.dry_run, **self._lists})
        return 0 if self.ok else 1
