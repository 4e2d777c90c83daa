"""The recipe `package-manager`: rewrites npm and pip commands to the project's package manager."""

from __future__ import annotations

import os

from hookrun.core.files import is_within, upwards
from hookrun.recipes.recipe import Option, Recipe, one_of
from hookrun.recipes.shell_recipe import BARE, parse, project_directory
from hookrun.shell.prefilter import may_run
from hookrun.shell.programs import having

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.shell.simple_command import SimpleCommand
    from hookrun.shell.words import Word

RECIPE = Recipe(
    "package-manager",
    "Rewrite npm commands to pnpm, yarn or bun, and pip commands to uv, where the project uses these.",
    options=(
        Option(
            "node",
            "auto",
            "Replacement for npm and npx: `pnpm`, `yarn`, `bun`, `auto` (by the nearest lock file) or `no`.",
            choices=("pnpm", "yarn", "bun", "auto", "no"),
        ),
        Option(
            "python",
            "auto",
            "Replacement for pip: `uv`, `auto` (if there is a `uv.lock`) or `no`.",
            choices=("uv", "auto", "no"),
        ),
    ),
    catches="""
        - npm's `install`, `ci`, `uninstall`, `update`, `run`, `test`, `start` and `exec`, and `npx`. Words are replaced
          one by one (`npm i left-pad` becomes `pnpm add left-pad`), `--` before a script's own options is removed, and
          the rest of the line stays the same.
        - pip's `install`, `uninstall`, `list`, `show`, `freeze` and `check`, also as `pip3` and `python -m pip`.
        - The same behind `cd` and `sudo`, in `bash -c`, `$(...)` and here-documents. A command that cannot be replaced
          in the line (`n'p'm i`, a variable) is blocked, with the command to use instead.
    """,
    misses="""
        - Other npm and pip commands (`npm publish`, `npm config`, `pip download`) and `npm -g`.
        - Options that only npm has are passed on.
        - Calls with options that cannot be translated: `npm --cache x i`, `npm i --prefix x`, `npx -y x`.
        - npm options after a script's name (`npm run x --silent`).
        - Scripts, Makefiles, `package.json`, lines that are not shell, and commands that are a list of words.
        - Commands run on another machine or in another tree: `ssh host npm ci`, `chroot`.
        - Programs named by path, such as `.venv/bin/pip`.
        - Other directions, such as yarn to pnpm.
    """,
)

LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "no",
}
# Lock file -> package manager.
PYTHON_LOCKS = {"uv.lock": "uv"}

# Options of npm whose value is the next word, unless after `=`.
WITH_VALUE = frozenset({
    "--access", "--audit-level", "--before", "--ca", "--cache", "--call", "--cert", "--cpu", "--depth",
    "--fetch-retries", "--fetch-timeout", "--globalconfig", "--https-proxy", "--include", "--install-strategy",
    "--key", "--libc", "--location", "--loglevel", "--maxsockets", "--network-timeout", "--node-options",
    "--noproxy", "--omit", "--only", "--os", "--otp", "--package", "--prefix", "--proxy", "--registry",
    "--save-prefix", "--scope", "--script-shell", "--shell", "--tag", "--user-agent", "--userconfig", "--which",
    "--workspace", "-C", "-L", "-c", "-p", "-w",
})  # fmt: skip

# Package manager -> its names for npm's options with a value; calls with others are unchanged.
RENAMED_OPTIONS = {
    "pnpm": {"-C": "-C", "--prefix": "--dir", "-w": "--filter", "--workspace": "--filter", "--loglevel": "--loglevel",
             "--registry": "--registry"},
    "yarn": {"-C": "--cwd", "--prefix": "--cwd", "--registry": "--registry"},
    "bun": {"-C": "--cwd", "--prefix": "--cwd", "--registry": "--registry"},
}  # fmt: skip

# Options of pip before its command, with the next word as value.
PIP_WITH_VALUE = frozenset({
    "--cache-dir", "--cert", "--client-cert", "--exists-action", "--keyring-provider", "--log", "--proxy", "--python",
    "--retries", "--timeout", "--trusted-host", "--use-deprecated", "--use-feature",
})  # fmt: skip

