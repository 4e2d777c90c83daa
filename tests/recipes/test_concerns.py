"""The cheap tests of recipes: they know all that the recipes know, hide nothing, and save a process."""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from inspect import signature, unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hookrun.core.credentials import FORMS, may_hold_secret
from hookrun.recipes import (
    block_destructive_commands,
    commit_message_check,
    no_force_push,
    package_manager,
    path_prefilter,
    protect_cloud,
    protect_data,
    protect_files,
    protect_hooks,
    secret_scan,
)
from hookrun.recipes.recipe import Recipe, WrongOptionError
from hookrun.shell import prefilter, wrappers
from hookrun.shell.programs import having
from hookrun.shell.words import Word
from tests.recipes.conftest import CONCERNS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Project
    from tests.recipes.account import Account

FIVE = ("block-destructive-commands", "no-force-push", "protect-files", "secret-scan", "protect-hooks")
COUNT_FORKS = Path(__file__).parent / "programs" / "count_forks.py"
HARMLESS = (
    *("ls -la src", "cargo build --release", "echo done", "make test", "rg TODO src", "go vet ./..."),
    *("git status", "git status --short", "cd src; git rev-parse HEAD"),
)


def test_each_test_is_of_a_function_that_its_recipe_declares() -> None:
    """A renamed function would lose its test."""
    for module, name, _ in CONCERNS:
        declared = {hook.get("python") for hook in module.RECIPE.hooks}
        assert f"{module.__name__}:{name}" in declared


PROTECTED = ("secrets", "locked", "settings")


def test_every_file_that_is_protected_by_default_is_seen(answers: Answers) -> None:
    """By its whole name, and a directory that must stay by its own."""
    globs = [each for name in PROTECTED for each in protect_files.RECIPE.option(name).default.split()]
    directories = [each.rpartition("/")[0] for each in protect_files.SETTINGS.split() if "/" in each]
    names = [each.replace("*", "x") for each in (*globs, *directories)]
    assert [name for name in names if not answers.matters(f"rm -r {name}")] == []


def test_a_harmless_line_concerns_no_recipe() -> None:
    """Neither under an agent that sends typed input to hooks, nor under one that does not; rate-limit counts calls."""
    calls = [
        {"event": "pre_tool_use", "agent": agent, "tool_name": "bash", "tool_args": {"command": line}}
        for agent in ("claude", "codex")
        for line in HARMLESS
    ]
    assert [(name, call) for name, module in MODULES.items() for call in calls if module.concerns(call)] == []


