"""Check the words of every text that people read: docs, README, changelog, templates, help pages and Python files.

python scripts/check_words.py [PATH...]

A phrase of ALWAYS_WRONG is an error and the exit status is 1. A word of AT_MOST_A_FEW that a file has more than
A_FEW times is reported as a warning. Code is exempt: identifiers, code blocks, and whatever is in backquotes.
In a Python file, docstrings, comments and string literals are read; in tests, docstrings and comments; in YAML, lines
with a comment, a name or a description.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

READ = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "action.yml", ".pre-commit-hooks.yaml"),
    *("docs", "examples", "man", "hookrun", "scripts", ".ci"),
)
READ_IN_PYTHON_ONLY = ("tests", "benchmarks")
"""Their docstrings and comments are read, not their strings: those are data."""

SUFFIXES = frozenset({".py", ".md", ".txt", ".sh", ".1", ".yml", ".yaml", ".js", ".go", ".rb"})

A_FEW = 3

ALWAYS_WRONG = {
    r"(?:came|comes?|becomes?|became) of": "result, outcome",
    r"ha(?:s|ve|d) (?:a|its|no|the) (?:say|last word)": "takes precedence, is effective",
    r"whose word|its word (?:is|can|counts)": "takes precedence, can block",
    r"(?:lets?|letting) (?:it )?pass": "allow",
    r"a (?:stranger|person)'s": "untrusted, the user's",
    r"in the place of": "instead of",
    r"(?:is|are|was|were|be|been|being) told": "is notified, gets, is reported",
    r"(?:goes|went|gone|going) on(?! (?:PATH|stdin|stdout|stderr|to|top|the|a)\b)": "continue",
    r"found no [^.:;\n]{1,80}, expected|found [^.:;\n]{1,80}, expected|found (?:that )?[^.:;\n]{1,40} did not find": (
        'name the fault: unknown event "x"'
    ),
    r"(?:tak(?:e|es|en|ing)|took) back": "remove, undo",
    r"(?:itself )?(?:is |are )?in trouble": "internal error",
    r"of the surroundings": "environment variable",
    r"has no objection": "allow",
    r"next to nothing": "give the number",
    r"(?:are|is|was|were) not there(?! is)": "not found, missing",
    r"(?:has|had|have) nothing to say": "allow",
    r"(?:has|have|had) patience": "timeout",
}
"""Phrases that no text has, as regular expressions of whole words, and what to write instead."""

ALWAYS_WRONG_IN_TESTS = {"nobody|somebody|(?:a|the) person": "user, or name what it is", "trouble": "error, failure"}
"""Words that tests do not have either; elsewhere they are right now and then."""

AT_MOST_A_FEW = (
    "go on",
    "told",
    "tells?",
    "whose",
    "nobody",
    "somebody",
    "(?:a|the) person",
    "strangers?",
    "stands?",
    "put aside",
    "taken out",
    "as it is",
    "of its own",
    "what of",
    "is over",
    "surroundings",
    "so that [^.]{1,60} may",
    "what is wrong",
    "wir(?:e|es|ed|ing)",
    "declares?",
    "trouble",
    "no more than",
)
"""Words that are right now and then, as regular expressions; many of them in one file are a manner of speaking."""

REVIEWED = frozenset({("hookrun/recipes/secret_scan.py", "tells?"), ("CHANGELOG.md", "whose")})
"""Warnings that were read and found to be right: `tell` is an option of the recipe, `whose` is said of things."""


def words(pattern: str) -> re.Pattern[str]:
    """Return a pattern for whole words, wherever their line breaks."""
    pattern = pattern.replace(" ", r"\s+")
    return re.compile(rf"(?<![\w-])(?:{pattern})(?!\w)", re.IGNORECASE)


WRONG = {words(phrase): better for phrase, better in ALWAYS_WRONG.items()}
WRONG_IN_TESTS = WRONG | {words(phrase): better for phrase, better in ALWAYS_WRONG_IN_TESTS.items()}
FEW = {word: words(word) for word in AT_MOST_A_FEW}


class Text(NamedTuple):
    """A piece of prose, its code blanked, and the number of its first line."""

    line: int
    prose: str


class Finding(NamedTuple):
    """A phrase or word at a place. `better` is None for a word that is only counted."""

    line: int
    words: str
    better: str | None


def without_code(text: str) -> str:
    """Return the text of the same length with code blocks, quoted code, comments and link targets blanked."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"\S", "_", match.group())

    for code in (
        r"^(?P<fence> *(?:```+|~~~+)).*?^(?P=fence)|^(?: {4}|\t)(?=>>>).*?$",
        r"(?P<ticks>`+)(?:(?!\n\s*\n).)+?(?P=ticks)",
        r"\]\([^)]*\)|https?://\S+",
    ):
        text = re.sub(code, blank, text, flags=re.DOTALL | re.MULTILINE)
    return text


