"""Writes docs/reference/recipes.md from what each recipe says of itself.

python scripts/document_recipes.py
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun.recipes import RECIPES  # noqa: E402  # the package beside this program, not an installed one

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.recipes.recipe import Recipe

PAGE = ROOT / "docs" / "reference" / "recipes.md"

INTRODUCTION = """\
# Recipes

<!-- Written by scripts/document_recipes.py from hookrun/recipes: change those. -->

Hooks that are ready to be declared. What stands under *Declaration* goes into the `hooks` of a declaration file
([config](config.md)): yours (`~/.config/hookrun/hooks.json`), where no project can switch it off, or a
project's.

An option is set by the `env` of the declaration: `HOOKRUN_OPTION_` and its name in capitals. A list is words
separated by spaces. Without it the default counts. One that cannot be understood makes the hook fail (`exit_code`), and
its `on_failure` says what follows. Options in an agent's environment do not count: a project can set that.

```json
"env": {"HOOKRUN_OPTION_PROTECT": "~/work /data"}
```

Each recipe comes with the cases that it is tested with: `hookrun recipes test NAME` runs them.

"""

READING_SHELL = """\
## How shell is read

Recipes that look at commands read the line with a parser ([tree-sitter](https://tree-sitter.github.io) with its grammar
for bash) and not with patterns: quotes, escapes, variables of the line, braces, `cd`, functions, loops, here-documents,
`$(...)`, pipes into a shell, and lines within lines (`bash -c`, `eval`, `ssh`, `su -c`). What wraps a command (`sudo`,
`env`, `timeout`, `xargs`, `find -exec`, ...) is seen through. Nothing is run or expanded: what only a shell would know,
such as a variable that the line does not set or what a program prints, is unknown and is not guessed. Where a line
branches, each branch counts as taken.

A line that may not hold any of a recipe's programs is not parsed at all. For one that is, a few tens of milliseconds
are added, most of them for loading the parser.

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """Return the text of docs/reference/recipes.md."""
    recipes = [_recipe(module) for module in RECIPES]
    contents = _table(("recipe", "what it does"), ((f"[{each.name}](#{each.name})", each.summary) for each in recipes))
    return INTRODUCTION + contents + "\n" + READING_SHELL + "".join(_section(each) for each in recipes).rstrip() + "\n"


def _recipe(module: str) -> Recipe:
    return cast("Recipe", importlib.import_module(f"hookrun.recipes.{module}").RECIPE)


def _section(recipe: Recipe) -> str:
    declared = json.dumps({"hooks": list(recipe.hooks)}, indent=2, ensure_ascii=False)
    parts = [
        f"## {recipe.name}\n\n{recipe.summary}\n\n",
        _list("What it catches:", recipe.catches),
        _list("What it does not catch:", recipe.misses),
        _options(recipe),
        f"Declaration:\n\n```json\n{declared}\n```\n\n",
    ]
    return "".join(parts)


def _list(title: str, sentences: Sequence[str]) -> str:
    return f"{title}\n\n" + "".join(f"- {each}\n" for each in sentences) + "\n" if sentences else ""


def _options(recipe: Recipe) -> str:
    rows = [(f"`{each.name}`", _code(each.default), _cell(each.description)) for each in recipe.options]
    return _table(("option", "default", "meaning"), rows) + "\n" if rows else ""


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
