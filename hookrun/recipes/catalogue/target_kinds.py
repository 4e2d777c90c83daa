"""What a call is aimed at, and what kind of target that is: production, a test, this machine, or unknown.

A database is found by the call's words, its variables, and the files with variables beside it; where in a cloud a call
is aimed, also by the settings in which tools keep it.
"""

from __future__ import annotations

import os
import re

from hookrun.core.files import read_or_none
from hookrun.core.globs import glob
from hookrun.recipes.catalogue.tool_call import MAX_FILE
from hookrun.recipes.protected_paths import TEMPORARY
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hookrun.recipes.catalogue.compiled_rows import Row
    from hookrun.recipes.catalogue.tool_call import ToolCall

# Names of this machine, and files on it that are temporary or sockets.
LOCAL = (
    "localhost", "*.localhost", "127.*", "::1", "host.docker.internal", ":memory:", "/run/*", "/var/run/*",
    "0.0.0.0",  # noqa: S104  # compared, not bound
    *(f"{each}/*" for each in TEMPORARY),
    # contexts of clusters
    "minikube", "kind-*", "k3d-*", "docker-desktop", "rancher-desktop", "orbstack", "colima*", "microk8s", "crc-*",
)  # fmt: skip


class Target:
    """What a call is aimed at: `places` are hosts, addresses, files, contexts and names; `modes` as of RAILS_ENV.

    Modes count where no place is known. Parts that only the shell knows are left out. On a `remote` machine
    `localhost` is not this one. `around` are words of the program that launches the call: they may name production.
    """

    around: Sequence[str] = ()

    def __init__(self, places: Iterable[str] = (), modes: Iterable[str] = (), *, remote: bool = False) -> None:
        self.places = [each for each in map(_public, places) if each]
        self.modes = [each for each in map(_public, modes) if each]
        self._local = () if remote else LOCAL

    def kind(self, production: list[str], tests: list[str]) -> tuple[str, str]:
        """Return `production`, `local`, `test` or `unknown`, and the name that says so, "" if none does."""
        names = [*self.places, *self.modes]
        for each in (*names, *map(_public, self.around)):
            if _matches(each, production):
                return "production", each
        for each in self.places or self.modes:
            if any(glob(pattern, part) for pattern in self._local for part in _hosts(each)):
                return "local", each
            name = each if "://" in each else each.rpartition("/")[2] or each  # of a file: not `~/.local/share/x.db`
            name = re.sub(r"(?<=\w\.)dev(?=[:/]|$)", "", name)  # a domain of the internet
            if _matches(re.sub(r"^.*?localhost(?::\d+)?", "", name) if not self._local else name, tests):
                return "test", each
        return "unknown", names[0] if names else ""


def variable(call: ToolCall, name: str, mode: str = "") -> str:
    """Return a variable of a call, "" if it is not set: of the line, else the agent's, else of a file `.env`.

    `mode` is the environment whose own file, `.env.MODE`, is read instead if there is one.
    """
    if call.variables.get(name):
        return call.variables[name]
    return os.environ.get(name) or (env_file(call.directory, mode).get(name, "") if call.directory else "")


def env_file(directory: str, mode: str = "") -> Mapping[str, str]:
    """Return the variables of a directory's file `.env.MODE`, or `.env`, with `.env.local`, without unknown parts."""
    found: dict[str, str] = {}
    own = f".env.{mode}"
    names = (own,) if mode and os.path.exists(os.path.join(directory, own)) else (".env", ".env.local")
    for name in names:
        data = read_or_none(os.path.join(directory, name), MAX_FILE) or b""
        for line in data.decode(errors="replace").splitlines():
            key, equals, value = line.removeprefix("export ").partition("=")
            if equals and key.strip()[:1] != "#":
                value = value.strip()
                quoted = value[:1] in {"'", '"'} and value.rfind(value[0]) > 0
                found[key.strip()] = value[1 : value.rfind(value[0])] if quoted else value.partition(" #")[0].strip()
    return found


def _public(text: str) -> str:
    """Return a name without password and parameters, as a message may show it."""
    text = re.sub(r"(?<=://)[^/@]*@|^[^/@:]+:[^/@]*@|[?&].*$", "", text.replace(UNKNOWN, ""), flags=re.DOTALL)
    return text.strip()


def _hosts(text: str) -> list[str]:
    """Return a name and the parts of an address by which it may be of this machine."""
    address = re.match(r"(?:jdbc:)?[\w+.-]*:/{2,3}\[?([\w.:-]*?)\]?(?::\d+)?(?:[/,].*)?$", text)
    file = re.sub(r"^(?:jdbc:)?(?:file|sqlite\w*|duckdb):(?:///?(?=/|\w|:))?", "", text)
    return [text.lower(), file, *([address[1].lower()] if address else []), re.sub(r":\d+$", "", text)]


def _matches(text: str, patterns: list[str]) -> bool:
    parts = re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", text)
    return any(glob(pattern, part.lower()) for pattern in patterns for part in (text, *parts))


# --- databases

