"""Runs commands in copies of this process, sends each a signal at a counted call, and says what is left of it.

Cases are read from standard input, and answered on standard output, as JSON, a line each. As a subreaper, this process
becomes the parent of whatever a command leaves behind. Importing the package once is most of a case's cost.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

import tirx_mini.__main__
from tirx_mini import ending
from tirx_mini.commands import commands, module_of

SUBREAPER = 36
LEAVES_S = 20.0
"""The seconds after which a command counts as hanging; on an idle machine it takes some tenths of a second."""


def serve() -> None:
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGHUP):  # the shell may ignore them, as it does in the background
        signal.signal(number, signal.SIG_DFL)
    for name in commands():
        importlib.import_module(module_of(name))
    for line in sys.stdin:
        print(json.dumps(played(json.loads(line))), flush=True)


def played(case: dict[str, Any]) -> dict[str, Any]:
    """Play a case, and return what is left of the command.

    case: "argv"; "call" as "module:name" and its "count"; "signal"; "group": whether all processes of the terminal get
    it; "again": seconds to a second one, or null; "folder": an empty one.
    """
    folder = Path(case["folder"])
    (folder / "tmp").mkdir()
    pid = os.fork()
    if pid == 0:
        _command(case, folder)
    deadline = time.monotonic() + 60
    while not (done := os.waitpid(pid, os.WNOHANG))[0]:
        time.sleep(0.01)
        note = folder / "sent"
        late = note.exists() and time.monotonic() - float(note.read_text() or "inf") > LEAVES_S
        if late or time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
    return {
        "status": os.waitstatus_to_exitcode(done[1]),
        "sent": (folder / "sent").exists(),
        "processes": _left(),
        "temporary": sorted(path.name for path in (folder / "tmp").iterdir()),
        "halves": sorted(path.name for path in folder.rglob("*.tmp")),
        "printed": (folder / "printed").read_text(errors="replace"),
    }


def _left() -> list[str]:
    """The commands of processes that are still there when a child has had time to see that its parent is gone."""
    deadline = time.monotonic() + 5
    while True:
        left = []
        for child in psutil.Process().children(recursive=True):
            try:
                if child.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(child.pid, os.WNOHANG)
                else:
                    left.append(" ".join(child.cmdline()))
            except (psutil.Error, ChildProcessError):
                pass
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def _command(case: dict[str, Any], folder: Path) -> None:
    """This process as the command."""
    os.setsid()
    os.environ["TMPDIR"], tempfile.tempdir = str(folder / "tmp"), None
    printed = os.open(folder / "printed", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(printed, stream)
    _send_at(case, folder)
    status = 1
    try:
        status = ending.command(lambda: tirx_mini.__main__.main(case["argv"]))
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(status)


def _send_at(case: dict[str, Any], folder: Path) -> None:
    """Let the call that is counted send the signal, and then go on."""
    module, _, name = case["call"].partition(":")
    owner: Any = importlib.import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    original, left = getattr(owner, last), [case["count"]]

    def send() -> None:
        (os.killpg if case["group"] else os.kill)(os.getpid(), case["signal"])

    def counted(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            (folder / "sent").write_text(str(time.monotonic()))
            if case["again"] is not None:
                threading.Timer(case["again"], send).start()
            send()
        return original(*args, **options)

    setattr(owner, last, counted)


if __name__ == "__main__":
    serve()
