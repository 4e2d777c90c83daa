"""`hookrun try`: how each hook answers a command line, a file or a prompt, without the log or an agent's session."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun, hookrun_process
from tests.cli.terminal import at_terminal
from tests.conftest import ROOT
from tests.fire.agents import says
from tests.rows import rows
from tests.waiting import ended

if TYPE_CHECKING:
    from tests.conftest import Project

GUARD: dict[str, object] = {
    "name": "guard",
    "matcher": "bash",
    "when": {"tool_args.command": "rm *"},
    "command": 'echo "not $(cat | grep -o "rm[^\\"]*")" >&2; exit 2',
}
LAST: dict[str, object] = {"name": "last", "matcher": "Bash", "agents": ["claude"], "command": "exit 0"}
FILES: dict[str, object] = {"name": "files", "matcher": "write|read", "command": "cat > seen.json"}


def calls(project: Project, *arguments: str) -> list[dict[str, object]]:
    """Return the result of each call from `hookrun try --json`."""
    found = hookrun(project, "try", *arguments, "--json").json["calls"]
    assert isinstance(found, list)
    return found


def test_each_hook_has_a_row_and_the_result_is_last(project: Project) -> None:
    """A hook that blocks is no failure of the command, and nothing is in the log."""
    project.hooks(GUARD, {"name": "after", "command": "exit 0"})
    project.approve()
    done = hookrun(project, "try", "rm -rf build")
    assert (done.status, done.stderr) == (0, "")
    heading, guard, after, _, result = done.stdout.splitlines()
    assert heading.split() == ["HOOK", "VERDICT", "TIME", "REASON"]
    assert guard.split()[:2] == ["guard", "block"]
    assert "not rm -rf build" in guard
    assert after.split()[:2] == ["after", "skipped"]
    assert result == "result: blocked by guard"
    assert not project.audit(starts=True)
    allowed = hookrun(project, "try", "ls")
    assert "guard" not in allowed.stdout
    assert allowed.stdout.endswith("\nresult: continue\n")


def test_a_hook_that_is_not_approved_does_not_run(project: Project) -> None:
    """In an agent; the note names it and the command that approves it."""
    project.hooks({"name": "new", "command": "touch ran"}, {"name": "strict", "command": "true", "on_failure": "block"})
    done = hookrun(project, "try", "ls", "--agent", "claude")
    assert done.status == 0
    assert not (project.root / "ran").exists()
    assert "new, strict run here; agents need your approval: `hookrun trust`" in done.stderr
    assert "times of" not in hookrun(project, "try", "ls", "--repeat", "2", "--agent", "claude").stdout
    assert "not approved, so the call was blocked" in done.stdout
    assert hookrun(project, "try", "ls", "--json").json["not_approved"] == ["new", "strict"]
    project.approve()
    assert hookrun(project, "try", "ls", "--agent", "claude").stderr == ""
    assert (project.root / "ran").exists()


def test_an_agent_s_own_names_count(project: Project) -> None:
    """With `--agent` a matcher on the agent's tool matches, and what the agent gets is shown."""
    project.hooks(LAST, GUARD)
    project.approve()
    assert "last" not in hookrun(project, "try", "rm x").stdout
    done = hookrun(project, "try", "rm x", "--agent", "claude")
    assert "last " in done.stdout
    assert 'Claude Code gets: {"hookSpecificOutput"' in done.stdout
    gets = hookrun(project, "try", "ls", "--agent", "claude").stdout
    assert "Claude Code gets: nothing, and continues" in gets
    assert not project.audit(starts=True)


def test_a_file_a_prompt_and_an_event(project: Project) -> None:
    """Writing a file gives the content that it has now; a prompt is one of the user."""
    project.hooks(FILES, {"name": "prompts", "event": "user_prompt_submit", "command": "cat > seen.json"})
    project.approve()
    (project.root / "a.txt").write_text("now")
    seen = project.root / "seen.json"
    for arguments, expected in (
        (("--file", "a.txt"), {"tool_name": "write", "file_path": f"{project.root}/a.txt"}),
        (("--file", "new.txt", "--tool", "read"), {"tool_name": "read"}),
        (("--prompt", "hello"), {"user_prompt": "hello", "event": "user_prompt_submit"}),
        (("hello", "--event", "UserPromptSubmit"), {"user_prompt": "hello"}),
    ):
        seen.unlink(missing_ok=True)
        assert hookrun(project, "try", *arguments).status == 0
        context = json.loads(seen.read_text())
        assert expected.items() <= context.items()
        if arguments == ("--file", "a.txt"):
            assert context["tool_args"]["content"] == "now"


