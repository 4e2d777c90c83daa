"""All config files together: which are effective, in what order their hooks run, and errors in the files themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrun.config.discovery import find
from hookrun.config.load import load_config
from tests.config.declared import examined, warnings
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from hookrun.config.load import Declarations


class House:
    """A repository with a directory in it, a home, and a place for managed declarations."""

    def __init__(self, path: Path) -> None:
        """Make the directories."""
        self.root = path / "repo"
        self.sub = self.root / "sub"
        self.home = path / "home"
        self.user = self.home / ".config" / "hookrun"
        self.managed = path / "managed"
        for directory in (self.root / ".git", self.sub, self.user, self.managed):
            directory.mkdir(parents=True)

    def compile(self, config: str | None = None) -> Declarations:
        """Compile the effective config in a directory inside the repository."""
        return load_config(find(str(self.sub), str(self.home), config=config, managed=str(self.managed))).declarations

    def names(self) -> list[str]:
        """Return the names of the hooks in running order."""
        return [hook.name for hook in self.compile().hooks]


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Return a house without declarations."""
    return House(tmp_path)


def declare(path: Path, *names: str, settings: object = None, **fields: object) -> None:
    """Write a file with hooks of these names, with these fields, and the settings."""
    hooks = [{"name": name, "event": "stop", "command": "/x", **fields} for name in names]
    path.write_text(json.dumps({"hooks": hooks, **({} if settings is None else {"hookrun": settings})}))


def test_nothing_declared(house: House) -> None:
    """Without any file there are no hooks, no errors, no root, and the settings have their defaults."""
    declarations = house.compile()
    assert (declarations.hooks, declarations.problems, declarations.events) == ([], [], [])
    assert (declarations.root, declarations.files) == (None, [])
    audit = {"max_bytes": 10485760, "keep": 5, "details": "summary"}
    assert declarations.settings == {"audit": audit}


def test_layers_then_priority_then_as_declared(house: House) -> None:
    """Managed hooks run before user, project and local ones, whatever their priority."""
    declare(house.root / "coder.local.json", "local", priority=0)
    declare(house.root / "coder.json", "project-b", "project-c", priority=7)
    declare(house.user / "hooks.json", "user", priority=1000)
    declare(house.managed / "hooks.json", "managed", priority=1000)
    assert house.names() == ["managed", "user", "project-b", "project-c", "local"]
    assert [hook.layer for hook in house.compile().hooks] == ["managed", "user", "project", "project", "local"]


def test_priority_within_a_layer(house: House) -> None:
    """A lower priority runs first; a wrong hook keeps its place."""
    entries = [
        {"name": "c", "event": "stop", "command": "x"},
        {"name": "b", "event": "stop", "command": "x", "priority": 3, "timeout": 0},
        {"name": "a", "event": "stop", "command": "x", "priority": 1},
    ]
    (house.root / "coder.json").write_text(json.dumps({"hooks": entries}))
    assert house.names() == ["a", "b", "c"]


def test_yaml_and_json_declare_the_same(house: House) -> None:
    """The same declaration gives the same hook in either language."""
    declare(house.root / "coder.json", "a", timeout=3)
    made = house.compile().hooks[0].to_dict()
    (house.root / "coder.json").unlink()
    (house.root / "hookrun.yaml").write_text("hooks:\n- {name: a, event: stop, command: /x, timeout: 3}\n")
    other = house.compile().hooks[0].to_dict()
    differing = {name for name in made if made[name] != other[name]}
    assert differing == {"source", "line"}


def test_nearest_directory_is_the_project(house: House) -> None:
    """Files further up are ignored, and the root is where the nearest one is."""
    declare(house.root / "coder.json", "far")
    assert (house.names(), house.compile().root) == (["far"], str(house.root))
    declare(house.sub / "coder.local.json", "near")
    assert (house.names(), house.compile().root) == (["near"], str(house.sub))


def test_files_of_other_programs_have_no_say(house: House) -> None:
    """A coder.json without hooks or settings of ours is no project, and no error."""
    declare(house.root / "coder.json", "far")
    (house.sub / "coder.json").write_text('{"model": "x", "hooksy": 1}')
    (house.sub / "hookrun.yaml").write_text("$schema: x\n")
    declarations = house.compile()
    assert ([hook.name for hook in declarations.hooks], declarations.problems) == (["far"], [])
    assert str(house.sub / "coder.json") in declarations.files


def test_near_miss_at_the_top_is_a_warning(tmp_path: Path) -> None:
    """A coder.json with `hook` is left alone, but with a warning."""
    result = examined(tmp_path / "coder.json", {"hook": []})
    assert [warning.hint for warning in warnings(result)] == ['did you mean "hooks"?']
    assert result.declarations.problems == []


