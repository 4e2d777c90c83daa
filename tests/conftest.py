"""A project for tests of hookrun: real files, real processes, a separate home. Slow tests are counted and named."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import yaml
from hypothesis import HealthCheck, settings

from tests import chosen, flakes, isolation
from tests.approving import approve_all
from tests.live.summary import report_agents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warm import WarmServer

isolation.isolate()  # before any test is imported

ROOT = Path(__file__).resolve().parent.parent
for _number, _default in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    # `nohup` and a shell's `&` start pytest with these ignored, which every process of a test would inherit
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _default)

gc.disable()  # Until all tests are collected: what that makes stays, and to look through it takes a third of the time.

settings.register_profile(
    "hookrun",
    deadline=None,  # no test asserts a time, and a machine may be busy
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="HYPOTHESIS_DERANDOMIZE" in os.environ,  # a gate: the same commit gets the same answer
)
settings.load_profile("hookrun")

REAPER = Path(__file__).parent / "torture" / "reaper.py"
LAUNCHED = ("-I", "-S", "-X", "utf8", str(ROOT / "hookrun" / "__main__.py"))
"""How launchers start hookrun: no PYTHON... variable counts."""


class Fired:
    """The result of one `hookrun fire`. `left` are the command lines of the processes that outlived it."""

    def __init__(
        self, status: int, stdout: bytes, stderr: bytes, audit: list[dict[str, object]], report: dict[str, object]
    ) -> None:
        self.status = status
        self.stdout = stdout
        self.stderr = stderr.decode("utf-8", "replace")
        self.audit = audit
        self.left: list[str] = [str(line) for line in _as_list(report.get("left"))]
        self.peak_kilobytes = int(str(report.get("peak_kilobytes", 0)))

    @property
    def verdict(self) -> dict[str, object]:
        """The one line of JSON on stdout."""
        assert self.stdout.count(b"\n") == 1, (self.stdout[:500], self.stderr[:2000])
        data = json.loads(self.stdout)
        assert isinstance(data, dict)
        return data

    @property
    def action(self) -> str:
        """The action of the verdict."""
        return str(self.verdict["action"])

    def hook(self, name: str) -> dict[str, object]:
        """Return the latest entry for one hook in the verdict's `hooks`."""
        found = [hook for hook in _as_list(self.verdict["hooks"]) if isinstance(hook, dict) and hook["name"] == name]
        assert found, self.verdict
        return found[-1]

    def record(self, name: str) -> dict[str, object]:
        """Return the audit record of one hook's run, the last one."""
        found = [record for record in self.audit if record["kind"] == "hook" and record["hook"] == name]
        assert found, self.audit
        return found[-1]


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