def test_hook_runs_one_and_repeat_measures(project: Project) -> None:
    """Only the named hook runs; N runs give its median and p95."""
    project.hooks({"name": "one", "command": "echo x >> one"}, {"name": "two", "command": "touch two"})
    project.approve()
    done = hookrun(project, "try", "ls", "--hook", "one", "--repeat", "3")
    assert done.stdout.split()[:5] == ["HOOK", "VERDICT", "MEDIAN", "P95", "REASON"]
    assert "times of 3 runs" in done.stdout
    assert (project.root / "one").read_text() == "x\n" * 3
    assert not (project.root / "two").exists()
    (call,) = calls(project, "ls", "--hook", "one", "--repeat", "2")
    hooks = call["hooks"]
    assert isinstance(hooks, list)
    (hook,) = hooks
    assert (hook["runs"], hook["median_ms"] > 0, hook["action"]) == (2, True, "continue")


def test_changes_and_failures_have_a_reason(project: Project) -> None:
    """New arguments, a context for the model, a failure."""
    answer = {"action": "modify", "modified_args": {"command": "ls -l"}, "additional_context": "be brief"}
    project.hooks(
        {"name": "changes", "command": f"echo '{json.dumps(answer)}'"},
        {"name": "fails", "command": "echo oh >&2; exit 3"},
    )
    project.approve()
    shown = hookrun(project, "try", "ls").stdout
    assert 'command: "ls -l"; context: be brief' in shown
    assert "failed" in shown
    assert "exit_code: " in shown
    assert shown.endswith("result: modify\n")


def test_on_a_terminal_it_fits_the_width(project: Project) -> None:
    """The table folds long reasons."""
    project.hooks({"name": "wordy", "command": f"echo '{'word ' * 40}' >&2; exit 2"})
    project.approve()
    screen = at_terminal(project, "try", "ls", env={"COLUMNS": "80"}).screen
    assert max(map(len, screen.splitlines())) <= 80
    assert "result: blocked by wordy" in screen


def test_without_a_hook_the_result_says_why(project: Project) -> None:
    """Nothing configured, nothing for the event, nothing that matches, a config that cannot be read."""
    assert "no hooks are configured here; `hookrun init`" in hookrun(project, "try", "ls").stdout
    project.hooks(GUARD)
    assert "no hook is configured for stop" in hookrun(project, "try", "--event", "stop").stdout
    assert "none of the 1 hook for pre_tool_use matches" in hookrun(project, "try", "ls").stdout
    (project.root / "coder.json").write_text("{")
    done = hookrun(project, "try", "ls")
    assert (done.status, "coder.json:1" in done.stderr) == (1, True)


@rows("arguments", [("try", "ls"), ("status",), ("trust",), ("install", "claude", "--dry-run")])
def test_a_config_with_errors_is_not_reported_as_no_hooks(project: Project, arguments: tuple[str, ...]) -> None:
    """Every command that finds no hooks for that reason says so, and proposes `hookrun validate`."""
    (project.root / "coder.json").write_text('{"hooks": {"pretooluse": []}}')
    done = hookrun(project, *arguments)
    assert done.status == 1
    shown = done.stdout + done.stderr
    assert "hookrun validate" in shown
    assert "the config has errors" in shown
    assert "hookrun init" not in shown
    assert "no hooks" not in shown.replace("hint: write [] for no hooks", "")


def test_long_shows_what_each_hook_did_and_what_became_of_the_arguments(project: Project) -> None:
    """What each hook read, wrote and returned, and the arguments before and after, as a diff."""
    project.hooks(
        {"name": "dry", "command": says(action="modify", args_patch={"command": "git push --dry-run"})},
        {"name": "loud", "command": "echo beware >&2; exit 3"},
    )
    project.approve()
    shown = hookrun(project, "try", "git push", "--long").stdout
    for expected in (
        'dry\n  input   {"hook": "dry",',
        'loud\n  input   {"hook": "loud",',
        '  -  "command": "git push"\n  +  "command": "git push --dry-run"\n',
        "  stderr  beware\n  exit status 3\n",
    ):
        assert expected in shown, shown
    (call,) = calls(project, "git push")
    changed, hooks = call["arguments"], call["hooks"]
    assert isinstance(changed, dict)
    assert isinstance(hooks, list)
    assert changed["after"] == {"command": "git push --dry-run"}
    assert json.loads(hooks[1]["input"])["tool_args"] == {"command": "git push --dry-run"}
    assert [hook["exit"] for hook in hooks] == [0, 3]


def test_each_input_is_shown_once(project: Project) -> None:
    """Hooks that read the same context differ in the name of the hook only; `--hook` leaves one."""
    command = "cat >/dev/null; echo seen >&2"
    project.hooks({"name": "one", "command": command}, {"name": "two", "command": command})
    project.approve()
    screen = hookrun(project, "try", "git push", "--long").stdout
    assert screen.count('"tool_args"') == 1
    assert "two\n  input   as above\n  stderr  seen\n" in screen
    screen = hookrun(project, "try", "git push", "--long", "--hook", "two").stdout
    assert screen.count('"tool_args"') == screen.count("stderr  seen") == 1
    assert '"hook": "two"' in screen


