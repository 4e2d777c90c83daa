"""Find in code the calls that remove files or run commands, as the shell commands that they amount to.

The code is not run: a name has the value last given to it, one in a loop that of all its items, and each branch counts.
"""

from __future__ import annotations

import re

from hookrun.shell.code import BARE_CALLS, JOINING_BY_DOT, Token, tokens
from hookrun.shell.words import MAX_LENGTH, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookrun.shell.code import Code

    Value = str | list["Value"]

# What a call amounts to :: the functions, from the documentation of Python, Node, Deno, Bun, Perl, Ruby, PHP, Lua, R,
# Elixir, fs-extra, rimraf, del and execa. One with a dot needs what is before it. `line`: its first argument is a line,
# or its arguments are words; `rm -f`: `rm -rf` if it says `recursive`; `open`: by its mode.
CALLS = """
rm -rf :: rmtree rm_rf rm_r remove_tree remove_dir remove_entry remove_entry_secure rimraf rimrafSync removeSync
    emptyDir emptyDirSync deleteSync del deleteAsync fse.remove fs.remove File.rm_rf FileUtils.rm_rf
rm -f :: rm rmSync rmdir rmdirSync os.remove os.removedirs unlink unlinkSync File.delete Deno.remove Deno.removeSync
line :: system popen getoutput getstatusoutput execSync exec shell_exec passthru proc_open System.shell os.execute run
    call check_call check_output Popen spawn spawnSync execFile execFileSync execa execaSync execaCommand execvp execv
    execl execlp sh script create_subprocess_shell create_subprocess_exec Deno.Command capture2 capture2e capture3
    System.cmd
mv :: os.rename os.replace renameSync shutil.move fs.rename FileUtils.mv File.rename
cp :: shutil.copy shutil.copy2 shutil.copyfile shutil.copytree copyFileSync cpSync fs.cp fs.copyFile FileUtils.cp
cat :: read_text read_bytes readFileSync readFile File.read File.readlines file_get_contents
tee :: write_text write_bytes writeFileSync writeFile file_put_contents File.write truncateSync
open :: open
"""
# A value :: the functions and attributes with it: a directory, or one made of the receiver and the first argument.
VALUES = """
home :: home homedir user_home
directory :: cwd getcwd pwd
temporary :: tmpdir gettempdir mkdtemp mkdtempSync temp_dir sys_get_temp_dir mktmpdir tempdir makeTempDir
    makeTempDirSync TemporaryDirectory tmp_dir
expanded :: expanduser expand_path glob rglob expand
joined :: join resolve joinpath catfile catdir
within :: iterdir scandir children each_child
names :: listdir readdirSync readdir entries
same :: Path PurePath PosixPath Pathname String str abspath absolute realpath normpath normalize fspath as_posix
    toString to_s trim strip encode fileURLToPath abs_path realpathSync path list sorted reversed quote shellescape
variable :: getenv get fetch
split :: split
walked :: walk
"""


def _table(text: str) -> dict[str, str]:
    rows = (row.partition(" :: ") for row in text.strip().replace("\n    ", " ").split("\n"))
    return {name: how for how, _, names in rows for name in names.split()}


CALLED, VALUED = _table(CALLS), _table(VALUES)
# What code says that may matter.
SIGNS = rf"\b(?:{'|'.join(sorted({name.rpartition('.')[2] for name in CALLED}))})\b|`|%x|qx|\$$"
# The mode of `open` that writes.
WRITING = r"[rbt]*[wax+>]"

VARIABLES = frozenset({"env", "environ", "ENV", "$ENV", "$_SERVER", "$_ENV", "Env"})
LOOPING = frozenset({"forEach", "map", "each", "each_child", "each_entry"})
# Represents a new directory, as `mktemp -d` makes one.
TEMPORARY = "/tmp/tmp.XXXXXXXXXX"  # noqa: S108
# What may precede a value or a statement.
_PREFIXES = "! - * & \\ @ : await const let local my new not return var yield"
PREFIXES = frozenset(_PREFIXES.split())
CLOSING = {"(": ")", "[": "]", "{": "}"}
# Tokens that are read, so that code of 64 KiB takes a tenth of a second.
MAX_TOKENS = 20_000


