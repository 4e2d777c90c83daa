"""The cheap look of each recipe at a call: whether it may matter. Most calls concern none.

If a look is False the hook is not run: `process/runner.py` calls `may_matter` in hookrun's own process, after the trust
check. So this module has only string operations, and no expensive imports.

A look may act as its recipe: if False it has done, once, all that the hook would have done, in the hook's environment
and without waiting. If True it has changed nothing, and the hook runs. That of rate-limit counts a call within the
limit.
"""

from __future__ import annotations

import os

from hookrun.recipes import NO, YES
from hookrun.shell.prefilter import ENDS, QUOTES, may_read_terminal, may_run, may_run_input, shell_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Variable = Callable[[str, str], str]
    """Returns a variable of the hook's environment, or a default."""
    Look = Callable[[Mapping[str, object], Mapping[str, object], Variable], bool]

PATH_ARGUMENTS = ("file_path", "path", "notebook_path")
"""Arguments of tools that name a file."""
GLOB_ARGUMENTS = ("glob", "include")
"""Arguments of searching tools with a pattern of the files to search."""

DESTRUCTIVE = (
    "aria2c", "badblocks", "cfdisk", "cgdisk", "chgrp", "chmod", "chown", "cp", "cryptsetup", "curl", "dd", "fdisk",
    "fetch", "find", "gdisk", "git", "hdparm", "http", "https", "hub", "install", "mv", "nvme", "parted", "rm", "rsync",
    "sfdisk", "sgdisk", "shred", "srm", "tar", "tee", "truncate", "wget", "xh",
)  # fmt: skip
"""Programs with rules in block-destructive-commands."""
FORMATTING = ("blkdiscard", "mke2fs", "mkfs", "mkswap", "newfs", "wipefs")
"""Prefixes of programs that destroy a disk's content."""

PUSHING = ("git", "git-push", "git-send-pack", "hub")
COMMITTING = ("git", "git-commit")
MANAGING = ("npm", "npx", "pip", "pip3")

WRITING = (
    "awk", "chattr", "chflags", "chgrp", "chmod", "chown", "cp", "curl", "dd", "ed", "emacs", "ex", "find", "gawk",
    "git", "gpg", "gsed", "hookrun", "hub", "install", "ln", "mv", "nano", "patch", "perl", "rm", "rmdir", "rsync",
    "ruby", "scp", "sed", "setfacl", "setfattr", "shred", "sort", "sponge", "srm", "sudoedit", "tar", "tee", "touch",
    "trash", "truncate", "unlink", "vi", "vim", "wget", "xattr", "yq",
)  # fmt: skip
"""Programs that can change files named in the line, for protect-hooks; and hookrun."""

EXPANSIONS = ("$", "`", "{", "*", "?", "[", "\0")
"""Characters of expansions, which may name files not in the line; and NUL, which a shell may omit."""

BARE = str.maketrans("", "", "'\"\\\n")
"""Removes what a shell may remove within a word."""

APART = {**ENDS, **str.maketrans(dict.fromkeys("@:", " "))}
"""Separates possible paths in words such as `of=FILE`, `@FILE` and `FILE:/mount`."""
UNUSUAL = "'\"\\=,@:"
"""Characters of a line whose names may have spaces or separators."""
ATTACHING = ("curl", "docker", "env", "gpg", "nerdctl", "patch", "podman", "run0", "sed", "sort", "sudo", "wget")
"""Programs with a path in the same word as an option or command: `-oFILE`."""
ENTERING = (
    "-C", "cd", "cp", "env", "find", "install", "ln", "mv", "pushd", "rsync", "run0", "scp", "sudo", "systemd-run",
    "work-tree", "work_tree",
)  # fmt: skip
"""Programs that enter a directory, or name files in one without it; git's options and variable."""
LINK, DIRECTORY = 0o120000, 0o040000
"""Kinds of files, in their mode."""
MAX_LOOKUPS, MAX_ENTRIES = 500, 5000
"""Paths looked up for a line, and files listed of a directory: each about a millisecond."""

