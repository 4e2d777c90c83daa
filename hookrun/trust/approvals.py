"""Check before and after each hook whether the user allows it: decisions, approvals, unchanged files."""

from __future__ import annotations

from os.path import realpath
from time import localtime, monotonic, strftime

from hookrun.config.discovery import UNREAD
from hookrun.dialects import interpret
from hookrun.model import PRECEDENCE, UNTRUSTED_LAYERS, Failure, Hook, Outcome, Verdict
from hookrun.state import now_ns
from hookrun.text import one_line
from hookrun.trust import store as stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.digest import HookInspector
    from hookrun.trust.hook_files import LocalFile
    from hookrun.trust.store import Pause, Refused, Store


class UserDecisions:
    """The user's decisions in one run: hooks that are denied, disabled or paused.

    `off` maps the names of skipped hooks to the reason. Inspection stops at `deadline` (a time of the monotonic
    clock) or once `is_interrupted` returns true.
    """

    def __init__(
        self,
        home: str,
        root: str,
        around: HookEnvironment,
        settings: Mapping[str, object],
        load: Callable[[str, Iterable[int]], Store] = stores.load,
    ) -> None:
        self.deadline = float("inf")
        self.is_interrupted: Callable[[], bool] = lambda: False
        self._home = home
        self.root = root
        self._around = around
        self._owners = _owners(settings)
        self._inspector: HookInspector | None = None
        self.off: dict[str, str] = {}
        self._trouble: str | None = None
        try:
            self._store = load(home, self._owners)
        except stores.StoreError as error:
            self._store, self._trouble = stores.Store(), str(error)

    @property
    def inspector(self) -> HookInspector:
        """The inspector, created for the first hook that is inspected."""
        if self._inspector is None:
            from hookrun.trust.digest import Budget, HookInspector

            budget = Budget(self.deadline, self.is_interrupted)
            self._inspector = HookInspector(self._home, self.root, self._around, self._owners, budget)
        return self._inspector

    def why_off(self, hook: Hook) -> str | None:
        """Return why a hook is switched off, or None. Managed hooks never are."""
        why = self.reason_off(hook)
        if why is not None:
            self.off[hook.name] = why
            self._around.discard_program(hook)
        return why

    def reason_off(self, hook: Hook) -> str | None:
        """Return why a hook is switched off, or None, without recording it in `off`."""
        if hook.layer == "managed":
            return None
        pause = active_pause(self._store.paused, hook.name)
        if pause is not None:
            return f"paused until {clock(pause['until'])}"
        if hook.layer not in UNTRUSTED_LAYERS:
            return None
        if self._is_among(self._store.denied, hook):
            return "denied"
        if self._is_among(self._store.disabled, hook):
            return "disabled"
        return None

    def _is_among(self, refused: list[Refused], hook: Hook) -> bool:
        """Return whether the list names the hook: by name in this project, by digest in any."""
        if not refused:
            return False
        root = realpath(self.root)
        # By name, so that a changed script stays off; by digest, so that it is off in a second worktree too.
        if any(each["name"] == hook.name and realpath(each["root"]) == root for each in refused):
            return True
        refused = [each for each in refused if each["name"] == hook.name]  # of the same digest, so of the same name
        digest = self.inspector.inspect(hook).digest if refused else ""
        return digest != "" and any(each["digest"] == digest for each in refused)

    def switched_off(self) -> list[str]:
        """Return `NAME: reason` of each hook that would have run."""
        return [f"{name}: {why}" for name, why in self.off.items()]

    def refusal(self, hook: Hook) -> Failure | None:  # noqa: ARG002  # as approvals have it
        """Return why the hook may not run, judging by its declaration alone, or None; reads no file."""
        return None

    def check_before(self, hook: Hook) -> Failure | None:
        """Return why the hook may not run, or None. Call it right before the hook starts."""
        if self._trouble is None or hook.layer not in UNTRUSTED_LAYERS:
            return None
        return Failure("untrusted", f"the approvals cannot be read: {one_line(self._trouble)}")

    def check_after(self, hook: Hook, outcome: Outcome) -> Outcome:  # noqa: ARG002  # as approvals have it
        """Return the outcome of a finished hook."""
        return outcome

    def keep(self) -> None:
        """Cache the digests for the next run."""
        if self._inspector is not None:
            self._inspector.keep()


