"""Calls of agents that need the user's consent, harmless ones near them, and what the guards do with each.

    python -m tests.recipes.corpus_cases --update

writes corpus/stopped_today.txt: the calls that the shipped guards block or ask about. Review the difference: a new line
is progress only if its case has `want: stop`.

The cases are in corpus/KIND.yaml, lists of:

- `id`: unique
- `command`, a line of shell; or `tool` and `args`, another call
- `files`: name -> text, written into the working directory, or into the home directory if it starts with `~/`
- `branch`: the working directory is a git repository on this branch, with a commit and a remote
- `env`: variables that the agent has
- `want`: `stop` (block it or ask about it) or `pass`
- `loses`: what is lost if the call is made; or `because`: why it is harmless

The target decides where it is known: this machine, tests and temporary files pass, production is blocked. An unknown
target is asked about. Calls that engineers judge differently are left out.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hookrun.recipes import catalog
from tests import isolation
from tests.recipes.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HERE = Path(__file__).parent / "corpus"
STOPPED_TODAY = HERE / "stopped_today.txt"
UPDATE = "python -m tests.recipes.corpus_cases --update"

GUARDS = (
    "protect-hooks", "block-destructive-commands", "no-force-push", "protect-cloud", "protect-data", "protect-files",
    "secret-scan", "no-verify", "protect-branches",
)  # fmt: skip
"""The recipes that are asked, with their default options."""

TEXTS, MAPPINGS = frozenset({"id", "command", "tool", "branch", "want", "loses", "because"}), ("args", "files", "env")
ELSEWHERE = ("/home/me", "/home/me/app")
"""Home and working directory of cases without files: not there, and not temporary."""

# C's loader reads the corpus in a tenth of the time, where PyYAML has it.
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Case:
    """A call, and whether it must be stopped."""

    kind: str
    id: str
    tool: str
    args: Mapping[str, object]
    files: Mapping[str, str]
    branch: str
    env: Mapping[str, str]
    want: str

    @property
    def call(self) -> str:
        """The call with all that decides about it."""
        return repr((self.tool, self.args, self.files, self.branch, self.env))


def kinds() -> list[str]:
    """Return the names of the files."""
    return sorted(path.stem for path in HERE.glob("*.yaml"))


@functools.cache
def entries(kind: str) -> list[dict[str, Any]]:
    """Return a file's entries as they are."""
    found: list[dict[str, Any]] = yaml.load((HERE / f"{kind}.yaml").read_text(encoding="utf-8"), Loader)  # noqa: S506
    return found


def errors(entry: Mapping[str, object]) -> list[str]:
    """Return what is wrong in an entry."""
    keys = set(entry)
    call, why = keys & {"command", "tool", "args"}, keys & {"loses", "because"}
    reason = {"stop": {"loses"}, "pass": {"because"}}.get(str(entry.get("want")))
    checks = {
        "it needs an id": "id" in keys,
        "it needs `command`, or `tool` and `args`": call in ({"command"}, {"tool", "args"}),
        "`want: stop` needs `loses`, `want: pass` needs `because`": reason == why,
        f"unknown fields: {sorted(keys - TEXTS - {*MAPPINGS})}": keys <= {*TEXTS, *MAPPINGS},
        "these must be a text": all(isinstance(entry[key], str) and entry[key] for key in keys & TEXTS),
        "these must be a mapping": all(isinstance(entry[key], dict) for key in keys.intersection(MAPPINGS)),
        "files and variables are texts": all(
            isinstance(each, str) for key in ("files", "env") for pair in _pairs(entry.get(key)) for each in pair
        ),
    }
    return [what for what, holds in checks.items() if not holds]


def _pairs(value: object) -> Iterable[tuple[object, object]]:
    return value.items() if isinstance(value, dict) else ()


def cases(*of: str) -> list[Case]:
    """Return the cases of these kinds, or of all."""
    return [
        Case(
            kind=kind,
            id=each["id"],
            tool=each.get("tool", "bash"),
            args=each.get("args", {"command": each.get("command")}),
            files=each.get("files", {}),
            branch=each.get("branch", ""),
            env=each.get("env", {}),
            want=each["want"],
        )
        for kind in of or kinds()
        for each in entries(kind)
    ]


