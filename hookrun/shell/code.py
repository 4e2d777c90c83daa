"""Read the literals and calls of code in other languages: the shell lines and commands that they amount to.

One reader for all: it knows strings, names, calls and loops, not grammars. What it does not know is an unknown value.
"""

from __future__ import annotations

import re
from itertools import pairwise

from hookrun.shell.programs import having, values
from hookrun.shell.words import STDIN, UNKNOWN, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Languages, by the endings of their files, as in the fact `code` of a program -> how a comment begins, besides `#`.
COMMENTS = {"py": "#", "js": "//", "php": "//|#", "lua": "--"}
# In these `.` joins texts; in those a call needs no parentheses; in those a text in backticks is a shell line.
JOINING_BY_DOT = frozenset({"pl", "php"})
BARE_CALLS = frozenset({"exs", "lua", "pl", "php", "rb", "scpt"})
BACKTICKS = frozenset({"php", "pl", "rb"})

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f]+|\\\n)|(?P<end>[\n;])
    |(?P<prefix>[A-Za-z]{0,2})(?P<quote>\"\"\"|'''|["'`])
    |(?P<quoting>%[qQxwWi]?(?=[({\[<|!])|\b(?:q|qq|qx|qw)(?=\s*[({\[<|!/]))\s*(?P<open>.)
    |(?P<name>[$@]*[A-Za-z_]\w*(?:[!?](?=\s*\())?|\$)|(?P<number>\d[\w.]*)
    |(?P<sign>\.\.|=>|->|::|\?\.|:=|<-|<>|\?\?|\|\||&&|[=!<>]=|.)""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(\n|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": UNKNOWN, "\n": ""}
# Where a text has a value put in, and the code for it.
PUT_IN = {
    "py": re.compile(r"\{\{|\}\}|\{([^{}!:]*)[^{}]*\}"),
    "js": re.compile(r"\$\{([^{}]*)\}"),
    "rb": re.compile(r"#\{([^{}]*)\}"),
    "exs": re.compile(r"#\{([^{}]*)\}"),
    "pl": re.compile(r"(\$\w+(?:->)?(?:\{\w+\})?)"),
    "php": re.compile(r"\{?(\$\w+(?:\['?\w+'?\])?)\}?"),
}
CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
# A regular expression, where a value may begin, and perl's and ruby's commands with one.
REGEX = re.compile(r"/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n\[])+/[a-z]*")
REPLACING = re.compile(
    r"\b(?:s|tr|y)([/|#!,])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1[a-z]*"
    r"|\b(?:m|qr)(?:([/|#!,]).*?\2|\{(?:\\.|[^}\\])*\})[a-z]*"
)


class Token:
    """A part of code: its kind (`text`, `name`, `sign`, `end`), its text, its line, and the code put into its text."""

    __slots__ = ("kind", "line", "parts", "shell", "text")

    def __init__(self, kind: str, text: str, line: int, parts: list[str] | None = None, *, shell: bool = False) -> None:
        self.kind = kind
        self.text = text
        self.line = line
        self.parts = parts or [text]  # of a text: by turns what stands there, and code for a value
        self.shell = shell


class Code:
    """Code in a language, its `family`. `place` is its file, "" if the line has it."""

    def __init__(self, text: str, family: str, place: str = "") -> None:
        self.text = text
        self.family = family
        self.place = place


def tokens(code: str, family: str) -> Iterator[Token]:
    """Yield the parts of code, without spaces, comments and regular expressions."""
    comment = re.compile(rf"(?:{COMMENTS.get(family, '#')})[^\n]*|/\*.*?\*/", re.DOTALL)
    at, line, before = 0, 1, Token("end", "", 1)
    while at < len(code):
        found = comment.match(code, at) if code[at] in "#/-" else None
        if found is None and family != "py":
            operand = before.kind == "end" or (before.kind == "sign" and before.text not in {")", "]", "}"})
            keyword = before.kind == "name" and before.text in {"if", "unless", "and", "or", "not", "return", "split"}
            found = REGEX.match(code, at) if code[at] == "/" and (operand or keyword) else None
            found = found or (REPLACING.match(code, at) if family in {"pl", "rb"} else None)
        if found is None:
            token = TOKEN.match(code, at)
            if token is None:
                return
            end, made = _token(code, token, family, line)
            if made is not None:
                yield made
                before = made
        else:
            end = found.end()
        line += code.count("\n", at, end)
        at = end


def _token(code: str, found: re.Match[str], family: str, line: int) -> tuple[int, Token | None]:
    """Return where a token ends, and the token, None for a space."""
    kind = found.lastgroup or "sign"
    if kind not in {"quote", "open"}:
        return found.end(), None if kind == "space" else Token(kind, found[0], line)
    quote = CLOSING.get(found["open"], found["open"]) if kind == "open" else found["quote"]
    if family not in {"pl", "rb"} and kind == "open":
        return found.start() + 1, Token("sign", code[found.start()], line)
    if kind == "quote" and found["prefix"] and family != "py":
        return found.end("prefix"), Token("name", found["prefix"], line)
    close = _end(code, found.end(), quote)
    text, prefix = code[found.end() : close], (found["prefix"] or "").lower()
    plain = family in BACKTICKS and (quote == "'" or found["quoting"] in {"q", "qw", "%q", "%w"})
    puts_in = PUT_IN.get(family) if not plain and (family != "py" or "f" in prefix) else None
    puts_in = puts_in if family != "js" or quote == "`" else None
    parts = [""]
    last = 0
    for place in puts_in.finditer(text) if puts_in is not None else ():
        parts[-1] += text[last : place.start()]
        last = place.end()
        if place[1] is None:
            parts[-1] += place[0][0]  # `{{`
        else:
            parts += [place[1], ""]
    parts[-1] += text[last:]
    if not plain and "r" not in prefix:
        parts[::2] = [ESCAPE.sub(_unescaped, part) for part in parts[::2]]
    shell = (quote == "`" and family in BACKTICKS) or found["quoting"] in {"qx", "%x"}
    return close + len(quote), Token("text", text, line, parts, shell=shell)


def _unescaped(found: re.Match[str]) -> str:
    text = found[1]
    return chr(int(text[1:], 16)) if text[0] in "xu" and text[1:] else ESCAPED.get(text, text)


def _end(code: str, at: int, quote: str) -> int:
    """Return where a text ends."""
    while at < len(code) and not code.startswith(quote, at):
        at += 2 if code[at] == "\\" else 1
    return min(at, len(code))


# --- the code that a program gets

# Options whose value is the next word, and clusters of options that end with code: `perl -lane CODE`.
VALUED = frozenset({"-I", "-W", "-X", "-r", "--require", "--import", "--loader", "--input-type", "-v", "-F", "-f"})
CLUSTER = {"py": re.compile(r"-[A-Za-bd-ln-z]*c(.*)", re.DOTALL)}
CLUSTER |= dict.fromkeys(("pl", "rb"), re.compile(r"-[acdlnpsw0]*(?:i[.\w]*)?[eE](.*)", re.DOTALL))
# Frameworks' own programs with code: the word before it, the option with it ("" for an operand), the language.
CONSOLES = {"runner": ("", "rb"), "tinker": ("--execute", "php"), "shell": ("-c", "py")}


def family_of(program: str) -> str | None:
    """Return the language that a program reads, if it is one of those known: `python3.11` reads that of `python`."""
    for name in (program, program.rstrip(".0123456789")):
        if name in having("node"):
            return "js"
        if name in having("code"):
            return having("code")[name]
    return None


def code_of(program: str, words: list[Word], stdin: Word | None) -> Code | Word | None:
    """Return the code that a program gets in its words or as its input; or the word with its file; None if unknown."""
    family = family_of(program)
    texts = [word.text for word in words[1:]]
    if family is not None or program in {"django-admin", "manage.py", "rails"}:
        for index, text in enumerate(texts[:2]):
            if text in CONSOLES:
                return _of_console(text, texts[index + 1 :], stdin)
    return _given(program, family, words, stdin) if family is not None else None


def _of_console(name: str, texts: list[str], stdin: Word | None) -> Code | None:
    """Return the code that a framework's console gets: an operand, an option's value, or its input."""
    option, family = CONSOLES[name]
    pairs = list(pairwise([*texts, ""]))
    given = [text.partition("=")[2] or after for text, after in pairs if option and text.startswith(option)]
    given = given or [text for text in texts if not option and text[:1] != "-"] or [stdin.text if stdin else ""]
    return Code(given[0], family) if given[0] else None


def _given(program: str, family: str, words: list[Word], stdin: Word | None) -> Code | Word | None:
    """Return `code_of` a program that reads a language."""
    options = {*values(program.rstrip(".0123456789"), "script"), *values(program, "script")} - {"-m", "-c", "-B", "-R"}
    texts = [word.text for word in words[1:]]
    position = 0
    while position < len(texts):
        text = texts[position]
        after = texts[position + 1 : position + 2]
        cluster = CLUSTER[family].fullmatch(text) if family in CLUSTER else None
        name, equals, value = text.partition("=")
        if text in options or (cluster is not None and not cluster[1]) or (family == "js" and text == "eval"):
            return Code(after[0], family) if after else None
        if cluster is not None or (equals and name in options):
            return Code(cluster[1] if cluster is not None else value, family)
        if text == "-m" and family == "py":
            return None
        if text in STDIN:
            break
        if family == "js" and text == "run" and program in having("tasks"):
            position += 1
        elif text[:1] != "-":
            return Code(text, family) if family == "awk" else words[position + 1]
        else:
            position += 1 + (text in VALUED)
    return Code(stdin.text, family) if stdin is not None else None
