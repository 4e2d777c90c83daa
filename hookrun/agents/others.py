"""Say what is true of agents without a module: what guards them, how they are wired by hand, or why nothing does."""

from __future__ import annotations

CLAUDE = "run `hookrun install claude`"

# An agent's names -> the fact, and a hint if there is one. The source, of November 2026, is in the comment above.
OTHERS = {
    # cursor.com/docs/reference/third-party-hooks
    "cursor cursor-agent": (
        "Cursor reads Claude Code's hooks if its settings include third-party plugins, skills and other configs",
        CLAUDE,
    ),
    # docs.devin.ai/cli/extensibility/hooks
    "devin": ("Devin CLI reads Claude Code's hooks", CLAUDE),
    # code.visualstudio.com/docs/agent-customization/hooks
    "vscode vs-code code": (
        "in VS Code, the Local harness reads Claude Code's hooks; the Copilot, Claude and Codex ones are those agents",
        f"{CLAUDE}, with `copilot` or `codex` for those",
    ),
    # the documentation in its program: which events run depends on the version
    "antigravity agy": ("Antigravity runs only hooks in `.agents/hooks.json`, which hookrun cannot write yet", ""),
    # its package on PyPI
    "mistral-vibe": ("Mistral Vibe is named after its program here", "run `hookrun install vibe`"),
    # npm @continuedev/cli 1.5.47: nothing in its program calls what reads them
    "continue": ("Continue reads Claude Code's hooks but runs none, so no hook can guard it", ""),
    # aider.chat/docs/config/options.html
    "aider": ("Aider runs no hooks, so none can guard it", ""),
}

# The names of an agent whose messages `fire` reads, and which obeys its refusals -> its title, and where it has hooks.
BY_HAND = {
    # docs.windsurf.com/windsurf/cascade/hooks
    "windsurf cascade": ("Windsurf", "`pre_*` in `.windsurf/hooks.json`"),
    # docs.factory.ai/harness/hooks; github.com/Factory-AI/factory/issues/3: version 0.186 reads no `hooks.json`
    "droid factory": ("Droid", "`hooks` in `.factory/settings.json`"),
    # kiro.dev/docs/cli/v3/hooks
    "kiro kiro-cli q": ("Kiro", "`.kiro/hooks`"),
    # docs.augmentcode.com/cli/hooks
    "auggie augment": ("Auggie", "`.augment/settings.json`"),
    # ampcode.com/docs/plugin-api
    "amp": ("Amp", "a plugin's `tool.call`"),
    # github.com/aaif-goose/goose, documentation/docs/guides/context-engineering/hooks.md
    "goose": ("Goose", "a plugin in `.agents/plugins`"),
    # docs.openhands.dev/openhands/usage/customization/hooks; measured: PyPI openhands-sdk 1.58.2
    "openhands": ("OpenHands", "`.openhands/hooks.json`"),
    # github.com/MoonshotAI/kimi-code, docs/en/customization/hooks.md
    "kimi kimi-code": ("Kimi Code", "`~/.kimi-code/config.toml`"),
    # github.com/charmbracelet/crush, docs/hooks
    "crush": ("Crush", "`crush.json`"),
    # measured: PyPI hermes-agent 0.19.0
    "hermes hermes-agent": ("Hermes", "`hooks` in its `config.yaml`"),
    # measured: PyPI deepagents-code 0.1.88
    "deepagents deepagents-code": ("deepagents-code", "`~/.deepagents/hooks.json`"),
}


def find(name: str) -> tuple[str, str] | None:
    """Return what is true of an agent without a module, and a hint or ""; None for an unknown name.

    >>> find("Devin")
    ("Devin CLI reads Claude Code's hooks", 'run `hookrun install claude`')
    """
    if (names := wired_by_hand(name)) is not None:
        title, place = BY_HAND[names]
        line = f"`hookrun fire --agent {names.split()[0]} PreToolUse`"
        return f"hookrun cannot write {title}'s hooks yet", f"have {place} run {line} before each tool"
    return next((found for names, found in OTHERS.items() if name.lower() in names.split()), None)


def wired_by_hand(name: str) -> str | None:
    """Return the names, in BY_HAND, of an agent whose own hooks can run `hookrun fire`; None for others."""
    return next((names for names in BY_HAND if name.lower() in names.split()), None)
