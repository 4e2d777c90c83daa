"""Approve the hooks that a test wrote, in one change of the store."""

from __future__ import annotations

from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.core.model import UNTRUSTED_LAYERS
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.digest import HookInspector
from hookrun.trust.project import approval, locked_store


def approve_all(root: str, home: str) -> list[str]:
    """Approve the hooks of the project at `root` as they are now, and return the names. The user is not asked.

    A hook that cannot be approved is left out.
    """
    approved = []
    compiled = load_compiled(find(root, home))
    declared = compiled.hooks() if compiled is not None else []
    hooks = [hook for hook in declared if hook.layer in UNTRUSTED_LAYERS and hook.error is None]
    if hooks:
        inspector = HookInspector(home, root, HookEnvironment({}, project=root, request_id="", home=home))
        with locked_store(home) as store:
            for hook in hooks:
                inspection = inspector.inspect(hook)
                if inspection.problem is None:
                    store.approved[inspection.digest] = approval(hook, root, home)
                    approved.append(hook.name)
        inspector.cache.keep()
    return approved
