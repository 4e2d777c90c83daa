"""Parse patches in Codex's `*** Begin Patch` format, used by other agents too, into calls for each file.

Agents accept more than the grammar, each in its own way, so this accepts every reading: a hook may see an untouched
file, but misses no touched one.

Sources: the grammar in the description of Codex's `apply_patch` tool; what Codex (0.169.0), Copilot (1.0.102), Cline
(3.0.65) and OpenCode (1.18.33) did with deviating patches, measured on disk: Codex and Copilot accept blanks before a
header, OpenCode a header without a blank before the path.
"""

from __future__ import annotations

from hookrun.agents.base import CanonicalCall, add_file_changed, no_native_args

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.base import Message

# Agents' name of the tool that takes one.
TOOL = "apply_patch"
ADD, UPDATE, DELETE, MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
# The start of a line that names a file -> hookrun's name of the tool.
HEADERS = {ADD: "write", UPDATE: "edit", DELETE: "delete", MOVE: "edit"}


def split_by_file(message: Message, text: object) -> None:
    """Give a message about a patch a call for each touched file. Others stay unchanged.

    Its arguments then cannot be changed: changed files do not make a patch again.
    """
    first = message.calls[0]
    found = calls(text) if isinstance(text, str) else []
    if found:
        first.fields.pop("arguments_cut_off", None)
        each = ({**first.fields, "tool_name": tool, "tool_args": args} for tool, args in found)
        message.calls = add_file_changed([CanonicalCall(first.event, fields) for fields in each])
        message.to_native_args = no_native_args


def calls(patch: str) -> list[tuple[str, dict[str, object]]]:
    """Return the tool calls equivalent to a patch: hookrun's tool and its arguments for each file.

    An added file is a `write`, a changed one an `edit` with all its hunks' lines as `old_string` and `new_string`, a
    moved one an `edit` of the new path and a `delete` of the old. A line that only some agents take for a move is an
    `edit` of both paths.
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
                moved = found[-1][1]
                found.insert(len(found) - 1, ("delete", {"file_path": moved["file_path"]}))
                moved["file_path"] = path
            else:  # perhaps a move: the next lines belong to the previous file
                found.insert(max(len(found) - 1, 0), ("edit", {"file_path": path, "old_string": "", "new_string": ""}))
        elif not line.startswith(("***", "@@")):
            hunk = line.removesuffix("\r")
            old += [hunk[1:]] if hunk[:1] != "+" else []
            new += [hunk[1:]] if hunk[:1] != "-" else []
        before = kind
    _finish(found, old, new)
    return found


def patch_of(tool: str, args: Mapping[str, object], directory: object) -> str:
    """Return the patch that does the same as a `write`, `edit` or `delete`; paths in `directory` are relative to it."""
    path, old, new = (str(args.get(name) or "") for name in ("file_path", "old_string", "new_string"))
    path = path.removeprefix(f"{directory}/")
    lines = [f"{DELETE} {path}"]
    if tool == "write":
        lines = [f"{ADD} {path}", *(f"+{line}" for line in str(args.get("content") or "").splitlines())]
    elif tool == "edit":
        lines = [f"{UPDATE} {path}", "@@", *(f"-{line}" for line in old.splitlines())]
        lines += [f"+{line}" for line in new.splitlines()]
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def rebuilt(text: str, wanted: Mapping[str, object], directory: object) -> str | None:
    """Return a patch of one file with the arguments wanted instead, None where no patch does just that.

    The lines that an edit replaces are those of the patch, in one hunk: others might not be in the file as they are.
    """
    found = calls(text)
    hunks = [line for line in text.split("\n") if line.startswith("@@")]
    if len(found) != 1 or len(hunks) > 1 or "*** End of File" in text:
        return None
    ((tool, args),) = found
    same = "old_string" if tool == "edit" else None
    if tool == "delete" or wanted.get("replace_all") or (same and not wanted.get(same) == args.get(same) != ""):
        return None
    if not all(isinstance(wanted.get(name), str) for name in args):
        return None
    return patch_of(tool, wanted, directory).replace("\n@@\n", f"\n{hunks[0]}\n" if hunks else "\n@@\n", 1)


def _finish(found: list[tuple[str, dict[str, object]]], old: list[str], new: list[str]) -> None:
    """Add the lines so far to their file."""
    if found and (old or new or "content" not in found[-1][1]):
        tool, args = found[-1]
        if tool == "write":
            args["content"] = "".join(line + "\n" for line in new)
        elif tool == "edit" and (old or new or "old_string" not in args):
            args["old_string"], args["new_string"] = "\n".join(old), "\n".join(new)
    old.clear()
    new.clear()
