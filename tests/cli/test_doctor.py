"""`hookrun doctor`: each cause that keeps hooks from running is found, with the reason and the fix; and `--prove`."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.core.audit_reader import local_time
from hookrun.doctor.prove import recorded
from hookrun.recipes.protect_hooks import RECIPE
from hookrun.wiring.presence import project_names_hookrun
from tests.cli.command import hookrun
from tests.cli.wiring import (
    ALL,
    BEFORE_TOOL,
    TOOL_CALLS,
    before_tool,
    launcher,
    launcher_conf,
    on_path,
    run_line,
    settings_file,
    tree,
    wired_line,
)
from tests.rows import rows
from tests.wiring.texts import wired

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

    Finding = dict[str, str]

pytestmark = pytest.mark.sampled(3)


@pytest.fixture(autouse=True)
def _declared(project: Project) -> None:
    project.hooks({"name": "a", "command": "true"})
    project.approve()


def _findings(project: Project, agent: str, *options: str) -> list[Finding]:
    report = hookrun(project, "doctor", agent, "--json", *options).json["agents"]
    assert isinstance(report, list)
    return list(report[0]["findings"])


def _found(project: Project, agent: str, check: str, level: str = "problem") -> Finding:
    """Return the one finding of a check at a level."""
    findings = _findings(project, agent)
    found = [each for each in findings if (each["check"], each["level"]) == (check, level)]
    assert len(found) == 1, findings
    return found[0]


def _edit(path: Path, change: Callable[[str], str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(change(path.read_text() if path.exists() else ""))


@pytest.mark.parametrize("agent", ALL)
def test_a_good_wiring_has_no_problem(project: Project, agent: str) -> None:
    """A correct installation has no problems, and the status is 0."""
    assert hookrun(project, "install", agent, "--trust").status == 0
    done = hookrun(project, "doctor", agent)
    assert done.status == 0, done.stdout
    connected = _found(project, agent, "wired", "ok")["found"]
    assert f" {BEFORE_TOOL[agent]}" in connected
    assert str(settings_file(project, agent)) in connected


def test_a_config_that_cannot_be_read_is_a_problem_without_any_agent_too(project: Project) -> None:
    """Whatever agent comes to run here, its hooks are missing."""
    (project.root / "coder.json").unlink(missing_ok=True)
    (project.root / "coder.json").mkdir()
    done = hookrun(project, "doctor", PATH="/usr/bin:/bin")
    assert (done.status, "coder.json" in done.stderr) == (1, True)
    report = hookrun(project, "doctor", "--json", PATH="/usr/bin:/bin")
    assert (report.status, report.json["ok"], report.json["agents"]) == (1, False, [])
    assert "coder.json:1:1: is a directory" in str(report.json["problems"])


def test_without_a_name_only_agents_that_are_here_are_looked_at(project: Project) -> None:
    """An agent that is neither installed nor connected is not mentioned; none at all is no problem."""
    none = hookrun(project, "doctor", PATH="/usr/bin:/bin")
    assert (none.status, none.stdout) == (0, f"no coding agent found on PATH (supported: {', '.join(ALL)})\n")
    hookrun(project, "install", "gemini")
    done = hookrun(project, "doctor", PATH="/usr/bin:/bin")
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        "gemini: Gemini CLI (gemini is not on PATH): no problems"
    ]


def stop(entry: object) -> str:
    """Return settings with this entry for the event Stop."""
    return json.dumps({"hooks": {"Stop": [entry]}})


@pytest.mark.parametrize(
    ("agent", "text", "found"),
    [
        ("claude", stop({"matcher": None, "hooks": []}), "hooks.Stop[0].matcher is null, expected a text"),
        ("claude", stop({"matcher": ["Bash"], "hooks": []}), 'hooks.Stop[0].matcher is ["Bash"], expected a text'),
        ("claude", stop({"type": "command", "command": "x"}), "expected an object with a list of hooks"),
        (
            "claude",
            stop({"hooks": [{"command": "x"}]}),
            'hooks.Stop[0].hooks[0] is {"command": "x"}, expected an object',
        ),
        ("codex", '{"version": 1}', "version is 1, expected no other key than hooks and description"),
    ],
)
def test_a_foreign_entry_for_which_the_agent_drops_the_file(
    project: Project, agent: str, text: str, found: str
) -> None:
    """It reports what the agent does not: with that entry none of the file's hooks runs."""
    _edit(settings_file(project, agent), lambda _: text)
    hookrun(project, "install", agent, "--trust")
    assert found in _found(project, agent, "settings")["found"]


