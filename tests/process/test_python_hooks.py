"""Hooks that are Python functions: their return values, their failures, their modules and interpreters."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conftest import Fired, Project

pytestmark = pytest.mark.sampled(3)

FIVE_MEGABYTES = 5 << 20

MODULE = Path(__file__).with_name("programs").joinpath("python_hooks.py").read_text()

INTERPRETERS: tuple[dict[str, object], ...] = ({}, {"interpreter": sys.executable})
either = pytest.mark.parametrize("interpreter", INTERPRETERS, ids=["forked", "interpreter"])
"""The forked child of hookrun, and a fresh interpreter that is given hookrun's runner as a script."""


def fire(project: Project, function: str, *, reap: object = False, **fields: object) -> Fired:
    """Fire one function of the module `checks.guards`, a package at the project's root."""
    project.script("checks/__init__.py", "", 0o644)
    project.script("checks/guards.py", MODULE, 0o644)
    project.hooks({"python": f"checks.guards:{function}", **fields})
    return project.fire(reap=bool(reap))


@pytest.fixture(params=["python3.11", "python3.12", "python3.13", "python3.14"])
def another_python(request: pytest.FixtureRequest) -> str:
    """Return the name of a Python on PATH. It must start, too: a version manager's may exist and fail."""
    path = shutil.which(request.param)
    if path is None or subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"{request.param} is not on PATH, or does not start")
    return str(request.param)


def fire_each(project: Project, targets: Iterable[str], interpreter: dict[str, object], **fields: object) -> Fired:
    """Fire one hook for each function, also after a refusal; the hooks are named by them."""
    project.script("checks/__init__.py", "", 0o644)
    project.script("checks/guards.py", MODULE, 0o644)
    project.hooks(
        *({"name": each, "python": f"checks.{each}", "always": True, **interpreter, **fields} for each in targets)
    )
    return project.fire()


@either
def test_what_a_function_returns_is_its_verdict(project: Project, interpreter: dict[str, object]) -> None:
    """A dict, an object with to_dict, and the result of a coroutine are each a verdict."""
    messages = {
        "guards:says": "from bash",
        "guards:an_object": "from an object",
        "guards:later": "from a coroutine",
        "guards:awaitable": "from an awaitable",
        "guards:Checks.strict": "from a dotted path",
    }
    fired = fire_each(project, messages, interpreter)
    assert fired.status == 2
    assert {each: fired.record(each)["message"] for each in messages} == messages
    assert {each: fired.hook(each)["failure"] for each in messages} == dict.fromkeys(messages)


@either
def test_a_function_that_returns_none_has_no_objection(project: Project, interpreter: dict[str, object]) -> None:
    """None, also from a coroutine, and sys.exit() without a status are a continue and no failure."""
    functions = ("guards:nothing", "guards:later_nothing", "guards:exits_well")
    fired = fire_each(project, functions, interpreter, on_failure="block")
    assert (fired.status, fired.action, fired.stderr) == (0, "continue", "")
    assert len(fired.verdict["hooks"]) == len(functions)  # type: ignore[arg-type]


@either
def test_an_exception_is_an_exit_code_failure_that_shows_the_last_line(
    project: Project, interpreter: dict[str, object]
) -> None:
    """What a function raises fails as exit_code, status 1, and the reason ends with the last line of the traceback."""
    last_lines = {
        "guards:raises": "ValueError: not what was hoped for",
        "guards:later_raises": "LookupError: later than expected",
        "guards:a_set": "TypeError: Object of type set is not JSON serializable",
        "guards:exits_with_text": "nothing doing",
    }
    fired = fire_each(project, last_lines, interpreter, on_failure="block")
    message = str(fired.verdict["message"])
    for each, line in last_lines.items():
        record = fired.record(each)
        assert (record["failure"], record["exit"]) == ("exit_code", 1), each
        assert str(record["detail"]).endswith(line), each
        assert f"hook {each} failed (exit_code): " in message, each
        assert f"{line}\n" in f"{message}\n", each


@either
def test_sys_exit_2_is_a_veto_with_what_was_printed(project: Project, interpreter: dict[str, object]) -> None:
    """sys.exit(2) blocks with what the function wrote to stderr, as for a program."""
    fired = fire(project, "vetoes", **interpreter)
    assert (fired.status, fired.verdict["message"]) == (2, "not on a Friday")
    assert fired.hook("hook")["failure"] is None


@either
def test_what_a_function_prints_does_not_spoil_its_verdict(project: Project, interpreter: dict[str, object]) -> None:
    """print, writes to descriptor 1 and the output of children go to stderr; stdout holds the verdict alone."""
    fired = fire(project, "prints", **interpreter)
    assert (fired.status, fired.verdict["message"]) == (2, "printed first"), fired.stderr
    assert fired.record("hook")["bytes_err"] == len("checking " * 1000 + "\nraw bytes\nfrom a child\n")


