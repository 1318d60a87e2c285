"""The life of the server: a port, a thread that serves, and the browser."""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
import tempfile
import threading
import warnings
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path

import uvicorn

from tirx_mini.course import KernelRef, LaunchText

from .problems import PlayError
from .server import Server
from .source import Source
from .studio import Studio, sandbox_here

_FILE_S = 30.0
"""The seconds until the file that leads a browser to the page is removed."""


def serve_page(
    ref: KernelRef | None, *, port: int = 0, hosts: Iterable[str] = (), browser: bool = True, fill: bool = True,
    launch: LaunchText | None = None, gpu: str | None = None, say: Callable[[str], None],
) -> None:  # fmt: skip
    """Serve the page of a file until the process ends. The arguments and errors are those of `tirx_mini.play.serve`."""
    warnings.simplefilter("ignore", SyntaxWarning)  # of texts, which are parsed at each pause between keys
    source = Source.of(ref)
    at = listening(port)
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(source, sandbox_here(), Path(folder), fill=fill, launch=launch, gpu=gpu)
        server = Server(studio)
        _, thread = served(server, at, hosts)
        address = address_of(server, at)
        opened = browser and has_browser() and open_page(address)
        where = f"{address.partition('#')[0]} in your browser" if opened else address
        say(f"Ctrl-C ends the server of {source.name} at {where}")
        for sentence in studio.missing:
            say(f"texts run only when you ask for it, on Ctrl+Enter: {sentence}")
        try:
            while thread.is_alive():
                thread.join(1.0)
        finally:
            studio.close()


def listening(port: int) -> socket.socket:
    """Return a socket on a port of this machine alone, 0 for any free one. Raises `PlayError`."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()  # a browser may be there before the server is
    except OSError as error:
        found.close()
        said = f"port {port} cannot be had ({error.strerror}): leave out --port, or name another one"
        raise PlayError(said) from None
    return found


def served(server: Server, at: socket.socket, hosts: Iterable[str] = ()) -> tuple[uvicorn.Server, threading.Thread]:
    """Serve in a thread, so that signals stay with the command."""
    config = uvicorn.Config(
        server.app(hosts), log_level="error", access_log=False, server_header=False, date_header=False,
        lifespan="off", ws="none", timeout_graceful_shutdown=1, h11_max_incomplete_event_size=1 << 16,
    )  # fmt: skip
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [at]}, daemon=True)
    server.studio.start()
    thread.start()
    return running, thread


def address_of(server: Server, at: socket.socket) -> str:
    """Return the address of the page, with its token in the fragment, which browsers send to nobody."""
    return f"http://127.0.0.1:{at.getsockname()[1]}/#token={server.token}"


def has_browser() -> bool:
    """Return whether a browser of this machine can be opened: not on WSL, nor without a display."""
    if "microsoft" in platform.release().lower():
        return False
    shown = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if not shown:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def open_page(address: str, opened: Callable[[str], bool] = webbrowser.open) -> bool:
    """Open a browser through a file that only this user may read: all users see the arguments of a process."""
    handle, name = tempfile.mkstemp(prefix="tirx-play-", suffix=".html")  # of mode 0600
    script = json.dumps(address).replace("<", "\\u003c")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f"<title>tirx play</title><script>location.replace({script})</script>\n"
        )
    path = Path(name)
    timer = threading.Timer(_FILE_S, path.unlink, kwargs={"missing_ok": True})
    timer.daemon = True
    timer.start()
    return opened(path.as_uri())