def test_a_byte_order_mark_before_codexs_hooks(project: Project) -> None:
    """Codex does not read a file that begins with one."""
    path = settings_file(project, "codex")
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf{}")
    hookrun(project, "install", "codex", "--trust")
    assert "expected no byte-order mark before it" in _found(project, "codex", "settings")["found"]


def test_events_that_an_agent_does_not_have(project: Project) -> None:
    """A hook that can never run there is a note, no problem."""
    hookrun(project, "install", "gemini")
    project.hooks({"name": "a", "event": ["pre_tool_use", "subagent_stop"], "command": "true"})
    assert _found(project, "gemini", "declared", "note")["found"] == "there are hooks for subagent_stop"


def test_declarations_that_cannot_be_read(project: Project) -> None:
    """Their hooks are unknown."""
    hookrun(project, "install", "claude")
    (project.root / "coder.json").write_text("{")
    assert _found(project, "claude", "declarations")["remedy"] == "close every bracket and string"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "qwen", "copilot"])
def test_a_matcher_that_keeps_tools_away(project: Project, agent: str) -> None:
    """The first one is reported, nothing is called proven, and installing again removes it."""
    assert hookrun(project, "install", agent, "--trust").status == 0
    path, event = settings_file(project, agent), BEFORE_TOOL[agent]
    data = json.loads(path.read_text())
    for each in TOOL_CALLS.get(agent, [event]):
        data["hooks"][each][0]["matcher"] = "nosuch"
    path.write_text(json.dumps(data))
    done = hookrun(project, "doctor", agent, "--prove")
    assert f'{event} reaches hookrun only if matcher "nosuch" matches' in done.stdout.partition("\n")[0]
    assert f"not tried: {event}" in done.stdout
    assert "the probe blocked the call" not in done.stdout
    assert done.status == 1
    explained = hookrun(project, "explain", "pre_tool_use", "--tool", "bash", "--agent", agent).stdout
    assert 'only where matcher "nosuch" matches' in explained.partition("\n")[0]
    assert f'{event} only for matcher "nosuch"' in hookrun(project, "status").stdout
    installed = hookrun(project, "install", agent, "--trust")
    assert "nothing changed" not in installed.stdout
    assert '"nosuch"' not in path.read_text()
    assert hookrun(project, "doctor", agent, "--prove").status == 0


def test_hooks_that_nobody_has_approved(project: Project) -> None:
    """A hook of the project that is new or was changed does not run: it is named, with what to do."""
    hookrun(project, "install", "claude")
    project.hooks({"name": "a", "command": "echo changed"}, {"name": "b", "command": "true"})
    found = _found(project, "claude", "approved")
    assert (found["found"], found["remedy"]) == ("not approved: a (changed), b (new)", "run `hookrun trust`")
    project.approve()
    assert not [each for each in _findings(project, "claude") if each["check"] == "approved"]


def test_no_hook_that_guards_the_hooks(project: Project) -> None:
    """A missing protect-hooks recipe is a note, not a problem."""
    hookrun(project, "install", "claude")
    assert "hookrun add protect-hooks --user" in _found(project, "claude", "protected", "note")["remedy"]
    project.user_hooks({**RECIPE.hooks[0]})
    assert not [each for each in _findings(project, "claude") if each["check"] == "protected"]


