"""Messages as a terminal and a pipe show them."""

from __future__ import annotations

import pytest

from hookrun.core.terminal import ColorChoice, render_message, wants_color, wrap
from hookrun.core.text import message_lines, one_line

MESSAGE = 'unknown event "pretooluse"\nhint: did you mean "pre_tool_use"?'


def test_a_message_has_its_labels() -> None:
    """The first line is the error, hints and notes follow below, in any number."""
    lines = message_lines(f"{MESSAGE}\nnote: it is in coder.json", "error")
    assert render_message(lines, color=False, width=None).splitlines() == [
        'error: unknown event "pretooluse"',
        'hint: did you mean "pre_tool_use"?',
        "note: it is in coder.json",
    ]


def test_labels_are_coloured() -> None:
    """Only the label, so that the text can be read on any background."""
    shown = render_message(message_lines(MESSAGE, "warning"), color=True, width=None)
    assert shown.startswith("\x1b[1;33mwarning:\x1b[0m unknown")
    assert "\n\x1b[1;36mhint:\x1b[0m did you" in shown


def test_lines_of_a_file_keep_their_place() -> None:
    """A line of the file and its caret are neither wrapped nor labelled; what is in them cannot move the cursor."""
    message = 'a.json:1:3: no\n  1 | {"\x1b[2J": 1}\n    |  ^'
    shown = render_message(message_lines(message, "error"), color=True, width=12).splitlines()
    assert shown[-2:] == ['  1 | {"\\x1b[2J": 1}', "    |  ^"]


def test_a_line_break_from_outside_makes_no_line() -> None:
    """A value with one cannot add a line that looks like ours."""
    assert message_lines("no file a\nb", "error") == [("error", "no file a\\nb")]


def test_text_wraps_at_words_and_commands_stay_whole() -> None:
    """So that a command can be copied."""
    lines = wrap("hint: approve them with `hookrun trust --yes DIGEST` once you have read them", 30, "  ")
    assert lines == ["hint: approve them with", "  `hookrun trust --yes DIGEST`", "  once you have read them"]


def test_in_one_line() -> None:
    """As a verdict's reason has it."""
    assert one_line(MESSAGE) == 'unknown event "pretooluse"; did you mean "pre_tool_use"?'


@pytest.mark.parametrize(
    ("choice", "environment", "colored"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_who_decides_about_colour(
    monkeypatch: pytest.MonkeyPatch, choice: str, environment: dict[str, str], *, colored: bool
) -> None:
    """`--color` before NO_COLOR before FORCE_COLOR; a file has none."""
    monkeypatch.setattr(ColorChoice, "value", choice)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with open("/dev/null", "w", encoding="utf-8") as file:
        assert wants_color(file.fileno()) is colored
