"""A run from hook to hook: order, changes seen by later hooks, parallel hooks, the end, and the recheck."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given, settings, strategies as st

from hookrun.core.engine import HookChain
from hookrun.core.model import LAYERS, Failure, Hook, Outcome
from tests.applies import applies
from tests.rows import rows

Json = dict[str, object]
Answer = Json | Outcome | Callable[[Json], "Json | Outcome"]

ARGS: Json = {"command": "ls", "n": 1}


class Listed:
    """Candidates that are a plain list of hooks, in running order."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        """Take the hooks in running order."""
        self._hooks = hooks
        self.count = len(hooks)
        self.layers = [LAYERS.index(hook.layer) for hook in hooks]
        self.always = [hook.always for hook in hooks]
        self.enforcing = [hook.mode == "enforce" and not hook.background for hook in hooks]

    def selects(self, index: int, context: Mapping[str, object]) -> bool:
        """Return whether the hook matches this context."""
        return applies(self._hooks[index], context)

    def hook(self, index: int) -> Hook:
        """Return the hook itself."""
        return self._hooks[index]


def hook(name: str, **fields: object) -> Hook:
    """Return a hook of pre_tool_use in the project layer."""
    return Hook.from_dict({"name": name, "events": ["pre_tool_use"], **fields})


def parallel(name: str, **fields: object) -> Hook:
    """Return a hook that may run beside its neighbours."""
    return hook(name, parallel=True, **fields)


def on(command: str, **fields: object) -> Hook:
    """Return a hook that applies to one command only, and has its name."""
    return hook(command, when={"tool_args.command": [command]}, **fields)


def printed(answer: Json | Outcome) -> Outcome:
    """Return the outcome of a process that printed this answer and ended well."""
    if isinstance(answer, Outcome):
        return answer
    outcome = Outcome()
    outcome.exit_code = 0
    outcome.stdout = json.dumps(answer).encode()
    return outcome


def failed(kind: str, exit_code: int | None = None) -> Outcome:
    """Return the outcome of a process that the runner found fault with."""
    outcome = Outcome(Failure(kind, "what happened"))
    outcome.exit_code = exit_code
    return outcome


class Fire:
    """One run of a chain, and the calls of a fake runner. Hooks without an answer continue."""

    def __init__(
        self,
        *hooks: Hook,
        answers: Mapping[str, Answer] | None = None,
        context: Json | None = None,
        off: Mapping[str, str] | None = None,
        event: str = "pre_tool_use",
    ) -> None:
        """Run the chain at once."""
        self._answers = answers or {}
        self.calls: list[list[str]] = []
        self.read: list[tuple[str, bytes]] = []
        reasons = off or {}
        given_context: Json = {
            "version": 1,
            "event": event,
            "tool_name": "bash",
            "tool_args": dict(ARGS),
            "working_dir": "/w",
            "file_path": None,
            "metadata": {},
            **(context or {}),
        }
        self.chain = HookChain(event, given_context, Listed(hooks))
        self.chain.disabled_reason = lambda one: reasons.get(one.name)
        self.chain.run(self._run)
        self.verdict = self.chain.combine()

    def _run(self, jobs: list[tuple[Hook, bytes]]) -> list[Outcome]:
        self.calls.append([one.name for one, _ in jobs])
        self.read += [(one.name, stdin) for one, stdin in jobs]
        return [self._answer(one, stdin) for one, stdin in jobs]

    def _answer(self, one: Hook, stdin: bytes) -> Outcome:
        answer = self._answers.get(one.name, {"action": "continue"})
        return printed(answer(json.loads(stdin)) if callable(answer) else answer)

    @property
    def order(self) -> list[str]:
        """The names of the hooks that ran, in order."""
        return [name for call in self.calls for name in call]

    @property
    def action(self) -> str:
        """The combined action."""
        return self.verdict.action

    @property
    def args(self) -> object:
        """The arguments after the chain."""
        return self.chain.context["tool_args"]

    def seen(self, name: str) -> list[Json]:
        """Return the contexts that a hook read, one for each time it ran."""
        return [json.loads(stdin) for one, stdin in self.read if one == name]


def sets(**arguments: object) -> Json:
    """Return the answer that sets these arguments."""
    return {"action": "modify", "args_patch": arguments}


def replaces(**arguments: object) -> Json:
    """Return the answer that replaces all arguments with these."""
    return {"action": "modify", "modified_args": arguments}


def blocks(message: str = "no") -> Json:
    """Return the answer that blocks."""
    return {"action": "block", "message": message}


def blocks_on(command: str) -> Callable[[Json], Json]:
    """Return what answers as a guard against one command does."""

    def guard(context: Json) -> Json:
        arguments = context["tool_args"]
        assert isinstance(arguments, dict)
        return blocks() if arguments.get("command") == command else {"action": "continue"}

    return guard


# --- which hooks run, in which calls


A, B, C, P, Q = map(hook, "abcpq")
BESIDE = AA, BB = parallel("a"), parallel("b")
USER = {"layer": "user"}
U, V, M = hook("u", **USER), hook("v", **USER), hook("m", layer="managed")
UU, VV = parallel("u", **USER), parallel("v", **USER)
ALLOWS: Json = {"action": "allow"}
EACH = tuple(hook(layer, layer=layer) for layer in LAYERS)
LOG = hook("log", always=True)
RM = sets(command="rm")
MORE: Json = {"action": "allow", "modified_context": {"k": 1}, "additional_context": "c", "message": "m"}
IF_RISKY = {"when": {"metadata.risky": ["true"]}}
RISKY: Json = {"action": "continue", "modified_context": {"risky": True}}


def changes_again(context: Json) -> Json:
    """Return the answer of a guard that changes the arguments once another hook has."""
    return RM if context["tool_args"] == {**ARGS, "x": 1} else {"action": "continue"}


def asks_then(context: Json) -> Json:
    """Return the answer of a guard that allows the call as it was at first."""
    return {"action": "allow" if context["tool_args"] == ARGS else "ask"}


ALL = " ".join(LAYERS)
SETS_X: dict[str, Answer] = {"p": sets(x=1)}
ENDED: dict[str, Answer] = {**SETS_X, "q": blocks()}
GROUP = C, parallel("d"), parallel("e")
LAYERED = UU, VV, parallel("p"), parallel("l", layer="local")
MANAGED_LAST: dict[str, Answer] = {"m": blocks_on("rm"), "u": changes_again, "p": sets(x=1)}
CHAINS: dict[str, tuple[tuple[Hook, ...], dict[str, Answer], str, str]] = {
    "in the order given, not by priority": ((hook("c", priority=9), hook("a", priority=1), B), {}, "c a b", "continue"),
    "a change decides which hooks apply": ((A, on("pwd"), on("ls")), {"a": sets(command="pwd")}, "a pwd", "modify"),
    "a guard blocks on the changed value": ((A, B), {"a": RM, "b": blocks_on("rm")}, "a b", "block"),
    # side by side
    "parallel neighbours are one call": ((*BESIDE, *GROUP), {}, "a+b c d+e", "continue"),
    "those of the next layer are another": (LAYERED, {}, "u+v p l", "continue"),
    "who was passed over by a change runs": ((AA, on("rm"), BB, C), {"a": RM, "rm": blocks()}, "a+b rm", "block"),
    "so does one passed over for metadata": ((AA, hook("g", **IF_RISKY), BB), {"a": RISKY}, "a+b g", "continue"),
    # the end of the chain
    "continue ends nothing": ((A, B), {"b": blocks()}, "a b", "block"),
    "nor does allow": ((A, B), {"a": {"action": "allow"}, "b": blocks()}, "a b", "block"),
    "nor does ask": ((A, B), {"a": {"action": "ask"}, "b": blocks()}, "a b", "block"),
    "nor does advice": ((hook("a", mode="advise"), B), {"a": blocks()}, "a b", "continue"),
    "nor does a hook in the background": ((hook("a", background=True), B), {"a": blocks()}, "a b", "continue"),
    "nor does a failure": ((A, B), {"a": failed("timeout")}, "a b", "continue"),
    "a failure that means block does": ((hook("a", on_failure="block"), B), {"a": failed("timeout")}, "a", "block"),
    "who runs always makes no allow of a block": ((A, LOG), {"a": blocks(), "log": ALLOWS}, "a log", "block"),
    "but a stop": ((A, LOG), {"a": blocks(), "log": {"action": "stop"}}, "a log", "stop"),
    # recheck
    "a managed guard sees the user's change in the recheck": ((M, U, P), MANAGED_LAST, "m u p u m", "block"),
    "one that only the changed call concerns runs": ((on("rm", **USER), P), {"rm": blocks(), "p": RM}, "p rm", "block"),
    "one that it does not concern does not run again": ((on("ls", **USER), P), {"p": RM}, "ls p", "modify"),
    "a managed hook's change is rechecked by nobody": (EACH, {"managed": sets(x=1)}, ALL, "modify"),
    "the user's by the managed layer": (EACH, {"user": sets(x=1)}, f"{ALL} managed", "modify"),
    "a project's by both": (EACH, {"project": sets(x=1)}, f"{ALL} user managed", "modify"),
    "a local one by all, the nearest first": (EACH, {"local": RM}, f"{ALL} project user managed", "modify"),
    "the furthest of several counts": (EACH, {"user": RM, "local": sets(y=1)}, f"{ALL} project user managed", "modify"),
    "metadata, contexts and messages are no change": ((U, P), {"p": MORE}, "u p", "allow"),
    "an adviser is not asked again": ((hook("u", mode="advise", **USER), P), SETS_X, "u p", "modify"),
    "nor is a hook in the background": ((hook("u", background=True, **USER), P), SETS_X, "u p", "modify"),
    "nor is one that is off": ((hook("u", mode="off", **USER), P), SETS_X, "p", "modify"),
    "after the end nobody is": ((U, P, Q), ENDED, "u p q", "block"),
    "nor is who runs always": ((hook("u", always=True, **USER), P, Q, LOG), ENDED, "u p q log", "block"),
    "a refusal ends the recheck": ((M, U, V, P), {"u": blocks_on("rm"), "p": RM}, "m u v p u", "block"),
    "parallel guards are rechecked side by side": ((UU, VV, P), SETS_X, "u+v p u+v", "modify"),
    "an earlier allow does not outweigh what comes then": ((U, P), {"u": asks_then, "p": RM}, "u p u", "ask"),
}
"""Hooks, answers; the calls in order, `+` between hooks of one call; the action."""


@rows("hooks, answers, calls, action", CHAINS.values(), ids=CHAINS)
def test_who_runs_and_what_comes_of_it(
    hooks: tuple[Hook, ...], answers: dict[str, Answer], calls: str, action: str
) -> None:
    """Every hook that ran is in the runs, in that order; the first that ended the chain is named."""
    fire = Fire(*hooks, answers=answers)
    assert (" ".join("+".join(call) for call in fire.calls), fire.action) == (calls, action)
    assert [run.hook.name for run in fire.chain.runs] == fire.order
    ending = [run.hook.name for run in fire.chain.runs if run.verdict.action in {"skip", "block", "stop"}]
    assert fire.chain.ended_by == next(iter(ending), None)


NOTE = "hooks a and b both changed {}; b, the later, wins"
ONE, TWO = sets(command="one"), sets(command="two")
IS_TWO: Json = {"command": "two", "n": 1}
TOLD = NOTE.format("tool_args.command")
ONES: Json = {"action": "continue", "modified_context": {"k": 1, "same": 0}}
TRUE: Json = {"action": "continue", "modified_context": {"k": True, "same": 0}}
X: Json = {"x": 2}
CONFLICTS: dict[str, tuple[tuple[Hook, ...], Json, Json, object, str | None]] = {
    "whole ones count for what they change": (BESIDE, replaces(n=1), replaces(command="ls"), {}, None),
    "of two changes the later wins": (BESIDE, ONE, TWO, IS_TWO, TOLD),
    "it is told after what the hooks say": (BESIDE, {**ONE, "system_message": "hello"}, TWO, IS_TWO, f"hello\n{TOLD}"),
    "so is a change within another": (BESIDE, sets(o=5), sets(o=X), {**ARGS, "o": X}, NOTE.format("tool_args.o")),
    "so is one of the metadata": (BESIDE, ONES, TRUE, ARGS, NOTE.format("metadata.k")),
    "equal changes are no conflict": (BESIDE, ONE, ONE, {"command": "one", "n": 1}, None),
    "nor are those one after the other": ((A, B), ONE, TWO, IS_TWO, None),
}
"""Hooks, their answers; the arguments and the system message in the end."""


@rows("hooks, a, b, args, told", CONFLICTS.values(), ids=CONFLICTS)
def test_changes_to_one_thing(hooks: tuple[Hook, ...], a: Json, b: Json, args: object, told: str | None) -> None:
    """A conflict is a note of the later hook."""
    fire = Fire(*hooks, answers={"a": a, "b": b})
    assert (fire.args, fire.verdict.system_message) == (args, told)
    assert [run.notes for run in fire.chain.runs] == [
        [],
        [line for line in (told or "").splitlines() if "both" in line],
    ]


def test_failures_are_told_and_so_is_a_background_hook_that_does_not_start() -> None:
    """By name and kind, where they do not block."""
    for fields in ({}, {"background": True}):
        fire = Fire(hook("a", **fields), answers={"a": failed("missing")})
        assert fire.verdict.to_dict() == {
            "action": "continue",
            "system_message": "hook a failed (missing): what happened; the call continued",
        }


# --- one after the other


def test_without_hooks_there_is_no_objection() -> None:
    """No candidate: continue, and the runner is not called."""
    fire = Fire()
    assert (fire.verdict.to_dict(), fire.calls) == ({"action": "continue"}, [])


def test_a_hook_that_does_not_apply_is_not_run_and_not_noted() -> None:
    """It has no run and no step: why not is explained elsewhere."""
    fire = Fire(hook("a", matcher=["write"]), hook("b", matcher=["bash"]))
    assert fire.order == ["b"]
    assert fire.chain.statuses == {1: "ran"}


def test_a_change_is_seen_by_every_later_hook() -> None:
    """The arguments that one hook made are those the next reads, and the combined verdict has them whole."""
    fire = Fire(hook("a"), hook("b"), hook("c"), answers={"a": replaces(command="pwd"), "b": sets(x=2)})
    assert [fire.seen(name)[0]["tool_args"] for name in "abc"] == [ARGS, {"command": "pwd"}, {"command": "pwd", "x": 2}]
    assert fire.verdict.to_dict() == {"action": "modify", "modified_args": {"command": "pwd", "x": 2}}
    assert [sorted(run.changed) for run in fire.chain.runs] == [["command", "n"], ["x"], []]


def test_a_change_of_the_file_is_a_change_of_file_path() -> None:
    """The context's file_path follows that of the arguments, absolute, for hooks and their conditions."""
    fire = Fire(
        hook("a"),
        hook("b", when={"file_path": ["/w/new"]}),
        hook("c", when={"file_path": ["/w/old"]}),
        answers={"a": sets(file_path="sub/../new")},
        context={"tool_args": {"file_path": "old"}, "file_path": "/w/old"},
    )
    assert fire.order == ["a", "b"]
    assert fire.seen("a")[0]["file_path"] == "/w/old"
    assert fire.seen("b")[0]["file_path"] == "/w/new"


