"""The basis of the other tests: each agent runs here, without hookrun, and behaves as its driver says."""

from __future__ import annotations

from hookrun_conformance.model import say
from tests.live.run import Agent


def test_it_does_what_its_driver_says(agent: Agent) -> None:
    """An installed command runs before a tool; a command runs, a file is made, a file changed; the model sees each."""
    home, project = agent.place.home, agent.place.project
    project.joinpath("old.txt").write_text("first\nsecond\n")
    agent.driver.wire(home, {agent.driver.before_a_tool: f"cat >/dev/null; ls '{project}' >>'{home}/found'"})
    turns = (
        agent.driver.shell("echo ran > ran.txt; echo heard-this"),
        *agent.driver.write(project / "new.txt", "written\n"),
        *agent.driver.edit(project / "old.txt", "second", "changed"),
        say("all-is-done"),
    )
    ran = agent.run(*turns)
    assert ran.files == {"ran.txt": "ran\n", "new.txt": "written\n", "old.txt": "first\nchanged\n"}, ran
    assert home.joinpath("found").read_text().startswith("old.txt\nold.txt\nran.txt\n")
    assert len(ran.model.results()) == len(turns) - 1
    assert "heard-this" in ran.model.results()[0]
    assert (ran.status, "all-is-done" in ran.stdout) == (0, True), ran
