"""What other repositories use in CI: the hooks of pre-commit, the GitHub Action, and the formats that they read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli.command import hookrun
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conftest import Project

GOOD = {"event": "pre_tool_use", "matcher": "bash", "command": "true", "name": "good"}
CASES = "config: coder.json\ncases:\n  - {name: it allows, event: pre_tool_use, tool: bash, expect: {action: %s}}\n"
PRE_COMMIT = Path(sys.executable).parent / "pre-commit"


def write(project: Project, hook: Mapping[str, object], action: str = "continue") -> None:
    """Write a config and a test of it."""
    (project.root / "coder.json").write_text(json.dumps({"hooks": [hook]}, indent=2))
    (project.root / "guard.hooktest.yaml").write_text(CASES % action)


def test_annotations_of_github(project: Project) -> None:
    """One command a problem, with the path from the workspace, and special characters escaped."""
    (project.root / "a,b").mkdir()
    (project.root / "a,b" / "coder.json").write_text('{"hooks": [\n  {"event": "stpo", "command": "100%"}\n]}')
    done = hookrun(project, "validate", "a,b/coder.json", "--format", "github", GITHUB_WORKSPACE=str(project.root))
    first, *_ = done.stdout.splitlines()
    assert first == (
        '::error file=a%2Cb/coder.json,line=2,col=13,title=hookrun::unknown event "stpo"%0Ahint: did you mean "stop"?'
    )
    assert done.status == 1


def test_sarif(project: Project) -> None:
    """Errors and warnings, each with its rule and place as SARIF 2.1.0 has them; the status is that of any format."""
    project.hooks({"event": "stpo", "command": "true"}, {"name": "b", "matcher": "bahs", "command": "true"})
    project.user_hooks({"command": "./relative.sh"})
    done = hookrun(project, "validate", "--format", "sarif")
    report: Any = done.json
    ((run,), driver) = report["runs"], report["runs"][0]["tool"]["driver"]
    results = run["results"]
    assert (report["version"], driver["name"]) == ("2.1.0", "hookrun")
    assert report["$schema"].endswith("sarif-2.1.0.json")
    assert {each["ruleId"] for each in results} <= {each["id"] for each in driver["rules"]}
    assert [each["level"] for each in results] == ["error", "error", "warning"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    user = f"file://{project.home}/.config/hookrun/hooks.json"
    assert [each["artifactLocation"]["uri"] for each in places] == [user, "coder.json", "coder.json"]
    assert all(each["region"]["startLine"] == 1 and each["region"]["startColumn"] > 1 for each in places)
    assert results[1]["message"]["text"] == 'unknown event "stpo" (did you mean "stop"?)'
    assert done.status == 1


def test_sarif_of_a_subdirectory(project: Project) -> None:
    """Paths are relative to the checkout, as in annotations."""
    (project.root / "sub").mkdir()
    (project.root / "sub" / "coder.json").write_text('{"hooks": [{"event": "stpo", "command": "true"}]}')
    options = ("validate", "coder.json", "--format", "sarif")
    done = hookrun(project, *options, cwd=project.root / "sub", GITHUB_WORKSPACE=str(project.root))
    assert '"uri": "sub/coder.json"' in done.stdout


@pytest.mark.slow
def test_the_hooks_of_pre_commit(project: Project) -> None:
    """The real pre-commit installs this repository and runs both hooks; each fails where it should."""
    if not PRE_COMMIT.exists():
        pytest.skip("pre-commit is not installed")
    environment = {"PATH": os.environ["PATH"], "HOME": str(project.home), "LC_ALL": "C.UTF-8"}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=project.root, env=environment, check=True, capture_output=True)

    def run(hook: str) -> tuple[int, str]:
        git("add", "-A")
        command = [str(PRE_COMMIT), "try-repo", str(ROOT), hook, "--all-files", "--verbose"]
        done = subprocess.run(command, cwd=project.root, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    (project.root / ".git").rmdir()
    git("init", "--quiet")
    write(project, GOOD)
    for hook, shown in (("hookrun-validate", "0 errors, 0 warnings"), ("hookrun-test", "1 passed")):
        status, output = run(hook)
        assert (status, shown in output) == (0, True), output
    write(project, {**GOOD, "event": "pre_tool_us"})
    status, output = run("hookrun-validate")
    assert (status, 'unknown event "pre_tool_us"' in output) == (1, True), output
    write(project, GOOD, "block")
    status, output = run("hookrun-test")
    assert (status, "1 failed" in output) == (1, True), output


@pytest.mark.slow
def test_the_action(project: Project, tmp_path: Path) -> None:
    """Each step's shell lines unchanged, in the shell that GitHub uses, beside a checkout of hookrun."""
    checkout = project.root / ".hookrun"
    shutil.copytree(ROOT / "hookrun" / "recipes" / "cases", checkout / "hookrun" / "recipes" / "cases")
    (checkout / ".git").mkdir()
    write(project, GOOD)
    assert [step["status"] for step in run_action(project, tmp_path)] == [0, 0, 0]
    write(project, {**GOOD, "matcher": "bahs"}, "block")
    _, validate, test = run_action(project, tmp_path)
    assert validate["status"] == 1
    assert "::error file=coder.json,line=5,col=" in str(validate["output"])
    assert (test["status"], "1 failed" in str(test["output"])) == (1, True)
    _, validate = run_action(project, tmp_path, strict="false", test="false")
    assert validate["status"] == 0
    assert "::warning file=coder.json," in str(validate["output"])


def run_action(project: Project, runner: Path, **given: str) -> list[dict[str, object]]:
    """Run the steps of the action as a runner would, also after one that fails, and return their results."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    inputs = {name: each["default"] for name, each in action["inputs"].items()} | given
    assert action["runs"]["using"] == "composite"
    paths = runner / "github_path"
    paths.touch()

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([a-z]+) \}\}", lambda found: inputs[found[1]], text)

    results = []
    for step in action["runs"]["steps"]:
        condition = re.fullmatch(r"\$\{\{ inputs\.([a-z]+) == 'true' \}\}", step.get("if", ""))
        if condition and inputs[condition[1]] != "true":
            continue
        environment = {
            "HOME": str(project.home),
            "LC_ALL": "C.UTF-8",
            "PATH": ":".join([*reversed(paths.read_text().split()), os.environ["PATH"]]),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_PATH": str(paths),
            "GITHUB_WORKSPACE": str(project.root),
            "RUNNER_TEMP": str(runner),
            **{name: filled(value) for name, value in step.get("env", {}).items()},
        }
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=project.root / filled(step.get("working-directory", ".")),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        results.append({"status": done.returncode, "output": done.stdout + done.stderr})
    return results
