"""The audit: what it records and what not, who may read it, and that neither errors nor concurrency corrupt it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hookrun import Engine
from hookrun.core import audit, credentials
from hookrun.core.files import rotate
from hookrun.core.state import YOUNG
from tests.fire.agents import run
from tests.rows import rows
from tests.waiting import limit, until

if TYPE_CHECKING:
    from tests.conftest import Project

BLOCK = """echo '{"action": "block", "message": "no"}'"""

GITHUB_TOKEN = "ghp_" + "a1B2c3D4" * 5
MODEL_KEY = "sk-" + "a1B2c3D4-" * 5
SECRETS = {
    "a GitHub token": (f"cloning with {GITHUB_TOKEN}", GITHUB_TOKEN),
    "a bearer": ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
    "a password in a URL": ("https://me:hunter2hunter2@example.com/x", "hunter2hunter2"),
    "an AWS key": ("AKIAIOSFODNN7EXAMPLE is used", "AKIAIOSFODNN7EXAMPLE"),
    "a named value": ("DB_PASSWORD=correct-horse-battery", "correct-horse-battery"),
    "a model's key": (f"key {MODEL_KEY} used", MODEL_KEY),
}


def files(home: Path) -> list[Path]:
    """Return the audit and its rotated files, the oldest first."""
    directory = home / ".local" / "state" / "hookrun"
    aside = [path for path in directory.iterdir() if path.name.startswith("audit.jsonl.")]
    aside.sort(key=lambda path: -int(path.suffix[1:]))
    return [*aside, *(path for path in [directory / "audit.jsonl"] if path.exists())]


def records(home: Path) -> list[dict[str, object]]:
    """Return every record of every file; each line must be one JSON object."""
    return [json.loads(line) for path in files(home) for line in path.read_bytes().splitlines()]


def fire_unread(project: Project, *wrap: str, context: object = None) -> subprocess.CompletedProcess[bytes]:
    """Fire without looking at the audit afterwards."""
    return run(project, [*wrap, *project.command("fire", "pre_tool_use")], stdin=context or {})


# --- its content


def test_there_is_one_record_per_run_and_one_per_fire(project: Project) -> None:
    """Two hooks that ran make two records and the fire a third, after them, with the same request_id; the rest none."""
    project.hooks(
        {"name": "one", "command": "true"},
        {"name": "other", "command": "true", "matcher": "write"},
        {"name": "two", "command": BLOCK},
        {"name": "three", "command": "true"},
    )
    fired = project.fire()
    assert [(r["kind"], r.get("hook")) for r in fired.audit] == [("hook", "one"), ("hook", "two"), ("fire", None)]
    assert {record["request_id"] for record in fired.audit} == {fired.verdict["request_id"]}
    project.fire()
    assert len(project.audit()) == 6


def test_the_record_of_a_run_says_who_what_and_how_much(project: Project) -> None:
    """Version, time, agent, event, session, tool, hook, layer, source, action, exit, time and bytes are there."""
    before = datetime.now(UTC)
    project.hooks({"name": "change", "command": """echo '{"action": "modify", "args_patch": {"command": "ls -l"}}'"""})
    fired = project.fire({"session_id": "s1", "agent": "claude", "tool_name": "bash", "tool_args": {"command": "ls"}})
    record = fired.record("change")
    written = datetime.fromisoformat(str(record.pop("time")))
    assert before.replace(microsecond=0) <= written <= datetime.now(UTC)
    assert isinstance(record.pop("ms"), float)
    assert int(str(record.pop("bytes_in"))) > 100
    assert record == {
        "v": audit.VERSION,
        "kind": "hook",
        "request_id": fired.verdict["request_id"],
        "agent": "claude",
        "event": "pre_tool_use",
        "session_id": "s1",
        "tool": "bash",
        "hook": "change",
        "layer": "project",
        "source": f"{project.root}/coder.json:1",
        "action": "modify",
        "exit": 0,
        "bytes_out": len('{"action": "modify", "args_patch": {"command": "ls -l"}}\n'),
        "bytes_err": 0,
        "changed": ["command"],
        "changes": {"command": ["ls", "ls -l"]},
    }


def test_the_record_of_a_fire_says_what_came_of_it_and_what_it_cost(project: Project) -> None:
    """The fire's record has the verdict's action, the exit status, how many hooks, and the time in and out of them."""
    project.hooks({"name": "one", "command": BLOCK}, {"name": "two", "command": "true", "matcher": "write"})
    record = project.fire().audit[-1]
    total, own = record.pop("ms"), record.pop("own_ms")
    assert isinstance(total, float)
    assert isinstance(own, float)
    assert 0 < own <= total
    record.pop("time")
    record.pop("request_id")
    assert record == {
        "v": audit.VERSION,
        "kind": "fire",
        "event": "pre_tool_use",
        "session_id": "s1",
        "tool": "bash",
        "project": str(project.root),
        "command": "ls",
        "action": "block",
        "exit": 2,
        "hooks": 1,
        "declared": 2,
        "not_run": {"matcher": ["two"]},
    }


def test_a_fire_without_any_hook_is_recorded(project: Project) -> None:
    """If no hook matches, and if none is declared at all, one record shows that hookrun ran."""
    project.fire()
    project.hooks({"command": "true", "matcher": "write"})
    project.fire()
    assert [(r["kind"], r["hooks"], r["declared"]) for r in project.audit()] == [("fire", 0, 0), ("fire", 0, 1)]


def test_a_failure_is_recorded_with_its_kind_and_detail(project: Project) -> None:
    """A failure that did not block is in the record of its run, by kind, detail, exit status and action."""
    project.hooks({"command": "echo broken >&2; exit 3"})
    record = project.fire().record("hook")
    assert (record["failure"], record["exit"], record["action"]) == ("exit_code", 3, "continue")
    assert "broken" in str(record["detail"])


def test_trouble_of_hookruns_own_is_recorded(project: Project) -> None:
    """A context that cannot be read makes a record with exit 1 and the error."""
    project.fire(b"{not json")
    [record] = project.audit()
    assert (record["kind"], record["exit"]) == ("fire", 1)
    assert "give one JSON object" in str(record["error"])


def test_only_the_account_can_read_it(project: Project) -> None:
    """The file is 0600 in a directory of 0700, whatever the umask allows."""
    project.fire(wrap=("sh", "-c", 'umask 000; exec "$@"', "sh"))
    assert stat.S_IMODE(project.audit_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(project.audit_path.parent.stat().st_mode) == 0o700


def test_a_relative_home_is_taken_from_where_hookrun_was_started(project: Project) -> None:
    """`--home DIR` is one directory for the whole fire: the audit lies in it although hooks run elsewhere."""
    below = project.root / "below"
    below.mkdir()
    project.hooks({"command": "true"})
    (below / "mine").mkdir()
    assert project.fire(None, "--home", "mine", cwd=below).status == 0
    assert [path.relative_to(project.root) for path in project.root.rglob("audit.jsonl")] == [
        Path("below/mine/.local/state/hookrun/audit.jsonl")
    ]


PRIVATE = {
    "session_id": "s1",
    "tool_name": "bash",
    "tool_args": {"command": "the-command", "content": "private-content"},
    "user_prompt": "private-prompt",
    "assistant_response": "private-response",
    "tool_result_output": "private-output",
    "tool_result_error": "private-error",
    "metadata": {"a": "private-metadata"},
    "payload": {"a": "private-payload"},
}
CHANGE = """echo '{"action": "modify", "args_patch": {"command": "the-change", "content": "private-change"}}'"""


CHANGED = {"command": ["the-command", "the-change"], "content": ["private-content", "private-change"]}
DETAILS: dict[str, tuple[dict[str, object], list[str], object]] = {
    "by default": ({}, ["command", "file"], {"command": CHANGED["command"]}),
    "none": ({"audit": {"details": "none"}}, [], None),
    "full": ({"audit": {"details": "full"}}, ["command", "file", "context"], CHANGED),
}
"""Settings, which fields of the call are in the fire's record, and which changes in a hook's."""


@pytest.mark.parametrize(("settings", "kept", "changes"), DETAILS.values(), ids=DETAILS)
def test_details_say_how_much_of_a_call_is_kept(
    project: Project, settings: dict[str, object], kept: list[str], changes: object
) -> None:
    """`none`: no value; `summary`, the default: the command and the file; `full`: the whole context."""
    project.user_hooks(**settings)
    project.hooks({"name": "reads", "command": "cat > /dev/null"}, {"name": "changes", "command": CHANGE})
    fired = project.fire({**PRIVATE, "file_path": "notes.txt"})
    log = project.audit_path.read_text()
    fire = fired.audit[-1]
    assert '"changed":["command","content"]' in log
    assert [name for name in ("command", "file", "context") if name in fire] == kept
    assert fired.record("changes").get("changes") == changes
    assert (fire.get("command"), fire.get("file")) in ((None, None), ("the-command", f"{project.root}/notes.txt"))
    assert ("the-" in log, "private" in log) == (kept != [], "context" in kept)


def test_full_details_keep_no_credential(project: Project) -> None:
    """Whole contexts are kept, and the credentials in their texts, keys and lists are not."""
    project.user_hooks(audit={"details": "full"})
    args = {"command": f"push {GITHUB_TOKEN}", "env": {"password": "hunter2hunter2"}, "list": [{"a": GITHUB_TOKEN}]}
    context = project.fire({"tool_name": "bash", "tool_args": args}).audit[-1]["context"]
    assert isinstance(context, dict)
    assert context["tool_args"] == {
        "command": "push [redacted]",
        "env": {"password": "[redacted]"},
        "list": [{"a": "[redacted]"}],
    }


@rows("text, secret", SECRETS.values(), ids=SECRETS)
def test_a_command_is_kept_short_and_without_credentials(project: Project, text: str, secret: str) -> None:
    """200 characters, cut after credentials in them, and in the text that follows, were removed."""
    command = f"echo {text}; " + "x" * 190 + f" {text}"
    with Engine.load(project.root, home=project.home) as engine:
        engine.register("pre_tool_use", lambda _: None, name="any")
        engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": command})
    log = str(project.audit()[-1]["command"])
    assert secret not in log
    assert log.startswith("echo ")
    assert len(log) == audit.MAX_COMMAND + len("...")


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.text("aB1 -_.:=/\n'", max_size=20), st.data())
def test_the_quick_look_for_credentials_misses_none(around: str, data: st.DataObject) -> None:
    """What the table would take out, the look that saves reading the table finds."""
    forms = [pattern for _, pattern, _ in credentials.FORMS]
    forms += [pattern for _, pattern in (*credentials.PLACES, *credentials.ARGUMENTS)]
    text = around + data.draw(st.from_regex(data.draw(st.sampled_from(forms)))) + around
    assert credentials.redact(text) == text or audit.may_hold_credential(text)


def test_texts_of_hooks_are_kept(project: Project) -> None:
    """The reason, the text for the model and the text for the user."""
    answer = {"action": "block", "message": "M", "additional_context": "C", "system_message": "S"}
    (project.root / "says").write_text(json.dumps(answer))
    project.hooks({"name": "says", "command": "cat says"})
    record = project.fire().record("says")
    assert (record["message"], record["additional_context"], record["system_message"]) == ("M", "C", "S")


def test_arguments_that_a_hook_only_advises_are_not_in_it(project: Project) -> None:
    """A change that `mode: advise` shows to the user is recorded without its values."""
    change = """echo '{"action": "modify", "modified_args": {"command": "private-change"}}'"""
    project.hooks({"command": change, "mode": "advise"})
    fired = project.fire()
    assert "private-change" in str(fired.verdict["system_message"])
    assert "private-change" not in project.audit_path.read_text()


def test_credentials_are_taken_out(project: Project) -> None:
    """What looks like a credential in a message or on stderr is not kept, the words around it are."""
    hooks: list[dict[str, object]] = []
    for name, (text, _) in SECRETS.items():
        (project.root / name).write_text(json.dumps({"action": "continue", "message": f"before {text} after"}))
        hooks.append({"name": f"{name} in a message", "args": ["/bin/cat", str(project.root / name)]})
        hooks.append({"name": f"{name} on stderr", "command": f"echo 'before {text}' >&2; exit 3"})
    project.hooks(*hooks)
    fired = project.fire()
    log = project.audit_path.read_text()
    assert [name for name, (_, secret) in SECRETS.items() if secret in log] == []
    assert [name for name in SECRETS if "before" not in str(fired.record(f"{name} in a message")["message"])] == []
    assert [name for name in SECRETS if "before" not in str(fired.record(f"{name} on stderr")["detail"])] == []


def test_long_texts_are_capped(project: Project) -> None:
    """A message, a session and a tool of a megabyte each make a record of a few kilobytes."""
    long = "x" * (1 << 20)
    (project.root / "says").write_text(json.dumps({"action": "block", "message": long[:900_000]}))
    project.hooks({"command": "cat says"})
    project.fire({"session_id": long, "tool_name": long, "tool_args": {}})
    [run, fire] = project.audit()
    assert str(run["message"]).startswith("x" * audit.MAX_TEXT)
    assert len(json.dumps(run)) < 4000
    assert len(json.dumps(fire)) < 4000


def test_control_characters_and_line_ends_do_not_make_lines(project: Project) -> None:
    """A message with line ends and terminal codes is one line of the audit, in ASCII."""
    (project.root / "says").write_text(json.dumps({"action": "block", "message": "a\nb\u2028c\x1b[31m\u00fc"}))
    project.hooks({"command": "cat says"})
    project.fire()
    data = project.audit_path.read_bytes()
    assert data.isascii()
    assert (data.count(b"\n"), b"\x1b" in data) == (len(project.audit(starts=True)), False)
    assert [record["kind"] for record in project.audit()] == ["hook", "fire"]
    assert project.audit()[0]["message"] == "a\nb\u2028c\x1b[31m\u00fc"


def test_audit_false_writes_nothing(project: Project) -> None:
    """With `audit: false` in the user layer there is no audit at all, and no other difference."""
    project.user_hooks(audit=False)
    project.hooks({"command": BLOCK})
    fired = project.fire()
    assert (fired.status, fired.stderr) == (2, "no\n")
    assert not project.audit_path.parent.exists()


def test_a_project_cannot_switch_the_audit_off(project: Project) -> None:
    """`audit: false` in a project is an error that is reported, and the audit continues."""
    project.hooks({"command": "true"}, audit=False)
    fired = project.fire()
    assert "audit" in fired.stderr
    assert project.audit() != []


# --- a run that is killed


def test_a_fire_that_is_killed_has_left_a_start_record(project: Project) -> None:
    """A run that lasts over a second and then gets SIGKILL is in the audit by its `start`, with its process id."""
    os.mkfifo(project.root / "pid")
    project.hooks({"command": "echo $$ > pid; exec sleep 300"})
    with subprocess.Popen(
        project.command("fire", "pre_tool_use"),
        cwd=project.root,
        env=project.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"session_id": "s1", "tool_name": "bash"}')
        process.stdin.close()
        hook = int((project.root / "pid").read_text())
        try:
            until(lambda: project.audit(starts=True), "no start record")
        finally:
            process.kill()
            os.kill(hook, 9)
    [record] = project.audit(starts=True)
    assert (record["kind"], record["pid"], record["session_id"]) == ("start", process.pid, "s1")
    assert record["event"] == "pre_tool_use"


@pytest.mark.slow
def test_a_slow_fire_that_ends_has_one_start_and_one_fire_of_the_same_request(project: Project) -> None:
    """A run of over a second that ends normally: `start`, the runs, `fire`, all with one request_id."""
    project.hooks({"command": "sleep 1.2"})
    project.fire()
    records = project.audit(starts=True)
    assert [record["kind"] for record in records] == ["start", "hook", "fire"]
    assert len({record["request_id"] for record in records}) == 1


# --- failures


def read_only(directory: Path) -> tuple[str, ...]:
    """Return what runs a command while nothing can be written in the directory, root included; skip without a way."""
    if os.geteuid() != 0:
        return ("sh", "-c", f'chmod 500 "{directory}"; "$@"; status=$?; chmod 700 "{directory}"; exit $status', "sh")
    return in_own_mounts("tmpfs", "ro,size=64k", directory)


def in_own_mounts(kind: str, options: str, directory: Path) -> tuple[str, ...]:
    """Return a prefix that runs a command with a separate file system on the directory; skip if not permitted."""
    mount = f'mount -t {kind} -o {options} none "{directory}" && '
    wrap = ("unshare", "-rm", "sh", "-c")
    try:
        tried = subprocess.run([*wrap, mount + "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if tried.returncode != 0:
        pytest.skip(f"mounting is not permitted here: {tried.stderr.decode().strip()}")
    return (*wrap, mount + 'exec "$@"', "sh")


def assert_unharmed(project: Project, *, wrap: tuple[str, ...] = (), message: str) -> None:
    """Check that block and continue are unchanged, and that stderr reports that the audit could not be written."""
    for command, status, action in ((BLOCK, 2, "block"), ("true", 0, "continue")):
        project.hooks({"command": command})
        fired = project.fire(wrap=wrap)
        assert (fired.status, fired.action) == (status, action), fired.stderr
        assert "warning: the audit could not be written: " in fired.stderr
        assert message in fired.stderr


def test_a_directory_that_cannot_be_written_changes_no_verdict(project: Project) -> None:
    """An audit directory without write permission leaves the verdict unchanged, and stderr names the file."""
    directory = project.audit_path.parent
    directory.mkdir(parents=True)
    assert_unharmed(project, wrap=read_only(directory), message=str(project.audit_path))
    assert not project.audit_path.exists()


def test_a_file_where_the_directory_should_be_changes_no_verdict(project: Project) -> None:
    """With a file at the path of the directory the verdict is unchanged, and the file is left alone."""
    project.audit_path.parent.parent.mkdir(parents=True)
    project.audit_path.parent.write_text("mine")
    assert_unharmed(project, message=str(project.audit_path.parent))
    assert project.audit_path.parent.read_text() == "mine"


def test_a_home_that_is_a_file_changes_no_verdict(project: Project) -> None:
    """If not even a directory can be created below the home, the verdict is unchanged."""
    (project.home / ".local").write_text("mine")
    assert_unharmed(project, message="Not a directory")


def test_a_directory_where_the_file_should_be_changes_no_verdict(project: Project) -> None:
    """With a directory at the path of the file the verdict is unchanged."""
    project.audit_path.mkdir(parents=True)
    project.hooks({"command": BLOCK})
    done = fire_unread(project)
    assert done.returncode == 2
    assert b"warning: the audit could not be written: " in done.stderr


@pytest.mark.parametrize("targets", [["target"], []], ids=["there", "not there"])
def test_a_symlink_in_its_place_is_not_written_through(project: Project, targets: list[str]) -> None:
    """An audit that is a symbolic link is refused: its target is neither changed nor created."""
    target = project.home / "target"
    for name in targets:
        (project.home / name).write_text("")
    project.audit_path.parent.mkdir(parents=True)
    project.audit_path.symlink_to(target)
    project.hooks({"command": BLOCK})
    done = fire_unread(project)
    assert done.returncode == 2
    assert f"warning: the audit could not be written: {project.audit_path}".encode() in done.stderr
    assert project.audit_path.is_symlink()
    assert [path.name for path in project.home.glob("target") if path.read_text() == ""] == targets
    assert target.exists() == bool(targets)


def test_a_full_disk_changes_no_verdict(project: Project) -> None:
    """On a full file system the verdict is unchanged, and stderr reports the lack of space."""
    directory = project.audit_path.parent
    directory.mkdir(parents=True)
    wrap = in_own_mounts("tmpfs", "size=16k", directory)
    filled = (*wrap[:-2], wrap[-2].replace("exec", f'{{ cat /dev/zero > "{directory}/fill"; }} 2>&- ; exec'), wrap[-1])
    assert_unharmed(project, wrap=filled, message="No space left on device")


def test_a_limit_on_the_size_of_files_changes_no_verdict(project: Project) -> None:
    """If the audit may not grow (RLIMIT_FSIZE), the verdict is unchanged and stderr says so."""
    project.audit_path.parent.mkdir(parents=True)
    project.audit_path.write_text('{"v": 1}\n' * 57)
    assert project.audit_path.stat().st_size > 512
    assert_unharmed(project, wrap=("sh", "-c", 'ulimit -f 1; exec "$@"', "sh"), message=str(project.audit_path))


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="there is no prlimit here")
def test_a_line_that_was_cut_short_does_not_spoil_the_next(project: Project) -> None:
    """A record that a full disk has cut is removed: the next one starts on a new line."""
    fire_unread(project)
    whole = project.audit_path.read_bytes()
    done = fire_unread(project, "prlimit", f"--fsize={len(whole) * 3 // 2}")
    assert done.returncode == 0
    assert b"there is no room for the record" in done.stderr
    assert project.audit_path.read_bytes() == whole
    fire_unread(project)
    assert [record["kind"] for record in project.audit()] == ["fire"] * 2


# --- rotation


@pytest.mark.slow
def test_it_is_put_aside_when_it_has_grown_and_the_oldest_goes(project: Project) -> None:
    """With max_bytes 65536 and keep 2 in the user layer there are never more than two files beside it."""
    project.user_hooks(audit={"max_bytes": 65536, "keep": 2})
    for _ in range(4):
        project.fire()
        with project.audit_path.open("a") as file:
            file.write('{"v": 1, "kind": "padding"}\n' * 2400)
        project.fire()
    assert [path.name for path in files(project.home)] == ["audit.jsonl.2", "audit.jsonl.1"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files(project.home))
    project.fire()
    assert [path.name for path in files(project.home)] == ["audit.jsonl.2", "audit.jsonl.1", "audit.jsonl"]
    assert len(project.audit()) == 1


def test_it_grows_to_ten_megabytes_by_default(project: Project) -> None:
    """By default the audit is rotated beyond 10 MiB, and not before."""
    project.fire()
    size = project.audit_path.stat().st_size
    padding = b'{"v": 1, "kind": "padding", "x": "%s"}\n' % (b"x" * 9962)
    with project.audit_path.open("ab") as file:
        file.write(padding * ((audit.MAX_BYTES - 3 * size) // len(padding)))
    project.fire()
    assert [path.name for path in files(project.home)] == ["audit.jsonl"]
    with project.audit_path.open("ab") as file:
        file.write(padding * 2)
    project.fire()
    assert [path.name for path in files(project.home)] == ["audit.jsonl.1"]


PROCESSES, FIRES, RECORDS = 8, 1250, 3
TOO_LARGE = 65536
CROWD: dict[str, object] = {"max_bytes": TOO_LARGE, "keep": 1000}
WRITE = f"""
import sys
from hookrun.core import audit
home, writer = sys.argv[1:]
sys.stdin.read()
for fire in range({FIRES}):
    records = [
        audit.record("hook", {{"session_id": writer}}, number=fire * {RECORDS} + each, pad="x" * 600)
        for each in range({RECORDS})
    ]
    error = audit.write(home, records, {CROWD!r})
    if error is not None:
        print(writer, fire, error)
