"""What each of seven agents gets for each verdict, through the real command, with the messages it sends."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from tests.cli.command import hookrun
from tests.conftest import Project
from tests.fire.agents import AGENTS, ORIGIN, Agent, says, without_origin

pytestmark = pytest.mark.sampled(3)

MODIFIES = {"claude", "codex", "gemini", "copilot", "cline", "opencode"}
"""The agents that take changed arguments; Qwen Code does not."""
ASKS = {"claude", "qwen", "copilot"}
"""The agents that ask the user."""
CONTEXT_BEFORE = {"claude", "codex", "copilot", "cline", "opencode"}
"""The agents that give the model a text beside a tool call that continues."""


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, project: Project) -> Agent:
    """Return each agent in turn."""
    return Agent(request.param, project)


def test_a_block_reaches_the_model_with_its_reason(agent: Agent) -> None:
    """The hook is written in canonical words; the agent gets its own."""
    agent.project.hooks(
        {
            "matcher": "bash",
            "when": {"tool_args.command": "*git push*"},
            "command": says(action="block", message="no pushing"),
        }
    )
    assert agent.fire(agent.shell("git push origin"), event=agent.events["pre"]).reason == "no pushing"
    went_on = agent.fire(agent.shell("git status"), event=agent.events["pre"])
    assert (went_on.status, went_on.stdout, went_on.stderr) == (0, b"", "")


def test_an_exit_status_of_2_is_a_block_too(agent: Agent) -> None:
    """The hook's stderr is the reason."""
    agent.project.hooks({"command": "echo not today >&2; exit 2"})
    assert agent.fire(agent.shell(), event=agent.events["pre"]).reason == "not today"


def test_changed_arguments_are_the_tool_s(agent: Agent) -> None:
    """Or, where arguments cannot be changed, a block with the call that the model should make instead."""
    agent.project.hooks({"matcher": "bash", "command": says(action="modify", args_patch={"command": "ls -l"})})
    told = agent.fire(agent.shell("ls"), event=agent.events["pre"])
    if agent.name in MODIFIES:
        assert (told.command, told.reason) == ("ls -l", None)
    else:
        assert told.reason is not None
        assert '{"command": "ls -l"}' in told.reason
        assert "modify -> block" in str(agent.project.audit()[-1]["degraded"])


@pytest.mark.parametrize("agent", sorted(MODIFIES - {"cline"}), indirect=True)
def test_arguments_that_were_not_changed_are_kept(agent: Agent) -> None:
    """Every agent replaces all arguments: what a patch leaves alone is there too."""
    agent.project.hooks({"matcher": "bash", "command": says(action="modify", args_patch={"command": "ls -l"})})
    message = agent.shell("ls")
    (message["output"]["args"] if agent.name == "opencode" else message["tool_input"])["description"] = "look"
    told = agent.fire(message, event=agent.events["pre"])
    given = (
        told.json.get("args") or told.json.get("modifiedArgs") or told.own.get("updatedInput") or told.own["tool_input"]
    )
    assert given == {"command": "ls -l", "description": "look"}


def test_who_is_to_be_asked_is_asked_or_it_is_refused(agent: Agent) -> None:
    """Natively where that neither hangs nor allows; else a refusal that names the missing approval."""
    agent.project.hooks({"command": says(action="ask", message="this reaches production")})
    told = agent.fire(agent.shell(), event=agent.events["pre"])
    if agent.name in ASKS:
        said = told.own or told.json
        assert (said["permissionDecision"], said["permissionDecisionReason"]) == ("ask", "this reaches production")
    else:
        assert told.reason == "needs the user's approval: this reaches production"


def test_a_skip_says_who_skipped(agent: Agent) -> None:
    """It is a refusal everywhere."""
    agent.project.hooks({"name": "lazy", "command": says(action="skip", message="done already")})
    assert agent.fire(agent.shell(), event=agent.events["pre"]).reason == "skipped by lazy: done already"


@pytest.mark.sampled(3)
def test_a_stop_never_lets_the_tool_run(agent: Agent) -> None:
    """It ends the turn where the agent supports that, and refuses the call everywhere."""
    agent.project.hooks({"command": says(action="stop", message="enough")})
    told = agent.fire(agent.shell(), event=agent.events["pre"])
    said = {name: without_origin(value) if isinstance(value, str) else value for name, value in told.json.items()}
    ends = {
        "claude": told.json.get("continue") is False and told.reason == "enough",
        "gemini": said == {"continue": False, "stopReason": "enough", "systemMessage": ""},
        "cline": said == {"cancel": True, "errorMessage": "enough"},
    }
    assert ends.get(agent.name, told.reason == "enough"), told.json


