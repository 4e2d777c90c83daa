"""`hookrun config show`: every value in force, with the line that it comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from tests.cli.command import hookrun
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

TOP = """\
hookrun:
  defaults: {timeout: 7, on_failure: block}
  include: [more.yaml]
  events: [mine]
hooks:
  - event: stop
    name: top
    command: ./a.sh
"""
MORE = """\
hookrun:
  defaults:
    on_failure: continue
hooks:
  - event: [mine, PreToolUse]
    url: "https://u:s3cret@h/x"
    headers: {X-Key: s3cret}
    priority: 3
"""


def declare(project: Project) -> None:
    """Declare a file that includes another, with defaults in both."""
    (project.root / "hookrun.yaml").write_text(TOP)
    (project.root / "more.yaml").write_text(MORE)


def test_every_value_has_its_place(project: Project) -> None:
    """A hook's own line, the defaults of its file, those of the file that includes it, or hookrun itself."""
    declare(project)
    done = hookrun(project, "config", "show", "--json")
    assert (done.status, done.stderr) == (0, "")
    hooks: Any = done.json["hooks"]
    fields = hooks[0]["fields"]  # of the one with the lower priority
    more, top = str(project.root / "more.yaml"), str(project.root / "hookrun.yaml")
    expected = {
        "event": (["mine", "pre_tool_use"], "own", more, 5),
        "priority": (3, "own", more, 8),
        "on_failure": ("continue", "defaults", more, 3),
        "timeout": (7.0, "defaults", top, 2),
        "name": ("h", "made", None, None),
        "mode": ("enforce", "built in", None, None),
    }
    for name, value in expected.items():
        assert tuple(fields[name].values()) == value, name
    assert hooks[1]["fields"]["on_failure"]["line"] == 2
    assert "s3cret" not in done.stdout


def test_settings_have_theirs(project: Project) -> None:
    """For what only the user may set the first file counts; what each file has for itself is shown for each."""
    declare(project)
    project.user_hooks({"name": "u", "command": "/bin/true"}, on_error="block")
    settings: Any = hookrun(project, "config", "show", "--json").json["settings"]
    by_name = {each["name"]: each for each in settings}
    assert by_name["on_error"]["value"] == "block"
    assert by_name["on_error"]["path"] == str(project.home / ".config/hookrun/hooks.json")
    assert by_name["audit"]["from"] == "built in"
    assert (by_name["events"]["value"], by_name["events"]["line"]) == (["mine"], 4)


def test_as_one_declaration_file_it_says_the_same(project: Project) -> None:
    """What it prints is read again, as the same hooks; what only the user may set is a comment in it."""
    declare(project)
    project.user_hooks(on_error="block")
    text = hookrun(project, "config", "show").stdout.replace("***", "x")
    assert '# hookrun.on_error: "block"' in text
    assert "# hookrun.audit: {" in text
    assert "priority: 3  # more.yaml:8\n" in text
    assert len(yaml.safe_load(text)["hooks"]) == 2
    (project.root / "all.yaml").write_text(text)
    project.script("a.sh", "#!/bin/sh\n")
    assert hookrun(project, "validate", "all.yaml").status == 0
    before, after = (
        hookrun(project, "config", "show", "--json", *more).json["hooks"] for more in ((), ("--config", "all.yaml"))
    )
    assert isinstance(before, list)
    assert isinstance(after, list)
    for one, other in zip(before, after, strict=True):
        values = [{name: each["value"] for name, each in hook["fields"].items()} for hook in (one, other)]
        del values[0]["url" if "url" in values[0] else "command"], values[0]["event"]
        assert values[0].items() <= values[1].items()


def test_a_hook_that_is_declared_wrongly_is_there_with_its_error(project: Project) -> None:
    """It is in force as a failure, and so it is shown; programs detect on stderr that the config has errors."""
    (project.root / "coder.json").write_text(json.dumps({"hooks": [{"event": "stop", "cmd": "x"}]}))
    assert 'unknown hook field "cmd"' in hookrun(project, "config", "show").stdout
    assert yaml.safe_load(hookrun(project, "config", "show").stdout)["hooks"][0]["event"] == ["stop"]
    for command in ("config", "show"), ("list",):
        assert 'unknown hook field "cmd"' in hookrun(project, *command, "--json").stderr


def test_what_looks_like_a_credential_is_masked_in_a_command_too(project: Project) -> None:
    """By its form or its name, for `list` as well; a variable that holds one is none itself."""
    key = "ghp_" + "a1" * 18
    command = f"curl -H 'Authorization: Bearer abc12345678' --token=s3cretvalue --token=$MY_TOKEN {key}"
    project.hooks({"name": "a", "command": command}, {"name": "b", "args": ["true", f"--password={key}"]})
    for words in (
        ("config", "show"),
        ("config", "show", "--json"),
        ("list",),
        ("list", "--json"),
    ):
        shown = hookrun(project, *words).stdout
        assert not any(each in shown for each in (key, "s3cretvalue", "abc12345678")), words
    assert "--token=*** --token=$MY_TOKEN ***" in hookrun(project, "config", "show").stdout


@rows("command, shown", [("config show", "u (user)"), ("list", "u     notification")])
def test_a_file_that_cannot_be_read_is_an_error(project: Project, command: str, shown: str) -> None:
    """The others are shown, the status is 1."""
    (project.root / "coder.json").write_text("{")
    project.user_hooks({"name": "u", "event": "notification", "command": "/bin/true"})
    done = hookrun(project, *command.split())
    assert done.status == 1
    assert shown in done.stdout
    assert done.stderr.startswith("error: coder.json:1:2: unexpected end of file")
