"""The look of rate-limit counts a call as its child would: same file, same verdict, once, and never while it waits."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.recipes import rate_limit, recipe_state
from hookrun.recipes.looks import may_matter
from hookrun.recipes.rate_limit import NAME, RECIPE
from hookrun.state import file_name_for

if TYPE_CHECKING:
    from tests.conftest import Project

COUNT_FORKS = Path(__file__).parent / "programs" / "count_forks.py"
NOW = 1_900_000_000.25
TARGET = "hookrun.recipes.rate_limit:check"
CONTEXT: dict[str, object] = {"event": "pre_tool_use", "session_id": "s1", "tool_name": "bash", "request_id": "r9"}

check = rate_limit.check
"""Itself, before the fixture of these tests replaces it."""


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Stop the clock, and remove options."""
    monkeypatch.setattr("hookrun.recipes.rate_limit.time", SimpleNamespace(time=lambda: NOW))
    for name in [each for each in os.environ if each.startswith("HOOKRUN_")]:
        monkeypatch.delenv(name)
    return monkeypatch


def state(home: Path, tool: str = "bash", session: str = "s1") -> Path:
    """Return the file of a session and a tool."""
    return home / ".local/state/hookrun/recipes" / NAME / file_name_for(session, tool)


def put(home: Path, content: bytes | None) -> Path:
    """Write the file, or only its directory."""
    path = state(home)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o600)
    return path


def answered(monkeypatch: pytest.MonkeyPatch, home: Path, context: dict[str, object], *, looks: bool) -> object:
    """Return the answer or the failure, with the look before the check or without."""
    monkeypatch.setenv("HOME", str(home))
    if looks and not may_matter(TARGET, context, dict(os.environb)):
        return None
    try:
        return check(context)
    except (SystemExit, Exception) as error:
        return f"{type(error).__name__}: {str(error).replace(str(home), 'HOME')}"


def calls(*ages: float) -> bytes:
    """Return a file with calls of so many seconds ago."""
    made = [[NOW - age, f"r{number}"] for number, age in enumerate(ages)]
    return json.dumps({"calls": made}, separators=(",", ":")).encode()


BEFORE = {
    "no file": None,
    "an empty file": b"",
    "one call": calls(5),
    "old calls": calls(100, 90, 80),
    "old and new": calls(100, 59.9, 0),
    "at the limit": calls(3, 2, 1),
    "over it": calls(5, 4, 3, 2, 1),
    "of the future": calls(-5, -50),
    "this request": calls(*range(9, -1, -1)),
    "not ours": b'{"calls":{"r1":1},"other":[1]}',
    "a list": b"[1]",
    "torn": calls(1)[:-3],
    "no text": b"\xff\xfe",
    "odd calls": b'{"calls":[[1],[2,3,4],"x",[1900000000,5]]}',
    "no time": b'{"calls":[["soon","r1"]]}',
    "nested": b'{"calls":' + b"[" * 300 + b"]" * 300 + b"}",
    "many": calls(*[30] * 900),
    "huge": b"x" * (recipe_state.MAX_BYTES + 1),
}
OPTIONS: dict[str, dict[str, str]] = {
    "the defaults": {},
    "three": {"CALLS": "3"},
    "none at all": {"CALLS": "0"},
    "two tools": {"TOOLS": "edit ba*"},
    "other tools": {"TOOLS": "edit"},
    "a wrong number": {"CALLS": "many"},
    "too many": {"CALLS": "5001"},
    "a wrong time": {"SECONDS": "-1"},
    "bytes": {"TOOLS": "\udcff"},
}
CONTEXTS: dict[str, dict[str, Any]] = {
    "usual": {},
    "no tool": {"tool_name": None},
    "no session": {"session_id": None},
    "no request": {"request_id": None},
    "surrogates": {"tool_name": "\udcff", "session_id": "\ud800"},
}


