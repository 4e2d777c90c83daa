"""The recipe `protect-files`: blocks access to secrets, and changes to lock files and hook settings."""

from __future__ import annotations

import os

from hookrun.agents import settings_globs
from hookrun.core.files import read_or_none
from hookrun.core.globs import glob
from hookrun.recipes import shown_secrets, unseen_code
from hookrun.recipes.path_prefilter import may_name, texts_of
from hookrun.recipes.recipe import Option, Recipe, option, yes
from hookrun.recipes.shell_recipe import (
    SHELL_TOOLS,
    LinkedFiles,
    block,
    line_directory,
    line_of,
    may,
    named_paths,
    names_in,
    parse,
    reads_only,
    spellings,
    unreadable,
)
from hookrun.shell.prefilter import ENDS
from hookrun.shell.programs import having
from hookrun.shell.words import PLAIN, Piece, absolute, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrun.shell.named_files import NamedFile
    from hookrun.shell.simple_command import SimpleCommand

SECRETS = (
    ".env .env.* *.env .envrc .dev.vars .dev.vars.* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx id_rsa id_dsa "
    "id_ecdsa id_ed25519 .netrc _netrc .pgpass .my.cnf .mylogin.cnf .git-credentials .npmrc .yarnrc.yml .pypirc "
    ".htpasswd "
    ".vault-token .boto .s3cfg .terraformrc *.tfstate *.tfstate.backup terraform.tfvars *.auto.tfvars kubeconfig "
    "*.kubeconfig .kube/config .aws/credentials .aws/sso/cache/* .aws/cli/cache/* .azure/*.json .docker/config.json "
    ".config/gh/hosts.yml .config/hub .config/glab-cli/config.yml .config/gcloud/* .config/doctl/config.yaml "
    ".config/rclone/rclone.conf .config/sops/age/keys.txt .fly/config.yml .cargo/credentials .cargo/credentials.toml "
    ".gem/credentials .terraform.d/credentials.tfrc.json .gnupg/* proc/*/environ service-account*.json "
    "service_account*.json *-service-account.json *credentials.json client_secret*.json *firebase-adminsdk*.json "
    "secrets.json secrets.yml secrets.yaml secrets.toml"
)
EXAMPLES = "*.example *.sample *.template *.dist *.defaults *.pub"
# Files -> what they say if they hold a secret, where they can be read.
SAYING = {
    "*.pem *.key": r"PRIVATE KEY|\A\x30",
    ".npmrc .yarnrc.yml": r"_auth|_password|npmAuth",
    ".docker/config.json": r'"(?:auth|identitytoken)"',
    "service*.json *credentials.json client_secret*.json *adminsdk*.json": r"private_key|secret|refresh_token|password",
}
# Those that are taken for public where they cannot be read, below the home directory.
PUBLIC = "*chain.pem *cert*.pem ca.pem ca-*.pem *public*.pem .npmrc .yarnrc.yml"
# What openssl shows of its input without its key, and directories that are not to be copied as a whole.
SHOWN_OF_KEYS = frozenset({"crl", "crl2pkcs7", "ocsp", "s_client", "verify", "x509"})
# What makes a key, in a new file.
MAKING_KEYS = frozenset({"gendsa", "genpkey", "genrsa", "req"})
WHOLE = ".aws .gnupg .kube .ssh"
# Bytes of a file that are looked at, and names of a directory.
MAX_LOOKED_AT, MAX_NAMES = 1 << 16, 5000

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
        - Shell commands that read a secret: `<`, and any program that gets its name (`cat`, `cp`, `curl -d @.env`, `git
          add`, ...) except those that do not show its content (`ls`, `test`, `chmod`, `ssh -i`, `source`, ...). A key,
          certificate, `.npmrc` or JSON of credentials that can be read is a secret if its content is one.
        - What shows secrets that are in no such file: `env`, `printenv`, `echo $API_TOKEN`, `gh auth token`, `kubectl
          get secret -o yaml`, `vault kv get`, `aws secretsmanager get-secret-value` and others, unless a program takes
          what they print: `docker login -p $(...)`.
        - Shell commands that change one of the files: redirections, `tee`, `sed -i`, `perl -pi`, `gawk -i inplace`, `dd
          of=`, `curl -o`, `wget -O`, `sort -o`, `truncate`, `rm`, `git rm`, and `cp`, `mv`, `ln`, `install`,
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
        - Secrets in files with other names; variables that a script prints.
        - Files that MCP tools name by arguments that are not called `path`, `file`, `source`, `target` or the like.
        - `git checkout` and `git restore` of a lock file or a secret, which restore the committed content.
        - Git commands that show all files: `git log -p`, `git stash show -p`, `git grep KEY`, `git commit -a`.
    """,
)

# Arguments of searching tools with a pattern of the files to search.
GLOB_ARGUMENTS = ("glob", "include")

ADVICE = "Ask the user if you need this."
# Commands of package managers that write a lock file anew: it may be removed before.
REMAKING = frozenset({"generate-lockfile", "i", "install", "lock", "sync", "update"})
# Programs that take a directory with all in it.
COPYING = frozenset({"tar", "zip", *having("onto_last")})


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may read, change or search a protected file. False is certain."""
    yes(RECIPE, "read")  # a wrong option always counts
    if named_paths(context) or named_paths(context, GLOB_ARGUMENTS):
        return True
    texts = texts_of(" ".join(option(RECIPE, name) for name in ("secrets", "locked", "settings")))
    return may(context, lambda line: shown_secrets.may_show(line) or may_name(context, line, texts))