def test_a_program_that_is_gone(project: Project) -> None:
    """The missing path is named."""
    hookrun(project, "install", "claude")
    conf = launcher_conf(project)
    _edit(conf, lambda text: re.sub("/hookrun/([a-z_]+.py)", r"/gone/hookrun/\1", text))
    finding = _found(project, "claude", "program")
    assert finding["found"].endswith("gone/hookrun/__main__.py does not exist any more")
    assert "blocks the calls that a guard may be for" in finding["cause"]
    assert finding["remedy"] == "run `hookrun install claude`"
    conf.chmod(0o644)
    finding = _found(project, "claude", "program")
    assert f"{conf} cannot be used" in finding["found"]
    assert finding["cause"].startswith("hooks run, started by `gone`")
    conf.unlink()
    assert f"{conf} does not exist any more" in _found(project, "claude", "program")["found"]
    launcher(project, "claude").unlink()
    assert f"{launcher(project, 'claude')} does not exist any more" in _found(project, "claude", "program")["found"]
    hookrun(project, "install", "claude")
    assert "program" not in [each["check"] for each in _findings(project, "claude")]


def test_a_program_that_is_gone_in_an_earlier_line(project: Project) -> None:
    """A line with the paths of the program, which install writes where there can be no launcher."""
    hookrun(project, "install", "gemini")
    line, old = wired_line(project, "gemini", "BeforeTool"), wired("gemini", "BeforeTool")
    _edit(settings_file(project, "gemini"), lambda text: text.replace(json.dumps(line), json.dumps(old)))
    assert _found(project, "gemini", "program")["found"].endswith("/old/bin/python3 does not exist any more")
    hookrun(project, "install", "gemini")
    assert "program" not in [each["check"] for each in _findings(project, "gemini")]


def test_a_launcher_that_another_version_has_written(project: Project) -> None:
    """It still works: a note, and what brings it up to date."""
    hookrun(project, "install", "claude")
    gone = launcher(project, "gone")
    _edit(gone, lambda text: text.replace("no hook has run", "no hook ran"))
    assert _found(project, "claude", "program", "note")["found"].startswith(f"{gone}: differs from")
    assert "already installed" not in hookrun(project, "install", "claude").stdout
    assert "program" not in json.dumps(_findings(project, "claude"))
    gone.unlink()
    gone.mkdir()
    assert "gone is not a regular file" in _found(project, "claude", "program")["found"]


def test_another_hookrun_than_this_one(project: Project, tmp_path: Path) -> None:
    """An installed line that runs another copy is a note that names both."""
    (tmp_path / "other" / "hookrun").mkdir(parents=True)
    (tmp_path / "other" / "hookrun" / "__main__.py").write_text("")
    hookrun(project, "install", "claude")
    root = str(Path(__file__).resolve().parent.parent.parent)
    _edit(launcher_conf(project), lambda text: text.replace(root + "/hookrun", f"{tmp_path}/other/hookrun"))
    assert f"runs {tmp_path}/other/hookrun/__main__.py with" in _found(project, "claude", "program", "note")["found"]


WAITS = ("limits", "problem", "the agent waits")


@rows(
    "agent, old, new, finding",
    [
        ("gemini", " BeforeTool", " BeforeTool --deadline 595", ("program", "note", "differs from what this version")),
        ("gemini", "--home HOME", "--home /no/where", ("program", "problem", "its home /no/where is not a directory")),
        ("claude", '"timeout": 600', '"timeout": 595', WAITS),
        ("gemini", " BeforeTool", " BeforeTool --deadline 600", WAITS),
        ("gemini", '"timeout": 600000', '"timeout": 600', WAITS),
        ("copilot", '"timeoutSec": 600', '"timeoutSec": 30', WAITS),
    ],
)
def test_settings_that_differ_from_what_install_writes(
    project: Project, agent: str, old: str, new: str, finding: tuple[str, str, str]
) -> None:
    """By another version, without a home, with a limit (in any unit) below the deadline; installing again mends it."""
    check, level, found = finding
    hookrun(project, "install", agent)
    old = old.replace("HOME", str(project.home))
    _edit(settings_file(project, agent), lambda text: text.replace(old, new, 1))
    assert found in _found(project, agent, check, level)["found"]
    hookrun(project, "install", agent)
    assert check not in {each["check"] for each in _findings(project, agent)}


