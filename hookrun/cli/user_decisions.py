"""User decisions: `hookrun deny`, `disable`, `enable`, `untrust`, `pause`, `resume`; approving new hooks."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import click

from hookrun.cli.commands import (
    Workspace,
    command,
    config_option,
    home_option,
    hooks_named,
    json_option,
    parse_duration,
    user_is_present,
)
from hookrun.cli.printing import CommandReport, count, print_json, print_line, print_wrapped
from hookrun.core import audit, audit_reader
from hookrun.core.files import is_within, read_or_none, relative_path
from hookrun.core.text import quote
from hookrun.trust import store as stores
from hookrun.trust.allowed_calls import SHORT_ID, forget, permissions, permit
from hookrun.trust.approvals import clock
from hookrun.trust.digest import PREFIX, SYSTEM
from hookrun.trust.project import (
    NotAllowedError,
    Project,
    ProjectHook,
    locked_store,
    refuse_if_run_by_agent,
    require_terminal,
)
from hookrun.trust.store import MAX_PAUSE

if TYPE_CHECKING:
    from hookrun.edit.file_change import FileChange
    from hookrun.scaffold.declaration_file import DeclarationFile

PAUSE = "30m"
# Characters of a refusal's id that may identify it.
MIN_ID = 4
APPROVE_IT = "review and approve it; agents do not run it until then"
# The purpose of `hookrun trust` after a command has written hooks.
APPROVE_THEM = "review and approve the hooks; agents do not run them until then"


@command("deny", "deny upload-logs", "enable upload-logs      (lifts the denial)")
@click.argument("hook", metavar="NAME")
@config_option
@home_option
def deny_command(hook: str, at: Workspace) -> None:
    """Never run the project's hook NAME. That does not count as a failure, and hookrun list shows it."""
    require_terminal("deny a hook")
    project = at.project()
    for found in project.named(hook):
        project.deny(found)
        undo = f"`hookrun enable {shlex.quote(hook)}` lifts the denial"
        print_wrapped(f"denied {hook} ({_where(found)}); {undo}")


@command("disable", "disable format-on-edit", "enable format-on-edit", "disable --all --for 10m")
@click.argument("hook", metavar="[NAME]", required=False)
@click.option("--all", "every", is_flag=True, help="All hooks, for a time: a pause.")
@click.option("--for", "duration", metavar="TIME", help="Only for this time: a pause.")
@config_option
@home_option
def disable_command(hook: str | None, duration: str | None, at: Workspace, *, every: bool) -> None:
    """Switch the project's hook NAME off for yourself. hookrun list and the audit show it."""
    if every == (hook is not None):
        raise click.UsageError("give NAME or --all")
    if every or duration is not None:
        _pause(hook, duration or PAUSE, at)
        return
    require_terminal("disable a hook")
    project = at.project()
    hook = hook or ""
    for found in project.named(hook):
        project.disable(found)
        print_wrapped(f"disabled {hook} ({_where(found)}); `hookrun enable {shlex.quote(hook)}` re-enables it")


@command("enable", "enable format-on-edit")
@click.argument("hook", metavar="NAME")
@config_option
@home_option
def enable_command(hook: str, at: Workspace) -> None:
    """Re-enable the project's hook NAME if it is disabled or denied. A denied hook then needs a new approval."""
    refuse_if_run_by_agent("enable a hook")
    project = at.project()
    for found in project.named(hook):
        was_off = project.enable(found)
        was = "enabled" if was_off else "neither disabled nor denied:"
        unapproved = project.inspect(found.hook).state != "approved"
        more = "; approve it with `hookrun trust`" if was_off and unapproved else ""
        print_wrapped(f"{was} {hook} ({_where(found)}){more}")


def _where(found: ProjectHook) -> str:
    return f"{relative_path(found.hook.source)}:{found.hook.line}"


@command("untrust", "untrust", "untrust ~/src/shop", "untrust sha256:5891b5b5...")
@click.argument("what", default=".", metavar="[PATH|DIGEST]")
@config_option
@home_option
def untrust_command(what: str, at: Workspace) -> None:
    """Forget the decisions about the hooks of the project in PATH (default: here), or about one DIGEST."""
    require_terminal("forget an approval")
    is_digest = what.startswith(PREFIX)
    project = at.project(os.path.abspath("." if is_digest else what))
    if is_digest:
        digests, roots = {what}, set()
    else:
        digests = {found.digest for found in project.hooks() if found.digest}
        roots = {os.path.realpath(project.root)}
    forgotten = project.forget(digests=digests, roots=roots)
    if is_digest and not forgotten:
        raise click.ClickException(f"no decision about {what}\nhint: `hookrun trust --list` lists the decisions")
    print_line(f"forgot {count(forgotten, 'decision')} about {what if what != '.' else project.root}")