"""


def test_an_audit_that_another_process_has_just_put_aside_is_no_trouble(tmp_path: Path) -> None:
    """Between a write and its rotation the file may be gone: what was written is written, and nothing is raised."""
    path = tmp_path / "audit.jsonl"
    rotate(str(path), TOO_LARGE, 3)
    assert not path.exists()


def test_where_one_that_was_put_aside_is_gone_those_behind_it_stay(tmp_path: Path) -> None:
    """Each file moves only as far as needed; at most `keep` exist, and only the oldest is deleted."""
    path = tmp_path / "audit.jsonl"
    for name, size in {"": 11, ".1": 12, ".3": 13}.items():
        Path(f"{path}{name}").write_bytes(b"x" * size)
    rotate(str(path), 10, 3)
    assert {each.suffix: each.stat().st_size for each in tmp_path.glob("audit.jsonl*")} == {
        ".1": 11,
        ".2": 12,
        ".3": 13,
    }
    path.write_bytes(b"x" * 14)
    rotate(str(path), 10, 3)
    assert {each.suffix: each.stat().st_size for each in tmp_path.glob("audit.jsonl*")} == {
        ".1": 14,
        ".2": 11,
        ".3": 12,
    }


@pytest.mark.slow
def test_10000_fires_of_8_processes_into_one_audit_lose_nothing(project: Project) -> None:
    """30,000 records from 8 processes at once, rotated in between: every line is whole, every record there once."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(project.home), str(number)],
            env=project.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
        writer.stdin = None
    message = b"".join(writer.communicate(timeout=limit())[0] for writer in writers)
    lines = [line for path in files(project.home) for line in path.read_bytes().splitlines()]
    whole = [json.loads(line) for line in lines if line]
    log = [(str(record["session_id"]), int(str(record["number"]))) for record in whole]
    expected = [(str(number), each) for number in range(PROCESSES) for each in range(FIRES * RECORDS)]
    assert sorted(log) == sorted(expected)
    sizes = [path.stat().st_size for path in files(project.home)]
    assert len(sizes) > 2, "it was put aside in between, how often is for who writes while another moves the files"
    assert min(sizes[:-1]) > TOO_LARGE, "no file was put aside twice, or before its time"
    assert (message, lines.count(b"")) == (b"", 0), "errors told although all is written; empty lines"


