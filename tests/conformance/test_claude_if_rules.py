"""Claude Code's `if` rules, one by one: each test is named after the rule of its documentation that it holds.

Where the behaviour (2.1.329) differs from the documentation, the behaviour counts: see test_claude_rules.py.
"""

from __future__ import annotations

from hypothesis import given, strategies as st

from hookrun.claude.matcher import applies, why_not
from hookrun.claude.split_commands import UnsupportedSyntaxError, split_commands
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


@rows("rule", ["Bash", "Bash(*)", "Bash()"])
def test_2_4_a_tool_alone_is_every_call_of_it(rule: str) -> None:
    """With or without a star."""
    assert shell(rule, "anything at all")
    assert not file(rule, "/w/a")


@rows(
    "rule, command, expected",
    [
        ("Bash(npm test)", "npm test", True),
        ("Bash(npm test)", "npm test -- --watch", False),
        ("Bash(npm run test:*)", "npm run test:unit", False),
        ("Bash(npm run test*)", "npm run test:unit", True),
        ("Bash(* --force)", "git push --force", True),
        ("Bash(git * main)", "git push origin main", True),
        ("Bash(git * main)", "git push origin dev", False),
        ("Bash(ls [ab]?)", "ls [ab]?", True),
        ("Bash(ls [ab]?)", "ls ax", False),
        ("Bash(GIT *)", "git push", False),
    ],
)
def test_2_4_a_star_is_anything_and_spans_spaces(rule: str, command: str, *, expected: bool) -> None:
    """Anywhere in the pattern; nothing else is special."""
    assert shell(rule, command) is expected


@rows("rule", ["Bash(git *)", "Bash(git:*)"])
def test_2_4_a_star_after_a_space_at_the_end_needs_a_word_boundary(rule: str) -> None:
    """It also matches nothing at all, and `:*` is the same."""
    assert shell(rule, "git push")
    assert shell(rule, "git")
    assert not shell(rule, "gitk")
    assert shell("Bash(git*)", "gitk")


def test_2_4_variables_set_before_a_command_are_stripped() -> None:
    """`VAR=v` in front is no part of the command; a variable's earlier value is known."""
    assert shell("Bash(git push)", "GIT_DIR=/x A=1 git push")
    assert not shell("Bash(GIT_DIR=/x *)", "GIT_DIR=/x git push")
    assert shell("Bash(git push)", "A=git; $A push")
    assert not shell("Bash(git push)", "A=hg; $A push")


@rows("operator", ["&&", "||", ";", "|", "|&", "&", "\n"])
def test_2_4_each_command_of_a_line_is_tried(operator: str) -> None:
    """One that fits is enough."""
    assert shell("Bash(git push)", f"cd src {operator} git push {operator} ls")
    assert not shell("Bash(git push)", f"cd src {operator} git pull {operator} ls")


@rows(
    "command",
    ["echo $(git *)", "echo `git *`", 'echo "$(git *)"', "(cd a && git *)", "echo $(echo $(git *))", "A=$(git *)"],
)
def test_2_4_commands_inside_of_commands_are_tried(command: str) -> None:
    """In `$()`, in backticks, in parentheses."""
    assert shell("Bash(git *)", command.replace("*", "push"))
    assert not shell("Bash(hg *)", command.replace("*", "push"))


@rows("command", ["echo 'a && git push'", 'echo "a; git push"', "echo a # git push", r"echo a\;git"])
def test_2_4_what_is_quoted_is_no_command(command: str) -> None:
    """Nor is a comment."""
    assert not shell("Bash(git *)", command)


@rows("command", ["git push > log 2>&1", "git push &> log", "git push >log <in", "git   push", "git 'push'"])
def test_2_4_redirections_quotes_and_blanks_do_not_hide_a_command(command: str) -> None:
    """They are no part of it."""
    assert shell("Bash(git push)", command)


@rows("command", ["echo $X", "echo $1", "echo $(date)", "echo `date`"])
def test_2_4_a_pattern_of_more_than_a_name_runs_where_the_shell_expands(command: str) -> None:
    """The result of the expansion is unknown. A pattern of a name only checks the text itself."""
    assert shell("Bash(git push *)", command)
    assert not shell("Bash(git *)", command)


