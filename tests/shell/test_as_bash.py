"""The parser finds the calls that run: each line is given to a real bash, and its calls are compared."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookrun.shell.parse_line import parse_line

if TYPE_CHECKING:
    from pathlib import Path

PROBE = """#!/bin/sh
call=$(printf '%s\\037' "$PWD" "$@")
printf '%s\\036' "$call" >> "$LOG"
"""
"""A program that writes down where it was called, and with which arguments: in one write, others do so meanwhile."""

LINES = [
    "probe a b",
    "p''ro\"be\" 'a  b' \"c d\" e\\ f",
    "\\probe \"a\\$b\\\\c\\\"d\\`e\\nf\" 'it''s'",
    'probe "$HOME" ~ ~/x \'~\' "~" a~',
    "probe {a,b}c {1,2}{3,4} x{y} '{a,b}' \"{a,b}\" {a,{b,c}}",
    "probe $'a\\tb\\x41\\101\\'c' $\"d\"",
    'x="a  b"; probe $x "$x" "[$x]" \'$x\' ${x} "${x}y"',
    "x=1 probe a; x=2; probe [$x]",
    "a=pro; b=be; $a$b c",
    'x=ab; x+=cd; export Y="$x e"; probe $Y "$Y"',
    'x=; probe $x "$x" end',
    'x=a; unset x; probe "[$x]"',
    'probe "${HOME:-a}" "${HOME:?}/b"',
    "cd sub && probe a; cd .. ; probe b; cd - > /dev/null; probe c; cd; probe d",
    "(cd sub; probe a); probe b; { cd sub; probe c; }; probe d",
    "cd sub | probe a; probe b",
    "cd nowhere 2> /dev/null || probe a",
    'probe${IFS}a; IFS=_; x=a_b; probe $x "$x"',
    "bash <(echo probe a); . <(echo 'probe b'); source /dev/stdin <<< 'probe c'",
    "for i in a 'b c' {d,e}; do probe \"$i\" $i; done",
    "case x in a) ;; x) probe x;; esac",
    'f() { probe "$@" "$1" $#x; }; f a \'b c\'',
    'f() { probe "$@"; }; g() { shift; f "$@"; }; g a \'b c\' d',
    "function f { cd sub; }; f; probe a",
    'set -- a \'b c\'; probe "$@" "$2"',
    "probe \"$(echo 'a  b')\" $(echo c d) `echo e` \"$(printf '%s-%s' f g)\"",
    'probe "$(cat <<\'END\'\na "b" $c\nEND\n)"',
    'probe $(pwd) "$PWD"',
    "$(echo probe) a",
    "eval 'probe \"a b\"' c",
    "eval probe '$HOME'",
    "bash -c 'probe \"$1\" \"$2\"' name a 'b c'",
    "bash -ec 'cd sub; probe a'; probe b",
    "sh -c \"sh -c 'probe a'\"",
    "echo 'probe a \"b c\"' | bash",
    "printf 'probe %s\\n' a b | sh -s",
    "echo cHJvYmUgYQ== | base64 -d | sh",
    "bash <<< 'probe a; probe b'",
    "bash <<'END'\nx=1\nprobe \"$x\" \\\n  b\nEND\nprobe c",
    "x=1; bash <<END\nprobe \"$x\" '$HOME' \\$HOME `echo d`\nEND",
    'cat <<-END | bash -s a\n\tprobe "\\$1"\n\tEND',
    "bash <<END && probe b\nprobe a\nEND",
    "cat > /dev/null <<END; probe a\nprobe b\nEND",
    "probe a <<END > out; probe b\nx\nEND",
    "probe a > out b 2>&1 c; >out probe d; 2> out probe e",
    'env probe a; env -i PATH="$PATH" LOG="$LOG" probe b; env -C sub probe c; env -S \'probe d\' e',
    "timeout 5 probe a; timeout -k 1 5 nice -n 1 probe b; nohup probe c > /dev/null 2>&1",
    "command probe a; exec probe b",
    "time probe a; ! probe b",
    "echo a b | xargs probe; echo a b | xargs -n 9 probe c; echo d | xargs -I{} probe 'x{}y' {}",
    "printf 'a\\0b' | xargs -0 probe",
    "find sub -maxdepth 0 -exec probe a \\; ; find sub -maxdepth 0 -exec sh -c 'probe b' \\;",
    "probe a & wait; probe b",
    "probe a # probe b",
    "# probe a\nprobe b",
    "true && probe a || true; false || probe b",
    "trap 'probe a' EXIT; probe b",
    "probe a | probe b | probe c; wait",
    "((1 < 2)) && probe a; [[ a == a ]] && probe b; [ -d sub ] && probe c",
    "for ((i = 0; i < 1; i++)); do probe a; done",
    "probe -; cat - < /dev/null; probe - a",
    "$'\\x70robe' a; /usr/bin/env probe b",
    "probe é \"ü b\" '日本'",
]
"""The calls of each are known from the line alone, and every branch that is read is also taken."""

NOT_TAKEN = ["if cd sub; then probe a; else probe b; fi", "probe a;probe b&&probe c||probe d;(probe e)"]
"""In each of these a branch is read that is not taken."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home directory with `probe` on PATH, and a directory to work in."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "bin" / "probe").write_text(PROBE)
    (tmp_path / "bin" / "probe").chmod(0o755)
    return tmp_path


def calls(line: str, home: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return the calls of probe, each as its directory and arguments: those that are read, and those that bash made."""
    work, log = home / "work", home / "log"
    environment = {"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": str(home), "LOG": str(log)}
    log.write_text("")
    subprocess.run(["bash", "-c", line], cwd=work, env=environment, stdin=subprocess.DEVNULL, check=False)
    ran = [call.split("\x1f")[:-1] for call in log.read_text().split("\x1e")[:-1]]
    commands = parse_line(line, directory=str(work), variables=environment).commands
    read = [[str(each.directory), *each.arguments] for each in commands if each.program == "probe"]
    return sorted(read), sorted(ran)


def test_a_line_is_read_as_bash_runs_it(home: Path) -> None:
    """The same calls, in the same directories, with the same arguments."""
    found = {line: calls(line, home) for line in LINES}
    assert {line: (read, ran) for line, (read, ran) in found.items() if read != ran or not ran} == {}


def test_branches_that_bash_does_not_take_are_read_too(home: Path) -> None:
    """They may be taken another time."""
    found = {line: calls(line, home) for line in NOT_TAKEN}
    missed = {line: (read, ran) for line, (read, ran) in found.items() if not all(call in read for call in ran)}
    assert missed == {}
    assert {line: (len(read) - len(ran)) for line, (read, ran) in found.items()} == dict.fromkeys(NOT_TAKEN, 1)
