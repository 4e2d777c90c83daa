"""JSON files are written only if they fit their schema and lie where they belong; what cannot be seen is refused."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, field_validator

from hookrun import Verdict
from hookrun.events import PreToolUse
from hookrun.recipes.validate_json import Rule, ValidateJSON

SCHEMA = {
    "title": "Counts",
    "type": "object",
    "required": ["page", "total"],
    "properties": {
        "page": {"type": "string", "minLength": 1},
        "total": {"type": "integer", "minimum": 0},
        "kind": {"enum": ["guide", "reference"]},
        "rows": {"type": "array", "items": {"type": "object", "required": ["line"]}},
        "either": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"type": "integer"}}}]},
        "a/b~c": {"type": "boolean"},
    },
}
GOOD = '{"page": "a.md", "total": 2}'


class Counts(BaseModel):
    """What SCHEMA asks for, as a model."""

    page: str
    total: int
    day: date | None = None
    rows: list[dict[str, int]] = []


def counts(*names: str) -> ValidateJSON:
    """Return the validation of `*_counts.json`, and of more names."""
    return ValidateJSON([Rule(name, SCHEMA) for name in ("*_counts.json", *names)])


def write(validate: ValidateJSON, path: Path | str, content: object, **fields: object) -> Verdict | None:
    """Call the handler with a write."""
    args = {"file_path": str(path), "content": content}
    return validate.check(PreToolUse(**{"tool_name": "write", "tool_args": args, **fields}))  # type: ignore[arg-type]


def edit(validate: ValidateJSON, path: Path | str, old: str, new: str, **more: object) -> Verdict | None:
    """Call the handler with an edit."""
    args = {"file_path": str(path), "old_string": old, "new_string": new, **more}
    return validate.check(PreToolUse(tool_name="edit", tool_args=args))


def reason(verdict: Verdict | None) -> str:
    """Return why something was refused."""
    assert verdict is not None
    assert verdict.action == "block"
    assert verdict.message is not None
    return verdict.message


def problems(content: str) -> list[str]:
    """Return the errors in a content, line by line."""
    first, *rest = reason(write(counts(), "/out/a_counts.json", content)).splitlines()
    assert first == "a_counts.json does not match Counts. Fix it and write it again:"
    return [line.removeprefix("- ") for line in rest]


NAMES_COMMAS = sys.version_info >= (3, 13)
"""Whether Python's own parser names the comma that is one too many, and not what follows it."""


def test_what_fits_or_matches_no_rule_passes() -> None:
    """Without a rule whatever is in it: the name of a file counts, not a directory's. So does no name at all."""
    assert write(counts(), "/out/a_counts.json", GOOD) is None
    assert counts().check(PreToolUse(tool_name="write", tool_args={"content": "x"})) is None
    assert counts().check(PreToolUse(tool_name="write")) is None
    paths = ("/out/a.json", "/out/a_counts.json.bak", "/a_counts.json/b.txt", "/out/a_COUNTS.json")
    assert [path for path in paths if write(counts(), path, "no JSON at all") is not None] == []


def test_a_problem_is_told_by_place_finding_and_expectation() -> None:
    """A JSON Pointer, the actual and the expected value."""
    rows = [
        ('{"page": "a.md"}', "/total: is missing"),
        ('{"page": "a.md", "total": "12"}', '/total: must be of type integer, not "12" (a string)'),
        ('{"page": "a.md", "total": true}', "/total: must be of type integer, not true (a boolean)"),
        ('{"page": "a.md", "total": -1}', "/total: must be at least 0, not -1 (a number)"),
        ('{"page": "", "total": 1}', '/page: must be of length at least 1, not "" (a string)'),
        ('{"page": {"a": 1}, "total": 1}', "/page: must be of type string, not an object"),
        ('{"page": [], "total": 1}', "/page: must be of type string, not an empty list"),
        ('{"page": null, "total": 1}', "/page: must be of type string, not null"),
        (
            '{"page": "a", "total": 1, "kind": "poem"}',
            '/kind: must be one of "guide", "reference", not "poem" (a string)',
        ),
        ('{"page": "a", "total": 1, "rows": [{"line": 1}, {}]}', "/rows/1/line: is missing"),
        ('{"page": "a", "total": 1, "either": {"a": "x"}}', '/either/a: must be of type integer, not "x" (a string)'),
        ('{"page": "a", "total": 1, "a/b~c": 1}', "/a~1b~0c: must be of type boolean, not 1 (a number)"),
        ("[]", "(root): must be of type object, not an empty list"),
        ("12", "(root): must be of type object, not 12 (a number)"),
    ]
    found = {content: problems(content) for content, _ in rows}
    assert found == {content: [problem] for content, problem in rows}


