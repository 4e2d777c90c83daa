"""Find the command or shell line that a program runs from its words, and what find, xargs and parallel run."""

from __future__ import annotations

import re
from itertools import dropwhile, pairwise

from hookrun.shell.prefilter import RUN_INPUT
from hookrun.shell.programs import having, values
from hookrun.shell.words import MAX_WORDS, STDIN, UNKNOWN, LimitExceededError, Word, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

Argv = list[Word]


# Other options of env, besides `-S`, whose value is split into words.
SPLITTING = frozenset({"--split-string", "-iS", "-vS"})


class Wrapped:
    """A wrapper's command: its `words`, and the wrapper's `options` and operands before them.

    `directory` is the one it changes to, if any; `assignments` are variables it sets.
    """

    def __init__(self, words: Argv, options: Argv, directory: Word | None, assignments: dict[str, str]) -> None:
        self.words = words
        self.options = options
        self.directory = directory
        self.assignments = assignments


def unwrap(program: str, argv: Argv) -> Wrapped | None:
    """Return a wrapper's command, None if it runs nothing or is no wrapper."""
    operands_before = having("wraps").get(program)
    if operands_before is None:
        return None
    never, entering = values(program, "never"), values(program, "directory")
    valued = (*entering, *values(program, "valued"))
    directory, assignments, operands = None, {}, int(operands_before or 0)
    position = 1
    while position < len(argv):
        text = argv[position].text
        name, equals, value = text.partition("=")
        if text in never:
            return None
        if text[:1] == "-" and len(text) > 1:
            if program == "env" and (name[:2] == "-S" or name in SPLITTING):
                split = value if equals and name in SPLITTING else text[2:] if name[:2] == "-S" else ""
                rest = argv[position + 1 :] if split else argv[position + 2 :]
                split = split or "".join(word.text for word in argv[position + 1 : position + 2])
                return unwrap(program, [*argv[:position], *_split(split), *rest])
            takes = not equals and _takes_next(name, valued)
            given = argv[position + 1] if takes and argv[position + 1 :] else Word(value)
            position += takes
            option = name if name in entering else name[:2]
            if option in entering:
                directory = given if option == name else Word(text[2:])  # `env -CDIRECTORY`
        elif equals and name.isidentifier() and program in having("assigns"):
            assignments[name] = value
        elif operands:
            operands -= 1
        else:
            break
        position += 1
    if program == "coproc" and [word.text for word in argv[position + 1 : position + 2]] == ["{"]:
        position += 1  # past its name
    words = argv[position:]
    return Wrapped(words, argv[1:position], directory, assignments) if words else None


def _split(text: str) -> Argv:
    """Return the words of `env -S TEXT`, with quotes as in a shell."""
    import shlex

    try:
        return [Word(each) for each in shlex.split(text)]
    except ValueError:
        return [Word(each) for each in text.split()]


def _takes_next(option: str, valued: Collection[str]) -> bool:
    """Return whether an option takes the next word: `-u` and `-iu` do, `-uroot` does not."""
    if option in valued or option[:2] == "--":
        return option in valued
    place = next((index for index, letter in enumerate(option) if index and f"-{letter}" in valued), 0)
    return place > 0 and place == len(option) - 1


def _past_options(argv: Argv, position: int, valued: Collection[str] = ()) -> Argv:
    """Return the words from `position` on, without leading options."""
    while position < len(argv) and argv[position].text[:1] == "-":
        position += 1 + _takes_next(argv[position].text, valued)
    return argv[position:]


class NestedLine:
    """A shell line in a program's words, None if unknown, and the words for its `$1`... and `$0`."""

    def __init__(self, text: Word | None, positional: Sequence[Word] = (), zero: Sequence[Word] = ()) -> None:
        self.text = text
        self.positional = positional
        self.zero = zero


def nested_line(program: str, argv: Argv, stdin: Word | None) -> NestedLine | None:
    """Return the line that a program gives to a shell, if any; its text is None if unknown."""
    how = having("line").get(program)
    return LINES[how](argv, stdin if program in RUN_INPUT else None) if how is not None else None


def _options_of_shell(argv: Argv) -> tuple[str, Argv]:
    """Return the letters of a shell's options, and the words after them."""
    letters = ""
    position = 1
    while position < len(argv):
        text = argv[position].text
        if text in {"--rcfile", "--init-file"}:
            position += 1
        elif text in {"-", "--"}:
            position += 1
            break
        elif text[:1] in {"-", "+"} and len(text) > 1:
            more = text[1:] if text[1] != "-" else ""
            letters += more
            position += more.count("o") + more.count("O")  # `-euo pipefail`
        else:
            break
        position += 1
    return letters, argv[position:]