def test_two_patches_both_arrive() -> None:
    """Patches of different keys add up; null takes a key away."""
    fire = Fire(hook("a"), hook("b"), answers={"a": sets(x=1), "b": sets(y={"z": None}, n=None)})
    assert fire.verdict.modified_args == {"command": "ls", "x": 1, "y": {}}


@pytest.mark.parametrize("action", ["allow", "ask"])
def test_allow_and_ask_may_bring_arguments(action: str) -> None:
    """The change is made and seen, and the action stays the same."""
    fire = Fire(hook("a"), hook("b"), answers={"a": {"action": action, "message": "m", "modified_args": {"x": 1}}})
    assert fire.seen("b")[0]["tool_args"] == {"x": 1}
    assert fire.verdict.to_dict() == {"action": action, "message": "m", "modified_args": {"x": 1}}


def test_a_change_to_what_was_there_is_no_change_of_anything() -> None:
    """The same arguments again: modify, with nothing changed and nothing rechecked."""
    fire = Fire(hook("u", layer="user"), hook("a"), answers={"a": replaces(**ARGS)})
    assert fire.order == ["u", "a"]
    assert fire.chain.runs[1].changed == []
    assert fire.verdict.modified_args == ARGS


def test_true_in_the_place_of_1_is_a_change() -> None:
    """Values that Python calls equal and JSON does not are distinguished."""
    fire = Fire(hook("a"), hook("b"), answers={"a": sets(n=True)})
    assert fire.chain.runs[0].changed == ["n"]
    seen = fire.seen("b")[0]["tool_args"]
    assert isinstance(seen, dict)
    assert seen["n"] is True


