"""Say what is true of agents without a module: what guards them, how they are wired by hand, or why nothing does."""

from __future__ import annotations

CLAUDE = "run `hookrun install claude`"

# An agent's names -> the fact, and a hint if there is one. The source, of November 2026, is in the comment above.
OTHERS = {
    # cursor.com/docs/reference/third-party-hooks
    "cursor cursor-agent": ("Cursor reads Claude Code's hooks if its settings include third-party configs", CLAUDE),
    # docs.devin.ai/cli/extensibility/hooks
    "devin": ("Devin CLI reads Claude Code's hooks", CLAUDE),
    # code.visualstudio.com/docs/agent-customization/hooks
    "vscode vs-code code": (
        "in VS Code, the Local harness reads Claude Code's hooks; the Copilot, Claude and Codex ones are those agents",
        f"{CLAUDE}, with `copilot` or `codex` for those",
    ),
    # the documentation in its program: which events run depends on the version
    "antigravity agy": ("Antigravity runs only hooks in `.agents/hooks.json`, which hookrun cannot write yet", ""),
    "mistral-vibe": ("Mistral Vibe is named after its program here", "run `hookrun install vibe`"),
    # npm @continuedev/cli 1.5.47: nothing in its program calls what reads them
    "continue": ("Continue reads Claude Code's hooks but runs none, so no hook can guard it", ""),
    # aider.chat/docs/config/options.html
    "aider": ("Aider runs no hooks, so none can guard it", ""),
}

# The names of an agent whose messages `fire` reads, and which obeys its refusals -> its title, and where it has hooks.
# Measured: PyPI hermes-agent 0.19.0, deepagents-code 0.1.88, openhands-sdk 1.58.2. By their documentation of November
# 2026: docs.windsurf.com/windsurf/cascade/hooks, docs.factory.ai/harness/hooks (github.com/Factory-AI/factory/issues/3:
# 0.186 reads no `hooks.json`), kiro.dev/docs/cli/v3/hooks, docs.augmentcode.com/cli/hooks, ampcode.com/docs/plugin-api,
# github.com: block/goose, MoonshotAI/kimi-code and charmbracelet/crush, their guides to hooks.
BY_HAND = {
    "windsurf cascade": ("Windsurf", "`pre_*` in `.windsurf/hooks.json`"),
    "droid factory": ("Droid", "`hooks` in `.factory/settings.json`"),
    "kiro kiro-cli q": ("Kiro", "`.kiro/hooks`"),
    "auggie augment": ("Auggie", "`.augment/settings.json`"),
    "amp": ("Amp", "a plugin's `tool.call`"),
    "goose": ("Goose", "a plugin in `.agents/plugins`"),
    "openhands": ("OpenHands", "`.openhands/hooks.json`"),
    "kimi kimi-code": ("Kimi Code", "`~/.kimi-code/config.toml`"),
    "crush": ("Crush", "`crush.json`"),
    "hermes hermes-agent": ("Hermes", "`hooks` in its `config.yaml`"),
    "deepagents deepagents-code": ("deepagents-code", "`~/.deepagents/hooks.json`"),
}


def find(name: str) -> tuple[str, str] | None:
    """Return what is true of an agent without a module, and a hint or ""; None for an unknown name.

    >>> find("Devin")
    ("Devin CLI reads Claude Code's hooks", 'run `hookrun install claude`')
    """
    if (known := wired_by_hand(name)) is not None:
        first, title, place = known
        hint = f"have {place} run `hookrun fire --agent {first} PreToolUse` before each tool"
        return f"hookrun cannot write {title}'s hooks yet", hint
    return next((found for names, found in OTHERS.items() if name.lower() in names.split()), None)


def wired_by_hand(name: str) -> tuple[str, str, str] | None:
    """Return the first name, the title and the place of an agent whose own hooks can run `fire`; None for others."""
    found = (([*names.split()], each) for names, each in BY_HAND.items())
    return next(((names[0], *each) for names, each in found if name.lower() in names), None)
