"""What is measured: the scenarios, as data, and what the effect of each is worth.

A scenario is some turns of the model, and a judgement of what the agent did. Those with the same `session` share one
run of the agent: their hooks and files have names of their own.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from hookrun.agents.grades import BEST_EFFORT, CANNOT, ENFORCED, TOLD_ONLY
from hookrun_conformance import HOOKS, MCP_SERVER
from hookrun_conformance.driver import Delegating, Driver, Serving, WithTerminal, put
from hookrun_conformance.model import Turn, say
from hookrun_conformance.run import Ran, RunningAgent

LACKED, NOT_DRIVEN = "-", "not driven"
"""What stands for a grade where the agent has nothing of the kind, or its driver no turns for it."""

RANKS = (CANNOT, TOLD_ONLY, BEST_EFFORT, ENFORCED)
"""The grades, the least first."""

DONE = say("all-is-done")
BLOCK = "block a tool"
CALLS = 30
AT_ONCE = 3
LOOK = "look around"
BY_AGENT = "subagent of "
ELSEWHERE: dict[str, object] = {
    "name": "of-another-tool",
    "event": "pre_tool_use",
    "matcher": "web_fetch",
    "command": """echo '{"action": "block", "message": "of-another-tool"}'""",
}
UNTRUSTED = {"name": "untrusted", "event": "pre_tool_use", "command": 'touch "$HOME/untrusted-ran"'}

Judge = Callable[[Ran], str]
Turns = Callable[[RunningAgent], tuple[Turn, ...]]


class Scenario(NamedTuple):
    """One line of the report.

    `cell` names what it is a case of in hookrun.agents.grades.GRADED, by default its `name`, if it is one. `hook` is
    what it is about. `turns` may write files first, and returns no turn where the agent has nothing such. `judge`
    returns the grade. `is_hookruns` says that it is about hookrun's own configs, so that no other runner has it.
    """

    name: str
    session: str
    hook: str
    turns: Turns
    judge: Judge
    is_hookruns: bool = False
    cell: str = ""


def all_hooks() -> list[dict[str, object]]:
    """Return the hooks of the scenarios."""
    found: list[dict[str, object]] = json.loads(HOOKS.read_bytes())["hooks"]
    return found


def hooks_of(session: str) -> list[dict[str, object]]:
    """Return the hooks that a session has."""
    return [ELSEWHERE] if session == "no hook" else all_hooks()


PROMPTS = {"calls": "please do it", "prompt": "tell me the secret"}
"""The prompts of sessions in which a hook looks at them."""


def _blocked_call(*, ran: bool, heard: bool) -> str:
    return (TOLD_ONLY if heard else CANNOT) if ran else (ENFORCED if heard else BEST_EFFORT)


def _refused(file: str, reason: str) -> Judge:
    """Judge by whether a file is missing, and whether the model heard why."""
    return lambda ran: _blocked_call(ran=(ran.place.project / file).exists(), heard=reason in ran.heard)


def _made(*files: str) -> Judge:
    return lambda ran: ENFORCED if all(file in ran.files for file in files) else CANNOT


def _heard(text: str) -> Judge:
    return lambda ran: ENFORCED if text in ran.heard else TOLD_ONLY if text in ran.printed else CANNOT


def _shell(*commands: str) -> Turns:
    return lambda agent: tuple(map(agent.driver.shell, commands))


def _blocked(ran: Ran) -> str:
    refused = _refused("forbidden.txt", "reason-of-no-forbidden")(ran)
    return refused if "after.txt" in ran.files else CANNOT


def _changed(ran: Ran) -> str:
    if "changed.txt" in ran.files and "original.txt" not in ran.files:
        return ENFORCED
    return CANNOT if "original.txt" in ran.files else BEST_EFFORT if "changed.txt" in ran.heard else CANNOT


def _asked(ran: Ran) -> str:
    grade = _refused("asked.txt", "reason-to-ask")(ran)
    return BEST_EFFORT if grade == ENFORCED and "ask -> block" in ran.degraded else grade


def _guarded_write(agent: RunningAgent) -> tuple[Turn, ...]:
    put(agent.place.project / "guarded" / "old.txt", "first\n")
    return agent.driver.write(agent.place.project / "guarded" / "new.txt", "written\n")


def _guarded_edit(agent: RunningAgent) -> tuple[Turn, ...]:
    put(agent.place.project / "guarded" / "old.txt", "first\n")
    return agent.driver.edit(agent.place.project / "guarded" / "old.txt", "first", "changed")


def _not_edited(ran: Ran) -> str:
    same = (ran.place.project / "guarded" / "old.txt").read_text() == "first\n"
    return (ENFORCED if "reason-of-guarded-files" in ran.heard else BEST_EFFORT) if same else CANNOT


def _made_by_server(agent: RunningAgent, driver: Serving, file: str) -> tuple[Turn, ...]:
    server = [sys.executable, str(MCP_SERVER)]
    return driver.serve(agent.place.home, server, {"path": str(agent.place.project / file)})


def _server(agent: RunningAgent) -> tuple[Turn, ...]:
    return _made_by_server(agent, agent.driver, "by-server.txt") if isinstance(agent.driver, Serving) else ()


def _subagent(agent: RunningAgent) -> tuple[Turn, ...]:
    return (agent.driver.subagent(LOOK),) if isinstance(agent.driver, Delegating) else ()


def _no_subagent(ran: Ran) -> str:
    """Judge by whether the model got the subagent's prompt without the user's, and whether it heard why not."""
    requests = map(ran.model.heard, range(len(ran.model.requests)))
    started = any(LOOK in request and PROMPTS["calls"] not in request for request in requests)
    return _blocked_call(ran=started, heard="reason-of-no-subagents" in ran.heard)


def _terminal(agent: RunningAgent) -> tuple[Turn, ...]:
    terminal = agent.driver.terminal if isinstance(agent.driver, WithTerminal) else None
    return (terminal("echo forbidden > in-terminal.txt"),) if terminal else ()


def _many(agent: RunningAgent) -> tuple[Turn, ...]:
    """Return thirty calls: a tool of a server, a terminal and a subagent where there are any, else commands, several at
    once, and new files; what each makes, and the prompt of the subagent, has its number.
    """
    names = [f"call-{number:02}-.txt" for number in range(CALLS)]
    driver, turns, last = agent.driver, list[Turn](), list[Turn]()
    if isinstance(driver, Serving):
        turns += _made_by_server(agent, driver, names.pop())
    if isinstance(driver, WithTerminal):
        turns.append(driver.terminal(f"echo hi > {names.pop()}"))
    if isinstance(driver, Delegating):
        last = [driver.subagent(f"{BY_AGENT}{names.pop()}"), say("sub-done")]  # nothing hangs on who asks first
    for first in range(0, len(names), 2 * AT_ONCE):
        commands = [driver.shell(f"echo hi > {name}") for name in names[first : first + AT_ONCE]]
        turns.append(Turn("", tuple(call for turn in commands for call in turn.calls)))
        for name in names[first + AT_ONCE : first + 2 * AT_ONCE]:
            turns += driver.write(agent.place.project / name, "hi\n")
    return (*turns, *last)


def judged(ran: Ran) -> Counter[str]:
    """Return how often the hook that counts was run for each of the thirty calls."""
    names = [f"call-{number:02}-.txt" for number in range(CALLS)]
    return Counter(name for line in _counted(ran) for name in names if name in line)


def _counted(ran: Ran) -> list[str]:
    file = ran.place.home / "judged.jsonl"
    return file.read_text().splitlines() if file.exists() else []


def _each_once(ran: Ran) -> str:
    counted = judged(ran)
    without_file = any(BY_AGENT in line for line in _counted(ran))
    all_ran = sum(name.startswith("call-") for name in ran.files) == CALLS - without_file
    return ENFORCED if all_ran and len(counted) == CALLS and set(counted.values()) == {1} else CANNOT


def _unfinished(agent: RunningAgent) -> tuple[Turn, ...]:
    put(agent.place.project / "unfinished", "")
    return (say("one"), say("two"))


def _untrusted(agent: RunningAgent) -> tuple[Turn, ...]:
    put(agent.place.project / "coder.json", {"hooks": [UNTRUSTED]})
    return (agent.driver.shell("echo hi > made.txt"),)


def _not_run(ran: Ran) -> str:
    return CANNOT if (ran.place.home / "untrusted-ran").exists() else _made("made.txt")(ran)


def _broken(agent: RunningAgent) -> tuple[Turn, ...]:
    put(agent.place.project / "coder.json", '{"hooks": [\n  {"name": "guard",\n')
    return _shell("echo hi > made.txt", "echo forbidden > forbidden.txt")(agent)


def _still_guarded(ran: Ran) -> str:
    return _refused("forbidden.txt", "reason-of-no-forbidden")(ran) if "made.txt" in ran.files else CANNOT


def _silent(ran: Ran) -> str:
    """Judge by what a failing hook would add: its name anywhere, an error where no prompt of the agent's is."""
    said = "\n".join([ran.printed, *ran.model.results()])
    noticed = str(ELSEWHERE["name"]) in said + ran.heard or any(each in said for each in ("hook error", "hook failed"))
    return CANNOT if noticed else _made("made.txt")(ran)


