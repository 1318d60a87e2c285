"""The parent's side of a sandboxed process, with requests, time limits and termination."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeVar

import psutil

from tirx_mini.records import dataclass
from tirx_mini.saved import MOST_BYTES

from .frames import TooLong, read_frame, write_frame
from .limits import Limits
from .view import View, interpreter

_BOOT = str(Path(__file__).resolve().with_name("boot.py"))
_MOST_HEAD = 4096
_MOST_PRINTED = 64 << 20
"""The output limit before a process is terminated, in bytes; output above the log's limit is dropped."""
_CHUNK = 1 << 16
_LOOK_S = 0.5
"""The interval, in seconds of wall time, at which the CPU time of a process is read."""

T = TypeVar("T")


@dataclass(frozen=True)
class Answered:
    """The response of the process, which is untrusted."""

    kind: str
    text: str


class Failed(Exception):
    """The error for a process that did not respond, and was terminated.

    kind: "ended", "time", "output" or "not IR", which are its own doing, or "killed" for that of the machine.
    again: whether another process may answer, since the machine may have kept this one from it.
    """

    def __init__(self, kind: str, text: str, again: bool = False) -> None:
        super().__init__(text)
        self.kind, self.text, self.again = kind, text, again


class SandboxError(RuntimeError):
    """The error for a sandbox that could not be started, with the reason."""


class LockedProcess:
    """A locked process, which executes a hand-in's file on request, and ends with `close`.

    prefix: the command that starts it in namespaces; () for none. file: the hand-in. locks: which to put on. probe:
    whether it only says which of them hold. warm: as of `Sandbox.start`.
    """

    def __init__(
        self, prefix: Sequence[str], locks: Collection[str], view: View, limits: Limits, file: Path,
        probe: bool = False, warm: bool = False,
    ) -> None:  # fmt: skip
        self._limits = limits
        self._log = _Log(limits.output_kb << 10, self._end)
        self._number = 0
        self._cpu_s = 0.0
        options = ["-I", "-S", "-B", "-X", "utf8", _BOOT, json.dumps(view.imports)]
        self._child = subprocess.Popen(
            [*prefix, interpreter(), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=_environment(), cwd=file.parent, start_new_session=os.name == "posix",
        )  # fmt: skip
        assert self._child.stderr is not None
        self._log.read(self._child.stderr)
        config = {
            "file": str(file), "locks": list(locks), "limits": asdict(limits), "utils": view.utils, "probe": probe,
            "warm": warm,
        }  # fmt: skip
        try:
            self._send(config)
            head, _ = self._receive(limits.start_s, "start")
            self.held: tuple[str, ...] = tuple(head["held"])
        except Failed as error:
            self.close()
            said = self.log.strip().splitlines()
            raise SandboxError(said[-1] if said else error.text) from None

    def ask(self, request: Mapping[str, object], limit_s: float, what: str) -> Answered:
        """Return the response to a request. what: for messages, as in "hgemm_v3". Raises `Failed`."""
        self._number += 1
        self._send({"id": self._number, **request})
        head, text = self._receive(limit_s, what)
        if head.get("id") != self._number or not isinstance(head.get("kind"), str):
            self.close()
            raise Failed("not IR", "the process of the hand-in answered what nobody had asked")
        return Answered(head["kind"], text)

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    @property
    def log(self) -> str:
        """The beginning of the process's output."""
        return self._log.text()

    def close(self) -> None:
        """Terminate the process and its process group."""
        self._end()
        self._child.wait()
        self._log.finish()
        assert self._child.stdin is not None and self._child.stdout is not None
        for stream in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):
                stream.close()

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self._child.pid, signal.SIGKILL)
            else:
                self._child.kill()

    def _send(self, data: Mapping[str, object]) -> None:
        assert self._child.stdin is not None
        with contextlib.suppress(OSError):  # it has ended: its end of the answers says so
            write_frame(self._child.stdin, json.dumps(data).encode())

    def _receive(self, limit_s: float, what: str) -> tuple[dict[str, Any], str]:
        answers: queue.SimpleQueue[tuple[dict[str, Any], str] | Exception] = queue.SimpleQueue()
        assert self._child.stdout is not None
        threading.Thread(target=_read_answer, args=(self._child.stdout, answers), daemon=True).start()
        try:
            found = self._awaited(answers, limit_s)
        except queue.Empty:
            waited = self._cpu_s < limit_s / 2  # it slept, or the machine had no time for it
            self.close()
            raise Failed("time", f"{what} took longer than {limit_s:g} s", again=waited) from None
        if not isinstance(found, Exception):
            return found
        if isinstance(found, EOFError):
            raise self._ended(what)
        self.close()
        if isinstance(found, TooLong):
            raise Failed("output", f"the kernel of {what} is larger than {MOST_BYTES >> 20} MiB as data")
        raise Failed("not IR", "the process of the hand-in answered what cannot be read")

    def _awaited(self, answers: queue.SimpleQueue[T], limit_s: float) -> T:
        """Return the response while checking the CPU time of the process. Raises `queue.Empty`."""
        end = time.monotonic() + limit_s
        while True:
            left = end - time.monotonic()
            try:
                return answers.get(timeout=max(0.0, min(left, _LOOK_S)))
            except queue.Empty:
                self._cpu_s = max(self._cpu_s, self._used_s())
                if left <= _LOOK_S:
                    raise

    def _ended(self, what: str) -> Failed:
        """Return the reason that no response is available."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # it closed its end, and runs on
            self._child.wait(1)
        status = self._child.poll()
        self.close()
        if self._log.flooded:
            return Failed("output", f"more than {_MOST_PRINTED >> 20} MiB were printed in {what}")
        number = -status if status is not None and status < 0 else (status or 0) - 128
        name = signal.Signals(number).name if number in set(signal.Signals) else ""
        # One that ignores the first signal gets the second a second later.
        ignored = name == "SIGKILL" and self._cpu_s > max(0.0, self._limits.cpu_s - 2 * _LOOK_S)
        if name == "SIGXCPU" or ignored:
            return Failed("time", f"{what} used more than {self._limits.cpu_s} s of CPU time")
        if name == "SIGKILL":
            return Failed("killed", f"the system killed the process of the hand-in in {what}", again=True)
        how = f"by {name}" if name else f"with status {status}" if status is not None else "its answers"
        return Failed("ended", f"the process of the hand-in ended {how} in {what}")

    def _used_s(self) -> float:
        """Return the CPU time of the process, which may be a child of bubblewrap's processes."""
        found = 0.0
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self._child.pid)
            for each in (process, *process.children(recursive=True)):
                found += sum(each.cpu_times()[:2])
        return found


