"""The real Claude Code, run by its Agent SDK with an engine's hooks, against a scripted model: what really happened.

Every test is a run of the program (about a second) with an empty home, and no network but loopback.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookrun import Context, Engine, Verdict
from hookrun.events import PostToolUse
from hookrun_conformance.model import ScriptedModel, Turn, say, use
from tests.waiting import hang_async

sdk = pytest.importorskip("claude_agent_sdk", reason="the package claude-agent-sdk is not installed")

from hookrun.integrations.claude_agent_sdk import hooks_for  # noqa: E402

BUNDLED = Path(sdk.__file__).parent / "_bundled" / "claude"
pytestmark = pytest.mark.skipif(
    not BUNDLED.exists() and shutil.which("claude") is None,
    reason="the claude program is neither in the package claude-agent-sdk nor on PATH",
)
ROOT = Path(__file__).resolve().parents[2]
MARK = "the-marked-reason"
"""A text that no part of Claude produces by itself."""


class Session:
    """One run of Claude in a separate directory: the requests to its model, and its final message."""

    def __init__(self, directory: Path, model: ScriptedModel, messages: list[Any]) -> None:
        self.directory = directory
        self.model = model
        self.messages = messages

    @property
    def files(self) -> list[str]:
        """The files in the directory now."""
        return sorted(os.listdir(self.directory))

    @property
    def end(self) -> Any:
        """The last message: the result."""
        return self.messages[-1]


def environment(model: ScriptedModel, home: Path) -> dict[str, str]:
    """Return the environment in which Claude talks to the scripted model and to nothing else."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


@pytest.fixture
def claude(tmp_path: Path) -> Any:
    """A function that runs Claude with an engine's hooks and a model with these turns."""
    directory, home = tmp_path / "project", tmp_path / "home"
    directory.mkdir()
    home.mkdir()

    def run(engine: Engine, *turns: Turn, prompt: str = "do it", **options: Any) -> Session:
        hooks = options.pop("hooks", None) or hooks_for(engine)
        with ScriptedModel(turns) as model, engine:
            settings = {"allowed_tools": ["Bash", "Write"], "permission_mode": "default", "setting_sources": []}
            chosen = sdk.ClaudeAgentOptions(
                cwd=directory, hooks=hooks, env=environment(model, home), **{**settings, **options}
            )
            return Session(directory, model, asyncio.run(_messages(chosen, prompt)))

    return run


async def _messages(options: Any, prompt: str) -> list[Any]:
    """Return all that the SDK yields; an error result is raised by it, and is the last one here."""
    messages: list[Any] = []
    try:
        async for message in sdk.query(prompt=prompt, options=options):
            messages.append(message)  # noqa: PERF401  # messages before an error are kept
    except sdk.ClaudeSDKError as error:
        messages.append(error)
    return messages


def engine_with(**verdicts: Verdict) -> Engine:
    """Return an engine with a hook for each of these events, which always gives the same answer."""
    engine = Engine()
    for event, verdict in verdicts.items():
        engine.register(event, lambda _, verdict=verdict: verdict, name=event)  # type: ignore[arg-type, misc]
    return engine


TOUCH = use("Bash", command="echo hi > made.txt")
DONE = say("done")


@pytest.mark.slow
def test_the_shell_lines_of_a_command_are_guarded(claude: Any, tmp_path: Path) -> None:
    """No tool is called for them, and the SDK's types do not name their event."""
    path = tmp_path / "project" / ".claude" / "commands" / "show.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nallowed-tools: Bash\n---\nThe state: !`echo hi > made.txt`\n")
    engine = engine_with(pre_tool_use=Verdict.block(MARK))
    ran = claude(engine, DONE, prompt="/show", setting_sources=["project"])
    assert "made.txt" not in ran.files
    assert MARK in ran.model.heard(0)


@pytest.mark.slow
def test_a_call_that_passes_runs(claude: Any) -> None:
    """The hooks see it before and after, by hookrun's names; the model gets the real result."""
    engine = Engine()
    heard: list[Context] = []
    engine.register(["pre_tool_use", "post_tool_use", "stop"], heard.append, name="listener")
    session = claude(engine, use("Bash", command="echo hello"), DONE)
    assert session.model.results() == ["hello"]
    assert [(ctx.event, ctx.tool_name) for ctx in heard] == [
        ("pre_tool_use", "bash"),
        ("post_tool_use", "bash"),
        ("stop", None),
    ]
    assert heard[1].tool_args == {"command": "echo hello"}
    assert heard[1].tool_result_output == "hello"
    assert heard[0].tool_use_id == heard[1].tool_use_id
    assert heard[0].working_dir == str(session.directory)
    assert heard[2].assistant_response == "done" == session.end.result


@pytest.mark.slow
def test_a_blocked_call_does_not_run_and_the_model_hears_why(claude: Any) -> None:
    """The reason is the result of the tool; the turn continues."""
    session = claude(engine_with(pre_tool_use=Verdict("block", MARK, additional_context="other-text")), TOUCH, DONE)
    assert session.files == []
    (result,) = session.model.results()
    assert MARK in result
    assert "other-text" in session.model.heard()
    assert session.end.result == "done"


