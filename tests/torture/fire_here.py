"""Send every agent's message about a shell command to hookrun in this place, and print the refusals as JSON.

The kinds of hooks take turns: how an agent is answered does not depend on the kind.

python -m tests.torture.fire_here cold|warm DIRECTORY
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path

from tests.conftest import Project, records
from tests.fire.agents import AGENTS, Agent
from tests.warm import WarmServer

COMMAND = "rm -rf /"
GUARDS: dict[str, dict[str, object]] = {
    "sh": {"command": "echo guarded >&2; exit 2"},
    "python": {"python": "guard:check"},
    "recipe": {"python": "hookrun.recipes.block_destructive_commands:check", "matcher": "bash"},
}


def main(way: str, directory: Path) -> None:
    """Print, for each agent and a kind of hook, the reason of the refusal and whether a server answered."""
    found: dict[str, list[object]] = {}
    with WarmServer() if way == "warm" else nullcontext() as server:
        Project.server = server
        for name, kind in zip(AGENTS, cycle(GUARDS), strict=False):
            where = directory / name
            where.mkdir(parents=True)
            project = Project(where)
            project.script("guard.py", "def check(context): return {'action': 'block', 'message': 'guarded'}\n")
            # of the user: in a namespace of one account, / belongs to another one, and nothing can be approved
            project.user_hooks({**GUARDS[kind], "on_failure": "block", "cwd": str(project.root)})
            agent = Agent(name, project)
            told = agent.fire(agent.shell(COMMAND), event=agent.events["pre"], approved=False)
            warm = [record.get("warm", False) for record in records(project.audit_path)]
            found[f"{kind} {name}"] = [told.reason, warm[-1] if warm else None]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
