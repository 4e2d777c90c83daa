"""Programs that remove or run something in a roundabout way, and what looks like it."""

from __future__ import annotations

import pytest

from hookrun.recipes import block_destructive_commands

DESTROYS = [
    "find / -name '*' -delete",
    "find / -not -name x -delete",
    "find / ! -name x -delete",
    "find / -path '/*' -delete",
    "find / -exec sh -c 'rm -rf {}' \\;",
    "find / -exec sh -c 'rm -rf \"$1\"' _ {} \\;",
    "echo / | xargs sh -c 'rm -rf $0'",
    "mv .git /tmp/",
    "mv * /tmp/",
    "printf -v d /; rm -rf $d",
    "read d <<< /; rm -rf $d",
    "csh -c 'rm -rf /'",
    "tcsh -c 'rm -rf /'",
    "screen -dm rm -rf /",
    "tmux new -d 'rm -rf /'",
    "tmux new-session -d -s x rm -rf /",
    "sg grp -c 'rm -rf /'",
    "git -c alias.x='!rm -rf /' x",
    "git filter-branch --tree-filter 'rm -rf /'",
    "perf stat rm -rf /",
    "rlwrap rm -rf /",
    "arch -x86_64 rm -rf /",
    "ip netns exec x rm -rf /",
    "npx -c 'rm -rf /'",
]
ORDINARY = [
    "find . -name '*.pyc' -not -path './venv/*' -delete",
    "find . -type d -exec sh -c 'cd {} && rm -f x.tmp' \\;",
    "mv * sub/",
    "mv src/* .",
    "mv x /tmp/",
    "mv ~/Downloads/x .",
    "ip addr show dev eth0",
    "tmux ls",
    "tmux new -s x",
    "screen -ls",
    "git -c alias.x='!ls' x",
    "git filter-branch --tree-filter 'rm -f secret' HEAD",
    "printf '%s' /; rm -rf ./x",
    'while read d; do rm -rf "$d"; done < list',
    'read -r a b <<< "/ x"; rm -rf $b',
    "find build -name '*' -delete",
    "perf report",
]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move the project into a home that belongs to no account."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("HOOKRUN_PROJECT_DIR", "/home/me/app")


def action(line: str) -> object:
    """Return what the recipe does about a line, None where it allows."""
    answered = block_destructive_commands.check(
        {"tool_name": "bash", "tool_args": {"command": line}, "working_dir": "/home/me/app"}
    )
    return answered and answered["action"]


def test_a_roundabout_way_is_seen() -> None:
    """Tests of find that everything passes, lines within lines, variables, programs that run others."""
    assert [line for line in DESTROYS if action(line) != "block"] == []


def test_what_goes_another_way_passes() -> None:
    """Tests of find that leave most, moves within the project, and the same programs with something else."""
    assert [line for line in ORDINARY if action(line) is not None] == []
