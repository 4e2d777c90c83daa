"""Interpret the exit status and output of a hook in Claude's dialect as a verdict."""

from __future__ import annotations

from hookrun.claude import hook_protocol
from hookrun.claude.hook_protocol import ANYTHING, FLAG, OBJECT, TEXT, TEXTS, TOP, rules
from hookrun.core import verdicts
from hookrun.core.events import can_refuse
from hookrun.core.fastjson import dumps, loads, type_name
from hookrun.core.model import BINDING_ACTIONS, AnyVerdict, Failure, Hook, HookResult, Outcome, Verdict, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrun.claude.hook_protocol import FieldTypes, Holds, Rules
    from hookrun.core.literals import Action

    Fields = Mapping[str, object]
    Answer = dict[str, object]

# The exit status that blocks.
VETO = 2

# Claude's permission decisions -> hookrun's actions. Only Claude Code can defer a call.
DECISIONS: Mapping[str, Action] = {"deny": "block", "ask": "ask", "defer": "ask", "allow": "allow"}

# Fields that are reported if they have no effect at an event.
DISCARDED = frozenset({"decision", "continue", "systemMessage"})

# Fields that mark an answer in Claude's dialect.
DECIDES = frozenset({"decision", "continue", "hookSpecificOutput"})

# Text in output meant as an answer that is not JSON.
FROM_AN_ANSWER = ('"hookSpecificOutput"', '"decision"', '"permissionDecision"', '"continue"')

# Claude's event -> the field of `hookSpecificOutput` that refuses there; elsewhere it is `decision` at the top.
DENIES_BY = {"PreToolUse": '"permissionDecision": "deny"', "PermissionRequest": '"decision": {"behavior": "deny"}'}

# Characters of a text that an agent gets unchanged.
MAX_TEXT = 10_000
# Characters of a longer text that it gets.
PREVIEW = 2_000

# Texts of a verdict that are limited to MAX_TEXT.
LIMITED = ("message", "additional_context", "system_message")


def to_hook_result(
    hook: Hook, event: str, context: Fields, outcome: Outcome, keep: Callable[[str], str | None]
) -> HookResult:
    """Return a finished hook's result at hookrun's `event`, given its input `context`.

    `keep` saves a too long text and returns the file's path.
    """
    answer = Interpretation(hook, event, context, outcome)
    result = answer.result
    for name in LIMITED:
        text = getattr(result, name, None)
        if isinstance(result, Verdict) and text is not None and len(text) > MAX_TEXT:
            whole = not outcome.truncated and outcome.bytes_err <= len(outcome.stderr)
            result = result.replace(**{name: shorten(text, keep, whole=whole)})
    # `onFailure: block` acts like exit status 2.
    blocks = answer.rules.exit_2 == hook_protocol.BLOCK and answer.native not in hook_protocol.CONTINUES_TURN
    on_failure = hook.on_failure if blocks else "continue"
    run = HookResult(hook, outcome, verdicts.apply_policies(hook, result, on_failure=on_failure), answer.failure)
    run.notes = [*outcome.notes, *answer.notes]
    run.lost = answer.lost
    return run


def shorten(text: str, keep: Callable[[str], str | None], *, whole: bool) -> str:
    """Return the beginning of a too long text, with the path where `keep` saved it.

    `whole` is false if it exceeded `max_output`.
    """
    path = keep(text)
    where = f"{'all of it' if whole else 'what was kept of it'} is in {path}"
    if path is None:
        where = "the rest could not be kept"
    return f"[{len(text)} characters, more than the {MAX_TEXT} that are given: {where}. It begins:]\n{text[:PREVIEW]}"


