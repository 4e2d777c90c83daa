"""`hookrun fire --agent NAME`: read an agent's message and answer in its format.

A project can set an agent's environment, so only the project's location is taken from it.
"""

from __future__ import annotations

import os

from hookrun import agents
from hookrun.agents.base import (
    UnreadableMessageError,
    able_to,
    installed_deadline,
    knows_tool,
    native_event,
    placeholder_message,
)
from hookrun.agents.formats import ALLOWING_ACTIONS, STOP_EVENTS, Reply
from hookrun.config.discovery import starting_directory, worktree_of
from hookrun.core import context as contexts
from hookrun.core.events import EVENTS, GATES, UnknownEventError, resolve_event
from hookrun.core.model import PRECEDENCE
from hookrun.core.state import KEPT_TEXTS_DIR, CurrentRun, NoHomeError, line_home, named_home, report_bug
from hookrun.core.text import one_line, print_for_agent, quote, write_all, write_stderr
from hookrun.fire.invocation import CONTINUE, FAILED, REFUSED, EventFire, FireError, FireInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.base import CanonicalCall, Message
    from hookrun.agents.reply import AgentResponse
    from hookrun.agents.types import Agent
    from hookrun.core.model import Verdict
    from hookrun.fire.command import FireOptions
    from hookrun.fire.invocation import HostWorker
    from hookrun.fire.unread import PartialMessage

# What a response must be able to express for its text to reach the user without the model.
DIRECT = ("user_message", "user_message later")

# Seconds of an agent's limit reserved for ending hooks and answering, so that hookrun decides about late ones.
MARGIN = 0.5


def run(name: str, options: FireOptions, usage_error: str, worker: HostWorker | None, kind: type[AgentFire]) -> int:
    """Answer the agent and return the exit status; `usage_error` is the command line's. Raises nothing."""
    try:
        agent = agents.load(name, by_hand=True)
    except Exception as error:
        contexts.drain_stdin()
        unknown = str(error) if isinstance(error, agents.UnknownAgentError) else ""
        print_for_agent(one_line(usage_error or unknown or report_bug(error, options.home)))
        return CONTINUE if agents.caller_needs_zero() else FAILED
    if agent.INSTALL.get("exit_zero_only"):
        agents.end_with_zero()
    fire = kind(agent, options, usage_error, worker)
    try:
        status = fire.run()
        return options.answered if status == CONTINUE else status
    except KeyboardInterrupt:
        return CONTINUE if agent.INSTALL.get("exit_zero_only") else 130
    except Exception as error:  # without free descriptors not even modules can be loaded
        print_for_agent(report_bug(error, options.home))
        return fire.status_without_answer()