def test_an_interrupt_ends_the_hook_that_runs(project: Project) -> None:
    """Ctrl-C ends with status 130 and leaves no process."""
    begun = project.root / "begun"
    os.mkfifo(begun)
    project.hooks({"event": "stop", "command": "echo $$ > begun; exec sleep 60"})
    project.approve()
    with subprocess.Popen(
        project.command("try", "--event", "stop"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project.root,
        env=project.environment(),
    ) as process:
        hook = int(begun.read_text())
        process.send_signal(signal.SIGINT)
        assert ended(process) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(hook, 0)


@pytest.mark.parametrize(
    "question", [("--event", "PreToolUse", "--ctx", "m.json"), ("--tool", "bash", "--arg", "command=git push")]
)
def test_what_an_agent_would_be_told_to_the_byte(project: Project, question: tuple[str, ...]) -> None:
    """For an agent's own message, or for a call by its arguments, which is translated into one of the agent's."""
    project.hooks({"name": "asks", "matcher": "Bash", "command": says(action="skip", message="R")})
    project.approve()
    message = (ROOT / "tests" / "golden" / "payloads" / "claude" / "shell.02.PreToolUse.json").read_text()
    (project.root / "m.json").write_text(json.dumps({**json.loads(message), "cwd": str(project.root)}))
    report = hookrun(project, "try", *question, "--agent", "claude", "--json").json
    assert json.loads(str(report["told"]))["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert (report["exit"], report["degraded"]) == (0, ["skip -> block"])
    found = report["calls"]
    assert isinstance(found, list)
    assert json.loads(found[0]["hooks"][0]["input"])["agent_tool_name"] == "Bash"


@pytest.mark.slow
def test_a_background_hook_was_started(project: Project) -> None:
    """In a separate process: its supervisor is a child of its caller until that ends."""
    project.hooks({"name": "later", "event": "stop", "command": "true", "background": True})
    project.approve()
    assert "\nlater  background\n" in hookrun_process(project, "try", "--event", "stop").stdout
    found = hookrun_process(project, "try", "--event", "stop", "--json").json["calls"]
    assert isinstance(found, list)
    assert found[0]["hooks"][0]["background"] is True


# --- times

FIGURES = r"min [0-9.]+, median [0-9.]+, p95 [0-9.]+ ms"


def test_the_times_of_all_hooks_together(project: Project) -> None:
    """Every run is a real one, and none is in the log."""
    project.hooks({"name": "no", "command": f"echo x >> ran; {says(action='block', message='R')}"})
    project.approve()
    done = hookrun(project, "try", "ls", "--repeat", "3")
    assert done.status == 0
    assert (project.root / "ran").read_text() == "x\n" * 3
    assert re.search(rf"^times of 3 runs, all hooks together: {FIGURES}$", done.stdout, re.MULTILINE)
    assert project.audit() == []


def test_hooks_of_one_name(project: Project) -> None:
    """Each file's has its own times."""
    project.hooks({"name": "a", "command": "sleep 0.02"})
    project.user_hooks({"name": "a", "command": "true"})
    project.approve()
    done = hookrun(project, "try", "ls", "--repeat", "1")
    assert re.search(r"^a \(coder.json:1\) +continue ", done.stdout, re.MULTILINE)
    assert re.search(r"^a \(.*/hooks.json:1\) +continue ", done.stdout, re.MULTILINE)


def test_fire_does_not_repeat(project: Project) -> None:
    """Its hint names the command that does."""
    done = hookrun_process(project, "fire", "stop", "--repeat=3")
    assert done.status == 1
    assert 'unknown option "--repeat"\nhint: did you mean `hookrun try COMMAND --repeat N`?' in done.stderr


def test_a_replaced_output_is_shown(project: Project) -> None:
    """In the hook's row, as a difference with `--long`, in the verdict as JSON, and as the agent gets it."""
    replaces = says(action="modify", modified_output="[hidden] here")
    project.hooks({"name": "hides", "event": "post_tool_use", "command": replaces})
    project.approve()
    context = {"tool_name": "bash", "tool_args": {"command": "x"}, "tool_result_output": "hunter2 here"}
    (project.root / "ctx.json").write_text(json.dumps(context))
    about = ("--event", "post_tool_use", "--ctx", "ctx.json")
    assert '"[hidden] here"' in hookrun(project, "try", *about).stdout
    shown = hookrun(project, "try", *about, "--long", "--agent", "claude").stdout
    assert "output (- before, + after)\n  @@ -1 +1 @@\n  -hunter2 here\n  +[hidden] here\n" in shown
    assert '"updatedToolOutput":"[hidden] here"' in shown
    (call,) = calls(project, *about)
    assert call["verdict"] == {"action": "modify", "modified_output": "[hidden] here"}
