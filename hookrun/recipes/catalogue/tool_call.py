"""Compare a program's words with the verbs of the catalogue, and find the code that it is given."""

from __future__ import annotations

from hookrun.core.files import read_or_none
from hookrun.core.globs import glob
from hookrun.shell.words import UNKNOWN, absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookrun.recipes.catalogue.compiled_rows import Row
    from hookrun.shell.simple_command import SimpleCommand

# Values of an option that switch it off.
OFF = frozenset({"false", "no", "none", "0"})
# Letters in one word that are read as options each: `-yf`.
MAX_CLUSTER = 4
# Bytes of a file with code, variables or settings that is read.
MAX_FILE = 1 << 16


class ToolCall:
    """A call of a program in the catalogue, read as its row says.

    `options` are pairs of name and value, which is the next word where nothing says that there is none. `operands` are
    pairs of word and whether it may be such a value. `variables` are those set in the line; `directory` is where the
    program runs, None if unknown. `hosts` are words that name a container or machine that it runs in, `is_remote` says
    that there is one. `around` are the words of the programs that launch it, `written` the texts of files that the line
    has written before. `code` is the code that it was found to be given.
    """

    is_remote = False
    hosts: Sequence[str] = ()
    around: Sequence[str] = ()
    written: Mapping[str, str] = {}
    code = ""

    def __init__(
        self, program: str, words: list[str], row: Row, directory: str | None, variables: Mapping[str, str]
    ) -> None:
        self.program = program
        self.row = row
        self.directory = directory
        set_here = {name: value for name, _, value in (word.partition("=") for word in words if "=" in word)}
        self.variables = {**variables, **{name: value for name, value in set_here.items() if name.isidentifier()}}
        self.options: list[tuple[str, str]] = []
        self.operands: list[tuple[str, bool]] = []
        self._verb: list[int] = []
        self._read(words, frozenset((*row.get("valued", ()), *row.get("names", ()))))

    def _read(self, words: list[str], valued: frozenset[str]) -> None:
        position = 0
        while position < len(words):
            text = words[position]
            position += 1
            if text == "--":
                self.operands += ((word, False) for word in words[position:])
                return
            after = words[position] if position < len(words) else ""
            name, equals, value = text.partition("=")
            if text[:1] != "-" or text == "-":
                before = words[position - 2] if position > 1 else ""
                self.operands.append((text, before[:1] == "-" and "=" not in before and before not in valued))
            elif equals or name in valued:
                self.options.append((name, value if equals else after))
                position += not equals
            elif text[:2] in valued and text[1] != "-":  # `-hdb.example.com`
                self.options.append((text[:2], text[2:]))
            elif f"-{text[-1]}" in valued and text[1:].isalpha() and len(text) <= MAX_CLUSTER:  # `-Atc SQL`
                self.options += ((f"-{letter}", after) for letter in text[1:])
                position += 1
            else:
                self.options.append((name, "" if after[:1] == "-" else after))

    def harms(self) -> Iterator[Row]:
        """Yield the row's harms whose verbs this call has, and no option that makes it harmless."""
        for harm in self.row.get("harms", ()):
            if any(map(self.does, harm["verbs"])) and not any(
                map(self._is_harmless_by, (*harm.get("unless", ()), "--help"))
            ):
                yield harm

    def _is_harmless_by(self, by: str) -> bool:
        """Return whether an option, alone in its word, or verbs make the call harmless."""
        return self.does(by) if by[:1] != "-" else self.has(by, alone=True)

    def has(self, option: str, *, alone: bool = False) -> bool:
        """Return whether an option is given: `--name`, or `--name=GLOB` with such a value; `|` is between two."""
        for each in option.split("|"):
            wanted, equals, pattern = each.partition("=")
            for name, value in self.options:
                cluster = name if len(wanted) == len("-x") and name[1:2] != "-" and len(name) <= MAX_CLUSTER else ""
                if name != wanted and (alone or wanted[1:] not in cluster):
                    continue
                if glob(pattern.lower(), value.lower()) if equals else value.lower() not in OFF:
                    return True
        return False

    def does(self, verbs: str) -> bool:
        """Return whether these are its operands, from the first one on, and options: `db push --force-reset`.

        `|` is between alternatives, a word may be a glob, `...` is any words and `$` the end.
        """
        tokens = verbs.split()
        if not all(self.has(each) for each in tokens if each[0] == "-"):
            return False
        found = self._follow([each for each in tokens if each[0] != "-"], 0)
        self._verb = self._verb if found is None else found
        return found is not None

    def _follow(self, tokens: list[str], start: int) -> list[int] | None:
        """Return the places of the operands that these words are, from one on; None if they do not follow."""
        if not tokens:
            return []
        wanted, end = tokens[0], len(self.operands)
        if wanted == "...":
            follows = (self._follow(tokens[1:], at) for at in range(start, end + 1))
            return next((each for each in follows if each is not None), None)
        if wanted == "$":
            return self._follow(tokens[1:], start) if all(may for _, may in self.operands[start:]) else None
        for at in range(start, end):
            text, may_be_value = self.operands[at]
            fits = any(glob(each, text.lower()) for each in wanted.split("|"))
            rest = self._follow(tokens[1:], at + 1) if fits else None
            if rest is not None:
                return [at, *rest]
            if not may_be_value:
                return None
        return None

    def named(self) -> Iterator[str]:
        """Yield what the words say of the target: values of the row's `names`; `*` are the operands beside the verb."""
        names = self.row.get("names", ())
        yield from self.hosts
        yield from self._values(names)
        if "*" in names:
            code = self._operand()
            yield from (text for at, (text, _) in enumerate(self.operands) if at not in self._verb and text not in code)

    def codes(self, command: SimpleCommand | None, before: SimpleCommand | None) -> Iterator[str]:
        """Yield the code that the program is given in its words, in files, or by its input.

        `before` is the command whose output it reads in a pipe.
        """
        code = self.row.get("code")
        if code is None:
            return
        if not any(map(self.does, code.get("verbs", [""]))) or any(map(self._is_harmless_by, code.get("unless", ()))):
            return
        texts = [*self._values(code.get("options", ())), *self._operand()]
        files = self._values(code.get("files", ()))
        if command is not None and code.get("stdin"):
            if command.stdin is not None:
                texts.append(command.stdin.text)
            files += (each.target.text for each in command.redirections if each.reads)
            if command.piped and before is not None and before.program == "cat":
                files += before.operands
        texts += (text for each in files for text in self._content(each))
        yield from texts

    def _values(self, names: Sequence[str]) -> list[str]:
        return [value for name, value in self.options if name in names]

    def _operand(self) -> list[str]:
        """Return the operand that is code, if the row says that one is."""
        place = self.row.get("code", {}).get("operand")
        return [self.operands[place - 1][0]] if place and place <= len(self.operands) else []

    def _content(self, path: str) -> Iterator[str]:
        full = absolute(path, self.directory)
        if full is None:
            return
        if full in self.written:
            yield self.written[full]
        elif (data := read_or_none(full, MAX_FILE)) is not None:  # a missing file runs nothing
            yield data.decode(errors="replace")

    def shown(self) -> str:
        """Return the beginning of the call, for a message."""
        return " ".join((self.program, *(self.operands[at][0] for at in self._verb))).replace(UNKNOWN, "?")
