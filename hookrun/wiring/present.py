"""What a fire asks of the wiring when it may be one too many: is the person's own wiring there and answering?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.wiring import codex_trust, command
from hookrun.wiring.files import WiringError, existing
from hookrun.wiring.places import SCOPES, Spot, directory, targets
from hookrun.wiring.targets import Settings

if TYPE_CHECKING:
    from hookrun.agents.agent import Agent
    from hookrun.wiring.targets import Target, Wired


def wired_for_user(agent: Agent, event: str, home: str) -> bool:
    """Tell whether the person's own wiring answers the agent at this event (the agent's name of it).

    Nothing of the environment is believed: where it names the agent's directory elsewhere, both wirings answer. So do
    they where this one's program is gone, or Codex does not trust it: twice is better than not at all.
    """
    return _answers(agent, event, Spot(home, "/", {}), "user")


def is_wired(agent: Agent, event: str, home: str, project: str) -> bool:
    """Tell whether the agent has a wiring of its own for this event, the person's or that of this project."""
    spot = Spot(home, project, {})
    return any(_answers(agent, event, spot, scope) for scope in SCOPES)


def _answers(agent: Agent, event: str, spot: Spot, scope: str) -> bool:
    try:
        return any(
            each.event == event and _runs(each) and _is_trusted(agent, spot, target, event)
            for target in targets(agent.NAME, agent.WIRING, scope, spot, [event])
            for each in target.wired(existing(target.path))
        )
    except WiringError:
        return False


def _runs(wired: Wired) -> bool:
    program, _ = command.parse(wired.text)
    return program is None or program.missing() is None


def _is_trusted(agent: Agent, spot: Spot, target: Target, event: str) -> bool:
    if agent.NAME != codex_trust.AGENT or not isinstance(target, Settings):
        return True
    path = f"{directory(agent.WIRING, spot)}/{codex_trust.CONFIG}"
    config = codex_trust.Config(path, []).read(existing(path))
    hooks = target.read(existing(target.path))
    return all(
        trust.given(config) and not trust.switched_off(config)
        for found, trust in codex_trust.needed(target.path, hooks, target.form)
        if found.event == event
    )
