"""A project that sets the environment of an agent or its user: decisions stay in force, and no guard is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import hookrun
from tests.cli.terminal import at_terminal
from tests.conftest import Project
from tests.fire.agents import Agent
from tests.torture.strangers import Stranger

pytestmark = pytest.mark.sampled(3)

RAN = "touch ran; exit 0"
REFUSE = "cat >/dev/null; echo no >&2; exit 2"


@pytest.fixture
def agent(project: Project) -> Stranger:
    """Return a project and an agent that works in it."""
    return Stranger(project, "agent")


def posing_home(project: Project, digests: list[str]) -> Path:
    """Turn a directory of the project into a home that has approved the project, with its own user layer."""
    home = project.root / "home"
    store = home / ".local" / "share" / "hookrun"
    store.mkdir(parents=True, mode=0o700)
    known = {"name": "guard", "source": "coder.json", "roots": {str(project.root): ""}, "time": 1}
    approved = {each: {**known, "declaration": "", "guards": True} for each in digests}
    (store / "trust.json").write_text(json.dumps({"version": 1, "approved": approved, "denied": [], "disabled": []}))
    (store / "trust.json").chmod(0o600)
    layer = home / ".config" / "hookrun"
    layer.mkdir(parents=True)
    mine = {"name": "mine", "event": "pre_tool_use", "command": f"touch {project.root}/ran"}
    (layer / "hooks.json").write_text(json.dumps({"hooks": [mine], "hookrun": {"trusted": digests}}))
    return home


def test_a_directory_of_the_repository_does_not_pose_as_the_user_layer(agent: Stranger) -> None:
    """HOME, XDG_* and every variable of hookrun's own point into the project: nothing of it counts for an agent."""
    project = agent.project
    project.hooks({"name": "guard", "command": RAN})
    digests = agent.digests()
    home = str(posing_home(project, digests))
    moved = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), home)
    own = {"HOOKRUN_HOME": home, "HOOKRUN_CONFIG_DIR": home, "HOOKRUN_TRUST": ",".join(digests)}
    answer = agent.fire(env={**moved, **own})
    assert answer.failures == {"guard": "untrusted"}
    assert not (project.root / "ran").exists()


@pytest.mark.only_cold("replaces what the interpreter that is started has")
def test_the_account_of_the_password_database_decides_where_no_home_is_named(agent: Stranger) -> None:
    """Without --home an agent's run looks up the account's home, whatever the environment says."""
    project = agent.project
    project.hooks({"name": "guard", "command": RAN, "on_failure": "block"})
    digests = agent.digests()
    home = str(posing_home(project, digests))
    claude = Agent("claude", project)
    variables = {"HOME": home, "XDG_DATA_HOME": home, "HOOKRUN_TRUST": ",".join(digests)}
    told = claude.fire_changed("another_account.py", claude.shell(), HOME_OF_ACCOUNT=str(project.home), **variables)
    assert "guard" in str(told.reason)
    assert not (project.root / "ran").exists()


def test_a_users_script_under_the_home_directory_is_not_a_projects(agent: Stranger) -> None:
    """`~/` in a user's declaration is the account's home, wherever HOME points."""
    project = agent.project
    (project.home / "guard.sh").write_text(f"#!/bin/sh\n{REFUSE}\n")
    (project.home / "guard.sh").chmod(0o755)
    project.script("guard.sh", f"#!/bin/sh\n{RAN}\n")
    project.user_hooks({"name": "guard", "command": "~/guard.sh"})
    assert agent.fire(env={"HOME": str(project.root)}).blocked
    assert not (project.root / "ran").exists()


