"""The shell script in a project's settings that finds the user's launcher or hookrun on each user's machine.

It contains no path of an account. A project may set the agent's environment, so the account's home comes from the
password database, and only directories of PATH that are absolute and, links resolved, outside the repository count.
"""

from __future__ import annotations

import os

from hookrun import launcher_file
from hookrun.state import data_dir

# Read by sh, within single quotes that fish reads too: no single quote, no backslash before one. Old versions of bash
# need the bracket before a pattern within $(...). Some agents fill variables in when they read settings:
# the script's own begin with `_`, and the names of the environment's never follow a `$`.
BEGINS = "_v=$2; _m=$3; shift 3; "
SCRIPT = (
    # the arguments: what to do without hookrun, a variable that names the project, what to say then, hookrun's own
    f"{BEGINS}"
    "_u=$(/usr/bin/id -un 2>/dev/null); "
    'case $_u in (""|[!A-Za-z_]*|*[!A-Za-z0-9._-]*) _h=;; (*) eval "_h=~$_u";; esac; '
    # the launcher of the account, if all that it starts is there
    "_f=; case $_h in (/*) _l=$_h/.local/share/hookrun; "
    '[ -x "$_l/$3" ] && [ -f "$_l/$3" ] && [ -O "$_l/launcher.conf" ] && '
    'while IFS= read -r _w; do case $_w in ("exec /"*) [ -e "${_w#exec }" ] || break;; ("exec fire") _f=1;; esac; '
    'done <"$_l/launcher.conf"; [ "$_f" ] && _l=$_l/$3 && shift 3 && exec "$_l" "$@";; esac; '
    "_p=$(exec 2>/dev/null; "
    'case $_h in (/*) for _d in "$_h/.local/bin" "$_h"/Library/Python/*/bin; do '
    '[ -f "$_d/hookrun" ] && [ -x "$_d/hookrun" ] && printf %s "$_d/hookrun" && exit; done;; esac; '
    # the outermost directories with a .git around where we are and around the project
    'eval "_e=\\$$_v"; eval "_x=\\$"PATH; set --; '
    'for _d in . "$_e"; do case $_d in (/*|.) cd -P "$_d" || continue;; (*) continue;; esac; eval "_r=\\$"PWD; '
    '_d=$_r; while [ "$_d" ]; do [ -e "$_d/.git" ] && _r=$_d; _d=${_d%/*}; done; set -- "$@" "${_r%/}"; done; '
    "[ $# = 0 ] && exit; "
    "IFS=:; set -f; for _d in $_x; do "
    'case $_d in (/*) cd -P "$_d" || continue;; (*) continue;; esac; eval "_d=\\$"PWD; '
    'for _r in "$@"; do case $_d/ in ("$_r"/*) continue 2;; esac; done; '
    '[ -f hookrun ] && [ -x hookrun ] && printf %s "$_d/hookrun" && exit; done); '
    # in a virtual environment isolated from the environment's variables, elsewhere without those of Python
    'case $_p in (/*) _i=; IFS= read -r _i <"$_p" 2>/dev/null; case $_i in ("#!/"*) _i=${_i#??}; '
    '[ -x "$_i" ] && [ -f "${_i%/*}/../pyvenv.cfg" ] && exec "$_i" -I "$_p" "$@";; esac; '
    "unset PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONPYCACHEPREFIX PYTHONSTARTUP PYTHONINSPECT PYTHONWARNINGS; "
    'case $_h in (/*) export HOME="$_h";; esac; exec "$_p" "$@";; esac; '
    '[ "$_m" ] && printf "%s\\n" "$_m"; exit 0'
)

EARLIER_SCRIPTS = frozenset({"376a73e7bd725599060df735387965a97af3542a63c5c2a96f29173d37fb3a3e"})
"""SHA-256 of the scripts of earlier versions of hookrun."""

NAME = "hookrun"
"""What the script is called, the word before its arguments."""

SETTINGS = 3
"""How many arguments the script takes before those of hookrun."""


def is_script(text: str) -> bool:
    """Return whether a text is the script, as this or an earlier version of hookrun writes it."""
    if text == SCRIPT or not text.startswith(BEGINS):
        return text == SCRIPT
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest() in EARLIER_SCRIPTS


def arguments_of_fire(words: list[str]) -> list[str] | None:
    """Return the words after `fire` in a command that runs the script; None for any other command."""
    fire = 4 + SETTINGS
    if words[:2] != ["/bin/sh", "-c"] or words[3:4] != [NAME] or words[fire : fire + 1] != ["fire"]:
        return None
    if not is_script(words[2]):
        return None
    return words[fire + 1 :]


def find(agent: str, home: str | None, start: str, project: str, path: str) -> list[str] | None:
    """Return the command that the script would run in the directory `start`, up to `fire`; None if none.

    `home` is the account's, `project` the root that the agent names, `path` the value of PATH.
    """
    launcher = f"{data_dir(home)}/{agent}" if home is not None else ""
    conf = launcher_file.read(launcher_file.path_in(home)) if home is not None and _is_program(launcher) else None
    if (
        conf is not None
        and conf.command[-1] == "fire"
        and all(os.path.exists(word) for word in conf.command if word.startswith("/"))
    ):
        return conf.command[:-1]
    found = next((each for each in _candidates(home, start, project, path) if _is_program(each)), None)
    if found is None:
        return None
    try:
        with open(found, "rb") as file:
            first = os.fsdecode(file.readline(4096)).rstrip("\n")
    except OSError:
        first = ""
    interpreter = first[2:] if first.startswith("#!/") else ""
    isolated = os.path.isfile(os.path.join(os.path.dirname(interpreter), "..", "pyvenv.cfg"))
    return [interpreter, "-I", found] if isolated and os.access(interpreter, os.X_OK) else [found]


def _candidates(home: str | None, start: str, project: str, path: str) -> list[str]:
    from glob import glob

    roots = [_repository(each) for each in (start, project) if os.path.isabs(each) and os.path.isdir(each)]
    own = [f"{home}/.local/bin", *sorted(glob(f"{home}/Library/Python/*/bin"))] if home is not None else []
    resolved = [os.path.realpath(each) for each in path.split(":") if os.path.isabs(each)]
    outside = [each for each in resolved if roots and not any(f"{each}/".startswith(f"{root}/") for root in roots)]
    return [f"{each}/{NAME}" for each in (*own, *outside)]


def _repository(directory: str) -> str:
    """Return the outermost directory around one that has a `.git`, or the directory itself."""
    found = directory = os.path.realpath(directory)
    while directory.strip("/"):
        found = directory if os.path.lexists(f"{directory}/.git") else found
        directory = os.path.dirname(directory)
    return found.rstrip("/")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
