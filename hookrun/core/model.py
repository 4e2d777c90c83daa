"""The data that all modules share: hooks, verdicts, failures, results. No I/O, no imports of ours."""

from __future__ import annotations

# Not typing.TYPE_CHECKING: importing it, like dataclasses and enum, costs each tool call milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from hookrun.core.literals import Action

# Where a hook is configured; earlier layers take precedence.
LAYERS = ("managed", "user", "project", "local")
# Layers whose hooks need the user's approval before they run.
UNTRUSTED_LAYERS = frozenset({"project", "local"})

# Every action and its strength: of several answers the strongest wins.
PRECEDENCE = {"continue": 0, "allow": 1, "modify": 1, "ask": 2, "skip": 3, "block": 4, "stop": 5}

# Actions that end the chain: after them only `always` hooks run.
TERMINAL_ACTIONS = frozenset({"skip", "block", "stop"})
# Actions that deny the call: they count whatever follows (a crash, a hang) or runs beside them.
BINDING_ACTIONS = TERMINAL_ACTIONS | {"ask"}
# Actions that may come with other arguments.
CAN_CARRY_ARGS = frozenset({"modify", "allow", "ask"})

# Every kind of failure and its meaning. A failure is not a verdict: `on_failure` decides what follows.
FAILURES = {
    "bad_verdict": "it exited normally, but its answer is not a valid verdict",
    "exit_code": "it exited with a status other than 0 and 2",
    "broken_script": "its shell or interpreter could not run a part of its script, and it gave no verdict",
    "signal": "it was killed by a signal",
    "timeout": "it did not answer within its timeout or the deadline",
    "spawn": "it could not be started",
    "missing": "its program or script does not exist or is not executable",
    "untrusted": "it is not approved",
    "declaration": "its configuration is invalid",
    "http": "the HTTP request failed",
    "exception": "its function raised an exception",
}


class Failure:
    """Why a run of a hook failed: its `kind` in FAILURES, a `detail` for people, the `exception` of a function."""

    def __init__(self, kind: str, detail: str, exception: BaseException | None = None) -> None:
        self.kind = kind
        self.detail = detail
        self.exception = exception

    def line(self, hooks: str) -> str:
        """Return the sentence about hooks with this failure."""
        ran = self.kind != "untrusted" or self.detail.endswith("ignored")  # what changed while it ran
        return f"{hooks} failed ({self.kind}): {self.detail}" if ran else f"{hooks} did not run: {self.detail}"

    def __repr__(self) -> str:
        return f"Failure({self.kind!r}, {self.detail!r})"

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "exception": None}  # it may hold anything


VERDICT_TEXTS = ("message", "additional_context", "system_message", "modified_output", "modified_prompt")
VERDICT_OBJECTS = ("modified_args", "args_patch", "modified_context")
VERDICT_FIELDS = VERDICT_TEXTS + VERDICT_OBJECTS
VERDICT_NAMES = ("action", *VERDICT_FIELDS)


