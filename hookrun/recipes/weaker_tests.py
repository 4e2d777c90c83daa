"""Find out how a call takes tests away: removes, skips or weakens them, or leaves them out."""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any

from hookrun.core.files import read_or_none
from hookrun.core.globs import glob
from hookrun.process.git_query import run
from hookrun.recipes.catalogue.deciding import written_texts
from hookrun.recipes.git_repository import Configuration, calls
from hookrun.recipes.shell_recipe import line_directory, named_paths, parse
from hookrun.shell.programs import having
from hookrun.shell.simple_command import not_options
from hookrun.shell.words import UNKNOWN, absolute

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.git_call import GitCall
    from hookrun.shell.simple_command import SimpleCommand

# Bytes read of a test file.
MAX_SOURCE = 1 << 20
QUOTE = "'\""
# Endings of files in the same language as another one.
SAME = {
    **dict.fromkeys(("jsx", "mjs", "cjs", "ts", "tsx", "vue"), "js"),
    **dict.fromkeys(("kt", "scala"), "java"),
    **dict.fromkeys(("c", "cc", "cxx"), "cpp"),
    "ex": "exs",
}


@cache
def known() -> dict[str, Any]:
    """Return what weaker_tests.toml says."""
    with open(f"{os.path.dirname(__file__)}/weaker_tests.toml", "rb") as file:
        return tomllib.load(file)


@cache
def pattern(name: str, ending: str = "") -> re.Pattern[str]:
    """Return what matches any of the expressions of this name, in a language if it has those."""
    language = known()["language"].get(SAME.get(ending, ending), {}) if ending else known()
    return re.compile("|".join(language.get(name, ["(?!)"])), re.MULTILINE)


def is_test_file(path: str) -> bool:
    """Return whether a file's name, or for some languages its directory, says that it is a test."""
    *directories, name = path.split("/")
    by_directory = name.endswith((".js", ".rs", ".ts")) and not set(known()["directories"]).isdisjoint(directories)
    return by_directory or (name.endswith(_code()) and any(glob(each, name) for each in known()["files"]))


def are_tests(path: str) -> bool:
    """Return whether a path is a test file's, or that of a directory of tests."""
    return is_test_file(path) or path.rstrip("/").rpartition("/")[2] in known()["directories"]


def is_setting(path: str) -> bool:
    """Return whether a file says which tests run, and how."""
    by_name = any(glob(each, os.path.basename(path)) for each in known()["settings"])
    return by_name or any(each in path for each in known()["workflows"])


def is_code(path: str) -> bool:
    """Return whether a file is code that tests test."""
    return path.endswith(_code()) and not is_test_file(path) and not is_setting(path)


def _code() -> tuple[str, ...]:
    return tuple(known()["code"])


def weakenings(path: str, old: str, new: str) -> Iterator[str]:
    """Yield how tests find less after a file's text, or a part of it, was changed."""
    name, ending = os.path.basename(path), path.rpartition(".")[2]

    def more(what: str, *of: str) -> bool:
        return len(pattern(what, *of).findall(new)) > len(pattern(what, *of).findall(old))

    is_test = is_test_file(path)
    if (is_test or ending == "rs") and more("skipped", ending):  # in Rust, tests stand beside the code
        yield f"keeps tests in {name} from running"
    if is_test and len(pattern("tests", ending).findall(old)) > len(pattern("tests", ending).findall(new)):
        yield f"removes tests from {name}"
    if is_test and more("trivial", ending) and _strong(old, ending) > _strong(new, ending):
        yield f"weakens what {name} asserts"
    if is_setting(path) and more("left_out"):
        yield f"leaves tests out, or their failures, in {name}"
    if is_setting(path) and _is_lower(old, new):
        yield f"lowers the coverage that {name} requires"
    if is_code(path) and more("watched"):
        yield f"has {name} behave in another way when a test runs it"


def _strong(text: str, ending: str) -> int:
    return len(pattern("assertions").findall(pattern("trivial", ending).sub("", text)))


def _is_lower(old: str, new: str) -> bool:
    before = dict(pattern("coverage").findall(old))
    return any(int(value) < int(before.get(name, 0)) for name, value in pattern("coverage").findall(new))


