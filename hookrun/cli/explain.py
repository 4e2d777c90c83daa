"""`hookrun explain`: why a hook runs or does not, for each that is declared, before anything is run."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from hookrun import context as contexts
from hookrun.cli import FAILED, INTERRUPTED, painted
from hookrun.cli.asked import Asked, agent_named, asked, canonical_event, context_options
from hookrun.cli.declared import here, home_of, options
from hookrun.cli.told import cannot_be_told, first_line, hook_lines, known_answer, other_lines
from hookrun.cli.whereabouts import Whereabouts
from hookrun.config.discovery import claude_directory
from hookrun.foresee import Foresight
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.approvals import Approvals, UserDecisions

if TYPE_CHECKING:
    from hookrun.foresee import Fate
    from hookrun.model import Hook

EXAMPLES = """\b
Examples:
  hookrun explain pre_tool_use
  hookrun explain pre_tool_use --tool bash --arg "command=git push --force"
  hookrun explain PreToolUse --agent claude --ctx message.json --run
  hookrun explain stop --hook run-tests --json

Nothing is run without --run. Exit status: 0 it is explained, 1 it cannot be.
"""


@click.command(name="explain", epilog=EXAMPLES)
@click.argument("event")
@context_options
@click.option("--agent", metavar="NAME", help="As this agent fires it; --ctx may be a message of its own.")
@click.option("--hook", "name", metavar="NAME", help="Let the first line be about this hook.")
@click.option("--run", "running", is_flag=True, help="Run them as a fire would, and show what comes of it.")
@options
@click.pass_context
def command(
    ctx: click.Context,
    event: str,
    *,
    agent: str | None,
    config: str | None,
    home: str | None,
    name: str | None,
    source: str | None,
    tool: str | None,
    args: tuple[str, ...],
    running: bool,
    as_json: bool,
) -> None:
    """Say which of the declared hooks would run at EVENT, and of every other why not. The first line is the answer.

    What is not given is not known: a hook may then depend on it. An agent's fire is what is looked at, which asks for
    approval; with --run and without --agent it is a person's own, as `hookrun fire` is.
    """
    where = Whereabouts(here(), home_of(home), config)
    by = agent_named(agent)
    question = asked(canonical_event(event, where.declarations.events, by), by, source, tool, args)
    told = Explanation(question, home_of(home), config, name, running=running)
    report = told.json()
    lines = told.lines()
    status = FAILED if told.where.declarations.problems else 0
    if running:
        from hookrun.cli.really import run  # only where hooks are run

        ran = run(told)
        report["answer"], report["run"] = ran.first_line() or report["answer"], ran.json()
        lines = ran.among(lines)
        status = INTERRUPTED if ran.interrupted else status
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        painted.tell(lines)
    ctx.exit(status)


class Explanation:
    """What is declared here, and the fate of each hook of the event in each context that is asked about.

    `running` tells that the hooks are run besides; a `person` does that themselves where no agent is named, and is not
    asked for approval.
    """

    def __init__(self, question: Asked, home: str, config: str | None, hook: str | None, *, running: bool) -> None:
        self.asked = question
        self.home = home
        self.config = config
        self.running = running
        self.person = running and question.agent is None
        claude = claude_directory(home) if self.person else None
        self.where = Whereabouts(question.directory or here(), home, config, claude=claude)
        self.declared = [each for each in self.where.declarations.hooks if question.event in each.events]
        self.hook = hook if hook is None else self._named(hook)
        self.fates = [self._fates(fields) for fields in question.fields]

    def _named(self, name: str) -> str:
        """Return the name of a hook that is declared here. Raises click.ClickException for any other."""
        names = [each.name for each in self.where.declarations.hooks]
        if name not in names:
            raise click.ClickException(self.where.no_hook(name, names))
        return name

    def _fates(self, fields: dict[str, object]) -> list[Fate]:
        context = contexts.with_defaults(fields, self.asked.event, "", self.where.cwd)
        settings = self.where.declarations.settings
        around = HookEnvironment(
            context,
            project=self.where.project,
            request_id="",
            project_env_policy=settings.get("project_env_policy"),
            home=self.home,
        )
        kind = UserDecisions if self.person else Approvals
        trust = kind(self.home, self.where.project, around, settings)
        return Foresight(trust, around, self._skipped).of(self.declared, context, self.asked.known)

    def _skipped(self, hook: Hook) -> str | None:
        names = os.environ.get("HOOKRUN_SKIP", "") if self.asked.agent is None else ""
        if hook.name in {each.strip() for each in names.split(",")}:
            return "HOOKRUN_SKIP names it (which counts for `hookrun fire`, not for an agent)"
        return None

    @property
    def all_known(self) -> bool:
        """Whether the whole context was given."""
        return "session_id" in self.asked.known

    def lines(self) -> list[painted.Line]:
        """Return what a person reads, the answer first."""
        lines = [(first_line(self), painted.STRONG)]
        lines += [(f"  note: {note}", painted.DOUBTFUL) for note in (*self.asked.notes, *self._notes())]
        lines += [(f"  {layer} declarations: {path}", painted.QUIET) for layer, path in self.where.files]
        for number, fates in enumerate(self.fates):
            if len(self.fates) > 1:
                about = self.asked.fields[number].get("file_path") or self.asked.fields[number].get("tool_name")
                lines.append((f"  call {number + 1} of {len(self.fates)}, {about}:", painted.STRONG))
            lines += hook_lines(fates)
        return [*lines, *other_lines(self)]

    def _notes(self) -> list[str]:
        problems = self.where.declarations.problems
        notes = [f"trouble: {each}" for each in problems]
        if self.declared and not self.all_known:
            notes.append("no whole context was given (--ctx): what depends on the rest of it is named")
        if self.person:
            notes.append("this is a person's own fire: an agent's runs a project's hooks only if they are approved")
        return notes

    def json(self) -> dict[str, object]:
        """Return all of it for programs."""
        return {
            "event": self.asked.event,
            "agent": self.asked.agent.NAME if self.asked.agent is not None else None,
            "answer": first_line(self),
            "files": [path for _, path in self.where.files],
            "problems": self.where.declarations.problems,
            "calls": [[_fate_to_json(n, fate) for n, fate in enumerate(fates, 1)] for fates in self.fates],
            "others": self.where.others(self.asked.event),
            **self._agents_to_json(),
        }

    def _agents_to_json(self) -> dict[str, object]:
        agent = self.asked.agent
        if agent is None:
            return {}
        return {"told": known_answer(self, agent), "degraded": dict(cannot_be_told(self, agent))}


def _fate_to_json(order: int, fate: Fate) -> dict[str, object]:
    hook = fate.hook
    return {
        "order": order,
        "name": hook.name,
        "state": fate.state,
        "why": fate.why or None,
        "depends": fate.depends,
        "failure": fate.failure.kind if fate.failure is not None else None,
        "on_failure": hook.on_failure,
        "layer": hook.layer,
        "priority": hook.priority,
        "trust": fate.trust or None,
        "source": hook.source,
        "line": hook.line,
    }
