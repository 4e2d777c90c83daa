"""State shared by the fires of an engine: pools and threads, the settings, the audit log, the user's decisions."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping

from hookrun import audit
from hookrun.library import encoding
from hookrun.library.background import Background
from hookrun.library.threads import DaemonThreadPool, LoopThread
from hookrun.process.pool import Pool
from hookrun.process.popen import program
from hookrun.process.prepare import HookEnvironment
from hookrun.state import YOUNG, data_dir, home_directory, identity_of, now_ns, state_dir
from hookrun.trust import store as stores
from hookrun.trust.store import Store


class TrustStoreCache:
    """The store as last read. Thread-safe."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[object, ...], Store] | None = None

    def load(self, home: str, owners: Iterable[int] = ()) -> Store:
        """Return the decisions, as `store.load` does. Raises StoreError."""
        owners = tuple(owners)
        where = data_dir(home)
        try:
            above = os.lstat(where)
        except FileNotFoundError:
            return stores.Store()
        except OSError:
            return stores.load(home, owners)
        try:
            found = os.lstat(f"{where}/{stores.NAME}")
        except OSError:
            return stores.load(home, owners)
        current = (home, owners, *((each.st_mode, each.st_uid, *identity_of(each)) for each in (found, above)))
        kept = self._kept
        if kept is not None and kept[0] == current:
            return kept[1]
        store = stores.load(home, owners)
        if now_ns() - max(found.st_ctime_ns, above.st_ctime_ns) > YOUNG:
            self._kept = current, store
        return store

    def are_none(self, home: str, settings: Mapping[str, object]) -> bool:
        """Return whether there are certainly no decisions that disable a hook."""
        if settings.get("trusted_owners"):
            return False
        try:
            store = self.load(home)
        except stores.StoreError:
            return False
        return not (store.denied or store.disabled or store.paused)


class Journal(audit.Log):
    """The audit of an engine's runs; `setting` is the setting `audit`."""

    __slots__ = ("setting",)

    def __init__(self, home: str, setting: object) -> None:
        super().__init__(home, setting, stay_open=True)
        self.setting = setting

    def write(self, records: list[dict[str, object]]) -> str | None:
        """Append the records in one write; return the error if that fails. Raises ValueError if they are not JSON."""
        return self.append(b"".join([encoding.dumps(record) + b"\n" for record in records]))


MOST_THREADS = 64
"""Handlers with `thread=True` that run at once; more are queued."""


class EngineState:
    """`directory` is the agent's working directory if a context has none, `project` the root that hooks run in.

    `home` is the account's, or None for an engine without config files, which writes nothing. `trusted` means that the
    program vouches for a project's hooks.
    """

    def __init__(self, directory: str, *, max_processes: int) -> None:
        self.directory = directory
        self.project = directory
        self.home: str | None = None
        self.settings: Mapping[str, object] = {}
        self.journal: Journal | None = None
        self.trusted = False
        self.problems: list[str] = []
        self.decisions = TrustStoreCache()
        self.pool = Pool(max_processes)
        self.background_pool = Pool(max_processes)  # separate, so that background hooks do not delay the others
        self.workers = DaemonThreadPool(MOST_THREADS)
        self.loop_thread = LoopThread()
        self.background = Background(self.loop_thread)
        weakref.finalize(self, self.workers.close, 0.0)  # after collection without closing

    def take_settings(self, settings: Mapping[str, object]) -> None:
        """Use these settings from now on."""
        self.settings = settings
        said = settings.get("audit")
        self.journal = Journal(self.home, said) if self.home is not None and said is not False else None

    def environment(self, context: Mapping[str, object], request_id: str) -> HookEnvironment:
        """Return the environment that the configured hooks of one fire share."""
        return HookEnvironment(
            context,
            project=self.project,
            request_id=request_id,
            program=program,
            may_fork=False,
            settings=self.settings,
        )

    @property
    def locks(self) -> str:
        """Directory of the locks of exclusive hooks."""
        return state_dir(self.home or home_directory()) + "/locks"
