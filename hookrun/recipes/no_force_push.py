"""The recipe `no-force-push`: blocks git pushes that overwrite or delete remote branches."""

from __future__ import annotations

import os

from hookrun.core.globs import glob
from hookrun.recipes import NO, unseen_code
from hookrun.recipes.recipe import Option, Recipe, option, yes
from hookrun.recipes.shell_recipe import SHELL_TOOLS, block, line_of, may, parse, unreadable
from hookrun.shell.prefilter import git_programs, may_run
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.recipes.git_repository import Branches, Configuration
    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

RECIPE = Recipe(
    "no-force-push",
    "Block git pushes that overwrite or delete remote branches.",
    options=(
        Option(
            "branches",
            "main master trunk develop production release/* v[0-9]*",
            "Globs of branches and tags to protect from overwriting; `*` for all. An unknown branch counts as any.",
        ),
        Option("lease", "no", "With `yes`, `--force-with-lease` is allowed for these, too.", yes),
        Option("kept", "main master release/* v[0-9]*", "Globs of branches and tags to protect from deletion."),
        unseen_code.INTERACTIVE,
    ),
    catches="""
        - `git push` to a branch in `branches` with `--force`, `-f` (also in `-fu`), `--force-with-lease`, or `+` before
          a refspec; `--mirror`. A push that names no branch pushes the checked-out one, in worktrees, too.
        - Deleting a branch in `kept`: `--delete`, `-d`, `:main`, and `--prune`.
        - Git settings with the same effect, in the line, in `GIT_CONFIG_...` variables or in git's config: an alias
          (`alias.p=push --force`), `remote.origin.push=+main`, `remote.origin.mirror=true`, also when the line sets
          them first (`git config alias.p 'push -f' && git p`).
        - The same with `git -C`, behind `cd`, `sudo`, `env` and similar, in `bash -c`, `$(...)`, functions, loops and
          here-documents, and with any quoting; parts that look like one and cannot be parsed as shell.
        - Shells and interpreters that read commands from a terminal (`bash`, `sudo -s`, `python3 -i`), under agents
          that hide typed input from hooks.
    """,
    misses="""
        - Under agents that hide typed input from hooks: commands typed into an editor, a debugger or a container.
        - Git settings written by a script in the same line: `./setup.sh && git p`.
        - Git settings of remotes where hookrun cannot run git. A line with what may be an alias is blocked there.
        - Scripts, `make`, other programs and web pages: `gh api`, `git subtree`, `hg`, `jj`.
        - Branches that are not in `branches`: `git push -f` on a feature branch is allowed.
        - Options that only the shell knows: `git push $FLAGS`.
        - Rewriting history locally: `git commit --amend` and `git rebase` are allowed.
    """,
)

# Options of push whose value is the next word.
WITH_VALUE = frozenset({"-o", "--push-option", "--repo", "--receive-pack", "--exec", "--recurse-submodules"})

# Matches an unparsed part of a line that may be dangerous.
DANGER = r"(?s)\bgit\b.*\b(?:push|send-pack)\b.*\s(?:-\w*[fd]|--(?:forc|mi|de|prun)|[+:])"

# Long options of push -> the fewest letters of abbreviations.
LONG = {"force": 4, "force-with-lease": 7, "mirror": 1, "delete": 2, "prune": 3, "dry-run": 2}
LONG |= {"all": 2, "branches": 1, "tags": 2}
SHORT = {"f": "force", "d": "delete", "n": "dry-run"}

ADVICE = "Push without force (rebase or merge first), push to another branch, or ask the user to do it."


# Git's commands that push.
PUSHING = ("push", "send-pack")
HEAD = "HEAD"


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the line may be blocked. False is certain."""
    refuses = unseen_code.may_refuse(RECIPE, context)  # first: a wrong option always counts
    return refuses or may(context, lambda line: may_run(line, git_programs(PUSHING)))


@RECIPE.hook("pre_tool_use", matcher=SHELL_TOOLS, priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a line that would overwrite or delete a remote branch, else None."""
    return block(_reasons(context, line_of(context) or ""))


def _reasons(context: Mapping[str, object], line: str) -> Iterator[str]:
    from hookrun.recipes.git_repository import Branches, Configuration, calls

    parsed = parse(context, line)
    configuration, branches = Configuration(), Branches()
    for command, git in calls(context, parsed, configuration):
        if git is not None and git.command in PUSHING:
            heads = _heads(git, branches, configuration)
            reasons = _of_push(git, command, configuration, heads)
            yield from (f"{reason}{command.place}. {ADVICE}" for reason in reasons)
        elif git is not None:
            branches.follow(git)
    yield from unreadable(parsed, DANGER)
    yield from unseen_code.refusal(RECIPE, context, parsed)


