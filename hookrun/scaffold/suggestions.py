"""Suggest recipes and a hook's language by what a project is: its manifests, lock files and formatters."""

from __future__ import annotations

import os
import shutil

MANIFESTS = {
    "Python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "uv.lock"),
    "Node": ("package.json",),
    "Go": ("go.mod",),
    "Rust": ("Cargo.toml",),
    "Ruby": ("Gemfile",),
}
"""Kind of project -> files of which it has at least one."""

TEMPLATE_LANGUAGES = {"Python": "python", "Node": "node", "Go": "go", "Ruby": "ruby"}
OTHER_LOCKS = ("pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "uv.lock")
"""Lock files of package managers that agents forget: they call npm or pip."""

FORMATTERS = {
    "Python": (
        ("ruff", "ruff.toml", ".ruff.toml", "pyproject.toml:[tool.ruff"),
        ("black", "pyproject.toml:[tool.black"),
    ),
    "Node": (
        (
            "prettier",
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yaml",
            "prettier.config.js",
            'package.json:"prettier"',
        ),
        ("biome", "biome.json", "biome.jsonc"),
    ),
    "Go": (("gofmt", "go.mod"),),
    "Rust": (("rustfmt", "Cargo.toml"),),
}
"""Kind of project -> formatters, each with the files (or `FILE:TEXT`) that show that the project uses it."""

MAX_BYTES = 1 << 20


def kinds(root: str) -> list[str]:
    """Return the kinds of project that a directory is."""
    return [kind for kind, names in MANIFESTS.items() if any(_has(root, name) for name in names)]


def template_language(root: str) -> str:
    """Return the language in which a hook for this project is written by default."""
    return next((TEMPLATE_LANGUAGES[kind] for kind in kinds(root) if kind in TEMPLATE_LANGUAGES), "sh")


def suggest(root: str) -> dict[str, bool]:
    """Return the recipes to offer for a project, each with whether it is selected by default."""
    found = kinds(root)
    offered = {"block-destructive-commands": True, "protect-files": True}
    if _has(root, ".git"):
        offered["no-force-push"] = True
    if any(_has(root, name) for name in OTHER_LOCKS):
        offered["package-manager"] = True
    if found:
        offered["format-on-edit"] = any(_uses_formatter(root, kind) for kind in found)
        offered["run-tests-at-stop"] = False
    return {**offered, "protect-hooks": False, "secret-scan": False, "notify": False}


def _uses_formatter(root: str, kind: str) -> bool:
    return any(
        any(_has(root, mark) for mark in marks)
        and (shutil.which(program) is not None or _has(root, f"node_modules/.bin/{program}"))
        for program, *marks in FORMATTERS.get(kind, ())
    )


def _has(root: str, mark: str) -> bool:
    name, _, text = mark.partition(":")
    path = os.path.join(root, name)
    if not text:
        return os.path.exists(path)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return text in file.read(MAX_BYTES)
    except OSError:
        return False