def test_ci_approves_by_digest_on_the_command_line_or_in_the_users_settings(agent: Stranger) -> None:
    """`fire --trust` and the setting `trusted` count for exactly the digests they name."""
    project = agent.project
    project.hooks({"name": "guard", "command": REFUSE}, {"name": "other", "event": "stop", "command": RAN})
    guard, other = agent.digests()
    assert not agent.fire("pre_tool_use", "ls", "--trust", other).blocked
    assert agent.fire("pre_tool_use", "ls", "--trust", f"{other},{guard}").blocked
    assert agent.fire("pre_tool_use", "ls", "--trust", other, "--trust", guard).blocked
    assert not agent.fire().blocked
    project.user_hooks(trusted=[guard])
    assert agent.fire().blocked


def test_a_person_is_told_once_in_a_session_and_the_audit_each_time(agent: Stranger) -> None:
    """One line with the command to run, at the first run of a session; every run has its record."""
    agent.project.hooks({"name": "guard", "command": RAN})
    said = [agent.fire(session=session) for session in ("s1", "s1", "s2")]
    assert ["hookrun trust" in answer.output for answer in said] == [True, False, True]
    assert [answer.failures for answer in said] == [{"guard": "untrusted"}] * 3
    agent.project.hooks({"name": "guard", "command": RAN, "on_failure": "block"})
    refused = [json.loads(agent.fire(session="s3").output) for _ in range(2)]
    reasons = [answer["hookSpecificOutput"]["permissionDecisionReason"] for answer in refused]
    assert ["hookrun trust" in reason for reason in reasons] == [True, True]  # the model has it each time
    assert ["hookrun trust" in answer.get("systemMessage", "") for answer in refused] == [True, False]


# --- an agent that decides as the user, through its own shell


def test_an_agents_shell_tool_switches_nothing_off(agent: Stranger) -> None:
    """Without a terminal, whatever is on stdin, a command that takes a guard away does nothing."""
    project = agent.project
    project.hooks({"name": "guard", "command": REFUSE})
    agent.approve()
    for command in ("disable --all", "disable guard", "disable guard --for 5m", "trust --forget"):
        done = hookrun(project, *command.split())
        assert (done.status, "a terminal" in done.stderr) == (1, True), command
    disable = project.command("disable", "guard")
    answered = subprocess.run(
        disable, input=b"y\n" * 9, capture_output=True, cwd=project.root, env=project.environment(), check=False
    )
    assert (answered.returncode, b"a terminal" in answered.stderr) == (1, True)
    assert agent.fire().blocked


@pytest.mark.only_cold("decides about hooks and runs none")
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("mark", "command"),
    [
        ("CLAUDECODE", "trust --yes"),
        ("GEMINI_CLI", "disable --all"),
        ("QWEN_CODE", "enable guard"),
        ("COPILOT_CLI", "trust"),
        ("CODEX_CI", "disable guard"),
        ("CODEX_THREAD_ID", "enable --all"),
        ("HOOKRUN_CHAIN", "disable --all"),
        ("CODEX_SANDBOX", "enable guard"),
        ("OPENCODE", "trust"),
        ("CLINE_CONNECTOR_CLI_LAUNCH", "disable guard"),
        ("GROK_AGENT", "trust --yes"),
        ("KILO", "trust --forget"),
        ("AI_AGENT", "disable guard --for 5m"),
        ("PI_CODING_AGENT", "trust"),
    ],
)
def test_a_command_that_an_agent_or_a_hook_runs_is_refused_even_at_a_terminal(
    agent: Stranger, mark: str, command: str
) -> None:
    """If the agent marks its tools in the environment, a pseudo-terminal does not count as a user."""
    project = agent.project
    project.hooks({"name": "guard", "command": REFUSE})
    done = at_terminal(project, *command.replace("--yes", f"--yes {agent.digests()[0]}").split(), env={mark: "1;"})
    assert done.status == 1
    assert "an agent or a hook runs this command" in " ".join(done.screen.split())
    assert not (project.home / ".local/share/hookrun/trust.json").exists()