def test_the_user_sees_which_hook_blocked_and_how_to_ask_why(agent: Agent) -> None:
    """Once, and where the agent shows users a text of their own, the model's reason has nothing of it."""
    agent.project.hooks({"name": "guard", "command": says(action="block", message="enough")})
    told = agent.fire(agent.shell(), event=agent.events["pre"])
    shown = "\n".join(filter(None, (told.refusal, told.shown if told.shown != told.refusal else "")))
    [command] = [first or second for first, second in ORIGIN.findall(shown)]
    assert shown.count("guard") == 1
    in_reason = agent.name in ("qwen", "copilot", "cline")
    assert (told.refusal == "enough") is not in_reason
    done = hookrun(agent.project, *shlex.split(command)[1:])
    assert done.stdout.splitlines()[0] == "pre_tool_use bash: blocked by guard: enough"


def test_a_reason_that_names_the_hook_is_not_followed_by_its_name(project: Project) -> None:
    """A failed guard, for one: only the command is added."""
    project.hooks({"name": "guard", "command": "exit 3", "on_failure": "block"})
    copilot = Agent("copilot", project)
    refusal = copilot.fire(copilot.shell()).refusal
    assert refusal is not None
    assert re.search(r"hook guard failed .* \(`hookrun why [^`]*`\)$", refusal)


def test_without_an_audit_nothing_is_proposed_that_cannot_work(project: Project) -> None:
    """`hookrun why` has nothing to show there; the hook is named."""
    project.user_hooks(audit=False)
    project.hooks({"name": "guard", "command": says(action="block", message="enough")})
    copilot, claude = Agent("copilot", project), Agent("claude", project)
    assert copilot.fire(copilot.shell()).refusal == "enough (hook guard)"
    assert claude.fire(claude.shell()).shown == "hookrun: blocked by guard"


@pytest.mark.sampled(3)
def test_text_for_the_model_before_a_tool(agent: Agent) -> None:
    """It reaches the model, or waits until after the tool."""
    agent.project.hooks({"command": says(action="continue", additional_context="mind the gap")})
    told = agent.fire(agent.shell(), event=agent.events["pre"])
    assert told.reason is None
    if agent.name in CONTEXT_BEFORE:
        assert told.context == "mind the gap"
    else:
        assert agent.project.audit()[-1]["degraded"] == ["context -> later"]


@pytest.mark.sampled(3)
def test_text_for_the_model_after_a_tool(agent: Agent) -> None:
    """It reaches the model on every agent, and so does the reason of a block."""
    agent.project.hooks(
        {"name": "tell", "event": "post_tool_use", "command": says(action="continue", additional_context="tested")},
        {"name": "stop", "event": "post_tool_use", "command": says(action="block", message="it is broken")},
    )
    told = agent.fire(agent.ran(), event=agent.events["post"])
    assert "tested" in told.context
    assert "it is broken" in (told.context + str(told.json.get("reason")))


@pytest.mark.sampled(3)
def test_what_a_tool_gave_is_seen(agent: Agent) -> None:
    """As text, whatever the agent wraps it in."""
    agent.project.hooks({"event": "post_tool_use", "matcher": "bash", "command": "cat > seen"})
    agent.fire(agent.ran("ls", "a file"), event=agent.events["post"])
    seen = json.loads((agent.project.root / "seen").read_text())
    assert (seen["tool_result_output"], seen["tool_args"]["command"]) == ("a file", "ls")
    assert (seen["agent"], seen["event"], seen["session_id"]) == (agent.name, "post_tool_use", "s1")
    assert "payload" not in seen


@pytest.mark.sampled(3)
def test_a_prompt_can_be_kept_from_the_model(agent: Agent) -> None:
    """And text can be added to it; Cline CLI has no such event."""
    agent.project.hooks(
        {
            "event": "user_prompt_submit",
            "unless": {"user_prompt": "hello"},
            "command": says(action="block", message="not that"),
        },
        {
            "name": "tell",
            "event": "user_prompt_submit",
            "command": says(action="continue", additional_context="it is Monday"),
        },
    )
    told = agent.fire(agent.prompt("the secret"), event=agent.events["prompt"])
    if agent.name == "cline":
        assert told.json == {}
        assert "block -> nothing" in str(agent.project.audit()[-1]["degraded"])
        return
    assert without_origin(str(told.json.get("reason", told.json.get("refuse")))) == "not that"
    assert agent.fire(agent.prompt("hello"), event=agent.events["prompt"]).context == "it is Monday"


