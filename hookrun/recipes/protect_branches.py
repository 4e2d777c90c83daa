"""The recipe `protect-branches`: blocks commits, edits and pushes on main."""

from __future__ import annotations

import os

from hookrun.core.files import upwards
from hookrun.core.globs import glob
from hookrun.process.git_query import run
from hookrun.recipes.no_force_push import HEAD, PUSHING, Push, target_of
from hookrun.recipes.recipe import Option, Recipe, option, yes
from hookrun.recipes.shell_recipe import (
    CHANGING_TOOLS,
    block,
    line_directory,
    line_of,
    may,
    mcp_tool,
    named_paths,
    parse,
    unreadable,
)
from hookrun.shell.prefilter import git_programs, may_run
from hookrun.shell.simple_command import not_options
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.recipes.git_repository import Configuration
    from hookrun.shell.git_call import GitCall

RECIPE = Recipe(
    "protect-branches",
    "Block commits, merges, edits and pushes on main, so that work goes to a branch.",
    options=(
        Option("branches", "main master", "Globs of branches to protect."),
        Option("edits", "yes", "With `no`, files may be edited while such a branch is checked out.", yes),
    ),
    catches="""
        - `git commit`, `merge`, `rebase`, `cherry-pick`, `revert`, `am`, and `pull` of another branch, while a branch
          in `branches` is checked out where the command runs: after `cd`, with `git -C`, in a worktree or a submodule.
        - Pushes to such a branch: `git push origin main`, `HEAD:main`, a bare `git push` on main, `--all`, `--mirror`;
          `git branch -D main`, `git branch -f main`, `git update-ref refs/heads/main`.
        - The tools that write, edit and delete files, in a repository that has such a branch checked out.
        - Branches are followed through the line: `git switch -c fix && git commit` is allowed, `git switch main && git
          merge fix` is not. So are aliases, `sudo`, `bash -c` and the like, and scripts that the line runs.
        - Allowed: what brings the branch up to its own remote (`git pull`, `git merge origin/main`), a repository
          without a commit, a detached HEAD, files that git ignores.
    """,
    misses="""
        - Files changed by shell commands; `git reset`, which moves a branch.
        - What a host does by its own programs: `gh pr merge`, `gh api`. Protect the branch there too.
        - `git push` of a branch whose upstream has another name (`push.default=upstream`).
        - `git --git-dir` and GIT_DIR without a work tree: the branch is that of the working directory.
        - Other programs: `jj`, `git svn`, `git subtree`, scripts over 64 KiB.
    """,
)

# Git's commands that add commits to the branch, or replace its commits; their options that do not.
COMMITTING = frozenset({"commit", "merge", "rebase", "cherry-pick", "revert", "am", "pull"})
HARMLESS = frozenset({"--abort", "--quit", "--dry-run", "--show-current-patch", "-h", "--help"})
# Names of the branch's own upstream.
UPSTREAM = frozenset({"@{u}", "@{upstream}", "FETCH_HEAD"})
# Options that move or delete a branch.
MOVING = frozenset({"-d", "-D", "-f", "--delete", "--force", "-df", "-fd"})

DANGER = r"(?s)\bgit\b.*\b(?:commit|merge|rebase|cherry-pick|revert|am|push)\b"

ADVICE = "Work on a branch of your own (`git switch -c NAME`), or ask the user."


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may be blocked. False is certain."""
    edits = any(_of_edits(context))  # a wrong option always counts
    return edits or may(
        context, lambda text: may_run(text, git_programs((*COMMITTING, *PUSHING, "branch", "update-ref")))
    )


@RECIPE.hook("pre_tool_use", matcher=CHANGING_TOOLS, priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that changes a protected branch, else None."""
    line = line_of(context)
    return block(_of_edits(context) if line is None else _of_line(context, line))


def _of_edits(context: Mapping[str, object]) -> Iterator[str]:
    from hookrun.recipes.git_repository import Branches

    branches = Branches()
    for path in dict.fromkeys(named_paths(context)) if yes(RECIPE, "edits") and not mcp_tool(context) else ():
        full = os.path.realpath(os.path.join(line_directory(context), os.path.expanduser(path)))
        parent = next(each for each in upwards(os.path.dirname(full), os.sep) if os.path.isdir(each))
        on = branches.at(parent)
        if _is_protected(on) and not run(parent, "check-ignore", "--", full):
            yield f"{path} is in a repository with the branch {on} checked out. {ADVICE}"


def _of_line(context: Mapping[str, object], line: str) -> Iterator[str]:
    from hookrun.recipes.git_repository import Branches, Configuration, calls

    parsed = parse(context, line)
    configuration, branches = Configuration(), Branches()
    for command, git in calls(context, parsed, configuration):
        if git is None or command.program == UNKNOWN:
            continue
        on = branches.at(git.start)
        if git.command in COMMITTING and _is_protected(on) and not _is_harmless(git, on, configuration):
            yield f"`git {git.command}` would change the branch {on.replace(UNKNOWN, '?')}{command.place}. {ADVICE}"
        yield from (f"This would {how}{command.place}. {ADVICE}" for how in _changes(git, on, configuration))
        branches.follow(git)
    yield from unreadable(parsed, DANGER)


def _is_harmless(git: GitCall, on: str, configuration: Configuration) -> bool:
    """Return whether a call changes nothing, or only brings a branch up to its own upstream."""
    if not HARMLESS.isdisjoint(git.texts):
        return True
    given = not_options(git.texts)
    if git.command == "pull":
        return {*given[1:]} <= {on}
    own = {*UPSTREAM, on, f"{configuration.remote(git.directory)}/{on}", f"origin/{on}"}
    return git.command in {"merge", "rebase"} and {*given} <= own


def _changes(git: GitCall, on: str, configuration: Configuration) -> Iterator[str]:
    """Yield which protected branches a call pushes, deletes or moves, and how."""
    named: list[str] = []
    if git.command in PUSHING:
        push = Push(git.texts)
        if "dry-run" in push.options:
            return
        remote = push.given[0] if push.given else configuration.remote(git.directory)
        settings = configuration.all(git.directory)
        refspecs = push.refspecs or [value for name, value in settings if name == f"remote.{remote}.push"]
        whole = not {"--all", "--branches", "--mirror"}.isdisjoint(git.texts)
        targets = [on if each == HEAD else each for each in map(target_of, refspecs)]
        if whole or not (refspecs or "--tags" in git.texts):
            targets.append(UNKNOWN if whole else on)
        yield from (f"push to the branch {each.replace(UNKNOWN, '?')}" for each in targets if _is_protected(each))
    elif git.command == "branch" and not MOVING.isdisjoint(git.texts):
        operands = not_options(git.texts)
        named = operands if any(each[:2] in ("-d", "-D") or each == "--delete" for each in git.texts) else operands[:1]
        if MOVING.intersection(git.texts) <= {"-d", "--delete"}:  # git refuses what is not merged
            named = [each for each in named if UNKNOWN not in each]
    elif git.command == "update-ref":
        named = [each.removeprefix("refs/heads/") for each in git.texts if each.startswith("refs/heads/")]
    yield from (f"delete or move the branch {each.replace(UNKNOWN, '?')}" for each in named if _is_protected(each))


def _is_protected(branch: str) -> bool:
    globs = option(RECIPE, "branches").split()
    return bool(globs and branch) and (UNKNOWN in branch or any(glob(each, branch) for each in globs))
