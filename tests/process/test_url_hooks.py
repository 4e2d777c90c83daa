"""URL hooks against real servers on loopback: answers, refusals, redirects, headers, and errors."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from hookrun.process.http_hook import expand
from tests.conftest import Fired, Project
from tests.waiting import limit

pytestmark = pytest.mark.sampled(3)

Act = Callable[["Handler"], None]

BLOCK = b'{"action": "block", "message": "not over HTTP"}'
CONTINUE = b'{"action": "continue"}'
TOKEN = "an-ordinary-word-of-a-secret"  # noqa: S105  # made up: what must not be shown


class Handler(BaseHTTPRequestHandler):
    """Reads the request, notes it, and does what the server is there to do."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        """Take one POST."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        self.close_connection = True
        with suppress(OSError):
            self.server.act(self)

    def do_GET(self) -> None:
        """Take one GET, which no hook is to send."""
        self.server.requests.append((self.command, self.path, {}, b""))
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in http.server
        """Log nothing."""

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """A server on a free port of loopback that does the same for every request. `requests` are those it has read."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, act: Act, host: str) -> None:
        """Listen, and do nothing yet."""
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), Handler)
        self.act = act
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.over = threading.Event()
        self.tls = False

    @property
    def url(self) -> str:
        """Where a hook is posted to."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.server_port}/hook"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that has disconnected."""


@contextmanager
def serving(act: Act, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Server]:
    """Run a server while the block runs."""
    server = Server(act, host)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.tls = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def answering(body: bytes, status: int = 200, **headers: str) -> Act:
    """Return what answers every request alike."""
    return lambda handler: handler.answer(body, status, **headers)


def fire(
    project: Project, url: str, *, env: dict[str, str] | None = None, reap: bool = False, **fields: object
) -> Fired:
    """Fire one hook that is a URL; a failure of it blocks."""
    project.hooks({"url": url, "on_failure": "block", "timeout": 60, **fields})
    return project.fire(env=env, reap=reap)


def records_of_each(project: Project, acts: dict[str, Act]) -> dict[str, dict[str, object]]:
    """Fire one hook for each way of answering; return the hooks' records."""

    def act(handler: Handler) -> None:
        acts[unquote(handler.path.rpartition("/")[2])](handler)

    with serving(act) as server:
        project.hooks(*({"name": name, "url": f"{server.url}/{quote(name, safe='')}", "timeout": 60} for name in acts))
        fired = project.fire(reap=True)
    assert (fired.status, fired.action, fired.left) == (0, "continue", []), fired.stderr
    records = {name: fired.record(name) for name in acts}
    assert bool(fired.stderr) is any(record.get("failure") for record in records.values()), fired.stderr
    return records


def failures_of_each(project: Project, acts: dict[str, Act]) -> dict[str, object]:
    """Fire one hook for each way of answering; return the kinds of the hooks' failures."""
    return {name: record.get("failure") for name, record in records_of_each(project, acts).items()}


def failed(fired: Fired, kind: str) -> str:
    """Return the reason of the hook's failure, having seen that it is of this kind and leaves nothing running."""
    assert fired.hook("hook")["failure"] == kind, fired.stderr
    assert (fired.status, fired.action) == (2, "block")
    assert fired.record("hook")["failure"] == kind
    assert fired.left == []  # of those that were looked for
    return str(fired.verdict["message"])


def test_the_context_is_posted_and_the_body_of_the_answer_is_the_verdict(project: Project) -> None:
    """The hook's stdin is the body of one POST, and the JSON that comes back is obeyed."""
    with serving(answering(BLOCK)) as server:
        fired = fire(project, server.url, reap=True)
    assert (fired.status, fired.verdict["message"]) == (2, "not over HTTP"), fired.stderr
    assert fired.hook("hook")["failure"] is None
    [(method, path, headers, body)] = server.requests
    assert (method, path) == ("POST", "/hook")
    assert headers["content-type"] == "application/json"
    context = json.loads(body)
    assert (context["hook"], context["tool_args"]) == ("hook", {"command": "ls"})
    assert fired.left == []


