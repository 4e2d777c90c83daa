"""The rules for documents of the documentation agents: required members have to be there, others may be."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from hookrun.compat.stackbench import extraction_rules, validation_rules
from hookrun.recipes.validate_json import Rule

ANALYSIS: dict[str, Any] = {
    "page": "quickstart.md",
    "library": "lancedb",
    "language": "python",
    "signatures": [
        {
            "library": "lancedb",
            "function": "connect",
            "params": ["uri"],
            "param_types": {"uri": "str"},
            "defaults": {},
            "imports": "import lancedb",
            "line": 12,
            "context": "Connecting",
        }
    ],
    "examples": [
        {
            "library": "lancedb",
            "language": "python",
            "code": "db = lancedb.connect('a')",
            "has_main": False,
            "is_executable": True,
            "line": 14,
            "context": "Connecting",
            "dependencies": ["lancedb"],
        }
    ],
    "processed_at": "2025-10-15T10:30:00",
    "total_signatures": 1,
    "total_examples": 1,
    "warnings": [],
}
VALIDATION: dict[str, Any] = {
    "validation_id": "v1",
    "validated_at": "2025-10-15T10:30:00",
    "source_file": "quickstart_analysis.json",
    "library": "lancedb",
    "version": "0.25.2",
    "language": "python",
    "summary": {
        "total_signatures_checked": 1,
        "valid": 1,
        "invalid": 0,
        "not_found": 0,
        "accuracy_score": 1.0,
    },
    "validations": [
        {
            "signature_id": "connect-12",
            "function": "connect",
            "library": "lancedb",
            "status": "valid",
            "documented": {"params": ["uri"]},
            "issues": [],
        }
    ],
    "environment": {"python_version": "3.11"},
    "processing": {"ms": 12},
    "warnings": [],
}
SUMMARY: dict[str, Any] = {"total_documents": 2, "total_signatures": 3, "total_examples": 4}


def rule_for(path: str) -> Rule:
    """Return the rule that is about a file."""
    return next(rule for rule in (*extraction_rules(), *validation_rules()) if rule.matches(path))


WHOLE = [
    ("a_analysis.json", "DocumentAnalysis", ANALYSIS),
    ("a_validation.json", "ValidationOutput", VALIDATION),
    ("extraction_summary.json", "ExtractionSummary", SUMMARY),
]


@pytest.mark.parametrize(("name", "title", "document"), WHOLE)
def test_a_whole_document_fits(name: str, title: str, document: dict[str, Any]) -> None:
    """Also with members that no rule names."""
    rule = rule_for(f"/out/{name}")
    assert rule.title == title
    assert rule.problems(json.dumps(document)) == []
    assert rule.problems(json.dumps({**document, "more": None})) == []


def places() -> list[tuple[str, dict[str, Any], tuple[str | int, ...]]]:
    """Return the path of every member of the documents above, with the document."""
    inner: list[tuple[str | int, ...]] = [
        (),
        ("signatures", 0),
        ("examples", 0),
        ("summary",),
        ("validations", 0),
    ]
    found: list[tuple[str, dict[str, Any], tuple[str | int, ...]]] = []
    for name, _, document in WHOLE:
        for path in inner:
            if path and path[0] not in document:
                continue
            found.extend((name, document, (*path, key)) for key in at(document, path))
    return found


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at a path."""
    for step in path:
        document = document[step]
    return document


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("name", "document", "path"), [pytest.param(*each, id=f"{each[0]}:{each[2]}") for each in places()]
)
def test_each_member_is_required_and_typed(name: str, document: dict[str, Any], path: tuple[str | int, ...]) -> None:
    """Without it, and with a value of a kind that it never has, there is exactly one problem, at its place."""
    pointer = "".join(f"/{step}" for step in path)
    changed = copy.deepcopy(document)
    parent = at(changed, path[:-1])
    value = parent.pop(path[-1])
    assert rule_for(name).problems(json.dumps(changed)) == [f"{pointer}: is missing"]
    parent[path[-1]] = [] if not isinstance(value, list) else "x"
    (problem,) = rule_for(name).problems(json.dumps(changed))
    assert problem.startswith(f"{pointer}: must be")


def test_the_members_are_those_of_the_published_definitions() -> None:
    """The documents above have all of them, counted."""
    assert len(places()) == 9 + 8 + 8 + 11 + 5 + 6 + 3
