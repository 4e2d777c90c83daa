"""`hookrun test --from-log`: a fire that was recorded becomes a case, with what came of it as what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun import audit, records
from hookrun.edit import editor_for
from hookrun.edit.span_editor import EditError
from hookrun.testing.cases import load
from hookrun.testing.names import is_case_file
from hookrun.wiring.files import WiringError, existing, missing_directories, write

if TYPE_CHECKING:
    from hookrun.records import Record

LAST = "last"
"""What names the newest fire that has its context."""

LEFT_OUT = frozenset(
    {"version", "event", "request_id", "timestamp", "hook", "payload", "working_dir", "tool_name", "tool_args"}
)
"""Fields of a context that a case says in another way, or that are of one fire or one machine only."""


class NoCaseError(LookupError):
    """There is no such fire, or nothing to make a case of; the message says what to do."""


def case_of(home: str, request_id: str) -> dict[str, object]:
    """Return the case of a recorded fire, of which the beginning of the id is enough. Raises NoCaseError."""
    recorded = list(records.backwards(home))[::-1]
    fires = [record for record in recorded if record.get("kind") == records.FIRE]
    if request_id == LAST:
        fires = [record for record in fires if "context" in record][-1:]
    else:
        fires = [record for record in fires if str(record.get("request_id", "")).startswith(request_id)]
    if not fires:
        raise NoCaseError(
            f"{audit.path(home)}: found no fire {request_id}, expected the id of one that is recorded; {HOW}"
        )
    if len({record.get("request_id") for record in fires}) > 1:
        raise NoCaseError(f"found {len(fires)} fires whose ids begin with {request_id}, expected one; give more of it")
    fire = fires[-1]
    context = fire.get("context")
    if not isinstance(context, dict):
        raise NoCaseError(f"the fire {fire['request_id']} was recorded without its context; {HOW}")
    hooks = [
        each for each in recorded if each.get("request_id") == fire["request_id"] and each.get("kind") == records.HOOK
    ]
    return _case(fire, context, hooks)


HOW = 'contexts are kept with "hookrun": {"record_context": true} in your own ~/.config/hookrun/hooks.json'


def _case(fire: Record, context: Record, hooks: list[Record]) -> dict[str, object]:
    tool, args, event = context.get("tool_name"), context.get("tool_args"), str(fire.get("event"))
    case: dict[str, object] = {"name": f"{tool or event} as in {fire['request_id']}", "event": event}
    if tool is not None:
        case["tool"] = tool
    if args is not None:
        case["args"] = args
    others = {name: value for name, value in context.items() if name not in LEFT_OUT and value not in (None, {})}
    if isinstance(args, dict) and "file_path" in args:
        others.pop("file_path", None)  # made of the arguments
    if others:
        case["context"] = others
    expect: dict[str, object] = {"action": fire.get("action") or "continue"}
    failures = list(dict.fromkeys(each["failure"] for each in hooks if "failure" in each))
    if failures:
        expect["failure"] = failures[0]
    expect["fired"] = list(dict.fromkeys(str(each.get("hook")) for each in hooks))
    return {**case, "expect": expect}


def as_text(case: dict[str, object], path: str = "a.yaml") -> str:
    """Return a file of cases with this one in it: YAML, or what a file is written in that is called `path`."""
    return editor_for(path, "").add((), [case], "cases").text


def put_into(path: str, case: dict[str, object]) -> None:
    """Put a case at the end of a file of cases, which is made if it is not there. Raises NoCaseError."""
    if not is_case_file(path):
        raise NoCaseError(f"{path}: expected a name that ends in .hooktest.yaml, .hooktest.yml or .hooktest.json")
    try:
        before = existing(path)
        if before.data is None:
            if missing_directories(before.path):
                raise NoCaseError(f"{path}: found no directory for it, expected one; make it first")
            write(before.path, as_text(case, path).encode())
            return
        file = load(path)
        if file.problems:
            raise NoCaseError("\n".join(map(str, file.problems)))
        taken = {each.name for each in file.cases}
        if case["name"] in taken:
            raise NoCaseError(f"{path}: the case {case['name']} is there already")
        write(before.path, before.encoded(editor_for(path, before.text()).add(("cases",), case).text))
    except (EditError, WiringError) as error:
        raise NoCaseError(f"{path}: {error}") from error
