"""What all declaration files together come to: the hooks in running order, and what is wrong with the files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookrun.model import Hook


class Declarations:
    """Everything that is declared here.

    `hooks` are in running order: by layer, then priority, then as declared; one that is declared wrongly keeps its
    place and has its `error`. `problems` is what is wrong with files as such, a line each: their hooks may be unknown.
    `settings` are the effective `on_error`, `audit` and `record_context`. `events` are the host's own events.
    `root` is the directory of the project's declaration file, None without one. `files` is every file that had a say
    or would have one if it were there.
    """

    __slots__ = ("events", "files", "hooks", "problems", "root", "settings")

    def __init__(self) -> None:
        """Begin with nothing declared."""
        self.hooks: list[Hook] = []
        self.problems: list[str] = []
        self.settings: dict[str, object] = {}
        self.events: list[str] = []
        self.root: str | None = None
        self.files: list[str] = []
