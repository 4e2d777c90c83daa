"""The rules of StackBench's documentation agents: what they extract from a document, and what they find in checking it.

Required members are those of the agents' published schema definitions; members that these do not name may be there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrun.bundles.json_rules import Rule

if TYPE_CHECKING:
    Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_NUMBER: Schema = {"type": ["number", "null"], "minimum": 0}
YES_OR_NO: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
TEXTS: Schema = {"type": "array", "items": TEXT}
LIST: Schema = {"type": "array"}


def _object(title: str, required: Schema, **optional: Schema) -> Schema:
    """Return the schema of an object: members that must be there, and members that have a form if they are."""
    return {"title": title, "type": "object", "required": list(required), "properties": {**required, **optional}}


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item}


SIGNATURE = _object(
    "Signature",
    {
        "library": TEXT,
        "function": NAME,
        "params": LIST,
        "param_types": OBJECT,
        "defaults": OBJECT,
        "imports": MAYBE_TEXT,
        "line": COUNT,
        "context": TEXT,
    },
    method_chain=MAYBE_TEXT,
    raw_code=MAYBE_TEXT,
)
EXAMPLE = _object(
    "Example",
    {
        "library": TEXT,
        "language": TEXT,
        "code": TEXT,
        "has_main": YES_OR_NO,
        "is_executable": YES_OR_NO,
        "line": COUNT,
        "context": TEXT,
        "dependencies": TEXTS,
    },
    imports=MAYBE_TEXT,
)
DOCUMENT_ANALYSIS = _object(
    "DocumentAnalysis",
    {
        "page": NAME,
        "library": NAME,
        "language": NAME,
        "signatures": _list_of(SIGNATURE),
        "examples": _list_of(EXAMPLE),
        "processed_at": NAME,
        "total_signatures": COUNT,
        "total_examples": COUNT,
        "warnings": TEXTS,
    },
    version=MAYBE_TEXT,
    processing_time_ms=MAYBE_NUMBER,
)
EXTRACTION_SUMMARY = _object(
    "ExtractionSummary",
    {"total_documents": COUNT, "total_signatures": COUNT, "total_examples": COUNT},
    processed=COUNT,
    timestamp=TEXT,
    extraction_duration_seconds=MAYBE_NUMBER,
    documents=_list_of(OBJECT),
)
VALIDATION_OUTPUT = _object(
    "ValidationOutput",
    {
        "validation_id": NAME,
        "validated_at": NAME,
        "source_file": TEXT,
        "library": TEXT,
        "version": MAYBE_TEXT,
        "language": TEXT,
        "summary": _object(
            "Summary",
            {
                "total_signatures_checked": COUNT,
                "valid": COUNT,
                "invalid": COUNT,
                "not_found": COUNT,
                "accuracy_score": {"type": "number", "minimum": 0},
            },
        ),
        "validations": _list_of(
            _object(
                "Validation",
                {
                    "signature_id": NAME,
                    "function": NAME,
                    "library": TEXT,
                    "status": NAME,
                    "documented": OBJECT,
                    "issues": LIST,
                },
                actual={"type": ["object", "null"]},
            )
        ),
        "environment": OBJECT,
        "processing": OBJECT,
        "warnings": TEXTS,
    },
)


def extraction_rules() -> list[Rule]:
    """Return the rules for what an extraction agent writes: `*_analysis.json`, `extraction_summary.json`.

    Raises ImportError where `jsonschema` is not installed.
    """
    return [Rule("*_analysis.json", DOCUMENT_ANALYSIS), Rule("extraction_summary.json", EXTRACTION_SUMMARY)]


def validation_rules() -> list[Rule]:
    """Return the rule for what an agent that checks signatures or examples writes: `*_validation.json`.

    Raises ImportError where `jsonschema` is not installed.
    """
    return [Rule("*_validation.json", VALIDATION_OUTPUT)]
