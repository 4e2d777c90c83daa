from typing import Any

from hookrun.recipes.recipe import Option, Recipe, option

TIMEOUT = 5  # seconds
RECIPE = Recipe(
    "say-no",
    "Says no to a word.",
    hooks=(
        {
            "name": "say-no",
            "event": "pre_tool_use",
            "matcher": "bash",
            "cwd": "/",
            "python": "hookrun.recipes.say_no:check",
        },
        {"name": "say-no-later", "event": "stop", "command": "exit 0", "timeout": TIMEOUT},
    ),
    options=(Option("word", "no", "The word."),),
    catches="- The word.",
    misses="- Other words.",
)


def check(context: dict[str, Any]) -> dict[str, str] | None:
    word = option(RECIPE, "word")
    return {"action": "block", "message": f"not {word}"} if word in context["tool_args"]["command"] else None
