"""Code of other languages that a line runs: its literals, and what its calls amount to in shell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from hookrun.shell.code import Code, tokens
from hookrun.shell.code_calls import amounts
from hookrun.shell.parse_line import parse_line
from hookrun.shell.words import UNKNOWN

LITERALS = {
    ("py", "f('a' \"b\", r'\\d')  # it's"): ["ab", "\\d"],
    ("py", 'x = """it\'s\n"ok\\""""; f(f"DROP {t} {{x}}")'): ['it\'s\n"ok"', "DROP \0 {x}"],
    ("js", "a.replace(/it's/g, 'b') // don't\n; q(`DROP ${x}`) /* ' */"): ["b", "DROP \0"],
    ("js", "const x = a / b; f('c' + \"\\x64\")"): ["c", "d"],
    ("pl", "s/it's/x/; m{'}; print if /rm '/; f(\"a $x\", q{it's}, qw(b c))"): ["a \0", "it's", "b c"],
    ("rb", "f \"#{x}/y\", %q(it's), %w[a b] # don't"): ["\0/y", "it's", "a b"],
    ("php", "f('a'); // don't\n# it's\ng(\"b {$x['k']}\");"): ["a", "b \0"],
    ("lua", "f('a') -- don't"): ["a"],
    ("awk", '/it\'s/ { system("a") }'): ["a"],
}


def literals(code: Code) -> list[str]:
    """Return the texts in the code, with UNKNOWN for values that are put in; `"a" "b"` is one."""
    texts: list[str] = []
    before = ""
    for token in tokens(code.text, code.family):
        text = UNKNOWN.join(token.parts[::2])
        if token.kind == before == "text":
            texts[-1] += text
        elif token.kind == "text":
            texts.append(text)
        before = token.kind
    return texts


@pytest.mark.parametrize(("family", "code"), LITERALS)
def test_the_texts_of_code_are_its_literals(family: str, code: str) -> None:
    """No comment and no regular expression is one; a value put in is unknown."""
    assert literals(Code(code, family)) == LITERALS[family, code]


GIVEN = {
    "python3 -c \"f('a')\"": ("py", ["a"]),
    "python3.11 -Ic \"f('a')\"": ("py", ["a"]),
    "python - x <<'E'\nf('a')\nE": ("py", ["a"]),
    "echo \"f('a')\" | python3": ("py", ["a"]),
    "sudo uv run python -c \"f('a')\"": ("py", ["a"]),
    "python -m timeit \"f('a')\"": None,
    "python x.py 'a'": None,
    "python manage.py shell -c \"f('a')\"": ("py", ["a"]),
    "django-admin shell <<< \"f('a')\"": ("py", ["a"]),
    "node --input-type module -e \"f('a')\"": ("js", ["a"]),
    "npx tsx --eval=\"f('a')\"": ("js", ["a"]),
    "deno eval \"f('a')\"": ("js", ["a"]),
    "perl -MFoo -lane 'f(\"a\")'": ("pl", ["a"]),
    "ruby -rjson -e 'f \"a\"'": ("rb", ["a"]),
    "bin/rails runner 'f \"a\"'": ("rb", ["a"]),
    "php -r 'f(\"a\");'": ("php", ["a"]),
    "php artisan tinker --execute=\"f('a')\"": ("php", ["a"]),
    "awk -F: -v x=1 '{ f(\"a\") }' /etc/passwd": ("awk", ["a"]),
    "Rscript -e 'f(\"a\")'": ("r", ["a"]),
    "sqlite3 x.db 'a'": None,
}


def test_a_command_has_the_code_that_its_program_gets() -> None:
    """In a word, as an option's value, or as input; not what only names a file."""
    found = {}
    for line in GIVEN:
        codes = [each.code for each in parse_line(line).commands if each.code is not None]
        found[line] = (codes[0].family, literals(codes[0])) if codes else None
    assert found == GIVEN


