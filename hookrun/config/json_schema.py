"""Generate the JSON Schema (draft 2020-12) of a configuration file from the table of fields."""

from __future__ import annotations

import json

from hookrun.claude.tables import HANDLER_TARGETS, NATIVE_EVENTS, UNSUPPORTED_HANDLERS
from hookrun.config.schema import HOOK_FIELDS, KINDS, NOT_BESIDE, RECIPE_FIELDS, REQUIRES, SETTINGS
from hookrun.config.shapes import Schema, object_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

SCHEMA_FILE = "hookrun.schema.json"
"""The schema beside a config file, which the file names: editors read it without a network."""


def schema_text() -> str:
    """Return the schema as the text of SCHEMA_FILE: one line, because nobody reviews it."""
    return json.dumps(schema(), separators=(",", ":")) + "\n"


def schema() -> Schema:
    """Return the schema of coder.json and hookrun.yaml. Other top-level keys are allowed."""
    return {
        "$schema": DIALECT,
        "title": "hookrun config",
        "description": "Hooks for coding agents, and hookrun's settings. Other keys belong to other programs.",
        "type": "object",
        "properties": {
            "$schema": {"type": "string", "description": "The schema of this file, for editors."},
            "hooks": {
                "anyOf": [{"$ref": "#/$defs/hooks"}, _nested(), _claude()],
                "description": "A list of hooks, or an object of events in Claude Code's form.",
            },
            "hookrun": {"$ref": "#/$defs/settings"},
        },
        "$defs": {
            "hooks": {"type": "array", "items": _entry(), "description": "A list of hooks."},
            "hook": _hook(),
            "recipe": _recipe(),
            "claude": _claude_groups(),
            "settings": {**object_schema(SETTINGS), "description": "hookrun's settings."},
        },
    }


def _nested() -> Schema:
    return {
        "type": "object",
        "properties": {"hooks": {"$ref": "#/$defs/hooks"}},
        "required": ["hooks"],
        "additionalProperties": False,
    }


def _claude() -> Schema:
    return {
        "type": "object",
        "properties": {event: {"$ref": "#/$defs/claude"} for event in NATIVE_EVENTS},
        "additionalProperties": False,
        "minProperties": 1,
    }


def _claude_groups() -> Schema:
    types = [*HANDLER_TARGETS, *UNSUPPORTED_HANDLERS]
    handler = {
        "type": "object",
        "properties": {"type": {"enum": types, "description": "What the handler runs; hookrun runs command and http."}},
        "required": ["type"],
    }
    matcher = {"type": ["string", "null"], "description": "Run only for these tools: names, or a regular expression."}
    hooks = {"type": "array", "items": handler, "description": "The handlers."}
    group = {"type": "object", "properties": {"matcher": matcher, "hooks": hooks}, "required": ["hooks"]}
    return {"type": "array", "items": group, "description": "Groups of handlers, in Claude Code's form."}


def _entry() -> Schema:
    recipe, hook = {"$ref": "#/$defs/recipe"}, {"$ref": "#/$defs/hook"}
    return {"if": {"type": "object", "required": ["recipe"]}, "then": recipe, "else": hook}


def _recipe() -> Schema:
    beside = tuple(field for field in HOOK_FIELDS if field.name not in NOT_BESIDE)
    return {**object_schema((*RECIPE_FIELDS, *beside)), "description": "A ready-made hook.", "required": ["recipe"]}


def _hook() -> Schema:
    return {
        **object_schema(HOOK_FIELDS),
        "description": "A hook.",
        "required": ["event"],
        "oneOf": [{"required": [kind]} for kind in KINDS],
        "dependentRequired": {name: [kind] for name, kind in REQUIRES.items()},
        "not": {
            "anyOf": [
                {
                    "properties": {"background": {"const": True}, "on_failure": {"const": "block"}},
                    "required": ["background", "on_failure"],
                },
                {"required": ["serve", "url"]},
            ]
        },
    }