@either
def test_a_return_value_that_is_no_object_is_a_bad_verdict(project: Project, interpreter: dict[str, object]) -> None:
    """A list is a bad_verdict, as it is from a program."""
    assert fire(project, "a_list", **interpreter).hook("hook")["failure"] == "bad_verdict"


@pytest.mark.slow
@pytest.mark.sampled
@either
@pytest.mark.parametrize("function", ["hangs", "hangs_and_ignores"])
def test_a_function_that_hangs_is_ended_and_leaves_nothing(
    project: Project, interpreter: dict[str, object], function: str
) -> None:
    """A function past its timeout is a timeout, and neither it nor what it started is left running."""
    fired = fire(project, function, **interpreter, timeout=0.5, on_failure="block", reap=True)
    assert (fired.status, fired.hook("hook")["failure"]) == (2, "timeout")
    assert fired.left == []


def test_a_function_that_is_killed_is_a_signal_failure(project: Project) -> None:
    """A segmentation fault in the function is its own failure and not hookrun's."""
    fired = fire(project, "dies", on_failure="block")
    assert (fired.status, fired.hook("hook")["failure"]) == (2, "signal")
    assert "signal 11" in str(fired.verdict["message"])


@either
def test_a_function_or_module_that_is_not_there_is_missing(project: Project, interpreter: dict[str, object]) -> None:
    """A module or function that does not exist, or is no function, fails as missing and is named."""
    told = {
        "guards:no_such": "module checks.guards has no no_such",
        "guards:MODULE": "module checks.guards has no MODULE",
        "guards:NUMBER": "checks.guards:NUMBER is not a function",
        "no_such:hook": "no module checks.no_such",
        "guards.no_such:hook": "no module checks.guards.no_such",
    }
    fired = fire_each(project, told, interpreter)
    for each, text in told.items():
        record = fired.record(each)
        assert (record["failure"], text in str(record["detail"])) == ("missing", True), record


def test_a_package_that_is_not_there_is_missing(project: Project) -> None:
    """As a module is."""
    project.hooks({"python": "no_such.guards:hook", "on_failure": "block"})
    fired = project.fire()
    assert (fired.status, fired.hook("hook")["failure"]) == (2, "missing"), fired.stderr
    assert "no module no_such.guards" in str(fired.verdict["message"])


@either
def test_an_import_that_fails_inside_the_module_is_an_exit_code_failure(
    project: Project, interpreter: dict[str, object]
) -> None:
    """A module that is there but cannot be imported is not missing: its own error is shown."""
    last_lines = {
        "import no_such_library": "ModuleNotFoundError: No module named 'no_such_library'",
        "import checks.no_helper": "ModuleNotFoundError: No module named 'checks.no_helper'",
        "from checks import nobody": "ImportError: cannot import name 'nobody' from 'checks'",
        "def hook(context) return 1": "SyntaxError: ",
        "1 / 0": "ZeroDivisionError: division by zero",
    }
    targets = {f"odd{number}:hook": line for number, line in enumerate(last_lines.values())}
    for number, text in enumerate(last_lines):
        project.script(f"checks/odd{number}.py", f"{text}\n", 0o644)
    fired = fire_each(project, targets, interpreter)
    for each, line in targets.items():
        record = fired.record(each)
        assert (record["failure"], line in str(record["detail"])) == ("exit_code", True), record


def test_a_function_that_exits_with_127_is_not_taken_for_missing(project: Project) -> None:
    """sys.exit(127) is the function's own exit status: the function was there, so the failure is exit_code."""
    fired = fire(project, "shell_like", on_failure="block")
    assert fired.record("hook")["exit"] == 127
    assert fired.hook("hook")["failure"] == "exit_code"
    assert "the linter ended with 127" in str(fired.verdict["message"])


def test_the_module_is_found_from_the_projects_root(project: Project) -> None:
    """A run from a subdirectory finds a module beside the config file, and runs it at the project's root."""
    project.script("guards.py", MODULE, 0o644)
    project.hooks({"python": "guards:where"})
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    fired = project.fire(cwd=below)
    assert json.loads(str(fired.verdict["message"]))[0] == str(project.root)


def test_a_project_module_comes_before_an_installed_one_of_the_same_name(project: Project) -> None:
    """A module of the project wins over one of the same name further along the interpreter's path."""
    elsewhere = project.home / "lib"
    elsewhere.mkdir()
    (elsewhere / "guards.py").write_text("def hook(context): return {'action': 'block', 'message': 'elsewhere'}\n")
    project.script("guards.py", "def hook(context): return {'action': 'block', 'message': 'project'}\n", 0o644)
    project.hooks({"python": "guards:hook"})
    path = project.environment()["PYTHONPATH"] + ":" + str(elsewhere)
    assert project.fire(env={"PYTHONPATH": path}).verdict["message"] == "project"


