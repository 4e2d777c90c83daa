"""The page about agents matches the tables, and following the page about adding one adds one."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from hookrun import agents
from hookrun.agents.formats import CAPABILITIES
from hookrun.agents.reply import DEGRADATIONS
from hookrun.fire.command import help_text
from tests.conftest import ROOT, Project
from tests.fire.agents import says, without_origin

ADDING = (ROOT / "docs" / "appendix" / "adding-an-agent.md").read_text()

AS_TOY = Path(__file__).parent / "programs" / "with_toy.py"


@pytest.mark.lint
def test_the_page_about_agents_is_what_the_tables_give() -> None:
    """`python scripts/document_agents.py` writes it anew."""
    program = runpy.run_path(str(ROOT / "scripts" / "document_agents.py"))
    assert program["page"]() == (ROOT / "docs" / "reference" / "agents.md").read_text()


@pytest.mark.lint
def test_every_degradation_that_happens_is_on_the_page() -> None:
    """Every name can be looked up, and every entry really occurs."""
    golden = "".join(path.read_text() for path in (ROOT / "tests" / "golden" / "answers").iterdir())
    happened = set(re.findall(r'"(\w+ -> [\w ]+)"', golden))
    assert happened == set(DEGRADATIONS)


@pytest.mark.lint
def test_every_form_speaks_in_known_words() -> None:
    """A misspelt word would stand for something the agent cannot express."""
    for name in agents.AGENTS:
        for native, form in agents.load(name).RESPONSE_FORMATS.items():
            assert form.capabilities <= CAPABILITIES, (name, native)


@pytest.mark.lint
def test_the_names_of_agents_are_the_same_everywhere() -> None:
    """In both tables, in each module, and in the help."""
    assert set(agents.AGENTS) <= set(agents.SETTINGS_GLOBS)
    assert [agents.load(name).NAME for name in agents.AGENTS] == list(agents.AGENTS)
    assert all(name in help_text() for name in agents.AGENTS)


def with_toy(project: Project, *arguments: str, message: object = None) -> subprocess.CompletedProcess[str]:
    """Run hookrun with the module that the page has and one line in the table."""
    (module,) = re.findall(r'```python\n("""Toy.+?)```', ADDING, re.DOTALL)
    place = project.root.parent / "toy"
    place.mkdir(exist_ok=True)
    (place / "toy.py").write_text(module)
    project.approve()
    return subprocess.run(
        [sys.executable, str(AS_TOY), str(place), *arguments],
        input=json.dumps(message),
        capture_output=True,
        cwd=project.root,
        env=project.environment(),
        check=False,
        text=True,
    )


def toy(project: Project, message: object) -> dict[str, object]:
    """Return what Toy gets."""
    done = with_toy(project, "fire", "--agent", "toy", "--home", str(project.home), message=message)
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, object] = json.loads(done.stdout) if done.stdout else {}
    return answer


@pytest.mark.slow
def test_the_agent_of_the_page_can_be_wired(project: Project) -> None:
    """The module's declared settings are all that install, doctor and uninstall need."""
    project.hooks({"command": "true"})
    assert with_toy(project, "install", "toy").stdout == "toy: installed for 3 events in ~/.toy/hooks.json\n"
    (entry,) = json.loads((project.home / ".toy" / "hooks.json").read_text())["hooks"]["before"]
    assert entry["hooks"][0]["timeout"] == 600
    assert "/hookrun/toy before " in entry["hooks"][0]["command"]
    doctor = with_toy(project, "doctor", "toy")
    assert (doctor.returncode, "in the user settings for before" in doctor.stdout) == (0, True)
    assert with_toy(project, "uninstall", "toy").returncode == 0
    assert not (project.home / ".toy").exists()


@pytest.mark.slow
def test_following_the_page_adds_an_agent(project: Project) -> None:
    """One module, one line: an eighth agent obeys the same hooks; what it does not support falls back."""
    shell = {
        "when": "before",
        "session": "s1",
        "folder": str(project.root),
        "do": "shell",
        "with": {"cmd": "ls", "n": 1},
    }
    assert toy(project, shell) == {}
    project.hooks({"matcher": "bash", "when": {"tool_args.command": "ls"}, "command": "echo no >&2; exit 2"})
    refusal = toy(project, shell)
    assert (list(refusal), without_origin(str(refusal["veto"]))) == (["veto"], "no")
    project.hooks({"matcher": "shell", "command": says(action="modify", args_patch={"command": "ls -l"})})
    assert toy(project, shell) == {"with": {"cmd": "ls -l", "n": 1}}
    project.hooks({"command": says(action="ask", message="sure?", system_message="P")})
    assert str(toy(project, shell)["veto"]).startswith("needs the user's approval: sure?")
    assert project.audit()[-1]["degraded"] == ["ask -> block", "system_message -> context"]
    project.hooks({"event": "file_changed", "command": "cat > seen; exit 2"})
    put = {**shell, "when": "after", "do": "put", "with": {"path": "a.py", "text": "x"}, "gave": "done"}
    assert toy(project, put) == {"note": "blocked by hook (exit 2, no reason given)"}
    seen = json.loads((project.root / "seen").read_text())
    assert (seen["agent"], seen["file_path"], seen["tool_result_output"]) == ("toy", str(project.root / "a.py"), "done")
    assert "'when' is None" not in str(toy(project, {}))
    assert "expected the name of an event of Toy" in str(project.audit()[-1]["error"])
    assert Path(ROOT / "hookrun" / "agents" / "toy.py").exists() is False
