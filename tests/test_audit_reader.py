"""The audit is read backwards: in blocks, over rotated files, whatever their bytes, and while it is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hookrun.core import audit, audit_reader

if TYPE_CHECKING:
    from collections.abc import Iterable

LINES = st.lists(st.one_of(st.binary(max_size=30), st.integers(0, 9).map(lambda size: size * "x")), max_size=20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the audit of the home `tmp_path` is."""
    found = Path(audit.path(str(tmp_path)))
    found.parent.mkdir(parents=True)
    return found


def lines(*numbers: int, **fields: object) -> bytes:
    """Return a record with each number."""
    return b"".join(json.dumps({"v": 1, "number": number, **fields}).encode() + b"\n" for number in numbers)


def numbers(home: Path) -> list[object]:
    """Return the numbers of all records, newest first."""
    return [record["number"] for record in audit_reader.newest_first(str(home))]


def fired(name: str, kind: str, **fields: object) -> bytes:
    """Return a record of a request."""
    return json.dumps({"v": 1, "kind": kind, "request_id": name, **fields}).encode() + b"\n"


def found(home: Path) -> list[tuple[str, list[str]]]:
    """Return each request, newest first, with the kinds of its records in order."""
    fires = list(audit_reader.fires(str(home)))
    return [
        (each.request_id, [str(record["kind"]) for record in (each.start, *each.hooks, each.fire) if record])
        for each in fires
    ]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(LINES, st.integers(1, 12))
def test_lines_are_those_of_the_file_backwards(path: Path, parts: list[bytes | str], block: int) -> None:
    """Whatever the size of a block: split lines, empty ones, ones longer than a block, none at the end."""
    written = [(number, each) for number, each in enumerate(parts) if isinstance(each, str)]
    texts = {number: json.dumps({"v": 1, "number": number, "x": each}).encode() for number, each in written}
    path.write_bytes(b"\n".join(texts.get(number, part) for number, part in enumerate(parts)))  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_reader, "BLOCK", block)
        assert numbers(path.parents[3]) == [*texts][::-1]


def test_a_line_too_long_for_a_record_is_left_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not held in memory; what is around it is read."""
    monkeypatch.setattr(audit_reader, "BLOCK", 64)
    monkeypatch.setattr(audit_reader, "MAX_LINE", 256)
    path.write_bytes(lines(1) + b'{"v":1,"number":2,"x":"' + b"x" * 1000 + b'"}\n' + lines(3))
    assert numbers(path.parents[3]) == [3, 1]


def test_odd_bytes_are_passed_over(path: Path) -> None:
    """Bytes that are no UTF-8, NULs, other line ends, lone surrogates, records of a newer version."""
    odd = [b"\xff\xfe", b"\0" * 5, b'{"v":1}\r\r', b'{"v":1,"x":"\\ud800"}', b'{"v":9,"number":7}', b"[]", b"{}", b""]
    path.write_bytes(lines(1) + b"\n".join(odd) + b"\n" + lines(2))
    records = list(audit_reader.newest_first(str(path.parents[3])))
    assert [record["number"] for record in records if "number" in record] == [2, 1]


def test_rotated_files_follow_the_newest(path: Path) -> None:
    """Across the border of two files, too, and up to the first number that is missing."""
    for suffix, number in (("", 4), (".1", 3), (".2", 2), (".4", 1)):
        Path(f"{path}{suffix}").write_bytes(lines(number))
    assert numbers(path.parents[3]) == [4, 3, 2]


def test_a_file_that_is_rotated_meanwhile_is_read_once(path: Path) -> None:
    """The lines at the beginning, and none twice, however often it is rotated; a removed file is left out."""
    for suffix, number in (("", 4), (".1", 3), (".2", 2), (".3", 1)):
        Path(f"{path}{suffix}").write_bytes(lines(number))
    records = audit_reader.newest_first(str(path.parents[3]))
    read = [next(records)["number"]]
    for newer in (5, 6):
        Path(f"{path}.3").unlink(missing_ok=True)
        for number in (2, 1):
            Path(f"{path}.{number}").rename(f"{path}.{number + 1}")
        path.rename(f"{path}.1")
        path.write_bytes(lines(newer))
    read += [record["number"] for record in records]
    assert read == [4, 3][: len(read)]
    assert len(read) == len(set(map(str, read)))
    assert numbers(path.parents[3])[:2] == [6, 5]


def test_what_is_appended_meanwhile_is_left_out(path: Path) -> None:
    """The file is read in its state at the time of opening."""
    path.write_bytes(lines(1, 2))
    records = audit_reader.newest_first(str(path.parents[3]))
    assert next(records)["number"] == 2
    with path.open("ab") as file:
        file.write(lines(3))
    assert [record["number"] for record in records] == [1]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([fired("a", "hook"), fired("a", "fire", ms=1)], [("a", ["hook", "fire"])]),
        (
            [fired("a", "start"), fired("b", "fire", ms=1), fired("a", "hook"), fired("a", "fire", ms=1500)],
            [("a", ["start", "hook", "fire"]), ("b", ["fire"])],
        ),
        (
            [
                fired("a", "hook", background=True),
                fired("a", "fire", ms=1),
                fired("b", "fire", ms=1),
                fired("a", "background"),
            ],
            [("a", ["hook", "background", "fire"]), ("b", ["fire"])],
        ),
        (
            [
                fired("a", "background"),
                fired("b", "fire", ms=1),
                fired("a", "hook", background=True),
                fired("a", "fire", ms=1),
            ],
            [("a", ["background", "hook", "fire"]), ("b", ["fire"])],
        ),
        ([fired("a", "start"), fired("b", "fire", ms=1)], [("b", ["fire"]), ("a", ["start"])]),
        ([fired("b", "fire", ms=1), fired("a", "background")], [("b", ["fire"]), ("a", ["background"])]),
        ([fired("a", "hook")], [("a", ["hook"])]),
    ],
    ids=["quick", "slow", "background after", "background before", "killed", "background alone", "torn"],
)
def test_the_records_of_a_request_come_together(
    path: Path, records: Iterable[bytes], expected: list[tuple[str, list[str]]]
) -> None:
    """Also those that other runs were written between."""
    path.write_bytes(b"".join(records))
    assert sorted(found(path.parents[3])) == sorted(expected)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_audit(path: Path) -> None:
    """Neither for the newest run, nor where a filter matches none of 60 MB."""
    path.write_bytes(b"".join(fired(f"{number:016x}", "fire", ms=1, x="x" * 500) for number in range(100_000)))
    program = (
        "import resource, sys; from hookrun.core import audit_reader\n"
        "begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(len(audit_reader.latest_fires(sys.argv[1], lambda fired: sys.argv[2] == 'all', 1)))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun)\n"
    )
    unit = 1 if sys.platform == "darwin" else 1024
    for which, expected in (("all", 1), ("none", 0)):
        done = subprocess.run(
            [sys.executable, "-c", program, str(path.parents[3]), which], capture_output=True, text=True, check=True
        )
        count, grown = map(int, done.stdout.split())
        assert count == expected
        assert grown * unit < 16 << 20
