"""The recipe `no-verify`: blocks leaving out, switching off and removing git's hooks."""

from __future__ import annotations

import os

from hookrun.core.globs import glob
from hookrun.recipes import NO
from hookrun.recipes.path_prefilter import may_name
from hookrun.recipes.recipe import Option, Recipe, option
from hookrun.recipes.shell_recipe import SHELL_TOOLS, block, line_of, may, parse, spellings, unreadable
from hookrun.shell.prefilter import git_programs, may_run
from hookrun.shell.simple_command import SKIPPING_HOOKS
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

RECIPE = Recipe(
    "no-verify",
    "Block leaving out, switching off and removing git's hooks.",
    options=(
        Option(
            "paths",
            ".githooks .husky .husky/_ .hooks hooks githooks git-hooks .git/hooks */hooks */githooks */.githooks",
            "Globs of directories in the repository that `core.hooksPath` may name.",
        ),
    ),
    catches="""
        - `--no-verify` of `git commit`, `merge`, `pull`, `push`, `rebase` and `am`, also abbreviated and by an alias;
          `-n` of `git commit` and `git am`, also in `-anm`. In `git push` and `git merge` it means something else.
        - Variables that switch the hooks' manager off, for a git command that runs hooks: `HUSKY=0`,
          `HUSKY_SKIP_HOOKS`, `LEFTHOOK=0`, `LEFTHOOK_EXCLUDE`, `SKIP`, `PRE_COMMIT_ALLOW_NO_CONFIG`, `PREK_SKIP`,
          `OVERCOMMIT_DISABLE`, `SKIP_SIMPLE_GIT_HOOKS`, before it or exported in the line.
        - `core.hooksPath` with another directory than those in `paths`, by `-c`, `GIT_CONFIG_...` variables or `git
          config`; `git config --unset core.hooksPath`.
        - `--no-gpg-sign`, and `commit.gpgSign=false` in the same ways.
        - `pre-commit uninstall`, `lefthook uninstall` and the like; removing or renaming files in `.git/hooks` and
          `.husky`, or making them not executable; `git commit-tree`, which makes commits without hooks.
        - The same in scripts that the line runs, with the script and its line in the reason.
    """,
    misses="""
        - Hooks that are changed, not removed: add `protect-files`, which protects `.git/hooks` and `.husky` from that.
        - Changes to what the hooks run: `.pre-commit-config.yaml` (see `protect-files`), scripts, settings of linters.
        - Variables set outside the line: in the agent's environment, by `direnv`, in `~/.huskyrc`.
        - Commits by other programs and languages: `gh api`, `jj`, libraries of git, scripts over 64 KiB.
    """,
)

# Git's commands that run hooks -> their short option that leaves these out (git-commit(1), git-am(1)).
RUNNING = {
    **dict.fromkeys(("commit", "am"), "n"),
    **dict.fromkeys(("merge", "pull", "push", "rebase", "cherry-pick", "revert"), ""),
}
# Options that leave checks out -> the fewest letters of their abbreviations, and the option that ends them.
OMITTING = {"--no-verify": (9, "--verify"), "--no-gpg-sign": (7, "--gpg-sign")}
# Options of `git commit` with a value: letters of those where it may be in the same word, or the next; long ones.
ATTACHED, NEXT = "mFCctuS", "mFCct"
VALUED = frozenset(
    {"--message", "--file", "--author", "--date", "--template", "--fixup", "--squash", "--trailer", "--cleanup"}
)
# Variables that switch off with these values; the others do with any but these.
ON_UNLESS, OFF = frozenset({"HUSKY", "LEFTHOOK"}), ("0", "false")

UNINSTALLING = {
    **dict.fromkeys(("pre-commit", "prek", "lefthook", "husky", "pre_commit"), ("uninstall",)),
    "overcommit": ("--uninstall", "-u"),
}
# Files of hooks, and those among them that are none.
HOOKS, OTHERS = ("*/.git/hooks", "*/.git/hooks/*", "*/.husky", "*/.husky/*"), ("*.sample", "*node_modules/*")
# Modes that let nobody execute a file.
NOT_EXECUTABLE = r"[ugoa]*-[rwst]*x[rwst]*|[ugoa]*=[rw]*|0?[0246]{3}"

# Matches an unparsed part of a line that may be dangerous.
DANGER = r"(?s)\bgit\b.*\s(?:--no-veri|commit\b.*\s-\w*n)|hooks?path|\.git/hooks|\.husky|uninstall"

ADVICE = "Let the checks run and fix what they report, or ask the user."


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the line may be blocked. False is certain."""
    programs = (*git_programs((*RUNNING, "commit-tree")), *UNINSTALLING)
    return may(context, lambda line: may_run(line, programs) or may_name(context, line, ("hooks", ".husky")))


@RECIPE.hook("pre_tool_use", matcher=SHELL_TOOLS, priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a line that leaves out, switches off or removes hooks, else None."""
    return block(_reasons(context, line_of(context) or ""))


