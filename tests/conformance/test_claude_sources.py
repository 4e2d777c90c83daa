"""Where Claude Code's hooks are read from and what their fields come to, rule by rule."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.config.cache_writer import load_compiled
from hookrun.config.discovery import find
from hookrun.config.load import load_config
from tests.applies import form_of
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.config.load import LoadedConfig
    from hookrun.core.model import Hook


class House:
    """A repository with a directory in it, a home, and a place for managed declarations."""

    def __init__(self, path: Path) -> None:
        """Make the directories."""
        self.root = path / "repo"
        self.sub = self.root / "sub"
        self.home = path / "home"
        self.managed = path / "managed"
        for directory in (self.root / ".git", self.root / ".claude", self.sub, self.home, self.managed):
            directory.mkdir(parents=True)
        self.shared = self.root / ".claude" / "settings.json"
        self.local = self.root / ".claude" / "settings.local.json"
        self.own = self.home / ".claude" / "settings.json"
        self.central = self.managed / "claude-code" / "managed-settings.json"

    def examine(self, config: Path | None = None, cwd: Path | None = None) -> LoadedConfig:
        """Examine the effective config in the repository."""
        named = str(config) if config is not None else None
        return load_config(find(str(cwd or self.root), str(self.home), config=named, managed=str(self.managed)))

    def names(self) -> dict[str, str]:
        """Return the hooks in running order and their layers."""
        return {hook.name: hook.layer for hook in self.examine().declarations.hooks}

    def include(self, layer: str = "project") -> None:
        """Let the declarations of a layer take in Claude Code's settings."""
        paths = {"project": self.root / "coder.json", "user": self.home / ".config" / "hookrun" / "hooks.json"}
        write(paths[layer], {"hookrun": {"include_claude": True}})


def write(path: Path, data: object) -> None:
    """Write JSON, and the directories on the way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


def handler(name: str = "x", **fields: object) -> dict[str, object]:
    """Return a handler that runs `/bin/NAME`."""
    return {"type": "command", "command": f"/bin/{name}", **fields}


def settings(*handlers: dict[str, object], event: str = "PreToolUse", **more: object) -> dict[str, object]:
    """Return settings with these handlers in one group, which gets `matcher`; other keys are top-level."""
    group = {"hooks": [*handlers], **({"matcher": more.pop("matcher")} if "matcher" in more else {})}
    return {"hooks": {event: [group]}, **more}


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Return a house without declarations."""
    return House(tmp_path)


def one(house: House, data: object) -> Hook:
    """Return the only hook of these settings."""
    write(house.shared, data)
    (hook,) = house.examine(house.shared).declarations.hooks
    return hook


# --- 2.1: the shape


def test_2_1_a_map_of_events_and_groups(house: House) -> None:
    """A handler is a hook of its event, in Claude's dialect."""
    hook = one(house, settings(handler("guard"), matcher="Bash|Edit", permissions={"allow": []}, model="x"))
    assert (hook.name, hook.events, hook.kind, hook.target) == ("guard", ["pre_tool_use"], "command", "/bin/guard")
    assert (hook.dialect, hook.cwd, hook.parallel, hook.error) == ("claude", "event", True, None)
    own = str(house.root)
    assert form_of(hook) == {"event": "PreToolUse", "matcher": "Bash|Edit", "own": own}


def test_2_1_unknown_events_are_ignored(house: House) -> None:
    """They are no error; the others run."""
    write(house.shared, {"hooks": {"PreTooluse": [{"hooks": [handler()]}], "Stop": [{"hooks": [handler()]}]}})
    examined = house.examine(house.shared)
    assert [hook.events for hook in examined.declarations.hooks] == [["stop"]]
    assert examined.declarations.problems == []
    (problem,) = examined.problems
    assert (problem.severity, problem.hint) == ("warning", 'did you mean "PreToolUse"?')


