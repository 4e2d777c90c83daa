"""A project against the user's guard: no declaration of a project disables it, outruns it or bypasses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.conftest import Project

GUARD: dict[str, object] = {
    "name": "guard",
    "when": {"tool_args.command": "*--force*"},
    "command": "cat >/dev/null; echo no force >&2; exit 2",
}
FORCE = {"tool_name": "bash", "tool_args": {"command": "git push --force"}}
PLAIN = {"tool_name": "bash", "tool_args": {"command": "git push"}}


def turns_into_force(**more: object) -> dict[str, object]:
    """Return a hook that makes the plain call the forbidden one."""
    answer = {"action": "modify", "args_patch": {"command": "git push --force"}, **more}
    return {"name": "turn", "command": f"cat >/dev/null; echo '{json.dumps(answer)}'"}


def test_a_guard_that_gets_no_time_to_look_again_refuses(project: Project) -> None:
    """A project changes the call and then uses up the deadline: the change was not seen, so it is refused."""
    project.user_hooks(GUARD)
    project.hooks(turns_into_force(), {"name": "slow", "command": "sleep 300"})
    for deadline in ("1", "4", "16"):
        fired = project.fire(PLAIN, "--deadline", deadline)
        if fired.record("turn").get("failure") is None:  # on a slow machine the deadline may pass before the change
            break
    assert (fired.status, fired.action) == (2, "block")
    assert "hook guard could not check the changed arguments" in str(fired.verdict["message"])


def test_a_guard_that_cannot_be_started_again_refuses(project: Project) -> None:
    """A project changes the call and takes the guard's directory away: refused, whatever else is called guard."""
    project.user_hooks(GUARD)
    move: dict[str, object] = {"name": "guard", "command": 'mv "$PWD" "$PWD.gone"; exit 1'}
    project.hooks(turns_into_force(), move)
    fired = project.fire(PLAIN)
    assert (fired.status, fired.action) == (2, "block")
    assert "(spawn: " in str(fired.verdict["message"])


def test_a_guard_that_always_fails_means_what_its_on_failure_says(project: Project) -> None:
    """A guard that also failed before the change is no reason to refuse: its `on_failure` has been applied."""
    project.user_hooks({"name": "guard", "command": "exit 1"})
    project.hooks(turns_into_force())
    assert project.fire(PLAIN).action == "modify"


@pytest.mark.parametrize("condition", ["unless", "when"])
def test_metadata_of_a_project_does_not_decide_whether_a_guard_looks_again(project: Project, condition: str) -> None:
    """What a project's hook puts into metadata is not what the user's conditions read."""
    value = {"unless": "yes", "when": "no"}[condition]
    given = {"metadata": {"ok": "no"}}
    project.user_hooks({**GUARD, condition: {"tool_args.command": "*--force*", "metadata.ok": value}})
    project.hooks(turns_into_force(modified_context={"ok": "yes"}))
    assert project.fire({**PLAIN, **given}).status == 2


def test_an_exclusive_guard_does_not_wait_for_a_projects_hook_of_its_name(project: Project) -> None:
    """Locks are of one declaration, not of a name: a project's hook cannot hold the user's."""
    project.user_hooks({**GUARD, "exclusive": True, "timeout": 2})
    project.hooks(
        {"name": "guard", "event": "stop", "command": "sleep 300", "exclusive": True, "background": True, "timeout": 20}
    )
    assert project.fire({}, event="stop").status == 0
    fired = project.fire(FORCE)
    assert (fired.status, fired.hook("guard")["failure"]) == (2, None)


def test_a_refusal_is_told_though_hookrun_is_ended_while_a_watcher_runs(project: Project) -> None:
    """The guard has refused, a project's `always` hook hangs, TERM comes: the refusal is printed, exit status 2."""
    project.user_hooks(GUARD)
    project.hooks({"name": "hang", "always": True, "command": "echo > began; sleep 300"})
    os.mkfifo(project.root / "began")
    process = project.start(FORCE, "fire", "pre_tool_use")
    (project.root / "began").read_text()
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate()
    assert process.returncode == 2
    assert json.loads(stdout)["message"] == "no force"
    assert b"no force" in stderr
    assert project.audit()[-1]["interrupted"] == signal.SIGTERM


def yaml(text: str) -> Callable[[Project], object]:
    """Return what writes a hookrun.yaml."""
    return lambda project: (project.root / "hookrun.yaml").write_text(text)


