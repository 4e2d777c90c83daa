"""The directories that no command may remove as a whole, and those that nobody expects to last."""

from __future__ import annotations

import os

from hookrun.core.files import is_within
from hookrun.core.globs import glob
from hookrun.recipes.shell_recipe import physical
from hookrun.shell.words import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SYSTEM = (
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/opt", "/proc",
    "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/usr/share",
    "/var", "/var/lib", "/var/log", "/Applications", "/Library", "/System", "/Users", "/Volumes", "/private",
    "/private/etc", "/private/var",
)  # fmt: skip
HOME = (
    ".aws", ".config", ".gnupg", ".kube", ".local", ".local/share", ".ssh", "Desktop", "Documents", "Downloads",
    "Library", "Movies", "Music", "Pictures", "Videos",
)  # fmt: skip


# Directories that nobody expects to last; caches below the home directory, which their programs make anew.
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders")  # noqa: S108
CACHES = (
    ".bun/install/cache", ".cache", ".cargo/git", ".cargo/registry", ".composer/cache", ".gradle/caches",
    ".local/share/pnpm/store", ".m2/repository", ".npm", ".nuget/packages", ".pnpm-store", ".yarn/cache", "go/pkg/mod",
    "Library/Caches", "Library/Developer/Xcode/DerivedData",
)  # fmt: skip


class ProtectedPaths:
    """The directories not to be removed as a whole, in a project; `home` is the user's."""

    def __init__(self, home: str, project: str, extra: list[str]) -> None:
        self.home = home
        self._project = project
        self._protected = {**dict.fromkeys(SYSTEM, "a system directory"), "/": "the whole file system"}
        if home != "/":
            self._protected.update((f"{home}/{name}", "one of the user's main directories") for name in HOME)
            self._protected[home] = "the user's home directory"
        if project != "/":
            self._protected[f"{project}/.git"] = "the project's history"
            self._protected.setdefault(project, "the whole project")
        for path in extra:
            self._protected[os.path.normpath(home + path[1:] if path[:2] == "~/" else path)] = "a protected directory"

    def is_large(self, path: str) -> bool:
        """Return whether a path is a system directory or the home directory."""
        return path in SYSTEM or path == self.home

    def outside(self, path: str, directory: str | None) -> str | None:
        """Return the absolute path if in neither the project nor a temporary directory."""
        full = absolute(path.removesuffix("/*") or "/", directory)
        if full is None or self._project == "/":
            return None
        cached = any(is_within(full, f"{self.home}/{each}") for each in CACHES)
        return None if cached or self._is_in_project(full) or self.is_temporary(full) else full

    def is_temporary(self, full: str) -> bool:
        """Return whether an absolute path is in a temporary directory, and not in the project."""
        own = absolute(os.environ.get("TMPDIR", ""), "/") or "/"
        temporary = TEMPORARY if self.is_large(own) else (*TEMPORARY, own)
        return any(each != full and is_within(full, each) for each in temporary) and not self._is_in_project(full)

    def _is_in_project(self, full: str) -> bool:
        return is_within(full, self._project) or is_within(os.path.realpath(full), os.path.realpath(self._project))

    def threatened_by(self, path: str, directory: str | None) -> str | None:
        """Return the protected directory affected by a removal: the path, one within it, or its content."""
        if path[:1] == "~" and "/" not in path.rstrip("/*"):
            return "a home directory"
        paths = dict.fromkeys((absolute(path, directory), physical(path, directory)))
        return next((threat for full in paths if full is not None for threat in self._threats(full)), None)

    def _threats(self, full: str) -> Iterator[str]:
        parent, _, last = full.rpartition("/")
        if "*" in last and not last.strip("*?.[]!^"):
            full = parent or "/"
        if full in self._protected:
            yield f"{full}, {self._protected[full]}"
        for tree, what in self._protected.items():
            if tree.startswith(full.rstrip("/") + "/") or (tree.count("/") == full.count("/") and glob(full, tree)):
                yield f"{tree}, {what}"
