"""Name MCP servers' tools `mcp__SERVER__TOOL` for agents whose names do not separate server and tool.

`files_make_it` may be a tool of `files` or of `files_make`. The servers in the user's settings decide. If none has the
tool, matchers are tried on every reading: a guard may see an irrelevant tool, but misses none. A project's settings,
not being the user's, add a reading but rule out none.
"""

from __future__ import annotations

from hookrun.core.fastjson import loads
from hookrun.core.files import read_or_none
from hookrun.core.model import as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.agents.base import Message
    from hookrun.agents.types import Agent, McpForm

# Characters of a guessed name that are examined.
LONGEST = 512

HEXADECIMAL = frozenset("0123456789abcdef")
# Digits of the digest that some agents append to a changed name.
DIGEST = 8


def name_mcp_tool(agent: Agent, message: Message, *, home: str = "", project: str = "") -> None:
    """Name a message's tool canonically; add its other possible names as `possible_tool_names`.

    Without a `home` and a `project` every reading is possible.
    """
    form, tool = agent.INSTALL.get("mcp"), message.tool
    if form is None or tool is None:
        return
    tool = tool.removeprefix(form.get("prefix", ""))
    of_user = _known(tool, form, "{home}", home)
    of_project = _known(tool, form, "{project}", project)
    names = [*of_user, *of_project] if of_user else [*of_project, *_readings(tool, form)]
    for call in message.calls if names else ():
        if of_user or of_project:
            call.fields["tool_name"] = names[0]
        call.fields["possible_tool_names"] = list(dict.fromkeys(names))


def mcp_tool(server: str, tool: str) -> str:
    """Return hookrun's name of a server's tool.

    >>> mcp_tool("my files", "make")
    'mcp__my_files__make'
    """
    return f"mcp__{_safe(server, '_')}__{_safe(tool, '_')}"


def _safe(name: str, instead: str) -> str:
    return "".join(char if (char.isascii() and char.isalnum()) or char in "_-" else instead for char in name)


def _known(tool: str, form: McpForm, place: str, directory: str) -> list[str]:
    """Return the tool's names by the servers in a directory's settings, the longest server first."""
    servers = [
        server
        for path, key in form["servers"]
        if directory and path.startswith(place)
        for server in _servers(path.replace(place, directory, 1), key)
    ]
    names = []
    for server in sorted(servers, key=len, reverse=True):
        theirs = _safe(server, form["unsafe"])
        for join in form["joins"]:
            rest = tool.removeprefix(theirs + join)
            if rest not in (tool, ""):
                names += [mcp_tool(server, each) for each in _without_digest(rest)]
    return names


def _servers(path: str, key: str) -> list[str]:
    """Return the servers' names in a settings file, none if it is unreadable (with comments)."""
    try:
        return list(as_object(as_object(loads((read_or_none(path) or b"").decode())).get(key)))
    except ValueError:
        return []


def _readings(tool: str, form: McpForm) -> Iterator[str]:
    """Yield a name for each possible end of the server's name."""
    tool = tool[:LONGEST]
    for join in form["joins"]:
        at = tool.find(join, 1)
        while at > 0:
            server = tool[:at]
            for rest in _without_digest(tool[at + len(join) :]):
                yield mcp_tool(server, rest)
                yield mcp_tool(server.replace(form["unsafe"], "_"), rest.replace(form["unsafe"], "_"))
            at = tool.find(join, at + 1)


def _without_digest(name: str) -> list[str]:
    """Return a tool's name without a final digest, and unchanged."""
    cut = name[: -DIGEST - 1]
    if cut and name[-DIGEST - 1] == "_" and HEXADECIMAL.issuperset(name[-DIGEST:]):
        return [cut, name]
    return [name] if name else []
