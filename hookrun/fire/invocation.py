"""Load the config, run the matching hooks in order and record the results. Reporting is the caller's job.

`FireInvocation` is one call of `hookrun fire`, shared by its events; `EventFire` is one event on one context.
"""

from __future__ import annotations

import os
from time import monotonic

from hookrun.config.discovery import find, load_cached
from hookrun.core import context as contexts, state
from hookrun.core.events import GATES, can_refuse
from hookrun.core.model import Interrupted, Verdict
from hookrun.core.state import report_bug
from hookrun.core.text import UserError, print_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from hookrun.config.discovery import CompiledConfig, ConfigFiles, EventHooks
    from hookrun.core.engine import HookChain
    from hookrun.core.model import Hook, HookResult, Outcome
    from hookrun.process.coprocess import Coprocesses
    from hookrun.process.prepare import HookEnvironment
    from hookrun.process.recipe_calls import CallSupervisor
    from hookrun.process.runner import ProcessRunner
    from hookrun.trust.approvals import UserDecisions

    class HostWorker(Protocol):
        """A server's worker: it outlives the run. `settings` are the run's, None until they are known."""

        watch: CallSupervisor
        coprocesses: Coprocesses
        settings: Mapping[str, object] | None

        def answer_if_lost(self, status: int, stdout: bytes, stderr: bytes) -> None:
            """Have the launcher answer so if this process ends without an answer."""


# Exit statuses: the action may continue; hookrun failed; the action is denied.
CONTINUE, FAILED, REFUSED = 0, 1, 2


class FireError(UserError):
    """hookrun cannot run; the message says why and what to do."""


class FireInvocation:
    """One call of `hookrun fire`: the effective config, the deadline, the problems, the audit.

    `agent` is the calling agent's name, None for the user or a program. A project may set an agent's environment, so
    HOOKRUN and HOOKRUN_SKIP do not count for an agent. `deadline` is in seconds from now. `problems` are config errors,
    one per line; `kept` are those of files that count as they last could be read, `gone` the guards that are no longer
    configured; `warnings` are for people only. If it `lacks_home`, the home that was named is gone. `events` are the
    host program's own. If it `asks_approval`, a project's hooks need one; `trusted` are approved digests. If it
    `can_ask`, the agent asks the user where a hook says so. `on_outcomes` gets what hooks read and how they ended.
    `worker` is the server's, if it runs this; `cold` is why a launcher started a process instead. `proof` is the only
    hook to run, for `hookrun doctor --prove`.
    """

    def __init__(
        self, home: str, *, deadline: float | None = None, agent: str | None = None, worker: HostWorker | None = None
    ) -> None:
        self.started = monotonic()
        self.worker = worker
        self.deadline = self.started + deadline if deadline else float("inf")
        self.home = home
        self.lacks_home = False
        self.agent = agent
        self.disabled = agent is None and os.environ.get("HOOKRUN") == "0"
        self.skip = os.environ.get("HOOKRUN_SKIP") if agent is None else None
        self.cold: str | None = None
        self.proof: str | None = None
        self.trusted: list[str] = []
        self.asks_approval = agent is not None
        self.can_ask = False
        self.on_outcomes: Callable[[list[tuple[Hook, bytes]], list[Outcome]], None] | None = None
        self.settings: dict[str, object] = {}
        self.events: list[str] = []
        self.problems: list[str] = []
        self.kept: list[str] = []
        self.gone: list[str] = []
        self.warnings: list[str] = []
        self.config_files: ConfigFiles | None = None
        self.compiled: CompiledConfig | None = None
        self.interrupted = 0
        self.waited = 0.0
        self.runners: list[ProcessRunner] = []

    def load(
        self, cwd: str | None, config: str | None = None, session: object = None, roots: Sequence[str] = ()
    ) -> None:
        """Load the config of a directory, None if that is gone; the others are as for `find`."""
        if cwd is None:
            self.problems.append(
                "the working directory no longer exists: the project's hooks are unknown\nhint: use another one"
            )
        if config is not None:
            config = os.path.normpath(os.path.join(cwd or "/", config))
        own = self.agent is None
        self._compile(find(cwd, self.home, config=config, own_environment=own, session=session, roots=roots))

    def load_user_layer(self) -> None:
        """Load the user layer only."""
        found = find(None, self.home)
        found.files = [each for each in found.files if each[0] == "user"]
        self._compile(found)

    def _compile(self, found: ConfigFiles) -> None:
        self.config_files = found
        if found.files:
            self.compiled = load_cached(found)
            if self.compiled is None:
                from hookrun.config.cache_writer import compile_once  # only after a file has changed

                self.compiled = compile_once(found)
        if self.compiled is not None:
            self.kept, self.gone = self.compiled.kept, self.compiled.gone
            self.problems += [each for each in self.compiled.problems if each not in self.kept]
            self.settings = self.compiled.settings
            self.events = self.compiled.events
        if self.worker is not None:
            self.worker.settings = self.settings

    def read_context(
        self, source: str, event: str | None = None, parts: contexts.Parts | None = None
    ) -> dict[str, object]:
        """Read a context as `contexts.read` does, which raises ContextError; warn of mistakes in one of `event`."""
        begun = monotonic()
        try:
            if event is None:
                return contexts.read(source, self.deadline, parts)
            data = contexts.read(source, self.deadline)
            doubts = contexts.doubts_about(data, event, source)
        finally:
            self.waited += monotonic() - begun
        for doubt in doubts:
            print_message(doubt, "warning")
        return data

    def fire(self, event: str, fields: Mapping[str, object]) -> tuple[EventFire, Verdict]:
        """Run the matching hooks on a context; return the fire and the combined verdict. Raises FireError."""
        fire = EventFire(self, event)
        return fire, fire.run(fields)

    def first_time(self, session: object, cause: str) -> bool:
        """Return whether the user has not been notified of a cause in this session."""
        from hookrun.core.session import mark_notice_shown

        return not self.home or mark_notice_shown(self.home, session if isinstance(session, str) else None, cause)

    def project_root(self) -> str:
        """Return the directory of the project's config, else the repository, else the working directory."""
        configured = self.compiled.root if self.compiled is not None else None
        found = self.config_files
        return configured or (found and (found.repository or found.cwd)) or "/"

    def write_audit(self, records: list[dict[str, object]]) -> None:
        """Write records to the audit; failing does not change the answer."""
        from hookrun.core import audit

        error = audit.write(self.home, records, self.settings.get("audit"))
        if error is not None:
            self.warnings.append(f"the audit could not be written: {error}")

    def close(self, ended: list[tuple[EventFire, Verdict | None, dict[str, Any]]]) -> None:
        """Record events with their verdicts and further fields; reap all children but hooks. Called last.

        Starts a server if this run lacked one.
        """
        if ended:
            self.write_audit([record for fire, verdict, more in ended for record in fire.records(verdict, **more)])
        for runner in self.runners:
            runner.reap()
        if self.home and os.path.exists(self.home + state.PENDING):
            from hookrun.fire.lost import settle

            self.write_audit(settle(self.home))
        settled = self.cold == "off" and self.settings.get("warm") == "off"  # no socket is known or wanted
        if self.cold is not None and not settled and self.worker is None:
            from hookrun.launch.server_start import after_cold_run

            after_cold_run(self.home, self.cold, self.settings)