def test_what_is_no_json_is_told_with_its_place() -> None:
    """Line and column where the parser knows them."""
    rows = [
        ('{\n  "page": "a",\n  "total": 1,\n}', "line 3, column 13: " if NAMES_COMMAS else "line 4, column 1: "),
        ('{"page": "a" "total": 1}', "line 1, column 14: Expecting ',' delimiter"),
        (f"```json\n{GOOD}\n```", "line 1, column 1: Expecting value"),
        (f"{GOOD}\nThat is all.", "line 2, column 1: Extra data"),
        ("", "line 1, column 1: Expecting value"),
        (f"\ufeff{GOOD}", "line 1, column 1: it begins with a byte-order mark"),
        ('{"page": "a", "total": NaN}', "NaN is not a JSON value"),
        ('{"page": "a", "total": -Infinity}', "-Infinity is not a JSON value"),
        ('{"page": "a", "total": 1, "page": "b"}', 'duplicate key "page" in one object'),
        ("[" * 100_000, "it is nested too deeply"),
        ("9" * 5000, "Exceeds the limit"),
    ]
    found = [(problem, problems(content)) for content, problem in rows]
    wrong = [row for row in found if len(row[1]) != 1 or not row[1][0].startswith(f"it is not JSON: {row[0]}")]
    assert wrong == []


def test_at_most_ten_problems_are_told_and_the_rest_counted() -> None:
    """Twenty-two problems: ten, `and 12 more`; thousands are not even counted."""
    rows = json.dumps({"page": "a", "total": 1, "rows": [{}] * 22})
    told = problems(rows)
    assert told[0] == "/rows/0/line: is missing"
    assert len(told) == 11
    assert told[-1] == "and 12 more"
    assert len(problems(json.dumps({"page": "a", "total": 1, "rows": [{}] * 10}))) == 10
    many = problems(json.dumps({"page": "a", "total": 1, "rows": [{}] * 5000}))
    assert (len(many), many[-1]) == (11, "and more than 990 more")


def test_a_long_value_does_not_flood_the_message() -> None:
    """A misplaced value is shown shortened, in our messages and in those of jsonschema."""
    long = "x" * 100_000
    (told,) = problems(json.dumps({"page": "a", "total": long}))
    assert len(told) < 200
    rule = Rule("*.json", {"not": {"type": "string"}})
    (told,) = rule.problems(json.dumps(long))
    assert len(told) < 300
    assert told.endswith("should not be valid under {'type': 'string'}")


def test_a_key_cannot_make_a_message_look_like_two() -> None:
    """Line ends and escapes in keys and values are shown as such."""
    schema = {"additionalProperties": {"type": "integer"}}
    assert Rule("*.json", schema).problems('{"a\\n- /b": "\\u001b[31m"}') == [
        '/a\\n- ~1b: must be of type integer, not "\\u001b[31m" (a string)'
    ]


def test_an_edit_is_checked_by_what_would_be_written(tmp_path: Path) -> None:
    """The current file with the change applied: valid or not. The file itself is not touched."""
    path = tmp_path / "a_counts.json"
    path.write_text(GOOD)
    assert edit(counts(), path, '"total": 2', '"total": 3') is None
    assert "/total: must be at least 0, not -3" in reason(edit(counts(), path, '"total": 2', '"total": -3'))
    assert "/total: is missing" in reason(edit(counts(), path, ', "total": 2', ""))
    assert path.read_text() == GOOD


