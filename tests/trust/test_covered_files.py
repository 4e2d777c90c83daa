"""What an approval covers and what it does not, in real runs: data, state, odd files, names, messages."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from typing import TYPE_CHECKING

import pytest

from hookrun.core.model import Hook
from hookrun.trust.hook_files import files_of
from tests.cli.command import hookrun
from tests.torture.strangers import WAYS, Stranger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Project


@pytest.fixture(params=WAYS)
def stranger(request: pytest.FixtureRequest, project: Project) -> Stranger:
    """An untrusted project, fired by an agent or by a Python program."""
    return Stranger(project, request.param)


@pytest.fixture
def agent(project: Project) -> Stranger:
    """An untrusted project, fired by an agent."""
    return Stranger(project, "agent")


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "command",
    [
        "cat >/dev/null; touch once",
        "cat >/dev/null; date | tee -a log >/dev/null",
        "python3 hook.py --state s.json",
        "sqlite3 state.db 'create table if not exists t (x); insert into t values (1)' </dev/null",
    ],
)
def test_a_hook_that_writes_a_file_its_command_names_stays_approved(stranger: Stranger, command: str) -> None:
    """State is data: its coming to be and its changing void no answer, and ask nothing."""
    project = stranger.project
    project.script("hook.py", "import sys\nopen(sys.argv[2], 'a').write(sys.stdin.read())\n", 0o644)
    project.hooks({"name": "guard", "command": command})
    stranger.approve()
    for _ in range(3):
        assert stranger.fire().failures == {"guard": None}


def test_a_script_that_was_not_there_at_the_first_look_is_looked_at_afterwards(stranger: Stranger) -> None:
    """A hook that writes the script it then runs has answered with code that was never reviewed."""
    project = stranger.project
    project.hooks({"name": "guard", "command": "cat >/dev/null; echo 'exit 0' > made.sh; sh made.sh"})
    stranger.approve()
    answer = stranger.fire()
    assert answer.failures == {"guard": "untrusted"}
    assert "made.sh changed while it ran" in answer.output + json.dumps(answer.details)


def test_state_is_part_of_the_digest_and_releases_configuration_that_git_tracks(agent: Stranger) -> None:
    """A tracked config file is covered until the declaration lists it as changed by the hook."""
    project = agent.project
    name = b"state.json"
    entry = bytes(60) + len(name).to_bytes(2, "big") + name + bytes(8 - (62 + len(name)) % 8)
    index = b"DIRC" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big") + entry
    (project.root / ".git" / "index").write_bytes(index)
    project.script("hook.py", "", 0o644)
    project.script("state.json", "{}", 0o644)
    digests = []
    for more in ({}, {"state": ["state.json"]}):
        project.hooks({"name": "guard", "command": "python3 hook.py --state state.json", **more})
        digests.append(agent.digests())
        project.script("state.json", '{"changed": 1}', 0o644)
        digests.append(agent.digests())
    assert digests[0] != digests[1]
    assert digests[2] == digests[3] != digests[1]


def test_state_that_names_code_is_an_error(project: Project) -> None:
    """What the rule covers as code is not for the hook to change: the declaration is refused, with its place."""
    rows = [
        ("./hooks/guard.sh once", "hooks/guard.sh"),
        ("./hooks/guard.sh once", "hooks"),
        ("cd hooks && ./guard.sh", "hooks/guard.sh"),
        ("python3 -m tools.guard", "tools/guard.py"),
        ("node hooks/guard", "hooks/guard.js"),
        ("make check", "Makefile"),
        ("python3 hooks/a.py plugins/b.py", "plugins/b.py"),
    ]
    hooks: list[dict[str, object]] = [
        {"command": line, "state": ["once", state], "name": state} for line, state in rows
    ]
    project.hooks(*hooks)
    done = hookrun(project, "validate")
    assert done.status == 1
    [text] = (project.root / "coder.json").read_text().splitlines()
    places = re.findall(r"coder\.json:1:(\d+): the hook executes", done.stdout + done.stderr)
    assert [text[int(column) - 1 :].split("]")[0] for column in places] == [f'["once", "{state}"' for _, state in rows]


def test_state_that_turns_out_to_be_code_cannot_be_approved(project: Project) -> None:
    """An argument with an execute bit is code, whatever the declaration calls it."""
    project.script("guard.sh", "#!/bin/sh\n")
    project.script("helper", "#!/bin/sh\n")
    project.hooks({"name": "guard", "command": "./guard.sh helper", "state": ["helper"]})
    [found] = json.loads(hookrun(project, "trust", "--json").stdout)
    assert found["digest"] is None
    assert "`state` lists helper" in found["problem"]


def test_code_that_a_variable_of_the_projects_claude_settings_names_is_covered(agent: Stranger) -> None:
    """`env` of settings.json is part of the hooks in it, and so are the files that it lets programs load."""
    project = agent.project
    handler = {"type": "command", "command": "bash -c 'cat >/dev/null'"}
    settings = {"env": {"BASH_ENV": "early.sh"}, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}
    project.script(".claude/settings.json", json.dumps(settings), 0o644)
    project.script("early.sh", ":\n", 0o644)
    project.hooks(include_claude=True)
    [before] = agent.digests()
    project.script("early.sh", "touch ran\n", 0o644)
    assert agent.digests() != [before]


def test_what_a_hook_covers_does_not_depend_on_where_the_project_is(agent: Stranger) -> None:
    """A copy of the project has the same digests, whatever kind of reference names its files."""
    project = agent.project
    for name in ("guard.sh", "lib/a.sh", "bin/x", "m.py", "n.js", "node_modules/.bin/t"):
        project.script(name, "#!/bin/sh\n")
    project.script("Makefile", "all:\n", 0o644)
    line = '"$HOOKRUN_PROJECT_DIR"/guard.sh; cd lib; sh *.sh; cd ..; x; python3 -m m; node ./n; make all; npx t'
    project.hooks({"name": "a", "command": line, "env": {"PATH": "bin:/usr/bin:/bin"}, "files": ["lib/**"]})
    copy = project.root.parent / "elsewhere"
    shutil.copytree(project.root, copy)
    assert agent.digests() == agent.digests(copy)
    [found] = json.loads(hookrun(project, "trust", "--json").stdout)
    covered = {os.path.relpath(path, project.root) for path in found["files"] if not path.startswith("/usr/")}
    assert covered == {"guard.sh", "lib/a.sh", "bin/x", "m.py", "n.js", "node_modules/.bin/t", "Makefile"}


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["fifo", "device"])
def test_what_is_neither_a_file_nor_a_directory_is_refused(project: Project, make: Callable[[Path], None]) -> None:
    """The content of a FIFO or a device is unpredictable: a hook that runs one cannot be approved."""
    make(project.root / "pipe")
    lines = ("sh pipe", "./pipe", ". ./pipe", "python3 - < pipe", "awk -fpipe")
    hooks: list[dict[str, object]] = [{"name": line, "command": line} for line in lines]
    project.hooks(*hooks)
    found = json.loads(hookrun(project, "trust", "--json").stdout)
    assert [(each["name"], each["digest"]) for each in found] == [(line, None) for line in lines]
    assert [each for each in found if "pipe is neither a file nor a directory" not in each["problem"]] == []


def test_no_call_waits_for_gits_index(agent: Stranger) -> None:
    """A FIFO in its place shows nothing to be tracked."""
    project = agent.project
    project.script("guard.sh", "#!/bin/sh\necho no push >&2; exit 2\n")
    project.script("rules.json", "{}", 0o644)
    project.hooks({"name": "guard", "command": "./guard.sh rules.json"})
    agent.approve()
    os.mkfifo(project.root / ".git" / "index")
    assert "no push" in agent.fire().output


def test_no_name_hides_another_file(agent: Stranger) -> None:
    """Names that look like labels of another kind, and the same file name in two directories, are each covered."""
    project = agent.project
    names = ["PATH:x", "x", "files:lib/a:a", "module:x.py", "lib/a:a", "lib/a", "bin/x", "other/x"]
    for name in names:
        project.script(name, "#!/bin/sh\n")
    project.hooks(
        {
            "name": "guard",
            "command": "sh ./PATH:x; x; sh files:lib/a:a; sh module:x.py; python3 -m x; sh ./x",
            "env": {"PATH": "bin:other:/usr/bin:/bin"},
            "files": ["lib/*"],
        }
    )
    seen = set(agent.digests())
    for name in names:
        project.script(name, f"#!/bin/sh\n# {name}\n")
        [digest] = agent.digests()
        assert digest not in seen, name
        seen.add(digest)


def test_a_path_that_is_too_long_to_be_opened_is_not_left_out(project: Project) -> None:
    """A shell gets there step by step; what cannot be looked at cannot be approved."""
    step = "d" * 200
    line = " && ".join([f"cd {step}"] * 25)
    project.hooks({"name": "guard", "command": f"{line} && sh guard.sh"})
    [found] = json.loads(hookrun(project, "trust", "--json").stdout)
    assert found["digest"] is None
    assert "longer than the system allows" in found["problem"]


def test_a_message_about_a_change_names_the_file(agent: Stranger) -> None:
    """Each of two changed files is named, and a changed declaration is called that."""
    project = agent.project
    project.script("hooks/guard.sh", "#!/bin/sh\n. hooks/lib.sh\n")
    project.script("hooks/lib.sh", ":\n")
    fields: dict[str, object] = {"name": "guard", "command": "./hooks/guard.sh", "files": ["hooks/lib.sh"]}
    project.hooks(fields)
    hookrun(project, "trust", "--yes", *agent.digests())
    project.script("hooks/lib.sh", "true\n")
    assert "hooks/lib.sh has changed since it was approved" in agent.fire().details["guard"]
    project.script("hooks/guard.sh", "#!/bin/sh\n")
    assert "hooks/guard.sh, hooks/lib.sh have changed since it was approved" in agent.fire().details["guard"]
    hookrun(project, "trust", "--yes", *agent.digests())
    project.hooks({**fields, "timeout": 7})
    assert "its config entry has changed since it was approved" in agent.fire().details["guard"]


def test_an_approval_says_what_it_does_not_cover(project: Project) -> None:
    """One line names data that may change, one what only a run can show."""
    project.script("guard.sh", "#!/bin/sh\n")
    project.script("words.txt", "a\n", 0o644)
    project.hooks({"name": "guard", "command": './guard.sh words.txt; sh "$SOMEWHERE"; python3 -c "exec(x)"'})
    shown = hookrun(project, "trust").stdout
    assert re.search(r"not covered +words\.txt ", shown)
    assert re.search(r"unknown +.*inline code .*known only when the hook runs", shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    "word", ['"$CLAUDE_PLUGIN_ROOT"/guard.sh', '"$CLAUDE_PLUGIN_ROOT/guard.sh"', "${CLAUDE_PLUGIN_ROOT}/guard.sh"]
)
def test_a_plugins_script_is_covered_with_and_without_braces(agent: Stranger, word: str, tmp_path: Path) -> None:
    """Its script is part of the approval, is missing when it is missing, and refused when it has changed."""
    project = agent.project
    plugin = tmp_path / "project" / "plugin"
    handler = {"type": "command", "command": f"bash {word}"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}
    project.script("plugin/hooks/hooks.json", json.dumps(settings), 0o644)
    project.script("plugin/.claude-plugin/plugin.json", '{"name": "p"}', 0o644)
    project.script("plugin/guard.sh", "cat >/dev/null\n")
    project.hooks(include=["plugin/hooks/hooks.json"])
    [name] = [each["name"] for each in json.loads(hookrun(project, "trust", "--json").stdout)]
    agent.approve()
    assert agent.fire().failures == {name: None}
    project.script("plugin/guard.sh", "cat >/dev/null; touch ran\n")
    assert agent.fire().failures == {name: "untrusted"}
    (plugin / "guard.sh").unlink()
    agent.approve()
    assert agent.fire().failures == {name: "missing"}


def test_the_search_upwards_ends_in_a_project_at_the_root_of_the_file_system() -> None:
    """What `make` reads is looked for in all directories up to the project's root, which may be `/`."""
    hook = Hook(name="made", events=["stop"], kind="args", target=["make"], words=["up:.:no-such-file"])
    found: list[object] = []
    search = threading.Thread(target=lambda: found.append(files_of(hook, {}, "/", "/")), daemon=True)
    search.start()
    search.join(10)
    assert found == [[]]
