"""The agent loop in `examples/library/`, as a user runs it; and its error without the frameworks' packages."""

from __future__ import annotations

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rows import rows

ROOT = Path(__file__).resolve().parents[2]
OWN_LOOP = ROOT / "examples" / "library" / "own_loop.py"


@pytest.mark.slow
def test_the_loop_of_one_s_own() -> None:
    """What was refused is reported, what was changed was what ran, and it did not end before the tests had run."""
    done = subprocess.run([sys.executable, str(OWN_LOOP)], capture_output=True, text=True, timeout=60, check=True)
    lines = [line.strip() for line in done.stdout.splitlines() if line]
    assert lines[0] == "user: Test that one and one is two."
    assert lines[2] == "tool: No sudo: what needs it, the user does."
    assert lines[4] == "tool: 18 characters written"
    assert lines[5].endswith("check.py has changed: run the tests before you are done.")
    assert lines[6:8] == ["assistant: Done.", "user: Files have changed since the tests ran: run them."]
    assert lines[-1] == "assistant: Done, and tested."
    assert done.stderr == ""


def own_loop(*answers: Any, prompt: str = "go") -> tuple[list[dict[str, str]], int]:
    """Run the example's agent with a model that gives these answers, the last one forever; count the questions."""
    asked = 0

    async def ask_model(_: object) -> Any:
        nonlocal asked
        asked += 1
        return example["Turn"](**answers[min(asked, len(answers)) - 1])

    example: Any = runpy.run_path(str(OWN_LOOP))
    return asyncio.run(example["run_agent"](prompt, ask_model)), asked


def test_its_prompt_hook_keeps_a_prompt_from_the_model() -> None:
    """The model is not asked at all."""
    messages, asked = own_loop({"text": "hello"}, prompt="use sk-123")
    assert asked == 0
    assert messages == [{"role": "assistant", "content": "Take the key out of your message first."}]


def test_its_shell_runs_what_the_hooks_made_of_it(tmp_path: Path) -> None:
    """Warnings are errors in Python; what fails is reported to the model."""
    (tmp_path / "warns.py").write_text("import warnings\nwarnings.warn('old')\n", encoding="utf-8")
    messages, _ = own_loop({"tool": "bash", "args": {"command": f"python3 {tmp_path}/warns.py"}}, {"text": "oh"})
    assert messages[2]["content"].startswith("exit status 1\n")
    assert "UserWarning: old" in messages[2]["content"]


def test_its_reader_reads(tmp_path: Path) -> None:
    """A file that is there, and one that is not."""
    (tmp_path / "a.txt").write_text("alpha", encoding="utf-8")
    read = [{"tool": "read", "args": {"file_path": f"{tmp_path}/{name}"}} for name in ("a.txt", "b.txt")]
    messages, _ = own_loop(*read, {"text": "done"})
    assert messages[2]["content"] == "alpha"
    assert messages[4]["content"].startswith("FileNotFoundError: ")


def test_its_stop_hook_does_not_keep_it_for_ever(tmp_path: Path) -> None:
    """A model that never runs the tests is no longer held after eight times."""
    write = {"tool": "write", "args": {"file_path": f"{tmp_path}/x", "content": ""}}
    _, asked = own_loop(write, {"text": "done"})
    assert asked == 1 + 9


@rows(
    "module, package, extra",
    [
        ("claude_agent_sdk", "claude_agent_sdk", "hookrun[claude-agent-sdk]"),
        ("langchain", "langchain", "hookrun[langchain]"),
    ],
)
def test_without_its_package_an_integration_says_what_to_install(module: str, package: str, extra: str) -> None:
    """As an ImportError, when the module is imported; hookrun itself and the loop need none of them."""
    code = (
        "import sys\n"
        f"sys.modules[{package!r}] = None\n"
        "import hookrun.integrations.tool_loop, hookrun.agents.claude\n"
        "try:\n"
        f"    import hookrun.integrations.{module}\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(f"hookrun.integrations.{module} needs the package ")
    assert f"pip install '{extra}'" in done.stdout


@pytest.mark.slow
def test_a_claude_sdk_that_does_not_obey_is_not_taken() -> None:
    """An old version runs tools for which a hook wants to ask the user: no hooks are better than those."""
    code = (
        "import sys, types\n"
        "MESSAGES = ('AssistantMessage', 'ResultMessage', 'SystemMessage', 'UserMessage')\n"
        "for name in ('claude_agent_sdk', 'claude_agent_sdk.types'):\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "    vars(sys.modules[name]).update(__version__=sys.argv[1], HookMatcher=object, HookEvent='Stop')\n"
        "    vars(sys.modules[name]).update(dict.fromkeys(MESSAGES, object))\n"
        "import hookrun.integrations.claude_agent_sdk\n"
    )
    for version, taken in {"0.1.50": False, "0.2.154": False, "0.2.155": True, "1.0": True, "0.3.0rc1": True}.items():
        done = subprocess.run([sys.executable, "-c", code, version], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is taken, done.stderr
        assert taken or f"0.2.155 or later: pip install 'hookrun[claude-agent-sdk]' (found {version})" in done.stderr
