"""The recipe `commit-message-check`: blocks commits whose message breaks the project's convention."""

from __future__ import annotations

from hookrun.core.files import read_or_none
from hookrun.recipes.recipe import Option, Recipe, count, option, pattern
from hookrun.recipes.shell_recipe import block, line_of, may, parse
from hookrun.shell.prefilter import git_programs, may_run
from hookrun.shell.words import UNKNOWN, Word, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

CONVENTIONAL = r"(build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(\([^()]+\))?!?: \S.*"

RECIPE = Recipe(
    "commit-message-check",
    "Block commits whose message breaks the project's convention (Conventional Commits by default).",
    options=(
        Option("pattern", CONVENTIONAL, "Regular expression that the whole first line must match.", pattern),
        Option("example", "fix(parser): keep the last line", "A valid first line, shown to the model."),
        Option("subject", "72", "Maximum length of the first line; 0 for no limit.", count),
        Option("width", "0", "Maximum length of other lines, except lines with a link; 0 for no limit.", count),
        Option("forbidden", "", "Regular expression that must not match anywhere in the message.", pattern),
    ),
    catches="""
        - `git commit` with `-m` (repeated, `-am`, `--message=`), `-F FILE`, and `-F -` with a here-document or a pipe.
        - Messages from `"$(cat <<EOF ...)"`, variables set in the line, `printf` and `echo`.
        - A first line that does not match or is too long, a second line that is not empty, other lines that are too
          long, forbidden text.
        - The same with `git -C`, git aliases, behind `cd` and in `bash -c`.
    """,
    misses="""
        - Messages written in an editor or by the line itself into a file, or with parts that only the shell knows.
        - Commits by other programs (`gh`, scripts, MCP tools), and by `git merge`, `revert` and `rebase`.
        - `fixup!` and `squash!` commits, merges and reverts: their first line is always allowed.
    """,
)

# Git's command.
COMMIT = "commit"

# Prefixes of git's own first lines.
EXEMPT = ("Merge ", 'Revert "', "fixup! ", "squash! ", "amend! ")

# Short options of commit with a value after the letter or as the next word.
WITH_VALUE = frozenset("CcFmSut")
# Those with a value that is never the next word.
WITH_OPTIONAL_VALUE = frozenset("Su")

LONG = {
    "--file": "F",
    "--fixup": "c",
    "--message": "m",
    "--reedit-message": "c",
    "--reuse-message": "C",
    "--squash": "c",
}
# Options that take the message of another commit.
REUSING = frozenset({"C", "c"})

# Bytes read of a message's file.
MAX_BYTES = 1 << 20


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the line may commit. False is certain."""
    return may(context, lambda line: may_run(line, git_programs((COMMIT,))))


@RECIPE.hook("pre_tool_use", matcher="bash", timeout=10, on_failure="continue", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a commit with a wrong message, else None."""
    return block(_reasons(context, line_of(context) or ""))


def _reasons(context: Mapping[str, object], line: str) -> Iterator[str]:
    from hookrun.recipes.git_repository import Configuration, calls

    for command, git in calls(context, parse(context, line), Configuration()):
        if git is None or git.command != COMMIT or command.program == UNKNOWN:
            continue
        message = _message(git, command)
        if message is not None and (found := problems(message)):
            yield f"Invalid commit message: {'; '.join(found)}. Valid example: {option(RECIPE, 'example')}"


def problems(message: str) -> list[str]:
    """Return a message's faults. Unknown parts count as correct."""
    first, *rest = message.strip("\n").split("\n")
    if first.startswith(EXEMPT):
        return []
    found = []
    wanted, forbidden = pattern(RECIPE, "pattern"), pattern(RECIPE, "forbidden")
    subject, width = count(RECIPE, "subject"), count(RECIPE, "width")
    if UNKNOWN not in first:
        if wanted is not None and wanted.fullmatch(first) is None:
            found.append(f"the first line does not match {wanted.pattern}")
        if subject and len(first) > subject:
            found.append(f"the first line has {len(first)} characters (limit: {subject})")
    if rest and rest[0].strip():
        found.append("the second line is not empty")
    if width and any(len(each) > width and "://" not in each for each in rest):
        found.append(f"a line has more than {width} characters")
    match = forbidden.search(message) if forbidden is not None else None
    if match is not None:
        found.append(f"{match[0]!r} is not allowed")
    return found


def _message(git: GitCall, command: SimpleCommand) -> str | None:
    given = list(_given(git.words))
    if any(letter in REUSING for letter, _ in given):
        return None
    paragraphs = [value.text.strip("\n") for letter, value in given if letter == "m"]
    if paragraphs:
        return "\n\n".join(paragraphs)
    files = [value for letter, value in given if letter == "F"]
    return _read(files[-1], git, command) if files else None


def _given(words: list[Word]) -> Iterator[tuple[str, Word]]:
    """Yield a commit's relevant options, by letter, with values."""
    waiting = iter(words)
    for word in waiting:
        if word.text == "--":
            return
        name, equals, value = word.text.partition("=")
        letter, given = _long(name), Word(value) if equals else None
        if word.text[:1] == "-" and word.text[:2] != "--":
            letter, given = _short(word.text)
        if letter and given is None and letter not in WITH_OPTIONAL_VALUE:
            given = next(waiting, None)
        if letter and given is not None:
            yield letter, given


def _long(name: str) -> str:
    """Return the letter of a long option, which may be unambiguously abbreviated."""
    meant = [each for each in LONG if each.startswith(name)] if len(name) > len("--") else []
    return LONG[meant[0]] if len(meant) == 1 else LONG.get(name, "")


def _short(text: str) -> tuple[str, Word | None]:
    """Return the letter that takes a value, and any value in the word: that of `-am` is the next one."""
    for index, letter in enumerate(text[1:], 2):
        if letter in WITH_VALUE:
            return letter, Word(text[index:]) if text[index:] else None
    return "", None


def _read(file: Word, git: GitCall, command: SimpleCommand) -> str | None:
    if file.text in {"-", "/dev/stdin"}:
        return command.stdin.text if command.stdin is not None else None
    path = absolute(file.text, git.directory)
    data = read_or_none(path, MAX_BYTES) if path is not None else None
    if data is None:
        return None
    lines = data.decode(errors="replace").replace("\r\n", "\n").split("\n")
    return "\n".join(each for each in lines if not each.startswith("#"))
