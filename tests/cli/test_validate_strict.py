"""Declarations that cannot work: `validate` warns, `--strict` makes that an error, `new` does not write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import hookrun
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project


def warnings(project: Project, *arguments: str) -> list[str]:
    """Return the warnings of `hookrun validate`, which finds no error."""
    done = hookrun(project, "validate", "--json", *arguments)
    problems = done.json["problems"]
    assert done.status == 0, done.stdout
    assert isinstance(problems, list)
    assert all(each["severity"] == "warning" for each in problems)
    return [each["text"] for each in problems]


def test_strict_makes_warnings_errors(project: Project) -> None:
    """For CI: the same finding, with exit status 1."""
    project.hooks({"matcher": "Bahs", "command": "true"})
    loose = hookrun(project, "validate")
    assert (loose.status, loose.stdout.count("warning: ")) == (0, 1)
    assert loose.stdout.endswith("checked 1 hook in 1 file: 0 errors, 1 warning\n")
    strict = hookrun(project, "validate", "--strict")
    assert (strict.status, strict.stdout.count("error: ")) == (1, 1)
    assert strict.stdout.endswith("checked 1 hook in 1 file: 1 error, 0 warnings\n")
    assert hookrun(project, "validate", "--strict", "--json").json["ok"] is False
    project.hooks({"matcher": "bash", "command": "true"})
    assert hookrun(project, "validate", "--strict").status == 0


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("hookrun.json", "coder.json"),
        (".hookrun.yaml", "hookrun.yaml"),
        ("coder.yaml", "hookrun.yaml"),
        ("coder.yml", "hookrun.yml"),
        ("hookrun.toml", "coder.json"),
        ("Coder.json", "coder.json"),
        ("coder.jsonc", "coder.json"),
    ],
)
def test_a_file_beside_the_names_that_are_read(project: Project, name: str, right: str) -> None:
    """Its hooks would never run."""
    (project.root / name).write_text('{"hooks": [{"event": "stop", "command": "true"}]}')
    (found,) = warnings(project)
    assert found == f'{project.root}/{name}:1:1: hookrun does not read a file named "{name}"; rename it to {right}'
    assert hookrun(project, "validate", "--strict").status == 1


def test_a_file_beside_the_names_in_a_directory_above(project: Project) -> None:
    """Every directory in which declarations are looked for is looked at, and the user's own."""
    (project.root / "sub").mkdir()
    (project.root / "hookrun.json").write_text("{}")
    own = project.home / ".config" / "hookrun"
    own.mkdir(parents=True)
    (own / "hookrun.json").write_text("{}")
    done = hookrun(project, "validate", cwd=project.root / "sub")
    assert done.stdout.count('hookrun does not read a file named "hookrun.json"') == 2
    assert "hint: rename it to hooks.json" in done.stdout


def test_files_of_others_are_left_alone(project: Project) -> None:
    """A file that is included, or that is another program's, is no mistake."""
    project.hooks({"command": "true"}, include=[".hookrun.json"])
    (project.root / ".hookrun.json").write_text('{"hooks": [{"event": "stop", "command": "true"}]}')
    (project.root / "coder.yaml").write_text("model: big\n")
    (project.root / "hooks.json").write_text('{"hooks": {}}')
    (project.root / "coder.toml").mkdir()
    assert warnings(project) == []


@rows(
    "target, says",
    [
        ("nomodule:f", "module not found: `nomodule`; create it in"),
        ("guards.other:check", "module not found: `guards.other`"),
        ("guards.real:chek", 'the module `guards.real` has no `chek`; did you mean "check"?'),
        ("guards.wrong:check", "cannot read the module `guards.wrong`: invalid syntax"),
        ("json.nosuch:f", "module not found: `json.nosuch`"),
        ("guards.real:check", None),
        ("guards.real:Guard.check", None),
        ("guards.real:taken", None),
        ("guards.real:made", None),
        ("guards.all:anything", None),
        ("plain.inner:f", None),
        ("json:dumps", None),
        ("sys:exit", None),
        ("hookrun.recipes.no_force_push:check", None),
    ],
)
def test_the_function_of_a_python_hook(project: Project, target: str, says: str | None) -> None:
    """It is looked for without being imported: a project's code does not run."""
    script = "open('ran', 'w').close()\n"
    guards = project.root / "guards"
    guards.mkdir(exist_ok=True)
    (guards / "__init__.py").write_text(script)
    (guards / "real.py").write_text(
        f"{script}from json import dumps as taken\ndef check(ctx): ...\nclass Guard:\n    check = 1\nmade = check\n"
    )
    (guards / "wrong.py").write_text("def check(:\n")
    (guards / "all.py").write_text("from json import *\n")
    (project.root / "plain").mkdir(exist_ok=True)
    (project.root / "plain" / "inner.py").write_text(f"{script}async def f(ctx): ...\n")
    project.hooks({"python": target})
    found = warnings(project)
    assert not (project.root / "ran").exists()
    assert len(found) == (says is not None)
    assert says is None or says in found[0]