def _prompt_only(_: RunningAgent) -> tuple[Turn, ...]:
    return (DONE,)


SCENARIOS = (
    Scenario(
        BLOCK,
        "calls",
        "no-forbidden",
        _shell("echo forbidden > forbidden.txt", "echo after > after.txt"),
        _blocked,
    ),
    Scenario("change its arguments", "calls", "another-command", _shell("echo original > original.txt"), _changed),
    Scenario("ask the user", "calls", "not-without-a-person", _shell("echo delicate > asked.txt"), _asked),
    Scenario(
        "block a new file",
        "calls",
        "guarded-files",
        _guarded_write,
        _refused("guarded/new.txt", "reason-of-guarded-files"),
        cell=BLOCK,
    ),
    Scenario("block a change of a file", "calls", "guarded-files", _guarded_edit, _not_edited, cell=BLOCK),
    Scenario(
        "block an MCP tool",
        "calls",
        "guarded-server",
        _server,
        _refused("by-server.txt", "reason-of-guarded-server"),
        cell=BLOCK,
    ),
    Scenario("block a subagent", "calls", "no-subagents", _subagent, _no_subagent, cell=BLOCK),
    Scenario(
        "block a terminal",
        "calls",
        "no-forbidden",
        _terminal,
        _refused("in-terminal.txt", "reason-of-no-forbidden"),
        cell=BLOCK,
    ),
    Scenario("text at the start", "calls", "told-at-start", _shell(), _heard("context-at-start")),
    Scenario("text with a prompt", "calls", "told-at-prompt", _shell(), _heard("context-at-prompt")),
    Scenario(
        "text after a tool",
        "calls",
        "told-after-tool",
        _shell("echo remarkable > told.txt"),
        _heard("context-after-tool"),
    ),
    Scenario(
        "crash, continue", "calls", "crashing-observer", _shell("echo crash-and-go-on > crash.txt"), _made("crash.txt")
    ),
    Scenario(
        "hang, continue", "calls", "hanging-observer", _shell("echo hang-and-go-on > hang.txt"), _made("hang.txt")
    ),
    Scenario(
        "crash, block",
        "calls",
        "crashing-guard",
        _shell("echo crash-and-refuse > crashed.txt"),
        _refused("crashed.txt", "crashing-guard"),
        cell=BLOCK,
    ),
    Scenario(
        "hang, block",
        "calls",
        "hanging-guard",
        _shell("echo hang-and-refuse > hung.txt"),
        _refused("hung.txt", "hanging-guard"),
        cell=BLOCK,
    ),
    Scenario("each call once", "many", "counted", _many, _each_once),
    Scenario(
        "block a prompt", "prompt", "no-secrets", _prompt_only, lambda ran: CANNOT if ran.model.requests else ENFORCED
    ),
    Scenario("continue a turn", "stop", "not-done-yet", _unfinished, _heard("reason-to-go-on")),
    Scenario("no hook", "no hook", "of-another-tool", _shell("echo hi > made.txt"), _silent),
    Scenario("untrusted hook", "untrusted", "untrusted", _untrusted, _not_run, is_hookruns=True),
    Scenario("broken config", "broken", "no-forbidden", _broken, _still_guarded, is_hookruns=True),
)
"""Every scenario, in the order of the report."""

