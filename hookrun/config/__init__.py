"""Find, read and validate the configuration of every layer; hot paths read it compiled, from a cache."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.config.cache import CompiledConfig
    from hookrun.config.discovery import ConfigFiles


def load_compiled(found: ConfigFiles) -> CompiledConfig | None:
    """Return the compiled configuration of these files, from the cache if that is fresh; None without any file."""
    if not found.files:
        return None
    from hookrun.config.cache import load_cached

    compiled = load_cached(found)
    if compiled is None:
        from hookrun.config.compile_lock import compile_once  # cold: needed only after a file has changed

        compiled = compile_once(found)
    return compiled