def test_a_large_context_and_a_query_arrive_whole(project: Project) -> None:
    """A large context and the query of the URL reach the server unchanged."""
    content = "ü" * (2 << 20)
    with serving(answering(BLOCK)) as server:
        project.hooks({"url": server.url + "?strict=1&a=b%20c"})
        fired = project.fire({"tool_name": "write", "tool_args": {"content": content}})
    assert fired.status == 2
    [(_, path, _, body)] = server.requests
    assert path == "/hook?strict=1&a=b%20c"
    assert json.loads(body)["tool_args"]["content"] == content


def test_an_empty_answer_has_no_objection(project: Project) -> None:
    """2xx with nothing in it is a continue and no failure."""
    empty = {
        "200": answering(b""),
        "blanks": answering(b"  \n"),
        "204": answering(b"", 204),
        "202": answering(b"", 202),
    }
    assert failures_of_each(project, empty) == dict.fromkeys(empty)


def test_a_status_other_than_2xx_is_an_http_failure_that_names_it(project: Project) -> None:
    """An error status fails as http with the status and the beginning of the body, whatever it is."""
    body = BLOCK.replace(b"not over HTTP", b"out of order")
    records = records_of_each(project, {status: answering(body, int(status)) for status in ("401", "404", "500")})
    for status, record in records.items():
        detail = str(record["detail"])
        told = f"HTTP {status}" in detail, "out of order" in detail, f"/hook/{status}" in detail
        assert (record["failure"], told) == ("http", (True, True, True)), detail
    with serving(answering(body, 404)) as server:
        assert "HTTP 404" in failed(fire(project, server.url), "http")


def test_an_answer_that_is_no_verdict_is_a_bad_verdict(project: Project) -> None:
    """200 with anything but one fitting object fails as bad_verdict."""
    odd = {body: answering(body.encode()) for body in ("<html>fine</html>", "[]", "ok", '{"action": "approve"}')}
    odd["two"] = answering(CONTINUE + b"\n" + CONTINUE)
    assert failures_of_each(project, odd) == dict.fromkeys(odd, "bad_verdict")


def wait_for_the_end(handler: Handler) -> None:
    """Answer nothing while the server runs."""
    handler.server.over.wait(limit())


def dribble(handler: Handler) -> None:
    """Send a body one byte at a time, so that no single read ever takes long."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 20))
    handler.end_headers()
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b" ")


def dribble_headers(handler: Handler) -> None:
    """Send header after header and never the end of them."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b"X-Wait: 1\r\n")


@pytest.mark.slow
@pytest.mark.parametrize("act", [wait_for_the_end, dribble, dribble_headers])
def test_the_timeout_is_over_the_whole_exchange(project: Project, act: Act) -> None:
    """A server that keeps silent, or sends byte by byte, is a timeout of the hook, and nothing is left running."""
    with serving(act) as server:
        reason = failed(fire(project, server.url, timeout=1, reap=True), "timeout")
    assert len(server.requests) == 1
    assert "after 1 s" in reason


@pytest.mark.slow
def test_a_server_that_accepts_and_never_reads_is_a_timeout(project: Project) -> None:
    """A body that the server does not take is given up at the hook's timeout."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        project.hooks({"url": f"http://127.0.0.1:{listening.getsockname()[1]}/", "timeout": 1, "on_failure": "block"})
        fired = project.fire({"tool_name": "write", "tool_args": {"content": "x" * (8 << 20)}}, reap=True)
    failed(fired, "timeout")


def cut(body: bytes, said: int) -> Act:
    """Return what promises `said` bytes and closes the connection after `body`."""

    def act(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(said))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def cut_chunks(handler: Handler) -> None:
    """Send a first chunk that is a whole verdict, and close without the last chunk."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(BLOCK), BLOCK))