def test_where_there_are_no_arguments_a_change_makes_some() -> None:
    """On an event with arguments, null ones are as good as empty ones."""
    fire = Fire(hook("a"), hook("b"), answers={"a": sets(x=1)}, context={"tool_args": None})
    assert fire.seen("b")[0]["tool_args"] == {"x": 1}


def test_a_change_on_an_event_without_arguments_is_a_bad_verdict() -> None:
    """Nothing is changed, the failure is named, on_failure decides."""
    fire = Fire(hook("a", on_failure="block"), answers={"a": sets(x=1)}, event="post_tool_use")
    assert fire.action == "block"
    assert fire.args == ARGS
    failure = fire.chain.runs[0].failure
    assert failure is not None
    assert failure.kind == "bad_verdict"


def test_the_context_given_is_not_changed() -> None:
    """Changes are made to copies: the caller's arguments and metadata stay as they were."""
    arguments: Json = {"deep": {"x": 1}, "list": [1]}
    metadata: Json = {"k": 1}
    answers: dict[str, Answer] = {"a": {**sets(deep={"x": 2}), "modified_context": {"k": 2}}}
    fire = Fire(hook("a"), answers=answers, context={"tool_args": arguments, "metadata": metadata})
    assert fire.args == {"deep": {"x": 2}, "list": [1]}
    assert arguments == {"deep": {"x": 1}, "list": [1]}
    assert metadata == {"k": 1}