@rows(
    "command",
    [
        *("echo 'a", 'echo "a', "ls &&", "a(", "x)", "cat <<E\nE", "cat <<'E' && ls\nE", "cat <(ls)", "((1))"),
        *("$CMD ls", "$(ls) x", "echo ${X}", 'echo "$X"', "echo $X$Y", "echo $'a'", "echo {a,b}", "ls > $X", "{ ls; }"),
        *("f() { ls; }", "case a in a) ls;; esac", "for x in a; do echo $x; done", "read X", "ls && echo $(date)"),
        *("(ls; date)", "A=1 B=2", "X=$(date); ls $X", "echo $(date; ls)", r"echo a\ b"),
    ],
)
def test_2_4_it_fails_open_where_a_line_cannot_be_cut(command: str) -> None:
    """The hook runs."""
    assert shell("Bash(git *)", command)


@rows(
    "command",
    ["if ls; then date; fi", "for x in a; do date; done", "! date", "cat <<'E'\ngit x\nE", "echo $((1+1))", "[[ a ]]"],
)
def test_2_4_what_can_be_cut_is_not_run_for_something_else(command: str) -> None:
    """Nor what only looks as if it had another command in it."""
    assert not shell("Bash(git *)", command)


def test_2_4_of_all_wrappers_a_bare_xargs_is_looked_through() -> None:
    """Not those that permission rules see through besides."""
    assert shell("Bash(rm *)", "xargs rm -rf x")
    for wrapped in ("xargs -n1 rm x", "timeout 5s rm x", "nohup rm x", "command rm x", "env rm x", "echo rm x"):
        assert not shell("Bash(rm *)", wrapped)
    assert shell("Bash(timeout *)", "timeout 5s rm x")


@rows(
    "pattern, path, expected",
    [
        ("*.ts", "/w/a.ts", True),
        ("*.ts", "/w/deep/down/a.ts", True),
        ("*.ts", "/other/a.ts", False),
        ("*.ts", "/w/a.tsx", False),
        (".env", "/w/app/.env", True),
        ("src", "/w/src/a/b.py", True),
        ("src/", "/w/src", False),
        ("src/", "/w/src/a", True),
        ("src/*.py", "/w/src/a.py", True),
        ("src/*.py", "/w/src/deep/a.py", False),
        ("src/*.py", "/w/lib/src/a.py", False),
        ("./a.py", "/w/a.py", True),
        ("./a.py", "/w/b/a.py", False),
        ("a?.py", "/w/ab.py", True),
        ("[ab].py", "/w/b.py", True),
    ],
)
def test_2_4_files_have_the_patterns_of_gitignore(pattern: str, path: str, *, expected: bool) -> None:
    """Without a slash at any depth, with one from the working directory."""
    assert file(f"Edit({pattern})", path) is expected


def test_2_4_src_is_anchored_and_two_stars_are_any_depth() -> None:
    """Since 2.1.214 `src/**` is the directory in the working directory."""
    assert file("Edit(src/**)", "/w/src/a/b.py")
    assert not file("Edit(src/**)", "/w/lib/src/a.py")
    assert file("Edit(**/src/**)", "/w/lib/src/a.py")
    assert file("Edit(src/**/test_*.py)", "/w/src/test_a.py")


def test_2_4_where_a_pattern_begins() -> None:
    """`//` is the root, `~/` the home, `/` where the settings are."""
    assert file("Edit(//etc/**)", "/etc/passwd")
    assert not file("Edit(//etc/**)", "/w/etc/passwd")
    assert file("Edit(~/.ssh/**)", "/home/me/.ssh/id")
    assert file("Edit(/docs/*.md)", "/settings/docs/a.md")
    assert not file("Edit(/docs/*.md)", "/w/docs/a.md")


def test_2_4_a_rule_is_about_one_tool() -> None:
    """Other than a permission rule, where `Edit` is every tool that changes files."""
    assert file("Write(*.env)", "/w/.env", "write")
    assert not file("Edit(*.env)", "/w/.env", "write")
    assert not file("Write(*.env)", "/w/.env", "edit")
    assert runs("Task", tool_name="task", tool_args={})


def test_2_4_upper_and_lower_case_of_a_path_are_the_same() -> None:
    """As in git on a case-insensitive disk."""
    assert file("Edit(README.md)", "/w/Readme.MD")


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


@rows("rule", ["Bash(git", "(x)", "Bash(ls) ", " Bash(ls)", "Bash(ls)|Read", "Bash|Read", "*", "bash"])
def test_2_4_what_is_no_rule_fits_nothing(rule: str) -> None:
    """Not one blank too many; but an empty text is no rule at all."""
    assert not shell(rule, "ls")
    assert shell("", "ls")


def test_a_line_that_is_very_deep_or_long_fails_open() -> None:
    """Nothing that a model writes makes hookrun fail."""
    assert shell("Bash(git *)", "$(" * 5000)
    assert shell("Bash(git *)", "a" * 70_000)


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