@pytest.mark.slow
def test_200_fires_of_8_at_once_into_one_audit_lose_nothing(project: Project) -> None:
    """200 real runs, 8 at a time, into an audit that is rotated meanwhile: 600 records on 600 whole lines."""
    project.user_hooks(audit=CROWD)
    (project.root / "says").write_text(json.dumps({"action": "continue", "message": "x" * 400}))
    project.hooks({"name": "h0", "command": "cat says"}, {"name": "h1", "command": "cat says"})
    declared = project.root / "coder.json"
    until(lambda: time.time_ns() - declared.stat().st_ctime_ns > YOUNG + 50_000_000, "the file stays young")

    def fire(number: int) -> tuple[int, bytes]:
        done = fire_unread(project, context={"session_id": str(number), "tool_name": "bash"})
        return done.returncode, done.stderr

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(fire, range(200)))
    assert done == [(0, b"")] * 200
    message = [r for r in records(project.home) if r["kind"] != "start"]  # those began to last, on a slow machine
    log = sorted((int(str(r["session_id"])), str(r["kind"]), str(r.get("hook"))) for r in message)
    each = [("fire", "None"), ("hook", "h0"), ("hook", "h1")]
    assert log == [(number, *what) for number in range(200) for what in each]
    assert len(files(project.home)) > 2