def test_what_an_agent_can_do_that_takes_the_trouble(agent: Stranger) -> None:
    """The limit stated in SECURITY.md: a separate terminal without the mark cannot be distinguished from a user."""
    project = agent.project
    project.hooks({"name": "guard", "command": "cat >/dev/null; exit 0"})
    assert at_terminal(project, "trust", answers=("y",)).status == 0
    assert agent.fire().failures == {"guard": None}


# --- shell text, templates and escape sequences in a project's declarations

NASTY = "$(touch ran)`touch ran`{{7*7}}%s"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202eevil"


@pytest.mark.only_cold("decides about hooks and runs none")
@pytest.mark.parametrize(
    ("command", "answers"),
    [
        (("list",), ()),
        (("list", "--json"), ()),
        (("trust", "--digest"), ()),
        (("trust",), ("q",)),
        (("trust", "--json"), ()),
        (("validate",), ()),
    ],
)
def test_nothing_a_project_declares_is_run_or_expanded_by_looking_at_it(
    agent: Stranger, command: tuple[str, ...], answers: tuple[str, ...]
) -> None:
    """Names, matchers, descriptions and commands are shown as they are, their escape sequences made visible."""
    project = agent.project
    project.script("hooks/x.sh", f"#!/bin/sh\n# {ESCAPES}\n")
    project.hooks(
        {
            "name": NASTY,
            "description": NASTY + ESCAPES,
            "matcher": NASTY + ESCAPES,
            "when": {"tool_args.command": NASTY + ESCAPES},
            "command": f"./hooks/x.sh {NASTY} {ESCAPES}",
            "metadata": {"a": ESCAPES},
        }
    )
    for shown in (hookrun(project, *command).stdout, at_terminal(project, *command, answers=answers).screen):
        visible = shown.replace("\n", "").replace("\x1b[0m", "").replace("\x1b[?25h", "")
        assert "\x07" not in visible
        assert "\x9b" not in visible
        assert "\u202e" not in visible
        assert "]0;owned\x07" not in visible
        assert "\x1b[2J" not in visible
    assert "{{7*7}}" in hookrun(project, "list").stdout
    assert not (project.root / "ran").exists()


@pytest.mark.only_cold("decides about hooks and runs none")
def test_completion_runs_and_offers_nothing_of_a_projects(agent: Stranger) -> None:
    """What a shell asks for at a tab has no text of the project in it."""
    project = agent.project
    project.hooks({"name": NASTY, "command": RAN})
    for line in ("hookrun disable ", "hookrun enable ", "hookrun trust ", "hookrun "):
        words = str(len(line.split()))
        done = hookrun(project, _HOOKRUN_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=words)
        assert "touch" not in done.stdout + done.stderr, line
    assert not (project.root / "ran").exists()


# --- what is decided, in other places and at other times


def test_a_moved_project_needs_no_new_consent(agent: Stranger) -> None:
    """Nor does a second worktree (tests/trust/test_other_projects.py); a copy is another repository, and does."""
    project = agent.project
    project.script("hooks/guard.sh", f"#!/bin/sh\n{REFUSE}\n")
    project.hooks({"name": "guard", "command": '"$HOOKRUN_PROJECT_DIR"/hooks/guard.sh', "files": ["hooks/**"]})
    agent.approve()
    second = project.root.parent / "elsewhere" / "copy"
    shutil.copytree(project.root, second)
    assert agent.fire(cwd=second).failures == {"guard": "untrusted"}
    project.root.rename(project.root.parent / "renamed")
    assert agent.fire(cwd=project.root.parent / "renamed").blocked


def write(project: Project, name: str, text: str) -> None:
    """Put a declaration file into the project."""
    (project.root / name).write_text(text)


