"""hookrun: write a hook once, in any language; every coding agent obeys it.

    from hookrun import Engine, Verdict

    engine = Engine()

    @engine.on("pre_tool_use", matcher="bash")
    def no_sudo(ctx):
        return Verdict.block("no sudo here") if "sudo" in ctx.tool_args["command"] else None

    result = engine.fire_sync("pre_tool_use", tool_name="bash", tool_args={"command": "sudo ls"})

`hookrun.events` has a context class for each event, `hookrun.library` the classes that annotations name. All exceptions
are HookrunError.
"""

# The names are loaded on first use (PEP 562): `hookrun fire` pays for none.
__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:  # for type checkers; at run time `__getattr__` loads them
    from hookrun.core.context import ContextError as ContextError
    from hookrun.core.model import Verdict as Verdict
    from hookrun.core.text import HookrunError as HookrunError, InvalidVerdictError as InvalidVerdictError
    from hookrun.integrations.hooked import hooked as hooked
    from hookrun.integrations.tool_loop import run_tool as run_tool
    from hookrun.library import Abort as Abort, Result as Result, Skip as Skip
    from hookrun.library.calls import NotAsyncioError as NotAsyncioError
    from hookrun.library.embedded_engine import DeclarationError as DeclarationError, Engine as Engine, load as load
    from hookrun.library.engine_fire import NestedError as NestedError
    from hookrun.library.event_contexts import Context as Context
    from hookrun.library.handlers import RegistrationError as RegistrationError
    from hookrun.process.pool import ClosedError as ClosedError

# Module -> its public names.
PUBLIC = {
    "core.context": "ContextError",
    "core.model": "Verdict",
    "core.text": "HookrunError InvalidVerdictError",
    "integrations.hooked": "hooked",
    "integrations.tool_loop": "run_tool",
    "library": "Abort Result Skip",
    "library.calls": "NotAsyncioError",
    "library.embedded_engine": "DeclarationError Engine load",
    "library.engine_fire": "NestedError",
    "library.event_contexts": "Context",
    "library.handlers": "RegistrationError",
    "process.pool": "ClosedError",
}

__all__ = sorted(" ".join(PUBLIC.values()).split())  # noqa: PLE0605  # of one table


def __getattr__(name: str) -> object:
    for module, names in PUBLIC.items():
        if name in names.split():
            found: object = getattr(__import__(f"hookrun.{module}", fromlist=(name,)), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'hookrun' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
