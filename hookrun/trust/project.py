"""Read and change the user's decisions about a project's hooks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hookrun.config import approved_guards
from hookrun.config.approved_guards import ApprovedGuard, is_guard
from hookrun.config.executed import executed, file_words
from hookrun.config.load import Declarations
from hookrun.core import files
from hookrun.core.files import is_within, relative_path
from hookrun.core.model import UNTRUSTED_LAYERS, Hook
from hookrun.core.state import DATA_DIR, make_private_dir
from hookrun.core.terminal import is_terminal
from hookrun.core.text import UserError, shell_quoted, truncate
from hookrun.launch import launcher_file
from hookrun.process.prepare import HookEnvironment, expand
from hookrun.shell.words import UNKNOWN
from hookrun.trust import launcher_gate, snapshots, store as stores
from hookrun.trust.ancestry import what_runs_this
from hookrun.trust.approvals import can_be_off, described, disabling, is_about, is_in_force
from hookrun.trust.digest import HookInspector, Inspection, declaration, sum_of_text
from hookrun.trust.hook_files import place
from hookrun.trust.snapshots import Texts

if TYPE_CHECKING:
    from hookrun.trust.store import Approved, Disabled, Store


LOCK = "trust.lock"
# Limit on stored digests; the oldest are dropped. Other branches' digests are no longer needed.
MAX_APPROVED = 5000
# Limit on the characters shown of a part of a command.
MAX_SHOWN = 60
OWN_TERMINAL = "run it yourself, in a terminal that neither an agent nor one of its commands has opened"


class NotAllowedError(UserError):
    """Only the user may do this, in a terminal; the message says why it was denied."""


@dataclass
class ProjectHook:
    """A project's hook, its inspection, and the user's decision about it."""

    hook: Hook
    inspection: Inspection
    state: str

    @property
    def digest(self) -> str:
        """Its digest, or "" if it has none."""
        return self.inspection.digest


class Project:
    """A directory's hooks, and the user's decisions about those that need approval.

    Raises StoreError if the stored decisions cannot be trusted or, when deciding, cannot be written.
    """

    def __init__(self, declarations: Declarations, directory: str, home: str) -> None:
        self.home = home
        self.declarations = declarations
        self.root = declarations.root or directory
        settings = declarations.settings
        self.owners = stores.owners_in(settings)
        self.environment = HookEnvironment({}, project=self.root, request_id="", settings=settings, home=self.home)
        listed = settings.get("trusted")
        self._listed = {str(each) for each in listed} if isinstance(listed, list) else set()
        self._inspector = HookInspector(self.home, self.root, self.environment, self.owners)

    # --- reading

    @cached_property
    def store(self) -> Store:
        """The decisions, as first read or last changed here."""
        return stores.load(self.home, self.owners)

    def hooks(self) -> list[ProjectHook]:
        """Return the hooks that need approval, inspected now."""
        return [self.inspect(hook) for hook in self.declarations.hooks if hook.layer in UNTRUSTED_LAYERS]

    def inspect(self, hook: Hook) -> ProjectHook:
        """Return a hook in its current state."""
        if hook.error is not None:
            return ProjectHook(hook, Inspection("", [], hook.error), "declared wrongly")
        inspection = self._inspector.inspect(hook)
        return ProjectHook(hook, inspection, self._state(hook, inspection))

    def last_approved(self, hook: Hook) -> str | None:
        """Return the digest last approved for the hook in this project, or None."""
        return self._inspector.last_approved(hook, self.store)

    def guards(self) -> list[ApprovedGuard]:
        """Return the guards on record; if that is damaged, those that are approved now, so that none is lost."""
        try:
            return approved_guards.read(self.home, self.root) or []
        except Exception:
            with suppress(stores.StoreError):  # nothing is approved
                return self._approved_now(found.hook for found in self.hooks() if found.state == "approved")
            return []

    def _approved_now(self, hooks: Iterable[Hook]) -> list[ApprovedGuard]:
        return [ApprovedGuard(hook, time.time(), self._head) for hook in hooks if is_guard(hook)]

    def missing(self) -> list[tuple[ApprovedGuard, str]]:
        """Return the approved guards that the config no longer has, or has for less, and the change."""
        return list(approved_guards.missing(self.guards(), self.declarations.hooks))

    def missing_notes(self) -> list[str]:
        """Return a line for each of these guards."""
        then, kept = f"in force; review: `hookrun trust {shell_quoted(self.root)}`", self.kept()
        found = [(guard.hook.name, change) for guard, change in self.missing()]
        return [
            f"approved guard {name} is not configured ({change}), {'but' if name in kept else 'and not'} {then}"
            for name, change in found
        ]

    def kept(self) -> set[str]:
        """Return the names of those of these guards that are in force all the same."""
        return {guard.hook.name for guard, _ in self.missing() if not approved_guards.committed(guard, self.root)}

    def uncovered(self, found: ProjectHook) -> tuple[list[str], list[str]]:
        """Return the command's words that name data, which may change, and those known only at run time."""
        hook = found.hook
        variables, cwd = self.environment.variables_and_directory(hook)
        covered = {os.path.realpath(file.path) for file in found.inspection.files}
        data = []
        for word in file_words(hook.kind, hook.target, hook.dialect):
            path = os.path.realpath(expand(word, variables, cwd))
            if os.path.isfile(path) and is_within(path, os.path.realpath(self.root)) and path not in covered:
                covered.add(path)
                data.append(word)
        unknown = executed(hook.kind, hook.target, hook.env, hook.dialect).unknown
        return data, [truncate(part.replace(UNKNOWN, "..."), MAX_SHOWN) for part in unknown]

    def why_off(self, hook: Hook) -> str | None:
        """Return `disabled`, and until when, if the user has disabled the hook by its name."""
        entry = disabling(self.store.disabled, hook, self.root) if can_be_off(hook) else None
        return None if entry is None else described(entry)

    def _state(self, hook: Hook, inspection: Inspection) -> str:
        lasting = [each for each in self.store.disabled if each["until"] is None]
        if disabling(lasting, hook, self.root, inspection.digest) is not None:
            return "disabled"
        if inspection.problem is not None:
            return "cannot be approved"
        if inspection.digest in self._listed or self.store.is_approved(inspection.digest, self.root):
            return "approved"
        return "changed" if self.last_approved(hook) else "new"

    # --- deciding

    @contextmanager
    def changing(self) -> Iterator[Store]:
        """Yield the store to change, and write it at the end."""
        with locked_store(self.home, self.owners) as store:
            yield store
        self.store = store

    def approve(self, found: ProjectHook, texts: Texts) -> None:
        """Approve a hook as inspected; `texts` is what the user saw."""
        with self.changing() as store:
            self._lift(store, found.hook, found.digest)
            self._keep_guards({found.hook.name}, [found.hook])
            store.approve(found.digest, approval(found.hook, self.root, self.home))
        self._inspector.cache.keep()
        snapshots.keep(self.home, found.digest, texts)

    def disable(self, hook: Hook | None, seconds: float | None) -> Disabled:
        """Disable a hook, or all of them, for some time or without an end; return the entry."""
        now = time.time()
        is_ours = hook is not None and hook.layer in UNTRUSTED_LAYERS
        digest = self.inspect(hook).digest if hook is not None and is_ours else ""
        entry: Disabled = {
            "name": None if hook is None else hook.name,
            "root": self.root if is_ours else "",
            "digest": digest,
            "time": now,
            "until": None if seconds is None else now + seconds,
        }
        with self.changing() as store:
            self._lift(store, hook, digest)
            store.disabled = [*filter(is_in_force, store.disabled), entry]
        return entry

    def enable(self, hook: Hook | None) -> bool:
        """End what `disable` has done for a hook, or for all at once; return whether there was something to end."""
        digest = self.inspect(hook).digest if hook is not None and hook.layer in UNTRUSTED_LAYERS else ""
        with self.changing() as store:
            return self._lift(store, hook, digest)

    @cached_property
    def _head(self) -> str:
        return approved_guards.head(self.root)

    def let_go(self, names: Container[str], hooks: Iterable[Hook] = ()) -> None:
        """Let the approved guards of these names go, which the config no longer has; approved `hooks` replace them."""
        with self.changing():
            self._keep_guards(names, hooks)

    def _keep_guards(self, gone: Container[str], hooks: Iterable[Hook] = ()) -> None:
        """Replace the approved guards of some names by these hooks, as far as they are guards."""
        kept = [each for each in self.guards() if each.hook.name not in gone]
        approved_guards.write(self.home, self.root, [*kept, *self._approved_now(hooks)])

    def forget(self, *, digests: set[str], roots: set[str]) -> int:
        """Forget the decisions about these digests and the projects at these roots; return their number."""

        def is_meant(digest: str, root: str) -> bool:
            return digest in digests or os.path.realpath(root) in roots

        with self.changing() as store:
            gone = [
                (digest, at) for digest, each in store.approved.items() for at in each["roots"] if is_meant(digest, at)
            ]
            for digest, at in gone:
                del store.approved[digest]["roots"][at]
            store.approved = {digest: each for digest, each in store.approved.items() if each["roots"]}
            is_here = os.path.realpath(self.root) in roots
            self._keep_guards([each.hook.name for each in self.guards()] if is_here else ())
            others = [each for each in store.disabled if not (each["root"] and is_meant(each["digest"], each["root"]))]
            forgotten = len(gone) + len(store.disabled) - len(others)
            store.disabled = others
        return forgotten

    def _lift(self, store: Store, hook: Hook | None, digest: str) -> bool:
        def is_meant(each: Disabled) -> bool:
            if each["name"] is None or hook is None:
                return each["name"] is None and hook is None
            return is_about(each, hook, self.root, digest)

        before = len(store.disabled)
        store.disabled = [each for each in store.disabled if not is_meant(each)]
        return len(store.disabled) < before


