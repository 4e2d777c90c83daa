"""The cases of warm.py: each set of hooks run directly, by a cold hookrun, by the wired line, and by a warm server."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fire_cases import LARGE
from fixtures import HOOK, hook
from measure import BrokenCaseError, Case, Outcome, run_timed
from trust_cases import claude_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from environments import Environment
    from fixtures import Bench, Hook

FIVE = ("block-destructive-commands", "no-force-push", "protect-files", "protect-hooks", "secret-scan")
EIGHT = (*FIVE, "commit-message-check", "package-manager", "rate-limit")
"""The recipes that look at shell commands, but for those with a catalogue."""
CATALOGUE = ("protect-data", "protect-cloud")
"""The recipes with a catalogue."""
LIMIT = {"calls": "100", "seconds": "0.2"}
"""The options of `rate-limit`, which no measurement reaches: with its default it would block all after 30 runs."""

USUAL = {
    "recipes-git-status": "git status",
    "recipes-git-diff": "git diff",
    "recipes-npm-test": "npm test",
    "recipes-git-commit": "git commit -m 'fix: x'",
}
"""The lines that agents send most, by the names of their cases."""

PARSED = "ls -la src && rm -f build/$(date +%F).log; git push origin main"
"""A line that recipes cannot judge without parsing it, and to which they have no objection."""

PYTHON = 'import json, sys\njson.load(sys.stdin)\nprint(json.dumps({"action": "continue"}))\n'
MODULE = 'def check(context):\n    return {"action": "continue"}\n'
NODE = """
let text = "";
for await (const chunk of process.stdin) text += chunk;
JSON.parse(text);
console.log('{"action": "continue"}');
"""
COPROCESS = """
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { id } = JSON.parse(line);
  console.log(JSON.stringify({ id, verdict: { action: "continue" } }));
}
"""

WARM_UP = 10.0  # seconds until a server has to answer


class Warm:
    """The homes and the server of the cases, and the lines that `hookrun install` wires in these homes."""

    def __init__(self, bench: Bench, hookrun: Environment) -> None:
        self.bench = bench
        self.hookrun = hookrun
        self.env = bench.env
        self.homes: list[Path] = []
        self.node = shutil.which("node")
        self.sh = shutil.which("sh") or "/bin/sh"
        self.guard = bench.write("guard.py", PYTHON)
        bench.write("guards/own_guard.py", MODULE)
        self.script = bench.write("guard.mjs", NODE)
        self.coprocess = bench.write("coprocess.mjs", COPROCESS)

    def cases(self) -> list[Case]:
        """Return every case, without the unit and the peers."""
        python = shlex.join([str(self.hookrun.python), str(self.guard)])
        module = {"python": "own_guard:check", "cwd": str(self.bench.root / "guards")}
        cases = [
            *self.ways("no-match", "a sh hook for another tool", [hook(matcher="edit")]),
            *self.ways("sh", "one sh hook", [hook()], direct=HOOK),
            *self.ways("python", "one Python program", [hook(command=python)], direct=python),
            *self.ways("python-function", "one `python` hook", [hook(command=None, **module)]),
            *self.ways(
                "sh-ten", "ten sh hooks in turn", [hook(n) for n in range(10)], direct="; ".join([_fed(HOOK)] * 10)
            ),
            *self.ways("recipes-five", "five recipes, a harmless line", _recipes(FIVE)),
            *self.ways("recipes-eight", "eight recipes, a harmless line", _recipes(EIGHT)),
            *self.ways("recipes-ten", "the same, and two with a catalogue", _recipes((*EIGHT, *CATALOGUE))),
            *self.ways("recipes-parsed", "eight recipes, a line for their parser", _recipes(EIGHT), command=PARSED),
            *(
                case
                for name, line in USUAL.items()
                for case in self.ways(name, f"seven recipes, `{line}`", _recipes(EIGHT[:-1]), command=line)
            ),
            *self.ways("sh-1mb", "one sh hook, a context of 1 MB", [hook()], direct=HOOK, size=LARGE),
            *self.ways("unapproved", "a project's hook that nobody has approved", [hook()], layer="project"),
        ]
        if self.node:
            cases += self.node_cases(self.node)
        return cases

    def node_cases(self, node: str) -> list[Case]:
        """Return the cases of hooks in JavaScript."""
        line = shlex.join([node, str(self.script)])
        five = [hook(n, command=line) for n in range(5)]
        lines = shlex.join([node, str(self.coprocess)])
        served = [hook(n, command=lines, serve=True) for n in range(5)]
        in_turn = "; ".join([_fed(line)] * 5)
        at_once = " & ".join([_fed(line)] * 5) + " & wait"
        cases = [
            *self.ways("node", "one Node program", five[:1], direct=line),
            *self.ways("node-five", "five Node programs in turn", five, direct=in_turn),
            *self.ways(
                "node-five-parallel",
                "five Node programs side by side",
                [declared | {"parallel": True} for declared in five],
                direct=at_once,
            ),
        ]
        if (self.package / "process" / "coprocess.py").exists():
            cases += self.ways("node-five-served", "five Node coprocesses in turn", served)
        return cases

    @property
    def package(self) -> Path:
        """The installed package."""
        return next(self.hookrun.home.glob("lib/python*/site-packages/hookrun"))

    def ways(
        self,
        name: str,
        about: str,
        hooks: list[Hook],
        *,
        direct: str = "",
        command: str = "",
        size: int = 0,
        layer: str = "user",
    ) -> list[Case]:
        """Return the cases of one set of hooks: `direct` is the shell line that runs them without hookrun."""
        hooks = [{key: value for key, value in declared.items() if value is not None} for declared in hooks]
        project = self.bench.directory(f"{name}/project")
        (project / ".git").mkdir()
        message = self.bench.write(f"{name}/message.json", claude_message(project, command, size))
        started: list[tuple[str, str, tuple[str, ...], dict[str, str]]] = []
        if direct:
            line = f'{direct} <"$MESSAGE"' if direct == HOOK else direct
            started.append(("direct", "no hookrun", (self.sh, "-c", line), self.env | {"MESSAGE": str(message)}))
        for way, told in (
            ("cold", "hookrun fire"),
            ("wired", "the line of `hookrun install`"),
            ("warm", "with a server"),
        ):
            home = self.bench.directory(f"h{len(self.homes)}")  # short: it is in the path of the socket
            self.homes.append(home)
            self.declare(hooks, project if layer == "project" else home, home, warm=way == "warm")
            env = self.env | {"HOME": str(home)}
            if way == "cold":
                words = [str(self.hookrun.program("hookrun")), "fire", "--agent", "claude", "PreToolUse"]
                argv = (self.sh, "-c", shlex.join([*words, "--home", str(home)]))
            else:
                argv = self.wire(home, project, env)
            if way != "warm" or (self.package / "launch").exists():
                started.append((way, told, argv, env))
        return [
            Case(
                f"{name}-{way}",
                f"{about}; {told}",
                argv,
                env,
                project,
                message,
                _ran_all if way == "direct" else _no_objection(hooks if layer == "user" else [], Path(env["HOME"])),
                server=self.server(env) if way == "warm" else None,
            )
            for way, told, argv, env in started
        ]

    def declare(self, hooks: list[Hook], place: Path, home: Path, *, warm: bool) -> None:
        """Write the declarations, and into the user's settings whether a server is used."""
        declared: dict[str, object] = {"hooks": hooks}
        settings = {"warm": "auto" if warm else "off"} if (self.package / "launch").exists() else {}
        own = home / ".config" / "hookrun" / "hooks.json"
        if place == home:
            self.bench.write(str(own), json.dumps(declared | {"hookrun": settings}))
        else:
            self.bench.write(f"{place}/coder.json", json.dumps(declared))
            self.bench.write(str(own), json.dumps({"hooks": [hook(event="file_changed")], "hookrun": settings}))
        self.bench.directory(f"{home}/.local/share").chmod(0o700)

    def wire(self, home: Path, project: Path, env: dict[str, str]) -> tuple[str, ...]:
        """Wire hookrun for Claude Code, as a user does, and return what it starts before a tool."""
        argv = [self.hookrun.program("hookrun"), "install", "claude", "--all-events", "--from-here"]
        done = subprocess.run(argv, env=env, cwd=project, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BrokenCaseError(f"hookrun install: {done.stdout}{done.stderr}")
        settings = json.loads((home / ".claude" / "settings.json").read_text())
        handler = settings["hooks"]["PreToolUse"][0]["hooks"][0]
        command = str(handler["command"])
        return (command, *handler["args"]) if "args" in handler else (self.sh, "-c", command)

    def server(self, env: dict[str, str]) -> Callable[[], int]:
        """Return what finds the server that the wired line of a home is sent to: once, as the look is a caller, too."""
        return cache(lambda: server_of(Path(env["HOME"])))

    def warm_up(self, case: Case) -> None:
        """Run a case until a server answers it. Raises BrokenCaseError if none does."""
        until = time.monotonic() + WARM_UP
        while time.monotonic() < until:
            with case.stdin.open("rb") as stdin:
                subprocess.run(case.argv, env=case.env, cwd=case.cwd, stdin=stdin, capture_output=True, check=False)
            if fires(case)[-1:] and fires(case)[-1].get("warm"):
                return
            time.sleep(0.1)
        raise BrokenCaseError(f"{case.name}: no server answered: {fires(case)[-1:]}")

    def own_bars(self, cases: list[Case], rounds: int) -> list[tuple[str, float, str, list[float]]]:
        """Return what the server itself costs, its memory and its start: claim, limit, unit and what was found."""
        warm = {case.name: case for case in cases if case.server is not None}
        if "sh-warm" not in warm:
            return []
        pid = server_of(Path(warm["sh-warm"].env["HOME"]))
        memory = resident(pid)
        self.stop()
        cold = next(case for case in cases if case.name == "sh-wired")
        first = warm["sh-warm"]
        added = []
        for _ in range(rounds):
            usual = run_timed(cold)[0]
            added.append(run_timed(first)[0] - usual)
            awaited_server(Path(first.env["HOME"]))  # one that only starts could not be ended
            self.stop()
        return [
            ("warm: memory of the server", 40.0, "MB", [memory]),
            ("warm: the first run - a run that starts no server", 2.0, "wall, ms more", [statistics.median(added)]),
        ]

    def stop(self) -> None:
        """End the servers, and wait until they have ended."""
        for home in self.homes:
            try:
                pid = server_of(home)
                os.kill(pid, signal.SIGTERM)
            except (BrokenCaseError, ProcessLookupError):
                continue
            until = time.monotonic() + WARM_UP
            while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
                time.sleep(0.01)


def awaited_server(home: Path) -> int:
    """Return the process id of the server that a home's first run has started. Raises BrokenCaseError."""
    until = time.monotonic() + WARM_UP
    while time.monotonic() < until:
        try:
            return server_of(home)
        except BrokenCaseError:
            time.sleep(0.05)
    return server_of(home)


def server_of(home: Path) -> int:
    """Return the process id of the server that listens for a home's launchers. Raises BrokenCaseError if none does."""
    file = home / ".local" / "share" / "hookrun" / "launcher.conf"
    lines = [line.split(" ", 1) for line in file.read_text().splitlines()] if file.exists() else []
    for base in (Path(line[1]) for line in lines if line[0] == "socket"):
        for path in sorted(base.parent.glob(f"{base.name}*.sock")):
            with socket.socket(socket.AF_UNIX) as connection:
                try:
                    connection.connect(str(path))
                except OSError:
                    continue
                size = struct.calcsize("3i")
                peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
                return int(struct.unpack("3i", peer)[0])
    raise BrokenCaseError(f"no server listens for {home}")


def resident(pid: int) -> float:
    """Return the MB that a server and its workers hold: their shared pages count once."""
    lines = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    held = 0
    for each in [str(pid), *lines]:
        rollup = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        held += sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return held / 1000


def fires(case: Case) -> list[dict[str, Any]]:
    """Return the records of the runs in the audit of a case's home."""
    path = Path(case.env["HOME"]) / ".local" / "state" / "hookrun" / "audit.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [record for record in map(json.loads, lines) if record["kind"] == "fire"]


def _fed(line: str) -> str:
    return f'{{ {line}; }} <"$MESSAGE"'


def _recipes(names: tuple[str, ...]) -> list[Hook]:
    return [{"recipe": name} | ({"options": LIMIT} if name == "rate-limit" else {}) for name in names]


def _ran_all(outcome: Outcome) -> str | None:
    return None if b'"continue"' in outcome.stdout else "the hook did not answer"


def _no_objection(hooks: list[Hook], home: Path) -> Callable[[Outcome], str | None]:
    """Return the check that the agent gets no text, and that every hook has run and none failed."""

    def check(outcome: Outcome) -> str | None:
        audit = home / ".local" / "state" / "hookrun" / "audit.jsonl"
        records = [json.loads(line) for line in audit.read_text().splitlines()] if audit.exists() else []
        ran = [record for record in records if record["kind"] == "hook"]
        wanted = sum(declared.get("matcher") != "edit" for declared in hooks)
        if wanted and ((outcome.stdout + outcome.stderr) or any(record.get("failure") for record in ran)):
            return f"an objection or a failure: {ran[-wanted:]}"
        return None if len(ran) >= wanted else f"{len(ran)} hooks ran, expected {wanted}"

    return check
