"""Mark hookrun's hooks as trusted for agents that require it of each hook."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from hookrun.edit.file_change import ExistingFile
from hookrun.edit.toml_edit import TableKey, Toml
from hookrun.wiring.targets import HookFile, SettingsFile, WiredLine, problems_in

if TYPE_CHECKING:
    from hookrun.agents.types import Agent, TrustFormat


@dataclass(frozen=True, slots=True)
class HookTrust:
    """What the agent requires in its configuration to run one hook: a table with a digest."""

    event: str
    table: TableKey
    digest: str
    format: TrustFormat

    def is_granted(self, config: Toml) -> bool:
        """Return whether the digest is there."""
        return config.at((*self.table, self.format.DIGEST)) == self.digest

    def is_disabled(self, config: Toml) -> bool:
        """Return whether the user has switched the hook off."""
        return config.at((*self.table, self.format.ENABLED)) is False


def trust_format(agent: Agent) -> TrustFormat | None:
    """Return how the agent stores trust in each hook, or None if it requires none."""
    module = agent.INSTALL.get("hook_trust")
    return None if module is None else cast("TrustFormat", import_module(module))


def required_trust(file: HookFile, now: ExistingFile, agent: Agent, *, by_any_path: bool = False) -> list[HookTrust]:
    """Return the trust that a file's hookrun hooks need, if the agent requires any. Raises FileError.

    With `by_any_path` they need it under each path of the file's directory.
    """
    form, trusts = trust_format(agent), []
    if form is None or not isinstance(file, SettingsFile):
        return []
    hooks, paths = file.read(now), {file.path: None}
    if by_any_path:
        folder, name = os.path.split(file.path)
        paths[os.path.join(os.path.realpath(folder), name)] = None
    for path in paths:
        for each in file.find_own(hooks):
            _, _, group, _, handler = each.at
            digest = form.definition_digest(each.event, hooks.at(each.at[:3]), each.handler)
            table = form.hook_table(path, each.event, int(group), int(handler))
            trusts.append(HookTrust(each.event, table, digest, form))
    return trusts


class TrustConfig:
    """The agent's configuration with trust in hookrun's hooks: `trusts` to add, `stale` to remove."""

    mode = 0o600

    def __init__(self, path: str, trusts: Sequence[HookTrust], stale: Sequence[HookTrust] = ()) -> None:
        self.path = path
        self._trusts = trusts
        self._stale = [each for each in stale if each not in trusts]

    def read(self, now: ExistingFile) -> Toml:
        """Return the file as TOML. Raises FileError with the place of a fault."""
        text = now.text()
        with problems_in(self.path, text):
            return Toml(text)

    def add(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:  # noqa: ARG002  # the trusts have it all
        """Return the text with the trust in it."""
        config = self._without(self.read(now), self._stale)
        with problems_in(self.path, now.text()):
            for trust in self._trusts:
                config = config.put(trust.table, trust.format.DIGEST, trust.digest)
        return config.text

    def remove(self, now: ExistingFile, before: str | None) -> str | None:
        """Return the text without the trust, or None if there was no file and nothing is left."""
        text = self._without(self.read(now), [*self._trusts, *self._stale]).text
        return text if before is not None or text.strip() else None

    @staticmethod
    def _without(config: Toml, trusts: Sequence[HookTrust]) -> Toml:
        for trust in reversed(trusts):  # with a table goes the blank line before it, which the file's first lacks
            if trust.is_granted(config):
                config = config.remove(trust.table)
        return config

    def describe(self, now: ExistingFile) -> object:
        """Return its data."""
        return self.read(now).data

    def has_ours(self, now: ExistingFile) -> bool:
        """Return whether any of the trust is granted."""
        config = self.read(now)
        return any(each.is_granted(config) for each in [*self._trusts, *self._stale])
