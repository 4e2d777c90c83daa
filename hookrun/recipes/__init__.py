"""Ready-made hooks: declared by a person, run like any other."""

RECIPES = (
    "cost_tracker",
    "format_on_edit",
    "inject_git_context",
    "lint_on_edit",
    "log_tools",
    "notify",
    "rate_limit",
    "require_plan",
    "run_tests_at_stop",
    "ticket_from_branch",
)
"""The modules of the recipes."""
