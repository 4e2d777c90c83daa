"""`hookrun trust`: show what a project's hooks run, and approve them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from hookrun.cli.commands import FAILED, Workspace, command, json_options
from hookrun.cli.printing import (
    CONFIG_ERRORS,
    Line,
    ProgressBar,
    aligned,
    count,
    field_text,
    is_interactive,
    json_text,
    localized,
    print_json,
    print_line,
    print_lines,
    print_problems,
    print_wrapped,
    warn,
)
from hookrun.core.files import relative_path
from hookrun.core.model import HOOK_DEFAULTS, Hook
from hookrun.core.terminal import terminal_width
from hookrun.core.text import diff, escape, quote
from hookrun.process.prepare import resolve
from hookrun.recipes import catalog
from hookrun.recipes.recipe import PREFIX as RECIPE_VARIABLE, Recipe
from hookrun.trust import snapshots
from hookrun.trust.digest import FROM_OTHERS, LABELS, PREFIX
from hookrun.trust.project import Project, ProjectHook, refuse_if_run_by_agent
from hookrun.trust.snapshots import Texts

UNDECIDED = ("new", "changed")
DECIDED = ("approved", "disabled")

# Fields that `_facts` shows in its own way; others are shown unless default.
HAS_OWN_LINE = (
    FROM_OTHERS
    | {"name", "description", "metadata", "events", "matcher", "when", "unless", "claude"}
    | {"kind", "target", "allowed_env", "env_policy", "on_failure"}
)


@command(
    "trust",
    "trust",
    "trust --digest",
    "trust --yes sha256:5891b5b5...",
    "trust --forget ~/src/shop",
    note="Exit status: 0 every hook of the project is approved or disabled, 1 otherwise.",
)
@click.argument("what", nargs=-1, metavar="[PATH|DIGEST...]")
@click.option("--yes", is_flag=True, help="Approve exactly the digests that follow, without asking.")
@click.option("--list", "list_all", is_flag=True, help="List every decision, for all projects.")
@click.option("--digest", "digests", is_flag=True, help="Print the digest of each hook here; approve nothing.")
@click.option("--forget", is_flag=True, help="Forget the decisions about the hooks of PATH, or about one DIGEST.")
@json_options
def trust_command(
    what: tuple[str, ...], at: Workspace, *, yes: bool, list_all: bool, digests: bool, forget: bool, as_json: bool
) -> int:
    """Approve hooks of the project in PATH (default: here): shows what each runs, and asks. Runs nothing.

    Agents run only the hooks of a project that you have approved. Until then, a hook with `on_failure: block` blocks
    every matching call. A change to a hook's config entry, or to the code that it
    names, needs a new approval; so does removing or narrowing an approved guard.
    """
    to_approve = [digest for text in what for digest in text.split(",") if text.startswith(PREFIX)]
    paths = [text for text in what if not text.startswith(PREFIX)]
    if forget:
        from hookrun.cli.decisions import forget_decisions  # rarely needed, and so is the list

        forget_decisions(at, what)
        return 0
    if bool(to_approve) != yes or len(paths) > 1:
        error = f"a digest needs `--yes`: {quote(to_approve[0])}" if to_approve else "more than one PATH"
        if yes:
            error = f"{quote(paths[0])} is not a digest" if paths else "`--yes` needs a digest"
        raise click.UsageError(f"{error}\nhint: `hookrun trust --digest` prints the digests")
    at.directory = os.path.abspath(paths[0] if paths else at.directory)
    project = at.project(at.directory)
    if list_all:
        from hookrun.cli.decisions import list_decisions

        list_decisions(project, as_json=as_json)
        return 0
    hooks = project.hooks()
    if yes:
        refuse_if_run_by_agent("approve hooks")
        hooks = _approve_exactly(project, hooks, to_approve)
    elif as_json:
        print_json([_to_json(found) for found in hooks])
    elif digests:
        for found in hooks:
            click.echo(f"{found.digest or '-':<71}  {found.state:<18}  {escape(found.hook.name)}")
    else:
        hooks = review(project, hooks)
    if not (as_json or digests) and any(found.state in DECIDED for found in hooks):
        from hookrun.cli.connecting import fit_agents  # all that knows agents' settings

        fit_agents(at)
    print_problems(project.declarations.problems)
    undecided = [found for found in hooks if found.state not in DECIDED] or project.missing()
    return FAILED if undecided or project.declarations.problems else 0


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


def _approve_exactly(project: Project, hooks: list[ProjectHook], digests: list[str]) -> list[ProjectHook]:
    """Approve the hooks with these digests, all or none. Raises click.ClickException for an unknown one."""
    by_digest = {found.digest: found for found in hooks if found.digest}
    for digest in digests:
        if digest not in by_digest:
            hint = "`hookrun trust --digest` prints the digests"
            raise click.ClickException(f"no hook has the digest {quote(digest)}\nhint: {hint}")
    for digest in digests:
        project.approve(by_digest[digest], approved_texts(by_digest[digest]))
        print_line(f"approved {by_digest[digest].hook.name} ({digest})")
    return project.hooks()


# --- asking the user


# The answer that approves files that cannot be shown.
UNSEEN = "unseen"
ANSWERS = {"yes": "y", "no": "n", "all": "a", "show": "s", "diff": "d", "never": "v", "quit": "q"}
HELP = (
    "  y  approve it",
    "  n  leave it undecided",
    "  a  approve it; then show all that follow, and ask about them together",
    "  s  show all of it",
    "  d  show what changed since it was approved",
    "  v  never run it, unless you enable it",
    "  q  quit",
)
CHOICES = "[y]es, [n]o, [a]ll, [s]how, [d]iff, ne[v]er, [q]uit"
STATE_STYLES = {"approved": "ok", "disabled": "dim"}
FIELD_INDENT = " " * 15
# Limit on the hooks that the summary lists.
MAX_LISTED = 50


def review(project: Project, hooks: list[ProjectHook]) -> list[ProjectHook]:
    """Show undecided hooks and, on a terminal, ask about them; return the project's hooks with decisions."""
    _show_summary(project, hooks)
    interactive = is_interactive()
    undecided = [found for found in hooks if found.state in UNDECIDED]
    for found in [found for found in hooks if found.state not in DECIDED]:
        texts = approved_texts(found)
        _show_lines(_description(found, project, texts))
        if interactive and found.state in UNDECIDED:
            number = undecided.index(found) + 1
            answer = _decide(project, found, texts, f"{number} of {len(undecided)}")
            if answer == "a":
                _approve_all(project, undecided[number - 1], undecided[number:])
            if answer in ("a", "q"):
                break
    hooks = project.hooks()
    _review_missing(project, hooks, interactive=interactive)
    if not interactive and any(found.state in UNDECIDED for found in hooks):
        warn("nothing was approved\nhint: run `hookrun trust` in a terminal, or `hookrun trust --yes DIGEST`")
    return hooks


