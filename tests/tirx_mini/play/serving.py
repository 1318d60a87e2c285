"""A server of the page on a port of this machine, and requests to it, byte by byte where a client would tidy them."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tirx_mini.play.server import Server
from tirx_mini.play.serving import listening, served
from tirx_mini.play.source import Source
from tirx_mini.play.studio import Studio
from tirx_mini.sandbox import Sandbox, find_sandbox


class Page:
    """The user's page: requests with the token."""

    def __init__(self, server: Server, port: int) -> None:
        self.server, self.studio, self.port = server, server.studio, port
        self.host = f"127.0.0.1:{port}"

    def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str | None] | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """The status, headers and body of an answer; a header None is left out."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given: dict[str, str | None] = {"Host": self.host, "Authorization": f"Bearer {self.server.token}"}
        if method == "POST":
            given |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in (given | dict(headers or {})).items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> tuple[int, Any]:
        status, _, body = self.request("GET", path, **options)
        return status, json.loads(body)

    def post(self, path: str, body: object, **options: Any) -> tuple[int, Any]:
        status, _, content = self.request("POST", path, body, **options)
        return status, json.loads(content)

    def run(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of a run, as they come; the connection closes where the reader stops."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        try:
            headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"}
            connection.request("POST", "/run", json.dumps(body), headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            while line := answer.readline():
                yield json.loads(line)
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """The answer to the bytes of a request."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            found = b""
            while part := connection.recv(1 << 16):
                found += part
            return found


@contextmanager
def page_of(file: Path, folder: Path, sandbox: Sandbox | None = None, fill: bool = True) -> Iterator[Page]:
    """A server of a file. folder: for its temporary files."""
    server = Server(Studio(Source(file), sandbox or find_sandbox(), folder, fill=fill))
    at = listening(0)
    running, thread = served(server, at)
    try:
        yield Page(server, at.getsockname()[1])
    finally:
        running.should_exit = True
        thread.join(5)
        server.studio.close()