def amounts(code: Code, home: str, directory: str | None) -> list[tuple[list[str] | str, int]]:
    """Return the words or the shell line that each call amounts to, with its line in the code."""
    if re.search(SIGNS, code.text) is None:
        return []
    parts = [token for token, _ in zip(tokens(code.text, code.family), range(MAX_TOKENS), strict=False)]
    known = {"home": home, "directory": directory or UNKNOWN, "temporary": TEMPORARY}
    reader = _Reader(code, known, parts)
    for _ in range(2):  # a comprehension's loop stands behind its value
        reader.found.clear()
        try:
            _Reader(code, known, parts, reader).statements("")
        except RecursionError:
            pass
    return reader.found


class _Reader:
    """Reads tokens; what an `outer` one knows of names, and has found, is shared with it."""

    def __init__(self, code: Code, known: dict[str, str], parts: list[Token], outer: _Reader | None = None) -> None:
        self._code = code
        self._known = known
        self._parts = parts
        self._at = 0
        self._names: dict[str, Value] = outer._names if outer is not None else {}  # noqa: SLF001
        self._also: dict[str, str] = outer._also if outer is not None else {}  # noqa: SLF001
        self.found: list[tuple[list[str] | str, int]] = outer.found if outer is not None else []

    def _peek(self, ahead: int = 0) -> Token:
        at = self._at + ahead
        return self._parts[at] if at < len(self._parts) else Token("end", "", 0)

    def _is(self, *texts: str, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        return token.kind in {"name", "sign"} and token.text in texts

    def _take(self, count: int = 1) -> Token:
        self._at += count
        return self._parts[self._at - 1]

    def statements(self, close: str) -> list[Value]:
        """Read up to a closing sign; return the values between commas, without named ones."""
        values: list[Value] = []
        apart = True
        while self._at < len(self._parts) and not self._is(close):
            if self._peek().kind == "end" or self._is(",", ")", "]", "}", "=>"):
                apart = True
                self._at += 1
                continue
            named = close == ")" and (self._is("=", ":", "=>", ahead=1) or self._is("{"))
            value = self._statement()
            values += [value] if apart and not named else []
            apart = False
        self._at += 1
        return values

    def _statement(self) -> Value:
        name = self._peek()
        if name.kind != "name":
            return self.expression()
        if self._is("for", "foreach"):
            return self._loop()
        if self._is("=", ":=", "<-", ahead=1):
            self._at += 2
            self._names[name.text.lstrip("$@")] = value = self.expression()
            return value
        if self._is("as", ahead=1):
            self._also[self._peek(2).text] = name.text
        return self.expression()

    def _loop(self) -> Value:
        """Bind the names of `for NAMES in VALUE` and `foreach my NAME (VALUE)`."""
        self._at += 1
        ahead = next((ahead for ahead in range(12) if self._is("in", "of", ahead=ahead)), 0)
        if not ahead and self._is("my", "our"):
            ahead = 1
        names = [each.text for each in self._parts[self._at : self._at + ahead + 1] if each.kind == "name"]
        if ahead:
            self._at += ahead + 1
            value = self.expression()
            items = value[0] if len(names) > len("xi") and isinstance(value, list) and value else value
            bound = [each for each in names if each not in {*PREFIXES, "in", "of", "our"}]
            several = len(bound) > 1 and isinstance(items, list)
            for index, name in enumerate(bound):
                each = items[index : index + 1] if several and isinstance(items, list) else items
                self._names[name.lstrip("$@")] = each
        return UNKNOWN

    def expression(self) -> Value:
        """Read a value: terms joined by signs."""
        value = self._term()
        while self._peek().kind == "sign":
            by_dot = self._is(".") and self._code.family in JOINING_BY_DOT
            if not by_dot and not self._is("+", "..", "<>", "/", "||", "??"):
                break
            sign, other = self._take().text, self._term()
            if sign in {"||", "??"}:
                value = other if value == UNKNOWN else value
            elif isinstance(value, list) and isinstance(other, list):
                value = [*value, *other]
            else:
                value = f"{_text(value).rstrip('/')}/{_text(other)}" if sign == "/" else _text(value) + _text(other)
        return value

    def _term(self) -> Value:
        token = self._peek()
        while self._is(*PREFIXES) and self._peek(1).kind != "end":
            if self._take().kind == "name":
                return self._statement()
            token = self._peek()
        self._at += 1
        value: Value = UNKNOWN
        if token.kind == "text":
            value = self._put_in(token)
            while self._peek().kind == "text":
                value += self._put_in(self._take())
        elif token.kind == "name":
            value = self._names.get(token.text.lstrip("$@"), UNKNOWN)
            return self._chain([token.text], value)
        elif token.kind == "sign" and token.text in CLOSING:
            values = self.statements(CLOSING[token.text])
            if token.text != "{":
                value = values[0] if token.text == "(" and len(values) == 1 else values
        return self._chain([], value)

    def _put_in(self, token: Token) -> str:
        """Return a text with the values put into it."""
        made = ""
        for index, part in enumerate(token.parts):
            inner = [Token(each.kind, each.text, token.line, each.parts) for each in tokens(part, self._code.family)]
            made += _text(_Reader(self._code, self._known, inner, self).expression()) if index % 2 else part
        if token.shell:
            self.found.append((made, token.line))
        return made[:MAX_LENGTH]

    def _chain(self, names: list[str], value: Value) -> Value:
        """Read what follows a value: attributes, calls and indices."""
        receiver: Value = UNKNOWN
        while True:
            token = self._peek()
            if names and names[-1][-1:] == "$" and token.kind == "text":  # `$` of Bun and zx
                self._put_in(Token("text", "", token.line, self._take().parts, shell=True))  # noqa: S604
            elif self._is(".", "->", "::", "?.") and self._peek(1).kind == "name":
                if token.text == "." and self._code.family in JOINING_BY_DOT:
                    return value
                receiver, name = value, self._take(2).text
                plain = VALUED.get(name) in {"home", "directory", "temporary", "same"} and not self._is("(")
                value = self._result(VALUED[name], receiver, []) if plain else UNKNOWN
                value = self._variable(names[-1:], name, value)
                names = [*names, name]
                if name in LOOPING:
                    self._bind_block(receiver)
            elif names and (self._is("(") or self._calls_bare(names[-1])):
                start = self._at
                bare = not self._is("(")
                self._at += not bare
                args = self._bare_arguments() if bare else self.statements(")")
                inside = " ".join(each.text for each in self._parts[start : self._at])
                value, names = self._called(names, receiver, args, inside, token.line), [""]
            elif self._is("[") or (self._is("{") and names and names[-1] in VARIABLES):
                key = self._peek(1).text
                self.statements(CLOSING[self._take().text])
                value, names = self._variable(names[-1:], key, UNKNOWN), [""]
            else:
                return value

    def _variable(self, names: list[str], key: str, other: Value) -> Value:
        """Return the home directory for `ENV["HOME"]` and its like."""
        return self._known["home"] if key == "HOME" and not VARIABLES.isdisjoint(names) else other

    def _calls_bare(self, name: str) -> bool:
        """Return whether a call's arguments follow without parentheses."""
        begins = self._peek().kind in {"name", "text"} or self._is("[")
        return begins and self._code.family in BARE_CALLS and (name in CALLED or name in VALUED)

    def _bare_arguments(self) -> list[Value]:
        args = [self.expression()]
        while self._is(","):
            self._at += 1
            args.append(self.expression())
        return args

    def _bind_block(self, value: Value) -> None:
        """Bind the name of `.forEach(NAME => ...)` and `.each { |NAME| ... }`."""
        ahead = (self._peek(ahead) for ahead in range(5))
        name = next((each.text for each in ahead if each.kind == "name" and each.text not in {"async", "do"}), "")
        self._names[name.lstrip("$")] = value

    def _called(self, names: list[str], receiver: Value, args: list[Value], inside: str, line: int) -> Value:
        """Return a call's value; note what it amounts to."""
        name = self._also.get(names[-1], names[-1]).rstrip("!?")
        before = self._also.get(names[-2], names[-2]) if len(names) > 1 else "os"  # `from os import remove`
        how = CALLED.get(f"{before}.{name}") or CALLED.get(name)
        if how == "open":
            mode = _text(args[1]) if len(args) > 1 else "".join(re.findall(r"mode = (\w+)", inside)[:1])
            how = "tee" if re.match(WRITING, mode) else "cat"
        if how == "line":
            self.found.append((self._line(args or [receiver]), line))
        elif how is not None and (how != "cat" or not self._code.place):  # what a file reads the model does not see
            how = "rm -rf" if how == "rm -f" and "recursive" in inside else how
            onto = name.startswith("write_") or not args  # `Path("x").write_text(text)`, `Path("x").unlink()`
            paths = [*_flat([receiver] if onto else args[: 1 if how in {"cat", "tee"} else None])]
            self.found.append(([*how.split(), "--", *map(self._path, paths)], line))
        return self._result(VALUED.get(name, ""), receiver, args)

    def _line(self, args: list[Value]) -> list[str] | str:
        first, second = args[0], args[1] if len(args) > 1 else ""
        if isinstance(first, list) or isinstance(second, list):
            values = (value if isinstance(value, list) else [value] for value in (first, second) if value)
            return [_text(each) for value in values for each in value]
        return [*map(_text, args)] if second and self._code.family in {"pl", "rb"} else first

    def _path(self, path: str) -> str:
        """Return a path as its shell spells it: only R's functions know what `~` is."""
        is_home = path[:1] == "~" and self._code.family == "r"
        return self._known["home"] + path[1:] if is_home else f"./{path}" if path[:1] == "~" else path or UNKNOWN

    def _result(self, what: str, receiver: Value, args: list[Value]) -> Value:
        """Return the value of a function of VALUES."""
        first = args[0] if args else receiver
        known = receiver if isinstance(receiver, str) and receiver != UNKNOWN else ""
        value: Value = self._known.get(what, first if what == "same" else UNKNOWN)
        if what == "expanded":
            path = re.sub(r"^~(?=/|$)", lambda _: self._known["home"], _text(first))
            value = f"{known}/{path}" if known and args else path
        elif what == "joined" and isinstance(first, list) and len(args) == 1:
            value = (known or "/").join(map(_text, first))
        elif what == "joined":
            parts = [*([known] if known else []), *map(_text, args)]
            rooted = [index for index, part in enumerate(parts) if part[:1] == "/" and self._code.family == "py"]
            parts = parts[rooted[-1] if rooted else 0 :]
            value = "/".join([*(part.rstrip("/") for part in parts[:-1]), *parts[-1:]])
        elif what == "variable":
            value = self._known["home"] if first == "HOME" else UNKNOWN
        elif what == "split":
            value = [*known.split()] or UNKNOWN
        elif what == "walked":
            value = [[first, "*", "*"]]
        elif what == "within":
            value = f"{_text(first).rstrip('/')}/*"
        return "*" if what == "names" else value


def _flat(values: Iterable[Value]) -> Iterator[str]:
    for each in values:
        yield from [each] if isinstance(each, str) else _flat(each)


def _text(value: Value) -> str:
    """Return a value within a text: one of several is unknown."""
    return value if isinstance(value, str) else _text(value[0]) if len(value) == 1 else UNKNOWN
