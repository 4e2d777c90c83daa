"""Hooks with `serve`: programs that answer line after line, in one process or, cold, in one for each line."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrun.core.model import Hook, Outcome, Verdict
from hookrun.core.verdicts import from_process
from hookrun.process import coprocess
from hookrun.process.child import WATCHER
from hookrun.process.coprocess import Coprocesses, read_answer
from hookrun.process.prepare import HookEnvironment
from hookrun.process.runner import ProcessRunner
from hookrun.trust.digest import declaration
from hookrun.trust.hook_files import files_of
from tests.process.bench import processes_in, watched
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc here"),
    pytest.mark.sampled(3),
]

PROGRAMS = Path(__file__).with_name("programs")
COUNT = (PROGRAMS / "count_lines.py").read_text()
"""A hook whose verdict has its process id, the number of its line, a value of the context, and its name."""
SERVE = """
import json, os, subprocess, sys, time
def answer(asked, verdict): print(json.dumps({"id": asked["id"], "verdict": verdict}), flush=True)
for asked in map(json.loads, sys.stdin):
    %s
"""
BLOCK = '{"action": "block", "message": "no"}'


class Served:
    """Runs hooks with `serve` of one project, warm (in processes that are kept) or cold."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.kept = Coprocesses(files_of)
        self.working_dir = ""

    def hook(self, text: str, **fields: object) -> Hook:
        """Return the declaration of a Python script that serves."""
        script = self.project / "serve.py"
        if not script.exists() or script.read_text() != text:  # a file that was written to is another one
            script.write_text(text)
        python = shutil.which("python3") or "python3"
        given: dict[str, object] = {"kind": "args", "target": [python, "serve.py"], "timeout": 20, **fields}
        words = [python, "serve.py"]
        return Hook.from_dict(
            {"name": "served", "events": ["stop"], "layer": "user", "serve": True, "look": words,
             "words": ["path:serve.py"], **given}
        )  # fmt: skip

    def hook_of_the_event(self) -> Hook:
        """Return the declaration of COUNT with `cwd: event`."""
        words = [shutil.which("python3") or "python3", str(self.project / "serve.py")]
        return self.hook(COUNT, cwd="event", target=words, look=words, words=[f"path:{words[1]}"])

    def run(self, hook: Hook, *, warm: bool = True, context: bytes = b'{"say":"hello"}\n') -> Outcome:
        """Run the hook once and return how it ended."""
        fields = {"event": "stop", "working_dir": self.working_dir or str(self.project)}
        kept = self.kept if warm else None
        request_id = os.urandom(8).hex()
        environment = HookEnvironment(fields, project=str(self.project), request_id=request_id, coprocesses=kept)
        locks = str(self.project / "locks")
        runner = ProcessRunner(environment, locks=lambda: locks, on_background_end=lambda *_: None)
        return runner([(hook, context)])[0]

    def verdict(self, hook: Hook, *, warm: bool = True) -> Verdict:
        """Run the hook once and return its verdict; a failure is an error."""
        result = from_process(hook, self.run(hook, warm=warm), change="modified_args")[0]
        assert isinstance(result, Verdict), result
        return result

    def said(self, hook: Hook, *, warm: bool = True) -> list[str]:
        """Run the hook of COUNT once and return its values: process, number of the line, context, name."""
        return str(self.verdict(hook, warm=warm).system_message).split()

    def failure(self, hook: Hook, *, warm: bool = True) -> tuple[str, str]:
        """Run the hook once and return its failure: its kind and its text."""
        result = from_process(hook, self.run(hook, warm=warm), change="modified_args")[0]
        assert not isinstance(result, Verdict), result
        return result.kind, result.detail


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Return a project for hooks that serve; nothing of them runs at the end."""
    monkeypatch.chdir(tmp_path)  # and back at the end: to start a hook, the runner goes to its directory
    served = Served(tmp_path)
    yield served
    served.kept.close()
    WATCHER.close()
    assert processes_in(tmp_path) == []


def is_zombie(pid: int) -> bool:
    """Return whether a process of ours has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


# --- one process for many lines


