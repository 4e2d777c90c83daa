"""`hookrun trust`: show what a project's hooks run, and approve them; approve what other commands have written."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import click

from hookrun.cli.approval_texts import approved_texts, differences, limited, shipped_recipe, whole
from hookrun.cli.commands import FAILED, command, config_options, load_project, working_directory
from hookrun.cli.printing import (
    CONFIG_ERRORS,
    DIM,
    ERROR,
    OK,
    WARNING,
    ProgressBar,
    aligned,
    count,
    is_interactive,
    localized,
    print_json,
    print_line,
    print_lines,
    print_problems,
    print_wrapped,
    warn,
)
from hookrun.config.config_file import load_file
from hookrun.files import relative_path
from hookrun.process.prepare import resolve
from hookrun.terminal import terminal_width
from hookrun.text import escape, quote
from hookrun.trust import snapshots
from hookrun.trust.digest import DEFAULTS, FROM_OTHERS, PREFIX, SYSTEM
from hookrun.trust.hook_files import within
from hookrun.trust.project import NotAllowedError, Project, ProjectHook, refuse_if_run_by_agent
from hookrun.trust.snapshots import named_changes
from hookrun.trust.store import RULE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from hookrun.cli.printing import CommandReport, Line
    from hookrun.edit.file_change import FileChange
    from hookrun.model import Hook
    from hookrun.trust.snapshots import Texts

APPROVE_IT = "review and approve it; it does not run until then, but may block calls"
"""What `hookrun trust` is for, after a command that has written a hook."""

UNDECIDED = ("new", "changed")
DECIDED = ("approved", "denied", "disabled")

HAS_OWN_LINE = (
    FROM_OTHERS
    | {"name", "description", "metadata", "events", "matcher", "when", "unless", "claude"}
    | {"kind", "target", "allowed_env", "env_policy", "on_failure"}
)
"""Fields that `_facts` shows in its own way; each of the others is shown unless it has its default."""


@command(
    "trust",
    "trust",
    "trust --digest",
    "trust --yes sha256:5891b5b5...",
    note="Exit status: 0 every hook of the project is approved, denied or disabled, 1 otherwise.",
)
@click.argument("what", nargs=-1, metavar="[PATH]")
@click.option("--yes", is_flag=True, help="Approve exactly the digests that follow, without asking.")
@click.option("--list", "list_all", is_flag=True, help="List every decision, for all projects.")
@click.option("--digest", "digests", is_flag=True, help="Print the digest of each hook here; approve nothing.")
@config_options
def trust_command(
    what: tuple[str, ...],
    config: str | None,
    home: str | None,
    *,
    yes: bool,
    list_all: bool,
    digests: bool,
    as_json: bool,
) -> int:
    """Approve hooks of the project in PATH (default: here): shows what each runs, and asks. Runs nothing.

    Agents run only the hooks of a project that you have approved. Until then, a hook with `on_failure: block` blocks
    every matching call. Any change to a hook's declaration, or to a file that
    it names, needs a new approval.
    """
    given = [digest for text in what for digest in text.split(",") if text.startswith(PREFIX)]
    paths = [text for text in what if not text.startswith(PREFIX)]
    if bool(given) != yes or len(paths) > 1:
        error = f"a digest needs `--yes`: {quote(given[0])}" if given else "more than one PATH"
        if yes:
            error = f"{quote(paths[0])} is not a digest" if paths else "`--yes` needs a digest"
        raise click.UsageError(f"{error}\nhint: `hookrun trust --digest` prints the digests")
    project = load_project(config, home, os.path.abspath(paths[0] if paths else working_directory()))
    if list_all:
        _list_all(project, as_json=as_json)
        return 0
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
    print_problems(project.declarations.problems)
    undecided = [found for found in hooks if found.state not in DECIDED]
    return FAILED if undecided or project.declarations.problems else 0


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
        click.echo("no decisions yet")


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
                f"no hook has the digest {quote(digest)}\nhint: `hookrun trust --digest` prints the digests"
            )
    for digest in given:
        project.approve(by_digest[digest], approved_texts(by_digest[digest]))
        print_line(f"approved {by_digest[digest].hook.name} ({digest})")
    return project.hooks()


# --- asking the user


ANSWERS = {"yes": "y", "no": "n", "all": "a", "show": "s", "diff": "d", "never": "v", "quit": "q"}
HELP = (
    "  y  approve it",
    "  n  leave it undecided",
    "  a  approve it and all that follow",
    "  s  show all of it",
    "  d  show what changed since it was approved",
    "  v  never run it",
    "  q  quit",
)
CHOICES = "[y]es, [n]o, [a]ll, [s]how, [d]iff, ne[v]er, [q]uit"
STATE_STYLES = {"approved": OK, "denied": ERROR, "disabled": DIM}
FIELD_INDENT = " " * 15
MAX_LISTED = 50
"""Hooks that the summary lists."""


def review(project: Project, hooks: list[ProjectHook]) -> list[ProjectHook]:
    """Show every undecided hook, and ask about it on a terminal; return the project's hooks with the decisions."""
    _show_summary(project, hooks)
    interactive = is_interactive()
    undecided = [found for found in hooks if found.state in UNDECIDED]
    answer = ""
    for found in [found for found in hooks if found.state not in DECIDED]:
        texts = approved_texts(found)
        _show_lines(_description(found, project, texts))
        if interactive and found.state in UNDECIDED:
            number = undecided.index(found) + 1
            answer = _decide(project, found, texts, f"{number} of {len(undecided)}")
            if answer == "a":
                _approve_all(project, undecided[number - 1 :])
            if answer in ("a", "q"):
                break
    hooks = project.hooks()
    if not interactive and any(found.state in UNDECIDED for found in hooks):
        warn("nothing was approved\nhint: run `hookrun trust` in a terminal, or `hookrun trust --yes DIGEST`")
    return hooks


