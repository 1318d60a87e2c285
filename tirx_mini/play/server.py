"""The server of the page: its routes, and the streams of runs."""

from __future__ import annotations

import asyncio
import importlib
import json
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tirx_mini.files import OutputError
from tirx_mini.hardware import GPUS
from tirx_mini.runtime import missing_compiler
from tirx_mini.sandbox import Sandbox

from .asked import BadRequest, run_request, text_of
from .assets import NONCE, Asset, assets
from .building import Builders, missing_locks
from .findings import Data, syntax_data
from .guard import Guard, raw_path
from .kernels import NO_PYTHON, kernels_in
from .runs import Runs
from .simulating import Simulators
from .source import Changed, Source, SourceError
from .teaching import Missing, Teaching, course_missing

Handler = Callable[[Mapping[str, Any]], Awaitable[Response]]

_POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Server:
    """What the routes share: the file, the processes, the runs, and the token.

    folder: for temporary files. automatic, missing: whether texts run unasked, and the locks that this would need.
    """

    def __init__(
        self, source: Source, sandbox: Sandbox, folder: Path, static: Mapping[str, Asset] | None = None
    ) -> None:
        self.source, self.token = source, secrets.token_hex(32)
        self.missing = missing_locks(sandbox)
        self._static = assets() if static is None else static
        self._builders = Builders(sandbox, folder, source.name)
        self._simulators = Simulators()
        self.runs = Runs(self._builders, self._simulators, source.name)
        self._teaching = Teaching(source, self.runs, self._simulators)
        self._routes: dict[tuple[str, str], Handler] = {
            ("GET", "/session"): self._session,
            ("POST", "/kernels"): self._kernels,
            ("POST", "/run"): self._run,
            ("POST", "/save"): self._save,
        }
        taught = {
            "reveal": self._teaching.reveal, "todos": self._teaching.todos, "hint": self._teaching.hint,
            "quiz": self._teaching.quiz, "drill": self._teaching.drill, "drill/answer": self._teaching.answer,
        }  # fmt: skip
        self._routes |= {("POST", f"/course/{name}"): _in_thread(answer) for name, answer in taught.items()}

    @property
    def automatic(self) -> bool:
        return not self.missing

    def start(self) -> None:
        """Start the spare processes."""
        self._builders.start()
        self._simulators.start()

    def close(self) -> None:
        """End all processes."""
        self.runs.close()
        self._builders.close()
        self._simulators.close()

    def app(self, hosts: Iterable[str] = ()) -> ASGIApp:
        """Return the application, behind its guard. hosts: further names of this machine."""
        return Guard(self._answer, self.token, self._static, hosts)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        response = await self._response(request, raw_path(scope))
        await response(scope, receive, send)

    async def _response(self, request: Request, path: str) -> Response:
        if path in self._static:
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
        except (SourceError, OutputError) as error:
            return _error(409, str(error))

    def _asset(self, path: str, method: str) -> Response:
        if method not in ("GET", "HEAD"):
            return _error(405, "a static file is only read")
        asset, nonce = self._static[path], secrets.token_urlsafe(16)
        headers = {"Content-Security-Policy": _POLICY.format(nonce)}
        content = asset.content.replace(NONCE.encode(), nonce.encode()) if path == "/" else asset.content
        return Response(content, media_type=asset.media_type, headers=headers)

    async def _session(self, _: Mapping[str, Any]) -> Response:
        version = self.source.read()
        compiler = await run_in_threadpool(missing_compiler)
        try:
            kernels = kernels_in(version.text)
        except NO_PYTHON:
            kernels = []
        lacking = course_missing()
        release = importlib.import_module("tirx_mini").__version__
        return JSONResponse({
            "file": self.source.name, "text": version.text, "digest": version.digest,
            "writable": self.source.writable, "automatic": self.automatic, "missing": self.missing,
            "ladder": self.source.ladder(version.text),
            "gpus": [{"name": name, "title": gpu.name, "sms": gpu.sms} for name, gpu in GPUS.items()],
            "kernels": kernels, "course": {"missing": lacking} if lacking else True, "nvrtc": compiler or True,
            "version": release, "modules": [],
        })  # fmt: skip

    async def _kernels(self, data: Mapping[str, Any]) -> Response:
        text = text_of(data, "text")
        try:
            return JSONResponse({"kernels": kernels_in(text)})
        except NO_PYTHON as error:
            return JSONResponse({"error": syntax_data(error)})

    async def _save(self, data: Mapping[str, Any]) -> Response:
        try:
            text, digest = text_of(data, "text"), text_of(data, "digest")
            return JSONResponse({"digest": await run_in_threadpool(self.source.save, text, digest)})
        except Changed as changed:
            return JSONResponse({"digest": changed.now.digest, "text": changed.now.text}, 409)

    async def _run(self, data: Mapping[str, Any]) -> Response:
        asked, fix = self._teaching.fix(run_request(data))
        if not (self.automatic or asked.asked):
            return _error(409, f"this text runs when you ask for it: {self.missing[0]}")
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Data | None] = asyncio.Queue()

        def tell(event: Data | None) -> None:
            if event is not None:
                self._teaching.told(asked, event)
            with suppress(RuntimeError):  # the server is ending
                loop.call_soon_threadsafe(events.put_nowait, event)

        async def lines() -> AsyncIterator[bytes]:
            run = self.runs.start(asked, tell, fix)
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