class AnyVerdict:
    """The fields of a verdict: of a fire's result, and of a verdict while they are collected."""

    action: Action  # a verdict that was not made by `__init__` has none, and is no answer
    message: str | None = None
    modified_args: dict[str, object] | None = None
    args_patch: dict[str, object] | None = None
    additional_context: str | None = None
    system_message: str | None = None
    modified_context: dict[str, object] | None = None
    modified_output: str | None = None
    modified_prompt: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of this verdict: `action` and every other field that is set."""
        return {name: value for name in VERDICT_NAMES if (value := getattr(self, name)) is not None}

    def replace(self, **changes: Any) -> Verdict:
        """Return a new verdict with these fields, and those of this one otherwise."""
        return Verdict(**{**AnyVerdict.to_dict(self), **changes})


class Verdict(AnyVerdict):
    """The answer of one hook, or of all combined. The fields are those of the JSON that a hook prints.

    Its fields cannot be assigned (see `replace`). Two with the same fields are equal.

    >>> Verdict("ask", "This reaches production.", additional_context="The staging host is free.").to_dict()
    {'action': 'ask', 'message': 'This reaches production.', 'additional_context': 'The staging host is free.'}

    Raises InvalidVerdictError (a ValueError) for an action that does not exist.
    """

    def __init__(
        self,
        action: Action = "continue",
        message: str | None = None,
        *,
        modified_args: dict[str, object] | None = None,
        args_patch: dict[str, object] | None = None,
        additional_context: str | None = None,
        system_message: str | None = None,
        modified_context: dict[str, object] | None = None,
        modified_output: str | None = None,
        modified_prompt: str | None = None,
    ) -> None:
        try:
            PRECEDENCE[action]
        except (KeyError, TypeError):
            from hookrun.core.text import InvalidVerdictError  # rarely needed

            raise InvalidVerdictError(action, PRECEDENCE) from None
        texts = message, additional_context, system_message, modified_output, modified_prompt
        given = (action, *texts, modified_args, args_patch, modified_context)
        vars(self).update(zip(VERDICT_NAMES, given, strict=True))  # to set them raises

    def __setattr__(self, name: str, value: object) -> None:
        if name in VERDICT_NAMES or type(self) is Verdict:
            raise AttributeError(f"a 'Verdict' cannot be changed: verdict.replace({name}=...) returns a new one")
        super().__setattr__(name, value)  # of a subclass

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a 'Verdict' cannot be changed: {name} cannot be deleted")

    @classmethod
    def block(cls, message: str | None = None) -> Self:
        """Return the verdict that blocks the call; `message` gives the model the reason."""
        return cls("block", message)

    @classmethod
    def ask(cls, message: str | None = None) -> Self:
        """Return the verdict that leaves the decision to the user."""
        return cls("ask", message)

    @classmethod
    def allow(cls, message: str | None = None) -> Self:
        """Return the verdict that allows the call without asking the user."""
        return cls("allow", message)

    @classmethod
    def skip(cls, message: str | None = None) -> Self:
        """Return the verdict that skips the call without calling it a mistake."""
        return cls("skip", message)

    @classmethod
    def stop(cls, message: str | None = None) -> Self:
        """Return the verdict that ends the agent's turn."""
        return cls("stop", message)

    @classmethod
    def modify(cls, args: Mapping[str, object], message: str | None = None) -> Self:
        """Return the verdict that runs the tool with these arguments instead, which replace all of its own.

        >>> Verdict.modify({"command": "git push --dry-run"}, "as a dry run")
        Verdict({'action': 'modify', 'message': 'as a dry run', 'modified_args': {'command': 'git push --dry-run'}})
        """
        return cls("modify", message, modified_args=args if type(args) is dict else dict(args))

    @classmethod
    def patch(cls, args: Mapping[str, object], message: str | None = None) -> Self:
        """Return the verdict that changes these arguments only; one that is None is removed (RFC 7396).

        >>> from hookrun import Engine
        >>> engine = Engine()
        >>> handler = engine.register("pre_tool_use", lambda ctx: Verdict.patch({"timeout": 60, "sudo": None}))
        >>> given = {"command": "make", "timeout": 600, "sudo": True}
        >>> engine.fire_sync("pre_tool_use", tool_name="bash", tool_args=given).modified_args
        {'command': 'make', 'timeout': 60}
        """
        return cls("modify", message, args_patch=args if type(args) is dict else dict(args))

    @classmethod
    def replace_output(cls, output: str, message: str | None = None) -> Self:
        """Return the verdict that gives the model, and later hooks, this text as a tool's result or error.

        >>> Verdict.replace_output("(two lines with a key)")
        Verdict({'action': 'modify', 'modified_output': '(two lines with a key)'})
        """
        return cls("modify", message, modified_output=output)

    @classmethod
    def replace_prompt(cls, prompt: str, message: str | None = None) -> Self:
        """Return the verdict that sends this prompt instead of the user's."""
        return cls("modify", message, modified_prompt=prompt)

    @classmethod
    def with_context(cls, context: str) -> Self:
        """Return the verdict that continues and gives the model this text."""
        return cls(additional_context=context)

    @classmethod
    def with_metadata(cls, **context: object) -> Self:
        """Return the verdict that continues and passes these values to later hooks, as `metadata`."""
        return cls(modified_context=context)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and Verdict.to_dict(self) == Verdict.to_dict(other)

    def __hash__(self) -> int:
        return hash((self.action, self.message))

    def __repr__(self) -> str:
        return f"Verdict({self.to_dict()!r})"