PROTECTED = (
    ".cache", ".claude", ".cli", ".cod", ".cop", ".cursor", ".devin", ".env", ".gem", ".git", ".gnupg", ".grok",
    ".htpasswd", ".husky", ".jks", ".kdbx", ".key", ".local", ".netrc", ".p12", ".pem", ".pfx", ".pgpass", ".pypirc",
    ".qwe", ".terraform.lock.hcl", "bun.lock", "cargo.lock", "coder.json", "composer.lock", "config", "credentials",
    "deno.lock", "disabled-hooks", "documents", "flake.lock", "gemfile.lock", "go.sum", "hookrun.yaml", "hookrun.yml",
    "hooks.json", "hooks.v1.json", "hosts.yml", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "mix.lock",
    "npm-shrinkwrap.json", "opencod", "package-lock.json", "package.resolved", "pdm.lock", "pipfile.lock", "pixi.lock",
    "pnpm-lock.yaml", "podfile.lock", "poetry.lock", "pubspec.lock", "secrets.json", "secrets.toml", "secrets.yaml",
    "secrets.yml", "settings", "uv.lock", "yarn.lock",
)  # fmt: skip
"""Texts: any line that names a file protected by default by protect-files has one."""

SCANS = ("block", "tell", "off")
"""What secret-scan does with a credential."""
SCANNED = {
    "prompt": ("user_prompt",),
    "arguments": ("tool_args",),
    "output": ("tool_result_output", "tool_result_error"),
}
"""What it scans -> the fields of the context."""
REMOVED_TEXT = frozenset({"old_string", "old_str"})
"""Arguments whose text is removed from a file."""


def may_matter(target: str, context: Mapping[str, object], variables: Mapping[bytes, bytes]) -> bool:
    """Return whether the hook with this function may matter in a context. False is certain.

    `variables` is the hook's environment. A possibly wrong option counts: the hook then fails.
    """
    look = LOOKS.get(target)
    if look is None:
        return True

    def variable(name: str, default: str) -> str:  # as in the hook's `os.environ`
        return variables.get(name.encode(), default.encode()).decode("utf-8", "surrogateescape")

    args = context.get("tool_args")
    return look(context, args if isinstance(args, dict) else {}, variable)


def _word(variable: Variable, option: str, default: str) -> str:
    """Return the value of an option that is one word."""
    return variable(f"HOOKRUN_OPTION_{option.upper()}", default).strip().lower()


def may_destroy(line: str) -> bool:
    """Return whether block-destructive-commands may block a line or ask about it."""
    return (
        may_run(line, DESTRUCTIVE)
        or "/dev/" in line.translate(QUOTES)
        or any(name in line.translate(BARE).lower() for name in FORMATTING)
        or (("(" in line or "function" in line) and ("|" in line or "&" in line))
    )


def may_decide(line: str) -> bool:
    """Return whether a line may change a file, or decide about hooks."""
    return (
        ">" in line
        or any(sign in line for sign in EXPANSIONS)
        or may_run(line, WRITING)
        or "hookrun" in line.replace("\\\n", "").translate(QUOTES)
    )


def may_manage(line: str) -> bool:
    """Return whether a line may run a package manager."""
    return may_run(line, MANAGING) or "pip3." in line.translate(BARE).lower()


def may_name(line: str, home: str, directory: str, texts: Iterable[str]) -> bool:
    """Return whether a line may name a file with one of these texts in its path, in folded case.

    The path starts from the line's directory or the home directory. Symbolic links are followed.
    """
    if any(sign in line for sign in (*EXPANSIONS, "~")) or may_run_input(line):
        return True
    if "|" in line or "<<" in line:  # a patch names files; input may have been decoded
        bare = line.translate(BARE).lower()
        if "patch" in bare or "git" in bare:
            return True
    texts = tuple(texts)
    return _holds(f"{home}/{directory}/{line}", texts) or _Lookup(line, home, directory, texts).finds_link()


