"""Write the results of hook runners into docs/guides/conformance.md, from hookrun_conformance/peers/results.json.

python scripts/document_peers.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.document_agents import table  # noqa: E402  # beside this program

PAGE = ROOT / "docs" / "guides" / "conformance.md"
RESULTS = ROOT / "hookrun_conformance" / "peers" / "results.json"
BEGIN = "<!-- Written by scripts/document_peers.py from hookrun_conformance/peers/results.json. -->\n"
END = "<!-- The end of what it writes. -->\n"


def page() -> str:
    """Return the page, with the results between the two comments."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{_results(json.loads(RESULTS.read_bytes()))}\n{END}{after}"


def _results(peers: list[dict[str, Any]]) -> str:
    """Return the table of the scenarios that are not hookrun's alone, or impossible in the agent, and what was run."""
    grades = [{each["scenario"]: each["grade"] or "-" for each in peer["report"]["scenarios"]} for peer in peers]
    shared = [name for name in grades[0] if all(name in column for column in grades)]
    shared = [name for name in shared if any(column[name] != "-" for column in grades)]
    names = [f"`{peer['report']['runner']}`" for peer in peers]
    measured = [f"{peer['report']['agent']} {peer['report']['version']}, {peer['report']['date']}" for peer in peers]
    lines = {"from": [peer["source"] or "-" for peer in peers], "measured": measured}
    lines |= {name: [column[name] for column in grades] for name in shared}
    rows = [[f"`{name}`", *(f"`{cell}`" for cell in cells)] for name, cells in lines.items()]
    commands = "".join(f"{peer['command']}\n" for peer in peers)
    return f"{table(['', *names], rows)}\n<!-- not run: needs the runners -->\n```sh\n{commands}```\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