def _heads(git: GitCall, branches: Branches, configuration: Configuration) -> list[str]:
    """Return the branches of which a push that names none may push one: by HEAD, or after the line's switches.

    UNKNOWN is among them if it may be any: git cannot say, or settings choose another one. A detached HEAD is none.
    """
    where = git.directory
    if where is None or git.elsewhere or not os.path.isdir(where) or not configuration.is_known(where):
        return [UNKNOWN]
    seen = branches.so_far(where)
    here, settings = seen[-1], {**configuration(where), **git.settings}
    upstream = target_of(settings.get(f"branch.{here}.merge", ""))
    targets = {"simple": here, "current": here, "upstream": upstream, "tracking": upstream}
    return [each for each in (*seen, targets.get(settings.get("push.default", "simple"), UNKNOWN)) if each]


class Push:
    """A push's parsed arguments: `options`, by long names, what else is `given`, and of that all but the remote."""

    def __init__(self, words: list[str]) -> None:
        self.options: set[str] = set()
        self.given: list[str] = []
        waiting = iter(words)
        for word in waiting:
            if word == "--":
                self.given.extend(waiting)
            elif word[:2] == "--":
                self._take_long(word)
                if word in WITH_VALUE:
                    next(waiting, None)
            elif word[:1] == "-" and len(word) > 1:
                letters, o, value = word[1:].partition("o")
                self.options.update(SHORT[letter] for letter in letters if letter in SHORT)
                if o and not value:
                    next(waiting, None)
            else:
                self.given.append(word)
        self.refspecs = self.given[1:]

    def _take_long(self, word: str) -> None:
        """Take a long, maybe abbreviated, option; `--no-` unsets it."""
        is_set = word[:5] != "--no-"
        name = word.removeprefix("--" if is_set else "--no-").partition("=")[0]
        meant = {full for full, shortest in LONG.items() if full.startswith(name) and len(name) >= shortest}
        self.options = self.options | meant if is_set else self.options - meant


def _of_push(git: GitCall, command: SimpleCommand, configuration: Configuration, heads: list[str]) -> Iterator[str]:
    push = Push(git.texts)
    known = command.program != UNKNOWN
    if "dry-run" in push.options or not (known or push.options & {"force", "force-with-lease", "mirror"}):
        return
    configured = list(git.settings.items())
    if git.command == "push":
        configured += _of_its_remote(push, configuration, git.directory)
    mirrors = [value for name, value in configured if _key(name) == "mirror"]
    if "mirror" in push.options or any(value.lower() not in {*NO, ""} for value in mirrors):
        yield "A mirror push overwrites and deletes remote branches"
    yield from _overwriting(push, [value for name, value in configured if _key(name) == "push"], heads)
    yield from _deleting(push)


def _key(name: str) -> str | None:
    """Return the key of a remote's setting, None for others."""
    return name.rpartition(".")[2] if name.startswith("remote.") else None


def _of_its_remote(push: Push, configuration: Configuration, directory: str | None) -> list[tuple[str, str]]:
    """Return the settings of the push's remote; its refspecs only if the line has none."""
    remote = push.given[0] if push.given else configuration.remote(directory)
    names = {f"remote.{remote}.mirror"} if push.refspecs else {f"remote.{remote}.mirror", f"remote.{remote}.push"}
    return [(name, value) for name, value in configuration.all(directory) if name in names]


def _overwriting(push: Push, configured: list[str], heads: list[str]) -> Iterator[str]:
    refspecs = [*push.refspecs, *configured]
    forces = "force" in push.options
    if forces or ("force-with-lease" in push.options and not yes(RECIPE, "lease")):
        targets = [target_of(refspec) for refspec in refspecs] or heads
        targets += [UNKNOWN] if push.options & {"all", "branches", "tags"} else []
        how = "--force" if forces else "--force-with-lease"
    else:
        targets = [target_of(refspec) for refspec in refspecs if refspec[:1] == "+"]
        how = "+"
    for target in dict.fromkeys(each for name in targets for each in (heads if name == HEAD else [name])):
        if _one_of(target, "branches"):
            named = f" {target}" if UNKNOWN not in target else ""
            yield f"Pushing{named} with `{how}` can overwrite commits of others"


def _deleting(push: Push) -> Iterator[str]:
    if "prune" in push.options and all("*" in refspec for refspec in push.refspecs):
        yield "`git push --prune` deletes remote branches that do not exist locally"
    emptied = [refspec[1:] for refspec in push.refspecs if refspec[:1] == ":"]
    for refspec in push.refspecs if "delete" in push.options else emptied:
        if refspec and _one_of(target_of(refspec), "kept"):
            yield f"This would delete the remote branch {target_of(refspec).replace(UNKNOWN, '?')}"


def target_of(refspec: str) -> str:
    """Return a refspec's target branch or tag, HEAD for the checked-out one, UNKNOWN for any."""
    source, _, target = refspec.lstrip("+").rpartition(":")
    name = (target or source).removeprefix("refs/").removeprefix("heads/").removeprefix("tags/")
    return HEAD if name in {HEAD, "@"} else name or UNKNOWN


def _one_of(branch: str, name: str) -> bool:
    """Return whether a branch may match an option's globs."""
    globs = option(RECIPE, name).split()
    return (
        bool(globs)
        if UNKNOWN in branch or "*" in branch or branch == HEAD
        else any(glob(each, branch) for each in globs)
    )