class AgentFire:
    """One message of an agent, from its text to the exit status."""

    def __init__(self, agent: Agent, options: FireOptions, usage_error: str, worker: HostWorker | None = None) -> None:
        self.agent = agent
        self.wired_as = agent.NAME
        self.options = options
        self.errors = [one_line(usage_error)] if usage_error else []
        self.invocation = FireInvocation("", agent=agent.NAME, worker=worker)  # without a home, until it is known
        self.invocation.trusted, self.invocation.cold = options.trust, options.cold
        self.invocation.proof = options.proof
        self.event = options.event and native_event(agent, options.event)
        self.tool_is_known = True
        self._message: Message | None = None
        self.fires: list[tuple[EventFire, Verdict]] = []
        self.skipped: str | None = None
        self.notice: str | None = None
        self.partial: PartialMessage | None = None
        self.is_unread = False
        self.is_undecided = False
        self.is_guessed = False  # its event is unknown, but it has a tool
        self.payload: dict[str, object] = {}
        self.guards: list[str] | None = None  # until it is looked for those of a message that was not judged

    @property
    def message(self) -> Message:
        """The agent's message; until it is read, a stand-in."""
        if self._message is None:
            self._message = placeholder_message(self.agent, self.event)
        return self._message

    def run(self) -> int:
        """Run the hooks, answer the agent, and return the exit status."""
        try:
            self._open()
            if self.errors:
                self.is_undecided = True
                contexts.drain_stdin()
            else:
                self._fire()
        except (contexts.ContextError, UnreadableMessageError, RecursionError) as error:
            self.is_unread = True
            too_deep = isinstance(error, RecursionError)
            self.errors.append("the message is nested too deeply" if too_deep else str(error).partition("\n")[0])
        except (FireError, NoHomeError, UnknownEventError) as error:
            self.is_undecided = True
            self.invocation.lacks_home = isinstance(error, NoHomeError)
            self.errors.append(one_line(str(error)))
        except Exception as error:
            self.is_undecided = True
            self.errors.append(report_bug(error, self.invocation.home))
        if any(fire.let_through for fire, _ in self.fires):
            from hookrun.fire.refused_call import settle_message

            self.fires = settle_message(self)
        return self._answer()

    def _open(self) -> None:
        options = self.options
        named = options.home if options.probe is None else options.probe
        home = line_home() if named is None else named_home(named)
        self.invocation.home = CurrentRun.home = home
        self.invocation.deadline = self.invocation.started + (options.deadline or self._limit(self.event))

    def _limit(self, native: str) -> float:
        """Return the default time limit in seconds of an event's hooks: for a launcher with an event, its entry's."""
        if self.options.event and (self.options.cold is not None or self.invocation.worker is not None):
            return installed_deadline(agents.load_sender(self.wired_as), self.options.event)
        limits = self.agent.DEFAULT_TIMEOUTS
        return limits.get(native, limits[""]) - MARGIN

    def _fire(self) -> None:
        """Fire each call of the message in order, until a signal."""
        invocation = self.invocation
        self._message = self._read()
        if self.options.deadline is None:
            invocation.deadline = invocation.started + self._limit(self.message.native)
        self._load()
        sent = self.message
        is_known = sent.native in self.agent.EVENTS or sent.event in {*EVENTS, *invocation.events}
        if not is_known and sent.tool is not None:
            self.is_guessed, self.event = True, native_event(self.agent, "pre_tool_use")
            self._message = self._understood()
        if invocation.worker is not None and self.message.event in GATES:
            from hookrun.fire.lost import refusal

            # Hashable, as a module or a constant of callers.
            lost = refusal(self.agent, sent.native, sent.event, sent.tool)  # type: ignore[arg-type]
            invocation.worker.answer_if_lost(*lost)
        invocation.can_ask = "ask" in able_to(self.agent, self.message)
        if not self.tool_is_known:
            from hookrun.agents.known_tools import name_unknown_tool

            name_unknown_tool(self.agent, self.message, home=invocation.home, project=invocation.project_root())
        self.skipped = self._handled_by_other_wiring()
        if self.skipped is not None:
            return
        for call in self.message.calls:
            event = self._event_of(call)
            if event is None:
                continue
            if event in STOP_EVENTS and "stop_hook_active" not in call.fields:
                from hookrun.fire.stop_blocks import was_blocked_before

                was = was_blocked_before(self.agent, self.message, invocation.home, event, call)
                call.fields["stop_hook_active"] = was
            # One answer, but for each canonical call a fire with its own request id, chain and records.
            self.fires.append(invocation.fire(event, call.fields))
            self.message.pass_on(call, event, self.fires[-1][1])
            self._fire_elsewhere(event, call)
            if invocation.interrupted:
                return

    def _fire_elsewhere(self, event: str, call: CanonicalCall) -> None:
        """Fire a call at the guards of other projects: of the one its session began in, and of where it is made."""
        found = self.invocation.config_files
        if found is not None and found.others and not self.invocation.interrupted:
            from hookrun.fire.places import fire_in  # rarely needed

            for each in fire_in(found.others, self.invocation, event, call.fields):
                self.fires.append(each)
                self.message.pass_on(call, event, each[1])

    def _readable_parts(self, data: bytes, error: contexts.ContextError) -> dict[str, object]:
        from hookrun.fire.unread import PartialMessage  # rarely needed

        self.partial = PartialMessage(data, error)
        return self.partial.payload

    def _read(self) -> Message:
        self.payload = self.invocation.read_context(self.options.ctx, parts=self._readable_parts)
        read_by = self.agent.INSTALL.get("read_by")  # by another agent, which also runs its hooks
        name = (read_by(self.payload) if read_by is not None else None) or self.agent.NAME
        if name != self.agent.NAME:
            self._answer_instead(agents.load_sender(name))
        return self._understood()

    def _understood(self) -> Message:
        message = self.agent.read(self.payload, self.event)
        self.tool_is_known = knows_tool(self.agent, message)
        if not self.tool_is_known and "read_by" in self.agent.INSTALL:
            from hookrun.agents.callers import take_unknown_tool

            caller, self.notice = take_unknown_tool(message, self.payload)
            if caller is not None:
                self._answer_instead(caller)
            self.tool_is_known = knows_tool(self.agent, message)
        for call in message.calls if self.wired_as != self.agent.NAME else ():
            call.fields["fired_through"] = self.wired_as
        sent = message.calls[0].fields.get("agent_event") if message.calls else None
        if isinstance(sent, str) and sent not in self.agent.EVENTS and EVENTS.get(sent) != message.event:
            self.notice = f"{self.agent.DISPLAY_NAME} sent an event that hookrun does not know: {quote(sent)} is "
            self.notice += f"treated as {message.native}{'' if self.is_guessed else ', for which hookrun is installed'}"
        if self.partial is not None:
            self.errors += self.partial.mark(message)
        return message

    def _load(self) -> None:
        if self.options.probe is not None:
            self.invocation.load_user_layer()
        else:
            sent = self.message
            session = sent.calls[0].fields.get("session_id") if sent.calls else None
            start, others = starting_directory(self.agent.PROJECT_ENV_VARS, sent.roots), sent.roots[:1]
            here = start if others in ([], [start]) else worktree_of(start, others)
            self.invocation.load(here, self.options.config, session, [*others, str(start)] if here != start else others)

    def _handled_by_other_wiring(self) -> str | None:
        """Return the other installation that answers this message, or None: no hook runs twice."""
        if self.wired_as != self.agent.NAME and self._has_own_wiring(self.message.native):
            return f"{self.agent.DISPLAY_NAME} has its own installation for {self.message.native}"
        scope = self.options.scope
        is_first = scope == "managed" or self.options.probe is not None
        managed = None if is_first else self.agent.INSTALL.get("managed_hooks")
        if scope == "project" or (managed is not None and os.path.exists(managed)):
            from hookrun.wiring.presence import other_wiring

            owner = agents.load_sender(self.wired_as)
            return other_wiring(self.agent, owner, self.message.native, self.invocation.home, managed, scope=scope)
        return None

    def _has_own_wiring(self, event: str) -> bool:
        from hookrun.wiring.presence import has_own_hooks

        found = self.invocation.config_files
        project = (found.repository if found is not None else None) or self.invocation.project_root()
        may_skip = self.options.scope != "project" and self.agent.INSTALL.get("reads_user_settings")
        return has_own_hooks(self.agent, event, home=self.invocation.home, project=None if may_skip else project)

    def _answer_instead(self, agent: Agent) -> None:
        """Answer the actual caller, which runs the hooks in another agent's settings."""
        self.agent = agent
        self.invocation.agent = agent.NAME
        self.event = native_event(self.agent, self.event)
        self._message = None

    def _event_of(self, call: CanonicalCall) -> str | None:
        """Return the event of a call, or None for a synthesized one without hooks or that the agent fires itself."""
        invocation = self.invocation
        event = call.event or resolve_event(self.message.native, invocation.events)
        if call.synthesized:
            hooks = invocation.compiled.candidates(event).count if invocation.compiled is not None else 0
            if not hooks or self._has_own_wiring(native_event(self.agent, event)):
                return None
        return event

    # --- the answer

    def _answer(self) -> int:
        """Print the answer and write the records; return the exit status."""
        if self.invocation.config_files is None:
            self._load_settings()
        if self.is_unread or self.is_undecided:
            from hookrun.fire.unread import guards_of_message

            fields = [each.fields for each in self.message.calls] if self._message is not None else []
            fire = EventFire(self.invocation, self.message.event)
            self.guards = guards_of_message(fire, fields, is_unread=self.is_unread)
            if self.is_unread and self.guards and "read_by" in self.agent.INSTALL:  # then its sender is unknown, too
                self._answer_instead(agents.load_sender("unknown"))
        interrupted = self.invocation.interrupted
        answer, stdout = self._render()
        error = write_all(1, stdout) if stdout else None
        refused = answer is not None and not answer.reply.allows
        # A refusal is JSON on stdout with exit status 0: a status alone loses the reason in some agents, others obey
        # stderr, and one takes any other status for a refusal.
        status = CONTINUE
        if error is not None:
            print_for_agent(f"the answer could not be written to stdout: {error}")
        if answer is not None and refused and (answer.needs_status or self.is_guessed or error is not None):
            print_for_agent(answer.reply.reason or "refused")
            status = REFUSED
        elif error is None and interrupted and not refused and not self.agent.INSTALL.get("exit_zero_only"):
            status = 128 + interrupted
        if self.invocation.worker is not None:
            self.invocation.worker.answer_if_lost(status, b"", b"")  # the agent has its answer
        if self.options.explain:
            from hookrun.fire.explanation import explain_answer

            write_stderr("\n".join(explain_answer(self, answer, stdout)))
        self._audit(status, answer)
        return status

    def _render(self) -> tuple[AgentResponse | None, bytes]:
        """Return the answer and its bytes; after a bug of ours, a plain answer that keeps every refusal."""
        if not self._needs_answer():
            return None, b""
        try:
            from hookrun.fire.response import response_to

            answer = response_to(self)
            return answer, answer.stdout()
        except Exception as error:
            self.errors.append(report_bug(error, self.invocation.home))
        from hookrun.agents.reply import build_response

        refusals = [verdict for _, verdict in self.fires if verdict.action not in ALLOWING_ACTIONS]
        reason = "\n".join(verdict.message or verdict.action for verdict in refusals)
        plain = build_response(self.agent, self.message, [Reply("block", reason) if refusals else self.own_failure()])
        return plain, plain.stdout()

    def _needs_answer(self) -> bool:
        if self.notice or (self.invocation.home and os.path.exists(self.invocation.home + KEPT_TEXTS_DIR)):
            return True
        return bool(
            self.errors
            or self.invocation.problems
            or self.invocation.gone
            or (self.invocation.kept and self.message.event in GATES)
            or any(_has_effect(fire, verdict) for fire, verdict in self.fires)
        )

    def strongest(self) -> tuple[EventFire, Verdict] | None:
        """Return the fire that decides the answer."""
        return max(self.fires, key=lambda each: PRECEDENCE[each[1].action], default=None)

    def own_failure(self) -> Reply:
        """Return the reply to hookrun's own problems: a message for the user, or a block, as `on_error` says.

        A message that cannot be read is blocked, too, where hooks might have blocked it.
        """
        texts = [*self.errors, *map(one_line, self.invocation.problems)]
        trouble = [*self.invocation.kept] if self.message.event in GATES else []
        trouble += [f"hookrun failed: {'; '.join(texts)}"] if texts else []
        # At a gate each time; elsewhere, or through the model, once a session.
        always = self.message.event in GATES and not able_to(self.agent, self.message).isdisjoint(DIRECT)
        shown = "\n".join(text for text in trouble if self.is_news(text) or always) or None
        if texts and self._blocks_on_error():
            return Reply("block", trouble[-1], user_message=shown)
        if not self.guards:
            return Reply(user_message=shown)
        from hookrun.core.gate import refuses
        from hookrun.fire.unread import refusal_of

        if refuses(self.invocation.settings.get("on_error"), lambda: True):
            cause = f"{trouble[-1]}; {', '.join(self.guards)} cannot check this, so it is blocked"
            return Reply("block", refusal_of(self.invocation, cause), user_message=shown)
        return Reply(user_message=shown)

    def is_news(self, cause: str) -> bool:
        """Return whether the answer can tell the user of a cause, and is the first one of the session to do so."""
        able = able_to(self.agent, self.message)
        return not able.isdisjoint((*DIRECT, "context")) and self.first_time(cause)

    def status_without_answer(self) -> int:
        """Return the exit status where it is the only answer: 0 would allow the call silently."""
        refusals = [verdict for _, verdict in self.fires if PRECEDENCE[verdict.action] >= PRECEDENCE["ask"]]
        for verdict in refusals:
            print_for_agent(verdict.message or verdict.action)
        unjudged = self.message.event in GATES and (self.is_unread or self.is_undecided)
        return REFUSED if refusals or self._blocks_on_error() or (unjudged and self._shuts()) else FAILED

    def _shuts(self) -> bool:
        try:
            from hookrun.core.gate import refuses

            return refuses(self.invocation.settings.get("on_error"), lambda: self.guards != [])
        except Exception:  # not even this can be loaded
            return True

    def _blocks_on_error(self) -> bool:
        return self.invocation.settings.get("on_error") == "block" and self.message.event not in STOP_EVENTS

    def first_time(self, cause: str) -> bool:
        """Return whether the user has not been notified of a cause in this session."""
        return self.invocation.first_time(self.message.session_id, cause)

    def _load_settings(self) -> None:
        """Load the config despite an unreadable message or a wrong home, for `on_error`, the guards and the audit."""
        try:
            self.invocation.home = self.invocation.home or line_home()
            self._load()
        except NoHomeError:  # that is the error
            return
        except Exception as error:
            self.errors.append(report_bug(error, self.invocation.home))

    # --- the audit

    def _audit(self, status: int, answer: AgentResponse | None) -> None:
        """Write a record per fire. A failure here does not change the answer."""
        invocation = self.invocation
        if not invocation.home:
            return
        error = "; ".join(self.errors) if self.errors else None
        try:
            fires: list[tuple[EventFire, Verdict | None]] = list(self.fires)
            if not fires and (error is not None or invocation.problems or self.skipped):
                unfired = EventFire(invocation, self.message.event)
                unfired.context.update(agent=self.agent.NAME, session_id=self.message.session_id)
                fires = [(unfired, None)]
            ended: list[tuple[EventFire, Verdict | None, dict[str, object]]] = []
            deciding, _ = self.strongest() or (None, None)
            for fire, verdict in fires:
                more: dict[str, object] = {}
                if answer is not None and deciding in (None, fire):
                    action = answer.reply.action
                    same = verdict is not None and verdict.action == action
                    more = {"degraded": list(dict.fromkeys(answer.degraded)), "answered": None if same else action}
                ended.append((fire, verdict, {"exit": status, "error": error, "left_to": self.skipped, **more}))
                error = None
            invocation.close(ended)
        except Exception as failed:
            invocation.warnings.append(report_bug(failed, self.invocation.home))


def _has_effect(fire: EventFire, verdict: Verdict) -> bool:
    """Return whether a fire has an answer or a record; without either no more modules are needed."""
    if fire.chain is None:
        return False
    texts = verdict.message or verdict.additional_context or verdict.system_message
    return bool(verdict.action != "continue" or texts or fire.event in STOP_EVENTS)
