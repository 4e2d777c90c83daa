"""What a fire asks of the wiring when it may be one too many: is the person's own wiring there and answering?"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import Agent, InstallSpec
    from hookrun.wiring.places import Spot
    from hookrun.wiring.targets import Target, Wired


def wired_for_user(agent: Agent, event: str, home: str) -> bool:
    """Tell whether the person's own wiring answers the agent at this event (the agent's name of it).

    Nothing of the environment is believed: where it names the agent's directory elsewhere, both wirings answer. So do
    they where this one's program is gone, or Codex does not trust it: twice is better than not at all.
    """
    return _may_be_there(agent.INSTALL, event, home) and _is_there(agent, event, home)


def _may_be_there(wiring: InstallSpec, event: str, home: str) -> bool:
    """Look into the file for our name only: mostly it is not there, and to read it properly takes many imports."""
    path = f"{home}/{wiring['directory']}/{wiring['user'].replace('{event}', event)}"
    try:
        with open(path, "rb") as file:
            return b"hookrun" in file.read()
    except OSError:
        return False


def _is_there(agent: Agent, event: str, home: str) -> bool:
    from hookrun.wiring.files import WiringError, existing
    from hookrun.wiring.places import Spot, targets

    spot = Spot(home, "/", {})
    try:
        return any(
            each.event == event and _runs(each) and _is_trusted(agent, spot, target, event)
            for target in targets(agent.NAME, agent.INSTALL, "user", spot, [event])
            for each in target.wired(existing(target.path))
        )
    except WiringError:
        return False


def _runs(wired: Wired) -> bool:
    from hookrun.wiring import command

    program, _ = command.parse(wired.text)
    return program is None or program.missing() is None


def _is_trusted(agent: Agent, spot: Spot, target: Target, event: str) -> bool:
    from hookrun.wiring import codex_trust
    from hookrun.wiring.files import existing
    from hookrun.wiring.places import directory
    from hookrun.wiring.targets import Settings

    if agent.NAME != codex_trust.AGENT or not isinstance(target, Settings):
        return True
    path = f"{directory(agent.INSTALL, spot)}/{codex_trust.CONFIG}"
    config = codex_trust.Config(path, []).read(existing(path))
    hooks = target.read(existing(target.path))
    return all(
        trust.given(config) and not trust.switched_off(config)
        for found, trust in codex_trust.needed(target.path, hooks, target.form)
        if found.event == event
    )
