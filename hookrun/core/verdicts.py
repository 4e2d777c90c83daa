"""Interpret a hook's output as a Verdict or a Failure."""

from __future__ import annotations

from hookrun.core.fastjson import WHITESPACE, dumps, loads, type_name
from hookrun.core.model import (
    BINDING_ACTIONS,
    CAN_CARRY_ARGS,
    PRECEDENCE,
    VERDICT_FIELDS,
    VERDICT_TEXTS,
    AnyHook,
    Failure,
    Hook,
    HookResult,
    Outcome,
    Verdict,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]

# Beginnings of notes on a refusal that are also for the user.
NOTES_FOR_USER = WRONG_FIELD, BROKEN_SCRIPT = "wrong_field", "broken_script"

# Action -> message of a refusal without a reason.
DEFAULT_REASONS = {"stop": "stopped", "block": "blocked", "skip": "skipped", "ask": "approval required"}

# Fields that replace a text.
REPLACING = ("modified_output", "modified_prompt")

KNOWN_KEYS = frozenset({"action", *VERDICT_FIELDS})
# Limit on the lines of stderr in a failure.
STDERR_LINES = 5
# Limit on their characters.
MAX_STDERR_TAIL = 2000
# Characters of a reason: of longer output only the beginning and end are used.
MAX_REASON = 10_000
# What precedes the last lines of stderr in a failure.
STDERR = "; stderr: "

# Bytes of an invalid output in a failure.
EXCERPT = 80


class BadVerdictError(ValueError):
    """A hook's output cannot be read as a verdict; the message says why."""


def from_process(hook: Hook, outcome: Outcome, *, change: str) -> tuple[Verdict | Failure, list[str]]:
    """Return a run's verdict or failure, by its exit status and stdout, and notes on the output."""
    notes: list[str] = []
    bad = None
    try:
        too_long = f"its output is longer than max_output ({hook.max_output} bytes)" if outcome.truncated else ""
        answer = parse(outcome.stdout, notes, change=change, unfit=too_long)
    except BadVerdictError as error:
        answer, bad = None, error
    broken = note_broken_script(hook, outcome, notes) if answer is not None or not outcome.stdout.strip() else None
    if outcome.failure is None and outcome.exit_code == 0:
        if bad is not None:
            return Failure("bad_verdict", f"{bad}{stderr_tail(outcome)}"), notes
        return answer or broken or Verdict(), notes
    if outcome.failure is None and outcome.exit_code == 2:  # noqa: PLR2004  # the exit status of a veto
        return _veto(hook, outcome, answer), notes
    if answer is not None and answer.action in BINDING_ACTIONS:
        notes.append(f"its {answer.action} counts although {_exit_description(outcome)}")
        return answer, notes
    return outcome.failure or exit_failure(outcome), notes


def from_return_value(
    outcome: Outcome, answer: Verdict | dict[str, object], *, change: str
) -> tuple[Verdict | Failure, list[str]]:
    """Return the same as `from_process` for a Python program's function that returned `answer`."""
    notes: list[str] = []
    try:
        data = answer if isinstance(answer, dict) else Verdict.to_dict(answer)
        verdict = from_object(data, notes, change=change)
    except BadVerdictError as error:
        return outcome.failure or Failure("bad_verdict", str(error)), notes
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # JSON may not support a program's objects
        from hookrun.core.refusals import bare
        from hookrun.core.text import describe_exception

        why = f"its return value is not a verdict ({describe_exception(error)})"
        if (rest := bare(answer)) is None:
            return outcome.failure or Failure("bad_verdict", why), notes
        verdict = from_object(rest, notes, change=change)
        notes.append(f"{WRONG_FIELD}: only its action and its texts count: {why}")
    if outcome.failure is None:
        return verdict, notes
    if verdict.action in BINDING_ACTIONS:
        notes.append(f"its {verdict.action} counts although {outcome.failure.detail}")
        return verdict, notes
    return outcome.failure, notes