def _review_missing(project: Project, hooks: list[ProjectHook], *, interactive: bool) -> None:
    """Show the approved guards that are gone or narrowed and, on a terminal, ask whether to let them go."""
    for guard, change in project.missing():
        name = guard.hook.name
        now = [found for found in hooks if found.hook.name == name]
        texts = {snapshots.DECLARATION: _declaration(now[0].hook)} if now else {}
        print_line("")
        print_line(f"{name}: {change}   (approved in {relative_path(guard.hook.source)})")
        _show_lines(differences({snapshots.DECLARATION: _declaration(guard.hook)}, texts))
        if interactive and not any(found.state in UNDECIDED for found in now):
            refuse_if_run_by_agent("let a guard go")
            if click.confirm(f"  let the approved {escape(name)} go?"):
                project.let_go({name}, [found.hook for found in now if found.state == "approved"])


def _show_lines(lines: Iterable[str]) -> None:
    """Print lines; on a terminal, wrap a field's value below its beginning, but not code."""
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
    print_lines((line, STATE_STYLES.get(found.state, "warning")) for line, found in zip(lines, hooks, strict=False))
    if len(hooks) > MAX_LISTED:
        print_line(f"  ... and {len(hooks) - MAX_LISTED} more")


def _decide(project: Project, found: ProjectHook, texts: Texts, place: str) -> str:
    """Ask about one hook; return the answer's letter. The caller handles that for all further hooks."""
    refuse_if_run_by_agent("approve hooks")
    question = f"  approve {escape(found.hook.name)} ({place})?"
    if len(question) + len(CHOICES) + 4 > (terminal_width(1) or 80):
        question += "\n "
    while True:
        answer = click.prompt(f"{question} {CHOICES}", default="n", show_default=False).strip().lower()
        answer = ANSWERS.get(answer, answer)
        if answer == "s":
            _show_lines((*_facts_of(found, project), *whole(texts)))
        elif answer == "d":
            _show_lines([*_changes(found, project, texts)] or ["  no changes: it was never approved here"])
        elif answer in ("y", "a") and (unseen := _unseen(texts)):
            print_line(f"  not shown: {', '.join(map(escape, unseen))}; answer `{UNSEEN}` to approve it nevertheless")
        elif answer not in (*ANSWERS.values(), UNSEEN):
            _show_lines((f"  unknown answer {quote(answer)}; choose one of", *HELP))
        else:
            break
    if answer in ("y", UNSEEN):
        print_lines([_approve(project, found, texts)])
    elif answer == "v":
        project.disable(found.hook, None)
        print_lines([(f"  disabled {found.hook.name}", "warning")])
    return answer