def _show_lines(lines: Iterable[str]) -> None:
    """Print lines; on a terminal a field's value is wrapped below its beginning, code is not wrapped."""
    for line in lines:
        if line.startswith("    ") or not line.startswith("  "):
            print_line(line.expandtabs(4))
        else:
            print_wrapped(line.expandtabs(4), FIELD_INDENT)


def _show_summary(project: Project, hooks: list[ProjectHook]) -> None:
    if not hooks:
        print_line(CONFIG_ERRORS if project.declarations.problems else f"no hooks in {project.root}")
        return
    states = [found.state for found in hooks]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    print_line(f"{count(len(hooks), 'hook')} in {project.root}: {counted}")
    lines = aligned([["", found.hook.name, found.state] for found in hooks[:MAX_LISTED]])
    print_lines((line, STATE_STYLES.get(found.state, WARNING)) for line, found in zip(lines, hooks, strict=False))
    if len(hooks) > MAX_LISTED:
        print_line(f"  ... and {len(hooks) - MAX_LISTED} more")


def _decide(project: Project, found: ProjectHook, texts: Texts, place: str) -> str:
    """Ask about one hook; return the letter of the answer. The one for all that follow is left to the caller."""
    refuse_if_run_by_agent("approve hooks")
    answer = _ask(project, found, texts, place)
    if answer == "y":
        print_lines([_approve(project, found, texts)])
    elif answer == "v":
        project.deny(found)
        print_lines([(f"  denied {found.hook.name}", ERROR)])
    return answer


def _approve(project: Project, found: ProjectHook, texts: Texts) -> Line:
    """Approve a hook unless it has changed since it was inspected; return what happened."""
    now = project.inspect(found.hook)
    if now.digest == found.digest:
        project.approve(found, texts)
        return f"  approved {found.hook.name}", OK
    changed = named_changes(found.inspection.files, now.inspection.files) or "its declaration"
    return f"  not approved: {changed} changed while you looked; run `hookrun trust` again", WARNING


def _approve_all(project: Project, hooks: Sequence[ProjectHook]) -> None:
    lines: list[Line] = []
    with ProgressBar("approving") as bar:
        bar.begin(len(hooks))
        for found in hooks:
            refuse_if_run_by_agent("approve hooks")
            lines.append(_approve(project, found, approved_texts(found)))
            bar.step()
    print_lines(lines)


def _ask(project: Project, found: ProjectHook, texts: Texts, place: str) -> str:
    question = f"  approve {escape(found.hook.name)} ({place})?"
    if len(question) + len(CHOICES) + 4 > (terminal_width(1) or 80):
        question += "\n "
    while True:
        answer = click.prompt(f"{question} {CHOICES}", default="n", show_default=False).strip().lower()
        answer = ANSWERS.get(answer, answer)
        if answer in ("y", "n", "a", "v", "q"):
            return answer
        lines: Iterable[str] = (f"  unknown answer {quote(answer)}; choose one of", *HELP)
        if answer == "s":
            lines = (*_facts_of(found, project), *whole(texts))
        elif answer == "d":
            lines = [*_changes(found, project, texts)] or ["  no changes: it was never approved here"]
        _show_lines(lines)