def test_replace_all_replaces_all(tmp_path: Path) -> None:
    """With it every occurrence counts; without it a text that occurs twice is refused, as by the tool."""
    path = tmp_path / "a_counts.json"
    path.write_text('{"page": "1", "total": 1}')
    assert "/total: found 12" not in reason(edit(counts(), path, "1", "x1", replace_all=True))
    assert edit(counts(), path, "1", "12", replace_all=True) is None
    assert "`old_string` is 2 times in the file" in reason(edit(counts(), path, "1", "12"))
    assert "`old_string` is 2 times in the file" in reason(edit(counts(), path, "1", "12", replace_all=None))


def test_an_edit_that_finds_nothing_is_refused(tmp_path: Path) -> None:
    """A tool that guesses the intention would write text that was never checked. A new file is all that is written."""
    path = tmp_path / "a_counts.json"
    path.write_text(GOOD)
    assert "`old_string` is not in the file" in reason(edit(counts(), path, "nothing", "x"))
    assert "`old_string` is empty and the file is not" in reason(edit(counts(), path, "", GOOD))
    new = tmp_path / "new_counts.json"
    assert "`old_string` is not in the file" in reason(edit(counts(), new, "x", "y"))
    assert edit(counts(), new, "", GOOD) is None
    assert "/total: is missing" in reason(edit(counts(), new, "", '{"page": "a"}'))


def test_line_ends_do_not_matter_to_an_edit(tmp_path: Path) -> None:
    """Agents show a file with CRLF as if it had LF."""
    path = tmp_path / "a_counts.json"
    path.write_bytes(b'{"page": "a",\r\n"total": 2}\r\n')
    assert edit(counts(), path, '"a",\n"total": 2', '"b",\n"total": 3') is None


def test_several_edits_in_one_call_are_made_in_order(tmp_path: Path) -> None:
    """The second finds what the first has made."""
    path = tmp_path / "a_counts.json"
    path.write_text(GOOD)

    def multi(*edits: object) -> Verdict | None:
        args = {"file_path": str(path), "edits": list(edits)}
        return counts().check(PreToolUse(tool_name="MultiEdit", tool_args=args))

    first, second = ({"old_string": "2", "new_string": "31"}, {"old_string": "31", "new_string": "-1"})
    assert multi(first) is None
    assert "/total: must be at least 0, not -1" in reason(multi(first, second))
    assert "`edits` is not a list of objects" in reason(multi("all"))


def test_a_file_that_is_no_text_cannot_be_checked(tmp_path: Path) -> None:
    """Not UTF-8, a directory, a pipe: refused, without a hang."""
    (tmp_path / "a_counts.json").write_bytes(b'{"page": "\xff", "total": 2}')
    (tmp_path / "b_counts.json").mkdir()
    os.mkfifo(tmp_path / "c_counts.json")
    assert "the file is not UTF-8 (byte 10)" in reason(edit(counts(), tmp_path / "a_counts.json", "2", "3"))
    for name in ("b", "c"):
        assert "not a regular file" in reason(edit(counts(), tmp_path / f"{name}_counts.json", "2", "3"))


@pytest.mark.parametrize(
    ("more", "both"),
    [
        ({"content": GOOD, "old_string": "", "new_string": "no"}, "`content` and `old_string`"),
        ({"content": GOOD, "new_string": "no"}, "`content` and `old_string`"),
        ({"content": GOOD, "edits": [{"old_string": "", "new_string": "no"}]}, "`content` and `edits`"),
        (
            {"edits": [{"old_string": "", "new_string": GOOD}], "old_string": "", "new_string": "no"},
            "`edits` and `old_string`",
        ),
    ],
)
def test_two_forms_at_once_are_refused(tmp_path: Path, more: dict[str, object], both: str) -> None:
    """It is unknown which of them the tool uses, so neither counts as the new content."""
    args = {"file_path": str(tmp_path / "a_counts.json"), **more}
    for tool in ("edit", "write", "MultiEdit"):
        assert f"the call has both {both}" in reason(counts().check(PreToolUse(tool_name=tool, tool_args=args))), tool