@pytest.mark.only_cold("decides about hooks and runs none")
def test_reordering_reformatting_and_comments_ask_nothing(agent: Stranger) -> None:
    """What comes to the same thing is the same thing, however it is written; what does not is not."""
    project = agent.project
    first = "{name: a, event: stop, command: 'true'}"
    second = "{name: b, event: PreToolUse, args: [touch, ran], matcher: bash|write}"
    write(project, "hookrun.yaml", f"hooks:\n- {first}\n- {second}\n")
    before = agent.digests()
    write(
        project,
        "hookrun.yaml",
        "# guards\nhookrun:\n  defaults: {timeout: 30, on_failure: continue}\nhooks:\n"
        "- name: b\n  event: pre_tool_use\n  matcher: [write, bash]\n  args:\n  - touch\n  - ran\n"
        "- name: a # first\n  description: says nothing new\n  event: [stop]\n  priority: 500\n  command: 'true'\n",
    )
    assert sorted(agent.digests()) == sorted(before)
    first, second = first.replace("true", "true "), second.replace("|write", "")
    write(project, "hookrun.yaml", f"hooks:\n- {first}\n- {second}\n")
    assert not set(agent.digests()) & set(before)


@pytest.mark.only_cold("decides about hooks and runs none")
def test_a_newer_hookrun_makes_the_same_digest(agent: Stranger) -> None:
    """As long as the coverage rule is the same, an update asks for no new approval: a digest of rule 2."""
    project = agent.project
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 0\n")
    project.hooks({"name": "guard", "command": "./hooks/guard.sh --strict", "when": {"tool_name": "b*"}, "timeout": 5})
    assert agent.digests() == ["sha256:6248c03b27b682e1f294a93ecbece999a2f39f3fe3b7927579747618a45d19a1"]


def test_a_branch_that_was_approved_before_is_not_asked_about_again(agent: Stranger) -> None:
    """Approvals add up: going back to what was approved needs no new one."""
    project = agent.project
    for text in ("one", "two"):
        project.hooks({"name": "guard", "command": f"echo {text} >&2; exit 2"})
        agent.approve()
    project.hooks({"name": "guard", "command": "echo one >&2; exit 2"})
    assert agent.fire().blocked


def test_what_is_disabled_never_runs_and_is_no_failure(agent: Stranger) -> None:
    """Listed and in the audit of every fire; in a second worktree too, and after its script changed; until `enable`."""
    project = agent.project
    project.script("guard.sh", "#!/bin/sh\ntouch ran\nexit 2\n")
    project.hooks({"name": "guard", "command": "./guard.sh", "on_failure": "block"})
    agent.approve()
    copy = project.root.parent / "copy"
    shutil.copytree(project.root, copy)
    assert at_terminal(project, "disable", "guard").status == 0
    for answer in (agent.fire(), agent.fire(cwd=copy)):
        assert (answer.blocked, answer.failures) == (False, {})
        assert answer.fire["switched_off"] == ["guard: disabled"]
    assert "disabled" in hookrun(project, "list").stdout
    assert project.fire().status == 0  # the user's own fire as well
    project.script("guard.sh", "#!/bin/sh\ntouch ran\n")
    assert agent.fire().failures == {}
    assert not (project.root / "ran").exists()
    assert hookrun(project, "enable", "guard").status == 0
    assert agent.fire().failures == {"guard": "untrusted"}


def test_what_is_disabled_for_a_time_is_the_users_and_every_fire_says_so(agent: Stranger) -> None:
    """All hooks but managed ones, or one; the user is notified each time; it ends on request or when it expires."""
    project = agent.project
    project.user_hooks({"name": "mine", "command": REFUSE}, {"name": "other", "command": "true"})
    assert at_terminal(project, "disable", "mine", "--for", "10m").status == 0
    for _ in range(2):
        answer = agent.fire()
        assert not answer.blocked
        assert "mine: disabled until" in answer.output
        assert list(answer.failures) == ["other"]
    assert "disabled until" in hookrun(project, "list").stdout
    assert hookrun(project, "enable", "mine").status == 0
    assert agent.fire().blocked
    assert at_terminal(project, "disable", "--all").status == 0
    answer = agent.fire()
    assert answer.failures == {}
    for shown in (answer.output, hookrun(project, "log", "-n", "1").stdout):
        assert shown.count("disabled until") == shown.count("mine, other: disabled until") == 1
    store = project.home / ".local/share/hookrun/trust.json"
    for begin, until in ((0, 1), (2**40, 2**41)):  # one that has expired; one from before the clock was set back
        data = json.loads(store.read_text())
        data["disabled"] = [{"name": None, "root": "", "digest": "", "time": begin, "until": until}]
        store.write_text(json.dumps(data))
        assert agent.fire().blocked


