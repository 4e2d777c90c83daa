"""`hookrun replay`: what hooks would have done with the calls there were."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.recipes import catalog
from tests.cli.command import hookrun, hookrun_process
from tests.cli.terminal import at_terminal
from tests.replay.recorded import AGENTS, place

if TYPE_CHECKING:
    from tests.conftest import Project

GUARD: dict[str, object] = {"recipe": "no-force-push"}
FULL: dict[str, object] = {"audit": {"details": "full"}}
FORCED: dict[str, object] = {
    "session_id": "s1",
    "tool_name": "bash",
    "tool_args": {"command": "git push --force origin main"},
}


def declare(project: Project, *hooks: dict[str, object]) -> None:
    """Declare hooks without a default name: a recipe has its own."""
    (project.root / "coder.json").write_text(json.dumps({"hooks": hooks}))


def found(project: Project, *arguments: str, status: int = 1) -> dict[tuple[str, str, str], int]:
    """Return the differences of a replay: how many calls by hook, their result then and now."""
    done = hookrun(project, "replay", "--json", *arguments)
    assert done.status == status, done.stderr
    return {(each["hook"], each["was"], each["now"]): each["count"] for each in done.json["differences"]}  # type: ignore[attr-defined]


def files(project: Project) -> dict[str, tuple[int, int, int]]:
    """Return every file and directory of the project and the home, and what changes with it."""
    own = project.home / ".local" / "share" / "hookrun"  # copies of configs that could be read; `.cache` is compiled
    paths = [each for top in (project.root, project.home) for each in sorted(top.rglob("*"))]
    kept = [each for each in paths if not {own, project.home / ".cache"} & {each, *each.parents}]
    kept = [each for each in kept if each not in own.parents]
    return {str(each): (each.stat().st_ino, each.stat().st_mtime_ns, each.stat().st_size) for each in kept}


def record(project: Project, *contexts: dict[str, object], **settings: object) -> None:
    """Fire contexts at the project's hooks, with a log of whole contexts."""
    project.user_hooks(**{**FULL, **settings})
    for context in contexts:
        project.fire(context)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_transcript_replays_on_the_day_hookrun_is_installed(project: Project, agent: str) -> None:
    """No log is there; the guard would have stopped the one push, whatever the agent called its tool."""
    declare(project, GUARD)
    place(agent, project.home)
    assert found(project, "--all-projects", "--hook", "no-force-push") == {("no-force-push", "ran", "block"): 1}


def test_calls_that_were_refused_or_changed_are_compared(project: Project) -> None:
    """A hook that does the same now makes no difference; without one the calls would run."""
    place("claude", project.home)
    refuses = {"event": "pre_tool_use", "matcher": "bash", "when": {"tool_args.command": "*forbidden*"}}
    declare(project, {"name": "other", "event": "pre_tool_use", "matcher": "web_fetch", "command": "true"})
    assert found(project, "--all-projects") == {("", "refused", "continue"): 1, ("", "changed", "continue"): 1}
    declare(project, {"name": "program", **refuses, "command": "exit 2"})
    assert found(project, "--all-projects") == {("", "changed", "continue"): 1}  # it may be what refused
    assert hookrun(project, "replay", "--all-projects", "--json").json["not_judged"] == {"program": 1}


def test_only_calls_of_this_project_count(project: Project) -> None:
    """Those of others with an option."""
    declare(project, GUARD)
    path = place("claude", project.home)
    done = hookrun(project, "replay")
    assert done.status == 1
    assert "no calls to replay in" in done.stderr
    assert "--all-projects" in done.stderr
    path.write_text(path.read_text().replace("/home/dev/shop", str(project.root)))
    assert found(project) == {("no-force-push", "ran", "block"): 1, ("", "refused", "continue"): 1} | {
        ("", "changed", "continue"): 1
    }


