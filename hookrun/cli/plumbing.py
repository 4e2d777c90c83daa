"""Run hooks: `hookrun fire` (agents' processes enter hookrun.fire directly) and `serve`'s server."""

from __future__ import annotations

import os
import sys

import click

from hookrun.cli.commands import Workspace, command
from hookrun.cli.printing import print_line
from hookrun.core.state import make_private_dir, named_home
from hookrun.fire.command import TAKE_VALUE, WIRED, main
from hookrun.launch import launcher_file
from hookrun.launch.server_socket import end_server, servers, socket_base, socket_here

# --- hookrun fire


SEE_HELP = "See `hookrun fire --help`."


class FireCommand(click.Command):
    """A command that parses its own options; click knows some for completion."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as they are, except for completion."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        ctx.params["arguments"] = args
        return []


@click.command(
    name="fire",
    cls=FireCommand,
    add_help_option=False,
    params=[
        click.Argument(["event"], nargs=-1),
        *(click.Option([name], help=SEE_HELP, hidden=name in WIRED) for name in sorted(TAKE_VALUE)),
        *(click.Option([name], is_flag=True, help=SEE_HELP) for name in ("--explain",)),
    ],
)
@click.pass_context
def fire_command(ctx: click.Context, arguments: list[str]) -> None:
    """Run the hooks for an event and print their verdict."""
    ctx.exit(main(arguments))


# --- hookrun serve


@command("serve", "serve", "serve --stop", note="Exit status: 0; 1 if the server cannot start or does not stop.")
@click.option("--stop", is_flag=True, help="End the server when its runs have ended; the next run starts another.")
@click.option("--foreground", is_flag=True, hidden=True)  # what starts the server; with it the next three
@click.option("--socket", hidden=True)
@click.option("--idle", type=click.FloatRange(min=0.1), hidden=True)
@click.option("--home", hidden=True)
def serve_command(home: str | None, socket: str | None, idle: float | None, *, stop: bool, foreground: bool) -> None:
    """Show or stop the server that runs hooks for agents.

    An agent's first run starts it. It keeps Python loaded, so that a run costs a tenth, and ends after 15 minutes
    without a run. `"warm": "off"` in your own config switches it off.
    """
    if stop and foreground:
        raise click.UsageError("--stop and --foreground exclude each other")
    if not foreground and (socket is not None or idle is not None):
        raise click.UsageError("--socket and --idle need --foreground")
    home = Workspace().home if home is None else named_home(home)
    if foreground:
        _serve(home, socket, idle)
    elif stop:
        _stop(home)
    else:
        from hookrun.launch.running import describe

        print_line(describe(home)[1] or "not used; `hookrun install` writes the launchers that use it")


def _serve(home: str, socket: str | None, idle: float | None) -> None:
    found = launcher_file.read(launcher_file.path_in(home)) if socket is None else None
    if found is not None and sys.orig_argv[: len(found.command) - 1] != found.command[:-1]:
        options = [] if idle is None else ["--idle", str(idle)]  # launchers know a server by its command line
        os.execv(found.command[0], [*found.command[:-1], "serve", "--foreground", "--home", home, *options])
    from hookrun.launch.watched_package import WatchedPackage

    package = WatchedPackage()  # before its modules are loaded

    from hookrun.launch.daemon import serve
    from hookrun.launch.running import setting
    from hookrun.launch.server import IDLE_LIMIT

    base = socket_base(home, identity=package.identity) if socket is None else None
    if socket is None and base is None:
        raise click.ClickException("the path of the home has a line break\nhint: name a socket with --socket")
    path = os.path.abspath(socket) if socket is not None else socket_here(str(base))
    if socket is None:
        make_private_dir(os.path.dirname(path))
    blocks = setting(home, "on_error") == "block"
    failure = serve(path, home, package, idle or IDLE_LIMIT, blocks=blocks)
    if failure is not None:
        raise click.ClickException(failure)


def _stop(home: str) -> None:
    found = list(servers(home))
    for path, pid in found:
        if not end_server(path, pid):
            raise click.ClickException(f"the server (pid {pid}) cannot be ended\nhint: see `ps -p {pid}`")
        print_line(f"stopped the server (pid {pid})")
    if not found:
        print_line("no server is running")
