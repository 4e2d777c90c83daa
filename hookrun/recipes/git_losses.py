"""Say what a line's calls of git would lose: changes that are not committed, stashes, branches, history."""

from __future__ import annotations

import os

from hookrun.process.git_query import run
from hookrun.recipes import NO
from hookrun.shell.git_call import git_directory
from hookrun.shell.programs import having
from hookrun.shell.simple_command import not_options
from hookrun.shell.words import UNKNOWN, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

    Paths = list[str] | None
    """The paths whose changes a call discards, [] for all; None if it discards none."""

# Kinds of loss, as options name them.
KINDS = ("clean", "reset", "restore", "stash", "branch", "worktree", "history")
# Letters after which a cluster of short options has a value.
VALUED = "bBcCes"
# Fewest characters of an abbreviated long option: fewer are ambiguous.
SHORTEST = 4
# Commands that change no file of the work tree, so no `.gitignore` either.
KEEPING_RULES = frozenset({"add", "branch", "commit", "diff", "fetch", "log", "ls-files", "push", "show", "status"})
# Files named in a reason.
MAX_NAMED = 3


class Loss:
    """What a call loses: its kind, and a text for the user.

    `directory` is where git keeps what is lost, if a snapshot of the files there would have it all; else None.
    """

    def __init__(self, kind: str, text: str, directory: str | None = None) -> None:
        self.kind = kind
        self.text = text
        self.directory = directory


