"""The rules that look at more than one field of a hook, and the doubts that `validate` warns of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookrun.config import command_words
from hookrun.config.fields import AGENTS, BELONGS, CONTEXT_FIELDS, HOOK_FIELDS, KINDS, SYNONYMS, TRUSTED_LAYERS, names
from hookrun.config.problem import nearest, shown
from hookrun.events import WITH_TOOL

if TYPE_CHECKING:
    from hookrun.config.scope import Scope
    from hookrun.config.values import Place

FIELDS = names(HOOK_FIELDS)
MILLISECONDS = 1000
"""A timeout of this many seconds or more was probably meant in milliseconds."""

OF_THE_BODY = frozenset({"content-length", "transfer-encoding"})
"""Headers that say where a request's body ends, in lower case: whatever is declared, they are set by what sends it."""

HEADER_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def one_kind(entry: dict[str, object], at: Place) -> None:
    """Report an entry that does not say, or says twice, what is run."""
    written = [kind for kind in KINDS if kind in entry]
    if not written and any(meant(key) in KINDS for key in entry if key not in FIELDS):
        return
    if len(written) != 1:
        found = " and ".join(written) or "nothing to run"
        advice = "keep one of them" if written else 'add "command": "./hooks/my_hook.sh" or another of them'
        at.report(found, f"exactly one of {', '.join(KINDS)}", advice)


def together(values: dict[str, object], entry: dict[str, object], at: Place, scope: Scope) -> None:
    """Report what fits by itself but not together."""
    for name, kind in BELONGS.items():
        if name in entry and kind not in entry:
            at.at(name).report(f"{name} without {kind}", f"{name} only beside {kind}", "remove it")
    if values.get("background") is True and values.get("on_failure") == "block":
        where = at.at("on_failure" if "on_failure" in entry else "background")
        expected = "a background hook to have no say"
        where.report('background with on_failure "block"', expected, "remove one of the two")
    _headers(values, at)
    _host(values, at)
    if scope.layer in TRUSTED_LAYERS:
        nothing_relative(values, at)


def _headers(values: dict[str, object], at: Place) -> None:
    headers = values.get("headers")
    allowed = texts(values, "allowed_env")
    for name, text in headers.items() if isinstance(headers, dict) else ():
        if name.lower() in OF_THE_BODY:
            expected = "no header that says where the body ends (hookrun sets it)"
            at.at("headers", name).report(f"the header {shown(name)}", expected, "remove it")
        for match in HEADER_VARIABLE.finditer(str(text)):
            variable = match.group(1) or match.group(2)
            if variable not in allowed:
                found = f"the variable {variable}"
                advice = f'add "allowed_env": ["{variable}"]'
                at.at("headers", name).report(found, "only variables named in allowed_env", advice)


def _host(values: dict[str, object], at: Place) -> None:
    url = values.get("url")
    if not isinstance(url, str):
        return
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        at.at("url").mistaken(url, "an http or https URL with a host", "write http://host/path")


def nothing_relative(values: dict[str, object], at: Place) -> None:
    """Report what a project could slip its own file under: a managed or user hook runs in the project's directory."""
    expected = "an absolute path in managed and user declarations (a relative one would run a project's file)"
    advice = "write the whole path"
    for kind in ("command", "args"):
        for word in command_words.relative_words(kind, target_of(values, kind)):
            at.at(kind).report(f"the relative path {shown(word)}", expected, advice)
    interpreter = values.get("interpreter")
    if isinstance(interpreter, str) and "/" in interpreter and not interpreter.startswith(("/", "~/")):
        at.at("interpreter").report(f"the relative path {shown(interpreter)}", expected, advice)
    _fixed_directory(values, at)


def _fixed_directory(values: dict[str, object], at: Place) -> None:
    cwd = values.get("cwd", "project")
    if not isinstance(cwd, str) or cwd.startswith(("/", "~/")):
        return
    if "python" in values:
        expected = (
            "an absolute cwd beside python in managed and user declarations (a project's module would be imported)"
        )
        at.at("python").report(
            f"python with the working directory {shown(cwd)}", expected, "add the module's directory as cwd"
        )
    elif cwd not in {"project", "event"}:
        expected = '"project", "event" or an absolute path in managed and user declarations'
        at.at("cwd").report(f"the relative path {shown(cwd)}", expected, "write the whole path")


def doubtful(values: dict[str, object], events: list[str], entry: dict[str, object], at: Place, scope: Scope) -> None:
    """Warn about what can be right but seldom is."""
    timeout = values.get("timeout")
    if "timeout" in entry and isinstance(timeout, float) and timeout >= MILLISECONDS:
        found = f"{timeout:g} seconds"
        at.at("timeout").warn(found, "seconds (these are probably milliseconds)", f"write {timeout / 1000:g}")
    _doubtful_matcher(values, events, at, scope)
    for agent in texts(values, "agents") if "agents" in entry else ():
        if agent not in AGENTS:
            found = f"the unknown agent {shown(agent)}"
            at.at("agents").warn(found, "an agent that hookrun knows", "correct it", nearest=nearest(agent, AGENTS))
    for name in ("when", "unless"):
        conditions = values.get(name)
        for path in conditions if isinstance(conditions, dict) else ():
            first = str(path).partition(".")[0]
            near = None if first in CONTEXT_FIELDS else nearest(first, CONTEXT_FIELDS)
            if near is not None:
                found = f"the unknown context field {shown(first)}"
                at.at(name, path).warn(found, "a path into the context", "correct it if it is mistyped", nearest=near)
    if "," in str(values.get("name", "")):
        at.at("name").warn('a "," in the name', "a name that HOOKRUN_SKIP can list", "use another character")


def _doubtful_matcher(values: dict[str, object], events: list[str], at: Place, scope: Scope) -> None:
    alternatives = texts(values, "matcher")
    if alternatives and not any(event in WITH_TOOL or event in scope.events for event in events):
        found = f"a matcher on {', '.join(events)}"
        at.at("matcher").warn(found, "a matcher only on events with a tool (here it never matches)", "remove it")
    for each in alternatives:
        if each != each.strip():
            found = f"spaces around {shown(each)}"
            at.at("matcher").warn(found, "the tool's name as it is (spaces never match)", "remove the spaces")


def meant(key: str) -> str | None:
    """Return the field that somebody who wrote this unknown key may have meant."""
    return SYNONYMS.get(key) or nearest(key, FIELDS)


def target_of(values: dict[str, object], kind: str) -> str | list[str]:
    """Return the value of one of KINDS; an empty string where it is absent."""
    value = values.get(kind, "")
    return [str(word) for word in value] if isinstance(value, list) else str(value)


def texts(values: dict[str, object], name: str) -> list[str]:
    """Return the list under this name; an empty one where it is absent."""
    value = values.get(name)
    return [str(each) for each in value] if isinstance(value, list) else []