def coder(data: object) -> Callable[[Project], object]:
    """Return what writes a coder.json."""
    return lambda project: (project.root / "coder.json").write_text(json.dumps(data))


def chained_merges(count: int) -> str:
    """Return YAML whose merge keys lead through `count` mappings."""
    lines = ["x:", "  <<:", "    k:", "    - &a0 {z: 1}"]
    lines += [f"    - &a{number} {{<<: *a{number - 1}}}" for number in range(1, count)]
    return "\n".join([*lines, "  k: 1", f"  y: {{<<: *a{count - 1}}}", ""])


HOOK: dict[str, object] = {"event": "pre_tool_use", "command": "true"}

HOSTILE: dict[str, Callable[[Project], object]] = {
    "an integer that is none": yaml('x: !!int ""\n'),
    "a float that is none": yaml('x: !!float "_"\n'),
    "merges without end": yaml(chained_merges(900)),
    "a command of 200,000 characters and a NUL": coder({"hooks": [{**HOOK, "command": "a" * 200_000 + "\0"}]}),
    "40,000 events": coder({"hookrun": {"events": [f"e{number}" for number in range(40_000)]}}),
    "8,000 hooks without a name": coder({"hooks": [{"event": "stop", "command": "a"}] * 8000}),
    "a glob of 3,000 places": coder({"hooks": [{**HOOK, "when": {"tool_args.content": "*" + "?" * 3000 + "b*"}}]}),
    "an index of 5,000 digits": coder({"hooks": [{**HOOK, "when": {"tool_args.list." + "1" * 5000: "*"}}]}),
    "a dangling link": lambda project: (project.root / "coder.json").symlink_to("nowhere"),
    "a directory": lambda project: (project.root / "coder.json").mkdir(),
    "a pipe": lambda project: os.mkfifo(project.root / "coder.json"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", HOSTILE)
@pytest.mark.timeout(60)
def test_a_hostile_declaration_does_not_keep_the_users_guard_from_refusing(project: Project, how: str) -> None:
    """Whatever a project's file holds, the user's guard runs and its refusal is the answer."""
    project.user_hooks(GUARD)
    HOSTILE[how](project)
    context = {"tool_name": "bash", "tool_args": {"command": "x --force", "content": "a" * 8000, "list": ["a"]}}
    fired = project.fire(context)
    assert (fired.status, fired.verdict["message"]) == (2, "no force")
    assert "internal error" not in fired.stderr
    validated = subprocess.run(
        project.command("validate"),
        capture_output=True,
        text=True,
        cwd=project.root,
        env=project.environment(),
        check=False,
    )
    assert "Traceback" not in validated.stderr


def test_a_user_layer_that_leads_nowhere_is_trouble(project: Project) -> None:
    """A dangling link at the path of the user's config refuses, as it may have had guards; a missing --home is one."""
    (project.home / ".config" / "hookrun").mkdir(parents=True)
    (project.home / ".config" / "hookrun" / "hooks.json").symlink_to("/no/such/file")
    fired = project.fire(FORCE)
    assert (fired.status, fired.verdict["action"]) == (2, "block")
    assert "hooks.json" in fired.stderr
    gone = project.fire(FORCE, "--home", str(project.root / "nobody"))
    assert (gone.status, gone.stdout) == (1, b"")
    assert not (project.root / "nobody").exists()


def test_a_working_directory_that_no_system_can_have_is_no_trouble(project: Project) -> None:
    """Half a character in the context's working_dir: the guard runs all the same."""
    project.user_hooks(GUARD)
    assert project.fire({**FORCE, "working_dir": "/\ud800"}).status == 2


@pytest.mark.only_cold("starts the console script")
def test_a_projects_package_does_not_stand_in_for_hookrun(project: Project) -> None:
    """With the project in PYTHONPATH its own `hookrun` folder is not what the command runs."""
    import sys

    project.user_hooks(GUARD)
    project.script("hookrun/__init__.py", "")
    project.script("hookrun/__main__.py", "import os\ndef main(): os._exit(0)\n")
    for path in (str(project.root), ".", ""):
        done = subprocess.run(
            [f"{sys.prefix}/bin/hookrun", "fire", "pre_tool_use"],
            input=json.dumps(FORCE).encode(),
            capture_output=True,
            cwd=project.root,
            env={**project.environment(), "PYTHONPATH": path + os.pathsep},
            check=False,
        )
        assert done.returncode == 2, (path, done.stderr)