_PLACES = (
    "DATABASE_URL DB_URL DATABASE_URI SQLALCHEMY_DATABASE_URI SQLALCHEMY_DATABASE_URL JDBC_DATABASE_URL DIRECT_URL "
    "POSTGRES_URL POSTGRES_PRISMA_URL MYSQL_URL MONGODB_URI MONGO_URI MONGO_URL MONGODB_URL REDIS_URL DB_HOST "
    "DATABASE_HOST POSTGRES_HOST MYSQL_HOST PGHOST DB_DATABASE DB_NAME DATABASE_NAME POSTGRES_DB MYSQL_DATABASE "
    "PGDATABASE"
)
# Variables by which programs find their database, where a row names no others.
PLACES = _PLACES.split()
_MODES = (
    "RAILS_ENV RACK_ENV NODE_ENV APP_ENV MIX_ENV HANAMI_ENV DJANGO_SETTINGS_MODULE DJANGO_CONFIGURATION DJANGO_ENV "
    "FLASK_ENV FLASK_CONFIG ASPNETCORE_ENVIRONMENT DOTNET_ENVIRONMENT SPRING_PROFILES_ACTIVE ENVIRONMENT ENV STAGE"
)
# Variables that say in which environment a program runs.
MODES = _MODES.split()
# Options that say it.
MODE_OPTIONS = ("--env", "-e", "--environment", "--settings", "--profile", "-env", "-E")
# Addresses and files in code.
ADDRESS = re.compile(
    r"(?:[\w+]+://[^\s'\"`]+|:memory:|\b(?:localhost|127\.0\.0\.1)\b|(?<=['\"])[^'\"\s]+\.(?:db|sqlite3?|duckdb)(?=['\"]))"
)


def database(call: ToolCall) -> Target:
    """Return the places of a call's words if they name any, else those of its variables; its modes in any case."""
    modes = [value for name, value in call.options if name in call.row.get("modes", MODE_OPTIONS)]
    modes += (each.rpartition("/")[2].removeprefix(".env.") for each in call.around if ".env" in each)
    named = [*call.named(), *_addresses(call), *(ADDRESS.findall(call.code) if "words" in call.row else ())]
    mode = modes[-1] if modes else ""
    variables = call.row.get("variables", PLACES)
    places = named or [value for name in variables if (value := variable(call, name, mode))]
    modes += (value for name in MODES if (value := variable(call, name, mode)))
    return Target(places, modes, remote=call.is_remote)


def _addresses(call: ToolCall) -> Iterator[str]:
    """Yield addresses in a call's words, also those of `host=... dbname=...`."""
    for text in (*(value for _, value in call.options), *(text for text, _ in call.operands)):
        if " " not in text and ("://" in text or text.startswith(("jdbc:", "file:", "sqlite:"))):
            yield text
        else:
            yield from re.findall(
                r"(?:^|[\s;])(?:host|hostaddr|dbname|service|Server|Database|Data Source)=([^\s;]+)", text
            )


# --- clouds


def cloud(call: ToolCall) -> Target:
    """Return what a call names: its options, variables, the current context in settings, and its operands.

    A context on this machine is all: `kubectl --context minikube delete namespace prod` is aimed at nothing else. No
    file is: a plan in a temporary directory has a cloud for its target, so that of a file only its name counts.
    """
    row = call.row
    names = [each for each in row.get("names", ()) if each != "*"]
    values = (value for name, value in call.options if any(glob(each, name) for each in names))
    contexts = [part for value in values for part in _parts(value)]
    contexts += (variable(call, each) for each in row.get("variables", ()))
    contexts += _current(call)
    here = [each for each in contexts if Target([each], remote=call.is_remote).kind([], [])[0] == "local"]
    operands = [each for each in call.named() if "*" in row.get("names", ()) and each[:1] not in {"/", ".", "~"}]
    return Target(here[:1] or [*contexts, *call.hosts, *operands], remote=call.is_remote)


def _parts(value: str) -> list[str]:
    """Return a name, and the directories in a path, of which a temporary one says nothing."""
    path = next((value[len(each) + 1 :] for each in TEMPORARY if value.startswith(f"{each}/")), value)
    return [path] if "://" in path or path[:1] == "/" else [path, *path.split("/")[:-1]]


def _current(call: ToolCall) -> Iterator[str]:
    """Yield the current contexts that the row's `settings` find, each as `{}` in the file names of the next."""
    found = "default"
    for each in call.row.get("settings", ()):
        given = {name for name, _ in call.options}
        if given.isdisjoint(each.get("unless", ())):
            match = next(filter(None, (re.search(each["finds"], text) for text in _texts(call, each, found))), None)
            if match is not None:
                found = match[1]
                yield found


def _texts(call: ToolCall, setting: Row, found: str) -> Iterator[str]:
    """Yield the texts of the regular files that are there, of the first that names any: an option, a variable, a path.

    As kubectl does, a variable may name several files, and those of the next are not looked at if none is there.
    """
    options = dict(call.options)
    directory = os.path.join(call.directory or "/", options.get(setting.get("directory", ""), ""))
    for each in setting["files"]:
        named = options.get(each) or (variable(call, each[1:]) if each[0] == "$" else "" if each[0] == "-" else each)
        for path in named.replace("{}", found).split(os.pathsep):
            data = read_or_none(os.path.join(directory, os.path.expanduser(path)), MAX_FILE) if path else None
            if data is not None:
                yield data.decode("utf-8-sig", errors="replace")
        if named and each[0] in "-$":
            return


# `target` of a row -> the function that returns a call's Target.
TARGETS: dict[str, Callable[[ToolCall], Target]] = {"cloud": cloud, "database": database}


def target_of(call: ToolCall) -> Target | None:
    """Return the target of a call, None if what it loses has none that decides."""
    name = call.row.get("target")
    return None if name is None else TARGETS[name](call)
