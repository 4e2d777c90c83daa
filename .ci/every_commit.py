"""What must hold of every commit, in a fresh clone.

Two lanes side by side: tests, the README's two commands first; linters, documentation and real agents. The rest is in
.ci/nightly. Exit with 75 if nothing failed, but the machine kept a stage from running.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from common import (
    AGENTS,
    LIVE_SHOWS,
    LOGS,
    MAKE_NEWEST,
    NEWEST,
    NIGHTLY_ONLY,
    PYTEST,
    ROOT,
    WITH_AGENTS,
    live,
    on_newest,
    readme,
)
from stages import Result, Runner, Stage, of_machine, shown, verdict

MOST_FLAKES = 3  # of all stages
FLAKES = ROOT / "flakes.json"

IGNORED = " ".join(f"--ignore {path}" for path in ("tests/live", *NIGHTLY_ONLY))
QUARTER = f"{WITH_AGENTS}{PYTEST} -m slow --quarter $(git rev-parse HEAD) {IGNORED}"

TESTS = (
    Stage("try", "the README's command to try hookrun", readme("try")),
    Stage("test", "the README's command to test it", readme("test"), after=("try",)),
    Stage("slow-quarter", "a quarter of the slow tests, by the commit", QUARTER, after=("test", "agents")),
    Stage(
        "newest",
        "on the newest other Python: the rooms that depend on it",
        on_newest(" ".join(NEWEST)),
        after=("newest-python",),
    ),
)

OTHERS = (
    Stage("agents", "the real agents, from the cache or from npm", AGENTS),
    Stage("newest-python", "an environment with the newest other Python", MAKE_NEWEST),
    Stage(
        "lint",
        "linters of sources, texts and tests",
        """.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/python scripts/check_words.py
.venv/bin/python scripts/check_tests.py
.venv/bin/python -m pytest -n 0 -m lint""",
        after=("test",),
    ),
    Stage("types", "mypy", ".venv/bin/mypy", after=("test",)),
    Stage("docs", "the documentation site", "NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict", after=("test",)),
    Stage(
        "oats",
        "the first engine's own answers",
        f"""python3 -m venv .venv-oats
.venv-oats/bin/pip install --quiet --no-deps oats-coder ujson rich ||
  {{ echo "oats-coder cannot be installed here: its recorded answers were compared only"; exit 75; }}
HOOKRUN_OATS_PYTHON=.venv-oats/bin/python {PYTEST} -n 0 tests/compat""",
        after=("test",),
    ),
    Stage(
        "frameworks",
        "the examples for frameworks, in an environment of their own",
        """python3 -m venv .venv-frameworks
HOOKRUN_WHEEL=pure .venv-frameworks/bin/pip install --quiet --no-compile -e '.[frameworks]' \\
  hypothesis mypy pytest pytest-timeout pytest-xdist ||
  { echo "SKIPPED the frameworks' packages cannot be installed here: their examples did not run"; exit 0; }
.venv-frameworks/bin/python -m pytest -n 0 -m "slow or not slow" \\
  tests/integrations/test_frameworks.py tests/integrations/test_openai_agents.py
.venv-frameworks/bin/mypy --strict examples/library""",
        after=("test",),
    ),
    Stage(
        "live",
        "with the real agents whose files have changed; of each other one case",
        live('-k "not warm or sandbox" --live "$changed"', "changed=$(python3 .ci/changed.py)"),
        after=("agents", "test"),
        shows=LIVE_SHOWS,
    ),
    Stage(
        "benchmarks",
        "every case of the benchmarks once",
        """# bars that so few rounds cannot judge do not count
.venv/bin/python benchmarks/fire.py --rounds 1 --no-peers || test $? -eq 1
.venv/bin/python benchmarks/warm.py --rounds 1 --no-peers || test $? -eq 1
.venv/bin/python benchmarks/engine.py --rounds 2 --no-peers || test $? -eq 1
.venv/bin/python benchmarks/testing.py --rounds 1 || test $? -eq 1
HOOKRUN_AGENTS=$(cat .ci/logs/agents) .venv/bin/python benchmarks/agents.py --rounds 1 --calls 3 claude codex ||
  test $? -eq 1""",
        after=("agents", "test"),
    ),
)

LANES = (TESTS, OTHERS)


def main(arguments: list[str]) -> int:
    """Run the stages. Returns the exit status."""
    stages = {stage.name: stage for lane in LANES for stage in lane}
    parser = argparse.ArgumentParser(prog=".ci/run", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the stages")
    parser.add_argument(
        "--only", action="append", choices=stages, metavar="STAGE", help="run this stage only; may be repeated"
    )
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{name:14} {stage.what}" for name, stage in stages.items()))
        return 0
    FLAKES.unlink(missing_ok=True)

    def done(result: Result) -> None:
        print("\n".join(shown(stages[result.name], result)), flush=True)

    lanes = [[stage for stage in lane if not options.only or stage.name in options.only] for lane in LANES]
    # the same commit gets the same answer; a run by hand looks for new examples
    results = Runner(LOGS, {"HYPOTHESIS_DERANDOMIZE": "1"}, done).run(lanes)
    print("\n".join(of_machine(results)))
    return verdict(results) or too_many_flakes(FLAKES)


def too_many_flakes(path: Path) -> int:
    """Print the flaky tests of all stages. Returns 1 if there are too many, or 0."""
    flakes = json.loads(path.read_text()) if path.exists() else []
    print("\n".join(f"flaky: {each['name']} (load {each['load']})" for each in flakes))
    return int(len(flakes) > MOST_FLAKES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
