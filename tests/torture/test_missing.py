"""Sandboxes, containers and micro-VMs lack what other machines have: whatever is missing, no call passes a guard."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import ROOT, Project, records
from tests.fire.agents import AGENTS, Agent, Told, run
from tests.warm import PYTHON, WarmServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMAND = "rm -rf /"
GUARDS: dict[str, dict[str, object]] = {
    "sh": {"command": "echo guarded >&2; exit 2"},
    "python": {"python": "guard:check"},
    "recipe": {"python": "hookrun.recipes.block_destructive_commands:check", "matcher": "bash"},
}
"""A hook of each kind. They take turns: how an agent is answered does not depend on the kind."""

REASONS = {"sh": "guarded", "python": "guarded", "recipe": "This would remove /"}


class Place(NamedTuple):
    """Where something is missing.

    `make` is a shell line as root of a mount namespace, in a directory with an empty `dev` and a file `empty`; $1 is
    where a server has its socket. Every process begins with the words `begin`. `home` is the option in the agents'
    settings, `judges` are the kinds of hooks that can run there, and a server `serves` there.
    """

    make: str = ":"
    begin: tuple[str, ...] = ()
    home: str | None = "{home}"
    judges: tuple[str, ...] = tuple(GUARDS)
    serves: bool = False


def without(*names: str) -> str:
    """Return the line that makes a /dev without these."""
    kept = [name for name in ("null", "zero", "full", "random", "urandom", "tty") if name not in names]
    lines = [f"touch dev/{name}; mount --bind /dev/{name} dev/{name}" for name in kept]
    lines += [] if "fd" in names else ["ln -s /proc/self/fd dev/fd"]
    lines += [] if "shm" in names else ["mkdir dev/shm"]
    lines += ["mount --rbind dev /dev", "mount -o remount,bind,ro /dev"]  # else root makes files there
    return "; ".join(lines)


def limited(limit: str) -> tuple[str, ...]:
    """Return the words that begin a process with a limit."""
    return "sh", "-c", f'ulimit {limit}; exec "$@"', "sh"


BARE = without("null", "zero", "full", "random", "urandom", "tty", "fd", "shm")
NO_PROC = "mount -t tmpfs none /proc"
NO_ACCOUNTS = "for each in passwd nsswitch.conf; do mount --bind empty /etc/$each; done"
FULL = """
    for each in ../*/home; do
        mkdir $each/.local $each/.cache
        mount -t tmpfs -o size=4k,nr_inodes=2 none $each/.local
        mount --rbind $each/.local $each/.cache
        head -c 4096 /dev/zero >$each/.local/full
    done"""

PLACES = {
    "every device and /proc": Place(f"{BARE}; {NO_PROC}"),
    "/dev/null": Place(without("null")),
    "/dev/fd": Place(without("fd"), serves=True),
    "/dev/urandom": Place(without("urandom", "random"), serves=True),
    "/dev/shm": Place(without("shm"), serves=True),
    "every device": Place(BARE),
    "/proc": Place(NO_PROC),
    "a /tmp to write to": Place("mount --rbind .. ..; mount --rbind /tmp /tmp; mount -o remount,bind,ro /tmp"),
    "a home to write to": Place('cd ..; mount --rbind "$PWD" "$PWD"; mount -o remount,bind,ro "$PWD"', serves=True),
    "HOME": Place(begin=("env", "-u", "HOME", "-u", "TMPDIR"), serves=True),
    "the directory in HOME": Place(begin=("env", "HOME=/gone", "TMPDIR=/gone"), serves=True),
    "the directory in --home": Place(NO_ACCOUNTS, home="/gone", judges=()),
    "an entry in passwd": Place(NO_ACCOUNTS, serves=True),
    "an entry in passwd, and --home": Place(NO_ACCOUNTS, home=None, judges=()),
    "git": Place("for each in $(type -ap git | xargs -r readlink -f); do mount --bind empty $each; done", serves=True),
    "sh": Place('mount --bind empty "$(readlink -f /bin/sh)"', judges=("python", "recipe"), serves=True),
    "the server's directory": Place('mount -t tmpfs none "$1"'),
    "a locale": Place(begin=("env", "LC_ALL=xx_YY.none", "LANG=xx", "LANGUAGE=xx"), serves=True),
    "an environment": Place(begin=("env", "-i"), serves=True),
    "room on the disk": Place(FULL, serves=True),
    "files of a byte": Place(begin=limited("-f 0")),
    "a small stack": Place(begin=limited("-s 128")),
    **{f"more than {most} descriptors": Place(begin=limited(f"-n {most}"), judges=()) for most in range(6, 20)},
}

WAYS = {"cold": (False, False), "apart": (True, False), "warm": (True, True)}
"""Whether there is a server, and whether it is in the same place."""

ROWS = [(name, way) for name, place in PLACES.items() for way in WAYS if way != "warm" or place.serves]


@contextmanager
def entered(place: Place, directory: Path, runtime: Path) -> Iterator[list[str]]:
    """Make a place; its context is the command line that enters it. Skips where there can be none."""
    (directory / "dev").mkdir(parents=True)
    (directory / "empty").touch()
    line = f'cd "$0" && set -e; {place.make}\necho made; exec cat'
    words = ["unshare", "--map-root-user", "--mount", "bash", "-c", line, str(directory), str(runtime)]
    if not all(map(shutil.which, ("unshare", "nsenter", "bash"))):
        pytest.skip("there is no unshare, nsenter or bash here")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as inside:
        assert inside.stdout is not None
        assert inside.stderr is not None
        assert inside.stdin is not None
        if inside.stdout.readline() != b"made\n":
            pytest.skip(f"this place cannot be made here: {inside.stderr.read().decode()}")
        yield ["nsenter", f"--target={inside.pid}", "--user", "--mount", "--preserve-credentials", "--"]
        inside.stdin.close()


def ask(agent: Agent, words: Sequence[str], place: Place) -> tuple[str | None, bool | None]:
    """Send an agent's message about a forbidden command.

    Return why it is refused, None if it runs, and whether a server answered, None where nothing could be logged.
    """
    home = place.home.format(home=agent.project.home) if place.home is not None else None
    line = [*words, agent.events["pre"], *(("--home", home) if home else ())]
    done = run(agent.project, line, stdin=agent.shell(COMMAND))
    log = records(agent.project.audit_path)
    warm = bool(log[-1].get("warm")) if log else None
    if done.returncode == 2:  # a refusal to every agent
        return f"status 2: {done.stderr.decode()}", warm
    if done.returncode:
        return None, warm
    told = Told(agent, done)
    return told.reason or (str(told.json["errorMessage"]) if told.json.get("cancel") else None), warm


def agents_with_a_guard(directory: Path) -> Iterator[tuple[str, Agent]]:
    """Yield each agent, with the kind of its only hook."""
    for name, kind in zip(AGENTS, cycle(GUARDS), strict=False):
        (directory / name).mkdir()
        project = Project(directory / name)
        project.script("guard.py", "def check(context): return {'action': 'block', 'message': 'guarded'}\n")
        # of the user: in a namespace of one account, / belongs to another one, and nothing can be approved
        project.user_hooks({**GUARDS[kind], "on_failure": "block", "cwd": str(project.root)})
        yield kind, Agent(name, project)


@pytest.mark.only_cold("its servers are in other places")
@pytest.mark.sampled
@pytest.mark.parametrize(("name", "way"), ROWS)
def test_without_it_no_call_passes(name: str, way: str, tmp_path: Path) -> None:
    """Under no agent. Where the hooks can run, they judge it; where they cannot, it is refused for that."""
    place, (serve, is_inside) = PLACES[name], WAYS[way]
    agents = list(agents_with_a_guard(tmp_path))
    server = WarmServer(serve=serve)
    found = {}
    with entered(place, tmp_path / "place", server.runtime) as enter:
        server.within = [*enter, *place.begin] * is_inside
        with server:
            for kind, agent in agents:
                there = [*enter, "env", "-C", str(agent.project.root), *place.begin]
                line = [*there, *server.command("fire", "--agent", agent.name)]
                found[f"{kind} {agent.name}"] = ask(agent, line, place)
    assert [each for each, (reason, _) in found.items() if reason is None] == [], found
    odd = [each for each, (reason, _) in found.items() if not says_why(each.split()[0], reason, place)]
    assert odd == [], found
    assert {warm for _, warm in found.values()} - {None} <= {is_inside}, found


def says_why(kind: str, reason: str | None, place: Place) -> bool:
    """Return whether a refusal has its hook's reason, where the hook can run."""
    return kind not in place.judges or str(reason).startswith(REASONS[kind])


def fits(megabytes: int) -> bool:
    """Return whether hookrun can be loaded with so much memory."""
    line = [
        *limited(f"-v {megabytes}000"),
        *PYTHON,
        "-c",
        "import sys; sys.path.append(sys.argv[1]); import hookrun.fire.agent",
    ]
    return subprocess.run([*line, str(ROOT)], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory cannot be limited here")
def test_with_little_memory_no_call_passes(tmp_path: Path) -> None:
    """From what hookrun needs to be loaded, until there is enough for its hooks."""
    agents = list(agents_with_a_guard(tmp_path))
    least = next(size for size in range(8, 1000) if fits(size))
    passed = []
    with WarmServer(serve=False) as server:
        for size in range(least, least + 24, 2):
            place = Place(begin=limited(f"-v {size}000"))
            for kind, agent in agents:
                there = ["env", "-C", str(agent.project.root), *place.begin]
                reason, _ = ask(agent, [*there, *server.command("fire", "--agent", agent.name)], place)
                passed += [f"{kind} {agent.name} with {size} MB"] if reason is None else []
    assert passed == []
