"""Read a call of git: its command and the words after it, without git's own options and aliases."""

from __future__ import annotations

import os

from hookrun.core.files import is_within, read_or_none, upwards
from hookrun.shell.programs import having
from hookrun.shell.words import UNKNOWN, Word, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hookrun.shell.simple_command import SimpleCommand

    Configured = Callable[[str | None], Mapping[str, str]]

# Git's own options that take the next word.
VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}
    | {"--attr-source", "--list-cmds"}
)

# Commands of git, which no alias can replace; others are looked up as aliases in the configuration.
OWN = frozenset({
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-ignore",
    "checkout", "checkout-index", "cherry", "cherry-pick", "clean", "clone", "commit", "config", "describe", "diff",
    "diff-tree", "difftool", "fetch", "filter-branch", "filter-repo", "for-each-ref", "format-patch", "fsck", "gc",
    "grep", "hash-object", "help", "init", "log", "ls-files", "ls-remote", "ls-tree", "maintenance", "merge",
    "merge-base", "mergetool", "mv", "notes", "pull", "push", "range-diff", "read-tree", "rebase", "reflog",
    "remote", "repack", "replace", "request-pull", "reset", "restore", "rev-list", "rev-parse", "revert", "rm",
    "send-pack", "shortlog", "show", "show-ref", "sparse-checkout", "stash", "status", "submodule", "switch",
    "symbolic-ref", "tag", "update-index", "update-ref", "version", "worktree", "write-tree",
})  # fmt: skip

# Variables, and options, that name a repository.
REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"})
KEY, VALUE = "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"
# A setting in GIT_CONFIG_PARAMETERS: `'name=value'` or `'name'='value'`.
PARAMETER = r"'([^'=]+)(?:'=')?=?([^']*)'"

CONFIG_VALUED = frozenset({"-f", "--file", "--blob", "--type", "--default", "--comment", "--value"})
# Options of `git config` that take the next word, and beginnings of those that set nothing.
CONFIG_OTHERS = ("--get", "--unset", "--rem", "--ren", "--li", "-l", "-e", "--e")

# Nested aliases that are followed.
MAX_ALIASES = 5

WORK_TREE = r"(?mi)^(?:\s*\[core\])?\s*worktree\s*=\s*\"?([^\"#;\n]+)"
# Bytes of a repository's settings that are read, and of HEAD or a `.git` file.
MAX_SETTINGS, MAX_LINE = 1 << 20, 4096


class GitCall:
    """A git command and the words after it. `settings` are those of `-c NAME=VALUE`, names in lower case.

    `line` is the shell line of an alias (`alias.x=!...`). `directory` is where git runs, `work_tree` what
    `--work-tree`, GIT_WORK_TREE or the repository names; None if unknown. `elsewhere`: the line names a repository or a
    work tree, so that those in `directory` need not be the call's.
    """

    def __init__(
        self, command: str, words: list[Word], settings: dict[str, str], directory: str | None, work_tree: str | None
    ) -> None:
        self.command = command
        self.words = words
        self.settings = settings
        self.directory = directory
        self.work_tree = work_tree
        self.elsewhere = False
        self.line: str | None = None

    @property
    def texts(self) -> list[str]:
        """The words as texts."""
        return [word.text for word in self.words]

    @property
    def start(self) -> str | None:
        """Where its paths start: the work tree's root, unless git runs within it."""
        if self.work_tree is None:
            return self.directory
        inside = self.directory is not None and is_within(*map(os.path.realpath, (self.directory, self.work_tree)))
        return self.directory if inside else self.work_tree


def parse_git_call(command: SimpleCommand, configured: Configured | None = None) -> GitCall | None:
    """Return a command as a call of git, None if it is none or names no git command.

    An unknown program counts as git: callers look for words that only git gets. `configured` returns the settings in
    force in a directory: then configured aliases are followed too.
    """
    words = command.words[1:]
    name = command.program.removeprefix("git-")
    if name != command.program and name in OWN:
        words = [Word(name), *words]
    elif command.program != UNKNOWN and command.one_of(having("git")) is None:
        return None
    made = None
    settings, variables = dict(_from_environment(command.assignments)), {**command.assignments}
    directory = command.directory
    for _ in range(MAX_ALIASES):
        words, directory = _past_options(words, directory, settings, variables)
        if not words:
            return None
        tree = variables.get("GIT_WORK_TREE") or _configured_tree(directory, variables.get("GIT_DIR"))
        made = GitCall(words[0].text, words[1:], settings, directory, absolute(tree, directory))
        made.elsewhere = not REPOSITORY.isdisjoint(variables)
        alias = _alias(made, configured if command.program != UNKNOWN else None)
        if not alias:
            break
        if alias[:1] == "!":
            made.line = " ".join([alias[1:], *made.texts])
            break
        words = [*map(Word, alias.split()), *made.words]
    return made


