"""Claude Code's `if` rules, one by one: each test is named after the rule of its documentation that it holds.

Where the behaviour (2.1.329) differs from the documentation, the behaviour counts: see test_claude_rules.py.
"""

from __future__ import annotations

from hypothesis import given, strategies as st

from hookrun.claude.split_commands import UnsupportedSyntaxError, split_commands
from tests.applies import applies_for_claude as applies, why_not
from tests.rows import rows


def runs(rule: str, event: str = "PreToolUse", **context: object) -> bool:
    """Return whether a hook with this rule runs. `/settings` is where its settings are, `/home/me` its home."""
    claude = {"event": event, "if": rule, "base": "/settings", "home": "/home/me"}
    return applies(claude, {"working_dir": "/w", **context})


def shell(rule: str, command: str) -> bool:
    """Return whether a hook with this rule runs on a shell command."""
    return runs(rule, tool_name="bash", tool_args={"command": command})


def file(rule: str, path: str, tool: str = "edit") -> bool:
    """Return whether a hook with this rule runs on a file."""
    return runs(rule, tool_name=tool, tool_args={"file_path": path}, file_path=path)


@rows("event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"])
def test_2_2_if_is_looked_at_on_five_events(event: str) -> None:
    """Those of a tool call."""
    assert runs("Bash", event, tool_name="bash", tool_args={"command": "ls"})
    assert not runs("Edit", event, tool_name="bash", tool_args={"command": "ls"})


@rows("event", ["Stop", "UserPromptSubmit", "SessionStart", "Notification", "FileChanged"])
def test_2_2_on_any_other_event_a_hook_with_if_never_runs(event: str) -> None:
    """Whatever the rule."""
    assert not runs("Bash", event, tool_name="bash", tool_args={"command": "ls"})
    why = why_not({"event": "Stop", "if": "Bash"}, {})
    assert why == 'if: "Bash" is only looked at on events of a tool call; on Stop such a hook never runs'


INSIDE = ["echo $(git x)", "echo `git x`", 'echo "$(git x)"', "(cd a && git x)", "echo $(echo $(git x))", "A=$(git x)"]
QUOTED = ["echo 'a && git push'", 'echo "a; git push"', "echo a # git push", r"echo a\;git"]
PLAIN = ["git push > log 2>&1", "git push &> log", "git push >log <in", "git   push", "git 'push'"]
EXPANDED = ["echo $X", "echo $1", "echo $(date)", "echo `date`"]
UNCLEAR = [
    *("echo 'a", 'echo "a', "ls &&", "a(", "x)", "cat <<E\nE", "cat <<'E' && ls\nE", "cat <(ls)", "((1))"),
    *("$CMD ls", "$(ls) x", "echo ${X}", 'echo "$X"', "echo $X$Y", "echo $'a'", "echo {a,b}", "ls > $X", "{ ls; }"),
    *("f() { ls; }", "case a in a) ls;; esac", "for x in a; do echo $x; done", "read X", "ls && echo $(date)"),
    *("(ls; date)", "A=1 B=2", "X=$(date); ls $X", "echo $(date; ls)", r"echo a\ b", "$(" * 5000, "a" * 70_000),
]
CLEAR = [
    "if ls; then date; fi",
    "for x in a; do date; done",
    "! date",
    "cat <<'E'\ngit x\nE",
    "echo $((1+1))",
    "[[ a ]]",
]
WRAPPED = ["xargs -n1 rm x", "timeout 5s rm x", "nohup rm x", "command rm x", "env rm x", "echo rm x"]
LINES = [f"cd src {operator} git push {operator} ls" for operator in ("&&", "||", ";", "|", "|&", "&", "\n")]
NO_RULES = ("Bash(git", "(x)", "Bash(ls) ", " Bash(ls)", "Bash(ls)|Read", "Bash|Read", "*", "bash")

