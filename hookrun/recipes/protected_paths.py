"""Find the protected directories that a command's path would remove."""

from __future__ import annotations

import os

from hookrun.files import is_within
from hookrun.globs import glob
from hookrun.recipes.shell_recipe import physical
from hookrun.shell.words import absolute

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

TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders")  # noqa: S108


class ProtectedPaths:
    """The directories that must not be removed as a whole, in one project."""

    def __init__(self, home: str, project: str, extra: list[str]) -> None:
        self._home = home
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
        """Return whether an absolute path is a directory of the system or the home directory."""
        return path in SYSTEM or path == self._home

    def outside(self, path: str, directory: str | None) -> str | None:
        """Return the absolute path if it is neither in the project nor in a temporary directory."""
        full = absolute(path.removesuffix("/*") or "/", directory)
        if full is None or self._project == "/":
            return None
        mine = (self._project, os.path.realpath(self._project))
        if is_within(full, mine[0]) or is_within(os.path.realpath(full), mine[1]):
            return None
        temporary = (*TEMPORARY, os.environ.get("TMPDIR", "/tmp"))  # noqa: S108  # named, not used
        return None if any(each != full and is_within(full, each.rstrip("/")) for each in temporary) else full

    def threatened_by(self, path: str, directory: str | None) -> str | None:
        """Return the protected directory that removing a path removes: itself, one within it, or all of its content."""
        if path[:1] == "~" and "/" not in path.rstrip("/*"):
            return "a home directory"
        paths = dict.fromkeys((absolute(path, directory), physical(path, directory)))
        threats = (self._threatened(full) for full in paths if full is not None)
        return next((threat for threat in threats if threat is not None), None)

    def _threatened(self, full: str) -> str | None:
        parent, _, last = full.rpartition("/")
        if "*" in last and not last.strip("*?.[]!^"):
            full = parent or "/"
        if full in self._protected:
            return f"{full}, {self._protected[full]}"
        for tree, what in self._protected.items():
            if tree.startswith(full.rstrip("/") + "/"):
                return f"{tree}, {what}"
            if any(sign in full for sign in "*?[") and full.count("/") == tree.count("/") and glob(full, tree):
                return f"{tree}, {what}"
        return None