def test_one_process_answers_line_after_line(served: Served) -> None:
    """A program is started once; each line has the hook's name and the context that it would otherwise read."""
    hook = served.hook(COUNT)
    first, second, third = (served.said(hook) for _ in range(3))
    assert first[0] == second[0] == third[0]
    assert [first[1:], second[1:], third[1:]] == [[n, "hello", "served"] for n in "123"]
    assert served.kept.pids() == [int(first[0])]


def test_stderr_belongs_to_its_line(served: Served) -> None:
    """Stderr is attributed to the line during which it was written."""
    hook = served.hook(COUNT)
    assert [served.run(hook).stderr for _ in range(2)] == [b"line 1\n", b"line 2\n"]


def test_cold_it_gets_one_line_and_the_end(served: Served) -> None:
    """The same file works without coprocesses: it reads one line and the end of its input."""
    hook = served.hook(COUNT)
    one, other = (served.said(hook, warm=False) for _ in range(2))
    assert one[1] == other[1] == "1"
    assert one[0] != other[0]
    assert served.kept.pids() == []


@pytest.mark.parametrize("warm", [True, False])
def test_no_verdict_is_null(served: Served, *, warm: bool) -> None:
    """`null` is the answer of a hook that would print nothing."""
    assert served.verdict(served.hook(SERVE % "answer(asked, None)"), warm=warm).action == "continue"


@pytest.mark.parametrize("warm", [True, False])
def test_a_megabyte_is_read_and_answered(served: Served, *, warm: bool) -> None:
    """A line and an answer may be larger than a pipe."""
    hook = served.hook(SERVE % "answer(asked, {'action': 'continue', 'system_message': 'x' * 500000})")
    for _ in range(2):
        outcome = served.run(hook, warm=warm, context=b'{"say":"%b"}' % (b"y" * (1 << 20)))
        assert outcome.failure is None
        assert len(outcome.stdout) > 500_000


@pytest.mark.parametrize("warm", [True, False])
def test_exit_status_2_without_an_answer_blocks(served: Served, *, warm: bool) -> None:
    """As of any hook; the next line gets a new process."""
    hook = served.hook(SERVE % "print('because', file=sys.stderr); sys.exit(2)")
    for _ in range(2):
        verdict = served.verdict(hook, warm=warm)
        assert (verdict.action, verdict.message) == ("block", "because")


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
def test_after_its_answer_the_exit_status_does_not_count(served: Served, *, warm: bool) -> None:
    """The answer counts, warm or cold."""
    hook = served.hook(SERVE % f"answer(asked, {BLOCK}); sys.exit(1)")
    for _ in range(3):
        assert served.verdict(hook, warm=warm).action == "block"


@pytest.mark.slow
def test_a_cold_program_that_stays_is_ended_after_its_answer(served: Served) -> None:
    """The answer counts, and nothing is left."""
    assert served.verdict(served.hook(SERVE % f"answer(asked, {BLOCK}); time.sleep(300)"), warm=False).message == "no"
    assert processes_in(served.project) == []


# --- which hook and which caller a process serves


