"""hookrun: write a hook once, in any language; every coding agent obeys it.

The names of the library are loaded when they are first used (PEP 562): `hookrun fire` pays for none of them.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:  # for those who check types; at run time `__getattr__` does it
    from hookrun.library.context import Context as Context
    from hookrun.library.engine import Bundle as Bundle
    from hookrun.library.engine import DeclarationError as DeclarationError
    from hookrun.library.engine import Engine as Engine
    from hookrun.library.event_contexts import (
        AfterInference as AfterInference,
    )
    from hookrun.library.event_contexts import (
        AfterRequest as AfterRequest,
    )
    from hookrun.library.event_contexts import (
        AssistantResponse as AssistantResponse,
    )
    from hookrun.library.event_contexts import (
        BeforeInference as BeforeInference,
    )
    from hookrun.library.event_contexts import (
        BeforeRequest as BeforeRequest,
    )
    from hookrun.library.event_contexts import (
        ErrorOccurred as ErrorOccurred,
    )
    from hookrun.library.event_contexts import (
        FileChanged as FileChanged,
    )
    from hookrun.library.event_contexts import (
        Notification as Notification,
    )
    from hookrun.library.event_contexts import (
        PermissionRequest as PermissionRequest,
    )
    from hookrun.library.event_contexts import (
        PostCheckpoint as PostCheckpoint,
    )
    from hookrun.library.event_contexts import (
        PostCompact as PostCompact,
    )
    from hookrun.library.event_contexts import (
        PostToolFailure as PostToolFailure,
    )
    from hookrun.library.event_contexts import (
        PostToolUse as PostToolUse,
    )
    from hookrun.library.event_contexts import (
        PreCheckpoint as PreCheckpoint,
    )
    from hookrun.library.event_contexts import (
        PreCompact as PreCompact,
    )
    from hookrun.library.event_contexts import (
        PreReflectionStore as PreReflectionStore,
    )
    from hookrun.library.event_contexts import (
        PreSearchQuery as PreSearchQuery,
    )
    from hookrun.library.event_contexts import (
        PreSessionEnd as PreSessionEnd,
    )
    from hookrun.library.event_contexts import (
        PreToolUse as PreToolUse,
    )
    from hookrun.library.event_contexts import (
        SessionEnd as SessionEnd,
    )
    from hookrun.library.event_contexts import (
        SessionStart as SessionStart,
    )
    from hookrun.library.event_contexts import (
        Stop as Stop,
    )
    from hookrun.library.event_contexts import (
        SubagentStart as SubagentStart,
    )
    from hookrun.library.event_contexts import (
        SubagentStop as SubagentStop,
    )
    from hookrun.library.event_contexts import (
        ToolCallAborted as ToolCallAborted,
    )
    from hookrun.library.event_contexts import (
        ToolCallRequested as ToolCallRequested,
    )
    from hookrun.library.event_contexts import (
        UserPromptSubmit as UserPromptSubmit,
    )
    from hookrun.library.fire import NestedError as NestedError
    from hookrun.library.handlers import Handler as Handler
    from hookrun.library.handlers import RegistrationError as RegistrationError
    from hookrun.library.result import Abort as Abort
    from hookrun.library.result import Result as Result
    from hookrun.library.result import Skip as Skip
    from hookrun.model import Failure as Failure
    from hookrun.model import Hook as Hook
    from hookrun.model import Run as Run
    from hookrun.model import Verdict as Verdict
    from hookrun.run.pool import ClosedError as ClosedError

PUBLIC = {
    "hookrun.library.context": "Context",
    "hookrun.library.engine": "Bundle DeclarationError Engine",
    "hookrun.library.event_contexts": (
        "AfterInference AfterRequest AssistantResponse BeforeInference BeforeRequest ErrorOccurred FileChanged "
        "Notification PermissionRequest PostCheckpoint PostCompact PostToolFailure PostToolUse PreCheckpoint "
        "PreCompact PreReflectionStore PreSearchQuery PreSessionEnd PreToolUse SessionEnd SessionStart Stop "
        "SubagentStart SubagentStop ToolCallAborted ToolCallRequested UserPromptSubmit"
    ),
    "hookrun.library.fire": "NestedError",
    "hookrun.library.handlers": "Handler RegistrationError",
    "hookrun.library.result": "Abort Result Skip",
    "hookrun.model": "Failure Hook Run Verdict",
    "hookrun.run.pool": "ClosedError",
}
"""Module -> the public names that it holds."""


def __getattr__(name: str) -> object:
    for module, names in PUBLIC.items():  # not by `lazy`: `from hookrun import audit` on the hot path asks here first
        if name in names.split():
            from importlib import import_module

            found: object = getattr(import_module(module), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'hookrun' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *" ".join(PUBLIC.values()).split()})