def test_the_log_is_replayed(project: Project) -> None:
    """By the verdict then, in any words: a new guard, one that is gone, one that says the same."""
    declare(
        project, {"name": "old", "event": "pre_tool_use", "when": {"tool_args.command": "rm*"}, "command": "exit 2"}
    )
    harmless = {**FORCED, "tool_args": {"command": "git status"}}
    removal = {**FORCED, "tool_args": {"command": "rm x"}}
    record(project, FORCED, harmless, removal, removal)
    declare(project, GUARD)
    assert found(project) == {("no-force-push", "continue", "block"): 1, ("old", "block", "continue"): 2}
    assert found(project, "--hook", "no-force-push") == {("no-force-push", "continue", "block"): 1}
    done = hookrun(project, "replay")
    assert "1 call that ran would be blocked by no-force-push\n" in done.stdout
    assert "2 calls that were blocked by old would run\n" in done.stdout
    assert "git push --force origin main" in done.stdout
    record(project, FORCED, audit={"details": "summary"})
    assert hookrun(project, "replay", "--json").json["without_context"] == 1


def test_another_config_and_another_revision(project: Project) -> None:
    """The differences between two configs, not with what happened."""
    (project.root / ".git").rmdir()
    declare(project, GUARD)
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=project.root, env=project.environment(), check=True)
    place("claude", project.home)
    assert found(project, "--all-projects", "--against", "HEAD", status=0) == {}
    (project.root / "new.json").write_text(json.dumps({"hooks": []}))
    options = ("--all-projects", "--config", "new.json")
    assert "no hooks are configured here" in hookrun(project, "replay", *options).stderr
    declare(project)
    assert found(project, "--all-projects", "--against", "HEAD") == {("no-force-push", "block", "continue"): 1}
    done = hookrun(project, "replay", "--all-projects", "--against", "gone")
    assert 'git cannot read "gone"' in done.stderr
    status = subprocess.run(["git", "status", "--short"], cwd=project.root, capture_output=True, text=True, check=True)
    assert status.stdout == " M coder.json\n?? new.json\n"


def test_programs_run_only_if_told_to_in_a_copy_with_a_home_of_their_own(project: Project) -> None:
    """What they write is gone with it."""
    project.script(
        "guard.sh", "#!/bin/sh\ntouch made ~/made\ngrep -q 'push --force' && { echo no >&2; exit 2; }\nexit 0\n"
    )
    declare(project, {"name": "guard", "event": "pre_tool_use", "matcher": "bash", "command": "./guard.sh"})
    place("claude", project.home)
    before = files(project)
    done = hookrun(project, "replay", "--all-projects", "--json").json
    assert done["not_judged"] == {"guard": 5}
    assert ("guard", "ran", "block") in found(project, "--all-projects", "--run")
    assert files(project) == before


def test_a_replay_writes_nothing_and_runs_nothing(project: Project) -> None:
    """Neither to the log, nor to a recipe's state, nor to the project, by any recipe."""
    recipes: list[dict[str, object]] = [{"recipe": name} for name in catalog.names()]
    declare(project, *recipes)
    for agent in AGENTS:
        place(agent, project.home)
    before = files(project)
    done = hookrun_process(project, "replay", "--all-projects")
    assert done.status == 1, done.stderr
    assert files(project) == before


def test_files_of_others_are_read_by_name(project: Project, tmp_path: Path) -> None:
    """A transcript, a directory of some, a log; not any file."""
    declare(project, GUARD)
    path = place("codex", tmp_path / "other")
    place("gemini", tmp_path / "other")
    assert found(project, "--from", str(path), "--hook", "no-force-push") == {("no-force-push", "ran", "block"): 1}
    assert found(project, "--from", str(tmp_path / "other"), "--hook", "no-force-push") == {
        ("no-force-push", "ran", "block"): 2
    }
    done = hookrun(project, "replay", "--from", "coder.json")
    assert "is no transcript that hookrun can read" in done.stderr
    record(project, FORCED)
    kept = tmp_path / "kept.jsonl"
    project.audit_path.rename(kept)
    assert found(project, "--from", str(kept), status=0) == {}


def test_filters(project: Project) -> None:
    """By agent and time; a wrong value says what is right."""
    declare(project, GUARD)
    for agent in ("claude", "codex"):
        place(agent, project.home)
    only = hookrun(project, "replay", "--all-projects", "--agent", "codex", "--json").json
    assert [*only["events"]] == ["codex"]  # type: ignore[misc]
    assert "no calls to replay" in hookrun(project, "replay", "--all-projects", "--since", "2099-01-01").stderr
    assert "is not a time" in hookrun(project, "replay", "--since", "soon").stderr
    assert "unknown agent" in hookrun(project, "replay", "--agent", "clod").stderr
    assert "no hook named" in hookrun(project, "replay", "--hook", "no-force").stderr
    assert "does not go with" in hookrun(project, "replay", "--dask", "x", "--run").stderr


