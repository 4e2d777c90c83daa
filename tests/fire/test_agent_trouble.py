"""Failures around a run for an agent: an internal error never refuses a call, and is always reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from hookrun import agents as table
from hookrun.agents.base import native_event
from hookrun.core.state import CurrentRun
from hookrun.fire.agent import AgentFire
from hookrun.fire.command import FireOptions
from tests.cli.terminal import at_terminal
from tests.conftest import Project
from tests.fire.agents import AGENTS, Agent, AgentOf, call, person_of, run, says, without_origin
from tests.rows import rows
from tests.waiting import limit

pytestmark = pytest.mark.sampled(7)

NOTHING = (0, b"", "")


@pytest.fixture
def copilot(project: Project) -> Agent:
    """Return Copilot CLI."""
    return Agent("copilot", project)


def pre(agent: Agent) -> str:
    """Return the agent's name for the event before a tool."""
    return agent.events["pre"]


def test_declarations_that_cannot_be_read_and_never_were_approved_refuse_nothing(agent: Agent) -> None:
    """The user is notified each time at a gate; elsewhere, or by way of the model, once a session."""
    (agent.project.root / "coder.json").write_text('{"hooks": [')
    told = agent.fire(agent.shell(), event=pre(agent))
    assert told.reason is None
    person = person_of(agent, told)
    assert "hookrun failed" in person
    assert "coder.json" in person
    able = table.load(agent.name).RESPONSE_FORMATS[pre(agent)].capabilities
    heard = person_of(agent, agent.fire(agent.shell(), event=pre(agent)))
    assert ("hookrun failed" in heard) == (not able.isdisjoint(("user_message", "user_message later")))
    again = agent.fire(agent.ran(), event=agent.events["post"])
    assert (again.status, again.stdout, again.stderr) == NOTHING
    assert "  problem: " in agent.fire(agent.shell(), "--explain", event=pre(agent)).stderr
    assert all("coder.json" in str(record["problems"]) for record in agent.project.audit())
    other = json.loads(json.dumps(agent.shell()).replace('"s1"', '"s2"'))
    told = agent.fire(other, event=pre(agent))
    assert "hookrun failed" in person_of(agent, told, "s2")


def test_other_hooks_still_have_their_say(agent: Agent) -> None:
    """A project that cannot be read does not switch off the user's guards."""
    agent.project.user_hooks({"command": "echo no >&2; exit 2"})
    (agent.project.root / "coder.json").write_text('{"hooks": [')
    assert str(agent.fire(agent.shell(), event=pre(agent)).reason).startswith("no")


def test_trouble_refuses_where_the_user_asks_for_it(agent: Agent) -> None:
    """`on_error: block` in the user's settings; every time, not once."""
    agent.project.user_hooks({"event": "session_start", "command": "true"}, on_error="block")
    (agent.project.root / "coder.json").write_text('{"hooks": [')
    for _ in range(2):
        assert "hookrun failed" in str(agent.fire(agent.shell(), event=pre(agent)).reason)
    stop = agent.fire(agent.stop(), event=agent.events["stop"])
    assert "decision" not in stop.json
    assert "go_on" not in stop.json


def test_a_project_cannot_ask_for_it(claude: Agent) -> None:
    """`on_error` in a project is an error, and refuses nothing."""
    claude.project.hooks({"command": "true"}, on_error="block")
    assert claude.fire(claude.shell()).reason is None


BAD = (b"nonsense", b"", b"[1]", b'{"a":', b"\xff\xfe")
UNREAD = [*(("claude", sent) for sent in BAD), *((name, b"nonsense") for name in AGENTS if name != "cline")]


@rows("name, sent", [*UNREAD, ("copilot", b""), ("opencode", b"[1]")])
def test_a_message_that_cannot_be_read_refuses_nothing(name: str, sent: bytes, agent_of: AgentOf) -> None:
    """It is reported; with `on_error: block` it is answered as a tool call is, unless the line names another event."""
    agent = agent_of(name)
    told = agent.fire(sent, event=pre(agent))
    assert told.reason is None
    assert "hookrun failed" in told.person
    agent.project.user_hooks({"event": "session_start", "command": "true"}, on_error="block")
    assert "hookrun failed" in str(agent.fire(sent).reason)


