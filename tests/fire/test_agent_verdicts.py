"""What each of seven agents gets for each verdict, through the real command, with the messages it sends."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

from tests.cli.command import hookrun
from tests.conftest import Project
from tests.fire.agents import AGENTS, ORIGIN, Agent, AgentOf, person_of, says, without_origin
from tests.rows import rows

PATCH: dict[str, object] = {"action": "modify", "args_patch": {"command": "ls -l"}}
CHANGED: dict[str, object] = {"args": {"command": "ls -l", "description": "look"}, "reason": None}
MODIFY = ("claude", "codex", "gemini", "copilot", "opencode", "kilo", "pi", "vibe", "grok")
ASK: dict[str, object] = {"action": "ask", "message": "sure?"}
STOP: dict[str, object] = {"action": "stop", "message": "enough"}
TELL: dict[str, object] = {"action": "continue", "additional_context": "mind the gap"}

VERDICTS: dict[str, tuple[tuple[str, ...], dict[str, object], dict[str, object]]] = {
    "changed arguments are the tool's, whole": (MODIFY, PATCH, CHANGED),
    "Cline has a list of commands": (("cline",), PATCH, {"args": {"commands": ["ls -l"]}, "reason": None}),
    "where nobody can be asked it is refused": (
        ("codex", "gemini", "cline", "opencode", "kilo", "pi", "vibe"),
        ASK,
        {"reason": "needs the user's approval: sure?"},
    ),
    "a stop refuses also where the turn does not end": (
        ("claude", "codex", "qwen", "copilot", "opencode", "kilo", "pi", "vibe", "grok"),
        STOP,
        {"reason": "enough"},
    ),
    "text for the model is given beside a call that continues": (
        ("claude", "codex", "copilot", "cline", "opencode", "kilo", "pi", "grok"),
        TELL,
        {"reason": None, "context": "mind the gap"},
    ),
    "or waits until after the tool": (("gemini", "qwen", "vibe"), TELL, {"reason": None, "context": ""}),
}
"""The agents, a hook's answer, and what each of them gets."""


@rows("names, answer, expected", VERDICTS.values(), ids=VERDICTS)
def test_what_an_agent_gets_before_a_tool(
    names: tuple[str, ...], answer: dict[str, object], expected: dict[str, object], agent_of: AgentOf
) -> None:
    """Through hooks of the shell, in the agent's own form."""
    for agent in map(agent_of, names):
        agent.project.hooks({"matcher": "bash", "command": says(**answer)})
        told = agent.fire(agent.shell("ls", description="look"), event=agent.events["pre"])
        assert {name: getattr(told, name) for name in expected} == expected, agent.name


@rows("name", ["claude", "qwen", "copilot", "grok"])
def test_who_is_to_be_asked_is_asked(name: str, agent_of: AgentOf) -> None:
    """Natively where that neither hangs nor allows."""
    agent = agent_of(name)
    agent.project.hooks({"command": says(action="ask", message="this reaches production")})
    told = agent.fire(agent.shell(), event=agent.events["pre"])
    said = told.own or told.json
    assert (said["permissionDecision"], said["permissionDecisionReason"]) == ("ask", "this reaches production")


@rows(
    "name, ends",
    [
        ("claude", {"continue": False}),
        ("gemini", {"continue": False, "stopReason": "enough", "systemMessage": ""}),
        ("cline", {"cancel": True, "errorMessage": "enough"}),
    ],
)
def test_a_stop_ends_the_turn(name: str, ends: dict[str, object], agent_of: AgentOf) -> None:
    """Where the agent supports that."""
    agent = agent_of(name)
    agent.project.hooks({"command": says(action="stop", message="enough")})
    told = agent.fire(agent.shell(), event=agent.events["pre"])
    said = {key: without_origin(value) if isinstance(value, str) else value for key, value in told.json.items()}
    assert {key: said.get(key) for key in ends} == ends


@rows("name, in_reason", [(name, name in ("qwen", "copilot", "cline", "grok")) for name in AGENTS])
def test_the_user_sees_which_hook_blocked_and_how_to_ask_why(name: str, in_reason: bool, agent_of: AgentOf) -> None:
    """Once, and where the agent shows users a text of their own, the model's reason has nothing of it."""
    agent = agent_of(name)
    agent.project.hooks({"name": "guard", "command": says(action="block", message="enough")})
    told = agent.fire(agent.shell(), event=agent.events["pre"])
    shown = "\n".join(filter(None, (told.refusal, told.shown if told.shown != told.refusal else "")))
    [command] = [first or second for first, second in ORIGIN.findall(shown)]
    assert shown.count("guard") == 1
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


@rows("name", AGENTS)
def test_text_for_the_model_after_a_tool(name: str, agent_of: AgentOf) -> None:
    """It reaches the model on every agent, and so does the reason of a block."""
    agent = agent_of(name)
    agent.project.hooks(
        {"name": "tell", "event": "post_tool_use", "command": says(action="continue", additional_context="tested")},
        {"name": "stop", "event": "post_tool_use", "command": says(action="block", message="it is broken")},
    )
    told = agent.fire(agent.ran(), event=agent.events["post"])
    heard = told.context + str(told.json.get("reason"))
    assert "tested" in heard
    assert "it is broken" in heard


