"""How many calls of the past are judged in a second: `hookrun replay` by 20 hooks, none of which needs a process.

    python benchmarks/replay.py [--contexts 100000] [--json FILE]

One process on one core judges a generated log of whole contexts. Beside it, in turns on the same contexts: what it
cannot be quicker than, orjson reading the same lines; and what `hookrun fire` does, each hook's conditions one by one.
Exits 1 when the bar fails, 2 when a case does not find what it should.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import orjson

from hookrun.config.document import Document
from hookrun.config.recipe_entries import hooks_from_data
from hookrun.core.conditions import ConditionEvaluator
from hookrun.core.context import with_defaults
from hookrun.core.model import Hook
from hookrun.replay import traffic, work
from hookrun.replay.judge import Judge

MOST_PER_SECOND = 20_000
"""Contexts a second and core that a replay judges at least."""
ROUNDS = 3

COMMANDS = ("git status", "npm test", "ls -la src", "grep -rn total src | head", "git diff --stat", "make build")
FORBIDDEN = ("terraform apply -auto-approve", "kubectl delete ns shop")
TOOLS = ("bash", "bash", "read", "edit", "write", "grep", "glob", "web_fetch")
MATCHES_EVERY = 500
"""One context in so many is for a hook."""


def hooks() -> list[Hook]:
    """Return twenty hooks as projects declare them: by tool, by command, by file."""
    words = ("rm -rf /*", "terraform apply*", "kubectl delete*", "docker system prune*", "npm publish*", "psql*prod*")
    more = ("*curl*|*sh*", "chmod -R 777*", "*dropdb*", "shutdown*")
    paths = ("*/.env", "*/secrets/*", "*.pem", "*/migrations/*.sql", "*/.github/workflows/*", "*/package-lock.json")
    entries: list[dict[str, object]] = [
        *({"matcher": "bash", "when": {"tool_args.command": each}} for each in (*words, *more)),
        *({"matcher": "write|edit", "when": {"file_path": each}} for each in paths),
        {"matcher": "web_fetch", "when": {"tool_args.url": "*internal*"}},
        {"matcher": "bash", "unless": {"agent": "*"}},
        {"matcher": "mcp__*"},
        {"matcher": "edit", "when": {"tool_args.new_string": "*TODO*"}},
    ]
    every = {"event": "pre_tool_use", "command": "exit 2"}
    declared = [{"name": f"h{n}", **every, **each} for n, each in enumerate(entries)]
    document = Document.from_data("hooks", declared)
    return hooks_from_data(document, (), declared, [])[0]


def records(count: int) -> Iterator[bytes]:
    """Yield lines of a log with whole contexts."""
    pick = random.Random(1)  # noqa: S311  # the same calls each time
    for number in range(count):
        tool = "bash" if number % MATCHES_EVERY == 0 else pick.choice(TOOLS)
        command = pick.choice(FORBIDDEN if number % MATCHES_EVERY == 0 else COMMANDS)
        path = f"/home/dev/shop/src/{pick.choice('abcdef')}/file{pick.randrange(500)}.py"
        args: dict[str, object] = {
            "bash": {"command": command, "description": "do it"},
            "web_fetch": {"url": "https://example.org/page"},
            "edit": {"file_path": path, "old_string": "total = 0\n" * 8, "new_string": "total = 1\n" * 8},
        }.get(tool, {"file_path": path})  # type: ignore[assignment]
        fields = {"tool_name": tool, "tool_args": args, "agent": "claude", "session_id": f"s{number // 200}"}
        context = with_defaults(fields, "pre_tool_use", f"{number:016x}", "/home/dev/shop")
        record = {"v": 1, "kind": "fire", "time": "2026-11-20T10:00:00.000Z", "request_id": f"{number:016x}"}
        about = {"event": "pre_tool_use", "action": "continue", "context": context}
        yield orjson.dumps({**record, **about}) + b"\n"


def matches_one(declared: list[Hook], context: dict[str, object]) -> bool:
    """Return whether a context matches one of the hooks, of which each is looked at."""
    view = ConditionEvaluator(context)
    found = [hook for hook in declared if view.mismatch(hook.matcher, when=hook.when, unless=hook.unless) is None]
    return bool(found)


def main() -> int:
    """Generate, measure, print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--contexts", type=int, default=100_000, metavar="N", help="calls in the log; default 100000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to this file")
    options = parser.parse_args()
    expected = -(-options.contexts // MATCHES_EVERY)
    twenty = hooks()
    with tempfile.TemporaryDirectory(prefix="hookrun-benchmark-") as home:
        log = Path(home) / "audit.jsonl"
        with log.open("wb") as file:
            file.writelines(records(options.contexts))
        lines = log.read_bytes().splitlines()
        contexts = [orjson.loads(line)["context"] for line in lines]
        parts = list(traffic.file_ranges(traffic.AUDIT, str(log), home))
        plan = work.Plan(twenty, None, "/home/dev/shop", home, {})
        judge = Judge(twenty, "/home/dev/shop", home, {})
        cases: dict[str, Callable[[], int]] = {
            "replay: read and judge": lambda: sum(work.replay(plan, parts, None).unjudged.values()),
            "replay: judge": lambda: sum(bool(judge.verdict("pre_tool_use", each).unjudged) for each in contexts),
            "conditions one by one": lambda: sum(matches_one(twenty, each) for each in contexts),
            "orjson alone": lambda: expected * bool([orjson.loads(line) for line in lines]),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, case in cases.items():
                begun = process_time()
                found = case()
                times[name].append(process_time() - begun)
                if found != expected:
                    print(f"replay.py: {name}: {found} calls for a hook, not {expected}", file=sys.stderr)
                    return 2
    rates = {name: options.contexts / statistics.median(taken) for name, taken in times.items()}
    passed = rates["replay: read and judge"] >= MOST_PER_SECOND
    print(f"{'case':<28}{'contexts a second and core':>28}")
    for name, rate in rates.items():
        print(f"{name:<28}{rate:>28,.0f}")
    print(f"at least {MOST_PER_SECOND:,}: {'PASS' if passed else 'FAIL'}")
    if options.json is not None:
        options.json.write_text(json.dumps({"contexts": options.contexts, "rates": rates, "passed": passed}) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
