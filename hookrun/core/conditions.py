"""Decide whether a hook matches a context: `matcher`, `when`, `unless`, `agents`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from hookrun.core.model import AnyHook, ClaudeForm


def glob(pattern: str, text: str) -> bool:
    """Return whether a glob matches; only wildcards need the import of the module for globs."""
    if "*" not in pattern and "?" not in pattern and "[" not in pattern:
        return pattern == text
    from hookrun.core import globs

    return globs.glob(pattern, text)


def resolve_path(value: object, path: str, every: bool = True) -> Iterator[object]:  # noqa: FBT001, FBT002  # once per condition
    """Yield the values at the dotted `path` of a context, through each element of lists on the way.

    A path is ambiguous if keys contain dots: `a.b` is b within a, or one key. With `every`, all existing ways are used,
    so that an added key cannot hide another; otherwise the one with the most steps.
    """
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        if head.isdecimal() and len(head) <= LONGEST_INDEX and int(head) < len(value):
            yield from resolve_path(value[int(head)], rest, every) if rest else _elements(value[int(head)])
            return
        for element in value:
            yield from resolve_path(element, path, every)
    elif isinstance(value, dict):
        cut = path.find(".")
        while cut >= 0:
            if path[:cut] in value:
                found = list(resolve_path(value[path[:cut]], path[cut + 1 :], every))
                yield from found
                if found and not every:
                    return
            cut = path.find(".", cut + 1)
        if path in value:
            yield from _elements(value[path])


def _elements(value: object) -> Iterator[object]:
    if isinstance(value, list):
        for element in value:
            yield from _elements(element)
    else:
        yield value


def to_matchable_text(value: object) -> str | None:
    """Return the text to match globs with: a string, or a number or boolean as JSON, else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else None


# Fields that are known of a call whose arguments are not.
READ = frozenset({"event", "agent", "agent_event", "tool_name", "agent_tool_name"})


class ConditionEvaluator:
    """Evaluate conditions on one context; lookups are cached."""

    __slots__ = ("_agent", "_context", "_texts", "_tools")

    def __init__(self, context: Mapping[str, object]) -> None:
        self._context = context
        self._agent = context.get("agent")
        self._tools = tool_names(context)
        self._texts: dict[tuple[str, bool], list[str]] = {}

    def mismatch(
        self,
        matcher: Sequence[str] | None = None,
        when: Mapping[str, Sequence[str]] | None = None,
        unless: Mapping[str, Sequence[str]] | None = None,
        agents: Sequence[str] | None = None,
        claude: ClaudeForm | None = None,
    ) -> tuple[str, str] | None:
        """Return the first condition that does not match, and its path in `when` or the reason; None if all match."""
        if agents is not None and self._agent not in agents and self._context.get("fired_through") not in agents:
            return "agents", ""
        if matcher is not None and not self.tool_matches(matcher):
            return "matcher", ""
        if when is not None and (path := self.unmatched(when)) is not None:
            return "when", path
        if unless is not None and self.unmatched(unless, every=False) is None:
            return "unless", ""
        if claude is not None:
            from hookrun.claude.matcher import why_not

            reason = why_not(claude, self._context)
            return None if reason is None else ("claude", reason)
        return None

    def may_match(self, hook: AnyHook, *, of_any_tool: bool = False) -> bool:
        """Return whether a hook may match, if neither the arguments nor, with `of_any_tool`, the tool are known."""
        unknown = {"if", "twins", "matcher"} if of_any_tool else {"if", "twins"}
        claude = getattr(hook, "claude", None)
        if claude is not None:
            claude = type(claude)({name: each for name, each in claude.to_dict().items() if name not in unknown})
        if of_any_tool:
            return self.mismatch(agents=hook.agents, claude=claude) is None
        when = {path: globs for path, globs in (hook.when or {}).items() if path in READ}
        unless = hook.unless if hook.unless and READ.issuperset(hook.unless) else None
        return self.mismatch(hook.matcher, when, unless, hook.agents, claude) is None

    def tool_matches(self, matcher: Sequence[str]) -> bool:
        """Return whether a glob matches the tool, by its canonical name or the agent's.

        In the names of MCP servers and their tools `-` and `_` are alike: agents replace one by the other.
        """
        if any(glob(pattern, name) for pattern in matcher for name in self._tools):
            return True
        mcp = [name.replace("-", "_") for name in self._tools if name.startswith("mcp__")]
        return mcp != [] and any(
            glob(each.replace("-", "_"), name)
            for each in matcher
            if each[:4] == "mcp_" and "[" not in each
            for name in mcp
        )

    def unmatched(self, conditions: Mapping[str, Sequence[str]], *, every: bool = True) -> str | None:
        """Return the first dotted path without a value that matches one of its globs; `every` as in `resolve_path`."""
        for path, globs in conditions.items():
            texts = self.texts(path, every=every)
            if not any(glob(pattern, text) for text in texts for pattern in globs):
                return path
        return None

    def texts(self, path: str, *, every: bool = True) -> list[str]:
        """Return the texts at a dotted path that globs are matched with; `every` as in `resolve_path`."""
        if (texts := self._texts.get((path, every))) is None:
            found = resolve_path(self._context, path, every)
            texts = [text for value in found if (text := to_matchable_text(value)) is not None]
            if every and path == "tool_name":
                texts += [name for name in self._tools if name.startswith("mcp__")]
            self._texts[path, every] = texts
        return texts


def tool_names(context: Mapping[str, object]) -> list[str]:
    """Return the names for a matcher: the canonical one, the agent's, and other possible ones."""
    names = [name for field in ("tool_name", "agent_tool_name") if isinstance(name := context.get(field), str)]
    possible = context.get("possible_tool_names")
    return names + [name for name in possible if isinstance(name, str)] if isinstance(possible, list) else names


# Digits of a list index in a path; more are a key.
LONGEST_INDEX = 9


def mismatches(
    conditions: Mapping[int, Mapping[str, Any]], context: Mapping[str, object]
) -> dict[int, tuple[str, str] | None]:
    """Return for each key of conditions, by name as `mismatch` takes them, which one a context does not meet."""
    view = ConditionEvaluator(context)
    return {key: view.mismatch(**each) for key, each in conditions.items()}
