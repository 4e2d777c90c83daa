"""The shell line that agents run: it locates hookrun, works with any path, and reports when hookrun is gone."""

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
from hookrun.shell.fire_call import fire_calls, handler_line
from hookrun.wiring.wired_command import (
    FireFlags,
    HookrunProgram,
    PortableForm,
    WiredCommand,
    fallback_commands,
    read,
    read_argv,
    this_program,
)
from tests.rows import rows
from tests.wiring.texts import FEWER_EXAMPLES, launcher_line, shell_line

if TYPE_CHECKING:
    from pathlib import Path

PATHS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1).map(lambda text: f"/{text}")
GONE = fallback_commands('{"systemMessage": "it\'s gone"}', "gone\n")
SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish", "dash") if shutil.which(shell)]


@FEWER_EXAMPLES
@given(PATHS, PATHS, st.none() | PATHS, st.sampled_from(["user", "project"]), st.sampled_from([0.5, 595.0]))
def test_what_is_written_is_read_back(
    python: str, directory: str, home: str | None, scope: str, deadline: float
) -> None:
    """Whatever characters are in the paths, a line that was made is understood again."""
    program = HookrunProgram(python, f"{directory}/hookrun/__main__.py")
    fires = FireFlags("claude", "PreToolUse", deadline, scope, home)
    text = shell_line(program, fires, GONE)
    command = WiredCommand(fires, program)
    assert read(text, "claude") == read_argv(command.words, "claude") == command
    assert read(text, "codex") is None


@FEWER_EXAMPLES
@given(PATHS, PATHS, PATHS)
def test_a_managed_line_is_read_back(python: str, directory: str, answer: str) -> None:
    """With the answers of its script, which is nothing that anybody wrote by hand."""
    fires = FireFlags("claude", "PreToolUse", 2.0, "managed")
    program = HookrunProgram(python, f"{directory}/hookrun/__main__.py")
    command = WiredCommand(fires, program, guard=(answer, "it's gone", "/etc/hookrun"))
    text = command.line(None)
    assert read(text, "claude") == read_argv(command.words, "claude") == command
    assert read(text, "codex") is None
    assert [call.arguments for call in fire_calls(text)] == [command.flags.arguments()[1:]]


@FEWER_EXAMPLES
@given(PATHS, st.none() | PATHS, st.none() | st.sampled_from([2.0, 595.0]), st.none() | st.just(GONE))
def test_a_launchers_line_is_read_back(home: str, named: str | None, deadline: float | None, gone: str | None) -> None:
    """With and without an answer for a launcher that is missing."""
    launcher = f"{home}/.local/share/hookrun/claude"
    fires = FireFlags("claude", "PreToolUse", deadline, home=named)
    text = launcher_line(launcher, fires, gone)
    command = WiredCommand(fires, launcher=launcher)
    assert read(text, "claude") == read_argv(command.words, "claude") == command
    assert read(text, "codex") is None


@pytest.mark.slow
@given(st.from_regex(r"(/[A-Za-z0-9_@%+=:,.-]+)+", fullmatch=True), st.sampled_from(["PreToolUse", "Stop"]))
def test_a_line_that_needs_no_shell_is_read_back(home: str, event: str) -> None:
    """It is the path of the link for the event, and a shell reads it alike."""
    launcher = f"{home}/.local/share/hookrun/claude"
    command = WiredCommand(FireFlags("claude", event, home=home), launcher=launcher, direct=True)
    text = command.line(None)
    assert text == f"{launcher}.{event}"
    assert read(text, "claude") == command
    assert read(text, "codex") is None
    (call,) = fire_calls(text)
    assert (call.agent, call.arguments) == ("claude", ["--agent", "claude", event, "--home", home])


@rows(
    "handler, line",
    [
        ({"command": "a b"}, "a b"),
        ({"command": "/a b", "args": []}, "'/a b'"),
        ({"command": "/a", "args": ["b c", 1]}, "/a 'b c' 1"),
        ({"command": "a b", "args": "none"}, "a b"),
        ({"args": []}, None),
    ],
)
def test_a_handler_may_start_its_words_without_a_shell(handler: dict[str, object], line: str | None) -> None:
    """With `args`, even none, `command` is a program and no line."""
    assert handler_line(handler) == line


