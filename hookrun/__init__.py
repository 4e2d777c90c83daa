"""hookrun: write a hook once, in any language; every coding agent obeys it.

The names of the library are loaded when they are first used (PEP 562): `hookrun fire` pays for none of them.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:  # for those who check types; at run time `__getattr__` does it
    from hookrun.library.context import Context
    from hookrun.library.engine import Bundle, DeclarationError, Engine
    from hookrun.library.event_contexts import (
        AfterInference,
        AfterRequest,
        AssistantResponse,
        BeforeInference,
        BeforeRequest,
        ErrorOccurred,
        FileChanged,
        Notification,
        PermissionRequest,
        PostCheckpoint,
        PostCompact,
        PostToolFailure,
        PostToolUse,
        PreCheckpoint,
        PreCompact,
        PreReflectionStore,
        PreSearchQuery,
        PreSessionEnd,
        PreToolUse,
        SessionEnd,
        SessionStart,
        Stop,
        SubagentStart,
        SubagentStop,
        ToolCallAborted,
        ToolCallRequested,
        UserPromptSubmit,
    )
    from hookrun.library.fire import NestedError
    from hookrun.library.handlers import Handler, RegistrationError
    from hookrun.library.result import Abort, Result, Skip
    from hookrun.model import Failure, Hook, Run, Verdict
    from hookrun.run.pool import ClosedError

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
    for module, names in PUBLIC.items():
        if name in names.split():
            from importlib import import_module

            found: object = getattr(import_module(module), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'hookrun' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *" ".join(PUBLIC.values()).split()})
