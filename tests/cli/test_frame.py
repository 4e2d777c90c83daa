"""The command line as a whole: groups, help, topics, former names, and the answer to an unknown word."""

from __future__ import annotations

import errno
import json
import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest

from hookrun import __version__
from hookrun.cli import cli
from hookrun.cli.commands import COMMANDS, GROUPS, MORE, TOPICS, topics
from hookrun.cli.help import ELSEWHERE, OPTION_SYNONYMS, SYNONYMS
from hookrun.core import audit_reader
from hookrun.fire.command import parse_arguments
from tests.cli.command import hookrun, hookrun_process
from tests.cli.terminal import at_terminal
from tests.cli.test_help import EVERY
from tests.rows import rows

if TYPE_CHECKING:
    from tests.conftest import Project

FIRST_PAGE = """
Get started: init add install status doctor
Write hooks: new try test
Look: list log why report replay
Decide: trust allow disable undo
Check and share: validate migrate
Plumbing: fire
"""


def test_the_first_page_has_the_groups_in_order(project: Project) -> None:
    """At most 22 commands, each with its purpose; those of `help all` are not among them."""
    done = hookrun(project, "--help")
    assert (done.status, done.stderr) == (0, "")
    shown = re.findall(r"^(\w[\w ]+):\n((?:  .*\n)+)", done.stdout.partition("Options:")[0], re.MULTILINE)
    pages = [f"{title}: {' '.join(re.findall(r'^  ([a-z]+) +[A-Z]', text, re.MULTILINE))}" for title, text in shown]
    assert pages == FIRST_PAGE.strip().splitlines()
    assert sum(map(len, GROUPS.values())) <= 22
    assert hookrun(project, "help").stdout == done.stdout


def test_help_all_lists_every_command(project: Project) -> None:
    """Also those that the first page leaves out."""
    shown = hookrun(project, "help", "all").stdout
    assert all(re.search(rf"^  {name} ", shown, re.MULTILINE) for name in COMMANDS)
    for name in ["remove", "uninstall", "update", "enable", "explain", "recipes", "config", "completion"]:
        assert name in MORE


@rows("name", topics())
def test_topics_are_short_and_true(project: Project, name: str) -> None:
    """Each fits an 80-column screen, is named on the first page, and each command in it is one."""
    with open(f"{TOPICS}/{name}.txt", encoding="utf-8") as file:
        text = file.read()
    assert max(map(len, text.splitlines())) <= 82
    assert len(text.splitlines()) <= 40
    assert name in hookrun(project, "--help").stdout.partition("Topics:")[2]
    assert hookrun(project, "help", name).stdout.startswith(text)
    found = [*re.findall(r"^  (hookrun .*?)(?:  .*)?$", text, re.MULTILINE), *re.findall(r"`(hookrun [^`]*)`", text)]
    for line in found:
        words = shlex.split(re.sub(r"\b(AGENT)\b", "claude", line))[1:]
        if words[0] == "fire":
            assert parse_arguments(words[1:])
            continue
        with cli.make_context("hookrun", list(words)) as ctx:
            sub, command, rest = cli.resolve_command(ctx, words)
            assert command is not None
            command.make_context(sub, list(rest), parent=ctx)


def test_help_of_commands(project: Project) -> None:
    """As `--help` prints it, also of a subcommand and of `fire`; a topic with a command's name comes with both."""
    for option in "-h", "--help":
        assert hookrun(project, "help", "list").stdout == hookrun(project, "list", option).stdout
    assert hookrun(project, "help", "recipes", "show").stdout.startswith("Usage: hookrun recipes show ")
    assert "--ctx FILE" in hookrun(project, "help", "fire").stdout
    both = hookrun(project, "help", "trust").stdout
    assert both.startswith("The hooks of a project")
    assert "\nUsage: hookrun trust " in both


@rows(
    "option, argument",
    [
        (("explain", "--event", "stop"), ("explain", "stop")),
        (("doctor", "--agent=claude"), ("doctor", "claude")),
        (("uninstall", "--agent", "claude", "--agent", "codex"), ("uninstall", "claude", "codex")),
        (("remove", "--hook", "guard", "--dry-run"), ("remove", "guard", "--dry-run")),
    ],
)
def test_filters_are_options_everywhere(project: Project, option: tuple[str, ...], argument: tuple[str, ...]) -> None:
    """Where a command takes the hook, event or agent as its argument, it takes the option of the others as well."""
    project.hooks({"name": "guard", "event": "stop", "command": "true"})
    first, second = hookrun(project, *option), hookrun(project, *argument)
    assert (first.status, first.stdout, first.stderr) == (second.status, second.stdout, second.stderr)


