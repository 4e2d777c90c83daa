"""Plan a new hook from a template: its declaration, script and tests. Writes nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from hookrun.core.events import ALIASES, WITH_TOOL, resolve_event
from hookrun.core.files import relative_path
from hookrun.core.text import quote
from hookrun.edit.file_change import FileChange, existing
from hookrun.scaffold.declaration_file import DeclarationFile, ScaffoldError, check_within

TEMPLATES_DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "templates")
SECTION = "==== "
# The project's directory for its hooks' scripts and tests.
HOOKS_DIRECTORY = "hooks"

EVENT = "pre_tool_use"
TIMEOUT = 10
HOOK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
CASES_SUFFIX = ".hooktest.yaml"
# The tool in tests if the matcher names none.
ANY_TOOL = "some_tool"
# A character set of a glob, such as `[abc]`.
SET = re.compile(r"\[(!?)(.)[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Language:
    """A language for hooks: its suffix, the program its hooks need, the command that builds a hook."""

    suffix: str
    program: str
    build: str = ""


LANGUAGES = {
    "sh": Language(".sh", "jq"),
    "python": Language(".py", "python3"),
    "node": Language(".mjs", "node"),
    "ruby": Language(".rb", "ruby"),
    "go": Language(".go", "go", "go build -o {directory}/{name} {directory}/{name}.go"),
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a template does: default name, description and matcher, a failure's effect, its usual event.

    `args` are arguments that the hook allows, for tests of its conditions.
    """

    name: str
    description: str
    matcher: str | None = None
    on_failure: str = "continue"
    args: dict[str, str] = field(default_factory=dict)
    event: str = EVENT


# Section of the templates -> its purpose. Commands have none: use a recipe to read shell.
PURPOSES = {
    "command": Purpose("check-command", "Check shell commands.", "bash", "block", {"command": "ls -l"}),
    "file": Purpose("protect-env", "Block file tools on .env files.",
                    "write|edit|delete", "block", {"file_path": "src/main.c"}),
    "edited": Purpose("no-conflict-markers", "Block edits that leave conflict markers in a file.",
                      "write|edit", args={"file_path": "notes.txt"}, event="post_tool_use"),
    "prompt": Purpose("house-rules", "Add a rule of this project to every prompt.", event="user_prompt_submit"),
    "stop": Purpose("finish-the-job", "Send the model back to work when its answer contains TODO.", event="stop"),
    "session": Purpose("read-the-rules", "Point the model to CONTRIBUTING.md when a session starts.",
                       event="session_start"),
    "notice": Purpose("tell-me", "Notify you of the event.", event="notification"),
}  # fmt: skip

# The section of a script that only reads the call: what acts is a comment, and its first test fails until it is not.
STUB = "stub"
# Purpose -> what its stub looks for: a field of the context, a word in it, a value with the word and one without.
LOOKS_FOR = {
    "command": ("tool_args.command", "sudo", "sudo ls", "ls -l"),
    "file": ("tool_args.file_path", ".env", ".env", "src/main.c"),
    "edited": ("tool_args.file_path", ".env", ".env", "notes.txt"),
    "prompt": ("user_prompt", "deploy", "deploy it", "add a search box"),
    "stop": ("assistant_response", "TODO", "TODO: the error cases.", "It works."),
}

GUARDING = frozenset({"pre_tool_use", "permission_request", "tool_call_requested"})
EDITED = frozenset({"post_tool_use", "file_changed"})
FILE_TOOLS = frozenset({"write", "edit", "delete", "read"})
OTHERS = {"user_prompt_submit": "prompt", "stop": "stop", "subagent_stop": "stop", "session_start": "session"}


@dataclass(frozen=True, slots=True)
class HookTemplateRequest:
    """The hook to make. `matcher` defaults to that of the event's template.

    The default event is that of the template with this name, else pre_tool_use. With `serve`, its program answers lines
    of JSON.
    """

    language: str
    name: str
    event: str | None = None
    matcher: str | None = None
    serve: bool = False


@dataclass(frozen=True, slots=True)
class HookPlan:
    """A new hook: its `name`, and the `files` to write beside the edited config file.

    It needs the `program`; `build` is the command that builds the hook, if any; `stub` is the path of an unfinished
    script, whose hook only advises; `blocks` is whether a failure blocks the call.
    """

    name: str
    files: list[FileChange]
    program: str
    build: str
    stub: str
    blocks: bool


