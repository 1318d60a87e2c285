"""The guard of the server: what comes from elsewhere is refused before any route sees it.

Any page of any site can send requests to this machine, and a name that it controls can lead here (DNS rebinding). So
the name in `Host` must be this machine's, `Origin` must be this server's, and every route but the static files asks for
a token that only the user's page has. No cookie is set, and no CORS header allows another page to read an answer.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable, Mapping

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY = 1 << 20
LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""The headers of every answer that does not set them itself."""


class Refused(Exception):
    """The refusal of a request: a status, and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Guard:
    """An ASGI application that passes on what may come.

    public: the paths that need no token. hosts: further names of this machine, from `--allow-host`.
    """

    def __init__(self, app: ASGIApp, token: str, public: Collection[str], hosts: Iterable[str] = ()) -> None:
        self._app, self._token = app, token
        self._public = frozenset(public)
        self._hosts = LOCAL | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(each for each in more if each[0].lower() not in given)]
            await send(message)

        try:
            self._check(scope)
            body = await _body(scope, receive)
        except Refused as refused:
            await JSONResponse({"error": refused.sentence}, refused.status)(scope, receive, sent)
            return
        await self._app(scope, _replayed(body, receive), sent)

    def _check(self, scope: Scope) -> None:
        """Raise `Refused` for a request that may not reach a route."""
        host = _only(scope, "host")
        if _name(host) not in self._hosts:
            raise Refused(403, "this server answers only to the names of this machine; --allow-host adds one")
        origins = _values(scope, "origin")
        if any(origin.lower() != f"{scope['scheme']}://{host.lower()}" for origin in origins):
            raise Refused(403, "a page of another origin may not use this server")
        if scope["method"] in ("GET", "HEAD") and raw_path(scope) in self._public:
            return
        if any(site.lower() in ("cross-site", "same-site") for site in _values(scope, "sec-fetch-site")):
            raise Refused(403, "a page of another origin may not use this server")
        scheme, _, token = _only(scope, "authorization").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise Refused(401, "the token is missing: open the address that the command has printed or opened")
        if scope["method"] == "POST" and _media_type(_only(scope, "content-type")) != "application/json":
            raise Refused(415, "the body of a request is application/json")


def raw_path(scope: Scope) -> str:
    """Return the path as it was sent, without decoding, so that only plain paths are in any table."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1")


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the whole body. Raises `Refused` for one that is too large, whatever its length says."""
    length = _only(scope, "content-length")
    too_large = Refused(413, f"a request is at most {MOST_BODY >> 20} MiB")
    if length.isdecimal() and int(length) > MOST_BODY:
        raise too_large
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "the request ended early")
        body += message.get("body", b"")
        if len(body) > MOST_BODY:
            raise too_large
        if not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receiver of the body, and then of what follows: the end of the connection."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return parts.pop() if parts else await receive()

    return replayed


def _values(scope: Scope, name: str) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name.encode()]


def _only(scope: Scope, name: str) -> str:
    """Return the value of a header that is given once, else ""."""
    values = _values(scope, name)
    return values[0] if len(values) == 1 else ""


def _name(host: str) -> str:
    """Return the name in a `Host` header, without its port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()


def _media_type(value: str) -> str:
    return value.partition(";")[0].strip().lower()
