"""The recipe `protect-files`: blocks access to secrets, and changes to lock files and hook settings."""

from __future__ import annotations

import os

from hookrun import settings_globs
from hookrun.core.globs import glob
from hookrun.recipes.path_prefilter import may_name, texts_of
from hookrun.recipes.recipe import Option, Recipe, option, yes
from hookrun.recipes.shell_recipe import (
    LinkedFiles,
    block,
    line_directory,
    line_of,
    may,
    named_paths,
    parse,
    spellings,
    unreadable,
)
from hookrun.shell.prefilter import ENDS
from hookrun.shell.words import PLAIN, Piece, absolute, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrun.shell.named_files import NamedFile

SECRETS = (
    ".env .env.* *.env .envrc *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx id_rsa id_dsa id_ecdsa id_ed25519 "
    ".netrc .pgpass .git-credentials .pypirc .htpasswd .aws/credentials .docker/config.json .kube/config "
    ".config/gh/hosts.yml .config/gcloud/* .gnupg/* secrets.json secrets.yml secrets.yaml secrets.toml"
)
EXAMPLES = "*.example *.sample *.template *.dist *.defaults *.pub"
LOCKED = (
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock bun.lock bun.lockb deno.lock poetry.lock uv.lock "
    "pdm.lock Pipfile.lock pixi.lock Cargo.lock Gemfile.lock composer.lock go.sum mix.lock flake.lock "
    "Package.resolved Podfile.lock pubspec.lock .terraform.lock.hcl"
)
SETTINGS = (
    f"coder.json coder.local.json hookrun.yaml hookrun.yml {' '.join(settings_globs())} "
    ".config/hookrun/* .local/share/hookrun/* .local/state/hookrun/* .cache/hookrun/* .git/hooks/* .husky/* "
    ".pre-commit-config.yaml"
)

RECIPE = Recipe(
    "protect-files",
    "Block access to files with secrets, and changes to lock files and hook settings.",
    options=(
        Option("secrets", SECRETS, "Files that must not be read or changed."),
        Option("examples", EXAMPLES, "Exceptions to `secrets`."),
        Option("locked", LOCKED, "Files that only their own tools may change."),
        Option("settings", SETTINGS, "Files that only the user may change."),
        Option("read", "no", "With `yes`, secrets may be read but not changed.", yes),
    ),
    catches="""
        - Tools that read, write, edit, delete or search one of the files, also through symbolic links and by a pattern
          of the files to search. A glob without `/` matches a file name in any directory, one with `/` the end of a
          path.
        - Shell commands that read a secret: `<`, and any program that gets its name (`cat`, `cp`, `source`, `curl -d
          @.env`, `git add`, ...) except those that do not show its content (`ls`, `test`, `chmod`, `ssh -i`, ...).
        - Shell commands that change one of the files: redirections, `tee`, `sed -i`, `perl -pi`, `gawk -i inplace`, `dd
          of=`, `curl -o`, `wget -O`, `sort -o`, `truncate`, `touch`, `rm`, `git rm`, and `cp`, `mv`, `ln`, `install`,
          `rsync` to it or its directory; `git checkout` and `git restore` of hook settings.
        - The same through symbolic links, behind `cd`, `sudo`, `xargs` and similar, in `bash -c`, `$(...)`, functions,
          loops and here-documents, with a pattern (`cat .en*`) and with any quoting; parts that name one of the files
          and cannot be parsed as shell. The same in scripts, targets of `make` and scripts of `package.json` that the
          line runs, and in code that it has (`python -c "open('.env')"`).
    """,
    misses="""
        - Files that the line does not name: `grep -r KEY .`, `docker compose up`, `npm install`.
        - Commands of PowerShell (`Set-Content`); what a program in a file reads, which the model does not see.
        - Names that only the shell knows: `cat $FILE`, command output, `cat *` (patterns that start with `*` are
          compared literally).
        - Secrets in files with other names and in the environment (`env`, `printenv`).
        - MCP tools, unless you add them to the matcher: then the arguments `path` and `file_path` are checked.
        - `git checkout` and `git restore` of a lock file or a secret, which restore the committed content.
        - Git commands that show all files: `git log -p`, `git stash show -p`, `git grep KEY`, `git commit -a`.
    """,
)

# Arguments of searching tools with a pattern of the files to search.
GLOB_ARGUMENTS = ("glob", "include")

# Tools that do not write.
READING = frozenset({"read", "grep", "glob"})