# Seconds after which a run is prepared for what may happen to the package, and after which its start is recorded.
LONG, SLOW = 0.05, 1.0


class EventFire:
    """One event on one context. `chain` has its hooks' results, None if none ran; if it `failed`, not all are there.

    `let_through` are the runs, with their refusals, past which the user lets the call, if the permission can be used.
    """

    def __init__(self, invocation: FireInvocation, event: str) -> None:
        self.invocation = invocation
        self.event = event
        self.request_id = os.urandom(8).hex()
        self.context: dict[str, object] = {"event": event, "request_id": self.request_id}
        self.candidates: EventHooks | None = None
        self.chain: HookChain | None = None
        self.failed = False
        self.let_through: list[tuple[HookResult, Verdict]] = []
        self.trust: UserDecisions | None = None

    @property
    def runs(self) -> Sequence[HookResult]:
        """The runs of its hooks in order."""
        return self.chain.runs if self.chain is not None else ()

    def run(self, data: Mapping[str, object]) -> Verdict:
        """Run the matching hooks on a context and return the combined verdict. Raises FireError."""
        compiled, found = self.invocation.compiled, self.invocation.config_files
        self.context = contexts.with_defaults(data, self.event, self.request_id, found.cwd if found else None)
        if compiled is None:
            return Verdict()
        self.candidates, matches = compiled.matching(self.event, self.context)
        # Most runs end here: engine, verdicts and process/ are imported only below.
        verdict = self._judged(self.candidates) if matches else Verdict()
        if self.event in GATES and (self.failed or compiled.unread or contexts.is_cut(self.context)):
            from hookrun.fire.unread import refused_if_guarded

            verdict = refused_if_guarded(self, verdict)
        if self.let_through and self.invocation.agent is None:  # an agent's message may have several calls
            from hookrun.fire.refused_call import settle

            ((_, verdict),) = settle([(self, verdict)], verdict.action)
        return verdict

    def _consider(self, run: HookResult, context: dict[str, object]) -> None:
        from hookrun.fire.refused_call import consider  # only after a refusal

        consider(self, run, context)

    def _judged(self, candidates: EventHooks) -> Verdict:
        """Run the candidates that the user has not switched off, and return their verdict."""
        from hookrun.core.engine import HookChain
        from hookrun.core.nesting import MAX_NESTING, NESTING, nesting_depth, runs_inside_hook

        agent = self.invocation.agent
        if NESTING in os.environb and nesting_depth() >= MAX_NESTING and (agent is None or runs_inside_hook()):
            return self._too_deep(HookChain(self.event, self.context, candidates), MAX_NESTING)
        environment = self._environment()
        runner = self._runner(environment)
        self.chain = HookChain(self.event, self.context, candidates)
        self.chain.home = self.invocation.home
        if self.event in GATES:
            self.chain.on_refusal = self._consider
        self.trust = runner.trust = trust = self._trust(environment, runner.is_interrupted)
        if trust is not None:
            self.chain.disabled_reason, self.chain.refusal = trust.why_off, trust.refusal
        if self.invocation.skip:
            skipped = {name.strip() for name in self.invocation.skip.split(",")}
            why = self.chain.disabled_reason
            self.chain.disabled_reason = lambda hook: "HOOKRUN_SKIP names it" if hook.name in skipped else why(hook)
        if (proof := self.invocation.proof) is not None:
            off = self.chain.disabled_reason
            self.chain.disabled_reason = lambda hook: off(hook) if hook.name == proof else "another guard is proved"
        self._run(self.chain, runner)
        try:
            self._note(self.chain, environment, runner)
        except Exception as error:  # the hooks have had their word
            self.invocation.problems.append(report_bug(error, self.invocation.home))
        return self.chain.combine()  # a block so far stays a block

    def _runner(self, environment: HookEnvironment) -> ProcessRunner:
        from hookrun.process.runner import ProcessRunner

        invocation = self.invocation
        runner = ProcessRunner(
            environment,
            locks=lambda: invocation.home + state.STATE_DIR + "/locks",
            on_background_end=self._on_background_end,
            on_outcomes=invocation.on_outcomes,
            catches_signals=True,
            watch=invocation.worker.watch if invocation.worker is not None else None,
            deadline=invocation.deadline,
            meanwhile=(
                (invocation.started + LONG, load_for_refusals),
                (invocation.started + SLOW, self._record_start),
            ),
        )
        invocation.runners.append(runner)
        return runner

    def _on_background_end(self, hook: Hook, outcome: Outcome) -> None:
        from hookrun.fire.background import keep_end

        keep_end(self, hook, outcome)

    def _run(self, chain: HookChain, runner: ProcessRunner) -> None:
        """Run a chain's hooks; what ends it early is noted, and what has run counts."""
        invocation = self.invocation
        try:
            chain.run(runner)
        except Interrupted as interrupted:
            invocation.interrupted = interrupted.signal
        except Exception as error:
            self.failed = True
            is_context = isinstance(error, ValueError)
            said = f"the context cannot be passed to a hook: {error}" if is_context else None
            invocation.problems.append(said or report_bug(error, invocation.home))
        finally:
            invocation.waited += runner.waited
            runner.close()

    def _environment(self) -> HookEnvironment:
        from hookrun.process.prepare import HookEnvironment

        invocation = self.invocation
        return HookEnvironment(
            self.context,
            project=invocation.project_root(),
            request_id=self.request_id,
            settings=invocation.settings,
            home=invocation.home if invocation.agent is not None else None,
            coprocesses=invocation.worker.coprocesses if invocation.worker is not None else None,
        )

    def _note(self, chain: HookChain, environment: HookEnvironment, runner: ProcessRunner) -> None:
        """Note for an agent's user, once a session, hooks that cannot run, and fields that have no effect here."""
        failed = {run.failure.kind for run in chain.runs if run.failure is not None}
        if self.trust is None and self.invocation.agent is not None and "declaration" in failed:
            self.trust = self._decisions(environment, runner.is_interrupted)
        if self.trust is not None:
            self._note_untrusted(chain, self.trust, failed)
        for run in chain.runs if self.invocation.agent is not None else ():
            for each in run.lost:
                if self._first_time(f"lost {run.hook.location()} {run.hook.name}: {each}"):
                    chain.notes.append(f"hook {run.hook.name}: {each}")

    def _first_time(self, cause: str) -> bool:
        return self.invocation.first_time(self.context.get("session_id"), cause)

    def _too_deep(self, chain: HookChain, deepest: int) -> Verdict:
        """Report hooks nested too deeply: for an agent, as a block if the event can be blocked.

        A project could set the variable with the depth to keep guards from running.
        """
        msg = f"hooks run inside hooks {deepest} levels deep, so no further hook runs: does a hook start an agent?"
        if self.invocation.agent is None or not can_refuse(self.event):
            raise FireError(msg)
        self.chain = chain
        return Verdict("block", msg)

    # --- the user's decisions

    def decisions(self) -> UserDecisions | None:
        """Return the user's decisions about the candidates, None if there are none."""
        return self.trust or self._trust(self._environment(), lambda: False)

    def _trust(self, environment: HookEnvironment, is_interrupted: Callable[[], bool]) -> UserDecisions | None:
        """Return the decisions to check for each hook; for the user, only the disabled hooks.

        None if there are none and no hook for this event needs approval.
        """
        invocation = self.invocation
        if not invocation.asks_approval or self.candidates is None or not self.candidates.need_approval:
            try:
                os.lstat(invocation.home + state.TRUST_STORE)
            except FileNotFoundError:
                return None
            except OSError:  # reading reports it, unless a file is where a parent directory should be
                if not os.path.lexists(invocation.home + state.DATA_DIR):
                    return None
        return self._decisions(environment, is_interrupted)

    def _decisions(self, environment: HookEnvironment, is_interrupted: Callable[[], bool]) -> UserDecisions:
        invocation = self.invocation
        from hookrun.trust.approvals import UserDecisions

        asks, given = invocation.asks_approval, invocation.trusted
        home, root = invocation.home, invocation.project_root()
        trust = UserDecisions(home, root, environment, invocation.settings, need_approval=asks, given=given)
        trust.deadline, trust.is_interrupted = invocation.deadline, is_interrupted
        return trust

    def _note_untrusted(self, chain: HookChain, trust: UserDecisions, failed: set[str]) -> None:
        """Notify the user of hooks that are off for a time, and once a session of the project's hooks that cannot run.

        They are unapproved, invalid, or of a kind that hookrun cannot run. `failed` are the kinds of the chain's
        failures.
        """
        trust.keep()
        if self.invocation.agent is None:
            return
        chain.notes += [f"hookrun: {each}" for each in trust.off_for_a_time()]
        if self.candidates is not None and not failed.isdisjoint(("untrusted", "declaration")):
            from hookrun.trust.notices import combine_failures, unapproved_behind

            behind = unapproved_behind(chain, self.candidates, trust)
            combine_failures(chain.runs, behind, trust.root, self._first_time)

    # --- the audit

    def decided_by(self, verdict: Verdict) -> list[str]:
        """Return the names of the hooks whose action the verdict has."""
        return list(dict.fromkeys(run.hook.name for run in self.runs if run.verdict.action == verdict.action))

    def records(self, verdict: Verdict | None, **more: Any) -> list[dict[str, object]]:
        """Return the audit records: one per hook that ran, one for the event with `more` fields."""
        invocation = self.invocation
        total = monotonic() - invocation.started
        own_message = verdict.message if verdict is not None and not self.decided_by(verdict) else None
        from hookrun.core import audit

        return audit.fire_records(
            self.runs,
            {**self.context, "proof": invocation.proof},
            message=own_message,
            action=verdict.action if verdict is not None else None,
            declared=self.candidates.count if self.candidates is not None else 0,
            not_run=self.candidates.not_run(self.chain.statuses if self.chain else {}) if self.candidates else None,
            ms=total * 1000,
            own_ms=round((total - invocation.waited) * 1000, 1),
            problems=[*invocation.problems, *invocation.kept],
            off=invocation.disabled,
            skipped=invocation.skip,
            switched_off=self.trust.switched_off() if self.trust is not None and self.trust.off else None,
            interrupted=invocation.interrupted or None,
            project=invocation.project_root(),
            notes=self.chain.notes if self.chain is not None else (),
            setting=invocation.settings.get("audit"),
            warm=invocation.worker is not None,
            cold=invocation.cold,
            **more,
        )

    def _record_start(self) -> None:
        """Record the start of a long run. Errors are only reported."""
        from hookrun.core import audit

        call = audit.call_fields(self.context, audit.details_of(self.invocation.settings.get("audit")))
        record = audit.record("start", self.context, pid=os.getpid(), project=self.invocation.project_root(), **call)
        self.invocation.write_audit([record])


def load_for_refusals() -> None:
    """Load what a refusal and its records may need, before an installer can remove it while hooks run."""
    try:
        from hookrun.core import audit, broken_scripts, credentials, refusals, session, verdicts  # noqa: F401
        from hookrun.fire import response, unread  # noqa: F401
    except Exception:  # hookrun is being replaced: whoever needs a module reports it
        return
