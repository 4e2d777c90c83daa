"""The cases of fire.py that are hookrun's own, and the plain ones beside them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fixtures
from fixtures import BLOCKING_HOOK, EVENT, HOOK, hook, matching_among
from measure import Case, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from environments import Environment
    from fixtures import Bench

LARGE = 1_000_000  # bytes
MANY = 1_000  # declarations


def basic_cases(bench: Bench, hookrun: Environment) -> list[Case]:
    """Return the unit of all ratios, and the hook without any runner."""
    ctx = bench.write("ctx.json", fixtures.context())
    bare = (str(hookrun.python), "-c", "pass")
    direct = (shutil.which("sh") or "/bin/sh", "-c", HOOK)
    return [
        Case("bare", "python -c pass, in hookrun's environment", bare, bench.env, bench.root),
        Case("sh-direct", "sh -c HOOK < ctx.json, no runner", direct, bench.env, bench.root, ctx, answers("continue")),
    ]


def hookrun_cases(bench: Bench, hookrun: Environment) -> tuple[list[Case], list[Case]]:
    """Return the cases of `hookrun fire`, and a control that proves that it can block and writes its audit."""
    ctx = bench.write("ctx.json", fixtures.context())
    large = bench.write("large.json", fixtures.large_context(LARGE))
    ten = [hook(number) for number in range(10)]
    parallel = [declared | {"parallel": True} for declared in ten]
    three = ten[:3]

    def case(name: str, about: str, config: Path, *, runs: int, ctx: Path = ctx) -> Case:
        return Case(name, about, command(config, ctx), bench.env, config.parent, check=_continues(runs))

    def command(config: Path, ctx: Path = ctx) -> tuple[str, ...]:
        argv = (hookrun.program("hookrun"), "fire", EVENT, "--ctx", ctx, "--config", config, "--home", bench.home)
        return tuple(map(str, argv))

    timed = [
        case("fire-no-event", "one hook declared, for another event", bench.json([hook(event="file_changed")]), runs=0),
        case("fire-no-match", "one hook declared, for another tool", bench.json([hook(matcher="edit")]), runs=0),
        case("fire-one", "one sh hook", bench.json([hook()]), runs=1),
        case("fire-ten", "ten sh hooks in sequence", bench.json(ten), runs=10),
        case("fire-ten-parallel", "ten sh hooks, parallel", bench.json(parallel), runs=10),
        case("fire-one-1mb", "one sh hook, a context of 1 MB", bench.json([hook()]), runs=1, ctx=large),
        case("fire-one-yaml", "one sh hook, declared in YAML, compiled before", bench.yaml([hook()]), runs=1),
        case("fire-three", "three sh hooks in sequence", bench.json(three), runs=3),
        case(
            "fire-three-of-1000", "the same three among 1,000 declared", bench.json(matching_among(MANY, three)), runs=3
        ),
    ]

    def blocks_and_audits(outcome: Outcome) -> str | None:
        audited = (bench.home / ".local/state/hookrun/audit.jsonl").exists()
        return answers("block")(outcome) if audited else "no audit was written"

    control = command(bench.json([hook(command=BLOCKING_HOOK)]))
    about = "a hook that blocks, and the audit"
    return timed, [Case("fire-control", about, control, bench.env, bench.root, check=blocks_and_audits, status=2)]


def _continues(runs: int) -> Callable[[Outcome], str | None]:
    """Return the check that the combined verdict is continue, from that many hooks, none of which failed."""

    def check(outcome: Outcome) -> str | None:
        verdict = parsed(outcome.stdout)
        told = verdict.get("hooks") or []
        answers = [(each.get("action"), each.get("failure")) for each in told]
        if verdict.get("action") != "continue" or answers != [("continue", None)] * runs:
            return f"expected continue from {runs} hooks"
        return None

    return check


def plain_cases(bench: Bench, plain: Environment) -> tuple[list[Case], list[Case]]:
    """Return the cases of plain_runner.py, and the controls that prove that it does read its hooks' answers."""
    runner = Path(__file__).with_name("plain_runner.py")
    ctx = bench.write("ctx.json", fixtures.context())

    def case(name: str, about: str, commands: list[str], action: str = "continue", status: int = 0) -> Case:
        declared = [hook(number, command=command) for number, command in enumerate(commands)]
        config = bench.json(declared)
        argv = tuple(map(str, (plain.python, runner, EVENT, "--ctx", ctx, "--config", config)))
        return Case(name, about, argv, bench.env, config.parent, check=answers(action), status=status)

    timed = [
        case("plain-one", "plain_runner.py (click, orjson, PyYAML, asyncio), one sh hook", [HOOK]),
        case("plain-ten", "plain_runner.py, ten sh hooks in sequence", [HOOK] * 10),
    ]
    controls = [case("plain-control", "a hook that blocks", [HOOK, BLOCKING_HOOK], "block", 2)]
    return timed, controls


def answers(action: str) -> Callable[[Outcome], str | None]:
    """Return the check that the last line of the output is a verdict with that action."""

    def check(outcome: Outcome) -> str | None:
        found = parsed(outcome.stdout).get("action")
        return None if found == action else f"action {found!r}, expected {action!r}"

    return check


def parsed(output: bytes) -> dict[str, Any]:
    """Return the JSON object in the last line of `output`, or an empty one where there is none."""
    try:
        value = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