def test_a_project_s_own_protection_is_reported_as_such(project: Project) -> None:
    """`hookrun init` proposes it: doctor does not say that there is none, but what it does not do."""
    hookrun(project, "add", "protect-hooks")
    hookrun(project, "install", "claude")
    found = _found(project, "claude", "protected", "note")
    assert found["found"] == "only this project's own hook stops the agent from editing hooks"
    assert found["remedy"] == "run `hookrun add protect-hooks --user`"


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_limit_larger_than_a_float(project: Project, sign: str) -> None:
    """It counts as no limit, or as one that expires at once."""
    hookrun(project, "install", "claude")
    _edit(settings_file(project, "claude"), lambda text: text.replace("600", f"{sign}1{'0' * 400}"))
    assert ("the agent waits -1e+15 s" in json.dumps(_findings(project, "claude"))) is bool(sign)


@pytest.mark.parametrize(
    ("agent", "path", "off"),
    [
        ("claude", "home/.claude/settings.json", '{"disableAllHooks": true, OLD'),
        ("claude", "project/.claude/settings.local.json", '{"disableAllHooks": true}'),
        ("qwen", "project/.qwen/settings.json", '{"disableAllHooks": true} // quiet'),
        ("gemini", "project/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}'),
        ("gemini", "project/.gemini/settings.json", '{"hooksConfig": {"disabled": ["other", "hookrun"]}}'),
        ("codex", "home/.codex/config.toml", "[features]\nhooks = false\n{OLD"),
        ("copilot", "home/.copilot/settings.json", '{"disableAllHooks": true}'),
    ],
)
def test_hooks_that_are_switched_off(project: Project, agent: str, path: str, off: str) -> None:
    """An agent's own setting that disables hooks is found with its location."""
    hookrun(project, "install", agent, "--trust")
    file = project.root.parent / path
    _edit(file, lambda old: off.replace("{OLD", old).replace("OLD", old.removeprefix("{")))
    assert _found(project, agent, "switched off")["found"].startswith(f"{file}: ")
    assert f"does not run hooks: {file}: " in hookrun(project, "status").stdout
    proofs = [each for each in _findings(project, agent, "--prove") if each["check"] == "proof"]
    assert {each["level"] for each in proofs} == {"problem"}
    assert all(f"does not run it: {file}: " in each["found"] for each in proofs)


@pytest.mark.parametrize(
    ("agent", "path", "text", "line"),
    [
        ("opencode", ".opencode/command/show.md", "one\n!`git push --force` and !`date`\n", 2),
        ("opencode", ".opencode/commands/deep/show.md", "!`git push --force`", 1),
        ("opencode", "opencode.json", '{"command": {"show": {"template": "!`git push --force`"}}}', 1),
        ("gemini", ".gemini/commands/deep/show.toml", 'prompt = """\n\n!{ git push --force }"""', 3),
        ("qwen", ".qwen/commands/show.toml", 'prompt = "!{git push --force}"', 1),
        ("qwen", ".qwen/commands/show.md", "---\n---\n!{git push --force}", 3),
    ],
)
def test_a_shell_line_in_a_command_file(project: Project, agent: str, path: str, text: str, line: int) -> None:
    """The agent runs it without asking a hook: it is named, with its place, and is no problem of hookrun's."""
    hookrun(project, "install", agent)
    assert "shell line" not in {each["check"] for each in _findings(project, agent)}
    _edit(project.root / path, lambda _: text)
    found = [each for each in _findings(project, agent) if each["check"] == "shell line"]
    assert found[0]["found"] == f'{project.root / path}:{line}: the command runs "git push --force"'
    assert {each["level"] for each in found} == {"note"}
    assert len(found) == text.count("!")


def test_files_of_a_project_that_are_none_are_not_waited_for(project: Project) -> None:
    """A FIFO among an agent's command files and settings."""
    for path in (".gemini/commands/x.toml", ".cline/hooks/PreToolUse", ".codex/hooks.json"):
        fifo = project.root / path
        fifo.parent.mkdir(parents=True)
        os.mkfifo(fifo)
    hookrun(project, "install", "gemini")
    assert "shell line" not in {each["check"] for each in _findings(project, "gemini")}
    assert not project_names_hookrun(str(project.root))


def test_the_setting_that_counts_most_decides(project: Project) -> None:
    """`false` in a project overrides the user's `true`, as in Claude Code."""
    hookrun(project, "install", "claude")
    _edit(settings_file(project, "claude"), lambda text: text.replace("{", '{"disableAllHooks": true,', 1))
    _edit(project.root / ".claude" / "settings.json", lambda _: '{"disableAllHooks": false}')
    assert hookrun(project, "doctor", "claude").status == 0


def test_codex_with_a_hook_switched_off(project: Project) -> None:
    """The user's own switch is found too."""
    hookrun(project, "install", "codex", "--trust")
    config = project.home / ".codex" / "config.toml"
    _edit(config, lambda text: text.replace("trusted_hash", "enabled = false\ntrusted_hash"))
    assert "is disabled (enabled = false)" in _found(project, "codex", "trust")["found"]
    text = f"{config}: the hook for SessionStart, "
    assert f"does not run hooks: {text}" in hookrun(project, "status").stdout
    listed = hookrun(project, "status", "--json").json["agents"]
    assert isinstance(listed, list)
    assert listed[0]["switched_off"][0].startswith(text)


def test_a_guard_that_is_switched_off_in_codex_is_not_called_proven(project: Project) -> None:
    """The user switches one hook off in `/hooks`: the others are tried as before."""
    hookrun(project, "install", "codex", "--trust")
    config = project.home / ".codex" / "config.toml"
    before, name, after = config.read_text().partition(":pre_tool_use:")
    _edit(config, lambda _: before + name + after.replace("trusted_hash", "enabled = false\ntrusted_hash", 1))
    assert f"{config}: the hook for PreToolUse is disabled" in hookrun(project, "status").stdout
    proofs = [each for each in _findings(project, "codex", "--prove") if each["check"] == "proof"]
    (off,) = [each for each in proofs if each["level"] == "problem"]
    assert off["found"].startswith("PreToolUse through ")
    assert off["found"].endswith(f"Codex CLI does not run it: {config}: it is disabled")
    assert "ok" in {each["level"] for each in proofs}
    config.write_text("[")
    proofs = [each for each in _findings(project, "codex", "--prove") if each["check"] == "proof"]
    assert {each["level"] for each in proofs} == {"problem"}
    assert all("does not run it: ~/.codex/config.toml:1:" in each["found"] for each in proofs), proofs


def test_codex_in_a_project_that_is_not_trusted(project: Project) -> None:
    """A project's hooks need a project that Codex trusts."""
    hookrun(project, "install", "codex", "--scope", "project", "--trust")
    assert f"{project.root} is not trusted in" in _found(project, "codex", "trust")["found"]
    config = project.home / ".codex" / "config.toml"
    _edit(config, lambda text: text + f'\n[projects."{project.root}"]\ntrust_level = "trusted"\n')
    assert hookrun(project, "doctor", "codex", PATH=on_path(project)).status == 0


FOLDERS = "home/.gemini/trustedFolders.json"


@pytest.mark.parametrize(
    ("agent", "path", "text", "levels"),
    [
        ("gemini", FOLDERS, "{}", ["note"]),
        ("gemini", FOLDERS, '{"ROOT": "DO_NOT_TRUST"}', ["problem"]),
        ("gemini", FOLDERS, '{"ROOT": "TRUST_FOLDER"}', []),
        ("gemini", FOLDERS, '{"ABOVE": "TRUST_FOLDER"}', []),
        ("gemini", FOLDERS, '{"ROOT/x": "TRUST_PARENT"}', []),
        ("gemini", "project/.gemini/settings.json", '{"security": {"folderTrust": {"enabled": false}}}', []),
        ("qwen", "project/.qwen/settings.json", '{"security": {"folderTrust": {"enabled": true}}}', ["note"]),
    ],
)
def test_folder_trust(project: Project, agent: str, path: str, text: str, levels: list[str]) -> None:
    """Gemini asks unless that is off, Qwen only if it is on: neither starts headless in a folder not trusted."""
    hookrun(project, "install", agent)
    text = text.replace("ROOT", str(project.root)).replace("ABOVE", str(project.root.parent))
    _edit(project.root.parent / path, lambda _: text)
    assert [each["level"] for each in _findings(project, agent) if each["check"] == "trust"] == levels


def test_copilots_folder_trust(project: Project) -> None:
    """A project's hooks are silently skipped in a folder that Copilot does not trust; the user's are not."""
    hookrun(project, "install", "copilot", "--scope", "project")
    assert "is not yet trusted in" in _found(project, "copilot", "trust")["found"]
    _edit(
        project.home / ".copilot" / "config.json", lambda _: json.dumps({"trusted_folders": [str(project.root.parent)]})
    )
    assert hookrun(project, "doctor", "copilot", PATH=on_path(project)).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("agent", ALL)
def test_wired_in_both_scopes(project: Project, agent: str) -> None:
    """Both are shown; hookrun itself is silent in the project's where the user's answers: a note."""
    hookrun(project, "install", agent, "--scope", "project", "--trust")
    hookrun(project, "install", agent, "--trust")
    finding = _found(project, agent, "twice", "note")
    assert finding["cause"] == "events that are in your settings are skipped in the project's"
    assert "user and project" in hookrun(project, "status").stdout


def test_a_second_line_of_a_project_that_does_not_yield(project: Project) -> None:
    """A handwritten line in the project runs beside the user's: each hook runs twice."""
    hookrun(project, "install", "claude")
    handler = {"type": "command", "command": "hookrun fire --agent claude"}
    path = settings_file(project, "claude", "project")
    _edit(path, lambda _: json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}}))
    assert _found(project, "claude", "twice")["remedy"] == "remove the line from the project's settings"


