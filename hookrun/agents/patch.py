"""The `*** Begin Patch` grammar of Codex, which other agents have taken over: which files a patch touches, and how.

Source: the grammar in the description of Codex's `apply_patch` tool.
"""

from __future__ import annotations

from hookrun.agents.message import Call, Message, with_changes

ADD, UPDATE, DELETE, MOVE = "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "


def in_files(message: Message, text: str) -> Message:
    """Return a message about a patch as one about the files that it touches; as it is, where it touches none.

    The arguments of such a message cannot be changed: what a file is to become is no patch.
    """
    first = message.calls[0]
    each = [Call(first.event, {**first.fields, "tool_name": tool, "tool_args": args}) for tool, args in calls(text)]
    if not each:
        return message
    return Message(message.native, with_changes(each), roots=message.roots, tool=message.tool)


def calls(patch: str) -> list[tuple[str, dict[str, object]]]:
    """Return the tool calls, by hookrun's names, that come to the same as a patch: a tool and its arguments per file.

    A file that is added is a `write`, one that is changed an `edit` whose `old_string` and `new_string` are the lines
    of all its hunks; one that is moved is an edit of where it goes and a `delete` of where it was.
    """
    found: list[tuple[str, dict[str, object]]] = []
    old: list[str] = []
    new: list[str] = []
    for line in patch.splitlines():
        kind = next((kind for kind in (ADD, UPDATE, DELETE, MOVE) if line.startswith(kind)), None)
        if kind is not None:
            _finish(found, old, new)
            _begin(found, kind, line[len(kind) :].strip())
        elif not line.startswith("***") and not line.startswith("@@"):
            if line[:1] != "+":
                old.append(line[1:])
            if line[:1] != "-":
                new.append(line[1:])
    _finish(found, old, new)
    return found


def _begin(found: list[tuple[str, dict[str, object]]], kind: str, path: str) -> None:
    if kind == MOVE:
        if found:
            moved = found[-1][1]
            found.insert(len(found) - 1, ("delete", {"file_path": moved["file_path"]}))
            moved["file_path"] = path
        return
    tool = {ADD: "write", UPDATE: "edit", DELETE: "delete"}[kind]
    found.append((tool, {"file_path": path}))


def _finish(found: list[tuple[str, dict[str, object]]], old: list[str], new: list[str]) -> None:
    """Give the lines so far to the file that they belong to."""
    if found and (old or new or "content" not in found[-1][1]):
        tool, args = found[-1]
        if tool == "write":
            args["content"] = "".join(line + "\n" for line in new)
        elif tool == "edit" and (old or new or "old_string" not in args):
            args["old_string"], args["new_string"] = "\n".join(old), "\n".join(new)
    old.clear()
    new.clear()
