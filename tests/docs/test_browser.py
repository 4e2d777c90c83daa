"""The built site in a real browser, headless Chromium: links, console, narrow screens, search, themes."""

from __future__ import annotations

import functools
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--enable-logging=stderr",
)
TIME_LIMIT = 120
"""Seconds: a bound for a report, never waited for."""

NARROW = 400
"""Pixels: the width at which no page scrolls sideways."""
LINK = re.compile(r'(?:href|src)="([^"#][^"]*|#[^"]+)"')

LOOK = """
<!doctype html><meta charset="utf-8"><body><script>
const report = {};
async function look(path) {
  const frame = document.createElement("iframe");
  frame.style = "width: WIDTHpx; height: 900px; border: 0";
  document.body.append(frame);
  await new Promise(done => { frame.onload = done; frame.src = path; });
  const page = frame.contentDocument.documentElement;
  const wide = page.scrollWidth > page.clientWidth;
  report[path] = wide ? page.scrollWidth : 0;
  frame.remove();
}
(async () => {
  for (const path of PATHS) await look(path);
  fetch("/report", {method: "POST", body: JSON.stringify(report)});
})();
</script>
"""
"""A page that loads others in a narrow frame, and reports those that are wider than it."""

SEARCH = """
<!doctype html><meta charset="utf-8"><body><script>
addEventListener("load", () => {
  const frame = document.createElement("iframe");
  frame.style = "width: 1280px; height: 900px";
  frame.onload = () => {
    const page = frame.contentDocument;
    const field = page.querySelector("input.md-search__input");
    page.querySelector("#__search").click();
    field.value = "WORDS";
    field.focus();
    const poll = () => {
      field.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true, key: "e"}));
      const found = [...page.querySelectorAll(".md-search-result__link")].map(link => link.getAttribute("href"));
      const body = page.body;
      const colors = {};
      for (const scheme of ["default", "slate"]) {
        body.setAttribute("data-md-color-scheme", scheme);
        colors[scheme] = frame.contentWindow.getComputedStyle(body).backgroundColor;
      }
      if (found.length) fetch("/report", {method: "POST", body: JSON.stringify({found, colors})});
      else setTimeout(poll, 200);
    };
    poll();
  };
  frame.src = "/";
  document.body.append(frame);
});
</script>
"""
"""A page that types into the search of the site, and reports the links found and the two themes' colors."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on PATH: the site was NOT looked at in a browser"),
    pytest.mark.skipif(find_spec("material") is None, reason="no mkdocs-material: pip install 'hookrun[docs]'"),
]


class Handler(SimpleHTTPRequestHandler):
    """Serves the site, and takes the report of a page."""

    reports: queue.Queue[bytes] = queue.Queue()

    def do_POST(self) -> None:
        """Keep the report."""
        self.reports.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has there
        """Log nothing."""


class Site:
    """The site on loopback."""

    def __init__(self, directory: Path, address: str) -> None:
        self.directory = directory
        self.address = address
        self.pages = sorted(
            f"/{path.parent.relative_to(directory)}/".replace("/./", "/") for path in directory.rglob("index.html")
        )

    def report(self, page: str) -> dict[str, object]:
        """Return what a page of ours reports; nothing is written to the console meanwhile."""
        assert BROWSER is not None
        (self.directory / "look.html").write_text(page)
        with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryFile() as log:
            command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", f"{self.address}/look.html"]
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            try:
                found: dict[str, object] = json.loads(Handler.reports.get(timeout=TIME_LIMIT))
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                log.seek(0)
                lines = log.read().decode("utf-8", "replace").splitlines()
        assert [line for line in lines if "CONSOLE" in line] == []
        return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Build the site and serve it."""
    directory = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Site(directory, f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    server.server_close()


def test_no_link_is_broken_and_nothing_comes_from_elsewhere(site: Site) -> None:
    """Every link leads to a file and an anchor of the site; scripts, styles and pictures are its own."""
    broken = []
    for page in site.pages:
        text = (site.directory / page.strip("/") / "index.html").read_text()
        for link in LINK.findall(text):
            target, anchor = urldefrag(urljoin(page, link))
            if target.startswith(("http:", "https:", "mailto:", "data:")):
                continue
            path = site.directory / unquote(target).strip("/")
            path = path / "index.html" if path.is_dir() else path
            if not path.exists():
                broken.append(f"{page}: {link}")
            elif anchor and path.suffix == ".html" and f'id="{unquote(anchor)}"' not in path.read_text():
                broken.append(f"{page}: {link}: no such anchor")
        assert re.findall(r'<(?:script|img|iframe)[^>]+src="https?:|<link[^>]+href="https?:', text) == [], page
    assert broken == []


def test_no_page_scrolls_sideways_on_a_phone_or_writes_to_the_console(site: Site) -> None:
    """At 400 pixels, every page; errors and warnings of scripts and missing files would be on the console."""
    report = site.report(LOOK.replace("WIDTH", str(NARROW)).replace("PATHS", json.dumps(site.pages)))
    assert sorted(report) == site.pages
    assert {page: wide for page, wide in report.items() if wide} == {}


@pytest.mark.parametrize(
    ("words", "page"), [("force push", "recipes"), ("approve", "security"), ("timeout", "failures")]
)
def test_the_search_finds(site: Site, words: str, page: str) -> None:
    """What is typed leads to its page; the two themes have different colors."""
    report = site.report(SEARCH.replace("WORDS", words))
    found, colors = report["found"], report["colors"]
    assert isinstance(found, list)
    assert isinstance(colors, dict)
    assert [link for link in found if page in link], found
    assert colors["default"] != colors["slate"]
