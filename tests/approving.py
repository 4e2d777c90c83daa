"""Approve the hooks that a test wrote, in one change of the store."""

from __future__ import annotations

import time

from hookrun.config.approved_guards import ApprovedGuard, head, is_guard, write
from hookrun.config.discovery import find
from hookrun.config.load import load_config
from hookrun.core.model import UNTRUSTED_LAYERS, Hook
from hookrun.process.prepare import HookEnvironment
from hookrun.trust.digest import HookInspector
from hookrun.trust.project import approval, locked_store


def approve_all(root: str, home: str) -> list[str]:
    """Approve the hooks of the project at `root` as they are now, and return the names. The user is not asked.

    A hook that cannot be approved is left out.
    """
    approved: list[Hook] = []
    declared = load_config(find(root, home)).declarations.hooks
    hooks = [hook for hook in declared if hook.layer in UNTRUSTED_LAYERS and hook.error is None]
    if hooks:
        inspector = HookInspector(home, root, HookEnvironment({}, project=root, request_id="", home=home))
        with locked_store(home) as store:
            for hook in hooks:
                inspection = inspector.inspect(hook)
                if inspection.problem is None:
                    store.approve(inspection.digest, approval(hook, root, home))
                    approved.append(hook)
            guards = [ApprovedGuard(hook, time.time(), head(root)) for hook in approved if is_guard(hook)]
            write(home, root, guards)
        inspector.cache.keep()
    return [hook.name for hook in approved]