class Corpus:
    """An account whose guards are asked about one case after the other."""

    def __init__(self, account: Account, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.account = account
        self._folder = folder
        self._monkeypatch = monkeypatch

    def stops(self, case: Case) -> bool:
        """Return whether a guard blocks the call or asks about it."""
        with self._monkeypatch.context() as patch:
            for name, value in case.env.items():
                patch.setenv(name, value)
            with self.placed(case):
                answers = [self.account.call(guard, **self._context(case)) for guard in guards(case.tool)]
        return any(answer is not None and answer["action"] in {"block", "ask"} for answer in answers)

    @contextmanager
    def placed(self, case: Case) -> Iterator[None]:
        """Be where the case's files are."""
        if not case.files and not case.branch:
            self.account.move(*ELSEWHERE)
            yield
            return
        home = self._folder / "home"
        work = home / "app"
        self.account.move(str(home), str(work))
        try:
            if case.branch:
                shutil.copytree(self._repository(case.branch), work)
            for name, text in case.files.items():
                path = home / name[2:] if name.startswith("~/") else work / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                path.chmod(0o755 if text.startswith("#!") else 0o644)
            work.mkdir(parents=True, exist_ok=True)
            yield
        finally:
            shutil.rmtree(home)

    def _repository(self, branch: str) -> Path:
        """Return a repository on a branch, with a commit and a remote, made at first use."""
        path = self._folder / branch.replace("/", "-")
        if path.exists():
            return path
        path.mkdir(parents=True)
        (path / "README.md").write_text("# Shop\n")
        identity = ("-c", "user.name=me", "-c", "user.email=me@example.com")
        for line in (
            ("init", "-q", "--template=", "-b", branch),
            ("remote", "add", "origin", "git@github.com:acme/shop.git"),
            ("add", "-A"),
            (*identity, "commit", "-q", "-m", "Begin"),
        ):
            subprocess.run(["git", *line], cwd=path, check=True)
        return path

    def _context(self, case: Case) -> dict[str, object]:
        return {"event": "pre_tool_use", "agent": "claude", "tool_name": case.tool, "tool_args": case.args}


@functools.cache
def guards(tool: str, recipes: tuple[str, ...] = GUARDS) -> list[str]:
    """Return the functions of recipes that a call of a tool starts, as `module:function`."""
    hooks = [hook for name in recipes for hook in catalog.find(name).hooks if hook["event"] == "pre_tool_use"]
    matching = [
        hook
        for hook in hooks
        if "matcher" not in hook or any(fnmatch(tool, each) for each in str(hook["matcher"]).split("|"))
    ]
    return [str(hook["python"]).removeprefix("hookrun.recipes.") for hook in matching]


@contextmanager
def corpus(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Corpus]:
    """Yield the corpus. Its repositories are in this one's build folder: in a temporary one nothing would be lost."""
    build = Path(__file__).parents[2] / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build, prefix="corpus-") as folder:
        yield Corpus(Account(temporary, monkeypatch), Path(folder), monkeypatch)


def stopped_today(kind: str | None = None) -> list[str]:
    """Return the recorded ids, of one kind or all."""
    recorded = STOPPED_TODAY.read_text(encoding="utf-8").split()
    if kind is None:
        return recorded
    mine = {case.id for case in cases(kind)}
    return [each for each in recorded if each in mine]


def main() -> None:
    """Record what the guards stop, if that is asked for."""
    if sys.argv[1:] != ["--update"]:
        sys.exit(f"usage: {UPDATE}")
    isolation.isolate()
    try:
        with pytest.MonkeyPatch.context() as patch, corpus(isolation.run_folder() / "t", patch) as asked:
            stopped = [case for case in cases() if asked.stops(case)]
    finally:
        shutil.rmtree(isolation.run_folder())
    STOPPED_TODAY.write_text("".join(f"{case.id}\n" for case in stopped), encoding="utf-8")
    for want in ("stop", "pass"):
        count, of = (sum(case.want == want for case in which) for which in (stopped, cases()))
        print(f"of {of} that must {want}, the guards stop {count}")


if __name__ == "__main__":
    main()
