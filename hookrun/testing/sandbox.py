"""Isolate cases: a config without the user's own, a sandbox, and a run in it that leaves no record."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.core import audit
from hookrun.core.events import UnknownEventError, resolve_event
from hookrun.core.files import read_or_none
from hookrun.core.model import UNTRUSTED_LAYERS, Failure, Hook, HookResult, Outcome
from hookrun.core.state import NoHomeError, home_directory
from hookrun.core.text import HookrunError, did_you_mean, one_line
from hookrun.library.engine_fire import EngineFire
from hookrun.library.engine_state import EngineState
from hookrun.library.tables import TableCandidates
from hookrun.process.prepare import HookEnvironment, inherited
from hookrun.testing.cases import WORKDIR

if TYPE_CHECKING:
    from hookrun.process.coprocess import Coprocesses


class CannotRunError(HookrunError, ValueError):
    """A case cannot be run; the message says why."""


@dataclass(eq=False, repr=False, slots=True)
class CaseConfig:
    """The config of cases: a project's `hooks` in order, its `root` and its own events.

    With `problems` (a line each) it is unknown. `files` are all that affect it, or would if they existed; `found` is
    whether one exists. `rootless` means that there is no project: a case's directory serves as one.
    """

    root: str
    hooks: list[Hook] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    found: bool = True
    rootless: bool = False

    def resolve_event(self, name: str) -> str:
        """Return the canonical name of an event. Raises CannotRunError for an unknown one."""
        try:
            return resolve_event(name, self.events)
        except UnknownEventError as error:
            raise CannotRunError(one_line(str(error))) from None

    def select_hooks(self, names: Iterable[str] | None) -> frozenset[str] | None:
        """Return the hooks with these names, None for all. Raises CannotRunError for an unknown one."""
        if names is None:
            return None
        known = [hook.name for hook in self.hooks]
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known, "run `hookrun list` to see all hooks", "`{}`".format)
                raise CannotRunError(f"unknown hook `{name}`\nhint: {hint}")
        return frozenset(names)


def config_from_files(directory: str, config: str | None = None) -> CaseConfig:
    """Return the config of the project around a directory, or of the one file `config`.

    It omits the managed and user layers: a project's tests have the same results on every machine. A hook that only
    advises is tested for what it would do.
    """
    found = find(directory, home_or_empty() or "/", config=config)
    found.files = [each for each in found.files if each[0] in UNTRUSTED_LAYERS]
    loaded = load_config(found)
    declarations = loaded.declarations
    for hook in declarations.hooks:
        hook.mode = "enforce" if hook.mode == "advise" else hook.mode
    problems = list(declarations.problems)
    if not problems and declarations.root is None:
        upper = f" or above it up to {found.repository}" if found.repository is not None else ""
        problems.append(f"{directory}: no config file here{upper}; create coder.json or hookrun.yaml, or set `config`")
    files = [path for _, path, _ in found.files] + declarations.files
    return CaseConfig(
        os.path.normpath(loaded.project),
        declarations.hooks,
        declarations.events,
        problems,
        files,
        found=declarations.root is not None,
    )


# The placeholder for the account's home in `env`.
HOME = "${HOME}"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where a case runs: its temporary `directory`, None for the project's, its `home` and environment variables.

    `project` is the project's root if it differs from the config's. `coprocesses` keeps programs for other cases.
    """

    directory: str | None
    home: str
    env: Mapping[str, str]
    project: str | None = None
    coprocesses: Coprocesses | None = None

    def expand(self, value: Any) -> Any:
        """Return a JSON value with the directory's placeholder expanded."""
        return value if self.directory is None else expand_placeholders(value, {WORKDIR: self.directory})

    def read_files(self, paths: object) -> dict[str, str | None]:
        """Return these files' content from the directory, None for a missing one."""
        found: dict[str, str | None] = {}
        if isinstance(paths, dict) and self.directory is not None:
            for name in map(str, paths):
                data = read_or_none(os.path.join(self.directory, name))
                found[name] = data.decode("utf-8", "replace") if data is not None else None
        return found


def write_files(directory: str, files: Mapping[str, str]) -> None:
    """Write files by relative path into a directory; one that begins with `#!` is executable."""
    for name, text in files.items():
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if text.startswith("#!"):
            os.chmod(path, 0o755)  # noqa: S103  # in our own directory


def expand_placeholders(value: Any, words: Mapping[str, str]) -> Any:
    """Return a JSON value with these placeholders replaced in every string."""
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, dict):
        return {key: expand_placeholders(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [expand_placeholders(each, words) for each in value]
    return value


def home_or_empty() -> str:
    """Return the account's home directory, or ""."""
    try:
        return home_directory()
    except NoHomeError:
        return ""


class CaseEnvironment(HookEnvironment):
    """The environment of a real run, with the case's variables."""

    def __init__(self, context: Mapping[str, object], *, env: Mapping[str, str], **fields: Any) -> None:
        super().__init__(context, **fields)
        self.env = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}

    def variables(self, hook: Hook, marker: bytes) -> dict[bytes, bytes]:
        """Return a run's environment: the case's variables override all but those that describe the run."""
        own = self.own_variables(hook, marker)
        declared = {os.fsencode(name) for name in hook.env or {}}
        own |= {name: value for name, value in self.env.items() if name in declared or name not in own}
        return {**inherited(self.env_policy(hook)), **own}


class CaseFire(EngineFire):
    """A run in a sandbox that collects its background hooks' failures.

    `state` is shared by all runs with one config. No hook needs approval: the home has no trust store.
    """

    def __init__(
        self,
        state: EngineState,
        event: str,
        data: Mapping[str, object],
        selection: TableCandidates,
        sandbox: Sandbox,
    ) -> None:
        if sandbox.project is not None:
            state = copy(state)
            state.project = sandbox.project
        super().__init__(state, event, data, selection)
        self._ended: SimpleQueue[tuple[Hook, Failure | None]] = SimpleQueue()
        self.new_environment = partial(CaseEnvironment, env=sandbox.env, coprocesses=sandbox.coprocesses)

    def await_background(self, runs: list[HookResult]) -> None:
        """Wait for these runs of background hooks, and give those that failed their failure."""
        ended = dict(self._ended.get() for _ in runs)
        for run in runs:
            run.failure = ended.get(run.hook)  # type: ignore[call-overload]  # all are configured hooks

    def log_result(self, run: HookResult) -> None:
        """Log nothing: failures are part of the case's result."""

    def background_ended(self, hook: Hook, outcome: Outcome) -> None:
        """Collect a background hook's result; called in another thread."""
        record = audit.background_record(hook, outcome, self.context)
        kind = record.get("failure")
        self._ended.put((hook, Failure(str(kind), str(record.get("detail", ""))) if kind is not None else None))
