"""Write hookrun/recipes/catalogue/compiled.txt from the YAML beside it.

python scripts/compile_catalogue.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hookrun.recipes.catalogue.compiled_rows import COMPILED  # the package beside this program
from hookrun.recipes.catalogue.compiling import compiled, files_of  # as above


def main() -> None:
    """Write the file."""
    Path(COMPILED).write_text(compiled(files_of(str(Path(COMPILED).parent))), encoding="utf-8")


if __name__ == "__main__":
    main()
