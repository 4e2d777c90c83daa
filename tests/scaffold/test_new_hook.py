"""Templates: in every language, for every purpose, the hook passes its own cases, by its real interpreter."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from hookrun.core.globs import glob
from hookrun.edit.file_change import apply_all
from hookrun.scaffold.declaration_file import project_file
from hookrun.scaffold.new_hook import (
    LANGUAGES,
    PURPOSES,
    HookTemplateRequest,
    example,
    plan_hook,
    purpose_of,
    render_script,
)
from tests.cli.command import hookrun
from tests.rows import rows
from tests.waiting import ended

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project

EVENTS = (
    ("pre_tool_use", None),
    ("permission_request", "write"),
    ("pre_tool_use", "write|edit|delete"),
    ("post_tool_use", None),
    ("file_changed", None),
    ("user_prompt_submit", None),
    ("stop", None),
    ("session_start", None),
    ("notification", None),
    ("pre_tool_use", "mcp__*"),
    ("pre_tool_use", "*"),
    ("permission_request", "bash|write"),
)
"""Events and matchers that between them need every template."""

NOT_HERE = "is not installed: this language's templates are NOT tested here"


def languages() -> list[object]:
    """Return every language, marked if its program is not installed."""
    return [
        pytest.param(
            name, marks=pytest.mark.skipif(not shutil.which(each.program), reason=f"{each.program} {NOT_HERE}")
        )
        for name, each in LANGUAGES.items()
    ]


def write(project: Project, wish: HookTemplateRequest) -> str:
    """Write a hook into a project; return its name."""
    config_file = project_file(str(project.root), str(project.home))
    made = plan_hook(wish, config_file)
    apply_all([*made.files, *config_file.changes()])
    if made.build:
        subprocess.run(made.build.split(), cwd=project.root, check=True)
    return made.name


def test_a_guard_is_for_the_tools_that_it_knows() -> None:
    """One that would fail on a call of another tool would refuse it: for more tools there is another template."""
    assert purpose_of("pre_tool_use", "bash") == "command"
    assert purpose_of("pre_tool_use", "edit|read") == "file"
    for matcher in ("*", "bash|write", "b*", "edit|web_fetch"):
        assert PURPOSES[purpose_of("pre_tool_use", matcher)].on_failure == "continue"


def test_every_template_is_needed() -> None:
    """The events of these tests need each of the templates."""
    assert {purpose_of(event, matcher) for event, matcher in EVENTS} == set(PURPOSES) - {"command"}


SERVES = pytest.mark.parametrize("serve", [False, True], ids=["", "serve"])


@pytest.mark.sampled
@SERVES
@pytest.mark.parametrize("language", languages())
def test_a_new_hook_passes_its_cases(project: Project, language: str, *, serve: bool) -> None:
    """Written, built where it has to be, valid, and every case holds; with `serve` twice."""
    for number, (event, matcher) in enumerate(EVENTS):
        name = PURPOSES[purpose_of(event, matcher)].name
        write(project, HookTemplateRequest(language, f"{name}-{number}", event, matcher, serve))
    valid = hookrun(project, "validate")
    assert (valid.status, valid.stdout) == (0, f"checked {len(EVENTS)} hooks in 1 file: 0 errors, 0 warnings\n")
    done = hookrun(project, "test")
    assert done.status == 0, done.stdout
    cases = sum(len(yaml.safe_load(file.read_text())["cases"]) for file in project.root.glob("hooks/*.hooktest.yaml"))
    assert f"{cases * (1 + serve)} tests: {cases * (1 + serve)} passed" in done.stdout
    assert cases > len(EVENTS) * 1.5


@pytest.mark.slow
@pytest.mark.sampled
@SERVES
@pytest.mark.parametrize("language", languages())
def test_a_hook_of_another_name_is_a_stub(project: Project, language: str, *, serve: bool) -> None:
    """A template would make of `no-sudo` a guard against something else: it blocks nothing, and a test of it fails."""
    for number, (event, matcher) in enumerate([*EVENTS, ("pre_tool_use", "bash"), ("pre_tool_use", "bash|write")]):
        write(project, HookTemplateRequest(language, f"stub-{number}", event, matcher, serve))
    write(project, HookTemplateRequest(language, "no-sudo", serve=serve))
    assert hookrun(project, "validate").stdout.endswith("0 errors, 0 warnings\n")
    done = json.loads(hookrun(project, "test", "--json").stdout)
    failed = {case["file"] for case in done["cases"] if not case["passed"]}
    assert failed == {path.relative_to(project.root).as_posix() for path in project.root.glob("hooks/*.hooktest.yaml")}
    fired = project.fire({"tool_name": "bash", "tool_args": {"command": "ls"}})
    assert (fired.action, fired.hook("stub-0")["failure"]) == ("continue", None)


@pytest.mark.sampled(5)
@SERVES
@pytest.mark.parametrize("language", languages())
def test_a_stub_passes_its_tests_when_it_is_written(project: Project, language: str, *, serve: bool) -> None:
    """Without the marks of its comment, for every kind of call, and only then."""
    for number, (event, matcher) in enumerate([*EVENTS, ("pre_tool_use", "bash"), ("pre_tool_use", "bash|write")]):
        write(project, HookTemplateRequest(language, f"stub-{number}", event, matcher, serve))
    for script in project.root.glob(f"hooks/*{LANGUAGES[language].suffix}"):
        head, opening, check = script.read_text().partition(CHECK_BELOW[language])
        script.write_text(head + opening + re.sub(r"(?m)^(\s*)(?:#|//) ?", r"\1", check))
        built(script)
    done = hookrun(project, "test")
    assert done.status == 0, done.stdout


CHECK_BELOW = {
    "sh": "exit 1",
    "python": "Return the verdict",
    "node": "function judge",
    "ruby": "def judge",
    "go": "func judge",
}
"""Language -> what is above a script's check."""


