"""Write hookrun/recipes/versions.json: what each version of each recipe declares.

A version that was released must not change: raise `version` in the recipe, and keep the old recipe in a module of its
own, `NAME_vN.py` with `until`, for two minor versions of hookrun.

python scripts/record_recipe_versions.py
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hookrun.config.recipe_entries import VERSIONS_FILE  # noqa: E402  # the package beside this program
from hookrun.recipes import RECIPES  # noqa: E402  # as above

if TYPE_CHECKING:
    from hookrun.recipes.recipe import Recipe


def main() -> None:
    """Write the file."""
    Path(VERSIONS_FILE).write_text(text())


def text() -> str:
    """Return the text of versions.json."""
    lines = (f'"{module.replace("_", "-")}": {json.dumps(_versions(module))}' for module in RECIPES)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _versions(module: str) -> dict[str, object]:
    old = sorted(Path(VERSIONS_FILE).parent.glob(f"{module}_v*.py"))
    newest, *others = (_recipe(name) for name in (module, *(path.stem for path in old)))
    versions = {str(each.version): {"until": each.until, "hooks": each.hooks} for each in (*others, newest)}
    for each in versions.values():
        if not each["until"]:
            del each["until"]
    return {"options": {each.name: each.variable for each in newest.options}, "versions": versions}


def _recipe(module: str) -> Recipe:
    return cast("Recipe", importlib.import_module(f"hookrun.recipes.{module}").RECIPE)


if __name__ == "__main__":
    main()
