"""The agents that are run for real, one module each."""

from __future__ import annotations

from collections.abc import Mapping

from tests.live.driver import Driver, PatchingDriver
from tests.live.drivers.claude import Claude
from tests.live.drivers.cline import Cline
from tests.live.drivers.codex import Codex
from tests.live.drivers.copilot import Copilot
from tests.live.drivers.gemini import Gemini
from tests.live.drivers.grok import Grok
from tests.live.drivers.kilo import Kilo
from tests.live.drivers.opencode import OpenCode
from tests.live.drivers.pi import Pi
from tests.live.drivers.qwen import Qwen
from tests.live.drivers.vibe import Vibe

DRIVERS: Mapping[str, Driver] = {
    driver.name: driver
    for driver in (Claude(), Codex(), Gemini(), Qwen(), Copilot(), Cline(), OpenCode(), Pi(), Vibe(), Grok())
}
"""Every driver, by its agent's name."""

SLOW: Mapping[str, Driver] = {"kilo": Kilo()}
"""Those that need more than a minute for a run without a network: few tests run them."""

PATCHING: Mapping[str, PatchingDriver] = {
    driver.name: driver for driver in (Codex(), Copilot("gpt-5.5"), Cline("gpt-5.5"), OpenCode("gpt-5.5"))
}
"""Those that change files by patches, with a model that makes them do so."""
