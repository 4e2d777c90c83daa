"""hookrun: write a hook once, in any language; every coding agent obeys it.

The library's names are loaded on first use (PEP 562): `hookrun fire` pays for none.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:  # for type checkers; at run time `__getattr__` loads them
    from hookrun.agents import (
        agent_events as agent_events,
        can_ask as can_ask,
        sends_typed_input as sends_typed_input,
        settings_globs as settings_globs,
    )
    from hookrun.core.model import (
        AnyHook as AnyHook,
        Failure as Failure,
        Hook as Hook,
        HookResult as HookResult,
        Verdict as Verdict,
    )
    from hookrun.core.text import HookrunError as HookrunError
    from hookrun.library import Abort as Abort, Result as Result, Skip as Skip
    from hookrun.library.embedded_engine import DeclarationError as DeclarationError, Engine as Engine
    from hookrun.library.engine_fire import NestedError as NestedError
    from hookrun.library.event_contexts import (
        AfterInference as AfterInference,
        AfterRequest as AfterRequest,
        AssistantResponse as AssistantResponse,
        BeforeInference as BeforeInference,
        BeforeRequest as BeforeRequest,
        Context as Context,
        ErrorOccurred as ErrorOccurred,
        FileChanged as FileChanged,
        Notification as Notification,
        PermissionRequest as PermissionRequest,
        PostCheckpoint as PostCheckpoint,
        PostCompact as PostCompact,
        PostToolFailure as PostToolFailure,
        PostToolUse as PostToolUse,
        PreCheckpoint as PreCheckpoint,
        PreCompact as PreCompact,
        PreReflectionStore as PreReflectionStore,
        PreSearchQuery as PreSearchQuery,
        PreSessionEnd as PreSessionEnd,
        PreToolUse as PreToolUse,
        SessionEnd as SessionEnd,
        SessionStart as SessionStart,
        Stop as Stop,
        SubagentStart as SubagentStart,
        SubagentStop as SubagentStop,
        ToolCallAborted as ToolCallAborted,
        ToolCallRequested as ToolCallRequested,
        UserPromptSubmit as UserPromptSubmit,
    )
    from hookrun.library.fire_fields import FireFields as FireFields
    from hookrun.library.handlers import Handler as Handler
    from hookrun.library.registration import Bundle as Bundle
    from hookrun.library.signatures import RegistrationError as RegistrationError
    from hookrun.process.pool import ClosedError as ClosedError
    from hookrun.trust.guarded import guarded_files as guarded_files

# Module -> its public names.
PUBLIC = {
    "hookrun.agents": "agent_events can_ask sends_typed_input settings_globs",
    "hookrun.trust.guarded": "guarded_files",
    "hookrun.library.embedded_engine": "DeclarationError Engine",
    "hookrun.library.registration": "Bundle",
    "hookrun.library.engine_fire": "NestedError",
    "hookrun.library.fire_fields": "FireFields",
    "hookrun.library.event_contexts": (
        "AfterInference AfterRequest AssistantResponse BeforeInference BeforeRequest Context ErrorOccurred "
        "FileChanged Notification PermissionRequest PostCheckpoint PostCompact PostToolFailure PostToolUse "
        "PreCheckpoint PreCompact PreReflectionStore PreSearchQuery PreSessionEnd PreToolUse SessionEnd "
        "SessionStart Stop SubagentStart SubagentStop ToolCallAborted ToolCallRequested UserPromptSubmit"
    ),
    "hookrun.library.handlers": "Handler",
    "hookrun.library.signatures": "RegistrationError",
    "hookrun.library": "Abort Result Skip",
    "hookrun.core.model": "AnyHook Failure Hook HookResult Verdict",
    "hookrun.process.pool": "ClosedError",
    "hookrun.core.text": "HookrunError",
}

__all__ = sorted(" ".join(PUBLIC.values()).split())  # noqa: PLE0605  # of one table


def __getattr__(name: str) -> object:
    for module, names in PUBLIC.items():
        if name in names.split():
            found: object = getattr(__import__(module, fromlist=(name,)), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'hookrun' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *" ".join(PUBLIC.values()).split()})
