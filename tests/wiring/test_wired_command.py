"""The shell line that agents run: it says where hookrun is, survives any path, and speaks when hookrun is gone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from hookrun.edit.file_change import FileError
from hookrun.wiring.wired_command import (
    FallbackResponse,
    FireFlags,
    HookrunProgram,
    is_ours,
    parse,
    shell_line,
    this_program,
)
from tests.wiring.texts import UNHURRIED

if TYPE_CHECKING:
    from pathlib import Path

PATHS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1).map(lambda text: f"/{text}")
GONE = FallbackResponse('{"systemMessage": "it\'s gone"}', "gone\n")
SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish", "dash") if shutil.which(shell)]


@UNHURRIED
@given(PATHS, PATHS, st.none() | PATHS, st.sampled_from(["user", "project"]), st.sampled_from([0.5, 595.0]))
def test_what_is_written_is_read_back(
    python: str, directory: str, home: str | None, scope: str, deadline: float
) -> None:
    """Whatever characters are in the paths, a line that was made is understood again."""
    program = HookrunProgram(python, f"{directory}/hookrun/__main__.py")
    fires = FireFlags("claude", "PreToolUse", deadline, scope, home)
    text = shell_line(program, fires, GONE)
    assert parse(text) == (program, fires)
    assert is_ours(text, "claude")
    assert not is_ours(text, "codex")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_runs_it(shell: str, tmp_path: Path) -> None:
    """The program is run with exactly these arguments, isolated, and its exit status is the line's."""
    directory = tmp_path / 'it\'s a "dir" $HOME `x`' / "hookrun"
    directory.mkdir(parents=True)
    main = directory / "__main__.py"
    main.write_text("import sys, json; print(json.dumps([sys.argv[1:], sys.flags.isolated])); sys.exit(3)")
    fires = FireFlags("codex", "Stop", 2.0, "project", str(tmp_path))
    done = subprocess.run(
        [shell, "-c", shell_line(HookrunProgram(sys.executable, str(main)), fires, GONE)],
        capture_output=True,
        check=False,
    )
    assert json.loads(done.stdout) == [fires.arguments(), 1]
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("gone", ["python", "main"])
def test_a_program_that_is_gone_is_told_and_the_agent_goes_on(shell: str, gone: str, tmp_path: Path) -> None:
    """Without the interpreter, or without the program, the line says so in the agent's way, and its status is 0."""
    main = tmp_path / "hookrun" / "__main__.py"
    main.parent.mkdir()
    main.write_text("raise SystemExit(1)")
    if gone == "main":
        main.unlink()
    python = sys.executable if gone == "main" else str(tmp_path / "python")
    text = shell_line(HookrunProgram(python, str(main)), FireFlags("claude", "Stop", 595.0), GONE)
    done = subprocess.run([shell, "-c", text], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"systemMessage": "it\'s gone"}\n', b"gone\n")


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("hookrun fire --agent claude", "claude"),
        ("/usr/bin/hookrun fire --agent codex PreToolUse", "codex"),
        ("python3 -I '/a b/hookrun/__main__.py' fire --agent qwen", "qwen"),
        ("nothook fire --agent claude", None),
        ("hookrun fire pre_tool_use", None),
        ("echo hookrun", None),
    ],
)
def test_ours_are_recognised(text: str, agent: str | None) -> None:
    """A line that fires hookrun for an agent is ours, however it was written; nothing else is."""
    assert [name for name in ("claude", "codex", "qwen") if is_ours(text, name)] == ([agent] if agent else [])


def test_a_line_by_hand_has_no_program_that_is_known() -> None:
    """What was written by hand is understood as far as it goes."""
    assert parse("hookrun fire --agent claude Stop --deadline=5") == (None, FireFlags("claude", "Stop", 5.0))
    assert parse("hookrun fire --agent claude 'unfinished") == (None, FireFlags("claude"))


def test_this_program_is_the_one_that_runs() -> None:
    """The running hookrun is named by its interpreter, links not followed, and its package's door."""
    program = this_program()
    assert os.path.samefile(program.python, sys.executable)
    assert os.path.dirname(program.python) == os.path.dirname(sys.executable)
    assert program.main.endswith("/hookrun/__main__.py")
    assert program.missing() is None


def test_a_home_that_no_shell_could_be_told_is_refused() -> None:
    """A line break in a path would end the line: it is an error."""
    with pytest.raises(FileError, match="control character"):
        shell_line(this_program(), FireFlags("claude", home="/a\nb"), GONE)
