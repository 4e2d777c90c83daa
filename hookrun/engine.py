"""Select the hooks that apply, run them in order, combine their verdicts. Knows no agent, no file and no process."""

from __future__ import annotations

from hookrun import verdicts
from hookrun.events import can_modify
from hookrun.fastjson import dumps
from hookrun.model import LAYERS, TERMINAL_ACTIONS, Failure, HookResult, Interrupted, Outcome, Verdict, file_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from typing import Protocol

    from hookrun.model import Hook

    class Candidates(Protocol):
        """The hooks declared for one event, in running order; a hook itself is only built when it is asked for."""

        def __len__(self) -> int: ...
        def layer(self, index: int) -> int:
            """Return the layer's number, 0 for the one with the first word."""

        def parallel(self, index: int) -> bool:
            """Tell whether the hook may run beside its neighbours."""

        def always(self, index: int) -> bool:
            """Tell whether the hook runs even when the chain has ended."""

        def enforcing(self, index: int) -> bool:
            """Tell whether the hook can refuse or change something."""

        def selects(self, index: int, context: Mapping[str, object]) -> bool:
            """Tell whether the hook applies in this context."""

        def hook(self, index: int) -> Hook:
            """Return the hook itself."""

    Runner = Callable[[list[tuple[Hook, bytes]]], list[Outcome]]
    Group = list[tuple[int, Hook]]
    Steps = Generator[list[Hook], list[Outcome], None]


HAD_ENDED = "had ended the chain"


def _encode(context: Mapping[str, object]) -> bytes:
    return dumps(context).encode("ascii")


