"""The user's permissions: `hookrun allow` lets one refused call past one hook, once, within ten minutes.

Each is a private file beside the approvals, named by the call's digest. Whoever unlinks it has used it. One that is
damaged, or that others could have written, permits nothing.
"""

from __future__ import annotations

import os

from hookrun.core.fastjson import dumps, loads
from hookrun.core.model import as_object
from hookrun.core.state import DATA_DIR, now_ns, read_own, seal, unsealed
from hookrun.trust import store as stores
from hookrun.trust.digest import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrun.core.model import AnyHook

# Seconds for which a permission counts.
SECONDS = 600
PREFIX = "allow-"
# Characters of a call's digest in messages; `hookrun allow` refuses a beginning that several calls share.
SHORT_ID = 6
# The context's fields that make a call the same.
SAME = ("event", "working_dir", "tool_name", "tool_args")


def call_digest(hook: AnyHook, context: Mapping[str, object], root: str) -> str:
    """Return the SHA-256, as 64 hexadecimal digits, of a call as a hook sees it in the project at `root`."""
    made = sha256()
    made.update(dumps([hook.layer, hook.source, hook.name, root, *map(context.get, SAME)]).encode("ascii"))
    return made.hexdigest()


def is_permitted(home: str, call: str, owners: Iterable[int] = (), *, use: bool = False) -> bool:
    """Return whether the user lets a call through now. With `use` it is used up: of several users one gets True."""
    try:
        fd = stores.open_directory(home + DATA_DIR, owners)
    except (OSError, stores.StoreError):
        return False
    try:
        if _read(PREFIX + call, fd) is None:
            return False
        if use:
            os.unlink(PREFIX + call, dir_fd=fd)
            os.fsync(fd)  # it must not come back after a power failure
    except OSError:  # another call was faster, or it cannot be used up
        return False
    finally:
        os.close(fd)
    return True


def _read(name: str, directory: int) -> dict[str, object] | None:
    """Return a permission in an open directory, None if it is damaged, not private, or not for now."""
    try:
        fields = as_object(loads(unsealed(read_own(name, directory))))
    except (OSError, ValueError):
        return None
    begin, until = fields.get("begin"), fields.get("until")
    if not (isinstance(begin, float) and isinstance(until, float)) or fields.get("call") != name.removeprefix(PREFIX):
        return None
    return fields if begin <= now_ns() / 1e9 < until <= begin + SECONDS else None


def permissions(home: str, owners: Iterable[int] = ()) -> list[dict[str, object]]:
    """Return the fields of each permission that counts now. Raises StoreError if none can be trusted."""
    try:
        fd = stores.open_directory(home + DATA_DIR, owners)
    except FileNotFoundError:
        return []
    try:
        found = (_read(name, fd) for name in sorted(os.listdir(fd)) if name.startswith(PREFIX))
        return [each for each in found if each is not None]
    finally:
        os.close(fd)


def permit(home: str, fields: Mapping[str, object], owners: Iterable[int] = ()) -> float:
    """Let the call with the digest `call` through once; return until when, as a Unix time. Raises StoreError, OSError.

    The other `fields` are for the user.
    """
    from hookrun.core import files
    from hookrun.core.state import make_private_dir

    where, now = home + DATA_DIR, now_ns() / 1e9
    make_private_dir(where)
    os.close(stores.open_directory(where, owners))
    current = {PREFIX + str(each["call"]) for each in permissions(home, owners)}
    for name in os.listdir(where):
        if name.startswith(PREFIX) and name not in current:
            files.remove_if_there(f"{where}/{name}")
    data = seal(dumps({**fields, "begin": now, "until": now + SECONDS}))
    files.atomic_write(f"{where}/{PREFIX}{fields['call']}", data, exact=True, durable=True)
    return now + SECONDS


def forget(home: str, call: str) -> bool:
    """Take a permission back; return whether there was one. Raises OSError."""
    try:
        os.unlink(f"{home}{DATA_DIR}/{PREFIX}{call}")
    except FileNotFoundError:
        return False
    return True