# --- side by side


def test_a_hook_that_does_not_apply_does_not_separate_neighbours() -> None:
    """Whether it is parallel or not: a hook that does not run separates no neighbours, disabled or not matching."""
    between = hook("x", matcher=["write"]), hook("y", mode="off"), hook("z")
    fire = Fire(parallel("a"), *between, parallel("b"), off={"z": "said so"})
    assert fire.calls == [["a", "b"]]


def test_parallel_hooks_read_the_same() -> None:
    """Hooks of a group do not see each other's changes."""
    fire = Fire(parallel("a"), parallel("b"), hook("c"), answers={"a": sets(x=1), "b": sets(y=2)})
    assert fire.seen("a")[0]["tool_args"] == fire.seen("b")[0]["tool_args"] == ARGS
    assert fire.seen("c")[0]["tool_args"] == {**ARGS, "x": 1, "y": 2}
    assert fire.verdict.system_message is None


def test_beside_a_block_all_finish_and_their_word_is_kept() -> None:
    """The group is run to its end; the block wins, the contexts of the others are there, nothing after it runs."""
    context: Json = {"action": "allow", "additional_context": "c"}
    fire = Fire(parallel("a"), parallel("b"), hook("c"), answers={"a": blocks(), "b": context})
    assert fire.calls == [["a", "b"]]
    assert fire.verdict.to_dict() == {"action": "block", "message": "no", "additional_context": "c"}
    assert fire.chain.ended_by == "a"


