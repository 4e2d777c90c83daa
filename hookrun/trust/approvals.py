"""Check before and after each hook that the user allows it: decisions, approvals, unchanged files."""

from __future__ import annotations

from os.path import realpath
from time import localtime, monotonic, strftime

from hookrun.config.discovery import UNREAD
from hookrun.core.model import PRECEDENCE, UNTRUSTED_LAYERS, Failure, Hook, Outcome, Verdict
from hookrun.core.state import now_ns
from hookrun.core.text import one_line, shell_quoted
from hookrun.trust import store as stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.digest import HookInspector, Inspection
    from hookrun.trust.hook_files import LocalFile
    from hookrun.trust.store import Disabled, Store


class UserDecisions:
    """The user's decisions in one run: disabled hooks and, with `need_approval`, approvals.

    A project's hook must then be approved and stay unchanged while it runs. `given` are digests approved for this run
    only, besides the stored ones and those in the user's settings. `off` maps skipped hooks to the reason. Inspection
    stops at `deadline` (monotonic clock) or once `is_interrupted` returns true.
    """

    def __init__(
        self,
        home: str,
        root: str,
        environment: HookEnvironment,
        settings: Mapping[str, object],
        load: Callable[[str, Iterable[int]], Store] = stores.load,
        *,
        need_approval: bool = False,
        given: Iterable[str] = (),
    ) -> None:
        self.need_approval = need_approval
        listed = settings.get("trusted")
        self._given = {*given, *(listed if isinstance(listed, list) else ())}
        self._running: dict[int, Inspection] = {}
        self.deadline = float("inf")
        self.is_interrupted: Callable[[], bool] = lambda: False
        self._home = home
        self.root = root
        self._environment = environment
        self._owners = stores.owners_in(settings)
        self._inspector: HookInspector | None = None
        self.off: dict[str, str] = {}
        self._store_error: str | None = None
        try:
            self._store = load(home, self._owners)
        except stores.StoreError as error:
            self._store, self._store_error = stores.Store(), str(error)

    @property
    def inspector(self) -> HookInspector:
        """The inspector, created for the first inspected hook."""
        if self._inspector is None:
            from hookrun.trust.digest import HookInspector

            limits = (self.deadline, self.is_interrupted)
            self._inspector = HookInspector(self._home, self.root, self._environment, self._owners, limits)
        return self._inspector

    def why_off(self, hook: Hook) -> str | None:
        """Return why a hook is switched off, or None."""
        why = self.reason_off(hook)
        if why is not None:
            self.off[hook.name] = why
            self._environment.discard_program(hook)
        return why

    def reason_off(self, hook: Hook) -> str | None:
        """Return the same without recording it in `off`."""
        found = [each for each in self._store.disabled if each["name"] in (None, hook.name)]
        if not found or not can_be_off(hook):
            return None
        entry = disabling(found, hook, self.root)
        if entry is None and hook.layer in UNTRUSTED_LAYERS:  # one of the same digest has the same name
            entry = disabling(found, hook, self.root, self.inspector.inspect(hook).digest)
        return None if entry is None else described(entry)

    def may_guard(self, layer: str) -> bool:
        """Return whether a file of a layer may have a guard that counts, if its hooks are not known."""
        if layer == "managed":
            return True
        if any(each["name"] is None and is_in_force(each) for each in self._store.disabled):
            return False
        approved = self._store.approved.values()
        return (
            layer not in UNTRUSTED_LAYERS
            or self._store_error is not None
            or any(self.root in each["roots"] and each["guards"] for each in approved)
        )

    def switched_off(self) -> list[str]:
        """Return `NAME: reason` of each hook that would have run."""
        return [f"{name}: {why}" for name, why in self.off.items()]

    def off_for_a_time(self) -> list[str]:
        """Return `NAME, NAME: reason` of those that are not off for good."""
        return by_reason({name: why for name, why in self.off.items() if why != "disabled"})

    def refusal(self, hook: Hook) -> Failure | None:
        """Return why the declaration alone forbids the hook, or None; reads no file."""
        if not self.need_approval or hook.layer not in UNTRUSTED_LAYERS:
            return None
        if hook.error is not None:
            return Failure("declaration", hook.error)
        if self._given or self.inspector.approved_declaration(hook, self._store) is not None:
            return None
        return self._unapproved(hook)

    def check_before(self, hook: Hook) -> Failure | None:
        """Return why the hook may not run, or None. Call it right before the start."""
        if hook.layer not in UNTRUSTED_LAYERS or (self.need_approval and hook.error is not None):
            return None
        if self._store_error is not None:
            return Failure("untrusted", f"the approvals cannot be read: {one_line(self._store_error)}")
        return self._check_approval(hook) if self.need_approval else None

    def _check_approval(self, hook: Hook) -> Failure | None:
        declared = None if self._given else self.inspector.approved_declaration(hook, self._store)
        if declared is None and not self._given:
            return self._unapproved(hook)
        examined = self.inspector.inspect(hook, declared)
        if (problem := examined.problem) is not None:
            from hookrun.trust.digest import NOT_READ

            if monotonic() >= self.deadline:
                return Failure("timeout", "the deadline passed before the hook could start")
            return Failure("untrusted", problem if problem.startswith(NOT_READ) else f"cannot be approved: {problem}")
        # An agent started in an untrusted repository must not run its code.
        if examined.digest not in self._given and not self._store.is_approved(examined.digest, self.root):
            return self._unapproved(hook, examined.files)
        # The deciding inspection, right before the start: check_after compares the files with it.
        self._running[id(hook)] = examined
        return None

    def check_after(self, hook: Hook, outcome: Outcome) -> Outcome:
        """Return a finished hook's outcome, without its answer if its files have changed since the start.

        A block stays a block, with our reason: whoever can write the script cannot undo it.
        """
        examined = self._running.pop(id(hook), None)
        changed = self._changed(hook, examined) if examined is not None else ""
        if not changed:
            return outcome
        from hookrun.agents.dialects import as_claudes
        from hookrun.claude import interpret

        event = self._environment.event
        answer, _ = interpret(hook, as_claudes(hook, event, {}, outcome), event, {})
        # The output may be from whoever replaced the files.
        outcome.stdout = outcome.stderr = b""
        outcome.failure = Failure("untrusted", f"{changed} changed while it ran, so its answer was ignored")
        if isinstance(answer, Verdict) and PRECEDENCE[answer.action] >= PRECEDENCE["ask"]:
            outcome.answer = Verdict("block", f"hook {hook.name} blocked the call, but {changed} changed while it ran")
        return outcome

    def _changed(self, hook: Hook, before: Inspection) -> str:
        from hookrun.trust.hook_files import files_of

        try:
            files = files_of(hook, *before.variables_and_directory, self.root)
            if [each.data for each in files] == [each.data for each in before.files]:
                return ""
            from hookrun.trust.snapshots import named_changes

            return named_changes(before.files, files)
        except Exception as error:  # what cannot be inspected counts as changed
            return f"files that cannot be inspected ({error})"

    def _unapproved(self, hook: Hook, files: list[LocalFile] | None = None) -> Failure:
        """Return the failure of an unapproved hook; `files` are its files, if inspected."""
        unread = next((each[len(UNREAD) :] for each in hook.words if each.startswith(UNREAD)), None)
        if unread is not None:
            return Failure("untrusted", f"cannot be approved: {unread}")
        what, last = "not approved", self.inspector.last_approved(hook, self._store)
        if last is not None:
            what = "its config entry has changed since it was approved"
            if files is not None:
                from hookrun.trust.snapshots import change_since_approval

                what = change_since_approval(self._home, last, files)
        return Failure("untrusted", f"{what}: review with `hookrun trust {shell_quoted(self.root)}`")

    def keep(self) -> None:
        """Cache the digests for the next run."""
        if self._inspector is not None and self._inspector.cache.changed:
            self._inspector.cache.keep()