def test_2_1_a_malformed_entry_does_not_take_the_others_with_it(house: House) -> None:
    """A malformed group or handler is reported as a problem; the valid ones run."""
    groups = [5, {"matcher": "Bash"}, {"hooks": [handler("good"), "x", {"type": "command"}]}]
    write(house.shared, {"hooks": {"PreToolUse": groups, "Stop": {"hooks": []}}})
    declarations = house.examine(house.shared).declarations
    assert [hook.name for hook in declarations.hooks if hook.error is None] == ["good"]
    assert [hook.error is not None for hook in declarations.hooks] == [False, True]
    assert len(declarations.problems) == 4


def test_2_1_a_matcher_that_is_a_list_fails_its_group_only(house: House) -> None:
    """Claude Code rejects the whole file, which is clearly reported; in other agents the guards beside it run."""
    data = settings(handler())
    data["hooks"] = {"Stop": [{"hooks": [handler()]}], "PreToolUse": [{"matcher": ["Bash"], "hooks": [handler()]}]}
    write(house.shared, data)
    declarations = house.examine(house.shared).declarations
    assert [(hook.events, hook.error is not None) for hook in declarations.hooks] == [
        (["stop"], False),
        (["pre_tool_use"], True),
    ]
    (problem,) = declarations.problems
    assert "Claude Code rejects the whole file" in problem
    assert "`matcher` must be a string" in problem


def test_2_1_comments_are_an_error(house: House) -> None:
    """Settings are strict JSON."""
    house.shared.write_text('{"hooks": {}} // none')
    (problem,) = house.examine(house.shared).declarations.problems
    assert "settings.json:1:15" in problem


def test_2_1_extra_keys_are_tolerated(house: House) -> None:
    """Neither in a group nor in a handler does an unknown key matter."""
    data = settings(handler(id="a", rewakeMessage="b"), matcher="Bash")
    write(house.shared, data)
    examined = house.examine(house.shared)
    assert (len(examined.declarations.hooks), examined.problems) == (1, [])


# --- 2.2: the fields of a handler


PYTHON = ["python3", "${CLAUDE_PROJECT_DIR}/a.py"]
BY_ARGS: dict[str, object] = {"command": PYTHON[0], "args": PYTHON[1:]}
ASYNC: dict[str, object] = {"async": True, "onFailure": "block"}


@rows(
    "event, fields, expected",
    [
        # timeouts are seconds, with the documentation's default for each event
        ("PreToolUse", {}, {"timeout": 600, "on_failure": "continue"}),
        ("PreToolUse", {"timeout": 5}, {"timeout": 5}),
        ("PreToolUse", {"timeout": 0.5}, {"timeout": 0.5}),
        ("UserPromptSubmit", {}, {"timeout": 30}),
        ("MessageDisplay", {}, {"timeout": 10}),
        ("SessionEnd", {}, {"timeout": 1.5}),
        ("SessionEnd", {"timeout": 20}, {"timeout": 20}),
        ("SessionEnd", {"timeout": 100}, {"timeout": 60}),
        ("Stop", {}, {"timeout": 600}),
        # with `args` the command is the program, which is run without a shell
        ("PreToolUse", BY_ARGS, {"kind": "args", "target": PYTHON, "look": PYTHON}),
        ("PreToolUse", {"args": []}, {"kind": "args", "target": ["/bin/x"]}),
        # in the background a hook cannot refuse
        ("PreToolUse", ASYNC, {"background": True, "on_failure": "continue"}),
        ("PreToolUse", {"asyncRewake": True, "timeout": 7}, {"timeout": 7}),
        ("PreToolUse", {"onFailure": "block"}, {"on_failure": "block"}),
        ("PreToolUse", {"onFailure": "continue"}, {"on_failure": "continue"}),
        ("PreToolUse", {"onFailure": "deny"}, {"on_failure": "block"}),
        ("PreToolUse", {"onFailure": "Continue"}, {"on_failure": "block"}),
        ("Stop", {"onFailure": "block"}, {"on_failure": "continue"}),
        ("SubagentStop", {"onFailure": "block"}, {"on_failure": "continue"}),
        ("PostToolUse", {"onFailure": "block"}, {"on_failure": "block"}),
        # PowerShell is not run, but where there are `args` the field is ignored
        ("PreToolUse", {"args": ["-c", "x"], "shell": "powershell"}, {"error": None}),
        ("PreToolUse", {"onFailure": "block", "shell": "powershell"}, {"on_failure": "block"}),
    ],
)
def test_2_2_what_a_handlers_fields_come_to(
    house: House, event: str, fields: dict[str, object], expected: dict[str, object]
) -> None:
    """`onFailure` has its effect except at events that never fail this way."""
    hook = one(house, settings({**handler(), **fields}, event=event))
    assert {name: getattr(hook, name) for name in expected} == expected


