"""Which real agents a change concerns: by the files that differ from the upstream's commit, or the one before.

python .ci/changed.py [REF]

Print the agents' names with commas, for `pytest --live`; all, if a file has changed that all share.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SINCE = "HOOKRUN_CI_SINCE"
"""The environment variable that names the commit to compare with."""

AGENTS = tuple(json.loads((ROOT / "tests" / "live" / "agents.json").read_bytes())["agents"])

OWN = (
    r"hookrun/agents/({names})[._]",
    r"hookrun_conformance/drivers/({names})\.py",
    r"tests/live/(?:test_)?({names})_",
    r"hookrun/({names})/",
)
"""Patterns of one agent's files."""

SHARED = (
    *(r"hookrun/agents/", r"hookrun/wiring/", r"hookrun/fire/", r"hookrun/launch/client/"),
    *(r"hookrun/(?:start|launcher_file)\.py", r"tests/live/", r"hookrun_conformance/"),
)
"""Patterns of files that concern all agents, if they are not one agent's."""

OTHERS = {"hookrun/agents/callers.py": "grok"}
"""Files of one agent under another name."""


def agents(files: Iterable[str]) -> list[str]:
    """Return the agents that a change of these files concerns."""
    names = "|".join(AGENTS)
    found = set()
    for file in files:
        own = next((match[1] for each in OWN if (match := re.match(each.format(names=names), file))), None)
        own = own or OTHERS.get(file)
        if own:
            found.add(own)
        elif any(re.match(each, file) for each in SHARED):
            return list(AGENTS)
    return [name for name in AGENTS if name in found]


def changed(since: str) -> list[str]:
    """Return the files that differ from a commit, those that are not committed included."""
    return [*_git("diff", "--name-only", since), *_git("ls-files", "--others", "--exclude-standard")]


def base() -> str:
    """Return the commit to compare with: named, or where the branch left its upstream, or the previous one."""
    if os.environ.get(SINCE):
        return os.environ[SINCE]
    head = _git("rev-parse", "HEAD")
    try:
        upstream = _git("merge-base", "HEAD", "@{upstream}")
    except subprocess.CalledProcessError:
        upstream = head
    return upstream[0] if upstream != head else _git("rev-parse", "HEAD~1")[0]


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main(arguments: list[str]) -> int:
    """Print the agents."""
    try:
        files = changed(arguments[0] if arguments else base())
    except subprocess.CalledProcessError as error:  # a clone without history
        print(f"changed.py: {error.stderr.strip()}: every agent counts as changed", file=sys.stderr)
        print(",".join(AGENTS))
        return 0
    print(",".join(agents(files)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