# Aliases of npm's commands -> command.
COMMANDS = {
    **dict.fromkeys(("add", "i", "in", "ins", "inst", "install"), "install"),
    **dict.fromkeys(("ci", "clean-install", "ic"), "ci"),
    **dict.fromkeys(("r", "remove", "rm", "un", "uninstall", "unlink"), "uninstall"),
    **dict.fromkeys(("up", "update", "upgrade"), "update"),
    **dict.fromkeys(("run", "run-script", "rum", "urn"), "run"),
    **dict.fromkeys(("t", "tst", "test"), "test"),
    **dict.fromkeys(("exec", "x"), "exec"),
    "start": "start",
}

SAME = {name: name for name in ("install", "add", "update", "run", "test", "exec", "start")}
FROZEN = {"ci": "install --frozen-lockfile", "uninstall": "remove"}
# Package manager -> npm's command -> its own; `add`: `install` with packages.
NODE = {
    "pnpm": {**SAME, **FROZEN},
    "yarn": {**SAME, **FROZEN, "update": "upgrade"},
    "bun": {**SAME, **FROZEN, "test": "run test", "exec": "x", "start": "run start"},
}

# Aliases of npm that others have as well.
SHARED_ALIASES = {("install", "i", "bun"), ("install", "i", "pnpm")}

REMOTE = {"pnpm": "pnpm dlx", "yarn": "yarn dlx", "bun": "bunx"}
# npx's replacement for a program not installed in the project, and for an installed one.
LOCAL = {"pnpm": "pnpm exec", "yarn": "yarn run", "bun": "bunx"}

OF_NODE = ("npm", "npx")
PIP = frozenset({"check", "freeze", "install", "list", "show", "uninstall"})
PIP_PROGRAM = r"pip(3(\.\d+)?)?"
PYTHON = r"python(3(\.\d+)?)?"
MODULE = r"-[IEsuBOx]*m"
# Commands after which other package managers pass options on to the program.
RUNNING = frozenset({"exec", "run", "start", "test"})
GLOBAL = frozenset({"-g", "--global", "--location=global"})

# Consecutive words of a command, and their replacement.
Change = tuple["list[Word]", str]


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the line may run a package manager. False is certain."""
    line = _line(context)
    return line is not None and (
        may_run(line, (*OF_NODE, "pip", "pip3")) or "pip3." in line.translate(BARE).lower()  # PIP_PROGRAM
    )


def _line(context: Mapping[str, object]) -> str | None:
    args = context.get("tool_args")
    line = args.get("command") if isinstance(args, dict) else None
    return line if isinstance(line, str) else None  # a list of words cannot be changed as text


@RECIPE.hook("pre_tool_use", matcher="bash", priority=600, timeout=10, on_failure="continue", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the change of a line that calls the wrong package manager, else None."""
    line = _line(context) or ""
    parsed = parse(context, line)
    if parsed.problem is not None:
        return None
    data = line.encode("utf-8", "surrogatepass")
    edits: dict[int, tuple[int, str]] = {}
    for command in parsed.commands:
        for words, text in _changes(command):
            first, last = words[0], words[-1]
            if first.at is None or last.at is None:
                was = " ".join(word.text for word in words)
                advice = f"Remove `{was}`: only npm strips it before running the script"
                if text:
                    advice = f"This project uses {text.split()[0]}: use `{text}` instead of `{was}`"
                return {"action": "block", "message": advice}
            # A removed word takes the spaces before it along.
            start = first.at if text else len(data[: first.at].rstrip(b" \t"))
            edits[start] = (last.at + len(last.text.encode()), text)
    for start in sorted(edits, reverse=True):
        end, text = edits[start]
        data = data[:start] + text.encode() + data[end:]
    changed = data.decode("utf-8", "surrogatepass")
    if changed == line:
        return None
    used = " and ".join(sorted(USED.intersection(text.partition(" ")[0] for _, text in edits.values())))
    return {
        "action": "modify",
        "args_patch": {"command": changed},
        "additional_context": f"This project uses {used}: the command runs as {changed}",
    }


# Possible first words of a replacement.
USED = frozenset({"bun", "bunx", "pnpm", "uv", "yarn"})


def _changes(command: SimpleCommand) -> list[Change]:
    import re

    words = command.words
    program = words[0].text if words and having("apart").keys().isdisjoint(command.wrappers) else ""
    directory = command.directory
    if program in OF_NODE:
        manager = _manager("node", LOCKS, directory)
        if manager in NODE:
            return _of_npm(words, manager) if program == "npm" else _of_npx(words, manager, directory)
        return []
    if _manager("python", PYTHON_LOCKS, directory) == "no":
        return []
    count = 1 if re.fullmatch(PIP_PROGRAM, program) else _module(words) if re.fullmatch(PYTHON, program) else 0
    place = _first(words, count or 1, PIP_WITH_VALUE)
    return [(words[:count], "uv pip")] if count and place is not None and words[place].text in PIP else []