def test_a_message_that_cannot_be_read_ends_clines_run(project: Project) -> None:
    """With `on_error: block`: of which tool it is cannot be known, and then only the run can be refused."""
    cline = Agent("cline", project)
    told = cline.fire(b"nonsense", event=pre(cline))
    assert told.reason is None
    assert "hookrun failed" in told.person
    project.user_hooks({"event": "session_start", "command": "true"}, on_error="block")
    assert cline.fire(b"nonsense").json["cancel"]


def test_an_event_that_nobody_knows_refuses_nothing(agent: Agent) -> None:
    """A later version may have more events than this hookrun. Without a tool there is nothing to judge."""
    message = json.loads(json.dumps(agent.stop()).replace(f'"{agent.events["stop"]}"', '"AfterBreakfast"'))
    told = agent.fire(message)
    assert told.status == 0
    assert 'unknown event "AfterBreakfast"' in str(agent.project.audit()[-1]["error"])


def test_a_tool_call_of_an_event_that_nobody_knows_is_judged(agent: Agent) -> None:
    """As one before the tool, if no event is installed either; a refusal is an exit status and an answer."""
    agent.project.hooks({"name": "guard", "matcher": "bash", "command": "cat > seen; echo no >&2; exit 2"})
    message = json.loads(json.dumps(agent.shell()).replace(f'"{pre(agent)}"', '"BeforeBreakfast"'))
    told = agent.fire(message)
    assert (told.status, "no" in without_origin(told.stderr).split()) == (2, True)
    told.status = 0
    assert str(told.reason).startswith("no")
    assert json.loads((agent.project.root / "seen").read_text())["agent_event"] == "BeforeBreakfast"
    other = json.loads(json.dumps(agent.write("a.txt")).replace(f'"{pre(agent)}"', '"BeforeBreakfast"'))
    assert agent.fire(other).status == 0


@rows("name, sent", [*((name, "BeforeBreakfast") for name in AGENTS), ("claude", "PreToolUseV2")])
def test_the_installed_event_counts_where_the_message_s_is_unknown(name: str, sent: str, agent_of: AgentOf) -> None:
    """A refusal is given in the form of that event, and the user is notified once a session."""
    agent = agent_of(name)
    agent.project.hooks({"name": "guard", "matcher": "bash", "command": "cat > seen; echo no >&2; exit 2"})
    message = json.loads(json.dumps(agent.shell()).replace(f'"{pre(agent)}"', f'"{sent}"'))
    told = agent.fire(message, event=pre(agent))
    assert str(told.reason).startswith("no")
    seen = json.loads((agent.project.root / "seen").read_text())
    assert (seen["event"], seen["agent_event"]) == ("pre_tool_use", sent)
    notice = f'sent an event that hookrun does not know: "{sent}" is treated as {pre(agent)}'
    assert notice in str(told.json) + person_of(agent, told)
    again = agent.fire(message, event=pre(agent))
    assert again.reason is not None
    assert notice not in str(again.json)


OTHER_NAMES = ("preToolUse", "BeforeTool", "tool.execute.before", "pre_tool_use")


@rows("name, sent", [*(("claude", sent) for sent in OTHER_NAMES), *((name, "pre_tool_use") for name in AGENTS[1:])])
def test_another_agent_s_name_of_an_event_loses_no_refusal(name: str, sent: str, agent_of: AgentOf) -> None:
    """With or without an event in the installed line, which counts even if that name means another event to hookrun."""
    agent = agent_of(name)
    agent.project.hooks({"matcher": "bash", "command": "echo no >&2; exit 2"})
    message = json.loads(json.dumps(agent.shell()).replace(f'"{pre(agent)}"', f'"{sent}"'))
    for event in ("", pre(agent)):
        assert str(agent.fire(message, event=event).reason).startswith("no")


def test_a_name_that_means_another_event_does_not_count(agent: Agent) -> None:
    """It is not the agent's name of that: the installed event counts, and the user is notified."""
    agent.project.hooks({"matcher": "bash", "command": "echo no >&2; exit 2"})
    message = json.loads(json.dumps(agent.shell()).replace(f'"{pre(agent)}"', '"agent.end"'))
    told = agent.fire(message, event=pre(agent))
    assert str(told.reason).startswith("no")
    assert '"agent.end" is treated as' in str(told.json) + person_of(agent, told)