def _owners(settings: Mapping[str, object]) -> list[int]:
    named = settings.get("trusted_owners")
    if not isinstance(named, list) or not named:
        return []
    from hookrun.trust.ownership import uids

    return uids(named)


def active_pause(pauses: list[Pause], name: str) -> Pause | None:
    """Return the pause that applies to a hook now, or None.

    A pause that begins in the future was set before the clock was set back: it has ended. One longer than MAX_PAUSE
    was not written by hookrun.
    """
    now = now_ns() / 1e9
    for pause in pauses:
        begin, until = pause["begin"], pause["until"]
        if pause["hook"] in (None, name) and begin <= now < until <= begin + stores.MAX_PAUSE:
            return pause
    return None


def clock(seconds: float) -> str:
    """Return a Unix time as local HH:MM:SS."""
    return strftime("%H:%M:%S", localtime(seconds))


PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@%:,=")


class Approvals(UserDecisions):
    """The user's decisions and approvals in one run: a project's hook must be approved and stay unchanged.

    `given` are digests approved for this run only, besides those of the store and of the user's settings.
    """

    def __init__(
        self,
        home: str,
        root: str,
        around: HookEnvironment,
        settings: Mapping[str, object],
        load: Callable[[str, Iterable[int]], Store] = stores.load,
        *,
        given: Iterable[str] = (),
    ) -> None:
        super().__init__(home, root, around, settings, load)
        listed = settings.get("trusted")
        self._given = {*given, *(listed if isinstance(listed, list) else ())}
        self._running: dict[int, list[LocalFile]] = {}
        self._declarations: dict[tuple[str, str], set[str]] | None = None
        self._approved_here: set[str] | None = None

    def refusal(self, hook: Hook) -> Failure | None:
        """Return why the hook may not run, judging by its declaration alone, or None; reads no file."""
        if hook.layer not in UNTRUSTED_LAYERS:
            return None
        if hook.error is not None:
            return Failure("declaration", hook.error)
        known = self._given or self._is_declared_as_approved(hook, self.inspector.declaration(hook))
        return None if known else self._unapproved(hook)

    def _is_declared_as_approved(self, hook: Hook, declared: str) -> bool:
        if self._declarations is None:
            self._declarations = {}
            for each in self._store.approved.values():
                self._declarations.setdefault((each["name"], each["source"]), set()).add(each["declaration"])
        known = self._declarations.get((hook.name, self.inspector.place(hook)))
        if known is None:
            return False
        # With the digest of the last run most files need no hashing; "" is from a version that stored none.
        if self.inspector.last_digest(declared) in self._store.approved or "" in known:
            return True
        return self.inspector.sum_of_declaration(declared) in known

    def check_before(self, hook: Hook) -> Failure | None:
        """Return why the hook may not run, or None if it is trusted or approved."""
        if hook.layer not in UNTRUSTED_LAYERS or hook.error is not None:
            return None
        trouble = super().check_before(hook)
        if trouble is not None:
            return trouble
        declared = self.inspector.declaration(hook)
        if not (self._given or self._is_declared_as_approved(hook, declared)):
            return self._unapproved(hook)
        examined = self.inspector.inspect(hook, declared)
        if examined.problem is not None:
            return self._problem(examined.problem)
        # An agent that starts in an untrusted repository must not run its code.
        if examined.digest not in self._store.approved and examined.digest not in self._given:
            return self._unapproved(hook, examined.files)
        # From the inspection that decided, right before the start: check_after compares the files with these.
        self._running[id(hook)] = examined.files
        return None

    def _problem(self, problem: str) -> Failure:
        from hookrun.trust.digest import NOT_READ

        if monotonic() >= self.deadline:
            return Failure("timeout", "the deadline passed before the hook could start")
        return Failure("untrusted", problem if problem.startswith(NOT_READ) else f"cannot be approved: {problem}")

    def check_after(self, hook: Hook, outcome: Outcome) -> Outcome:
        """Return the outcome of a finished hook, without its answer if its files have changed since it started.

        A block stays a block, with a reason of ours: whoever can write the script cannot undo it.
        """
        files = self._running.pop(id(hook), None)
        changed = self._changed(hook, files) if files is not None else ""
        if not changed:
            return outcome
        answer, _ = interpret(hook, outcome, self._around.event, {})
        # The output may come from whoever replaced the files.
        outcome.stdout = outcome.stderr = b""
        outcome.failure = Failure("untrusted", f"{changed} changed while it ran, so its answer was ignored")
        if isinstance(answer, Verdict) and PRECEDENCE[answer.action] >= PRECEDENCE["ask"]:
            outcome.answer = Verdict("block", f"hook {hook.name} blocked the call, but {changed} changed while it ran")
        return outcome

    def _changed(self, hook: Hook, files: list[LocalFile]) -> str:
        """Return which files have changed, appeared or disappeared since the hook started."""
        try:
            return named_changes(files, self.inspector.files(hook))
        except Exception as error:  # what cannot be inspected counts as changed
            return f"files that cannot be inspected ({error})"

    def _unapproved(self, hook: Hook, files: list[LocalFile] | None = None) -> Failure:
        """Return the failure of a hook that is not approved; `files` are its files, if they were inspected."""
        if self._approved_here is None:
            approved = self._store.approved.values()
            self._approved_here = {each["name"] for each in approved if each["root"] == self.root}
        unread = next((each[len(UNREAD) :] for each in hook.words if each.startswith(UNREAD)), None)
        if unread is not None:
            return Failure("untrusted", f"cannot be approved: {unread}")
        what = "not approved"
        if hook.name in self._approved_here:
            what = "its declaration has changed since it was approved"
            if files is not None:
                what = change_since_approval(self._home, self._store, hook.name, self.root, files)
        return Failure("untrusted", f"{what}: review with `hookrun trust {quoted(self.root)}`")


