"""Cases are run through the engine: what is expected of them is judged, and nothing outside of them is touched."""

from __future__ import annotations

import json
import os
from contextlib import closing
from glob import escape
from typing import TYPE_CHECKING

import pytest

from hookrun.core.model import Hook, HookResult, Outcome
from hookrun.library import Result
from hookrun.testing import case_runner
from hookrun.testing.case_runner import CaseRunner, run_cases
from hookrun.testing.cases import load
from hookrun.testing.results import result_from_verdict
from tests.fire.agents import Agent
from tests.recipes.shipped import config_from_data
from tests.rows import rows
from tests.testing.cases import GUARD, LIST, PUSH, differing, one, run_here, until_there, write

if TYPE_CHECKING:
    from hookrun.testing.results import CaseRun
    from tests.conftest import Project

Json = dict[str, object]
BLOCKED: Json = {"action": "block", "message": "*force*", "fired": ["no-force"], "failure": None}


def says(text: str) -> str:
    """Return a command that answers with this JSON."""
    return f"cat >/dev/null; echo '{text}'"


def test_what_holds_passes(project: Project) -> None:
    """Action, message, arguments, failure and who ran, all as expected."""
    project.hooks(GUARD)
    done = run_here(
        project,
        {**PUSH, "expect": {**BLOCKED, "args": {"command": "git push --force"}}},
        {**LIST, "expect": {"action": ["allow", "continue"], "message": None, "fired": True}},
        {**LIST, "tool": "edit", "expect": {"action": "continue", "fired": False}},
        {**LIST, "hook": "no-force", "expect": {"fired": ["no-force"]}},
    )
    assert [ran.differences for ran in done.results] == [[]] * 4
    assert done.ok


@rows(
    "expect, key",
    [
        ({"action": "continue"}, "action"),
        ({"action": ["continue", "ask"]}, "action"),
        ({"message": "no such"}, "message"),
        ({"message": None}, "message"),
        ({"additional_context": "*"}, "additional_context"),
        ({"system_message": "*"}, "system_message"),
        ({"args": {"command": "git push"}}, "args"),
        ({"failure": "timeout"}, "failure"),
        ({"fired": []}, "fired"),
        ({"fired": False}, "fired"),
        ({"fired": ["other"]}, "fired"),
        ({}, "expect"),
    ],
)
def test_what_does_not_hold_is_a_difference(project: Project, expect: dict[str, object], key: str) -> None:
    """One for each expectation; a case that expects nothing holds nothing."""
    project.hooks(GUARD)
    assert differing(one(project, {**PUSH, "expect": expect})) == [key]


def test_a_failure_that_nobody_expects_is_a_difference(project: Project) -> None:
    """A hook that crashes lets the call pass: the case does not pass for that."""
    project.hooks({"command": "echo oops >&2; exit 3"})
    crashed = one(project, {**LIST, "expect": {"action": "continue"}})
    assert differing(crashed) == ["failure"]
    assert crashed.result is not None
    assert crashed.result.stderr() == [("hook", "oops")]
    assert one(project, {**LIST, "expect": {"action": "continue", "failure": "exit_code"}}).passed


def test_a_background_hook_is_waited_for(project: Project) -> None:
    """It has no effect, but that it failed is reported."""
    project.hooks({"command": "cat >/dev/null; exit 3", "background": True}, {"name": "fine", "command": "exit 0"})
    assert differing(one(project, {**LIST, "expect": {"fired": ["hook", "fine"]}})) == ["failure"]


def test_arguments_are_those_after_the_chain(project: Project) -> None:
    """What one hook changed the next one sees."""
    project.hooks(
        {"name": "a", "command": says('{"action": "modify", "args_patch": {"command": "ls -l"}}')},
        {"name": "b", "command": says('{"action": "modify", "args_patch": {"timeout": 5}}')},
    )
    expected: Json = {"action": "modify", "args": {"command": "ls -l", "timeout": 5}, "fired": ["a", "b"]}
    assert one(project, {**LIST, "expect": expected}).passed
    assert one(project, {**LIST, "hook": "b", "expect": {"args": {"command": "ls", "timeout": 5}}}).passed