def test_wired_twice_in_one_file(project: Project) -> None:
    """The same event twice is found, and installing again leaves one."""
    hookrun(project, "install", "claude")
    path = settings_file(project, "claude")
    data = json.loads(path.read_text())
    data["hooks"]["PreToolUse"] *= 2
    path.write_text(json.dumps(data))
    assert "PreToolUse is installed 2 times" in _found(project, "claude", "twice")["found"]
    hookrun(project, "install", "claude")
    assert hookrun(project, "doctor", "claude").status == 0


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("claude", "project/.claude/settings.local.json"),
        ("codex", "home/.codex/config.toml"),
        ("cline", "home/Documents/Cline/Hooks/PreToolUse"),
        ("opencode", "home/.config/opencode/plugins/hookrun.js"),
    ],
)
def test_another_file_that_fires_hookrun_too(project: Project, agent: str, path: str) -> None:
    """Other settings that the agent reads are checked too."""
    hookrun(project, "install", agent, "--trust")
    file = project.root.parent / path
    line = f"hookrun fire --agent {agent}"
    plugin = settings_file(project, agent).read_text()
    handlers = {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}
    table = f'\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "{line}"\n'
    texts = {".json": json.dumps({"hooks": handlers}), ".toml": table, "": f"#!/bin/sh\n{line}\n", ".js": plugin}
    _edit(file, lambda text: f"{text}\n// {line}\n" if file.suffix == ".js" else f"{text}\n# {line}\n")
    assert not [each for each in _findings(project, agent) if each["check"] == "twice"]
    _edit(file, lambda text: (text if file.suffix == ".toml" else "") + texts[file.suffix])
    assert _found(project, agent, "twice")["found"] == f"{file} also runs hookrun"


