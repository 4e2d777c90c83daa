"""Which hooks of plugins run: those that Claude Code itself would run, under another agent as well.

Claude Code installs the plugins by its own commands, from a marketplace that is a directory and from a git repository.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hookrun_conformance import place as kit
from hookrun_conformance.driver import change, put
from hookrun_conformance.drivers import DRIVERS
from hookrun_conformance.model import say
from tests.live.conftest import needs
from tests.live.installed import PINS
from tests.live.run import Agent, Place
from tests.waiting import limit

URL = "https://plugins.invalid/remote.git"
"""The URL of the git repository; git is configured to take it from this machine."""
OTHERS = ("codex", "gemini")
EXPECTED = {
    "of-user 2.0.0",
    "of-project 2.0.0",
    "of-local 2.0.0",
    "for-all 1.0.0",
    "for-project 2.0.0",
    "inline 2.0.0",
    "elsewhere 2.0.0",
}
"""Of a directory the current version; of the repository the first version that is installed for the user or project."""


def plugin(root: Path, name: str, version: str, *, manifest: object = None) -> None:
    """Write a plugin whose hook logs its name and version when a tool runs."""
    hook = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}"/note.sh'}
    hooks = {"PreToolUse": [{"hooks": [hook]}]}
    own: dict[str, object] = {"name": name, "version": version, "description": name}
    if manifest == "inline":
        own["hooks"] = hooks
    else:
        own |= {"hooks": "./more/more.json"} if manifest == "elsewhere" else {}
        path = "more/more.json" if manifest == "elsewhere" else "hooks/hooks.json"
        put(root / name / path, {"description": name, "hooks": hooks})
    put(root / name / ".claude-plugin" / "plugin.json", own)
    script = root / name / "note.sh"
    script.write_text(f'#!/bin/sh\necho "{name} {version}" >> "$HOME/noted"\n')
    script.chmod(0o755)


def marketplace(root: Path, name: str, version: str, plugins: tuple[str, ...]) -> None:
    """Write a marketplace with these plugins."""
    listed = [{"name": each, "source": f"./{each}", "description": each} for each in plugins]
    put(root / ".claude-plugin" / "marketplace.json", {"name": name, "owner": {"name": "me"}, "plugins": listed})
    for each in plugins:
        plugin(root, each, version, manifest=each)


def git(directory: Path, *arguments: str, home: Path) -> None:
    """Run git as the user of this home."""
    identity = {"GIT_AUTHOR_NAME": "me", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "me"}
    environment = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", **identity, "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True, capture_output=True)


def install(place: kit.Place) -> None:
    """Install plugins in each scope by Claude Code's own commands; publish new versions in between."""
    environment = place.environment(**DRIVERS["claude"].environment("http://127.0.0.1:9"))

    def claude(*arguments: str) -> None:
        done = subprocess.run(
            [PINS["claude"].program, "plugin", *arguments],
            cwd=place.project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit(),
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    here, remote = place.home.parent / "here", place.home.parent / "remote"
    local = ("of-user", "of-project", "of-local", "switched-off", "off-for-all", "removed", "inline", "elsewhere")
    marketplace(here, "here", "1.0.0", local)
    marketplace(remote, "remote", "1.0.0", ("for-all", "for-project", "off-here"))
    git(remote, "init", "--quiet", home=place.home)
    git(remote, "config", "--global", f"url.file://{remote}.insteadOf", URL, home=place.home)
    git(remote, "add", "--all", home=place.home)
    git(remote, "commit", "--quiet", "--message", "1", home=place.home)
    claude("marketplace", "add", str(here))
    claude("marketplace", "add", URL)
    scopes = {"of-project": "project", "of-local": "local"}
    for name in local:
        claude("install", f"{name}@here", "--scope", scopes.get(name, "user"))
    claude("install", "for-all@remote")
    claude("install", "off-here@remote")
    marketplace(here, "here", "2.0.0", tuple(name for name in local if name != "removed"))
    marketplace(remote, "remote", "2.0.0", ("for-all", "for-project", "off-here"))
    git(remote, "commit", "--quiet", "--all", "--message", "2", home=place.home)
    claude("marketplace", "update", "remote")
    claude("install", "for-all@remote", "--scope", "project")
    claude("install", "for-project@remote", "--scope", "project")
    settings = place.project / ".claude"
    for path, words in (
        (settings / "settings.local.json", {"switched-off@here": False}),
        (settings / "settings.json", {"off-here@remote": False}),
        (place.home / ".claude" / "settings.json", {"off-for-all@here": False}),
    ):
        enabled = json.loads(path.read_text())["enabledPlugins"]
        change(path, enabledPlugins={**enabled, **words})


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[str]]]:
    """Return a function that runs one command in an agent, once for each, and returns the plugins that ran."""
    ran: dict[str, list[str]] = {}

    def run(name: str) -> list[str]:
        if name not in ran:
            agent = kept.enter_context(Agent(DRIVERS[name], Place(tmp_path_factory.mktemp(name))))
            install(agent.place)
            if name != "claude":
                put(agent.place.hooks, {"hookrun": {"include_claude": True}})
                digests = [line.split()[0] for line in agent.hookrun("trust", "--digest", status=1).splitlines()]
                agent.hookrun("trust", "--yes", *digests)
                agent.install()
            result = agent.run(agent.driver.shell("echo hi > made.txt"), say("all-is-done"))
            assert "made.txt" in result.files, result
            ran[name] = sorted((agent.place.home / "noted").read_text().splitlines())
        return ran[name]

    with ExitStack() as kept:
        yield run


def test_claude_code_itself_runs_what_the_others_are_compared_with(
    noted: Callable[[str], list[str]], request: pytest.FixtureRequest
) -> None:
    """Each once: what is enabled by the nearest settings that name it, in the version that counts for the project."""
    needs(request, "claude")
    assert noted("claude") == sorted(EXPECTED)


@pytest.mark.parametrize("name", OTHERS)
def test_the_same_hooks_of_plugins_run_under_another_agent(
    name: str, noted: Callable[[str], list[str]], request: pytest.FixtureRequest
) -> None:
    """Those that a project enables once they are approved."""
    needs(request, "claude", name)
    assert noted(name) == noted("claude")