@rows(
    "event, given, expect, agent",
    [
        ("post_tool_use", "tool_result_output", "output", {}),
        ("post_tool_failure", "tool_result_error", "output", {}),
        ("user_prompt_submit", "user_prompt", "prompt", {}),
        ("post_tool_use", "tool_result_output", "output", {"agents": "claude"}),
    ],
)
def test_outputs_and_prompts_are_those_after_the_chain(
    project: Project, event: str, given: str, expect: str, agent: Json
) -> None:
    """A hook that replaces one is held to the text that is left; without such a hook it is the event's own."""
    hides = says(json.dumps({"action": "modify", f"modified_{expect}": "the key is [redacted]"}))
    project.hooks({"name": "hide", "event": event, "command": hides})
    case: Json = {"event": event, "tool": "bash", "context": {given: "the key is k1"}, **agent}
    done = run_here(
        project,
        {**case, "name": "hidden", "expect": {"action": ["modify", "continue"], expect: "the key is [[]redacted]"}},
        {**case, "name": "as it was", "expect": {expect: "*k1*"}},
        {**case, "name": "no hook", "hook": [], "expect": {expect: "the key is k1"}},
    )
    differences = [[(each.key, each.actual, each.why) for each in ran.differences] for ran in done.results]
    assert differences == [[], [(expect, "the key is [redacted]", "")], []]


def test_a_case_has_its_own_directory_and_environment(project: Project) -> None:
    """`files` lie in a new working directory that is gone afterwards; `env` is what the hooks inherit."""
    project.hooks(
        {
            "command": 'test "$(cat src/a.txt)" = text && echo "$COLOUR $HOOKRUN_WORKING_DIR" >&2; exit 2',
            "cwd": "event",
        }
    )
    case: Json = {**LIST, "files": {"src/a.txt": "text"}, "env": {"COLOUR": "red"}, "expect": {"message": "red /*"}}
    ran = one(project, case)
    assert ran.passed, ran
    assert ran.result is not None
    directory = str(ran.result.message).split()[1]
    assert directory != str(project.root)
    assert not os.path.exists(directory)


def test_the_environment_of_a_case_counts_more_than_the_declarations(project: Project) -> None:
    """Options of hooks can be tried, whatever their names; hookrun's own variables about the fire stay true."""
    says = 'cat >/dev/null; echo "$A $B $MY_SECRET $HOOKRUN_EVENT" >&2; exit 2'
    project.hooks({"command": says, "env": {"A": "its own", "B": "b"}})
    env = {"A": "the case's", "MY_SECRET": "s", "HOOKRUN_EVENT": "x"}
    assert one(project, {**LIST, "env": env, "expect": {"message": "the case's b s pre_tool_use"}}).passed


def test_a_case_has_a_home_of_its_own(project: Project) -> None:
    """What one case leaves there no other sees; `${HOME}` is the account's."""
    leaves = 'cat >/dev/null; test -e ~/left && exit 3; : > ~/left; echo "$HOME" >&2; exit 2'
    project.hooks({"command": leaves})
    expect: Json = {"action": "block"}
    done = run_here(
        project,
        {**LIST, "expect": expect},
        {**LIST, "expect": expect},
        {**LIST, "workdir": "temporary", "expect": {"message": "${WORKDIR}/.home"}},
        {**LIST, "workdir": "temporary", "env": {"HOME": "${WORKDIR}/x", "Y": "${WORKDIR}"}, "setup": "mkdir x",
         "expect": {"message": "${WORKDIR}/x"}},
    )  # fmt: skip
    assert [(ran.problems, ran.differences) for ran in done.results] == [([], [])] * 4
    project.hooks({"command": 'cat >/dev/null; echo "$MINE" >&2; exit 2'})
    mine = os.environ["HOME"]
    assert one(project, {**LIST, "env": {"MINE": "${HOME}/x"}, "expect": {"message": f"{mine}/x"}}).passed


def test_a_case_is_set_up_in_its_directory(project: Project) -> None:
    """After its files are there and with its environment; a file that begins with #! can be run."""
    project.hooks({"command": 'cat >/dev/null; cat made "$HOOKRUN_WORKING_DIR/made" >&2; exit 2', "cwd": "event"})
    case: Json = {
        **LIST,
        "files": {"bin/tool": '#!/bin/sh\necho "made $A"\n'},
        "env": {"A": "here"},
        "setup": "bin/tool > made",
        "context": {"transcript_path": "${WORKDIR}/t"},
        "args": {"command": "cat ${WORKDIR}/made"},
        "expect": {"message": "made here\nmade here", "args": {"command": "cat ${WORKDIR}/made"}},
    }
    assert one(project, case).passed


