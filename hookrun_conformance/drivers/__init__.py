"""The agents that are run for real, one module each."""

from __future__ import annotations

from collections.abc import Mapping

from hookrun_conformance.driver import Driver, PatchingDriver
from hookrun_conformance.drivers.claude import Claude
from hookrun_conformance.drivers.cline import Cline
from hookrun_conformance.drivers.codex import Codex
from hookrun_conformance.drivers.copilot import Copilot
from hookrun_conformance.drivers.gemini import Gemini
from hookrun_conformance.drivers.grok import Grok
from hookrun_conformance.drivers.kilo import Kilo
from hookrun_conformance.drivers.opencode import OpenCode
from hookrun_conformance.drivers.pi import Pi
from hookrun_conformance.drivers.qwen import Qwen
from hookrun_conformance.drivers.vibe import Vibe

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
