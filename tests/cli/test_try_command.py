"""`hookrun try`: how each hook answers a command line, a file or a prompt, without the log or an agent's session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.rows import rows

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
    """As for an agent; the warning names it and the command that approves it."""
    project.hooks({"name": "new", "command": "touch ran"}, {"name": "strict", "command": "true", "on_failure": "block"})
    done = hookrun(project, "try", "ls")
    assert done.status == 0
    assert not (project.root / "ran").exists()
    assert "2 hooks not approved, so not run: new, strict" in done.stderr
    assert "times of" not in hookrun(project, "try", "ls", "--repeat", "2").stdout
    assert "`hookrun trust`" in done.stderr
    assert "not approved, which blocks the call" in done.stdout
    assert hookrun(project, "try", "ls", "--json").json["not_approved"] == ["new", "strict"]
    project.approve()
    assert hookrun(project, "try", "ls").stderr == ""
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
