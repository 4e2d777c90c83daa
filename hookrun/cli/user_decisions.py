"""User decisions: `hookrun disable`, `enable` and `allow`; approving new hooks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import click

from hookrun.cli.commands import (
    Workspace,
    command,
    hooks_named,
    in_workspace,
    json_options,
    parse_duration,
    undoing,
    user_is_present,
)
from hookrun.cli.printing import CommandReport, print_json, print_line, print_wrapped
from hookrun.core import audit, audit_reader
from hookrun.core.files import is_within, read_or_none, relative_path
from hookrun.core.model import UNTRUSTED_LAYERS, Hook
from hookrun.core.text import quote
from hookrun.trust import store as stores
from hookrun.trust.allowed_calls import SHORT_ID, forget, permissions, permit
from hookrun.trust.approvals import can_be_off, clock
from hookrun.trust.digest import SYSTEM
from hookrun.trust.project import (
    NotAllowedError,
    Project,
    ProjectHook,
    refuse_if_run_by_agent,
    require_terminal,
)
from hookrun.trust.store import MAX_TIME

if TYPE_CHECKING:
    from hookrun.edit.file_change import FileChange
    from hookrun.scaffold.declaration_file import DeclarationFile

# How long `hookrun disable --all` lasts by default.
PAUSE = "30m"
# Characters of a refusal's id that may identify it.
MIN_ID = 4
APPROVE_IT = "review and approve it; agents do not run it until then"
# The purpose of `hookrun trust` after a command has written hooks.
APPROVE_THEM = "review and approve the hooks; agents do not run them until then"


all_option = click.option("--all", "every", is_flag=True, help="All hooks, instead of HOOK.")


@command(
    "disable",
    "disable format-on-edit",
    "disable no-force-push --for 1h30m",
    f"disable --all --for 10m      (without a time: {PAUSE})",
    "enable format-on-edit",
)
@click.argument("hook", metavar="[HOOK]", required=False)
@all_option
@click.option("--for", "duration", metavar="TIME", help="Only for this time, such as 90s or 1h30m; at most 24h.")
@in_workspace
def disable_command(hook: str | None, duration: str | None, at: Workspace, *, every: bool) -> None:
    """Switch HOOK off for yourself, until you enable it or for a time; or all hooks for a time.

    Managed hooks stay on unless they are `overridable`. hookrun list and hookrun log show what is disabled, and every
    run says what is off only for a time.
    """
    project = at.project()
    hooks = _meant(hook, project, every=every)
    require_terminal("disable hooks")
    if hook is not None and not any(map(can_be_off, hooks)):
        raise click.ClickException(f"`{hook}` is managed: only {hooks[0].source} can switch it off")
    duration = PAUSE if every and duration is None else duration
    seconds = None if duration is None else _seconds(duration)
    for each in filter(can_be_off, hooks) if hook is not None else (None,):
        entry = project.disable(each, seconds)
        what = "all hooks except managed ones" if each is None else f"{each.name} ({_where(each)})"
        until = "" if entry["until"] is None else f" until {clock(entry['until'])}"
        print_wrapped(f"disabled {what}{until}; `{undoing(hook)}` ends that")
    from hookrun.cli.connecting import fit_agents  # all that knows agents' settings: completion needs none of it

    fit_agents(at)


@command("enable", "enable format-on-edit", "enable --all      (ends what disable --all has done)")
@click.argument("hook", metavar="[HOOK]", required=False)
@all_option
@in_workspace
def enable_command(hook: str | None, at: Workspace, *, every: bool) -> None:
    """End what hookrun disable has done: for HOOK, or with --all for all at once."""
    project = at.project()
    hooks = _meant(hook, project, every=every)
    refuse_if_run_by_agent("enable a hook")
    for each in hooks if hook is not None else (None,):
        was_off = project.enable(each)
        if each is None:
            print_line("enabled all hooks" if was_off else "nothing to do: hooks are not disabled by `--all`")
            continue
        needs_approval = each.layer in UNTRUSTED_LAYERS and project.inspect(each).state != "approved"
        more = "; approve it with `hookrun trust`" if was_off and needs_approval else ""
        print_wrapped(f"{'enabled' if was_off else 'not disabled:'} {each.name} ({_where(each)}){more}")
        if (why := project.why_off(each)) is not None:
            print_wrapped(f"it is still {why}: `hookrun enable --all` ends that")
    from hookrun.cli.connecting import fit_agents  # all that knows agents' settings: completion needs none of it

    fit_agents(at)


def _meant(hook: str | None, project: Project, *, every: bool) -> list[Hook]:
    """Return the hooks of a name: the project's, else yours, for a project must not choose which of yours is meant.

    Raises click.UsageError unless there is either a name or `--all`, and click.ClickException for an unknown name.
    """
    if every == (hook is not None):
        raise click.UsageError("give HOOK or --all")
    found = [] if hook is None else hooks_named(hook, project.declarations.hooks, project.declarations.problems)
    return [each for each in found if each.layer in UNTRUSTED_LAYERS] or found


def _seconds(duration: str) -> int:
    seconds = parse_duration(duration, units="smh")
    if seconds is None or not 0 < seconds <= MAX_TIME:
        hint = f"hint: write a time up to {MAX_TIME // 3600}h with s, m or h, such as {PAUSE}"
        raise click.ClickException(f"invalid time {quote(duration)} for `--for`\n{hint}")
    return seconds


def _where(hook: Hook) -> str:
    return f"{relative_path(hook.source)}:{hook.line}"


def let_removed_go(removed: Collection[str], report: CommandReport) -> None:
    """Let the approved guards go that the user has just removed, if that is the user, else say how."""
    project = report.at.project()
    gone = {guard.hook.name for guard, _ in project.missing()}.intersection(removed)
    if not gone:
        return
    try:
        require_terminal("let a guard go")
    except NotAllowedError:
        report.next_steps([("hookrun trust", "let it go; it stays in force until then")])
        return
    project.let_go(gone)


# --- letting a refused call through


@command("allow", "allow 3f2a91", "allow      (lists the calls that may still run)", "allow --forget 3f2a91")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--forget", "forgets", is_flag=True, help="Take it back: for these calls, or for all.")
@json_options
def allow_command(ids: tuple[str, ...], at: Workspace, *, as_json: bool, forgets: bool) -> None:
    """Let a refused call past the hook that refused it, once within 10 minutes. Other hooks still judge it.

    Without an ID, list the calls that may still run.

    The ID is in the refusal, in hookrun log and in hookrun why. Only the same call may run: the same tool, arguments,
    directory and project.
    """
    settings = at.load(for_agents=True).declarations.settings
    owners = stores.owners_in(settings)
    if forgets or not ids:
        shown = [each for each in permissions(at.home, owners) if not ids or str(each["call"]).startswith(ids)]
        for each in shown if forgets else ():
            forget(at.home, str(each["call"]))
    else:
        shown = [_refused(at, each) for each in dict.fromkeys(ids)]
        require_terminal("allow a call")
        for each in shown:
            each["until"] = permit(at.home, each, owners)
            about = {field: each.get(name) for name, field in audit.ABOUT}
            noted = {name: each[name] for name in ("hook", "call", "project")}
            audit.write(at.home, [audit.record(audit_reader.ALLOW, about, **noted)], settings.get("audit"))
    if as_json:
        print_json({"calls": shown})
        return
    for each in shown:
        until = float(str(each["until"]))
        state = "no longer allowed" if forgets else f"allowed once until {clock(until)}"
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
    hint = "`hookrun log --action block` shows some"
    raise click.ClickException(f"no refused call {quote(name)} in the log\nhint: {hint}")


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
