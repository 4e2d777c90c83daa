"""What the commands about trust have in common: a project's hooks, what is decided about each, and who asks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from hookrun.agents import env_markers
from hookrun.cli.declared import home_of, read
from hookrun.config.diagnostics import closest, printable, quote
from hookrun.model import UNTRUSTED_LAYERS
from hookrun.process.prepare import NESTING, HookEnvironment
from hookrun.trust import store as stores
from hookrun.trust.approvals import active_pause, clock
from hookrun.trust.digest import HookInspector, Inspection, place
from hookrun.trust.ownership import uids

if TYPE_CHECKING:
    from hookrun.config.load import Declarations
    from hookrun.model import Hook


@dataclass
class ProjectHook:
    """A hook of a project, and what was found when it was looked at."""

    hook: Hook
    examined: Inspection
    state: str

    @property
    def digest(self) -> str:
        """Its digest; empty where it has none."""
        return self.examined.digest


class Project:
    """The hooks of the project in a directory, as they would run, and what is decided about them."""

    def __init__(self, directory: str, config: str | None, home: str | None) -> None:
        self.home = home_of(home)
        self.declarations: Declarations = read(config, home, directory).declarations
        self.root = self.declarations.root or directory
        settings = self.declarations.settings
        named = settings.get("trusted_owners")
        self.owners = uids(named) if isinstance(named, list) else []
        policy = settings.get("project_env_policy")
        self.around = HookEnvironment({}, project=self.root, request_id="", project_env_policy=policy, home=self.home)
        listed = settings.get("trusted")
        self._listed = {str(each) for each in listed} if isinstance(listed, list) else set()
        self._examiner = HookInspector(self.home, self.root, self.around, self.owners)

    @cached_property
    def store(self) -> stores.Store:
        """What is decided. Raises click.ClickException where that cannot be believed."""
        return decisions(self.home, self.owners)

    @property
    def strangers(self) -> list[Hook]:
        """The hooks that a person has to approve."""
        return [hook for hook in self.declarations.hooks if hook.layer in UNTRUSTED_LAYERS]

    def hooks(self) -> list[ProjectHook]:
        """Return the project's hooks, each looked at."""
        return [self.look(hook) for hook in self.strangers]

    def look(self, hook: Hook) -> ProjectHook:
        """Return a hook as it is now."""
        if hook.error is not None:
            return ProjectHook(hook, Inspection("", [], hook.error), "declared wrongly")
        examined = self._examiner.inspect(hook)
        return ProjectHook(hook, examined, self._state(hook, examined))

    def named(self, name: str) -> list[ProjectHook]:
        """Return the project's hooks of this name. Raises click.ClickException when there is none."""
        found = [hook for hook in self.strangers if hook.name == name]
        if not found:
            near = closest(name, [hook.name for hook in self.strangers])
            hint = f"; did you mean {quote(near)}?" if near else "; hookrun list shows what there is"
            raise click.ClickException(f"found no hook {quote(name)} of the project at {self.root}{hint}")
        return [self.look(hook) for hook in found]

    def _state(self, hook: Hook, examined: Inspection) -> str:
        if self._is_among(self.store.denied, hook, examined.digest):
            return "denied"
        if self._is_among(self.store.disabled, hook, examined.digest):
            return "disabled"
        if examined.problem is not None:
            return "cannot be approved"
        if examined.digest in self.store.approved or examined.digest in self._listed:
            return "approved"
        return "changed" if self.last_approved(hook) else "new"

    def _is_among(self, refused: list[stores.Refused], hook: Hook, digest: str) -> bool:
        root = os.path.realpath(self.root)
        return any(
            (each["name"] == hook.name and os.path.realpath(each["root"]) == root)
            or (digest and each["digest"] == digest)
            for each in refused
        )

    def last_approved(self, hook: Hook) -> str | None:
        """Return the digest under which the hook was approved last in this project; None if never."""
        root, source = os.path.realpath(self.root), place(hook.source, self.root, self.home)
        here = [
            (each["time"], digest)
            for digest, each in self.store.approved.items()
            if (each["name"], each["source"]) == (hook.name, source) and os.path.realpath(each["root"]) == root
        ]
        return max(here)[1] if here else None

    def paused(self, hook: Hook) -> str | None:
        """Return until when a hook is paused, as a person's clock shows it; None if it is not."""
        pause = active_pause(self.store.paused, hook.name) if hook.layer != "managed" else None
        return clock(pause["until"]) if pause is not None else None


def decisions(home: str, owners: list[int]) -> stores.Store:
    """Return what is decided. Raises click.ClickException where that cannot be believed."""
    try:
        return stores.load(home, owners)
    except stores.StoreError as error:
        raise click.ClickException(str(error)) from None


def a_person_asks(what: str) -> None:
    """Make sure that a person is at a terminal. Raises click.ClickException: what an agent asks for is not done.

    An agent that takes the trouble can open a terminal of its own: this stops the plain case.
    """
    not_by_an_agent(what)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.ClickException(f"found no terminal, expected a person to {what}: run it in a terminal yourself")


def not_by_an_agent(what: str) -> None:
    """Make sure that no agent's tool and no hook has started us, as far as they tell. Raises click.ClickException."""
    marks = [name for name in (*env_markers(), NESTING.decode()) if os.environ.get(name)]
    if marks:
        found = f"found {marks[0]} in the environment, which an agent or a hook sets"
        raise click.ClickException(f"{found}, expected a person to {what}: run it in a terminal of your own")


def say_done(text: str) -> None:
    """Tell what was done, on one line that is safe to print."""
    click.echo(printable(text))
