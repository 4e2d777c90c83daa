"""Codex's trust of hooks: the digest of a definition, and the tables of config.toml in which it is noted.

Measured with Codex CLI 0.169.0: a hook of the user or a project runs only if `[hooks.state."FILE:EVENT:GROUP:HANDLER"]`
in the user's config.toml has its digest as `trusted_hash`; all others are skipped in silence.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from hookrun.config.parse import ParseError
from hookrun.edit.file_change import FileError
from hookrun.edit.toml_edit import Toml
from hookrun.wiring.entries import WiredEntry, find_own
from hookrun.wiring.targets import WiredEvent, to_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrun.edit.file_change import ExistingFile
    from hookrun.edit.json_edit import Json
    from hookrun.edit.toml_edit import TableKey
    from hookrun.wiring.entries import EntryLayout
    from hookrun.wiring.targets import WiredLine

AGENT = "codex"
CONFIG = "config.toml"
"""The file in Codex's directory that holds its trust, for hooks of the person and of projects alike."""

STATE: TableKey = ("hooks", "state")
TRUSTED_HASH = "trusted_hash"
DEFAULT_TIMEOUT = 600
SESSION_END_TIMEOUT = 1
"""Seconds that Codex takes for a hook without a `timeout`."""


@dataclass(frozen=True, slots=True)
class HookTrust:
    """What Codex wants to find in its config.toml before it runs one hook: a table, and the digest in it."""

    key: TableKey
    digest: str

    def given(self, config: Toml) -> bool:
        """Tell whether it is there."""
        return config.at((*self.key, TRUSTED_HASH)) == self.digest

    def switched_off(self, config: Toml) -> bool:
        """Tell whether the person has switched the hook off."""
        return config.at((*self.key, "enabled")) is False


def required_trust(path: str, hooks: Json, form: EntryLayout) -> list[tuple[WiredEntry, HookTrust]]:
    """Return our hooks in the file at `path`, each with the trust that it needs."""
    return [
        (found, HookTrust((*STATE, f"{path}:{_snake(found.event)}:{group}:{number}"), definition_digest(hooks, found)))
        for found in find_own(hooks, form, AGENT)
        for _, _, group, _, number in [found.path]
    ]


def required_trust_by_any_path(path: str, hooks: Json, form: EntryLayout) -> list[HookTrust]:
    """Return what trust our hooks in the file at `path` need, under each name that its directory goes by."""
    folder, name = os.path.split(path)
    places = dict.fromkeys([path, os.path.join(os.path.realpath(folder), name)])
    return [trust for place in places for _, trust in required_trust(place, hooks, form)]


class TrustConfig:
    """Codex's config.toml, of which the trust of our hooks is a part: `trusts` are to be in it, `stale` are not."""

    mode = 0o600

    def __init__(self, path: str, trusts: Sequence[HookTrust], stale: Sequence[HookTrust] = ()) -> None:
        """Take what trust it is about."""
        self.path = path
        self._trusts = trusts
        self._stale = [each for each in stale if each not in trusts]

    def read(self, now: ExistingFile) -> Toml:
        """Return the file as TOML. Raises FileError with the place of what is not valid."""
        text = now.text()
        try:
            return Toml(text)
        except ParseError as error:
            raise FileError(str(to_problem(self.path, text, error))) from error

    def put_in(self, now: ExistingFile, lines: Mapping[str, WiredLine]) -> str:  # noqa: ARG002  # the trusts say it all
        """Return the text with the trust in it."""
        config = self._without(self.read(now), self._stale)
        try:
            for trust in self._trusts:
                config = config.put(trust.key, TRUSTED_HASH, trust.digest)
        except ParseError as error:
            raise FileError(str(to_problem(self.path, now.text(), error))) from error
        return config.text

    def take_out(self, now: ExistingFile, before: str | None) -> str | None:
        """Return the text without the trust; None if there was no file and nothing is left."""
        text = self._without(self.read(now), [*self._trusts, *self._stale]).text
        return text if before is not None or text.strip() else None

    @staticmethod
    def _without(config: Toml, trusts: Sequence[HookTrust]) -> Toml:
        for trust in trusts:
            if trust.given(config):
                config = config.remove(trust.key)
        return config

    def says(self, now: ExistingFile) -> object:
        """Return its data."""
        return self.read(now).data

    def wired(self, now: ExistingFile) -> list[WiredEvent]:
        """Return the trust that is given."""
        config = self.read(now)
        given = [each for each in [*self._trusts, *self._stale] if each.given(config)]
        return [WiredEvent(each.key[-1], each.digest, None, self.path, 1) for each in given]


def definition_digest(hooks: Json, found: WiredEntry) -> str:
    """Return the digest that Codex makes of one hook: over its definition, not over its file or its script."""
    handler = found.handler
    default = SESSION_END_TIMEOUT if found.event == "SessionEnd" else DEFAULT_TIMEOUT
    definition: dict[str, object] = {
        "async": handler.get("async", False),
        "command": handler.get("command"),
        "timeout": handler.get("timeout", default),
        "type": handler.get("type"),
    }
    if "statusMessage" in handler:
        definition["statusMessage"] = handler["statusMessage"]
    group = hooks.at(found.path[:3])
    data: dict[str, object] = {"event_name": _snake(found.event), "hooks": [definition]}
    if isinstance(group, dict) and "matcher" in group:
        data["matcher"] = group["matcher"]
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + sha256(text.encode()).hexdigest()


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
