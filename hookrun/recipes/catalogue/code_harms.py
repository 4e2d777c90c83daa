"""Find what code loses that a program is given: statements of SQL, commands of other databases, calls in programs."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.recipes.catalogue.compiled_rows import Catalogue, Row

IGNORING_CASE = re.IGNORECASE | re.ASCII | re.DOTALL

# Parts of SQL that are no statements: comments, and texts, of which dollar quotes hold a function's body.
SQL_PARTS = re.compile(
    r"(?P<comment>--[^\n]*|/\*(?!!).*?(?:\*/|\Z))|(?P<body>\$(\w*)\$(?P<inner>.*?)(?:\$\3\$|\Z))"
    r"|(?P<text>'(?:[^'\\]|\\.|'')*(?:'|\Z))|(?P<name>[\"`\[](?P<bare>[\w .-]*)[\"`\]])|(?P<mysql>/\*!\d*|\*/)",
    re.DOTALL | re.ASCII,
)
# String literals of Python, JavaScript, Ruby, PHP and Perl.
STRINGS = re.compile(
    r"\"\"\"(.*?)\"\"\"|'''(.*?)'''|\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`", re.DOTALL
)
TEMPORARY = re.compile(r"(?:.*\.)?#?(?:tmp|temp|scratch)(?:_.*)?$|.*_(?:tmp|temp)$", IGNORING_CASE)


def harms_in(catalogue: Catalogue, language: str, text: str) -> Iterator[tuple[Row, str]]:
    """Yield the harms of a text in a language, by the catalogue's rows of it, each with the name of what is lost."""
    for row in catalogue.rows(f"language {language}"):
        parts = _sql_statements(text) if row.get("reads") == "sql" else [text]
        for part in parts:
            for harm in row["harms"]:
                found = re.search(harm["matches"], part, IGNORING_CASE)
                if found is None or any(re.search(each, part, IGNORING_CASE) for each in harm.get("unless", ())):
                    continue
                name = (found.groupdict().get("name") or "").replace("\0", "?")
                if not TEMPORARY.match(name):
                    yield harm, name
        if "strings" in row:
            for literal in STRINGS.finditer(text):
                inner = next(filter(None, literal.groups()), "")
                yield from harms_in(catalogue, row["strings"], inner.replace("\\n", "\n"))


def _sql_statements(text: str) -> list[str]:
    """Return the statements that take effect, without comments, with `''` for texts and one space between words."""
    inner: list[str] = []

    def plain(part: re.Match[str]) -> str:
        if part["inner"] is not None:
            inner.append(part["inner"])
            return f" $body{len(inner) - 1}$ "
        return "''" if part["text"] else part["bare"].replace(" ", "_") if part["name"] else " "

    found: list[str] = []
    begun: int | None = None  # where a transaction that may be rolled back began
    for each in re.split(r";|^\s*GO\s*$|\\g\b", SQL_PARTS.sub(plain, text), flags=re.MULTILINE | re.IGNORECASE):
        words = " ".join(each.split())
        words = re.sub(
            r"^(?:\(|EXPLAIN (?:\(?\s*)?ANALY[SZ]E\b[^)]*?\)? (?=DELETE|UPDATE|WITH))", "", words, flags=re.IGNORECASE
        )
        if re.match(r"(?:BEGIN|START TRANSACTION)\b", words, re.IGNORECASE) and begun is None:
            begun = len(found)
            words = re.sub(r"^BEGIN(?: (?:TRAN(?:SACTION)?|WORK))? ?", "", words, flags=re.IGNORECASE)
        elif re.match(r"(?:COMMIT|END)\b", words, re.IGNORECASE):
            begun = None
        elif re.match(r"(?:ROLLBACK|ABORT)\b(?! (?:\w+ )?TO\b)", words, re.IGNORECASE) and begun is not None:
            del found[begun:]
            begun = None
        if re.match(r"DO\b", words, re.IGNORECASE):
            for body in re.findall(r"\$body(\d+)\$", words):
                found += _sql_statements(re.sub(r"(?i)\b(?:BEGIN|THEN|ELSE|LOOP|DECLARE)\b", ";", inner[int(body)]))
        found.append(words)
    return found
