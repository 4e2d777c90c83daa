"""Select matching hooks, run them in order, combine their verdicts. Knows no agent, file or process."""

from __future__ import annotations

from hookrun.core.context import file_path
from hookrun.core.events import GATES, REPLACEABLE, WITH_OUTPUT, changed_by, what_changes
from hookrun.core.fastjson import dumps
from hookrun.core.model import (
    BINDING_ACTIONS,
    CAN_CARRY_ARGS,
    LAYERS,
    NO_OBJECTION,
    PRECEDENCE,
    TERMINAL_ACTIONS,
    AnyHook,
    AnyVerdict,
    Failure,
    Hook,
    HookResult,
    Interrupted,
    Outcome,
    Verdict,
    as_object,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from hookrun.core.changes import Change

    class Candidates(Protocol):
        """The hooks configured for an event, in running order; built only when requested.

        Of each: the layer's number (0 takes precedence), whether it runs even after the chain's end, and whether it can
        block or change the call.
        """

        count: int
        layers: list[int]
        always: list[bool]
        enforcing: list[bool]

        def selects(self, index: int, context: Mapping[str, object]) -> bool:
            """Return whether the hook matches this context."""

        def hook(self, index: int) -> Any:
            """Return the hook, of the kind that the chain's driver runs."""

    Runner = Callable[[list[tuple[Any, bytes]]], list[Outcome]]
    Group = list[tuple[int, AnyHook]]


# A verdict's fields that change the context of later hooks.
CHANGES = ("modified_args", "args_patch", "modified_context", "modified_output", "modified_prompt")
HAD_ENDED = "already ended the chain"
# Hooks' most frequent outputs, in hookrun's dialect.
PLAIN = frozenset(b'{"action":%b"continue"}%b' % (space, end) for space in (b"", b" ") for end in (b"", b"\n"))


class HookChain:
    """An event's hooks on one context, and their results so far, even if interrupted.

    A caller may set, or a subclass define, these functions: `disabled_reason` returns why a hook is off, or None;
    `refusal` returns why it may not run whatever its files: after the chain's end, such a hook is skipped. `encode`
    returns a context as JSON bytes; if `encodes_changes`, a change that it rejects is a bad verdict of its hook.
    `home` has the state directory, if there is one. `on_refusal` gets a run whose verdict refuses the call, with the
    context that its hook read, and may change that verdict. `statuses` maps a candidate's index to its status.
    """

    disabled_reason: Callable[[Any], str | None] = staticmethod(lambda _hook: None)
    refusal: Callable[[Any], Failure | None] = staticmethod(lambda _hook: None)
    encode: Callable[[Mapping[str, object]], bytes] = staticmethod(lambda context: dumps(context).encode("ascii"))
    encodes_changes = True
    ended_by: str | None = None
    changed = replaced = False
    _rechecks = False
    _lowest_change = 0
    home: str | None = None
    on_refusal: Callable[[HookResult, dict[str, object]], None] = staticmethod(lambda _run, _context: None)

    def __init__(self, event: str, context: dict[str, object], candidates: Candidates) -> None:
        self.event = event
        self.given = self.context = context
        self.runs: list[HookResult] = []
        self.notes: list[str] = []
        self.statuses: dict[int, str] = {}
        self.candidates = candidates
        self._encoded: dict[bool | str, bytes] = {}
        self._kept_at: str | None = None

    def run(self, runner: Runner) -> None:
        """Run the chain; `runner` runs hooks side by side with their stdin, and returns their outcomes in order."""
        for hooks in self.steps():
            try:
                outcomes = runner([(hook, self.stdin(hook)) for hook in hooks])
            except Interrupted as interrupted:
                for hook, outcome in zip(hooks, interrupted.outcomes, strict=True):
                    if outcome is not None and outcome.ms:
                        self.runs.append(HookResult(hook, outcome))
                        self.runs[-1].interrupted = True
                raise
            self.record(hooks, outcomes)

    def steps(self) -> Iterator[Sequence[Any]]:
        """Yield groups of hooks to run side by side; each one's outcomes are to be recorded before the next.

        If a layer has changed the arguments, the enforcing hooks above it run again on the result, the nearest layer
        first, so that the topmost decides last.
        """
        # A generator, so that one place decides the order for all drivers: the poll loop of `run`, and a program's task
        # or thread (library/engine_fire.py).
        everything = range(self.candidates.count)
        yield from self._pass(everything)
        # From the nearest layer up: managed hooks also see changes of a user's recheck.
        for layer in range(self._lowest_change - 1, -1, -1):
            if self.ended_by is not None:
                break
            guards = [i for i in everything if self.candidates.layers[i] == layer and self.candidates.enforcing[i]]
            yield from self._recheck(guards, layer)

    def _recheck(self, guards: list[int], layer: int) -> Iterator[Sequence[Any]]:
        """Run a layer's guards on the arguments changed by lower layers, without those layers' metadata.

        If a guard that answered before now fails, the change is blocked, whatever its `on_failure`.
        """
        everybodys = self.context.get("metadata")
        upper = dict(as_object(self.given.get("metadata")))
        for run in self.runs:
            if LAYERS.index(run.hook.layer) <= layer:
                upper.update(run.verdict.modified_context or {})
        self._set_context({"metadata": upper})
        before = len(self.runs)
        failed_before = [run.hook for run in self.runs if run.failure is not None]
        self._rechecks = True
        yield from self._pass(guards)
        learned = self.context.get("metadata")
        self._set_context({"metadata": {**as_object(everybodys), **as_object(learned)}})
        for run in self.runs[before:]:
            # Otherwise a project could change a call and hide it from the guard, for example by using up the deadline
            # or removing the guard's directory.
            if run.failure is not None and not any(run.hook is hook for hook in failed_before):
                reason = f"hook {run.hook.name} could not check the changed {what_changes(self.event)}"
                run.lines = (f"{reason} ({run.failure.kind}: {run.failure.detail})",)
                run.verdict = Verdict("block", run.lines[0])
                self._withhold(run)
                self.ended_by = self.ended_by or run.hook.name

    def combine(self) -> Verdict:
        """Return the verdict of all runs so far, with conflicts in its system message."""
        return self.combine_into(AnyVerdict()).replace() if self.objected() else NO_OBJECTION

    def objected(self) -> bool:
        """Return whether there is more to combine than NO_OBJECTION: a verdict, a failure or a note."""
        for run in self.runs:  # a loop costs a handler's fire an eighth less than `any`
            if run.verdict is not NO_OBJECTION or run.failure is not None:
                return True
        return bool(self.notes)

    def combine_into(self, combined: AnyVerdict) -> AnyVerdict:
        """Set it in the fields of an empty one, and return that."""
        final = None
        if self.changed:
            from hookrun.core.changes import json_equal

            final = as_object(self.context.get("tool_args"))
            # An allow is for the arguments its hook saw: for others it is a continue.
            for run in self.runs:
                if run.verdict.action == "allow" and not json_equal(run.args, final):
                    run.verdict = run.verdict.replace(action="modify" if run.changed else "continue")
                    run.notes.append("its allow was ignored: the arguments were changed afterwards")
        if (self.event in GATES or self.event in WITH_OUTPUT) and any(run.failure is not None for run in self.runs):
            from hookrun.core.gate import conclude

            so_far = combine_into(AnyVerdict(), self.runs)
            conclude(self.event, self.runs, so_far.action, so_far)
        combine_into(combined, self.runs, final)
        if self.replaced:
            name, field = REPLACEABLE[self.event]
            if name == "modified_output" or combined.action in CAN_CARRY_ARGS:  # a refused prompt is not sent at all
                setattr(combined, name, self.context.get(field))
        if self.notes:
            combined.system_message = "\n".join(filter(None, (combined.system_message, *self.notes)))
        return combined

    def _pass(self, indices: Sequence[int]) -> Iterator[Sequence[Any]]:
        """Run the candidates once, in order; check skipped ones again after a group that changed the context."""
        pending = list(indices)
        while pending:
            group, passed_over, pending = self._next_group(pending)
            if not group:
                continue
            before = self.context
            yield [hook for _, hook in group]
            for index, _ in group:
                again = self._rechecks and f"ran again on the changed {what_changes(self.event)}"
                self.statuses[index] = again or "ran"
            if self.context is not before:
                pending = passed_over + pending

    def _next_group(self, pending: list[int]) -> tuple[Group, list[int], list[int]]:
        """Return the next hook with those beside it, the candidates skipped, and those left."""
        declared = self.candidates
        group: Group = []
        passed_over: list[int] = []
        for position, index in enumerate(pending):
            # A group never spans layers: project hooks start after the user's guards have answered.
            if group and declared.layers[index] != declared.layers[group[0][0]]:
                return group, passed_over, pending[position:]  # the next layer is not even checked before
            hook = self._selected(index)
            if hook is None:
                if group:
                    passed_over.append(index)
                continue
            if group and not hook.parallel:
                return group, passed_over, pending[position:]
            group.append((index, hook))
            if not hook.parallel:
                return group, passed_over, pending[position + 1 :]
        return group, passed_over, []

    def _selected(self, index: int) -> AnyHook | None:
        """Return the hook if it runs now: it matches, is on, and the chain has not ended or it always runs."""
        if not self.candidates.selects(index, self.context):
            return None
        if self.ended_by is not None and not (
            self.candidates.always[index] and self.refusal(self.candidates.hook(index)) is None
        ):
            self.statuses.setdefault(index, f"not run: {self.ended_by} {HAD_ENDED}")
            return None
        hook: AnyHook = self.candidates.hook(index)
        why = "mode is off" if hook.mode == "off" else self.disabled_reason(hook)
        if why is not None:
            self.statuses[index] = f"not run: {why}"
            return None
        return hook

    def record(self, hooks: Sequence[AnyHook], outcomes: Sequence[Outcome]) -> list[HookResult]:
        """Record, in order, the answers of hooks that ran side by side; return results with a failure or notes.

        Each answer is a set of changes to what the hook saw; of two to the same thing, the later wins.
        """
        before = self.context
        args = before.get("tool_args")
        together: list[tuple[HookResult, list[Change]]] = []
        noted: list[HookResult] = []
        for hook, outcome in zip(hooks, outcomes, strict=True):
            run = self.interpret(hook, outcome, before)
            self.runs.append(run)
            if self._rechecks:
                run.recheck = True
            if isinstance(args, dict):
                run.args = args
            if run.verdict is not NO_OBJECTION:
                if run.verdict.action in BINDING_ACTIONS:
                    self.on_refusal(run, before)
                if any(getattr(run.verdict, name) is not None for name in CHANGES):
                    self._apply_changes(run, before, together)
                if run.verdict.action in TERMINAL_ACTIONS and self.ended_by is None:
                    self.ended_by = hook.name
            if run.notes or run.failure is not None:
                noted.append(run)
        for run in noted:  # last, as one beside it may have replaced what it did not check
            self._withhold(run)
        return noted

    def interpret(self, hook: AnyHook, outcome: Outcome, before: dict[str, object]) -> HookResult:
        """Return an ended hook's result, given its input, the context `before`."""
        if outcome.answer is NO_OBJECTION and outcome.failure is None and not outcome.notes:  # most handlers
            return HookResult(hook, outcome)
        configured = hook if outcome.answer is None and isinstance(hook, Hook) else None
        if configured is not None and configured.dialect != "hookrun" and not configured.background:
            from hookrun.claude.answer import to_hook_result

            if configured.dialect != "claude":
                from hookrun.agents.dialects import as_claudes

                outcome = as_claudes(configured, self.event, before, outcome)

            return to_hook_result(configured, self.event, before, outcome, self.save_text)
        if is_plain_continue(hook, outcome):
            return HookResult(hook, outcome)
        import hookrun.core.verdicts  # most answers are plain; `from` takes longer

        notes: list[str] = []
        answer: Verdict | Failure
        if isinstance(hook, Hook) and hook.background:
            answer = outcome.failure or Verdict()
        else:
            args = self.context.get("tool_args")
            change = changed_by(self.event, args if isinstance(args, dict) else None)
            if configured is not None:
                answer, notes = hookrun.core.verdicts.from_process(configured, outcome, change=change)
            elif outcome.answer is not None:
                answer, notes = hookrun.core.verdicts.from_return_value(outcome, outcome.answer, change=change)
            else:
                answer = outcome.failure or NO_OBJECTION
        failure = answer if isinstance(answer, Failure) else None
        run = HookResult(hook, outcome, hookrun.core.verdicts.apply_policies(hook, answer), failure)
        run.notes = [*outcome.notes, *notes] if outcome.notes else notes
        if run.notes:
            run.lost = [note for note in run.notes if note.startswith(hookrun.core.verdicts.NOTES_FOR_USER)]
        return run

    def _apply_changes(
        self, run: HookResult, before: dict[str, object], together: list[tuple[HookResult, list[Change]]]
    ) -> None:
        """Apply the run's changes to the context; an inapplicable one is the run's failure."""
        import hookrun.core.changes

        so_far = self.context
        run.before = as_object(before.get("tool_args"))
        try:
            changes, fields, conflicts = hookrun.core.changes.merge(run, before, so_far, together)
            for other, what in conflicts:
                note = f"hooks {other.name} and {run.name} both changed {what}; {run.name}, the later, wins"
                run.notes.append(note)
                self.notes.append(note)
            if fields:
                self._set_context(fields)
            if changes:
                run.changed = [".".join(path[1:] or path) for path, _, _ in changes]
                self._lowest_change = max(self._lowest_change, LAYERS.index(run.hook.layer))
            if run.verdict.modified_args is not None or run.verdict.args_patch is not None:
                self.changed = True
            if run.verdict.modified_output is not None or run.verdict.modified_prompt is not None:
                self.replaced = True
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # too deep, not JSON, or a program's incomparable objects
            from hookrun.core.text import describe_exception
            from hookrun.core.verdicts import apply_policies, keep_refusal

            self.context, self._encoded, changes = so_far, {}, []
            why = f"its answer cannot be passed to other hooks: {describe_exception(error)}"
            if not keep_refusal(run, why):
                run.failure = Failure("bad_verdict", why)
                run.verdict = apply_policies(run.hook, run.failure)
        together.append((run, changes))

    def _withhold(self, run: HookResult) -> None:
        """Withhold the output of a tool after a failure that blocks."""
        if run.failure is not None and run.verdict.action == "block" and self.event in WITH_OUTPUT:
            from hookrun.core.gate import WITHHELD

            field = REPLACEABLE[self.event][1]
            run.verdict, run.changed, self.replaced = run.verdict.replace(modified_output=WITHHELD), [field], True
            self._set_context({field: WITHHELD})

    def _set_context(self, fields: dict[str, object]) -> None:
        """Change the context. Raises ValueError if no hook could then read it."""
        self.context = {**self.context, **fields}
        self.context["file_path"] = file_path(self.context)
        self._encoded = {}
        if self.encodes_changes:
            self._encoded[False] = self.encode(_without_payload(self.context))

    def stdin(self, hook: Hook) -> bytes:
        """Return the hook's input, a line of JSON: the context with the hook's name.

        In an agent's dialect it is that agent's message.
        """
        if hook.dialect not in ("hookrun", "claude"):
            from hookrun.agents.dialects import message_for

            return self.encode(message_for(hook, self.event, self.context)) + b"\n"
        if hook.dialect == "claude":
            if "claude" not in self._encoded:
                from hookrun.claude import hook_protocol

                message = hook_protocol.build_payload(self.event, self.context, replaced=self.replaced)
                if self.home is not None and self.context.get("agent") not in (None, "claude"):
                    message["transcript_path"] = self._transcript(self.home) or message["transcript_path"]
                self._encoded["claude"] = self.encode(message) + b"\n"
            return self._encoded["claude"]
        if hook.payload not in self._encoded:
            seen = self.context if hook.payload else _without_payload(self.context)
            self._encoded[hook.payload] = self.encode(seen)
        return b'{"hook":%b,%b\n' % (dumps(hook.name).encode("ascii"), self._encoded[hook.payload][1:])

    def _transcript(self, home: str) -> str | None:
        if self._kept_at is None:  # once, whatever the hooks change
            from hookrun.agents.claude_transcript import keep  # few agents have a hook of this dialect

            self._kept_at = keep(home, self.context) or ""
        return self._kept_at

    def save_text(self, text: str) -> str | None:
        """Save a text that is too long for an agent; return its path, None without a home."""
        from hookrun.core.session import save_overflow_text

        return save_overflow_text(self.home, text) if self.home is not None else None


def is_plain_continue(hook: AnyHook, outcome: Outcome) -> bool:
    """Return whether a process succeeded with a mere `continue`, in the usual spellings."""
    if outcome.failure is not None or outcome.notes or outcome.answer is not None:
        return False
    if outcome.exit_code != 0 or outcome.truncated or outcome.stderr:  # which may say that the script is broken
        return False
    return not outcome.stdout or (outcome.stdout in PLAIN and getattr(hook, "dialect", "hookrun") == "hookrun")


def combine_into(combined: AnyVerdict, runs: Sequence[HookResult], args: dict[str, object] | None = None) -> AnyVerdict:
    """Set the verdict of all runs in an empty one's fields: the strongest action, its messages, all other texts.

    `args` are the arguments after the chain, if changed: included if the tool may still run.
    """
    combined.action, strength = "continue", 0
    messages: list[str | None] = []
    for verdict in [run.verdict for run in runs if run.verdict is not NO_OBJECTION]:
        if (its := PRECEDENCE[verdict.action]) > strength:
            strength = its
            combined.action = verdict.action
            messages = []
        if its == strength:
            messages.append(verdict.message)
            if verdict.action == "allow":
                combined.action = "allow"
        if verdict.additional_context:
            combined.additional_context = _joined(combined.additional_context, verdict.additional_context)
        if verdict.system_message:
            combined.system_message = _joined(combined.system_message, verdict.system_message)
        if verdict.modified_context:
            combined.modified_context = {**(combined.modified_context or {}), **verdict.modified_context}
    combined.message = "\n".join(filter(None, messages)) or None
    if combined.action in CAN_CARRY_ARGS:
        combined.modified_args = args
    return combined


def _joined(before: str | None, text: str) -> str:
    return f"{before}\n{text}" if before else text


def _without_payload(context: dict[str, object]) -> dict[str, object]:
    if "payload" not in context:
        return context
    return {name: value for name, value in context.items() if name != "payload"}