def approval(hook: Hook, root: str, home: str) -> Approved:
    """Return the store's entry for a hook approved now in the project at `root`."""
    return {
        "name": hook.name,
        "source": place(hook.source, root, home),
        "roots": {root: stores.place_of(root)},
        "time": time.time(),
        "declaration": sum_of_text(declaration(hook, root, home)),
        "guards": is_guard(hook),
    }


@contextmanager
def locked_store(home: str, owners: Iterable[int] = ()) -> Iterator[Store]:
    """Yield an account's store to change, and write it unless the block raises. Other writers wait meanwhile.

    Raises StoreError, with the store unchanged, if it cannot be trusted or written.
    """
    where = home + DATA_DIR
    try:
        make_private_dir(where)
        fd = stores.open_directory(where, owners)
        try:
            os.fchmod(fd, 0o700)
            with files.Locked(f"{where}/{LOCK}"):
                store = stores.read(fd, where)
                yield store
                files.atomic_write(f"{where}/{stores.NAME}", _text(store).encode("ascii"), durable=True)
                files.sweep(where)
        finally:
            os.close(fd)
    except OSError as error:
        shown = relative_path(error.filename) if isinstance(error.filename, str) else "the store"
        fault = f"{shown}: cannot be written ({error.strerror}), so nothing was changed"
        raise stores.StoreError(f"{fault}\nhint: free some space or fix its permissions") from None
    if not launcher_gate.renew(home):
        launcher_file.note_change(home)


def _text(store: Store) -> str:
    newest = sorted(store.approved.items(), key=lambda item: item[1]["time"])[-MAX_APPROVED:]
    data = {
        "version": stores.VERSION,
        "approved": dict(newest),
        "disabled": store.disabled,
    }
    return json.dumps(data, indent=1) + "\n"


def require_terminal(purpose: str) -> None:
    """Raise NotAllowedError unless the user is at a terminal."""
    refuse_if_run_by_agent(purpose)
    if not (is_terminal(0) and is_terminal(2)):
        raise NotAllowedError(f"cannot {purpose} without a terminal\nhint: run the command in a terminal yourself")


def refuse_if_run_by_agent(purpose: str) -> None:
    """Raise NotAllowedError if an agent or a hook runs this process."""
    if (cause := what_runs_this()) is not None:
        raise NotAllowedError(f"cannot {purpose}: {cause}\nhint: {OWN_TERMINAL}")
