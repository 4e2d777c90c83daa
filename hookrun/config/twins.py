"""The same handler declared several times in Claude Code's form: it runs once, as Claude Code has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.model import Hook


def find_twins(hooks: Iterable[Hook]) -> None:
    """Note in each of the hooks, which are in running order, the matchers under which the same one stands before it.

    The same are handlers of one event with the same command or URL, the same arguments and the same `if`, which names
    the same files. A plugin's are its own; one that is declared wrongly or is switched off is no twin, and one in the
    background, which has no say, is none of one that has.
    """
    seen: dict[object, list[str]] = {}
    for hook in hooks:
        claude = hook.claude
        if not isinstance(claude, dict) or hook.error is not None or hook.mode == "off":
            continue
        target = hook.target if isinstance(hook.target, str) else tuple(hook.target)
        agents = tuple(hook.agents) if hook.agents is not None else None
        rule = (claude.get("if"), claude.get("base"))
        key = (claude["event"], hook.kind, target, rule, claude.get("plugin_root"), agents, hook.background)
        before = seen.setdefault(key, [])
        if before:
            claude["twins"] = list(dict.fromkeys(before))
        before.append(str(claude.get("matcher", "")))