def test_2_2_on_failure_of_a_group_does_nothing(house: House) -> None:
    """Only the handler's counts."""
    write(house.shared, {"hooks": {"PreToolUse": [{"onFailure": "block", "hooks": [handler()]}]}})
    examined = house.examine(house.shared)
    assert examined.declarations.hooks[0].on_failure == "continue"
    assert "`onFailure` has no effect beside `hooks`" in str(examined.problems[0])


def test_2_2_http_headers_use_listed_variables_only(house: House) -> None:
    """Others are empty."""
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Other": "a$OTHER"}
    given: dict[str, object] = {
        "type": "http",
        "url": "http://localhost:9/x",
        "headers": headers,
        "allowedEnvVars": ["TOKEN"],
    }
    hook = one(house, settings(given))
    assert (hook.kind, hook.target, hook.allowed_env) == ("url", "http://localhost:9/x", ["TOKEN"])
    assert hook.headers == {"Authorization": "Bearer ${TOKEN}", "X-Other": "a"}


ONLY_CLAUDE = 'only Claude Code can run handlers of type "{}"'


@rows(
    "given, message",
    [
        *(({"type": each, "prompt": "x"}, ONLY_CLAUDE.format(each)) for each in ("prompt", "agent", "mcp_tool")),
        ({"type": "command", "command": "x", "shell": "powershell"}, "does not run PowerShell"),
        ({"type": "comand", "command": "x"}, 'did you mean "command"?'),
        ({"command": "x"}, "the handler has no `type`"),
        ({"type": "command"}, "needs `command`"),
        ({"type": "http"}, "needs `url`"),
        ({"type": "command", "command": "x", "timeout": "5"}, "`timeout` must be a number"),
        ({"type": "http", "url": "ftp://x"}, "an http or https URL"),
    ],
)
def test_2_2_what_is_wrong_with_a_handler_is_its_failure(house: House, given: dict[str, object], message: str) -> None:
    """The hook keeps its place."""
    assert message in str(one(house, settings(given)).error)


# --- 2.5: where settings are


def test_2_5_named_settings_stand_in_for_the_project(house: House) -> None:
    """The root is the directory that `.claude` is in, and nothing else of the project's counts."""
    write(house.shared, settings(handler("shared")))
    write(house.root / "coder.json", {"hooks": [{"event": "stop", "command": "/bin/mine"}]})
    declarations = house.examine(house.shared).declarations
    assert [hook.name for hook in declarations.hooks] == ["shared"]
    assert declarations.root == str(house.root)


def test_2_5_included_settings_are_of_the_layer_that_includes_them(house: House) -> None:
    """By their path, and settings without hooks are no mistake."""
    write(house.shared, settings(handler("shared")))
    write(house.local, {"permissions": {}})
    include = [".claude/settings.json", ".claude/settings.local.json"]
    write(house.root / "coder.json", {"hooks": [], "hookrun": {"include": include}})
    assert house.names() == {"shared": "project"}
    assert house.examine().problems == []