@rows("text", ["{", "", "[]", "\xff"])
def test_unreadable_file_is_the_project(house: House, text: str) -> None:
    """A file that cannot be read may have hooks: it is chosen, with a problem, and files further up are ignored."""
    declare(house.root / "coder.json", "far")
    (house.sub / "coder.json").write_bytes(text.encode("latin-1"))
    declarations = house.compile()
    assert (declarations.hooks, declarations.root) == ([], str(house.sub))
    assert len(declarations.problems) == 1
    assert declarations.problems[0].startswith(f"{house.sub}/coder.json:1:")


def test_unreadable_file_leaves_the_other_layers_in_force(house: House) -> None:
    """An error in one file does not disable another."""
    declare(house.user / "hooks.json", "user")
    (house.root / "coder.json").write_text("{")
    declarations = house.compile()
    assert [hook.name for hook in declarations.hooks] == ["user"]
    assert len(declarations.problems) == 1


@pytest.mark.parametrize(
    ("layer", "first", "second"),
    [
        ("root", "coder.json", "hookrun.yaml"),
        ("root", "coder.json", "hookrun.yml"),
        ("user", "hooks.json", "hooks.yaml"),
        ("managed", "hooks.json", "hooks.yml"),
    ],
)
def test_two_files_with_hooks_in_one_layer(house: House, layer: str, first: str, second: str) -> None:
    """Both having hooks is an error that names both; no hook is lost by it."""
    directory: Path = getattr(house, layer)
    declare(directory / first, "a")
    declare(directory / second, "b")
    declarations = house.compile()
    assert [hook.name for hook in declarations.hooks] == ["a", "b"]
    assert len(declarations.problems) == 1
    assert first in declarations.problems[0]
    assert second in declarations.problems[0]


def test_settings_beside_hooks_in_another_file(house: House) -> None:
    """One file with the hooks and one with settings is no error."""
    declare(house.root / "coder.json", "a")
    (house.root / "hookrun.yaml").write_text("hookrun: {events: [mine]}\n")
    declarations = house.compile()
    assert (declarations.problems, declarations.events) == ([], ["mine"])


def test_named_file_stands_in_for_the_project(house: House) -> None:
    """With a named file the project's own are ignored, and the root is where it is; it is an error if it is missing."""
    declare(house.root / "coder.json", "far")
    declare(house.home / "other.json", "named")
    declarations = house.compile(str(house.home / "other.json"))
    assert [hook.name for hook in declarations.hooks] == ["named"]
    assert (declarations.root, declarations.hooks[0].layer) == (str(house.home), "project")
    (problem,) = house.compile(str(house.root / "none.json")).problems
    assert "no such file" in problem


def test_hooks_may_be_nested(tmp_path: Path) -> None:
    """`{"hooks": {"hooks": [...]}}` is the same list one level down, and messages know where it is."""
    data = {"hooks": {"hooks": [{"event": "stop", "command": "x"}, {}]}}
    declarations = examined(tmp_path / "a.json", data).declarations
    assert len(declarations.hooks) == 1
    assert "the hook has no event" in declarations.problems[0]


def test_unknown_key_at_the_top_of_our_own_files(house: House) -> None:
    """In files that are hookrun's alone a key that is not known is an error; `$schema` is known."""
    (house.user / "hooks.json").write_text('{"$schema": "x", "hook": []}')
    declarations = house.compile()
    assert len(declarations.problems) == 1
    assert 'did you mean "hooks"?' in declarations.problems[0]


def test_settings_of_managed_win_over_user(house: House) -> None:
    """A user cannot change settings of the managed layer, only those that it leaves open."""
    declare(house.user / "hooks.json", settings={"on_error": "continue", "audit": {"keep": 2, "details": "full"}})
    declare(house.managed / "hooks.json", settings={"on_error": "block"})
    audit = {"max_bytes": 10485760, "keep": 2, "details": "full"}
    assert house.compile().settings == {"on_error": "block", "audit": audit}
    declare(house.managed / "hooks.json", settings={"audit": {"details": "none"}})
    assert house.compile().settings["audit"] == {"max_bytes": 10485760, "keep": 5, "details": "none"}
    declare(house.managed / "hooks.json", settings={"audit": False})
    assert house.compile().settings["audit"] is False


def test_included_files_follow_the_file_that_includes_them(house: House) -> None:
    """Includes are relative to their file, of the same layer, and take its defaults along."""
    (house.root / "more").mkdir()
    (house.root / "more" / "deep.yaml").write_text("hooks:\n- {name: deep, event: stop, command: ./x}\n")
    declare(house.root / "more" / "b.json", "b", settings={"include": ["deep.yaml"], "defaults": {"priority": 400}})
    settings = {"include": ["more/b.json", "~/c.json"], "defaults": {"timeout": 3, "priority": 450}}
    declare(house.root / "coder.json", "a", settings=settings)
    declare(house.home / "c.json", "c")
    declarations = house.compile()
    assert declarations.problems == []
    assert [(hook.name, hook.timeout, hook.priority) for hook in declarations.hooks] == [
        ("b", 3.0, 400),
        ("deep", 3.0, 400),
        ("a", 3.0, 450),
        ("c", 3.0, 450),
    ]
    assert {hook.layer for hook in declarations.hooks} == {"project"}
    assert [path.rpartition("/")[2] for path in declarations.files] == ["coder.json", "b.json", "deep.yaml", "c.json"]