def test_a_python_hook_of_another_interpreter_is_not_judged(project: Project) -> None:
    """Its modules are not ours to see."""
    project.hooks({"python": "nomodule:f", "interpreter": "/bin/sh"})
    assert warnings(project) == []


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (
            {"HOOKRUN_OPTION_PROTECT": "work"},
            "invalid value of the option `protect`; use a list of directories, absolute or starting with `~/`",
        ),
        ({"HOOKRUN_OPTION_PROTECT": "~/work $HOME/x"}, "use a list of directories, absolute or starting with `~/`"),
        (
            {"HOOKRUN_OPTION_PROTCT": "/work"},
            'has no option `HOOKRUN_OPTION_PROTCT`; did you mean "HOOKRUN_OPTION_PROTECT"?',
        ),
        ({"HOOKRUN_OPTION_PROTECT": "/work ~/src"}, None),
    ],
)
def test_the_options_of_a_recipe(project: Project, env: dict[str, str], says: str | None) -> None:
    """An option that is declared and does nothing."""
    assert hookrun(project, "add", "block-destructive-commands").status == 0
    data = project.config()
    data["hooks"][0]["env"] = env
    (project.root / "hookrun.yaml").write_text(json.dumps(data))
    found = warnings(project)
    assert len(found) == (says is not None)
    assert says is None or says in found[0]


@rows("value", ["work", "./work", "~/a work", "$HOME/work", "~/work/*"])
def test_add_refuses_an_option_that_protects_nothing(project: Project, value: str) -> None:
    """The message names an option that would."""
    done = hookrun(project, "add", "block-destructive-commands", "--option", f"protect={value}")
    assert (done.status, done.stdout) == (1, "")
    assert "it takes a list of directories, absolute or starting with `~/`, such as ~/work" in done.stderr
    assert not (project.root / "hookrun.yaml").exists()


def test_every_way_to_write_a_protected_directory(project: Project) -> None:
    """Each is the directory that it names."""
    directories = "~/a ~/b/ /srv//c/ /srv/x/../d"
    assert hookrun(project, "add", "block-destructive-commands", "--option", f"protect={directories}").status == 0
    for path in (project.home / "a", project.home / "b", "/srv/c", "/srv/d"):
        fired = project.fire({"tool_name": "bash", "tool_args": {"command": f"rm -rf {path}"}})
        assert (path, fired.action) == (path, "block")
    assert project.fire({"tool_name": "bash", "tool_args": {"command": "rm -rf /srv/x/e"}}).action == "ask"


@rows(
    "options",
    [
        ("--matcher", "Bahs"),
        ("--matcher", "mcp__.*"),
    ],
)
@rows("more", [(), ("--dry-run",)])
def test_new_refuses_what_could_never_run(project: Project, options: tuple[str, ...], more: tuple[str, ...]) -> None:
    """Nothing is written, and the message shows what would match."""
    done = hookrun(project, "new", "guard", "--lang", "sh", *options, *more)
    assert (done.status, done.stdout) == (1, "")
    assert "nothing was written" in done.stderr
    assert [path.name for path in project.root.iterdir()] == [".git"]


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"tool": "bash", "command": "rm -rf /"}, ["give it as tool_name", "give it as tool_args.command"]),
        ({"toolName": "bash", "toolInput": {"command": "x"}}, ["give it as tool_name", "give it as tool_args"]),
        ({"tool_name": "bash", "args": {"command": "x"}}, ["give it as tool_args"]),
        ({"tool_name": "bash", "tool_args": {"command": "x"}, "command": "x", "tool": "y"}, []),
        ({"tool_name": "bash", "tool_args": {}}, []),
    ],
)
def test_a_context_that_no_hook_can_read(project: Project, context: dict[str, object], says: list[str]) -> None:
    """`fire` names the fields it got and those that hooks read; a program's own fields are allowed."""
    project.hooks({"matcher": "bash", "command": "exit 2"})
    fired = project.fire(context)
    for each in says:
        assert each in fired.stderr
    assert fired.stderr.count("give it as") == len(says)


def test_a_program_may_have_fields_of_any_name(project: Project) -> None:
    """In a program's own event, `command` means whatever the program chooses."""
    project.hooks({"event": "deployed", "command": "true"}, events=["deployed"])
    assert project.fire({"command": "x", "tool": "y"}, event="deployed").stderr == ""
