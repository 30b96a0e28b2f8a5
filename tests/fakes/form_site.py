"""A small site for browsers: a form, what it leads to, redirects, and a page that takes its time."""

from __future__ import annotations

import contextlib
import http.server
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from xun.errors import ToolError
from xun_builtin_tools.browser.chromium import find

FORM = b"""<!doctype html><title>Form</title><h1>Hello</h1>
<form action="/done"><label>Name <input name="n"></label>
<select name="s"><option value="a">Ant</option><option value="b">Bee</option></select><button>Send</button></form>
<a href="http://new.test/">away</a> <button id="ask" onclick="this.textContent = String(confirm('sure?'))">Ask</button>
<script>console.log("from the page"); fetch("http://10.0.0.1/x").catch(() => 0)
setTimeout(() => { throw new Error("boom") })</script>"""


PAGES = {
    "/": FORM,
    "/alerts": b"<title>Alerts</title><script>for (;;) alert(1)</script>",
    "/loop": b"<title>Loop</title><script>for (;;);</script>",
    "/popups": b"<title>Popups</title><script>for (let n = 0; n < 40; n++) open('/done' + n)</script>",
    "/where": b"""<title>Where</title><p id=p>?</p><script>
navigator.geolocation.getCurrentPosition(() => p.textContent = 'told', () => p.textContent = 'refused')
onbeforeunload = event => event.preventDefault()</script>""",
    "/file": b"#!/bin/sh",
}


class Site(http.server.BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/hang":
            time.sleep(3)
            return
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", f"http://{self.path[4:]}")
            self.end_headers()
            return
        body = PAGES.get(self.path) or f"<title>Done</title><p>got {self.path}".encode()
        self.send_response(200)
        if self.path == "/file":
            self.send_header("Content-Disposition", "attachment; filename=evil.sh")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def form_site() -> Iterator[Any]:
    """Serve the site on the loopback; what was asked for is in ``asked``."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as made:
        made.daemon_threads = True
        made.asked = []
        made.handle_error = lambda *args: None
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


def has_chromium() -> bool:
    """Tell whether a Chromium is installed."""
    try:
        return bool(find(os.environ, []))
    except ToolError:
        return False