def hang_up(_: Handler) -> None:
    """Close the connection without an answer."""


def babble(handler: Handler) -> None:
    """Answer in another protocol."""
    handler.wfile.write(b"220 mail.example.com ESMTP\r\n")


def test_a_connection_closed_midway_is_an_http_failure(project: Project) -> None:
    """An answer shorter than announced fails as http: half an answer, or none of it, is no continue."""
    acts = {
        "before the body": cut(b"", 40),
        "in the body": cut(b'{"action": "co', 40),
        "after what looks whole": cut(CONTINUE, 400),
        "between chunks": cut_chunks,
        "before the status": hang_up,
        "no HTTP": babble,
        "a redirect without a place": answering(b"", 307),
    }
    assert failures_of_each(project, acts) == dict.fromkeys(acts, "http")


PADDED = BLOCK.ljust(1000)


def in_chunks(handler: Handler) -> None:
    """Answer PADDED without its length."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(PADDED), PADDED))


@pytest.mark.slow
@pytest.mark.parametrize("act", [answering(PADDED), in_chunks], ids=["with a length", "chunked"])
def test_an_answer_longer_than_max_output_is_an_http_failure(project: Project, act: Act) -> None:
    """More than max_output bytes fail as http and are not read to their end; exactly that many are a verdict."""
    with serving(act) as server:
        assert fire(project, server.url, max_output=len(PADDED)).verdict["message"] == "not over HTTP"
        reason = failed(fire(project, server.url, max_output=len(PADDED) - 1), "http")
    assert "max_output" in reason


def test_an_endless_answer_costs_no_memory(project: Project) -> None:
    """A server that sends forever is cut off at max_output."""

    def flood(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not handler.server.over.is_set():
            handler.wfile.write(b" " * 65536)

    with serving(flood) as server:
        fired = fire(project, server.url, reap=True)
    assert "max_output" in failed(fired, "http")
    assert fired.peak_kilobytes < 60_000


def redirecting(location: str, status: int = 307) -> Act:
    """Return what sends a request for /hook elsewhere and answers any other."""

    def act(handler: Handler) -> None:
        if handler.path == "/hook":
            handler.answer(b"", status, Location=location)
        else:
            handler.answer(BLOCK)

    return act


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "/other?x=1"),
        (302, "other?x=1"),
        (307, "/other?x=1"),
        (307, "http://127.0.0.1:PORT/other?x=1"),
        (308, "./other?x=1"),
    ],
)
def test_a_redirect_to_the_same_host_is_followed_with_method_body_and_headers(
    project: Project, status: int, location: str
) -> None:
    """A redirect within the host is followed, and what arrives there is the same POST."""
    with serving(answering(b"")) as server:
        server.act = redirecting(location.replace("PORT", str(server.server_port)), status)
        fired = fire(project, server.url, headers={"X-Team": "core"})
    assert (fired.status, fired.verdict["message"]) == (2, "not over HTTP"), fired.stderr
    first, second = server.requests
    assert (first[1], second[1]) == ("/hook", "/other?x=1")
    assert (first[0], first[3]) == (second[0], second[3])
    assert second[2]["x-team"] == "core"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2"])
def test_a_redirect_to_another_host_is_refused_and_never_sent(project: Project, host: str) -> None:
    """A redirect to another name, the same machine even, fails as http: the context and its headers stay here."""
    with serving(answering(b"")) as server:
        server.act = redirecting(f"http://{host}:{server.server_port}/other")
        reason = failed(fire(project, server.url), "http")
    assert "another host" in reason
    assert "HTTP 307" in reason
    assert len(server.requests) == 1


@pytest.mark.slow
def test_a_redirect_to_another_port_or_scheme_is_refused_and_never_sent(project: Project) -> None:
    """A redirect to another port of the host, or to https, fails as http."""
    with serving(answering(BLOCK)) as other, serving(answering(b"")) as server:
        server.act = redirecting(other.url)
        assert "another host" in failed(fire(project, server.url), "http")
        server.act = redirecting(server.url.replace("http:", "https:"))
        assert "another host" in failed(fire(project, server.url), "http")
        server.act = redirecting("file:///etc/passwd")
        assert "another host" in failed(fire(project, server.url), "http")
        assert other.requests == []


def test_a_redirect_loop_is_an_http_failure(project: Project) -> None:
    """A server that redirects forever is abandoned after a few rounds."""
    with serving(answering(b"", 307, Location="/hook")) as server:
        reason = failed(fire(project, server.url), "http")
    assert "redirects" in reason
    assert len(server.requests) < 20


def test_declared_headers_are_sent_with_their_allowed_variables(project: Project) -> None:
    """`$NAME` and `${NAME}` are replaced where NAME is in allowed_env, once; a lone `$` stays."""
    headers = {
        "Authorization": "Bearer $TEAM_TOKEN",
        "X-Both": "${TEAM_TOKEN}/$TEAM_NAME.",
        "X-Plain": "costs $5, or $",
        "X-Again": "$A",
        "User-Agent": "ours",
    }
    with serving(answering(BLOCK)) as server:
        fired = fire(
            project,
            server.url,
            headers=headers,
            allowed_env=["TEAM_TOKEN", "TEAM_NAME", "A"],
            env={"TEAM_TOKEN": TOKEN, "TEAM_NAME": "core", "A": "$TEAM_NAME"},
        )
    assert server.requests, fired.stderr
    [(_, _, sent, _)] = server.requests
    assert sent["authorization"] == f"Bearer {TOKEN}"
    assert sent["x-both"] == f"{TOKEN}/core."
    assert sent["x-plain"] == "costs $5, or $"
    assert sent["user-agent"] == "ours"
    assert sent["x-again"] == "$TEAM_NAME"


def test_a_variable_that_is_not_allowed_leaves_the_machine_never(project: Project) -> None:
    """A header with a variable that allowed_env does not name is a wrong declaration, and nothing is sent."""
    values = ("$HOME", "${HOME}", "$TEAM_TOKENS", "$TEAM_TOKEN_2")
    with serving(answering(BLOCK)) as server:
        granted: dict[str, object] = {"url": server.url, "allowed_env": ["TEAM_TOKEN"]}
        project.hooks(*({**granted, "name": value, "headers": {"X-A": value}} for value in values))
        fired = project.fire(env={"TEAM_TOKEN": TOKEN, "TEAM_TOKENS": "x", "TEAM_TOKEN_2": "x"})
    assert {value: fired.record(value)["failure"] for value in values} == dict.fromkeys(values, "declaration")
    assert fired.stderr.count("allowed_env") >= len(values)
    assert server.requests == []


def test_only_allowed_variables_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the check of declarations lets through, a variable that is not allowed is sent by its name only."""
    monkeypatch.setenv("TEAM_TOKEN", TOKEN)
    text = "$HOME ${PATH} $TEAM_TOKENS ${TEAM_TOKEN}s"
    assert expand(text, ["TEAM_TOKEN"]) == text.replace("${TEAM_TOKEN}", TOKEN)
    assert expand("$TEAM_TOKEN", []) == "$TEAM_TOKEN"
    assert expand("$TEAM_TOKEN", ()) == "$TEAM_TOKEN"


