"""One hook of a project looked at: its files, whether anybody else could change them, and its digest."""

from __future__ import annotations

from hookrun.trust import digest as digests, files as local
from hookrun.trust.identities import Identities
from hookrun.trust.owners import Owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrun.model import Hook
    from hookrun.process.prepare import HookEnvironment
    from hookrun.trust.files import LocalFile


class Examined:
    """What was found: the hook's `digest` and `files`, or the `problem` for which it cannot be approved at all."""

    __slots__ = ("digest", "files", "problem")

    def __init__(self, digest: str, files: list[LocalFile], problem: str | None = None) -> None:
        self.digest = digest
        self.files = files
        self.problem = problem


class Examiner:
    """Examines the hooks of the project at `root`, as they would run in these surroundings.

    `owners` are accounts, besides this one and root, whose files are believed.
    """

    def __init__(self, home: str, root: str, around: HookEnvironment, owners: Iterable[int] = ()) -> None:
        self.home = home
        self.root = root
        self._around = around
        self._owners = owners
        self._identities: Identities | None = None

    def examine(self, hook: Hook) -> Examined:
        """Return what the hook is now. What its files were before is believed only while their identities hold."""
        try:
            return self._examine(hook)
        except Exception as error:  # whatever a stranger thinks of, it concerns this hook and no other
            return Examined("", [], f"it cannot be looked at ({type(error).__name__}: {error})")

    def _examine(self, hook: Hook) -> Examined:
        files = self.files(hook)
        if files is None:
            return Examined("", [], f"its files are more than {local.MOST_LOOKED_AT}: name fewer under files")
        owners = Owners(self._owners)
        for file in files:
            real, problem = owners.walk(file.path)
            if problem is not None and not real.startswith(digests.SYSTEM):
                return Examined("", files, problem)
        if self._identities is None:
            self._identities = Identities(self.home, self.root)
        declared = digests.declaration(hook, self.root, self.home)
        digest = self._identities.digest(declared, files)
        if digest is None:
            try:
                digest = digests.digest(declared, files, self.root, owners)
            except digests.UnreadableError as error:
                return Examined("", files, str(error))
            self._identities.remember(declared, files, digest)
        return Examined(digest, files)

    def files(self, hook: Hook) -> list[LocalFile] | None:
        """Return the files that belong to the hook as they are now; None for too many."""
        environment = self._around.variables(hook, b"")
        cwd = self._around.directory(hook, environment)
        try:
            return local.files_of(hook, environment, cwd, self.root)
        except local.TooManyFilesError:
            return None

    def keep(self) -> None:
        """Keep for the next fire what was found."""
        if self._identities is not None:
            self._identities.keep()