def _of_shell(argv: Argv, stdin: Word | None) -> NestedLine | None:
    letters, rest = _options_of_shell(argv)
    if rest and rest[0].output is not None and "c" not in letters:
        return NestedLine(rest[0].output, rest[1:])
    if "c" in letters:
        return NestedLine(rest[0], rest[2:], rest[1:2]) if rest else None
    if "s" in letters or not rest or rest[0].text in STDIN:
        return NestedLine(stdin, rest if "s" in letters else rest[1:])
    return None


def shell_script(argv: Argv) -> Argv:
    """Return the script that a shell is given, with its arguments; nothing if it runs none or only reads it."""
    letters, rest = _options_of_shell(argv)
    return [] if {"c", "s", "n"}.intersection(letters) else rest


def _after_option(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    """`su -c LINE`, `script -qcLINE`, `gcloud compute ssh --command=LINE`: after one of the program's own options."""
    given = values(argv[0].text.rpartition("/")[2], "given") or ["-c", "--command", "--run"]
    for before, word in pairwise([*argv, Word("")]):
        option, equals, value = before.text.partition("=")
        letters = option[1:2] not in {"", "-"} and option[:1] == "-"
        if option in given or (letters and f"-{option[-1]}" in given):
            return NestedLine(Word(value) if equals else word)
        if letters and option[:2] in given:
            return NestedLine(Word(before.text[2:]))
    return None


def _of_parameters(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    """`aws ecs ... --command LINE`; `ssm send-command --parameters commands=LINE`, `'commands=["LINE"]'` or JSON."""
    line = _after_option(argv, None)
    if line is None or line.text is None or "commands" not in line.text.text:
        return line
    return NestedLine(Word(re.sub(r'commands"?\s*[=:]|[\[\]{}"]+', "\n", line.text.text)))


def _joined(argv: Argv) -> NestedLine:
    return NestedLine(argv[0] if len(argv) == 1 else Word(" ".join(word.text for word in argv)))


def _of_eval(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    rest = argv[2:] if len(argv) > 1 and argv[1].text == "--" else argv[1:]
    return _joined(rest) if rest else None


def _of_git(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    """`git submodule foreach LINE`, `git rebase --exec LINE`, `git bisect run COMMAND`, filters, aliases of `-c`."""
    texts = [word.text for word in argv]
    for before, text in pairwise(texts):
        option, equals, value = text.partition("=")
        if "rebase" in texts and equals and option == "--exec":
            return NestedLine(Word(value))
        if before == "-c" and text[:6] == "alias." and "=!" in text:
            return NestedLine(Word(text.partition("=!")[2]))
        if "filter-branch" in texts and before.endswith("-filter"):
            return NestedLine(Word(text))
    for command, before in (("submodule", "foreach"), ("bisect", "run"), ("rebase", "-x"), ("rebase", "--exec")):
        if command in texts and before in texts[texts.index(command) :]:
            rest = _past_options(argv, texts.index(before) + 1)
            is_line = command == "rebase" or len(rest) == 1
            return NestedLine(rest[0] if is_line else Word(quoted(rest))) if rest else None
    return None


def _of_source(argv: Argv, stdin: Word | None) -> NestedLine | None:
    if len(argv) > 1 and (argv[1].output is not None or argv[1].text in STDIN):
        return NestedLine(argv[1].output or stdin, argv[2:])
    return None


def _of_trap(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    rest = [word for word in argv[1:] if word.text != "--"]
    return NestedLine(rest[0]) if len(rest) > 1 and rest[0].text[:1] != "-" else None


def _of_wrapped(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    wrapped = unwrap(argv[0].text.rpartition("/")[2], argv)
    return _joined(wrapped.words) if wrapped is not None else None


def _of_ssh(argv: Argv, stdin: Word | None) -> NestedLine | None:
    rest = _past_options(argv, 1, values("ssh", "valued"))[1:]  # past the host
    if rest and rest[0].text == "--":
        rest = rest[1:]
    return _joined(rest) if rest else NestedLine(stdin)


def _of_sudo(argv: Argv, stdin: Word | None) -> NestedLine | None:
    """`sudo -s` and `sudo -i` without a command are a shell."""
    if unwrap("sudo", argv) is None and any(word.text in {"-s", "-i", "--shell", "--login"} for word in argv):
        return NestedLine(stdin)
    return None


def _of_tmux(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    """`tmux new -d LINE` and its like."""
    commands = values("tmux", "line_after")
    position = next((index for index, word in enumerate(argv) if index and word.text in commands), len(argv))
    rest = _past_options(argv, position + 1, values("tmux", "valued"))
    return _joined(rest) if rest else None


def _of_npx(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    """`npx -c LINE`, `npm exec --call=LINE`; after an operand options are the program's."""
    words = argv[2:] if len(argv) > 1 and argv[1].text in {"dlx", "exec", "x"} else argv[1:]
    while words and words[0].text[:1] == "-":
        option, equals, value = words[0].text.partition("=")
        if option in {"-c", "--call"}:
            return NestedLine(Word(value)) if equals else NestedLine(words[1]) if words[1:] else None
        words = words[1 + (option in {"-p", "--package"} and not equals) :]
    return None


# What begins a shell's line in the commands of other programs: `\\!` of psql, `.shell` of sqlite3, `spawn` of expect.
ESCAPES = r"(?s)(?:^|[\s;|+:])(?:\\?!|\.shell\b|\.system\b|shell\b|spawn\b)\s*([\w/~.].*)"


def _of_escape(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    found = [match[1] for word in argv[1:] if (match := re.search(ESCAPES, word.text)) is not None]
    return NestedLine(Word("\n".join(found))) if found else None


def _of_each(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    """`concurrently LINE LINE`."""
    texts = [re.sub("^npm:", "npm run ", word.text) for word in argv[1:] if word.text[:1] != "-"]
    return NestedLine(Word("\n".join(texts))) if texts else None


def _of_timed(argv: Argv, stdin: Word | None) -> NestedLine | None:
    """`crontab -` reads lines with a time before each."""
    if stdin is None or any(word.text not in STDIN for word in argv[1:]):
        return None
    return NestedLine(Word(re.sub(r"(?m)^\s*(?:@\w+|(?:[\w*/,-]+\s+){4}[\w*/,-]+)\s", "", stdin.text)))


# What PowerShell removes of a list, and code that it downloads and runs.
LISTED = r"(?i)\b(?:get-childitem|gci|ls|dir)\s+([^\s|;-]\S*)[^|;]*\|\s*(remove-item|ri|rm|del)\b"
DOWNLOADED = r"(?i)\b(?:iex|invoke-expression)\b.*\b(?:iwr|irm|curl|wget|invoke-(?:web|rest)\w+|download\w+)\b"


def _of_powershell(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    """`powershell -Command LINE`, `powershell LINE`, `-EncodedCommand BASE64`; options may be shortened."""
    for index, word in enumerate(argv[1:-1], 2):
        option = word.text.lower()
        if option in {"-e", "-ec"} or (len(option) > len("-e") and "-encodedcommand".startswith(option)):
            import base64

            data = base64.b64decode(argv[index].text.encode("ascii", "replace") + b"==")
            return _of_windows(data.decode("utf-16-le", "replace"))
        if option[:2] == "-c" and "-command".startswith(option):
            return _of_windows(" ".join(each.text for each in argv[index:]))
    line = [each.text for each in dropwhile(lambda each: each.text[:2].lower() == "-n", argv[1:])]  # -NoProfile
    return _of_windows(" ".join(line)) if line and line[0][:1] != "-" else None


def _of_windows(text: str) -> NestedLine:
    """Return a line of PowerShell or cmd as a shell's, with `/` in paths; a download that is run stands for itself."""
    text = re.sub(LISTED, r"\2 -Recurse \1", text.replace("`\n", " ").replace("\\", "/"))
    return NestedLine(Word(f"{text}\ncurl u | sh" if re.search(DOWNLOADED, text) else text))


def _of_cmd(argv: Argv, _stdin: Word | None) -> NestedLine | None:
    at = next((index for index, word in enumerate(argv) if word.text.lower() in {"/c", "/k"}), len(argv))
    rest = argv[at + 1 :]
    return _of_windows(" ".join(word.text for word in rest)) if rest else None


# How a program gives a line to a shell (`line` of its row) -> the line in its words, or that it reads.
LINES: dict[str, Callable[[Argv, Word | None], NestedLine | None]] = {
    "call": _of_npx,
    "cmd": _of_cmd,
    "each": _of_each,
    "escape": _of_escape,
    "git": _of_git,
    # `at now` and `batch` run later what they read now, with `-f` from a file
    "input": lambda argv, stdin: None if any(word.text[:2] == "-f" for word in argv) else NestedLine(stdin),
    "joined": _of_eval,
    "login": lambda argv, stdin: _after_option(argv, None) or NestedLine(stdin),
    "option": _after_option,
    "parameters": _of_parameters,
    "powershell": _of_powershell,
    "remote": _of_ssh,
    "shell": _of_shell,
    "sourced": _of_source,
    "sudo": _of_sudo,
    "timed": _of_timed,
    "tmux": _of_tmux,
    "trap": _of_trap,
    "wrapped": _of_wrapped,
}


# --- what find, xargs and parallel run, with inserted words

# Words that are read for a command; more are one unknown word.
MAX_ARGUMENTS = 64


def xargs_command(wrapped: Wrapped, stdin: Word | None) -> Argv:
    """Return the command of xargs or parallel, with its input or one unknown word."""
    words = wrapped.words
    texts = [word.text for word in words]
    cut = next((texts.index(each) for each in (":::", ":::+") if each in texts), None)
    if cut is not None:
        read, words = words[cut + 1 :], words[:cut]
    elif stdin is not None and stdin.known and len(stdin.text.split()) <= MAX_ARGUMENTS:
        read = [Word(each) for each in stdin.text.replace("\0", " ").split()]
    else:
        read = [Word(UNKNOWN)]
    options = [*(word.text for word in wrapped.options), ""]
    mark = next((text[2:] or after for text, after in pairwise(options) if text[:2] == "-I"), "{}")
    return _put_in(words, mark, read) if any(mark in word.text for word in words) else [*words, *read]


def _put_in(words: Argv, mark: str, read: Argv) -> Argv:
    """Return the words, those with the mark once for each word read."""
    made: Argv = []
    for word in words:
        if mark in word.text:
            made += (Word(word.text.replace(mark, each.text), globs=word.globs or each.globs) for each in read)
        else:
            made.append(word)
        if len(made) > MAX_WORDS:
            raise LimitExceededError("too long")
    return made


EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})

# Tests of find that limit what it finds.
FILTERS = (
    "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-ctime", "-empty", "-group", "-iname", "-inum", "-ipath",
    "-iregex", "-lname", "-mmin", "-mtime", "-name", "-newer", "-nogroup", "-nouser", "-path", "-perm", "-regex",
    "-samefile", "-size", "-user", "-wholename",
)  # fmt: skip

NAMES = frozenset({"-iname", "-name"})

PATH_TESTS = NAMES | {"-ipath", "-iregex", "-path", "-regex", "-wholename"}


def has_filter(texts: list[str]) -> bool:
    """Return whether these words limit what find finds; `-name '*'` and `! -name x` hardly do."""
    for index, text in enumerate(texts):
        named = text in PATH_TESTS
        everything = named and not "".join(texts[index + 1 : index + 2]).strip("*/.")
        negated = named and texts[max(index - 1, 0)] in {"!", "-not"}
        if text in FILTERS and not everything and not negated:
            return True
    return False


def find_commands(argv: Argv) -> list[Argv]:
    """Return find's commands, with the paths it may find instead of `{}`."""
    found = found_paths(argv)
    commands: list[Argv] = []
    position = 0
    while position < len(argv):
        if argv[position].text in EXECUTING:
            end = next((i for i in range(position + 1, len(argv)) if argv[i].text in {";", "+"}), len(argv))
            commands.append(_put_in(argv[position + 1 : end], "{}", found))
            position = end
        position += 1
    return [command for command in commands if command]


def found_paths(argv: Argv) -> Argv:
    """Return what find may find under each of its directories: the names it looks for, else something unknown."""
    texts = [word.text for word in argv]
    tests = zip(texts, texts[1:], texts[2:], strict=False)
    names = [after for before, each, after in tests if each in NAMES and before not in {"!", "-not"}]
    others = any(text in FILTERS and text not in NAMES for text in texts) and not {"-o", "-or"}.isdisjoint(texts)
    if not names or others:
        names.append(UNKNOWN)
    starts = start_directories(argv)
    if len(starts) * len(names) > MAX_WORDS:
        raise LimitExceededError("too long")
    return [Word(f"{start.text.rstrip('/')}/{name}", globs=True) for start in starts for name in names]


def start_directories(argv: Argv) -> Argv:
    """Return the directories that find begins with."""
    found: Argv = []
    for word in argv[1:]:
        if word.text[:1] in {"-", "(", "!", ")"}:
            if found or word.text[:2] not in {"-H", "-L", "-P", "-O"}:
                break
        else:
            found.append(word)
    return found or [Word(".")]