def test_what_is_proposed_exists() -> None:
    """Every target of the tables is a command, a topic or an option of one."""
    for meant, names in SYNONYMS.items():
        first, *rest = meant.split()
        assert first in {*COMMANDS, "--version"}
        assert COMMANDS.keys().isdisjoint(names)
        assert first != "help" or rest[0] in topics()
    options = {option for command in EVERY.values() for param in command.params for option in param.opts}
    assert options | {"--help"} >= OPTION_SYNONYMS.keys()
    for name, gone in ELSEWHERE:
        assert all(gone not in param.opts for param in EVERY[name].params)


MOST_OPTIONS = 143
"""Besides `--version` and `--color`."""


def test_there_are_not_more_options_to_learn() -> None:
    """Shown by the help of any command: a new one takes the place of another."""
    shown = [
        option
        for name, command in EVERY.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    assert len(shown) <= MOST_OPTIONS, sorted(option.opts[0] for option in shown)


def test_version(project: Project) -> None:
    """In one line."""
    assert hookrun(project, "--version").stdout == f"hookrun {__version__}\n"


WRONG = [("--no-such-option",), ("x",) * 9, ("--json", "--no-such"), ("--color", "pink")]


@rows("name", ["", *sorted(EVERY.keys() - {"fire"})])
@rows("wrong", WRONG)
def test_no_wrong_usage_exits_with_2(project: Project, name: str, wrong: tuple[str, ...]) -> None:
    """An agent takes 2 for a veto. A wrong argument of a group or command is an error without a traceback."""
    done = hookrun(project, *name.split(), *wrong)
    assert done.status == 1, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr


@rows("wrong", WRONG)
def test_no_wrong_usage_of_fire_exits_with_2(project: Project, wrong: tuple[str, ...]) -> None:
    """Neither does the command that has vetoes."""
    done = hookrun_process(project, "fire", *wrong)
    assert (done.status, "Traceback" in done.stderr) == (1, False), (done.stdout, done.stderr)


@rows("name", ["", "config"])
def test_a_group_alone_prints_its_help(project: Project, name: str) -> None:
    """On stderr, and the status is 1."""
    done = hookrun(project, *name.split())
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("Usage: hookrun ")


COLOR = "\x1b["


def test_color_can_be_chosen(project: Project) -> None:
    """`--color` works before or after the command, and overrides NO_COLOR and FORCE_COLOR."""
    assert COLOR not in hookrun(project, "remove", "x").stderr
    for words in ("--color", "always", "remove", "x"), ("remove", "x", "--color=always"):
        assert hookrun(project, *words, NO_COLOR="1").stderr.startswith(COLOR)
    assert hookrun(project, "remove", "x", FORCE_COLOR="1").stderr.startswith(COLOR)
    assert COLOR not in hookrun(project, "remove", "x", "--color", "never", FORCE_COLOR="1").stderr
    project.hooks({"name": "wrong", "command": "true", "timeout": 0})
    assert COLOR in hookrun(project, "list", FORCE_COLOR="1").stdout
    assert COLOR not in at_terminal(project, "list", "--color", "never", env={"TERM": "xterm-256color"}).screen


# --- status and remove


def test_a_log_that_cannot_be_read_hides_only_the_last_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` shows the rest, `status` and `doctor` name the file."""
    project.hooks({"name": "guard", "command": "true"})

    def refuse(_: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", "audit.jsonl")

    monkeypatch.setattr(audit_reader, "paths", refuse)
    status = hookrun(project, "status")
    assert (status.status, "last run   unknown" in status.stdout, "hooks      1" in status.stdout) == (1, True, True)
    assert "cannot read audit.jsonl: Permission denied\nhint: correct its permissions" in status.stderr
    assert "audit.jsonl: Permission denied" in hookrun(project, "doctor", "claude").stdout


def test_status_of_a_new_account(project: Project) -> None:
    """One screen that shows the first step."""
    done = hookrun(project, "status", PATH="/nowhere")
    assert (done.status, done.stderr) == (0, "")
    assert "none found" in done.stdout
    assert "hooks      0: `hookrun init`" in done.stdout
    assert "last run   none" in done.stdout


def test_status(project: Project) -> None:
    """Agents, hooks by state, approvals, the last run."""
    project.hooks({"name": "guard", "command": "exit 2"}, {"name": "later", "mode": "off", "command": "true"})
    hookrun(project, "install", "claude")
    fired = hookrun_process(project, "fire", "pre_tool_use", "--ctx", "/dev/null")
    assert fired.status in (1, 2)
    shown = hookrun(project, "status").stdout
    assert "connected (user)" in shown
    assert "hooks      2: 1 not approved, 1 off" in shown
    assert "1 hook to approve: run `hookrun trust`" in shown
    data = hookrun(project, "status", "--json").json
    assert (data["to_approve"], data["hooks"]) == (1, {"not approved": 1, "off": 1})
    assert len(shown.splitlines()) <= 12


def test_remove_several(project: Project) -> None:
    """In one go, hooks and recipes; with one name wrong, none."""
    project.hooks({"name": "a", "command": "true"}, {"name": "b", "command": "true"}, {"name": "c", "command": "true"})
    assert hookrun(project, "add", "no-force-push").status == 0
    before = (project.root / "coder.json").read_text()
    done = hookrun(project, "remove", "a", "typo", "b")
    assert (done.status, "typo" in done.stderr) == (1, True)
    assert (project.root / "coder.json").read_text() == before
    done = hookrun(project, "remove", "a", "no-force-push", "c", "a")
    assert done.status == 0, done.stderr
    left = json.loads((project.root / "coder.json").read_text())["hooks"]
    assert [each["name"] for each in left] == ["b"]
    assert hookrun(project, "add", "no-force-push", "no-verify").status == 0
    assert hookrun(project, "remove", "no-force-push", "no-verify").status == 0
    assert "recipe" not in (project.root / "coder.json").read_text()


def test_remove_a_hook(project: Project) -> None:
    """Only its entry; comments and other hooks keep their place; its files are named and stay."""
    text = "# ours\nhooks:\n  - name: guard\n    event: stop\n    command: ./hooks/guard.sh\n"
    text += "  # the other\n  - {name: b, event: stop, command: 'true'}\n"
    project.script("hookrun.yaml", text)
    project.script("hooks/guard.sh", "exit 0\n")
    shown = hookrun(project, "remove", "guard", "--dry-run")
    assert "-  - name: guard" in shown.stdout
    assert (project.root / "hookrun.yaml").read_text() == text
    done = hookrun(project, "remove", "guard")
    assert (done.status, done.stderr) == (0, "")
    assert "guard: removed from hookrun.yaml" in done.stdout
    assert "not removed: hooks/guard.sh" in done.stdout
    left = (project.root / "hookrun.yaml").read_text()
    assert left.startswith("# ours\nhooks:\n")
    assert "guard" not in left
    assert "- {name: b, event: stop, command: 'true'}" in left
    assert (project.root / "hooks" / "guard.sh").exists()
    assert hookrun(project, "validate").status == 0


def test_remove_a_recipe(project: Project) -> None:
    """With its tests, those that were changed stay, which is said."""
    tests = project.root / "hooks" / "no-force-push.hooktest.yaml"
    for changed in False, True:
        hookrun(project, "add", "no-force-push")
        if changed:
            tests.write_text(tests.read_text() + "# ours\n")
        done = hookrun(project, "remove", "no-force-push")
        assert (done.status, done.stderr) == (0, "")
        assert hookrun(project, "list", "--json").json["hooks"] == []
        assert tests.exists() is changed
        assert ("no-force-push.hooktest.yaml: kept as you changed it" in done.stdout) is changed


def test_remove_asks_where_several_files_declare_it(project: Project) -> None:
    """At a terminal about each file; without one it is an error that names them."""
    project.user_hooks({"name": "guard", "command": "true"})
    project.hooks({"name": "guard", "command": "true"})
    alone = hookrun(project, "remove", "guard")
    assert (alone.status, alone.stdout) == (1, "")
    assert "`--user` removes it from your own config" in alone.stderr
    session = at_terminal(project, "remove", "guard", answers=("y", "n"), question="[y/N]: ")
    assert session.status == 0, session.screen
    assert [each["layer"] for each in hookrun(project, "list", "--json").json["hooks"]] == ["project"]  # type: ignore[attr-defined]


@rows(
    "name, message",
    [("gard", 'did you mean "guard"?'), ("theirs", "is in a file of Claude Code"), ("x", "no hook named")],
)
def test_what_cannot_be_removed(project: Project, name: str, message: str) -> None:
    """The error gives the reason, and nothing is written."""
    project.hooks({"name": "guard", "command": "true"}, include_claude=True)
    handler = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}'
    project.script(".claude/settings.json", handler)
    before = (project.root / "coder.json").read_text()
    done = hookrun(project, "remove", name)
    assert (done.status, done.stdout) == (1, "")
    assert message in done.stderr
    assert (project.root / "coder.json").read_text() == before


def test_an_option_of_every_command_has_a_text() -> None:
    """Every option of every command has a help text."""
    for name, command in EVERY.items():
        for param in command.params:
            assert not isinstance(param, click.Option) or param.hidden or param.help, (name, param.name)
