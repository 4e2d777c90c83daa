"""Which hooks apply: globs as `fnmatch` has them, matchers on both names, conditions on dotted paths, and why not."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings, strategies as st

from hookrun.core import conditions, fastjson, globs
from hookrun.core.model import Hook
from hookrun.fire import dry_run
from tests.applies import applies
from tests.rows import rows

Conditions = Mapping[str, Sequence[str]]

MEGABYTE = 1_000_000


# --- globs

LETTERS = "ab/\n.-]!^[\\"
letters = st.sampled_from(LETTERS)


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, str]:
    """Return a piece of a pattern and a text that it is likely to describe."""
    kind = draw(st.sampled_from(["letter", "letter", "any", "star", "set", "not", "range"]))
    letter = draw(letters)
    members = draw(st.lists(letters, min_size=1, max_size=3))
    if kind == "letter":
        return letter, letter
    if kind == "any":
        return "?", letter
    if kind == "star":
        return "*", draw(st.text(letters, max_size=4))
    if kind == "set":
        return f"[{''.join(members)}]", members[0]
    if kind == "not":
        return f"[!{''.join(members)}]", letter
    low, high = sorted((letter, members[0]))
    return f"[{low}-{high}]", draw(st.sampled_from([low, high, "M", "0"]))


@st.composite
def likely(draw: st.DrawFn) -> tuple[str, str]:
    """Return a pattern and a text made from it, sometimes with one character too many or too few."""
    pairs = draw(st.lists(pieces(), max_size=7))
    pattern, text = "".join(one for one, _ in pairs), "".join(other for _, other in pairs)
    place = draw(st.integers(0, len(text)))
    change = draw(st.sampled_from(["", "", "", "add", "drop"]))
    if change == "add":
        text = text[:place] + draw(letters) + text[place:]
    elif change == "drop":
        text = text[:place] + text[place + 1 :]
    return pattern, text


@pytest.mark.slow
@settings(max_examples=400)
@given(likely())
def test_a_text_made_from_a_pattern_matches_as_in_fnmatch(pair: tuple[str, str]) -> None:
    """Patterns of every piece there is, with texts that nearly fit: the answer is that of fnmatchcase."""
    pattern, text = pair
    assert globs.glob(pattern, text) is fnmatchcase(text, pattern)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.text(st.sampled_from("ab*?[]!-^&~|\\\n/"), max_size=12), st.text(letters, max_size=8))
def test_any_pattern_matches_as_in_fnmatch(pattern: str, text: str) -> None:
    """Any heap of special characters: the answer is that of fnmatchcase."""
    assert globs.glob(pattern, text) is fnmatchcase(text, pattern)


@rows(
    "pattern, text, expected",
    [
        ("*", "", True),
        ("*", "a\nb/c", True),
        ("git*push", "git \n push", True),
        ("*git push*", "cd /tmp/x && git push -f", True),
        ("a*b*c", "a/b/c", True),
        ("a*ba", "aba", True),
        ("ab*ba", "aba", False),
        ("?", "\n", True),
        ("?", "", False),
        ("a?", "a/", True),
        ("[!a]", "\n", True),
        ("[!a]", "a", False),
        ("[]a]", "]", True),
        ("[!]a]", "]", False),
        ("[!]a]", "b", True),
        ("[a-c]x", "bx", True),
        ("[a-c]x", "dx", False),
        ("[c-a]", "b", False),
        ("[a-]", "-", True),
        ("[-a]", "-", True),
        ("[--/]", ".", True),
        ("[a-b-c]", "-", True),
        ("[^a]", "^", True),
        ("[[]", "[", True),
        ("[\\]", "\\", True),
        ("[a&&b]", "&", True),
        ("[!b-a]", "x", True),
        ("[ab", "[ab", True),
        ("[ab", "a", False),
        ("x[!", "x[!", True),
        ("Bash", "bash", False),
        ("*.PY", "a.py", False),
        ("mcp__*__write_*", "mcp__fs__write_file", True),
        ("**", "", True),
        ("*a*a*", "a", False),
        ("é?", "é😀", True),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_globs(pattern: str, text: str, expected: bool) -> None:
    """`*` crosses newlines and `/`, sets have `!`, ranges and a first `]`, an unclosed `[` is itself, case counts."""
    assert globs.glob(pattern, text) is fnmatchcase(text, pattern) is expected


@rows(
    "pattern, expected",
    [("*a*b*c*", False), ("*x*y*z*", True), ("*?x*[!x]y*[a-z]z*", True), ("*?" * 10, True), ("*x" * 12, False)],
)
def test_a_megabyte_is_matched(pattern: str, expected: bool) -> None:
    """Many stars on a megabyte do not try every way to share it out among them."""
    text = "a" * (MEGABYTE // 2) + "xxyyzz" + "b" * (MEGABYTE // 2)
    assert globs.glob(pattern, text) is expected


# --- matchers


def hook(**fields: object) -> Hook:
    """Return a hook called `h` of pre_tool_use."""
    return Hook.from_dict({"name": "h", "events": ["pre_tool_use"], **fields})


@rows(
    "matcher, names, expected",
    [
        (None, ("bash", "Bash"), True),
        (None, (None, None), True),
        (["bash"], ("bash", "run_shell_command"), True),
        (["run_*"], ("bash", "run_shell_command"), True),
        (["write", "edit"], ("edit", None), True),
        (["write", "edit"], ("read", "Read"), False),
        (["Bash"], ("bash", None), False),
        (["Bash"], ("bash", "Bash"), True),
        (["bas"], ("bash", "Bash"), False),
        (["*"], (None, None), False),
        (["*"], (None, "Bash"), True),
        ([], ("bash", "Bash"), False),
    ],
)
def test_a_matcher_is_tried_on_the_canonical_and_on_the_agents_name(
    matcher: list[str] | None, names: tuple[str | None, str | None], expected: bool
) -> None:
    """Any alternative may fit either name; no matcher fits everything, and without a tool no matcher fits."""
    context = {"tool_name": names[0], "agent_tool_name": names[1]}
    assert applies(hook(matcher=matcher), context) is expected


@rows(
    "agents, agent, expected",
    [
        (None, "codex", True),
        (None, None, True),
        (["codex", "claude"], "codex", True),
        (["claude"], "codex", False),
        (["c*"], "codex", False),
        (["claude"], None, False),
    ],
)
def test_agents_are_named_and_not_matched(agents: list[str] | None, agent: str | None, expected: bool) -> None:
    """A hook for some agents runs for these only, and not where no agent is known."""
    assert applies(hook(agents=agents), {"agent": agent}) is expected


# --- when and unless


def flat(value: object) -> list[object]:
    """Return the elements of a list, of the lists in it too; of anything else just that."""
    return [deep for one in value for deep in flat(one)] if isinstance(value, list) else [value]


def found(value: object, parts: list[str], *, every: bool) -> list[object]:
    """Return the value at the path, slowly: by `every` reading of keys with dots, or the first, most steps first."""
    if not parts:
        return flat(value)
    if isinstance(value, list):
        if parts[0].isdecimal() and int(parts[0]) < len(value):
            return found(value[int(parts[0])], parts[1:], every=every)
        return [deep for one in value for deep in found(one, parts, every=every)]
    readings: list[object] = []
    if isinstance(value, dict):
        for size in range(1, len(parts) + 1):
            if ".".join(parts[:size]) in value and (every or not readings):
                readings += found(value[".".join(parts[:size])], parts[size:], every=every)
    return readings


def reference_holds(conditions: Conditions, context: Mapping[str, object], *, every: bool = True) -> bool:
    """Return whether all conditions match, by trying every glob on every value as text."""
    for path, patterns in conditions.items():
        candidates = [
            value
            for value in found(dict(context), path.split("."), every=every)
            if isinstance(value, (str, int, float))
        ]
        texts = [value if isinstance(value, str) else json.dumps(value) for value in candidates]
        if not any(fnmatchcase(text, pattern) for text in texts for pattern in patterns):
            return False
    return True


keys = st.sampled_from(["a", "b", "a.b", "b.a", "0", "1", "a.0"])
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.5, 1.0, 1e22, "a", "b", "", "a/b\n", "1", "true"])
)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=10
)
contexts = st.dictionaries(keys, trees, max_size=4)
patterns = st.sampled_from(
    ["*", "a", "a*", "?", "1", "1.0", "true", "[!a]*", "null", "", "-*", "1e+22", "None", "True", "{*"]
)
globs_lists = st.lists(patterns, min_size=1, max_size=2)


def paths_in(value: object) -> Iterator[str]:
    """Yield dotted paths to the parts of a value, with indices of lists and without."""
    inner: list[tuple[str, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = [(str(index), one) for index, one in enumerate(value)]
        for one in value:
            yield from paths_in(one)
    for key, one in inner:
        yield key
        yield from (f"{key}.{path}" for path in paths_in(one))


@st.composite
def conditions_on(draw: st.DrawFn, context: dict[str, object]) -> dict[str, list[str]]:
    """Return conditions, most of them on a path that leads somewhere."""
    real = sorted(set(paths_in(context)))
    anywhere = st.lists(keys, min_size=1, max_size=3).map(".".join)
    paths = st.sampled_from(real) | anywhere if real else anywhere
    return draw(st.dictionaries(paths, globs_lists, min_size=1, max_size=2))


@pytest.mark.slow
@settings(max_examples=400)
@given(contexts, st.data())
def test_conditions_hold_as_the_slow_reference_says(context: dict[str, object], data: st.DataObject) -> None:
    """Any context, any dotted paths: `holds` is the reference, `when` needs it and `unless` forbids it."""
    drawn = data.draw(conditions_on(context))
    expected = reference_holds(drawn, context)
    assert (conditions.ConditionEvaluator(context).unmatched(drawn) is None) is expected
    assert applies(hook(when=drawn), context) is expected
    exempt = reference_holds(drawn, context, every=False)
    assert applies(hook(unless=drawn), context) is not exempt


@pytest.mark.slow
@given(contexts, st.data())
def test_one_view_answers_as_a_fresh_one_each_time(context: dict[str, object], data: st.DataObject) -> None:
    """What was looked up for one hook does not change the answer to the next, in any order, asked again too."""
    context |= {"tool_name": "bash", "agent_tool_name": "Bash"}
    drawn = data.draw(st.lists(conditions_on(context), min_size=2, max_size=4))
    matchers = data.draw(
        st.lists(st.lists(st.sampled_from(["b*", "B*", "x", "*"]), min_size=1), min_size=4, max_size=4)
    )
    view = conditions.ConditionEvaluator(context)
    for each, matcher in [*zip(drawn, matchers, strict=False)] * 2:
        fresh = conditions.ConditionEvaluator(context)
        assert view.unmatched(each) == fresh.unmatched(each)
        assert view.tool_matches(matcher) is fresh.tool_matches(matcher)
        assert (view.mismatch(matcher, each, None, None) is None) is (
            fresh.tool_matches(matcher) and fresh.unmatched(each) is None
        )


@rows(
    "path, pattern, expected",
    [
        ("tool_args.command", "*git push*", True),
        ("tool_args.command", "git push", False),
        ("tool_args.count", "3", True),
        ("tool_args.count", "3.0", False),
        ("tool_args.ratio", "0.5", True),
        ("tool_args.force", "true", True),
        ("tool_args.force", "True", False),
        ("tool_args.nothing", "*", False),
        ("tool_args.absent", "*", False),
        ("tool_args", "*", False),
        ("tool_args.command.deeper", "*", False),
        ("tool_args.edits", "*", False),
        ("tool_args.edits.new_string", "b", True),
        ("tool_args.edits.0.new_string", "a", True),
        ("tool_args.edits.0.new_string", "b", False),
        ("tool_args.edits.1.new_string", "b", True),
        ("tool_args.edits.2.new_string", "*", False),
        ("tool_args.edits.-1.new_string", "*", False),
        ("tool_args.paths", "two", True),
        ("tool_args.paths", "three", True),
        ("tool_args.paths.0", "two", False),
        ("tool_args.paths.1", "two", True),
        ("tool_args.paths.2", "four", True),
        ("tool_args.paths.2.1", "four", True),
        ("tool_args.paths.2.0", "four", False),
        ("tool_args.paths." + "1" * 5000, "*", False),  # a number that Python does not convert
        ("tool_args.dotted.key", "x", True),
        ("tool_args.dotted.key.in", "*", False),
        ("tool_args.dotted.way.in", "y", True),
        ("tool_args.empty", "*", True),
        ("tool_args.empty", "", True),
        ("tool_args.none_of_them", "*", False),
    ],
)
def test_conditions(path: str, pattern: str, expected: bool) -> None:
    """A path leads through objects, list elements and indices; null, objects and what is missing match nothing."""
    context = {
        "tool_args": {
            "command": "cd x\n git push /tmp",
            "count": 3,
            "ratio": 0.5,
            "force": True,
            "nothing": None,
            "empty": "",
            "none_of_them": [],
            "edits": [{"new_string": "a"}, {"new_string": "b"}],
            "paths": ["one", "two", ["three", "four"]],
            "dotted.key": "x",
            "dotted.way": {"in": "y"},
        }
    }
    assert (conditions.ConditionEvaluator(context).unmatched({path: [pattern]}) is None) is expected


def test_every_condition_must_hold_and_any_of_its_globs() -> None:
    """Keys are joined by and, the globs of one key by or."""
    context = {"a": "x", "b": "y"}
    assert conditions.ConditionEvaluator(context).unmatched({"a": ["q", "x"], "b": ["y"]}) is None
    assert conditions.ConditionEvaluator(context).unmatched({"a": ["x"], "b": ["x"]}) == "b"
    assert conditions.ConditionEvaluator(context).unmatched({}) is None


@rows(
    "arguments",
    [
        {"target": {"path": "/etc/passwd"}, "target.path": "harmless"},
        {"target.path": {"to": "x"}, "target": {"path": "/etc/passwd"}},
    ],
)
def test_a_decoy_key_with_a_dot_does_not_hide_a_value(arguments: dict[str, object]) -> None:
    """Who makes up the arguments cannot slip past a guard's condition with one more key that has a dot in it."""
    view = conditions.ConditionEvaluator({"tool_args": arguments})
    assert view.unmatched({"tool_args.target.path": ["/etc/*"]}) is None