def test_text_beside_a_block_is_in_the_reason_before_a_tool(project: Project) -> None:
    """Grok Build was seen to give the model nothing else of a refusal."""
    grok = Agent("grok", project)
    project.hooks({"command": says(action="block", message="no", additional_context="mind the gap")})
    told = grok.fire(grok.shell())
    assert (told.reason, told.context) == ("no\n\nmind the gap", "")


BLOCK: dict[str, object] = {"action": "block", "message": "no"}
NEW: dict[str, object] = {"modified_output": "new"}


@rows(
    "name, answer, reason",
    [
        ("gemini", BLOCK, "no"),
        ("gemini", {"action": "continue", **NEW}, "new"),
        ("copilot", BLOCK, "no"),
        ("copilot", {**BLOCK, **NEW}, "new\n\nno"),
    ],
)
def test_text_beside_a_block_is_in_the_reason_after_a_tool(
    name: str, answer: dict[str, object], reason: str, agent_of: AgentOf
) -> None:
    """Where the model was seen to get nothing else, also if the reason is another result."""
    agent = agent_of(name)
    command = says(**answer, additional_context="mind the gap")
    agent.project.hooks({"event": "post_tool_use", "command": command})
    told = agent.fire(agent.ran(), event=agent.events["post"])
    assert (without_origin(str(told.json["reason"])), told.context) == (f"{reason}\n\nmind the gap", "")


@rows("name", AGENTS)
def test_what_a_tool_gave_is_seen(name: str, agent_of: AgentOf) -> None:
    """As text, whatever the agent wraps it in."""
    agent = agent_of(name)
    agent.project.hooks({"event": "post_tool_use", "matcher": "bash", "command": "cat > seen"})
    agent.fire(agent.ran("ls", "a file"), event=agent.events["post"])
    seen = json.loads((agent.project.root / "seen").read_text())
    assert (seen["tool_result_output"], seen["tool_args"]["command"]) == ("a file", "ls")
    assert (seen["agent"], seen["event"], seen["session_id"]) == (name, "post_tool_use", "s1")
    assert "payload" not in seen


PROMPT_HOOKS: tuple[dict[str, Any], ...] = (
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


@rows("name", [name for name in AGENTS if name not in ("cline", "vibe", "grok")])
def test_a_prompt_can_be_kept_from_the_model(name: str, agent_of: AgentOf) -> None:
    """And text can be added to it."""
    agent = agent_of(name)
    agent.project.hooks(*PROMPT_HOOKS)
    told = agent.fire(agent.prompt("the secret"), event=agent.events["prompt"])
    assert without_origin(str(told.json.get("reason", told.json.get("refuse")))) == "not that"
    assert agent.fire(agent.prompt("hello"), event=agent.events["prompt"]).context == "it is Monday"


def test_grok_gets_the_text_of_a_prompt_with_the_next_tool(project: Project) -> None:
    """It takes none with the prompt, which it can be made to drop."""
    grok = Agent("grok", project)
    project.hooks(*PROMPT_HOOKS)
    assert without_origin(grok.fire(grok.prompt("the secret")).json["reason"]) == "not that"
    assert grok.fire(grok.prompt("hello")).context == ""
    assert grok.fire(grok.shell()).context == "it is Monday"


def test_cline_keeps_no_prompt_from_the_model(project: Project) -> None:
    """It has no such event."""
    cline = Agent("cline", project)
    project.hooks(*PROMPT_HOOKS)
    assert cline.fire(cline.prompt("the secret"), event=cline.events["prompt"]).json == {}
    assert "block -> nothing" in str(project.audit()[-1]["degraded"])


NOTICE = "the turn may end now, after being blocked 8 times in a row: run the tests"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("agent", "person"),
    [
        *((name, NOTICE) for name in ("claude", "codex", "gemini", "qwen", "opencode", "kilo", "pi", "vibe")),
        *((name, "") for name in ("copilot", "grok")),
    ],
    indirect=["agent"],
)
def test_an_agent_is_kept_going_and_not_for_ever(agent: Agent, person: str) -> None:
    """A block of the end of a turn is the next instruction, eight times in a row; then it may end, with a notice."""
    agent.project.hooks({"event": "stop", "command": says(action="block", message="run the tests")})
    for _ in range(8):
        told = agent.fire(agent.stop(), event=agent.events["stop"])
        assert told.json.get("reason", told.json.get("go_on")) == "run the tests"
    told = agent.fire(agent.stop(), event=agent.events["stop"])
    assert "decision" not in told.json
    assert "go_on" not in told.json
    assert told.person == person
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


@rows("name", AGENTS)
def test_a_file_that_is_written_is_seen_as_a_write(name: str, agent_of: AgentOf) -> None:
    """Before it is written by its path and content, and afterwards as a file that changed."""
    agent = agent_of(name)
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


