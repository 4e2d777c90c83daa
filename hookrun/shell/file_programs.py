"""What programs do with the files they name: tables only, so that a cheap test of a line can use them, too."""

from __future__ import annotations

# Programs that write or remove all their files.
CHANGING = frozenset({
    "ed", "emacs", "ex", "nano", "patch", "rm", "rmdir", "shred", "sponge", "srm", "sudoedit", "tee", "touch", "trash",
    "truncate", "unlink", "vi", "vim",
})  # fmt: skip

REMOVING = frozenset({"rm", "rmdir", "srm", "trash", "unlink"})

# Programs that write their last file and read the others; `mv` removes those.
ONTO_LAST = frozenset({"cp", "install", "ln", "mv", "rsync", "scp"})

# Those with an option for the target.
TARGETED = frozenset({"cp", "install", "ln", "mv"})

# Programs that write their files with an option, and its beginning as a regular expression.
IN_PLACE = {
    **dict.fromkeys(("gsed", "sed"), r"-[EnrsuzlH]*i|--in-p"),
    **dict.fromkeys(("perl", "ruby"), r"-(?:[acnpstuwWSUl]|0[0-7]*)*i"),
    **dict.fromkeys(("awk", "gawk"), r"inplace$|-iinplace|--include=inplace"),
    "yq": r"-[A-Za-z]*i|--inplace",
}

# Programs with an option for a file to write: its short and long name.
WRITING_OPTIONS = {
    **dict.fromkeys(("curl", "gpg", "patch", "sort"), ("-o", "--output")),
    "wget": ("-O", "--output-document"),
}

# Programs that show nothing of their files' content.
NEITHER = frozenset({
    ":", "[", "alias", "apply_patch", "basename", "cd", "chgrp", "chmod", "chown", "command", "dirname", "du", "echo",
    "exit", "export", "false", "fd", "file", "find", "hash", "kill", "locate", "ls", "mkdir", "printf", "pwd", "read",
    "readlink", "realpath", "sleep", "ssh", "ssh-add", "ssh-keygen", "stat", "test", "tree", "true", "type", "whereis",
    "which",
})  # fmt: skip

# Programs whose first operand is no file, unless one of these options is given.
PATTERN_FIRST = {
    **dict.fromkeys(("ack", "ag", "egrep", "fgrep", "grep", "rg", "zgrep"), ("-e", "-f", "--regexp", "--file")),
    **dict.fromkeys(("awk", "gawk", "mawk"), ("-f", "--file")),
    **dict.fromkeys(("gsed", "sed"), ("-e", "-f", "--expression", "--file")),
    **dict.fromkeys(("jq", "yq"), ("-f", "--from-file")),
    **dict.fromkeys(("perl", "ruby"), ("-e", "-E")),
}

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
MOUNTING = frozenset({"docker", "nerdctl", "podman"})

# Options followed by a file to read, without a space.
ATTACHED = {"curl": ("-K", "-T", "--config=", "--upload-file=")}

SEARCHING = frozenset({"ack", "ag", "egrep", "fgrep", "grep", "rg", "zgrep"})
# Programs that search, and their options before a pattern of the files searched.
FILES_SEARCHED = frozenset({"--glob", "--include", "-g"})

# Options whose next word is not shown as a file.
NOT_NEXT = frozenset({"--env-file", "--exclude", "--exclude-from", "--glob", "--include", "-g"})
