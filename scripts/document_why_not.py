"""Write docs/troubleshooting.md from the list in tests/cli/why_not.py, of which the tests try each entry.

python scripts/document_why_not.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.cli.why_not import BASH, WAYS, Way  # noqa: E402  # the list beside this program

PAGE = ROOT / "docs" / "troubleshooting.md"

INTRODUCTION = """\
# Why does my hook not run?

<!-- Written by scripts/document_why_not.py from the list in tests/cli/why_not.py: change that. -->

Three commands find the cause. Ask in this order; the first line of each answer names it.

<!-- setup: git init --quiet . && hookrun new protect-env --lang sh > /dev/null 2>&1 -->
<!-- setup: hookrun trust --yes $(hookrun trust --digest | cut -d ' ' -f 1) > /dev/null -->
<!-- setup: hookrun install claude > /dev/null 2>&1 -->
```sh
hookrun validate
hookrun explain pre_tool_use --tool bash --arg command='git push'
hookrun doctor claude
```

`validate` checks the config. `explain` takes the call that you expect to be checked. `doctor` checks the agent's own
settings. If the agent has run already, `hookrun why` shows the last result. Below, `guard` is your hook, and each
answer is checked by a test.
"""

HEADINGS = {
    "validate": "Mistakes in the config",
    "explain": "The hook does not match, or cannot run",
    "doctor": "The agent does not run hookrun",
}


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for command, heading in HEADINGS.items():
        parts.append(f"\n## {heading}\n")
        parts.extend(_entry(way) for way in WAYS if way.command[0].replace("try", "explain") == command)
    return "".join(parts)


def _entry(way: Way) -> str:
    command = " ".join(["hookrun", *(f'"{word}"' if " " in word else word for word in way.command)])
    asked = f"{' '.join(f'{name}={value}' for name, value in way.env.items())} {command}".strip()
    shown = "hookrun explain" if way.command == BASH and not way.env else asked
    return f"\n### {way.title}\n\n`{shown}` answers:\n\n```text\n{way.says.strip()}\n```\n\n{way.remedy}\n"


if __name__ == "__main__":
    PAGE.write_text(page())