def plan_hook(request: HookTemplateRequest, config_file: DeclarationFile) -> HookPlan:
    """Return the plan for a hook in `config_file`, which is edited but not written.

    Raises ScaffoldError if it could never run or its script exists, UnknownEventError, and FileError for an unreadable
    file.
    """
    root = config_file.root
    event = resolve_event(request.event or _usual_event(request), config_file.events)
    if request.matcher and event in ALIASES and event not in WITH_TOOL:
        hint = f"leave it out, or choose one of {', '.join(sorted(WITH_TOOL))}"
        raise ScaffoldError(f"matcher {quote(request.matcher)} never matches: {event} has no tool\nhint: {hint}")
    purpose = purpose_of(event, request.matcher)
    # A template does what its name says; a hook with another name is a stub.
    template = rf"{re.escape(PURPOSES[purpose].name)}(-\d+)?"
    is_stub = re.fullmatch(template, request.name) is None
    if is_stub and purpose == "file" and request.matcher is None:
        purpose = "command"  # most guards check commands
    is_stub = is_stub or purpose == "command"
    entry = _entry(request, event, purpose, config_file)
    name = str(entry["name"])
    description = str(entry["description"])
    if is_stub:
        del entry["description"]
        entry["mode"], description = "advise", f"{name}: say here what it checks."
    language = LANGUAGES[request.language]
    script = os.path.join(root, HOOKS_DIRECTORY, name + language.suffix)
    tests = os.path.join(root, HOOKS_DIRECTORY, name + CASES_SUFFIX)
    built = [os.path.join(root, HOOKS_DIRECTORY, name)] if language.build else []
    for path in (script, tests, *built):
        check_within(os.path.dirname(path), root)
        if os.path.lexists(path):
            raise ScaffoldError(f"{path} exists\nhint: choose another name")
    for warning in config_file.add(entry):
        raise ScaffoldError(f"{warning}\nnote: nothing was written")
    values = {"name": name, "description": description, "event": event}
    section = purpose
    if is_stub:
        values |= _looked_for(purpose, event)
        section = STUB if values["word"] else f"{STUB} notice"
    config = os.path.relpath(config_file.path, os.path.dirname(tests))
    source = render_script(request.language, section, values, serve=request.serve)
    files = [
        FileChange(script, existing(script), source.encode(), mode=0o755),
        FileChange(tests, existing(tests), render_cases(purpose, section, entry, config, values).encode()),
    ]
    build = language.build.format(directory=HOOKS_DIRECTORY, name=name)
    blocks = entry.get("on_failure") == "block" and not is_stub
    return HookPlan(name, files, language.program, build, script if is_stub else "", blocks)


def _looked_for(purpose: str, event: str) -> dict[str, str]:
    """Return what a stub's templates need: the field that it reads, and the word that it could block."""
    field = "tool_name" if event in WITH_TOOL else "event"
    path, word, found, other = LOOKS_FOR.get(purpose, (field, "", "", ""))
    steps = path.split(".")
    member = f'ToolArgs["{steps[1]}"]' if steps[1:] else "".join(map(str.capitalize, path.split("_")))
    keys = "".join(f'["{step}"]' for step in steps)
    return {"path": path, "field": steps[-1], "keys": keys, "member": member, "word": word, "yes": found, "no": other}


def _usual_event(request: HookTemplateRequest) -> str:
    """Return the event of a template requested by name alone, else that of most hooks."""
    examples = {each.name: each.event for each in PURPOSES.values() if request.matcher is None}
    return examples.get(request.name, EVENT)


def _entry(request: HookTemplateRequest, event: str, purpose: str, config_file: DeclarationFile) -> dict[str, object]:
    template, language, name = PURPOSES[purpose], LANGUAGES[request.language], request.name
    if not HOOK_NAME.fullmatch(name):
        raise ScaffoldError(f"invalid name {quote(name)}\nhint: use letters, digits, -, _ and .")
    if config_file.named(name):
        raise ScaffoldError(
            f"{relative_path(config_file.path)} already has a hook {quote(name)}\nhint: choose another name"
        )
    matcher = request.matcher or (template.matcher if event in WITH_TOOL and event != "file_changed" else None)
    command = f"./{HOOKS_DIRECTORY}/{name}{'' if language.build else language.suffix}"
    entry: dict[str, object] = {"name": name, "description": template.description, "event": event}
    if matcher is not None:
        entry["matcher"] = matcher
    entry |= {"command": command, "timeout": TIMEOUT}
    if request.serve:
        entry["serve"] = True
    if template.on_failure != "continue":
        entry["on_failure"] = template.on_failure
    return entry