def by_reason(off: dict[str, str]) -> list[str]:
    """Return `NAME, NAME: reason` for each reason of hooks that are off."""
    reasons = dict.fromkeys(off.values())
    return [f"{', '.join(name for name, each in off.items() if each == why)}: {why}" for why in reasons]


def can_be_off(hook: Hook) -> bool:
    """Return whether the user may disable a hook: a managed one only if it says so."""
    return hook.layer != "managed" or bool(getattr(hook, "overridable", False))


def disabling(entries: Iterable[Disabled], hook: Hook, root: str, digest: str = "") -> Disabled | None:
    """Return the entry in force that disables a hook of the project at `root`, or one of this digest; else None."""
    return next((each for each in entries if is_about(each, hook, root, digest) and is_in_force(each)), None)


def is_about(entry: Disabled, hook: Hook, root: str, digest: str = "") -> bool:
    """Return whether a store entry names a hook of the project at `root`, or one of this digest anywhere.

    By name, so that a changed script stays off; by digest, so that it is off in a second worktree too.
    """
    if entry["name"] is None:
        return True
    if hook.layer not in UNTRUSTED_LAYERS or not entry["root"]:
        return entry["name"] == hook.name and not entry["root"] and hook.layer not in UNTRUSTED_LAYERS
    if entry["name"] == hook.name and realpath(entry["root"]) == realpath(root):
        return True
    return digest != "" and entry["digest"] == digest


def is_in_force(entry: Disabled) -> bool:
    """Return whether an entry counts now.

    A time that begins in the future has ended: the clock was set back. One longer than MAX_TIME is not hookrun's.
    """
    begin, until = entry["time"], entry["until"]
    return until is None or begin <= now_ns() / 1e9 < until <= begin + stores.MAX_TIME


def described(entry: Disabled) -> str:
    """Return `disabled`, and until when."""
    return "disabled" if entry["until"] is None else f"disabled until {clock(entry['until'])}"


def clock(seconds: float) -> str:
    """Return a Unix time as local HH:MM:SS."""
    return strftime("%H:%M:%S", localtime(seconds))
