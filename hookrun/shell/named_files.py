"""Find the files that a command reads and writes, if its program is known."""

from __future__ import annotations

import os
import re
from itertools import pairwise

from hookrun.shell.git_call import GitCall, parse_git_call, setting
from hookrun.shell.prefilter import OF_GIT
from hookrun.shell.programs import having, values
from hookrun.shell.words import UNKNOWN, Word
from hookrun.shell.wrappers import found_paths, has_filter, start_directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.shell.simple_command import SimpleCommand

# Stands for the names of the files that only an archive has.
UNPACKED = "unpacked"

# Options of programs that search, before a pattern of the files searched.
FILES_SEARCHED = frozenset({"--glob", "--include", "-g"})

# Options whose next word is not shown as a file; that of `--jq` and `--query` chooses from a result.
NOT_NEXT = frozenset({"--env-file", "--exclude", "--exclude-from", "--glob", "--include", "--jq", "--query", "-g"})

# The short option for the target.
SHORT_TARGET = r"-[A-Za-z]*t"

PATCHED = r"(?m)^(?:\+\+\+|---|diff --git \S+|rename from) ([^\t\n]+)"
PATCHED_BY_AGENT = r"(?m)^\s*\*\*\* (?:(?:Add|Update|Delete) File|Move to):\s*(.*\S)"
# A file's name in a patch, in one for `apply_patch`, and the option that strips directories from it.
STRIPPED = r"(?:-p|--strip=)(\d+)"

# Options of curl that write to a file named by the URL.
BY_URL = r"-[A-Za-z]*O|--remote-name"

# Options of `git log` and `git stash show` that show the files' content.
SHOWING = r"-[A-Za-z]*[pu]|--patch|--ext-diff"

# Options of git's commands whose next word is no file.
GIT_VALUED = r"-[A-Za-z]*[mFCctSb]|--(?:message|file|author|date|template|cleanup|format)"

# The beginning of a path that tells git how to match: `:(top)FILE`.
MAGIC = r"^:\([^)]*\)"

# What a script of sed reads or writes.
SCRIPT_FILE = r"(?:^|[;{}0-9$/!\s])([rRwW])\s*([^\s;]*[^\s;/])\s*$"

# Outside files given to a container, in two words or one.
MOUNTS = r"(?:-v|--volume)[= ]?([^:=, ]+):|--mount[= ](?:.*,)?(?:source|src)=([^,]+)"


class NamedFile:
    """A file that a command names: its `path`, whether the shell would take that for a pattern, and if it is `written`.

    `removed`: the command removes it with all its content; `restored`: it restores an earlier state.
    """

    def __init__(
        self, path: str, *, written: bool, globs: bool = False, removed: bool = False, restored: bool = False
    ) -> None:
        self.path = path
        self.globs = globs
        self.written = written
        self.removed = removed
        self.restored = restored


def named_files(command: SimpleCommand) -> Iterator[NamedFile]:
    """Yield the files that a command names, as often as it does. In `NAME=FILE` and `@FILE` the file counts too."""
    for redirection in command.redirections:
        if redirection.writes or redirection.reads:
            target = redirection.target
            yield NamedFile(target.text, written=redirection.writes, globs=target.globs)
    program = command.program
    yield from _patched_by_agent(command) if program == "apply_patch" else ()
    yield from _patched(command) if program in {"git", "patch"} else ()
    yield from _of_git_call(command) if program == "git" else ()
    for word in _removed(command):
        yield NamedFile(word.text, written=True, globs=word.globs, removed=True)
    launches = program in having("launches")  # its words are those of the command
    if not command.words or program in {UNKNOWN, "git"} or program in having("unseen") or launches:
        return
    yield from _within_words(command)
    operands = list(_operands(command))
    if program in having("onto_last"):
        yield from _onto_last(program, with_target_last(command, operands))
        return
    option = having("in_place").get(program)
    in_place = option is not None and any(re.match(option, word) for word in command.arguments)
    for word in operands:
        written = in_place or program in having("changes") or (program == "dd" and word.text.startswith("of="))
        for path in _paths(word.text):
            yield NamedFile(path, written=written, globs=word.globs, removed=program in having("removes"))


