"""Kilo, headless: OpenCode's settings in other directories."""

from __future__ import annotations

from collections.abc import Mapping

from hookrun_conformance.drivers.opencode import OpenCode


class Kilo(OpenCode):
    """`kilo run`, with chat completions."""

    name = "kilo"
    directory = ".config/kilo"
    project = ".kilo"
    settings = "kilo.json"

    def environment(self, url: str) -> Mapping[str, str]:
        """Keep it from fetching anything."""
        return {name.replace("OPENCODE", "KILO"): value for name, value in super().environment(url).items()}