@pytest.mark.parametrize(
    "line",
    [
        *("git Status", "git STATUS", "git st", "git statusx", "git status-x"),  # may be aliases
        *("git -c alias.s=push s", "git --git-dir x status", "echo push -f | xargs git", "xargs git <status"),
        *("git status; git p -f", "git status && git push", "git\nstatus", "git status\\\npush"),
        *("GIT_CONFIG_COUNT=1 git status", "git 'status -f'x", "git-push status"),
    ],
)
def test_another_command_of_gits_may_be_any(line: str) -> None:
    """Git reads its own commands first, so these have no aliases; what is not plainly one of them may be an alias."""
    assert prefilter.may_run(line, prefilter.git_programs(("push",)))


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("block_destructive_commands:check", ["rm", "-rf", "/"]),
        ("block_destructive_commands:check", ["bash", "-lc", "cd / && rm -rf 'etc'"]),
        ("block_destructive_commands:check", ["rm -rf /"]),
        ("no_force_push:check", ["git", "push", "--force"]),
        ("protect_files:check", ["cat", ".env"]),
        ("protect_hooks:guard", ["bash", "-c", "echo x > coder.json"]),
        ("commit_message_check:check", ["git", "commit", "-m", "It's done"]),
    ],
)
def test_a_command_may_be_a_list_of_words(account: Account, target: str, command: list[str]) -> None:
    """The test lets the recipe see it, and the recipe blocks it."""
    call = {"event": "pre_tool_use", "agent": "claude", "tool_name": "bash", "tool_args": {"command": command}}
    answer = account.call(target, **call)
    assert answer is not None
    assert answer["action"] == "block"


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        ("no-force-push", "INTERACTIVE"),
        ("block-destructive-commands", "INTERACTIVE"),
        ("protect-files", "READ"),
        ("secret-scan", "ARGUMENTS"),
        ("secret-scan", "PLACES"),
    ],
)
def test_a_wrong_option_is_not_hidden(recipe: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test fails, so that the hook runs and reports it."""
    context = {"event": "pre_tool_use", "agent": "claude", "tool_args": {"command": "ls"}}
    concerns = MODULES[recipe].RECIPE.concerns["check"]
    assert not concerns(context)
    monkeypatch.setenv(f"HOOKRUN_OPTION_{name}", "perhaps")
    with pytest.raises(WrongOptionError):
        concerns(context)


def test_hooks_of_one_function_have_one_test() -> None:
    """With another one a guard would be silent at calls that its own lets through."""
    made = Recipe("one", "One.")
    hook = made.hook("stop", concerns=lambda _: True)(lambda _: None)
    assert made.hook("stop", concerns=made.concerns[hook.__name__])(hook) is hook
    with pytest.raises(ValueError, match="two hooks of a function have different tests"):
        made.hook("stop", concerns=lambda _: False)(hook)


def test_a_protected_file_of_an_option_is_looked_for(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """As are those of the other options."""
    monkeypatch.setenv("HOOKRUN_OPTION_SECRETS", "*.vault private/*")
    lines = {"cat a.vault": True, "ls Private": True, "cat a.txt": False, "cat uv.lock": True}
    assert {line: answers.matters(line) for line in lines} == lines


def test_a_credential_in_any_argument_is_seen() -> None:
    """Also in lists and keys, and where the arguments are no object."""
    token = "ghp_" + "a1B2c3D4" * 5
    arguments = ({"a": [{"b": token}]}, {token: 1}, [token], token)
    for args in arguments:
        assert secret_scan.concerns({"event": "pre_tool_use", "tool_args": args})
    assert all(may_hold_secret(f"x {words[0].upper()}@") for words, *_ in FORMS)


MODULES: dict[str, Any] = {
    module.RECIPE.name: module
    for module in (
        block_destructive_commands,
        commit_message_check,
        no_force_push,
        package_manager,
        protect_cloud,
        protect_data,
        protect_files,
        protect_hooks,
        secret_scan,
    )
}
FUNCTIONS = {each.RECIPE.name: name for each, name, _ in CONCERNS}


class Answers:
    """Asks a recipe with its test and without."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self.root = root
        monkeypatch.setenv("HOME", str(root))
        monkeypatch.setenv("HOOKRUN_PROJECT_DIR", str(root / "p"))
        for name in [each for each in os.environ if each.startswith("HOOKRUN_OPTION_")]:
            monkeypatch.delenv(name)

    def hidden(self, name: str, line: str, directory: str = "p", agent: str = "claude") -> object:
        """Return the full answer of a recipe to a line that its test leaves out, None for another line."""
        context: dict[str, object] = {"event": "pre_tool_use", "tool_name": "bash", "tool_args": {"command": line}}
        context |= {"working_dir": str(self.root / directory), "agent": agent}
        module = MODULES[name]
        if module.concerns(context):
            return None
        answer: object = unwrap(getattr(module, FUNCTIONS[name]))(context)  # the decorator asks the test
        return answer

    def protects(self, line: str, directory: str = "p") -> bool:
        """Return whether protect-files answers a line."""
        return bool(protect_files.check({"tool_args": {"command": line}, "working_dir": str(self.root / directory)}))

    def matters(self, line: str) -> bool:
        """Return whether a line concerns protect-files."""
        context = {"event": "pre_tool_use", "tool_args": {"command": line}, "working_dir": str(self.root / "p")}
        return protect_files.concerns(context)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Answers:
    """Have a home directory with a project in it."""
    (tmp_path / "p").mkdir()
    return Answers(monkeypatch, tmp_path)


IN_DIRECTORIES = [
    ("p/.git", "rm -rf hooks"),
    ("p/.husky", "echo x > pre-commit"),
    (".gnupg", "cat secring.gpg"),
    (".claude", "rm -rf ."),
    (".config/hookrun", "rm foo"),
    (".config", "rm -r hookrun"),
    ("p", "rm -rf .codex"),
    ("p", "rm -rf .gemini"),
]


def test_a_file_is_found_from_the_directory_where_the_line_runs(answers: Answers) -> None:
    """The recipe blocks the line, and its test does not hide it."""
    hidden = [(name, *row) for name in MODULES for row in IN_DIRECTORIES if answers.hidden(name, row[1], row[0])]
    assert hidden == []
    assert [(directory, line) for directory, line in IN_DIRECTORIES if not answers.protects(line, directory)] == []


GLOBS = [
    ("**/private/**", "cat private/x/y"),
    ("secret?.txt", "cat secret1.txt"),
    ("[s]ecret", "cat secret"),
    ("a[bc]d", "cat abd"),
    ("*.[kp]em", "cat x.kem"),
    ("*", "cat foo"),
    ("it's", """cat "it's\""""),
    ("Straße.txt", "cat STRASSE.txt"),
    ("strasse", "cat straße"),
    ("ﬁle.txt", "cat file.txt"),
    ("\u017fecret", "cat secret"),
    ("p/*", "cat foo"),
]


def test_a_glob_of_an_option_is_looked_for(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is made of."""
    missed = []
    for pattern, line in GLOBS:
        monkeypatch.setenv("HOOKRUN_OPTION_SECRETS", pattern)
        if answers.hidden("protect-files", line) or not answers.protects(line):
            missed.append((pattern, line))
    assert missed == []


@pytest.fixture
def linked(answers: Answers) -> Answers:
    """Have a project with links to protected files and directories, and one file that is none."""
    project = answers.root / "p"
    for directory in ("sub/deep", "my dir", ".git/hooks", "other"):
        (project / directory).mkdir(parents=True)
    for name, target in {
        "x": ".env",
        "sub/y": "../.env",
        "my link": ".env",
        "a=b": ".env",
        "my dir/z": f"{project}/.env",
        "hk": ".git/hooks",
        "there": "sub/deep",
        "sub/up": "../.env",
        "gone": "uv.lock",
        "plain": "README.md",
        "again": "x",
        "other/file": "../coder.json",
        "../h": "p/.env",
        "../work": "p/.git/hooks",
    }.items():
        (project / name).symlink_to(target)
    return answers


THROUGH_LINKS = (
    "cat x", "cat ./x", "cat again", "cat sub/y", "cd sub && cat y", "pushd sub; cat y", "cat < x", "echo a > x",
    "echo a >gone", "cat 'my link'", "cat my\\ link", 'cat "my dir/z"', "cd 'my dir' && cat z", "cat a=b",
    "cat there/../up", "cd sub/deep && cat ../y", "cd there; cat ../up", "touch hk/pre-commit", "cd hk; touch new",
    "cp file hk", "bash -c 'env --chdir=sub cat y'",
    "cp a/file other", "curl -Tx u", "curl -so gone u", "curl -d@x u", "curl -O https://h/gone", "sed 'r x' f",
    "sed 1rx f", "git -C sub add y", "git --work-tree=sub add y", "GIT_WORK_TREE=sub git add y",
    "git diff --no-index /dev/null x", "git show HEAD:x", "cd ..; cat p/x",
    "cat ../h", "cd; cat h",
    "env -C sub cat y", "env -Csub cat y", "docker run -v ./x:/y z", "bash -c \"cat 'my link'\"", "cat agai*",
    "cat ROOT/p/x", "cat 'ROOT/p/my link'", "cat 'ROOT/p/my dir/z'", "cat there/../../again", "cat ../p/x",
)  # fmt: skip


def test_a_link_hides_no_file(linked: Answers) -> None:
    """Wherever it is, and however the line names it; the recipe itself resolves it."""
    lines = [line.replace("ROOT", str(linked.root)) for line in THROUGH_LINKS]
    assert [line for line in lines if not linked.matters(line)] == []
    assert [line for line in lines if not linked.protects(line)] == []


def test_a_link_before_dots_hides_no_file(linked: Answers) -> None:
    """Agents differ: some take `..` from the path's text before they open a file."""
    (linked.root / "p" / "far").symlink_to("/usr/share")
    for path in ("far/../x", f"/{linked.root}/p/x", f"{linked.root}/p/there/../up"):
        context = {"tool_name": "read", "tool_args": {"file_path": path}, "working_dir": f"{linked.root}/p"}
        assert protect_files.check(context), path


def test_patterns_look_at_a_limited_number_of_files(linked: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern such as `/*/*/*/*.orig` matches a few files of a million: that must not take until the timeout."""
    project = linked.root / "p"
    for number in range(400):
        (project / "many" / str(number // 20) / str(number)).mkdir(parents=True)
    monkeypatch.setattr("hookrun.recipes.shell_recipe.MAX_LISTED", 100, raising=False)
    listed: list[str] = []
    scandir = os.scandir

    def counted(path: str) -> object:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr("os.scandir", counted)
    for line in ("cat many/*/*/*.orig", "; ".join(f"cat many/*/*/{name}*" for name in range(9))):
        listed.clear()
        assert not linked.protects(line)
        assert len(listed) < 100
    assert linked.protects("cat agai* many/*/*/*x")


def test_a_directory_behind_a_link_hides_no_file(linked: Answers) -> None:
    """The one where the line runs."""
    assert linked.hidden("protect-files", "touch pre-commit", "work") is None
    assert linked.protects("touch pre-commit", "work")


def test_other_links_cost_no_run(linked: Answers) -> None:
    """A line that names none, or one to a file that is not protected."""
    lines = ("cat plain", "make x1 && cat sub/z", "git commit -m 'your links'", "cd other; ls")
    assert [line for line in lines if linked.matters(line)] == []


def test_a_line_of_many_words_is_not_looked_up(linked: Answers) -> None:
    """The recipe runs: the test has no time limit."""
    assert linked.matters(" ".join(f"w{number}" for number in range(path_prefilter.MAX_LOOKUPS + 1)))


def test_a_large_directory_is_not_listed(linked: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing only finds names of more than one word, which need a quote or a special character in the line."""
    monkeypatch.setattr(path_prefilter, "MAX_ENTRIES", 3)
    assert not linked.matters("make all")
    assert linked.matters("make 'all'")


HIDDEN_IN_INPUT = ("rm -rf /", "git push -f", "hookrun trust", "rm .env", "npm install x", "git commit -m bad")
RUNNING_INPUT = (
    "sh", "su", "sudo su -", "sudo -s", "ssh h", "at now", "batch", "xargs env", "xargs sudo", "xargs nice",
    "busybox sh", ". /dev/stdin", "source /dev/stdin", "script -csh", "parallel", "git -c alias.x=!sh x",
)  # fmt: skip


def test_every_program_that_runs_what_it_reads_is_known(answers: Answers) -> None:
    """What it reads need not be in the line as it will be run."""
    octal = ["".join(f"\\0{ord(char):03o}" for char in hidden) for hidden in HIDDEN_IN_INPUT]
    prints = [f"echo {b64encode(hidden.encode()).decode()} | base64 -d" for hidden in HIDDEN_IN_INPUT]
    lines = [
        f"{each} | {reader}" for reader in RUNNING_INPUT for each in (*prints, *(f"echo -e '{it}'" for it in octal))
    ]
    assert [(name, line) for line in lines for name in MODULES if answers.hidden(name, line)] == []


def test_the_parser_gives_a_line_to_no_other_program() -> None:
    """One table is the parser's and the test's."""
    reading = {name for name, line in wrappers.LINES.items() if "stdin" in signature(line).parameters}
    reading.add("login")  # `su`
    assert {name for name, how in having("line").items() if how in reading} <= prefilter.RUN_INPUT
    unlisted = wrappers.nested_line("unlisted", [Word("unlisted")], Word("rm -rf /"))
    assert unlisted is None


def test_a_fork_bomb_is_not_hidden(answers: Answers) -> None:
    """With `&` as with `|`."""
    lines = ("function f() ( f & f ); f", "f() ( f & f ); f", "function f if :; then f & f; fi; f")
    assert [line for line in lines if answers.hidden("block-destructive-commands", line)] == []


@pytest.mark.parametrize(
    "line",
    [
        *(part * 8_000 for part in ("[", "[!", "[a", "*[")),
        *(" ".join(f"{part}{number}" for number in range(2_000)) for part in ("? ", "[ ", "[a ", "?* ")),
    ],
    ids=range(8),
)
def test_odd_patterns_cost_no_comparison(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """The test has no time limit: long patterns and many different ones mean that the recipe runs."""
    compared = []
    monkeypatch.setattr(prefilter, "glob", lambda *given: compared.append(given))
    for module in MODULES.values():
        module.concerns({"event": "pre_tool_use", "tool_args": {"command": line}})
    assert len(compared) < 20 * prefilter.MAX_PATTERNS * prefilter.MAX_PATTERN
    assert max((len(pattern) for pattern, _ in compared), default=0) <= prefilter.MAX_PATTERN


COMMANDS = (
    "rm -rf /", "git push -f", "git reset --hard", "hookrun trust", "cat .env", "rm .git/hooks/x", "npm install x",
    "git commit -m bad", "mkfs.ext4 /dev/sda", "echo x > coder.json", "python3 -i", "bash", "cat ~/.aws/credentials",
    "npx prisma@6 migrate reset", "psql a -c 'DROP TABLE a'", "terraform destroy", "python3.11 -c 'db.drop_all()'",
    "cat x", "cat sub/y", "touch 'my link'", "cat gone > hk/a", "cd sub; cp a=b 'my dir/z'",
)  # fmt: skip
FORMS_OF_A_LINE = (
    "{}", "x={}; $x", "eval '{}'", "sh <<X\n{}\nX", "su <<< '{}'", "at now <<'X'\n{}\nX", "env -S '{}'", "env -S'{}'",
    "find . -exec {} \\;", "find . -name x | xargs {}", "true\r\n{}", "true;\\\n{}", "( ( {} ) )", 'echo "$({})"',
    "alias z='{}'; z", "{} & {}", "function f() ( {} ); f", "echo '{}' | xargs -I% sh -c %", "echo a >({})",
    "parallel -I% {}% ::: ''", "su -c '{}'", "git -c alias.x='!{}' x", "cd .. && {}", "cd / ; cd; {}", "! {}",
    "if {}; then :; fi", "coproc {}", "trap '{}' EXIT", "[ {} ]", "echo {} | . /dev/stdin", "time -p {}", "{}/",
)  # fmt: skip
CHANGES = (
    ("r", "r''"), ("m", "\\m"), ("t", "\\\nt"), (" ", "\t"), (" ", "\u00a0"), (" ", "\u2003"), (" ", "\r\n"),
    (" ", ","), ("a", "A"), ("k", "\u212a"), ("s", "\u017f"), ("i", "?"), ("e", "*"), ("h", "[h]"), (".", "./."),
    ("/", "//"), ("n", "$'\\x6e'"), ("c", '"c"'), ("g", "{g,g}"), ("r", "/bin/r"), ("-", "--"), (";", "\n"),
    ("|", "|&"),
)  # fmt: skip
DIRECTORIES = ("p", "", ".aws", ".config", "p/.git", "p/.git/hooks", ".claude")


@pytest.mark.slow
@given(
    st.sampled_from(COMMANDS),
    st.lists(st.sampled_from(FORMS_OF_A_LINE), min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(1, 2)), max_size=3),
    st.sampled_from(DIRECTORIES),
)
@settings(max_examples=500, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_test_hides_an_answer(
    linked: Answers, command: str, forms: list[str], changes: list[tuple[tuple[str, str], int]], directory: str
) -> None:
    """Where a line concerns no recipe the full answer is none, in every way of writing a line that we know."""
    line = command
    for form in forms:
        line = form.replace("{}", line)
    for (old, new), count in changes:
        line = line.replace(old, new, count)
    for name in MODULES:
        assert linked.hidden(name, line, directory) is None, (name, line)


def add(project: Project, *names: str) -> None:
    """Add recipes to the user's config."""
    path = project.home / ".config" / "hookrun" / "hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": [{"recipe": f"{name}@1"} for name in names]}))
    path.chmod(0o600)


def test_recipes_that_have_nothing_to_say_start_no_process(project: Project) -> None:
    """They are in the audit like any other run."""
    add(project, *FIVE)
    forks = project.root / "forks"
    forks.write_text("")
    context = {"tool_name": "bash", "tool_args": {"command": "ls -la"}}
    fired = project.fire(context=context, wrap=(sys.executable, str(COUNT_FORKS)))
    assert (fired.action, forks.read_text()) == ("continue", "")
    for name in FIVE:
        record = fired.record(name)
        assert (record["action"], record["exit"]) == ("continue", 0)
        assert int(str(record["bytes_in"])) > 0
    refused = project.fire(context={"tool_name": "bash", "tool_args": {"command": "git push --force"}})
    assert refused.action == "block"
    assert json.dumps(refused.verdict).count("Pushing") == 1


def test_a_long_context_is_not_looked_at_in_hookruns_own_process(project: Project) -> None:
    """The recipe runs, with its timeout."""
    add(project, "no-force-push")
    for line, action in (("git push -f", "block"), ("ls", "continue")):
        args = {"command": line, "description": "x" * 20_000}
        fired = project.fire(context={"tool_name": "bash", "tool_args": args})
        assert fired.action == action
        assert float(str(fired.record("no-force-push")["ms"])) > 0
