"""Answer an agent whose run was lost before anything was known of it. No hook runs a second time."""

from __future__ import annotations

from hookrun.agents.base import UnreadableMessageError
from hookrun.agents.formats import Reply
from hookrun.core import context as contexts
from hookrun.core.events import GATES
from hookrun.fire.agent import AgentFire
from hookrun.fire.lost import reason

# Seconds to wait for the message: the worker may have read it, and the agent may keep its end open.
WAIT = 2.0


class LostFire(AgentFire):
    """The message of a lost run, as far as it can still be read."""

    def _fire(self) -> None:
        self.invocation.deadline = min(self.invocation.deadline, self.invocation.started + WAIT)
        try:
            self._message = self._read()
        except (contexts.ContextError, UnreadableMessageError, RecursionError):
            pass  # of the event for which hookrun is installed, else of a tool call
        self.errors.append(reason(self.message.event))

    def own_failure(self) -> Reply:
        """Return the refusal, or a message where nothing can be refused."""
        text = "; ".join(self.errors)
        return Reply("block", text) if self.message.event in GATES else Reply(user_message=text)