COMMANDS: dict[str, tuple[str, list[str], list[str]]] = {
    "a tool alone is every call of it": ("Bash", ["anything at all"], []),
    "so is one with a star": ("Bash(*)", ["anything at all"], []),
    "so is one with nothing": ("Bash()", ["anything at all"], []),
    "an empty text is no rule at all": ("", ["ls"], []),
    **{f"{rule!r} is no rule and fits nothing": (rule, [], ["ls"]) for rule in NO_RULES},
    "without a star it is the whole command": ("Bash(npm test)", ["npm test"], ["npm test -- --watch"]),
    "a star is anything": ("Bash(npm run test*)", ["npm run test:unit"], []),
    "a star after a colon is not": ("Bash(npm run test:*)", [], ["npm run test:unit"]),
    "it may be in front": ("Bash(* --force)", ["git push --force"], []),
    "it spans spaces": ("Bash(git * main)", ["git push origin main"], ["git push origin dev"]),
    "nothing else is special": ("Bash(ls [ab]?)", ["ls [ab]?"], ["ls ax"]),
    "case counts": ("Bash(GIT *)", [], ["git push"]),
    "after a space at the end it needs a word boundary": ("Bash(git *)", ["git push", "git"], ["gitk"]),
    "`:*` is the same": ("Bash(git:*)", ["git push", "git"], ["gitk"]),
    "without a space it needs none": ("Bash(git*)", ["gitk"], []),
    "variables before a command are stripped": ("Bash(git push)", ["GIT_DIR=/x A=1 git push"], []),
    "they are no part of it": ("Bash(GIT_DIR=/x *)", [], ["GIT_DIR=/x git push"]),
    "a variable's earlier value is known": ("Bash(git push)", ["A=git; $A push"], ["A=hg; $A push"]),
    "each command of a line is tried": ("Bash(git push)", LINES, [line.replace("push", "pull") for line in LINES]),
    "commands inside of commands are tried": ("Bash(git *)", INSIDE, [line.replace("git", "hg") for line in INSIDE]),
    "what is quoted, or a comment, is no command": ("Bash(git *)", [], QUOTED),
    "redirections, quotes and blanks hide no command": ("Bash(git push)", PLAIN, []),
    "more than a name runs where the shell expands": ("Bash(git push *)", EXPANDED, []),
    "a name alone is compared with the text": ("Bash(git *)", UNCLEAR, [*EXPANDED, *CLEAR]),
    "of all wrappers a bare xargs is looked through": ("Bash(rm *)", ["xargs rm -rf x"], WRAPPED),
    "a wrapper is a command": ("Bash(timeout *)", ["timeout 5s rm x"], []),
}
"""A rule; what it runs on, which is everything where a line cannot be cut; what it does not run on."""


@rows("rule, fits, others", COMMANDS.values(), ids=COMMANDS)
def test_2_4_a_rule_about_commands(rule: str, fits: list[str], others: list[str]) -> None:
    """Nothing that a model writes makes hookrun fail."""
    assert [line[:80] for line in fits if not shell(rule, line)] == []
    assert [line for line in others if shell(rule, line)] == []