@pytest.mark.slow
def test_a_skipped_call_does_not_run(claude: Any) -> None:
    """The answer names the hook that skipped it."""
    session = claude(engine_with(pre_tool_use=Verdict.skip(MARK)), TOUCH, DONE)
    assert session.files == []
    assert f"skipped by pre_tool_use: {MARK}" in session.model.results()[0]


@pytest.mark.slow
def test_a_stop_does_not_run_the_call_and_ends_the_turn(claude: Any) -> None:
    """The model is not asked again."""
    session = claude(engine_with(pre_tool_use=Verdict.stop(MARK)), TOUCH, DONE)
    assert (session.files, len(session.model.requests)) == ([], 1)


@pytest.mark.slow
def test_an_ask_without_anybody_to_ask_is_a_refusal(claude: Any) -> None:
    """Though the tool is allowed; the reason reaches the model."""
    session = claude(engine_with(pre_tool_use=Verdict.ask(MARK)), TOUCH, DONE)
    assert session.files == []
    assert MARK in session.model.results()[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:can_use_tool will not be invoked")
@pytest.mark.parametrize(
    ("decided", "files"),
    [(sdk.PermissionResultAllow(), ["asked.txt"]), (sdk.PermissionResultDeny(message="not today"), [])],
)
def test_an_ask_is_the_program_s_to_answer(claude: Any, decided: object, files: list[str]) -> None:
    """The SDK's own `can_use_tool` is asked, with the arguments as the hooks changed them."""
    questions = []

    async def can_use_tool(name: str, args: dict[str, Any], _: object) -> Any:
        questions.append((name, args["command"]))
        return decided

    verdict = Verdict("ask", MARK, modified_args={"command": "echo asked > asked.txt"})
    session = claude(engine_with(pre_tool_use=verdict), TOUCH, DONE, can_use_tool=can_use_tool)
    assert questions == [("Bash", "echo asked > asked.txt")]
    assert session.files == files


@pytest.mark.slow
def test_changed_arguments_are_what_runs(claude: Any) -> None:
    """Later events report the changed arguments too; text that comes with the change reaches the model."""
    engine = engine_with(pre_tool_use=Verdict.patch({"command": "echo new > new.txt"}, MARK))
    heard: list[Context] = []
    engine.register("post_tool_use", heard.append, name="listener")
    session = claude(engine, TOUCH, DONE)
    assert session.files == ["new.txt"]
    assert heard[0].tool_args == {"command": "echo new > new.txt"}
    assert MARK in session.model.heard()


@pytest.mark.slow
def test_a_change_alone_grants_nothing(claude: Any) -> None:
    """Where the tool is not allowed it stays refused; with `allow` it runs, changed."""
    change: dict[str, object] = {"command": "echo new > new.txt"}
    assert claude(engine_with(pre_tool_use=Verdict.modify(change)), TOUCH, DONE, allowed_tools=[]).files == []
    granted = Verdict("allow", modified_args=change)
    assert claude(engine_with(pre_tool_use=granted), TOUCH, DONE, allowed_tools=[]).files == ["new.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("event", ["pre_tool_use", "post_tool_use", "user_prompt_submit"])
def test_context_reaches_the_model(claude: Any, event: str) -> None:
    """Wherever it comes from, and only by the hook."""
    session = claude(engine_with(**{event: Verdict.with_context(MARK)}), TOUCH, DONE)
    assert session.files == ["made.txt"]
    assert MARK in session.model.heard()
    assert MARK not in claude(Engine(), TOUCH, DONE).model.heard()


@pytest.mark.slow
def test_a_failed_tool_is_told_of(claude: Any) -> None:
    """With its error; the hook's text about it reaches the model."""
    engine = engine_with(post_tool_failure=Verdict.block(MARK))
    heard: list[Context] = []
    engine.register("post_tool_failure", heard.append, name="listener", always=True)
    session = claude(engine, use("Bash", command="echo oops; exit 3"), DONE)
    assert str(heard[0].tool_result_error).startswith("Exit code 3")
    assert "oops" in str(heard[0].tool_result_error)
    assert MARK in session.model.heard()


@pytest.mark.slow
def test_a_block_after_the_tool_stands_beside_its_result(claude: Any) -> None:
    """It has run; the model gets both."""
    session = claude(engine_with(post_tool_use=Verdict.block(MARK)), use("Bash", command="echo hello"), DONE)
    assert session.model.results() == ["hello"]
    assert MARK in session.model.heard()


@pytest.mark.slow
def test_a_stop_after_the_tool_ends_the_turn(claude: Any) -> None:
    """It has run; the model is not asked again."""
    session = claude(engine_with(post_tool_use=Verdict.stop(MARK)), TOUCH, DONE)
    assert (session.files, len(session.model.requests)) == (["made.txt"], 1)


@pytest.mark.slow
def test_a_written_file_is_told_of(claude: Any) -> None:
    """`file_changed` is made from Claude's Write, with the absolute path."""
    engine = engine_with(file_changed=Verdict.with_context(MARK))
    heard: list[Context] = []
    engine.register("file_changed", heard.append, name="listener")
    session = claude(engine, use("Write", file_path="a.txt", content="x"), DONE)
    assert session.files == ["a.txt"]
    assert [ctx.file_path for ctx in heard] == [str(session.directory / "a.txt")]
    assert MARK in session.model.heard()


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("verdict", [Verdict.block(MARK), Verdict.stop(MARK), Verdict.ask(MARK), Verdict.skip(MARK)])
def test_a_prompt_that_is_refused_never_reaches_the_model(claude: Any, verdict: Verdict) -> None:
    """The user sees the reason."""
    session = claude(engine_with(user_prompt_submit=verdict), DONE)
    assert session.model.requests == []
    assert MARK in session.end.result


@pytest.mark.slow
def test_a_block_of_stop_goes_on_and_text_alone_does_not(claude: Any) -> None:
    """Not done yet: the message is the next instruction. Merely telling something must not keep Claude going."""
    engine = Engine()

    def once(ctx: Context) -> Verdict | None:
        return None if ctx["stop_hook_active"] else Verdict.block(MARK)

    engine.register("stop", once, name="once")
    session = claude(engine, say("one"), say("two"))
    assert (len(session.model.requests), session.end.result) == (2, "two")
    assert MARK in session.model.heard()
    assert len(claude(engine_with(stop=Verdict.with_context(MARK)), say("one"), say("two")).model.requests) == 1


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("verdict", "files", "requests"),
    [
        (Verdict(), [], 2),
        (Verdict.ask(MARK), [], 2),
        (Verdict.stop(MARK), [], 1),
        (Verdict.allow(), ["made.txt"], 2),
        (Verdict("allow", modified_args={"command": "echo new > new.txt"}), ["new.txt"], 2),
    ],
)
def test_a_request_for_permission_is_answered(claude: Any, verdict: Verdict, files: list[str], requests: int) -> None:
    """Only an `allow` grants."""
    session = claude(engine_with(permission_request=verdict), TOUCH, DONE, allowed_tools=[])
    assert (session.files, len(session.model.requests)) == (files, requests)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verdict", "result"),
    [(Verdict.block(MARK), MARK), (Verdict.modify({"command": "echo new > new.txt"}), "echo new > new.txt")],
)
def test_a_request_for_permission_is_refused_with_the_reason(claude: Any, verdict: Verdict, result: str) -> None:
    """A change alone is refused, with the arguments to use."""
    session = claude(engine_with(permission_request=verdict), TOUCH, DONE, allowed_tools=[])
    assert (session.files, len(session.model.requests)) == ([], 2)
    assert result in session.model.results()[0]


