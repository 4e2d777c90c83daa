#!/bin/sh
# Tell the model which ticket it is working on: the one in the name of the current git branch (feature/ABC-123-foo).
#
# Event user_prompt_submit. Answers with additional_context, or nothing when there is no ticket, branch or repository.
# POSIX sh, awk, sed, tr and iconv: no bash, no jq.

set -u

# The context is not needed, but it is read: whoever writes it should not run into a closed pipe.
cat >/dev/null

if ! command -v git >/dev/null; then
    echo "ticket_context: git is not on PATH" >&2
    exit 1
fi

# The agent may work in a worktree of its own: its directory counts, not the project's.
# Silent on a detached HEAD and outside a repository; right on a branch without a commit.
branch=$(git -C "${HOOKRUN_WORKING_DIR:-.}" symbolic-ref --quiet --short HEAD 2>/dev/null) || exit 0

# The first ABC-123 that stands for itself: not the one in "myABC-123" or "ABC-123beta".
ticket=$(printf '/%s\n' "$branch" | LC_ALL=C awk '
    match($0, "[/_-][A-Z][A-Z0-9]+-[0-9]+([/_-]|$)") {
        ticket = substr($0, RSTART + 1, RLENGTH - 1)
        sub("[/_-]$", "", ticket)
        print ticket
    }')
[ -n "$ticket" ] || exit 0

# Git allows quotes in a branch name, and bytes that are no UTF-8: neither may break the JSON.
json_text() {
    printf '%s' "$1" | iconv -c -f UTF-8 -t UTF-8 | tr -d '\000-\037' | sed 's/[\\"]/\\&/g'
}

printf '{"action": "continue", "additional_context": "%s"}\n' \
    "The current branch is $(json_text "$branch"), so this work belongs to ticket $ticket. Name it in commit messages."
