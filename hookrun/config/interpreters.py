"""Tables of what a look at a file cannot tell: which programs run it, find it, or only handle data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from hookrun.config.command_words import SCRIPT_FLAGS
from hookrun.config.discovery import CODE_SUFFIXES
from hookrun.shell.prefilter import READERS
from hookrun.shell.programs import having, values
from hookrun.shell.words import STDIN, UNKNOWN, Word

# Text without the characters that a shell, an option or a program's code puts around a path.
PLAIN = re.compile(r"[^\s'\"`$(){}<>|&;=\\,*?\[\]!#]+")

# Programs that find files: in their directory or above or, with `*`, in directories that they are given.
FINDS = having("finds")
LAUNCHERS = having("launches")
# Those that find programs in node_modules/.bin.
INSTALLED = frozenset(name for name in LAUNCHERS if "package.json" in FINDS.get(name, ""))

# --- programs that take code

# These run their first operand, else their input, unless one of the options gives them code.
NODE = having("node")
SHELLS = READERS.union(name for name, how in having("line").items() if how == "sourced")
# Options of these with a module or a directory of modules, which are code besides.
LOADS = (
    "-r -I -L -M -m --require --import --preload --loader --experimental-loader -cp -classpath --class-path "
    "--module-path"
)
# Options with code of programs that find their files; their operands are data.
FINDING = (
    "-f -c -b -t -P -I --file --makefile --justfile --rakefile --taskfile --noxfile --conf --config --collection "
    "--build-file --init-script --manifest-path -file -buildfile"
)
_FINDING = {name: FINDING.split() for name in FINDS if name not in {*NODE, *LAUNCHERS, "go", "run-parts"}}

Operand = Literal["script", "text", "data"]


class CodeTaker(NamedTuple):
    """How a program takes code: what its first `operand` is, and its `options` with code (whether it is all of it)."""

    operand: Operand
    options: dict[str, bool]


def _takers(operand: Operand, table: Mapping[str, Sequence[str]], loads: str = "") -> dict[str, CodeTaker]:
    takers = {}
    for name, options in table.items():
        flags = {f"-{letter}" for letter in SCRIPT_FLAGS.get(name, "")}  # `python3 -I`
        others = dict.fromkeys((each for each in loads.split() if each not in flags), False)
        takers[name] = CodeTaker(operand, {**others, **dict.fromkeys(options, True)})
    return takers


def _options(fact: str) -> dict[str, list[str]]:
    return {name: values(name, fact) for name in having(fact)}


TEXTS = _takers("text", _options("text"))
TAKES_CODE = {
    **_takers("script", _options("script"), LOADS),
    **_takers("script", {name: ["-c"] for name in SHELLS}),
    **TEXTS,
    **_takers("data", {**_options("queries"), **_FINDING}),
}

# How inline code names modules, in quotes or not, and what code of _TEXTS and _DATA runs or reads.
IMPORTS = re.compile(
    r"(?:^|[;\n:{\s])(?:import|from|use|require)\s+([\w.:]+(?:\s*,\s*[\w.:]+)*)"
    r"|(?:require(?:_relative)?|import|include|from)[\s(]*['\"`]([^'\"`]+)"
)
RUNS = re.compile(r"(?:^|[0-9$/;{}\s])e\s+(\S.*)|(?:\.read|\\ir?|source|\.load)\s+([^\s;]+)")
SPAWNS = re.compile(r"system\s*\(|getline|\|\s*\"")  # of awk, with the line in a string

# --- programs that never execute the files they get, unless by an option of EXECUTING

# Their files are code in a line that runs its own output.
PRINTING = having("passes_on")
DATA = frozenset((*PRINTING, *having("data")))

# What they run nevertheless, as `PROGRAM OPTION=LINE`, and their options whose file may be code, such as eslint's.
EXECUTING = re.compile(
    r"(?:exec|command|program|hooksPath|fsmonitor|rsh|editor|pager|sshCommand)=|^(?:tar|rsync) -[eI]=|^alias [^=]+=",
    re.IGNORECASE,
)
CONFIGURED = re.compile(r" (?:-K|-c|--config|--config-file|--plugin|--rulesdir)=")

# --- variables

# Those that name directories of code -> the files that are code in them.
DIRECTORIES = {
    "PYTHONPATH": "*.py",
    "NODE_PATH": "*.js",
    "PERL5LIB": "*.pm",
    "PERLLIB": "*.pm",
    "RUBYLIB": "*.rb",
    "AWKPATH": "*.awk",
    "LUA_PATH": "*.lua",
    "CLASSPATH": "*.class",
    "LD_LIBRARY_PATH": "*.so*",
    "DYLD_LIBRARY_PATH": "*.dylib",
    "ZDOTDIR": ".z*",
    "GIT_EXEC_PATH": "*",
    "GIT_TEMPLATE_DIR": "hooks/*",
    "GIT_DIR": "config hooks/*",
    "GIT_COMMON_DIR": "config hooks/*",
    "HOME": ".*rc .*profile .gitconfig .netrc .config/** .local/lib/**",
    "XDG_CONFIG_HOME": "**",
    "XDG_CONFIG_DIRS": "**",
    "XDG_DATA_HOME": "**",
}
# Those with options -> a program that takes them.
OPTIONS = {
    **dict.fromkeys(("NODE_OPTIONS", "BUN_OPTIONS"), "node"),
    **dict.fromkeys(("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"), "java"),
    "PERL5OPT": "perl",
    "RUBYOPT": "ruby",
    "AWKFLAGS": "awk",
}
# Those that a program may run as a line.
LINE_VARIABLES = re.compile(
    r"(?:.*(?:COMMAND|EDITOR|PAGER|ASKPASS|SHELL|_SSH|_DIFF|BROWSER|WRAPPER|LESSOPEN)|VISUAL|CC|CXX)"
)


def versionless(name: str) -> str:
    """Return a program's name without a trailing version: `python` for `python3.12`."""
    return name if name in DATA or name in TAKES_CODE else name.rstrip("0123456789.").rstrip("-") or name


