"""The recipe `snapshot-before`: keeps uncommitted work before commands that discard it."""

from __future__ import annotations

from hookrun.core.files import is_within
from hookrun.core.globs import glob
from hookrun.recipes.block_destructive_commands import REMOVERS, may_destroy
from hookrun.recipes.git_losses import GitLosses
from hookrun.recipes.output_excerpt import one_line
from hookrun.recipes.recipe import Option, Recipe, one_of
from hookrun.recipes.shell_recipe import SHELL_TOOLS, line_directory, line_of, may, parse, project_directory
from hookrun.shell.words import UNKNOWN, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrun.shell.simple_command import SimpleCommand

# The directory with a repository's refs, and git's commands that may remove those or what only they keep.
OWN = ".git"
REMOVING_REFS = frozenset({"fast-import", "filter-branch", "for-each-ref", "gc", "prune", "update-ref"})
# Characters of a line shown.
MAX_SHOWN = 60

RECIPE = Recipe(
    "snapshot-before",
    "Keep uncommitted work before commands that discard it; `hookrun undo` brings it back.",
    options=(
        Option(
            "snapshot",
            "unasked",
            "When block-destructive-commands allows what it would ask about if a snapshot keeps it: `unasked` (under "
            "agents that cannot ask), `instead` (always), or `no`.",
            choices=("unasked", "instead", "no"),
        ),
    ),
    catches="""
        - Before git discards changes or files that it does not have (`checkout .`, `restore`, `reset --hard`, `clean
          -f`), and before a tree in the project is removed (`rm -rf src`), also by a script that the line runs, changed
          and untracked files are kept in the repository, as a commit in `refs/hookrun/`. Index, HEAD and files stay as
          they are; hooks and filters of the repository do not run.
        - `hookrun undo` lists the snapshots and brings one back. The newest 30 of the last 30 days stay.
        - With a snapshot of all that a command discards, block-destructive-commands need not ask: see `snapshot`.
    """,
    misses="""
        - Ignored files, files over 16 MiB, what is beyond 128 MiB or 10,000 files, changes in submodules and in
          repositories within the repository. Then block-destructive-commands answers as without a snapshot.
        - Stashes, branches and history: those are asked about.
        - What scripts over 64 KiB and other programs discard, single files that `rm` removes, and files outside a
          repository.
        - Which changes were staged: they come back as changes.
    """,
)


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the line may discard work. False is certain."""
    one_of(RECIPE, "snapshot")  # a wrong option always counts
    return may(context, may_destroy)


# Without a snapshot the guards answer as ever.
@RECIPE.hook("pre_tool_use", matcher=SHELL_TOOLS, priority=5, timeout=30, on_failure="continue", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Take the snapshots that a line needs; return the message that names them."""
    from hookrun.recipes.work_snapshots import SnapshotError, root_of, take  # few lines need it

    line = line_of(context) or ""
    kept: dict[str, str] = {}
    messages = []
    for directory in dict.fromkeys(_endangered(context, line)):
        try:
            root = root_of(directory)
        except SnapshotError:  # a tree without git
            continue
        try:
            made = take(root, one_line(line, MAX_SHOWN))
        except SnapshotError as error:
            messages.append(f"snapshot-before: no snapshot was made: {error}")
            continue
        if made is None:
            continue
        missing = f", but not {', '.join(made.left_out[:3])}" if made.left_out else ""
        messages.append(f"the work before this is kept{missing}: `hookrun undo {made.id}` brings it back")
        if not made.left_out:
            kept[root] = made.id
    if not messages:
        return None
    answer: dict[str, object] = {"action": "continue", "system_message": "\n".join(dict.fromkeys(messages))}
    if kept and not _may_lose_snapshots(context, line):
        answer["modified_context"] = {"snapshots": kept, "snapshot_decides": _decides(context)}
    return answer


def _decides(context: Mapping[str, object]) -> bool:
    wanted = one_of(RECIPE, "snapshot")
    if wanted == "unasked":
        from hookrun.agents import can_ask  # loads the agents

        return not can_ask(str(context.get("agent")), str(context.get("agent_event")))
    return wanted == "instead"


def _may_lose_snapshots(context: Mapping[str, object], line: str) -> bool:
    """Return whether a line names the repository's own directory, or git's commands that remove refs and objects.

    A path to be removed that is not known, or of which only the beginning is (`$D`, `src/$D`), may be that directory.
    """
    for command in parse(context, line).commands:
        texts = [word.text for word in command.words] + [each.target.text for each in command.redirections]
        parts = [part for text in (*texts, command.directory or "") for part in text.split("/")]
        if any(part != UNKNOWN and glob(part.strip("*?") and part, OWN) for part in parts):
            return True
        if any(UNKNOWN in path for path in _paths(command)):
            return True
        if not REMOVING_REFS.isdisjoint(texts) or "refs/hookrun" in " ".join(texts):
            return True
    return False


def _endangered(context: Mapping[str, object], line: str) -> Iterator[str]:
    """Yield the directories in whose repositories the line may discard work that a snapshot keeps."""
    from hookrun.recipes.git_repository import Configuration, calls

    project = project_directory()
    losses = GitLosses(lambda _: False)  # in temporary trees, too: a snapshot asks nobody
    for command, git in calls(context, parse(context, line), Configuration()):
        loss = losses.of(command, git)
        if loss is not None and loss.directory is not None:
            yield loss.directory
            continue
        removed = (absolute(each, command.directory) for each in _paths(command))
        if any(each is not None and is_within(each, project) for each in removed):
            yield command.directory or line_directory(context)


def _paths(command: SimpleCommand) -> list[str]:
    """Return the paths that a command removes with all below them."""
    name = command.one_of(REMOVERS)
    return REMOVERS[name](command) if name is not None and command.program != UNKNOWN else []