def texts_of_python(source: str, *, strings: bool) -> Iterator[Text]:
    """Yield the comments and docstrings of a Python program, and with `strings` its other string literals."""
    comments: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if comments and token.start != (comments[-1].start[0] + 1, comments[-1].start[1]):
            yield joined(comments)
            comments = []
        comments.append(token)
    if comments:
        yield joined(comments)

    tree = ast.parse(source)
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and strings:
            inside.update(id(part) for part in node.values)
            parts = (part.value if isinstance(part, ast.Constant) else "_" for part in node.values)
            yield Text(node.lineno, without_code("".join(map(str, parts))))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            is_prose = id(node) in statements or (strings and " " in node.value.strip())
            if is_prose:
                yield Text(node.lineno, without_code(node.value))


def joined(comments: list[tokenize.TokenInfo]) -> Text:
    """Return comments that follow one another as one text."""
    return Text(comments[0].start[0], without_code("\n".join(each.string.lstrip("# ") for each in comments)))


def texts_of(path: Path) -> Iterator[Text]:
    """Yield the prose of a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        strings = path.relative_to(ROOT).parts[0] not in READ_IN_PYTHON_ONLY
        yield from texts_of_python(source, strings=strings)
    elif path.suffix in (".yaml", ".yml"):
        yield Text(1, re.sub(r"^(?!.*#|.*\b(?:name|description):).*$", "", source, flags=re.MULTILINE))
    else:
        yield Text(1, without_code(source))


def findings_in(text: Text, wrong: dict[re.Pattern[str], str]) -> Iterator[Finding]:
    """Yield what is found in a text, even where a line breaks between the words."""
    for pattern, better in wrong.items():
        for match in pattern.finditer(text.prose):
            yield Finding(line_of(text, match.start()), " ".join(match.group().split()), better)
    for word, pattern in FEW.items():
        for match in pattern.finditer(text.prose):
            yield Finding(line_of(text, match.start()), word, None)


def line_of(text: Text, index: int) -> int:
    """Return the number of the line of a character of a text."""
    return text.line + text.prose.count("\n", 0, index)


def everything() -> list[Path]:
    """Return the paths of all texts."""
    return [ROOT / each for each in (*READ, *READ_IN_PYTHON_ONLY) if (ROOT / each).exists()]


def files(paths: list[Path]) -> Iterator[Path]:
    """Yield the files with prose at or below the paths."""
    for path in paths:
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        for each in below:
            if each.suffix in SUFFIXES and "__pycache__" not in each.parts and each != Path(__file__).resolve():
                relative = each.relative_to(ROOT).parts
                if each.suffix == ".py" or relative[0] not in READ_IN_PYTHON_ONLY:
                    yield each


def report(paths: list[Path]) -> tuple[list[str], list[str]]:
    """Return the errors and the warnings about the files at or below the paths."""
    errors, warnings = [], []
    for path in files(paths):
        name = path.relative_to(ROOT)
        wrong = WRONG_IN_TESTS if name.parts[0] == "tests" else WRONG
        counts: Counter[str] = Counter()
        for text in texts_of(path):
            for line, words, better in findings_in(text, wrong):
                if better is None:
                    counts[words] += 1
                else:
                    errors.append(f'error: {name}:{line}: "{words}"; write instead: {better}')
        if name.parts[0] not in READ_IN_PYTHON_ONLY:
            often = {
                word: count for word, count in counts.items() if count > A_FEW and (str(name), word) not in REVIEWED
            }
            warnings += [f'warning: {name}: "{word}" {count} times' for word, count in often.items()]
    return errors, warnings


def main(arguments: list[str]) -> int:
    """Check the paths, or everything; return the exit status."""
    errors, warnings = report([Path(each).resolve() for each in arguments] or everything())
    for line in (*errors, *warnings):
        print(line)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