class Interpretation:
    """The interpreted output of a hook's run at hookrun's `event`, given its input `context`.

    `result` is its verdict or failure, `notes` are on the output. `lost` are effects that only Claude Code supports;
    they are reported to the user.
    """

    def __init__(self, hook: Hook, event: str, context: Fields, outcome: Outcome) -> None:
        self.hook = hook
        self.native = hook_protocol.native_event(event)
        self.rules: Rules = rules(self.native)
        self.context = context
        self.outcome = outcome
        self.verdict = AnyVerdict()
        self.verdict.action = "continue"
        self.failure: Failure | None = None
        self.notes: list[str] = []
        self.lost: list[str] = []
        answer = self._read_answer()
        if outcome.failure is not None:
            self.failure = outcome.failure
            if outcome.stdout.strip():
                self.notes.append("its partial output is ignored")
        elif outcome.exit_code == VETO:
            self._veto(answer)
        elif isinstance(answer, dict):
            self._take(answer)
            self._ended(outcome)
        elif isinstance(answer, Failure):
            self.failure = answer
        elif outcome.exit_code:
            self.failure = verdicts.exit_failure(outcome)
        elif answer and self.hook.kind == "url":
            self.failure = Failure("bad_verdict", f"the response is not a JSON object: {dumps(answer[:80])}")
        elif answer:
            self._plain(answer)
        self._note_broken_script(answer)
        is_regular = isinstance(answer, dict) and "async" not in answer and self.failure is None and not self.notes
        if can_refuse(event) and not is_regular:
            self._keep_refusal(outcome.stdout)
        self._continue_turn()
        self.result: Verdict | Failure = self.failure or self.verdict.replace()

    def _continue_turn(self) -> None:
        """At the end of a turn, text for the model continues the turn."""
        verdict = self.verdict
        if self.native in hook_protocol.CONTINUES_TURN and verdict.action == "continue" and verdict.additional_context:
            verdict.action, verdict.message, verdict.additional_context = "block", verdict.additional_context, None

    def _note_broken_script(self, answer: dict[str, object] | str | Failure) -> None:
        """Report a script that its shell could not run; a guard without an answer has failed then."""
        notes: list[str] = []
        failure = verdicts.note_broken_script(self.hook, self.outcome, notes)
        for note in notes:
            self._unsupported(note)
        if failure is not None and not isinstance(answer, dict) and self.outcome.exit_code == 0:
            self.failure = failure

    def _keep_refusal(self, stdout: bytes) -> None:
        """Take a refusal in another form, or of a hook that failed after it, where nothing refuses yet."""
        refuses = self.failure is None and self.verdict.action in BINDING_ACTIONS
        if refuses or (b"{" not in stdout and len(stdout.split()) != 1):
            return
        from hookrun.core.refusals import as_text, refusal_of  # rarely needed

        if (found := refusal_of(stdout)) is None:
            return
        self.failure, verdict = None, self.verdict
        verdict.action = found["action"]  # type: ignore[assignment]  # it is one of them
        verdict.modified_args = verdict.modified_args if verdict.action == "ask" else None
        said = found.get("message") or found.get("reason")
        verdict.message = as_text(said) if said is not None else None
        own = DENIES_BY.get(self.native)
        form = f'"hookSpecificOutput": {{"hookEventName": "{self.native}", {own}}}' if own else '"decision": "block"'
        self._unsupported(f"{verdicts.WRONG_FIELD}: its {verdict.action} counts, but Claude Code's form is {{{form}}}")

    def _ended(self, outcome: Outcome) -> None:
        """Note that an answer overrides the exit status; of a killed hook, only a block counts."""
        code = outcome.exit_code or 0
        if code < 0 and self.verdict.action not in BINDING_ACTIONS:
            self.failure = verdicts.exit_failure(outcome)
        elif code:
            how = f"signal {-code}" if code < 0 else f"exit status {code}"
            self.notes.append(f"its {how} is ignored because of its answer")

    def _read_answer(self) -> dict[str, object] | str | Failure:
        """Return the answer, plain text, or why the output is neither."""
        outcome = self.outcome
        if outcome.truncated and outcome.stdout.lstrip().startswith(b"{"):
            return Failure("bad_verdict", f"its output is longer than max_output ({self.hook.max_output} bytes)")
        try:
            return read_output(outcome.stdout, self.native)
        except UnreadableOutputError as error:
            return Failure("bad_verdict", f"{error}{verdicts.stderr_tail(outcome)}")

    def _veto(self, answer: dict[str, object] | str | Failure) -> None:
        """Apply exit status 2: block where the event allows it, with the answer's reason or stderr."""
        if isinstance(answer, dict):
            self._take(answer)
        elif answer:
            self.notes.append(f"its stdout is ignored because of exit status 2: {_shown(answer)}")
        reason = verdicts.decode(self.outcome.stderr)
        if self.rules.exit_2 == hook_protocol.NOTHING:
            shown = f": {_shown(reason)}" if reason else ""
            self.notes.append(f"its exit status 2 has no effect at {self.native}{shown}")
            return
        verdict = self.verdict
        if self.rules.exit_2 == hook_protocol.PERSON:
            message = f"hook {self.hook.name}: {reason or 'exit status 2, no reason given'}"
            verdict.system_message = "\n".join(filter(None, (message, verdict.system_message)))
            return
        if verdict.action not in ("block", "stop"):
            verdict.action, verdict.message, verdict.modified_args = "block", None, None
        if verdict.message and reason and reason != verdict.message:
            self.notes.append(f"its stderr is ignored because of the reason in its answer: {_shown(reason)}")
        verdict.message = verdict.message or reason or f"blocked by {self.hook.name} (exit 2, no reason given)"

    def _plain(self, text: str) -> None:
        """Apply plain text, which only some events pass to the model."""
        if self.rules.plain:
            self.verdict.additional_context = text
        elif any(each in text for each in FROM_AN_ANSWER):
            self._unsupported(f"its stdout has several JSON objects and is ignored: {_shown(text)}")
        else:
            self.notes.append(f"its stdout is plain text, which has no effect at {self.native}: {_shown(text)}")

    # --- an answer

    def _take(self, answer: Fields) -> None:
        """Apply an answer's fields that have an effect at the event."""
        if answer.get("async") is True:  # it had nothing to do in the background
            return
        own = as_object(answer.get("hookSpecificOutput"))
        self._discard(answer, own)
        top = {name: answer[name] for name in self.rules.obeys if name in answer}
        verdict = self.verdict
        verdict.system_message = _text(top.get("systemMessage"))
        if "additionalContext" in (self.rules.fields or {}) and "additionalContext" not in self.rules.lost:
            verdict.additional_context = _text(own.get("additionalContext"))
        if self.native == "PreToolUse":
            self._before_tool(own)
        elif self.native == "PermissionRequest":
            self._permission(own.get("decision"))
        elif self.native == "PostToolUse":
            updated = own.get("updatedToolOutput", own.get("updatedMCPToolOutput"))
            if updated is not None:
                verdict.action, verdict.modified_output = "modify", hook_protocol.output_text(updated)
        self._top(top, answer)

    def _top(self, top: Fields, answer: Fields) -> None:
        """Apply `decision` and `continue`, which override the event's fields."""
        verdict = self.verdict
        reason = _text(answer.get("reason"))
        if top.get("decision") == "block":
            verdict.action, verdict.message, verdict.modified_args = "block", reason or verdict.message, None
        elif (
            top.get("decision") == "approve"
            and self.native == "PreToolUse"
            and verdict.action in ("continue", "modify")
        ):
            verdict.action = "allow"
            self._reason_of_consent(reason)
        elif reason:
            self.notes.append(f"its reason has no effect without a block: {_shown(reason)}")
        if top.get("continue") is False:
            why = verdict.message if verdict.action == "block" else None
            verdict.action, verdict.modified_args = "stop", None
            verdict.message = "\n".join(filter(None, (why, _text(answer.get("stopReason"))))) or None

    def _before_tool(self, own: Fields) -> None:
        verdict = self.verdict
        decision, reason = _text(own.get("permissionDecision")), _text(own.get("permissionDecisionReason"))
        updated = own.get("updatedInput")
        if decision == "defer":
            self._unsupported("only Claude Code can defer a call: the user is asked instead")
            updated = None
        if decision is not None:
            verdict.action = DECISIONS[decision]
        if isinstance(updated, dict) and verdict.action != "block":
            verdict.modified_args = hook_protocol.canonical_arguments(self.context, updated)
            if verdict.action == "continue":
                verdict.action = "modify"
        if verdict.action in ("block", "ask"):
            verdict.message = reason
        else:
            self._reason_of_consent(reason)

    def _permission(self, decision: object) -> None:
        if not isinstance(decision, dict):
            return
        verdict = self.verdict
        if decision["behavior"] == "deny":
            verdict.action = "stop" if decision.get("interrupt") is True else "block"
            verdict.message = _text(decision.get("message"))
            return
        verdict.action = "allow"
        if isinstance(decision.get("updatedInput"), dict):
            verdict.modified_args = hook_protocol.canonical_arguments(self.context, decision["updatedInput"])
        if decision.get("updatedPermissions"):
            self._unsupported("updatedPermissions of its answer cannot be passed on")

    def _reason_of_consent(self, reason: str | None) -> None:
        if reason:
            self.notes.append(f"its reason has no effect when it allows: {_shown(reason)}")

    def _discard(self, answer: Fields, own: Fields) -> None:
        """Report fields without effect, at this event or in hookrun; `own` are the event's."""
        lost = sorted({name for name in self.rules.lost if name in own} | ({"terminalSequence"} & answer.keys()))
        if lost:
            self._unsupported(f"{', '.join(lost)} of its answer cannot be passed on")
        vain = sorted(name for name in DISCARDED - self.rules.obeys if name in answer and answer[name] is not True)
        if vain:
            self.notes.append(f"{', '.join(vain)} of its answer has no effect at {self.native}")
        self._misplaced(answer, own)

    def _misplaced(self, answer: Fields, own: Fields) -> None:
        """Report unknown and misplaced fields; notes suffice where an answer addresses several agents."""
        tell = self._unsupported if DECIDES.isdisjoint(answer) else self.notes.append
        fields = self.rules.fields or {}
        outside = sorted(answer.keys() & (fields.keys() - TOP.keys()))
        if outside:
            tell(f"{', '.join(outside)} of its answer is outside hookSpecificOutput, where it has no effect")
        if "action" in answer:
            tell('its answer has the field "action" of hookrun\'s dialect, which is ignored')
        unknown = sorted([*(answer.keys() - TOP.keys() - fields.keys()), *(own.keys() - {"hookEventName", *fields})])
        if unknown:
            self.notes.append(f"unknown keys in its answer: {', '.join(unknown)}")

    def _unsupported(self, text: str) -> None:
        self.notes.append(text)
        self.lost.append(text)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _shown(answer: str | Failure) -> str:
    text = answer.detail if isinstance(answer, Failure) else answer
    return dumps(text[:200])