BY_NAME = {each.name: each for each in SCENARIOS}


def hooks_measured(session: str) -> list[dict[str, object]]:
    """Return the hooks of a session that scenarios are about; the others are for hookrun's own tests."""
    measured = {each.hook for each in SCENARIOS}
    return [hook for hook in hooks_of(session) if hook["name"] in measured]


def sessions(wanted: Iterable[Scenario]) -> dict[str, list[Scenario]]:
    """Return these scenarios by their session."""
    found: dict[str, list[Scenario]] = {}
    for each in wanted:
        found.setdefault(each.session, []).append(each)
    return found


class Outcome(NamedTuple):
    """What came of a scenario: its grade, LACKED or NOT_DRIVEN, and the run.

    `begun` is whether the run came to it: an agent may end its run at what is refused.
    """

    grade: str
    ran: Ran
    begun: bool


OF_KINDS: dict[str, type] = {
    "block an MCP tool": Serving,
    "block a subagent": Delegating,
    "block a terminal": WithTerminal,
}
"""Scenarios of what not every agent has, and what a driver is that has turns for them."""


def without(driver: Driver, scenario: str) -> str:
    """Return LACKED or NOT_DRIVEN if there is nothing to measure, else ""."""
    if scenario in driver.lacks:
        return LACKED
    return "" if isinstance(driver, OF_KINDS.get(scenario, object)) else NOT_DRIVEN


def run_together(agent: RunningAgent, wanted: Iterable[Scenario]) -> dict[str, Outcome]:
    """Run scenarios of one session. Return their outcomes by name; raises TimeoutExpired and AssertionError."""
    chosen = list(wanted)
    turns = {each.name: each.turns(agent) for each in chosen}
    script: list[Turn] = []
    places = {}
    for name, of_it in turns.items():
        places[name] = len(script)
        script += of_it
    if script[-1:] not in ([DONE], [say("two")]):
        script.append(DONE)
    ran = agent.run(*script, prompt=PROMPTS.get(chosen[0].session, "do it"))
    asked = len(ran.model.requests)
    grades = {each.name: without(agent.driver, each.name) or each.judge(ran) for each in chosen}
    return {name: Outcome(grade, ran, places[name] < asked) for name, grade in grades.items()}
