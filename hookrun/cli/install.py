"""Connect hookrun to coding agents and disconnect it: `hookrun install` and `uninstall`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import click

from hookrun.agents import AGENTS
from hookrun.agents.types import Agent
from hookrun.cli.commands import (
    agents_named,
    command,
    report_options,
    user_is_present,
)
from hookrun.cli.connecting import connect, connect_missing, warn_of_lines_by_hand
from hookrun.cli.printing import CommandReport, choose, confirm, is_interactive
from hookrun.cli.trust import UNDECIDED, review
from hookrun.config.load import Declarations
from hookrun.core.files import relative_path
from hookrun.core.state import CACHE_DIR, CONFIG_DIR, DATA_DIR, STATE_DIR
from hookrun.doctor.agent_state import states
from hookrun.edit import file_change
from hookrun.edit.file_change import FileError
from hookrun.launch.server_socket import end_server, servers
from hookrun.trust.project import refuse_if_run_by_agent
from hookrun.trust.store import StoreError
from hookrun.wiring import committed, launchers, plan
from hookrun.wiring.ledger import Ledger
from hookrun.wiring.plan import InstallChange, InstallRequest
from hookrun.wiring.targets import SCOPES
from hookrun.wiring.wired_command import BLOCK, WARN, this_program

FIRST, SECOND, *_ = AGENTS

scope_option = click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="user",
    show_default=True,
    help="Your own settings, the project's, or the administrator's.",
)
all_option = click.option("--all", "everywhere", is_flag=True, help="Every agent found, without asking.")


# --- hookrun install


@command(
    "install",
    "install",
    f"install {FIRST} {SECOND}",
    "install --all --dry-run",
    f"install {FIRST} --scope project --when-missing block",
    f"install {SECOND} --trust          (without a terminal)",
    note="Exit status: 0 installed, 1 an agent is not connected, or will not run the hooks yet.",
)
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@all_option
@scope_option
@click.option("--all-events", is_flag=True, hidden=True)  # also those that are sent often and have no hook here
@click.option(
    "--when-missing",
    type=click.Choice((WARN, BLOCK)),
    help="With --scope project: what to do where hookrun is not installed; default the present setting, else warn.",
)
@click.option("--trust", is_flag=True, help="Mark hookrun's hooks as trusted in agents that ask for it.")
@click.option("--from-here", is_flag=True, hidden=True)  # from a cache or temporary directory; an error proposes it
@report_options
def install_command(
    agents: tuple[str, ...], scope: str, report: CommandReport, *, everywhere: bool, trust: bool, **options: Any
) -> None:
    """Connect hookrun to your coding agents, by entries in their settings.

    Without a name: choose from the agents on this machine. With --scope project the entries are for everyone who works
    in the project, without a path of this machine. With --scope managed, as root, they are for every user of the
    machine, who cannot remove them.

    Then review and approve the project's hooks, if there are new ones.
    """
    if options["when_missing"] is not None and scope != "project":
        raise click.UsageError("--when-missing is only for --scope project")
    chosen = _chosen_agents(agents, installed_agents, report, "install", everywhere=everywhere)
    connect(chosen, scope, report, trust=trust, **options)
    if not report.dry_run:
        review_hooks(report)


def installed_agents() -> list[Agent]:
    """Return the agents whose program is on PATH."""
    return [agent for agent in agents_named(AGENTS) if shutil.which(agent.INSTALL["program"]) is not None]


def _chosen_agents(
    names: tuple[str, ...], find: Callable[[], list[Agent]], report: CommandReport, verb: str, *, everywhere: bool
) -> list[Agent]:
    """Return the agents named, all that `find` returns, or the user's choice from these.

    Raises click.UsageError, and click.ClickException if there are none to choose from.
    """
    if names and everywhere:
        raise click.UsageError("give names or --all, not both")
    if names:
        return agents_named(names)
    found = find()
    if not found:
        where = "on PATH" if verb == "install" else "with hookrun installed"
        hint = f"name one: `hookrun {verb} {FIRST}`; `hookrun help agents` lists all"
        raise click.ClickException(f"no coding agent found {where}\nhint: {hint}")
    if everywhere:
        return found
    known = [agent.NAME for agent in found]
    if report.as_json or not is_interactive():
        raise click.UsageError(f"no agent named; found: {', '.join(known)}\nhint: name some, or give --all")
    return choose_agents("Agents to connect" if verb == "install" else "Agents to disconnect", found)


def choose_agents(question: str, found: list[Agent]) -> list[Agent]:
    """Ask which of the agents to take."""
    names = {agent.NAME: agent.DISPLAY_NAME for agent in found}
    return agents_named(choose(question, ("AGENT", ""), [*names.items()], names))


def review_hooks(report: CommandReport) -> bool:
    """Ask about unapproved hooks or warn of them; return whether all are approved."""
    project = report.at.project()
    try:
        hooks = project.hooks()
    except StoreError as error:  # the agents are installed all the same
        report.warn(str(error))
        return False
    undecided = [found for found in hooks if found.state in UNDECIDED]
    approved = [found.hook.name for found in hooks if found.state == "approved"]
    report.add_approvals(approved, [found.hook.name for found in undecided])
    if undecided and user_is_present(report):
        hooks = review(project, undecided)
        connect_missing(report)
        return not any(found.state in UNDECIDED for found in hooks)
    if undecided:
        names = ", ".join(found.hook.name for found in undecided)
        blocking = ", ".join(found.hook.name for found in undecided if found.hook.on_failure == "block")
        note = f"\nnote: until then, these block every matching call: {blocking}" if blocking else ""
        report.warn(f"not approved yet, so agents do not run them: {names}{note}\nhint: run `hookrun trust`")
    return not undecided


# --- hookrun uninstall


# What an account has besides the entries in agents' settings, removed in this order: the approvals first.
OWN_DIRECTORIES = {
    DATA_DIR: "approvals, disabled hooks, launchers",
    STATE_DIR: "the log, the state of recipes, backups of settings",
    CACHE_DIR: "compiled config",
}


@command(
    "uninstall",
    "uninstall",
    f"uninstall {FIRST}",
    f"uninstall {SECOND} --scope project --dry-run",
    "uninstall --purge --dry-run",
)
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@all_option
@scope_option
@click.option("--purge", is_flag=True, help="Remove all that hookrun keeps for your account: approvals and log, too.")
@click.option("--yes", is_flag=True, help="With --purge: do not ask.")
@report_options
def uninstall_command(
    agents: tuple[str, ...], scope: str, report: CommandReport, *, everywhere: bool, purge: bool, yes: bool
) -> None:
    """Remove hookrun from coding agents' settings.

    Without a name: choose from the agents it is installed in. A file that has not changed since the installation is
    restored byte for byte.

    With --purge: from your settings of every agent, then the launchers, approvals, log and cache, after showing them.
    Your own config and what repositories have stay.
    """
    location, program = report.at.location, this_program()

    def connected() -> list[Agent]:
        found = states(location, Declarations())
        return [each.agent for each in found if scope in each.unreadable or each.ours(scope)]

    if purge:
        if agents or everywhere or scope != "user":
            raise click.UsageError("--purge takes no AGENT, --all or --scope: it is about all of your account")
        home = location.home
        chosen, present = connected(), [home + each for each in OWN_DIRECTORIES if os.path.lexists(home + each)]
        if not _agreed(chosen, present, report, yes=yes):
            return
    elif yes:
        raise click.UsageError("--yes is only for --purge")
    else:
        chosen, present = _chosen_agents(agents, connected, report, "uninstall", everywhere=everywhere), []
    # the last first: an agent's directory may be in one that an earlier installation made
    for agent in reversed(chosen):
        try:
            request = InstallRequest(agent, scope, location, program)
            if (kept := launchers.why_kept(request, _uninstall(request, report))) is not None:
                (report.fail if purge else report.warn)(kept)
        except FileError as error:
            report.fail(f"{agent.NAME}: {error}")
    if purge:
        _remove_directories(present, location.home, report)


def _agreed(chosen: list[Agent], present: list[str], report: CommandReport, *, yes: bool) -> bool:
    """Show what a purge removes; return whether to do it. Raises click.UsageError where no user can be asked."""
    home = report.at.location.home
    if not (chosen or present):
        report.note("nothing to remove")
        return False
    for agent in chosen:
        report.note(f"removes the entries in the settings of {agent.DISPLAY_NAME}")
    for path in present:
        report.note(f"removes {relative_path(path)}: {OWN_DIRECTORIES[path.removeprefix(home)]}")
    if os.path.lexists(home + CONFIG_DIR):
        report.note(f"keeps {relative_path(home + CONFIG_DIR)}: your own hooks")
    if report.dry_run:
        return True
    refuse_if_run_by_agent("remove approvals and the log")
    if yes:
        return True
    if report.as_json or not is_interactive():
        raise click.UsageError("`--purge` asks at a terminal\nhint: `--yes` removes without asking")
    return confirm("Remove all of this?")


def _remove_directories(present: list[str], home: str, report: CommandReport) -> None:
    """Remove the account's directories, unless a file of an agent still starts what is in them."""
    left = [path for path, each in Ledger(home).entries.items() if "user" in each.scopes]
    if not report.dry_run and (left or not report.ok):
        named = ", ".join(map(relative_path, left)) or "these settings"
        report.fail(f"nothing else was removed: {named} may still start hookrun\nhint: remove its entries there")
        return
    report.add_removed(present)
    if report.dry_run:
        return
    for path, pid in servers(home):
        end_server(path, pid)
    for path in present:
        try:
            shutil.rmtree(path)
        except FileNotFoundError:  # with what was in it
            continue
        except OSError as error:
            report.fail(f"{relative_path(path)} cannot be removed: {error}")
    if report.ok:
        report.note("removed; now remove the program: `pipx uninstall hookrun` or `uv tool uninstall hookrun`")