ADVICE = "Ask the user if you need this."


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may read, change or search a protected file. False is certain."""
    yes(RECIPE, "read")  # a wrong option always counts
    line = line_of(context)
    if named_paths(context) or named_paths(context, GLOB_ARGUMENTS):
        return True
    if line is None:
        return False
    texts = tuple(texts_of(" ".join(option(RECIPE, name) for name in ("secrets", "locked", "settings"))))
    home, directory = os.environ.get("HOME", ""), line_directory(context)
    return may(context, lambda text: may_name(text, home, directory, texts))


@RECIPE.hook(
    "pre_tool_use",
    matcher="read|write|edit|delete|grep|bash",
    priority=20,
    timeout=10,
    on_failure="block",
    concerns=concerns,
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that reads or changes a protected file, else None."""
    if not concerns(context):
        return None
    return block(Files(context).reasons())


class Files:
    """The files protected from a call."""

    def __init__(self, context: Mapping[str, object]) -> None:
        self._context = context
        self._secrets, self._examples, self._locked, self._settings = (
            option(RECIPE, name).split() for name in ("secrets", "examples", "locked", "settings")
        )
        self._readable = yes(RECIPE, "read")
        self._links = LinkedFiles()

    def reasons(self) -> Iterator[str]:
        """Yield why the call must not run: files it must not read, write or search."""
        line, directory = line_of(self._context), line_directory(self._context)
        if line is not None:
            yield from self._of_line(line)
        yield from (f"{reason}. {ADVICE}" for reason in self._of_arguments(directory))

    def _of_arguments(self, directory: str) -> Iterator[str]:
        for path in named_paths(self._context):
            full = os.path.join(directory, os.path.expanduser(path))
            yield from self._of_paths(spellings(full), written=self._context.get("tool_name") not in READING)
        for pattern in named_paths(self._context, GLOB_ARGUMENTS):
            yield from self._of_searched(pattern)

    def _of_searched(self, pattern: str) -> Iterator[str]:
        """Yield a pattern's matches that must not be searched: `.env*`, `*.{ts,pem}`."""
        for word in split_words([Piece(pattern, PLAIN)], "") if pattern[:1] != "!" else []:
            yield from self._of_names(f"/{word.text}", written=False)
            yield from self._why(f"/{word.text}", written=False)

    def _of_line(self, line: str) -> Iterator[str]:
        from hookrun.shell.named_files import named_files

        parsed = parse(self._context, line)
        for command in parsed.commands:
            for file in named_files(command):
                yield from (f"{reason}{command.place}. {ADVICE}" for reason in self._of_named(file, command.directory))
        yield from unreadable(parsed, self._names_any)

    def _names_any(self, text: str) -> bool:
        """Return whether a word of the text is a protected file."""
        paths = (f"/{word}" for word in text.translate(ENDS).split())
        return any(self._of_paths(paths, written=True))

    def _of_named(self, file: NamedFile, directory: str | None) -> Iterator[str]:
        full = absolute(file.path, directory) or absolute(file.path, "/")
        if full is None:
            return
        if file.removed and _is(full, [each.rpartition("/")[0] for each in self._settings if "/" in each]):
            yield f"{full} contains hook settings, which only the user may remove"
        if file.word.globs and any(sign in file.path for sign in "*?["):
            yield from self._of_names(full, written=file.written)
            yield from self._of_paths((full, *self._links.of(full)), written=file.written)
            return
        paths = spellings(os.path.join(directory or "/", file.path))
        if not file.restored or any(_is(each, self._settings) for each in paths):
            yield from self._of_paths(paths, written=file.written)

    def _of_names(self, pattern: str, *, written: bool) -> Iterator[str]:
        """Yield why a pattern's names are protected: `.en*` matches `.env`, `*` does not count."""
        directory, _, name = pattern.rpartition("/")
        for each in (*self._secrets, *self._locked, *self._settings):
            plain = each.rpartition("/")[2]
            if "*" not in plain and name.strip("*?") and (name[0] == ".") == (plain[0] == ".") and glob(name, plain):
                yield from self._why(f"{directory}/{each}", written=written)
                return

    def _of_paths(self, paths: Iterable[str], *, written: bool) -> Iterator[str]:
        for each in paths:
            yield from self._why(each, written=written)

    def _why(self, path: str, *, written: bool) -> Iterator[str]:
        if written and _is(path, self._settings):
            yield f"{path} holds hook settings, which only the user may change"
        if written and _is(path, self._locked):
            yield f"{path} is a lock file: run its package manager to update it"
        if (written or not self._readable) and _is(path, self._secrets) and not _is(path, self._examples):
            yield f"{path} may contain secrets and must not be {'changed' if written else 'read'}"


def _is(path: str, globs: list[str]) -> bool:
    """Return whether a path matches one of the globs, case-insensitively."""
    path = path.casefold()
    name = path.rpartition("/")[2]
    return any(glob(f"*/{each}", path) if "/" in each else glob(each, name) for each in map(str.casefold, globs))