def _veto(hook: AnyHook, outcome: Outcome, answer: Verdict | None) -> Verdict:
    """Return the verdict of exit status 2: the answer, at least a block."""
    said = _reason(outcome.stderr)
    if answer is None:
        said = said or _reason(outcome.stdout)
        answer = Verdict("block")
    elif PRECEDENCE[answer.action] < PRECEDENCE["block"]:
        answer = answer.replace(action="block", modified_args=None, args_patch=None)
    return answer.replace(message=answer.message or said or f"blocked by {hook.name} (exit 2, no reason given)")


def note_broken_script(hook: AnyHook, outcome: Outcome, notes: list[str]) -> Failure | None:
    """Note a hook's script that its shell or interpreter could not run; return the failure if the hook is a guard."""
    if not outcome.stderr:
        return None
    from hookrun.core.broken_scripts import own_error  # rarely needed

    said = own_error(hook.target, decode(outcome.stderr), outcome.exit_code or 0)
    if said is None:
        return None
    notes.append(f"{BROKEN_SCRIPT}: a part of its script could not run: {said}")
    gave_none = Failure(BROKEN_SCRIPT, f"a part of its script could not run, and it gave no verdict: {said}")
    return gave_none if hook.on_failure == "block" else None


def exit_failure(outcome: Outcome) -> Failure:
    """Return the failure of a process with an exit status other than 0 and 2."""
    code = outcome.exit_code or 0
    name = "signal" if code < 0 else "exit_code"
    return Failure(name, f"{_exit_description(outcome)}{stderr_tail(outcome)}")