@rows("name", AGENTS)
def test_no_hook_means_no_word(name: str, agent_of: AgentOf) -> None:
    """Where nothing is declared for the event nothing is printed, and the tool runs."""
    agent = agent_of(name)
    messages = {"pre": agent.shell(), "post": agent.ran(), "stop": agent.stop()}
    if "prompt" in agent.events:
        messages["prompt"] = agent.prompt()
    for event, message in messages.items():
        told = agent.fire(message, event=agent.events[event])
        assert (told.status, told.stdout, told.stderr) == (0, b"", ""), event


def check_failure(agent: Agent, broken: str) -> None:
    """With `on_failure: continue` the tool runs and the user is notified; with `block` it does not."""
    agent.project.hooks({"command": broken, "timeout": 0.3})
    went_on = agent.fire(agent.shell(), event=agent.events["pre"])
    assert went_on.reason is None
    assert "hook hook failed" in person_of(agent, went_on)
    agent.project.hooks({"command": broken, "timeout": 0.3, "on_failure": "block"})
    assert "hook hook failed" in str(agent.fire(agent.shell(), event=agent.events["pre"]).reason)


@rows("broken", ["exit 7", "./nowhere.sh", "sleep 300", "echo gibberish", "kill -9 $$"])
def test_a_hook_that_fails_blocks_or_not_as_it_is_declared(broken: str, agent_of: AgentOf) -> None:
    """In whichever way it fails."""
    check_failure(agent_of("claude"), broken)


@rows("name", AGENTS)
def test_every_agent_hears_of_a_hook_that_fails(name: str, agent_of: AgentOf) -> None:
    """In the form of each."""
    check_failure(agent_of(name), "exit 7")


@rows("matcher", ["Bash", "run_shell_command", "Shell", "run_commands", "exec_command", "Read|Bash"])
def test_any_agent_s_name_of_a_tool_means_it_in_every_agent(matcher: str, agent: Agent) -> None:
    """In a matcher: who knows one agent guards all."""
    agent.project.user_hooks({"name": "guard", "matcher": matcher, "command": "echo no >&2; exit 2"})
    assert str(agent.fire(agent.shell(), event=agent.events["pre"]).reason).startswith("no")
    assert agent.fire(agent.write("a.txt"), event=agent.events["pre"]).reason is None


@rows("matcher", ["Write|Edit", "write_file|replace", "apply_patch|create"])
def test_so_do_the_names_of_those_that_write(matcher: str, agent: Agent) -> None:
    """An agent that patches files does so by its calls."""
    agent.project.user_hooks({"name": "guard", "matcher": matcher, "command": "echo no >&2; exit 2"})
    assert str(agent.fire(agent.write("a.txt"), event=agent.events["pre"]).reason).startswith("no")
    assert agent.fire(agent.shell(), event=agent.events["pre"]).reason is None


@rows(
    "tool, args, matcher, when",
    [
        ("run_it", {"command": "rm x"}, "bash", {"tool_args.command": "rm *"}),
        ("run_it", {"cmd": ["rm", "x"]}, "bash", {"tool_args.command": "rm *"}),
        ("exec_command", {"cmd": "rm x"}, "bash", {"tool_args.command": "rm *"}),
        ("exec_command", {"command": "rm x"}, "bash", {"tool_args.command": "rm *"}),
        ("read_many_files", {"include": ["a.txt", "b.env"]}, "read", {"tool_args.file_path": "*.env"}),
        ("read_many_files", {"paths": ["a.txt", "b.env"]}, "read", {"file_path": "*.env"}),
        ("view_image", {"path": "/a/b.env"}, "read", {"tool_args.file_path": "*.env"}),
        ("list_directory", {"dir_path": "/a"}, "glob", {"tool_args.dir_path": "/a"}),
        ("run_typescript", {"code": "rm x"}, "bash", {"tool_args.command": "rm *"}),
    ],
)
def test_a_tool_in_no_table_is_the_one_that_its_arguments_show(
    tool: str, args: dict[str, Any], matcher: str, when: dict[str, str], agent: Agent
) -> None:
    """In every agent: one that runs, reads or lists is guarded as the known ones."""
    agent.project.user_hooks({"name": "guard", "matcher": matcher, "when": when, "command": "echo no >&2; exit 2"})
    told = agent.fire(agent.call(tool, args), event=agent.events["pre"])
    # Who runs Claude Code's hooks with such a tool is not known, and refused in every form; Cline's own tools only are
    # refused by arguments that they reject.
    unusual = told.stderr == "hookrun: no\n" or told.json.get("cancel") is True
    assert unusual or str(told.reason).startswith("no")


@rows("tool", ["TodoWrite", "todo_write", "write_bash", "update_plan"])
def test_tools_of_the_agents_own_stay_what_they_are(tool: str, agent: Agent) -> None:
    """They run nothing."""
    agent.project.user_hooks({"name": "guard", "matcher": "bash|read|write", "command": "echo no >&2; exit 2"})
    assert agent.fire(agent.call(tool, {"text": "x"}), event=agent.events["pre"]).reason is None