@pytest.mark.slow
def test_text_for_the_person_is_not_for_the_model(claude: Any) -> None:
    """It is among the messages that the program gets."""
    session = claude(engine_with(pre_tool_use=Verdict(system_message=MARK)), TOUCH, DONE)
    assert MARK not in session.model.heard()
    assert any(MARK in str(getattr(message, "data", "")) for message in session.messages)


@pytest.mark.slow
def test_a_late_guard_is_hookrun_s_to_judge(claude: Any) -> None:
    """Its `on_failure` takes effect before Claude's own limit."""
    engine = Engine()

    async def slow(_: Context) -> None:
        await hang_async()

    engine.register("pre_tool_use", slow, name="slow-guard", on_failure="block")
    session = claude(engine, TOUCH, DONE, hooks=hooks_for(engine, timeout=2))
    assert session.files == []
    assert "slow-guard" in session.model.results()[0]


@pytest.mark.slow
def test_hooks_have_state_across_a_whole_session(claude: Any) -> None:
    """They are functions of the program that runs Claude, not processes."""
    engine, outputs = Engine(), []

    @engine.on("post_tool_use", matcher="bash")
    async def collect(ctx: PostToolUse) -> Verdict:
        outputs.append(ctx.tool_result_output)
        return Verdict.with_context(f"{len(outputs)} so far")

    session = claude(engine, use("Bash", command="echo 1"), use("Bash", command="echo 2"), DONE)
    assert outputs == ["1", "2"]
    assert "2 so far" in session.model.heard()


@pytest.mark.slow
def test_the_example(tmp_path: Path) -> None:
    """`examples/library/claude_sdk_agent.py` as a user runs it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    turns = (
        use("Bash", command="git push origin main"),
        use("Write", file_path=str(tmp_path / "outside.txt"), content="x"),
        use("Bash", command="no-such-program"),
        say("that was all"),
    )
    with ScriptedModel(turns) as model:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "library" / "claude_sdk_agent.py"), "go"],
            cwd=tmp_path / "project",
            env={**os.environ, **environment(model, tmp_path / "home")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == "that was all\n", done.stderr
        push, write, unknown = model.results()
    assert "not a git repository" in push
    assert "The push was made a dry run" in model.heard()
    assert f"Write inside {tmp_path / 'project'} only." in write
    assert not (tmp_path / "outside.txt").exists()
    assert "not found" in unknown
    assert "Programs of this project are run by `make`." in model.heard()
