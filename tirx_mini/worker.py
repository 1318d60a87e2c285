"""Child processes that execute tasks in turn, and can be terminated during a task.

A `Worker` is a fresh process, which imports what it needs. A `Twin` begins as a copy of this process (POSIX fork), so
that it has everything at once: where the system allows that, a `Team` is made of twins.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, TypeVar

from .ending import as_child, end_group, signals_held

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

STARTUP_S = 120.0
"""The maximum seconds of a task until its `yield`: PyTorch's import, a CUDA context, and argument copies."""

Task = Callable[[Any], Generator[Any, None, Any]]
"""The type of a child's task: a generator that yields when its time limit starts, then any notes, and returns the
result."""

T = TypeVar("T")

_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from tirx_mini.worker import serve; serve()"


class ProcessEnded(RuntimeError):
    """A child that ended during a task. status: its exit status, or minus the number of a signal, as of `Popen`; None
    where it goes on, and only does not answer any more."""

    def __init__(self, status: int | None) -> None:
        how = f" by {signal_name(-status)}" if status is not None and status < 0 else ""
        super().__init__(f"the process that ran the kernel ended{how} without a result")
        self.status = status


class _Closed(Exception):
    """The signal that the child has closed its end."""


def signal_name(number: int) -> str:
    """Return the name of a signal, as in "SIGKILL"."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def search_path() -> list[str]:
    """Return the module search path of a child: this process's path, and always that of tirx_mini.

    The working directory is excluded unless it contains tirx_mini, because its files are data, such as hand-ins.
    """
    kit, here = str(Path(__file__).resolve().parents[1]), os.path.realpath(os.curdir)
    real = {path: os.path.realpath(path) for path in sys.path if Path(path).is_absolute()}
    found = [path for path, place in real.items() if place == kit or place != here]
    return found if kit in real.values() else [kit, *found]


class Worker:
    """A child process that executes tasks in turn, started on first use, and restarted after a failed task."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._messages: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._closed = False
        self._changing = threading.Lock()  # another thread may close it

    def call(
        self, task: Task, payload: object, limit_s: float, noted: Callable[[Any], object] | None = None
    ) -> Any:
        """Return the result of `task`; the time limit `limit_s`, in seconds, starts at its first ``yield``.

        noted: is called in this thread with each further value that the task yields, as soon as it arrives.

        Raises `TimeoutError` after that time, and any exception of the task; either ends the child.
        """
        child, messages = self._started()
        assert child.stdin is not None
        try:
            try:
                pickle.dump((task, payload), child.stdin)
                child.stdin.flush()
            except ValueError:  # another thread has closed it
                raise _Closed from None
            _answer(messages, STARTUP_S)
            return _answer(messages, limit_s, noted)
        except (BrokenPipeError, _Closed):
            status = _status(child)
            self._end()
            raise ProcessEnded(status) from None
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """End the child for good, even during a task of another thread."""
        self._closed = True
        self._end()

    def start(self) -> None:
        """Start the child if it is not running, so that it is ready sooner."""
        self._started()

    def _started(self) -> tuple[subprocess.Popen[bytes], queue.Queue[tuple[str, Any]]]:
        with self._changing:
            if self._child is None or self._child.poll() is not None:
                self._drop()
                if self._closed:
                    raise RuntimeError("the worker has been closed")
                self._start()
            assert self._child is not None
            return self._child, self._messages

    def _end(self) -> None:
        with self._changing:
            self._drop()

    def _drop(self) -> None:
        if self._child is not None:
            assert self._child.stdin is not None
            if self._child.poll() is None:
                end_group(self._child.pid)
            self._child.wait()
            with suppress(OSError):  # the rest of a payload cannot be written any more
                self._child.stdin.close()
            self._child = None

    def _start(self) -> None:
        # Isolated, a child reads no variables of Python's and imports nothing from the working directory.
        command = [sys.executable, "-I", "-X", "utf8", "-c", _BOOT, json.dumps(search_path())]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._child.stdout is not None
        self._messages = queue.Queue()
        threading.Thread(target=_forward, args=(self._child.stdout, self._messages), daemon=True).start()


