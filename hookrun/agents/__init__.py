"""Register the coding agents: one module each, loaded only when that agent calls."""

from __future__ import annotations

from hookrun.core.text import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.agents.types import Agent

# An agent's name -> the module with everything specific to it.
AGENTS = {
    "claude": "hookrun.agents.claude",
    "codex": "hookrun.agents.codex",
    "gemini": "hookrun.agents.gemini",
    "qwen": "hookrun.agents.qwen",
    "copilot": "hookrun.agents.copilot",
    "cline": "hookrun.agents.cline",
    "opencode": "hookrun.agents.opencode",
    "kilo": "hookrun.agents.kilo",
    "pi": "hookrun.agents.pi",
    "vibe": "hookrun.agents.vibe",
    "grok": "hookrun.agents.grok",
}

# Agents whose own hooks hookrun runs in every other (see dialects.py).
DIALECTS = ("claude", "codex", "gemini", "qwen", "copilot", "cursor", "windsurf")

# What starts an agent that asks its user about no call, by the agents' own help: rows for `recipes.shell_recipe`.
UNASKED = """
claude --dangerously-skip-permissions|--permission-mode=bypassPermissions
claude --permission-mode bypassPermissions
codex --dangerously-bypass-approvals-and-sandbox|--yolo
gemini|qwen -y|--yolo|--approval-mode=yolo
gemini|qwen --approval-mode yolo
copilot --allow-all-tools|--allow-all|--yolo
cursor-agent -f|--force
amp --dangerously-allow-all
crush -y|--yolo
droid --skip-permissions-unsafe
aider --yes-always
"""