def test_file_that_is_included_twice_counts_once(house: House) -> None:
    """Two ways to one file do not run its hooks twice."""
    declare(house.root / "b.json", "b")
    declare(house.root / "coder.json", "a", settings={"include": ["b.json", "./b.json"]})
    assert house.names() == ["a", "b"]


@rows(
    "include, message",
    [
        ("none.json", 'included file not found: "none.json"'),
        ("coder.json", 'circular include of "coder.json"'),
        ("round.json", 'circular include of "coder.json"'),
        ("deep0.json", "includes nested more than 8 levels deep"),
        ("broken.json", "unexpected end of file"),
        ("empty.json", 'included file has no hooks: "empty.json"'),
    ],
)
def test_includes_that_go_wrong(house: House, include: str, message: str) -> None:
    """A missing, broken, circular, too deep or foreign include is an error; the other hooks stay in force."""
    declare(house.root / "coder.json", "a", settings={"include": [include]})
    declare(house.root / "round.json", "r", settings={"include": ["coder.json"]})
    for depth in range(12):
        declare(house.root / f"deep{depth}.json", f"d{depth}", settings={"include": [f"deep{depth + 1}.json"]})
    (house.root / "broken.json").write_text("{")
    (house.root / "empty.json").write_text("{}")
    declarations = house.compile()
    assert declarations.hooks[0].name == "a"
    assert len(declarations.problems) == 1
    assert message in declarations.problems[0]
    assert any(path.endswith(include) for path in declarations.files)


def test_events_are_shared_with_the_layers_below(house: House) -> None:
    """An event that the user layer declares can be used by the project."""
    declare(house.user / "hooks.json", settings={"events": ["mine"]})
    declare(house.root / "coder.json", "project", event="mine")
    assert house.compile().problems == []


def test_a_projects_events_do_not_excuse_a_mistake_above_it(house: House) -> None:
    """A misspelt event in a user's hook stays an error when a project declares an event of that name."""
    declare(house.root / "coder.json", settings={"events": ["pre_tool_ues"]})
    declare(house.user / "hooks.json", "user", event="pre_tool_ues")
    assert "unknown event" in house.compile().problems[0]


def test_file_that_could_not_be_looked_at_is_trouble(house: House) -> None:
    """A declaration file that is a directory is not silence."""
    (house.user / "hooks.json").mkdir()
    declarations = house.compile()
    assert ": is a directory;" in declarations.problems[0]


NO_LIST = "`hooks` must be a list of hooks, not "


@rows(
    "data, message",
    [
        ([{"event": "stop", "command": "x"}], 'the file must be an object, not [{"event": "stop", '),
        ({"hooks": [], "hookrun": {"include": [{"gti": "x"}]}}, 'unknown include field "gti"'),
        *(({"hooks": hooks}, NO_LIST) for hooks in (None, "x", 5, {}, {"a": 1})),
        ({"hooks": {"pre_tool_use": [{"command": "x"}]}}, f'{NO_LIST}{{"pre_tool_use"'),
        ({"hooks": {"pre_tool_use": [{"command": "x"}]}}, 'write "hooks": [{"event": "pre_tool_use", "command": ...}]'),
        ({"hooks": {"PreToolUse": [{"hooks": []}], "pre_tool_use": []}}, 'Claude Code has no event "pre_tool_use"'),
        ({"hooks": {"PreToolUze": [{"hooks": []}]}}, 'no event "PreToolUze"; did you mean "PreToolUse"?'),
        ({"hooks": {"stop": [{"hooks": []}]}}, 'no event "stop"; did you mean "Stop"?'),
        ({"hooks": {"hooks": [{"hooks": []}]}}, "a group in Claude Code's form in a list of hooks"),
    ],
)
def test_a_file_of_another_form(tmp_path: Path, data: object, message: str) -> None:
    """It is one error: an object of events is Claude Code's form only if it has groups; a hint shows what fits."""
    (problem,) = examined(tmp_path / "a.json", data).declarations.problems
    assert message in problem


def test_a_link_out_of_a_project_keeps_its_hooks(house: House, tmp_path: Path) -> None:
    """What is there beyond the link counts instead only if guards were approved there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (house.home / ".local/share/hookrun/guards").mkdir(parents=True)  # of another project
    declare(house.root / "coder.json", "format")
    (house.sub / "link").symlink_to(elsewhere)
    house.sub /= "link"
    assert house.names() == ["format"]
