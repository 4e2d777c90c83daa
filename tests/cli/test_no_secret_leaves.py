"""No credential reaches the log, the report or an export from any part of a call; what only looks like one stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.test_export import Receiver, receiver
from tests.test_credentials import BODY, CREDENTIALS, NAMED_OR_PLACED, ORDINARY

if TYPE_CHECKING:
    from tests.conftest import Project

__all__ = ["receiver"]

pytestmark = pytest.mark.slow

SECRETS = [*dict(CREDENTIALS).values(), *NAMED_OR_PLACED]
"""A credential of each kind by its form, and texts in which one is known by its name or place."""

LOOKALIKES = [text for text in ORDINARY if text]


def fire(project: Project, text: str) -> None:
    """Run a hook on a call that has the text in every part, and which answers with it."""
    answer = {"action": "block", "message": text, "additional_context": text, "system_message": text}
    project.script("answer.json", json.dumps(answer), 0o644)
    args = {"command": f"use {text}", "note": text, "list": [{"deep": text}]}
    file = "/tmp/x" if "://" in text else f"/tmp/{text}"  # a path's // becomes a /, so it holds no URL
    project.fire({"session_id": "s1", "tool_name": "bash", "tool_args": args, "file_path": file})


def prepare(project: Project) -> None:
    """Keep whole calls."""
    project.user_hooks(audit={"details": "full"})
    project.hooks({"name": "guard", "command": "cat > /dev/null; cat answer.json; echo x >&2"})


def test_there_are_enough_kinds() -> None:
    """Of both."""
    assert len(dict(CREDENTIALS)) + len(NAMED_OR_PLACED) >= 30
    assert len(LOOKALIKES) >= 30


def test_no_credential_leaves(project: Project, receiver: Receiver) -> None:
    """Neither into the log, nor what is made from it."""
    prepare(project)
    for text in SECRETS:
        fire(project, text)
    assert hookrun(project, "export", "--otlp", receiver.url).status == 0
    assert hookrun(project, "report", "--html", "report.html").status == 0
    kept = {
        "log": project.audit_path.read_text(),
        "report": (project.root / "report.html").read_text(),
        "export": "".join(body.decode("latin-1") for _, body in receiver.bodies),
        "why": hookrun(project, "why", "--json").stdout,
    }
    assert len(project.audit()) == 2 * len(SECRETS)
    secrets = {BODY, *NAMED_OR_PLACED.values(), *dict(CREDENTIALS).values()}
    assert [(name, each) for name, text in kept.items() for each in secrets if each in text] == []


def test_what_only_looks_like_one_stays(project: Project) -> None:
    """Letter for letter, in the arguments and in the hook's message."""
    prepare(project)
    for text in LOOKALIKES:
        fire(project, text)
    calls = [each for each in project.audit() if each["kind"] == "fire"]
    kept = [context["tool_args"]["note"] for each in calls if isinstance(context := each["context"], dict)]
    assert kept == LOOKALIKES
    assert [each["message"] for each in project.audit() if each["kind"] == "hook"] == LOOKALIKES
