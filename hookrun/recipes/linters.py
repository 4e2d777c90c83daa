"""The linters that the recipe `lint-on-edit` knows: for which files, how they are run, how they say that they found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Linter:
    """A program that checks one file, whose path is its last argument.

    `found` are the exit statuses that mean that the file has problems; any other but 0 means that it could not check.
    """

    name: str
    endings: tuple[str, ...]
    command: tuple[str, ...]
    found: tuple[int, ...] = (1,)


PYTHON = (".py", ".pyi")
JAVASCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
SHELL = (".sh", ".bash")
YAML = (".yaml", ".yml")

LINTERS = (
    Linter("ruff", PYTHON, ("ruff", "check", "--force-exclude", "--output-format=concise", "--quiet")),
    Linter("flake8", PYTHON, ("flake8",)),
    Linter("pyflakes", PYTHON, ("pyflakes",)),
    Linter("eslint", JAVASCRIPT, ("eslint",)),
    Linter("biome", (*JAVASCRIPT, ".json", ".css"), ("biome", "lint")),
    Linter("node", (".js", ".mjs", ".cjs"), ("node", "--check")),
    Linter("shellcheck", SHELL, ("shellcheck", "--format=gcc")),
    Linter("bash", SHELL, ("bash", "-n"), (1, 2)),
    Linter("stylelint", (".css", ".scss", ".less"), ("stylelint",), (2,)),
    Linter("yamllint", YAML, ("yamllint", "--format=parsable")),
    Linter("jq", (".json",), ("jq", "empty"), (2, 5)),
    Linter("gofmt", (".go",), ("gofmt", "-e", "-l"), (2,)),
    Linter("luacheck", (".lua",), ("luacheck", "--quiet", "--no-color"), (1, 2)),
    Linter("php", (".php",), ("php", "-l"), (255,)),
    Linter("ruby", (".rb",), ("ruby", "-wc")),
    Linter("hadolint", (".dockerfile",), ("hadolint", "--no-color")),
)
"""Of those for a file's ending, the first that is found is used: the last of a language only reads its syntax."""