def _within_words(command: SimpleCommand) -> Iterator[NamedFile]:
    """Yield the files named in options and sed scripts."""
    program, arguments = command.program, command.arguments
    for path in option_targets(program, arguments):
        yield NamedFile(f"{path}/{UNPACKED}" if program in having("unpacks") else path, written=True)
    for text in arguments if program in {"gsed", "sed"} else ():
        found = re.search(SCRIPT_FILE, text)
        if found is not None:
            yield NamedFile(found[2], written=found[1] in "wW")
    for found in re.finditer(MOUNTS, " ".join(arguments)) if program in having("mounts") else ():
        yield NamedFile(found[1] or found[2], written=False)
    for start in values(program, "attached"):
        yield from (NamedFile(text[len(start) :], written=False) for text in arguments if text.startswith(start))


def _operands(command: SimpleCommand) -> Iterator[Word]:
    """Yield the words that may name files: no options, patterns or other values of options."""
    givers = tuple(values(command.program, "pattern_first"))  # without one, the first operand is no file
    skip = bool(givers) and not any(word.startswith(givers) for word in command.arguments)
    options = True
    before = ""
    for word in command.words[1:]:
        text, last = word.text, before
        before = text
        name, equals, value = text.partition("=")
        searched = text if last in FILES_SEARCHED else value if name in FILES_SEARCHED else ""
        if searched and command.program in having("searches"):
            if searched[0] != "!":
                yield Word(searched, globs=True)
        elif options and text == "--":
            options = False
        elif options and text[:1] == "-" and len(text) > 1:
            if "@" in text:
                yield Word(text.rpartition("@")[2], globs=word.globs)
            elif equals and name not in NOT_NEXT:
                yield Word(value, globs=word.globs)
        elif last in NOT_NEXT:
            continue
        elif skip:
            skip = False
        else:
            yield word


def option_targets(program: str, arguments: list[str]) -> Iterator[str]:
    """Yield the files to write named by options, or by the URL of `curl -O`."""
    short, long = (*values(program, "output"), "", "")[:2]
    for index, text in enumerate(arguments if short else ()):
        name, equals, value = text.partition("=")
        following = arguments[index + 1 : index + 2]
        if text[:2] == "--":
            if len(name) > len("--o") and long.startswith(name):
                yield from [value] if equals else following
        elif text[:1] == "-" and short[1] in text:
            value = text.partition(short[1])[2]
            yield from [value] if value else following
    if program == "curl" and any(re.match(BY_URL, text) for text in arguments):
        yield from (text.partition("?")[0].rpartition("/")[2] for text in arguments if "/" in text)


def with_target_last(command: SimpleCommand, operands: list[Word]) -> list[Word]:
    """Return the operands in the order of `cp a b TARGET`, also for `cp -t TARGET a b`."""
    texts = command.arguments
    for index, text in enumerate(texts):
        target = text.partition("=")[2] if text.startswith("--target-directory=") else None
        if text == "--target-directory" or (command.program in having("targeted") and re.fullmatch(SHORT_TARGET, text)):
            target = "".join(texts[index + 1 : index + 2])
        if target:
            return [each for each in operands if each.text != target] + [Word(target)]
    return operands


def _patched(command: SimpleCommand) -> Iterator[NamedFile]:
    """Yield the files changed by a patch from a here-document or pipe."""
    git = parse_git_call(command)
    if command.stdin is None or (git is not None and git.command not in {"am", "apply"}):
        return
    texts = command.arguments
    levels = [int(found[1]) for text in texts if (found := re.fullmatch(STRIPPED, text)) is not None]
    inside = next((after for text, after in pairwise(texts) if text in {"-d", "--directory"}), "")
    inside = next((text.partition("=")[2] for text in texts if text.startswith("--directory=")), inside)
    for found in re.finditer(PATCHED, command.stdin.text):
        path = found[1] if found[0][:6] != "rename" else f"a/{found[1]}"
        parts = path.split("/")
        if path == "/dev/null":
            continue
        stripped = parts[levels[-1] if levels else (1 if git is not None else -1) :]
        for start in _starts(git, command) if git is not None else [""]:
            yield NamedFile(os.path.join(start, inside, "/".join(stripped)), written=True)


