"""The cache of compiled declarations: it saves the compiling, and it is never believed when anything has changed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.config import cache_writer, discovery
from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.core import state
from hookrun.core.files import Locked
from hookrun.core.state import YOUNG
from tests.rows import rows
from tests.waiting import limit, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.config.discovery import CompiledConfig, ConfigFiles
    from tests.conftest import Project

DECLARED, POISONED = "as-declared", "as-poisoned"
"""The answer of a hook as declared, and as in a cache file changed behind hookrun's back: of equal length."""


def says(text: str) -> dict[str, object]:
    """Return a hook that blocks with this text."""
    return {"command": f"echo {text} >&2; exit 2"}


def found(project: Project, cwd: Path | None = None) -> ConfigFiles:
    """Return the declaration files in force, without those of the machine."""
    return find(str(cwd or project.root), str(project.home), managed=str(project.home / "none"))


def load(project: Project, cwd: Path | None = None) -> CompiledConfig:
    """Return the compiled declarations as a run would load them."""
    compiled = load_compiled(found(project, cwd))
    assert compiled is not None
    return compiled


def commands(compiled: CompiledConfig, event: str = "pre_tool_use") -> list[str]:
    """Return the commands of an event's hooks, in order."""
    hooks = compiled.candidates(event)
    return [str(hooks.hook(index).target) for index in range(hooks.count)]


def said(project: Project, cwd: Path | None = None) -> list[str]:
    """Return the texts that the hooks in force would block with."""
    return [command.split()[1] for command in commands(load(project, cwd))]


def cache_files(project: Project) -> list[Path]:
    """Return the files in the cache."""
    directory = project.home / ".cache" / "hookrun"
    return sorted(directory.iterdir()) if directory.is_dir() else []


def cache_file(project: Project) -> Path:
    """Return the only cache file."""
    [path] = cache_files(project)
    return path


def write(path: Path, text: str) -> None:
    """Write a cache file that is not damaged."""
    path.write_bytes(state.seal(text))


def poison(path: Path) -> None:
    """Change only the answers of the hooks in a cache file: a run that gives these has read the cache."""
    text = path.read_text()[state.SEAL :]
    assert DECLARED in text
    write(path, text.replace(DECLARED, POISONED))


def until_old(path: Path) -> None:
    """Wait until the file is so old that a process of its own caches its compiled form."""
    until(lambda: time.time_ns() - path.stat().st_ctime_ns > YOUNG + 20_000_000, f"{path} never got old")


@pytest.fixture
def keeps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache compiled config however new the files are, in this process."""
    monkeypatch.setattr(cache_writer, "YOUNG", -1)


# --- real runs


@pytest.mark.slow
def test_a_second_fire_does_not_compile(project: Project) -> None:
    """The first run leaves a cache file, the second neither changes nor ignores it: its answer is used."""
    project.hooks(says(DECLARED))
    until_old(project.root / "coder.json")
    assert project.fire().verdict["message"] == DECLARED
    path = cache_file(project)
    before = path.stat()
    assert project.fire().verdict["message"] == DECLARED
    assert path.stat() == before or path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino
    poison(path)
    assert project.fire().verdict["message"] == POISONED


@pytest.mark.usefixtures("keeps_at_once")
def test_a_change_is_seen_by_the_next_fire(project: Project) -> None:
    """The next run obeys a declaration that was rewritten with the same size since it was compiled."""
    project.hooks(says(DECLARED))
    assert said(project) == [DECLARED]
    poison(cache_file(project))
    assert project.fire().verdict["message"] == POISONED
    until_another_tick(project.root / "coder.json")
    project.hooks(says("as-changed1"))
    assert project.fire().verdict["message"] == "as-changed1"


@pytest.mark.slow
@pytest.mark.usefixtures("keeps_at_once")
def test_a_configuration_that_another_run_compiles_is_waited_for(project: Project) -> None:
    """A run uses the cache file that the lock's holder wrote meanwhile; it does not wait for a stopped holder."""
    project.hooks(says(DECLARED))
    load(project)
    path = cache_file(project)
    poison(path)
    written = path.read_bytes()
    path.unlink()
    with ThreadPoolExecutor(1) as pool, Locked(str(path.parent)):
        assert pool.submit(said, project).result(limit()) == [DECLARED]
        path.unlink(missing_ok=True)
        waiting = pool.submit(said, project)
        path.write_bytes(written)
        assert waiting.result(limit()) == [POISONED]


