"""`hookrun trust`: show what a project's hooks run, and approve them; approve what other commands have written."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import click

from hookrun.cli.approval_texts import (
    approved_texts,
    differences,
    limited,
    shipped_recipe,
    whole,
)
from hookrun.cli.common import FAILED, command, config_options, load_project, working_directory
from hookrun.cli.printing import count, is_interactive, print_json, print_line, print_message, warn
from hookrun.config.config_file import load_file
from hookrun.process.prepare import resolve
from hookrun.text import escape, quote
from hookrun.trust import snapshots
from hookrun.trust.approvals import named_changes
from hookrun.trust.digest import DEFAULTS, FROM_OTHERS, PREFIX, SYSTEM
from hookrun.trust.hook_files import within
from hookrun.trust.project import NotAllowedError, Project, ProjectHook, refuse_if_run_by_agent
from hookrun.trust.store import RULE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hookrun.cli.printing import CommandReport
    from hookrun.edit.file_change import FileChange
    from hookrun.model import Hook
    from hookrun.trust.snapshots import Texts

UNDECIDED = ("new", "changed")
DECIDED = ("approved", "denied", "disabled")

HAS_OWN_LINE = FROM_OTHERS | {
    *(
        "name",
        "allowed_env",
        "description",
        "env_policy",
        "events",
        "kind",
        "matcher",
        "metadata",
        "on_failure",
        "target",
    ),
    *("claude", "unless", "when"),
}
"""Fields that `_facts` shows in its own way; each of the others is shown unless it has its default."""


@command(
    "trust",
    "trust",
    "trust --digest",
    "trust --yes sha256:5891b5b5...",
    note="Exit status: 0 every hook of the project is decided about, 1 one is not.",
)
@click.argument("what", nargs=-1, metavar="[PATH]")
@click.option("--yes", is_flag=True, help="Approve exactly the digests that follow, without asking.")
@click.option("--list", "list_all", is_flag=True, help="List every decision, for all projects.")
@click.option("--digest", "digests", is_flag=True, help="Print the digest of each hook here; approve nothing.")
@config_options
@click.pass_context
def trust_command(
    ctx: click.Context,
    what: tuple[str, ...],
    config: str | None,
    home: str | None,
    *,
    yes: bool,
    list_all: bool,
    digests: bool,
    as_json: bool,
) -> None:
    """Approve hooks of the project in PATH (default: here): shows what each runs, and asks. Runs nothing.

    Agents run only the hooks of a project that you have approved. Any change to a hook's declaration, or to a file that
    it names, needs a new approval.
    """
    given = [digest for text in what for digest in text.split(",") if text.startswith(PREFIX)]
    paths = [text for text in what if not text.startswith(PREFIX)]
    if bool(given) != yes or len(paths) > 1:
        raise click.UsageError("give one PATH at most, and digests only after --yes", ctx)
    project = load_project(config, home, os.path.abspath(paths[0] if paths else working_directory()))
    if list_all:
        _list_all(project, as_json=as_json)
        return
    hooks = project.hooks()
    if yes:
        refuse_if_run_by_agent("approve hooks")
        hooks = _approve_exactly(project, hooks, given)
    elif as_json:
        print_json([_to_json(found) for found in hooks])
    elif digests:
        for found in hooks:
            click.echo(f"{found.digest or '-':<71}  {found.state:<18}  {escape(found.hook.name)}")
    else:
        hooks = review(project, hooks)
    for problem in project.declarations.problems:
        print_message(problem)
    undecided = [found for found in hooks if found.state not in DECIDED]
    ctx.exit(FAILED if undecided or project.declarations.problems else 0)


def _list_all(project: Project, *, as_json: bool) -> None:
    store = project.store
    if as_json:
        print_json({name: getattr(store, name) for name in ("approved", "denied", "disabled", "paused")})
        return
    rows = [("approved", each["name"], each["root"], digest) for digest, each in store.approved.items()]
    rows += [("denied", each["name"], each["root"], each["digest"]) for each in store.denied]
    rows += [("disabled", each["name"], each["root"], each["digest"]) for each in store.disabled]
    for state, name, root, digest in sorted(rows, key=lambda row: (row[2], row[1], row[0])):
        print_line(f"{state:<9} {name}  {root}  {digest}")
    if not rows:
        click.echo("nothing is decided yet")


def _to_json(found: ProjectHook) -> dict[str, object]:
    hook = found.hook
    return {
        "name": hook.name,
        "state": found.state,
        "digest": found.digest or None,
        "problem": found.inspection.problem,
        "source": hook.source,
        "line": hook.line,
        "kind": hook.kind,
        "target": hook.target,
        "files": [file.path for file in found.inspection.files],
    }


def _approve_exactly(project: Project, hooks: list[ProjectHook], given: list[str]) -> list[ProjectHook]:
    """Approve the hooks that have these digests, all or none. Raises click.ClickException for an unknown digest."""
    by_digest = {found.digest: found for found in hooks if found.digest}
    for digest in given:
        if digest not in by_digest:
            raise click.ClickException(
                f"no hook has the digest {quote(digest)} now; `hookrun trust --digest` prints them"
            )
    for digest in given:
        project.approve(by_digest[digest], approved_texts(by_digest[digest]))
        print_line(f"approved {by_digest[digest].hook.name} ({digest})")
    return project.hooks()


# --- asking the user


ANSWERS = {"yes": "y", "no": "n", "all": "a", "show": "s", "diff": "d", "never": "v", "quit": "q"}
HELP = (
    "  y: approve it; n: leave it undecided; a: approve it and all that follow; s: show all of it;",
    "  d: show what changed since it was approved; v: never run it; q: end",
)
MAX_LISTED = 50
"""Hooks that the summary lists."""


def review(project: Project, hooks: list[ProjectHook]) -> list[ProjectHook]:
    """Show every undecided hook, and ask about it on a terminal; return the project's hooks with the decisions."""
    for line in _summary(project, hooks):
        print_line(line)
    interactive = is_interactive()
    undecided = sum(found.state in UNDECIDED for found in hooks)
    number, answer = 0, ""
    for found in hooks:
        if found.state in DECIDED or answer == "q":
            continue
        texts = approved_texts(found)
        if answer != "a":
            for line in _description(found, project, texts):
                print_line(line.expandtabs(4))
        if interactive and found.state in UNDECIDED:
            number += 1
            answer = _decide(project, found, texts, answer, f"{number} of {undecided}")
    hooks = project.hooks()
    if not interactive and any(found.state in UNDECIDED for found in hooks):
        warn("nothing is approved without a terminal: run this in one, or give --yes DIGEST")
    return hooks


