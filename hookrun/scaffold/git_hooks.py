"""Convert the hooks of git's hook managers: lefthook, pre-commit and husky.

What they run before a commit runs here before the agent ends its turn, on the files that have changed: a failure is the
agent's next instruction. What they run before a push runs before the agent pushes, and a failure blocks that.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from hookrun.config.claude_migrate import Json, Migrated
from hookrun.config.document import Document, SourceError, read
from hookrun.config.recipe_entries import explicit_names
from hookrun.config.shapes import list_at
from hookrun.config.validate import Scope, unique_name
from hookrun.core.files import read_or_none
from hookrun.core.model import as_object
from hookrun.core.text import UserError

# The manager -> the names of its file.
LEFTHOOK = re.compile(r"\.?lefthook(-local)?\.(ya?ml|json)")
PRE_COMMIT = re.compile(r"\.pre-commit-config\.ya?ml")
# git's hook -> where what it runs belongs.
STAGES: dict[str, Json] = {
    "pre-commit": {"event": "stop"},
    "pre-push": {"event": "pre_tool_use", "matcher": "bash", "when": {"tool_args.command": "*git*push*"}},
}
# Seconds for a check of a whole project.
TIMEOUT = 300
# lefthook's templates for lists of files -> git's command that lists them, each ended by a NUL.
CHANGED = "{ git diff -z --name-only --diff-filter=d HEAD -- %s; git ls-files -z -o --exclude-standard -- %s; }"
FILES = {
    "{staged_files}": CHANGED,
    "{files}": CHANGED,
    "{push_files}": "git diff -z --name-only --diff-filter=d '@{push}' -- %s",
    "{all_files}": "git ls-files -z -- %s",
}
TEMPLATE = re.compile(r"\{\w+\}")
# All files that `xargs` gives a shell; alternatives in a glob, which git's pathspecs lack.
QUOTED, BRACES = '"$@"', re.compile(r"\{([^{}]*)\}")
# lefthook's keys of a command that change nothing here, or are applied.
APPLIED = frozenset(
    {"env", "fail_text", "glob", "interactive", "name", "priority", "root", "run", "stage_fixed", "tags"}
)


def manager_of(path: str) -> str:
    """Return the hook manager whose file a path names, "" for none."""
    directory, name = os.path.split(path)
    if os.path.basename(directory) == ".husky":
        return "husky"
    return "lefthook" if LEFTHOOK.fullmatch(name) else "pre-commit" if PRE_COMMIT.fullmatch(name) else ""


def converted(manager: str, path: str, there: list[object]) -> Migrated:
    """Return the hooks of a manager's file in hookrun's form, except existing ones (`there`).

    Raises UserError if the file cannot be read.
    """
    migrated = Migrated()
    scope = Scope("project", reserved=set(explicit_names(there)))
    try:
        found = [*(_of_husky(path, migrated) if manager == "husky" else _of_file(manager, read(path), migrated))]
    except SourceError as error:
        raise UserError(str(error)) from None
    for stage, name, command, more in found:
        blocking = f"{{ {command}; }} >&2 || exit 2"  # its output is the reason
        entry: Json = {"name": name, **STAGES[stage], **more, "command": blocking, "timeout": TIMEOUT}
        if entry not in there:
            migrated.hooks.append({**entry, "name": unique_name(name, scope)})
    if migrated.hooks:
        migrated.notes.append(f"{path}: {manager} runs these at commits and pushes as before: leave the file as it is")
    return migrated


Found = tuple[str, str, str, Json]


def _of_husky(path: str, migrated: Migrated) -> Iterator[Found]:
    stage = os.path.basename(path)
    if stage not in STAGES:
        migrated.notes.append(f"{path}: not converted: agents have no event for {stage}")
        return
    script = (read_or_none(path) or b"").decode("utf-8", "replace")
    if "lint-staged" in script:
        migrated.notes.append(f"{path}: lint-staged looks at staged files only, and nothing may be staged at that time")
    yield stage, f"husky-{stage}", f"sh -e .husky/{stage}", {}


def _of_file(manager: str, document: Document, migrated: Migrated) -> Iterator[Found]:
    if manager == "pre-commit":
        if list_at(document.top, "repos"):
            yield "pre-commit", "pre-commit", f"{CHANGED.replace('%s', '.')} | xargs -0 -r pre-commit run --files", {}
        return
    for stage, settings in document.top.items():
        given = as_object(settings)
        commands = {**as_object(given.get("commands"))}
        jobs = [each for each in list_at(given, "jobs") if isinstance(each, dict)]
        commands |= {str(each.get("name", f"job-{number}")): each for number, each in enumerate(jobs, 1)}
        for name, command in commands.items():
            where = f"{document.path}:{document.position((stage, 'commands', name))[0]}: {name}"
            found = _of_lefthook(as_object(command)) if stage in STAGES else f"agents have no event for {stage}"
            if isinstance(found, str):
                migrated.notes.append(f"{where}: not converted: {found}")
            else:
                yield stage, name, *found
        if given.get("scripts"):
            migrated.notes.append(f"{document.path}: {stage}: scripts are not converted: write each as `command`")


def _of_lefthook(command: Json) -> tuple[str, Json] | str:
    """Return a command's shell line and further fields, or why it cannot be converted."""
    run, globs = command.get("run"), command.get("glob", [])
    if not isinstance(run, str) or not run.strip():
        return "it has no `run`"
    unknown = sorted(command.keys() - APPLIED)
    if unknown:
        return f"hookrun has no equivalent of {', '.join(f'`{each}`' for each in unknown)}"
    templates = set(TEMPLATE.findall(run))
    if len(templates) > 1 or not templates <= FILES.keys():
        return f"hookrun has no equivalent of {' with '.join(sorted(templates))}"
    line = run.strip()
    for template in templates:
        paths = [
            f":(glob)**/{path}" for each in (globs if isinstance(globs, list) else [globs]) for path in _paths(each)
        ]
        listed = FILES[template].replace("%s", " ".join(map(shlex.quote, paths)) or ".")
        with_files = shlex.quote(line.replace(template, QUOTED))
        line = f"{listed} | xargs -0 -r sh -c {with_files} sh"
    more: Json = {"env": command["env"]} if isinstance(command.get("env"), dict) else {}
    return line, {**more, "cwd": command["root"]} if isinstance(command.get("root"), str) else more


def _paths(glob: object) -> list[str]:
    """Return globs without braces that match the same files."""
    text = str(glob)
    if (found := BRACES.search(text)) is None:
        return [text]
    return [path for each in found[1].split(",") for path in _paths(text[: found.start()] + each + text[found.end() :])]