def test_an_agent_s_event_without_a_name_of_ours_can_be_declared(claude: Agent) -> None:
    """As one of the host's own events, by the agent's name for it."""
    claude.project.hooks({"event": "TaskCreated", "command": "cat > seen"}, events=["TaskCreated"])
    message = {**claude.stop(), "hook_event_name": "TaskCreated", "task_subject": "Add login"}
    assert (claude.fire(message).status, claude.fire(message).stdout) == (0, b"")
    seen = json.loads((claude.project.root / "seen").read_text())
    assert (seen["event"], seen["task_subject"]) == ("TaskCreated", "Add login")


def test_fields_of_a_later_version_change_nothing(agent: Agent) -> None:
    """More fields, and fields that hold something else than they used to: the guard still guards."""
    agent.project.hooks({"matcher": "bash", "command": "cat > seen; exit 2"})
    message = {**agent.shell(), "novel": {"deep": [1]}, "metadata": 5, "version": "x", "tool_use_id": 7, "agent": []}
    assert agent.fire(message, event=pre(agent)).reason is not None
    seen = json.loads((agent.project.root / "seen").read_text())
    assert (seen["agent"], seen["metadata"], seen["version"]) == (agent.name, {}, 1)


def test_a_large_message_is_read(agent: Agent) -> None:
    """A command of three million characters is accepted."""
    agent.project.hooks({"matcher": "bash", "when": {"tool_args.command": "*rm -rf*"}, "command": "exit 2"})
    command = "echo " + "x" * 3_000_000
    assert agent.fire(agent.shell(command), event=pre(agent)).json == {}
    assert agent.fire(agent.shell(command + "; rm -rf /"), event=pre(agent)).reason is not None


def check_wrong_line(agent: Agent, *arguments: str) -> None:
    """Check an installed line that cannot be read, so that its `--home` does not count and the account's home does."""
    home = str(agent.project.home)
    told = agent.fire_changed("another_account.py", agent.shell(), "--home", home, *arguments, HOME_OF_ACCOUNT=home)
    assert told.reason is None
    assert "hookrun failed" in told.person


@pytest.mark.only_cold("replaces what the interpreter that is started has")
@rows(
    "arguments",
    [("--deadline", "soon"), ("a", "b"), ("--ctx",)],
    ids=["deadline", "two events", "context"],
)
def test_a_wiring_that_is_wrong_refuses_nothing(arguments: tuple[str, ...], agent_of: AgentOf) -> None:
    """Exit status 0 and a message for the user: on Copilot any other status would refuse every tool."""
    check_wrong_line(agent_of("copilot"), *arguments)


@pytest.mark.only_cold("replaces what the interpreter that is started has")
@rows("home", ["--home=/nowhere/at/all", "--home="])
def test_a_home_that_is_gone_may_have_had_guards(home: str, agent_of: AgentOf) -> None:
    """As where its volume is not mounted: refused, until the user pauses hooks in the account's home."""
    agent = agent_of("copilot")
    account = str(agent.project.home)
    told = agent.fire_changed("another_account.py", agent.shell(), home, HOME_OF_ACCOUNT=account)
    assert "is not a directory" in str(told.reason)
    assert "`hookrun disable --all --for 10m`" in str(told.reason)
    assert at_terminal(agent.project, "disable", "--all", "--for", "10m").status == 0
    assert agent.fire_changed("another_account.py", agent.shell(), home, HOME_OF_ACCOUNT=account).reason is None


@pytest.mark.only_cold("replaces what the interpreter that is started has")
def test_an_unknown_option_refuses_nothing(agent: Agent) -> None:
    """It may be one of another version."""
    check_wrong_line(agent, "--bogus")


def test_an_agent_that_is_not_known_is_an_error_and_no_refusal(project: Project) -> None:
    """Exit status 1, which only Copilot takes for a refusal; if Copilot seems to be the caller it is 0."""
    for env, status in (({}, 1), ({"COPILOT_CLI": "1"}, 0)):
        done = call(project, "fire", "--agent", "copliot", env=env)
        assert (done.returncode, done.stdout) == (status, b"")
        assert b'unknown agent "copliot"; did you mean "copilot"?' in done.stderr


def test_an_audit_that_cannot_be_written_changes_nothing(agent: Agent) -> None:
    """The verdict does not depend on it."""
    state = agent.project.home / ".local" / "state"
    state.mkdir(parents=True)
    (state / "hookrun").write_text("a file where a directory should be")
    agent.project.hooks({"command": "exit 2"})
    assert agent.fire(agent.shell(), event=pre(agent)).reason is not None