def setting(git: GitCall) -> tuple[str, str] | None:
    """Return the name and value that `git config` sets, None if it only reads or removes.

    `git remote add --mirror=push` sets one, too.

    Section and key are in lower case, as git lists them.
    """
    given: list[str] = []
    if git.command == "remote":
        given = [text for text in git.texts if text[:1] != "-"][1:]
        mirrors = git.texts[:1] == ["add"] and not {"--mirror", "--mirror=push"}.isdisjoint(git.texts)
        return (f"remote.{given[0]}.mirror", "true") if mirrors and given else None
    waiting = iter(git.texts)
    for text in waiting:
        if text in CONFIG_VALUED:
            next(waiting, None)
        elif text.startswith(CONFIG_OTHERS):
            return None
        elif text[:1] != "-":
            given.append(text)
    given = given[given[:1] == ["set"] :]
    if len(given) < len(("NAME", "VALUE")):
        return None
    section, dot, key = given[0].rpartition(".")
    start, rest, between = section.partition(".")
    return start.lower() + rest + between + dot + key.lower(), given[1]


def _alias(made: GitCall, configured: Configured | None) -> str | None:
    if made.command in OWN or UNKNOWN in made.command:
        return None
    name = f"alias.{made.command.lower()}"
    if name in made.settings or configured is None:
        return made.settings.get(name)
    return configured(made.directory).get(name)


def _from_environment(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the settings before a call, by GIT_CONFIG_COUNT (git-config) and by its `-c`."""
    import re

    for variable, name in variables.items():
        if variable.startswith(KEY):
            yield name.lower(), variables.get(f"{VALUE}{variable[len(KEY) :]}", "")
    parameters = variables.get("GIT_CONFIG_PARAMETERS", "")
    for name, value in re.findall(PARAMETER, parameters) if parameters else ():
        yield name.lower(), value


def git_directory(directory: str) -> str | None:
    """Return the git directory of a working tree: `.git`, or the target of a file of that name."""
    for each in upwards(directory, os.sep):
        path = os.path.join(each, ".git")
        if os.path.isdir(path):
            return path
        line = first_line(path)
        if line.startswith("gitdir: "):
            return os.path.join(each, line[len("gitdir: ") :])
    return None


def first_line(path: str) -> str:
    """Return the first line of a small file, "" where it cannot be read."""
    return _text(path, MAX_LINE).partition("\n")[0].strip()


def _text(path: str, limit: int) -> str:
    return os.fsdecode(read_or_none(path, limit) or b"")


def _configured_tree(directory: str | None, named: str | None) -> str:
    """Return the work tree that a repository's own settings name, "" if none: git takes it from no other settings."""
    import re

    here = absolute(named or ".", directory)
    own = here if named or here is None else git_directory(here)
    if own is None:
        return ""
    text = _text(f"{own}/config", MAX_SETTINGS)
    folded = text.lower()
    if "worktree" not in folded:  # `re` takes as long to load as a recipe
        return ""
    if "worktreeconfig" in folded:  # the extension without which git ignores the other file
        text += "\n" + _text(f"{own}/config.worktree", MAX_SETTINGS)
    found = re.findall(WORK_TREE, text)
    return os.path.join(own, found[-1].strip()) if found else ""


def _past_options(
    words: list[Word], directory: str | None, settings: dict[str, str], variables: dict[str, str]
) -> tuple[list[Word], str | None]:
    """Return the words behind git's own options, and where those let it run; they set settings and variables."""
    while words and words[0].text[:1] == "-":
        option, equals, value = words[0].text.partition("=")
        takes = option in VALUED and not equals and len(words) > 1
        given = words[1].text if takes else value
        if option == "-c":
            name, has_value, content = given.partition("=")
            settings[name.lower()] = content if has_value else "true"
        elif option == "--config-env":
            name, _, variable = given.rpartition("=")
            settings[name.lower()] = variables.get(variable, UNKNOWN)
        elif option == "-C" and takes:
            directory = absolute(given, directory)
        elif option in {"--git-dir", "--work-tree"}:
            variables["GIT_DIR" if option == "--git-dir" else "GIT_WORK_TREE"] = given
        words = words[1 + takes :]
    return words, directory
