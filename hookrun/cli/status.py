"""Show the current state: `list` the hooks, `status` hooks and agents, `doctor` faults and remedies."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

import click

from hookrun import __version__
from hookrun.agents import AGENTS
from hookrun.agents.grades import ENFORCED, grades
from hookrun.cli.commands import (
    FAILED,
    Workspace,
    agents_named,
    command,
    hooks_named,
    json_options,
    undoing,
)
from hookrun.cli.config_command import to_json
from hookrun.cli.event_query import ConfigSources
from hookrun.cli.log_filter import RunFilter
from hookrun.cli.printing import (
    CONFIG_ERRORS,
    Line,
    count,
    print_json,
    print_line,
    print_lines,
    print_problems,
    print_table,
    print_wrapped,
)
from hookrun.config.approved_guards import is_guard
from hookrun.config.load import Declarations
from hookrun.core import audit_reader
from hookrun.core.credentials import redact
from hookrun.core.events import ALIASES, WITH_TOOL, resolve_event
from hookrun.core.files import relative_path
from hookrun.core.model import UNTRUSTED_LAYERS, Hook
from hookrun.core.state import home_directory
from hookrun.doctor.agent_state import (
    NOTE,
    OK as ALL_WELL,
    PROBLEM,
    AgentState,
    Finding,
    inspect_agents,
    states,
    where_unconnected,
)
from hookrun.doctor.checks import CHECKS
from hookrun.doctor.own_settings import check_managed_wiring, obstacles
from hookrun.launch.running import describe, running_servers
from hookrun.trust.approvals import described, is_in_force
from hookrun.trust.project import Project
from hookrun.trust.store import StoreError
from hookrun.wiring import committed

HOOK_COLUMNS = ("NAME", "EVENT", "MATCHER", "STATE", "FILE")
# Hook states that `hookrun trust` asks about.
TO_APPROVE = ("not approved", "changed")
# Hook states that need nothing of the user.
NEED_NO_CARE = {"ready", "advise", "off"}
# The state of a hook whose event an agent does not send to hookrun.
NOT_CONNECTED = "not connected"
# Hook state -> its terminal style; any other is a warning.
STATE_STYLES = {"ready": "ok", "advise": "warning", "error": "error", "disabled": "dim", "off": "dim"}
# States in which an agent does not run an enabled hook.
UNAPPROVED = ("new", "changed", "cannot be approved")

# Check -> its displayed name if it differs from that in JSON.
CHECK_NAMES = {
    "also fired by": "other agents",
    "declared": "events",
    "declarations": "config",
    "fired": "last run",
    "limits": "timeouts",
    "twice": "duplicates",
    "wired": "installed",
}

LEVEL_STYLES = {f"  {PROBLEM}": "error", f"  {NOTE}": "warning", f"  {ALL_WELL}": "ok"}


# --- hookrun list


@command("list", "list", "list --event PreToolUse", "list --hook guard --json")
@click.option("--hook", metavar="NAME", help="Only this hook.")
@click.option("--event", metavar="EVENT", help="Only the hooks of this event, by any of its names.")
@click.option("--agent", metavar="NAME", help="Only the hooks that run in this agent.")
@json_options
def list_command(at: Workspace, *, as_json: bool, **filters: str | None) -> int:
    """List the hooks that are configured here, in the order in which they run. Runs nothing.

    hookrun config show has all their fields.
    """
    project = at.project()
    declarations = project.declarations
    wanted = {name: value for name, value in filters.items() if value is not None}
    hooks = _selected(declarations, **wanted)
    agents = states(at.location, declarations)
    unconnected = [where_unconnected(each, agents) for each in hooks]
    decisions, shown, errors = _inspect_hooks(hooks, project, unconnected)
    problems = [*declarations.problems, *errors]
    if as_json:
        undecided = {"trust": None, "off": None}
        report = {
            "root": declarations.root,
            "files": declarations.files,
            "events": declarations.events,
            "settings": {name: value for name, value in declarations.settings.items() if name != "claude_env"},
            "problems": declarations.problems,
            "hooks": [
                {**to_json(each), **undecided, **made, "not_connected": list(missing)}
                for each, made, missing in zip(hooks, decisions, unconnected, strict=True)
            ],
        }
        print_json(report)
    elif wanted and not hooks:
        print_line(f"no hooks match {' '.join(f'--{name} {value}' for name, value in wanted.items())}")
    elif hooks:
        rows = list(map(_row, hooks, shown))
        print_table(HOOK_COLUMNS, rows, styles={row[3]: STATE_STYLES.get(row[3], "warning") for row in rows})
        if sys.stdout.isatty() and (waiting := sum(row[3] in TO_APPROVE for row in rows)):
            print_lines([("", ""), (f"{count(waiting, 'hook')} to approve: run `hookrun trust`", "warning")])
        for line in _remedies(agents, unconnected):
            print_wrapped(line, style="warning")
    elif not problems:
        print_line(f"no hooks are configured here: run `hookrun init`{ConfigSources(at).overlooked()}")
    if not as_json:
        ConfigSources(at).warn_not_run()
    print_problems([*problems, *(each.error for each in hooks if each.error is not None)])
    return FAILED if problems else 0


def _selected(
    declarations: Declarations, hook: str | None = None, event: str | None = None, agent: str | None = None
) -> list[Hook]:
    hooks = declarations.hooks if hook is None else hooks_named(hook, declarations.hooks, declarations.problems)
    if event is not None:
        event = resolve_event(event, declarations.events)
        hooks = [each for each in hooks if event in each.events]
    if agent is not None:
        name = agents_named([agent])[0].NAME
        hooks = [each for each in hooks if each.agents is None or name in each.agents]
    return hooks


def _remedies(agents: Sequence[AgentState], unconnected: Sequence[Mapping[str, list[str]]]) -> Iterator[str]:
    """Yield for each agent that does not call hooks how to connect it, and for which events."""
    for agent in agents:
        events = list(dict.fromkeys(event for each in unconnected for event in each.get(agent.agent.NAME, ())))
        if events:
            yield f"{NOT_CONNECTED}: {agent.remedy()} (for {', '.join(events)})"


def _inspect_hooks(
    hooks: Sequence[Hook], project: Project, unconnected: Sequence[Mapping[str, list[str]]]
) -> tuple[list[dict[str, str]], list[str], list[str]]:
    """Return the decisions about each hook (`trust`, and `off` if it is disabled), its state, and any error.

    `unconnected` are the agents that do not call each. If the decisions cannot be read, no hook of a project counts as
    approved.
    """
    try:
        decisions = [_decisions(each, project) for each in hooks]
    except StoreError as error:
        decisions = [{"trust": "unknown"} if each.layer in UNTRUSTED_LAYERS else {} for each in hooks]
        return [{} for _ in hooks], list(map(_state, hooks, decisions, unconnected)), [str(error)]
    return decisions, list(map(_state, hooks, decisions, unconnected)), []


def _decisions(hook: Hook, project: Project) -> dict[str, str]:
    decisions = {"trust": project.inspect(hook).state} if hook.layer in UNTRUSTED_LAYERS else {}
    off = project.why_off(hook)
    return decisions if off is None else {**decisions, "off": off}


def _state(hook: Hook, decisions: Mapping[str, str], unconnected: Collection[str]) -> str:
    trust = decisions.get("trust", "")
    if hook.error is not None:
        return "error"
    if hook.mode == "off":
        return "off"
    if trust not in ("", "approved"):
        return "not approved" if trust == "new" else trust
    state = NOT_CONNECTED if unconnected else "ready" if hook.mode == "enforce" else hook.mode
    return decisions.get("off") or state


def _row(hook: Hook, state: str) -> list[str]:
    file = relative_path(hook.source) if hook.source else "-"
    return [hook.name, ", ".join(hook.events), _matcher(hook), state, file]


def _matcher(hook: Hook) -> str:
    if hook.claude is None:
        any_tool = "any" if any(event in WITH_TOOL or event not in ALIASES for event in hook.events) else "-"
        return "|".join(hook.matcher) if hook.matcher is not None else any_tool
    rule = f" if {hook.claude.rule}" if hook.claude.rule else ""
    return f"{hook.claude.matcher or 'any'}{rule}"


# --- hookrun status


@command(
    "status",
    "status",
    "status --json",
    note="Exit status: 0 shown, 1 the config or the approvals have errors.",
)
@json_options
def status_command(at: Workspace, *, as_json: bool) -> int:
    """Show agents, hooks, approvals, what is disabled, the last run and each guard on one screen. Runs no hook."""
    runs = RunFilter(at, {})
    project = at.project()
    hooks = project.declarations.hooks
    errors = [*project.declarations.problems, *(each.error for each in hooks if each.error)]
    known = _inspected(at)
    agents = [agent for agent in known if agent.is_here or agent.scopes]
    unconnected = [where_unconnected(each, known) for each in hooks]
    states_of = _inspect_hooks(hooks, project, unconnected)[1]
    by_state = Counter(states_of)
    by_state += Counter({"kept as approved": len(project.kept() - {hook.name for hook in hooks})})  # if there are any
    try:
        off = [each for each in project.store.disabled if is_in_force(each) and each["root"] in ("", project.root)]
    except StoreError as error:
        off = []
        errors.append(str(error))
    to_approve = sum(by_state[state] for state in TO_APPROVE)
    last, shown, guards = None, "unknown", []
    from hookrun.cli.guards import COLUMNS, NEVER_SILENT, guard_row, guard_states  # reads tests as well, unlike `list`

    try:
        last = _last_run(runs)
        shown = _run(last)
        guards = guard_states(zip(hooks, states_of, map(bool, unconnected), strict=True), runs, project)
    except OSError as error:
        errors.append(f"cannot read {error.filename}: {error.strerror}; correct its permissions")
    if as_json:
        print_json(
            {
                "version": __version__,
                "project": project.root,
                "agents": [{**each.to_json(), **each.connection, "switched_off": obstacles(each)} for each in agents],
                "hooks": dict(by_state),
                "to_approve": to_approve,
                "guards": guards,
                "not_run": [each._asdict() for each in ConfigSources(at).not_run()],
                "missing_guards": [each.hook.name for each, _ in project.missing()],
                "disabled": [{"hook": each["name"], "until": each["until"]} for each in off],
                "servers": running_servers(at.home),
                "last_run": last,
                "problems": errors,
            }
        )
    else:
        lines = [*_lines(project, agents, by_state, to_approve, "" if by_state else ConfigSources(at).overlooked())]
        lines += [(f"{'':<11}{line}", "warning") for line in _remedies(known, unconnected)]
        for each in off:
            line = f"{'off':<11}{each['name'] or 'all hooks'} {described(each)}; `{undoing(each['name'])}` ends that"
            lines.append((line, "warning"))
        well, server = describe(at.home)
        lines += [(f"server     {server}", "" if well else "warning")] if server else []
        for text, style in [*lines, (f"last run   {shown}", "")]:
            print_wrapped(text, " " * 11, style)
        if guards:
            rows = list(map(guard_row, guards))
            styles = {row[1]: STATE_STYLES.get(row[1], "warning") for row in rows}
            styles |= {row[-1]: "warning" for row in rows if not row[-1].startswith(NEVER_SILENT)}
            click.echo()
            print_table(COLUMNS, rows, styles=styles, wrap=True)
        ConfigSources(at).warn_not_run()
        print_problems(errors)
    return FAILED if errors else 0


def _last_run(runs: RunFilter) -> dict[str, object] | None:
    for run in filter(lambda each: each.fire is not None, runs.selected()):
        header = run.header
        fields = {name: header.get(name) for name in ("time", "event", "agent", "action", "request_id")}
        fields["action"] = fields["action"] or header.get("answered")  # without a verdict, the agent's answer
        return {**fields, "hook": next((each.get("hook") for each in run.deciding), None)}
    return None


def _lines(
    project: Project, agents: list[AgentState], numbers: Counter[str], to_approve: int, overlooked: str
) -> Iterator[Line]:
    home = f"{home_directory()}/"
    where = f"~/{project.root.removeprefix(home)}" if project.root.startswith(home) else project.root
    yield f"hookrun {__version__} in {where}", ""
    for index, agent in enumerate(agents):
        text, style = _agent(agent)
        yield f"{'' if index else 'agents':<11}{text}", style
        yield from ((f"{'':<11}  does not run hooks: {found}", "error") for found in obstacles(agent))
        yield from ((f"{'':<11}  {each.found}: {each.remedy}", "warning") for each in check_managed_wiring(agent))
    if not agents:
        yield "agents     none found: `hookrun help agents` lists the supported ones", "warning"
    by_state = ", ".join(f"{number} {state}" for state, number in numbers.most_common())
    if not numbers:
        by_state = CONFIG_ERRORS if project.declarations.problems else "`hookrun init` or `hookrun add` adds the first"
    style = "error" if numbers["error"] else "warning" if not numbers.keys() <= NEED_NO_CARE else ""
    yield f"hooks      {numbers.total()}: {by_state}{overlooked}", style
    if to_approve:
        yield f"approvals  {count(to_approve, 'hook')} to approve: run `hookrun trust`", "warning"
    yield from ((f"approvals  {note}", "warning") for note in project.missing_notes())


def _agent(agent: AgentState) -> Line:
    version = "(not on PATH)" if agent.installed is None else agent.version or ""
    name = f"{agent.agent.NAME} {version}".strip()
    if agent.unreadable:
        return f"{name:<20} settings cannot be read: `hookrun doctor {agent.agent.NAME}`", "error"
    if not agent.scopes:
        return f"{name:<20} not connected: run `hookrun install {agent.agent.NAME}`", "warning"
    missing = agent.missing_events
    more = f", {count(len(missing), 'event')} missing: run `hookrun install {agent.agent.NAME}`" if missing else ""
    grade = grades(agent.agent)["block a tool"]
    more = f"{more}, a block of a tool is {grade}" if grade != ENFORCED else more
    by_hand = [scope for scope in agent.scopes if any(not each.command.is_ours for each in agent.wired[scope])]
    scopes = " and ".join(f"{scope}, by hand" if scope in by_hand else scope for scope in agent.scopes)
    narrowed = "".join(f", {each.event} only for {each.only}" for each in agent.all_wired if each.only)
    return f"{name:<20} connected ({scopes}){narrowed}{more}", "warning" if missing or narrowed else "ok"


def _run(last: dict[str, object] | None) -> str:
    if last is None:
        return "none"
    by = f" by {last['hook']}" if last["hook"] else ""
    agent = f" in {last['agent']}" if last["agent"] else ""
    result = f"{last['action'] or 'no verdict'}{by}"
    return redact(f"{audit_reader.local_time(last['time'], with_date=True)}  {last['event']}{agent}: {result}") or ""


def _inspected(at: Workspace, names: Iterable[str] = AGENTS) -> list[AgentState]:
    return inspect_agents(agents_named(names), at.location, at.load(for_agents=True).declarations)


# --- hookrun doctor


@command(
    "doctor", "doctor", "doctor claude --prove", note="Exit status: 0 no problems (there may be notes), 1 problems."
)
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@click.option(
    "--prove",
    "proving",
    is_flag=True,
    help="Send recorded messages through the installed commands to a probe, and calls to each guard: one that it must "
    "block, ten that must pass.",
)
@click.option("--measure", "measuring", is_flag=True, help="Measure what the agents do with hooks, instead.")
@json_options
def doctor_command(agents: tuple[str, ...], at: Workspace, *, proving: bool, measuring: bool, as_json: bool) -> int:
    """Check whether the hooks declared here will run in each agent, and if not, show why and what to do.

    Without a name: every agent on this machine. Of your hooks, only --prove runs the guards; no call is executed.
    """
    if measuring:
        from hookrun.cli.conformance import measure_installed  # a package of its own

        return measure_installed(agents, as_json=as_json)
    inspected = _inspected(at, agents or AGENTS)
    unapproved, undecided = _unapproved(at)
    settings = committed.configured(at.load(for_agents=True).files)
    for agent in inspected:
        agent.unapproved, agent.undecided, agent.configured = unapproved, undecided, settings
    shown = [agent for agent in inspected if agents or agent.is_here]
    if proving:
        from hookrun.cli.guards import prove_guards  # rarely needed
        from hookrun.doctor.prove import prove
    guards, root = _guards(at) if proving else ([], "")
    examined = []
    for agent in shown:
        findings = [finding for check in CHECKS for finding in check(agent)]
        findings += (*prove(agent), *prove_guards(agent, guards, root)) if proving else ()
        examined.append((agent, findings))
    problems = ConfigSources(at).problems if not examined else []  # else each agent's checks have them
    wrong = bool(problems) or any(finding.level == PROBLEM for _, findings in examined for finding in findings)
    if as_json:
        report = [{**agent.to_json(), "findings": list(map(asdict, found))} for agent, found in examined]
        print_json({"ok": not wrong, "agents": report, "problems": problems})
    else:
        for agent, findings in examined:
            _print_findings(agent, findings)
        if not examined:
            click.echo(f"no coding agent found on PATH (supported: {', '.join(AGENTS)})")
        ConfigSources(at).warn_not_run()
        print_problems(problems)
    return FAILED if wrong else 0


def _guards(at: Workspace) -> tuple[list[Hook], str]:
    """Return the guards of tool calls that are in force here, and the project's root."""
    project = at.project()
    guards = [each for each in project.declarations.hooks if is_guard(each) and "pre_tool_use" in each.events]
    states = _inspect_hooks(guards, project, [{} for _ in guards])[1]
    return [each for each, state in zip(guards, states, strict=True) if state == "ready"], project.root


def _unapproved(at: Workspace) -> tuple[dict[str, str], str | None]:
    """Return the project's hooks that agents skip as unapproved, or the trust store's error."""
    try:
        hooks = at.project().hooks()
    except StoreError as error:
        return {}, str(error)
    enabled = [each for each in hooks if each.hook.mode != "off"]
    return {each.hook.name: each.state for each in enabled if each.state in UNAPPROVED}, None


def _print_findings(agent: AgentState, findings: list[Finding]) -> None:
    problems = [each.found for each in findings if each.level == PROBLEM]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    result = f"{problems[0]}{more}" if problems else "no problems"
    rows = []
    for each in findings:
        rows.append((f"  {each.level}", CHECK_NAMES.get(each.check, each.check), each.found))
        if each.cause:
            rows.append(("", "", each.cause))
        if each.remedy:
            rows.append(("", "", f"hint: {each.remedy}"))
    missing = f"({agent.agent.INSTALL['program']} is not on PATH)"
    version = missing if agent.installed is None else agent.version or "(unknown version)"
    title = f"{agent.agent.NAME}: {agent.agent.DISPLAY_NAME} {version}: {result}"
    print_table((), rows, title=title, styles=LEVEL_STYLES, wrap=True)