def test_the_filters_are_those_of_the_log(project: Project, tmp_path: Path) -> None:
    """By session, tool, event and project, as `log`; a call is in the project that its record names."""
    declare(project, GUARD)
    (tmp_path / "web").mkdir()
    other = {**FORCED, "session_id": "s2", "working_dir": str(tmp_path / "web")}
    record(
        project, FORCED, {**FORCED, "session_id": "s3", "tool_name": "write", "tool_args": {"file_path": "a"}}, other
    )

    def events(command: str, *options: str) -> int:
        done = hookrun(project, command, *options, "--json")
        if command == "replay":
            return sum(done.json["events"].values()) if done.status != 2 and done.stdout else 0  # type: ignore[attr-defined]
        return sum('"kind":"fire"' in line for line in done.stdout.splitlines())

    for options in (["--session", "s3"], ["--session", "s"], ["--tool", "wri*"], ["--event", "PreToolUse"]):
        assert events("replay", *options) == events("log", *options) > 0, options
    assert events("replay", "--until", "2020-01-01") == 0
    assert events("replay", "--project", str(tmp_path / "web")) == 0
    assert events("replay", "--project", str(project.root)) == events("replay", "--project", project.root.name) == 3


def test_the_differences_are_junit_too(project: Project) -> None:
    """One test case that fails for each kind, with the calls."""
    declare(project, GUARD)
    place("claude", project.home)
    hookrun(project, "replay", "--all-projects", "--hook", "no-force-push", "--junit", "replay.xml")
    (suite,) = ET.fromstring((project.root / "replay.xml").read_text())  # noqa: S314  # our own
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "git push --force origin main" in str(suite[0][0].text)


def test_a_call_that_the_log_has_whole_is_not_taken_from_a_transcript_again(project: Project) -> None:
    """By its session and tool use; where hooks get other ids, by its session."""
    declare(project, GUARD)
    for agent, own in (("claude", "call_8_0"), ("qwen", "toolu_1")):
        path = place(agent, project.home)
        (session,) = {json.loads(line)["sessionId"] for line in path.read_text().splitlines() if '"sessionId"' in line}
        path.rename(path.with_name(f"{session}.jsonl"))  # as the agents name it
        context = {**FORCED, "session_id": session, "tool_use_id": own, "agent": agent}
        record(project, context)
    counted: Any = hookrun(project, "replay", "--all-projects", "--json").json["events"]
    alone = {"claude": 18, "qwen": 17}
    assert counted == {"claude": alone["claude"], "qwen": alone["qwen"] - 8 + 1}


def test_a_secret_does_not_reach_the_report(project: Project, tmp_path: Path) -> None:
    """Not as text, JSON or JUnit, though a transcript has it."""
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    declare(project, {"recipe": "no-force-push"})
    path = place("claude", tmp_path / "other")
    line = f"git push --force https://x:{secret}@host main"
    path.write_text(path.read_text().replace("git push --force origin main", line))
    options = ("replay", "--from", str(path), "--hook", "no-force-push", "--junit", "replay.xml")
    for done in (hookrun(project, *options), hookrun(project, *options, "--json")):
        assert done.status == 1
        assert secret not in done.stdout + (project.root / "replay.xml").read_text()


def test_a_config_with_errors_is_not_judged_by(project: Project) -> None:
    """Its hooks are not known."""
    (project.root / "coder.json").write_text('{"hooks": [')
    done = hookrun(project, "replay")
    assert done.status == 1
    assert "run `hookrun validate`" in done.stderr


def test_a_bar_shows_how_far_it_is(project: Project) -> None:
    """At a terminal."""
    declare(project, GUARD)
    for agent in AGENTS:
        place(agent, project.home)
    shown = at_terminal(project, "replay", "--all-projects", env={"TERM": "xterm"}).screen
    assert re.search(r"replay .*\d+/\d+", shown)
    assert "would be blocked by no-force-push" in shown