def test_who_was_passed_over_is_not_looked_at_again_where_nothing_changed() -> None:
    """A candidate whose context has not changed is checked once; no hook runs twice."""
    looks: list[int] = []

    class Counting(Listed):
        def selects(self, index: int, context: Mapping[str, object]) -> bool:
            looks.append(index)
            return super().selects(index, context)

    hooks = parallel("a"), hook("x", matcher=["write"]), parallel("b")
    context: Json = {"tool_name": "bash", "tool_args": {}}
    chain = HookChain("pre_tool_use", context, Counting(hooks))
    chain.run(lambda jobs: [printed({"action": "continue"}) for _ in jobs])
    assert looks.count(1) == 1


# --- the end of the chain


@pytest.mark.parametrize("action", ["stop", "block", "skip"])
def test_stop_block_and_skip_end_the_chain(action: str) -> None:
    """Nothing after them runs but hooks that run always; each step names the hook that ended it."""
    fire = Fire(
        hook("a"),
        hook("b"),
        hook("log", always=True),
        parallel("c"),
        hook("more", always=True),
        answers={"a": {"action": action}},
    )
    assert fire.order == ["a", "log", "more"]
    assert fire.action == action
    assert fire.chain.ended_by == "a"
    assert fire.chain.statuses[1] == fire.chain.statuses[3] == "not run: a already ended the chain"


def test_an_advised_change_is_not_made() -> None:
    """The next hook sees the arguments as they were."""
    fire = Fire(hook("a", mode="advise"), hook("b"), answers={"a": sets(command="rm")})
    assert fire.seen("b")[0]["tool_args"] == ARGS
    assert fire.verdict.modified_args is None


# --- off


