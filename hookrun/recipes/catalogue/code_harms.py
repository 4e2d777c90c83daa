"""Find what code loses that a program is given: statements of SQL, commands of other databases, calls in programs."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.recipes.catalogue.compiled_rows import Catalogue, Row

FLAGS = re.IGNORECASE | re.ASCII | re.DOTALL | re.MULTILINE

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
# Names of temporary tables; statements that change tables.
DDL = re.compile(r"(?:ALTER|DROP|RENAME|TRUNCATE)\b", FLAGS)
TEMPORARY = re.compile(r"[^,]*(?<![^.#])(?:tmp|temp|scratch)(?:_[^,]*)?$|[^,]*_(?:tmp|temp)$", FLAGS)


def harms_in(catalogue: Catalogue, language: str, text: str) -> Iterator[tuple[Row, str]]:
    """Yield the harms of a text in a language, by the catalogue's rows of it, each with the name of what is lost."""
    for row in catalogue.rows(f"language {language}"):
        is_sql = row.get("reads") == "sql"
        parts = _sql_statements(text, keeps_ddl=language in row.get("commits", ())) if is_sql else [text]
        for at, part in enumerate(parts):
            for harm in row["harms"]:
                found = re.search(harm["matches"], part, FLAGS)
                if found is None or any(re.search(each, part, FLAGS) for each in harm.get("unless", ())):
                    continue
                name = (found.groupdict().get("name") or "").replace("\0", "?")
                if not TEMPORARY.match(name) and not (is_sql and name in _made(parts[:at])):
                    yield harm, name
        if "strings" in row and re.search(row["uses"], text, FLAGS):
            for literal in STRINGS.finditer(text):
                inner = next(filter(None, literal.groups()), "")
                yield from harms_in(catalogue, row["strings"], inner.replace("\\n", "\n"))


def _made(statements: list[str]) -> set[str]:
    """Return the tables that these statements make, which are new."""
    made = (re.match(r"CREATE (?:\w+ )?(?:TEMP\w* )?TABLE (?!IF )([^\s(]+)", each, FLAGS) for each in statements)
    return {each[1] for each in made if each}


def _sql_statements(text: str, *, keeps_ddl: bool = False) -> list[str]:
    """Return the statements that take effect, without comments, with `''` for texts and one space between words.

    `keeps_ddl`: what changes tables is not rolled back.
    """
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
            found[begun:] = [each for each in found[begun:] if keeps_ddl and DDL.match(each)]
            begun = None
        if re.match(r"DO\b", words, re.IGNORECASE):
            for body in re.findall(r"\$body(\d+)\$", words):
                found += _sql_statements(re.sub(r"(?i)\b(?:BEGIN|THEN|ELSE|LOOP|DECLARE)\b", ";", inner[int(body)]))
        found.append(words)
    return found
