"""Hold cases' results, compare them with the expected ones, and compute what they cover."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from glob import escape as escape_glob
from typing import TYPE_CHECKING

from hookrun.core.changes import json_equal
from hookrun.core.conditions import tool_names
from hookrun.core.events import REPLACEABLE, what_changes
from hookrun.core.globs import glob
from hookrun.core.model import PRECEDENCE, AnyHook, Hook, HookResult, as_object

if TYPE_CHECKING:
    from hookrun.agents.reply import AgentResponse
    from hookrun.config.document import Diagnostic
    from hookrun.core.model import Failure
    from hookrun.library import Result
    from hookrun.testing.cases import Case
    from hookrun.testing.sandbox import CaseConfig

# Limit on the characters of a list on one line of a difference.
MAX_LINE = 100
# Limit on the last lines shown of a hook's stderr.
MAX_STDERR_LINES = 10


@dataclass(repr=False, slots=True)
class CaseResult:
    """The result of firing an event.

    `verdict` is the combined verdict. `action`, the messages, and after all hooks `args` (the tool's arguments, by
    hookrun's names), `output` and `prompt` are its own or, with an agent, what the agent sees. `fired` are the hooks
    that ran, in order, each once. `degraded` names what the agent does not support and sees differently. `files` are
    the case directory's files with expectations, None for a missing one. `context` is what the first hook got.
    """

    verdict: Result
    action: str
    message: str | None = None
    additional_context: str | None = None
    system_message: str | None = None
    args: object = None
    output: object = None
    prompt: object = None
    fired: list[str] = field(default_factory=list)
    files: dict[str, str | None] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    runs: list[HookResult] = field(default_factory=list)
    context: dict[str, object] = field(default_factory=dict)
    event: str = ""
    ms: float = 0.0

    @property
    def failures(self) -> list[Failure]:
        """Why hooks failed, those in the background too."""
        return [run.failure for run in self.runs if run.failure is not None]

    def as_result(self) -> Result:
        """Return it as the result of a fire."""
        for name in ("action", *TEXTS, "runs"):
            setattr(self.verdict, name, getattr(self, name))
        self.verdict.modified_args = None if self.args == self.context.get("tool_args") else as_object(self.args)
        return self.verdict

    def stderr(self) -> list[tuple[str, str]]:
        """Return the last lines that each hook wrote to stderr."""
        texts = [(run.name, run.outcome.stderr.decode("utf-8", "replace").rstrip()) for run in self.runs]
        return [(name, "\n".join(text.splitlines()[-MAX_STDERR_LINES:])) for name, text in texts if text]


def result_from_verdict(verdict: Result, context: dict[str, object], event: str) -> CaseResult:
    """Return the result for a combined verdict."""
    result = CaseResult(verdict, verdict.action, verdict.message, verdict.additional_context, verdict.system_message)
    result.context, result.event, result.ms = context, event, verdict.ms
    _take_changes(result, verdict.modified_args, verdict.modified_output, verdict.modified_prompt)
    runs = result.runs = list(verdict.runs)
    result.fired = list(dict.fromkeys(run.name for run in runs))
    return result


def as_agent_sees_it(results: Sequence[CaseResult], answer: AgentResponse) -> CaseResult:
    """Return what an agent sees of the results for a message's calls: the deciding one, changed, with all their runs.

    An agent gets an allowing action's message as context; here it stays the message.
    """
    result, reply = max(results, key=lambda each: PRECEDENCE[each.action]), answer.reply
    result.runs = [run for each in results for run in each.runs]
    result.fired = list(dict.fromkeys(run.name for run in result.runs))
    result.action, result.degraded = reply.action, list(dict.fromkeys(answer.degraded))
    if reply.allows:
        result.message = result.message if result.message and result.message in (reply.context or "") else None
    else:
        result.message = reply.reason
    if not (result.additional_context and reply.context and result.additional_context in reply.context):
        result.additional_context = reply.context if reply.context != result.message else None
    result.system_message = reply.user_message
    _take_changes(result, None if reply.args is None else result.args, reply.output, reply.prompt)
    return result


def _take_changes(result: CaseResult, args: object, output: object, prompt: object) -> None:
    """Set arguments, output and prompt after all hooks: those that replace the event's, else its own."""
    own, (_, name) = result.context.get, REPLACEABLE.get(result.event, REPLACEABLE["post_tool_use"])
    result.args = own("tool_args") if args is None else args
    result.output = own(name) if output is None else output
    result.prompt = own("user_prompt") if prompt is None else prompt


# The difference's key for a case without expectations.
NO_EXPECTATION = "expect"

TEXTS = ("message", "additional_context", "system_message")


@dataclass(frozen=True, slots=True)
class Difference:
    """An unmet expectation: its key, the expected and actual values, and an explanation if needed."""

    key: str
    expected: object
    actual: object
    why: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the difference as JSON."""
        data = {"key": self.key, "expected": self.expected, "came": self.actual}
        return {**data, "why": self.why} if self.why else data


def compare(expect: Mapping[str, object], result: CaseResult) -> list[Difference]:
    """Return the unmet expectations, also for an unexpected hook failure and a case without expectations."""
    if not expect:
        why = "no expected results: `hookrun test --update` writes these"
        return [Difference(NO_EXPECTATION, {}, default_expectation(result), why)]
    found = [each for key, value in expect.items() if (each := _difference(key, value, result)) is not None]
    if "failure" not in expect and (failed := _difference("failure", None, result)) is not None:
        found.append(failed)
    return found


def actual_expectation(key: str, result: CaseResult) -> object:
    """Return the expectation that this result would meet."""
    if key == "failure":
        return _kinds(result)[0] if result.failures else None
    if key == "files":
        return {path: text if text is None else escape_glob(text) for path, text in result.files.items()}
    value: object = getattr(result, key)
    return escape_glob(value) if isinstance(value, str) and key != "action" else value


def default_expectation(result: CaseResult) -> dict[str, object]:
    """Return the expectations to write for a case without any: the action, and what belongs to it."""
    keys = ["action", *(key for key in TEXTS if getattr(result, key) is not None)]
    if result.action == "modify":
        keys.append(what_changes(result.event).replace("arguments", "args"))
    if result.failures:
        keys.append("failure")
    return {key: actual_expectation(key, result) for key in keys}


def _difference(key: str, expected: object, result: CaseResult) -> Difference | None:
    actual: object = _kinds(result) if key == "failure" else getattr(result, key)
    why = ""
    if key == "action":
        allowed = expected if isinstance(expected, list) else [expected]
        holds = actual in allowed
        expected = allowed[0] if len(allowed) == 1 else allowed
        why = f"as this agent sees it: {', '.join(result.degraded)}" if result.degraded else ""
    elif key == "args":
        holds = json_equal(expected, actual)
    elif key == "failure":
        kinds = _kinds(result)
        holds = kinds == ([] if expected is None else [expected])
        actual = kinds[0] if len(kinds) == 1 else kinds or None
        why = "; ".join(f"{run.name}: {run.failure.detail}" for run in result.runs if run.failure is not None)
    elif key == "fired":
        holds = bool(actual) is expected if isinstance(expected, bool) else actual == expected
    elif key == "files":
        wanted = as_object(expected)
        actual = {path: text for path, text in result.files.items() if not _matches(wanted.get(path), text)}
        expected, holds = {path: wanted[path] for path in actual}, not actual
    else:
        holds = _matches(expected, actual)
    return None if holds else Difference(key, expected, actual, why)


def _matches(expected: object, text: object) -> bool:
    return text is None if expected is None else isinstance(text, str) and glob(str(expected), text)


def _kinds(result: CaseResult) -> list[str]:
    return list(dict.fromkeys(each.kind for each in result.failures))


def as_lines(value: object) -> list[str]:
    """Return a JSON value as lines for a diff."""
    if isinstance(value, str):
        return value.splitlines() or [""]
    if isinstance(value, list) and len(line := json.dumps(value, ensure_ascii=False, default=str)) <= MAX_LINE:
        return [line]
    if isinstance(value, dict | list):
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True, default=str).splitlines()
    return [json.dumps(value)]


@dataclass(repr=False, slots=True)
class CaseRun:
    """One run of a case, as an agent or, with `agent` None, as a program.

    `event` is its canonical name if known, `hooks` are those to run, None for all. A case of hooks with `serve` runs
    twice; a `warm` run keeps their programs for the next cases. Either `problems` says why it could not run, a line
    each, or `result` is its result and `differences` what differs from the expected one. `config` is its configuration,
    `directory` the case's own directory, which is removed.
    """

    case: Case
    agent: str | None
    event: str
    hooks: frozenset[str] | None = None
    warm: bool = False
    result: CaseResult | None = None
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    config: CaseConfig | None = None
    directory: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the case ran and the result is as expected."""
        return not (self.problems or self.differences)

    @property
    def name(self) -> str:
        """The name of the case and of its agent, and whether its programs are kept."""
        return " ".join((self.case.name, *(f"[{each}]" for each in (self.agent, self.warm and "warm") if each)))


@dataclass(repr=False, slots=True)
class TestRun:
    """All cases' results in order, problems of files of cases, and the seconds taken.

    After an update, `updated` is the number of results now expected, `not_updated` why others are not, a line each.
    """

    results: list[CaseRun]
    problems: list[Diagnostic]
    seconds: float = 0.0
    updated: int = 0
    not_updated: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """The number of cases that did not pass."""
        return sum(not run.passed for run in self.results)

    @property
    def config_problems(self) -> list[str]:
        """The configs' errors, a line each, each once."""
        configs = (run.config for run in self.results if run.config is not None)
        return list(dict.fromkeys(problem for config in configs for problem in config.problems))

    @property
    def files(self) -> set[str]:
        """The files, other than files of cases, that affected the results."""
        found: set[str] = set()
        for run in self.results:
            found.update(run.case.reads)
        for config in {run.config for run in self.results if run.config is not None}:
            found.update(config.files)
            for hook in config.hooks:
                named = [reference.partition(":")[2] for reference in hook.words]
                words = [word for word in (*named, *hook.look) if not word.startswith(("$", "~"))]
                found.update(os.path.join(config.root, word) for word in words)
        return found

    @property
    def ok(self) -> bool:
        """Whether there were cases, all passed or were updated, and every file could be read."""
        return bool(self.results) and self.failed == self.updated and not self.problems


RAN = "no test runs it"
ALLOWS = "no test where it allows"
ACTS = "no test where it blocks or modifies"

Key = tuple[str, int, str]


@dataclass(slots=True)
class HookCoverage:
    """What cases should cover of a hook, and what they do."""

    hook: Hook
    wanted: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)

    @property
    def missing(self) -> list[str]:
        """What is not covered."""
        return [each for each in self.wanted if each not in self.reached]