class GitLosses:
    """Judges the commands of a line one after the other. `is_temporary`: no loss in such a directory counts.

    Git is asked only about calls that discard something. What it cannot answer counts as a loss.
    """

    def __init__(self, is_temporary: Callable[[str], bool]) -> None:
        self._is_temporary = is_temporary
        self._before: list[GitCall] = []
        self._changes_rules = False

    def of(self, command: SimpleCommand, git: GitCall | None) -> Loss | None:
        """Return what a command loses, if anything."""
        if git is None:
            named = (*command.arguments, *(each.target.text for each in command.redirections))
            self._changes_rules |= any("ignore" in word or "info/exclude" in word for word in named)
            return self._of_listed(command) or _of_other_system(command)
        loss = None if command.program == UNKNOWN or self._spares(git) else self._of_call(command, git)
        self._before.append(git)
        return loss

    def _spares(self, git: GitCall) -> bool:
        """Return whether nothing of value is there: help, a temporary tree, a repository that the line makes."""
        if _has(git.texts, "h", "--help"):
            return True
        if git.elsewhere or git.directory is None:
            return False
        made = any(each.command in {"init", "clone"} for each in self._before)
        is_new = made and (not os.path.exists(git.directory) or git_directory(git.directory) is None)
        return is_new or self._is_temporary(git.directory)

    def _of_call(self, command: SimpleCommand, git: GitCall) -> Loss | None:
        kind, discarded = DISCARDING.get(git.command, ("", None))
        if discarded is not None:
            paths = discarded(git)
            if paths is None or (git.command == "apply" and not self._ran("diff")):
                return None
            return self._of_changes(git, kind, paths)
        if git.command in {"show", "cat-file"}:  # `git show HEAD:x > x`
            written = [each.target.text for each in command.redirections if each.operator in {">", ">|"}]
            full = absolute(written[0], git.directory) if written else None
            is_spared = full is None or self._is_temporary(full) or not os.path.exists(full)
            return None if is_spared else self._of_changes(git, "restore", written)
        return OTHERS[git.command](self, git) if git.command in OTHERS else None

    def _of_changes(self, git: GitCall, kind: str, paths: list[str]) -> Loss | None:
        if git.command == "submodule":  # changes in them are no changes here
            return Loss(kind, "changes in submodules")
        if self._ran("stash", lambda each: _stashes(each.texts)) and not self._ran("stash", _brings_back):
            return None
        stashed = self._ran("stash", _brings_back)  # what was stashed is lost, too
        changed = None if stashed else changes(git, paths, untracked=self._ran("add"))
        if changed == []:
            return None
        where = None if stashed or git.elsewhere else git.directory
        return Loss(kind, f"changes{_named(changed)} that are not committed", where)

    def _of_listed(self, command: SimpleCommand) -> Loss | None:
        """Return the loss of the files that git lists and another program removes: `git ls-files -o | xargs rm`."""
        if command.program not in having("removes") or UNKNOWN not in "".join(command.operands):
            return None
        listing = [
            each
            for each in self._before
            if each.command == "status" or (each.command == "ls-files" and _has(each.texts, "o", "--others"))
        ]
        if not listing or (listing[0].directory is not None and self._is_temporary(listing[0].directory)):
            return None
        found = changes(listing[0], [], untracked=True)
        spared = all(each.command == "status" or "--exclude-standard" in each.texts for each in listing)
        where = command.directory if spared and all(map(self._leaves_ignored, listing)) else None
        return None if found == [] else Loss("clean", f"files{_named(found)} that git does not have", where)

    def _leaves_ignored(self, git: GitCall) -> bool:
        """Return whether a call leaves the files that are ignored now, which a snapshot does not have.

        It may have its own rules; or earlier calls bring other `.gitignore` files, or take changes of these back.
        """
        own = _has(git.texts, "xXei") or any(
            word.startswith(("--exc", "--ign")) and word != "--exclude-standard" for word in git.texts
        )
        if own or "core.excludesfile" in git.settings or self._changes_rules:
            return False
        before = [each for each in self._before if each.command not in KEEPING_RULES]
        in_place = all(each.command in DISCARDING and {*not_options(each.texts)} <= {".", "HEAD"} for each in before)
        rules = changes(git, [":(top,glob)**/.gitignore"], untracked=True) if before else []
        return in_place and rules == []

    def _ran(self, name: str, how: Callable[[GitCall], bool] = lambda _: True) -> bool:
        return any(each.command == name and how(each) for each in self._before)

    def cleaned(self, git: GitCall) -> Loss | None:
        """Return the untracked files that `git clean` would remove."""
        if not cleans(git) or _has(git.texts, "i", "--interactive"):
            return None
        # `git reset` first: files that were only staged are removed, too.
        unstages = self._ran("reset", lambda each: not _has(each.texts, "", "--hard")) or self._ran("rm")
        known = _is_known(git, git.texts) and not unstages and not self._ran("stash", _brings_back)
        cut = git.texts.index("--") if "--" in git.texts else len(git.texts)
        shown = (*git.texts[:cut], "--no-quiet", "--dry-run", *git.texts[cut:])
        listed = run(git.directory or "", "clean", *shown) if known else None
        names = [line.partition("Would remove ")[2] for line in (listed or "").splitlines()]
        text = f"files{_named(names)} that git does not have"
        if listed is not None and not names:
            return None
        kept = known and git.directory is not None and self._leaves_ignored(git)
        return Loss("clean", text, git.directory if kept else None)

    def unstashed(self, git: GitCall) -> Loss | None:
        """Return the stashes that are dropped."""
        if git.texts[:1] not in (["drop"], ["clear"]):
            return None
        applied = git.texts[0] == "drop" and self._ran("stash", lambda each: each.texts[:1] == ["apply"])
        return None if applied else Loss("stash", "what was stashed")

    def deleted(self, git: GitCall) -> Loss | None:
        """Return the commits of deleted branches."""
        forced = _has(git.texts, "D") or (_has(git.texts, "d", "--delete") and _has(git.texts, "f", "--force"))
        if not forced or _has(git.texts, "r", "--remotes"):
            return None
        return self._of_branches(git, not_options(git.texts))

    def unreferenced(self, git: GitCall) -> Loss | None:
        """Return the commits of a deleted ref."""
        if not _has(git.texts, "d", "--delete"):
            return None
        return self._of_branches(git, [name.removeprefix("refs/heads/") for name in not_options(git.texts)[:1]])

    @staticmethod
    def _of_branches(git: GitCall, names: list[str]) -> Loss | None:
        """Return the loss of branches with commits that no other one has, nor a tag or a remote."""
        lost = None
        if _is_known(git, names) and names:
            refs, others = ([f"{start}{name}" for name in names] for start in ("refs/heads/", "--exclude="))
            all_others = ("--not", *others, "--branches", "--remotes", "--tags")
            lost = run(git.directory or "", "rev-list", "-n1", *refs, *all_others)
        shown = " ".join(name for name in names if UNKNOWN not in name)
        return None if lost == "" else Loss("branch", f"commits that only {shown or 'these branches'} may have")

    def removed(self, git: GitCall) -> Loss | None:
        """Return the changes in a removed worktree."""
        if git.texts[:1] != ["remove"] or not _has(git.texts, "f", "--force"):
            return None
        path = absolute((not_options(git.texts[1:]) or [UNKNOWN])[0], git.directory)
        if path is not None and (self._is_temporary(path) or run(path, "status", "--porcelain") == ""):
            return None
        return Loss("worktree", "changes in the worktree that are not committed")

    def rewritten(self, git: GitCall) -> Loss | None:
        """Return the history that is rewritten or forgotten."""
        words = git.texts
        harmless = {
            "filter-repo": not {"--analyze", "--dry-run"}.isdisjoint(words),
            "reflog": words[:1] != ["delete"]
            and not (words[:1] == ["expire"] and any(word.endswith(("=now", "=all", "=0")) for word in words)),
            "tag": not _has(words, "d", "--delete") or UNKNOWN not in "".join(not_options(words)),
        }
        what = {"reflog": "the way back to lost commits", "tag": "tags that are not named here"}
        if harmless.get(git.command):
            return None
        return Loss("history", what.get(git.command, "all commits as others know them"))