SHORT = launcher_line("/h/.local/share/hookrun/claude", FireFlags("claude", "Stop"), None)
OLDER = SHORT.removeprefix("exec ")
GUARDED = launcher_line("/h/.local/share/hookrun/claude", FireFlags("claude", "Stop"), GONE)


@rows(
    "line",
    [
        f"touch PWNED; {SHORT}",
        f"{SHORT}; touch PWNED",
        f"{SHORT} --scope project --config /x",
        f"{SHORT} $(touch PWNED)",
        f"{SHORT}  ",
        f"exec {SHORT}",
        f"HOOKRUN=0 {SHORT}",
        SHORT.replace("/h/", "h/"),
        GUARDED.replace("; exit 0", "; touch PWNED; exit 0"),
        GUARDED.replace("test -x /h/", "test -x /other/"),
        GUARDED.replace("; exit 0", "; exit 2"),
    ],
)
def test_only_a_launchers_line_that_install_could_have_written_is_ours(line: str) -> None:
    """Any other is handwritten, or none of hookrun's."""
    found = read(line, "claude")
    assert found is None or (found.is_ours, found.program, found.launcher) == (False, None, None)


def test_a_launchers_line_of_an_earlier_install_is_ours() -> None:
    """It began with the launcher; a project's line never began with `exec`."""
    assert OLDER.startswith("/h/")
    assert read(OLDER, "claude") == read(SHORT, "claude")
    portable = WiredCommand(FireFlags("claude", "Stop", scope="project"), form=PortableForm())
    assert read(portable.line(None), "claude") == portable
    found = read(f"exec {portable.line(None)}", "claude")
    assert found is not None
    assert not found.is_ours


@rows("shell", SHELLS)
def test_a_launcher_that_is_missing_is_named_and_refuses_nothing(shell: str, tmp_path: Path) -> None:
    """For an agent that shows this to its user and continues: by the shell's own status, never 2."""
    line = SHORT.replace("/h/", f"{tmp_path}/")
    done = subprocess.run([shell, "-c", line], capture_output=True, text=True, check=False)
    older = subprocess.run([shell, "-c", line.removeprefix("exec ")], capture_output=True, text=True, check=False)
    assert done.returncode == older.returncode == 127
    assert done.stdout == ""
    assert f"{tmp_path}/.local/share/hookrun/claude" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("line", [SHORT, OLDER, GUARDED, f"cd /x && {OLDER}"])
def test_other_readers_of_shell_see_the_call(line: str) -> None:
    """For whoever looks at settings for calls of hookrun."""
    (call,) = fire_calls(line)
    assert (call.agent, call.arguments) == ("claude", ["--agent", "claude", "Stop"])


@rows("name", ["gone", "launcher.conf", "../claude", "Claude", "claude.stop", "gone.Stop.x"])
def test_what_is_no_launcher_fires_nothing(name: str) -> None:
    """Other files in the directory, or in another one."""
    assert read(f"/h/.local/share/hookrun/{name} Stop", "claude") is None


@rows("shell", SHELLS)
def test_every_shell_runs_it(shell: str, tmp_path: Path) -> None:
    """The program is run with exactly these arguments, isolated, and its exit status is the line's."""
    directory = tmp_path / 'it\'s a "dir" $HOME `x`' / "hookrun"
    directory.mkdir(parents=True, exist_ok=True)
    main = directory / "__main__.py"
    main.write_text("import sys, json; print(json.dumps([sys.argv[1:], sys.flags.isolated])); sys.exit(3)")
    fires = FireFlags("codex", "Stop", 2.0, "project", str(tmp_path))
    text = shell_line(HookrunProgram(sys.executable, str(main)), fires, GONE)
    done = subprocess.run([shell, "-c", text], capture_output=True, check=False)
    assert json.loads(done.stdout) == [fires.arguments(), 1]
    assert (done.returncode, done.stderr) == (3, b"")


