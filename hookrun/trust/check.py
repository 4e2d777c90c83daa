"""Is what is about to run what a person has approved, and did it stay that until it ended? Asked on each fire."""

from __future__ import annotations

from hookrun.dialects import interpret
from hookrun.model import PRECEDENCE, UNTRUSTED_LAYERS, Failure, Verdict
from hookrun.trust import store as stores
from hookrun.trust.switches import Switches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hookrun.model import Hook, Outcome
    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.files import LocalFile
    from hookrun.trust.store import Store

PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@%:,=")


class Approvals(Switches):
    """Which hooks may run in one fire: those of a project only if they are approved, and stay what was approved.

    `given` are digests that count as approved for this fire, besides those of the store and of the user's settings.
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

    def before(self, hook: Hook) -> Failure | None:
        """Return why the hook may not run, None if it may: it is approved, or no stranger's."""
        if hook.layer not in UNTRUSTED_LAYERS or hook.error is not None:
            return None
        trouble = super().before(hook)
        if trouble is not None:
            return trouble
        examined = self.examiner.examine(hook)
        if examined.problem is not None:
            return Failure("untrusted", f"it cannot be approved: {examined.problem}")
        if examined.digest not in self._store.approved and examined.digest not in self._given:
            return Failure("untrusted", self._why(hook))
        self._running[id(hook)] = examined.files
        return None

    def after(self, hook: Hook, outcome: Outcome) -> Outcome:
        """Return the outcome of a hook that has ended, void if its files are not what they were when it was started.

        What it refused stays refused, in our words: a refusal is not undone by whoever can write its script.
        """
        files = self._running.pop(id(hook), None)
        if not files or self._are_still(hook, files):
            return outcome
        answer, _ = interpret(hook, outcome, self._around.event, {})
        outcome.stdout = outcome.stderr = b""
        outcome.failure = Failure("untrusted", "its files changed while it ran: what it answered does not count")
        if isinstance(answer, Verdict) and PRECEDENCE[answer.action] >= PRECEDENCE["ask"]:
            outcome.answer = Verdict("block", f"hook {hook.name} refused, and its files changed while it ran")
        return outcome

    def _are_still(self, hook: Hook, files: list[LocalFile]) -> bool:
        try:
            now = self.examiner.files(hook)
        except Exception:  # as in `examine`: what cannot be looked at is not what it was
            return False
        return now is not None and [file.to_list() for file in now] == [file.to_list() for file in files]

    def _why(self, hook: Hook) -> str:
        approved = self._store.approved.values()
        changed = any((each["name"], each["root"]) == (hook.name, self._root) for each in approved)
        what = "it has changed since it was approved" if changed else "nobody has approved it"
        return f"{what}: look at it with hookrun trust {quoted(self._root)}"


def quoted(path: str) -> str:
    """Return a path as a shell takes it for one word."""
    return path if PLAIN.issuperset(path) else "'" + path.replace("'", "'\\''") + "'"
