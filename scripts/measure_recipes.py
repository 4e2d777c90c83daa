"""Write docs/reference/recipes/costs.json: what each guard costs a call, in milliseconds, as a server's worker runs it.

For a call that does not concern it (`ls -la src`, and reading a file), and for one that it must look at closely
(`git push origin feature`, and an edit). The median of many calls; the time of starting Python is not in it.

python scripts/measure_recipes.py
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun.recipes import LEVELS, shell_recipe  # noqa: E402  # the package beside this program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COSTS = ROOT / "docs" / "reference" / "recipes" / "costs.json"
CALLS = 100
QUICK = {"bash": {"command": "ls -la src"}, "read": {"file_path": "README.md"}}
CLOSE = {
    "bash": {"command": "git push origin feature"},
    "edit": {"file_path": "README.md", "old_string": "a", "new_string": "b"},
}


def main() -> None:
    """Measure in a repository and a home of their own, and write the file."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = f"{folder}/home"
        os.environ["HOOKRUN_PROJECT_DIR"] = work = f"{folder}/home/app"
        os.makedirs(f"{work}/.git/refs/heads")
        for name, text in (("README.md", "a\n"), (".git/HEAD", "ref: refs/heads/fix\n")):
            Path(work, name).write_text(text)
        costs = {name: _costs(name, work) for level in LEVELS.values() for name in level}
    COSTS.write_text(json.dumps(costs, indent=2, sort_keys=True) + "\n")


def _costs(name: str, work: str) -> dict[str, float]:
    module = importlib.import_module(f"hookrun.recipes.{name.replace('-', '_')}")
    found = {}
    for kind, calls in (("quick", QUICK), ("close", CLOSE)):
        times = [0.0]
        for hook in module.RECIPE.hooks:
            for tool, args in calls.items():
                if hook["event"] == "pre_tool_use" and tool in str(hook.get("matcher", tool)).split("|"):
                    context = {"event": "pre_tool_use", "tool_name": tool, "tool_args": args, "working_dir": work}
                    path = {"file_path": os.path.join(work, args["file_path"])} if "file_path" in args else {}
                    function = getattr(module, str(hook["python"]).partition(":")[2])
                    times.append(_median(function, {"session_id": "s", "agent": "claude", **context, **path}))
        found[kind] = round(max(times), 2)
    return found


def _median(function: Callable[[Mapping[str, object]], object], context: Mapping[str, object]) -> float:
    times = []
    for number in range(CALLS):
        os.environ["HOOKRUN_REQUEST_ID"] = f"{function.__module__} {number}"  # git is asked once for all of a call
        shell_recipe._PARSED.clear()  # noqa: SLF001  # each call reads its line
        begun = time.perf_counter()
        function(context)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
