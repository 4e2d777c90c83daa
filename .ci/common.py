"""What every commit's checks and the nightly ones share: commands, places, and which tests need what."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".ci" / "logs"

PYTEST = ".venv/bin/python -m pytest"

NIGHTLY_ONLY = (
    "tests/client/test_release.py",  # compiles for every platform, twice
    "tests/client/test_wheels.py",  # compiles for every platform
    "tests/test_ci_entries.py",  # installs with pre-commit
    "tests/docs/test_browser.py",
    "tests/docs/test_installing.py",
)
"""Files with slow tests that take minutes, or need more than Python: they have stages in .ci/nightly."""

NEWEST = {
    "tests/process": "signals, child watchers and subprocesses",
    "tests/serve": "workers that are forked from a server with threads",
    "tests/library": "asyncio, threads and forking",
    "tests/fire": "the cold start",
    "tests/config/test_cache.py": "marshalled data",
    "tests/test_start.py": "the interpreter's own start",
    "tests/test_import_budget.py": "what the standard library imports",
    "tests/test_fastjson.py": "the standard library's JSON, text for text",
}
"""The rooms that depend on the version of Python, and on what of it. .ci/nightly runs all on the newest."""

FIND_NEWEST = """
found=
for python in python3.15 python3.14 python3.13; do # that really starts, if there is one
  if command -v pyenv >/dev/null && PYENV_VERSION=$(pyenv whence "$python" 2>/dev/null | tail -n 1); then
    export PYENV_VERSION
  fi
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 13))' 2>/dev/null; then
    found=$("$python" -c 'import sys; print(sys.executable)')
    break
  fi
  unset PYENV_VERSION
done
unset PYENV_VERSION
if [ -z "$found" ]; then
  echo "no Python 3.13 or newer here: the tests ran on $(python3 --version) only"
  exit 0
fi
"""

MAKE_NEWEST = f"""{FIND_NEWEST}
wheels=$(python3 .ci/caches.py wheels "$found")
rm -rf .venv-newest
"$found" -m venv .venv-newest
.venv-newest/bin/pip install --quiet --no-index --no-deps --no-compile "$wheels"/*.whl
# without compiling: another stage's tests may be running the programs
HOOKRUN_WHEEL=pure .venv-newest/bin/pip install --quiet --no-deps --no-build-isolation -e .
echo "$found"
"""

AGENTS = """
mkdir -p .ci/logs
python3 .ci/caches.py agents >.ci/logs/agents
echo "ready: $(cat .ci/logs/agents)"
"""


def on_newest(arguments: str) -> str:
    """Return lines that run pytest on the newest Python, if there is one."""
    return f"""
if ! [ -x .venv-newest/bin/python ]; then echo 'no Python 3.13 or newer here'; exit 0; fi
.venv-newest/bin/python --version
.venv-newest/bin/python -m pytest {arguments}
"""


WITH_AGENTS = """
HOOKRUN_AGENTS=$(cat .ci/logs/agents)
export HOOKRUN_AGENTS
"""
"""For tests of agents, and of the JSON language server beside them."""


def live(arguments: str, before: str = "") -> str:
    """Return lines that run the tests with real agents. Cached agents are not to change."""
    return f"""{WITH_AGENTS}{before}
{PYTEST} -n 2 -m slow {arguments} tests/live
python3 .ci/caches.py check "$HOOKRUN_AGENTS" >.ci/logs/agents.check || {{ cat .ci/logs/agents.check; exit 1; }}
"""


LIVE_SHOWS = r"^FLAKY |^SKIPPED |^\w+ \d[\w.]*: (?:run, |NOT RUN)"
"""The lines of tests/live/summary.py."""


def readme(name: str) -> str:
    """Return the README's command: the one line of the block after <!-- command: NAME -->."""
    (found,) = re.findall(rf"<!-- command: {name} -->\n```sh\n(.*)\n```", (ROOT / "README.md").read_text())
    return str(found)


def commit() -> str:
    """Return the commit's name."""
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