# --- approving what was just written


def user_is_present(report: CommandReport, *, otherwise: str = "") -> bool:
    """Return whether a user at a terminal, and no agent, runs the command and can be asked.

    `otherwise` is the consequence, of which an agent is warned.
    """
    if report.as_json or not is_interactive():
        return False
    try:
        refuse_if_run_by_agent("approve hooks")
    except NotAllowedError as error:
        if otherwise:
            warn(f"{otherwise}: {error}")
        return False
    return True


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
    if not user_is_present(report, otherwise="nothing was approved"):
        return False
    doubtful = []
    for found in undecided:
        if found.hook.name in names and _is_as_written(found, project, written):
            project.approve(found, approved_texts(found))
            print_line(f"approved {found.hook.name}")
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
        yield f"{hook.name}: {found.state}"
        yield _field("recipe", f"{recipe.name}, which ships with hookrun: {recipe.summary}")
        yield _field("event", f"{', '.join(hook.events)}{_conditions(hook)}")
        yield _field("on failure", f"{hook.on_failure}, mode {hook.mode}{options}")
        return
    yield from _facts_of(found, project)
    changes = [*_changes(found, project, texts)]
    yield from changes
    if not changes:
        for name, text in texts.items():
            if name != snapshots.DECLARATION:
                yield from whole({name: text})


def _field(title: str, value: str) -> str:
    return f"  {title:<13}{value}"


def _facts_of(found: ProjectHook, project: Project) -> Iterator[str]:
    hook = found.hook
    yield ""
    yield f"{hook.name}: {found.state}   ({relative_path(hook.source)}:{hook.line})"
    yield from (_field(title, value) for title, value in _facts(found, project))
    last = project.last_approved(hook)
    if last is not None and project.store.approved[last].get("rule", 1) != RULE:
        yield "  note: approved by an older rule; an approval now covers all code that the hook runs or reads (`file`)"


def _changes(found: ProjectHook, project: Project, texts: Texts) -> Iterator[str]:
    """Yield what changed since the hook was approved last; nothing if it never was."""
    last = project.last_approved(found.hook)
    if last is None or last == found.digest:
        return
    before = snapshots.read(project.home, last)
    if before is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(project.store.approved[last]["time"]))
        yield f"  changed since the approval of {when} (- approved, + now):"
        yield from limited([*differences(before, texts)])


def _facts(found: ProjectHook, project: Project) -> Iterator[tuple[str, str]]:
    hook = found.hook
    if hook.description:
        yield "purpose", hook.description
    yield "event", ", ".join(hook.events) + _conditions(hook)
    yield hook.kind, hook.target if isinstance(hook.target, str) else json.dumps(list(hook.target), ensure_ascii=False)
    files = [os.path.normpath(file.path) for file in found.inspection.files]
    if hook.look and (path := _program(hook, project)) not in files:
        yield "program", path
    yield from (("file", path) for path in files)
    data, unknown = project.uncovered(found)
    if data:
        yield "not covered", f"{', '.join(data)} (data, which may change; list it in `files` to cover it)"
    if unknown:
        yield "unknown", f"{', '.join(unknown)} (may name files, known only when the hook runs)"
    inherits = project.around.env_policy(hook)
    yield "environment", f"{inherits}{', and ' + ', '.join(hook.allowed_env) if hook.allowed_env else ''}"
    yield "on failure", hook.on_failure
    for name, value in sorted(hook.to_dict().items()):
        if name not in HAS_OWN_LINE and value != DEFAULTS.get(name):
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if found.inspection.problem is not None:
        yield "problem", localized(found.inspection.problem)
    if found.digest:
        yield "digest", found.digest


def _program(hook: Hook, project: Project) -> str:
    environment = project.around.variables(hook, b"")
    program = resolve(hook.look[0], environment, project.around.directory(hook, environment))
    return os.path.normpath(program) if program else f"{hook.look[0]} (not found)"


def _conditions(hook: Hook) -> str:
    text = f" of {'|'.join(hook.matcher)}" if hook.matcher is not None else ""
    claude = hook.claude or {}
    conditions = {"matcher": claude.get("matcher"), "if": claude.get("if"), "when": hook.when, "unless": hook.unless}
    for name, value in conditions.items():
        if value or name in claude:
            text += f", {name} {json.dumps(value, ensure_ascii=False)}"
    return text