def test_2_5_a_project_takes_in_its_own_settings(house: House) -> None:
    """`include_claude` in a project does not concern the user's settings."""
    for name, path in (("own", house.own), ("shared", house.shared), ("local", house.local)):
        write(path, settings(handler(name)))
    house.include("project")
    assert house.names() == {"shared": "project", "local": "local"}


def test_2_5_a_person_takes_in_all_settings(house: House) -> None:
    """In the order of the layers: managed, user, project, local. The entries of all of them are in force."""
    paths = (("central", house.central), ("own", house.own), ("shared", house.shared), ("local", house.local))
    for name, path in paths:
        write(path, settings(handler(name)))
    write(house.central.parent / "managed-settings.d" / "b.json", settings(handler("more")))
    house.include("user")
    layers = {"central": "managed", "more": "managed", "own": "user", "shared": "project", "local": "local"}
    assert house.names() == layers
    assert house.examine(cwd=house.sub).declarations.root == str(house.root)


def test_2_5_the_projects_own_declarations_say_where_it_is(house: House) -> None:
    """Settings further down do not hide them."""
    write(house.root / "coder.json", {"hooks": [{"event": "stop", "command": "/bin/mine"}]})
    write(house.sub / ".claude" / "settings.json", settings(handler("sub")))
    write(house.shared, settings(handler("shared")))
    house.include("user")
    declarations = house.examine(cwd=house.sub).declarations
    assert declarations.root == str(house.root)
    assert {hook.name for hook in declarations.hooks} == {"mine", "shared"}


def test_2_5_plugins_that_are_enabled(house: House) -> None:
    """Their `hooks/hooks.json` has a wrapper with a description; they are the user's."""
    root = installed(house, "lint")
    write(house.own, {"enabledPlugins": {"lint@market": True, "off@market": False}})
    house.include("user")
    (hook,) = house.examine().declarations.hooks
    assert (hook.layer, hook.look, form_of(hook)) == (
        "user",
        [f"{root}/lint.sh"],
        {"event": "PreToolUse", "plugin_root": str(root), "own": True},
    )


def installed(house: House, name: str, *copies: tuple[str, Path | None], source: str = "git") -> Path:
    """Install a plugin of a marketplace, by default for the user: (version, project or None) each; return its root."""
    base = house.home / ".claude" / "plugins"
    place = base / "marketplaces" / "market"
    known = {"source": {"source": source}, "installLocation": str(place)}
    write(base / "known_marketplaces.json", {"market": known})
    write(place / ".claude-plugin" / "marketplace.json", {"plugins": [{"name": name, "source": f"./{name}"}]})
    listed = []
    for version, project in copies or (("1.0", None),):
        root = base / "cache" / "market" / name / version
        write(root / "hooks" / "hooks.json", {"description": "Lints.", **settings(handler_in_plugin())})
        of_project = {} if project is None else {"projectPath": str(project)}
        listed.append({"scope": "user" if project is None else "project", "installPath": str(root), **of_project})
    write(base / "installed_plugins.json", {"version": 2, "plugins": {f"{name}@market": listed}})
    return Path(listed[0]["installPath"])


def plugins(house: House) -> dict[str, tuple[str, str]]:
    """Return layer and mode of the hooks of each plugin, by the name of its root."""
    hooks = house.examine().declarations.hooks
    roots = {id(hook): Path(str(form_of(hook).get("plugin_root"))) for hook in hooks}
    return {roots[id(hook)].name: (hook.layer, hook.mode) for hook in hooks}