@rows(
    "rule, path, expected",
    [
        ("Bash", "/w/a", False),
        # the patterns of gitignore: without a slash at any depth, with one from the working directory
        ("Edit(*.ts)", "/w/a.ts", True),
        ("Edit(*.ts)", "/w/deep/down/a.ts", True),
        ("Edit(*.ts)", "/other/a.ts", False),
        ("Edit(*.ts)", "/w/a.tsx", False),
        ("Edit(.env)", "/w/app/.env", True),
        ("Edit(src)", "/w/src/a/b.py", True),
        ("Edit(src/)", "/w/src", False),
        ("Edit(src/)", "/w/src/a", True),
        ("Edit(src/*.py)", "/w/src/a.py", True),
        ("Edit(src/*.py)", "/w/src/deep/a.py", False),
        ("Edit(src/*.py)", "/w/lib/src/a.py", False),
        ("Edit(./a.py)", "/w/a.py", True),
        ("Edit(./a.py)", "/w/b/a.py", False),
        ("Edit(a?.py)", "/w/ab.py", True),
        ("Edit([ab].py)", "/w/b.py", True),
        # since 2.1.214 `src/**` is the directory in the working directory, and two stars are any depth
        ("Edit(src/**)", "/w/src/a/b.py", True),
        ("Edit(src/**)", "/w/lib/src/a.py", False),
        ("Edit(**/src/**)", "/w/lib/src/a.py", True),
        ("Edit(src/**/test_*.py)", "/w/src/test_a.py", True),
        # `//` is the root, `~/` the home, `/` where the settings are
        ("Edit(//etc/**)", "/etc/passwd", True),
        ("Edit(//etc/**)", "/w/etc/passwd", False),
        ("Edit(~/.ssh/**)", "/home/me/.ssh/id", True),
        ("Edit(/docs/*.md)", "/settings/docs/a.md", True),
        ("Edit(/docs/*.md)", "/w/docs/a.md", False),
        ("Edit(README.md)", "/w/Readme.MD", True),  # as in git on a case-insensitive disk
    ],
)
def test_2_4_a_rule_about_files(rule: str, path: str, *, expected: bool) -> None:
    """Of the tool that edits."""
    assert file(rule, path) is expected


def test_2_4_a_rule_is_about_one_tool() -> None:
    """Other than a permission rule, where `Edit` is every tool that changes files."""
    assert file("Write(*.env)", "/w/.env", "write")
    assert not file("Edit(*.env)", "/w/.env", "write")
    assert not file("Write(*.env)", "/w/.env", "edit")
    assert runs("Task", tool_name="task", tool_args={})


def test_2_4_tools_of_mcp_servers() -> None:
    """By name, by server, or with a star."""
    for rule in ("mcp__db__query", "mcp__db", "mcp__db__*"):
        assert runs(rule, tool_name="mcp__db__query", tool_args={})
        assert not runs(rule, tool_name="mcp__dbx__query", tool_args={})


@rows("rule", ["WebFetch(domain:example.com)", "Agent(Explore)"])
def test_2_4_words_about_tools_that_have_none_fit_nothing(rule: str) -> None:
    """Claude Code looks at them for commands and files."""
    tool = {"WebFetch": "web_fetch", "Agent": "task"}[rule.partition("(")[0]]
    arguments = {"url": "http://example.com", "subagent_type": "Explore"}
    assert not runs(rule, tool_name=tool, tool_args=arguments)
    assert runs(rule.partition("(")[0], tool_name=tool, tool_args=arguments)


def test_the_reason_names_rule_and_value() -> None:
    """`why` names the rule."""
    context = {"tool_name": "bash", "tool_args": {"command": "ls"}, "working_dir": "/w"}
    assert why_not({"event": "PreToolUse", "if": "Bash(git *)"}, context) == (
        'if: "Bash(git *)" is about no command of "ls"'
    )
    assert why_not({"event": "PreToolUse", "if": "Edit(a)"}, context) == 'if: "Edit(a)" is not about the tool "Bash"'
    edit = {"tool_name": "edit", "tool_args": {}, "file_path": "/w/b", "working_dir": "/w"}
    assert why_not({"event": "PreToolUse", "if": "Edit(a)"}, edit) == 'if: "Edit(a)" does not name the file "/w/b"'


@given(st.text(st.sampled_from("ab $`()<>|&;'\"\\\n#={}!"), max_size=40))
def test_any_line_is_cut_or_said_to_be_unclear(line: str) -> None:
    """No line makes hookrun fail, and every word of a command that is found occurs in the line."""
    try:
        commands = split_commands(line).commands
    except UnsupportedSyntaxError:
        return
    letters = [char for words in commands for word in words for char in word if char in "ab"]
    assert set(letters) <= set(line)
    assert all(words for words in commands)