MAX_SHOWN = 80
# White space of JavaScript (ECMA-262, String.prototype.trim).
BLANK = (
    "\ufeff \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

ALLOWS: FieldTypes = {"behavior": ("allow", "deny"), "updatedInput": OBJECT, "updatedPermissions": ANYTHING}
# Fields of the `decision` of PermissionRequest.
DENIES: FieldTypes = {"behavior": ("allow", "deny"), "message": TEXT, "interrupt": FLAG}


class UnreadableOutputError(ValueError):
    """Output that looks like an answer but is invalid; the message has the actual and expected value."""


def read_output(stdout: bytes, event: str) -> Answer | str:
    """Return a hook's answer at one of Claude's events, or its plain text.

    By the rules of Claude Code 2.1.248 and later. Raises UnreadableOutputError for an invalid answer.
    """
    text = stdout.decode("utf-8", "replace").strip(BLANK)
    if handshake(stdout) is not None:
        text = text.partition("\n")[2].strip(BLANK) or text
    if not (text.startswith("{") and text.endswith("}")):
        return text
    try:
        answer = as_object(loads(text))  # it begins with {
    except (ValueError, RecursionError) as error:
        if _is_lines_of_others(text):
            return text
        raise UnreadableOutputError(f"stdout is not JSON: {_quoted(text)} ({error})") from None
    if answer.get("async") is not True:
        _check(answer, event)
    return answer


def handshake(stdout: bytes) -> Answer | None:
    """Return the first line of an output if it asks to be let go: `{"async": true}`, `asyncTimeout` in milliseconds.

    One that refuses, too, is an answer like any other.
    """
    line = stdout.lstrip().partition(b"\n")[0]
    if b'"async"' not in line:
        return None
    try:
        asked = as_object(loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None
    from hookrun.core.refusals import refusal_of  # rarely needed

    return asked if asked.get("async") is True and refusal_of(line) is None else None


def _is_lines_of_others(text: str) -> bool:
    """Return whether a text is JSON lines without any field of Claude Code."""
    lines = [line for line in text.splitlines() if line.strip(BLANK)]
    try:
        values = [loads(line) for line in lines]
    except (ValueError, RecursionError):
        return False
    return len(lines) > 1 and not any(isinstance(each, dict) and not TOP.keys().isdisjoint(each) for each in values)


def _check(answer: Answer, event: str) -> None:
    """Raise UnreadableOutputError for a field of the wrong type; unknown ones are fine."""
    _check_fields(answer, TOP, "")
    own = answer.get("hookSpecificOutput")
    if not isinstance(own, dict):
        return
    name, fields = own.get("hookEventName"), rules(event).fields
    if name is None:
        raise UnreadableOutputError(f'hookSpecificOutput has no hookEventName, expected "{event}"')
    if name != event:
        raise UnreadableOutputError(f'hookSpecificOutput.hookEventName is {_quoted(name)}, not "{event}"')
    if fields is None:
        raise UnreadableOutputError(f"{event} has no hookSpecificOutput")
    _check_fields(own, fields, "hookSpecificOutput.")
    decision = own.get("decision")
    if event == "PermissionRequest" and isinstance(decision, dict):
        where = "hookSpecificOutput.decision."
        if "behavior" not in decision:
            raise UnreadableOutputError(f'{where}behavior is missing: use "allow" or "deny"')
        _check_fields(decision, DENIES if decision["behavior"] == "deny" else ALLOWS, where)


def _check_fields(answer: Mapping[str, object], fields: FieldTypes, where: str) -> None:
    for name, holds in fields.items():
        if name in answer and not _holds(answer[name], holds):
            expected = " or ".join(map(dumps, holds)) if isinstance(holds, tuple) else holds
            raise UnreadableOutputError(f"{where}{name} is {_quoted(answer[name])}, not {expected}")


def _holds(value: object, holds: Holds) -> bool:
    if isinstance(holds, tuple):
        return isinstance(value, str) and value in holds
    return FITS[holds](value)


FITS: Mapping[str, Callable[[object], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    FLAG: lambda value: isinstance(value, bool),
    OBJECT: lambda value: isinstance(value, dict),
    TEXTS: lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    ANYTHING: lambda _value: True,
}


def _quoted(value: object) -> str:
    if isinstance(value, (dict, list)):
        return type_name(value)
    shown = dumps(value)
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "..."
