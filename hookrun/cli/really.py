"""`hookrun explain --run`: the hooks run as in a fire, kept in the audit as one, and what came of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hookrun.agents.reply import DEGRADATIONS
from hookrun.cli import painted
from hookrun.explain import said
from hookrun.fire.agent import AgentFire
from hookrun.fire.command import FireOptions
from hookrun.fire.invocation import EventFire, FireError, FireInvocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrun.agents.base import Message
    from hookrun.cli.asked import Asked
    from hookrun.cli.explain import Explanation
    from hookrun.model import Hook, HookResult, Outcome, Verdict

SHOWN = 2000
"""Characters of what a hook read or wrote that a person is shown; --json has all of it."""


class Ran:
    """What came of the fires: each with its verdict; `inputs` is what each hook read, by what came of it.

    `stdout` and `status` are what an agent got, `degraded` the names of what it could not be told. `interrupted` is the
    signal that ended it all, 0 for none.
    """

    def __init__(self, told: Explanation) -> None:
        self.told = told
        self.fires: list[tuple[EventFire, Verdict]] = []
        self.inputs: dict[int, bytes] = {}
        self.stdout = b""
        self.status = 0
        self.degraded: list[str] = []
        self.trouble: list[str] = []
        self.interrupted = 0

    def watch(self, jobs: list[tuple[Hook, bytes]], outcomes: list[Outcome]) -> None:
        """Keep what each hook read."""
        for (_, stdin), outcome in zip(jobs, outcomes, strict=True):
            self.inputs[id(outcome)] = stdin

    def take(self, command: FireInvocation) -> None:
        """Take over what is wrong with a fire as such."""
        self.trouble += [*command.problems, *command.warnings]
        self.interrupted = command.interrupted
        if self.interrupted:
            self.trouble.append(f"interrupted by signal {self.interrupted}: every hook was ended")

    @property
    def runs(self) -> list[HookResult]:
        """All runs of all fires."""
        return [run for fire, _ in self.fires if fire.chain is not None for run in fire.chain.runs]

    def first_line(self) -> str | None:
        """Return the answer: what it came to, and who ran; None where no hook did."""
        if not self.runs:
            return None
        return "; ".join(_answer(fire, verdict) for fire, verdict in self.fires)

    def among(self, lines: list[painted.Line]) -> list[painted.Line]:
        """Return the lines with what came of the run before them; where nothing ran, as they are."""
        first = self.first_line()
        beyond: list[painted.Line] = [(f"  trouble: {each}", painted.BAD) for each in self.trouble]
        if first is None:
            return [*lines, *beyond, *self._told_lines()]
        shown: list[painted.Line] = [(first, painted.STRONG), *beyond]
        for fire, verdict in self.fires:
            shown += self._fire_lines(fire, verdict)
        return [*shown, *self._told_lines(), ("  what was to be expected:", painted.STRONG), *lines[1:]]

    def _fire_lines(self, fire: EventFire, verdict: Verdict) -> Iterator[painted.Line]:
        for run in fire.chain.runs if fire.chain is not None else ():
            yield from self._run_lines(run)
        yield f"  verdict: {said(verdict)}", painted.STRONG
        if verdict.modified_args is not None:
            before, after = _arguments(fire)
            yield "  the arguments, as they were (-) and as they are now (+):", ""
            yield from painted.difference(before, after, "    ")

    def _run_lines(self, run: HookResult) -> Iterator[painted.Line]:
        outcome = run.outcome
        if run.failure is not None:
            yield f"  {run.name} failed: {run.failure.kind}: {run.failure.detail}", painted.BAD
        if _in_background(run):
            request = self._request_of(run)
            yield f"  {run.name} was started in the background: nobody waits for it, and it has no say", painted.GOOD
            yield from self._input_lines(run)
            yield f"      how it ends: hookrun why {request}", painted.QUIET
        if not _started(run):
            return
        again = " once more, on the changed arguments," if run.recheck else ""
        style = painted.BAD if run.failure else painted.GOOD
        yield f"  {run.name} ran{again} in {outcome.ms:.1f} ms: {said(run.verdict)}", style
        yield from self._input_lines(run)
        for title, data in (("output", outcome.stdout), ("stderr", outcome.stderr)):
            for line in _shown(data):
                yield f"      {title}: {line}", painted.QUIET
        if outcome.exit_code is not None:
            yield f"      exit status: {outcome.exit_code}", painted.QUIET
        for path in run.changed:
            yield f"      changed: {path}", painted.DOUBTFUL
        for note in run.notes:
            yield f"      note: {note}", painted.DOUBTFUL

    def _input_lines(self, run: HookResult) -> Iterator[painted.Line]:
        for line in _shown(self.inputs.get(id(run.outcome), b"")):
            yield f"      input: {line}", painted.QUIET

    def _request_of(self, run: HookResult) -> str:
        return next(fire.request_id for fire, _ in self.fires if fire.chain is not None and run in fire.chain.runs)

    def _told_lines(self) -> Iterator[painted.Line]:
        agent = self.told.asked.agent
        if agent is None:
            return
        for name in self.degraded:
            yield f"  degraded: {name}: {DEGRADATIONS[name]}", painted.DOUBTFUL
        yield f"  told to {agent.DISPLAY_NAME}, with exit status {self.status}:", painted.STRONG
        for line in _shown(self.stdout) or ["nothing"]:
            yield f"    {line}", ""

    def json(self) -> dict[str, object]:
        """Return all of it for programs."""
        return {
            "fires": [self._fire_to_json(fire, verdict) for fire, verdict in self.fires],
            "told": self.stdout.decode() if self.told.asked.agent is not None else None,
            "exit": self.status if self.told.asked.agent is not None else None,
            "degraded": self.degraded,
            "problems": self.trouble,
        }

    def _fire_to_json(self, fire: EventFire, verdict: Verdict) -> dict[str, object]:
        before, after = _arguments(fire)
        chain = fire.chain
        return {
            "event": fire.event,
            "request_id": fire.request_id,
            "verdict": verdict.to_dict(),
            "arguments": {"before": before, "after": after},
            "hooks": [
                {
                    **run.summary(),
                    "background": _in_background(run),
                    "input": _text(self.inputs.get(id(run.outcome), b"")),
                    "output": _text(run.outcome.stdout),
                    "stderr": _text(run.outcome.stderr),
                    "exit": run.outcome.exit_code,
                    "detail": run.failure.detail if run.failure is not None else None,
                    "verdict": run.verdict.to_dict(),
                    "changed": run.changed,
                    "notes": run.notes,
                }
                for run in (chain.runs if chain is not None else ())
            ],
        }


def run(told: Explanation) -> Ran:
    """Run what applies. Raises click.ClickException where hookrun itself cannot work."""
    ran = Ran(told)
    try:
        if told.asked.agent is None:
            _for_person(ran)
        else:
            _Really(ran).run()
    except FireError as error:
        raise click.ClickException(str(error)) from None
    return ran


def _for_person(ran: Ran) -> None:
    told = ran.told
    command = FireInvocation(told.home)
    if command.disabled:
        ran.trouble.append("HOOKRUN=0: every hook is switched off")
        return
    command.on_outcomes = ran.watch
    command.load(told.where.cwd, told.config)
    for fields in told.asked.fields:
        fire = EventFire(command, told.asked.event)
        verdict = fire.run(fields)
        ran.fires.append((fire, verdict))
        command.write_audit(fire.records(verdict))
        if command.interrupted:
            break
    ran.take(command)


class _Really(AgentFire):
    """A message that is answered as the agent's would be; the answer is kept instead of given."""

    def __init__(self, ran: Ran) -> None:
        asked: Asked = ran.told.asked
        if asked.agent is None or asked.message is None:
            raise FireError("there is no agent's message to answer")
        options = FireOptions()
        options.event, options.agent = asked.event, asked.agent.NAME
        options.config, options.home = ran.told.config, ran.told.home
        super().__init__(asked.agent, options, "")
        self.ran = ran
        self._given = asked.message

    def run(self) -> int:
        """Do it all and keep what came of it."""
        ran = self.ran
        ran.status = super().run()
        ran.fires = self.fires
        ran.degraded = list(dict.fromkeys(self.answer.degraded)) if self.answer is not None else []
        ran.trouble += self.trouble
        if self.invocation is not None:
            ran.take(self.invocation)
        return ran.status

    def _read(self, command: FireInvocation) -> Message:
        command.on_outcomes = self.ran.watch
        return self._given

    def _print(self, stdout: bytes) -> str | None:
        self.ran.stdout = stdout
        return None

    def _start(self) -> str | None:
        return self.ran.told.where.cwd