def built(script: Path) -> Path:
    """Return the program of a script, which only Go compiles."""
    if script.suffix != ".go":
        script.chmod(0o755)
        return script
    subprocess.run(["go", "build", "-o", script.with_suffix(""), script], check=True)
    return script.with_suffix("")


def run(path: Path, stdin: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script with this on stdin."""
    return subprocess.run(
        [path], input=stdin, capture_output=True, text=True, check=False, env={**os.environ, **env}, cwd=path.parent
    )


@pytest.mark.slow
@pytest.mark.sampled(10)
@pytest.mark.parametrize(("serve", "form"), [(False, "%s"), (True, '{"id": "1", "context": %s}\n')])
@pytest.mark.parametrize("language", languages())
def test_what_a_guard_cannot_judge_is_a_failure(tmp_path: Path, language: str, form: str, *, serve: bool) -> None:
    """No JSON, half of it, or no such argument: status 1 and a message on stderr, never silence."""
    path = tmp_path / f"guard{LANGUAGES[language].suffix}"
    values = {"name": "guard", "description": "A guard.", "event": "pre_tool_use"}
    path.write_text(render_script(language, "file", values, serve=serve))
    program = built(path)
    for stdin in ("", "nonsense", '{"tool_args": {"command"', '{"tool_args": {}}', '{"tool_args": null}', "[]"):
        done = run(program, form % stdin)
        assert (done.returncode, done.stdout) == (1, ""), (stdin, done)
        assert done.stderr


@pytest.mark.sampled
@pytest.mark.parametrize("language", languages())
def test_what_serves_ends_when_it_cannot_judge(tmp_path: Path, language: str) -> None:
    """While its input is open: the call would otherwise wait for it until the timeout."""
    path = tmp_path / f"guard{LANGUAGES[language].suffix}"
    path.write_text(render_script(language, "file", {"name": "guard", "description": "A guard."}, serve=True))
    with subprocess.Popen(
        [built(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as guard:
        assert guard.stdin is not None
        assert guard.stdout is not None
        guard.stdin.write(b'{"id": "1", "context": {"tool_args": {"command": "ls"}}}\n')
        guard.stdin.flush()
        try:
            status = ended(guard)
        finally:
            guard.kill()
        assert (status, guard.stdout.read()) == (1, b"")


def test_what_a_hook_needs_is_named_if_it_is_missing(project: Project, tmp_path: Path) -> None:
    """A shell hook reads the context with jq."""
    done = hookrun(project, "new", "guard", "--lang", "sh", PATH=str(tmp_path))
    assert "warning: command not found: `jq`, which guard needs" in done.stderr


@rows("pattern", ["bash", "mcp__*", "*git push*", "a?c", "[xyz]1", "[!x]y", ""])
def test_an_example_of_a_glob_fits_it(pattern: str) -> None:
    """The example in a case matches the condition."""
    assert glob(pattern, example(pattern)) or pattern == "[!x]y"