def test_files_are_judged_as_the_hooks_left_them(project: Project) -> None:
    """A glob on what one holds; null for one that is not to be there."""
    project.hooks({"command": "cat >/dev/null; echo new > a.txt; rm b.txt", "cwd": "event"})
    files: Json = {"a.txt": "old\n", "b.txt": ""}
    good: Json = {**LIST, "files": files, "expect": {"files": {"a.txt": "new*", "b.txt": None, "c": None}}}
    assert one(project, good).passed
    ran = one(project, {**good, "expect": {"files": {"a.txt": "old*", "b.txt": "*", "c": None}}})
    (found,) = ran.differences
    assert (found.expected, found.actual) == ({"a.txt": "old*", "b.txt": "*"}, {"a.txt": "new\n", "b.txt": None})
    assert "workdir: temporary" in one(project, {**LIST, "expect": {"files": {"a": None}}}).problems[0]


def test_a_set_up_that_fails_is_a_problem_of_its_case(project: Project) -> None:
    """What it printed is shown; nothing is fired."""
    project.hooks(GUARD)
    ran = one(project, {**LIST, "setup": "echo not there >&2; exit 7", "expect": {"action": "continue"}})
    assert ran.problems[0].endswith("setup failed: it exited with status 7: not there")
    assert ran.result is None


def test_a_directory_that_a_case_does_not_have_is_no_text(project: Project) -> None:
    """No hook is given a name instead of a path."""
    project.hooks(GUARD)
    ran = one(project, {**LIST, "args": {"command": "cat ${WORKDIR}/a"}, "expect": {"action": "continue"}})
    assert "add `workdir: temporary`" in ran.problems[0]


def test_without_files_a_case_runs_in_the_project(project: Project) -> None:
    """The working directory is the root of the declarations, wherever the cases lie."""
    project.hooks({"command": "cat >/dev/null; pwd >&2; exit 2", "cwd": "event"})
    assert one(project, {**LIST, "expect": {"message": str(project.root)}}).passed


@pytest.mark.parametrize(
    "agent", ["claude", "codex", "gemini", "qwen", "copilot", "cline", "opencode", "kilo", "pi", "vibe", "grok"]
)
def test_a_case_as_each_agent_would_have_it(project: Project, agent: str) -> None:
    """The hook sees the agent and its names, and what counts is what the agent gets."""
    project.hooks({**GUARD, "agents": [agent]})
    assert one(project, {**PUSH, "agents": [agent], "expect": {**BLOCKED, "message": "*no force*"}}).passed


PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: .env\n+x\n*** End Patch\n"
SEVERAL: dict[str, tuple[str, str, Json]] = {
    "codex": ("write", "apply_patch", {"command": PATCH}),
    "opencode": ("write", "apply_patch", {"patchText": PATCH}),
    "gemini": ("read", "read_many_files", {"include": ["a", ".env"]}),
    "qwen": ("read", "read_many_files", {"paths": ["a", ".env"]}),
    "cline": ("read", "read_files", {"files": ["a", ".env"]}),
}
"""An agent -> hookrun's tool, and one of the agent's own that does it to two files in one call."""


@rows("name", SEVERAL)
@pytest.mark.parametrize("answer", [{"action": "block", "message": "no"}, {"action": "modify", "args_patch": {"x": 1}}])
def test_each_call_of_a_message_is_judged(project: Project, name: str, answer: Json) -> None:
    """As `hookrun fire` judges it: what a hook says of the second file counts for the whole call."""
    ours, tool, args = SEVERAL[name]
    judge = f"case \"$(cat)\" in *.env*) echo '{json.dumps(answer)}';; esac"
    project.hooks({"name": "judge", "matcher": ours, "command": judge})
    agent = Agent(name, project)
    reason = agent.fire(agent.call(tool, args)).reason
    changes = answer["action"] == "modify" and name == "cline"  # one item of its lists
    assert (reason is None) == changes
    expect: Json = {"action": answer["action"] if changes else "block", "fired": ["judge"]}
    expect["message"] = escape(reason) if reason is not None else None
    ran = one(project, {"event": "pre_tool_use", "tool": tool, "args": args, "agents": [name], "expect": expect})
    assert differing(ran) == [], ran.differences