def _summary(project: Project, hooks: list[ProjectHook]) -> Iterator[str]:
    """Yield how many hooks there are in each state, and a line for each."""
    if not hooks:
        yield f"no hooks are declared for {project.root}"
        return
    states = [found.state for found in hooks]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    yield f"{count(len(hooks), 'hook')} of {project.root}: {counted}"
    yield from (f"  {found.hook.name}: {found.state}" for found in hooks[:MAX_LISTED])
    if len(hooks) > MAX_LISTED:
        yield f"  ... and {len(hooks) - MAX_LISTED} more"


def _decide(project: Project, found: ProjectHook, texts: Texts, before: str, place: str) -> str:
    """Ask about one hook, unless the answer `before` was for all that follow; return the letter of the answer."""
    refuse_if_run_by_agent("approve hooks")
    answer = before if before == "a" else _ask(project, found, texts, place)
    if answer in ("y", "a"):
        now = project.inspect(found.hook)
        if now.digest != found.digest:
            changed = named_changes(found.inspection.files, now.inspection.files) or "its declaration"
            print_line(f"  {found.hook.name}: {changed} changed while you looked: nothing is approved; run this again")
        else:
            project.approve(found, texts)
            print_line(f"  approved {found.hook.name}")
    elif answer == "v":
        project.deny(found)
        print_line(f"  denied {found.hook.name}: it never runs")
    return answer


def _ask(project: Project, found: ProjectHook, texts: Texts, place: str) -> str:
    """Ask about one hook until there is an answer that decides; return its letter."""
    question = f"  approve {escape(found.hook.name)} ({place})? [y]es, [n]o, [a]ll, [s]how, [d]iff, ne[v]er, [q]uit"
    while True:
        answer = click.prompt(question, default="n", show_default=False).strip().lower()
        answer = ANSWERS.get(answer, answer)
        if answer in ("y", "n", "a", "v", "q"):
            return answer
        lines: Iterable[str] = (f"  {quote(answer)} is no answer:", *HELP)
        if answer == "s":
            lines = (*_facts_of(found, project), *whole(texts))
        elif answer == "d":
            lines = [*_changes(found, project, texts)] or ["  nothing to compare: it was never approved here"]
        for line in lines:
            print_line(line.expandtabs(4))


# --- approving what was just written


def approve_written(
    root: str,
    home: str,
    names: Collection[str],
    changes: Iterable[FileChange],
    report: CommandReport,
    *,
    changed: Collection[str] = (),
) -> bool:
    """Approve the hooks that a command has just written for the project at `root`; return whether all are approved.

    The user at the terminal has asked for them and is not asked again. What others may have written is shown and asked
    about: a file that the command did not write, a file with defaults, an older hook that was only `changed`. Without a
    terminal, or where an agent runs the command, nothing is approved.
    """
    written = {os.path.realpath(each.path): each.after for each in changes}
    project = load_project(None, home, root)
    hooks = [found for found in project.hooks() if found.hook.name in {*names, *changed}]
    undecided = [found for found in hooks if found.state in UNDECIDED]
    if report.as_json:
        approved = [found.hook.name for found in hooks if found.state == "approved"]
        report.add_approvals(approved, [found.hook.name for found in hooks if found.state != "approved"])
    if not undecided:
        return all(found.state == "approved" for found in hooks)
    if report.as_json or not is_interactive():
        return False
    try:
        refuse_if_run_by_agent("approve hooks")
    except NotAllowedError as error:
        warn(f"nothing is approved: {error}")
        return False
    doubtful = []
    for found in undecided:
        if found.hook.name in names and _is_as_written(found, project, written):
            project.approve(found, approved_texts(found))
            print_line(f"approved {found.hook.name}: agents may run it as it is now")
        else:
            doubtful.append(found)
    if doubtful:
        hooks = review(project, doubtful)
        return all(found.state == "approved" for found in hooks if found.hook.name in {*names, *changed})
    return True


