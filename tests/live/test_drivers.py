"""The ground that the other tests stand on: each agent runs here, without hookrun, and does what its driver says."""

from __future__ import annotations

from tests.live.model import say
from tests.live.run import Agent


def test_its_tools_do_what_the_model_asks(agent: Agent) -> None:
    """A command is run, a file is made, a file is changed; the model hears of each, and the answer is printed."""
    project = agent.place.project
    project.joinpath("old.txt").write_text("first\nsecond\n")
    turns = (
        agent.driver.shell("echo ran > ran.txt; echo heard-this"),
        *agent.driver.write(project / "new.txt", "written\n"),
        *agent.driver.edit(project / "old.txt", "second", "changed"),
        say("all-is-done"),
    )
    ran = agent.run(*turns)
    assert ran.files == {"ran.txt": "ran\n", "new.txt": "written\n", "old.txt": "first\nchanged\n"}, ran
    assert len(ran.model.results()) == len(turns) - 1
    assert "heard-this" in ran.model.results()[0]
    assert (ran.status, "all-is-done" in ran.stdout) == (0, True), ran


def test_a_command_that_is_wired_is_run(agent: Agent) -> None:
    """Before the tool: it finds nothing yet of what the tool will make."""
    home, project = agent.place.home, agent.place.project
    agent.driver.wire(home, {agent.driver.before_a_tool: f"cat >/dev/null; ls '{project}' >'{home}/found'"})
    ran = agent.run(agent.driver.shell("echo hi > made.txt"), say("done"))
    assert ran.files == {"made.txt": "hi\n"}, ran
    assert home.joinpath("found").read_text() == ""
