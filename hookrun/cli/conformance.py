"""`hookrun conformance`: the entry to the conformance kit, a package beside this one that may not be installed."""

from __future__ import annotations

from collections.abc import Sequence

import click

try:
    from hookrun_conformance.command import conformance_command, measure_installed
except ImportError as error:
    NEEDS = f"the conformance kit is not installed: {error}\nhint: `pip install 'hookrun[conformance]'`"

    def measure_installed(agents: Sequence[str], *, as_json: bool) -> int:  # noqa: ARG001  # the kit's function
        """Say what to install."""
        raise click.ClickException(NEEDS)

    conformance_command = click.Command(
        "conformance",
        callback=lambda agents: measure_installed(agents, as_json=False),
        params=[click.Argument(["agents"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
    )

__all__ = ["conformance_command", "measure_installed"]