def test_a_session_that_cannot_be_remembered_changes_nothing(claude: Agent) -> None:
    """How often a turn was kept going is not known then."""
    state = claude.project.home / ".local" / "state"
    state.mkdir(parents=True)
    (state / "hookrun").write_text("a file where a directory should be")
    claude.project.hooks({"event": "stop", "command": says(action="block", message="R")})
    assert claude.fire(claude.stop()).json["reason"] == "R"


ENVIRONMENTS = (
    {"HOOKRUN": "0"},
    {"HOOKRUN_SKIP": "guard"},
    {"HOME": "/nowhere"},
    {"XDG_CONFIG_HOME": "/nowhere", "XDG_STATE_HOME": "/nowhere"},
    {"HOOKRUN_TRUST": "all"},
)


@rows("env", ENVIRONMENTS, ids=map(str, ENVIRONMENTS))
def test_the_environment_switches_no_guard_off(env: dict[str, str], agent: Agent) -> None:
    """A project can set an agent's environment: it is ignored."""
    agent.project.user_hooks({"name": "guard", "command": "echo guarded >&2; exit 2"})
    assert agent.fire(agent.shell(), env=env, event=pre(agent)).reason == "guarded"


def test_a_made_up_nesting_switches_no_guard_off(agent: Agent) -> None:
    """That hooks run three deep is verified among our ancestors: a project could set the variable."""
    agent.project.user_hooks({"command": "echo guarded >&2; exit 2"})
    told = agent.fire(agent.shell(), env={"HOOKRUN_CHAIN": "a;b;c;"}, event=pre(agent))
    assert told.reason == "guarded"


def test_hooks_within_hooks_end_at_three(claude: Agent) -> None:
    """A hook that starts an agent which runs it again: the user is notified, and the recursion ends."""
    project = claude.project
    (project.root / "message.json").write_text(json.dumps(claude.shell()))
    fire = " ".join(project.command("fire", "--agent", "claude", "--home", str(project.home)))
    project.hooks({"command": f"echo x >> runs; {fire} < message.json >> inner; exit 0"})
    assert claude.fire(claude.shell()).json == {}
    assert (project.root / "runs").read_text() == "x\n" * 3
    assert "hooks run inside hooks 3 levels deep" in (project.root / "inner").read_text()


@pytest.mark.only_cold("replaces what the interpreter that is started has")
def test_a_mistake_of_ours_loses_no_refusal(project: Project) -> None:
    """If the answer cannot be built in full, a plain refusal is sent."""
    codex = Agent("codex", project)
    project.hooks({"command": "echo no >&2; exit 2"})
    project.approve()
    told = codex.fire_changed("no_answer.py", codex.shell(), "--home", str(project.home))
    assert told.own["permissionDecisionReason"] == "no"
    assert "MemoryError" in str(project.audit()[-1]["error"])


@pytest.mark.only_cold("replaces what the interpreter that is started has")
def test_the_home_is_the_account_s(claude: Agent) -> None:
    """As in the password database; HOME is ignored."""
    claude.project.user_hooks({"command": "echo guarded >&2; exit 2"})
    home = {"HOME_OF_ACCOUNT": str(claude.project.home), "HOME": "/nowhere"}
    assert claude.fire_changed("another_account.py", claude.shell(), **home).reason == "guarded"


def test_a_deadline_is_kept_where_the_wiring_names_none(project: Project) -> None:
    """Codex gives SessionEnd one second, of which a part is for the answer: a hook that needs 0.7 s has timed out."""
    agent = Agent("codex", project)
    project.hooks({"event": "session_end", "command": "sleep 0.7"})
    assert agent.fire({**agent.stop(), "hook_event_name": "SessionEnd"}).status == 0
    [record] = [record for record in project.audit() if record["kind"] == "hook"]
    assert (record["failure"], record["detail"]) == ("timeout", "no answer by the deadline")