def changes(git: GitCall, paths: list[str], *, untracked: bool = False) -> list[str] | None:
    """Return the files under paths of a call (all without any) with changes that are not committed; None if unknown."""
    if git.directory is None or not _is_known(git, []):
        return None
    which = f"--untracked-files={'all' if untracked else 'no'}"
    within = paths if _is_known(git, paths) and "" not in paths else []
    listed = run(git.directory, "status", "--porcelain", "--no-renames", "-z", which, "--", *within)
    return None if listed is None else [entry[3:] for entry in listed.split("\0") if entry]


def cleans(git: GitCall) -> bool:
    """Return whether `git clean` removes files, and not only lists them."""
    spared = git.settings.get("clean.requireforce", "").lower() in NO
    return (spared or _has(git.texts, "f", "--force")) and not _has(git.texts, "n", "--dry-run")


def _is_known(git: GitCall, words: list[str]) -> bool:
    """Return whether git can be asked about a call with these words."""
    return not git.elsewhere and git.directory is not None and UNKNOWN not in "".join(words)


def _of_other_system(command: SimpleCommand) -> Loss | None:
    """Return the loss by another system than git: it is not asked."""
    name = command.operands[0] if command.operands else ""
    needed = OTHER_SYSTEMS.get(command.program, {}).get(name)
    if needed is None or (needed and not _has(command.arguments, *needed)):
        return None
    return Loss("restore", f"work that `{command.program} {name}` cannot bring back")


def _named(files: list[str] | None) -> str:
    if not files:
        return ""
    more = len(files) - MAX_NAMED
    return f" in {', '.join(files[:MAX_NAMED])}" + (f" and {more} more" if more > 0 else "")


def _has(words: list[str], letters: str, *names: str) -> bool:
    """Return whether an option is given: one of the letters, or a name, which may be abbreviated."""
    for word in words[: words.index("--") if "--" in words else None]:
        if word[:2] == "--":
            if len(word) >= SHORTEST and any(name.startswith(word) for name in names):
                return True
        elif word[:1] == "-":
            for letter in word[1:]:
                if letter in letters:
                    return True
                if letter in VALUED:
                    break
    return False


