#!/usr/bin/env python3
"""Block shell commands that destroy what cannot be brought back: `rm -rf ~`, `git push --force`, `mkfs`, ...

Event `pre_tool_use`, matcher `bash`. Reads `tool_args.command` from the context on stdin; answers a block, or nothing.

The command is split the way a shell splits it, and only programs with their arguments are judged. So a text that merely
mentions `rm -rf /` (in an echo, in a commit message) passes. This guards against slips. It is not a sandbox: whoever
wants to get around it can (a script in a file, a variable, another language).
"""

# ruff: noqa: S108  # paths are only text here: none is looked up or written to

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise, takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANY_DEPTH = 99
# A directory, and how many levels below it are as precious as itself. The nearest entry above a path decides.
PRECIOUS = {
    "/": 0,
    **dict.fromkeys(("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"), ANY_DEPTH),
    **dict.fromkeys(("/Applications", "/Library", "/System"), ANY_DEPTH),
    **dict.fromkeys(("/home", "/media", "/mnt", "/opt", "/run", "/srv", "/usr/local", "/var"), 1),
    **dict.fromkeys(("/Users", "/Volumes", "/private"), 1),
    **dict.fromkeys(("/dev/shm", "/root", "/tmp"), 0),
}
# What begins like this is no disk.
SAFE_DEVICES = tuple(f"/dev/{name}" for name in ("fd/", "full", "null", "pts/", "random", "shm/", "std", "tcp/", "tty"))
SAFE_DEVICES += ("/dev/udp/", "/dev/urandom", "/dev/zero")
SHELLS = frozenset({"bash", "dash", "fish", "ksh", "sh", "su", "zsh"})
# Words that come before the program that is really run; for those with options: the letters that take a value.
WRAPPERS = {
    **dict.fromkeys(("!", "{", "do", "elif", "else", "if", "then", "until", "while"), ""),
    **dict.fromkeys(("builtin", "busybox", "command", "nohup", "setsid"), ""),
    "doas": "Cu",
    "env": "CSu",
    "exec": "a",
    "ionice": "cnp",
    "nice": "n",
    "stdbuf": "eio",
    "sudo": "CDRTUghprtu",
    "time": "fo",
    "timeout": "ks",
    "xargs": "EILPadns",
}
OPERATORS = "();<>|&`\n"
REDIRECTS = frozenset({">", ">>", ">|", ">&", "&>", "&>>", "<", "<<", "<<<", "<>", "<&"})


@dataclass(frozen=True)
class Place:
    """Where a command runs: its directory, and the directories that must survive it."""

    directory: str
    homes: tuple[str, ...]

    def path(self, word: str) -> str:
        """Return the absolute path a word stands for; `build/*` is `build`, because nothing of it would be left."""
        for name, value in (("HOME", os.path.expanduser("~")), ("PWD", self.directory)):
            word = word.replace("${" + name + "}", value).replace("$" + name, value)
        whole = os.path.join(self.directory, os.path.expanduser(without_stars(word)))
        return "/" + os.path.normpath(whole).lstrip("/")

    def is_precious(self, word: str) -> bool:
        """Return whether a word is the project, the home directory, a directory above them, or a system directory."""
        path = self.path(word)
        if any(is_within(home, path) for home in self.homes):
            return True
        if any(is_within(path, home) and home.count("/") > 1 for home in self.homes):
            return False  # a project may well live in /usr/src/app
        for levels, parent in enumerate((PurePosixPath(path), *PurePosixPath(path).parents)):
            if str(parent) in PRECIOUS:
                return levels <= PRECIOUS[str(parent)] or any(fnmatchcase(name, path) for name in PRECIOUS)
        return False

    def is_device(self, word: str) -> bool:
        """Return whether writing to what a word names would overwrite a disk."""
        path = self.path(word)
        return path.startswith("/dev/") and not path.startswith(SAFE_DEVICES)