@pytest.mark.only_cold("decides about hooks and runs none")
@pytest.mark.parametrize(
    ("words", "off", "config"),
    [
        (("--all",), None, "{"),
        (("--all", "--for", "10m"), None, "{"),
        (("g", "--for", "10m"), "g", json.dumps({"hooks": [{"name": "g", "event": "stop", "command": REFUSE}]})),
    ],
)
def test_disabling_for_a_time(agent: Stranger, words: tuple[str, ...], off: str | None, config: str) -> None:
    """It ends by itself, and works without a config that can be read where it is for all hooks."""
    project = agent.project
    project.user_hooks()
    (project.home / ".config/hookrun/hooks.json").write_text(config)
    done = at_terminal(project, "disable", *words)
    assert (done.status, "disabled" in done.screen and " until " in done.screen) == (0, True), done.screen
    [entry] = json.loads((project.home / ".local/share/hookrun/trust.json").read_text())["disabled"]
    assert (entry["name"], 0 < entry["until"] - entry["time"] <= 1800) == (off, True)
    assert not agent.fire().blocked
    refused = hookrun(project, "disable", *words, CLAUDECODE="1")
    assert (refused.status, "CLAUDECODE is set" in refused.stderr) == (1, True)
    for wrong in ((), ("g", "--all")):
        assert "give HOOK or --all" in hookrun(project, "disable", *wrong).stderr


@pytest.mark.only_cold("decides about hooks and runs none")
@pytest.mark.parametrize("duration", ["", "5", "0m", "25h", "-1m", "1d", "m", "30 m"])
def test_a_time_has_a_length(agent: Stranger, duration: str) -> None:
    """Nothing, no unit, for ever: refused, with what was expected."""
    done = at_terminal(agent.project, "disable", "--all", "--for", duration)
    assert (done.status, "write a time up to 24h" in done.screen) == (1, True)


def test_a_hook_has_the_account_as_its_home_when_an_agent_fires(agent: Stranger) -> None:
    """HOME of a hook is the home whose hooks are in force, not the one in the agent's environment."""
    project = agent.project
    project.user_hooks({"name": "mine", "command": "echo $HOME > home-seen"})
    agent.fire(env={"HOME": "/nonexistent"})
    assert (project.root / "home-seen").read_text() == f"{project.home}\n"
    assert os.environ.get("HOME") != str(project.home)


def test_an_active_virtual_environment_asks_nothing(agent: Stranger, tmp_path: Path) -> None:
    """Which interpreter PATH finds is not the hook's, unless it is a file of the project itself."""
    project = agent.project
    elsewhere = tmp_path / "pythons" / "python3"
    elsewhere.parent.mkdir()
    elsewhere.write_text("#!/bin/sh\ncat >/dev/null\n")
    elsewhere.chmod(0o755)
    project.script("guard.py", "")
    project.hooks({"name": "guard", "command": "python3 guard.py"})
    agent.approve()
    (project.root / ".venv" / "bin").mkdir(parents=True)
    (project.root / ".venv" / "bin" / "python3").symlink_to(elsewhere)
    active = {"PATH": f"{project.root}/.venv/bin:{os.environ['PATH']}"}
    assert agent.fire(env=active).failures == {"guard": None}