def _approve(project: Project, found: ProjectHook, texts: Texts) -> Line:
    """Approve a hook unless it has changed since its inspection; return what happened."""
    now = project.inspect(found.hook)
    if now.digest == found.digest:
        project.approve(found, texts)
        return f"  approved {found.hook.name}", "ok"
    changed = snapshots.named_changes(found.inspection.files, now.inspection.files) or "its config entry"
    return f"  not approved: {changed} changed while you looked; run `hookrun trust` again", "warning"


def _unseen(texts: Texts) -> list[str]:
    return [name for name, text in texts.items() if not snapshots.is_shown(text)]


def _approve_all(project: Project, shown: ProjectHook, others: Sequence[ProjectHook]) -> None:
    """Approve a hook that was shown and, after showing them, the others that can be shown."""
    lines = [_approve(project, shown, approved_texts(shown))]
    seen = [(found, approved_texts(found)) for found in others]
    for found, texts in seen:
        _show_lines(_description(found, project, texts))
    seen = [(found, texts) for found, texts in seen if not _unseen(texts)]
    if seen and click.confirm(f"  approve these {len(seen)}?"):
        with ProgressBar("approving") as bar:
            bar.begin(len(seen))
            for found, shown_texts in seen:
                lines.append(_approve(project, found, shown_texts))
                bar.step()
    print_lines(lines)


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
        yield from _changes(found, project, texts)
        return
    yield from _facts_of(found, project)
    files = {name: text for name, text in texts.items() if name != snapshots.DECLARATION}
    yield from [*_changes(found, project, texts)] or whole(files)


def _field(title: str, value: str) -> str:
    return f"  {title:<13}{value}"


def _facts_of(found: ProjectHook, project: Project) -> Iterator[str]:
    hook = found.hook
    yield ""
    yield f"{hook.name}: {found.state}   ({relative_path(hook.source)}:{hook.line})"
    yield from (_field(title, value) for title, value in _facts(found, project))


def _changes(found: ProjectHook, project: Project, texts: Texts) -> Iterator[str]:
    """Yield what changed since the hook's last approval; nothing if there was none."""
    last = project.last_approved(found.hook)
    if last is None or last == found.digest:
        return
    before = snapshots.read(project.home, last)
    if before is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(project.store.approved[last]["time"]))
        yield f"  changed since the approval of {when} (- approved, + now):"
        yield from differences(before, texts)