@pytest.mark.slow
def test_claudes_wiring_that_copilot_reads_too(project: Project) -> None:
    """Copilot runs a project's Claude settings: reported as harmless."""
    hookrun(project, "install", "claude", "--scope", "project")
    hookrun(project, "install", "copilot")
    found = _found(project, "copilot", "twice", "note")["found"]
    assert found == f"Copilot CLI reads {project.root}/.claude/settings.json too, where hookrun is installed for claude"


def test_when_it_last_fired(project: Project) -> None:
    """Before the first event, after it, and after a change of the installation: all three are distinguished."""
    project.user_hooks({"name": "u", "command": "true"})
    hookrun(project, "install", "claude")
    assert _found(project, "claude", "fired", "note")["remedy"] == "start a new session"
    run_line(project, wired_line(project, "claude", "PreToolUse"), before_tool(project, "claude"))
    fired = _found(project, "claude", "fired", "ok")["found"]
    assert fired == f"last: pre_tool_use {local_time(project.audit()[-1]['time'], with_date=True)}"
    later = settings_file(project, "claude").stat().st_mtime + 60
    os.utime(settings_file(project, "claude"), (later, later))
    assert _found(project, "claude", "fired", "note")["found"].startswith("no run since the settings changed")


def test_an_audit_that_cannot_be_written(project: Project) -> None:
    """If no record can be written, that is reported."""
    hookrun(project, "install", "claude")
    shutil.rmtree(project.home / ".local")
    (project.home / ".local").write_text("no directory")
    assert _found(project, "claude", "home")["found"] == f"{project.home}/.local cannot be written"
    assert f"{project.home}/.local" in _found(project, "claude", "approved")["found"]


