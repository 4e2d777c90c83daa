"""What is too long for every commit: all slow tests, all agents, hostile machines, load, and mutants of the changes.

Run the stages that have not been run for this commit, in two lanes, and print a table of all. A stage that fails keeps
no other from running. State and logs are in the cache, by commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from caches import base
from changed import SINCE
from common import (
    AGENTS,
    LIVE_SHOWS,
    MAKE_NEWEST,
    NIGHTLY_ONLY,
    PYTEST,
    ROOT,
    WITH_AGENTS,
    commit,
    live,
    on_newest,
    readme,
)
from stages import CANNOT, Result, Runner, Stage, of_machine, shown, table, verdict

LOAD = 4  # busy loops
MUTANTS = 40
MUTANTS_LIMIT = 1800  # seconds

ENVIRONMENT = readme("test").removesuffix(f" && {PYTEST}")

CHROMIUM = """
command -v chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium; } ||
  { echo "Chromium cannot be installed here"; exit 75; }
"""

PICTURE = f"""{WITH_AGENTS}
.venv/bin/pip install --quiet --target build/pyte pyte || {{ echo "pyte cannot be installed here"; exit 75; }}
PYTHONPATH=build/pyte .venv/bin/python scripts/record_terminal.py --check
"""

PEERS = f"""{WITH_AGENTS}
PATH="$HOOKRUN_AGENTS/claude/node_modules/.bin:$PATH" .venv/bin/python scripts/measure_peers.py --check
"""

HOSTILE_GIT = """
mkdir -p "$LOGS/hooks"
printf '#!/bin/sh\\nexit 1\\n' >"$LOGS/hooks/pre-commit"
chmod +x "$LOGS/hooks/pre-commit"
cat >"$LOGS/gitconfig" <<END
[commit]
  gpgsign = true
[gpg]
  program = /bin/false
[core]
  hooksPath = $LOGS/hooks
END
"""

HOSTILE_VARIABLES = (
    "FORCE_COLOR=1 CLAUDE_CONFIG_DIR=/x HTTP_PROXY=http://127.0.0.1:9 CLAUDE_PROJECT_DIR=/x CI=1 COLUMNS=40 "
    'GIT_CONFIG_GLOBAL="$LOGS/gitconfig"'
)

OTHER_ACCOUNT = f"""
[ "$(id -u)" = 0 ] && command -v useradd userdel runuser >/dev/null ||
  {{ echo "only root can make another account"; exit 75; }}
name=hookrun-$$
useradd --create-home --shell /bin/sh "$name"
trap 'userdel --force --remove "$name" 2>/dev/null' EXIT # also while something of it still runs
home=$(getent passwd "$name" | cut -d: -f6) # not a temporary folder: `hookrun install` refuses a hookrun there
as() {{ runuser -u "$name" -- env -i HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 "$@"; }}
python=
for each in "$(readlink -f .venv/bin/python)" /usr/local/bin/python3 /usr/bin/python3; do
  if as "$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$each; break; fi
