"""A run of Python in the cloud: its output is passed on as it comes, and it is ended if it hangs."""

from __future__ import annotations

import io
import os
import queue
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import IO, Any

Event = tuple[str, Any]
GATHER_S = 0.05
"""Seconds in which the pieces of an output are gathered: each event is a message to the user's machine."""


def gpu_here() -> str:
    """The name of this machine's GPU, "" if there is none."""
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout.split("\n")[0]
    return ""


def events(
    arguments: Sequence[str], files: Mapping[str, bytes], results: Sequence[str], limit_s: float, silence_s: float
) -> Iterator[Event]:
    """Run Python in a fresh folder that has `files`, and yield what it prints and leaves.

    ("out" or "err", bytes) as it is printed, ("file", (name, bytes)) for each file that matches one of `results`, and
    at last ("end", exit status). If nothing was printed for `silence_s` seconds, the last is ("hung", silence_s); if it
    took longer than `limit_s` seconds, ("late", limit_s). All its processes have been ended then.

    arguments: of Python; "{kit}" in them is the folder of the kit.
    """
    from tirx_mini.resources import resource_root  # installed in the image; perhaps not on the user's machine

    kit = str(resource_root())
    environment = {**os.environ, "PYTHONPATH": kit, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        child = subprocess.Popen(
            [sys.executable, *(argument.replace("{kit}", kit) for argument in arguments)], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            stopped = yield from _output(child, limit_s, silence_s)
        finally:
            _end(child)
        for pattern in results:
            for path in sorted(Path(folder).glob(pattern)):
                yield "file", (path.name, path.read_bytes())
        yield stopped or ("end", child.returncode)


def graded(name: str, handin: bytes, target: str, rules: str | None) -> str:
    """The results JSON of `grade.py` for one hand-in; arguments and errors as in `grade_one` of `run_modal.py`."""
    file = "handin.tar" if tarfile.is_tarfile(io.BytesIO(handin)) else "gemm_kernels.py"
    files, arguments = {file: handin}, ["{kit}/grade.py", file, "--target", target, "--json", "results.json"]
    if rules is not None:
        files["grading.toml"] = rules.encode()
        arguments += ["--rules", "grading.toml"]
    said, results = bytearray(), b""
    for kind, value in events(arguments, files, ["results.json"], 1500, 600):
        if kind in ("out", "err"):
            said += value
        elif kind == "file":
            results = value[1]
    if not results:
        raise RuntimeError(f"{name} was not graded: {said[-600:].decode(errors='replace').strip() or 'no output'}")
    return results.decode()


def _output(child: subprocess.Popen[bytes], limit_s: float, silence_s: float) -> Generator[Event, None, Event | None]:
    """The output of a process; returns why it must be ended, None if it has ended by itself."""
    pieces: queue.Queue[tuple[str, bytes]] = queue.Queue()
    assert child.stdout is not None and child.stderr is not None
    for kind, pipe in (("out", child.stdout), ("err", child.stderr)):
        threading.Thread(target=_read, args=(kind, pipe, pieces), daemon=True).start()
    end, left_open = time.monotonic() + limit_s, 2
    while left_open:
        left = end - time.monotonic()
        try:
            found = [pieces.get(timeout=max(0.0, min(left, silence_s)))]
        except queue.Empty:
            return ("late", limit_s) if left <= silence_s else ("hung", silence_s)
        if left <= 0:  # it prints without an end
            return "late", limit_s
        time.sleep(GATHER_S)
        while not pieces.empty():
            found.append(pieces.get())
        left_open -= sum(not data for _, data in found)
        for kind, group in groupby(found, key=lambda piece: piece[0]):
            if text := b"".join(data for _, data in group):
                yield kind, text
    child.wait()
    return None


def _read(kind: str, pipe: IO[bytes], pieces: queue.Queue[tuple[str, bytes]]) -> None:
    """Put what a pipe gives into `pieces`, at its end b""."""
    with pipe:
        while data := os.read(pipe.fileno(), 65536):
            pieces.put((kind, data))
    pieces.put((kind, b""))


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started; on Windows the process alone."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.wait()
