"""One tool call with every possible answer of hooks: whether it runs, with which arguments, and what the model gets."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hookrun import Engine, Verdict
from hookrun.events import PostToolFailure, PostToolUse, PreToolUse
from hookrun.integrations.tool_loop import NameMap, ToolFailed, ToolOutcome, run_tool, run_tool_sync
from hookrun.recipes.retry import Retry, RetryRule
from tests.integrations.conftest import answering, listen
from tests.rows import rows

Runner = Callable[..., ToolOutcome]


def run_async(*args: Any, **options: Any) -> ToolOutcome:
    """Run a tool in a separate loop."""
    return asyncio.run(run_tool(*args, **options))


@pytest.fixture(params=[run_async, run_tool_sync], ids=["async", "sync"])
def run(request: pytest.FixtureRequest) -> Runner:
    """Both ways to run a tool: each must do the same."""
    runner: Runner = request.param
    return runner


class Tool:
    """A tool that records its calls and returns, or raises, the given answers, in order."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers or ("fine",))
        self.calls: list[dict[str, object]] = []

    def __call__(self, **args: object) -> object:
        """Act as configured."""
        self.calls.append(args)
        answer = self.answers[min(len(self.calls), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


ALL = ("pre_tool_use", "post_tool_use", "post_tool_failure", "tool_call_aborted", "file_changed")


def test_a_call_that_nobody_minds_runs_and_is_told_of_afterwards(run: Runner, engine: Engine) -> None:
    """The model gets only the tool's result; hooks see the request before and the result after."""
    heard, tool = listen(engine, *ALL), Tool("hello")
    outcome = run(engine, "bash", {"command": "echo hello"}, tool, session_id="s1", tool_use_id="t1", working_dir="/w")
    assert tool.calls == [{"command": "echo hello"}]
    assert (outcome.content, outcome.result, outcome.action, outcome.ran) == ("hello", "hello", "continue", True)
    assert (outcome.notes, outcome.stop, outcome.error, outcome.attempts) == ((), False, None, 1)
    assert [ctx.event for ctx in heard] == ["pre_tool_use", "post_tool_use"]
    for ctx in heard:
        assert (ctx.session_id, ctx.tool_use_id, ctx.working_dir) == ("s1", "t1", "/w")
        assert (ctx.tool_name, ctx.tool_args, ctx["agent_tool_name"]) == ("bash", {"command": "echo hello"}, "bash")
    assert heard[1].tool_result_output == "hello"


CONTINUES = (False, None)
"""The turn does not end, so there is no reason for that."""


@rows(
    "verdict, content, ends",
    [
        (Verdict.block("not here"), "not here", CONTINUES),
        (Verdict.block(), "blocked by guard (no reason given)", CONTINUES),
        (Verdict.skip("done already"), "skipped by guard: done already", CONTINUES),
        (Verdict.skip(), "skipped by guard (no reason given)", CONTINUES),
        (Verdict.stop("enough"), "enough", (True, "enough")),
        (Verdict.stop(), "stopped by guard (no reason given)", (True, "stopped by guard (no reason given)")),
        (Verdict.ask("is it paid?"), "needs the user's approval: is it paid?", CONTINUES),
        (
            Verdict.ask(),
            "needs the user's approval: approval required by guard (no reason given)",
            CONTINUES,
        ),
    ],
)
def test_a_refused_call_does_not_run_and_the_model_hears_why(
    run: Runner, engine: Engine, verdict: Verdict, content: str, ends: tuple[bool, str | None]
) -> None:
    """Block, skip, stop, an ask without an approver: none runs the tool, each has a reason; `stop` ends the turn."""
    answering(engine, "pre_tool_use", verdict)
    heard, tool = listen(engine, *ALL), Tool()
    outcome = run(engine, "bash", {"command": "x"}, tool)
    assert tool.calls == []
    assert (outcome.content, outcome.action, outcome.ran) == (content, verdict.action, False)
    assert (outcome.stop, outcome.stop_reason) == ends
    assert [ctx.event for ctx in heard] == ["pre_tool_use", "tool_call_aborted"]
    assert heard[1]["reason"] == content


def test_changed_arguments_are_what_runs_and_what_later_events_tell(run: Runner, engine: Engine) -> None:
    """A change applies to the call; the message that comes with it reaches the model."""
    answering(engine, "pre_tool_use", Verdict.patch({"command": "ls -l", "cwd": None}, "made longer"))
    heard, tool = listen(engine, "post_tool_use"), Tool("a b")
    outcome = run(engine, "bash", {"command": "ls", "cwd": "/", "timeout": 5}, tool)
    assert tool.calls == [{"command": "ls -l", "timeout": 5}]
    assert outcome.args == {"command": "ls -l", "timeout": 5}
    assert heard[0].tool_args == {"command": "ls -l", "timeout": 5}
    assert outcome.content == "a b\n\nmade longer"


def test_the_caller_s_arguments_stay_as_they_are(run: Runner, engine: Engine) -> None:
    """A tool that changes its arguments in place does not change the caller's."""

    def tool(**args: Any) -> None:
        args.clear()

    arguments = {"command": "ls"}
    outcome = run(engine, "bash", arguments, tool)
    assert arguments == {"command": "ls"} == outcome.args


def test_the_model_gets_the_result_then_every_word_of_the_hooks_in_order(run: Runner, engine: Engine) -> None:
    """A block after the tool is added to the result; additional contexts of before and after are kept."""
    answering(engine, "pre_tool_use", Verdict.with_context("before"))
    answering(engine, "post_tool_use", Verdict("block", "not good enough", additional_context="after"), name="judge")
    outcome = run(engine, "bash", {}, Tool("output"))
    assert outcome.content == "output\n\nbefore\n\nnot good enough\n\nafter"
    assert outcome.notes == ("before", "not good enough\n\nafter")
    assert outcome.ran
    assert not outcome.stop


def test_a_refusal_brings_its_context_along(run: Runner, engine: Engine) -> None:
    """Text for the model is kept whatever the action, and so is text about the aborted call."""
    answering(engine, "pre_tool_use", Verdict("block", "no", additional_context="try make"))
    answering(engine, "tool_call_aborted", Verdict.with_context("logged"), name="log")
    assert run(engine, "bash", {}, Tool()).content == "no\n\ntry make\n\nlogged"


def test_a_stop_after_the_tool_ends_the_turn(run: Runner, engine: Engine) -> None:
    """The tool has run; the model gets the reason for the end."""
    answering(engine, "post_tool_use", Verdict.stop("budget used up"))
    outcome = run(engine, "bash", {}, Tool("output"))
    assert (outcome.content, outcome.stop, outcome.stop_reason) == ("output\n\nbudget used up", True, "budget used up")


def test_an_ask_after_the_tool_is_told_as_what_it_is(run: Runner, engine: Engine) -> None:
    """It is too late to ask: the model is informed that approval was missing."""
    answering(engine, "post_tool_use", Verdict.ask("check the bill"))
    outcome = run(engine, "bash", {}, Tool("paid"))
    assert outcome.content == "paid\n\nneeds the user's approval: check the bill"


RAN = ([{"command": "rm a"}], "gone")
REFUSED: tuple[list[object], str] = ([], "needs the user's approval: it deletes (it was not given)")


@rows("said, result", [(True, RAN), (False, REFUSED), (None, REFUSED), ("yes", REFUSED), (1, REFUSED)])
def test_only_a_plain_yes_is_an_approval(run: Runner, engine: Engine, said: object, result: tuple[Any, str]) -> None:
    """The user is asked about the call as it would run; anything but True is a no."""
    engine.register("pre_tool_use", lambda _: Verdict.patch({"command": "rm a"}), name="first", priority=1)
    answering(engine, "pre_tool_use", Verdict.ask("it deletes"))
    asked, tool = [], Tool("gone")

    def approve(name: str, args: dict[str, object], reason: str) -> Any:
        asked.append((name, args, reason))
        return said

    outcome = run(engine, "bash", {"command": "rm *"}, tool, approve=approve)
    assert asked == [("bash", {"command": "rm a"}, "it deletes")]
    assert (tool.calls, outcome.content) == result


def test_asking_that_fails_is_a_refusal(run: Runner, engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """A closed terminal must not become a yes; the error is in the log."""
    answering(engine, "pre_tool_use", Verdict.ask("sure?"))

    def approve(*_: object) -> bool:
        raise EOFError("no terminal")

    tool = Tool()
    outcome = run(engine, "bash", {}, tool, approve=approve)
    assert tool.calls == []
    assert outcome.content == "needs the user's approval: sure? (it was not given)"
    assert "no terminal" in caplog.text


def test_an_asynchronous_approval_is_awaited_or_refused() -> None:
    """In a loop it is awaited; without one it never counts as a yes, though a coroutine is truthy."""

    async def approve(*_: object) -> bool:
        await asyncio.sleep(0)
        return True

    with Engine() as engine:
        answering(engine, "pre_tool_use", Verdict.ask("sure?"))
        assert run_async(engine, "bash", {}, Tool("ran"), approve=approve).content == "ran"
        tool = Tool()
        outcome = run_tool_sync(engine, "bash", {}, tool, approve=approve)  # type: ignore[arg-type]
        assert (tool.calls, outcome.ran) == ([], False)


def test_an_asynchronous_tool_is_awaited_or_fails() -> None:
    """Without a loop the model gets the error, and nothing waits forever."""

    async def tool(**_: object) -> str:
        await asyncio.sleep(0)
        return "awaited"

    with Engine() as engine:
        assert run_async(engine, "bash", {}, tool).content == "awaited"
        assert "run_tool_sync" in (run_tool_sync(engine, "bash", {}, tool).error or "")


def test_a_tool_that_fails_is_told_and_not_raised(run: Runner, engine: Engine) -> None:
    """Hooks and model read what was raised; the program finds it in the outcome."""
    answering(engine, "post_tool_failure", Verdict.with_context("is it installed?"))
    heard, boom = listen(engine, *ALL), FileNotFoundError("no such program")
    outcome = run(engine, "write", {"file_path": "/a", "content": ""}, Tool(boom))
    assert outcome.content == "FileNotFoundError: no such program\n\nis it installed?"
    assert (outcome.error, outcome.exception) == ("FileNotFoundError: no such program", boom)
    assert outcome.ran
    assert [ctx.event for ctx in heard] == ["pre_tool_use", "post_tool_failure"]
    assert heard[1].tool_result_error == "FileNotFoundError: no such program"


def test_a_tool_says_itself_how_it_failed(run: Runner, engine: Engine) -> None:
    """Only the text of ToolFailed is reported."""
    assert (
        run(engine, "bash", {}, Tool(ToolFailed("exit status 3\nno space left"))).content
        == "exit status 3\nno space left"
    )


def test_arguments_that_do_not_fit_are_a_failure_of_the_tool(run: Runner, engine: Engine) -> None:
    """A model invents arguments: it gets an error."""

    def tool(command: str) -> str:
        return command

    assert "unexpected keyword argument 'cmd'" in (run(engine, "bash", {"cmd": "ls"}, tool).error or "")


@rows("name", ["write", "edit", "delete"])
def test_a_changed_file_is_told_of(run: Runner, engine: Engine, name: str) -> None:
    """After a success only, by its absolute path, and the hooks' text about it reaches the model."""
    answering(engine, "file_changed", Verdict.with_context("formatted"))
    heard = listen(engine, "file_changed")
    outcome = run(engine, name, {"file_path": "src/a.py"}, Tool("ok"), working_dir="/w")
    assert [ctx.file_path for ctx in heard] == ["/w/src/a.py"]
    assert outcome.content == "ok\n\nformatted"
    run(engine, name, {"file_path": "src/a.py"}, Tool(OSError("full")), working_dir="/w")
    run(engine, "read", {"file_path": "src/a.py"}, Tool("text"), working_dir="/w")
    assert len(heard) == 1


PATCH = "*** Begin Patch\n*** Add File: b\n+x\n*** Delete File: c\n*** End Patch"


@rows(
    "name, args, paths",
    [
        ("write_file", {"path": "a"}, ["/w/a"]),
        ("Edit", {"file_path": "a"}, ["/w/a"]),
        ("apply_patch", {"input": PATCH}, ["/w/b", "/w/c"]),
        ("Read", {"file_path": "a"}, []),
    ],
)
def test_a_file_changed_by_an_agent_s_tool(
    run: Runner, engine: Engine, name: str, args: dict[str, object], paths: list[str]
) -> None:
    """It fires under any name of the tool; a patch of several files, once for each."""
    heard = listen(engine, "file_changed")
    run(engine, name, args, Tool("ok"), working_dir="/w")
    assert [ctx.file_path for ctx in heard] == paths
    engine.remove("listener")


def test_tools_with_names_of_their_own_are_seen_by_hookrun_s(run: Runner, engine: Engine) -> None:
    """Both ways: hooks match and read canonical names, the tool gets its own back, also when a hook changed them."""
    names = NameMap({"put_file": "write"}, {"put_file": {"path": "file_path", "text": "content"}})
    engine.register("pre_tool_use", _upper, name="upper", matcher="write")
    heard, tool = listen(engine, *ALL), Tool("ok")
    run(engine, "put_file", {"path": "/a/b", "text": "abc", "mode": 1}, tool, names=names)
    assert tool.calls == [{"path": "/a/b", "text": "ABC", "mode": 1}]
    assert [ctx.event for ctx in heard] == ["pre_tool_use", "post_tool_use", "file_changed"]
    assert heard[1].tool_args == {"file_path": "/a/b", "content": "ABC", "mode": 1}
    assert heard[1]["agent_tool_name"] == "put_file"


def _upper(ctx: PreToolUse) -> Verdict:
    return Verdict.patch({"content": ctx.tool_args["content"].upper()})


@rows(
    "value, text",
    [(None, ""), ("a", "a"), (b"a\xff", "a\N{REPLACEMENT CHARACTER}"), ({"é": [1]}, '{"é": [1]}'), (3, "3")],
)
def test_what_a_tool_gives_is_made_text(run: Runner, engine: Engine, value: object, text: str) -> None:
    """Hooks and model read the same; the program gets the value itself."""
    heard = listen(engine, "post_tool_use")
    outcome = run(engine, "x", {}, Tool(value))
    assert (outcome.content, heard[0].tool_result_output, outcome.result) == (text, text, value)
    assert run(engine, "x", {}, Tool(value), text=repr).content == repr(value)


class Mute(Exception):  # noqa: N818  # it has no text
    """An exception, or any other value, whose `str()` raises."""

    def __str__(self) -> str:
        raise RuntimeError("mute")

    __repr__ = __str__


def _circle() -> list[object]:
    circle: list[object] = []
    circle.append(circle)
    return circle


def _deep() -> list[object]:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


@rows(
    "value, text",
    [
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (_circle(), "[[...]]"),
        (_deep(), "(list that cannot be converted to text)"),
        (Mute(), "(Mute that cannot be converted to text)"),
        ([Mute()], "(list that cannot be converted to text)"),
    ],
    ids=["keys", "circle", "deep", "mute", "mute within"],
)
def test_what_is_no_json_is_told_as_well_as_it_can(run: Runner, engine: Engine, value: object, text: str) -> None:
    """The tool has run: its hooks see it, and the program gets its result."""
    heard = listen(engine, "post_tool_use")
    outcome = run(engine, "x", {}, lambda: [value][0])
    assert (outcome.content, outcome.result, outcome.error) == (text, value, None)
    assert [ctx["tool_result_output"] for ctx in heard] == [text]


@rows("error, says", [(Mute(), "Mute"), (ToolFailed(Mute()), "ToolFailed")], ids=["mute", "failed"])
def test_an_exception_without_a_text_has_a_name(run: Runner, engine: Engine, error: Exception, says: str) -> None:
    """It is in the outcome as any other."""
    heard = listen(engine, "post_tool_failure")
    outcome = run(engine, "x", {}, Tool(error))
    assert (outcome.error, outcome.exception) == (says, error)
    assert [ctx["tool_result_error"] for ctx in heard] == [says]


@rows("makes, content, logged", [(lambda _: 1 / 0, '{"a": 1}', True), (lambda _: 7, "7", False)])
def test_a_text_that_is_none_does_not_lose_the_result(
    run: Runner,
    engine: Engine,
    caplog: pytest.LogCaptureFixture,
    makes: Callable[[object], str],
    *,
    content: str,
    logged: bool,
) -> None:
    """If the program's `text` fails, the result is converted as without it, and an exception is logged."""
    heard = listen(engine, "post_tool_use")
    outcome = run(engine, "x", {}, Tool({"a": 1}), text=makes)
    assert (outcome.content, outcome.result, len(heard)) == (content, {"a": 1}, 1)
    assert ("ZeroDivisionError" in caplog.text) is logged
    caplog.clear()


class TestRetry:
    """A hook may have the tool run again."""

    def test_it_runs_until_it_works(self, run: Runner, engine: Engine) -> None:
        """The model sees none of the failures that were retried; every attempt is reported to hooks."""
        engine.use(Retry([RetryRule("web_fetch", "*timed out*", attempts=3, delay=0.001)]))
        heard, tool = listen(engine, *ALL), Tool(TimeoutError("timed out"), TimeoutError("timed out"), "page")
        outcome = run(engine, "web_fetch", {"url": "u"}, tool)
        assert (outcome.content, outcome.attempts, outcome.error) == ("page", 3, None)
        assert [(ctx.event, ctx.get("attempt")) for ctx in heard] == [
            ("pre_tool_use", None),
            ("post_tool_failure", 1),
            ("post_tool_failure", 2),
            ("post_tool_use", 3),
        ]

    def test_it_ends_when_the_attempts_are_used_up(self, run: Runner, engine: Engine) -> None:
        """The model gets the last failure, with the hook's text about it."""
        engine.use(Retry([RetryRule("web_fetch", "*timed out*", attempts=2, delay=0.001)]))
        tool = Tool(TimeoutError("timed out"))
        outcome = run(engine, "web_fetch", {"url": "u"}, tool)
        assert len(tool.calls) == outcome.attempts == 2
        assert outcome.content == (
            "TimeoutError: timed out\n\nthis call has failed 2 times (timed out): do not try again"
        )

    def test_a_hook_that_never_gives_up_is_held_to_its_own_word(self, run: Runner, engine: Engine) -> None:
        """`of` bounds the attempts, whatever the hook returns."""
        answering(engine, "post_tool_failure", Verdict.with_metadata(retry={"attempt": 2, "of": 4, "after_s": 0}))
        tool = Tool(OSError("x"))
        assert run(engine, "x", {}, tool).attempts == len(tool.calls) == 4

    @rows(
        "verdict",
        [
            Verdict.with_metadata(retry={"attempt": 2, "of": "4"}),
            Verdict.with_metadata(retry={"attempt": 2, "of": True}),
            Verdict.with_metadata(retry="soon"),
            Verdict.with_metadata(retry={"of": 4, "after_s": "soon"}),
            Verdict("block", "leave it", modified_context={"retry": {"attempt": 2, "of": 4, "after_s": 0}}),
            Verdict("stop", "leave it", modified_context={"retry": {"attempt": 2, "of": 4, "after_s": 0}}),
        ],
    )
    def test_what_is_no_such_wish_is_none(self, run: Runner, engine: Engine, verdict: Verdict) -> None:
        """A malformed wish, and one beside a refusal, do not run anything again."""
        answering(engine, "post_tool_failure", verdict)
        assert run(engine, "x", {}, Tool(OSError("x"))).attempts == 1

    @rows("after", [float("inf"), float("nan"), 1e300, 10**400])
    def test_a_wait_without_an_end_is_no_wish(self, run: Runner, engine: Engine, after: float) -> None:
        """The failure is reported instead."""
        retry = {"attempt": 2, "of": 3, "after_s": after}
        answering(engine, "post_tool_failure", Verdict(modified_context={"retry": retry}))
        outcome = run(engine, "bash", {}, Tool(ToolFailed("no")))
        assert (outcome.attempts, outcome.error) == (1, "no")

    def test_the_wait_is_as_long_as_the_hook_says(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        """In seconds; never less than nothing."""
        waits: list[float] = []
        monkeypatch.setattr("hookrun.integrations.tool_loop.time.sleep", waits.append)
        said = iter([2.5, -1])
        engine.register(
            "post_tool_failure", lambda _: Verdict.with_metadata(retry={"of": 3, "after_s": next(said)}), name="retry"
        )
        run_tool_sync(engine, "x", {}, Tool(OSError("x"), OSError("x"), "ok"))
        assert waits == [2.5, 0.0]


class TestOwnTrouble:
    """hookrun itself cannot do its work: here, by an internal error."""

    @pytest.fixture(autouse=True)
    def _broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise OSError("broken")

        monkeypatch.setattr("hookrun.library.embedded_engine.EngineFire", fail)

    def test_the_call_goes_on_and_the_log_says_so(
        self, run: Runner, engine: Engine, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A failure of hookrun does not stop the agent; the user gets the error, and so does the log."""
        listen(engine, *ALL)
        outcome = run(engine, "bash", {}, Tool("ran"))
        assert (outcome.content, outcome.ran) == ("ran", True)
        assert "hookrun failed (pre_tool_use: " in outcome.to_person[0]
        assert "the agent continues without hooks" in caplog.text
        assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2

    @rows(
        "options, ran",
        [({"on_failure": "block"}, False), ({}, True), ({"on_failure": "block", "matcher": "edit"}, True)],
    )
    def test_it_is_refused_where_a_guard_would_have_been_asked(
        self, run: Runner, engine: Engine, options: dict[str, Any], *, ran: bool
    ) -> None:
        """Unless the program says otherwise; a guard for another tool refuses nothing."""
        engine.register("pre_tool_use", lambda _: None, name="guard", replace=True, **options)
        assert run(engine, "bash", {}, Tool("ran")).ran == ran
        assert run(engine, "bash", {}, Tool("ran"), on_error="continue").ran

    @rows("on_error, ran", [("continue", True), ("block", False)])
    def test_trouble_without_a_text(
        self, run: Runner, engine: Engine, monkeypatch: pytest.MonkeyPatch, on_error: str, ran: bool
    ) -> None:
        """An internal error without a readable text is handled as any other, and nothing is raised."""

        def fail(*_: object, **__: object) -> None:
            raise Mute

        monkeypatch.setattr(engine, "fire", fail)
        monkeypatch.setattr(engine, "fire_sync", fail)
        outcome = run(engine, "bash", {}, Tool("fine"), on_error=on_error)
        assert outcome.ran == ran
        assert outcome.to_person[0].startswith("hookrun failed (pre_tool_use: Mute (it cannot say")

    def test_or_it_is_refused_if_that_was_asked_for(self, run: Runner, engine: Engine) -> None:
        """With on_error="block" the tool does not run, and the model gets the reason."""
        listen(engine, *ALL)
        tool = Tool("ran")
        outcome = run(engine, "bash", {}, tool, on_error="block")
        assert (tool.calls, outcome.action) == ([], "block")
        assert outcome.content.startswith("hookrun failed (pre_tool_use: ")

    @rows("on_error, ran", [("continue", True), ("block", False)])
    def test_declarations_that_cannot_be_read_are_its_own_trouble(
        self, run: Runner, tmp_path: Any, on_error: str, ran: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is unknown what they guard."""
        (tmp_path / "coder.json").write_text('{"hooks": [', encoding="utf-8")
        with Engine.load(tmp_path, home=tmp_path / "home", trust_project=True, strict=False) as engine:
            listen(engine, *ALL)
            assert run(engine, "bash", {}, Tool(), on_error=on_error).ran is ran
        assert "coder.json" in caplog.text
        caplog.clear()


@rows(
    "fields, expected",
    [
        ({"cwd": "/x"}, 'unknown field "cwd": did you mean "working_dir"'),
        ({"working_dirr": "/x"}, 'unknown field "working_dirr": did you mean "working_dir"'),
        ({"tool_result_outptu": "x"}, 'did you mean "tool_result_output"'),  # after the tool, another misspelling
        ({"working_dir": True}, "working_dir is a boolean, not a string"),
        ({"metadata": [1]}, "metadata is a list, not an object"),
        ({"session_id": object()}, "session_id is of type object, not a str"),
        ({"deadline": -1}, "deadline must be a number of seconds greater than 0"),
        ({"deadline": "5"}, "deadline must be a number of seconds greater than 0"),
    ],
)
@rows("on_error", ["continue", "block"])
def test_fields_that_the_engine_refuses_raise_before_the_tool_runs(
    run: Runner, engine: Engine, fields: dict[str, Any], expected: str, on_error: str
) -> None:
    """They are the program's mistake: a guard that fails closed could not be asked, and the tool must not run."""
    engine.register("pre_tool_use", lambda _: None, name="guard", on_failure="block")
    tool = Tool("ran")
    with pytest.raises(ValueError, match=re.escape(expected)):
        run(engine, "bash", {}, tool, on_error=on_error, **fields)
    assert tool.calls == []


def test_texts_for_the_person_are_handed_out(run: Runner, engine: Engine) -> None:
    """In order, from before and after; never to the model."""
    answering(engine, "pre_tool_use", Verdict(system_message="one"))
    answering(engine, "post_tool_use", Verdict(system_message="two"), name="other")
    outcome = run(engine, "x", {}, Tool("out"))
    assert (outcome.to_person, outcome.content) == (("one", "two"), "out")


def test_what_is_let_through_is_neither_failure_nor_told(run: Runner, engine: Engine) -> None:
    """Exceptions that steer the program go where they are meant to."""

    class GoneElsewhereError(Exception):
        pass

    heard = listen(engine, *ALL)
    with pytest.raises(GoneElsewhereError):
        run(engine, "x", {}, Tool(GoneElsewhereError()), let_through=(GoneElsewhereError,))
    assert [ctx.event for ctx in heard] == ["pre_tool_use"]


def test_a_cancelled_tool_is_cancelled(engine: Engine) -> None:
    """Cancellation is no failure of the tool, and is not swallowed."""
    heard = listen(engine, *ALL)

    async def cancelled() -> None:
        running = asyncio.Event()

        async def tool(**_: object) -> None:
            running.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(run_tool(engine, "x", {}, tool))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [ctx.event for ctx in heard] == ["pre_tool_use"]


def test_calls_side_by_side_do_not_mix(engine: Engine) -> None:
    """Each has its own arguments, notes and result; they end in the reverse order."""
    ended = [asyncio.Event() for _ in range(6)]

    async def tell(ctx: PostToolUse) -> Verdict:
        await asyncio.sleep(0)
        return Verdict.with_context(f"note {ctx.tool_args['n']}")

    async def tool(n: int) -> str:
        await ended[n + 1].wait()
        ended[n].set()
        return f"result {n}"

    async def all_of_them() -> list[ToolOutcome]:
        ended[5].set()
        calls: list[Awaitable[ToolOutcome]] = [run_tool(engine, "x", {"n": n}, tool) for n in range(5)]
        return await asyncio.gather(*calls)

    engine.register("post_tool_use", tell, name="tell")
    assert [each.content for each in asyncio.run(all_of_them())] == [f"result {n}\n\nnote {n}" for n in range(5)]


def test_state_is_handed_to_every_hook(run: Runner, engine: Engine) -> None:
    """`state` is passed to every fire around the call, the same object each time."""
    state: list[str] = []
    engine.register(["pre_tool_use", "post_tool_failure"], _note_down, name="note")
    run(engine, "x", {}, Tool(OSError()), state=state)
    assert state == ["pre_tool_use", "post_tool_failure"]


def _note_down(ctx: PreToolUse | PostToolFailure) -> None:
    ctx.state.append(ctx.event)
