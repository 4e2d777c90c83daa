"""Writes docs/faq.md from the list in tests/cli/why_not.py, of which the tests try each line.

python scripts/document_why_not.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.cli.why_not import WAYS  # noqa: E402  # the list beside this program

PAGE = ROOT / "docs" / "faq.md"

INTRODUCTION = """\
# Why did my hook not fire?

<!-- Written by scripts/document_why_not.py from the list in tests/cli/why_not.py: change that. -->

Ask, in this order; the first line of each answer is the cause.

```
hookrun validate                                          is it declared well?
hookrun explain pre_tool_use --tool bash --arg command=ls would it run at this event, on this call?
hookrun doctor claude                                     does the agent fire it at all?
```

`validate` looks at the files, [`explain`](reference/explain.md) at one event as an agent fires it,
[`doctor`](reference/doctor.md) at the agent's own settings. None of them runs a hook;
`explain --run` does. For a run that has already happened, `hookrun why` shows the result.

Each line below was tried: it is a test that the command says so.

| what is wrong | ask | its first line says | what to do |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = []
    for way in WAYS.values():
        command = " ".join(["hookrun", *(f'"{word}"' if " " in word else word for word in way.command)])
        asked = f"{' '.join(f'{name}={value}' for name, value in way.env.items())} {command}".strip()
        cells = (way.title, f"`{asked}`", f"`{way.says.strip()}`", way.remedy)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return INTRODUCTION + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page())
