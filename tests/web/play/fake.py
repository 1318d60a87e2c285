"""A server as `tirx play` has it, whose runs are written by hand: the page's tests see each request."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.browser import WEB

ASSETS = WEB.parents[1] / "tirx_mini" / "play" / "assets"
TOKEN, NONCE = "0a" * 32, "n0nce"
POLICY = (
    f"default-src 'none'; script-src 'nonce-{NONCE}'; style-src 'nonce-{NONCE}'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "LICENSES": "text/plain"}

Event = dict[str, Any]
Run = Callable[[Mapping[str, Any]], Iterator[Event | float]]
"""The events of a run by its request; a number is a pause in seconds."""


class FakeServer:
    """session: what GET /session answers. run: the events of a run. answers: those of other routes by path.

    An answer is (status, body), or a function of the request's body that returns it.
    requests: the (path, body) of each request. cut: how many runs the page aborted.
    """

    def __init__(self, session: Mapping[str, Any], run: Run) -> None:
        self.session, self.run = dict(session), run
        self.answers: dict[str, Any] = {}
        self.requests: list[tuple[str, Any]] = []
        self.cut = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/#token={TOKEN}"

    def bodies(self, path: str) -> list[Any]:
        """The bodies that the page has sent to a path."""
        return [body for each, body in self.requests if each == path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        if path == "/session":
            return 200, self.session
        if path == "/kernels" and path not in self.answers:
            return 200, {"kernels": self.session["kernels"]}
        answer = self.answers.get(path, (404, {"error": f"there is no {path}"}))
        return answer(body) if callable(answer) else answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                if self.path == "/session":
                    self._api(None)
                else:
                    self._static()

            def do_POST(self) -> None:
                self._api(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _static(self) -> None:
                name = "index.html" if self.path == "/" else self.path.removeprefix("/assets/")
                if not re.fullmatch(r"\w+(\.\w+)?", name) or not (ASSETS / name).is_file():
                    return self._send(404, "application/json", b"{}")
                text = (ASSETS / name).read_text("utf-8").replace("{{nonce}}", NONCE)
                self._send(200, f"{TYPES[name.rsplit('.', 1)[-1]]}; charset=utf-8", text.encode())

            def _api(self, body: Any) -> None:
                if self.headers["Authorization"] != f"Bearer {TOKEN}":
                    return self._json(401, {"error": "the token is missing"})
                fake.requests.append((self.path, body))
                if self.path == "/run":
                    return self._run(body)
                self._json(*fake.answer(self.path, body))

            def _run(self, body: Any) -> None:
                self._head(200, "application/x-ndjson")
                try:
                    for event in fake.run(body):
                        if isinstance(event, float):
                            self._pause(event)
                        else:
                            self.wfile.write(json.dumps(event).encode() + b"\n")
                            self.wfile.flush()
                except (BrokenPipeError, ConnectionResetError):
                    fake.cut += 1

            def _pause(self, seconds: float) -> None:
                """Waits, and ends as a write would if the page has gone away."""
                end = time.monotonic() + seconds
                self.connection.settimeout(0.02)
                while time.monotonic() < end:
                    try:
                        if self.connection.recv(1) == b"":
                            raise BrokenPipeError
                    except TimeoutError:
                        pass

            def _json(self, status: int, body: Any) -> None:
                self._send(status, "application/json", json.dumps(body).encode())

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self._head(status, kind)
                self.wfile.write(body)

            def _head(self, status: int, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Security-Policy", POLICY)
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Cache-Control", "no-store")
                self.end_headers()

        return Handler