done
[ -n "$python" ] || {{ echo "no Python 3.11 or newer here that another account can run"; exit 75; }}
git clone --quiet . "$home/clone"
cd "$home/clone"
"$python" -m venv --without-pip .venv # Debian's Python has none
"$OLDPWD/.venv/bin/python" -m pip --python .venv/bin/python install --quiet -e '.[dev]'
chown -R "$name" .
as {PYTEST}
"""

WITHOUT_CC = f"""
programs="$LOGS/programs"
rm -rf "$programs"
mkdir "$programs"
IFS=: read -ra folders <<<"$PATH"
for ((i = ${{#folders[@]}} - 1; i >= 0; i--)); do # the first on PATH is linked last
  ln -sf "${{folders[i]}}"/* "$programs/"
done
rm -f "$programs"/{{*cc,*cc-[0-9]*,*[gc]++*,*clang*}}
export PATH="$programs"
if command -v cc gcc clang; then echo "there is a compiler"; exit 1; fi
{PYTEST}
"""

UNDER_LOAD = f"""
loops=()
trap 'kill "${{loops[@]}}"' EXIT
for _ in {" ".join(map(str, range(LOAD)))}; do
  while :; do :; done &
  loops+=($!)
done
{PYTEST}
"""

MUTANTS_OF_CHANGES = f"""
since=${{{SINCE}:-$(PYTHONPATH=.ci python3 -c 'import changed; print(changed.base())')}}
timeout {MUTANTS_LIMIT} \\
  .venv/bin/python scripts/mutate.py --since "$since" --max {MUTANTS} --json "$LOGS/mutants.json" ||
  test $? -eq 1 # some survived: a reader judges whether a test is missing
"""

IGNORED = " ".join(f"--ignore {path}" for path in ("tests/live", *NIGHTLY_ONLY))
RELEASE, WHEELS, ENTRIES, BROWSER, INSTALLING = NIGHTLY_ONLY

TESTS = (
    Stage("environment", "the development environment, as in the README", ENVIRONMENT),
    Stage("slow", "all slow tests", f"{WITH_AGENTS}{PYTEST} -m slow {IGNORED}", after=("agents",)),
    Stage("newest", "all tests on the newest other Python", on_newest(""), after=("newest-python",)),
    Stage("variables", "hostile variables and git settings", f"{HOSTILE_GIT}env {HOSTILE_VARIABLES} {PYTEST}"),
    Stage("account", "another account, in a clone of its own", OTHER_ACCOUNT),
    Stage("shuffled", "in an order of the commit's", f"{PYTEST} --shuffle $(git rev-parse HEAD)"),
    Stage("faults", "one failing system call after the other", ".venv/bin/python -m tests.torture.inject_faults"),
    Stage("nice", "with little of the processor", f"nice -n 19 {PYTEST}"),
    Stage("without-cc", "without a C compiler", WITHOUT_CC),
    *(Stage(f"load-{run}", f"beside {LOAD} busy loops", UNDER_LOAD) for run in (1, 2, 3)),
)

OTHERS = (
    Stage("agents", "the real agents, from the cache or from npm", AGENTS),
    Stage("newest-python", "an environment with the newest other Python", MAKE_NEWEST),
    Stage(
        "live-cold",
        "all tests with real agents, cold",
        live('-k "not warm"'),
        after=("environment", "agents"),
        shows=LIVE_SHOWS,
    ),
    Stage("live-warm", "and through a server", live("-k warm"), after=("environment", "agents"), shows=LIVE_SHOWS),
    Stage(
        "picture",
        "the start page's picture of Claude Code refused, drawn again",
        PICTURE,
        after=("environment", "agents"),
    ),
    Stage("peers", "other hook runners: the published grades", PEERS, after=("environment", "agents")),
    Stage("wheels", "all that is released", f"{PYTEST} -n 2 -m slow {RELEASE} {WHEELS}", after=("environment",)),
    Stage(
        "entries",
        "pre-commit, the action, pipx and uv",
        f"{PYTEST} -n 2 -m slow {ENTRIES} {INSTALLING}",
        after=("environment",),
    ),
    Stage(
        "browser",
        "the documentation in Chromium",
        f"{CHROMIUM}{PYTEST} -n 2 -m slow {BROWSER}",
        after=("environment",),
    ),
    Stage(
        "mutants", "slips in what has changed, and which no test catches", MUTANTS_OF_CHANGES, after=("environment",)
    ),
)

LANES = (TESTS, OTHERS)
STAGES = (*TESTS, *OTHERS)


class State:
    """The results for this commit, in a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.json"
        self.results: dict[str, Result] = {}
        if self.path.exists():
            self.results = {name: Result(*row) for name, row in json.loads(self.path.read_text()).items()}

    def add(self, result: Result) -> None:
        """Keep the result of a stage; of one that was stopped there is none."""
        if result.status is None:
            return
        self.results[result.name] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.results, indent=2))
        new.replace(self.path)

    def has(self, name: str) -> bool:
        """Return whether a stage has run: not if the machine kept it from running."""
        return name in self.results and self.results[name].status != CANNOT


def state_folder() -> Path:
    """Return the folder of this commit's state; what is not committed counts as another commit."""
    diff = subprocess.run(["git", "diff", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    changed = f"-{hashlib.sha256(diff).hexdigest()[:8]}" if diff else ""
    return base() / f"nightly-{commit()[:12]}{changed}"


def chosen(lane: Iterable[Stage], state: State, only: list[str], again: list[str]) -> list[Stage]:
    """Return the stages of a lane to run."""
    return [
        stage
        for stage in lane
        if stage.name in again or ((not only or stage.name in only) and not state.has(stage.name))
    ]


def main(arguments: list[str]) -> int:
    """Run the stages. Returns the exit status."""
    names = [stage.name for stage in STAGES]
    parser = argparse.ArgumentParser(prog=".ci/nightly", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the stages and their results")
    for option, what in (
        ("--only", "of the stages without a result, run this one only; may be repeated"),
        ("--again", "run this stage again, whatever its result; may be repeated"),
    ):
        parser.add_argument(option, action="append", default=[], choices=names, metavar="STAGE", help=what)
    parser.add_argument("--since", metavar="REF", help="mutate what has changed since REF, not since the upstream")
    options = parser.parse_args(arguments)
    folder = state_folder()
    state = State(folder)
    if options.list:
        print("\n".join(_line(stage, state) for stage in STAGES))
        return 0
    stages = {stage.name: stage for stage in STAGES}
    environment = {"LOGS": str(folder)}
    if options.since:
        environment[SINCE] = options.since

    def done(result: Result) -> None:
        state.add(result)
        print("\n".join(shown(stages[result.name], result)), flush=True)

    lanes = [chosen(lane, state, options.only, options.again) for lane in LANES]
    Runner(folder, environment, done, keeps_going=True).run(lanes)
    results = [state.results[name] for name in names if name in state.results]
    print("\n".join(["", *table(results), *of_machine(results), f"logs: {folder}"]))
    return verdict(results)


def _line(stage: Stage, state: State) -> str:
    result = state.results.get(stage.name)
    word = f"{result.word}, {result.seconds:.0f} s" if result else "not run"
    return f"{stage.name:14} {word:22} {stage.what}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