@rows(
    "words, expected, told",
    [
        ((None, True, None, None), {"1.0": ("user", "enforce")}, []),
        ((None, None, True, None), {"1.0": ("project", "enforce")}, []),
        ((None, None, None, True), {"1.0": ("local", "enforce")}, []),
        ((None, True, None, False), {"1.0": ("user", "off")}, ["warning"]),
        ((None, True, False, None), {"1.0": ("user", "off")}, ["warning"]),
        ((None, True, False, True), {"1.0": ("user", "enforce")}, []),
        ((None, False, True, None), {"1.0": ("project", "enforce")}, []),
        ((True, None, None, False), {"1.0": ("managed", "enforce")}, []),
        ((False, True, True, True), {"1.0": ("user", "off")}, ["warning"]),
        ((None, ["1.0"], None, None), {}, []),
        ((None, False, None, None), {}, []),
    ],
)
def test_2_5_the_nearest_settings_that_name_a_plugin_count(
    house: House, words: tuple[object, ...], expected: dict[str, tuple[str, str]], told: list[str]
) -> None:
    """Managed ones before all; its hooks are of the first layer that enables it, and so need a project's approval."""
    installed(house, "lint")
    for path, word in zip((house.central, house.own, house.shared, house.local), words, strict=True):
        write(path, {} if word is None else {"enabledPlugins": {"lint@market": word}})
    house.include("user")
    assert plugins(house) == expected
    assert [problem.severity for problem in house.examine().problems] == told


def test_2_5_a_project_takes_in_the_plugins_that_it_enables(house: House) -> None:
    """Not the plugins of the user alone; in Claude Code itself they are skipped in this project."""
    installed(house, "lint")
    write(house.own, {"enabledPlugins": {"lint@market": True}})
    house.include("project")
    assert plugins(house) == {}
    write(house.shared, {"enabledPlugins": {"lint@market": True}})
    (hook,) = house.examine().declarations.hooks
    assert (hook.layer, form_of(hook)["own"]) == ("project", str(house.root))


def test_2_5_settings_that_only_name_plugins_hide_no_hooks(house: House) -> None:
    """Claude Code writes such files into any directory; if there are no hooks anywhere they mark the project."""
    installed(house, "lint")
    house.include("user")
    write(house.sub / ".claude" / "settings.local.json", {"enabledPlugins": {"lint@market": True}})
    assert house.examine(cwd=house.sub).declarations.root == str(house.sub)
    assert [hook.layer for hook in house.examine(cwd=house.sub).declarations.hooks] == ["local"]
    write(house.shared, settings(handler("shared")))
    declarations = house.examine(cwd=house.sub).declarations
    assert (declarations.root, [hook.name for hook in declarations.hooks]) == (str(house.root), ["shared"])


def test_2_5_one_version_of_a_plugin_runs(house: House, tmp_path: Path) -> None:
    """The first that is listed for the user or for this project, as in Claude Code."""
    house.include("user")
    write(house.own, {"enabledPlugins": {"lint@market": True}})
    write(house.shared, {})
    for copies, expected in (
        ((("1.0", None), ("2.0", house.root)), "1.0"),
        ((("2.0", house.root), ("1.0", None)), "2.0"),
        ((("3.0", tmp_path / "other"), ("1.0", None)), "1.0"),
        ((("3.0", tmp_path / "other"),), None),
    ):
        installed(house, "lint", *copies)
        assert list(plugins(house)) == ([] if expected is None else [expected])


@rows("source", ["directory", "file"])
def test_2_5_a_plugin_of_a_directory_runs_there(tmp_path: Path, source: str) -> None:
    """Its copy is as old as its installation."""
    house = House(tmp_path / source)
    installed(house, "lint", source=source)
    write(house.own, {"enabledPlugins": {"lint@market": True}})
    house.include("user")
    assert plugins(house) == {}
    place = house.home / ".claude" / "plugins" / "marketplaces" / "market"
    write(place / "lint" / "hooks" / "hooks.json", settings(handler_in_plugin()))
    assert list(plugins(house)) == ["lint"]
    for path in ("../lint", "/lint/../../lint", "/etc"):
        listed = [{"name": "lint", "source": path}]
        write(place / ".claude-plugin" / "marketplace.json", {"plugins": listed})
        assert plugins(house) == {}