def test_arguments_without_content_cannot_be_checked() -> None:
    """A call whose content cannot be seen is refused, not allowed."""
    for content in (None, {"page": "a.md", "total": 2}, 12):
        assert "`content` is not a string" in reason(write(counts(), "/out/a_counts.json", content))
    args = {"file_path": "/out/a_counts.json"}
    assert "cannot be checked" in reason(counts().check(PreToolUse(tool_name="edit", tool_args=args)))


def test_the_first_rule_that_matches_counts() -> None:
    """And only that one."""
    loose, strict = Rule("a_*.json", {}), Rule("*_counts.json", SCHEMA)
    assert write(ValidateJSON([loose, strict]), "/out/a_counts.json", "{}") is None
    assert "/page: is missing" in reason(write(ValidateJSON([strict, loose]), "/out/a_counts.json", "{}"))


def test_a_pattern_with_a_slash_is_about_the_end_of_the_path() -> None:
    """`results/*.json` matches in a directory of that name, wherever it is."""
    rule = Rule("results/*.json", {})
    assert rule.matches("/a/results/x.json")
    assert rule.matches("/results/x.json")
    assert not rule.matches("/a/old-results/x.json")
    assert not rule.matches("/a/x.json")


def test_a_file_belongs_into_the_output_directory(tmp_path: Path) -> None:
    """There or below; elsewhere it is refused, and the right place named. Relative paths begin where the agent is."""
    out = tmp_path / "out"
    out.mkdir()
    validate = ValidateJSON([Rule("*_counts.json", SCHEMA)], out)
    for place in (out / "a_counts.json", out / "deep" / "er" / "a_counts.json", f"{out}/x/../a_counts.json"):
        assert write(validate, place, GOOD) is None
    for place in (tmp_path / "a_counts.json", f"{out}/../a_counts.json", f"{tmp_path}/out-2/a_counts.json"):
        assert f"Write it to {out}/a_counts.json" in reason(write(validate, place, GOOD))
    assert write(validate, tmp_path / "a.json", "anything") is None
    assert write(validate, "a_counts.json", GOOD, working_dir=str(out)) is None
    assert "does not belong" in reason(write(validate, "a_counts.json", GOOD, working_dir=str(tmp_path)))


def test_links_are_followed_before_the_place_is_judged(tmp_path: Path) -> None:
    """A link in the output directory that leads out, a link to it, and `link/..`, which is where the link leads."""
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere" / "deep"
    out.mkdir()
    elsewhere.mkdir(parents=True)
    (out / "leak").symlink_to(elsewhere)
    (out / "b_counts.json").symlink_to(elsewhere / "b_counts.json")
    (tmp_path / "alias").symlink_to(out)
    validate = ValidateJSON([Rule("*_counts.json", SCHEMA)], out)
    for name in ("leak/a_counts.json", "b_counts.json", "leak/../a_counts.json"):
        assert "does not belong" in reason(write(validate, out / name, GOOD)), name
    assert write(validate, tmp_path / "alias" / "a_counts.json", GOOD) is None
    assert write(ValidateJSON([Rule("*_counts.json", SCHEMA)], tmp_path / "alias"), out / "a_counts.json", GOOD) is None


def test_a_link_with_a_harmless_name_does_not_hide_a_file(tmp_path: Path) -> None:
    """The rule also applies to the real target of the write."""
    (tmp_path / "notes.txt").symlink_to("a_counts.json")
    assert "/page: is missing" in reason(write(counts(), tmp_path / "notes.txt", "{}"))


