"""The store of decisions under attack: two writers, a kill at any moment, a full disk, files that are not its own."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun.trust import store as stores
from hookrun.trust.project import locked_store
from tests.conftest import ROOT, Project
from tests.torture.strangers import Stranger, remember
from tests.waiting import limit

pytestmark = pytest.mark.sampled(3)

APPROVER = str(Path(__file__).with_name("programs") / "approver.py")


@pytest.fixture
def agent(project: Project) -> Stranger:
    """Return a project with a hook that is approved, and an agent that works in it."""
    project.hooks({"name": "guard", "command": "cat >/dev/null; echo no >&2; exit 2"})
    agent = Stranger(project, "agent")
    agent.approve()
    assert agent.fire().blocked
    return agent


def directory(project: Project) -> Path:
    """Return where the store lies."""
    return project.home / ".local" / "share" / "hookrun"


def fails_closed(agent: Stranger, why: str) -> None:
    """Nothing is approved any more, and the reason is reported to the agent's user and at the next decision."""
    answer = agent.fire(session=why)
    assert answer.failures == {"guard": "untrusted"}
    assert why in answer.details["guard"], answer.details
    is_refused(agent, why)


def is_refused(agent: Stranger, why: str) -> None:
    """The store is not read, for this reason."""
    with pytest.raises(stores.StoreError, match=why), locked_store(str(agent.project.home)):
        pass


