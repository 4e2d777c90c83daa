"""Ready-made hooks: declared by a person, run like any other."""

RECIPES: tuple[str, ...] = ("protect_hooks",)
"""The modules of this package that hold a recipe, as `RECIPE`."""