@pytest.mark.sampled
@pytest.mark.parametrize("agent", [name for name in AGENTS if name != "cline"], indirect=True)
def test_an_agent_is_kept_going_and_not_for_ever(agent: Agent) -> None:
    """A block of the end of a turn is the next instruction, eight times in a row; then it may end, with a notice."""
    agent.project.hooks({"event": "stop", "command": says(action="block", message="run the tests")})
    for _ in range(8):
        told = agent.fire(agent.stop(), event=agent.events["stop"])
        assert told.json.get("reason", told.json.get("go_on")) == "run the tests"
    told = agent.fire(agent.stop(), event=agent.events["stop"])
    assert "decision" not in told.json
    assert "go_on" not in told.json
    if agent.name != "copilot":
        assert "8 times in a row" in told.person
    told = agent.fire(agent.stop(), event=agent.events["stop"])
    assert told.json.get("reason", told.json.get("go_on")) == "run the tests"


@pytest.mark.slow
@pytest.mark.parametrize("agent", [name for name in AGENTS if name != "cline"], indirect=True)
def test_an_end_that_nobody_minds_begins_the_count_anew(agent: Agent) -> None:
    """Eight in a row are too many, not eight in a session."""
    agent.project.hooks(
        {"event": "stop", "command": f"test -e fine || {says(action='block', message='R').partition('; ')[2]}"}
    )
    fine = agent.project.root / "fine"
    for _ in range(6):
        assert agent.fire(agent.stop(), event=agent.events["stop"]).json
    fine.touch()
    assert agent.fire(agent.stop(), event=agent.events["stop"]).json == {}
    fine.unlink()
    for _ in range(8):
        assert "R" in agent.fire(agent.stop(), event=agent.events["stop"]).json.values()


@pytest.mark.sampled(3)
def test_a_file_that_is_written_is_seen_as_a_write(agent: Agent) -> None:
    """Before it is written by its path and content, and afterwards as a file that changed."""
    path = agent.project.root / "src" / "a.py"
    agent.project.hooks(
        {"name": "pre", "matcher": "write", "when": {"file_path": "*/src/*.py"}, "command": "cat > pre"},
        {"name": "changed", "event": "file_changed", "command": "cat > changed; exit 2"},
    )
    assert agent.fire(agent.write(str(path)), event=agent.events["pre"]).json == {}
    pre = json.loads((agent.project.root / "pre").read_text())
    assert (pre["tool_name"], pre["file_path"], pre["tool_args"]["content"].strip()) == ("write", str(path), "x")
    told = agent.fire(agent.write(str(path), "post"), event=agent.events["post"])
    changed = json.loads((agent.project.root / "changed").read_text())
    assert (changed["event"], changed["file_path"]) == ("file_changed", str(path))
    assert "blocked by changed" in (told.context + str(told.json.get("reason")))


def test_no_hook_means_no_word(agent: Agent) -> None:
    """Where nothing is declared for the event nothing is printed, and the tool runs."""
    for message, event in (
        (agent.shell(), "pre"),
        (agent.ran(), "post"),
        (agent.prompt(), "prompt"),
        (agent.stop(), "stop"),
    ):
        told = agent.fire(message, event=agent.events[event])
        assert (told.status, told.stdout, told.stderr) == (0, b"", "")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("broken", ["exit 7", "./nowhere.sh", "sleep 300", "echo gibberish", "kill -9 $$"])
def test_a_hook_that_fails_blocks_or_not_as_it_is_declared(agent: Agent, broken: str) -> None:
    """With `on_failure: continue` the tool runs and the user is notified; with `block` it does not."""
    agent.project.hooks({"command": broken, "timeout": 0.3})
    went_on = agent.fire(agent.shell(), event=agent.events["pre"])
    assert went_on.reason is None
    if agent.name == "qwen":  # it shows the user a text at the end of a turn only
        went_on = agent.fire(agent.stop())
    assert "hook hook failed" in went_on.person
    agent.project.hooks({"command": broken, "timeout": 0.3, "on_failure": "block"})
    assert "hook hook failed" in str(agent.fire(agent.shell(), event=agent.events["pre"]).reason)
