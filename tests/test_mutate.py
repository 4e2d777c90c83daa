"""scripts/mutate.py: which slips it makes, and what it finds out about them in a copy of the checkout."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import mutate
from scripts.slips import slips
from tests.conftest import ROOT
from tests.waiting import ended

LIMITS = '''\
SMALL = 3


def allows(size):
    """Return whether a size is allowed."""
    return size {} SMALL
'''
TESTS = """\
from tiny.limits import SMALL, allows


def test_that_fails_anyway():
    assert False


def test_allows():
    {}
"""

SLIPS = [
    ("x = a < b", {"a <= b"}),
    ("x = a not in b is c", {"a in b is c", "a not in b is not c"}),
    ("x = (not (a or b)) and c", {"not (a or b) or c", "a or b", "a and b"}),
    ("x = f(1.5, a=b, **c)", {"(dropped)", "2.5", "0.5"}),
    ("X = {'a': b, **c}", {"(dropped)", "''"}),
    ("X = W('-n --adjust')", {"'-n'", "'--adjust'"}),
    ("X = ('ab', y, Z)", {"(dropped)", "'a'"}),
    ("X = 'a b c d'.split()", {"'b c d'", "'a c d'", "'a b d'", "'a b c'"}),
    ("def f(): return isinstance(a, int | float)", {"return None", "int", "float"}),
    ("for a in b: continue", {"break"}),
    ("a.b = True", {"pass", "False"}),
    ("a += 1", {"pass", "2", "0"}),
    ("def f(a: 'x' = 1) -> tuple[1, 2]: 'text'", {"2", "0"}),
    ("def f(): raise E('text', 1)", {"pass"}),
    ("if TYPE_CHECKING: a = 1", set()),
    ("__all__ = ('a', 'b')", set()),
    ("X = {'a': f'text {1}', 'b': 'a text for the user'}", {"(dropped)", "''"}),
    ("log.debug('text', a=1)", set()),
    ("Names = tuple[Literal['a'], ...]", set()),
]


def test_a_slip_is_what_a_programmer_may_get_wrong() -> None:
    """Each is valid Python; texts for people, types and annotations stay as they are."""
    for line, expected in SLIPS:
        found = list(slips("a.py", line.encode(), {1}))
        assert {slip.after for slip in found} == expected, line
        for slip in found:
            compile(slip.applied(line.encode()), line, "exec")


def test_slips_are_made_in_the_lines_that_are_named() -> None:
    """Of a table over several lines, and behind letters of several bytes, too."""
    source = "X = {\n    'é': 1,\n    'b': not c,\n}\n"
    [slip] = [each for each in slips("a.py", source.encode(), {3}) if each.kind == "not"]
    assert (slip.line, slip.applied(source.encode()).decode()) == (3, source.replace("not c", "(c)"))


def test_the_nearest_tests_are_run_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a module: its own, those of its room, those that name it, those of rooms that use it, and all others."""
    for path, text in {
        "tiny/door/lock.py": "",
        "tiny/door/key.py": "from tiny.door import (\n    hinge,\n    lock,\n)\n",
        "tiny/house/wall.py": "import tiny.door.key\n",
        "tiny/roof.py": "",
        "tests/door/test_lock_picking.py": "",
        "tests/door/test_key.py": "",
        "tests/test_tour.py": "from tiny.door import lock\n",
        "tests/house/test_wall.py": "",
        "tests/test_roof.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "PACKAGE", "tiny")
    lock = ("door/test_lock_picking", "door/test_key", "test_tour", "house/test_wall", "test_roof")
    found = list(mutate.stages("tiny/door/lock.py", everything=True))
    assert found == [[f"tests/{name}.py"] for name in lock]
    assert list(mutate.stages("tiny/door/lock.py", everything=False)) == found[:4]
    assert list(mutate.stages("tiny/roof.py", everything=False)) == [["tests/test_roof.py"]]


class Checkout:
    """A small project with the program, in a repository."""

    def __init__(self, directory: Path) -> None:
        self.root, self.temporary = directory / "tiny", directory / "t"
        for folder in (self.root / "tiny", self.root / "tests", self.root / "scripts", self.temporary):
            folder.mkdir(parents=True)
        for name in ("mutate.py", "slips.py"):
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts")
        (self.root / "pyproject.toml").write_text('[project]\nname = "tiny"\n')
        (self.root / "tiny" / "__init__.py").write_text("")
        self.write(LIMITS.format("<"), "pass")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "--message=A")

    def git(self, *arguments: str) -> str:
        """Run git, and return its output."""
        done = subprocess.run(["git", *arguments], cwd=self.root, check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout

    def write(self, module: str, test: str) -> None:
        """Write the module, and the body of its test."""
        (self.root / "tiny" / "limits.py").write_text(module)
        (self.root / "tests" / "test_limits.py").write_text(TESTS.format(test))

    def mutate(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the program."""
        command = [sys.executable, "scripts/mutate.py", *arguments]
        plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}  # others take a second
        environment = {**os.environ, **plugins, "TMPDIR": str(self.temporary)}
        return subprocess.Popen(
            command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Return the small project."""
    return Checkout(tmp_path)


def test_slips_are_caught_by_tests_that_pass_without_them_or_survive(checkout: Checkout, tmp_path: Path) -> None:
    """Of two changed lines one is tested; the checkout stays as it is, and no copy is left."""
    checkout.write(LIMITS.format("<=").replace("3", "4", 1), "assert allows(SMALL)")
    before = checkout.git("diff")
    done = checkout.mutate("--since", "HEAD", "--json", str(tmp_path / "found.json"))
    output, errors = done.communicate()
    caught = "caught   tiny/limits.py:6  {}  by tests/test_limits.py::test_allows"
    changes = ("return size <= SMALL -> return None", "size <= SMALL -> size < SMALL")  # the seed decides
    lines = output.splitlines()
    assert lines[0] in ("survived tiny/limits.py:1  4 -> 5", "survived tiny/limits.py:1  4 -> 3"), errors
    assert lines[1] in [caught.format(each) for each in changes]
    assert lines[2].startswith("2 of 2 slips since ")
    assert lines[2].endswith(", seed 0: 1 caught, 0 timeout, 1 survived")
    assert (done.returncode, errors) == (1, "")
    found = json.loads((tmp_path / "found.json").read_text())["slips"]
    assert [(each["line"], each["result"]) for each in found] == [(1, "survived"), (6, "caught")]
    assert (checkout.git("diff"), list(checkout.temporary.iterdir())) == (before, [])


def test_an_interrupted_run_leaves_no_copy(checkout: Checkout) -> None:
    """Nor a test that still runs: it waits for a writer that never comes."""
    checkout.write(LIMITS.format("<="), f"open({str(checkout.root.parent / 'gate')!r}).read()")
    os.mkfifo(checkout.root.parent / "gate")
    process = checkout.mutate("--since", "HEAD")
    with open(checkout.root.parent / "gate", "w"):  # opened once the test waits
        process.send_signal(signal.SIGTERM)
        assert ended(process) == 128 + signal.SIGTERM
    process.communicate()
    assert list(checkout.temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--since", "nothing"], 2, "error: unknown commit: nothing\n"),
        (["--since", "HEAD", "setup.py"], 2, "error: not a module of tiny: setup.py\n"),
        ([], 2, "error: unknown commit: HEAD~1\n"),
        (["--since", "HEAD"], 0, "no line that can have a slip has changed since "),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    checkout: Checkout, arguments: list[str], status: int, says: str
) -> None:
    """And that nothing has changed is no error."""
    process = checkout.mutate(*arguments)
    output = "".join(process.communicate())
    assert (process.returncode, output.count("\n"), output[: len(says)]) == (status, 1, says)
