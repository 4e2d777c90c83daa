"""What all fires of an engine have in common: where they work, and what runs their hooks."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from hookrun import state
from hookrun.library.background import Background
from hookrun.library.decisions import TrustStoreCache
from hookrun.library.journal import Journal
from hookrun.library.threads import DaemonThreadPool, LoopThread
from hookrun.process.pool import Pool
from hookrun.process.popen import program
from hookrun.process.prepare import HookEnvironment
from hookrun.state import home_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_THREADS = 64
"""Handlers with `thread=True` that run at once; more wait."""


class EngineState:
    """`directory` is where the agent works when a context does not say, `project` the root that hooks run in.

    `home` is the account's, None for an engine without declarations: then nothing is written.
    `trusted` tells that the program vouches for a project's hooks.
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
        self.background_pool = Pool(max_processes)  # those that nobody waits for hold up none that somebody does
        self.workers = DaemonThreadPool(MOST_THREADS)
        self.loop_thread = LoopThread()
        self.background = Background(self.loop_thread)
        weakref.finalize(self, self.workers.close, 0.0)  # forgotten without being closed

    def take_settings(self, settings: Mapping[str, object]) -> None:
        """Go by these settings from now on."""
        self.settings = settings
        self.journal = None if self.home is None else Journal(self.home, settings)

    def environment(self, context: Mapping[str, object], request_id: str) -> HookEnvironment:
        """Return what the declared hooks of one fire share."""
        return HookEnvironment(
            context,
            project=self.project,
            request_id=request_id,
            program=program,
            may_fork=False,
            project_env_policy=self.settings.get("project_env_policy"),
        )

    @property
    def locks(self) -> str:
        """Where the locks of exclusive hooks lie."""
        return state.state_dir(self.home or home_directory()) + "/locks"
