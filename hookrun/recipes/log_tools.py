"""The recipe `log-tools`: every tool call and what came of it, a line of JSON for each, without credentials."""

from __future__ import annotations

import os

from hookrun import audit
from hookrun.bundles.agent_log import MAX_VALUE, AgentLog
from hookrun.recipes import state, surroundings
from hookrun.recipes.options import count, wrong, yes
from hookrun.recipes.recipe import Option, Recipe, option
from hookrun.state import make_private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "log-tools"
KEPT = ("session_id", "agent", "agent_id", "working_dir", "tool_name", "tool_use_id")

RECIPE = Recipe(
    NAME,
    "Logs every tool call and what came of it to a file of JSON Lines, with credentials taken out.",
    hooks=(
        {
            "name": NAME,
            "description": "Logs tool calls and their results",
            "event": ["pre_tool_use", "post_tool_use", "post_tool_failure"],
            "python": "hookrun.recipes.log_tools:check",
            "cwd": "/",
            "priority": 1000,  # last: what is logged is the call as it is made
            "always": True,
            "timeout": 10,
            "on_failure": "continue",  # a full disk must not stop the agent; that the log fails is told
        },
    ),
    options=(
        Option(
            "file",
            "",
            "Where the log lies, `~/` understood, a relative path from the project's root; it must end in `.jsonl`. "
            "Empty: `~/.local/state/hookrun/recipes/log-tools/tools.jsonl`.",
        ),
        Option("redact", "yes", "Whether what looks like a credential is taken out.", yes),
        Option("longest", str(MAX_VALUE), "How many characters of one argument or result are kept.", count),
        Option(
            "max_bytes",
            str(audit.MAX_BYTES),
            "At which size the file is put aside as `.1`, the one before as `.2`.",
            count,
        ),
        Option("keep", str(audit.KEEP), "How many files that were put aside are kept.", count),
    ),
    catches=(
        (
            "Each call when it is asked for (`pre_tool`) and when it is over (`post_tool`, with output and error), with"
            " time, session and agent. A call that was refused has only the first line."
        ),
        "Parallel calls: each line is one append.",
        "A log that cannot be written: the call goes on, and you are told.",
    ),
    misses=(
        "Credentials that neither look like one nor stand under a name that says so.",
        "A call that a hook of a later layer changes is logged twice, as it was and as it is.",
        "Prompts and answers: only tool calls.",
        "Tools of which the agent fires no hooks.",
    ),
)


def check(context: Mapping[str, object]) -> None:
    """Append the line of a call. Raises OSError where it cannot be written."""
    path = _file(context)
    longest, max_bytes, keep = count(RECIPE, "longest"), count(RECIPE, "max_bytes"), count(RECIPE, "keep")
    log = AgentLog(path, path, redact=yes(RECIPE, "redact"), max_value=longest)
    before = context.get("event") == "pre_tool_use"
    entry: dict[str, object] = {"timestamp": context.get("timestamp") or audit.timestamp()}
    entry["event_type"] = "pre_tool" if before else "post_tool"
    entry.update({name: context[name] for name in KEPT if context.get(name) is not None})
    entry["tool_input"] = context.get("tool_args")
    if not before:
        entry["tool_output"] = context.get("tool_result_output")
        entry["error"] = context.get("tool_result_error")
    try:
        if path.startswith(state.directory(NAME)):
            make_private_dir(os.path.dirname(path))
        log.log_tool_call(entry)
        if os.path.getsize(path) > max_bytes:
            audit.rotate(path, max_bytes, keep)
    except OSError as error:
        raise SystemExit(f"{NAME}: {_why(error, path)}") from None


def _file(context: Mapping[str, object]) -> str:
    """Return where the log lies."""
    told = option(RECIPE, "file").strip()
    if not told:
        return f"{state.directory(NAME)}/tools.jsonl"
    if not told.endswith(".jsonl"):
        wrong(RECIPE, "file", "the name of a file that ends in .jsonl")
    return os.path.join(surroundings.root(context), os.path.expanduser(told))


def _why(error: OSError, path: str) -> str:
    return f"{error.filename or path}: {error.strerror}" if error.strerror else str(error)