def _status(child: subprocess.Popen[bytes]) -> int | None:
    """Return the exit status of a child that has closed its end."""
    with suppress(subprocess.TimeoutExpired):
        return child.wait(1)
    return None


class Twin:
    """A child that starts as a copy of this process, and executes `work` for successive items.

    It may neither use a GPU nor print: the copy has none of this process's other threads.

    room: bytes of memory that both processes share. Arrays of results lie there, as long as all of them fit: a thread
    that reads them from a pipe would wait for the interpreter after each 64 KiB.
    """

    def __init__(self, work: Callable[[Any], object], room: int = 0) -> None:
        self._work = work
        self._room = room
        self._shared = memoryview(b"")
        self._process: Any = None
        self._connection: Connection | None = None

    @staticmethod
    def possible() -> bool:
        """Return whether the system copies processes safely, and this process may have children of its own.

        The libraries of macOS do not survive a copy ("Contexts and start methods" of multiprocessing).
        """
        if sys.platform != "linux":
            return False
        import multiprocessing  # takes 10 ms

        return not multiprocessing.current_process().daemon

    def start(self) -> None:
        """Create the copy if there is none. Raises `OSError` if the system refuses."""
        if self._process is None:
            import multiprocessing

            context = multiprocessing.get_context("fork")
            ours, theirs = context.Pipe()
            self._shared = memoryview(mmap.mmap(-1, max(1, self._room)))
            process = context.Process(target=_attend, args=(ours, theirs, self._work, self._shared), daemon=True)
            try:
                with warnings.catch_warnings():
                    # Python 3.12 warns of any fork beside threads, such as those of NumPy. The copy needs none of them.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    with signals_held():
                        process.start()
            except OSError:
                ours.close()
                raise
            finally:
                theirs.close()
            self._process, self._connection = process, ours

    def call(self, item: object, limit_s: float) -> Any:
        """Return the result of `work` for an item. Raises `TimeoutError` after `limit_s` seconds, or `work`'s error."""
        self.start()
        assert self._connection is not None
        self._connection.send(item)
        if not self._connection.poll(limit_s):
            raise TimeoutError
        error, value, places = self._connection.recv()
        if error is not None:
            raise error
        return pickle.loads(value, buffers=[self._shared[first:last] for first, last in places])

    def close(self) -> None:
        """End the child, even during an item."""
        if self._process is not None and self._connection is not None:
            end_group(self._process.pid)
            self._process.join()
            self._connection.close()
            self._process = self._connection = None


def _attend(ours: Connection, theirs: Connection, work: Callable[[Any], object], shared: memoryview) -> None:
    """Serve items in the twin."""
    as_child()
    ours.close()
    free = 0
    while True:
        try:
            item = theirs.recv()
        except EOFError:
            return
        try:
            buffers: list[pickle.PickleBuffer] = []
            result = work(item)
            value = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
            places = list(pairwise(accumulate((len(buffer.raw()) for buffer in buffers), initial=free)))
            if places and places[-1][1] > len(shared):
                value, places = pickle.dumps(result), []
            for (first, last), buffer in zip(places, buffers):  # noqa: B905 - there may be no places
                shared[first:last] = buffer.raw()
                free = last
            answer = None, value, places
        except Exception as error:
            answer = error, b"", []
        theirs.send(answer)


