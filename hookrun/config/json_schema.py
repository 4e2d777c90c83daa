"""Generate the JSON Schema (draft 2020-12) of a configuration file from the table of fields."""

from __future__ import annotations

import json

from hookrun.claude.tables import HANDLER_TARGETS, NATIVE_EVENTS, UNSUPPORTED_HANDLERS
from hookrun.config.recipe_entries import NOT_BESIDE, RECIPE_FIELDS
from hookrun.config.schema import (
    HOOK_FIELDS,
    KINDS,
    REQUIRES,
    SETTINGS,
    AnyObject,
    Bool,
    BoolOr,
    Choice,
    Field,
    Integer,
    ListOf,
    MapOf,
    Number,
    Record,
    Scalar,
    Shape,
    Str,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, object]

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
            "settings": {**_object(SETTINGS), "description": "hookrun's settings."},
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
    return {**_object((*RECIPE_FIELDS, *beside)), "description": "A ready-made hook.", "required": ["recipe"]}


def _hook() -> Schema:
    return {
        **_object(HOOK_FIELDS),
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


def _object(fields: tuple[Field, ...]) -> Schema:
    return {
        "type": "object",
        "properties": {field.name: _field(field) for field in fields},
        "additionalProperties": False,
    }


def _field(field: Field) -> Schema:
    default = {} if field.default is None else {"default": field.default}
    return {**of_shape(field.shape), "description": field.description, **default}


def of_shape(shape: Shape) -> Schema:  # noqa: C901, PLR0911  # one line for each shape
    """Return the schema of a shape."""
    match shape:
        case Bool():
            return {"type": "boolean"}
        case Number(above):
            return {"type": "number", "exclusiveMinimum": above}
        case Integer(low, high):
            return {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high})
        case Str():
            return _text(shape)
        case Choice(values):
            return {"enum": list(values)}
        case Scalar():
            return {"type": ["string", "number", "boolean"]}
        case ListOf():
            return _many(shape)
        case MapOf():
            return _table(shape)
        case AnyObject():
            return {"type": "object"}
        case Record(fields):
            return _object(fields)
        case BoolOr(record):
            return {"anyOf": [{"type": "boolean"}, _object(record.fields)]}


def _text(shape: Str) -> Schema:
    result: Schema = {"type": "string"}
    if shape.known:
        known: Schema = {"enum": list(shape.known)}
        return {"anyOf": [known, {**result, **_pattern(shape)}]} if shape.pattern else known
    if shape.but_not:
        result["not"] = {"enum": list(shape.but_not)}
    return {**result, **_pattern(shape)}


def _pattern(shape: Str) -> Schema:
    """Return the pattern anchored. In Python, `$` alone also matches before a final line break."""
    return {} if shape.pattern is None else {"pattern": rf"^(?:{shape.pattern})(?!\n)$"}


def _many(shape: ListOf) -> Schema:
    item = of_shape(shape.item)
    if shape.record is not None:
        item = {"anyOf": [item, of_shape(shape.record)]}
    several: Schema = {"type": "array", "items": item}
    if shape.least:
        several["minItems"] = shape.least
    if shape.first is not None:
        several["prefixItems"] = [of_shape(shape.first)]
    if shape.unique:
        several["uniqueItems"] = True
    return several if shape.alone is None else {"anyOf": [of_shape(shape.alone), several]}


def _table(shape: MapOf) -> Schema:
    result: Schema = {
        "type": "object",
        "propertyNames": of_shape(shape.key),
        "additionalProperties": of_shape(shape.value),
    }
    return result | ({"minProperties": shape.least} if shape.least else {})
