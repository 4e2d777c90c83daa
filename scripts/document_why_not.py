"""Write docs/troubleshooting.md from the list in tests/cli/why_not.py, of which the tests try each entry.

python scripts/document_why_not.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.cli.why_not import WAYS  # noqa: E402  # the list beside this program

PAGE = ROOT / "docs" / "troubleshooting.md"

INTRODUCTION = """\
# Why does my hook not run?

<!-- Written by scripts/document_why_not.py from the list in tests/cli/why_not.py: change that. -->

Ask in this order; the first line of the answer names the cause.

<!-- setup: git init --quiet . && hookrun new protect-env --lang sh > /dev/null 2>&1 -->
<!-- setup: hookrun trust --yes $(hookrun trust --digest | cut -d ' ' -f 1) > /dev/null -->
<!-- setup: hookrun install claude > /dev/null 2>&1 -->
```sh
hookrun validate
hookrun explain pre_tool_use --tool bash --arg command='git push'
hookrun doctor claude
```

`explain` takes the call that you expect to be checked, `doctor` checks the agent's own settings. If the agent has run
already, `hookrun why` shows the last result. Below, `guard` is your hook.
"""

HEADINGS = {
    "validate": "Mistakes in the config",
    "explain": "The hook does not match, or cannot run",
    "doctor": "The agent does not run hookrun",
}

CONCLUSION = """
## In containers, CI and teams

- **Another `HOME`.** In containers and with `sudo -E`, `HOME` and the account's home can differ, and agents may use the
  approvals of another one than yours; [Whose home](reference/environment.md#whose-home) has the rules. An account
  without an entry (`docker run --user 12345`) needs one, or a `HOME` of its own outside the project.
- **A container.** Install hookrun in the image, and connect there: `hookrun install claude --from-here`. Approvals are
  kept in `~/.local/share/hookrun`: mount it, or pass [digests](guides/security.md#approve-hooks).
- **CI.** No user can approve there: `hookrun fire --agent NAME --trust sha256:...`, or `trusted` in your own config.
  The server does not start, so each run starts Python. [Check hooks](guides/ci.md) without an agent.
- **Another machine.** Everyone approves once; `hookrun status` shows what waits. Without hookrun,
  [`when_missing`](guides/teams.md#where-hookrun-is-missing) decides.
"""


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for command, heading in HEADINGS.items():
        parts.append(f"\n## {heading}\n\nWhat `hookrun {command}` answers, and what to do:\n\n")
        ways = [way for way in WAYS if way.command[0].replace("try", "explain") == command]
        parts.extend(f"- {_code(way.says.strip())}: {way.remedy[0].lower()}{way.remedy[1:]}\n" for way in ways)
    return "".join([*parts, CONCLUSION])


def _code(text: str) -> str:
    """Return a text as code in Markdown."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


if __name__ == "__main__":
    PAGE.write_text(page())
