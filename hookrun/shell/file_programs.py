"""What programs do with the files they name: tables only, so that a cheap test of a line can use them, too."""

from __future__ import annotations

from hookrun.shell.programs import having, values

# Programs that write or remove all their files.
CHANGING = having("changes")

REMOVING = having("removes")

# Programs that write their last file and read the others; `mv` removes those.
ONTO_LAST = having("onto_last")

# Those with an option for the target.
TARGETED = having("targeted")

# Programs that write their files with an option, and its beginning as a regular expression.
IN_PLACE = having("in_place")

# Programs with an option for a file to write: its short and long name.
WRITING_OPTIONS = {name: values(name, "output") for name in having("output")}

# Programs that show nothing of their files' content.
NEITHER = having("unseen")

# Programs whose first operand is no file, unless one of these options is given.
PATTERN_FIRST = {name: tuple(values(name, "pattern_first")) for name in having("pattern_first")}

# Git commands that read or write the files they name; what others do can be restored from git.
#
# `shows`: files are named only after `--`; `restores`: files get the content of some commit.
OF_GIT = {
    **dict.fromkeys(("add", "archive", "blame", "cat-file", "commit", "diff", "hash-object", "show", "stage"), "reads"),
    **dict.fromkeys(("grep", "log", "stash"), "shows"),
    **dict.fromkeys(("checkout", "restore"), "restores"),
    **dict.fromkeys(("mv", "rm"), "writes"),
}

# Programs that run containers.
MOUNTING = having("mounts")

# Options followed by a file to read, without a space.
ATTACHED = {name: values(name, "attached") for name in having("attached")}

SEARCHING = having("searches")
# Programs that search, and their options before a pattern of the files searched.
FILES_SEARCHED = frozenset({"--glob", "--include", "-g"})

# Options whose next word is not shown as a file.
NOT_NEXT = frozenset({"--env-file", "--exclude", "--exclude-from", "--glob", "--include", "-g"})