@pytest.mark.usefixtures("keeps_at_once")
def test_runs_that_start_together_compile_once(project: Project) -> None:
    """Of twenty runs without a cache file one compiles, and the others read its cache file."""
    project.hooks(says(DECLARED))
    compiled: list[str] = []

    def build(found: ConfigFiles) -> str:
        compiled.append(found.home)
        until(lambda: len(begun) == 20, "not every run began")
        return original(found)

    def run(number: int) -> list[str]:
        begun.append(number)
        return said(project)

    begun: list[int] = []
    original = cache_writer.build
    with pytest.MonkeyPatch.context() as patched, ThreadPoolExecutor(20) as pool:
        patched.setattr(cache_writer, "build", build)
        assert list(pool.map(run, range(20))) == [[DECLARED]] * 20
    assert len(compiled) == 1


# --- changes that make a cache file stale


def rewrite(path: Path) -> None:
    """Write the file anew in its place."""
    path.write_text(path.read_text().replace(DECLARED, "as-changed1"))


def rewrite_with_the_old_time(path: Path) -> None:
    """Write the file anew and set its time of change back, as an archive or a tool may do."""
    before = path.stat()
    rewrite(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    """Put another file of the same size and time in its place."""
    before = path.stat()
    new = path.with_name("new")
    new.write_text(path.read_text().replace(DECLARED, "as-changed1"))
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(path)


CHANGES: dict[str, Callable[[Path], None]] = {
    "written anew": rewrite,
    "written anew with the old time": rewrite_with_the_old_time,
    "replaced by another": replace,
}


@pytest.mark.usefixtures("keeps_at_once")
@rows("change", CHANGES)
def test_a_changed_file_is_compiled_again(project: Project, change: str) -> None:
    """A changed declaration of the same size is noticed, whatever its modification time."""
    project.hooks(says(DECLARED))
    assert said(project) == [DECLARED]
    until_another_tick(project.root / "coder.json")
    CHANGES[change](project.root / "coder.json")
    assert said(project) == ["as-changed1"]


def until_another_tick(path: Path) -> None:
    """Return when a change to the file would have another time: file systems count in ticks of some milliseconds."""
    probe = path.with_name("probe")
    while True:
        probe.write_text("")
        if probe.stat().st_ctime_ns != path.stat().st_ctime_ns:
            break
    probe.unlink()


def test_a_hundred_changes_within_a_moment_are_each_seen(project: Project) -> None:
    """A file that is rewritten faster than its times can show is right each time that it is loaded."""
    for number in range(100):
        text = f"as-is-{number:05}"
        project.hooks(says(text))
        assert said(project) == [text]


@pytest.mark.usefixtures("keeps_at_once")
def test_a_file_that_goes_or_comes_is_seen(project: Project) -> None:
    """A declaration that is deleted is in force no more, and one that comes to it is."""
    project.user_hooks(says("of-the-user"))
    project.hooks(says(DECLARED))
    assert said(project) == ["of-the-user", DECLARED]
    (project.root / "coder.json").unlink()
    assert said(project) == ["of-the-user"]
    (project.root / "coder.local.json").write_text(json.dumps({"hooks": [{"event": "pre_tool_use", **says("local")}]}))
    assert said(project) == ["of-the-user", "local"]
    (project.home / ".config" / "hookrun" / "hooks.json").unlink()
    assert said(project) == ["local"]


@pytest.mark.usefixtures("keeps_at_once")
def test_a_nearer_declaration_is_seen_as_soon_as_it_is_there(project: Project) -> None:
    """A hookrun.yaml that appears in the working directory takes the place of the one further up, and gives it back."""
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    project.hooks(says(DECLARED))
    assert said(project, below) == [DECLARED]
    nearer = project.root / "a" / "hookrun.yaml"
    nearer.write_text('hooks:\n  - event: pre_tool_use\n    command: "echo nearer >&2; exit 2"\n')
    assert said(project, below) == ["nearer"]
    assert load(project, below).root == str(project.root / "a")
    assert said(project) == [DECLARED]
    nearer.unlink()
    assert said(project, below) == [DECLARED]
    assert load(project, below).root == str(project.root)


@pytest.mark.usefixtures("keeps_at_once")
def test_yaml_is_kept_as_json_is(project: Project) -> None:
    """A hookrun.yaml is compiled once as well."""
    text = f'hooks:\n  - event: pre_tool_use\n    command: "echo {DECLARED} >&2; exit 2"\n'
    (project.root / "hookrun.yaml").write_text(text)
    assert said(project) == [DECLARED]
    poison(cache_file(project))
    assert said(project) == [POISONED]


@pytest.mark.usefixtures("keeps_at_once")
def test_what_a_linked_declaration_leads_to_is_what_counts(project: Project) -> None:
    """A declaration that is a symbolic link is compiled again when its target changes, and when it is led elsewhere."""
    link = project.root / "coder.json"
    for name in ("one", "two"):
        target = project.root / name
        target.write_text(json.dumps({"hooks": [{"event": "pre_tool_use", **says(name)}]}))
    link.symlink_to("one")
    assert said(project) == ["one"]
    until_another_tick(project.root / "one")
    (project.root / "one").write_text((project.root / "one").read_text().replace("one", "eno"))
    assert said(project) == ["eno"]
    link.unlink()
    link.symlink_to("two")
    assert said(project) == ["two"]


# --- included files


def include(project: Project, *names: str) -> None:
    """Declare a hook and include files."""
    project.hooks(says(DECLARED), include=list(names))


def write_included(path: Path, text: str) -> None:
    """Write a file to be included."""
    path.write_text(json.dumps({"hooks": [{"name": path.stem, "event": "pre_tool_use", **says(text)}]}))


@pytest.mark.usefixtures("keeps_at_once")
def test_a_change_of_an_included_file_is_seen(project: Project) -> None:
    """A file that is included, through another one even, is compiled again when it changes."""
    (project.root / "a.json").write_text('{"hooks": [], "hookrun": {"include": ["b.json"]}}')
    write_included(project.root / "b.json", "included1")
    include(project, "a.json")
    assert said(project) == [DECLARED, "included1"]
    poison(cache_file(project))
    assert said(project) == [POISONED, "included1"]
    until_another_tick(project.root / "b.json")
    write_included(project.root / "b.json", "included2")
    assert said(project) == [DECLARED, "included2"]
    (project.root / "a.json").write_text('{"hooks": []}')
    assert said(project) == [DECLARED]


@pytest.mark.usefixtures("keeps_at_once")
def test_a_missing_included_file_is_seen_when_it_appears(project: Project) -> None:
    """A missing include is a problem, from the cache too, until it appears, and again when it is deleted."""
    include(project, "later.json")
    for _ in range(2):
        assert any("included file not found" in problem for problem in load(project).problems)
    poison(cache_file(project))
    assert said(project) == [POISONED]
    write_included(project.root / "later.json", "included1")
    assert (load(project).problems, said(project)) == ([], [DECLARED, "included1"])
    (project.root / "later.json").unlink()
    assert any("included file not found" in problem for problem in load(project).problems)


def test_what_changed_a_moment_ago_is_not_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within two seconds, in which it or an included file may change again with the same times, it is compiled anew."""
    include(project, "part.json")
    write_included(project.root / "part.json", "included")
    for name in ("coder.json", "part.json"):
        shutil.rmtree(project.home / ".cache", ignore_errors=True)
        until_another_tick(max(project.root.glob("*.json"), key=lambda path: path.stat().st_ctime_ns))
        (project.root / name).write_bytes((project.root / name).read_bytes())
        changed = (project.root / name).stat().st_ctime_ns
        for age, files in ((2_000_000_000, 0), (2_000_000_001, 1)):
            monkeypatch.setattr(state, "now_ns", lambda changed=changed, age=age: changed + age)
            assert said(project) == [DECLARED, "included"]
            assert len(cache_files(project)) == files


# --- files that are not our cache files


def edit(**fields: object) -> Callable[[Path], None]:
    """Return what changes fields of the header."""

    def change(path: Path) -> None:
        header, _, rest = path.read_text()[state.SEAL :].partition("\n")
        write(path, json.dumps({**json.loads(header), **fields}) + "\n" + rest)

    return change


def tear(share: float) -> Callable[[Path], None]:
    """Return what leaves only the beginning of a file."""

    def change(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])

    return change


def rest(change: Callable[[str], str]) -> Callable[[Path], None]:
    """Return what leaves the checksum and the header, and changes the rest of a file."""

    def changed(path: Path) -> None:
        *head, body = path.read_text().split("\n", 2)
        path.write_text("\n".join((*head, change(body))))

    return changed


def link(path: Path) -> None:
    """Put a link to the same text in its place."""
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


SPOILED: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "torn in the header": tear(0.2),
    "torn at its end": tear(0.98),
    "torn after the header": rest(lambda _: ""),
    "zeros after the header, as after a crash": rest(lambda body: "\0" * len(body)),
    "other JSON after the header": rest(lambda body: ("[1]\n" * len(body))[: len(body)]),
    "binary": lambda path: path.write_bytes(os.urandom(2000)),
    "NUL bytes": lambda path: path.write_bytes(bytes(2000)),
    "not ASCII": lambda path: path.write_bytes(path.read_bytes() + "ü".encode()),
    "a list": lambda path: path.write_text("[]\n"),
    "an object without anything": lambda path: path.write_text("{}\n"),
    "of another version": edit(version="0.0.0"),
    "of another format": edit(format=discovery.FORMAT + 1),
    "of other files": edit(sources=[]),
    "without an index": edit(index=None),
    "group-writable": lambda path: path.chmod(0o620),
    "world-writable": lambda path: path.chmod(0o602),
    "a symbolic link": link,
}


@pytest.mark.slow
@pytest.mark.usefixtures("keeps_at_once")
def test_no_changed_byte_loses_a_guard(project: Project) -> None:
    """Whichever byte of the file is another one, the hooks and their conditions are those that are declared."""
    project.hooks(
        {"name": "guard", "matcher": "bash", "when": {"tool_args.command": "*rm*"}, "command": "exit 2"},
        {"name": "other", "event": "stop", "command": "true", "on_failure": "block"},
    )
    whole = load(project)
    expected = [hook.to_dict() for hook in whole.hooks()]
    path = cache_file(project)
    data = path.read_bytes()
    wrong = []
    for place in range(len(data)):
        for mask in (1, 8, 64, 128):
            path.write_bytes(data[:place] + bytes((data[place] ^ mask,)) + data[place + 1 :])
            found = load(project)
            if [hook.to_dict() for hook in found.hooks()] != expected or found.candidates("pre_tool_use").count != 1:
                wrong.append((place, mask))
    assert wrong == []


@pytest.mark.usefixtures("keeps_at_once")
@rows("how", SPOILED)
def test_a_spoiled_cache_file_is_rebuilt(project: Project, how: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The load after the one that met a spoiled cache file reads a whole one, of ours alone, in its place."""
    shutil.rmtree(project.home / ".cache", ignore_errors=True)  # what another row has left
    rebuilt_after(project, SPOILED[how], capfd)


@pytest.mark.usefixtures("keeps_at_once")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_cache_file_of_another_account_is_rebuilt(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever it holds."""
    rebuilt_after(project, lambda path: os.chown(path, 65534, 65534), capfd)


@pytest.mark.usefixtures("keeps_at_once")
def test_a_torn_cache_file_and_a_directory_in_its_place_are_ignored(project: Project) -> None:
    """A run obeys the declaration without a message."""
    project.hooks(says(DECLARED))
    load(project)
    path = cache_file(project)
    poison(path)
    tear(0.98)(path)
    fired = project.fire()
    assert (fired.status, fired.stderr) == (2, DECLARED + "\n")
    path.unlink()
    path.mkdir()
    fired = project.fire()
    assert (said(project), fired.status, fired.stderr) == ([DECLARED], 2, DECLARED + "\n")


def rebuilt_after(project: Project, spoil: Callable[[Path], object], capfd: pytest.CaptureFixture[str]) -> None:
    """Check that a spoiled cache file is not believed, without a word, and that there is a new one afterwards."""
    project.hooks(says(DECLARED))
    assert said(project) == [DECLARED]
    path = cache_file(project)
    poison(path)
    spoil(path)
    assert said(project) == [DECLARED]
    status = path.lstat()
    assert stat.S_ISREG(status.st_mode)
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o600, os.geteuid())
    poison(path)
    assert said(project) == [POISONED]
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("keeps_at_once")
def test_only_the_account_can_read_or_write_it(project: Project) -> None:
    """The cache file is 0600 in a directory of 0700, whatever the umask allows."""
    project.hooks(says(DECLARED))
    before = os.umask(0)
    try:
        load(project)
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache_file(project).stat().st_mode) == 0o600
    assert stat.S_IMODE(cache_file(project).parent.stat().st_mode) == 0o700


@pytest.mark.usefixtures("keeps_at_once")
def test_a_cache_that_cannot_be_written_is_no_failure(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """With a file at the path of the cache directory every load compiles without a message, and leaves nothing."""
    project.hooks(says(DECLARED))
    (project.home / ".cache").write_text("mine")
    assert said(project) == [DECLARED]
    assert said(project) == [DECLARED]
    assert (project.home / ".cache").read_text() == "mine"
    assert capfd.readouterr() == ("", "")


# --- whole and many

EVERY_FIELD: dict[str, object] = {
    "name": "every",
    "event": ["pre_tool_use", "PostToolUse"],
    "command": f"echo {DECLARED} 'ü \U0001f600 \u2028' >&2; exit 2",
    "matcher": ["bash|write", "mcp__*"],
    "when": {"tool_args.command": ["*git*", "*ü*"], "session_id": "s*"},
    "unless": {"agent": "claude"},
    "timeout": 1.5,
    "priority": 7,
    "parallel": True,
    "always": True,
    "exclusive": True,
    "serve": True,
    "on_failure": "block",
    "mode": "advise",
    "agents": ["claude", "codex"],
    "env": {"A": "1", "B": "ü"},
    "env_policy": "scrub",
    "cwd": "event",
    "files": ["hooks/*"],
    "payload": True,
    "max_output": 100,
    "description": "ü\n\U0001f600",
    "metadata": {"a": [1, 2.5, None, True, {"b": "c"}]},
}


@pytest.mark.usefixtures("keeps_at_once")
def test_what_is_read_back_is_what_was_declared(project: Project) -> None:
    """Every field of every kind of hook, a wrongly declared one included, is the same from the cache as compiled."""
    project.hooks(
        EVERY_FIELD,
        {"name": "plain", "command": "true"},
        {"name": "args", "args": ["true", "ü"]},
        {"name": "python", "python": "a.b:c", "interpreter": "python3"},
        {"name": "url", "url": "http://127.0.0.1/", "headers": {"A": "$B"}, "allowed_env": ["B"]},
        {"name": "wrong", "command": "true", "timeout": "soon"},
    )
    load(project)
    poison(cache_file(project))
    compiled = load(project)
    for event in ("pre_tool_use", "post_tool_use"):
        hooks = compiled.candidates(event)
        dicts = [hooks.hook(index).to_dict() for index in range(hooks.count)]
        declared = [hook.to_dict() for hook in load_config(found(project)).declarations.hooks if event in hook.events]
        expected = json.loads(json.dumps(declared).replace(DECLARED, POISONED))
        assert json.loads(json.dumps(dicts)) == expected
        assert len(dicts) == (6 if event == "pre_tool_use" else 1)


@pytest.mark.usefixtures("keeps_at_once")
def test_settings_problems_events_and_root_are_read_back(project: Project) -> None:
    """What concerns no single hook is the same from the cache as compiled."""
    project.user_hooks(says("user"), audit={"max_bytes": 70000, "keep": 3}, on_error="block")
    project.hooks(says(DECLARED), events=["my_event"], include=["missing.json"])
    first = load(project)
    poison(cache_file(project))
    second = load(project)
    assert commands(second)[-1].split()[1] == POISONED
    for name in ("settings", "problems", "events", "root", "sources", "also"):
        assert getattr(first, name) == getattr(second, name)
    assert (second.events, second.root) == (["my_event"], str(project.root))
    assert second.problems != []


@pytest.mark.slow
def test_ten_thousand_hooks_in_a_file_of_the_user_are_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trusted file may be as large as it needs to be; a file of the project may not."""
    hooks = [
        {"name": f"h{i}", "event": "pre_tool_use", "matcher": f"tool{i}", **says(f"{DECLARED}-{i}")}
        for i in range(10_000)
    ]
    project.user_hooks(*hooks)
    with monkeypatch.context() as patched:
        patched.setattr(cache_writer, "YOUNG", -1)
        assert load(project).problems == []
    fired = project.fire({"tool_name": "tool9876", "tool_args": {}})
    assert fired.verdict["message"] == f"{DECLARED}-9876"
    project.hooks(*hooks)
    [problem] = load(project).problems
    assert "more than 50000 values in a file" in problem


@pytest.mark.usefixtures("keeps_at_once")
def test_a_thousand_hooks_are_kept_in_their_order(project: Project) -> None:
    """Of a thousand hooks over two events in the cache, each in its place, a run starts the one that matches."""
    events = ("pre_tool_use", "stop")
    hooks = [{"name": f"h{i}", "event": events[i % 2], "matcher": f"tool{i}"} for i in range(1000)]
    project.hooks(*({**hook, **says(f"{DECLARED}-{i}")} for i, hook in enumerate(hooks)))
    load(project)
    poison(cache_file(project))
    compiled = load(project)
    for place, event in enumerate(events):
        texts = [command.split()[1] for command in commands(compiled, event)]
        assert texts == [f"{POISONED}-{i}" for i in range(place, 1000, 2)]
    fired = project.fire({"tool_name": "tool788", "tool_args": {}})
    assert fired.verdict["message"] == f"{POISONED}-788"
    assert fired.audit[-1]["declared"] == 500


@pytest.mark.usefixtures("keeps_at_once")
def test_each_set_of_config_files_has_a_cache_file(project: Project) -> None:
    """Two projects and a file named with `--config` do not affect each other, nor do two homes."""
    other, named = project.root / "other", project.home / "named.json"
    (other / ".git").mkdir(parents=True)
    for path, text in ((other / "coder.json", "other"), (named, "named")):
        path.write_text(json.dumps({"hooks": [{"event": "pre_tool_use", **says(text)}]}))
    project.hooks(says(DECLARED))
    for _ in range(2):
        with_config = load_compiled(find(str(project.root), str(project.home), config=str(named), managed="/none"))
        assert with_config is not None
        assert [command.split()[1] for command in commands(with_config)] == ["named"]
        assert (said(project), said(project, other)) == ([DECLARED], ["other"])
    assert len(cache_files(project)) == 3
    load_compiled(find(str(project.root), str(project.home / "another"), managed=str(project.home / "none")))
    assert len(list((project.home / "another" / ".cache" / "hookrun").iterdir())) == 1


@pytest.mark.usefixtures("keeps_at_once")
def test_old_cache_files_are_pruned(project: Project) -> None:
    """Beyond the most files that are kept, the oldest go and the newest, that just written among them, stay.

    What cannot be deleted is passed over.
    """
    project.hooks(says(DECLARED))
    load(project)
    own = cache_file(project)
    own.unlink()
    strange = own.with_name("strange")
    strange.mkdir()
    os.utime(strange, (1, 1))
    for number in range(cache_writer.MAX_FILES + 20):
        path = own.with_name(f"{number:032x}.json")
        path.write_text("{}")
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    load(project)
    assert strange.is_dir()
    left = [path for path in cache_files(project) if path != strange]
    assert len(left) == cache_writer.MAX_FILES
    assert own in left
    assert min(path.name for path in left if path != own) == f"{21:032x}.json"