def test_a_schema_may_lie_in_a_file(tmp_path: Path) -> None:
    """Read once, when the rule is made."""
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    rule = Rule("*.json", path)
    path.unlink()
    assert rule.title == "Counts"
    assert rule.problems('{"page": "a"}') == ["/total: is missing"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"type": "text"}', r"the schema of \*.json is not a JSON Schema: /type: 'text' is not valid"),
        ('{"type": ', r"schema.json, is not JSON: line 1, column 10"),
        ("[]", r"schema.json, must be an object, not an empty list"),
    ],
)
def test_a_wrong_schema_is_refused_when_the_rule_is_made(tmp_path: Path, text: str, says: str) -> None:
    """Not when the first file is written."""
    (tmp_path / "schema.json").write_text(text)
    with pytest.raises(ValueError, match=says):
        Rule("*.json", tmp_path / "schema.json")


def test_the_schema_names_its_draft() -> None:
    """`$schema` is obeyed: in draft 4 `exclusiveMinimum` is a boolean."""
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": True}
    assert Rule("*.json", schema).problems("0") != []
    assert Rule("*.json", schema).problems("1") == []


def test_nothing_is_fetched_from_elsewhere() -> None:
    """A `$ref` to another document fails, which refuses the write; the server that it names is not asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(Exception, match=rf"Unresolvable.*{url}"):
            Rule("*.json", {"$ref": url}).problems("1")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_model_checks_as_well_as_a_schema() -> None:
    """Locations, findings, and pydantic's messages; JSON is read the way pydantic reads it."""
    rule = Rule("*.json", Counts)
    assert rule.title == "Counts"
    assert rule.problems('{"page": "a", "total": 2, "day": "2025-10-15"}') == []
    assert rule.problems('{"total": "x", "rows": [{"a": "b"}]}') == [
        "/page: is missing",
        '/total: Input should be a valid integer, unable to parse string as an integer (value: "x" (a string))',
        '/rows/0/a: Input should be a valid integer, unable to parse string as an integer (value: "b" (a string))',
    ]
    assert rule.problems('{"page": "\\ud800", "total": 1}') != []
    assert rule.problems('{"page": "a" "total": 1}') == ["it is not JSON: line 1, column 14: Expecting ',' delimiter"]


def test_a_strict_model_takes_dates_as_json_has_them() -> None:
    """JSON has no dates: a strict model that reads JSON takes them as strings."""

    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        day: date

    assert Rule("*.json", Strict).problems('{"day": "2025-10-15"}') == []


def test_a_validator_of_the_model_s_own_is_told() -> None:
    """Its message, at its place."""

    class Even(BaseModel):
        total: int

        @field_validator("total")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("it is odd")
            return value

    assert Rule("*.json", Even).problems('{"total": 3}') == ["/total: Value error, it is odd (value: 3 (a number))"]


def test_a_class_that_is_no_model_is_refused() -> None:
    """With its name."""
    with pytest.raises(TypeError, match="must be a pydantic model, not the class int"):
        Rule("*.json", int)


@pytest.mark.parametrize(("package", "schema"), [("jsonschema", "{}"), ("pydantic", "int")])
def test_a_missing_package_is_named_when_the_rule_is_made(package: str, schema: str) -> None:
    """With the command that installs it; importing the bundles needs neither."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from hookrun.recipes.validate_json import Rule\n"
        f"try: Rule('*.json', {schema})\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"the rule for *.json needs the package {package}: pip install hookrun[validate]\n"


@pytest.mark.slow
def test_a_schema_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the rule is created: later files use the same validator."""
    schema = {"properties": {f"p{number}": {"type": "integer", "minimum": 0} for number in range(1000)}}
    made: list[object] = []
    check_schema = Draft202012Validator.check_schema

    def compiled(schema: Any, **more: Any) -> None:
        made.append(schema)
        check_schema(schema, **more)

    monkeypatch.setattr(Draft202012Validator, "check_schema", compiled)
    validate = ValidateJSON([Rule("*.json", schema)])
    assert made == [schema]
    for _ in range(3):
        assert write(validate, "/out/a.json", '{"p1": 1}') is None
        assert write(validate, "/out/a.json", '{"p1": -1}') is not None
    assert made == [schema]