def _holds(path: str, texts: Iterable[str]) -> bool:
    bare = path.translate(BARE).casefold()
    return any(text in bare for text in texts)


class _Lookup:
    """The search for a symbolic link, named in a line, that leads to a path with one of the texts.

    A line names a file by its words, from the directory where it runs or one it names and enters. So each word is
    looked up in each of these. A name of several words, such as `my file`, is found in its directory's listing.
    """

    def __init__(self, line: str, home: str, directory: str, texts: tuple[str, ...]) -> None:
        self._texts = texts
        self._bare = line.translate(BARE).casefold()
        self._listed = any(sign in line for sign in UNUSUAL) or not line.isascii()
        words = line.replace("\\\n", "").translate(QUOTES).translate(APART).split()
        ends = [word.rstrip("/").rpartition("/")[2] for word in words]
        ends += map(str.lower, ends[:])
        attached = any(each.endswith(ATTACHING) for each in ends)
        self._words = dict.fromkeys((directory, *_paths(words, listed=self._listed, attached=attached)))
        self._enters = any(each.endswith(ENTERING) for each in ends)
        self._directories = dict.fromkeys((directory, home) if "cd" in self._bare else (directory,))
        self._left = MAX_LOOKUPS

    def finds_link(self) -> bool:
        """Return whether there is such a link, or too many paths."""
        words, reached = [*self._words], [*self._directories]
        for start in reached:
            for word in (*words, *(self._unusual(start) if self._listed else ())):
                if self._left < 0 or self._follow(start, word):
                    return True
            words = [word for word in words if word[:1] != "/"]
            reached.extend(each for each in self._directories if each not in reached)
        return self._left < 0

    def _follow(self, start: str, word: str) -> bool:
        """Return whether a word leads through a link to one of the texts; remember a directory it names."""
        path, kind = "" if word[:1] == "/" else start, 0
        parts = word.split("/")
        for index, part in enumerate(parts):
            if part in ("", "."):
                continue
            inside, path = path, f"{path}/{part}"
            self._left -= 1
            try:
                kind = os.lstat(path).st_mode & 0o170000
                target = os.readlink(path) if kind == LINK else ""
            except (OSError, ValueError):
                if self._listed and inside:
                    self._directories[inside] = None
                return False
            if target:
                further = "/".join((target, *parts[index + 1 :]))
                return self._left < 0 or _holds(target, self._texts) or self._follow(inside, further)
        if kind == DIRECTORY and (self._enters or word not in self._words):
            self._directories[path] = None
        return False

    def _unusual(self, directory: str) -> list[str]:
        """Return the names of several words in a directory that may be in the line."""
        found = []
        try:
            with os.scandir(directory) as entries:
                for number, entry in enumerate(entries):
                    if number >= MAX_ENTRIES:
                        self._left = -1
                        break
                    name = entry.name.translate(BARE)
                    if name.casefold() in self._bare and name.translate(APART).split() != [entry.name]:
                        found.append(entry.name)
        except OSError:
            pass
        return found


def _paths(words: Iterable[str], *, listed: bool, attached: bool) -> Iterator[str]:
    """Yield a line's words and their parts that may be paths."""
    for word in words:
        yield word
        if "/" in word:
            yield word.rpartition("/")[2]  # `cp a/b DIRECTORY` writes DIRECTORY/b, `curl -O` the last part of a URL
            if listed:
                yield from (word[index + 1 :] for index, sign in enumerate(word) if sign == "/")
            if ".." in word:
                yield os.path.normpath(word)
        if attached:
            yield from (word[index:] for index in range(1, len(word)))


def texts_of(globs: str) -> Iterator[str]:
    """Yield for each glob a text in every path it matches, and one in its directory's path.

    Both are in folded case. The empty text, in every path, represents a glob without literal characters.
    """
    for each in globs.split():
        directory = each.rpartition("/")[0]
        yield _longest_text(each)
        if directory:
            yield _longest_text(directory)