def test_2_5_a_plugin_that_its_marketplace_does_not_list_does_not_run(house: House) -> None:
    """Nor one of a marketplace that is not known."""
    installed(house, "lint")
    write(house.own, {"enabledPlugins": {"lint@market": True, "lint": True, "lint@": True, "@market": True}})
    house.include("user")
    assert list(plugins(house)) == ["1.0"]
    base = house.home / ".claude" / "plugins"
    write(base / "marketplaces" / "market" / ".claude-plugin" / "marketplace.json", {"plugins": [5, {"name": "x"}]})
    assert plugins(house) == {}
    (base / "known_marketplaces.json").unlink()
    assert plugins(house) == {}


@rows(
    "hooks, expected",
    [
        ({"Stop": [{"hooks": [handler("own")]}]}, ["lint", "own"]),
        ("./more.json", ["lint", "more"]),
        (["./more.json", {"Stop": [{"hooks": [handler("own")]}]}], ["lint", "more", "own"]),
        ("./hooks/hooks.json", ["lint"]),
        ("../2.0/hooks/hooks.json", ["lint"]),
    ],
)
def test_2_5_hooks_that_a_plugins_manifest_declares(house: House, hooks: object, expected: list[str]) -> None:
    """A map of events, the path of a file within the plugin, or a list of both; beside those of hooks/hooks.json."""
    root = installed(house, "lint")
    write(root / "more.json", settings(handler("more")))
    write(root.parent / "2.0" / "hooks" / "hooks.json", settings(handler("outside")))
    write(root / ".claude-plugin" / "plugin.json", {"name": "lint", "hooks": hooks})
    write(house.own, {"enabledPlugins": {"lint@market": True}})
    house.include("user")
    hooks_found = house.examine().declarations.hooks
    assert sorted(hook.name.removeprefix("lint:") for hook in hooks_found) == expected
    assert all(hook.name.startswith("lint:") for hook in hooks_found)
    assert {form_of(hook).get("plugin_root") for hook in hooks_found} == {str(root)}


@rows("name", ["known_marketplaces.json", "installed_plugins.json"])
def test_2_5_what_is_installed_and_cannot_be_read_is_an_error(house: House, name: str) -> None:
    """The missing guards are unknown."""
    installed(house, "lint")
    write(house.own, {"enabledPlugins": {"lint@market": True}})
    house.include("user")
    path = house.home / ".claude" / "plugins" / name
    path.write_text("{")
    (problem,) = house.examine().declarations.problems
    assert problem.startswith(str(path))


