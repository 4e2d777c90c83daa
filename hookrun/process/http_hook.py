"""Run a hook that is a URL: POST the context and return the response body.

Runs in a child process, so that the timeout covers the whole exchange, name resolution included.
"""

from __future__ import annotations

import json
import os
import re
import sys
from base64 import b64encode
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Environment variable with the arguments of `run` as JSON, if this file runs as a script.
REQUEST = b"HOOKRUN_URL_REQUEST"

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 307, 308})
# Exit status of the child after a failed exchange; its stderr has the reason.
FAILED = 1


def run(target: str, headers: Mapping[str, str] | None, allowed_env: Sequence[str], max_output: int) -> int:
    """POST stdin to the URL, write the response to stdout and return 0; or FAILED, with the reason on stderr."""
    with open(0, "rb", closefd=False) as stdin:
        body = stdin.read()
    try:
        answer = _exchange(target, body, _headers(target, headers or {}, allowed_env), max_output)
    except (HTTPException, OSError, ValueError) as error:
        print(f"{_place(urlsplit(target))}: {error or type(error).__name__}", file=sys.stderr)
        return FAILED
    view = memoryview(answer)
    while view:
        view = view[os.write(1, view) :]
    return 0


def _headers(target: str, own: Mapping[str, str], allowed_env: Sequence[str]) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "hookrun"}
    user = urlsplit(target)
    if user.username is not None:
        name_and_password = f"{unquote(user.username)}:{unquote(user.password or '')}".encode()
        headers["Authorization"] = "Basic " + b64encode(name_and_password).decode()
    for name, value in own.items():
        headers[name] = expand(value, allowed_env)
        if not headers[name].isprintable() or not headers[name].isascii():
            raise ValueError(f"the value of header {name} contains control or non-ASCII characters")
    return headers


def expand(value: str, allowed: Sequence[str]) -> str:
    """Return a header's value with `$NAME` and `${NAME}` replaced, for `allowed` variables only.

    Raises ValueError if such a variable is not set.
    """

    def replace(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in allowed:
            return found[0]
        if name not in os.environ:
            raise ValueError(f"environment variable {name}, used in a header, is not set")
        return os.environ[name]

    return re.sub(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))", replace, value)


def _exchange(url: str, body: bytes, headers: dict[str, str], most: int) -> bytes:
    """Return the body of the response.

    Raises ValueError for a status other than 2xx, a body cut short or longer than `most` bytes, a redirect to another
    host, and too many redirects.
    """
    first = urlsplit(url)
    for _ in range(MAX_REDIRECTS + 1):
        response = _post(urlsplit(url), body, headers)
        if response.status in REDIRECTS:
            if not response.headers.get("Location"):
                raise ValueError(f"HTTP {response.status} without a Location header")
            url = urljoin(url, response.headers["Location"])
            if _host(urlsplit(url)) != _host(first):
                raise ValueError(f"HTTP {response.status} redirects to another host ({_shown(_place(urlsplit(url)))})")
            continue
        answer = response.read(most + 1)
        if response.length and len(answer) <= most:
            raise ValueError(f"the connection was closed {response.length} bytes before the end of the response")
        if not 200 <= response.status < 300:  # noqa: PLR2004  # HTTP's range of success
            raise ValueError(
                f"HTTP {response.status} {response.reason}: {_shown(answer[:300].decode('utf-8', 'replace'))}"
            )
        if len(answer) > most:
            raise ValueError(f"the response is longer than max_output ({most} bytes)")
        return answer
    raise ValueError(f"more than {MAX_REDIRECTS} redirects")


def _post(url: SplitResult, body: bytes, headers: dict[str, str]) -> HTTPResponse:
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.hostname or "", url.port)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    connection.request("POST", path, body, headers)
    return connection.getresponse()


def _place(url: SplitResult) -> str:
    """Return a URL for display: without user, password and query."""
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"


def _host(url: SplitResult) -> tuple[str, str | None, int | None]:
    return (url.scheme, url.hostname, url.port or {"http": 80, "https": 443}.get(url.scheme))


def _shown(text: str) -> str:  # not text.printable_lines: a script run with `-I -S` finds no hookrun
    return "".join(char if char.isprintable() else " " for char in text).strip()


if __name__ == "__main__":
    sys.exit(run(**json.loads(os.environb.pop(REQUEST))))