def test_a_hook_that_is_off_is_not_run_and_the_step_says_why() -> None:
    """By its mode or by the user; a hook that does not match has no step."""
    fire = Fire(
        hook("a", mode="off"), hook("b"), hook("c"), hook("d", mode="off", matcher=["write"]), off={"b": "said so"}
    )
    assert fire.order == ["c"]
    assert fire.chain.statuses == {0: "not run: mode is off", 1: "not run: said so", 2: "ran"}


def test_a_guard_that_is_off_is_off_in_the_recheck_too() -> None:
    """Who switched a guard off has not switched it on by a project's change."""
    fire = Fire(hook("u", layer="user"), hook("a"), answers={"a": sets(x=1)}, off={"u": "said so"})
    assert fire.order == ["a"]
    assert fire.chain.statuses[0] == "not run: said so"


# --- recheck


def test_a_user_guard_sees_what_a_project_made_and_blocks_it() -> None:
    """It passed the call at first; on the recheck it reads the changed arguments, and its block counts."""
    fire = Fire(hook("u", layer="user"), hook("p"), answers={"u": blocks_on("rm"), "p": sets(command="rm")})
    assert fire.order == ["u", "p", "u"]
    assert fire.action == "block"
    assert fire.verdict.modified_args is None
    assert [run.recheck for run in fire.chain.runs] == [False, False, True]
    assert fire.chain.statuses == {0: "ran again on the changed arguments", 1: "ran"}


# --- stdin and metadata


def test_a_hook_reads_one_line_of_json_with_its_own_name() -> None:
    """One object, one line feed at its end and no other, ASCII, `hook` is the name of the reader."""
    names = ["a", 'quo"te\n', "é\u2028"]
    fire = Fire(*map(hook, names), context={"user_prompt": "é\n\u2028\ud800"})
    for (name, stdin), expected in zip(fire.read, names, strict=True):
        assert name == expected
        assert stdin.isascii()
        assert stdin.endswith(b"}\n")
        assert stdin.count(b"\n") == 1
        pairs = json.loads(stdin, object_pairs_hook=list)
        assert [value for key, value in pairs if key == "hook"] == [expected]
        assert dict(pairs)["user_prompt"] == "é\n\u2028\ud800"


def test_the_payload_is_there_only_when_asked_for() -> None:
    """The agent's whole message goes to the hooks that declare `payload`, all else is the same."""
    fire = Fire(hook("a"), hook("b", payload=True), hook("c"), context={"payload": {"raw": 1}})
    plain, full, again = (fire.seen(name)[0] for name in "abc")
    assert "payload" not in plain
    assert "payload" not in again
    assert full.pop("payload") == {"raw": 1}
    assert {**full, "hook": "a"} == plain


def test_the_payload_stays_what_the_agent_sent_when_arguments_change() -> None:
    """A change is in tool_args, for hooks with and without the payload."""
    fire = Fire(
        hook("a", payload=True),
        hook("b", payload=True),
        hook("c"),
        answers={"a": sets(x=1)},
        context={"payload": {"raw": 1}},
    )
    assert fire.seen("b")[0]["payload"] == {"raw": 1}
    assert fire.seen("b")[0]["tool_args"] == fire.seen("c")[0]["tool_args"] == {**ARGS, "x": 1}


def test_metadata_grows_along_the_chain() -> None:
    """Each hook reads what all before it added, the later value of a key, and the verdict has what the hooks added."""
    answers: dict[str, Answer] = {
        "a": {"action": "continue", "modified_context": {"k": 1, "a": 1}},
        "b": {"action": "continue", "modified_context": {"k": 2}},
    }
    fire = Fire(hook("a"), hook("b"), hook("c"), answers=answers, context={"metadata": {"given": 0}})
    assert [fire.seen(name)[0]["metadata"] for name in "abc"] == [
        {"given": 0},
        {"given": 0, "k": 1, "a": 1},
        {"given": 0, "k": 2, "a": 1},
    ]
    assert fire.verdict.modified_context == {"k": 2, "a": 1}


def test_metadata_begins_where_there_is_none() -> None:
    """Null metadata is as good as empty."""
    answers: dict[str, Answer] = {"a": {"action": "continue", "modified_context": {"k": 1}}}
    fire = Fire(hook("a"), hook("b"), answers=answers, context={"metadata": None})
    assert fire.seen("b")[0]["metadata"] == {"k": 1}