def test_a_log_with_gaps_is_reported_after_a_full_disk(project: Project) -> None:
    """Where a file may not grow, the run answers, and its record is lost. The remedy ends the note."""
    hookrun(project, "install", "claude")
    project.user_hooks({"command": "exit 2"})
    assert "log" not in {each["check"] for each in _findings(project, "claude")}
    assert project.fire(wrap=("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")).status == 2
    found = _found(project, "claude", "log", "note")
    assert found["found"].startswith("the log has gaps, the last at ")
    assert found["remedy"].endswith(f"`rm {project.audit_path}.gap`")
    assert f"note: {found['found']}: {found['cause']}\nhint: {found['remedy']}\n" in hookrun(project, "log").stderr
    (project.audit_path.parent / "audit.jsonl.gap").unlink()
    assert project.fire().status == 2
    assert "log" not in {each["check"] for each in _findings(project, "claude")}
    assert "gaps" not in hookrun(project, "log").stderr


@pytest.mark.parametrize("agent", ALL)
def test_the_proof(project: Project, agent: str) -> None:
    """Recorded messages go through the installed line: the probe refuses, and the agent obeys."""
    hookrun(project, "install", agent, "--trust")
    proofs = [each for each in _findings(project, agent, "--prove") if each["check"] == "proof"]
    assert {each["level"] for each in proofs if not each["cause"].startswith("no recorded message")} == {"ok"}
    for event in TOOL_CALLS.get(agent, [BEFORE_TOOL[agent]]):
        (proof,) = [each for each in proofs if each["found"].startswith(f"{event} through ")]
        assert f"{settings_file(project, agent)}:" in proof["found"]
        assert "the probe blocked the call" in proof["found"]
        assert "would not have run the tool" in proof["found"]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("agent", ALL)