def _answer(fire: EventFire, verdict: Verdict) -> str:
    chain = fire.chain
    if chain is None:
        return f"{fire.event}: {verdict.action}; no hook ran"
    why = f" ({verdict.message})" if verdict.message else ""
    names = list(dict.fromkeys(run.name for run in chain.runs if _started(run)))
    behind = list(dict.fromkeys(run.name for run in chain.runs if _in_background(run)))
    ran = f"ran: {', '.join(names)}" if names else "" if behind else "no hook ran"
    began = f"started in the background: {', '.join(behind)}" if behind else ""
    if fire.invocation.interrupted:
        return f"{fire.event}: interrupted by signal {fire.invocation.interrupted}: every hook was ended"
    by = f" by {chain.ended_by}" if chain.ended_by is not None else ""
    parts = [f"{verdict.action}{by}{why}", ran, began, *_failed(chain.runs, verdict.message or ""), *_not_run(fire)]
    return f"{fire.event}: {'; '.join(filter(None, parts))}"


def _started(run: HookResult) -> bool:
    return run.outcome.exit_code is not None or run.outcome.ms > 0


def _in_background(run: HookResult) -> bool:
    return run.hook.background and run.failure is None and not run.interrupted


def _failed(runs: Sequence[HookResult], told: str) -> list[str]:
    """Return which hooks failed, and how where that is not told already."""
    return [
        f"{run.name} failed ({run.failure.kind}: {run.failure.detail})"
        for run in runs
        if run.failure is not None and run.failure.detail not in told
    ]


def _not_run(fire: EventFire) -> Sequence[str]:
    chain, candidates = fire.chain, fire.candidates
    if chain is None or candidates is None:
        return ()
    return [
        f"{candidates.hook(index).name} {became}"
        for index, became in sorted(chain.became.items())
        if became.startswith("not run")
    ]


def _arguments(fire: EventFire) -> tuple[object, object]:
    before = fire.context.get("tool_args")
    return before, fire.chain.context.get("tool_args") if fire.chain is not None else before


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _shown(data: bytes) -> list[str]:
    text = _text(data).rstrip("\n")
    cut = f"{text[:SHOWN]}... ({len(text)} characters)" if len(text) > SHOWN else text
    return cut.split("\n") if cut else []
