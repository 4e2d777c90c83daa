"""Ready-made hooks: declared by a person, run like any other."""

RECIPES = (
    "block_destructive_commands",
    "commit_message_check",
    "no_force_push",
    "package_manager",
    "protect_files",
    "secret_scan",
)  # fmt: skip
"""The modules that have a `RECIPE`."""
