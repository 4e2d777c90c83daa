"""Matchers and `if` rules, each on a hook that only records that it ran, and the calls they are tried on.

The choices of Claude Code itself are in `claude_chosen.json`, measured by tests/live/test_claude_rules.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

CHOSEN = Path(__file__).parent / "claude_chosen.json"

MATCHERS = (
    "", "*", "Bash", "bash", "Bas", "Bash|Write", "Bash, Write", "Bash , Read", "|Bash|", "Edit|MultiEdit|Write",
    "Edit Write", "Bash*", "B.*", "^B", "sh$", "^(Edit|Write)$", "(?i)bash", "[", "Bash(", "Bash(git *)", "/Bash/",
    "Write.?", r"\w+ash", r"^\p{Lu}", "(?<tool>Bash)", "(?!Bash)", "(?<!B)ash", r"Read\b", "^$", "mcp__.*", "Task",
    ".", r"^Wr\u0069te$", r"\x42ash", "[^]ash", "Ba[[:alpha:]]h", r"(?<a>B)\k<a>?ash", "Bash-", "Read;Bash",
    "(?P<tool>Bash)", r"Bash\Z", r"\ABash", "B{1}ash", "B{,1}ash", "(Bash|Read|", "Ba++sh", "Edit|Write.*", "*Bash",
    "Bash | *",
)  # fmt: skip
"""As users write them, right or wrong."""

RULES = (
    "Bash(git *)", "Bash(git status)", "Bash(git*)", "Bash(git push *)", "Bash(* --short)", "Bash(echo * two)",
    "Bash(ls)", "Bash(ls *)", "Bash( git *)", "Bash(echo:*)", "Bash(g?t *)", r"Bash(echo \*)", "Bash(cat)",
    "Bash(FOO=1 *)", "Read", "Edit", "Write", "Edit(*.txt)", "Write(*.txt)", "Write(/src/**)", "Write(src/**)",
    "Write(**/deep/*)", "Edit(./page.md)", "Read(*.md)", "Read(page.md)", "Edit(page.md)", "Edit(/page.md)",
    "Edit(*.{md,txt})", "Read(*)", "Write(deep/**)", "Write(src/)", "Write(made.*)", "Read(~/**)", "Edit(//**)",
    "Edit(PAGE.md)", "Read(**)", "Edit()", "Bash(git *", "bash(git *)", "WebFetch(domain:x)", "Bash|Write", "*", "",
    "Bash(git *) ", "Bash(git *)|Read", "Bash(zz)", "Bash(zz *)", "Bash(zz*)", "Bash(git push:*)",
)  # fmt: skip
"""As users write them in `if`."""

COMMANDS = (
    "git status", "git  status --short", "gitk --help", "git", "FOO=1 git status", "FOO='a b' BAR=2 git status",
    "echo one && git status", "echo one; ls", "ls | cat", "ls |& cat", "ls", "echo $(git status)",
    "echo `git status`", "echo 'git status'", 'echo "$(git status)"', "echo '$(git status)'", "echo one two",
    "echo git", "echo $HOME", "timeout 5 git status", "nohup git status", "time git status",
    "xargs git status </dev/null", "env A=1 git status", "sudo git status", "command git status",
    "(cd . && git status)", "{ git status; }", "if true; then git status; fi", "for f in a; do git status; done",
    "f() { git status; }; f", "! git status", "x=$(git status)", "x=1", "echo one\ngit status", "git status &",
    'echo "a; git status"', "echo 'a && git status'", r"echo a \; git status", "cat <<'E'\ngit status\nE",
    "cat <<E\n$(git status)\nE", "true || git push x", "git push", "git status > out.txt", "git status # x",
    "# git status", "echo one # && git status", "bash -c 'git status'", "git -C . status",
    "diff <(git status) /dev/null", "'git' status", r"\git status", "echo ${HOME:-x}", "ls $HOME", 'echo "unclosed',
    "git \\\n status", "GIT status", "[ -d . ] && git status", "case a in a) git status;; esac", "echo $((1+1))",
    "echo $(date)", "ls && echo $(date)", "echo ${HOME}", 'echo "$HOME"', "a=1 b=$(date) ls", "echo {a,b}",
    "echo *.md", "ls 2>&1", "ls;", "ls &&", "[[ -d . ]] && ls", "((1)) && ls", "echo $'a\\nb'", "export A=1; ls",
    "eval ls", "xargs -n1 ls </dev/null", "find . -name '*.c' -exec ls {} \\;", "nice ls", "stdbuf -o0 ls",
    "builtin echo x", "noglob ls", "echo $1 $? $@", "function g { ls; }; g", "(ls)", ">out.txt ls", "A=$(date) B=2",
    "declare x=$(date)", 'ls "`date`"', "echo ${#HOME}", "diff <(ls) /dev/null", "cat <<E\nplain\nE",
    "cat <<E\n$HOME\nE", "cat <<< x", "while false; do ls; done", "ls | (cat)", "echo $(echo `date`)",
    "ls > $(date +%s).txt", "ls -- $((1+1))", "test -d . && ls", "ls & wait", "ls \\\n-l", "/bin/ls", "ls\t-l",
    "l''s", "$HOME/ls", "echo $X", 'echo "$X"', "X=1; ls $X", "X=git; $X status", 'ls "$PWD/x"',
    "for x in a; do echo $x; done", "read X; ls $X", "(ls; date)", "A=$(date); ls", "echo $USER$HOME", "xargs -0 ls",
    'git commit -m "a $(date) b"', "git commit -m \"$(cat <<'E'\nx\nE\n)\"", "ls;date", "cat <<< $(date)",
    '[ "$(date)" ] && ls',
)  # fmt: skip
"""The model's shell commands."""


