"""Write docs/reference/recipes/, an index and a page for each recipe, from hookrun/recipes.

python scripts/document_recipes.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun.recipes import LEVELS, catalog  # noqa: E402  # the package beside this program, not an installed one

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrun.recipes.recipe import Recipe

DIRECTORY = ROOT / "docs" / "reference" / "recipes"
COSTS: dict[str, dict[str, float]] = json.loads((DIRECTORY / "costs.json").read_text())

GENERATED = "<!-- Written by scripts/document_recipes.py from hookrun/recipes: change those. -->"

INDEX = f"""\
# Recipes

{GENERATED}

Ready-made hooks. Add one to a project, or with `--user` to your own config, which no project can override:

```sh
hookrun add no-force-push
hookrun add protect-hooks --user
```

{{table}}
## Levels

`hookrun add guards` adds the guards that suit most projects, `standard`, with one approval; `--level strict` adds more.

{{levels}}
Times are those of `scripts/measure_recipes.py`, in a running server: medians of `ls`, and of `git push` or an edit.
Guards share the reading of a line and of git's settings, which are most of it.

```sh
hookrun add guards --level strict --dry-run
hookrun recipes show guards
```

Each is an entry of its own, pinned to its version, whose options you can set. `hookrun remove guards` removes those
that `add guards` added. A level may have more recipes in a newer hookrun: repeat `add guards` to add and approve them.

## Options

```sh
hookrun add package-manager --option node=pnpm
```

Or in the config:

```yaml title="hookrun.yaml"
hooks:
  - recipe: block-destructive-commands@1
    options: {{{{git: [clean, reset], protect: ~/work}}}}
```

A list is written as a list, or with spaces. `@1` pins the version; [config](../config.md#recipes) has the other fields.
An invalid value makes the hook fail (`exit_code`); `hookrun validate` reports it. Environment variables of the agent do
not set options.

Each recipe comes with tests: `hookrun test` runs those that `hookrun add` writes beside your hooks.

## How shell lines are read

Recipes that check commands parse the line with [tree-sitter](https://tree-sitter.github.io) instead of matching
patterns. They follow quotes, variables set in the line, `cd`, functions, loops, here-documents, `$(...)`, pipes into a
shell and nested lines (`bash -c`, `eval`, `ssh`), and see through wrappers such as `sudo`, `env`, `xargs` and `find
-exec`. Nothing is run or expanded: values that only the shell knows are unknown. Every branch counts as taken.

A line that cannot contain one of a recipe's programs is not parsed.
"""


def main() -> None:
    """Write the pages, and remove those of recipes that no longer exist."""
    DIRECTORY.mkdir(exist_ok=True)
    for path in DIRECTORY.glob("*.md"):
        path.unlink()
    for name, text in pages().items():
        (DIRECTORY / name).write_text(text)


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    recipes = [catalog.find(name) for name in catalog.names()]
    rows = ((f"[{each.name}]({each.name}.md)", each.summary) for each in recipes)
    guards = ((level, name) for level, names in LEVELS.items() for name in sorted(names))
    levels = ((f"[{name}]({name}.md)", f"`{level}`", *_costs(name)) for level, name in guards)
    header = ("Recipe", "From level", "Other calls, ms", "Calls it looks at, ms")
    index = INDEX.format(table=table(("Recipe", "What it does"), rows), levels=table(header, levels))
    return {"index.md": index, **{f"{each.name}.md": _page(each) for each in recipes}}


def _page(recipe: Recipe) -> str:
    config = json.dumps({"hooks": list(recipe.hooks)}, indent=2, ensure_ascii=False)
    options = [(f"`{each.name}`", _code(each.default), _cell(each.description)) for each in recipe.options]
    parts = [
        f"# {recipe.name}\n\n{GENERATED}\n\n{recipe.summary}\n\n```sh\nhookrun add {recipe.name}\n```\n",
        _list("What it does", recipe.catches),
        _list("Limits", recipe.misses),
        _cost(recipe.name),
        f"## Options\n\n{table(('Option', 'Default', 'Meaning'), options)}" if options else "",
        f"## Hooks\n\n```json\n{config}\n```\n",
    ]
    return "\n".join(filter(None, parts))


def _costs(name: str) -> tuple[str, str]:
    """Return a guard's milliseconds for a call that does not concern it, and for one that does."""
    measured = COSTS.get(name, {})
    return f"{measured.get('quick', '-')}", f"{measured.get('close', '-')}"


def _cost(name: str) -> str:
    if name not in COSTS:
        return ""
    quick, close = _costs(name)
    return (
        f"## Cost\n\n{quick} ms for a call that does not concern it, {close} ms for one that it must look at closely,\n"
        "in a running server ([all guards](index.md#levels)).\n"
    )


def _list(title: str, items: Sequence[str]) -> str:
    return f"## {title}\n\n" + "".join(f"- {each}\n" for each in items) if items else ""


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