def test_every_event_that_is_recorded_is_proven(project: Project, agent: str) -> None:
    """With all events installed every probe succeeds, and what could not be tried is named."""
    hookrun(project, "install", agent, "--trust", "--all-events")
    proofs = [each for each in _findings(project, agent, "--prove") if each["check"] == "proof"]
    assert {each["level"] for each in proofs} <= {"ok", "note"}
    assert sum(each["level"] == "ok" for each in proofs) >= min(4, len(recorded(agent)))


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("agent", ALL)
def test_the_proof_runs_none_of_ones_own_hooks(project: Project, agent: str) -> None:
    """Neither the user's nor the project's hooks run, none of their files is written, the audit gets no record."""
    hook: dict[str, object] = {
        "name": "mine",
        "event": ["pre_tool_use", "stop"],
        "command": f"echo ran >> {project.home}/ran",
    }
    project.hooks({**hook, "name": "projects"})
    project.user_hooks(hook)
    hookrun(project, "install", agent, "--trust")
    before = tree(project.home, project.root)
    done = hookrun(project, "doctor", agent, "--prove")
    assert "the probe blocked the call" in done.stdout
    assert tree(project.home, project.root) == before
    assert project.audit() == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda line: line.replace("/hookrun/claude", "/else/claude"), "not connected for PreToolUse, PreSkill"),
        (lambda line: line.replace("/.local/", "/gone/.local/"), "/gone is not a directory"),
        (lambda line: f"echo {line}", "not connected for PreToolUse, PreSkill"),
    ],
    ids=["another program", "gone", "not a fire"],
)
def test_a_wiring_that_does_not_do_it_is_no_proof(
    project: Project, change: Callable[[str], str], expected: str
) -> None:
    """Whatever keeps the refusal from the agent, the proof sees it."""
    hookrun(project, "install", "claude")
    path = settings_file(project, "claude")
    data = json.loads(path.read_text())
    for event in TOOL_CALLS["claude"]:
        handler = data["hooks"][event][0]["hooks"][0]
        handler["command"] = change(handler["command"])
    path.write_text(json.dumps(data))
    done = hookrun(project, "doctor", "claude", "--prove")
    assert done.status == 1
    assert expected in "".join(line for line in done.stdout.splitlines() if line.startswith("  problem"))


def test_as_json(project: Project) -> None:
    """Every finding has its parts by name, and `ok` agrees with the exit status."""
    done = hookrun(project, "doctor", "claude", "--json")
    assert done.status == 1
    assert done.json["ok"] is False
    finding = _findings(project, "claude")[0]
    assert set(finding) == {"check", "level", "found", "cause", "remedy"}
    assert all(finding.values())


def test_agents_are_listed_with_version_and_events(project: Project, tmp_path: Path) -> None:
    """Found or not, version, connected or not, events: from a package beside the program, or from its output."""
    package = tmp_path / "lib" / "claude-code"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "claude-code", "version": "2.1.329", "bin": {"claude": "cli.js"}}')
    (package / "cli.js").write_text("#!/bin/sh\nexit 1\n")
    (package / "cli.js").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(package / "cli.js")
    (tmp_path / "bin" / "gemini").write_text("#!/bin/sh\n[ $# = 1 ] && [ $1 = --version ] && echo gemini 0.61.0\n")
    (tmp_path / "bin" / "gemini").chmod(0o755)
    (tmp_path / "bin" / "qwen").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "bin" / "qwen").chmod(0o755)
    hookrun(project, "install", "claude")
    project.hooks({"name": "a", "event": ["pre_tool_use", "assistant_response"], "command": "true"})
    done = hookrun(project, "status", "--json", PATH=f"{tmp_path}/bin:/usr/bin:/bin")
    shown = {each["agent"]: each for each in done.json["agents"]}  # type: ignore[attr-defined]
    assert (shown["claude"]["version"], shown["claude"]["connected"]) == ("2.1.329", ["user"])
    assert shown["claude"]["missing"] == ["MessageDisplay"]
    assert (shown["gemini"]["version"], shown["gemini"]["connected"]) == ("0.61.0", [])
    assert (shown["qwen"]["version"], "codex" in shown) == (None, False)