def test_what_an_agent_cannot_be_told_is_judged_as_it_is_told(project: Project) -> None:
    """Gemini CLI cannot ask: the call is refused."""
    project.hooks({"command": says('{"action": "ask", "message": "sure?"}')})
    expect: Json = {"action": "block", "message": "needs the user's approval: sure?"}
    claude, gemini = run_here(project, {**LIST, "agents": ["claude", "gemini"], "expect": expect}).results
    assert differing(claude) == ["action", "message"]
    assert gemini.passed
    assert gemini.result is not None
    assert gemini.result.degraded == ["ask -> block"]


def test_what_cannot_be_run_is_a_problem_of_its_case(project: Project) -> None:
    """Unknown events and hooks, events that an agent does not have; the other cases are run."""
    project.hooks(GUARD)
    done = run_here(
        project,
        {"event": "pre_tool_usee", "expect": {"action": "continue"}},
        {**LIST, "hook": "no-forse", "expect": {"action": "continue"}},
        {"event": "pre_reflection_store", "agents": ["claude"], "expect": {"action": "continue"}},
        {"event": "pre_tool_use", "tool": "apply_patch", "args": {"command": PATCH}, "expect": {"action": "continue"}},
        {**LIST, "expect": {"action": "continue"}},
    )
    reasons = [" ".join(ran.problems) for ran in done.results]
    assert 'did you mean "pre_tool_use"?' in reasons[0]
    assert "did you mean `no-force`?" in reasons[1]
    assert "Claude Code has no event pre_reflection_store" in reasons[2]
    assert "apply_patch does 2 things here" in reasons[3]
    assert done.results[4].passed
    assert not done.ok


def test_declarations_that_cannot_be_read_pass_nothing(project: Project) -> None:
    """Not knowing what is declared is no `continue`; neither is a project without declarations."""
    case: Json = {**LIST, "expect": {"action": "continue"}}
    assert "no config file here" in one(project, case).problems[0]
    (project.root / "coder.json").write_text('{"hooks": [')
    assert "its config has an error" in one(project, case).problems[0]


def test_a_named_declaration_file_stands_in(project: Project) -> None:
    """`config` is relative to the file of cases."""
    (project.root / "ci").mkdir()
    (project.root / "ci" / "hooks.yaml").write_text("hooks: [{name: x, event: stop, command: 'exit 2'}]\n")
    case: Json = {"event": "stop", "expect": {"action": "block", "fired": ["x"]}}
    assert one(project, case, {"config": "../ci/hooks.yaml"}).passed


