"""What a new hook begins as: a script in one of five languages that fits its event, and the cases that it passes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache

DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "templates")
SECTION = "==== "


@dataclass(frozen=True, slots=True)
class Language:
    """How a hook in it is called and run: the end of its file's name, the program it needs, how it is built."""

    suffix: str
    program: str
    build: str = ""


LANGUAGES = {
    "sh": Language(".sh", "sh"),
    "python": Language(".py", "python3"),
    "node": Language(".mjs", "node"),
    "ruby": Language(".rb", "ruby"),
    "go": Language(".go", "go", "go build -o {directory}/{name} {directory}/{name}.go"),
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a template is good for: how the hook is called where nobody names it, its matcher, what its failure means.

    `args` are arguments that it lets pass, for a case of its conditions.
    """

    name: str
    description: str
    matcher: str | None = None
    on_failure: str = "continue"
    args: dict[str, str] = field(default_factory=dict)


PURPOSES = {
    "command": Purpose("block-rm-rf", "Refuses rm -rf.", "bash", "block", {"command": "ls -l"}),
    "file": Purpose("protect-env", "Keeps files with secrets from the agent.", "write|edit|delete", "block",
                    {"file_path": "src/main.c"}),
    "edited": Purpose("no-conflict-markers", "Tells the model of conflict markers that it left in a file.",
                      "write|edit", args={"file_path": "notes.txt"}),
    "prompt": Purpose("house-rules", "Gives the model a rule of the house with every prompt."),
    "stop": Purpose("finish-the-job", "Sends the model back to work when its answer says that something is to do."),
    "session": Purpose("read-the-rules", "Tells the model where the project's rules are."),
    "notice": Purpose("tell-me", "Tells the person what happens."),
}  # fmt: skip
"""Section of the templates -> what it is good for."""

GUARDING = frozenset({"pre_tool_use", "permission_request", "tool_call_requested"})
EDITED = frozenset({"post_tool_use", "file_changed"})
FILE_TOOLS = frozenset({"write", "edit", "delete", "read"})
OTHERS = {"user_prompt_submit": "prompt", "stop": "stop", "subagent_stop": "stop", "session_start": "session"}


def purpose_of(event: str, matcher: str | None) -> str:
    """Return which of PURPOSES fits an event (by its canonical name) of the tools that a matcher names."""
    tools = set(matcher.split("|")) if matcher is not None else set()
    if event in GUARDING:  # a guard fails on a call that it does not know: it is for these tools and no other
        if tools <= {"bash"}:
            return "command"
        return "file" if tools <= FILE_TOOLS else "notice"
    if event in EDITED:
        return "edited" if tools <= FILE_TOOLS else "notice"
    return OTHERS.get(event, "notice")


def script(language: str, purpose: str, values: dict[str, str]) -> str:
    """Return the text of a hook's script. `values` are its name, description and event."""
    sections = _sections(language)
    text = _filled(sections["frame"], "imports", sections.get(f"{purpose} imports", ""))
    return _with(_filled(text, "judge", sections[purpose]), values)


def cases(purpose: str, values: dict[str, str]) -> str:
    """Return the cases that the script of the same purpose passes, as the lines of a list in YAML."""
    return _with(_sections("cases")[purpose], values)


def _filled(text: str, place: str, lines: str) -> str:
    """Return the text with lines in the place of its line `{{place}}`; without any, an empty line goes with it."""
    mark = f"{{{{{place}}}}}\n"
    return text.replace(mark, lines) if lines else text.replace(f"{mark}\n", "")


def _with(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


@cache
def _sections(name: str) -> dict[str, str]:
    with open(os.path.join(DIRECTORY, f"{name}.txt"), encoding="utf-8") as file:
        text = file.read()
    parts = [part.partition("\n") for part in f"\n{text}".split(f"\n{SECTION}")[1:]]
    return {title: body if body.endswith("\n") else f"{body}\n" for title, _, body in parts}