def purpose_of(event: str, matcher: str | None) -> str:
    """Return the key in PURPOSES for a canonical event and a matcher."""
    tools = set(matcher.split("|")) if matcher is not None else set()
    if event in GUARDING:  # a guard fails on unknown calls, so it matches only these tools
        if tools == {"bash"}:
            return "command"
        return "file" if tools <= FILE_TOOLS else "notice"
    if event in EDITED:
        return "edited" if tools <= FILE_TOOLS else "notice"
    return OTHERS.get(event, "notice")


def render_script(language: str, purpose: str, values: dict[str, str], *, serve: bool = False) -> str:
    """Return a hook's script. `values` are its name, description and event."""
    sections = _sections(language)
    text = _fill(sections["serve frame" if serve else "frame"], "imports", sections.get(f"{purpose} imports", ""))
    return _with_values(_fill(text, "judge", sections[purpose]), values)


def _fill(text: str, place: str, lines: str) -> str:
    """Replace the line `{{place}}` with these lines; without any, remove it and an empty line before."""
    mark = f"{{{{{place}}}}}\n"
    return text.replace(mark, lines) if lines else text.replace(f"\n\n{mark}", "\n").replace(mark, "")


def _with_values(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


@cache
def _sections(name: str) -> dict[str, str]:
    with open(os.path.join(TEMPLATES_DIRECTORY, f"{name}.txt"), encoding="utf-8") as file:
        text = file.read()
    parts = [part.partition("\n") for part in f"\n{text}".split(f"\n{SECTION}")[1:]]
    return {title: body if body.endswith("\n") else f"{body}\n" for title, _, body in parts}


def render_cases(
    purpose: str, section: str, entry: Mapping[str, object], config: str, values: Mapping[str, str]
) -> str:
    """Return a new hook's test file from a section of the templates; `config` is the path to the config file."""
    event, name = str(entry["event"]), str(entry["name"])
    tools = _tools(purpose, entry) if event in WITH_TOOL else []
    defaults = {"event": event, **({"tool": tools[0]} if tools else {}), "hook": name}
    calls = ("yes", "no") if section == STUB else ()
    fields = {each: _fields(_call(values["path"], values[each])) for each in calls}
    body = _with_values(_sections("cases")[section], {**values, **fields})
    body += "".join(_of_tool(purpose, tool) for tool in tools[1:] if section == purpose)
    head = f"config: {config}\ndefaults: {_flow(defaults)}\ncases:\n"
    return f"# Tests of {name}; run them with `hookrun test`.\n{head}{body}"


def _tools(purpose: str, entry: Mapping[str, object]) -> list[str]:
    matcher = entry.get("matcher", PURPOSES[purpose].matcher)
    return [example(each) or ANY_TOOL for each in str(matcher).split("|")] if matcher is not None else []


def _of_tool(purpose: str, tool: str) -> str:
    args = _fields({"tool_args": dict(PURPOSES[purpose].args)})
    return f"  - name: also runs for {tool}\n    tool: {tool}\n{args}    expect: {{failure: null, fired: true}}\n"


def _call(path: str, value: str) -> dict[str, object]:
    """Return a context with this value at a path of one or two fields."""
    field, _, inner = path.partition(".")
    return {field: {inner: value} if inner else value}


def _fields(context: Mapping[str, object]) -> str:
    args = context.get("tool_args")
    others = {key: value for key, value in context.items() if key != "tool_args"}
    lines = f"    args: {_flow(args)}\n" if args else ""
    return lines + (f"    context: {_flow(others)}\n" if others else "")


def _flow(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def example(pattern: str) -> str:
    """Return a string that a glob matches: empty for `*`, one character for `?` and for a set."""
    plain = SET.sub(lambda found: "x" if found.group(1) else found.group(2), pattern)
    return plain.replace("*", "").replace("?", "x")
