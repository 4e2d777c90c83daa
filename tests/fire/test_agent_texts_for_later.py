"""A text that an agent cannot show at one event reaches the model, or the user, at the next event where it can."""

from __future__ import annotations

from tests.conftest import Project
from tests.fire.agents import Agent, AgentOf, says
from tests.rows import rows

BEFORE: dict[str, object] = {
    "event": "pre_tool_use",
    "command": says(action="continue", additional_context="C", system_message="P"),
}


def after(agent: Agent, session: str = "s1") -> dict[str, object]:
    """Return the message after a shell command."""
    message = {**agent.shell("ls"), "hook_event_name": agent.events["post"], "session_id": session}
    return {**message, "tool_response": {"llmContent": "made.txt"}}


def at_stop(agent: Agent, session: str = "s1") -> dict[str, object]:
    """Return the message at the end of a turn."""
    about = {"hook_event_name": "Stop", "session_id": session, "cwd": str(agent.project.root)}
    return {**about, "stop_hook_active": False}


@rows("name, waits", [("gemini", False), ("qwen", True)])
def test_a_text_for_the_model_before_a_tool_is_given_after_it(name: str, waits: bool, agent_of: AgentOf) -> None:
    """Once, in the same session, even if no hook runs then; the user's text waits for Stop where it has to."""
    agent = agent_of(name)
    project = agent.project
    project.hooks(BEFORE)
    assert agent.fire(agent.shell("ls")).context == ""
    assert "context -> later" in str(project.audit()[-1]["degraded"])
    assert agent.fire(after(agent, "another")).context == ""
    assert agent.fire(after(agent)).context == "C"
    assert agent.fire(after(agent)).stdout == b""
    assert (project.home / ".local/state/hookrun/kept").exists() is waits


def test_what_a_hook_tells_the_person_on_qwen_waits_for_the_end_of_the_turn(project: Project) -> None:
    """Qwen Code shows it at Stop alone; a text that comes twice is shown once."""
    agent = Agent("qwen", project)
    project.hooks(BEFORE)
    assert [agent.fire(agent.shell("ls")).person for _ in range(2)] == ["", ""]
    assert agent.fire(at_stop(agent, "another")).stdout == b""
    assert agent.fire(at_stop(agent)).person == "P"
    assert agent.fire(at_stop(agent)).stdout == b""


def test_the_person_hears_of_a_guard_that_crashed_on_qwen(project: Project) -> None:
    """The call continued, and its answer could not show the text."""
    agent = Agent("qwen", project)
    project.hooks({"name": "guard", "command": "exit 3"})
    assert agent.fire(agent.shell("ls")).reason is None
    told = agent.fire(at_stop(agent)).person
    assert "guard" in told
    assert "exit_code" in told


def test_a_text_for_the_person_beside_a_refusal_on_qwen_is_in_the_reason_too(project: Project) -> None:
    """The model is asked to pass it on at once; at Stop the user sees it directly."""
    agent = Agent("qwen", project)
    project.hooks({"command": says(action="block", message="R", system_message="P")})
    reason = agent.fire(agent.shell("ls")).reason
    assert reason is not None
    assert reason.startswith("R\n\n")
    assert reason.endswith("pass it on: P")
    assert agent.fire(at_stop(agent)).person == "P"


def test_without_a_session_nothing_is_kept_and_the_audit_says_so(project: Project) -> None:
    """There would be no event to give it at."""
    agent = Agent("gemini", project)
    project.hooks(BEFORE)
    message = agent.shell("ls")
    del message["session_id"]
    agent.fire(message)
    assert project.audit()[-1]["degraded"] == ["context -> nothing"]
    assert not (project.home / ".local/state/hookrun/kept").exists()


def test_texts_that_cannot_be_kept_change_no_verdict(project: Project) -> None:
    """A state directory that cannot be written."""
    agent = Agent("gemini", project)
    project.hooks(BEFORE)
    state = project.home / ".local" / "state"
    state.mkdir(parents=True, exist_ok=True)
    (state / "hookrun").write_text("in the way")
    told = agent.fire(agent.shell("ls"))
    assert (told.status, told.reason, told.person) == (0, None, "P")


def test_a_refusal_on_gemini_is_shown_to_the_person(project: Project) -> None:
    """Its terminal shows a systemMessage and not the reason."""
    agent = Agent("gemini", project)
    project.hooks({"command": "echo not today >&2; exit 2"})
    told = agent.fire(agent.shell("ls"))
    assert (told.reason, told.person) == ("not today", "not today")


def test_a_question_with_changed_arguments_is_a_refusal_on_copilot(project: Project) -> None:
    """Copilot asks for the old arguments, and runs them: the model gets the ones that were wanted."""
    agent = Agent("copilot", project)
    project.hooks({"command": says(action="ask", message="R", args_patch={"command": "ls -l"})})
    told = agent.fire(agent.shell("ls"))
    assert told.reason is not None
    assert '{"command": "ls -l"}' in told.reason
    assert told.args is None
