"""Cause chains: an error, the attempts, the fix, and the report when it occurs again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrun.events import ErrorOccurred, PostToolFailure, PostToolUse
from hookrun.observe import CauseChains, error_chains

if TYPE_CHECKING:
    from hookrun import Verdict
    from hookrun.observe import ObserverDatabase
    from tests.observe.conftest import Clock

TOKEN = "ghp_" + "a1B2c3D4" * 5
NO_YAML = "ModuleNotFoundError: No module named 'yaml' (line 12)"


@pytest.fixture
def causes(store: ObserverDatabase, clock: Clock) -> CauseChains:
    """Return the bundle."""
    return CauseChains(store, clock=clock)


def failed(error: str = NO_YAML, command: str = "pytest", session: str | None = "s1", **more: Any) -> PostToolFailure:
    """Return the context of a command that failed."""
    args = {"command": command}
    return PostToolFailure(session_id=session, tool_name="bash", tool_args=args, tool_result_error=error, **more)


def ran(command: str, session: str | None = "s1", **more: Any) -> PostToolUse:
    """Return the context of a command that succeeded."""
    return PostToolUse(session_id=session, tool_name="bash", tool_args={"command": command}, **more)


def edited(path: str, old: str = "a", new: str = "b", session: str = "s1") -> PostToolUse:
    """Return the context of an edit."""
    args = {"file_path": path, "old_string": old, "new_string": new}
    return PostToolUse(session_id=session, tool_name="edit", tool_args=args, working_dir="/srv/app")


def chain_of(verdict: Verdict | None) -> str:
    """Return the chain that a handler passed on."""
    assert verdict is not None
    assert verdict.action == "continue"
    assert verdict.modified_context is not None
    return str(verdict.modified_context["causal_chain_id"])


def fix_of(causes: CauseChains, chain: str) -> str:
    """Return what fixed a chain."""
    fix = causes.chain(chain).fix
    assert fix is not None
    return fix.description


def told(verdict: Verdict | None) -> str | None:
    """Return the text for the model."""
    assert verdict is not None
    return verdict.additional_context


def test_an_error_of_the_agent(causes: CauseChains) -> None:
    """The fields of error_info are kept, with the time of the fire, and the chain is passed on."""
    info = {"error_message": "boom", "context": {"step": 3}, "severity": "high"}
    context = ErrorOccurred(session_id="s1", error_info=info, timestamp="2026-03-01T08:00:00.000Z")
    chain = causes.chain(chain_of(causes.on_error(context)))
    assert (chain.session_id, chain.message, chain.at, chain.times) == ("s1", "boom", 1_772_352_000.0, 1)
    assert (chain.fix, chain.fixed_at, chain.tool) == (None, None, None)


@pytest.mark.parametrize("message", [{}, {"error_message": None}, {"error_message": 7}])
def test_an_error_without_a_message(causes: CauseChains, message: dict[str, object]) -> None:
    """It is an unknown error; without any error_info there is nothing to keep."""
    found = causes.on_error(ErrorOccurred(session_id="s1", error_info={**message, "context": {}}))
    assert causes.chain(chain_of(found)).message == "Unknown error"
    assert causes.on_error(ErrorOccurred(session_id="s1")) is None


def test_what_fixed_a_failed_command(causes: CauseChains) -> None:
    """When the same call succeeds, the successful calls in between are its fix: in order, no failures, no reads."""
    chain = chain_of(causes.on_failure(failed(command="pytest  -q\n")))
    causes.on_failure(failed("no such package", "pip install yaml"))
    causes.on_result(PostToolUse(session_id="s1", tool_name="read", tool_args={"file_path": "/srv/app/a.py"}))
    causes.on_result(ran("pip install pyyaml"))
    causes.on_result(edited("/srv/app/src/a.py", "import yml", "import yaml"))
    assert causes.chain(chain).fix is None
    causes.on_result(ran(" pytest -q"))
    found = causes.chain(chain)
    assert fix_of(causes, chain) == ('running `pip install pyyaml`; editing src/a.py ("import yml" -> "import yaml")')
    assert [(each.tool, each.ok, each.in_fix) for each in found.attempts] == [
        ("bash", False, False),
        ("bash", True, True),
        ("edit", True, True),
    ]
    assert found.fixed_at is not None


def test_only_the_same_call_is_a_fix(causes: CauseChains) -> None:
    """Another command, another tool with those arguments or another session proves nothing."""
    chain = chain_of(causes.on_failure(failed(command="make")))
    causes.on_result(ran("make test"))
    causes.on_result(ran("make", session="s2"))
    causes.on_result(PostToolUse(session_id="s1", tool_name="mcp__x__bash", tool_args={"command": "make"}))
    assert causes.chain(chain).fixed_at is None
    causes.on_result(ran("make"))
    assert causes.chain(chain).fixed_at is not None


def test_what_a_call_is_for_does_not_matter(causes: CauseChains) -> None:
    """A bash call is its command, whatever its description and timeout; any other call is all of its arguments."""
    chain = chain_of(causes.on_failure(failed(command="make")))
    args = {"command": "make", "description": "again", "timeout": 9}
    causes.on_result(PostToolUse(session_id="s1", tool_name="bash", tool_args=args))
    assert causes.chain(chain).fixed_at is not None
    context = {"session_id": "s1", "tool_name": "mcp__db__query"}
    failure = PostToolFailure(**context, tool_args={"q": "a", "n": [1, 2]}, tool_result_error="no table")  # type: ignore[arg-type]
    chain = chain_of(causes.on_failure(failure))
    causes.on_result(PostToolUse(**context, tool_args={"q": "a", "n": [1, 3]}))  # type: ignore[arg-type]
    assert causes.chain(chain).fixed_at is None
    causes.on_result(PostToolUse(**context, tool_args={"n": [1, 2], "q": " a "}))  # type: ignore[arg-type]
    assert causes.chain(chain).fixed_at is not None


def test_the_same_error_again_is_the_same_chain(causes: CauseChains) -> None:
    """While it is open, an error that only varies is counted; another error, call or session begins a chain."""
    first = chain_of(causes.on_failure(failed("took 3.1 s", "make")))
    causes.on_result(edited("/srv/app/a.py"))
    assert chain_of(causes.on_failure(failed("took 4.2 s", "make"))) == first
    assert causes.chain(first).times == 2
    assert [each.tool for each in causes.chain(first).attempts] == ["edit"], "failing again is no attempt to fix it"
    others = [failed("took too long", "make"), failed("took 1 s", "make x"), failed("took 1 s", "make", "s2")]
    assert len({first, *(chain_of(causes.on_failure(each)) for each in others)}) == 4
    causes.on_result(edited("/srv/app/b.py"))
    causes.on_result(ran("make"))
    fixing = [each.what for each in causes.chain(first).attempts if each.in_fix]
    assert fixing == ['editing b.py ("a" -> "b")'], "what did not help is no part of the fix"
    assert chain_of(causes.on_failure(failed("took 5.0 s", "make"))) != first


def test_one_failure_told_twice_is_one_chain(causes: CauseChains) -> None:
    """An agent may fire both `error` and `post_tool_failure`: the call is taken from whichever has it."""
    first = chain_of(causes.on_error(ErrorOccurred(session_id="s1", error_info={"error_message": NO_YAML})))
    assert chain_of(causes.on_failure(failed())) == first
    causes.on_result(ran("pytest"))
    assert causes.chain(first).fixed_at is not None


def test_a_fix_without_changes(causes: CauseChains) -> None:
    """What succeeds on a second run with nothing in between is reported as that."""
    chain = chain_of(causes.on_failure(failed("connection reset", "git fetch")))
    causes.on_result(ran("git fetch"))
    assert fix_of(causes, chain) == "running it again, with nothing changed in between"


def test_a_result_that_is_an_error(causes: CauseChains) -> None:
    """Some agents report a failure as a result with an error: it is one."""
    verdict = causes.on_result(ran("make", tool_result_error="no rule"))
    assert causes.chain(chain_of(verdict)).message == "no rule"


def test_sessions_without_a_name_are_one(causes: CauseChains) -> None:
    """An agent that gives no session still has its fixes linked."""
    chain = chain_of(causes.on_failure(failed(command="make", session=None)))
    causes.on_result(ran("make", session=None))
    assert causes.chain(chain).fixed_at is not None


def test_attempts_have_an_end(causes: CauseChains) -> None:
    """Of an error that nothing fixes only so many attempts are kept; it can still be fixed."""
    chain = chain_of(causes.on_failure(failed(command="make")))
    for number in range(error_chains.MAX_ATTEMPTS + 5):
        causes.on_result(ran(f"touch file{number}"))
    assert len(causes.chain(chain).attempts) == error_chains.MAX_ATTEMPTS
    causes.on_result(ran("make"))
    assert fix_of(causes, chain).count(";") == 4


def test_nothing_is_made_before_the_first_error(causes: CauseChains, tmp_path: Path) -> None:
    """Before an event there is neither a file nor a directory, and reading makes none."""
    assert (causes.chains(), causes.similar("x")) == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_a_fix_that_the_program_tells(causes: CauseChains, clock: Clock) -> None:
    """A successful fix closes the chain; a failed one is kept and closes nothing. An unknown chain is named."""
    chain = causes.record_error(NO_YAML, session_id="s1", context={"a": 1})
    causes.record_fix(chain, "restart", successful=False)
    assert (causes.chain(chain).fix, causes.chain(chain).fixed_at) == (None, None)
    clock.now += 60
    causes.record_fix(chain, "pip install pyyaml")
    found = causes.chain(chain)
    assert [(fix.description, fix.successful) for fix in found.fixes] == [
        ("restart", False),
        ("pip install pyyaml", True),
    ]
    assert found.fixed_at == clock.now
    for use in (causes.chain, lambda chain: causes.record_fix(chain, "x")):
        with pytest.raises(ValueError, match="no cause chain 'chain-0'"):
            use("chain-0")


def test_credentials_are_not_kept(causes: CauseChains, store: ObserverDatabase) -> None:
    """Nothing in the file has them: message, context, commands, edits, fixes."""
    chain = chain_of(causes.on_failure(failed(f"push with {TOKEN} failed", f"git push https://me:{TOKEN}@h/x")))
    causes.on_result(ran(f"export GITHUB_TOKEN={TOKEN}"))
    causes.on_result(edited("/srv/app/.env", TOKEN, "PASSWORD=hunter2hunter2"))
    causes.record_fix(chain, f"using {TOKEN}")
    causes.record_error("x", context={"password": "hunter2hunter2"})
    spooled = Path(f"{store.path}.spool").read_bytes()
    store.flush()
    data = spooled + Path(store.path).read_bytes()
    assert b"[redacted]" in data
    assert b"ghp_" not in data
    assert b"hunter2" not in data


def test_strange_texts(causes: CauseChains) -> None:
    """Half a surrogate pair, NUL, quotes and megabytes can be kept and looked for."""
    for message in ("\ud800", "a\0b", '"" OR NOT (', "___ * _ x", "x" * 3_000_000):
        chain = causes.record_error(message, session_id="\udfff")
        assert causes.similar(message)[0].score == 1.0
        causes.record_fix(chain, message)


def test_similar_errors(causes: CauseChains) -> None:
    """The best comes first, with its score and fix; chains without common words are not found."""
    described = {
        "ModuleNotFoundError: No module named 'yaml' (line 7)": "pip install pyyaml",
        "ImportError: No module named yaml found in environment": "activate the environment",
        "PermissionError: cannot write to disk": "chmod",
        "connection refused by database server": "start the database",
    }
    for message, fix in described.items():
        causes.record_fix(causes.record_error(message, session_id="s1"), fix)
    found = causes.similar(NO_YAML)
    assert [each.chain.fix.description for each in found if each.chain.fix] == list(described.values())[:2]
    assert found[0].score == 1.0
    assert 0.3 <= found[1].score < 0.9
    assert len(causes.similar(NO_YAML, limit=1)) == 1
    assert causes.similar("zebra quux") == []


@pytest.mark.slow
def test_an_error_is_found_however_many_came_after_it(causes: CauseChains) -> None:
    """Not only the latest ones are compared."""
    causes.record_error("the turbine is out of alignment again")
    for number in range(300):
        causes.record_error(f"nothing else than {chr(0x4E00 + number)}")
    assert causes.similar("turbine alignment is out")[0].chain.message == "the turbine is out of alignment again"


def test_of_one_kind_the_telling_one_is_found(causes: CauseChains, clock: Clock) -> None:
    """Errors that differ in a quoted name are two kinds; of one kind a fixed one is found."""
    for name in ("yaml", "click"):
        causes.record_fix(causes.record_error(f"No module named '{name}'"), f"pip install {name}")
    clock.now += 10
    causes.record_error("No module named 'yaml'", session_id="another")
    for name in ("yaml", "click"):
        found = causes.similar(f"No module named '{name}'")[0]
        assert found.chain.fix is not None
        assert found.chain.fix.description == f"pip install {name}"


def fixes(causes: CauseChains, fix: str = "pip install pyyaml", session: str = "old", error: str = NO_YAML) -> None:
    """Have a session in which a command fixed an error."""
    causes.on_failure(failed(error, session=session, timestamp="2026-01-02T10:00:00Z"))
    causes.on_result(ran(fix, session, timestamp="2026-01-02T10:01:00Z"))
    causes.on_result(ran("pytest", session, timestamp="2026-01-02T10:02:00Z"))


def test_the_model_is_told_what_helped(store: ObserverDatabase, clock: Clock) -> None:
    """An error that was fixed twice in the same way comes with the fix, once a session; one like no other alone."""
    causes = CauseChains(store, tell=True, clock=clock)
    again = failed("ModuleNotFoundError: No module named 'yaml' (line 99)", "python app.py")
    fixes(causes)
    assert told(causes.on_failure(failed(session="too early"))) is None
    fixes(causes, session="older")
    fix = "running `pip install pyyaml`"
    assert (
        told(causes.on_failure(again)) == f"This error was fixed 2 times in this project (at last 2026-01-02) by: {fix}"
    )
    for context in (again, failed(command="python other.py"), failed("the disk is full of water", "make")):
        assert told(causes.on_failure(context)) is None


def test_what_is_not_told(store: ObserverDatabase, clock: Clock) -> None:
    """Not another module's fix, not what helps one time in two, and not in another project; by default nothing."""
    causes = CauseChains(store, tell=True, clock=clock)
    for number, fix in enumerate(("pip install pyyaml", "pip install pyyaml", "git pull", "git stash", "git pull")):
        fixes(causes, fix, f"{number}", error="E   assert broken")
        fixes(causes, session=f"a{number}")
    for context in (
        failed("ModuleNotFoundError: No module named 'click'", session="s1"),
        failed("E   assert broken", session="s2"),
        failed(session="s3", working_dir="/srv/other"),
    ):
        assert told(causes.on_failure(context)) is None
    assert told(CauseChains(store).on_failure(failed(session="s4"))) is None
    assert told(causes.on_failure(failed(session="s5"))) is not None


def test_what_was_not_fixed_is_not_told(store: ObserverDatabase, clock: Clock) -> None:
    """Neither an open error, nor a failed attempt, nor reading, nor doing the same again is a fix."""
    causes = CauseChains(store, tell=True, clock=clock)
    causes.record_fix(causes.record_error(NO_YAML, session_id="old"), "restart", successful=False)
    for number in range(3):
        fixes(causes, "grep -r yaml src", f"{number}")
    assert causes.lessons() == []
    assert told(causes.on_failure(failed())) is None


def test_chains_newest_first(causes: CauseChains, clock: Clock) -> None:
    """They can be asked for by session and time."""
    ids = []
    for number, session in enumerate("aba"):
        clock.now = 1000.0 + number
        ids.append(causes.record_error(f"error {'x' * number}", session_id=session))
    causes.record_fix(ids[0], "x")
    assert [each.id for each in causes.chains()] == ids[::-1]
    assert [each.id for each in causes.chains(session_id="a", limit=1)] == [ids[2]]
    assert [each.id for each in causes.chains(since=1001.0)] == [ids[2], ids[1]]
    assert [each.id for each in causes.chains() if each.fixed_at is not None] == [ids[0]]
