"""Interpret a hook's output as a Verdict or a Failure; compare and merge changes to arguments."""

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
    as_object,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Fields = dict[str, Any]
    Path = tuple[str, ...]
    Change = tuple[Path, bool, object]

# Beginnings of notes on a refusal that are also for the user.
NOTES_FOR_USER = WRONG_FIELD, BROKEN_SCRIPT = "wrong_field", "broken_script"

# Action -> message of a refusal without a reason.
DEFAULT_REASONS = {"stop": "stopped", "block": "blocked", "skip": "skipped", "ask": "approval required"}

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


def from_process(hook: Hook, outcome: Outcome, *, can_modify: bool) -> tuple[Verdict | Failure, list[str]]:
    """Return a run's verdict or failure, by its exit status and stdout, and notes on the output."""
    notes: list[str] = []
    bad = None
    try:
        too_long = f"its output is longer than max_output ({hook.max_output} bytes)" if outcome.truncated else ""
        answer = parse(outcome.stdout, notes, can_modify=can_modify, unfit=too_long)
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
    outcome: Outcome, answer: Verdict | dict[str, object], *, can_modify: bool
) -> tuple[Verdict | Failure, list[str]]:
    """Return the same as `from_process` for a Python program's function that returned `answer`."""
    notes: list[str] = []
    try:
        data = answer if isinstance(answer, dict) else Verdict.to_dict(answer)
        verdict = from_object(data, notes, can_modify=can_modify)
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
        verdict = from_object(rest, notes, can_modify=can_modify)
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


def parse(stdout: bytes, notes: list[str], *, can_modify: bool, unfit: str = "") -> Verdict | None:
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
    return from_object(data, notes, can_modify=can_modify)


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


def from_object(data: dict[str, object], notes: list[str], *, can_modify: bool) -> Verdict:
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
    _check_change(fields, notes, can_modify=can_modify)
    if not KNOWN_KEYS.issuperset(data):
        notes.append(f"unknown keys in its answer: {', '.join(sorted(data.keys() - KNOWN_KEYS))}")
    return Verdict(**fields)


def _unfit(fields: Fields, name: str, value: object, notes: list[str]) -> str | None:
    """Return the text for an invalid field of a refusal. Raises BadVerdictError for other verdicts."""
    found = "an object with a key that is not a string" if isinstance(value, dict) else type_name(value)
    msg = f"{name} is {found}, not {'a string' if name in VERDICT_TEXTS else 'an object'}"
    if fields["action"] not in BINDING_ACTIONS:
        raise BadVerdictError(msg)
    notes.append(f"{WRONG_FIELD}: {msg}")
    if name in VERDICT_TEXTS:
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


def _check_change(fields: Fields, notes: list[str], *, can_modify: bool) -> None:
    action, args, patch = fields["action"], fields.get("modified_args"), fields.get("args_patch")
    given = args is not None or patch is not None
    if action not in CAN_CARRY_ARGS:
        if args or patch:
            notes.append(f"the arguments beside its action {action} are ignored: use `modify` to change them")
        fields.update(modified_args=None, args_patch=None)
        return
    if action == "modify" and not given:
        msg = "modify needs modified_args or args_patch"
    elif args is not None and patch is not None:
        msg = "modified_args and args_patch exclude each other"
    elif given and not can_modify:
        msg = "it changes arguments at an event without arguments"
    else:
        return
    if action != "ask":
        raise BadVerdictError(msg)
    notes.append(f"{WRONG_FIELD}: {msg}")
    _block_instead(fields, notes)


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
    arguments = "" if wanted is None else f" (arguments: {_shown(wanted)[:400]})"
    return Verdict(
        message=text,
        additional_context=verdict.additional_context,
        system_message="\n".join(filter(None, (text + arguments, verdict.system_message))),
        modified_context=verdict.modified_context,
    )


def _shown(args: dict[str, object]) -> str:
    try:
        return dumps(args)
    except (TypeError, ValueError, RecursionError):  # a program's own objects
        return repr(args)


def merge_patch(target: object, patch: object) -> object:
    """Return `target` with a JSON Merge Patch (RFC 7396) applied; neither is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def diff(before: dict[str, object], after: dict[str, object], path: Path = ()) -> Iterator[Change]:
    """Yield the changes from `before` to `after`: (path, whether set, value) for each key; lists are values."""
    for key in before:
        if key not in after:
            yield (*path, key), False, None
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            yield from diff(old, value, (*path, key))
        elif key not in before or not json_equal(old, value):
            yield (*path, key), True, value


def json_equal(one: object, other: object) -> bool:
    """Return whether two JSON values are equal: unlike with `==`, true is not 1 and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return one == other


def apply(target: dict[str, object], changes: Iterable[Change]) -> dict[str, object]:
    """Return a copy of `target` with the changes of `diff`."""
    result = dict(target)
    for path, there, value in changes:
        place = result
        for key in path[:-1]:
            inner = place.get(key)
            place[key] = inner = dict(inner) if isinstance(inner, dict) else {}
            place = inner
        if there:
            place[path[-1]] = value
        else:
            place.pop(path[-1], None)
    return result


def conflicts(earlier: Iterable[Change], later: Iterable[Change]) -> list[Path]:
    """Return the paths that both sets of changes set to different values, or paths within them."""
    later = list(later)
    return [
        path
        for path, there, value in earlier
        for other, other_there, other_value in later
        if path[: len(other)] == other[: len(path)]
        and not (path == other and there == other_there and json_equal(value, other_value))
    ]


def merge(
    run: HookResult,
    before: dict[str, object],
    now: dict[str, object],
    earlier: Iterable[tuple[HookResult, list[Change]]],
) -> tuple[list[Change], dict[str, object], list[tuple[HookResult, str]]]:
    """Return a run's changes to the arguments, the resulting fields of the context, and conflicts.

    `before` is the hook's input, `now` the context to change. `earlier` are the runs beside it with changes: a conflict
    is one of them and what both changed. The run's `args` become the arguments it wants.
    """
    args = as_object(before.get("tool_args"))
    wanted: object = run.verdict.modified_args
    if run.verdict.args_patch is not None:
        wanted = merge_patch(args, run.verdict.args_patch)
    run.args = wanted if isinstance(wanted, dict) else args
    changes = list(diff(args, wanted)) if isinstance(wanted, dict) else []
    added = run.verdict.modified_context or {}
    clashes = []
    for other, its_changes in earlier:
        theirs = other.verdict.modified_context or {}
        places = _conflicting_paths(its_changes, changes, run)
        places += [f"metadata.{key}" for key in added if key in theirs and not json_equal(theirs[key], added[key])]
        clashes += [(other, place) for place in places]
    fields: dict[str, object] = {}
    if changes:
        current = as_object(now.get("tool_args"))
        fields["tool_args"] = run.args if _replaces(run.hook) else apply(current, changes)
    if added:
        fields["metadata"] = {**as_object(now.get("metadata")), **added}
    return changes, fields, clashes


def _replaces(hook: AnyHook) -> bool:
    """Return whether a hook's change replaces all arguments, as in the dialects of agents."""
    return getattr(hook, "dialect", "hookrun") != "hookrun"


def _conflicting_paths(earlier: list[Change], later: list[Change], run: HookResult) -> list[str]:
    """Return the paths at which the later changes, of `run`, undo earlier ones."""
    if not _replaces(run.hook):
        return ["tool_args." + ".".join(path) for path in conflicts(earlier, later)]
    kept = not later or json_equal(apply(run.args, earlier), run.args)
    return [] if kept else ["tool_args"]