class Project:
    """A repository with declarations, beside a home with nothing in it.

    `server` answers the runs of all projects while there is one; `audits` are where those since then have their audits.
    """

    server: ClassVar[WarmServer | None] = None
    audits: ClassVar[list[Path]] = []

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.home = directory / "home"
        self.report = directory / "report.json"
        self.temporary = directory / "temporary"
        self.audits.append(self.audit_path)
        (self.root / ".git").mkdir(parents=True)
        self.home.mkdir()
        self.temporary.mkdir()

    def hooks(self, *hooks: dict[str, object], **settings: object) -> None:
        """Declare hooks in the project: the default name is `hook`, the default event pre_tool_use."""
        self._declare(self.root / "coder.json", hooks, settings)

    def user_hooks(self, *hooks: dict[str, object], **settings: object) -> None:
        """Declare hooks in the user layer."""
        self._declare(self.home / ".config" / "hookrun" / "hooks.json", hooks, settings)

    def broken_user_hooks(self) -> Path:
        """Leave user declarations that cannot be read, and return their file."""
        path = self.home / ".config" / "hookrun" / "hooks.json"
        path.parent.mkdir(parents=True)
        path.write_text('{"hooks": [')
        return path

    @staticmethod
    def _declare(path: Path, hooks: tuple[dict[str, object], ...], settings: dict[str, object]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        declared = [{"name": "hook", "event": "pre_tool_use", **hook} for hook in hooks]
        path.write_text(json.dumps({"hooks": declared, **({"hookrun": settings} if settings else {})}))

    def config(self) -> dict[str, Any]:
        """Return the project's config, which commands write as YAML if there is no coder.json."""
        paths = [self.root / name for name in ("coder.json", "hookrun.yaml")]
        data = yaml.safe_load(next(path for path in paths if path.exists()).read_text())
        assert isinstance(data, dict)
        return data

    def script(self, name: str, text: str, mode: int = 0o755) -> str:
        """Write a file into the project and return its path as a hook would name it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(mode)
        return f"./{name}"

    def approve(self, at: Path | None = None) -> None:
        """Approve every hook of the project, or of the one at another place, as `hookrun trust` does."""
        approve_all(str(at or self.root), str(self.home))

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of the tests, with the folders of this one."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HOOKRUN")}
        # `hookrun install` refuses a hookrun in a temporary directory, which a clone or a copy must not seem to be in
        folders = {"HOME": str(self.home), "TMPDIR": str(self.temporary)}
        return {**inherited, **folders, "PYTHONPATH": str(ROOT), **more}

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of hookrun."""
        if self.server is not None and arguments[:1] == ("fire",):
            return self.server.command(*arguments)
        return [sys.executable, "-m", "hookrun", *arguments]

    def open(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start hookrun with pipes for its streams; stdin stays open."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.root,
            env=self.environment(),
        )

    def start(self, context: object, *arguments: str) -> subprocess.Popen[bytes]:
        """Start hookrun with the context on stdin, which is closed; stdout and stderr are pipes."""
        process = self.open(*arguments)
        assert process.stdin is not None
        process.stdin.write(context if isinstance(context, bytes) else json.dumps(context).encode())
        process.stdin.close()
        process.stdin = None  # for `communicate`
        return process

    def fire(
        self,
        context: object = None,
        *arguments: str,
        event: str = "pre_tool_use",
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        reap: bool = False,
        wrap: tuple[str, ...] = (),
    ) -> Fired:
        """Fire an event with the context on stdin (bytes unchanged). `reap` looks for processes that outlive it."""
        if context is None:
            context = {"session_id": "s1", "tool_name": "bash", "tool_args": {"command": "ls"}}
        stdin = context if isinstance(context, bytes) else json.dumps(context).encode()
        command = [*wrap, *self.command("fire", event, *arguments)]
        if command[:3] == [sys.executable, "-m", "hookrun"] and not any(
            name.startswith("PYTHON") for name in env or ()
        ):
            command[1:3] = LAUNCHED
        earlier = {*self.server.family(), *self.server.left()} if reap and self.server is not None else set()
        if reap:
            command = [sys.executable, str(REAPER), str(self.report), *command]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=cwd or self.root,
            env=self.environment(**(env or {})),
            check=False,
        )
        report = json.loads(self.report.read_text()) if reap else {}
        if reap and self.server is not None:
            report = self.server.reap(earlier)
        return Fired(done.returncode, done.stdout, done.stderr, self.audit(), report)

    @property
    def audit_path(self) -> Path:
        """The path of the audit."""
        return self.home / ".local" / "state" / "hookrun" / "audit.jsonl"

    def audit(self, *, starts: bool = False) -> list[dict[str, object]]:
        """Return the records of the audit; the `start` records of long runs only with `starts`.

        On a slow machine any run may have such a record.
        """
        return [record for record in records(self.audit_path) if starts or record.get("kind") != "start"]


def copy_package(directory: Path, *left_out: str) -> Path:
    """Copy the package, without what is compiled of it and what other tests may just be writing into it."""
    ignore = shutil.ignore_patterns("__pycache__", "*.tmp", *left_out)
    return Path(shutil.copytree(ROOT / "hookrun", directory, ignore=ignore, dirs_exist_ok=True))


def records(audit: Path) -> list[dict[str, object]]:
    """Return all records of an audit."""
    return [json.loads(line) for line in audit.read_text().splitlines()] if audit.exists() else []


ROOMS_RUN_WARM = ("conformance", "fire", "torture")
"""The rooms whose tests with a project run twice, through a server and cold: but for the first of a file, cold ones are
slow."""