@rows("shell", SHELLS)
@rows("python, main", [("python", "main.py"), (sys.executable, "gone.py")])
def test_a_program_that_is_gone_is_told_and_the_agent_goes_on(
    shell: str, python: str, main: str, tmp_path: Path
) -> None:
    """Without the interpreter, or the program, the line reports it in the agent's format, and its status is 0."""
    (tmp_path / "main.py").write_text("raise SystemExit(1)")
    program = HookrunProgram(str(tmp_path / python), str(tmp_path / main))
    text = shell_line(program, FireFlags("claude", "Stop", 595.0), GONE)
    done = subprocess.run([shell, "-c", text], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"systemMessage": "it\'s gone"}\n', b"gone\n")


OURS = shell_line(HookrunProgram("/v/python3", "/v/hookrun/__main__.py"), FireFlags("claude", "Stop", 595.0), GONE)


@rows(
    "line",
    [
        f"touch PWNED; {OURS}",
        f"{OURS}; touch PWNED",
        OURS.replace("; exit 0", "; touch PWNED; exit 0"),
        OURS.replace("; exit 0", "; printf '%s\\n' $(touch PWNED); exit 0"),
        OURS.replace("Stop", "Stop --home `touch PWNED`"),
        OURS.replace("Stop", '"$(touch PWNED)"'),
        OURS.replace("test -x /v/python3", "test -x /v/other"),
        OURS.replace("--deadline 595", "--deadline 595 --config /x"),
        OURS.replace("exec ", "exec env A=1 "),
        OURS.replace("; exit 0", "; exit 2"),
        OURS.replace("/v/python3", "v/python3"),
        OURS.replace(" && exec", " &&  exec"),
        f"{OURS} # and more",
        f"HOOKRUN=0 {OURS}",
        f"({OURS})",
        OURS.replace("; exit 0", "\n; exit 0"),
        "hookrun fire --agent claude",
        "hookrun fire --agent claude Stop --deadline=5",
        "/usr/bin/hookrun fire --agent claude 'unfinished",
        "touch PWNED; hookrun fire --agent claude",
        "HOOKRUN=0 hookrun fire --agent claude",
        "python3 -I '/a b/hookrun/__main__.py' fire --agent claude",
    ],
)
def test_only_what_install_could_have_written_is_ours(line: str) -> None:
    """Any text before, after or within makes it a handwritten line: it runs, and its program is unknown."""
    found = read(line, "claude")
    assert found is not None
    assert (found.is_ours, found.program) == (False, None)


@rows(
    "line",
    [
        "# hookrun fire --agent claude",
        "echo hookrun fire --agent claude",
        "true # hookrun fire --agent claude",
        "printf '%s' 'hookrun fire --agent claude'",
        "nothook fire --agent claude",
        "hookrun fire pre_tool_use",
        "hookrun fire --agent codex",
        OURS.replace("--agent claude", "--agent codex"),
        OURS.replace("exec", "echo"),
        OURS.replace("-I", "-I -c 'touch PWNED'"),
    ],
)
def test_text_in_a_comment_or_an_argument_fires_nothing(line: str) -> None:
    """Neither ours nor by hand."""
    assert read(line, "claude") is None


def test_a_plain_call_by_hand_answers_and_no_other(tmp_path: Path) -> None:
    """A call counts as answering only if its program exists, and nothing else is around the call."""
    program = tmp_path / "hookrun"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    plain = f"{program} fire --agent claude"
    cases = {plain: True, f"{plain} Stop --deadline 5": True, f"{plain} --home /x": True}
    cases |= {f"{plain} > /dev/null": False, f"false && {plain}": False, f"{plain} &": False, f"sh -c '{plain}'": False}
    cases |= {f"{plain} --probe /x": False, f"{tmp_path}/gone/hookrun fire --agent claude": False}
    found = {line: read(line, "claude") for line in cases}
    assert {line: each is not None and each.answers for line, each in found.items()} == cases


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
