"""Say what is true of agents without a module: what guards them, or why hookrun does not yet."""

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
    # docs.windsurf.com/windsurf/cascade/hooks
    "windsurf cascade": ("Windsurf runs only hooks in `.windsurf/hooks.json`, which hookrun cannot write yet", ""),
    # docs.factory.ai/harness/hooks
    "droid factory": ("Droid runs only hooks in `.factory`, which hookrun cannot write yet", ""),
    # kiro.dev/docs/cli/v3/hooks
    "kiro kiro-cli q": ("Kiro runs only hooks in `.kiro/hooks`, which hookrun cannot write yet", ""),
    # docs.augmentcode.com/cli/hooks
    "auggie augment": ("Auggie runs only hooks in `.augment/settings.json`, which hookrun cannot write yet", ""),
    # ampcode.com/docs/plugin-api
    "amp": ("Amp runs plugins, and hookrun has none for it yet", ""),
    # github.com/aaif-goose/goose, documentation/docs/guides/context-engineering/hooks.md
    "goose": ("Goose runs only hooks of plugins in `.agents/plugins`, which hookrun cannot write yet", ""),
    # docs.openhands.dev/openhands/usage/customization/hooks
    "openhands": ("OpenHands runs only hooks in `.openhands/hooks.json`, which hookrun cannot write yet", ""),
    # moonshotai.github.io/kimi-code
    "kimi kimi-code": ("Kimi Code runs only hooks in its `config.toml`, which hookrun cannot write yet", ""),
    # github.com/charmbracelet/crush, docs/hooks
    "crush": ("Crush runs only hooks in `crush.json`, which hookrun cannot write yet", ""),
    # the documentation in its program: which events run depends on the version
    "antigravity agy": ("Antigravity runs only hooks in `.agents/hooks.json`, which hookrun cannot write yet", ""),
    # PyPI hermes-agent 0.19.0, agent/shell_hooks.py
    "hermes hermes-agent": ("Hermes runs only hooks in its `config.yaml`, which hookrun cannot write yet", ""),
    # PyPI deepagents-code 0.1.88, its source
    "deepagents deepagents-code": ("deepagents-code runs only its own hooks, which hookrun cannot write yet", ""),
    # its package on PyPI
    "mistral-vibe": ("Mistral Vibe is named after its program here", "run `hookrun install vibe`"),
    # npm @continuedev/cli 1.5.47: nothing in its program calls what reads them
    "continue": ("Continue reads Claude Code's hooks but runs none, so no hook can guard it", ""),
    # aider.chat/docs/config/options.html
    "aider": ("Aider runs no hooks, so none can guard it", ""),
}


def find(name: str) -> tuple[str, str] | None:
    """Return what is true of an agent without a module, and a hint or ""; None for an unknown name.

    >>> find("Devin")
    ("Devin CLI reads Claude Code's hooks", 'run `hookrun install claude`')
    """
    return next((found for names, found in OTHERS.items() if name.lower() in names.split()), None)
