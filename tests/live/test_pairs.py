"""Where hookrun is installed for two agents of which one may read the other's files, each call is judged once."""

from __future__ import annotations

from collections import Counter

import pytest

from hookrun_conformance.driver import put
from hookrun_conformance.model import say
from tests.live.conftest import settle
from tests.live.test_wiring import trust_the_project

PAIRS = (("claude", "copilot"), ("claude", "grok"), ("opencode", "kilo"))
SCOPES = ("user", "project")
GUARD = {
    "name": "guard",
    "event": ["session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use"],
    "on_failure": "block",
    "command": 'message=$(cat); printf "%s\\n" "$message" >> "$HOME/seen.jsonl"\n'
    'case $message in *pre_tool_use*"echo forbidden"*) echo reason-of-guard >&2; exit 2 ;; esac',
}

WAITS = {"kilo": 150}  # seconds that it spends on waiting for hosts that it cannot reach


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("other_scope", SCOPES)
@pytest.mark.parametrize(("name", "other"), [*PAIRS, *(pair[::-1] for pair in PAIRS)])
def test_each_call_is_judged_once(
    request: pytest.FixtureRequest, name: str, other: str, scope: str, other_scope: str
) -> None:
    """In each scope of both; a refused command does not run, and the model gets the reason once."""
    for agent in settle(name, request, request.getfixturevalue("tmp_path")):
        put(agent.place.hooks, {"hooks": [GUARD]})
        trust_the_project(agent.driver, agent.place)
        agent.install("--scope", other_scope, name=other)
        agent.install("--scope", scope)
        shell = agent.driver.shell
        ran = agent.run(
            shell("echo forbidden > no.txt"), shell("echo hi > made.txt"), say("all-is-done"), waits=WAITS.get(name, 0)
        )
        assert set(ran.files) == {"made.txt"}, ran
        events = Counter(each["event"] for each in ran.seen)
        assert (events["pre_tool_use"], set(events.values())) == (2, {1, 2}), ran
        assert events["session_start"] <= 1, ran
        assert events["user_prompt_submit"] == 1, ran
        assert events["post_tool_use"] == 1, ran
        assert sum(result.count("reason-of-guard") for result in ran.model.results()) == 1, ran