def _is_as_written(found: ProjectHook, project: Project, written: dict[str, bytes | None]) -> bool:
    """Return whether the hook's declaration and all its files are exactly what the command has written."""
    source = os.path.realpath(found.hook.source)
    if source not in written or load_file(source, found.hook.layer).defaults:
        return False
    root = os.path.realpath(project.root)
    paths = [source, *(os.path.realpath(file.path) for file in found.inspection.files)]
    counted = [path for path in paths if within(path, root) or not path.startswith(SYSTEM)]
    as_written = all(path in written and _read(path) == written[path] for path in counted)
    return as_written and project.inspect(found.hook).digest == found.digest


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


# --- showing what is approved


def _description(found: ProjectHook, project: Project, texts: Texts) -> Iterator[str]:
    """Yield what the user needs to see before an approval, or what changed since the last one."""
    hook, recipe = found.hook, shipped_recipe(found)
    if recipe is not None and found.state in UNDECIDED:
        options = "".join(f", {name} {json.dumps(value)}" for name, value in (hook.env or {}).items())
        yield ""
        yield f"{hook.name}: {found.state}, recipe {recipe.name}, which ships with hookrun: {recipe.summary}"
        yield f"  {', '.join(hook.events)}{_conditions(hook)}, on failure {hook.on_failure}, mode {hook.mode}{options}"
        return
    yield from _facts_of(found, project)
    changes = [*_changes(found, project, texts)]
    yield from changes
    if not changes:
        for name, text in texts.items():
            if name != snapshots.DECLARATION:
                yield from whole({name: text})


def _facts_of(found: ProjectHook, project: Project) -> Iterator[str]:
    """Yield the hook's name, its state, and what is to be known of it."""
    hook = found.hook
    yield ""
    yield f"{hook.name}: {found.state}   ({hook.location()})"
    for title, value in _facts(found, project):
        yield f"  {title:<12}{value}"
    last = project.last_approved(hook)
    if last is not None and project.store.approved[last].get("rule", 1) != RULE:
        yield "  the rule has changed since it was approved: covered now is what it executes or reads as code (`file`)"


def _changes(found: ProjectHook, project: Project, texts: Texts) -> Iterator[str]:
    """Yield what changed since the hook was approved last; nothing if it never was."""
    last = project.last_approved(found.hook)
    if last is None or last == found.digest:
        return
    before = snapshots.read(project.home, last)
    if before is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(project.store.approved[last]["time"]))
        yield f"  what changed since it was approved at {when}:"
        yield from limited([*differences(before, texts)])


def _facts(found: ProjectHook, project: Project) -> Iterator[tuple[str, str]]:
    hook = found.hook
    if hook.description:
        yield "for", hook.description
    yield "when", ", ".join(hook.events) + _conditions(hook)
    yield hook.kind, hook.target if isinstance(hook.target, str) else json.dumps(list(hook.target), ensure_ascii=False)
    if hook.look:
        environment = project.around.variables(hook, b"")
        program = resolve(hook.look[0], environment, project.around.directory(hook, environment))
        yield "program", os.path.normpath(program) if program else f"{hook.look[0]}, which is not there"
    for file in found.inspection.files:
        yield "file", os.path.normpath(file.path)
    data, unknown = project.uncovered(found)
    if data:
        yield "not covered", f"{', '.join(data)} (data, free to change; `files` covers it)"
    if unknown:
        yield "unknown", f"only a run tells which files these name: {', '.join(unknown)}"
    inherits = project.around.env_policy(hook)
    yield "environment", f"{inherits}{', and ' + ', '.join(hook.allowed_env) if hook.allowed_env else ''}"
    yield "on failure", hook.on_failure
    for name, value in sorted(hook.to_dict().items()):
        if name not in HAS_OWN_LINE and value != DEFAULTS.get(name):
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if found.inspection.problem is not None:
        yield "problem", found.inspection.problem
    if found.digest:
        yield "digest", found.digest


def _conditions(hook: Hook) -> str:
    text = f" of {'|'.join(hook.matcher)}" if hook.matcher is not None else ""
    claude = hook.claude or {}
    conditions = {"matcher": claude.get("matcher"), "if": claude.get("if"), "when": hook.when, "unless": hook.unless}
    for name, value in conditions.items():
        if value or name in claude:
            text += f", {name} {json.dumps(value, ensure_ascii=False)}"
    return text
