"""What a call is aimed at, and what kind of target that is: production, a test, this machine, or unknown."""

from __future__ import annotations

import os
import re
from importlib import import_module

from hookrun.core.files import read_or_none
from hookrun.core.globs import glob
from hookrun.recipes.catalogue.tool_call import MAX_FILE
from hookrun.recipes.protected_paths import TEMPORARY
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hookrun.recipes.catalogue.tool_call import ToolCall

# Names of this machine, and files on it that are temporary or sockets.
LOCAL = (
    "localhost", "*.localhost", "127.*", "::1", "host.docker.internal", ":memory:", "/run/*", "/var/run/*",
    "0.0.0.0",  # noqa: S104  # compared, not bound
    *(f"{each}/*" for each in TEMPORARY),
    # contexts of clusters
    "minikube", "kind-*", "k3d-*", "docker-desktop", "rancher-desktop", "orbstack", "colima*", "microk8s", "crc-*",
)  # fmt: skip
# `target` of a row -> the module here with a function of that name, which returns a call's Target.
MODULES = {"cloud": "target_cloud", "database": "target_database"}


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


def target_of(call: ToolCall) -> Target | None:
    """Return the target of a call, None if what it loses has none that decides."""
    name = call.row.get("target")
    if name is None:
        return None
    module = import_module(f"hookrun.recipes.catalogue.{MODULES[name]}")
    target: Target = getattr(module, name)(call)
    return target


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
