"""The directories that nobody removes as a whole, and whether a path means one of them."""

from __future__ import annotations

from hookrun.globs import glob
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


class Trees:
    """What is protected in one project: path -> what it is, for people."""

    def __init__(self, home: str, project: str, extra: list[str]) -> None:
        self._home = home
        self._trees = {**dict.fromkeys(SYSTEM, "a directory of the system"), "/": "everything there is"}
        if home != "/":
            self._trees.update((f"{home}/{name}", "a directory of the person's") for name in HOME)
            self._trees[home] = "the person's home directory"
        if project != "/":
            self._trees[f"{project}/.git"] = "the project's history"
            self._trees.setdefault(project, "the whole project")
        for path in extra:
            self._trees[home + path[1:] if path[:2] == "~/" else path.rstrip("/")] = "protected"

    def system(self, path: str) -> bool:
        """Tell whether an absolute path is a directory of the system."""
        return path in SYSTEM

    def large(self, path: str) -> bool:
        """Tell whether an absolute path is a directory of the system or the home directory."""
        return path in SYSTEM or path == self._home

    def endangered(self, path: str, directory: str | None) -> str | None:
        """Return which protected tree goes if a path does: itself, one within it, or all that is in it."""
        if path[:1] == "~" and "/" not in path.rstrip("/*"):
            return "a home directory"
        full = absolute(path, directory)
        if full is None:
            return None
        parent, _, last = full.rpartition("/")
        if "*" in last and not last.strip("*?.[]!^"):
            full = parent or "/"
        if full in self._trees:
            return f"{full}, {self._trees[full]}"
        for tree, what in self._trees.items():
            if tree.startswith(full.rstrip("/") + "/"):
                return f"{tree}, {what}"
            if any(sign in full for sign in "*?[") and full.count("/") == tree.count("/") and glob(full, tree):
                return f"{tree}, {what}"
        return None