def change_since_approval(home: str, store: Store, name: str, root: str, files: list[LocalFile]) -> str:
    """Return what changed since a hook was approved in this project, naming the files; "" if it never was."""
    here = [
        (each["time"], digest)
        for digest, each in store.approved.items()
        if (each["name"], each["root"]) == (name, root)
    ]
    if not here:
        return ""
    last = max(here)[1]
    if store.approved[last].get("rule", 1) != stores.RULE:
        return "it was approved by an older version of hookrun, which covered fewer files"
    from hookrun.trust import snapshots

    before = snapshots.read(home, last)
    changed = snapshots.changed_files(before, files) if before is not None else ["it"]
    return (
        f"{named(changed) or 'its declaration'} {'have' if len(changed) > 1 else 'has'} changed since it was approved"
    )


def named_changes(before: list[LocalFile], now: list[LocalFile]) -> str:
    """Return the names of the files that are new, gone or changed as part of a sentence; "" if none is."""
    first, second = ({file.label: file.to_list() for file in files} for files in (before, now))
    return named([label for label in {**first, **second} if first.get(label) != second.get(label)])


MOST_NAMED = 3


def named(labels: list[str]) -> str:
    """Return the names of files as part of a sentence; "" if there are none."""
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    return ", ".join(labels[:MOST_NAMED]) + more


def quoted(path: str) -> str:
    """Return a path quoted for a shell."""
    return path if PLAIN.issuperset(path) else "'" + path.replace("'", "'\\''") + "'"