def is_within(path: str, directory: str) -> bool:
    """Return whether `path` is `directory` or below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def without_stars(word: str) -> str:
    """Drop the last parts of a path while they match everything: `*`, `.*`, `.[!.]*`."""
    parts = word.rstrip("/").split("/")
    while parts and "*" in parts[-1] and not parts[-1].strip("*.?[!^]"):
        parts.pop()
    return "/".join(parts) or word[: word.startswith("/")]


def options_and_operands(args: list[str], valued: str = "") -> tuple[set[str], list[str]]:
    """Part arguments as getopt does. `valued` are the short options that take a value: it is neither of the two."""
    options: set[str] = set()
    operands: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            operands.extend(words)
        elif word.startswith("--"):
            options.add(word.partition("=")[0])
        elif word.startswith("-") and word != "-":
            plain = list(takewhile(lambda letter: letter not in valued, word[1:]))
            options.update("-" + letter for letter in plain)
            if len(plain) == len(word) - 2:  # the valued option is the last letter: its value is the next word
                next(words, None)
        else:
            operands.append(word)
    return options, operands


def has(options: set[str], *names: str) -> bool:
    """Return whether one of the names was given. Long ones may be cut short, as getopt_long allows (`--rec`)."""
    return any(name == one or (len(one) > len("--x") and name.startswith(one)) for name in names for one in options)


def rm(args: list[str], place: Place) -> str | None:
    """Judge `rm`: recursive, and on a whole directory that matters."""
    options, operands = options_and_operands(args)
    if not has(options, "-r", "-R", "--recursive"):
        return None
    for word in filter(None, operands):
        # `*`, `.` and `..` are refused wherever they are meant to run: a `cd` before them may have failed.
        everything_here = not word.startswith("/") and not without_stars(word).strip("./")
        if everything_here or place.is_precious(word):
            return f"`rm -r` on `{word}` deletes too much. Name the exact files or subdirectories that should go."
    return None


def chmod(args: list[str], place: Place) -> str | None:
    """Judge `chmod` and `chown`: recursive, on a directory of the system or the whole home."""
    options, operands = options_and_operands(args)
    outside = [word for word in operands if word.startswith(("/", "~", "$")) and place.is_precious(word)]
    if has(options, "-R", "--recursive") and outside:
        return f"This changes rights or owners under `{outside[0]}` for good. Change only the files that need it."
    return None


def git(args: list[str], _: Place) -> str | None:
    """Judge `git`: what overwrites other people's commits or throws uncommitted work away."""
    while args and args[0].startswith("-"):
        args = args[2 if args[0] in {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"} else 1 :]
    subcommand, rest = (args[0], args[1:]) if args else ("", [])
    options, operands = options_and_operands(rest, {"push": "o", "clean": "e"}.get(subcommand, ""))
    plus = any(word.startswith("+") for word in operands)
    if subcommand == "push" and (plus or has(options, "-f", "--force", "--mirror")):
        return "A forced push overwrites commits on the remote. Use `git push --force-with-lease`, after `git fetch`."
    if subcommand == "reset" and has(options, "--hard"):
        return "`git reset --hard` throws uncommitted work away. Use `git stash push -u` first, or `git reset --keep`."
    if subcommand == "clean" and has(options, "-f", "--force") and not has(options, "-n", "--dry-run"):
        return "`git clean -f` deletes files no commit holds. Look with `git clean -n`, then remove them by name."
    return None


def dd(args: list[str], place: Place) -> str | None:
    """Judge `dd`: its output is a disk."""
    if any(word.startswith("of=") and place.is_device(word.removeprefix("of=")) for word in args):
        return "`dd of=/dev/...` overwrites a disk. Write to a file, or ask the user to run this."
    return None


def mkfs(_: list[str], __: Place) -> str | None:
    """Judge `mkfs.*`: never the agent's to run."""
    return "`mkfs` erases a file system. Ask the user to run this."


CHECKS: dict[str, Callable[[list[str], Place], str | None]] = {
    "rm": rm,
    "chmod": chmod,
    "chown": chmod,
    "git": git,
    "dd": dd,
    "mkfs": mkfs,
}


def without_heredocs(script: str) -> str:
    """Drop the bodies of here-documents: they are text, unless a shell is what reads them."""
    lines = script.split("\n")
    kept = []
    number = 0
    while number < len(lines):
        line = lines[number]
        kept.append(line)
        number += 1
        rest = line.partition("<<")[2].lstrip("- \t'\"\\")
        delimiter = "".join(takewhile(lambda char: char.isalnum() or char in "_-.", rest))
        read_by_shell = any(word.rpartition("/")[2] in SHELLS for word in line.split())
        if delimiter and not read_by_shell:
            ends = (end for end in range(number, len(lines)) if lines[end].strip() == delimiter)
            number = next(ends, number - 1) + 1
    return "\n".join(kept)


def split(script: str) -> list[str]:
    """Split a script into words and operators."""
    text = without_heredocs(script).replace("\\\n", " ")
    try:
        return list(lexer(text))
    except ValueError:
        # A quote that never closes, as in `ls  # don't`: judge the bare words, which errs on the side of blocking.
        return list(lexer(text.translate(dict.fromkeys(map(ord, "'\"\\"), " "))))


def lexer(text: str) -> shlex.shlex:
    """Return a lexer that knows a newline ends a command and leaves `#` alone (it is a comment only before a word)."""
    words = shlex.shlex(text, posix=True, punctuation_chars=OPERATORS)
    words.whitespace, words.commenters, words.whitespace_split = " \t\r", "", True
    return words


def simple_commands(words: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each command's words and the files it writes to by `>`."""
    command: list[str] = []
    files: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.strip(OPERATORS):
            command.append(word)
            continue
        if word not in REDIRECTS:
            yield command, files
            command, files = [], []
        if word in REDIRECTS or word.endswith(">"):
            name = next(rest, "")
            files += [name] if ">" in word else []
    yield command, files


def unwrap(command: list[str]) -> list[str]:
    """Take off what comes before the program: `FOO=1 sudo -u root timeout 5 rm -rf x` is `rm -rf x`."""
    while command:
        first = command[0].rpartition("/")[2]
        if first in WRAPPERS:
            command = command[1:]
            while command and command[0].startswith("-"):
                plain = list(takewhile(lambda letter: letter not in WRAPPERS[first], command[0][1:]))  # noqa: B023
                command = command[2 if len(plain) == len(command[0]) - 2 else 1 :]
            if first == "timeout":
                command = command[1:]
        elif command[0].partition("=")[0].isidentifier() and "=" in command[0]:
            command = command[1:]
        else:
            break
    return command


def scripts_inside(words: list[str]) -> Iterator[str]:
    """Yield the scripts in a command's words: `bash -c SCRIPT`, `eval SCRIPT`, `"$(SCRIPT)"`."""
    command = unwrap(words)
    program = command[0].rpartition("/")[2] if command else ""
    if program == "eval":
        yield " ".join(command[1:])
    if program in SHELLS:
        for option, script in pairwise(command):
            if option.startswith("-") and not option.startswith("--") and "c" in option:
                yield script
                break
    for word in words:
        yield from word.split("`")[1::2]
        if "$(" in word:
            yield word.partition("$(")[2].rpartition(")")[0]


def is_fork_bomb(words: list[str]) -> bool:
    """Return whether a function pipes itself into itself: `:(){ :|:& };:`."""
    defined = {name for name, parentheses in pairwise(words) if parentheses == "()"}
    return any(a == b and a in defined and pipe == "|" for a, pipe, b in zip(words, words[1:], words[2:], strict=False))


def danger(script: str, place: Place) -> str | None:
    """Return why the script must not run and what to do instead; None when there is nothing against it."""
    words = split(script)
    if is_fork_bomb(words):
        return "This is a fork bomb: it stops the machine."
    for outer, files in simple_commands(words):
        if any(place.is_device(file) for file in files):
            return "This writes over a disk. Write to a file, or ask the user to run this."
        for inner in scripts_inside(outer):
            if reason := danger(inner, place):
                return reason
        command = unwrap(outer)
        if not command:
            continue
        program = command[0].rpartition("/")[2].partition(".")[0]
        if program == "cd" and len(command) > 1:
            place = replace(place, directory=place.path(command[-1]))
        elif (check := CHECKS.get(program)) and (reason := check(command[1:], place)):
            return reason
    return None


def main() -> int:
    """Print a block or nothing. Exit 1 is a failure of this hook, and its `on_failure` says what that means."""
    try:
        context = json.load(sys.stdin.buffer)
        command = context["tool_args"]["command"]
        if not isinstance(command, str):
            raise TypeError(command)  # noqa: TRY301
    except (KeyError, TypeError, ValueError) as error:
        sys.stderr.write(f"block_destructive: no shell command in the context on stdin: {error!r}\n")
        return 1
    project = os.environ.get("HOOKRUN_PROJECT_DIR") or os.getcwd()
    directory = context.get("working_dir") or project
    homes = (directory, project, os.path.expanduser("~"))
    place = Place(directory, tuple(map(os.path.normpath, homes)))
    if reason := danger(command, place):
        sys.stdout.write(json.dumps({"action": "block", "message": reason}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
