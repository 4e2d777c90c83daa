"""Hooks' answers to a tool call take effect: one config in canonical terms, in every real agent."""

from __future__ import annotations

from hookrun_conformance.drivers import PATCHING
from hookrun_conformance.model import say
from tests.live.run import Agent, held

DONE = say("all-is-done")

UNCHANGEABLE = {"qwen"}
"""Agents whose calls cannot be changed."""

MODIFIED = {"modify -> block"}

ASKS = {"claude", "qwen", "copilot"}
"""Agents that can ask, and refuse if there is no user to ask."""


def test_a_refused_command_does_not_run_and_the_model_hears_why(obeying: Agent) -> None:
    """It can do something else then: the session continues."""
    ran = held(("block a tool",), obeying)
    assert list(ran.files) == ["after.txt"], ran
    assert "reason-of-no-forbidden" in ran.heard, ran
    assert "all-is-done" in ran.stdout


def test_a_changed_command_is_what_runs(obeying: Agent) -> None:
    """The model's own does not; a call that cannot be changed is refused, with the command to run instead."""
    ran = held(("change its arguments",), obeying)
    if obeying.name in UNCHANGEABLE:
        assert (ran.files, ran.degraded) == ({}, {"modify -> block"}), ran
        assert "echo changed > changed.txt" in ran.heard
    else:
        assert (ran.files, ran.degraded & MODIFIED) == ({"changed.txt": "changed\n"}, set()), ran


def test_ask_and_skip_do_not_run_it_and_say_why(obeying: Agent) -> None:
    """There is no user to ask; both reasons reach the model."""
    asked, skipped = "echo delicate > asked.txt", "echo needless > skipped.txt"
    ran = obeying.run(obeying.driver.shell(asked), obeying.driver.shell(skipped), DONE)
    assert ran.files == {}, ran
    assert "reason-to-ask" in ran.heard, ran
    assert "skipped by needless: reason-to-skip" in ran.heard, ran
    assert ("ask -> block" in ran.degraded, "skip -> block" in ran.degraded) == (obeying.name not in ASKS, True), ran


def test_a_grant_spares_the_question(granting: Agent) -> None:
    """A command that the agent would refuse without a user to ask runs if a hook allows it."""
    harmless, other = "echo harmless > made.txt", "echo other > other.txt"
    ran = granting.run(granting.driver.shell(harmless), granting.driver.shell(other), DONE, allowed=False)
    assert ran.files == {"made.txt": "harmless\n"}, ran


def test_stop_does_not_run_it(obeying: Agent) -> None:
    """The turn ends, or the model gets the reason for the refusal."""
    ran = obeying.run(obeying.driver.shell("echo fatal > made.txt"), DONE)
    assert ran.files == {}, ran
    assert len(ran.model.requests) == 1 or "reason-to-stop" in ran.heard, ran


def test_observers_that_fail_let_the_command_run(obeying: Agent) -> None:
    """One that crashes, and one that hangs."""
    ran = held(("crash, continue", "hang, continue"), obeying)
    assert sorted(ran.files) == ["crash.txt", "hang.txt"], ran
    failures = [(record["hook"], record["failure"]) for record in ran.audit if record.get("failure")]
    assert failures == [("crashing-observer", "exit_code"), ("hanging-observer", "timeout")]


def test_guards_that_fail_refuse(obeying: Agent) -> None:
    """One that crashes, and one that hangs; the model gets its name and its failure."""
    ran = held(("crash, block", "hang, block"), obeying)
    assert ran.files == {}, ran
    for told in ("crashing-guard", "some-trouble", "hanging-guard", "timeout"):
        assert told in ran.heard, (told, ran)


def test_written_and_changed_files_are_seen_by_their_path(obeying: Agent) -> None:
    """As `write` or `edit` with an absolute file_path, before and after, and as `file_changed`."""
    project = obeying.place.project
    (project / "watched.txt").write_text("first\nsecond\n")
    turns = (
        *obeying.driver.write(project / "new.txt", "written\n"),
        *obeying.driver.edit(project / "watched.txt", "second", "changed"),
        DONE,
    )
    ran = obeying.run(*turns)
    assert ran.files == {"new.txt": "written\n", "watched.txt": "first\nchanged\n"}, ran
    expected = [("write", str(project / "new.txt")), ("edit", str(project / "watched.txt"))]
    for event in ("pre_tool_use", "post_tool_use"):
        seen = [(each["tool_name"], each["file_path"]) for each in ran.seen if each["event"] == event]
        assert [each for each in seen if each[0] in ("write", "edit")] == expected, ran
    changed = [each["file_path"] for each in ran.seen if each["event"] == "file_changed"]
    assert changed == [path for _, path in expected], ran
    assert "context-of-changed-file" in ran.heard


def test_guarded_files_are_neither_written_nor_changed(obeying: Agent) -> None:
    """By their path, whatever the agent calls its tools; the model gets the reason."""
    guarded = obeying.place.project / "guarded"
    guarded.mkdir()
    (guarded / "old.txt").write_text("first\n")
    edit = obeying.driver.edit(guarded / "old.txt", "first", "changed")
    ran = obeying.run(*obeying.driver.write(guarded / "new.txt", "written\n"), *edit, DONE)
    assert (guarded / "old.txt").read_text() == "first\n"
    assert not (guarded / "new.txt").exists()
    assert ran.heard.count("reason-of-guarded-files") >= 2, ran


def test_files_that_a_patch_touches_are_seen_one_by_one(patching: Agent) -> None:
    """One call of the agent's is a write and an edit, each with its path."""
    project = patching.place.project
    (project / "watched.txt").write_text("first\n")
    patch = "*** Update File: watched.txt\n@@\n-first\n+changed\n*** Add File: new.txt\n+written\n"
    ran = patching.run(PATCHING[patching.name].patch(patch), DONE)
    assert {name: text.strip() for name, text in ran.files.items()} == {"new.txt": "written", "watched.txt": "changed"}
    expected = [("edit", str(project / "watched.txt")), ("write", str(project / "new.txt"))]
    for event in ("pre_tool_use", "post_tool_use"):
        assert [(each["tool_name"], each["file_path"]) for each in ran.seen if each["event"] == event] == expected, ran
    assert "context-of-changed-file" in ran.heard


def test_a_patch_that_touches_a_guarded_file_is_refused_whole(patching: Agent) -> None:
    """Whatever else it would have done; the model gets the reason."""
    patch = "*** Add File: fine.txt\n+fine\n*** Add File: guarded/new.txt\n+written\n"
    ran = patching.run(PATCHING[patching.name].patch(patch), DONE)
    assert (ran.files, (ran.place.project / "guarded").exists()) == ({}, False), ran
    assert "reason-of-guarded-files" in ran.heard, ran