@command("pause", "pause --for 10m", "pause no-force-push --for 1h30m", "resume")
@click.argument("hook", required=False)
@click.option("--for", "duration", default=PAUSE, show_default=True, metavar="TIME", help="Such as 90s, 30m or 1h30m.")
@config_option
@home_option
def pause_command(hook: str | None, duration: str, at: Workspace) -> None:
    """Pause HOOK, or all hooks, temporarily: yours and every project's, but not managed ones.

    Each run that would have included a paused hook says so, and hookrun list shows it.
    """
    _pause(hook, duration, at)


def _pause(hook: str | None, duration: str, at: Workspace) -> None:
    require_terminal("pause hooks")
    seconds = parse_duration(duration, units="smh")
    if seconds is None or not 0 < seconds <= MAX_PAUSE:
        hint = f"hint: write a time up to {MAX_PAUSE // 3600}h with s, m or h, such as 30m"
        raise click.ClickException(f"invalid time {quote(duration)} for `--for`\n{hint}")
    project = at.project()
    if hook is not None:
        hooks = hooks_named(hook, project.declarations.hooks, project.declarations.problems)
        if all(each.layer == "managed" for each in hooks):
            raise click.ClickException(f"`{hook}` is managed: only {hooks[0].source} can switch it off")
    now = time.time()
    with project.changing() as store:
        store.paused = [each for each in store.paused if each["until"] > now and each["hook"] != hook]
        store.paused.append({"hook": hook, "begin": now, "until": now + seconds})
    what = f"{hook} is" if hook is not None else "all hooks except managed ones are"
    ending = "hookrun resume" if hook is None else f"hookrun resume {shlex.quote(hook)}"
    print_wrapped(f"{what} paused until {clock(now + seconds)}; `{ending}` ends the pause")


@command("resume", "resume", "resume no-force-push")
@click.argument("hook", required=False)
@home_option
def resume_command(hook: str | None, at: Workspace) -> None:
    """End every pause, or that of HOOK."""
    with locked_store(at.home) as store:
        before = len(store.paused)
        store.paused = [each for each in store.paused if hook is not None and each["hook"] != hook]
        ended = before - len(store.paused)
    if hook is not None and not ended:
        raise click.ClickException(f"{quote(hook)} is not paused\nhint: `hookrun status` lists the pauses")
    print_line(f"ended {count(ended, 'pause')}" if ended else "nothing is paused")


def let_removed_go(removed: Collection[str], report: CommandReport) -> None:
    """Let the approved guards go that the user has just removed, if that is the user, else say how."""
    project = report.at.project()
    gone = {guard.hook.name for guard, _ in project.missing()}.intersection(removed)
    if not gone:
        return
    try:
        require_terminal("let a guard go")
    except NotAllowedError:
        report.next_steps([(report.at.next_command("hookrun trust"), "let it go; it stays in force until then")])
        return
    project.let_go(gone)


# --- letting a refused call through