# --- why not


@pytest.mark.slow
@settings(max_examples=300)
@given(
    contexts,
    st.sampled_from(["bash", "b", None]),
    st.sampled_from(["Bash", None]),
    st.sampled_from(["codex", None]),
    st.data(),
)
def test_why_not_is_none_exactly_when_the_hook_applies(
    context: dict[str, object], tool: str | None, native: str | None, agent: str | None, data: st.DataObject
) -> None:
    """The explanation and the decision never disagree, and the text has no control character in it."""
    context |= {"tool_name": tool, "agent_tool_name": native, "agent": agent}
    fields = {
        "matcher": data.draw(st.none() | st.lists(st.sampled_from(["b*", "Bash", "x"]), min_size=1, max_size=2)),
        "agents": data.draw(st.none() | st.just(["codex"])),
        "when": data.draw(st.none() | conditions_on(context)),
        "unless": data.draw(st.none() | conditions_on(context)),
    }
    candidate = hook(**fields)
    why = dry_run.explain_mismatch(candidate, context)
    assert (why is None) is applies(candidate, context)
    if why is not None:
        assert why.split(":")[0] in {name for name, value in fields.items() if value is not None}
        assert not any(unicodedata.category(char) == "Cc" for char in why)


@rows(
    "fields, expected",
    [
        ({"agents": ["claude", "gemini"]}, ["agents", '"claude"', '"gemini"', '"codex"']),
        ({"matcher": ["write", "edit"]}, ["matcher", '"write"', '"edit"', '"bash"']),
        (
            {"when": {"tool_args.command": ["*push*", "rm"]}},
            ["when", "tool_args.command", '"ls\\n\\u001b[31m"', '"*push*"', '"rm"'],
        ),
        ({"when": {"session_id": ["s*"], "tool_args.n": ["4"]}}, ["when", "tool_args.n", "3", '"4"']),
        ({"when": {"tool_args.absent": ["*"]}}, ["when", "tool_args.absent", "missing"]),
        ({"when": {"tool_args.null": ["*"]}}, ["when", "tool_args.null", "null"]),
        ({"unless": {"tool_args.command": ["ls*"]}}, ["unless", "tool_args.command", '"ls\\n\\u001b[31m"']),
        ({"when": {"a\x1b[2J": ["y"]}}, ["when"]),
        ({"unless": {"a\x1b[2J": ["x"]}}, ["unless"]),
    ],
)
def test_why_not_names_the_condition_and_the_value(fields: dict[str, object], expected: list[str]) -> None:
    """The text names the condition, the expected and the actual value; no control character, not even of a path."""
    arguments = {"command": "ls\n\x1b[31m", "n": 3, "null": None}
    context = {"agent": "codex", "tool_name": "bash", "session_id": "s1", "tool_args": arguments, "a\x1b[2J": "x"}
    why = dry_run.explain_mismatch(hook(**fields), context)
    assert why is not None
    assert why.startswith(f"{expected[0]}: ")
    assert [part for part in expected if part not in why] == []
    assert why.isprintable()


def test_a_matcher_of_claude_codes_form_need_not_name_a_tool() -> None:
    """Its matcher on a notification is compared with the kind: no hint says that the event has no tool."""
    candidate = hook(claude={"event": "Notification", "matcher": "idle_prompt"})
    why = dry_run.explain_mismatch(candidate, {"event": "notification"})
    assert why is not None
    assert why.startswith('matcher: "idle_prompt" does not list')
    assert "has no tool" not in why


@given(st.text(st.characters()) | trees)
def test_what_is_shown_is_short_and_printable(value: object) -> None:
    """Whatever the value, at most the given number of printable ASCII characters is shown."""
    text = fastjson.format_value(value, 20)
    assert len(text) <= 20
    assert text.isascii()
    assert text.isprintable()


def test_a_long_value_is_cut() -> None:
    """Long text ends in three dots, short text is complete."""
    assert fastjson.format_value("a" * 58) == '"' + "a" * 58 + '"'
    assert fastjson.format_value("a" * 100) == '"' + "a" * 56 + "..."
    assert fastjson.format_value([1] * 100, 10) == "[1,1,1,..."