# The verdict of a function that returns nothing.
NO_OBJECTION = Verdict()


class ClaudeForm:
    """What only a hook's declaration in the form of Claude Code, or of another `agent`, has.

    `event` is Claude Code's, `native` the other's; `matcher` and `rule` (its `if`) are as written; `base` and `home`
    begin the rule's paths. `tools` are named by another agent's names, `twins` the matchers and `tools` of the same
    handler, declared before. `own`: the agent runs the hook itself, everywhere (True) or if it began there. For another
    agent, `pattern` is the matcher in Claude Code's form, `mcp` that of MCP tools; `text` must match the command.
    `rewakes` is its `asyncRewake`.
    """

    agent: str = "claude"
    event = native = mcp = text = ""
    pattern: str | None = None
    matcher: str | None = None
    rule: str | None = None
    plugin_root: str | None = None
    own: bool | str = False
    rewakes: bool = False
    base: str | None = None
    home: str | None = None
    tools: Sequence[str] = ()
    twins: Sequence[tuple[str, Sequence[str]]] = ()

    def __init__(self, fields: Mapping[str, object]) -> None:
        self.__dict__ = {"rule" if name == "if" else name: value for name, value in fields.items()}

    def to_dict(self) -> dict[str, object]:
        """Return the fields that were set, by their names in JSON."""
        return {"if" if name == "rule" else name: value for name, value in vars(self).items()}


class AnyHook:
    """What a chain knows of each hook: of a configured one, and of a program's handler.

    `kind` says what runs, and `target` which: for a configured hook its `command`, `args`, `python` or `url`, for a
    handler the function's `module:name`.
    """

    agents: Sequence[str] | None = None
    always: bool = False
    description: str | None = None
    events: Sequence[str] = ()
    kind: str = "command"
    layer: str = "project"
    line: int = 0
    matcher: Sequence[str] | None = None
    metadata: Mapping[str, object] | None = None
    mode: str = "enforce"
    name: str = ""
    on_failure: str = "continue"
    parallel: bool = False
    priority: int = 500
    source: str = ""
    target: str | Sequence[str] = ""
    timeout: float = 30.0
    unless: Mapping[str, Sequence[str]] | None = None
    when: Mapping[str, Sequence[str]] | None = None

    @property
    def enforcing(self) -> bool:
        """Whether the hook can block or change the call."""
        return self.mode == "enforce" and not getattr(self, "background", False)

    def location(self) -> str:
        """Return `file:line` of the declaration."""
        return f"{self.source}:{self.line}" if self.source else "?"