@command("allow", "allow 3f2a91", "allow --list", "allow --forget 3f2a91")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List the calls that may still run.")
@click.option("--forget", is_flag=True, help="Take it back: for these calls, or for all.")
@click.option("--dry-run", is_flag=True, help="Show the call; allow nothing.")
@json_option
@home_option
def allow_command(ids: tuple[str, ...], at: Workspace, *, as_json: bool, **flags: bool) -> None:
    """Let a refused call past the hook that refused it, once within 10 minutes. Other hooks still judge it.

    The ID is in the refusal, in hookrun log and in hookrun why. Only the same call may run: the same tool, arguments,
    directory and project.
    """
    if not ids and not (flags["listing"] or flags["forget"]):
        raise click.UsageError("give the ID of a refusal, as `hookrun log` shows it")
    settings = at.load(for_agents=True).declarations.settings
    owners = stores.owners_in(settings)
    if flags["listing"] or flags["forget"]:
        shown = [each for each in permissions(at.home, owners) if not ids or str(each["call"]).startswith(ids)]
        for each in shown if flags["forget"] else ():
            forget(at.home, str(each["call"]))
    else:
        shown = [_refused(at, each) for each in dict.fromkeys(ids)]
        if not flags["dry_run"]:
            require_terminal("allow a call")
        for each in shown if not flags["dry_run"] else ():
            each["until"] = permit(at.home, each, owners)
            about = {field: each.get(name) for name, field in audit.ABOUT}
            noted = {name: each[name] for name in ("hook", "call", "project")}
            audit.write(at.home, [audit.record(audit_reader.ALLOW, about, **noted)], settings.get("audit"))
    done = "allowed once" if flags["listing"] else "no longer allowed" if flags["forget"] else "would be allowed once"
    if as_json:
        print_json({"calls": shown})
        return
    for each in shown:
        until = each.get("until")
        is_on = isinstance(until, float) and not flags["forget"]
        state = f"allowed once until {clock(until)}" if isinstance(until, float) and is_on else done
        what = f"{each['tool']} {each['subject']}".strip()
        print_wrapped(f"{str(each['call'])[:SHORT_ID]}  {state}: {what} (refused by {each['hook']}, {each['project']})")
    if not shown:
        print_line("no call is allowed")


def _refused(at: Workspace, name: str) -> dict[str, object]:
    """Return what the audit has of the refused call whose id begins so. Raises click.ClickException."""
    found: dict[str, dict[str, object]] = {}
    for run in audit_reader.fires(at.home) if len(name) >= MIN_ID else ():
        for record in run.hooks:
            call = str(record.get("call", ""))
            if record.get("kind") == audit_reader.HOOK and call.startswith(name) and not record.get("allowed"):
                header = run.header
                fields = {field: record.get(field) for field, _ in audit.ABOUT} | {"hook": record.get("hook")}
                subject = " ".join(str(header.get("command") or header.get("file") or "").split())
                found.setdefault(call, {**fields, "call": call, "project": header.get("project"), "subject": subject})
    if len(found) == 1:
        return found.popitem()[1]
    if found:
        raise click.ClickException(f"several calls have the id {name}\nhint: give more of it: {', '.join(found)}")
    raise click.ClickException(
        f"no refused call {quote(name)} in the log\nhint: `hookrun log --action block` shows some"
    )


# --- approving new hooks


def note_reach(config_file: DeclarationFile, report: CommandReport) -> None:
    """Report that a project's new config file outside a git repository applies in its own directory only."""
    in_repository = os.path.lexists(os.path.join(config_file.root, ".git"))
    if config_file.is_new and config_file.layer == "project" and not in_repository:
        report.note("not a git repository: the hooks run in this directory, but not in the directories below it")


def approve_written(
    root: str,
    names: Collection[str],
    changes: Iterable[FileChange],
    report: CommandReport,
    *,
    changed: Collection[str] = (),
) -> bool:
    """Approve the hooks that a command has written for the project at `root`; return whether all are approved.

    The user at the terminal has asked for them and is not asked again. Others may have written a file that the command
    did not, a file with defaults, or an older hook that was only `changed`: these are shown and asked about. Without a
    terminal, or if an agent runs the command, nothing is approved.
    """
    from hookrun.cli.trust import UNDECIDED, approved_texts, review  # completion of the commands above needs none of it

    written = {os.path.realpath(each.path): each.after for each in changes}
    project = report.at.project(root)
    hooks = [found for found in project.hooks() if found.hook.name in {*names, *changed}]
    undecided = [found for found in hooks if found.state in UNDECIDED]
    approved = [found.hook.name for found in hooks if found.state == "approved"]
    report.add_approvals(approved, [found.hook.name for found in hooks if found.state != "approved"])
    if not undecided:
        return len(approved) == len(hooks)
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
    """Return whether the hook's declaration and files are as the command wrote them."""
    from hookrun.config.config_file import load_file

    source = os.path.realpath(found.hook.source)
    if source not in written or load_file(source, found.hook.layer).defaults:
        return False
    root = os.path.realpath(project.root)
    paths = [source, *(os.path.realpath(file.path) for file in found.inspection.files)]
    counted = [path for path in paths if is_within(path, root) or not path.startswith(SYSTEM)]
    as_written = all(path in written and read_or_none(path) == written[path] for path in counted)
    return as_written and project.inspect(found.hook).digest == found.digest
