"""What else than a tree a command takes away: volumes, accounts, settings; and trees that other programs remove."""

from __future__ import annotations

import os
from itertools import pairwise

from hookrun.agents import UNASKED
from hookrun.core.files import is_within
from hookrun.recipes.protected_paths import TEMPORARY
from hookrun.recipes.shell_recipe import is_in, rows_of
from hookrun.shell.prefilter import QUOTES
from hookrun.shell.words import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookrun.recipes.protected_paths import ProtectedPaths
    from hookrun.shell.simple_command import SimpleCommand

# What removes the files that it is given.
REMOVING = frozenset({"rm", "shred", "srm", "unlink"})
# The user's settings that hold what he has written.
_PERSONAL = (
    ".bash_profile .bashrc .gitconfig .profile .ssh/authorized_keys .ssh/config .tmux.conf .vimrc .zprofile .zshenv "
    ".zshrc .config/fish/config.fish .config/git/config"
)
PERSONAL = frozenset(_PERSONAL.split())
# What takes away volumes, accounts, timed jobs, running programs and the running system, from the tools' manuals.
LOSING = rows_of("""
diskutil erase*|partitionDisk|zeroDisk|randomDisk|secureErase|reformat
zfs destroy
zpool destroy|labelclear
lvremove|vgremove|pvremove *
btrfs subvolume delete
mdadm --zero-superblock
crontab -r
userdel -r|--remove
deluser --remove-home|--remove-all-files
halt|poweroff|reboot|shutdown
init 0|6
systemctl poweroff|reboot|halt
tmutil delete*
vssadmin delete shadows
clear-disk|format-volume|initialize-disk|remove-partition
format ?:*
""")
# What switches off the protection of this machine or of its connections.
UNPROTECTED = rows_of("""
setenforce 0|permissive
ufw disable|reset
iptables|ip6tables -F|--flush
nft flush ruleset
pfctl -d
csrutil disable
spctl --master-disable|--global-disable
auditctl -e 0
systemctl|service stop|disable|mask firewalld*|ufw*|nftables*|iptables*|auditd*|apparmor*|fail2ban*
service firewalld|ufw|nftables|iptables|auditd|apparmor|fail2ban stop
netsh advfirewall set * state off
set-mppreference -DisableRealtimeMonitoring $true|1
git config http.sslverify|http.sslVerify|http.*.sslVerify false|0|no|off
npm|pnpm|yarn config set strict-ssl false
npm|pnpm|yarn config set strict-ssl=false
""")
ASKING_NOTHING = rows_of(UNASKED)
# Rows, and what a command in one does.
QUESTIONS = (
    (LOSING, "takes away what only a backup brings back, or ends the running system"),
    (UNPROTECTED, "switches off what protects this machine or its connections"),
    (ASKING_NOTHING, "starts an agent that asks about no call"),
)
PROGRAMS = (*{name for rows, _ in QUESTIONS for name in rows}, "kill")
# Options with which they only say something, or call it off.
HARMLESS = frozenset({"--dry-run", "--help", "--show", "--version", "-c"})
# An emptied directory of which the name may be empty.
UNSET = r"\brm\s+(?:-\w*[rR]\w*|--recursive)\s+(?:-\S+\s+)*[\"']?\$\{?(\w+)\}?[\"']?/[\"']?\*?[\"']?(?=\s|[;&|)]|$)"
# Databases and backups, by their names.
DATA = (
    r"(?i)(?:^|[/_.-])(?:prod|production|live)(?:[/_.-].*)?\.(?:db|sqlite3?|sql|dump|rdb)(?:\.gz)?$"
    r"|(?:^|[/_.-])backups?[/_.-].*\.(?:db|sqlite3?|sql|dump|bak|rdb|tar|tgz|gz|zip|zst)$"
    r"|(?:^|/)(?:data|volumes?|\.docker)/(?:postgres|postgresql|pgdata|mysql|mariadb|mongo|mongodb|redis)/?$"
)


def may_replace(line: str) -> bool:
    """Return whether a line may write one of the user's settings anew. False is certain."""
    bare = line.translate(QUOTES)
    return ">" in line and any(each.rpartition("/")[2] in bare for each in PERSONAL)


