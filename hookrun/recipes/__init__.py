"""Ready-made hooks, configured and run like any other."""

# Modules of this package with a recipe, `RECIPE`.
RECIPES: tuple[str, ...] = (
    "block_destructive_commands",
    "commit_message_check",
    "cost_tracker",
    "format_on_edit",
    "inject_git_context",
    "learn_from_errors",
    "learn_patterns",
    "lint_on_edit",
    "log_tools",
    "no_force_push",
    "no_verify",
    "notify",
    "package_manager",
    "protect_branches",
    "protect_cloud",
    "protect_data",
    "protect_files",
    "protect_hooks",
    "protect_tests",
    "quality_gate",
    "rate_limit",
    "require_plan",
    "run_tests_at_stop",
    "secret_scan",
    "session_digest",
    "snapshot_before",
    "stale_edit",
    "ticket_from_branch",
    "tool_times",
)

# The recipes that `hookrun add guards` adds, by level; each level has those of the levels before it, too.
GUARDS = "guards"
LEVELS: dict[str, tuple[str, ...]] = {
    "standard": (
        *("block-destructive-commands", "no-force-push", "protect-cloud", "protect-data", "protect-files"),
        *("protect-hooks", "secret-scan", "snapshot-before"),
    ),
    "strict": ("no-verify", "protect-branches", "protect-tests", "stale-edit"),
}

# The values of a yes-or-no option.
YES, NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
