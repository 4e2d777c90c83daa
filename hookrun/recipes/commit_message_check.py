"""The recipe `commit-message-check`: what the message of a commit looks like."""

from __future__ import annotations

from hookrun.recipes.recipe import Option, Recipe, count, option, pattern
from hookrun.recipes.shell_recipe import block, parse, shell_line
from hookrun.shell.prefilter import may_run
from hookrun.shell.words import UNKNOWN, Word, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

CONVENTIONAL = r"(build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(\([^()]+\))?!?: \S.*"

RECIPE = Recipe(
    "commit-message-check",
    "Blocks commits whose message is not as the project wants it: Conventional Commits, unless told otherwise.",
    hooks=(
        {
            "name": "commit-message-check",
            "description": "Blocks commits whose message is not as the project wants it",
            "event": "pre_tool_use",
            "matcher": "bash",
            "python": "hookrun.recipes.commit_message_check:check",
            "cwd": "/",
            "timeout": 10,
            "on_failure": "continue",
        },
    ),
    options=(
        Option("pattern", CONVENTIONAL, "A regular expression that the whole first line must match.", pattern),
        Option("example", "fix(parser): keep the last line", "A first line as it should be, for the model."),
        Option("subject", "72", "How many characters the first line may have; 0 for any number.", count),
        Option(
            "width",
            "0",
            "How many characters any other line may have, those with a link excepted; 0 for any number.",
            count,
        ),
        Option("forbidden", "", "A regular expression that may match nowhere in the message.", pattern),
    ),
    catches=(
        "`git commit` with `-m` (also several, `-am`, `--message=`), `-F FILE`, `-F -` with a here-document or a pipe.",
        'Messages made by `"$(cat <<EOF ...)"`, variables of the line, `printf` and `echo`.',
        "A first line that does not match or is too long, a second line that is not empty, others that are too long.",
        "What is forbidden.",
        "All of it also with `git -C`, by an alias of git's configuration, behind `cd` and in `bash -c`.",
    ),
    misses=(
        "Messages that are written in an editor, or made by what only the shell will know.",
        "Commits by another program (`gh`, a script, a tool of an MCP server), by `git merge`, `revert` and `rebase`.",
        "`fixup!` and `squash!` commits, merges and reverts by their first line pass whatever they say.",
    ),
)

PASSING = ("Merge ", 'Revert "', "fixup! ", "squash! ", "amend! ")
"""What git itself begins a first line with."""

VALUED = frozenset("CcFmSut")
"""Short options of commit whose value is what follows the letter, or the next word."""
OPTIONAL = frozenset("Su")
"""Those of them whose value only ever follows the letter."""

LONG = {
    "--file": "F",
    "--fixup": "c",
    "--message": "m",
    "--reedit-message": "c",
    "--reuse-message": "C",
    "--squash": "c",
}
TAKEN_OVER = frozenset({"C", "c"})
"""Options whose message is another commit's."""

LARGEST = 1 << 20
"""Bytes of a message's file that are read."""


def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block for a commit whose message is not as it should be, None for any other line."""
    line = shell_line(context)
    if line is None or not may_run(line, ("git", "git-commit")):
        return None
    from hookrun.recipes.git_repository import Configuration
    from hookrun.shell.git_call import parse_git_call

    configuration = Configuration()
    for command in parse(context, line).commands:
        git = parse_git_call(command, configuration)
        if git is None or git.command != "commit" or command.program == UNKNOWN:
            continue
        message = _message(git, command)
        found = problems(message) if message is not None else []
        if found:
            example = option(RECIPE, "example")
            return block(f"The message of this commit: {'; '.join(found)}. Write it as in: {example}")
    return None


def problems(message: str) -> list[str]:
    """Return what is wrong with a message. What is not known of it is right."""
    first, *rest = message.strip("\n").split("\n")
    if first.startswith(PASSING):
        return []
    found = []
    wanted, forbidden = pattern(RECIPE, "pattern"), pattern(RECIPE, "forbidden")
    subject, width = count(RECIPE, "subject"), count(RECIPE, "width")
    if UNKNOWN not in first:
        if wanted is not None and wanted.fullmatch(first) is None:
            found.append(f"its first line does not match {wanted.pattern}")
        if subject and len(first) > subject:
            found.append(f"its first line has {len(first)} characters, {subject} are allowed")
    if rest and rest[0].strip():
        found.append("its second line is not empty")
    if width and any(len(each) > width and "://" not in each for each in rest):
        found.append(f"a line has more than {width} characters")
    match = forbidden.search(message) if forbidden is not None else None
    if match is not None:
        found.append(f"{match[0]!r} may not be in it")
    return found


def _message(git: GitCall, command: SimpleCommand) -> str | None:
    """Return the message that a commit is given, None if it is given none or that is not known."""
    given = list(_given(git.words))
    if any(letter in TAKEN_OVER for letter, _ in given):
        return None
    paragraphs = [value.text.strip("\n") for letter, value in given if letter == "m"]
    if paragraphs:
        return "\n\n".join(paragraphs)
    files = [value for letter, value in given if letter == "F"]
    return _read(files[-1], git, command) if files else None


def _given(words: list[Word]) -> Iterator[tuple[str, Word]]:
    """Yield the options of a commit that matter, by their letters, each with its value."""
    waiting = iter(words)
    for word in waiting:
        if word.text == "--":
            return
        name, equals, value = word.text.partition("=")
        letter, given = _long(name), Word(value) if equals else None
        if word.text[:1] == "-" and word.text[:2] != "--":
            letter, given = _short(word.text)
        if letter and given is None and letter not in OPTIONAL:
            given = next(waiting, None)
        if letter and given is not None:
            yield letter, given


def _long(name: str) -> str:
    """Return the letter of a long option, which may be shortened as long as it is none of the others."""
    meant = [each for each in LONG if each.startswith(name)] if len(name) > len("--") else []
    return LONG[meant[0]] if len(meant) == 1 else LONG.get(name, "")


def _short(text: str) -> tuple[str, Word | None]:
    """Return which of the letters takes a value, and the value if it follows: `-am` has it in the next word."""
    for index, letter in enumerate(text[1:], 2):
        if letter in VALUED:
            return letter, Word(text[index:]) if text[index:] else None
    return "", None


def _read(file: Word, git: GitCall, command: SimpleCommand) -> str | None:
    if file.text in {"-", "/dev/stdin"}:
        return command.stdin.text if command.stdin is not None else None
    path = absolute(file.text, git.directory)
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as opened:
            text = opened.read(LARGEST)
    except OSError:
        return None
    return "\n".join(each for each in text.split("\n") if not each.startswith("#"))