class Team:
    """This process and `jobs - 1` children, which share the items of a list; as a context, it ends the children.

    task: what a child executes for an item. payload: what it is given. here: the same in this process. twin: the same
    in a copy of this process; where that is possible, the children are such copies, and `task` is not used. room: for
    the arrays of a copy's results, as of `Twin`. limit_s: how long a child may take. An item whose child fails is done
    here.
    """

    def __init__(
        self,
        task: Task,
        payload: Callable[[T], object],
        here: Callable[[T], object],
        jobs: int,
        *,
        twin: Callable[[T], object] | None = None,
        room: int = 0,
        limit_s: float = 3600.0,
    ) -> None:
        self._task, self._payload, self._here, self._limit_s = task, payload, here, limit_s
        self._workers: list[Worker | Twin] = []
        for _ in range(jobs - 1):
            self._workers.append(Twin(twin, room) if twin is not None and Twin.possible() else Worker())

    def __enter__(self) -> Team:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for worker in self._workers:
            worker.close()

    def start(self) -> None:
        """Start the children in advance."""
        _start(self._workers)

    def results(
        self,
        items: Sequence[object],
        meanwhile: Callable[[], object] | None = None,
        seen: Callable[[Any], object] | None = None,
    ) -> dict[Any, Any]:
        """Return the result for each item; items start in order, so the longest should be first.

        meanwhile: what this process does first; then it takes some of them, too. seen: is called for each result of a
        child as soon as it is there, in another thread.
        """
        left = deque(items)
        found: dict[Any, Any] = {}
        busy = self._workers[: len(items) - (meanwhile is None)]

        def serve(worker: Worker | Twin) -> None:
            for item in _taken(left):
                try:
                    found[item] = self._ask(worker, item)
                except Exception:
                    left.append(item)
                    return
                if seen is not None:
                    seen(found[item])

        _start(busy)  # before there are threads, which a copy would lack
        threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in busy]
        for thread in threads:
            thread.start()
        if meanwhile is not None:
            meanwhile()
        self._take(left, found)
        for thread in threads:
            thread.join()
        self._take(left, found)  # which children failed at
        return found

    def _take(self, left: deque[Any], found: dict[Any, Any]) -> None:
        for item in _taken(left):
            found[item] = self._here(item)

    def _ask(self, worker: Worker | Twin, item: Any) -> object:
        if isinstance(worker, Twin):
            return worker.call(item, self._limit_s)
        return worker.call(self._task, self._payload(item), self._limit_s)


def _start(workers: Sequence[Worker | Twin]) -> None:
    for worker in workers:
        with suppress(OSError):  # then this process does what it was for
            worker.start()


def _taken(left: deque[T]) -> Iterator[T]:
    while True:
        try:
            yield left.popleft()
        except IndexError:
            return


def supervise(task: Task, payload: object, limit_s: float) -> Any:
    """Run `Worker.call` in a new child."""
    worker = Worker()
    try:
        return worker.call(task, payload, limit_s)
    finally:
        worker.close()


def serve() -> None:
    """Serve tasks from stdin with responses to stdout in the child; output of kernels goes to stderr."""
    as_child()
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        while True:
            try:
                task, payload = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            for message in _messages(task, payload):
                pickle.dump(message, answers)
                answers.flush()


def _messages(task: Task, payload: object) -> Generator[tuple[str, Any], None, None]:
    try:
        work = task(payload)
        next(work)
        yield "value", None
        while True:
            yield "note", next(work)
    except StopIteration as done:
        yield "value", done.value
    except BaseException as error:
        yield "error", error


def _forward(source: IO[bytes], messages: queue.Queue[tuple[str, Any]]) -> None:
    with source:
        try:
            while True:
                messages.put(pickle.load(source))
        except (EOFError, OSError, pickle.UnpicklingError):
            messages.put(("error", _Closed()))


def _answer(
    messages: queue.Queue[tuple[str, Any]], limit_s: float, noted: Callable[[Any], object] | None = None
) -> Any:
    end = time.monotonic() + limit_s
    while True:
        try:
            kind, value = messages.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if kind == "error":
            raise value
        if kind == "value":
            return value
        if noted is not None:
            noted(value)