class Asked(NamedTuple):
    """A call of a tool, by Claude Code's names, and its name in the record."""

    name: str
    tool: str
    arguments: dict[str, Any]


def calls(project: Path, kind: str) -> list[Asked]:
    """Return the calls that matchers, or rules, choose among: files made, read and changed, and commands."""
    made, deep, page = (str(project / name) for name in ("made.txt", "src/deep/made.txt", "page.md"))
    commands = COMMANDS if kind == "rules" else COMMANDS[:1]
    return [
        Asked("Write made.txt", "Write", {"file_path": made, "content": "one\n"}),
        Asked("Write src/deep/made.txt", "Write", {"file_path": deep, "content": "one\n"}),
        Asked("Read page.md", "Read", {"file_path": page}),
        Asked("Edit page.md", "Edit", {"file_path": page, "old_string": "one", "new_string": "two"}),
        *(Asked(command, "Bash", {"command": command}) for command in commands),
    ]


def settings(project: Path, log: Path, kind: str) -> None:
    """Write the settings with all of a kind, and the file that is read.

    Each hook logs its rule and its message.
    """

    def hook(text: str, **rule: str) -> dict[str, str]:
        name = json.dumps(text).replace("'", "'\\''")
        told = f"read -r told; printf '%s %s\\n' '{name}' \"$told\" >> '{log}'"
        return {"type": "command", "command": told, **rule}

    groups: Mapping[str, list[dict[str, object]]] = {
        "matchers": [{"matcher": text, "hooks": [hook(text)]} for text in MATCHERS],
        "rules": [{"hooks": [hook(text, **{"if": text}) for text in RULES]}],
    }
    written = project / ".claude" / "settings.json"
    written.parent.mkdir(exist_ok=True)
    written.write_text(json.dumps({"hooks": {"PreToolUse": groups[kind]}}))
    (project / "page.md").write_text("one\n")


def chosen(log: Path, project: Path, kind: str) -> dict[str, list[str]]:
    """Read the log: the calls that each hook ran for."""
    name_of = {json.dumps([each.tool, each.arguments]): each.name for each in calls(project, kind)}
    found: dict[str, set[str]] = {}
    for line in log.read_text().splitlines():
        text, end = json.JSONDecoder().raw_decode(line)
        told = json.loads(line[end:])
        arguments = {key: value for key, value in told["tool_input"].items() if key != "replace_all"}
        found.setdefault(text, set()).add(name_of[json.dumps([told["tool_name"], arguments])])
    return {text: sorted(names) for text, names in found.items()}


def recorded(kind: str) -> dict[str, list[str]]:
    """Return what Claude Code chose; a text that is not named there it chose for nothing."""
    record: dict[str, list[str]] = json.loads(CHOSEN.read_bytes())[kind]
    return record