def _stashes(words: list[str]) -> bool:
    """Return whether `git stash` takes all changes away."""
    if words[:1] == ["push"] or words[:1] == ["save"]:
        words = words[1:]
    given = iter(words)
    rest = [word for word in given if not (word in {"-m", "--message"} and next(given, None) is not None)]
    return not _has(rest, "pkS", "--patch", "--keep-index", "--staged") and not not_options(rest)


def _brings_back(git: GitCall) -> bool:
    return git.texts[:1] in (["pop"], ["apply"], ["branch"])


def _checked_out(git: GitCall) -> Paths:
    words, operands = git.texts, not_options(git.texts)
    if _has(words, "pm", "--patch", "--ours", "--theirs", "--merge", "--conflict"):
        return None
    if "--" in words:
        return words[words.index("--") + 1 :]
    if _has(words, "f", "--force"):
        return []
    if _has(words, "bBtdl", "--orphan", "--track", "--detach"):
        return None
    if len(operands) > 1:
        return operands
    named = any(word.startswith("--pathspec-from") for word in words)
    return [] if named else (operands if operands and _is_path(operands[0], git.directory) else None)


def _is_path(word: str, directory: str | None) -> bool:
    """Return whether git takes a word for a path and not for a commit."""
    if word[:1] in {":", "."} or word[-1:] == "/" or any(sign in word for sign in "*?["):
        return True
    full = absolute(word, directory)
    return full is not None and os.path.lexists(full)


def _restored(git: GitCall) -> Paths:
    words = git.texts
    staged, files = (_has(words, letter, name) for letter, name in (("S", "--staged"), ("W", "--worktree")))
    if _has(words, "p", "--patch", "--ours", "--theirs", "--merge") or (staged and not files):
        return None
    return [] if any(word.startswith("--pathspec-from") for word in words) else not_options(words)


def _removed(git: GitCall) -> Paths:
    spared = _has(git.texts, "n", "--cached", "--dry-run")
    return not_options(git.texts) if _has(git.texts, "f", "--force") and not spared else None


def _in_submodules(git: GitCall) -> Paths:
    discards = not_options(git.texts)[:1] in (["update"], ["deinit"]) and _has(git.texts, "f", "--force")
    return [] if discards else None


# Commands -> the kind of loss, and the paths whose changes they discard.
DISCARDING: dict[str, tuple[str, Callable[[GitCall], Paths]]] = {
    "apply": ("restore", lambda git: [] if _has(git.texts, "R", "--reverse") and not not_options(git.texts) else None),
    "checkout": ("restore", _checked_out),
    "checkout-index": ("restore", lambda git: not_options(git.texts) if _has(git.texts, "f", "--force") else None),
    "read-tree": ("reset", lambda git: [] if _has(git.texts, "", "--reset") and _has(git.texts, "u") else None),
    "reset": ("reset", lambda git: [] if _has(git.texts, "", "--hard", "--merge") else None),
    "restore": ("restore", _restored),
    "rm": ("restore", _removed),
    "submodule": ("restore", _in_submodules),
    "switch": ("restore", lambda git: [] if _has(git.texts, "f", "--force", "--discard-changes") else None),
}

# Other commands -> what they lose.
OTHERS: dict[str, Callable[[GitLosses, GitCall], Loss | None]] = {
    "branch": GitLosses.deleted,
    "clean": GitLosses.cleaned,
    **dict.fromkeys(("filter-branch", "filter-repo", "reflog", "tag"), GitLosses.rewritten),
    "stash": GitLosses.unstashed,
    "update-ref": GitLosses.unreferenced,
    "worktree": GitLosses.removed,
}

# Commands of git that may lose something.
COMMANDS = frozenset({*DISCARDING, *OTHERS, "show", "cat-file"})

# Programs -> their commands that discard work, each with the letters and names of the options it takes for that.
OTHER_SYSTEMS: dict[str, dict[str, tuple[str, ...]]] = {
    "hg": {**dict.fromkeys(("checkout", "co", "up", "update"), ("C", "--clean")), "purge": (), "strip": ()},
    "jj": {"abandon": ()},
    "svn": {"revert": (), "cleanup": ("", "--remove-unversioned", "--remove-ignored")},
}