def lost_assertions(diff: str) -> int:
    """Return how many lines with assertions a diff removes that it does not add again, perhaps in another form."""
    changed = [line for line in diff.splitlines() if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"}]
    added = "".join(_bare(line) for line in changed if line[0] == "+")
    removed = [_bare(line) for line in changed if line[0] == "-" and pattern("assertions").search(line)]
    return sum(each not in added for each in removed)


def _bare(line: str) -> str:
    return re.sub(r"[\s'\"();,]", "", line[1:])


def reasons(context: Mapping[str, object], line: str | None) -> Iterator[str]:
    """Yield how a call takes tests away; `line` is its shell line, if it has one."""
    yield from _of_edit(context) if line is None else _of_line(context, line)


def _of_edit(context: Mapping[str, object]) -> Iterator[str]:
    args, named = context.get("tool_args"), named_paths(context)
    if not isinstance(args, dict) or not named:
        return
    full = os.path.join(line_directory(context), named[0])
    if context.get("tool_name") == "delete":
        yield from _removed(full)
    elif isinstance(args.get("content"), str) and os.path.exists(full):
        yield from _written(full, args["content"])
    edits = args["edits"] if isinstance(args.get("edits"), list) else [args]
    pairs = [each for each in edits if isinstance(each, dict)]
    old, new = ("\n".join(str(each.get(side) or "") for each in pairs) for side in ("old_string", "new_string"))
    yield from weakenings(full, old, new)


def _of_line(context: Mapping[str, object], line: str) -> Iterator[str]:
    for command, git in calls(context, parse(context, line), Configuration()):
        if command.program == UNKNOWN:
            continue
        texts = dict(written_texts(command))
        for each in command.redirections:
            path = absolute(each.target.text, command.directory) if each.writes else None
            if path is not None and (path in texts or not command.words):  # `> FILE` has no words
                yield from _written(path, texts.pop(path, ""), is_added=each.operator.startswith(">>"))
        for path, text in texts.items():
            yield from _written(path, text, is_added="-a" in command.arguments)
        yield from _of_program(command) if git is None else _of_git(git)


def _of_program(command: SimpleCommand) -> Iterator[str]:
    paths = [path for each in command.operands if (path := absolute(each, command.directory)) is not None]
    if command.program in having("removes"):
        yield from (reason for each in paths for reason in _removed(each))
    elif command.program == "truncate":
        yield from (reason for each in paths for reason in _written(each, ""))
    elif command.program == "mv" and paths:
        stay = os.path.isdir(paths[-1]) or are_tests(paths[-1])
        yield from () if stay else (reason for each in paths[:-1] for reason in _removed(each))
    elif command.program in having("in_place") and any(each[:1] == "-" and "i" in each for each in command.arguments):
        for old, new in substitutions("\n".join(command.arguments)):
            yield from (reason for each in paths for reason in weakenings(each, old, new))
    elif command.operands[:2] == ["pkg", "set"]:
        for each in command.operands[2:]:
            name, _, value = each.removeprefix("scripts.").partition("=")
            yield from weakenings("package.json", "", f'"{name}": "{value.strip(QUOTE)}"')


def _of_git(git: GitCall) -> Iterator[str]:
    given = not_options(git.texts)
    if git.command == "rm" and "--cached" not in git.texts:
        paths = [path for each in given if (path := absolute(each, git.directory)) is not None]
        yield from (reason for each in paths for reason in _removed(each))
    source, older = "", list[str]()
    if git.command == "checkout" and "--" in git.texts[1:]:
        source, older = git.texts[0], git.texts[git.texts.index("--") + 1 :]
    elif git.command == "restore":
        source = next((each.partition("=")[2] for each in git.texts if each.startswith("--source=")), "")
        older = given
    if source not in {"", "HEAD", "@"}:
        yield from (f"brings back other tests: {each}" for each in older if are_tests(each))


def _removed(path: str) -> Iterator[str]:
    """Yield what goes with a path, also one that has tests run; a file that git does not have yet is no loss."""
    if are_tests(path) or any(each in path for each in known()["workflows"]):
        is_new = os.path.lexists(path) and run(os.path.dirname(path), "ls-files", "--", path) == ""
        yield from () if is_new else [f"removes tests: {os.path.basename(path)}"]


def _written(path: str, text: str, *, is_added: bool = False) -> Iterator[str]:
    data = None if is_added else read_or_none(path, MAX_SOURCE)
    if not is_added and not text.strip() and is_test_file(path):
        yield f"empties {os.path.basename(path)}"
    if is_added or data is not None or not is_test_file(path):  # else it is a new one
        yield from weakenings(path, (data or b"").decode("utf-8", "replace"), text)


def substitutions(script: str) -> Iterator[tuple[str, str]]:
    r"""Yield what a script of sed or perl replaces, and by what; what it inserts replaces nothing.

    >>> list(substitutions(r"s/\bit\(/xit(/"))
    [('it(', 'xit('), ('', '')]
    """
    rest = script
    for found in re.finditer(r"(?<![\w-])s([/|#,!@])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1", script):
        plain = re.sub(r"\\[bwsd<>]|\\(.)", lambda each: each[1] or "", found[2]).strip("^$")
        yield plain, re.sub(r"\\(.)", r"\1", found[3])
        rest = rest.replace(found[0], "")
    yield "", "\n".join(re.findall(r"(?m)^\d*,?[\d$]*\s*[aic]\\?\s*(.+)$", rest))