def test_with_its_look_and_without_it_does_the_same(frozen: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same answer or failure, and the same bytes, mode and number of files, whatever was there before."""
    pairs = [(before, context) for before in BEFORE for context in CONTEXTS]
    assert [pair for pair in pairs if differs(frozen, tmp_path, *pair, "three")] == []


@pytest.mark.parametrize("options", OPTIONS)
def test_with_its_look_and_without_it_reads_options_alike(
    frozen: pytest.MonkeyPatch, tmp_path: Path, options: str
) -> None:
    """With tools that it does not count, and with values that are wrong."""
    pairs = [
        (before, context) for before in ("no file", "one call", "at the limit") for context in ("usual", "no tool")
    ]
    assert [pair for pair in pairs if differs(frozen, tmp_path, *pair, options)] == []


def differs(frozen: pytest.MonkeyPatch, directory: Path, before: str, context: str, options: str) -> bool:
    """Return whether two calls have another answer, or leave other files, with the look than without it."""
    for name, value in OPTIONS[options].items():
        frozen.setenv(f"HOOKRUN_OPTION_{name}", value)
    found = []
    for looks in (False, True):
        home = directory / f"{before} {context} {looks}"
        put(home, BEFORE[before])
        answers = [answered(frozen, home, CONTEXT | CONTEXTS[context], looks=looks) for _ in range(2)]
        files = sorted(state(home).parent.iterdir())
        found.append((answers, [(each.name, each.read_bytes(), each.stat().st_mode) for each in files]))
    return found[0] != found[1]


def test_a_call_within_the_limit_is_counted_by_the_look(frozen: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Once, however often the look sees the same request; the last one goes to the check, which blocks it."""
    frozen.setenv("HOME", str(tmp_path))
    frozen.setenv("HOOKRUN_OPTION_CALLS", "3")
    path = put(tmp_path, calls(5))
    variables = dict(os.environb)
    looked = [may_matter(TARGET, CONTEXT | {"request_id": each}, variables) for each in ("a", "a", "b", "a", "b", "c")]
    assert looked == [False] * 5 + [True]
    assert [each[1] for each in json.loads(path.read_bytes())["calls"]] == ["r0", "a", "b"]


def test_a_look_leaves_everything_unusual_to_the_hook(frozen: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It changes nothing then: a file that is missing, in use, large, a link or a pipe, and a home that is none."""

    def look(**variables: str) -> bool:
        environment = dict(os.environb) | {name.encode(): value.encode() for name, value in variables.items()}
        return may_matter(TARGET, CONTEXT, environment)

    frozen.setenv("HOME", str(tmp_path))
    assert look()
    assert list(tmp_path.iterdir()) == []
    path = put(tmp_path, calls(5))
    assert look(HOME="")
    assert look(HOME="home")
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert look()
    assert path.read_bytes() == calls(5)
    path.write_bytes(calls(*[100] * 900))
    assert look()
    assert path.read_bytes() == calls(*[100] * 900)
    other = path.rename(tmp_path / "other")
    path.symlink_to(other)
    assert look()
    path.unlink()
    os.mkfifo(path, 0o600)
    assert look()
    path.unlink()
    path.mkdir()
    assert look()


def test_a_look_that_is_killed_while_it_writes_leaves_a_whole_file(frozen: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Between writing and cutting the file, and before: counted calls stay counted."""

    class KilledError(BaseException):
        """Ends the look as a signal would."""

    def killed(*_: object) -> None:
        raise KilledError

    frozen.setenv("HOME", str(tmp_path))
    path = put(tmp_path, calls(100, 100, 100, 5))
    with frozen.context() as patch:
        patch.setattr(os, "ftruncate", killed)
        with pytest.raises(KilledError):
            may_matter(TARGET, CONTEXT, dict(os.environb))
    assert json.loads(path.read_bytes())["calls"] == [[NOW - 5, "r3"], [NOW, "r9"]]
    path.write_bytes(calls(5))
    with frozen.context() as patch:
        patch.setattr(os, "pwrite", killed)
        with pytest.raises(KilledError):
            may_matter(TARGET, CONTEXT, dict(os.environb))
    assert path.read_bytes() == calls(5)
    assert not may_matter(TARGET, CONTEXT, dict(os.environb))  # its lock is free again


@pytest.mark.slow
def test_a_hundred_calls_at_once_are_a_hundred(project: Project) -> None:
    """Real runs, some of which find no file, or find it in use."""
    options = {"HOOKRUN_OPTION_CALLS": "101", "HOOKRUN_OPTION_SECONDS": "3600"}
    project.user_hooks({**RECIPE.hooks[0], "env": options})
    with ThreadPoolExecutor(8) as pool:
        fired = list(pool.map(lambda _: project.fire(), range(103)))
    assert sorted((each.action, each.status) for each in fired) == [("block", 2)] * 2 + [("continue", 0)] * 101
    assert len(json.loads(state(project.home).read_bytes())["calls"]) == 101


def test_a_run_starts_no_process_for_a_call_within_the_limit(project: Project) -> None:
    """The first of a session creates the file in a separate process; the next ones are in the audit all the same."""
    project.user_hooks({**RECIPE.hooks[0], "env": {"HOOKRUN_OPTION_CALLS": "3"}})
    context = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}
    forks = project.root / "forks"
    fired, forked = [], []
    for _ in range(4):
        forks.write_text("")
        fired.append(project.fire(context=context, wrap=(sys.executable, str(COUNT_FORKS))))
        forked.append(bool(forks.read_text()))
    assert forked == [True, False, False, True]
    assert [each.action for each in fired] == ["continue"] * 3 + ["block"]
    runs = [each.record(NAME) for each in fired]
    assert [(each["action"], each["exit"]) for each in runs] == [("continue", 0)] * 3 + [("block", 0)]