def test_a_change_ends_the_old_process(served: Served) -> None:
    """Neither an older script nor an older declaration answers a line."""
    first = served.said(served.hook(COUNT))
    second = served.said(served.hook(COUNT + "# changed\n"))
    third = served.said(served.hook(COUNT + "# changed\n", priority=3))
    assert (first[1], second[1], third[1]) == ("1", "1", "1")
    served.kept.tend()
    assert served.kept.pids() == [int(third[0])]
    assert [pid for pid in (first[0], second[0]) if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.slow
def test_another_environment_directory_or_umask_has_its_own(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process answers only for the environment, the directory and the umask that it was started with."""
    hook = served.hook(COUNT)
    pids = {served.said(hook)[0]}
    monkeypatch.setenv("HOOKRUN_TEST", "1")
    pids.add(served.said(hook)[0])
    served.kept.umask = 0o77
    pids.add(served.said(hook)[0])
    monkeypatch.delenv("HOOKRUN_TEST")
    served.kept.umask = 0
    assert len(pids) == 3
    assert served.said(hook)[1] == "2"
    (served.project / "sub").mkdir()
    (served.project / "sub" / "serve.py").write_text(COUNT)
    assert served.said(served.hook(COUNT, cwd="sub"))[1] == "1"


def test_a_directory_that_is_replaced_gets_another_process(served: Served) -> None:
    """At the same path, as by `git worktree remove` and `add`: the process is still in the first one."""
    hook = served.hook_of_the_event()
    place, other = served.project / "sub", served.project / "other"
    place.mkdir()
    served.working_dir = str(place)
    said = {"first": served.said(hook)}
    place.rename(served.project / "moved")
    place.mkdir()
    said["moved"] = served.said(hook)
    place.rmdir()
    place.mkdir()
    said["removed"] = served.said(hook)
    place.rmdir()
    other.mkdir()
    place.symlink_to(other)
    said["a link"] = served.said(hook)
    assert [how for how, values in said.items() if values[1] != "1"] == []
    assert len({values[0] for values in said.values()}) == 4, said


def test_a_process_answers_in_its_own_directory_only(served: Served) -> None:
    """With `cwd: event` one declaration runs wherever the agent is."""
    hook = served.hook_of_the_event()
    first = served.said(hook)
    (served.project / "sub").mkdir()
    served.working_dir = str(served.project / "sub")
    other = served.said(hook)
    served.working_dir = ""
    again = served.said(hook)
    assert (first[1], other[1], again[1]) == ("1", "1", "2")
    assert first[0] == again[0] != other[0]


def test_a_replaced_program_answers_no_more(served: Served, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Also one that is no file of the project."""
    program = tmp_path_factory.mktemp("bin") / "serve"
    for version in ("", "# changed\n"):
        changed = program.with_name("new")
        changed.write_text(f"#!{sys.executable}\n{COUNT}{version}")
        changed.chmod(0o755)
        changed.replace(program)
        hook = served.hook("", target=[str(program)], look=[str(program)], words=[])
        assert [served.said(hook)[1] for _ in range(2)] == ["1", "2"]


def test_variables_of_one_run_are_in_no_environment(served: Served) -> None:
    """They would be those of the first line forever; the context has their values."""
    text = SERVE % "answer(asked, {'action': 'continue', 'system_message': ' '.join(os.environ)})"
    for warm in (True, False):
        names = str(served.verdict(served.hook(text), warm=warm).system_message).split()
        ours = {name for name in names if name.startswith("HOOKRUN_")} - os.environ.keys()
        assert ours == {"HOOKRUN_HOOK", "HOOKRUN_CONFIG_DIR", "HOOKRUN_PROJECT_DIR", "HOOKRUN_CHAIN"}


def test_inside_a_hook_nothing_is_kept(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment there is that of one run."""
    monkeypatch.setenv("HOOKRUN_CHAIN", "abc.1;")
    assert served.said(served.hook(COUNT))[1] == "1"
    assert served.kept.pids() == []


def test_a_hook_that_may_not_run_keeps_nothing(served: Served) -> None:
    """Its process is ended with the next care."""
    hook = served.hook(COUNT)
    served.said(hook)
    served.kept.discard(hook, str(served.project))
    assert served.kept.tend() is None
    assert served.kept.pids() == []


@pytest.mark.slow
def test_idle_and_surplus_processes_are_ended(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those without a line for longest go first; after ten minutes all go."""
    monkeypatch.setattr(coprocess, "MOST", 2)
    pids = [int(served.said(served.hook(COUNT, name=name))[0]) for name in "abc"]
    assert served.kept.tend() is not None
    assert served.kept.pids() == pids[1:]
    monkeypatch.setattr(coprocess, "IDLE", 0.0)
    assert served.kept.tend() is None
    assert processes_in(served.project) == []


def test_an_approval_is_for_a_hook_that_serves_or_not(served: Served) -> None:
    """`serve` is part of what was approved."""
    hook = served.hook(COUNT)
    before = declaration(hook, "/p", "/h")
    hook.serve = False
    assert declaration(hook, "/p", "/h") != before


@pytest.mark.slow
def test_the_watcher_stays_right_for_thousands_of_lines(served: Served) -> None:
    """Its pipe is full several times meanwhile; it still knows the program."""
    hook = served.hook(COUNT)
    for _ in range(4000):
        assert served.run(hook).failure is None
    pid = served.kept.pids()[0]
    assert list(watched(WATCHER).values()) == [pid]
    WATCHER.release()  # as when this process is killed
    until(lambda: is_zombie(pid), "the process runs on")


# --- programs that misbehave

NULL = """'{"id": "%s", "verdict": null}' % asked["id"]"""
STAYS = "subprocess.Popen(['setsid', 'sleep', '300'])\n    "
TROUBLE = {
    "noise before": ("print('hello'); answer(asked, None)", 20, "bad_verdict", "stdout"),
    "not JSON": ("print('hello', flush=True)", 20, "bad_verdict", "stdout is not one line"),
    "another id": ("answer({'id': 'x'}, None)", 20, "bad_verdict", "stdout is not one line"),
    "a key twice": (f'print(({NULL})[:-1] + \', "id": "x"}}\', flush=True)', 20, "bad_verdict", "is not one line"),
    "a string": ("answer(asked, 'continue')", 20, "bad_verdict", "stdout is not one line"),
    "twice": (f"os.write(1, (({NULL}) + '\\n').encode() * 2)", 20, "bad_verdict", "it answered more than once"),
    "flood": (f"{STAYS}while True: os.write(1, b'x' * 1000)", 20, "bad_verdict", "longer than max_output (4096 bytes)"),
    "flood of lines": ("while True: os.write(1, b'x\\n' * 99)", 20, "bad_verdict", ""),
    "hang": (f"{STAYS}time.sleep(300)", 1, "timeout", "no answer after 1 s"),
    "end": ("sys.exit(0)", 20, "bad_verdict", "it ended without an answer"),
    "no newline": (f"print({NULL}, end='', flush=True)", 20, "bad_verdict", "no newline"),
    "no line": (f"print({NULL}, end=''); sys.exit(0)", 20, "bad_verdict", "stdout is not one line"),
    "crash": ("1 / 0", 20, "exit_code", "ZeroDivisionError"),
    "signal": ("os.kill(os.getpid(), 9)", 20, "signal", "killed by signal 9"),
}
"""What a program does, its timeout, and the kind and text of the failure."""


@pytest.mark.sampled(7)
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize(("text", "timeout", "kind", "detail"), TROUBLE.values(), ids=TROUBLE)
def test_trouble_is_the_named_failure_of_its_hook(
    served: Served, text: str, timeout: int, kind: str, detail: str, *, warm: bool
) -> None:
    """And the process has been ended, if need be with all that it has started."""
    found, why = served.failure(served.hook(SERVE % text, timeout=timeout, max_output=4096), warm=warm)
    assert (found, detail in why) == (kind, True), why
    assert served.kept.pids() == []
    assert processes_in(served.project) == []


def test_a_program_that_cannot_start_is_a_failure(served: Served) -> None:
    """As of any hook."""
    hook = served.hook("raise SystemExit(3)")
    assert served.failure(hook)[0] == "exit_code"
    (served.project / "serve.py").unlink()
    assert served.failure(hook)[0] == "missing"


@pytest.mark.slow
def test_what_is_written_unasked_fails_the_next_line(served: Served) -> None:
    """The line is not even written; the one after it gets a new process."""
    again = "while not os.path.exists('go'): time.sleep(0.01)\n    answer(asked, None); open('done', 'w').close()"
    hook = served.hook(SERVE % f"answer(asked, None)\n    {again}")
    assert served.verdict(hook).action == "continue"
    (served.project / "go").touch()
    until((served.project / "done").exists, "the hook has not written")
    kind, why = served.failure(hook)
    assert (kind, "without being asked" in why) == ("bad_verdict", True)
    assert served.kept.pids() == []
    (served.project / "go").unlink()
    assert served.verdict(hook).action == "continue"


@pytest.mark.sampled(7)
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "b'hello\\n' + said(BLOCK)",
        "b'hello\\n'); time.sleep(0.1); os.write(1, said(BLOCK)",
        "said(None) + said(BLOCK)",
        "said(BLOCK) + said({'action': 'allow'})",
        "said(BLOCK) + b'more'",
        "json.dumps(BLOCK).encode() + b'\\n'",
        "said(BLOCK)[:-1]",
        "json.dumps(asked | {'verdict': BLOCK}).encode() + b'\\n'",
        "json.dumps({'verdict': BLOCK}).encode() + b'\\n'",
        "said(BLOCK).replace(b'verd', b'\\\\u0076erd')",
        "b'\\xef\\xbb\\xbf' + said(BLOCK)",
        "said(BLOCK | {'x': 'y'}).replace(b'y', b'\\xff')",
        "said(BLOCK)[:-2] + b', \"verdict\": null}\\n'",
        "said(BLOCK | {'x': 1}).replace(b' 1', b' NaN')",
    ],
)
def test_a_block_counts_whatever_is_wrong(served: Served, text: str, *, warm: bool) -> None:
    """A refusal is never lost, even if it is malformed."""
    said = "def said(verdict): return (json.dumps({'id': asked['id'], 'verdict': verdict}) + '\\n').encode()\n"
    hook = served.hook(f"BLOCK = {BLOCK}\n{said}" + SERVE % f"os.write(1, {text})")
    verdict = served.verdict(hook, warm=warm)
    assert (verdict.action, verdict.message) == ("block", "no")


@pytest.mark.slow
def test_after_a_failure_it_is_not_kept_for_a_while(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line gets a new process until the pause ends, which doubles with each failure."""
    text = "import os\nif os.path.exists('bad'): raise SystemExit(1)\n" + COUNT
    hook = served.hook(text)
    now = time.monotonic()
    monkeypatch.setattr(coprocess, "monotonic", lambda: now)
    for pause in (1, 2, 4):
        (served.project / "bad").touch()
        assert served.failure(hook)[0] == "exit_code"
        (served.project / "bad").unlink()
        now += pause - 0.1
        assert [served.said(hook)[1] for _ in range(2)] == ["1", "1"]
        assert served.kept.pids() == []
        now += 0.2
    assert [served.said(hook)[1] for _ in range(2)] == ["1", "2"]


def test_a_process_that_dies_between_lines_costs_no_verdict(served: Served) -> None:
    """The next line gets a new process."""
    hook = served.hook(COUNT)
    first = served.said(hook)
    os.kill(int(first[0]), signal.SIGKILL)
    until(lambda: is_zombie(int(first[0])), "the process runs on")
    assert served.said(hook)[1] == "1"
    served.kept.tend()
    assert served.kept.pids() == []


def test_what_it_has_started_ends_with_it(served: Served) -> None:
    """Also what runs in a separate session."""
    text = "import subprocess\nsubprocess.Popen(['setsid', 'sleep', '300'], stdout=2)\n" + COUNT
    served.said(served.hook(text))
    served.kept.close()
    assert processes_in(served.project) == []


@pytest.mark.slow
def test_one_that_ignores_the_end_of_its_input_is_killed(served: Served) -> None:
    """Within a second or two."""
    text = "import signal\nsignal.signal(15, signal.SIG_IGN)\n" + COUNT + "\nimport time; time.sleep(300)\n"
    served.said(served.hook(text))
    served.kept.close()
    assert processes_in(served.project) == []


@pytest.mark.slow
def test_nothing_leaks(served: Served) -> None:
    """Neither descriptors nor processes, whether lines are answered or fail."""
    hook = served.hook("import os\nif os.path.exists('bad'): raise SystemExit(1)\n" + COUNT)
    served.said(hook)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(30):
        if number % 10 == 5:
            (served.project / "bad").touch()
            served.hook(COUNT + f"# {number}\n")
            served.run(hook)
            (served.project / "bad").unlink()
        served.run(hook)
        served.kept.tend()
    assert len(os.listdir("/proc/self/fd")) <= before
    assert len(served.kept.pids()) <= 1


# --- Python functions


def with_streams_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the standard streams of a program: pytest's are none of a child's."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        monkeypatch.setattr(sys, name, os.fdopen(number, "w", closefd=False))


@pytest.mark.slow
@pytest.mark.parametrize("interpreter", [None, "python3"])
@pytest.mark.parametrize(("warm", "calls"), [(True, ["1", "2"]), (False, ["1", "1"])])
def test_a_function_is_imported_once(
    served: Served, interpreter: str | None, calls: list[str], monkeypatch: pytest.MonkeyPatch, *, warm: bool
) -> None:
    """A `python` hook with `serve` is an ordinary function, whose module stays loaded."""
    with_streams_of_a_program(monkeypatch)
    shutil.copy(PROGRAMS / "counts_calls.py", served.project / "guard.py")
    hook = served.hook("", kind="python", target="guard:check", interpreter=interpreter, look=(), words=())
    first, second = served.said(hook, warm=warm), served.said(hook, warm=warm)
    assert [first[1:], second[1:]] == [[number, "hello", "x"] for number in calls]
    assert (first[0] == second[0]) is warm
    (served.project / "guard.py").write_text("def check(context): raise RuntimeError('broken')\n")
    assert served.failure(hook, warm=warm)[0] == "exit_code"


@pytest.mark.parametrize("interpreter", [None, "python3"])
def test_a_change_of_an_imported_module_ends_the_process(
    served: Served, interpreter: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The very next line is answered by the new code, also where a call has imported the module."""
    with_streams_of_a_program(monkeypatch)
    (served.project / "guard.py").write_text(
        "def check(context):\n    import policy\n    return {'action': policy.ACTION, 'message': 'no'}\n"
    )
    policy = served.project / "policy.py"
    policy.write_text("ACTION = 'continue'\n")
    hook = served.hook("", kind="python", target="guard:check", interpreter=interpreter, look=(), words=())
    assert [served.verdict(hook).action for _ in range(2)] == ["continue", "continue"]
    policy.write_text("ACTION = 'block'\n")
    assert served.verdict(hook).action == "block"
    policy.unlink()
    assert served.failure(hook)[0] == "exit_code"


# --- answers


def test_no_program_knows_the_id_of_a_line_before_it_has_read_it() -> None:
    """Otherwise it could answer in advance, before reading the line."""
    assert len({coprocess.Line(("project", "user", "file", "name")).number for _ in range(9)}) == 9


def test_an_unasked_block_is_of_no_line(served: Served) -> None:
    """Output before a line is no answer to it, even without an id."""
    later = "while not os.path.exists('go'): time.sleep(0.01)\n    print(json.dumps({'verdict': %s}), flush=True)"
    hook = served.hook(SERVE % f"answer(asked, None)\n    {later % BLOCK}\n    open('done', 'w').close()")
    assert served.verdict(hook).action == "continue"
    (served.project / "go").touch()
    until((served.project / "done").exists, "the hook has not written")
    assert served.failure(hook)[0] == "bad_verdict"


def test_an_answer_is_taken_as_it_is_written() -> None:
    """Its verdict is judged like the stdout of any hook, with whatever is wrong in it."""
    answers = {
        b'{"id":"7","verdict":null}\n': b"",
        b' {"verdict" : {"action":"block","x":"\\"id\\""} , "id":"7"} \r\n': b'{"action":"block","x":"\\"id\\""}',
        b'{"id":"7","verdict":{"verdict":1,"id":[]}}\n': b'{"verdict":1,"id":[]}',
        b'{"id":"7","verdict":{"action":"block","action":"continue"}}\n': b'{"action":"block","action":"continue"}',
        b'{"id":"7","hook":"verdict","context":{"verdict":{}},"verdict":{"a":1}}\n': b'{"a":1}',
        b'{"id":"7","verdict":null,"x":1}\n': b"",
        b'\xef\xbb\xbf{"id":"7","\\u0076erdict":null}\n': b"",
    }
    found = {data: read_answer(data, "7") for data in answers}
    assert found == {data: (verdict, None) for data, verdict in answers.items()}


def test_anything_else_is_no_answer() -> None:
    """It is a failure, with the reason."""
    others = [
        b"", b"\n", b"null\n", b"{}\n", b"[]\n", b'{"id":7,"verdict":null}\n', b'{"id":"8","verdict":null}\n',
        b'{"id":"7"}\n', b'{"verdict":null}\n', b'{"id":"7","verdict":[]}\n', b'{"id":"7","verdict":true}\n',
        b'{"id":"7","verdict":null} x\n', b'{"id":"7","verdict":{\n', b'{"id":"7","verdict":NaN}\n',
        b'{"id":"8","verdict":{"action":"block"},"hook":"7"}\n', b'{"id":"7","verdict":null,"verdict":null}\n',
        b'{"id":"7","id":"7","verdict":null}\n', b'\xff{"id":"7","verdict":null}\n',
        b'{"id":"7","verdict":' + b"[" * 100_000 + b"\n",
    ]  # fmt: skip
    found = {data[:60]: read_answer(data, "7") for data in others}
    assert [data for data, (verdict, problem) in found.items() if verdict is not None or not problem] == []
    assert "more than its answer" in str(read_answer(b'{"id":"7","verdict":null}\nmore\n', "7")[1])
