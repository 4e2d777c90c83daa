"""An agent's own names for tools and arguments, and hookrun's: tables that are read both ways. No imports."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Names:
    """What an agent calls the tools and their arguments. What is in no table keeps its name.

    `tools`: its name of a tool -> hookrun's. `arguments`: its name of a tool -> its name of an argument -> hookrun's.

        Names({"run_shell": "bash", "put": "write"}, {"run_shell": {"cmd": "command"}, "put": {"path": "file_path"}})
    """

    __slots__ = ("_arguments", "_tools")

    def __init__(
        self, tools: Mapping[str, str] | None = None, arguments: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._tools = tools or {}
        self._arguments = arguments or {}

    def tool(self, name: str) -> str:
        """Return hookrun's name of the agent's tool `name`."""
        return self._tools.get(name, name)

    def arguments(self, name: str, args: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of the agent's tool `name` by hookrun's names.

        Where an argument that the tool does not know has the very name that one of its own gets, the tool's own counts.
        """
        return _renamed(args, self._arguments.get(name))

    def own_arguments(self, name: str, args: Mapping[str, object]) -> dict[str, object]:
        """Return arguments with hookrun's names as the agent's tool `name` takes them."""
        table = self._arguments.get(name)
        return _renamed(args, {ours: theirs for theirs, ours in table.items()} if table else None)


def _renamed(args: Mapping[str, object], table: Mapping[str, str] | None) -> dict[str, object]:
    if not table:
        return dict(args)
    renamed = {key: value for key, value in args.items() if key not in table}
    renamed.update({table[key]: value for key, value in args.items() if key in table})
    return renamed