class HookChain:
    """One fire: the hooks of one event on one context. What was done so far is here, also when it is interrupted.

    `off` says why a hook is switched off, if it is, and `refusal` why it may not run whatever its files are: after the
    end of the chain such a hook is passed over. `encode` makes the JSON object of a context, in bytes; with
    `encode_changes` a change that it does not take is a bad verdict of the hook that made it. `became` notes what
    became of each candidate: index -> text. `keep_text` puts a text that is too long for an agent into a file
    and returns its path, None where it cannot.
    """

    def __init__(
        self,
        event: str,
        context: dict[str, object],
        candidates: Candidates,
        *,
        off: Callable[[Hook], str | None],
        refusal: Callable[[Hook], Failure | None] = lambda _: None,
        encode: Callable[[Mapping[str, object]], bytes] = _encode,
        encode_changes: bool = True,
        keep_text: Callable[[str], str | None] = lambda _text: None,
    ) -> None:
        self.event = event
        self.context = context
        self.runs: list[HookResult] = []
        self.notes: list[str] = []
        self.became: dict[int, str] = {}
        self.ended_by: str | None = None
        self.changed = False
        self._candidates = candidates
        self._off = off
        self._refusal = refusal
        self._encode = encode
        self._encode_changes = encode_changes
        self._keep_text = keep_text
        self._lowest_change = 0
        self._given_metadata = _object(context.get("metadata"))
        self._encoded: dict[bool | str, bytes] = {}

    def run(self, runner: Runner) -> Verdict:
        """Run the chain and return the combined verdict.

        `runner` runs hooks side by side, each with its stdin, and returns their outcomes in the same order.
        """
        steps = self.steps()
        try:
            hooks = next(steps)
            while True:
                try:
                    outcomes = runner([(hook, self.stdin(hook)) for hook in hooks])
                except Interrupted as interrupted:
                    steps.throw(interrupted)
                    raise
                hooks = steps.send(outcomes)
        except StopIteration:
            return self.combine()

    def steps(self) -> Steps:
        """Yield the hooks that run next, side by side; expect their outcomes in the same order to be sent.

        Where a layer has changed the arguments, the enforcing hooks of the layers above it run once more on the
        result, the nearest layer first, so that the first layer has the last word. The end is `combined()`.
        """
        # A generator, so that all is decided once, whoever drives it: the poll loop of `run`, a task or a thread of a
        # program (library/fire.py).
        everything = range(len(self._candidates))
        yield from self._pass(everything, recheck=False)
        # From the nearest layer up: the managed hooks also see what a user's hook changes while rechecking.
        for layer in range(self._lowest_change - 1, -1, -1):
            if self.ended_by is not None:
                break
            guards = [i for i in everything if self._candidates.layer(i) == layer and self._candidates.enforcing(i)]
            yield from self._recheck(guards, layer)

    def _recheck(self, guards: list[int], layer: int) -> Steps:
        """Run a layer's guards on the arguments as lower layers left them, but with no metadata of lower layers.

        A guard that answered before and now fails has not seen the change: that refuses it, whatever `on_failure` says.
        """
        everybodys = self.context.get("metadata")
        upper: dict[str, object] = dict(self._given_metadata)
        for run in self.runs:
            if LAYERS.index(run.hook.layer) <= layer:
                upper.update(run.verdict.modified_context or {})
        self._set_context({"metadata": upper})
        before = len(self.runs)
        failed_before = [run.hook for run in self.runs if run.failure is not None]
        yield from self._pass(guards, recheck=True)
        learned = self.context.get("metadata")
        self._set_context({"metadata": {**_object(everybodys), **_object(learned)}})
        for run in self.runs[before:]:
            # Otherwise a project could change a call and then keep the guard from seeing it: use up the deadline, or
            # remove the guard's directory.
            if run.failure is not None and not any(run.hook is hook for hook in failed_before):
                reason = f"the changed arguments could not be shown to hook {run.hook.name}, which may refuse them"
                run.verdict = Verdict("block", f"{reason} ({run.failure.kind}: {run.failure.detail})")
                self.ended_by = self.ended_by or run.hook.name

    def combine(self, verdict: Verdict | None = None) -> Verdict:
        """Return the verdict of all runs so far, conflicts told in its system message.

        `verdict` is an empty one to make it of.
        """
        final = _object(self.context.get("tool_args"))
        for run in self.runs:
            # An allow is for the arguments that its hook saw: for others it is worth no more than a continue.
            if run.verdict.action == "allow" and self.changed and not verdicts.json_equal(run.args, final):
                run.verdict.action = "modify" if run.changed else "continue"
                run.notes.append("its allow was for other arguments than the tool gets in the end: it does not count")
        verdict = verdicts.combine(self.runs, final, changed=self.changed, into=verdict)
        if self.notes:
            verdict.system_message = "\n".join(filter(None, (verdict.system_message, *self.notes)))
        return verdict

    def _pass(self, indices: Sequence[int], *, recheck: bool) -> Steps:
        """Run the candidates once, in order; one passed over by a group that changed things is looked at again."""
        pending = list(indices)
        while pending:
            group, passed_over, pending = self._next_group(pending)
            if not group:
                continue
            before = self.context
            try:
                outcomes = yield [hook for _, hook in group]
            except Interrupted as interrupted:
                self._note_interrupted(group, interrupted)
                raise
            self.record_outcomes(group, outcomes, recheck=recheck)
            if self.context is not before:
                pending = passed_over + pending

    def _next_group(self, pending: list[int]) -> tuple[Group, list[int], list[int]]:
        """Return the next hook that runs and those that run beside it, who was passed over, and who is left."""
        declared = self._candidates
        group: Group = []
        passed_over: list[int] = []
        for position, index in enumerate(pending):
            # A group never crosses a layer: no project's hook starts before the user's guards have answered.
            if group and declared.layer(index) != declared.layer(group[0][0]):
                return group, passed_over, pending[position:]  # the next layer is not even looked at before
            hook = self._selected(index)
            if hook is None:
                if group:
                    passed_over.append(index)
                continue
            if group and not declared.parallel(index):
                return group, passed_over, pending[position:]
            group.append((index, hook))
            if not declared.parallel(index):
                return group, passed_over, pending[position + 1 :]
        return group, passed_over, []

    def _selected(self, index: int) -> Hook | None:
        """Return the hook if it runs now: it applies, it is not off, and the chain has not ended or it runs always."""
        if not self._candidates.selects(index, self.context):
            return None
        always = self._candidates.always(index)
        if self.ended_by is not None and not (always and self._refusal(self._candidates.hook(index)) is None):
            self.became.setdefault(index, f"not run: {self.ended_by} {HAD_ENDED}")
            return None
        hook = self._candidates.hook(index)
        why = "mode is off" if hook.mode == "off" else self._off(hook)
        if why is not None:
            self.became[index] = f"not run: {why}"
            return None
        return hook

    def record_outcomes(self, group: Group, outcomes: list[Outcome], *, recheck: bool) -> None:
        """Take over, in order, what hooks that ran side by side answered.

        Each answer is a set of changes to what the hook saw: of two that change the same thing the later wins.
        """
        before = self.context
        together: list[tuple[HookResult, list[verdicts.Change]]] = []
        for (index, hook), outcome in zip(group, outcomes, strict=True):
            run = self.interpret(hook, outcome, before)
            run.recheck = recheck
            self.became[index] = "ran again on the changed arguments" if recheck else "ran"
            self.runs.append(run)
            verdict = run.verdict
            if verdict.modified_args is verdict.args_patch is verdict.modified_context is None:
                run.args = _object(before.get("tool_args"))
            else:
                self._apply_changes(run, before, together)
            if run.verdict.action in TERMINAL_ACTIONS and self.ended_by is None:
                self.ended_by = hook.name

    def _note_interrupted(self, group: Group, interrupted: Interrupted) -> None:
        for (_, hook), outcome in zip(group, interrupted.outcomes, strict=True):
            if outcome is not None and outcome.ms:
                run = HookResult(hook, Verdict(), outcome=outcome)
                run.interrupted = True
                self.runs.append(run)

    def interpret(self, hook: Hook, outcome: Outcome, before: dict[str, object]) -> HookResult:
        """Return the run of a hook that has ended: what it answered to the context `before`, and what that comes to."""
        if hook.dialect == "claude" and not hook.background and outcome.answer is None:
            from hookrun.claude.answer import to_hook_result

            return to_hook_result(hook, self.event, before, outcome, self._keep_text)
        notes: list[str] = []
        answer: Verdict | Failure
        if outcome.answer is verdicts.NO_OBJECTION and outcome.failure is None:
            answer = Verdict()
        elif hook.background:
            answer = outcome.failure or Verdict()
        else:
            args = self.context.get("tool_args")
            allowed = can_modify(self.event, args if isinstance(args, dict) else None)
            if outcome.answer is None:
                answer, notes = verdicts.from_process(hook, outcome, can_modify=allowed)
            else:
                answer, notes = verdicts.from_return_value(outcome, outcome.answer, can_modify=allowed)
        failure = answer if isinstance(answer, Failure) else None
        run = HookResult(hook, verdicts.apply_policies(hook, answer), outcome=outcome, failure=failure)
        run.notes = [*outcome.notes, *notes] if outcome.notes else notes
        if run.notes:
            run.lost = [note for note in run.notes if note.startswith((verdicts.WRONG_FIELD, verdicts.BROKEN_SCRIPT))]
        return run

    def _changes(self, run: HookResult, before: dict[str, object]) -> list[verdicts.Change]:
        """Return what the run's answer changes in the arguments that its hook saw."""
        base = _object(before.get("tool_args"))
        wanted: object = run.verdict.modified_args
        if run.verdict.args_patch is not None:
            wanted = verdicts.merge_patch(base, run.verdict.args_patch)
        run.args = wanted if isinstance(wanted, dict) else base
        if not isinstance(wanted, dict):
            return []
        return list(verdicts.diff(base, wanted))

    def _apply_changes(
        self, run: HookResult, before: dict[str, object], together: list[tuple[HookResult, list[verdicts.Change]]]
    ) -> None:
        """Take over what the run changes of what its hook saw; what cannot be taken over is its failure."""
        so_far = self.context
        run.before = _object(before.get("tool_args"))
        try:
            changes = self._changes(run, before)
            self._merge_changes(changes, run, together)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # too deep, no JSON, or a program's objects that cannot be compared
            from hookrun.text import describe_exception

            self.context, self._encoded, changes = so_far, {}, []
            why = f"what it answers cannot be given to others: {describe_exception(error)}"
            if not verdicts.keep_refusal(run, why):
                run.failure = Failure("bad_verdict", why)
                run.verdict = verdicts.apply_policies(run.hook, run.failure)
        together.append((run, changes))

    def _merge_changes(
        self, changes: list[verdicts.Change], run: HookResult, together: list[tuple[HookResult, list[verdicts.Change]]]
    ) -> None:
        """Make the run's changes to the context, and note where they conflict with those of a hook beside it."""
        for other, other_changes in together:
            for what in _conflicting_paths(other_changes, changes, run):
                self._conflict(other, run, what)
            theirs = other.verdict.modified_context or {}
            for key, value in (run.verdict.modified_context or {}).items():
                if key in theirs and not verdicts.json_equal(theirs[key], value):
                    self._conflict(other, run, f"metadata.{key}")
        fields: dict[str, object] = {}
        if changes:
            so_far = _object(self.context.get("tool_args"))
            fields["tool_args"] = run.args if _replaces_all_args(run.hook) else verdicts.apply(so_far, changes)
        if run.verdict.modified_context:
            fields["metadata"] = {**_object(self.context.get("metadata")), **run.verdict.modified_context}
        if fields:
            self._set_context(fields)
        if changes:
            run.changed = [".".join(path) for path, _, _ in changes]
            self._lowest_change = max(self._lowest_change, LAYERS.index(run.hook.layer))
        if run.verdict.modified_args is not None or run.verdict.args_patch is not None:
            self.changed = True

    def _set_context(self, fields: dict[str, object]) -> None:
        """Change the context. Raises ValueError when it cannot be given to a hook any more."""
        self.context = {**self.context, **fields}
        self.context["file_path"] = file_path(self.context)
        self._encoded = {}
        if self._encode_changes:
            self._encoded[False] = self._encode(_without_payload(self.context))

    def _conflict(self, earlier: HookResult, later: HookResult, what: str) -> None:
        note = (
            f"hooks {earlier.hook.name} and {later.hook.name} both changed {what}; {later.hook.name}, the later, wins"
        )
        later.notes.append(note)
        self.notes.append(note)

    def stdin(self, hook: Hook) -> bytes:
        """Return what the hook reads, as one line of JSON: the context with the hook's own name in it.

        In Claude's dialect it is Claude's message.
        """
        if hook.dialect == "claude":
            return self._stdin_as_claude()
        if hook.payload not in self._encoded:
            seen = self.context if hook.payload else _without_payload(self.context)
            self._encoded[hook.payload] = self._encode(seen)
        return b'{"hook":%b,%b\n' % (dumps(hook.name).encode("ascii"), self._encoded[hook.payload][1:])

    def _stdin_as_claude(self) -> bytes:
        if "claude" not in self._encoded:
            from hookrun.claude import payload

            self._encoded["claude"] = self._encode(payload.build_payload(self.event, self.context)) + b"\n"
        return self._encoded["claude"]


def _replaces_all_args(hook: Hook) -> bool:
    """Tell whether a change of the hook's is one of all arguments, those that it leaves as they are included."""
    return hook.dialect == "claude"


def _conflicting_paths(earlier: list[verdicts.Change], later: list[verdicts.Change], run: HookResult) -> list[str]:
    """Return where the changes of a run, which are the later, undo earlier ones."""
    if not _replaces_all_args(run.hook):
        return ["tool_args." + ".".join(path) for path in verdicts.conflicts(earlier, later)]
    kept = not later or verdicts.json_equal(verdicts.apply(run.args, earlier), run.args)
    return [] if kept else ["tool_args"]


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _without_payload(context: dict[str, object]) -> dict[str, object]:
    if "payload" not in context:
        return context
    return {name: value for name, value in context.items() if name != "payload"}
