"""Print the number of English words of each page of the documentation, and of all of them.

python scripts/count_words.py

Code, comments, the generated API reference and the rows of the lineage do not count.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MOST = 25_520
"""Words in all pages together."""

NOT_ENGLISH = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`|<!--.*?-->|^---\n.*?^---$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[^\W\d_]")


def counts() -> dict[str, int]:
    """Return the words of each page, by its path in docs."""
    pages = [page for page in sorted(DOCS.rglob("*.md")) if "api" not in page.parent.parts]
    return {str(page.relative_to(DOCS)): words(page) for page in pages}


def words(page: Path) -> int:
    """Return the number of words of a page; a word has a letter."""
    text = NOT_ENGLISH.sub("", page.read_text())
    if page.name == "lineage.md":
        text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    return sum(WORD.search(word) is not None for word in text.split())


def main() -> None:
    """Print the counts."""
    found = counts()
    for page, count in found.items():
        print(f"{count:6}  {page}")
    print(f"{sum(found.values()):6}  of at most {MOST}")


if __name__ == "__main__":
    main()