# An agent, even without a module here -> globs of the files with its hooks and the settings that disable them.
#
# One table: hooks that protect these files would otherwise load every agent's module at each call.
SETTINGS_GLOBS: dict[str, tuple[str, ...]] = {
    "claude": (".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/*"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json",),
    "qwen": (".qwen/settings.json",),
    "copilot": (
        ".github/hooks/*",
        ".github/copilot/settings*",
        ".copilot/settings.json",
        ".copilot/config.json",
        ".copilot/hooks/*",
    ),
    "cline": (".cline/hooks/*", ".clinerules/hooks/*", "Documents/Cline/Hooks/*"),
    "opencode": (".opencode/plugin/*", ".opencode/plugins/*", ".config/opencode/*", "opencode.json", "opencode.jsonc"),
    "kilo": (".kilo/plugin*/*", ".kilocode/plugin*/*", ".kilo/kilo.json*", ".config/kilo/*", "kilo.json", "kilo.jsonc"),
    "pi": (".pi/extensions/*", ".pi/settings.json", ".pi/agent/extensions/*", ".pi/agent/settings.json"),
    "vibe": (".vibe/hooks.toml", ".vibe/config.toml", ".vibe/trusted_folders.toml", ".vibe/plugins/*"),
    "cursor": (".cursor/hooks.json",),
    "windsurf": (".windsurf/hooks.json", ".codeium/windsurf/hooks.json", ".codeium/hooks.json"),
    "devin": (".devin/hooks.v1.json", ".devin/config*.json", ".config/devin/config.json"),
    "grok": (".grok/config.toml", ".grok/hooks/*", ".grok/disabled-hooks"),
    "droid": (".factory/settings*.json", ".factory/hooks.json", ".factory/hooks/hooks.json"),
    "kiro": (".kiro/hooks/*", ".kiro/agents/*"),
    "auggie": (".augment/settings*.json",),
    "amp": (".amp/plugins/*", ".config/amp/plugins/*"),
    "goose": (".agents/plugins/*/hooks/*",),
    "openhands": (".openhands/hooks.json",),
    "kimi": (".kimi-code/config.toml",),
    "crush": ("crush.json", ".crush.json", ".config/crush/crush.json"),
    "hermes": (".hermes/config.yaml", ".hermes/shell-hooks-allowlist.json"),
    "deepagents": (".deepagents/hooks.json",),
}

# The program of an agent without a module here -> the environment variables it sets for its commands.
MARKERS_OF_OTHERS: dict[str, tuple[str, ...]] = {
    "cursor-agent": (),
    "devin": (),
}


class UnknownAgentError(UserError, LookupError):
    """hookrun has no module for an agent; the message says what is true of it, or lists those that it has."""


def load(name: str, *, by_hand: bool = False) -> Agent:
    """Return the agent's module, or, `by_hand`, what reads an agent without one. Raises UnknownAgentError."""
    path = AGENTS.get(name)
    if path is None:
        from hookrun.agents import others
        from hookrun.core.text import did_you_mean, quote

        if by_hand and others.wired_by_hand(name) is not None:
            return load_sender(name)
        supported = f"supported agents are {', '.join(AGENTS)}"
        known = others.find(name)
        fact, hint = known or ("", did_you_mean(name, AGENTS))
        message = f"{quote(name)}: {fact}" if known else f"unknown agent {quote(name)}"
        raise UnknownAgentError(f"{message}\nhint: {hint or supported}")
    module: object = __import__(path, fromlist=("NAME",))
    agent: Agent = getattr(module, "AGENT", module)  # type: ignore[arg-type]  # tests check the modules
    return agent


def load_sender(name: str) -> Agent:
    """Return the agent that sent a message, maybe one without a module."""
    if name in AGENTS:
        return load(name)
    from hookrun.agents import callers  # rarely needed

    return callers.CALLERS.get(name) or callers.by_hand(name)


def status_without_hooks(argv: list[str]) -> int:
    """Return the exit status where no hook could run: 1, but 0 for an agent that takes 1 for a refusal."""
    return 0 if any(load(name).INSTALL.get("exit_zero_only") for name in argv if name in AGENTS) else 1


def caller_needs_zero() -> bool:
    """Return whether, by the environment, the calling agent takes any other exit status for a refusal."""
    from os import environ

    try:
        known = map(load, AGENTS)
        return any(each.INSTALL.get("exit_zero_only") and any(map(environ.get, each.ENV_MARKERS)) for each in known)
    except Exception:  # its module fails to load, too: refuse nothing
        return True


def end_with_zero() -> None:
    """End silently on signals, for an agent that takes any exit status but 0 for a refusal."""
    import _signal  # type: ignore[import-not-found]  # see process/child.py
    from os import _exit

    for number in (1, 2, 15):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda _number, _frame: _exit(0))


def env_markers() -> tuple[str, ...]:
    """Return the environment variables that agents set for the commands they run."""
    others = (each for markers in MARKERS_OF_OTHERS.values() for each in markers)
    return (*(each for name in AGENTS for each in load(name).ENV_MARKERS), *others)


def agent_events(agent: str) -> frozenset[str]:
    """Return the events that an agent sends, by hookrun's names; empty for an unknown agent.

    >>> "after_inference" in agent_events("codex")
    True
    """
    return frozenset(load(agent).EVENTS.values()) if agent in AGENTS else frozenset()


def settings_globs() -> tuple[str, ...]:
    """Return globs of agents' hook files and of settings that disable hooks, in a project or the home directory.

    >>> ".claude/settings.json" in settings_globs()
    True
    """
    return tuple(each for globs in SETTINGS_GLOBS.values() for each in globs)


def can_ask(agent: str, agent_event: str) -> bool:
    """Return whether an agent can ask the user at its event; True if that is unknown.

    >>> can_ask("claude", "PreToolUse"), can_ask("gemini", "BeforeTool")
    (True, False)
    """
    form = load(agent).RESPONSE_FORMATS.get(agent_event) if agent in AGENTS else None
    return form is None or "ask" in form.capabilities


def sends_typed_input(agent: str) -> bool:
    """Return whether hooks see all input that the model types into a running program."""
    return agent != "codex"  # its `write_stdin` fires no hook