@either
def test_a_function_sees_what_a_program_would_see_in_its_environment(
    project: Project, interpreter: dict[str, object]
) -> None:
    """os.environ has hookrun's variables and the declared ones."""
    fired = fire(project, "sees", **interpreter, env={"STRICT": "yes", "HOOKRUN_HOOK": "forged"})
    seen = json.loads(str(fired.verdict["message"]))
    assert seen["STRICT"] == "yes"
    assert seen["HOOKRUN_HOOK"] == "hook"
    assert seen["HOOKRUN_EVENT"] == "pre_tool_use"
    assert seen["HOOKRUN_TOOL"] == "bash"
    assert seen["HOOKRUN_SESSION_ID"] == "s1"
    assert seen["HOOKRUN_PROJECT_DIR"] == str(project.root)
    assert seen["HOOKRUN_REQUEST_ID"] == fired.verdict["request_id"]


def test_env_policy_clean_holds_for_a_forked_function(project: Project) -> None:
    """A function in a forked child does not see what its policy takes away, although the child began with it."""
    project.script("guards.py", MODULE, 0o644)
    project.hooks({"python": "guards:sees", "env_policy": "clean"})
    fired = project.fire(env={"SOMETHING_ELSE": "1"})
    assert "SOMETHING_ELSE" not in json.loads(str(fired.verdict["message"]))


@pytest.mark.slow
@either
def test_a_context_of_5_megabytes_is_read_whole(project: Project, interpreter: dict[str, object]) -> None:
    """A large context reaches the function whole, characters beyond ASCII included."""
    project.script("guards.py", MODULE, 0o644)
    project.hooks({"python": "guards:measures", **interpreter})
    fired = project.fire({"tool_name": "write", "tool_args": {"content": "ü" * FIVE_MEGABYTES}})
    assert fired.verdict["message"] == str(FIVE_MEGABYTES)


def test_the_context_has_been_read_when_the_function_is_called(project: Project) -> None:
    """A function that reads sys.stdin sees its end, not data meant for another hook."""
    assert fire(project, "counts_stdin").verdict["message"] == "0"


def test_a_given_interpreter_runs_the_function(project: Project) -> None:
    """`interpreter` is the program that runs the function, in the working directory of the hook."""
    fired = fire(project, "where", interpreter=sys.executable)
    directory, executable, version, module = json.loads(str(fired.verdict["message"]))
    assert (directory, executable, module) == (str(project.root), sys.executable, "checks.guards")
    assert version == list(sys.version_info[:2])


@pytest.mark.slow
@pytest.mark.sampled
def test_another_python_without_hookrun_runs_the_function(project: Project, another_python: str) -> None:
    """An interpreter of another version, by its bare name, runs the function without hookrun being importable."""
    project.script("guards.py", MODULE, 0o644)
    project.hooks({"python": "guards:where", "interpreter": another_python, "env": {"PYTHONPATH": ""}})
    version = json.loads(str(project.fire().verdict["message"]))[2]
    assert "python" + ".".join(map(str, version)) == another_python


@either
def test_a_function_can_import_the_whole_standard_library(project: Project, interpreter: dict[str, object]) -> None:
    """No module of hookrun's shadows one of the standard library: http, signal and others are Python's."""
    fired = fire(project, "asks_the_net", **interpreter, on_failure="block")
    assert fired.verdict["message"] == "HTTPConnectionRequest", fired.stderr


@pytest.mark.parametrize(
    ("interpreter", "reason"),
    [
        ("/no/such/python", "/no/such/python"),
        ("no-such-python", "no-such-python"),
        ("./venv/bin/python", "python"),
        ("./python", "is not executable"),
    ],
)
def test_an_interpreter_that_is_not_there_is_missing(project: Project, interpreter: str, reason: str) -> None:
    """An interpreter that does not exist, or has no execute bit, fails as missing, and the reason says so."""
    project.script("python", "#!/bin/sh\n", 0o644)
    fired = fire(project, "says", interpreter=interpreter, on_failure="block")
    assert (fired.status, fired.hook("hook")["failure"]) == (2, "missing")
    assert reason in str(fired.verdict["message"])


def test_an_interpreter_relative_to_the_project_is_found(project: Project) -> None:
    """A relative interpreter path, as of a virtual environment, is relative to the project's root."""
    (project.root / "venv" / "bin").mkdir(parents=True)
    project.script("venv/bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    below = project.root / "below"
    below.mkdir()
    project.script("guards.py", MODULE, 0o644)
    project.hooks({"python": "guards:says", "interpreter": "./venv/bin/python"})
    assert project.fire(cwd=below).verdict["message"] == "from bash"