HAS_PROC = Path("/proc/self/task").exists()
"""Whether what a server leaves behind can be seen here."""


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` starts: more than processors, for tests wait for processes and pauses."""
    return (os.cpu_count() or 1) * 3 // 2


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of some rooms warm and cold, but those marked `only_cold`: they are about the cold start."""
    definition = metafunc.definition
    if definition.path.parent.name in ROOMS_RUN_WARM and "server" in metafunc.fixturenames:
        ways = ["warm", "cold"] if HAS_PROC and not definition.get_closest_marker("only_cold") else ["cold"]
        metafunc.parametrize("server", ways, indirect=True)


@pytest.fixture(scope="session")
def servers() -> Iterator[list[WarmServer]]:
    """Return the servers of the warm tests of this process: the last one is in use, and ends with it."""
    found: list[WarmServer] = []
    yield found
    for server in found[-1:]:
        server.__exit__()


@pytest.fixture
def session_server(servers: list[WarmServer]) -> Iterator[WarmServer]:
    """Return the server of all warm tests of this process, which is renewed when it has ended. That fails its test."""
    from tests.warm import WarmServer

    if not (servers and servers[-1].lives()):
        # a slow machine may take longer to the next warm test than the 900 s after which a server ends
        servers.append(WarmServer("--idle", "86400").__enter__())
    yield servers[-1]
    assert servers[-1].lives(), "the server of all warm tests ended during this one"


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[WarmServer | None]:
    """Return the server through which projects fire in this test; None where they run cold.

    A run that was cold for a reason that the test does not name (`may_be_cold`) fails it, and so does sending nothing.
    """
    if getattr(request, "param", "cold") == "cold":
        yield None
        return
    Project.server = server = request.getfixturevalue("session_server")
    Project.audits.clear()
    before = server.commands
    try:
        yield server
    finally:
        Project.server = None
    found = {str(record["cold"]) for path in Project.audits for record in records(path) if "cold" in record}
    marker = request.node.get_closest_marker("may_be_cold")
    assert found <= set(marker.args[0] if marker else ()), found
    assert server.commands > before, "nothing was sent to the server: mark it `only_cold`"


def runs(item: pytest.Item, way: str) -> bool:
    """Return whether a test runs in this way, warm or cold."""
    return hasattr(item, "callspec") and item.callspec.params.get("server") == way


@pytest.hookimpl(tryfirst=True)  # before pytest leaves the slow ones out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out warm cases marked `only_cold`. Mark cold runs and cases of `sampled` tests as slow, but for some."""
    items[:] = [item for item in items if not (runs(item, "warm") and item.get_closest_marker("only_cold"))]
    seen: Counter[tuple[pytest.Item | pytest.Collector | None, str]] = Counter()
    for item in items:
        marker = item.get_closest_marker("sampled")
        if item.get_closest_marker("slow") is not None:
            continue
        if runs(item, "cold") and item.get_closest_marker("only_cold") is None:
            cold = item.parent, "cold"
            if seen[cold]:
                item.add_marker(pytest.mark.slow)
            seen[cold] += 1
        elif marker is not None:
            test = item.parent, item.name.partition("[")[0]
            place = seen[test] % marker.args[0] if marker.args else seen[test]
            if place:
                item.add_marker(pytest.mark.slow)
            seen[test] += 1


def pytest_collection_finish() -> None:
    """Have Python look for unreachable objects again, but not among those of the collected tests."""
    gc.freeze()
    gc.enable()


SLOW = pytest.StashKey[int]()


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the slow tests that are left out, in this process or in a worker of pytest-xdist."""
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    if slow:
        config = slow[0].config
        config.stash[SLOW] = len(slow)
        if hasattr(config, "workeroutput"):
            config.workeroutput["slow"] = len(slow)


class WorkerResults:
    """Takes over what a worker of pytest-xdist has counted: every worker collects, and deselects, the same tests."""

    @staticmethod
    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(node: object) -> None:
        """Take the number of slow tests that were left out."""
        count = getattr(node, "workeroutput", {}).get("slow", 0)
        if count:
            node.config.stash[SLOW] = count  # type: ignore[attr-defined]  # xdist has no types


pytest_addoption = chosen.pytest_addoption


def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks of pytest-xdist, which may not be loaded, and what keeps the tests and the account apart."""
    config.pluginmanager.register(isolation.Keeper(), "hookrun-keeper")
    if account := getattr(config, "workerinput", {}).get("account"):
        isolation.take_over(account)
    chosen.register(config)
    flakes.register(config, getattr(isolation.Account, "environment", None))
    if hasattr(config, "workerinput") or not hasattr(isolation.Account, "home"):
        return
    isolation.be_a_place()
    config.pluginmanager.register(WorkerResults(), "hookrun-worker-results")
    config.pluginmanager.register(isolation.Guard(), "hookrun-guard")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report which agents were run, and how many slow tests were not."""
    report_agents(terminalreporter)
    if count := config.stash.get(SLOW, 0):
        terminalreporter.section("slow tests")
        terminalreporter.write_line(f"left out: {count}; run them with: python -m pytest -m slow")


@pytest.fixture
def project(tmp_path: Path, server: WarmServer | None) -> Project:
    """Return an empty project."""
    return Project(tmp_path)