def handler_in_plugin() -> dict[str, object]:
    """Return a handler as plugins have them."""
    return {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/lint.sh"}


@rows(
    "user, project, local, running",
    [
        (None, None, None, {"own", "shared", "local"}),
        (True, None, None, set()),
        (True, False, None, {"own", "shared", "local"}),
        (None, True, None, {"own"}),
        (None, True, False, {"own", "shared", "local"}),
        (True, True, None, set()),
    ],
)
def test_2_5_disable_all_hooks(
    house: House,
    user: bool | None,
    project: bool | None,
    local: bool | None,
    running: set[str],
) -> None:
    """The nearest file counts, but a project does not switch off the user's hooks. Managed ones stay."""
    words = (("own", house.own, user), ("shared", house.shared, project), ("local", house.local, local))
    for name, path, off in words:
        write(path, {**settings(handler(name)), **({} if off is None else {"disableAllHooks": off})})
    write(house.central, settings(handler("central")))
    house.include("user")
    hooks = house.examine().declarations.hooks
    assert {hook.name for hook in hooks if hook.mode != "off"} == {"central", *running}
    assert len(hooks) == 4


@rows("key, running", [("disableAllHooks", set()), ("allowManagedHooksOnly", {"central"})])
def test_2_5_managed_settings_have_the_first_word(house: House, key: str, running: set[str]) -> None:
    """They switch everything off, or everything but their own."""
    write(house.central, {**settings(handler("central")), key: True})
    write(house.own, settings(handler("own"), disableAllHooks=False))
    house.include("user")
    assert {hook.name for hook in house.examine().declarations.hooks if hook.mode != "off"} == running


def test_2_5_settings_that_are_named_are_claude_codes_own_all_the_same(house: House) -> None:
    """So that nothing runs twice: the user's everywhere, a project's if Claude Code was started in it."""
    write(house.own, settings(handler("own")))
    write(house.shared, settings(handler("shared")))
    write(house.root / "coder.json", {"hookrun": {"include": [str(house.own), ".claude/settings.json"]}})
    hooks = house.examine().declarations.hooks
    assert {hook.name: form_of(hook).get("own") for hook in hooks} == {"own": True, "shared": str(house.root)}


def test_defaults_hold_for_what_claudes_form_says_nothing_of(house: House) -> None:
    """Its own defaults stay."""
    defaults = {"env_policy": "clean", "on_failure": "block", "timeout": 5, "cwd": "project", "parallel": False}
    write(house.shared, settings(handler(), {**handler("y"), "onFailure": "continue"}))
    write(house.root / "coder.json", {"hookrun": {"include": [".claude/settings.json"], "defaults": defaults}})
    first, second = house.examine().declarations.hooks
    assert (first.env_policy, first.on_failure, first.timeout) == ("clean", "block", 600)
    assert (first.cwd, first.parallel, second.on_failure) == ("event", True, "continue")


def test_our_own_wiring_is_no_hook(house: House) -> None:
    """A handler that runs hookrun in Claude Code is not run by hookrun."""
    line = "test -x /p && exec /p -I /x/hookrun/__main__.py fire --agent claude --deadline 59.5; exit 0"
    write(house.shared, settings(handler("mine"), {"type": "command", "command": line}))
    examined = house.examine(house.shared)
    assert [hook.name for hook in examined.declarations.hooks] == ["mine"]
    assert examined.problems == []


@rows("line", ["guard # hookrun fire --agent claude", "echo hookrun fire --agent claude"])
def test_a_text_about_hookrun_hides_no_hook(house: House, line: str) -> None:
    """A comment or an argument does not make a guard our own handler, which other agents would leave out."""
    write(house.shared, settings(handler(line)))
    assert [hook.target for hook in house.examine(house.shared).declarations.hooks] == [f"/bin/{line}"]


def test_a_guard_beside_our_call_is_warned_about(house: House) -> None:
    """A command on one line with a call of hookrun is run by Claude Code only."""
    write(house.shared, settings(handler("./guard && hookrun fire --agent claude")))
    examined = house.examine(house.shared)
    assert examined.declarations.hooks == []
    assert "calls `hookrun fire`, so guard does not run" in "\n".join(map(str, examined.problems))


def test_claudes_form_in_our_own_file(house: House) -> None:
    """A coder.json whose `hooks` are Claude Code's map; Claude Code does not read it, so it runs there too."""
    write(house.root / "coder.json", settings(handler("mine")))
    (hook,) = house.examine().declarations.hooks
    assert form_of(hook) == {"event": "PreToolUse"}


def test_in_our_own_file_an_unknown_event_is_an_error(house: House) -> None:
    """Claude Code ignores it; here that would be a silent loss."""
    write(house.root / "coder.json", {"hooks": {"pre_tool_use": [{"hooks": [handler()]}]}})
    (problem,) = house.examine().declarations.problems
    assert 'Claude Code has no event "pre_tool_use"; did you mean "PreToolUse"?' in problem
    assert 'did you mean "PreToolUse"?' in problem


# --- 2.6: the same handler twice


def twins(house: House) -> list[object]:
    """Return what each hook notes of those that are the same."""
    return [form_of(hook).get("twins") for hook in house.examine().declarations.hooks]


def test_2_6_the_same_handler_in_several_files_runs_once(house: House) -> None:
    """The first in order runs; the key is the command, its arguments and its `if`."""
    write(house.own, settings(handler(), matcher="Bash"))
    write(
        house.shared, settings(handler(), {**handler(), "if": "Bash(git *)"}, handler(args=["a"]), matcher="Edit|Bash")
    )
    write(house.local, settings(handler(), event="PostToolUse"))
    house.include("user")
    assert twins(house) == [None, [("Bash", ())], None, None, None]


def test_2_6_a_rule_that_names_other_files_is_another_handler(house: House) -> None:
    """`/src` in the user's settings is not `/src` in a project's; a rule that means the same anywhere is the same."""
    for rule, expected in (("Edit(/src/**)", [None, None]), ("Edit(src/**)", [None, [("", ())]])):
        for path in (house.own, house.shared):
            write(path, settings({**handler(), "if": rule}))
        house.include("user")
        assert twins(house) == expected


def test_2_6_one_in_the_background_keeps_none_from_having_its_say(house: House) -> None:
    """Rather twice than without a refusal."""
    write(house.own, settings({**handler(), "async": True}))
    write(house.shared, settings(handler()))
    house.include("user")
    assert twins(house) == [None, None]


def test_2_6_a_plugins_copy_stays_separate(house: House) -> None:
    """Even if its command is the same."""
    root = house.home / "plugin"
    write(root / "hooks" / "hooks.json", settings(handler()))
    write(root / ".claude-plugin" / "plugin.json", {"name": "p"})
    write(house.shared, settings(handler()))
    include = [".claude/settings.json", str(root / "hooks" / "hooks.json")]
    write(house.root / "coder.json", {"hookrun": {"include": include}})
    assert twins(house) == [None, None]


# --- what is compiled is believed only while nothing has changed


def test_the_cache_sees_every_file_that_matters(house: House) -> None:
    """A file that is created, changed or deleted is seen in the next run."""
    house.include("user")
    seen = []
    steps: list[Callable[[], None]] = [
        lambda: None,
        lambda: write(house.shared, settings(handler("shared"))),
        lambda: write(house.own, settings(handler("own"))),
        lambda: write(house.local, settings(handler("local"))),
        lambda: write(house.shared, settings(handler("changed"))),
        house.local.unlink,
        lambda: write(house.central.parent / "managed-settings.d" / "a.json", settings(handler("central"))),
    ]
    for step in steps:
        step()
        compiled = load_compiled(find(str(house.root), str(house.home), managed=str(house.managed)))
        assert compiled is not None
        seen.append([hook.name for hook in compiled.hooks()])
    assert seen == [
        [],
        ["shared"],
        ["own", "shared"],
        ["own", "shared", "local"],
        ["own", "changed", "local"],
        ["own", "changed"],
        ["central", "own", "changed"],
    ]


def test_two_projects_do_not_share_what_is_compiled(house: House, tmp_path: Path) -> None:
    """Where only the user has declarations, each project has its own settings."""
    house.include("user")
    write(house.shared, settings(handler("shared")))
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    for cwd, expected in ((house.root, ["shared"]), (other, []), (house.root, ["shared"])):
        compiled = load_compiled(find(str(cwd), str(house.home), managed=str(house.managed)))
        assert compiled is not None
        assert [hook.name for hook in compiled.hooks()] == expected


def test_a_projects_own_line_is_no_hook_and_no_finding(house: House) -> None:
    """What `install --scope project` writes is left out in silence; a guard beside it is named."""
    words = ["/bin/sh", ".hookrun/run", "claude", "Stop"]
    line = shlex.join([*words, "--scope", "project"])
    write(house.shared, settings(handler("mine"), {"type": "command", "command": line}))
    examined = house.examine(house.shared)
    assert ([hook.name for hook in examined.declarations.hooks], examined.problems) == (["mine"], [])
    write(house.shared, settings({"type": "command", "command": f"./guard && {line}"}))
    assert "calls `hookrun fire`, so guard does not run" in "\n".join(map(str, house.examine(house.shared).problems))