def questions(command: SimpleCommand, line: str, protected: ProtectedPaths) -> Iterator[str]:
    """Yield why a command is asked about."""
    import re

    texts = [command.program, *command.operands[:2]]
    words = command.arguments
    if not HARMLESS.isdisjoint(words) and not is_in(command, ASKING_NOTHING):  # `-c` of an agent continues a session
        return
    everyone = command.program == "kill" and len(words) > 1 and words[-1] == "-1"
    emptied = texts == ["crontab", "-"] and command.stdin is not None and not command.stdin.text.strip()
    for rows, does in QUESTIONS:
        if is_in(command, rows) or (rows is LOSING and (emptied or everyone)):
            yield f"`{' '.join(texts)}` {does}"
    for path in searched(command):
        full = absolute(path, command.directory)
        if full is not None and protected.is_large(full):
            yield f"This removes files anywhere in {full}"
    for path in replaced(command):
        full = absolute(path, command.directory)
        if full is not None and full.removeprefix(f"{protected.home}/") in PERSONAL:
            yield f"This replaces {full}, which may exist nowhere else"
    if command.program in {"rm", "shred", "truncate"}:
        yield from (
            f"This takes away {path}, a database or a backup" for path in command.operands if re.search(DATA, path)
        )
    unset = re.search(UNSET, line) if command.program == "rm" and not command.script else None
    name = unset[1] if unset is not None else ""
    is_set = os.environ.get(name) or re.search(rf"\b{name}=|\b(?:for|read(?:\s+-\w+)*)\s+{name}\b", line)
    if name and not is_set:
        yield f"This removes everything in / if ${name} is not set. Write ${{{name}:?}}"


def searched(command: SimpleCommand) -> list[str]:
    """Return the directories in which `find` removes what a filter lets through."""
    words = command.arguments
    runs = {there.rpartition("/")[2] for here, there in pairwise(words) if here in {"-exec", "-execdir"}}
    if command.program != "find" or ("-delete" not in words and runs.isdisjoint(REMOVING)):
        return []
    from hookrun.shell.wrappers import start_directories

    return [start.text for start in start_directories(command.words)]


def replaced(command: SimpleCommand) -> Iterator[str]:
    """Yield the files that a command writes anew."""
    yield from (each.target.text for each in command.redirections if each.writes and each.operator in {">", ">|", "&>"})
    if command.program in {"tee", "truncate"} and "-a" not in command.arguments:
        yield from command.operands
    elif command.program == "cp" and "/dev/null" in command.operands[:-1]:
        yield command.operands[-1]


def moved_away(command: SimpleCommand) -> list[str]:
    """Return what `mv` takes to where it does not last."""
    *paths, last = command.operands or [""]
    full = absolute(last, command.directory) or ""
    return paths if full == "/dev/null" or any(is_within(full, each) for each in TEMPORARY) else []


def of_windows(command: SimpleCommand) -> list[str]:
    """Return the trees that PowerShell's and cmd's own commands remove; a drive stands for a directory of the root."""
    import re

    texts = [text.lower() for text in command.arguments]
    if any(text.startswith("-wh") for text in texts) or not any(
        text == "/s" or text.startswith("-r") for text in texts
    ):
        return []
    paths = [
        text.strip(",").removeprefix("//?/") for text in command.operands if not re.fullmatch("/[a-z]", text.lower())
    ]
    return [f"/{path}" if path[1:2] == ":" else path for path in paths]


# An outside directory, and where a container sees it, unless only to read.
MOUNTED = r"(?:(?<=-v )|(?<=-v=)|(?<=--volume )|(?<=--volume=))([^\s:=,]+):(/[^\s:]*)(?!:ro)(?=[\s:]|$)"


def of_container(command: SimpleCommand) -> list[str]:
    """Return the outside trees that `rm` removes in a container."""
    import re

    text = " ".join(command.arguments)
    removed = re.search(r"\brm\s+(?:-\w+\s+)*-\w*[rR]\w*\s(.*)", text)
    inside = removed[1].split() if removed is not None else []
    return [
        path.replace(there, here.rstrip("/"), 1)
        for here, there in re.findall(MOUNTED, text)
        for path in (each.strip("'\";&|") for each in inside)
        if is_within(path, there)
    ]


REMOVERS: dict[str, Callable[[SimpleCommand], list[str]]] = {
    "mv": moved_away,
    **dict.fromkeys(("docker", "nerdctl", "podman"), of_container),
    **dict.fromkeys(("del", "erase", "rd", "remove-item", "ri", "rmdir"), of_windows),
    **dict.fromkeys(("del-cli", "rimraf", "shred", "trash", "trash-put"), lambda command: command.operands),
}
