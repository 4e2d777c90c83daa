"""Find what keeps a hook's script from running as it is meant, without running it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from hookrun.core.broken_scripts import RUN_BY, SHELLS
from hookrun.core.events import can_refuse
from hookrun.core.files import read_or_none, relative_path
from hookrun.core.model import Hook
from hookrun.shell.programs import having

# Limits on the bytes read of a script and its first line, and on the seconds in which its shell parses it.
MAX_SCRIPT, MAX_SHEBANG, MAX_SECONDS = 1 << 20, 256, 10
SHEBANG = re.compile(rb"\A#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]*)?(\S+))?")

# What a shell does not read as commands: an escape, a quoted text, a comment, and what is given to one as its input.
UNSAID = re.compile(
    r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|(?<![^\s;&|(])#[^\n]*|"
    r"(?<!<)<<-?[ \t]*([\"']?)\\?(\w+)\1[^\n]*\n(?:[^\n]*\n)*?[ \t]*\2(?=\n|\Z)",
    re.DOTALL,
)
# What only bash and its like have, and `sh` may not (POSIX.1-2017, Shell Command Language).
BASH_ONLY = re.compile(
    r"((?:(?<![^\n;&|({])|(?<=\bif)|(?<=\bwhile)|(?<=\bthen)|(?<=\bdo)|(?<=\belse)|(?<=!))[ \t]*"
    r"(?:\[\[(?=\s)|(?:function|declare|typeset|shopt|source|mapfile)(?=\s))|"
    r"<<<|&>>?|[<>]\((?=\w)|\$\{!|\$\{\w+(?:\[|\^|,|/|:\d)|\bset -\w*o pipefail|\w+\+?=\()"
)
POSIX = having("posix")
MASKED = re.compile(r"(\|\|\s*(?:true|:|exit 0)|;\s*(?:true|exit 0)|(?<!&)&|\|\s*(?:cat|tee)\b[^|&;]*)\s*;?\s*$")
# A script that another interpreter runs again, and one that looks what its shell can do.
RUNS_ITSELF = re.compile(r"\bexec\b[^\n]*\$\{?0\b")
LOOKS_FIRST = re.compile(r"\bBASH_VERSION\b|\(\s*set -o pipefail")
# Signs of a verdict on stdout, which needs no exit status.
ANSWERS = re.compile(r"\b(?:action|decision|permissionDecision)\b\\?[\"']?\s*:|hookSpecificOutput")
REFUSES = re.compile(r"\bexit\s+[1-9]")
EXPORTS = re.compile(r"^\s*(?:module\.)?exports\b|^\s*export\s", re.MULTILINE)
# In the languages of hooks: lines within others or without effect, those that declare, and what is more than that.
SILENT = re.compile(r"\s|$|#|//|/?\*|[})\]]|\"\"\"|'''|[\"']use \w+[\"'];?$")
DECLARES = re.compile(
    r"set\s|from\b|import\b(?!\s*[\"'(])|export\b|(?:async\s+)?(?:def|function|class)\b|[\w-]+\s*\(\)\s*\{|"
    r"(?:const|let|var|readonly)\s(?![^=]*=\s*await\b)|(?:module\.)?exports\b[^=]*=(?!=)|[\w.]+(?::[^=]*)?\s+=\s|\w+="
)
DEFINES = re.compile(
    r"(?:^[^(]*(?:\b(?:def|function|class)\b|\bexports\b(?![^{]*\w\())|\(\)\s*(?=\{)).*[{}:(,]\s*$|"
    r"(?:=|\bdefault)\s*(?:async\b\s*)?(?:\w+|\([^()]*\))\s*=>\s*[{(]?\s*$"
)
CALLS = re.compile(r"[\w)](?<!require)\(|\$\(|`|[;&|]\s*[^\s;&|]|\w=\S*\s+\S|.{200}")


class Script(NamedTuple):
    """A script: what runs it, by its `#!` line perhaps with `env`, and whether the hook starts it itself."""

    path: str
    data: bytes
    program: str
    uses_env: bool
    is_started: bool


def script_problems(hook: Hook, look: list[str], directory: str, search: str) -> Iterator[tuple[str, str]]:
    """Yield a message and a hint for each mistake in a hook's command, or else in its script.

    `look` are the paths of its program and script, `directory` is where it runs, `search` its PATH.
    """
    found = list(_line_problems(str(hook.target), hook, directory)) if hook.kind == "command" else []
    script = _script(look)
    if script is not None:
        path = relative_path(script.path)
        found += [(f"`{path}` {message}", hint) for message, hint in _problems(hook, script, search)]
    yield from found[:1]  # what comes after may follow from it


def _line_problems(line: str, hook: Hook, directory: str) -> Iterator[tuple[str, str]]:
    if (error := _syntax_error("sh", line)) is not None:
        yield f"the shell cannot read this: {error}", "correct it"
    masked = MASKED.search(line) if REFUSES.search(line) is None else None
    if masked is not None and "pipefail" not in line and _guards(hook):
        scripts = [read_or_none(os.path.join(directory, word), MAX_SCRIPT) or b"" for word in line.split()]
        if not ANSWERS.search(line + b"".join(scripts).decode("utf-8", "replace")):
            yield f"`{masked[1]}` hides its exit status, so it never blocks", f"remove `{masked[1]}`"


def _guards(hook: Hook) -> bool:
    return hook.enforcing and hook.on_failure == "block" and any(map(can_refuse, hook.events))


def _acts(text: str) -> bool:
    """Return whether a script does more than to declare; in doubt it does."""
    lines = [line for line in text.splitlines() if SILENT.match(line) is None]
    rest = [line for line in lines if not DECLARES.match(line) or not DEFINES.search(line)]
    return (lines != [] and rest == lines) or any(CALLS.search(line) or not DECLARES.match(line) for line in rest)


def _commands(found: re.Match[str]) -> str:
    """Return what is left of a text that a shell does not read as commands: a word, expansions, its lines."""
    if found[0] == "\\\n":
        return "\f"  # the line continues
    kept = "".join(re.findall(r"\$\{[^}\n]*\}", found[0])) if found[0].startswith('"') else ""
    return "_" * (found[0][0] in "'\"\\") + kept + "\n" * found[0].count("\n")


def _script(look: list[str]) -> Script | None:
    """Return the script that the hook starts, or gives to an interpreter; None for a compiled program."""
    for is_started, path in ((False, look[1]), (True, look[0])) if len(look) > 1 else ((True, each) for each in look):
        data = read_or_none(path, MAX_SCRIPT)
        if data is None or b"\0" in data:
            continue
        words = [os.fsdecode(word) for each in SHEBANG.findall(data[:MAX_SHEBANG]) for word in each if word]
        uses_env = len(words) > 1 and os.path.basename(words[0]) == "env"
        program = look[0] if not is_started else words[1] if uses_env else words[0] if words else ""
        return Script(path, data, program, uses_env, is_started)
    return None


def _problems(hook: Hook, script: Script, search: str) -> Iterator[tuple[str, str]]:
    text = script.data.decode("utf-8", "replace")
    program = os.path.basename(script.program) or "sh"
    if script.is_started and not text.startswith("#!"):
        runs = RUN_BY.get(os.path.splitext(script.path)[1], "sh")
        if hook.kind == "args" or runs != "sh":  # else the shell runs it as its own
            yield "has no `#!` line", f"begin it with `#!/usr/bin/env {runs}`"
    if "\r\n" in text and (program in SHELLS or program.endswith("\r")):
        yield "has CRLF line ends, which its interpreter does not take", "save it with LF line ends"
    found = shutil.which(script.program, path=search) if script.uses_env else os.path.exists(script.program or "/")
    if script.is_started and not found:
        yield f"needs `{script.program}`, which is not found", "install it, or correct the `#!` line"
    if RUNS_ITSELF.search(text):
        return
    if program in SHELLS and (error := _syntax_error(program, text)) is not None:
        yield f"cannot be read by {program}: {error}", "correct it"
    said = UNSAID.sub(_commands, text)
    if program in POSIX and not LOOKS_FIRST.search(text) and (only := BASH_ONLY.search(said)) is not None:
        line = len(re.findall(r"[\n\f]", said[: only.start(1)])) + 1
        hint = "begin it with `#!/usr/bin/env bash`" if script.is_started else "run it with `bash`"
        yield f"has `{only[1].strip()}` in line {line}, which {program} need not have", hint
    if program.startswith("node") and EXPORTS.search(text) and not _acts(text):
        yield "only exports: if node runs it, nothing happens", "read the call from stdin and print a verdict"
    elif _guards(hook) and program.startswith((*SHELLS, "python", "node")) and not _acts(text):
        yield "is empty or only defines: it refuses nothing", "call what judges the call"


def _syntax_error(shell: str, text: str) -> str | None:
    """Return what a shell finds wrong with a script that it reads and does not run; None also where it is missing."""
    line, data = [shell, *(("-O", "extglob") if shell == "bash" and "extglob" in text else ()), "-n"], text.encode()
    try:
        done = subprocess.run(line, input=data, capture_output=True, timeout=MAX_SECONDS, check=False, env={}, cwd="/")
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return said.removeprefix(f"{shell}: ") if done.returncode and said else None