def namespaces(bubblewrap: str, view: View, folder: Path) -> list[str]:
    """Return the bubblewrap command that starts another command in its own namespaces.

    There is no network. The file system has what the view shows and the hand-in's folder, and nothing can be written.
    """
    command = [bubblewrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for path in view.trees:
        command += ["--ro-bind", path, path]
    for path in view.hidden:
        command += ["--tmpfs", path]
    command += ["--ro-bind-try", view.utils, view.utils]
    for path in ("/lib", "/lib64"):
        if Path(path).is_symlink():
            command += ["--symlink", str(Path(path).readlink()), path]
    command += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", str(folder), str(folder)]
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(folder), "--"]
    return command


def _environment() -> dict[str, str]:
    """Return an environment without the parent's variables, with one thread for NumPy.

    Landlock restricts only the thread that requests it.
    """
    found = {"LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if os.name == "nt":  # Python does not start without it
        found["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    return found


def _read_answer(stream: IO[bytes], answers: queue.SimpleQueue[Any]) -> None:
    """Read one response: its head, which is JSON, and its text."""
    try:
        head = json.loads(read_frame(stream, _MOST_HEAD))
        text = read_frame(stream, MOST_BYTES).decode("utf-8", "replace")
        answers.put((head, text) if isinstance(head, dict) else ValueError("an object was expected"))
    except (EOFError, ValueError, RecursionError) as error:
        answers.put(error)
    except OSError:
        answers.put(EOFError())


class _Log:
    """The output of a process: the beginning is kept, the rest is drained so that the process can continue."""

    def __init__(self, most: int, end: Any) -> None:
        self._most, self._end = most, end
        self._kept = bytearray()
        self._read = 0
        self._thread: threading.Thread | None = None

    @property
    def flooded(self) -> bool:
        """Return whether the process was terminated for excessive output."""
        return self._read > _MOST_PRINTED

    def read(self, stream: IO[bytes]) -> None:
        self._thread = threading.Thread(target=self._follow, args=(stream,), daemon=True)
        self._thread.start()

    def text(self) -> str:
        cut = "\n(the rest is cut)\n" if self._read > self._most else ""
        return bytes(self._kept).decode("utf-8", "replace") + cut

    def finish(self) -> None:
        """Wait for the end of the output, which a process outside the group may keep open."""
        if self._thread is not None:
            self._thread.join(1.0)

    def _follow(self, stream: IO[bytes]) -> None:
        with stream:
            while data := os.read(stream.fileno(), _CHUNK):
                self._kept += data[: max(0, self._most - len(self._kept))]
                self._read += len(data)
                if self.flooded:
                    self._end()