@RECIPE.hook(
    "pre_tool_use",
    matcher=f"read|write|edit|delete|grep|{SHELL_TOOLS}",
    priority=20,
    timeout=10,
    on_failure="block",
    concerns=concerns,
)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that reads or changes a protected file, else None."""
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
            yield from self._of_paths(spellings(full), written=not reads_only(self._context))
        for pattern in named_paths(self._context, GLOB_ARGUMENTS):
            searched = os.path.normpath(os.path.join(directory, *named_paths(self._context, ("path",))[:1]))
            yield from self._of_searched(pattern, searched)

    def _of_searched(self, pattern: str, directory: str) -> Iterator[str]:
        """Yield a pattern's matches that must not be searched: `.env*`, `*.{ts,pem}`."""
        for word in split_words([Piece(pattern, PLAIN)], "") if pattern[:1] != "!" else []:
            yield from self._of_names(os.path.join(directory, word.text), written=False)
            yield from self._of_paths([os.path.join(directory, word.text)], written=False)

    def _of_line(self, line: str) -> Iterator[str]:
        from hookrun.shell.named_files import named_files

        parsed = parse(self._context, line)
        made_anew = any(not REMAKING.isdisjoint(command.operands[:1]) for command in parsed.commands)
        for command in parsed.commands:
            for file in named_files(command):
                remade = made_anew and command.program == "rm" and _is(f"/{file.path}", self._locked)
                if not remade and not self._spares(command, file):
                    reasons = self._of_named(file, command.directory)
                    yield from (f"{reason}{command.place}. {ADVICE}" for reason in reasons)
            for word in command.words[1:] if command.program in COPYING and not self._readable else ():
                full = absolute(word.text, command.directory)
                if full is not None and _is(full, WHOLE.split()):
                    yield f"{full} may contain secrets and must not be copied{command.place}. {ADVICE}"
        for command, what in shown_secrets.shown(parsed.commands, line) if not self._readable else ():
            yield f"This would show {what}, which may hold secrets{command.place}. {ADVICE}"
        yield from unreadable(parsed, self._names_any)

    def _spares(self, command: SimpleCommand, file: NamedFile) -> bool:
        """Return whether a command only makes a file of an example, or shows nothing of it."""
        program, operands = command.program, command.operands
        path = os.path.join(command.directory or "/", file.path)
        if not file.written:
            there = os.path.lexists(path)
            spared = SHOWN_OF_KEYS if there else SHOWN_OF_KEYS | MAKING_KEYS
            shows_none = program == "openssl" and not spared.isdisjoint(operands[:1])
            return program in unseen_code.SOURCES or shows_none or (program == "mkcert" and not there)
        sources = operands[:-1] if program in having("onto_last") else operands
        copies = (
            bool(sources)
            and program in having("passes_on")
            and all(_is(f"/{each}", self._examples) for each in sources)
        )
        return (program == "touch" and self._is_secret(path)) or (copies and not os.path.lexists(path))

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
        if file.globs and any(sign in file.path for sign in "*?["):
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
            where, _, plain = each.rpartition("/")
            if "*" in plain or not name.strip("*?") or (name[0] == ".") != (plain[0] == ".") or not glob(name, plain):
                continue
            matching = self._first(directory or "/", name)
            if not matching and (name[:2] == "*." or (where and not _is(directory, [where]))):
                continue  # `*.yml` is of all files of a kind, and this one is elsewhere
            yield from self._of_paths([f"{directory}/{matching or plain}"], written=written)
            return

    def _first(self, directory: str, pattern: str) -> str | None:
        """Return a protected file that a pattern matches, to name it."""
        matching = (each for each in names_in(directory, MAX_NAMES) if glob(pattern, each))
        return next((each for each in matching if any(self._of_paths([f"{directory}/{each}"], written=False))), None)

    def _of_paths(self, paths: Iterable[str], *, written: bool) -> Iterator[str]:
        for path in paths:
            if written and _is(path, self._settings):
                yield f"{path} holds hook settings, which only the user may change"
            if written and _is(path, self._locked):
                yield f"{path} is a lock file: run its package manager to update it"
            if (written or not self._readable) and self._is_secret(path):
                yield f"{path} may contain secrets and must not be {'changed' if written else 'read'}"

    def _is_secret(self, path: str) -> bool:
        """Return whether a file is a secret by its name, and by what it says where that tells."""
        if not _is(path, self._secrets) or _is(path, self._examples):
            return False
        telling = next((text for names, text in SAYING.items() if _is(path, names.split())), None)
        if telling is None:
            return True
        data = read_or_none(path, MAX_LOOKED_AT)
        if data is None:
            return not _is(path, PUBLIC.split()) or os.path.dirname(path) == os.environ.get("HOME")
        import re

        return re.search(telling, data.decode("latin-1")) is not None


def _is(path: str, globs: list[str]) -> bool:
    """Return whether a path matches one of the globs, case-insensitively."""
    path = path.casefold()
    name = path.rpartition("/")[2]
    return any(glob(f"*/{each}", path) if "/" in each else glob(each, name) for each in map(str.casefold, globs))