def _uninstall(request: InstallRequest, report: CommandReport) -> list[InstallChange]:
    name, ledger = request.agent.NAME, Ledger(request.location.home)
    if report.dry_run:
        changes = plan.plan_uninstall(request, ledger)
        shared = [*launchers.plan_removal(request, ledger, changes), *committed.plan_removal(request, changing=True)]
        report.show_diff([*changes, *shared], f"{name}: nothing to change")
        return changes
    with ledger.locked():
        changes = plan.plan_uninstall(request, ledger)
        for each in reversed(changes):  # last file first, so that our directory is empty by then
            file_change.apply(each)
            plan.forget_original(each, ledger)
        # once no settings name it
        launcher: list[launchers.LauncherChange | committed.CommittedChange] = [
            *launchers.plan_removal(request, ledger, changes),
            *committed.plan_removal(request),
        ]
        for file in launcher:
            file.write()
    changed = [each for each in reversed(changes) if each.has_effect]
    files = ", ".join(relative_path(each.path) for each in changed or launcher)
    report.add_files([*changed, *launcher])
    done = f"removed from {files}" if changed else f"not in its settings, removed the leftover {files}"
    report.note(f"{name}: {done if files else 'not installed, nothing changed'}")
    warn_of_lines_by_hand(report, plan.wired_events(request), "hookrun still runs there")
    return changes