def test_the_persons_own_hooks_have_no_part(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's tests have the same result on every machine."""
    monkeypatch.setenv("HOME", str(project.home))
    project.hooks(GUARD)
    project.user_hooks({"name": "mine", "command": "exit 2"})
    assert one(project, {**LIST, "expect": {"action": "continue", "fired": ["no-force"]}}).passed
    assert [each.name for each in project.home.iterdir()] == [".config"]


def test_declarations_can_be_given_in_memory(project: Project) -> None:
    """They replace any declarations around the test files."""
    case_config = config_from_data({"hooks": [{"event": "pre_tool_use", **GUARD}]}, str(project.root))
    assert not case_config.problems
    file = load(str(write(project, {**PUSH, "expect": BLOCKED})))
    assert run_cases([file], config=case_config).ok


def test_declarations_in_memory_may_be_of_no_project(project: Project) -> None:
    """A case's own directory is the project then; without one it is an empty directory."""
    says = 'cat >/dev/null; echo "$PWD $HOOKRUN_PROJECT_DIR" >&2; ls >&2; exit 2'
    case_config = config_from_data({"hooks": [{"event": "pre_tool_use", "command": says}]})
    cases: list[Json] = [
        {**LIST, "files": {"a.txt": ""}, "expect": {"message": "${WORKDIR} ${WORKDIR}\na.txt"}},
        {**LIST, "expect": {"message": "/*/project /*/project"}},
    ]
    done = run_cases([load(str(write(project, *cases)))], config=case_config)
    assert [ran.differences for ran in done.results] == [[], []]


def test_what_is_wrong_with_declarations_in_memory_is_said(project: Project) -> None:
    """As for a file."""
    case_config = config_from_data({"hooks": [{"event": "stop", "comand": "x"}]}, str(project.root))
    assert any("did you mean" in each for each in case_config.problems)


def test_cases_run_side_by_side(project: Project) -> None:
    """Two cases that wait for each other both end."""
    wait = 'until test -e "$OTHER"; do n=$((n+1)); test $n -lt 400 || exit 3; sleep 0.05; done'
    meet = f': > "$MINE"; n=0; {wait}'
    project.hooks({"command": meet})
    a, b = str(project.home / "a"), str(project.home / "b")
    cases: list[Json] = [
        {**LIST, "env": {"MINE": mine, "OTHER": other}, "expect": {"fired": True}} for mine, other in ((a, b), (b, a))
    ]
    assert run_here(project, *cases).ok


def test_what_is_interrupted_leaves_no_hook(project: Project) -> None:
    """Whatever ends a run, the hooks that run in other threads have been ended before it returns."""
    mark = project.home / "pid"
    project.hooks(
        {"event": "pre_tool_use", "command": f"echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 60"},
        {"event": "stop", "command": ":"},
    )
    file = load(str(write(project, {**LIST, "expect": {"fired": True}}, {"event": "stop", "expect": {"fired": True}})))

    def interrupt(_: CaseRun) -> None:
        until_there(mark)
        raise KeyboardInterrupt

    with closing(CaseRunner()) as runner, pytest.raises(KeyboardInterrupt):
        case_runner.run_in_threads(runner, [run for case in file.cases for run in runner.prepare(case)], 2, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


SERVED = """import json, os, sys
for line in {lines}:
    asked = json.loads(line)
    message = f"{{asked['context']['tool_args']['command']}} {{os.getpid()}}"
    print(json.dumps({{"id": asked["id"], "verdict": {{"action": "block", "message": message}}}}), flush={flush})
"""


def serves(project: Project, lines: str = "sys.stdin", flush: object = True) -> None:
    """Declare a hook that serves and blocks everything."""
    script = project.script("serve.py", SERVED.format(lines=lines, flush=flush))
    args = [str(project.root / ".." / "python3"), script]
    (project.root / ".." / "python3").symlink_to(os.path.realpath("/proc/self/exe"))
    env = {"PYTHONUNBUFFERED": ""}
    project.hooks({"name": "serve", "args": args, "serve": True, "timeout": 2, "env": env})


def test_cases_of_hooks_that_serve_run_cold_and_warm(project: Project) -> None:
    """The warm runs share a program, the others have one each."""
    serves(project)
    cases = [{**PUSH, "expect": {"action": "block"}} for _ in range(3)]
    done = run_cases([load(str(write(project, *cases)))], at_once=8)  # the warm ones take turns
    assert [(ran.warm, ran.passed) for ran in done.results] == [(False, True), (True, True)] * 3
    messages = [str(ran.result.message) for ran in done.results if ran.result is not None]
    assert len(set(messages)) == 4
    assert len(set(messages[1::2])) == 1
    assert done.results[1].name.endswith(" [warm]")


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "flush"), [("sys.stdin.readlines()", True), ("sys.stdin", False)])
def test_what_works_only_at_the_end_of_the_input_fails_warm(project: Project, lines: str, *, flush: bool) -> None:
    """A program that waits for the end of its input, or does not flush its answers, is no program that serves."""
    serves(project, lines, flush)
    cold, warm = run_here(project, {**PUSH, "expect": {"action": "block"}}).results
    assert (cold.passed, warm.passed) == (True, False)
    assert warm.result is not None
    assert [each.kind for each in warm.result.failures] == ["timeout"]


def test_a_hook_that_ran_again_on_changed_arguments_fired_once() -> None:
    """`fired` has each hook once, at its first place; both runs are kept."""
    guard, rewrite = (Hook.from_dict({"name": name}) for name in ("guard", "rewrite"))
    runs = [HookResult(hook, Outcome()) for hook in (guard, rewrite, guard)]
    verdict = Result()
    verdict.runs = runs
    result = result_from_verdict(verdict, {}, "pre_tool_use")
    assert (result.fired, result.runs) == (["guard", "rewrite"], runs)
