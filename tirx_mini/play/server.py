"""The server of the page: its routes, and the streams of runs."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tirx_mini.files import OutputError

from .asked import BadRequest, run_request, text_of
from .assets import NONCE
from .findings import Data, syntax_data
from .guard import Guard, raw_path
from .kernels import NO_PYTHON
from .problems import PlayError
from .source import Changed
from .studio import Studio
from .teaching import Missing

Handler = Callable[[Mapping[str, Any]], Awaitable[Response]]

_POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Server:
    """The routes over a studio, and the token that they ask for."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.token = studio, secrets.token_hex(32)
        self._routes: dict[tuple[str, str], Handler] = {
            ("GET", "/session"): _in_thread(lambda _: studio.session()),
            ("POST", "/kernels"): self._kernels,
            ("POST", "/run"): self._run,
            ("POST", "/save"): self._save,
            ("POST", "/export"): self._export,
        }
        teaching = studio.teaching
        taught = {
            "reveal": teaching.reveal, "todos": teaching.todos, "hint": teaching.hint, "quiz": teaching.quiz,
            "drill": teaching.drill, "drill/answer": teaching.answer,
        }  # fmt: skip
        self._routes |= {("POST", f"/course/{name}"): _in_thread(answer) for name, answer in taught.items()}

    def app(self, hosts: Iterable[str] = ()) -> ASGIApp:
        """Return the application, behind its guard. hosts: further names of this machine."""
        return Guard(self._answer, self.token, self.studio.static, hosts)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        response = await self._response(request, raw_path(scope))
        await response(scope, receive, send)

    async def _response(self, request: Request, path: str) -> Response:
        if path in self.studio.static:
            return self._asset(path, request.method)
        handler = self._routes.get((request.method, path))
        if handler is None:
            known = any(path == each for _, each in self._routes)
            return _error(405 if known else 404, "there is nothing here that answers this request")
        try:
            return await handler(await _body(request))
        except BadRequest as error:
            return _error(400, str(error))
        except Missing as error:
            return _error(404, str(error))
        except (PlayError, OutputError) as error:
            return _error(500, str(error))
        except Exception as error:  # an answer of the server itself would lack the headers of the guard
            return _error(500, f"the server failed: {type(error).__name__}: {error}")

    def _asset(self, path: str, method: str) -> Response:
        if method not in ("GET", "HEAD"):
            return _error(405, "a static file is only read")
        asset, nonce = self.studio.static[path], secrets.token_urlsafe(16)
        headers = {"Content-Security-Policy": _POLICY.format(nonce)}
        content = asset.content.replace(NONCE.encode(), nonce.encode()) if path == "/" else asset.content
        return Response(content, media_type=asset.media_type, headers=headers)

    async def _kernels(self, data: Mapping[str, Any]) -> Response:
        text = text_of(data, "text")
        try:
            return JSONResponse(self.studio.kernels(text))
        except NO_PYTHON as error:
            return JSONResponse({"error": syntax_data(error)})

    async def _save(self, data: Mapping[str, Any]) -> Response:
        try:
            text, digest = text_of(data, "text"), text_of(data, "digest")
            return JSONResponse({"digest": await run_in_threadpool(self.studio.source.save, text, digest)})
        except Changed as changed:
            return JSONResponse({"digest": changed.now.digest, "text": changed.now.text}, 409)

    async def _export(self, data: Mapping[str, Any]) -> Response:
        run = self.studio.runs.run(data.get("run"))
        if run is None:
            raise Missing("many runs have followed this one: run the text again, then export it")
        page = await run_in_threadpool(self.studio.page_of, run)
        return Response(
            page, media_type="text/html", headers={"Content-Disposition": 'attachment; filename="play.html"'}
        )

    async def _run(self, data: Mapping[str, Any]) -> Response:
        asked, fix = self.studio.teaching.fix(self.studio.at_launch(run_request(data)))
        if not (self.studio.automatic or asked.asked):
            return _error(409, f"this text runs when you ask for it: {self.studio.missing[0]}")
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Data | None] = asyncio.Queue()

        def tell(event: Data | None) -> None:
            if event is not None:
                self.studio.teaching.told(asked, event)
            with suppress(RuntimeError):  # the server is ending
                loop.call_soon_threadsafe(events.put_nowait, event)

        async def lines() -> AsyncIterator[bytes]:
            run = self.studio.runs.start(asked, tell, fix)
            try:
                while (event := await events.get()) is not None:
                    yield json.dumps(event).encode() + b"\n"
            finally:  # the page has ended the request: so do the processes
                threading.Thread(target=run.cancel, daemon=True).start()

        return StreamingResponse(lines(), media_type="application/x-ndjson")


def _in_thread(answer: Callable[[Mapping[str, Any]], Data]) -> Handler:
    """Return the handler of a route that computes its answer in a thread."""

    async def handler(data: Mapping[str, Any]) -> Response:
        return JSONResponse(await run_in_threadpool(answer, data))

    return handler


async def _body(request: Request) -> Mapping[str, Any]:
    """Return the object in the body of a request, {} for a GET. Raises `BadRequest`."""
    if request.method != "POST":
        return {}
    try:
        data = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not isinstance(data, dict):
        raise BadRequest("the body is not an object")
    return data


def _error(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status)