@pytest.mark.parametrize("outcome", [failed("timeout"), failed("spawn")])
def test_what_a_failed_hook_wanted_is_not_done(outcome: Outcome) -> None:
    """Its change and its metadata do not count when it did not end well."""
    outcome.stdout = json.dumps({**sets(command="rm"), "modified_context": {"k": 1}}).encode()
    fire = Fire(hook("a"), hook("b"), answers={"a": outcome})
    assert fire.seen("b")[0]["tool_args"] == ARGS
    assert fire.seen("b")[0]["metadata"] == {}
    assert fire.verdict.modified_args is None


# --- any chain


def nested(depth: int) -> object:
    """Return lists within lists."""
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_an_answer_nested_at_any_depth_is_taken_or_is_a_bad_verdict() -> None:
    """Near the recursion limit too there is a verdict, and a change that was not made is not reported."""
    for depth in range(200, sys.getrecursionlimit() + 50, 7):
        text = b'{"action":"modify","args_patch":{"deep":' + b"[" * depth + b"]" * depth + b"}}"
        outcome = Outcome()
        outcome.exit_code, outcome.stdout = 0, text
        fire = Fire(hook("a"), hook("b"), answers={"a": outcome}, context={"tool_args": {"deep": nested(600)}})
        failure = fire.chain.runs[0].failure
        assert failure is None or failure.kind == "bad_verdict"
        assert fire.action == ("modify" if failure is None else "continue")
        assert fire.chain.changed is (failure is None)
        assert fire.order == ["a", "b"]


names = st.sampled_from("abcdef")
actions = st.sampled_from(
    [{"action": "continue"}, {"action": "allow"}, {"action": "ask"}, {"action": "skip"}, blocks(), {"action": "stop"}]
)
changes = st.dictionaries(st.sampled_from(["command", "x", "y"]), st.sampled_from([None, 1, True, "rm"]), max_size=2)
answers_of = st.dictionaries(names, actions | changes.map(lambda patch: sets(**patch)))


@st.composite
def chains(draw: st.DrawFn) -> list[Hook]:
    """Return hooks of several layers, in order, of every mode, parallel or not."""
    found = [
        hook(
            name,
            layer=draw(st.sampled_from(LAYERS)),
            parallel=draw(st.booleans()),
            always=draw(st.sampled_from([False, False, True])),
            mode=draw(st.sampled_from(["enforce", "enforce", "advise", "off"])),
            when=draw(st.sampled_from([None, None, {"tool_args.command": ["rm"]}, {"tool_args.x": ["1", "true"]}])),
        )
        for name in draw(st.lists(names, unique=True))
    ]
    return sorted(found, key=lambda one: LAYERS.index(one.layer))


def without_changes(answers: Mapping[str, Json], hooks: Sequence[Hook]) -> dict[str, Json]:
    """Return the answers without the changes of the user's and the managed hooks."""
    guards = {one.name for one in hooks if one.layer in {"managed", "user"}}
    return {name: answer for name, answer in answers.items() if name not in guards or answer["action"] != "modify"}


@settings(max_examples=100)
@given(chains(), answers_of)
def test_in_any_chain_no_guard_is_slipped_past(hooks: list[Hook], answers: dict[str, Json]) -> None:
    """Whatever a project's hooks change: of a call that continues, every enforcing hook of the user and of the managed
    layer that concerns it has last read the arguments as they are now."""
    fire = Fire(*hooks, answers=without_changes(answers, hooks))
    if fire.chain.ended_by is not None:
        return
    for one in hooks:
        guards = one.layer in {"managed", "user"} and one.mode == "enforce"
        if guards and applies(one, fire.chain.context):
            assert fire.seen(one.name)[-1]["tool_args"] == fire.args


@pytest.mark.slow
@settings(max_examples=200)
@given(chains(), answers_of)
def test_any_chain_ends_the_same_each_time(hooks: list[Hook], answers: dict[str, Json]) -> None:
    """The same input gives the same answer, no hook runs twice except for the recheck, and an end is final."""
    fire = Fire(*hooks, answers=answers)
    assert Fire(*hooks, answers=answers).verdict.to_dict() == fire.verdict.to_dict()
    for recheck in (False, True):
        ran = [run.hook.name for run in fire.chain.runs if run.recheck is recheck]
        assert len(set(ran)) == len(ran)
    ending = fire.action in {"skip", "block", "stop"}
    assert ending is (fire.chain.ended_by is not None)
    assert (fire.verdict.modified_args is not None) is (fire.chain.changed and not ending)