class Coverage:
    """The coverage of a test run over all hooks of its configs."""

    def __init__(self, results: Iterable[CaseRun]) -> None:
        self._hooks: dict[Key, HookCoverage] = {}
        for case_run in results:
            for hook in case_run.config.hooks if case_run.config is not None else ():
                if hook.mode != "off" and hook_key(hook) not in self._hooks:
                    self._hooks[hook_key(hook)] = HookCoverage(hook, list(_wanted(hook)))
            if case_run.result is not None:
                for run in case_run.result.runs:
                    self._note(run, case_run.result)

    def _note(self, run: HookResult, result: CaseResult) -> None:
        of = self._hooks.get(hook_key(run.hook))
        if of is None:
            return
        of.actions.add(run.action)
        of.reached.add(RAN)
        tools = tool_names(result.context)
        for pattern in run.hook.matcher or ():
            if any(glob(pattern, tool) for tool in tools):
                of.reached.add(_matcher(pattern))
        if run.failure is None:
            of.reached.add(ALLOWS if run.verdict.to_dict() == {"action": "continue"} else ACTS)

    @property
    def hooks(self) -> list[HookCoverage]:
        """Every hook, in config order."""
        return list(self._hooks.values())

    @property
    def total(self) -> int:
        """The number of things to cover."""
        return sum(len(of.wanted) for of in self._hooks.values())

    @property
    def reached(self) -> int:
        """The number of things covered."""
        return self.total - sum(len(of.missing) for of in self._hooks.values())

    @property
    def percent(self) -> float:
        """The coverage in percent, 100 if there is nothing to cover."""
        return 100 * self.reached / self.total if self.total else 100.0

    def to_dict(self) -> dict[str, object]:
        """Return the coverage as JSON."""
        return {
            "reached": self.reached,
            "total": self.total,
            "percent": round(self.percent, 1),
            "hooks": [
                {
                    "name": of.hook.name,
                    "where": of.hook.location(),
                    "actions": sorted(of.actions),
                    "missing": of.missing,
                }
                for of in self.hooks
            ],
        }


def hook_key(hook: AnyHook) -> Key:
    """Return a hook's identity, also in another process."""
    return hook.source, hook.line, hook.name


def _wanted(hook: Hook) -> Iterable[str]:
    """Yield what cases should cover of a hook: actions only if it can block or modify."""
    yield RAN
    if hook.matcher is not None and len(hook.matcher) > 1:
        yield from (_matcher(pattern) for pattern in hook.matcher)
    if hook.enforcing:
        yield ALLOWS
        yield ACTS


def _matcher(pattern: str) -> str:
    return f"no test with {pattern}"
