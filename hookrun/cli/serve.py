"""`hookrun serve`: the warm server, which the first run of an agent starts by itself."""

from __future__ import annotations

import os

import click

from hookrun.cli.common import command, home_option, resolve_home
from hookrun.server_socket import socket_base, socket_here


@command("serve", "serve --foreground", note="Exit status: 0, or 1 if the server cannot listen.")
@click.option("--foreground", is_flag=True, help="Serve until interrupted, with messages on stderr.")
@click.option("--socket", metavar="PATH", help="Listen here; default: where launchers look for the server.")
@click.option("--idle", metavar="SECONDS", type=click.FloatRange(min=0), help="End after so long without a run.")
@home_option
def serve_command(
    home: str | None,
    socket: str | None,
    idle: float | None,
    *,
    foreground: bool,  # noqa: ARG001
) -> None:
    """Run hooks for agents in a server that is always loaded."""
    from hookrun.serve.daemon import serve
    from hookrun.serve.server import IDLE_LIMIT

    base = socket_base(resolve_home(home)) if socket is None else None
    if socket is None and base is None:
        raise click.ClickException("the path of the socket is too long\nhint: give a short one with --socket")
    path = os.path.abspath(socket) if socket is not None else socket_here(str(base))
    failure = serve(path, idle or IDLE_LIMIT)
    if failure is not None:
        raise click.ClickException(failure)