def _exit_description(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return outcome.failure.detail
    code = outcome.exit_code or 0
    return f"it was killed by signal {-code}" if code < 0 else f"it exited with status {code}"


def decode(output: bytes) -> str:
    """Return an output as text."""
    return output.decode("utf-8", "replace").strip()


def _reason(output: bytes) -> str:
    """Return output as a refusal's reason, shortened in the middle: the first error is at the beginning."""
    text = decode(output)
    more = len(text) - MAX_REASON
    if more <= 0:
        return text
    half = MAX_REASON // 2
    return f"{text[:half]}\n[{more} characters omitted]\n{text[-half:]}"


def stderr_tail(outcome: Outcome) -> str:
    """Return the last lines of stderr, if any, as the end of a failure's message."""
    lines = decode(outcome.stderr)[-MAX_STDERR_TAIL:].splitlines()[-STDERR_LINES:]
    return STDERR + "\n".join(lines) if lines else ""


def parse(stdout: bytes, notes: list[str], *, change: str, unfit: str = "") -> Verdict | None:
    """Return the verdict on stdout, None if it is empty. Unknown keys go to `notes`.

    Raises BadVerdictError for anything but one valid JSON object, or a refusal; `unfit` is why it can be no other.
    """
    try:
        if unfit:
            raise BadVerdictError(unfit)
        text = stdout.decode("utf-8").removeprefix("\ufeff").strip(WHITESPACE)
        if not text:
            return None
        data = loads(text)
        if any(text.count(f'"{key}"') > 1 for key in KNOWN_KEYS) or "\\u006" in text or "\\u007" in text:
            _refuse_two_answers(text)
        if "e" in text or "E" in text or len(text) > 300:  # noqa: PLR2004  # only then can a number be infinite
            dumps(data)
    except (ValueError, RecursionError) as error:
        utf8 = isinstance(error, UnicodeDecodeError)
        why = "stdout is not UTF-8" if utf8 else f"stdout is not one JSON object: {excerpt(stdout)}"
        msg = str(error) if isinstance(error, BadVerdictError) else f"{why} ({error})"
        data = _refusal_in(stdout, msg, notes)
    if not isinstance(data, dict):
        why = f"stdout is {type_name(data)}, not one JSON object: {excerpt(stdout)}"
        data = _refusal_in(stdout, why, notes)
    return from_object(data, notes, change=change)


def _refusal_in(stdout: bytes, why: str, notes: list[str]) -> dict[str, object]:
    """Return the refusal in an output that is no answer. Raises BadVerdictError if there is none."""
    from hookrun.core.refusals import refusal_of

    if (data := refusal_of(stdout)) is None:
        raise BadVerdictError(why) from None
    notes.append(f"{WRONG_FIELD}: its {data['action']} counts although {why}")
    return data


def _refuse_two_answers(text: str) -> None:
    """Raise BadVerdictError for a duplicate key: then neither a block nor a continue is reliable."""
    import json

    data = json.loads(text, object_pairs_hook=_Pairs)
    keys = [key for key, _ in data] if isinstance(data, _Pairs) else []
    for key in keys:
        if keys.count(key) > 1:
            raise BadVerdictError(f"duplicate key {key} in its answer")


class _Pairs(list[tuple[str, object]]):
    """A JSON object with duplicate keys kept."""


def from_object(data: dict[str, object], notes: list[str], *, change: str) -> Verdict:
    """Return a JSON object as a verdict. Raises BadVerdictError if it is none."""
    action = data.get("action")
    if not isinstance(action, str) or action not in PRECEDENCE:
        from hookrun.core.refusals import translated

        found = f"unknown action {dumps(action)[:80]}" if "action" in data else "no action"
        msg = f"{found} (the actions are {', '.join(PRECEDENCE)})"
        if (refusal := translated(data)) is None:
            raise BadVerdictError(msg)
        data, action = refusal, str(refusal["action"])
        notes.append(f"{WRONG_FIELD}: its {action} counts although it has {msg}")
    fields: Fields = {"action": action}
    for name in VERDICT_FIELDS:
        if (value := data.get(name)) is not None:
            is_object = isinstance(value, dict) and all(isinstance(key, str) for key in value)
            fits = isinstance(value, str) if name in VERDICT_TEXTS else is_object
            fields[name] = value if fits else _unfit(fields, name, value, notes)
    if action in BINDING_ACTIONS and "message" not in fields and isinstance(reason := data.get("reason"), str):
        fields["message"] = reason  # the field of most agents; it is noted below
    _check_change(fields, notes, change=change)
    if not KNOWN_KEYS.issuperset(data):
        notes.append(f"unknown keys in its answer: {', '.join(sorted(data.keys() - KNOWN_KEYS))}")
    return Verdict(**fields)


def _unfit(fields: Fields, name: str, value: object, notes: list[str]) -> str | None:
    """Return the text for an invalid field of a refusal. Raises BadVerdictError for other verdicts."""
    is_text = name in VERDICT_TEXTS
    found = "an object with a key that is not a string" if isinstance(value, dict) and not is_text else type_name(value)
    msg = f"{name} is {found}, not {'a string' if is_text else 'an object'}"
    if fields["action"] not in BINDING_ACTIONS:
        raise BadVerdictError(msg)
    notes.append(f"{WRONG_FIELD}: {msg}")
    if is_text:
        from hookrun.core.refusals import as_text

        return as_text(value)
    if fields["action"] == "ask" and name != "modified_context":
        _block_instead(fields, notes)
    return None


def _block_instead(fields: Fields, notes: list[str]) -> None:
    """Turn an ask into a block: the user cannot approve unknown arguments."""
    fields.update(action="block", modified_args=None, args_patch=None)
    notes.append(f"{WRONG_FIELD}: it asks about invalid arguments: the call is blocked instead")


def keep_refusal(run: HookResult, why: str) -> bool:
    """Keep only the texts of a run's refusal, with a note; return False if it refuses nothing."""
    if run.verdict.action not in BINDING_ACTIONS:
        return False
    fields: Fields = run.verdict.to_dict()
    lost = [f"{WRONG_FIELD}: {why}"]
    if "modified_args" in fields or "args_patch" in fields:
        _block_instead(fields, lost)
    run.verdict = Verdict(**{**fields, "modified_context": None})
    run.lost = lost
    run.notes += lost
    return True


def _check_change(fields: Fields, notes: list[str], *, change: str) -> None:
    _check_replaced(fields, notes, change)
    action, args, patch = fields["action"], fields.get("modified_args"), fields.get("args_patch")
    given = args is not None or patch is not None
    if action not in CAN_CARRY_ARGS:
        if args or patch:
            notes.append(f"the arguments beside its action {action} are ignored: use `modify` to change them")
        fields.update(modified_args=None, args_patch=None)
        return
    if action == "modify" and not given and change not in REPLACING:
        msg = "modify needs modified_args or args_patch"
    elif args is not None and patch is not None:
        msg = "modified_args and args_patch exclude each other"
    elif given and change != "modified_args":
        msg = "it changes arguments at an event without arguments"
    else:
        return
    if action != "ask":
        raise BadVerdictError(msg)
    notes.append(f"{WRONG_FIELD}: {msg}")
    _block_instead(fields, notes)


def _check_replaced(fields: Fields, notes: list[str], change: str) -> None:
    """Check the text that replaces another. Beside any action it counts, so that none is given away by mistake."""
    action = fields["action"]
    for name in REPLACING:
        if fields.get(name) is None or name == change:
            continue
        msg = f"{name} has no effect at this event"
        if action not in BINDING_ACTIONS:
            raise BadVerdictError(msg)
        notes.append(f"{WRONG_FIELD}: {msg}")
        fields[name] = None
    if change not in REPLACING:
        return
    if fields.get(change) is not None and action in ("continue", "allow"):
        notes.append(f"its {change} counts although its action is {action}: use `modify`")
        fields["action"] = "modify"
    elif fields.get(change) is None and action == "modify":
        raise BadVerdictError(f"modify needs {change}")


def excerpt(output: bytes | bytearray) -> str:
    """Return the beginning of invalid output, for a failure."""
    text = dumps(output[:EXCERPT].decode("utf-8", "replace"))
    return text + "..." if len(output) > EXCERPT else text


def apply_policies(hook: AnyHook, answer: Verdict | Failure, *, on_failure: str | None = None) -> Verdict:
    """Return the verdict after the policies: `on_failure` (overrides the hook's) and `mode: advise`."""
    if isinstance(answer, Failure):
        reason = answer.line(f"hook {hook.name}")
        blocks = (on_failure or hook.on_failure) == "block"
        answer = Verdict("block", reason) if blocks else Verdict(system_message=reason)
    elif answer.action in DEFAULT_REASONS and not answer.message:
        answer = answer.replace(message=f"{DEFAULT_REASONS[answer.action]} by {hook.name} (no reason given)")
    return _as_advice(hook, answer) if hook.mode == "advise" else answer


def _as_advice(hook: AnyHook, verdict: Verdict) -> Verdict:
    """Return what an advising hook would do as messages to the user and the model."""
    if verdict.action == "continue":
        return verdict
    text = f"hook {hook.name} (advise) would {verdict.action}" + (f": {verdict.message}" if verdict.message else "")
    wanted = verdict.modified_args if verdict.modified_args is not None else verdict.args_patch
    change = "" if wanted is None else f" (arguments: {_shown(wanted)[:400]})"
    for name in REPLACING:
        if (new := getattr(verdict, name)) is not None:
            change = f" ({name.removeprefix('modified_')}: {dumps(new[:400])})"
    return Verdict(
        message=text,
        additional_context=verdict.additional_context,
        system_message="\n".join(filter(None, (text + change, verdict.system_message))),
        modified_context=verdict.modified_context,
    )


def _shown(args: dict[str, object]) -> str:
    try:
        return dumps(args)
    except (TypeError, ValueError, RecursionError):  # a program's own objects
        return repr(args)