class Hook(AnyHook):
    """One configured hook, validated, with all defaults filled in.

    `look` holds the words of `target` that literally name its program and script; they are checked before a run.
    `words` are references to what it executes (see `config.executed`), which an approval covers.
    `error` describes invalid configuration: such a hook never runs and fails as `declaration`. `claude` is for one in
    Claude Code's form. Fields of `config.schema.FIELDS` that are not listed here are attributes, too.
    """

    allowed_env: Sequence[str] = ()
    background: bool = False
    claude: ClaudeForm | None = None
    cwd: str = "project"
    dialect: str = "hookrun"
    env: Mapping[str, str] | None = None
    env_policy: str = "inherit"
    error: str | None = None
    exclusive: bool = False
    files: Sequence[str] = ()
    headers: Mapping[str, str] | None = None
    interpreter: str | None = None
    look: Sequence[str] = ()
    max_output: int = 1 << 20
    on_block: str = "block"
    overridable: bool = False
    payload: bool = False
    serve: bool = False
    state: Sequence[str] = ()
    words: Sequence[str] = ()

    def __init__(self, **fields: object) -> None:
        self.__dict__ = HOOK_DEFAULTS | fields

    def to_dict(self) -> dict[str, object]:
        """Return every field by its name, as `from_dict` takes, the cache stores and `list --json` shows it."""
        return {**vars(self), "claude": None if self.claude is None else self.claude.to_dict()}

    def given(self) -> dict[str, object]:
        """Return the fields of `to_dict` without those that have their defaults."""
        return {name: value for name, value in self.to_dict().items() if value != HOOK_DEFAULTS.get(name)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return the hook with these fields, as returned by `to_dict`; missing fields have their defaults."""
        claude = data.get("claude")
        return cls(**{**data, "claude": ClaudeForm(claude)}) if isinstance(claude, dict) else cls(**data)

    def __repr__(self) -> str:
        return f"Hook({self.name!r}, {self.kind}={self.target!r})"


# A configured hook's optional fields, with their defaults.
HOOK_DEFAULTS = {
    name: value
    for owner in (AnyHook, Hook)
    for name, value in vars(owner).items()
    if name[0] != "_" and not hasattr(value, "__get__")
}


class Outcome:
    """The result of a hook's process: how it exited and what it wrote.

    `exit_code` is the exit status, or minus the number of the killing signal; None if it never ran. `failure` is set if
    it could not start or hookrun ended it. Times are milliseconds, sizes bytes. `answer` is what a Python program's
    function returned: a verdict, or one's object. `notes` are remarks. It `runs_on` in the background.
    """

    answer: Verdict | dict[str, object] | None = None
    exit_code: int | None = None
    stdout = b""
    stderr = b""
    bytes_in = 0
    bytes_out = 0
    bytes_err = 0
    truncated = runs_on = False
    processes_left = 0
    ms = 0.0
    notes: Sequence[str] = ()

    def __init__(self, failure: Failure | None = None) -> None:
        self.failure = failure


class Interrupted(Exception):  # noqa: N818  # not an error: a signal was sent
    """A signal asked hookrun to end while hooks ran; all have been ended.

    `signal` is its number, `outcomes` are those of the hooks side by side, None for a background hook.
    """

    def __init__(self, signal: int, outcomes: Sequence[Outcome | None]) -> None:
        super().__init__(signal)
        self.signal = signal
        self.outcomes = outcomes


class HookResult:
    """One hook's run: its answer, the verdict, and the cost.

    `verdict` is after `on_failure` and `mode`. `changed` are the paths of the arguments it changed, `before` and `args`
    all arguments before and after it. An `interrupted` run has no verdict. `lost` are those `notes` that users see.
    `lines` are the sentences about failures in its verdict, `consequence` is their end. `call` is the digest of a call
    that it refused, unless the user has `allowed` that one.
    """

    before: Mapping[str, object] | None = None
    args: dict[str, object] = {}  # noqa: RUF012  # replaced, never changed
    lost: Sequence[str] = ()
    lines: Sequence[str] = ()
    consequence = call = ""
    recheck = interrupted = allowed = False

    def __init__(
        self, hook: AnyHook, outcome: Outcome, verdict: Verdict = NO_OBJECTION, failure: Failure | None = None
    ) -> None:
        self.hook = hook
        self.verdict = verdict
        self.outcome = outcome
        self.failure = failure
        self.changed: list[str] = []
        self.notes: list[str] = []

    @property
    def name(self) -> str:
        """The hook's name."""
        return self.hook.name

    @property
    def action(self) -> str:
        """The action of the effective verdict."""
        return self.verdict.action

    @property
    def ms(self) -> float:
        """Time that the hook took, in milliseconds."""
        return self.outcome.ms

    def summary(self) -> dict[str, object]:
        """Return this result as in the `hooks` list of a combined verdict; `ms` is milliseconds."""
        return {
            "name": self.hook.name,
            "action": self.verdict.action,
            "failure": self.failure.kind if self.failure else None,
            "ms": round(self.outcome.ms, 1),
            **({"recheck": True} if self.recheck else {}),
        }

    def __repr__(self) -> str:
        return f"HookResult({self.name!r}, {self.verdict!r}{f', {self.failure!r}' if self.failure else ''})"


def as_object(value: object) -> dict[str, object]:
    """Return a JSON value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