def looks_like_code(path: str) -> bool:
    """Return whether a path has the suffix of a program or a library."""
    name, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return bool(dot) and bool(name) and suffix.lower() in CODE_SUFFIXES


def directories(value: str) -> list[str]:
    """Return the known directories of a variable like PATH."""
    return [part.replace("?.lua", "").rstrip("/") for part in re.split("[:;]", value) if part and UNKNOWN not in part]


# --- the words in which a program takes code


def code_words(program: str, words: Sequence[Word]) -> tuple[list[tuple[str, Word]], bool]:
    """Return the words that a program takes as code, and whether they leave its input as data.

    Each has its kind: `script`, `text`, or `option` for an option's value. A word after an option that is not known may
    be its value or the script.
    """
    operand, options = TAKES_CODE[program]
    found: list[tuple[str, Word]] = []
    given = unsure = False
    for option, word, is_all in _options_and_operands(options, words):
        text = word.text
        if option:
            found.append(("option", word))
            given = given or is_all
        elif text[:1] in {"-", "+"} and len(text) > 1:
            unsure = "=" not in text and bool(text.strip("-+" + SCRIPT_FLAGS.get(program, "")))
            if "=" in text and operand == "script":
                found.append(("script", Word(argument(text))))
        elif operand != "script":
            if (operand == "text" and not given) or not PLAIN.fullmatch(text):
                found.append(("text", word))
                given = True
        elif text in STDIN:
            break
        elif not given:
            is_path = "=" not in text and ("/" in text or looks_like_code(text))
            found.append(("option" if unsure and not is_path else "script", word))
            if is_path or not (unsure or text in {"run", "test", "x"}):
                return found, True  # the others are the script's
            unsure = False
    return found, given


def _options_and_operands(options: dict[str, bool], words: Sequence[Word]) -> Iterator[tuple[str, Word, bool]]:
    """Yield the options with their values, and whether that is surely all code; the other words without an option."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, value, sure = _option(options, word.text)
        if option and not value and rest and rest[0].text[:1] != "-":
            yield option, rest.pop(0), sure and options[option]
        elif option:
            yield option, Word(value), sure and options[option]
        else:
            yield "", word, False


def _option(options: dict[str, bool], text: str) -> tuple[str, str, bool]:
    """Return the option that a word is, its value in the word, and whether it surely is that option."""
    name, _, value = text.partition("=")
    if name in options:
        return name, value, True
    for index in range(1, len(text) if text[:1] == "-" and text[:2] != "--" else 0):
        option, value = f"-{text[index]}", text[index + 1 :]
        if option in options:  # in doubt an earlier letter takes the rest: `python3 -Wonce`
            return option, value, index == 1 or not PLAIN.fullmatch(value.replace("=", ""))
    return "", "", False


def argument(text: str) -> str:
    """Return the value in an option's word, or the word."""
    if text[:1] != "-":
        return text
    return text.partition("=")[2] if "=" in text else text[2:]
