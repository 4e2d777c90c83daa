"""The table of commands: groups, purposes, former names and what people type instead."""

from __future__ import annotations

import os

GROUPS = {
    "Get started": {
        "init": ("init", "Set up a project: recipes, agents, approval."),
        "add": ("recipes", "Add a recipe: a ready-made hook with tests."),
        "install": ("install", "Connect hookrun to your coding agents."),
        "status": ("status", "Show agents, hooks, approvals and the last run on one screen."),
        "doctor": ("status", "Check whether your hooks will run in each agent, and if not, why."),
    },
    "Write hooks": {
        "new": ("init", "Create a hook from a template, with tests."),
        "try": ("try_command", "Show what each hook says to a command line, a file or a prompt."),
        "test": ("test", "Run hook tests and report failures."),
    },
    "Look": {
        "list": ("show_config", "List hooks in the order in which they run."),
        "explain": ("explain", "Show which hooks would run for an event, and why."),
        "why": ("log", "Show the result of a run and which hook decided it."),
        "log": ("log", "Show recent events and what each hook did."),
        "stats": ("stats", "Show how often hooks ran and failed, and how long they took."),
    },
    "Decide": {
        "trust": ("trust", "Review what a project's hooks run, and approve them."),
        "deny": ("user_decisions", "Never run a hook of the project."),
        "disable": ("user_decisions", "Disable a hook of the project for yourself."),
        "enable": ("user_decisions", "Re-enable a disabled or denied hook."),
    },
    "Check and share": {
        "validate": ("validate_command", "Check config files and report errors."),
        "config": ("show_config", "Show the merged config or its schema, convert Claude Code hooks."),
        "recipes": ("recipes", "List, show and test ready-made hooks."),
    },
    "Plumbing": {"fire": ("fire_command", "Run the hooks for an event and print their verdict.")},
}
"""What `hookrun --help` lists: group -> name -> the module in `hookrun.cli` with `NAME_command`, and its purpose."""

MORE = {
    "remove": ("remove", "Remove a hook or a recipe from its config file."),
    "uninstall": ("install", "Disconnect hookrun from your coding agents."),
    "update": ("recipes", "Update recipes, and fetch included configs."),
    "pause": ("user_decisions", "Pause hooks temporarily."),
    "resume": ("user_decisions", "End a pause."),
    "untrust": ("user_decisions", "Forget the decisions about a project's hooks."),
    "serve": ("serve", "Run hooks for agents in a server that is always loaded."),
    "agents": ("status", "Show which coding agents are installed, and where hookrun is connected."),
    "help": ("help", "Show help for a command or a topic."),
    "version": ("help", "Print the version."),
}
"""What only `hookrun help all` lists."""

CONFIG = {
    "show": ("show_config", "Show the merged config, each value with the line that it comes from."),
    "schema": ("show_config", "Print the JSON Schema of config files."),
    "migrate": ("migrate", "Convert hooks in Claude Code's settings into hookrun's own format."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}
"""The commands of `hookrun config`."""

COMMANDS = {name: entry for group in (*GROUPS.values(), MORE) for name, entry in group.items()}

OLD_NAMES = {
    "completion": "config completion",
    "dump": "config show",
    "metrics": "stats",
    "migrate": "config migrate",
    "schema": "config schema",
}
"""Former commands, which still work and are not listed, and their present names."""

POSITIONAL = {
    **dict.fromkeys(("doctor", "install", "uninstall"), "--agent"),
    "explain": "--event",
    **dict.fromkeys(("deny", "disable", "enable", "pause", "remove", "resume"), "--hook"),
}
"""Command -> the filter that is its argument: it is taken as an option, too, as in the other commands."""

SYNONYMS = {
    "approve": "trust",
    "check": "validate",
    "connect": "install",
    "create": "new",
    "delete": "remove",
    "describe": "explain",
    "disconnect": "uninstall",
    "dry-run": "try",
    "events": "help events",
    "generate": "new",
    "history": "log",
    "hooks": "list",
    "info": "status",
    "lint": "validate",
    "logs": "log",
    "ls": "list",
    "matchers": "help matchers",
    "mute": "pause",
    "off": "disable",
    "on": "enable",
    "ps": "status",
    "reject": "deny",
    "rm": "remove",
    "run": "try",
    "setup": "init",
    "show": "config show",
    "start": "init",
    "unblock": "enable",
    "undo": "enable",
    "unpause": "resume",
    "upgrade": "update",
    "upgrade-recipes": "update",
    "verify": "validate",
    "view": "config show",
    "wire": "install",
}
"""What people type -> the command that they mean."""

OPTION_SYNONYMS = {
    "--agent": ("--client", "--tool-name", "--for"),
    "--config": ("--file", "--settings"),
    "--days": ("--since", "--last", "--age"),
    "--dry-run": ("--check", "--preview", "--no-write", "--simulate", "--diff"),
    "--event": ("--type", "--on", "--events"),
    "--failures": ("--failed", "--errors"),
    "--for": ("--duration", "--time", "--until"),
    "--help": ("--usage", "--man"),
    "--hook": ("--name", "--id", "--filter"),
    "--json": ("--format", "--output", "--output=json"),
    "--lang": ("--language", "--template"),
    "--long": ("--verbose", "--details", "--all", "--full"),
    "--user": ("--global", "--own"),
    "--yes": ("--force", "--assume-yes", "--no-input", "--non-interactive"),
}
"""An option -> what people type for it; only options that a command has are proposed."""

WITH_OPTIONS = ("log", "stats", "list", "test", "try", "explain", "doctor", "validate", "pause", "install")
"""Commands in which an option is looked for that another command does not have."""

TOPICS = os.path.join(os.path.dirname(__file__), "topics")


def topics() -> list[str]:
    """Return the names of the topics of `hookrun help`."""
    return sorted(name.removesuffix(".txt") for name in os.listdir(TOPICS) if name.endswith(".txt"))