def test_a_variable_that_is_not_set_is_an_http_failure_that_names_it(project: Project) -> None:
    """A header that needs a variable which is not set fails as http before anything is sent."""
    with serving(answering(BLOCK)) as server:
        fired = fire(project, server.url, headers={"Authorization": "Bearer $NOT_SET"}, allowed_env=["NOT_SET"])
    reason = failed(fired, "http")
    assert "NOT_SET" in reason
    assert server.requests == []


@pytest.mark.parametrize("end", ["\n", "\r\nX-Forged: 1", "€"])
def test_a_variable_that_no_header_can_hold_is_refused_and_not_shown(project: Project, end: str) -> None:
    """A value with a line end or a character beyond Latin-1 fails as http, and the secret is in no message."""
    with serving(answering(BLOCK)) as server:
        fired = fire(
            project,
            server.url,
            headers={"Authorization": "Bearer $TEAM_TOKEN"},
            allowed_env=["TEAM_TOKEN"],
            env={"TEAM_TOKEN": TOKEN + end},
        )
    failed(fired, "http")
    assert server.requests == []
    assert TOKEN not in fired.stderr
    assert TOKEN.encode() not in fired.stdout
    assert TOKEN not in project.audit_path.read_text()


def test_a_server_that_is_not_there_is_an_http_failure_that_names_the_address(project: Project) -> None:
    """A closed port, and an unknown host name, fail as http with the address in the reason."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert f"http://127.0.0.1:{port}/x" in failed(fire(project, f"http://127.0.0.1:{port}/x"), "http")
    failed(fire(project, "http://no-such-host.invalid/x"), "http")


def test_a_password_in_the_address_is_not_shown(project: Project) -> None:
    """The reason of a failure names the address without the credentials that it holds: a model reads it."""
    with serving(answering(b"", 500)) as server:
        fired = fire(project, server.url.replace("://", f"://someone:{TOKEN}@"))
    reason = failed(fired, "http")
    assert "127.0.0.1" in reason
    assert TOKEN not in reason + fired.stderr + project.audit_path.read_text()


def test_ipv6_loopback_is_reached(project: Project) -> None:
    """An address in brackets is one of IPv6."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 loopback here")
    with serving(answering(BLOCK), host="::1") as server:
        fired = fire(project, f"http://[::1]:{server.server_port}/")
    assert fired.verdict["message"] == "not over HTTP"


