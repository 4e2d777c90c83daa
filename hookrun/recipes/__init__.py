"""Ready-made hooks: declared by a person, run like any other."""

RECIPES = (
    "block_destructive_commands",
)  # fmt: skip
"""The modules that have a `RECIPE`."""
