"""Ready-made hooks: declared by a person, run like any other."""

RECIPES: tuple[str, ...] = (
    "block_destructive_commands",
    "commit_message_check",
    "no_force_push",
    "package_manager",
    "protect_files",
    "secret_scan",
)
"""The modules of this package that hold a recipe, as `RECIPE`."""
