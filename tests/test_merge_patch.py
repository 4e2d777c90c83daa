"""Changes to arguments: RFC 7396 merge patches, and what is distinguished, put back and in conflict."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import assume, given, strategies as st

from hookrun.core import changes as merging
from tests.rows import rows

APPENDIX_A = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('["a","b"]', '["c","d"]', '["c","d"]'),
    ('{"a":"b"}', '["c"]', '["c"]'),
    ('{"a":"foo"}', "null", "null"),
    ('{"a":"foo"}', '"bar"', '"bar"'),
    ('{"e":null}', '{"a":1}', '{"e":null,"a":1}'),
    ("[1,2]", '{"a":"b","c":null}', '{"a":"b"}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]
"""The test cases of RFC 7396: original, patch, result."""

keys = st.sampled_from(["a", "b", "c", "a.b", ""])
scalars = st.sampled_from([None, True, False, 0, 1, 0.0, 1.0, "", "1", "a"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(keys, values, max_size=4)


def exact(value: object) -> str:
    """Return the value as text in which true, 1 and 1.0 differ and the order of keys does not show."""
    return json.dumps(value, sort_keys=True)


def set_in(target: dict[str, object], path: tuple[str, ...]) -> bool:
    """Return whether there is a value at this path of the object."""
    place: object = target
    for key in path:
        if not isinstance(place, dict) or key not in place:
            return False
        place = place[key]
    return True


@rows("original, patch, expected", APPENDIX_A)
def test_the_cases_of_rfc_7396(original: str, patch: str, expected: str) -> None:
    """Every test case of the RFC's appendix A gives the result it states."""
    assert exact(merging.merge_patch(json.loads(original), json.loads(patch))) == exact(json.loads(expected))


def reference_merge(target: object, patch: object) -> object:
    """Return what the pseudocode of RFC 7396 section 2 makes of copies of the two."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        target = {}
    for name, value in patch.items():
        if value is None:
            if name in target:
                del target[name]
        else:
            target[name] = reference_merge(target.get(name), value)
    return target


@given(values, values)
def test_merge_patch_is_the_pseudocode_of_the_rfc(target: object, patch: object) -> None:
    """Any target and patch: the result is that of the RFC's own algorithm."""
    expected = reference_merge(copy.deepcopy(target), copy.deepcopy(patch))
    assert exact(merging.merge_patch(target, patch)) == exact(expected)


@pytest.mark.slow
@given(objects, objects, objects)
def test_what_is_given_is_left_as_it_was(
    base: dict[str, object], one: dict[str, object], other: dict[str, object]
) -> None:
    """By merging and telling apart, and by changes that reach into values that earlier changes have set."""
    first, second = list(merging.diff(base, one)), list(merging.diff(base, other))
    before = repr((base, one, other, first, second))
    merged = merging.merge_patch(base, one)
    merging.apply(merging.apply(base, first), second)
    merging.apply(merged if isinstance(merged, dict) else {}, second)
    assert repr((base, one, other, first, second)) == before


@pytest.mark.slow
@given(objects, objects)
def test_applying_the_difference_gives_the_other(one: dict[str, object], other: dict[str, object]) -> None:
    """apply(a, diff(a, b)) is b, with true, 1 and 1.0 distinguished."""
    assert exact(merging.apply(one, merging.diff(one, other))) == exact(other)


@given(objects, objects)
def test_each_change_is_a_real_one(one: dict[str, object], other: dict[str, object]) -> None:
    """A path is named once, as set with the new value or as removed, and only where the two are not the same."""
    assert list(merging.diff(one, copy.deepcopy(one))) == []
    changes = list(merging.diff(one, other))
    paths = [path for path, _, _ in changes]
    assert len(set(paths)) == len(paths)
    for path, there, _ in changes:
        assert set_in(other, path) is there
        rest = [change for change in changes if change[0] != path]
        assert exact(merging.apply(one, rest)) != exact(other)


@rows("one, other", [(1, True), (0, False), (1, 1.0), ([1], [True]), ({"x": 0}, {"x": False})])
def test_values_that_python_calls_equal_are_told_apart(one: object, other: object) -> None:
    """True is not 1 and 1 is not 1.0, within lists and objects too."""
    assert not merging.json_equal(one, other)
    assert not merging.json_equal(other, one)
    assert len(list(merging.diff({"a": one}, {"a": other}))) == 1


@given(values, values)
def test_same_means_the_same_json(one: object, other: object) -> None:
    """Two values are the same when they are written the same, the order of keys aside."""
    assert merging.json_equal(one, other) is (exact(one) == exact(other))
    assert merging.json_equal(one, copy.deepcopy(one))


@given(objects, objects)
def test_equal_changes_are_no_conflict(base: dict[str, object], after: dict[str, object]) -> None:
    """Two hooks that want the same are of one mind."""
    changes = list(merging.diff(base, after))
    assert merging.conflicts(changes, list(merging.diff(base, copy.deepcopy(after)))) == []


@pytest.mark.slow
@given(objects, objects, objects)
def test_the_order_of_changes_decides_neither_a_conflict_nor_what_comes_out_without_one(
    base: dict[str, object], one: dict[str, object], other: dict[str, object]
) -> None:
    """Whichever is asked, or made, first."""
    first, second = list(merging.diff(base, one)), list(merging.diff(base, other))
    conflict = bool(merging.conflicts(first, second))
    assert bool(merging.conflicts(second, first)) is conflict
    assume(not conflict)
    forth = merging.apply(merging.apply(base, first), second)
    assert exact(forth) == exact(merging.apply(merging.apply(base, second), first))


@rows(
    "one, other, expected",
    [
        ({"a": 2}, {"a": 3}, [("a",)]),
        ({"a": 2}, {"a": 2}, []),
        ({"a": 1}, {"a": True}, [("a",)]),
        ({"a": 2}, {"a": 0, "b": 2}, []),
        ({}, {"a": 2}, [("a",)]),
        ({}, {}, []),
        ({"a": 1, "c": {"x": 2}}, {"a": 1, "c": {"y": 2}}, []),
        ({"a": 1, "c": {"x": 2}}, {"a": 1, "c": {"x": 3}}, [("c", "x")]),
        ({"a": 1, "c": 5}, {"a": 1, "c": {"x": 3}}, [("c",)]),
        ({"a": 1, "c": {"x": 3}}, {"a": 1, "c": 5}, [("c", "x")]),
        ({"a": 1, "ca": 5}, {"a": 1, "c": {}}, []),
    ],
)
def test_what_conflicts(one: dict[str, object], other: dict[str, object], expected: list[tuple[str, ...]]) -> None:
    """Two changes conflict where they touch the same path, or one within the other, and do not leave the same."""
    base: dict[str, object] = {"a": 0, "c": {}}
    first, second = list(merging.diff(base, {"c": {}, **one})), list(merging.diff(base, {"c": {}, **other}))
    assert merging.conflicts(first, second) == expected
