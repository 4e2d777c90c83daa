"""What a fire asks of the wiring when it may be one too many: is the person's own wiring there and answering?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.wiring import codex_trust, command
from hookrun.wiring.files import WiringError, existing
from hookrun.wiring.places import Spot, directory, targets
from hookrun.wiring.targets import Settings

if TYPE_CHECKING:
    from hookrun.agents.agent import Agent
    from hookrun.wiring.targets import Target, Wired


def wired_for_user(agent: Agent, event: str, home: str) -> bool:
    """Tell whether the person's own wiring answers the agent at this event (the agent's name of it).

    Nothing of the environment is believed: where it names the agent's directory elsewhere, both wirings answer. So do
    they where this one's program is gone, or Codex does not trust it: twice is better than not at all.
    """
    spot = Spot(home, "/", {})
    try:
        return any(
            each.event == event and _runs(each) and _is_trusted(agent, spot, target, event)
            for target in targets(agent.NAME, agent.WIRING, "user", spot, [event])
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
