"""Runs a recipe's file of cases: each through `hookrun fire`, in directories of its own.

All cases of a file share a process that has loaded the recipe and forks for each: `python -m tests.recipes.fired FILE`.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from hookrun.match import glob
from hookrun.recipes.recipe import Recipe
from tests.conftest import AGENT_MARKS, ROOT

CASES = ROOT / "hookrun" / "recipes" / "cases"
SUFFIX = ".hooktest.yaml"
FIELDS = {"tool": "tool_name", "args": "tool_args"}
LAID_OVER = ("context", "env", "files")
TEXTS = ("message", "additional_context", "system_message")


def recipe(module: str) -> Recipe:
    """Return the recipe of a module."""
    found = importlib.import_module(f"hookrun.recipes.{module}").RECIPE
    assert isinstance(found, Recipe)
    return found


def load(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a file, its defaults laid under each."""
    data = yaml.safe_load(path.read_text())
    defaults = data.get("defaults", {})
    cases = []
    for given in data["cases"]:
        case = {**defaults, **given}
        for name in LAID_OVER:
            case[name] = {**defaults.get(name, {}), **given.get(name, {})}
        cases.append(case)
    return cases


def is_positive(case: dict[str, Any]) -> bool:
    """Tell whether a case expects that the recipe does something: refuses, says, fails, or leaves a file behind."""
    expect = case["expect"]
    said = any(expect.get(name) is not None for name in (*TEXTS, "failure"))
    quiet = expect.get("system_message", "") is None
    left = any(text is not None for text in expect.get("files", {}).values()) and not quiet
    return said or left or expect.get("action", "continue") != "continue"


def problems(module: str) -> list[str]:
    """Run the cases of a recipe; return a text for each that does not come out as expected."""
    path = CASES / f"{module}{SUFFIX}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOOKRUN", "GIT_"))}
    environment = {name: value for name, value in kept.items() if name not in AGENT_MARKS}
    done = subprocess.run(
        [sys.executable, "-m", "tests.recipes.fired", str(path)],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def _run_all(path: Path) -> list[str]:
    given = recipe(path.name.removesuffix(SUFFIX))
    found: list[str] = []
    for case in load(path):
        with tempfile.TemporaryDirectory(prefix="case-") as place:
            where = Path(place).resolve()
            differences = _differences(case, _run(case, given, where), where)
            found.extend(f"{case['name']}: {difference}" for difference in differences)
    return found


def _run(case: dict[str, Any], given: Recipe, place: Path) -> dict[str, Any]:
    """Fire a case and return the verdict."""
    project, home, workdir = (place / name for name in ("project", "home", "work"))
    for each in (project, home, workdir):
        each.mkdir()
    env = {name: value.replace("${WORKDIR}", str(workdir)) for name, value in case["env"].items()}
    env = {"HOME": str(home), **env}
    for name, text in case["files"].items():
        file = workdir / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if text.startswith("#!") else 0o644)
    if "setup" in case:
        subprocess.run(["/bin/sh", "-c", case["setup"]], cwd=workdir, env={**os.environ, "HOME": str(home)}, check=True)
    temporary = case["files"] or "setup" in case or case.get("workdir") == "temporary"
    context = {new: case[old] for old, new in FIELDS.items() if old in case}
    context = {**context, "working_dir": str(workdir if temporary else project), **case["context"]}
    only = case.get("hook", [hook["name"] for hook in given.hooks])
    chosen = [
        {**hook, "env": env} for hook in given.hooks if hook["name"] in ([only] if isinstance(only, str) else only)
    ]
    (project / "coder.json").write_text(json.dumps({"hooks": chosen}))
    (place / "context.json").write_text(json.dumps(context))
    return _fire(case["event"], place, {"HOME": str(home)})


def _fire(event: str, place: Path, env: dict[str, str]) -> dict[str, Any]:
    """Do in a forked process what `hookrun fire` does in one of its own."""
    answer = place / "answer"
    pid = os.fork()
    if pid == 0:
        try:
            os.environ.update(env)
            os.chdir(place / "project")
            os.dup2(os.open(answer, os.O_WRONLY | os.O_CREAT), 1)
            from hookrun.fire import main

            main([event, "--ctx", str(place / "context.json"), "--config", str(place / "project" / "coder.json")])
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    verdict = json.loads(answer.read_text())
    assert isinstance(verdict, dict)
    return verdict


def _differences(case: dict[str, Any], verdict: dict[str, Any], place: Path) -> list[str]:
    """Return what of a case's expectation does not hold."""
    expect = case["expect"]
    found = []
    actions = expect.get("action", verdict["action"])
    if verdict["action"] not in ([actions] if isinstance(actions, str) else actions):
        found.append(f"action is {verdict['action']} ({verdict}), expected {actions}")
    texts = {name: expect[name] for name in TEXTS if name in expect}
    wrong = [name for name, pattern in texts.items() if not _fits(pattern, verdict.get(name))]
    found.extend(f"{name} is {verdict.get(name)!r}, expected {texts[name]!r}" for name in wrong)
    failures = [expect["failure"]] if expect.get("failure") else []
    failed = [hook["failure"] for hook in verdict["hooks"] if hook.get("failure")]
    if failed != failures:
        found.append(f"failures are {failed} ({verdict.get('system_message')}), expected {expect.get('failure')}")
    if "fired" in expect and [hook["name"] for hook in verdict["hooks"]] != expect["fired"]:
        found.append(f"fired: {verdict['hooks']}, expected {expect['fired']}")
    if "args" in expect and (verdict.get("modified_args") or case.get("args")) != expect["args"]:
        found.append(f"the arguments are {verdict.get('modified_args')}, expected {expect['args']}")
    return found + _of_files(expect.get("files", {}), place / "work")


def _of_files(expected: dict[str, str | None], workdir: Path) -> list[str]:
    texts = {name: (workdir / name).read_text() if (workdir / name).is_file() else None for name in expected}
    wrong = [name for name, text in texts.items() if not _fits(expected[name], text)]
    return [f"{name} holds {texts[name]!r}, expected {expected[name]!r}" for name in wrong]


def _fits(pattern: str | None, text: str | None) -> bool:
    return text is None if pattern is None else text is not None and glob(pattern, text)


if __name__ == "__main__":
    print(json.dumps(_run_all(Path(sys.argv[1]))))
