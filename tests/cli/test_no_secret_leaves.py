"""No credential reaches the log or what is made from it, from any part of a call; what only looks like one stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.cli.test_export import Receiver, receiver
from tests.test_credentials import BODY, CREDENTIALS, NAMED_OR_PLACED, ORDINARY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conftest import Project

__all__ = ["receiver"]

pytestmark = pytest.mark.slow

duckdb = pytest.importorskip("duckdb", reason="no DuckDB: pip install 'hookrun[analysis]'")

SECRETS = [*dict(CREDENTIALS).values(), *NAMED_OR_PLACED]
"""A credential of each kind by its form, and texts in which one is known by its name or place."""

LOOKALIKES = [text for text in ORDINARY if text]

PUSH = "git push --force origin main # "
"""A call that a recipe refuses, before any text."""

DUMP = Path(__file__).parent / "programs" / "dump_parquet.py"

SINKS = {
    "log": ("log", "-n", "1000"),
    "log --json": ("log", "-n", "1000", "--json"),
    "log --oneline": ("log", "-n", "1000", "--oneline"),
    "stats": ("stats", "--json"),
    "why": ("why", "--json"),
    "report": ("report", "--html", "report.html"),
    "report --json": ("report", "--json"),
    "export --otlp": ("export", "--otlp", "URL"),
    "export --prometheus": ("export", "--prometheus", "totals.prom"),
    "log --to parquet": ("log", "--to", "parquet", "days"),
    "replay": ("replay", "--config", "release.json", "--examples", "1000", "--junit", "replay.xml"),
    "replay --from": ("replay", "--examples", "1000", "--from", "transcripts"),
    "replay --from --json": ("replay", "--examples", "1000", "--from", "transcripts", "--json"),
}
"""What a command prints, and the file that it writes: see `sinks`."""

WITHOUT_CALLS = {"stats", "why", "export --prometheus"}
"""Sinks that have no text of every call."""


def fire(project: Project, text: str) -> None:
    """Run a hook on a call that has the text in every part, and which answers with it."""
    answer = {"action": "block", "message": text, "additional_context": text, "system_message": text}
    project.script("answer.json", json.dumps(answer), 0o644)
    args = {"command": PUSH + text, "note": text, "list": [{"deep": text}]}
    file = "/tmp/x" if "://" in text else f"/tmp/{text}"  # a path's // becomes a /, so it holds no URL
    project.fire({"session_id": "s1", "tool_name": "bash", "tool_args": args, "file_path": file})


def past(project: Project, texts: Iterable[str]) -> None:
    """Write a transcript of Claude Code with calls that have the texts, and ran."""
    about = {"isSidechain": False, "cwd": str(project.root), "sessionId": "s2", "timestamp": "2026-01-01T10:00:00Z"}
    lines: list[object] = []
    for number, text in enumerate(texts):
        use = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": PUSH + text, "x": text}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        lines += [{**about, "type": "assistant", "message": {"content": [use]}}]
        lines += [{**about, "type": "user", "message": {"content": [result]}}]
    project.script("transcripts/s2.jsonl", "".join(json.dumps(line) + "\n" for line in lines), 0o644)


def sinks(project: Project, receiver: Receiver, texts: list[str]) -> dict[str, str]:
    """Return what each sink has of calls with these texts, of the log while whole calls are kept, and a transcript."""
    assert hookrun(project, "record", "on").status == 0
    project.hooks({"name": "guard", "command": "cat > /dev/null; cat answer.json; echo x >&2"})
    for text in texts:
        fire(project, text)
    past(project, texts)
    found = {"the file": project.audit_path.read_text()}
    assert len(project.audit()) == 2 * len(texts)
    assert found["the file"].count('"context":{') == len(texts)
    recipe = {"recipe": "no-force-push"}
    project.script("coder.json", json.dumps({"hooks": [recipe]}), 0o644)
    project.script("release.json", json.dumps({"hooks": [{**recipe, "options": {"branches": "release"}}]}), 0o644)
    replay = hookrun(project, *SINKS["replay --from --json"])
    (project.root / "replay.json").write_text(replay.stdout)
    for name, words in SINKS.items():
        done = hookrun(project, *(receiver.url if each == "URL" else each for each in words))
        assert done.status == name.startswith("replay"), (name, done.stderr)
        found[name] = done.stdout + done.stderr
    found["report"] += (project.root / "report.html").read_text()
    found["replay"] += (project.root / "replay.xml").read_text()
    found["export --prometheus"] += (project.root / "totals.prom").read_text()
    found["export --otlp"] += "".join(body.decode("utf-8", "replace") for _, body in receiver.bodies)
    dump = [sys.executable, str(DUMP), str(project.root / "days")]
    found["log --to parquet"] += subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    return found


def test_there_are_enough_kinds() -> None:
    """Of both."""
    assert len(dict(CREDENTIALS)) + len(NAMED_OR_PLACED) >= 30
    assert len(LOOKALIKES) >= 30


def test_no_credential_leaves(project: Project, receiver: Receiver) -> None:
    """Neither into the log, nor what is made from it or from a transcript."""
    secrets = {BODY, *NAMED_OR_PLACED.values(), *dict(CREDENTIALS).values()}
    found = sinks(project, receiver, SECRETS)
    assert [(name, each) for name, text in found.items() for each in secrets if each in text] == []
    assert [name for name, text in found.items() if "[redacted]" not in text] == [
        name for name in found if name in WITHOUT_CALLS - {"why"}
    ]


def test_what_only_looks_like_one_stays(project: Project, receiver: Receiver) -> None:
    """Everywhere that has the calls; in the log letter for letter, in the arguments and in the hook's message."""
    found = sinks(project, receiver, LOOKALIKES)
    calls = [each for each in project.audit() if each["kind"] == "fire"]
    kept = [context["tool_args"]["note"] for each in calls if isinstance(context := each["context"], dict)]
    assert kept == LOOKALIKES
    assert [each["message"] for each in project.audit() if each["kind"] == "hook"] == LOOKALIKES
    plain = [text for text in LOOKALIKES if text.isascii() and text.isprintable()]
    missing = [
        (name, each)
        for name, text in found.items()
        for each in plain
        if name not in WITHOUT_CALLS and each not in text.replace("&#x27;", "'").replace("\\u0026", "&")
    ]
    assert missing == []
    assert [name for name, text in found.items() if "[redacted]" in text] == []
