"""The end of a process of the kit: a signal ends it within two seconds, with its children and its temporary folders.

Python raises `KeyboardInterrupt` between two steps of the main thread, which may be in a long product of matrices, wait
for a thread that does not end, or be where an exception is lost. So in a `command` another thread ends the process, and
nothing has to unwind: all temporary folders are in one, no child outlives its parent, and `files.write_whole` leaves no
half of a file. Programs that import the package keep Python's own ways.

A child calls `as_child`. It leads a group, which Ctrl-C at the terminal does not reach and `end_group` ends as one, and
it ends soon after its parent, whatever ended that.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from .files import no_more_writes, writing

POSIX = os.name == "posix"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else ()
"""The signals that end a command: Ctrl-C, `kill`, and a closed terminal."""

_WRITE_S = 0.8
"""The maximum number of seconds for completing a file being written."""
_PATIENCE_S = 0.3
"""The maximum number of seconds for flushing output, and for each round of ending children."""
_ROUNDS = 3
"""The number of rounds of ending children, since the main thread may start one in between."""
_LOOK_S = 0.2
"""The seconds between two checks by a child that its parent is alive."""


def command(main: Callable[[], int]) -> int:
    """Run the command of this process and return its exit status.

    A signal ends the process with the status 128 + its number, as a shell gives it. It stays so until the process ends.
    """
    if not POSIX or threading.current_thread() is not threading.main_thread():
        return main()
    guard = _Guard()
    try:
        return main()
    finally:
        guard.stay_if_heard()
        guard.remove_folder()


def quiet_start() -> None:
    """Let Ctrl-C end a program during its imports, before `command` takes over."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))


@contextmanager
def farewell(text: str) -> Iterator[None]:
    """Print a sentence to standard error if a signal ends the command within the block."""
    guard = _Guard.current()
    if guard is not None:
        guard.farewell = text
    yield
    if guard is not None:
        guard.farewell = ""


@contextmanager
def unwinding() -> Iterator[None]:
    """Raise `KeyboardInterrupt` or `SystemExit` for signals within the block, so that other work can be cancelled."""
    guard = _Guard.current()
    if guard is None:
        yield
        return
    pipe = signal.set_wakeup_fd(-1)
    for number in guard.signals:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _raise)
    try:
        yield
    finally:
        for number in guard.signals:
            signal.signal(number, guard.noted)
        signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


class _Guard:
    """Ends this process at a signal, with one folder for all temporary folders if there is space."""

    def __init__(self) -> None:
        self.farewell = ""
        self._ready = self._heard = self._ending = False
        self._folder: str | None = None
        self._outside = tempfile.tempdir, os.environ.get("TMPDIR")
        with suppress(OSError):
            self._folder = tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="tirx_mini-")
        self._pipe, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        # What the parent ignores, such as SIGHUP under nohup, stays ignored.
        self.signals = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self.signals:
            signal.signal(number, self.noted)
        threading.Thread(target=self._wait, daemon=True).start()

    @staticmethod
    def current() -> _Guard | None:
        """Return the guard of this process, whose signal handlers are the record of it."""
        owners = (getattr(signal.getsignal(number), "__self__", None) for number in SIGNALS)
        return next((owner for owner in owners if isinstance(owner, _Guard)), None)

    def noted(self, number: int, frame: FrameType | None) -> None:
        """Record a signal, and suspend the main thread, unless a file is being written."""
        self._heard = True
        if self._ending or (self._ready and not writing()):
            self.stay_if_heard()

    def stay_if_heard(self) -> None:
        """Wait for the end of the process if a signal was received."""
        while self._heard:
            time.sleep(60)

    def remove_folder(self) -> None:
        """Rename and remove the folder, so that a running thread cannot write to it."""
        if self._folder is not None:
            gone = f"{self._folder}-"
            with suppress(OSError):  # the main thread was about to remove it
                Path(self._folder).rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
            tempfile.tempdir, variable = self._outside
            os.environ.pop("TMPDIR")
            os.environ.update({} if variable is None else {"TMPDIR": variable})

    def _wait(self) -> None:
        with suppress(ImportError):
            import psutil  # noqa: F401 - not later: it may need what the main thread was importing when it was stopped
        self._ready = True
        while True:
            for number in os.read(self._pipe, 64):
                if number in self.signals:
                    self._end(number)

    def _end(self, number: int) -> NoReturn:
        try:
            no_more_writes(_WRITE_S)
            self._ending = True
            os.kill(os.getpid(), number)  # now that no file is written, for the main thread
            sys.addaudithook(_start_nothing)
            end_children()
            self.remove_folder()
            flushing = threading.Thread(target=self._last_words, daemon=True)
            flushing.start()
            flushing.join(_PATIENCE_S)
            end_children()  # that a thread was about to start
        finally:
            os._exit(128 + number)

    def _last_words(self) -> None:
        """Flush the buffered output, and clear the progress line of a terminal, which hides the cursor."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        for stream in filter(_moves, (1, 2)):
            with suppress(OSError):
                os.write(stream, b"\r\033[2K\033[?25h")
        if self.farewell:
            with suppress(OSError):  # not through `sys.stderr`, which rich has replaced
                os.write(2, f"{self.farewell}\n".encode())


def _start_nothing(event: str, arguments: object) -> None:
    """Prevent all threads from starting further processes."""
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
        raise RuntimeError("this process ends")


def _moves(stream: int) -> bool:
    return os.isatty(stream) and os.environ.get("TERM") != "dumb"


def end_children() -> None:
    """End all processes that this process has started, with their descendants."""
    try:
        import psutil  # takes 10 ms
    except ImportError:  # they end when they see that this one is gone
        return
    for _ in range(_ROUNDS):
        with suppress(psutil.Error):
            me = psutil.Process()
            own, all_below = me.children(), me.children(recursive=True)
            if not all_below:
                return
            for child in all_below:
                with suppress(psutil.Error):
                    child.kill()
            psutil.wait_procs(own, timeout=_PATIENCE_S)  # the others are for whoever has inherited them


# -- children ----------------------------------------------------------------------------------------------------------


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold signals within the block, so that a child receives none before it calls `as_child`."""
    if not POSIX:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def as_child() -> None:
    """Make this process lead its own group, ignore Ctrl-C, and end after its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not POSIX:
        return
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)
    with suppress(PermissionError):  # it leads one already
        os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    end_group(os.getpid())


def end_group(pid: int) -> None:
    """End a child with the group that it leads, or alone if it does not lead one yet."""
    with suppress(ProcessLookupError):
        if POSIX:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGTERM if not POSIX else signal.SIGKILL)


def one_thread_each() -> None:
    """Limit each process started from now on to one thread for NumPy."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

