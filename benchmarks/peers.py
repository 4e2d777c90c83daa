"""Other programs that run declared hooks: how each is installed, what it is asked to do, how far that compares."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import fixtures
from fire_cases import answers, parsed
from fixtures import BLOCKING_HOOK, EVENT, HOOK, hook
from measure import Case, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from environments import Environment
    from fixtures import Bench


class UnavailableError(Exception):
    """A peer cannot be run here; the message says why."""


@dataclass(frozen=True)
class Peer:
    """One program: its name on PyPI, the names of its timed cases, and what makes those and its controls."""

    name: str
    timed: frozenset[str]
    cases: Callable[[Bench, Environment], tuple[list[Case], list[Case]]]


def oats(bench: Bench, oats: Environment) -> tuple[list[Case], list[Case]]:
    """Drive the hook engine of oats-coder from a short program of ours; it has no command that fires an event."""
    driver = Path(__file__).with_name("oats_driver.py")
    ctx = bench.write("ctx.json", fixtures.context())

    def case(name: str, about: str, command: str, action: str = "continue") -> Case:
        config = bench.json([hook(command=command)])
        argv = (str(oats.python), str(driver), EVENT, str(ctx), str(config))
        return Case(name, about, argv, bench.env, config.parent, check=answers(action))

    about = (
        f"oats-coder {oats.version('oats-coder')}, its HookEngine in a 15-line driver, one sh hook. "
        "Does: event, tool glob, JSON on stdin, JSON verdict, timeout. Does not: chain changes (the first one ends the "
        "run), tell a failure from a continue, run hooks side by side, write an audit, ask for trust. "
        "It is made to live inside its agent, which pays the import once and not on every call"
    )
    imports = Case(
        "oats-import",
        "the import of that engine alone: what a process that lives on pays only once",
        (str(oats.python), "-c", "from oats.hook.engine import HookEngine"),
        bench.env,
        bench.root,
    )
    timed = [case("oats-one", about, HOOK), imports]
    return timed, [case("oats-control", "a hook that blocks", BLOCKING_HOOK, "block")]


def nxthooks(bench: Bench, nxthooks: Environment) -> tuple[list[Case], list[Case]]:
    """Fire one event of Claude Code's at the dispatcher of nxthooks."""
    place = bench.directory("nxthooks")
    script = bench.write("nxthooks/guard", f"#!/bin/sh\n{HOOK}\n")
    script.chmod(0o755)
    manifest = f"""[[hook]]\nname = "guard"\nevents = ["before_tool"]\nmatchers = ["Bash"]\nsource = "{script}"\n"""
    bench.write("nxthooks/config/hooks/hooks.d/guard.toml", manifest)
    payload = {"session_id": "s", "cwd": str(place), "tool_name": "Bash", "tool_input": {"command": "ls -la src"}}
    stdin = bench.write("nxthooks/payload.json", json.dumps(payload))

    def guard_ran(outcome: Outcome) -> str | None:
        ran = [(each["hook"], each["verdict"], each["error"]) for each in parsed(outcome.stdout).get("ran", [])]
        return None if ran == [("guard", "allow", "")] else f"expected an allow of guard, found {ran}"

    about = (
        f"nxthooks {nxthooks.version('nxthooks')} dispatch, one executable sh script. "
        "Does: event, tool glob, JSON on stdin, timeout, fail open or closed, five agents. "
        "Does not: read a JSON verdict (its hooks speak by exit status), change arguments, order hooks, write an "
        "audit, ask for trust"
    )
    argv = (str(nxthooks.program("nxthooks")), "dispatch", "--harness", "claude-code", "--event", "before_tool")
    env = bench.env | {"NXT_CONFIG_HOME": str(place / "config")}
    return [Case("nxthooks-one", about, argv, env, place, stdin, guard_ran)], []


def lefthook(bench: Bench, lefthook: Environment) -> tuple[list[Case], list[Case]]:
    """Run one job of a named hook with lefthook's own binary."""
    place = _repository(bench, "lefthook")
    bench.write("lefthook/lefthook.yml", f"guard:\n  jobs:\n    - name: guard\n      run: {json.dumps(HOOK)}\n")
    binary = _binary(lefthook, "lefthook")
    about = (
        f"lefthook {lefthook.version('lefthook')} run, one sh job, its binary (Go); the script that pip installs "
        "starts a Python before it. A git hook runner. Does: named hooks, shell commands, exit status, parallel jobs. "
        "Does not: give a hook a context, read a verdict, know tools or agents; asks git about the repository instead"
    )
    argv = (str(binary), "run", "guard", "--no-auto-install", "--force")
    return [Case("lefthook-one", about, argv, bench.env, place, check=_shows_answer)], []


def prek(bench: Bench, prek: Environment) -> tuple[list[Case], list[Case]]:
    """Run one local hook with prek."""
    place = _repository(bench, "prek")
    local = {"id": "guard", "name": "guard", "language": "system", "entry": f"sh -c {shlex.quote(HOOK)}"}
    always = {"always_run": True, "pass_filenames": False, "verbose": True}
    config = {"repos": [{"repo": "local", "hooks": [local | always]}]}
    bench.write("prek/.pre-commit-config.yaml", json.dumps(config, indent=2))  # JSON is YAML
    _git(bench, place, "add", "--all")
    about = (
        f"prek {prek.version('prek')} run, one local hook, native (Rust). A git hook runner. Does: hooks by stage and "
        "by file, exit status. Does not: give a hook a context, read a verdict, know tools or agents; asks git about "
        "the index instead"
    )
    env = bench.env | {"PREK_HOME": str(bench.root / "prek-home")}
    argv = (str(prek.program("prek")), "run", "--color", "never", "guard")
    return [Case("prek-one", about, argv, env, place, check=_shows_answer)], []


def _repository(bench: Bench, name: str) -> Path:
    place = bench.directory(name)
    _git(bench, place, "init", "--quiet")
    return place


def _git(bench: Bench, place: Path, *arguments: str) -> None:
    git = shutil.which("git")
    if git is None:
        message = "it needs git, which is not on PATH"
        raise UnavailableError(message)
    subprocess.run([git, *arguments], cwd=place, env=bench.env, check=True, capture_output=True)


def _binary(environment: Environment, name: str) -> Path:
    """Return the program inside the wheel that the script of that name would start for this machine."""
    found = sorted(environment.home.glob(f"lib/python*/site-packages/{name}/bin/*{sys.platform}*/{name}"))
    if not found:
        message = "its wheel has no binary for this machine"
        raise UnavailableError(message)
    return found[0]


def _shows_answer(outcome: Outcome) -> str | None:
    return None if b'{"action":"continue"}' in outcome.stdout else "the output does not show what the hook printed"


PEERS = (
    Peer("oats-coder", frozenset({"oats-one", "oats-import"}), oats),
    Peer("nxthooks", frozenset({"nxthooks-one"}), nxthooks),
    Peer("lefthook", frozenset({"lefthook-one"}), lefthook),
    Peer("prek", frozenset({"prek-one"}), prek),
)