def self_signed(directory: Path) -> ssl.SSLContext:
    """Return a server with a self-signed certificate."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not there")
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    made = subprocess.run(
        [
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1",
        ],
        capture_output=True,
        check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip(f"openssl makes no certificate: {made.stderr.decode()[-200:]}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.mark.slow
def test_https_with_a_certificate_that_nobody_vouches_for_is_refused(project: Project, tmp_path: Path) -> None:
    """A self-signed server gets nothing of the context; its hook fails as http. Once trusted, its answer counts."""
    with serving(answering(BLOCK), tls=self_signed(tmp_path)) as server:
        reason = failed(fire(project, server.url), "http")
        assert "certificate" in reason.lower()
        assert server.requests == []
        trusting = fire(project, server.url, env={"SSL_CERT_FILE": str(tmp_path / "certificate.pem")})
    assert trusting.verdict["message"] == "not over HTTP", trusting.stderr


def test_urls_side_by_side_are_asked_at_the_same_time(project: Project) -> None:
    """Two parallel URL hooks are both under way before either is answered."""
    both = threading.Barrier(2, timeout=limit())

    def meet(handler: Handler) -> None:
        both.wait()
        handler.answer(BLOCK)

    with serving(meet) as server:
        project.hooks(*({"name": f"h{i}", "url": server.url, "parallel": True} for i in range(2)))
        fired = project.fire()
    assert [hook["failure"] for hook in (fired.hook("h0"), fired.hook("h1"))] == [None, None]


def test_a_signal_ends_an_exchange_that_is_under_way(project: Project) -> None:
    """SIGTERM to hookrun while a server keeps silent ends the fire at once with 128 + 15."""
    asked = threading.Event()

    def silent(handler: Handler) -> None:
        asked.set()
        wait_for_the_end(handler)

    with serving(silent) as server:
        project.hooks({"url": server.url})
        hookrun = project.start(b"{}", "fire", "pre_tool_use")
        try:
            assert asked.wait(limit())
            hookrun.terminate()
            hookrun.communicate(timeout=limit())
            assert hookrun.returncode == 143
        finally:
            hookrun.kill()
            hookrun.communicate()
