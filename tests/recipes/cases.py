"""Runs the cases that a recipe ships, as `hookrun fire` would: each in a context and an environment of its own."""

from __future__ import annotations

import importlib
import os
from importlib import resources
from typing import TYPE_CHECKING, cast

import yaml

from hookrun.match import glob

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest

    from hookrun.recipes.recipe import Recipe

    Case = dict[str, dict[str, object]]


def cases(module: str) -> list[tuple[str, Case]]:
    """Return the cases of a recipe by name, defaults put in."""
    file = resources.files("hookrun.recipes") / "cases" / f"{module}.hooktest.yaml"
    data = yaml.safe_load(file.read_text())
    return [(case["name"], {**data["defaults"], **case}) for case in data["cases"]]


def recipe(module: str) -> Recipe:
    """Return what the module says of itself."""
    return cast("Recipe", importlib.import_module(f"hookrun.recipes.{module}").RECIPE)


def context(case: Case, directory: str) -> dict[str, object]:
    """Return what the hook of a case reads."""
    given = {"event": case["event"], "tool_name": case.get("tool"), "tool_args": case.get("args")}
    return {"working_dir": directory, **given, **case.get("context", {})}


def hook(case: Case, module: str) -> Mapping[str, object] | None:
    """Return the declaration that applies to a case, None if none does."""
    name = case.get("hook")
    for declared in recipe(module).hooks:
        tools = str(declared.get("matcher", "*")).split("|")
        if (
            declared["event"] == case["event"]
            and name in {None, declared["name"]}
            and any(glob(tool, str(case.get("tool"))) for tool in tools)
        ):
            return declared
    return None


def run(case: Case, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run one case and compare."""
    expect = case["expect"]
    declared = hook(case, module)
    if "fired" in expect:
        assert (declared is not None) is bool(expect["fired"])
        return
    assert declared is not None
    work = tmp_path / "work"
    for name, text in case.get("files", {}).items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(str(text))
    for name in [name for name in os.environ if name.startswith("HOOKRUN")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOOKRUN_PROJECT_DIR", str(work))
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, str(value).replace("${WORKDIR}", str(work)))
    name, _, function = str(declared["python"]).partition(":")
    check = cast("Callable[[object], dict[str, object] | None]", getattr(importlib.import_module(name), function))
    read = context(case, str(work))
    verdict = check(read) or {"action": "continue"}
    assert verdict["action"] == expect.get("action", verdict["action"]), verdict
    for field in ("message", "additional_context", "system_message"):
        if field in expect:
            said, wanted = verdict.get(field), expect[field]
            assert said is None if wanted is None else glob(str(wanted), str(said)), verdict
    if "args" in expect:
        patch = verdict.get("args_patch", {})
        assert isinstance(patch, dict)
        assert {**cast("dict[str, object]", read["tool_args"]), **patch} == expect["args"]
