"""Mistakes of authors that a type checker finds. Each line that ends in "wrong" and what is one; no other line is."""

# pyright: strict

from __future__ import annotations

from hookrun import Context, Engine, Result, Verdict
from hookrun.events import PostToolUse, PreToolUse, Stop, UserPromptSubmit

engine = Engine()


class Deploy(Context, event="deploy"):
    """An event of the program's own."""


class Release(Context, event="release"):
    """An event with fields."""

    target: str
    dry_run: bool = False


class Greeting:
    """A bundle."""

    def register(self, engine: Engine) -> None:
        """Register it."""


# Handlers


@engine.on(PreToolUse)  # wrong: a handler of another event
def other_event(ctx: PostToolUse) -> Verdict | None:
    """Take another context."""


@engine.on(PreToolUse, Stop)  # wrong: a handler of one of two events
def one_of_two(ctx: PreToolUse) -> Verdict | None:
    """Take one of the two contexts."""


@engine.on(PreToolUse)  # wrong: a handler with two parameters
def two_parameters(ctx: PreToolUse, result: Result) -> Verdict | None:
    """Take too much."""


@engine.on(PreToolUse)  # wrong: a handler without a parameter
def no_parameter() -> Verdict | None:
    """Take too little."""


@engine.on(PreToolUse)  # wrong: an answer that is none
def text(ctx: PreToolUse) -> str:
    """Answer with a text."""
    return "no"


@engine.on(PreToolUse)  # wrong: a result used as a verdict
async def result(ctx: PreToolUse) -> Result:
    """Answer with a result."""
    return await engine.fire(Stop())


@engine.on("pre_tol_use")  # wrong: an event that does not exist
def no_event(ctx: PreToolUse) -> None:
    """Wait forever."""


@engine.on("deploy")  # wrong: an event of the program's own that no class declares
def undeclared(ctx: Context) -> None:
    """Wait forever."""


@engine.on(PreToolUse, mode="enforced")  # wrong: a mode that does not exist
def mode(ctx: PreToolUse) -> None:
    """Have no mode."""


@engine.on(PreToolUse, on_failure="deny")  # wrong: a policy that does not exist
def policy(ctx: PreToolUse) -> None:
    """Have no policy."""


@engine.on(PreToolUse, priorty=10)  # wrong: a misspelt option
def option(ctx: PreToolUse) -> None:
    """Have no priority."""


@engine.on(PreToolUse)
def fields(ctx: PreToolUse) -> None:
    """Read fields."""
    print(ctx.tool_nmae)  # wrong: a field that does not exist
    print(ctx.tool_name + 1)  # wrong: a text used as a number


engine.register(Stop, fields)  # wrong: registered for another event
engine.register("*", fields)  # wrong: a handler of one event for every event
engine.register("stop", fields, tiemout=3)  # wrong: a misspelt option of register
engine.register("stop")  # wrong: no function
engine.register("stop", "print")  # wrong: the name of a function
engine.use(Greeting)  # wrong: a class where an instance is meant

# Contexts

PreToolUse()  # wrong: a required argument is missing
PreToolUse(tool_name="bash", sesion_id="s1")  # wrong: a misspelt field of a context
PreToolUse(tool_name=3)  # wrong: a field of the wrong type
PreToolUse(tool_name="bash", tool_args="ls")  # wrong: arguments that are a text
UserPromptSubmit(prompt="hello")  # wrong: Claude's name of a field
Release(dry_run=True)  # wrong: a required argument of the program's own is missing
Release(target="x", dry_rnu=True)  # wrong: a misspelt field of the program's own
Release(target=3)  # wrong: a field of the program's own of the wrong type
Release(target="x").dry_run.upper()  # wrong: what a field of the program's own has not

# Firing

engine.fire_sync("pre_tool_use", tool_nmae="bash")  # wrong: a misspelt field of fire
engine.fire_sync("pre_tool_use", tool_args=["ls"])  # wrong: arguments that are a list
engine.fire_sync("pretooluse")  # wrong: an event that is not spelt so
engine.fire_sync(PreToolUse)  # wrong: a class where a context is meant
engine.fire_sync("stop", deadline="1s")  # wrong: a deadline that is a text
engine.fire_sync("stop", "s1")  # wrong: a text where a mapping is meant

# Sessions

session = engine.session(session_id="s1", state=["seen"])
session.state.append("again")
session.state.appnd("again")  # wrong: a misspelt attribute of the state
session.state.append(3)  # wrong: not what the state holds
session.fire_sync("pre_tool_use", tool_nmae="bash")  # wrong: a misspelt field of an event of the session
session.fire_sync("pretooluse")  # wrong: an event that is not spelt so
engine.session(sesion_id="s1")  # wrong: a misspelt field of a session
engine.session().state.append("x")  # wrong: a state that was not given
session.run_tool("bash", ["ls"], str)  # wrong: arguments that are a list

# Verdicts

Verdict("blok")  # wrong: an action that does not exist
Verdict.patch(["ls"])  # wrong: arguments that are a list
Verdict.block(message=3)  # wrong: a message that is a number
Verdict.replace_output({"stdout": ""})  # wrong: an output that is no text
Verdict.replace_prompt(None)  # wrong: a prompt that is none
Verdict("modify", modified_output=["a"])  # wrong: an output that is a list
Verdict("modify", modified_prompt=3)  # wrong: a prompt that is a number
Verdict(mesage="no")  # wrong: a misspelt field of a verdict
if engine.fire_sync(Deploy()).action == "blocked":  # wrong: a comparison that never holds
    print("blocked")
