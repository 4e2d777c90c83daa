"""The recipe `no-force-push`: blocks git pushes that overwrite or delete remote branches."""

from __future__ import annotations

from hookrun.core.globs import glob
from hookrun.recipes import unseen_code
from hookrun.recipes.recipe import Option, Recipe, option, yes
from hookrun.recipes.shell_recipe import block, line_of, parse, unreadable
from hookrun.shell.prefilter import git_programs, may_run
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.recipes.git_repository import Configuration
    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

RECIPE = Recipe(
    "no-force-push",
    "Block git pushes that overwrite or delete remote branches.",
    options=(
        Option(
            "branches",
            "*",
            "Globs of branches to protect from overwriting. A push that names no branch counts as any of them.",
        ),
        Option("lease", "no", "With `yes`, `--force-with-lease` is allowed.", yes),
        Option("kept", "main master", "Globs of branches to protect from deletion."),
        unseen_code.INTERACTIVE,
    ),
    catches="""
        - `git push` with `--force`, `-f` (also in `-fu`), `--force-with-lease`, `--mirror`, or `+` before a refspec.
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
SHORT = {"f": "force", "d": "delete", "n": "dry-run"}

ADVICE = "Push without force (rebase or merge first), push to another branch, or ask the user to do it."


# Git's commands that push.
PUSHING = ("push", "send-pack")


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the line may be blocked. False is certain."""
    line = line_of(context)
    if line is None:
        return False
    refuses = unseen_code.may_refuse(RECIPE, context, line)  # first: a wrong option always counts
    return refuses or may_run(line, git_programs(PUSHING))


@RECIPE.hook("pre_tool_use", matcher="bash", priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a line that would overwrite or delete a remote branch, else None."""
    line = line_of(context)
    if line is None or not concerns(context):
        return None
    return block(_reasons(context, line))


def _reasons(context: Mapping[str, object], line: str) -> Iterator[str]:
    from hookrun.recipes.git_repository import Configuration, calls

    parsed = parse(context, line)
    configuration = Configuration()
    for command, git in calls(context, parsed, configuration):
        if git is not None and git.command in PUSHING:
            yield from (f"{reason}. {ADVICE}" for reason in _of_push(git, command, configuration))
    yield from unreadable(parsed, DANGER)
    yield from unseen_code.refusal(RECIPE, context, parsed)


class Push:
    """A push's parsed arguments: `options`, by long names, and what else is `given`."""

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

    def _take_long(self, word: str) -> None:
        """Take a long, maybe abbreviated, option; `--no-` unsets it."""
        is_set = word[:5] != "--no-"
        name = word.removeprefix("--" if is_set else "--no-").partition("=")[0]
        meant = {full for full, shortest in LONG.items() if full.startswith(name) and len(name) >= shortest}
        self.options = self.options | meant if is_set else self.options - meant

    @property
    def refspecs(self) -> list[str]:
        """The operands except the remote."""
        return self.given[1:]


def _of_push(git: GitCall, command: SimpleCommand, configuration: Configuration) -> Iterator[str]:
    push = Push(git.texts)
    known = command.program != UNKNOWN
    if "dry-run" in push.options or not (known or push.options & {"force", "force-with-lease", "mirror"}):
        return
    configured = list(git.settings.items())
    if git.command == "push":
        configured += _of_its_remote(push, configuration, git.directory)
    mirrors = [value for name, value in configured if _key(name) == "mirror"]
    if "mirror" in push.options or any(value.lower() not in FALSE for value in mirrors):
        yield "A mirror push overwrites and deletes remote branches"
    yield from _overwriting(push, [value for name, value in configured if _key(name) == "push"])
    yield from _deleting(push)


# False values in git's configuration.
FALSE = frozenset({"false", "no", "off", "0", ""})


def _key(name: str) -> str | None:
    """Return the key of a remote's setting, None for others."""
    return name.rpartition(".")[2] if name.startswith("remote.") else None


def _of_its_remote(push: Push, configuration: Configuration, directory: str | None) -> list[tuple[str, str]]:
    """Return the settings of the push's remote; its refspecs only if the line has none."""
    remote = push.given[0] if push.given else configuration.remote(directory)
    names = {f"remote.{remote}.mirror"} if push.refspecs else {f"remote.{remote}.mirror", f"remote.{remote}.push"}
    return [(name, value) for name, value in configuration.all(directory) if name in names]


def _overwriting(push: Push, configured: list[str]) -> Iterator[str]:
    refspecs = [*push.refspecs, *configured]
    forces = "force" in push.options
    if forces or ("force-with-lease" in push.options and not yes(RECIPE, "lease")):
        targets = [target_of(refspec) for refspec in refspecs] or [UNKNOWN]
        how = "--force" if forces else "--force-with-lease"
    else:
        targets = [target_of(refspec) for refspec in refspecs if refspec[:1] == "+"]
        how = "+"
    for target in targets:
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
    """Return a refspec's target branch, UNKNOWN for HEAD."""
    source, _, target = refspec.lstrip("+").rpartition(":")
    branch = target or source
    return UNKNOWN if branch in {"HEAD", "@", ""} else branch.removeprefix("refs/heads/").removeprefix("heads/")


def _one_of(branch: str, name: str) -> bool:
    """Return whether a branch may match an option's globs."""
    globs = option(RECIPE, name).split()
    return bool(globs) if UNKNOWN in branch or "*" in branch else any(glob(each, branch) for each in globs)