def _facts(found: ProjectHook, project: Project) -> Iterator[tuple[str, str]]:
    hook = found.hook
    if hook.description:
        yield "purpose", hook.description
    yield "event", ", ".join(hook.events) + _conditions(hook)
    yield hook.kind, field_text(hook.target)
    files = [os.path.normpath(file.path) for file in found.inspection.files]
    if hook.look and (path := _program(hook, project)) not in files:
        yield "program", path
    yield from (("file", path) for path in files)
    data, unknown = project.uncovered(found)
    if data:
        yield "not covered", f"{', '.join(data)} (data, which may change; list it in `files` to cover it)"
    loads = ["what these files load or start, but for files beside them that they load by name"] if files else []
    if unknown or loads:
        names = [f"{', '.join(unknown)} (may name files, known only when the hook runs)"] if unknown else []
        yield "unknown", "; ".join([*names, *loads])
    inherits = project.environment.env_policy(hook)
    if hook.allowed_env:
        inherits += f", and {', '.join(hook.allowed_env)}"
    yield "environment", inherits
    yield "on failure", hook.on_failure
    for name, value in sorted(hook.to_dict().items()):
        if name not in HAS_OWN_LINE and value != HOOK_DEFAULTS.get(name):
            yield name, field_text(value)
    if found.inspection.problem is not None:
        yield "problem", localized(found.inspection.problem)
    if found.digest:
        yield "digest", found.digest


def _program(hook: Hook, project: Project) -> str:
    program = resolve(hook.look[0], *project.environment.variables_and_directory(hook))
    return os.path.normpath(program) if program else f"{hook.look[0]} (not found)"


def _conditions(hook: Hook) -> str:
    text = f" of {'|'.join(hook.matcher)}" if hook.matcher is not None else ""
    claude = {} if hook.claude is None else hook.claude.to_dict()
    conditions = {"matcher": claude.get("matcher"), "if": claude.get("if"), "when": hook.when, "unless": hook.unless}
    for name, value in conditions.items():
        if value or name in claude:
            text += f", {name} {json_text(value)}"
    return text


# --- what an approval covers


def approved_texts(found: ProjectHook) -> Texts:
    """Return what an approval covers, by name: the hook's declaration and its files' texts."""
    files = {file.label: snapshots.text_of(file) for file in found.inspection.files}
    return {snapshots.DECLARATION: _declaration(found.hook), **files}


def _declaration(hook: Hook) -> str:
    said = hook.given()
    return json_text(as_written({name: each for name, each in said.items() if name not in FROM_OTHERS}), 2)


def as_written(fields: Mapping[str, object]) -> dict[str, object]:
    """Return a hook's fields as in a declaration: `event`, one field that says what runs, one matcher.

    They are made from what is approved, not from the file, which may have changed since.
    """
    rest = dict(fields)
    events, kind = rest.pop("events", None), str(rest.pop("kind", "command"))
    claude = rest.pop("claude", None)
    written: dict[str, object] = {"name": rest.pop("name")} if "name" in rest else {}
    if isinstance(claude, dict):
        events = [claude.get("event")]
        rest |= {name: value for name, value in claude.items() if name != "event" and name not in LABELS}
    if isinstance(events, (list, tuple)):
        written["event"] = events[0] if len(events) == 1 else list(events)
    matcher = rest.pop("matcher", None)
    if matcher is not None:
        written["matcher"] = "|".join(matcher) if isinstance(matcher, (list, tuple)) else matcher
    if "target" in rest:
        written[kind] = rest.pop("target")
    return written | {name: rest[name] for name in sorted(rest)}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines on what changed between two approvals."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            yield f"    {name}"
            lines = diff(old, new, context=2)
            yield from (f"    {line}" for line in lines or ["(only its line ends differ)"])


def whole(texts: Texts) -> Iterator[str]:
    """Yield a hook's declaration and files."""
    for name, text in texts.items():
        yield f"  {name}:"
        yield from (f"    {line}" for line in text.splitlines())


def shipped_recipe(found: ProjectHook) -> Recipe | None:
    """Return the recipe whose code, part of hookrun, is all that the hook runs, or None.

    It is recognised by what runs, never by the declaration's `metadata`, which a project writes.
    """
    hook = found.hook
    of_its_own = found.inspection.files or hook.files or hook.interpreter or hook.cwd != "/" or hook.kind != "python"
    if of_its_own or not all(name.startswith(RECIPE_VARIABLE) for name in hook.env or {}):
        return None
    recipes = [catalog.find(name) for name in catalog.names()]
    targets = {str(each["python"]): recipe for recipe in recipes for each in recipe.hooks if "python" in each}
    return targets.get(str(hook.target))