def writer(home: Path, first: int, count: int) -> subprocess.Popen[bytes]:
    """Start a process that approves so many digests, one at a time, and reports each when it is written."""
    command = [sys.executable, APPROVER, str(home), str(first), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.only_cold("decides about hooks and runs none")
def test_two_writers_at_once_lose_nothing(project: Project) -> None:
    """Each change is made on what the one before has left."""
    writers = [writer(project.home, first, 40) for first in (0, 1000)]
    for each in writers:
        each.communicate(timeout=limit())
        assert each.returncode == 0
    assert len(stores.load(str(project.home)).approved) == 80


@pytest.mark.only_cold("decides about hooks and runs none")
@pytest.mark.parametrize("moment", range(6))
def test_a_writer_that_is_killed_leaves_a_whole_store(project: Project, moment: int) -> None:
    """KILL after the n-th change, wherever the next is: what was reported is there, the next can write."""
    process = writer(project.home, 0, 10_000)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(moment * 3 + 1)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    kept = stores.load(str(project.home)).approved
    assert {f"sha256:{number:064x}" for number in told} <= kept.keys()
    with locked_store(str(project.home)) as store:
        store.approved.clear()
    names = {path.name for path in directory(project).iterdir()}
    assert names == {"trust.json", "trust.lock"}


def test_a_full_disk_changes_nothing(agent: Stranger) -> None:
    """A store that cannot be written is unchanged, and the command reports it."""
    project = agent.project
    before = (directory(project) / "trust.json").read_bytes()
    project.hooks({"name": "guard", "command": "true"})
    [digest] = agent.digests()

    def no_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    done = subprocess.run(
        project.command("trust", "--yes", digest),
        capture_output=True,
        cwd=project.root,
        env=project.environment(PYTHONDONTWRITEBYTECODE="1"),
        preexec_fn=no_room,
        check=False,
    )
    assert (done.returncode, b"so nothing was changed" in done.stderr) == (1, True)
    assert (directory(project) / "trust.json").read_bytes() == before
    assert not list(directory(project).glob("*.tmp"))


def test_the_store_is_private(agent: Stranger) -> None:
    """0600 in 0700, also when the directory was there and could be read by others."""
    where = directory(agent.project)
    where.chmod(0o755)
    agent.approve()
    assert stat.S_IMODE(where.stat().st_mode) == 0o700
    assert stat.S_IMODE((where / "trust.json").stat().st_mode) == 0o600


def test_a_store_of_a_newer_hookrun_is_not_guessed_at(agent: Stranger) -> None:
    """It counts for nothing, and is not written over."""
    path = directory(agent.project) / "trust.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "version": 2, "new": {}}))
    fails_closed(agent, "newer hookrun")
    assert json.loads(path.read_text())["version"] == 2


def test_a_torn_or_foreign_store_fails_closed(agent: Stranger) -> None:
    """Half a file, another program's file, nothing: no hook of a project runs, and the message names the fix."""
    path = directory(agent.project) / "trust.json"
    whole = path.read_bytes()
    others = (whole.replace(b'"version": 1', b'"version": %b' % version) for version in (b'"1"', b"0"))
    for odd in (
        *(b"", b"{", b"[]", b"null", b"\x00" * 9, b'{"version": 1}', b'{"version": 1, "approved": []}'),
        *(*others, whole[:-2], whole[:-10], whole[:-50]),
    ):
        assert odd != whole
        path.write_bytes(odd)
        is_refused(agent, "remove it, then approve your hooks again")
    is_refused(agent, "not valid JSON")
    fails_closed(agent, "remove it, then approve your hooks again")


def test_a_symlinked_store_is_not_followed(agent: Stranger) -> None:
    """A link at the path of the file, or of its directory, leads to a file that others may write."""
    where = directory(agent.project)
    (where / "trust.json").rename(agent.project.root / "trust.json")
    (where / "trust.json").symlink_to(agent.project.root / "trust.json")
    fails_closed(agent, "symbolic link")
    (where / "trust.json").unlink()
    (agent.project.root / "trust.json").rename(where / "trust.json")
    assert agent.fire().blocked
    where.rename(agent.project.root / "hookrun")
    where.symlink_to(agent.project.root / "hookrun")
    fails_closed(agent, "symbolic link")


def test_a_store_that_others_could_write_counts_for_nothing(agent: Stranger) -> None:
    """The file, its directory, and every directory above it."""
    for what in (".local/share/hookrun/trust.json", ".local/share/hookrun", ".local/share", "."):
        path = agent.project.home / what
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        is_refused(agent, f"{re.escape(str(path))}.*write")
        path.chmod(mode)
    path.chmod(mode | 0o002)
    fails_closed(agent, "write")


def test_a_store_of_another_account_counts_for_nothing(agent: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who owns the store can write it."""
    path = directory(agent.project) / "trust.json"
    if os.geteuid() == 0:
        os.chown(path, 54321, -1)
        fails_closed(agent, "only you may have write access")
        return
    me = os.geteuid()  # only root gives files away: ask as another account would
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(stores.StoreError):
        stores.load(str(agent.project.home))


def test_a_store_that_cannot_be_believed_keeps_a_persons_own_fire_from_a_projects_hooks(agent: Stranger) -> None:
    """The denials are unknown: the user's own run starts no hook of the project either, and gives the reason."""
    (directory(agent.project) / "trust.json").write_text("{")
    fired = agent.project.fire()
    assert fired.hook("guard")["failure"] == "untrusted"
    assert "trust.json" in fired.stderr


def test_a_cache_of_digests_that_somebody_else_could_write_is_not_read(agent: Stranger) -> None:
    """The cache saves reading files again: it is believed only if it is the account's alone."""
    project = agent.project
    project.script("guard.sh", "#!/bin/sh\ncat >/dev/null\necho no >&2\nexit 2\n")
    project.hooks({"name": "guard", "command": "./guard.sh"})
    [approved] = agent.approve()
    project.script("guard.sh", "#!/bin/sh\ncat >/dev/null\necho other >&2\nexit 2\n")
    path = remember(project, approved)
    text = path.read_text()
    assert agent.fire().failures == {"guard": None}  # this is what the cache is for: nothing was read
    for mode, content in (
        (0o666, text),
        (0o600, text[:-9]),
        (0o600, "[]"),
        (0o600, text.replace('"version":1', '"version":2')),
    ):
        path.write_text(content)
        path.chmod(mode)
        assert agent.fire().failures == {"guard": "untrusted"}, content


@pytest.mark.only_cold("reads the store in this process")
def test_a_directory_of_another_account_counts_for_nothing(agent: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even of one whose directories the user trusts on the way there: it could replace the file."""
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(stores.StoreError, match="hookrun belongs to another account"):
        stores.load(str(agent.project.home), owners=[owner])
