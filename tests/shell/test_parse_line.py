"""Facts about a line besides its words: unknown parts, wrappers, and where parsing ends."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from hookrun.shell.parse_line import MAX_BYTES, parse_line
from hookrun.shell.prefilter import may_run
from hookrun.shell.simple_command import SimpleCommand
from hookrun.shell.words import UNKNOWN


def rm(line: str) -> list[SimpleCommand]:
    """Return the calls of rm in a line; these lines have one each."""
    reading = parse_line(line, directory="/srv", variables={"HOME": "/home/me"})
    return [each for each in reading.commands if each.program == "rm"]


UNKNOWNS = {
    "rm $x": UNKNOWN,
    'rm "$x"/*': f"{UNKNOWN}/*",
    "rm ${HOME%/*}": UNKNOWN,
    "rm ${x:+/}": UNKNOWN,
    "rm $(date)": UNKNOWN,
    "rm a$((1 + 1))": f"a{UNKNOWN}",
    "a=(x y); rm ${a[$i]}": UNKNOWN,
    "rm ${a[0]}": UNKNOWN,
    "read x; rm $x": UNKNOWN,
    "if a; then x=1; else x=2; fi; rm $x": UNKNOWN,
    "for x in {1,2,3,4}{1,2,3,4}{1,2}; do rm $x; done": UNKNOWN,
    "ls x | xargs rm": UNKNOWN,
    "find a -exec rm {} +": f"a/{UNKNOWN}",
    "rm <(ls)": UNKNOWN,
}


def test_what_only_a_shell_would_know_is_unknown() -> None:
    """It is not guessed, and the known parts around it stay."""
    found = {line: [each.arguments for each in rm(line)] for line in UNKNOWNS}
    assert found == {line: [[argument]] for line, argument in UNKNOWNS.items()}


DIRECTORIES = {
    "cd $x; rm a": None,
    "cd $x; cd /tmp; rm a": "/tmp",
    "popd; rm a": None,
    "cd a/../b; rm a": "/srv/b",
    "cd //; rm a": "/",
    "if a; then cd x; else cd y; fi; rm a": None,
    "if a; then cd x; fi; rm a": "/srv/x",
    "cd x || cd y; rm a": None,
    "cd x || exit; rm a": "/srv/x",
    "pushd /tmp; rm a": "/tmp",
    "sudo -D /tmp rm a": "/tmp",
    "ssh host rm a": None,
    "chroot /mnt rm a": None,
}


def test_the_directory_is_what_cd_says() -> None:
    """Where two branches differ, or the words of `cd` are not known, it is not known."""
    found = {line: [each.directory for each in rm(line)] for line in DIRECTORIES}
    assert found == {line: [directory] for line, directory in DIRECTORIES.items()}


WRAPPED = {
    "rm a": (),
    "sudo -u me -- rm a": ("sudo",),
    "sudo FOO=1 timeout -s KILL 5 nice rm a": ("sudo", "timeout", "nice"),
    "doas rm a": ("doas",),
    "su - me -c 'rm a'": ("su",),
    "script -qc 'rm a' /dev/null": ("script",),
    "flock /tmp/lock -c 'rm a'": ("flock",),
    "flock -w 5 /tmp/lock rm a": ("flock",),
    "watch -n 1 rm a": ("watch",),
    "npx -y -p pkg -c 'rm a'": ("npx",),
    "npx --call='rm a'": ("npx",),
    "npm exec --call 'rm a'": ("npm",),
    "sudo bash -c 'env rm a'": ("sudo", "bash", "env"),
    "parallel rm ::: a": ("parallel",),
    "sudo -s <<< 'rm a'": ("sudo",),
    "ssh -p 22 me@host <<'E'\nrm a\nE": ("ssh",),
    "fly ssh console -a shop -C 'rm a'": ("fly",),
    "gcloud compute ssh web --command='rm a' -- -A": ("gcloud",),
    "doctl compute ssh web --ssh-command 'rm a'": ("doctl",),
    "vagrant ssh web -c 'rm a'": ("vagrant",),
    "az vm run-command invoke -n web --scripts 'rm a'": ("az",),
    "pdsh -w 'web[1-9]' rm a": ("pdsh",),
    "dsh -g web -- 'rm a'": ("dsh",),
    "aws ecs execute-command --task t --command 'rm a'": ("aws",),
    'aws ssm send-command --parameters \'commands=["cd /x","rm a"]\'': ("aws",),
    """aws ssm send-command --parameters '{"commands": ["rm a"], "workingDirectory": ["/x"]}'""": ("aws",),
    "busybox rm a": ("busybox",),
    "ionice -c 3 stdbuf -oL setsid rm a": ("ionice", "stdbuf", "setsid"),
}


def test_what_wraps_a_command_is_told() -> None:
    """The outermost first, each past its own options."""
    found = {line: [(each.wrappers, each.arguments) for each in rm(line)] for line in WRAPPED}
    assert found == {line: [(wrappers, ["a"])] for line, wrappers in WRAPPED.items()}


NOT_RUN = [
    "command -v rm",
    "npx rm.js -c 'rm a'",
    "npm run x -c 'rm a'",
    "npx -c",
    "fly deploy -c 'rm a'",
    "aws cloudformation deploy --parameters 'ParameterKey=rm,ParameterValue=a'",
    "sudo -l rm",
    "echo rm",
    "bash rm.sh",
    "f() { rm a; }",
    "cat <<'E'\nrm a\nE",
    "type rm",
    "env",
    "# rm",
]


def test_what_is_not_run_is_no_command() -> None:
    """A name, a text, a function that is never called."""
    assert {line: commands for line in NOT_RUN if (commands := rm(line))} == {}


def test_redirections_are_told_with_their_descriptors() -> None:
    """And `2>&1` writes no file."""
    [command] = rm("rm a > out 2>> err < in 2>&1 &> both >| over")
    told = [
        (each.descriptor, each.operator, each.target.text, each.writes, each.reads) for each in command.redirections
    ]
    assert told == [
        ("", ">", "out", True, False),
        ("2", ">>", "err", True, False),
        ("", "<", "in", False, True),
        ("2", ">&", "1", False, False),
        ("", "&>", "both", True, False),
        ("", ">|", "over", True, False),
    ]


def test_a_word_knows_where_it_stands_as_it_is() -> None:
    """In bytes; a word that a quote or a variable has changed has no position."""
    line = "é; bash -c 'cd x && npm i' \"$y\" n''pm"
    commands = parse_line(line).commands
    npm = next(each for each in commands if each.program == "npm")
    places = [line.encode().index(word) for word in (b"npm", b"i' ")]
    assert [word.at for word in npm.words] == places
    bash = next(each for each in commands if each.program == "bash")
    assert [word.at for word in bash.words] == [4, 9, 13, None, None]


def test_a_function_that_calls_itself_is_told_and_ends() -> None:
    """The nested call is a command like any other, which refers to the outer one."""
    within = [each for each in parse_line(":(){ :|:& };:").commands if each.within]
    assert [(each.program, each.within, each.beside) for each in within] == [(":", (":",), True)] * 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("rm a", None),
        ("rm 'a", "syntax"),
        ("if a; then rm a", "syntax"),
        ("rm a)", "syntax"),
        ("$(" * 200 + ")" * 200, "too deep"),
        ("if a; then " * 60 + "rm a;" + " fi;" * 60, "too deep"),
        ("eval " * 20 + "rm a", "too deep"),
        ("a;" * 2000, "too long"),
        ("for a in 1 2 3 4 5 6 7 8 9; do " * 8 + "b=1;" + " done;" * 8, "too long"),
        ("rm " + "a" * MAX_BYTES, "too long"),
    ],
)
def test_a_line_that_is_not_read_to_its_end_says_why(line: str, problem: str | None) -> None:
    """One that is no shell, that is nested too deep, that is too long or runs too many commands."""
    assert parse_line(line).problem == problem


def test_what_doubles_itself_is_unknown_before_it_is_large() -> None:
    """A variable that is put into itself again and again."""
    command = parse_line("x=ab; " + 'x="$x$x";' * 60 + "rm $x").commands[-1]
    assert command.arguments == [UNKNOWN]


PARTS = st.sampled_from([
    "rm", "-rf", "/", "'", '"', "$(", ")", "`", "<<E", "\nE\n", "|", "&&", ";", "&", "{", "}", "(", "if", "then",
    "fi", "for x in a", "do", "done", "case x in", "esac", "$x", "${x", "\\", "\n", " ", "$'\\x72'", "<(", "> f",
    "2>&1", "<<<", "f()", "x=1", "export", "[[", "]]", "é", "�", "\x00", "bash -c", "eval", "xargs", "sudo",
    "find . -exec",
])  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(PARTS, max_size=25), st.sampled_from(["", " "]))
def test_no_line_makes_it_fail(parts: list[str], between: str) -> None:
    """Whatever an agent writes."""
    reading = parse_line(between.join(parts), directory="/srv", variables={"HOME": "/home/me"})
    assert reading.problem in {None, "syntax", "too deep", "too long"}


QUOTED = st.sampled_from(
    ["rm", "r''m", '"rm"', "\\rm", "r\\m", "/bin/rm", "$'rm'", "${x:-rm}", "r?", "{rm,}", "R''M", "r\\\nm"]
)
AROUND = st.sampled_from([
    "{}", "sudo {}", "cd /;{}", "x&&{}", "({})", "x|{}", "a=1 {}", "bash -c '{}'", 'eval "{}"', "$({})", "<f {}",
    "`{}`", "x <<E;{}\nE", "if a;then {};fi", "env -S'{}'", "su -c'{}'", "xargs -n1 {}", "find . -exec {}",
])  # fmt: skip


@given(QUOTED, AROUND, AROUND)
def test_the_cheap_look_sees_whatever_is_read(program: str, inner: str, outer: str) -> None:
    """Where a command is found in a line, the look before it has not ruled it out."""
    line = outer.replace("{}", inner.replace("{}", f"{program} -rf /"))
    assert may_run(line, ("rm",))


def test_the_cheap_look_spares_what_is_usual() -> None:
    """Nothing is parsed for these."""
    lines = ("ls -la", "cargo fmt && cargo test", "git status | head -n 5", "ls *.py", "python perform.py")
    assert [line for line in (*lines, "echo format > x") if may_run(line, ("rm", "dd", "mkfs"))] == []


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "line",
    [
        "rm -rf " + "{a,b}" * 30,
        "rm -rf " + "{a,b}" * 3000,
        "echo " + "{a," * 60 + "x" + "}" * 60 + "{a,b}" * 9,
        "echo {" + "a," * 60_000 + "b}",
        "x=" + "a" * 60_000 + "; echo" + " $x" * 60_000,
        "x=" + "a" * 60_000 + "; y=$(echo" + " $x" * 60_000 + ")",
        "x=" + "a" * 60_000 + "; printf '%s'$x" + " b" * 60_000,
        "x=" + "a" * 60_000 + ";" + "eval $x;" * 900,
        "x='" + "if ;" * 500 + "';" + 'eval "$x";' * 900,
        "set -- " + "a " * 900 + ";" + 'set -- "$@" "$@" "$@" "$@";' * 900,
        "find" + " a" * 30_000 + " -name b" * 20_000 + " -exec rm {} +",
        "parallel echo" + " {}" * 30_000 + " :::" + " a" * 30_000,
        "find . -exec echo" + " {}" * 30_000 + " \\;",
        "b=" + "a" * 60_000 + ";" + "a+=$b;" * 20_000,
        "f() { f0; f0; }; " + "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}; " for n in range(40)) + "f",
        "for a in {1,2,3,4}{1,2,3,4}; do " * 9 + "rm $a; " + "done; " * 9,
        "( " * 2000 + "rm" + " )" * 2000,
        "echo " + "$(" * 3000,
    ],
    ids=range(18),
)
def test_a_line_takes_neither_long_nor_much(line: str) -> None:
    """Whatever it multiplies, memory and steps are bounded (in a separate process: this one holds all tests)."""
    program = (
        "import resource, sys\n"
        "from hookrun.shell.parse_line import parse_line\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "parse_line(sys.stdin.read(), directory='/srv/app')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_braces_of_many_words_are_words() -> None:
    """A thousand is no reason to know nothing: `rm -rf {/,1,2,...}` removes the root."""
    numbers = ",".join(map(str, range(500)))
    (command,) = parse_line(f"rm -rf {{/,{numbers}}}").commands
    assert "/" in command.arguments


def test_any_character_may_follow_a_brace() -> None:
    """The grammar's scanner, which is C, crashed the process at some of them: a segmentation fault."""
    characters = ["\U000f1dea", "\U0005790f", "\U0001f389", "\u2003", "é"]
    program = (
        "import sys; from hookrun.shell.parse_line import parse_line\n"
        "for char in sys.argv[1:]:\n"
        "    print(parse_line(f'true {{{char}; rm {char}').commands[-1].words, flush=True)"
    )
    line = [sys.executable, "-c", program, *characters]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"[Word('rm'), Word({char!r})]" for char in characters], done
    assert done.returncode == 0, done.stderr[-2000:]
