"""Hooks that a program declares as data: the same entries as in a file, with the same checks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hookrun.config import parse
from hookrun.config.document import Document
from hookrun.config.validate import Scope, explicit_names, validate_hook
from hookrun.library.handlers import RegistrationError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from hookrun.model import Hook

NAME = "hooks"
"""How messages call the list."""


def hooks_from_data(entries: Iterable[Mapping[str, object]], own_events: Collection[str]) -> list[Hook]:
    """Return the hooks of these entries. Raises RegistrationError with a line for each thing that is wrong.

    They are the program's own word, so they are of its layer, the user's; relative paths are taken from its directory.
    """
    try:
        text = json.dumps(list(entries), indent=1)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{NAME}: {error}: expected a list of what could stand in a file") from error
    document = Document(NAME, text, parse.parse_json(text))
    listed = document.data if isinstance(document.data, list) else []
    scope = Scope("project", frozenset(own_events), reserved=explicit_names(listed))
    problems: list[str] = []
    hooks: list[Hook] = []
    for index, entry in enumerate(listed):
        checked = validate_hook(document, (index,), entry, scope)
        problems += [str(problem) for problem in checked.problems if problem.severity == "error"]
        if checked.hook is not None:
            checked.hook.layer = "user"
            checked.hook.source = ""
            hooks.append(checked.hook)
    if problems:
        raise RegistrationError("\n".join(problems))
    return sorted(hooks, key=lambda hook: hook.priority)
