"""The JSON Schema, and that it agrees with the checker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings, strategies as st
from jsonschema import Draft202012Validator

from hookrun.config.schema import AUDIT_FIELDS, HOOK_FIELDS, KINDS, NOT_IN_DEFAULTS, SETTINGS, schema
from hookrun.core.events import EVENTS
from tests import tour
from tests.config.declared import errors, examined

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

STRICTER = (
    "unknown event ",
    "duplicate event ",
    "duplicate hook name ",
    "environment variable ",
    "`url` must be an http or https URL with a host",
    "hookrun sets the header ",
    "a background hook cannot block",
    "`on_error` cannot be set",
    "`audit` cannot be set",
    "`project_env_policy` cannot be set",
    "`trusted` cannot be set",
    "`trusted_owners` cannot be set",
    "relative path in a user or managed hook",
    "without an absolute `cwd`",
    "included file not found",
    "circular include",
    "this config needs hookrun ",
)
"""The beginnings of messages about faults that a schema cannot express: they involve two places, files or layers."""

VALIDATOR = Draft202012Validator(schema())
ODD = st.sampled_from(["", " ", "\n", "a\n", "|", "a||b"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | ODD
WORD = st.sampled_from(["a", "b-c", "D_e", "./x", "a b", "é"])
NAME = st.sampled_from(["A", "B_1", "TOKEN"])
GLOBS = st.one_of(WORD, st.integers(-3, 3), st.booleans(), st.floats(-2, 2), st.lists(WORD, min_size=1, max_size=2))
CONDITIONS = st.dictionaries(
    st.sampled_from(["tool_name", "tool_args.command", "a.b.c"]), GLOBS, min_size=1, max_size=2
)
EVENT = st.sampled_from([*sorted(EVENTS), "my.event"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2000) | st.floats(-5, 2000) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)

VALUES: dict[str, SearchStrategy[object]] = {
    "event": st.one_of(EVENT, st.lists(EVENT, min_size=1, max_size=3)),
    "command": WORD,
    "args": st.lists(WORD, min_size=1, max_size=3),
    "python": st.sampled_from(["a:b", "a.b_c:d", "A1.b:C"]),
    "url": st.sampled_from(["http://localhost", "https://a.example:8/b?c#d", "http://:80", "http://[x", "http://a:b"]),
    "interpreter": WORD,
    "headers": st.dictionaries(NAME, st.sampled_from(["x", "Bearer $TOKEN", "${A}"]), max_size=2),
    "allowed_env": st.lists(NAME, max_size=2),
    "matcher": st.sampled_from(["", "*", "bash", "bash|write", "mcp__*"]) | st.lists(WORD, min_size=1, max_size=2),
    "when": CONDITIONS,
    "unless": CONDITIONS,
    "timeout": st.integers(1, 2000) | st.floats(0.001, 2000),
    "priority": st.integers(0, 1000) | st.just(5.0),
    "on_failure": st.sampled_from(["continue", "block"]),
    "on_block": st.sampled_from(["block", "ask"]),
    "overridable": st.booleans(),
    "mode": st.sampled_from(["enforce", "advise", "off"]),
    "dialect": st.sampled_from(["hookrun", "claude"]),
    "agents": WORD | st.lists(WORD, min_size=1, max_size=2),
    "env": st.dictionaries(NAME, WORD, max_size=2),
    "env_policy": st.sampled_from(["inherit", "scrub", "clean"]),
    "cwd": st.sampled_from(["project", "event", "/tmp", "sub/dir"]),  # a path in a declaration
    "files": st.lists(WORD, max_size=2),
    "state": st.lists(st.sampled_from(["once", "cache/state.db", "./log"]), max_size=2),
    "max_output": st.integers(1, 1 << 30),
    "name": WORD,
    "description": TEXT,
    "metadata": st.dictionaries(TEXT, JUNK, max_size=2),
    "parallel": st.booleans(),
    "always": st.booleans(),
    "exclusive": st.booleans(),
    "serve": st.booleans(),
    "background": st.booleans(),
    "payload": st.booleans(),
}
OPTIONAL = sorted(VALUES.keys() - {"event", *KINDS, "interpreter", "headers", "allowed_env"})


@st.composite
def hooks(draw: st.DrawFn) -> dict[str, object]:
    """Return a hook that is valid, as far as a schema can check."""
    kind = draw(st.sampled_from(KINDS))
    beside = {"python": ["interpreter"], "url": ["headers", "allowed_env"]}.get(kind, [])
    fields = ["event", kind, *draw(st.lists(st.sampled_from([*OPTIONAL, *beside]), max_size=6, unique=True))]
    return {field: draw(VALUES[field]) for field in fields}


@st.composite
def settings_(draw: st.DrawFn) -> dict[str, object]:
    """Return settings of which most are declared well."""
    defaults = st.fixed_dictionaries(
        {}, optional={name: VALUES[name] for name in OPTIONAL if name not in NOT_IN_DEFAULTS}
    )
    audit = st.booleans() | st.fixed_dictionaries(
        {},
        optional={
            "max_bytes": st.integers(65000, 66000),
            "keep": st.integers(0, 3),
            "details": st.sampled_from(["none", "full", "all", None]),
            "other": JUNK,
        },
    )
    values: dict[str, SearchStrategy[object]] = {
        "defaults": defaults | st.dictionaries(st.sampled_from(sorted(VALUES)), JUNK, max_size=2),
        "on_error": VALUES["on_failure"],
        "audit": audit,
        "project_env_policy": VALUES["env_policy"],
        "trusted": st.lists(st.sampled_from(["sha256:" + "0a" * 32, "sha256:" + "0A" * 32, "sha1:00", ""]), max_size=2),
        "trusted_owners": st.lists(st.sampled_from(["alice", "1000", "", "a b", "a:b"]), max_size=2),
        "include": st.lists(WORD, max_size=2),
        "include_claude": st.booleans(),
        "events": st.lists(st.sampled_from(["my.event", "other", "stop", "Stop", "1x", "a b"]), max_size=3),
        "min_version": st.sampled_from(["0.0.1", "9.9.9", "1.2", "v1.2.3", "1.2.3\n"]),
    }
    names = draw(st.lists(st.sampled_from(sorted(values)), max_size=4, unique=True))
    return {name: draw(values[name]) for name in names}


@st.composite
def mutated(draw: st.DrawFn, base: SearchStrategy[dict[str, object]], keys: list[str]) -> dict[str, object]:
    """Return an object with a few of its fields replaced, removed or added at random."""
    data = dict(draw(base))
    for _ in range(draw(st.integers(0, 2))):
        key = draw(st.sampled_from([*keys, "unknown"]) | TEXT)
        if draw(st.booleans()):
            data.pop(key, None)
        else:
            data[key] = draw(JUNK)
    return data


ENTRIES = st.lists(mutated(hooks(), sorted(VALUES)) | JUNK, max_size=2)
DECLARATIONS = st.fixed_dictionaries(
    {},
    optional={
        "hooks": ENTRIES | st.fixed_dictionaries({"hooks": ENTRIES}) | JUNK,
        "hookrun": mutated(settings_(), [field.name for field in SETTINGS]) | JUNK,
        "else": JUNK,
    },
)


@pytest.mark.slow
@settings(max_examples=400)
@given(data=DECLARATIONS, layer=st.sampled_from(["project", "user"]))
@example(data={"hooks": [{"event": "stop", "url": "http://localhost", "serve": False}]}, layer="user")
def test_checker_and_schema_agree(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object], layer: str
) -> None:
    """The schema accepts exactly the files without errors, except for errors that a schema cannot express."""
    path = tmp_path_factory.getbasetemp() / f"declared-{layer}.json"
    found = errors(examined(path, data, layer))
    if VALIDATOR.is_valid(data):
        assert [str(error) for error in found if not error.message.startswith(STRICTER)] == []
    else:
        assert found != []


def test_schema_is_a_schema() -> None:
    """What `hookrun config schema` prints is valid by the meta-schema, and plain JSON; each field is tried above."""
    assert {field.name for field in HOOK_FIELDS} <= VALUES.keys()
    Draft202012Validator.check_schema(schema())
    assert json.loads(json.dumps(schema())) == schema()


def test_every_field_is_described_with_its_default() -> None:
    """The schema describes each field, with its default where there is one."""
    definitions = json.loads(json.dumps(schema()))["$defs"]
    hook = definitions["hook"]["properties"]
    audit = definitions["settings"]["properties"]["audit"]["anyOf"][1]["properties"]
    for shown, fields in ((hook, HOOK_FIELDS), (audit, AUDIT_FIELDS)):
        for field in fields:
            assert shown[field.name]["description"] == field.description
            assert shown[field.name].get("default") == field.default


def test_strict_files_are_stricter_than_the_schema(tmp_path: Path) -> None:
    """An unknown top-level key is allowed by the schema, and an error in a file that is hookrun's alone."""
    data = {"hooks": [], "other": 1}
    assert VALIDATOR.is_valid(data)
    assert errors(examined(tmp_path / "coder.json", data)) == []
    assert [error.key for error in errors(examined(tmp_path / "hooks.json", data, "user"))] == ["other"]


REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "config.md"


def test_examples_of_the_reference_are_good(tmp_path: Path) -> None:
    """The examples in the reference are declared well, and the same in both languages."""
    text = REFERENCE.read_text(encoding="utf-8")
    hooks = []
    for block in tour.blocks(text)[:2]:
        result = examined(tmp_path / f"hookrun.{block.language}", block.text)
        assert result.problems == []
        hooks.append([hook.to_dict() | {"source": "", "line": 0} for hook in result.declarations.hooks])
    assert hooks[0] == hooks[1] != []
