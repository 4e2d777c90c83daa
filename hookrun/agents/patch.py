"""The `*** Begin Patch` grammar of Codex, which other agents have taken over: which files a patch touches, and how.

Agents read more than the grammar allows, each something else, so that here every reading counts: a hook may be shown a
file that is not touched, never the other way round.

Sources: the grammar in the description of Codex's `apply_patch` tool; what Codex (0.169.0), Copilot (1.0.102), Cline
(3.0.65) and OpenCode (1.18.33) made of patches that differ from it, measured on disk: blanks before a header are taken
by Codex and Copilot, one without a blank before the path by OpenCode.
"""

from __future__ import annotations

from hookrun.agents.base import CanonicalCall, Message, add_file_changed

ADD, UPDATE, DELETE, MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
HEADERS = {ADD: "write", UPDATE: "edit", DELETE: "delete", MOVE: "edit"}
"""What begins a line that names a file -> the tool, by hookrun's name."""


def split_by_file(message: Message, text: str) -> Message:
    """Return a message about a patch as one about the files that it touches; as it is, where it touches none.

    The arguments of such a message cannot be changed: what a file is to become is no patch.
    """
    first = message.calls[0]
    each = [
        CanonicalCall(first.event, {**first.fields, "tool_name": tool, "tool_args": args}) for tool, args in calls(text)
    ]
    if not each:
        return message
    return Message(
        message.native, add_file_changed(each), roots=message.roots, tool=message.tool, dialect=message.dialect
    )


def calls(patch: str) -> list[tuple[str, dict[str, object]]]:
    """Return the tool calls, by hookrun's names, that come to the same as a patch: a tool and its arguments per file.

    A file that is added is a `write`, one that is changed an `edit` whose `old_string` and `new_string` are the lines
    of all its hunks; one that is moved is an edit of where it goes and a `delete` of where it was. Where only some
    agents would take a line for a move, it is an edit of both places.
    """
    found: list[tuple[str, dict[str, object]]] = []
    old: list[str] = []
    new: list[str] = []
    before = None
    for line in patch.rstrip("\n").split("\n"):
        bare = line.strip()
        kind = next((kind for kind in HEADERS if bare.startswith(kind)), None)
        if kind is not None:
            _finish(found, old, new)
            path = bare[len(kind) :].strip()
            if kind != MOVE:
                found.append((HEADERS[kind], {"file_path": path}))
            elif before == UPDATE and line.startswith(MOVE):
                _move(found, path)
            else:
                _perhaps_move(found, path)
        elif not line.startswith(("***", "@@")):
            _take(line.removesuffix("\r"), old, new)
        before = kind
    _finish(found, old, new)
    return found


def _take(line: str, old: list[str], new: list[str]) -> None:
    """Add a line of a hunk to what was there, to what is to be there, or to both."""
    if line[:1] != "+":
        old.append(line[1:])
    if line[:1] != "-":
        new.append(line[1:])


def _move(found: list[tuple[str, dict[str, object]]], path: str) -> None:
    moved = found[-1][1]
    found.insert(len(found) - 1, ("delete", {"file_path": moved["file_path"]}))
    moved["file_path"] = path


def _perhaps_move(found: list[tuple[str, dict[str, object]]], path: str) -> None:
    """Before the file that the lines belong to, which may stay where it is, tell of where it may go."""
    found.insert(max(len(found) - 1, 0), ("edit", {"file_path": path, "old_string": "", "new_string": ""}))


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
