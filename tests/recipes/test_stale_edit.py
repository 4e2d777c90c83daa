"""stale-edit over sessions: what each has read, who has changed it since, and what lets an edit through."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.stale_edit import NAME

if TYPE_CHECKING:
    from tests.recipes.account import Account


def use(account: Account, tool: str, name: str = "a.py", **context: object) -> None:
    """Report that a tool was used on a file."""
    given = {"tool_name": tool, "file_path": str(account.work / name), "event": "post_tool_use", **context}
    assert account.call("stale_edit:note", **given) is None


def edit(account: Account, name: str = "a.py", **context: object) -> str:
    """Return the message of a refused edit, "" for an allowed one."""
    answer = account.call("stale_edit", tool_name="edit", file_path=str(account.work / name), **context)
    return "" if answer is None else str(answer["message"])


def run(account: Account, line: str, changes: dict[str, str]) -> None:
    """Run a line of shell that writes files."""
    call = {"tool_name": "bash", "tool_args": {"command": line}}
    assert account.call("stale_edit:begin", event="pre_tool_use", **call) is None
    for name, text in changes.items():
        account.write(name, text)
    assert account.call("stale_edit:note", event="post_tool_use", **call) is None


def change(account: Account, name: str = "a.py", text: str = "changed\n", ago: float = 60) -> None:
    """Change a file as someone else would, some seconds ago."""
    path = account.write(name, text)
    os.utime(path, (time.time() - ago,) * 2)


def test_a_file_that_changed_must_be_read_again(account: Account) -> None:
    """The message has the time; reading lets the edit through, as does the former content."""
    path = account.write("a.py")
    assert edit(account) == ""
    use(account, "read")
    assert edit(account) == ""
    change(account)
    clock = time.strftime("%H:%M:%S", time.localtime(path.stat().st_mtime))
    assert f"it changed on disk at {clock}" in edit(account)
    assert f"it changed on disk at {clock}" in edit(account)
    use(account, "read")
    assert edit(account) == ""
    change(account)
    path.write_text("x\n")
    path.write_text("changed\n")
    assert edit(account) == ""


def test_another_session_is_named(account: Account) -> None:
    """A subagent, too. Each must have read for itself."""
    account.write("a.py")
    use(account, "read")
    use(account, "read", session_id="s2")
    change(account)
    use(account, "edit", session_id="s2")
    assert "session s2 changed it at " in edit(account)
    assert edit(account, session_id="s2") == ""
    use(account, "read")
    change(account, text="third\n")
    use(account, "edit", agent_id="helper")
    assert "agent helper of this session changed it" in edit(account)
    use(account, "read")
    change(account, text="fourth\n")
    use(account, "edit")
    assert "agent main of this session changed it" in edit(account, agent_id="helper")


def test_the_session_s_own_changes_are_known(account: Account) -> None:
    """By a tool, by a line while it runs, and a formatter's shortly after; not those of another session then."""
    account.write("a.py")
    account.write("b.py")
    use(account, "read")
    use(account, "read", "b.py")
    account.write("a.py", "own\n")
    use(account, "edit")
    assert edit(account) == ""
    account.write("a.py", "formatted\n")
    assert edit(account) == ""
    account.options(seconds=0)
    assert "changed on disk" in edit(account)
    run(account, "make fix", {"a.py": "fixed\n", "b.py": "fixed\n"})
    assert (edit(account), edit(account, "b.py")) == ("", "")
    change(account, "b.py", "other\n")
    use(account, "edit", "b.py", session_id="s2")
    run(account, "make test", {"b.py": "other\n"})
    assert "session s2" in edit(account, "b.py")


def test_a_line_that_names_the_file_reads_it(account: Account) -> None:
    """Some agents read with the shell only."""
    account.write("a.py")
    use(account, "read")
    change(account)
    run(account, "make test", {})
    assert "changed on disk" in edit(account)
    run(account, "sed -n 1,20p a.py", {})
    assert edit(account) == ""


def test_files_that_are_not_there_pass(account: Account) -> None:
    """A failed call was no reading, and a removed file cannot be read again."""
    path = account.write("a.py")
    use(account, "read", tool_result_error="no such file")
    change(account)
    assert edit(account) == ""
    use(account, "read")
    path.unlink()
    assert edit(account) == ""
    assert edit(account, ".") == ""


def test_what_cannot_be_read_of_the_state_counts_as_changed(account: Account) -> None:
    """A lost state refuses until the file is read again, and one that cannot be used fails the hook."""
    account.write("a.py")
    use(account, "read")
    folder = account.home / ".local/state/hookrun/recipes" / NAME
    for each in folder.iterdir():
        each.write_text("torn {")
    run(account, "make test", {})
    assert "what it read is lost" in edit(account)
    use(account, "read")
    assert edit(account) == ""
    for each in folder.iterdir():
        each.unlink()
        each.mkdir()
    with pytest.raises(SystemExit):
        edit(account)


def test_a_link_is_its_file(account: Account) -> None:
    """And a large file is compared by its size and time."""
    account.write("a.py")
    (account.work / "link.py").symlink_to("a.py")
    use(account, "read", "link.py")
    change(account)
    assert "changed on disk" in edit(account)
    change(account, "large", "x" * (5 << 20))
    use(account, "read", "large")
    assert edit(account, "large") == ""
    change(account, "large", "y" * (5 << 20), ago=30)
    assert "changed on disk" in edit(account, "large")
