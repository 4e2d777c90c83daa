"""How quickly `hookrun --help` and a shell's completion answer, beside `python -c 'import click'`.

    python benchmarks/cli.py [--rounds 40] [--json FILE]

Most of both is the start of Python and the import of click, so that is the unit. Uses the hookrun and the click of the
interpreter that runs it: no environment is made. Exits 1 when a bar fails, 2 when a case is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from measure import BrokenCaseError, Case, Outcome, columns, machine, measure, paired_ratio, table, verify

ROOT = Path(__file__).resolve().parent.parent
BASE = "import click"
BARS = {"--help": 1.3, "complete a command": 1.5, "complete a hook": 1.6}
"""Case -> at most how many times as long as the import. 60 ms is 1.5 times where the import takes 40 ms."""


def main() -> int:
    """Check, measure, print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure hookrun --help and completion.")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hookrun-benchmark-") as root:
        cases = _cases(Path(root).resolve())
        try:
            for case in cases:
                verify(case)
        except BrokenCaseError as error:
            print(f"cli.py: {error}", file=sys.stderr)
            return 2
        samples = measure(cases, rounds=options.rounds, seed=options.seed)
    print(machine())
    print(table(samples, base=BASE))
    ratios = {name: paired_ratio(samples[name], samples[BASE]) for name in BARS}
    rows = [
        ("PASS" if ratio.median <= BARS[name] else "FAIL", name, str(ratio), f"at most {BARS[name]}")
        for name, ratio in ratios.items()
    ]
    print(columns(rows))
    if options.json is not None:
        options.json.write_text(json.dumps({name: each.wall for name, each in samples.items()}))
    return int(any(row[0] == "FAIL" for row in rows))


def _cases(root: Path) -> list[Case]:
    (root / "coder.json").write_text('{"hooks": [{"name": "guard", "event": "pre_tool_use", "command": "true"}]}')
    environment = {"HOME": str(root), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}

    def case(name: str, about: str, *argv: str, says: bytes, words: str = "") -> Case:
        def check(outcome: Outcome) -> str | None:
            return None if says in outcome.stdout else f"{says!r} is not in its output"

        asked = {"_HOOKRUN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        env = {**environment, **(asked if words else {})}
        return Case(name, about, (sys.executable, *argv), env, root, check=check)

    return [
        case(BASE, "the unit", "-c", "import click", says=b""),
        case("--help", "hookrun --help", "-m", "hookrun", "--help", says=b"Get started:"),
        case("complete a command", "hookrun ex<Tab>", "-m", "hookrun", says=b"explain", words="hookrun ex"),
        case("complete a hook", "hookrun disable gu<Tab>", "-m", "hookrun", says=b"guard", words="hookrun disable gu"),
    ]


if __name__ == "__main__":
    sys.exit(main())