AMOUNTS = {
    ("py", "import shutil as s, os\ns.rmtree(os.path.expanduser('~/x'))"): ["rm -rf -- /home/me/x"],
    ("py", "from shutil import rmtree as r; r(Path.home() / 'a')"): ["rm -rf -- /home/me/a"],
    ("py", "[os.remove(os.path.join(d, f)) for d, _, fs in os.walk('/') for f in fs]"): ["rm -f -- /*"],
    ("py", "for each in Path('/srv').iterdir():\n    shutil.rmtree(each)"): ["rm -rf -- /srv/*"],
    ("py", "for d in ['/a', '/b']: shutil.rmtree(d)"): ["rm -rf -- /a /b"],
    ("py", "(Path(os.environ['HOME']) / 'x').unlink(missing_ok=True)"): ["rm -f -- /home/me/x"],
    ("py", "d = tempfile.mkdtemp(); shutil.rmtree(d)"): ["rm -rf -- /tmp/tmp.XXXXXXXXXX"],
    ("py", "os.system(f'rm -rf {os.getenv(\"HOME\")}')"): ["rm -rf /home/me"],
    ("py", "subprocess.run(['rm', '-rf', p], check=True)"): ["rm -rf ?"],
    ("py", "sp.check_call('a b'.split())"): ["a b"],
    ("py", "open('/dev/sda', 'wb').write(x); open('a', mode='a'); open('b').read()"): [
        "tee -- /dev/sda", "tee -- a", "cat -- b",
    ],
    ("py", "Path('a').write_text(Path('b').read_text())"): ["cat -- b", "tee -- a"],
    ("py", "print('rm -rf /'); x.remove('a'); s.replace('/etc', 'b'); re.compile('x')"): [],
    ("py", "shutil.rmtree('~')"): ["rm -rf -- ./~"],
    ("js", "require('fs').rmSync(require('os').homedir(), { recursive: true })"): ["rm -rf -- /home/me"],
    ("js", "import { rmSync as r } from 'fs'; r(`${process.env.HOME}/x`)"): ["rm -f -- /home/me/x"],
    ("js", "for (const f of fs.readdirSync(d = '/srv')) fs.rmSync(path.join(d, f))"): ["rm -f -- /srv/*"],
    ("js", "fs.readdirSync('/').forEach((f) => fs.unlinkSync('/' + f))"): ["rm -f -- /*"],
    ("js", "cp.spawn('rm', ['-rf', __dirname], { shell: true }); cp.execSync('ls')"): ["rm -rf ?", "ls"],
    ("js", "await Bun.$`rm -rf ${x}`; await $`ls`"): ["rm -rf ?", "ls"],
    ("js", "await Deno.remove(Deno.env.get('HOME') ?? '/x', { recursive: true })"): ["rm -rf -- /home/me"],
    ("js", "/rm -rf/.test(x); console.log('rm -rf /')"): [],
    ("pl", "remove_tree($ENV{HOME} . '/x'); system 'rm', '-rf', '/'; `ls`; unlink glob '/tmp/*'"): [
        "rm -rf -- /home/me/x", "rm -rf /", "ls", "rm -f -- /tmp/*",
    ],
    ("rb", "FileUtils.rm_rf Dir.home; system \"ls #{x}\"; %x(pwd); Dir.children('/a').each { |f| File.delete(f) }"): [
        "rm -rf -- /home/me", "ls ?", "pwd", "rm -f -- /a/*",
    ],
    ("php", "exec(\"rm \" . getenv('HOME')); unlink('a');"): ["rm /home/me", "rm -f -- a"],
    ("lua", "os.execute('rm -rf ' .. os.getenv('HOME'))"): ["rm -rf /home/me"],
    ("r", "unlink('~', recursive = TRUE)"): ["rm -rf -- /home/me"],
    ("exs", "File.rm_rf!(System.user_home!())"): ["rm -rf -- /home/me"],
    ("awk", 'BEGIN { system("rm -rf ~") }'): ["rm -rf ~"],
    ("scpt", 'do shell script "rm -rf ~"'): ["rm -rf ~"],
}  # fmt: skip


@pytest.mark.parametrize(("family", "code"), AMOUNTS)
def test_calls_amount_to_commands(family: str, code: str) -> None:
    """By the values that are known; what only looks like a call is none."""
    found = [
        each if isinstance(each, str) else " ".join(each) for each, _ in amounts(Code(code, family), "/home/me", "/w")
    ]
    assert [each.replace("\0", "?") for each in found] == AMOUNTS[family, code]


def test_what_a_file_reads_is_not_shown() -> None:
    """The model sees what code in the line reads, not what a program of the project does."""
    assert amounts(Code("open('.env').read()", "py", "x.py"), "/home/me", "/w") == []


@settings(deadline=None)
@given(
    st.sampled_from(["py", "js", "pl", "rb", "php", "lua", "awk", "r", "exs", "scpt"]),
    st.lists(
        st.sampled_from([*"'\"`[]{}().,/$\\\n=| a", "rmtree(", "for x in ", "f'", " as ", "join", "each", "HOME"]),
        max_size=40,
    ),
)  # fmt: skip
def test_no_code_makes_it_fail(family: str, parts: list[str]) -> None:
    """It ends, whatever the code."""
    code = Code("system " + "".join(parts), family)
    literals(code)
    amounts(code, "/home/me", None)


def test_deep_code_ends() -> None:
    """As shell lines do."""
    amounts(Code("system(" * 20_000, "py"), "/home/me", "/w")