def _module(words: list[Word]) -> int:
    """Return the number of words that run pip as a module, or 0: 4 for `python3 -I -m pip`."""
    import re

    for index, word in enumerate(words[1:], 1):
        if re.fullmatch(MODULE, word.text):
            return index + 2 if [each.text for each in words[index + 1 : index + 2]] == ["pip"] else 0
        if word.text[:1] != "-":
            return 0
    return 0


def _first(words: list[Word], start: int, with_value: frozenset[str]) -> int | None:
    """Return the position of the first word that is neither an option nor an option's value."""
    position = start
    while position < len(words) and words[position].text[:1] == "-":
        position += 1 + (words[position].text in with_value)
    return position if position < len(words) else None


def _of_npm(words: list[Word], manager: str) -> list[Change]:
    texts = [word.text for word in words]
    place = _first(words, 1, WITH_VALUE)
    name = COMMANDS.get(texts[place]) if place is not None else None
    if place is None or name is None or any(text in GLOBAL for text in texts):
        return []
    cut = texts.index("--") if "--" in texts else len(texts)
    first = _first(words[:cut], place + 1, WITH_VALUE)
    if name == "install" and (first is not None or texts[cut + 1 :]):
        name = "add"
    changes = [(words[:1], manager)]
    becomes = NODE[manager][name]
    if name in RUNNING:
        shortcut = name in {"start", "test"}
        after = place if shortcut or first is None else first
        if not _may_run(texts, after, cut, manager if name != "exec" else f"{manager} exec"):
            return []
        if cut < len(texts):
            becomes = f"run {name}" if shortcut else becomes
            changes.append((words[cut : cut + 1], ""))
    if becomes != texts[place] and (becomes, texts[place], manager) not in SHARED_ALIASES:
        changes.append((words[place : place + 1], becomes))
    renamed = _renamed(words[:cut], place, manager, running=name in RUNNING)
    return [] if renamed is None else changes + renamed


def _renamed(words: list[Word], place: int, manager: str, *, running: bool) -> list[Change] | None:
    """Return the changes of options with values, None if one has no name there."""
    changes: list[Change] = []
    for index, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        if option not in WITH_VALUE:
            continue
        called = RENAMED_OPTIONS[manager].get(option)
        if called is None or (index > place and (called != option or running)):
            return None
        if called != option:
            changes.append(([word], called + equals + value))
    return changes


def _may_run(texts: list[str], after: int, cut: int, runner: str) -> bool:
    """Return whether another package manager runs a script as npm does: npm takes options after its name itself.

    Yarn removes a `--` of its own.
    """
    own = any(text[:1] == "-" for text in texts[after + 1 : cut])
    return not own and not (
        cut < len(texts) and (runner == "yarn exec" or (runner == "yarn" and "--" in texts[cut + 1 :]))
    )


def _of_npx(words: list[Word], manager: str, directory: str | None) -> list[Change]:
    texts = [word.text for word in words]
    if len(texts) == 1 or texts[1][:1] == "-":
        return []
    program = f"node_modules/.bin/{texts[1]}"
    here = any(os.path.exists(os.path.join(each, program)) for each in _upwards(directory))
    return [(words[:1], (LOCAL if here else REMOTE)[manager])]


def _manager(name: str, locks: Mapping[str, str], directory: str | None) -> str:
    """Return the package manager by an option or the nearest lock file; `no` for npm or pip."""
    wanted = one_of(RECIPE, name)
    if wanted != "auto":
        return wanted
    for each in _upwards(directory):
        for lock, manager in locks.items():
            if os.path.exists(os.path.join(each, lock)):
                return manager
    return "no"


def _upwards(directory: str | None) -> list[str]:
    """Return the directory and its parents up to the project's root, outside it to a repository's or `/`."""
    root = project_directory()
    if directory is None or is_within(directory, root):
        return upwards(directory or root, root)
    repositories = (each for each in upwards(directory, "/") if os.path.exists(os.path.join(each, ".git")))
    return upwards(directory, next(repositories, "/"))