def _reasons(context: Mapping[str, object], line: str) -> Iterator[str]:
    from hookrun.recipes.git_repository import Configuration, calls

    parsed = parse(context, line)
    for command, git in calls(context, parsed, Configuration()):
        reasons = [*_uninstalling(command), *_removing(command)]
        if git is not None:
            reasons += [*_of_git(git), *(_by_variables(command) if git.command in RUNNING else ())]
        yield from (f"{reason.replace(UNKNOWN, '?')}{command.place}. {ADVICE}" for reason in reasons)
    yield from unreadable(parsed, DANGER)


def _of_git(git: GitCall) -> Iterator[str]:
    if git.command == "config":
        yield from _configured(git)
    elif git.command == "commit-tree":
        yield "`git commit-tree` makes a commit without running hooks"
    elif git.command in RUNNING:
        yield from (f"`git {git.command} {each}` leaves out checks" for each in _omitting(git))
        yield from (f"`-c {name}` leaves out checks" for name, value in git.settings.items() if _ends(git, name, value))


def _omitting(git: GitCall) -> Iterator[str]:
    """Yield a call's options that leave out checks; the last of those that contradict each other counts."""
    found, waiting = {}, iter(git.texts)
    for word in waiting:
        if word == "--":
            break
        if word[:2] == "--":
            for omitting, (shortest, opposite) in OMITTING.items():
                if omitting.startswith(word) and len(word) >= shortest:
                    found[omitting] = word
                elif word.partition("=")[0] == opposite:
                    found.pop(omitting, None)
        elif word[:1] == "-" and RUNNING[git.command] and "n" in word[: _end(word)]:
            found["--no-verify"] = word
        if word in VALUED or (
            word[:1] == "-" != word[1:2] and RUNNING[git.command] and word[-1] in NEXT and _end(word) == len(word) - 1
        ):
            next(waiting, None)
    yield from found.values()


def _end(word: str) -> int:
    """Return where in a word of short options the one with a value is, if any."""
    return next((at for at, each in enumerate(word) if each in ATTACHED), len(word))


def _configured(git: GitCall) -> Iterator[str]:
    """Yield why a call of `git config` switches checks off."""
    from hookrun.shell.git_call import setting

    changed, texts = setting(git), [text.lower() for text in git.texts]
    removes = any(text.removeprefix("--").startswith(("unset", "remove-section", "rename-section")) for text in texts)
    if changed is not None and _ends(git, *changed):
        yield f"Setting {changed[0]} to {changed[1] or 'nothing'} switches off checks"
    elif removes and not {"core", "core.hookspath", "commit.gpgsign"}.isdisjoint(texts):
        yield f"`git config {' '.join(git.texts)}` switches off checks"


def _ends(git: GitCall, name: str, value: str) -> bool:
    """Return whether a setting of git has checks left out."""
    if name.lower() == "commit.gpgsign":
        return value.lower() in NO
    if name.lower() != "core.hookspath":
        return False
    top = git.work_tree or git.directory
    path = value.removeprefix(f"{top}/").removeprefix("./").rstrip("/")
    return (
        ".." in path.split("/")
        or path[:1] == "/"
        or not any(glob(each, path) for each in option(RECIPE, "paths").split())
    )


def _by_variables(command: SimpleCommand) -> Iterator[str]:
    for name in SKIPPING_HOOKS:
        value = command.assignments.get(name, "").lower()
        if value and (value in OFF) == (name in ON_UNLESS):
            yield f"`{name}={value}` leaves out checks"


def _uninstalling(command: SimpleCommand) -> Iterator[str]:
    words = [command.program, *command.arguments]
    for at, word in enumerate(words[:3]):  # `python -m pre_commit uninstall`
        if not {*UNINSTALLING.get(word, ())}.isdisjoint(words[at + 1 :]):
            yield f"`{word}` would remove git's hooks"


def _removing(command: SimpleCommand) -> Iterator[str]:
    """Yield why a command takes files away from git's hooks."""
    from hookrun.shell.named_files import named_files

    if command.program == "chmod":
        import re

        is_off = any(re.fullmatch(NOT_EXECUTABLE, word) for word in command.arguments)
        paths = command.operands if is_off else []
    else:
        removes = command.program in {"mv", "truncate"}
        paths = [file.path for file in named_files(command) if file.removed or (removes and file.written)]
    for path in paths:
        full = os.path.join(command.directory or "/", path)
        if any(glob(each, name) for name in spellings(full) for each in HOOKS) and not any(
            glob(each, path) for each in OTHERS
        ):
            yield f"{path} belongs to git's hooks"