def _longest_text(pattern: str) -> str:
    if "[" in pattern:
        return ""
    return max(pattern.translate(BARE).replace("*", "/").replace("?", "/").split("/"), key=len).casefold()


def _of_line(may: Callable[[str], bool]) -> Look:
    return lambda _, args, __: (line := shell_line(args)) is not None and may(line)


def _or_opens_terminal(may: Callable[[str], bool]) -> Look:
    def look(context: Mapping[str, object], args: Mapping[str, object], variable: Variable) -> bool:
        line = shell_line(args)
        if line is None:
            return False
        interactive = _word(variable, "interactive", "block")
        if may(line) or interactive not in ("block", "allow"):
            return True
        if interactive == "allow" or not may_read_terminal(line):
            return False
        from hookrun import sends_typed_input

        return not sends_typed_input(str(context.get("agent")))

    return look


def _at_hooks(_: Mapping[str, object], args: Mapping[str, object], __: Variable) -> bool:
    line = shell_line(args)
    return _names_path(args) or (line is not None and may_decide(line))


def _names_path(args: Mapping[str, object]) -> bool:
    return any(isinstance(args.get(each), str) for each in PATH_ARGUMENTS)


def _at_files(context: Mapping[str, object], args: Mapping[str, object], variable: Variable) -> bool:
    line = shell_line(args)
    searches = any(isinstance(args.get(each), str) for each in GLOB_ARGUMENTS)
    if searches or _names_path(args) or _word(variable, "read", "no") not in YES + NO:
        return True
    if line is None:
        return False
    working, project = context.get("working_dir"), variable("HOOKRUN_PROJECT_DIR", "/")
    directory = working if isinstance(working, str) and working.startswith("/") else project
    given = " ".join(variable(f"HOOKRUN_OPTION_{name}", "") for name in ("SECRETS", "LOCKED", "SETTINGS"))
    return may_name(line, variable("HOME", ""), directory, (*PROTECTED, *texts_of(given)))


def _at_secrets(context: Mapping[str, object], _: Mapping[str, object], variable: Variable) -> bool:
    from hookrun.credentials import may_hold_secret

    source = scanned(context)
    action, places = _word(variable, source, "block"), _word(variable, "places", "no")
    if action not in SCANS or places not in NO:
        return True
    return action != "off" and any(may_hold_secret(text) for text in scanned_texts(context, source))


def scanned(context: Mapping[str, object]) -> str:
    """Return what secret-scan scans at an event, also the name of its option."""
    return {"user_prompt_submit": "prompt", "pre_tool_use": "arguments"}.get(str(context.get("event")), "output")


def scanned_texts(context: Mapping[str, object], source: str) -> Iterator[str]:
    """Yield the texts that secret-scan scans."""
    for name in SCANNED[source]:
        yield from _strings(context.get(name))


def _strings(value: object) -> Iterator[str]:
    """Yield every string in a value, with objects' keys, except text that an edit removes."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            yield from (name for name in each if isinstance(name, str))
            waiting.extend(inner for name, inner in each.items() if name not in REMOVED_TEXT)


def _at_limit(context: Mapping[str, object], _: Mapping[str, object], variable: Variable) -> bool:
    from hookrun.recipes.rate_limit import may_exceed

    return may_exceed(context, variable)


LOOKS: dict[str, Look] = {
    "hookrun.recipes.block_destructive_commands:check": _or_opens_terminal(may_destroy),
    "hookrun.recipes.commit_message_check:check": _of_line(lambda line: may_run(line, COMMITTING)),
    "hookrun.recipes.no_force_push:check": _or_opens_terminal(lambda line: may_run(line, PUSHING)),
    "hookrun.recipes.package_manager:check": _of_line(may_manage),
    "hookrun.recipes.protect_files:check": _at_files,
    "hookrun.recipes.protect_hooks:guard": _at_hooks,
    "hookrun.recipes.rate_limit:check": _at_limit,
    "hookrun.recipes.secret_scan:check": _at_secrets,
}
"""A hook's function -> its look. Others always run."""
