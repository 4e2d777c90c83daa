"""`hookrun conformance`: the entry to the conformance kit, a package beside this one that may not be installed."""

from __future__ import annotations

import click

try:
    from hookrun_conformance.command import conformance_command
except ImportError as error:
    NEEDS = f"the conformance kit is not installed: {error}\nhint: `pip install 'hookrun[conformance]'`"

    def _refuse(agents: tuple[str, ...]) -> None:  # noqa: ARG001  # click's
        raise click.ClickException(NEEDS)

    conformance_command = click.Command(
        "conformance",
        callback=_refuse,
        params=[click.Argument(["agents"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
    )

__all__ = ["conformance_command"]
