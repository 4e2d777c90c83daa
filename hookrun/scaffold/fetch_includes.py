"""Fetch the configs that are included from git repositories; nothing of a repository is run."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile

from hookrun.config.config_file import COMMIT, GitInclude, tree_digest
from hookrun.scaffold.declaration_file import ScaffoldError, check_within
from hookrun.state import make_private_dir

TIMEOUT = 120
"""Seconds that one call of git may take."""

MAX_BYTES = 64 << 20
"""Limit on the files of a repository, together."""

PROTOCOLS = ("https", "ssh", "file")
SAFE = (
    *("-c", "protocol.allow=never"),
    *(word for name in PROTOCOLS for word in ("-c", f"protocol.{name}.allow=always")),
)
"""Options of git: a project's config must not make git run a program (`ext::`) or read over an open line."""

OF_ANOTHER_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"})
"""Variables that git gives to its own hooks, and that would lead this git elsewhere."""


def fetch(include: GitInclude, home: str) -> str:
    """Fetch the files of an include for an account, check them against its digest, and return their digest.

    Only a complete copy replaces one that is there. Raises ScaffoldError.
    """
    directory = include.directory(home)
    try:
        make_private_dir(os.path.dirname(directory))
        with tempfile.TemporaryDirectory(dir=os.path.dirname(directory), prefix=".fetch-") as temporary:
            files = os.path.join(temporary, "files")
            _extract(_archive(include, os.path.join(temporary, "git")), files)
            digest = tree_digest(files)
            if include.digest and digest != include.digest:
                raise ScaffoldError(
                    f"{include}: its files have the digest {digest}, not {include.digest}\n"
                    "hint: review the files: they have changed, or the digest is wrong; then write this digest"
                )
            if not os.path.isfile(os.path.join(files, include.path)):
                raise ScaffoldError(f"{include}: no file `{include.path}`\nhint: name the config file as `path`")
            shutil.rmtree(directory, ignore_errors=True)
            os.rename(files, directory)
    except OSError as error:
        raise ScaffoldError(f"{error.filename or directory}: {error.strerror or error}") from None
    return digest


def _archive(include: GitInclude, repository: str) -> bytes:
    """Return the files of the revision as a tar archive."""
    _git("init", "--quiet", "--bare", repository, about=include)
    rev = include.rev
    try:
        _git("-C", repository, "fetch", "--quiet", "--depth=1", "--", include.git, rev, about=include)
        rev = "FETCH_HEAD"
    except ScaffoldError:  # a server may give only branches and tags
        if not COMMIT.fullmatch(rev):
            raise
        _git("-C", repository, "fetch", "--quiet", "--", include.git, "+refs/*:refs/fetched/*", about=include)
    commit = _git("-C", repository, "rev-parse", "--verify", "--end-of-options", f"{rev}^{{commit}}", about=include)
    if COMMIT.fullmatch(include.rev) and commit.decode().strip() != include.rev:
        raise ScaffoldError(f"{include}: git fetched {commit.decode().strip()} instead")
    return _git("-C", repository, "archive", "--format=tar", commit.decode().strip(), about=include)


def _git(*arguments: str, about: GitInclude) -> bytes:
    inherited = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_REPOSITORY}
    try:
        done = subprocess.run(  # the user's git; values of a project stand behind `--`
            ["git", *SAFE, *arguments],  # noqa: S607  # as above
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
            env={**inherited, "GIT_TERMINAL_PROMPT": "0", "GIT_ATTR_NOSYSTEM": "1"},
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise ScaffoldError(
            "command not found: `git`\nhint: install git to include configs from repositories"
        ) from None
    except subprocess.TimeoutExpired:
        raise ScaffoldError(
            f"{about}: git took more than {TIMEOUT} seconds\nhint: check the network and the URL"
        ) from None
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").splitlines()
        why = next((line for line in lines if line.startswith(("fatal:", "error:"))), "git failed")
        raise ScaffoldError(f"{about}: {why}\nhint: check `git` and `rev`, and that you can read the repository")
    return done.stdout


def _extract(archive: bytes, directory: str) -> None:
    """Write the regular files of an archive. Raises ScaffoldError for links and for too much."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [member for member in tar.getmembers() if not member.isdir()]
        if sum(member.size for member in members) > MAX_BYTES:
            raise ScaffoldError(f"the repository has more than {MAX_BYTES >> 20} MiB of files\nhint: use a smaller one")
        for member in members:
            if not member.isfile():
                raise ScaffoldError(f"the repository has a link, `{member.name}`\nhint: use one of plain files only")
        os.mkdir(directory, 0o700)
        for member in members:
            path = os.path.join(directory, member.name)  # git takes no name with `..`
            check_within(path, directory)
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            mode = 0o700 if member.mode & 0o100 else 0o600
            content = tar.extractfile(member)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content.read() if content is not None else b"")