@pytest.mark.only_cold("runs in this process")
def test_half_a_second_of_an_agent_s_limit_is_kept_for_the_answer(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks end before the agent ends hookrun: their outcome is decided and recorded."""
    for name in ("home", "for_agent"):
        monkeypatch.setattr(CurrentRun, name, getattr(CurrentRun, name))  # the run sets them, for its process
    codex, options = table.load("codex"), FireOptions()
    options.home, options.ctx = str(project.home), str(project.root / "message.json")
    for event, kept in (("SessionEnd", 0.5), ("PreToolUse", 599.5)):
        message = {"hook_event_name": event, "cwd": str(project.root), "tool_name": "shell", "tool_input": {}}
        (project.root / "message.json").write_text(json.dumps(message))
        fire = AgentFire(codex, options, "")
        assert (fire.run(), fire.errors) == (0, [])
        assert fire.invocation.deadline == pytest.approx(fire.invocation.started + kept)


def test_the_wiring_s_deadline_counts(agent: Agent) -> None:
    """A hook that has not answered by then has timed out, and `on_failure` decides."""
    agent.project.hooks({"command": "sleep 300", "on_failure": "block"})
    told = agent.fire(agent.shell(), "--deadline", "0.4", event=pre(agent))
    assert "(timeout)" in str(told.reason)


SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@rows("number", SIGNALS)
def test_copilot_sees_no_other_exit_status_than_0(number: signal.Signals, agent_of: AgentOf) -> None:
    """A signal is no refusal: with any other exit status it would be one."""
    copilot = agent_of("copilot")
    process = running_hook(copilot)
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=limit())
    assert (process.returncode, stdout) == (0, b"")


@rows("number", SIGNALS)
def test_copilot_sees_none_either_before_the_message_is_read(number: signal.Signals, agent_of: AgentOf) -> None:
    """There is no event yet."""
    copilot = agent_of("copilot")
    process = copilot.project.open("fire", "--agent", "copilot", "--home", str(copilot.project.home))
    assert process.stdin is not None
    process.stdin.write(b" " * (1 << 20))  # more than a pipe holds: this returns when some of it was read
    process.stdin.flush()
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=limit())
    assert (process.returncode, stdout) == (0, b"")


def test_a_signal_ends_the_others_with_its_number(claude: Agent) -> None:
    """As without an agent: 128 + n, and every hook is ended."""
    process = running_hook(claude)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=limit())
    assert process.returncode == 128 + signal.SIGTERM


def running_hook(agent: Agent) -> subprocess.Popen[bytes]:
    """Start a run whose hook runs and does not end by itself."""
    project = agent.project
    os.mkfifo(project.root / "running")
    project.hooks({"command": "echo > running; sleep 300"})
    project.approve()
    process = project.start(agent.shell(), "fire", "--agent", agent.name, "--home", str(project.home))
    (project.root / "running").read_text()
    return process


@pytest.mark.may_be_cold({"streams"})
def test_a_refusal_that_stdout_does_not_take_is_an_exit_status(agent: Agent) -> None:
    """No other way to answer is left."""
    agent.project.hooks({"command": "echo no >&2; exit 2"})
    agent.project.approve()
    line = agent.project.command("fire", "--agent", agent.name, pre(agent), "--home", str(agent.project.home))
    done = run(agent.project, ["sh", "-c", 'exec "$@" >&-', "sh", *line], stdin=agent.shell())
    assert done.returncode == 2
    assert b"no" in done.stderr


def test_half_a_character_voids_no_answer(agent: Agent) -> None:
    """A lone surrogate in a reason: some parsers would refuse the whole answer, and the tool would run."""
    agent.project.hooks({"command": 'cat >/dev/null; printf \'%s\' \'{"action": "block", "message": "no \\ud800!"}\''})
    assert agent.fire(agent.shell(), event=pre(agent)).reason == "no \ufffd!"


def test_degradations_are_in_the_audit_in_explain_and_told_once(project: Project) -> None:
    """What Codex does not support is shown in the session's first answer, and in every record."""
    agent = Agent("codex", project)
    project.hooks({"command": says(action="ask", message="sure?")})
    told = agent.fire(agent.shell(), "--explain")
    assert "Codex CLI does not support all of this at PreToolUse: ask -> block" in told.person
    assert "degraded: ask -> block: it cannot ask" in told.stderr
    assert "answer to Codex CLI: {" in told.stderr
    assert agent.fire(agent.shell()).person == ""
    assert [record.get("degraded") for record in project.audit() if record["kind"] == "fire"] == [["ask -> block"]] * 2


def test_the_project_is_where_the_agent_says(claude: Agent, tmp_path: Path) -> None:
    """Its variable first, then its message, then where we are; never a directory that does not exist."""
    claude.project.hooks({"command": "pwd > here"})
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    (elsewhere / "coder.json").write_text(
        json.dumps({"hooks": [{"name": "other", "event": "pre_tool_use", "command": "echo other >&2; exit 2"}]})
    )
    claude.project.approve(elsewhere)
    assert claude.fire(claude.shell(), env={"CLAUDE_PROJECT_DIR": str(elsewhere)}).reason == "other"
    for gone in ("/nowhere/at/all", "relative", ""):
        assert claude.fire(claude.shell(), env={"CLAUDE_PROJECT_DIR": gone}).reason is None
    assert claude.fire({**claude.shell(), "cwd": str(elsewhere)}).reason == "other"
    below = claude.project.root / "src" / "deep"
    below.mkdir(parents=True)
    (claude.project.root / "here").unlink()
    claude.fire({**claude.shell(), "cwd": str(below)})
    assert (claude.project.root / "here").read_text().strip() == str(claude.project.root)


def test_copilot_is_answered_in_its_own_words_through_claudes_settings(claude: Agent, copilot: Agent) -> None:
    """It runs the hooks of a project's `.claude/settings.json`, too; hooks get the real agent."""
    copilot.project.hooks({"matcher": "bash", "agents": ["copilot"], "command": "echo no >&2; exit 2"})
    told = claude.fire(copilot.shell())
    said = {name: without_origin(str(value)) for name, value in told.json.items()}
    assert said == {"permissionDecision": "deny", "permissionDecisionReason": "no"}
    assert claude.fire(claude.shell()).json == {}


@rows("place", ["home/.copilot/hooks/hookrun.json", "project/.github/hooks/any.json"])
@rows("name", ["PreToolUse", "preToolUse"])
def test_a_wiring_of_copilots_own_has_precedence(place: str, name: str, agent_of: AgentOf) -> None:
    """No hook runs twice: this line yields to that one, and the audit records it."""
    copilot = agent_of("copilot")
    copilot.project.hooks({"command": "echo ran >> ran; exit 2"})
    path = copilot.project.root.parent / place
    path.parent.mkdir(parents=True)
    command = {"type": "command", "bash": "/usr/bin/hookrun fire --agent copilot PreToolUse"}
    path.write_text(json.dumps({"version": 1, "hooks": {name: [command]}}))
    through_claude = Agent("claude", copilot.project)
    told = through_claude.fire(copilot.shell())
    assert (told.status, told.stdout) == (0, b"")
    assert not (copilot.project.root / "ran").exists()
    assert "Copilot CLI has its own installation for PreToolUse" in str(copilot.project.audit()[-1]["left_to"])
    assert copilot.fire(copilot.shell()).reason is not None


@rows(
    "text",
    [
        "{",
        '{"hooks": {"Stop": [{"bash": "hookrun fire --agent copilot"}]}}',
        '{"hooks": {"PreToolUse": []}}',
        '{"hooks": {"Stop": [{"bash": "hookrun fire --agent copilot", "timeoutSec": 1%s}]}}' % ("0" * 400),
        '{"hooks": {"PreToolUse": [{"matcher": "edit", "hooks": [{"bash": "hookrun fire --agent copilot"}]}]}}',
    ],
)
def test_a_wiring_of_copilots_that_does_not_fire_this_event_does_not_count(text: str, copilot: Agent) -> None:
    """Better twice than never."""
    copilot.project.hooks({"command": "exit 2"})
    path = copilot.project.home / ".copilot" / "hooks" / "hookrun.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert Agent("claude", copilot.project).fire(copilot.shell()).json["permissionDecision"] == "deny"


def test_every_agent_has_what_an_agent_s_module_must_have() -> None:
    """The protocol is for the type checker; this is for the author of a new agent."""
    from hookrun.agents.types import Agent as Protocol

    wanted = [name for name in (*Protocol.__annotations__, *vars(Protocol)) if name.isupper()]
    assert len(wanted) == 13
    for name in table.AGENTS:
        module = table.load(name)
        assert [each for each in (*wanted, "read") if not hasattr(module, each)] == []
        assert name == module.NAME
        assert set(module.RESPONSE_FORMATS) <= set(module.EVENTS)
        assert native_event(module, "pre_tool_use") in module.RESPONSE_FORMATS