def _patched_by_agent(command: SimpleCommand) -> Iterator[NamedFile]:
    """Yield the files that `apply_patch`, a program of some agents, changes, by its argument or input."""
    for text in [*command.arguments, command.stdin.text if command.stdin is not None else ""]:
        yield from (NamedFile(found[1], written=True) for found in re.finditer(PATCHED_BY_AGENT, text))


def _removed(command: SimpleCommand) -> Iterator[Word]:
    """Yield what `find` removes, whole directories or the names it looks for, and what tar and rsync remove."""
    program, texts, removing = command.program, command.arguments, having("removes")
    if program == "tar" and "--remove-files" in texts:
        yield from _operands(command)
    elif program == "rsync" and any(text.startswith("--del") for text in texts):
        yield from [*_operands(command)][-1:]
    elif program == "find" and ("-delete" in texts or any(text.rpartition("/")[2] in removing for text in texts)):
        yield from found_paths(command.words) if has_filter(texts) else start_directories(command.words)


def _onto_last(program: str, operands: list[Word]) -> Iterator[NamedFile]:
    """Yield the files that are read, or removed, and those written: the last one, or others in it."""
    *sources, last = operands or [Word("")]
    is_file = "." in last.text.rpartition("/")[2].strip(".")
    for word in sources or operands:
        yield NamedFile(word.text, written=program == "mv", globs=word.globs, removed=program == "mv")
        if sources and not is_file:
            target = f"{last.text.rstrip('/')}/{word.text.rstrip('/').rpartition('/')[2]}"
            yield NamedFile(target, written=True, globs=word.globs)
    if sources:
        yield NamedFile(last.text, written=True, globs=last.globs)


def _of_git_call(command: SimpleCommand) -> Iterator[NamedFile]:
    git = parse_git_call(command)
    effect = OF_GIT.get(git.command) if git is not None else None
    named, tree = (setting(git) if git is not None and git.command == "config" else None) or ("", "")
    if named == "core.worktree":  # what follows may change all in it
        yield NamedFile(os.path.join(".git", tree), written=True, removed=True)
    if git is None or effect is None or "--cached" in git.texts:
        return
    for word in _git_operands(git, effect):
        removed, restored = effect == "writes", effect == "restores"
        starts = _starts(git, command)
        for start in starts[:1] if removed or restored else starts:
            path = os.path.join(start, re.sub(MAGIC, "", word.text).rpartition(":")[2])
            written = removed or restored
            yield NamedFile(path, written=written, globs=word.globs, removed=removed, restored=restored)


def _starts(git: GitCall, command: SimpleCommand) -> list[str]:
    """Return where a call's paths may start: its work tree, and where it runs; "" is the command's, or unknown."""
    starts = dict.fromkeys((git.start, git.directory))
    return [each if each is not None and each != command.directory else "" for each in starts]


def _git_operands(git: GitCall, effect: str) -> Iterator[Word]:
    """Yield a git command's words that name files, or may."""
    texts = git.texts
    cut = texts.index("--") if "--" in texts else len(texts)
    shows = effect != "shows" or git.command == "grep" or any(re.match(SHOWING, text) for text in texts[:cut])
    yield from git.words[cut + 1 :] if shows else ()
    before = ""
    for word in git.words[:cut] if effect != "shows" or (git.command == "log" and shows) else ():
        if word.text[:1] != "-" and not re.fullmatch(GIT_VALUED, before):
            yield word
        before = word.text


def _paths(text: str) -> Iterator[str]:
    """Yield possible paths: the word, and its part after `=` or `@`, as in `of=FILE` and `-d @FILE`."""
    for sign in "=@":
        if sign in text:
            yield text.rpartition(sign)[2]
    yield text
