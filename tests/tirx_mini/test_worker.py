"""The child process ends in time, its results and errors reach the parent, and a team shares the items of a list."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirx_mini.runtime import DriverError
from tirx_mini.worker import Team, Twin, Worker, supervise

twins = pytest.mark.skipif(not Twin.possible(), reason="the system does not copy processes safely")
posix = pytest.mark.skipif(os.name == "nt", reason="processes are found and ended by POSIX signals")


def doubles(payload: Any) -> Generator[None, None, Any]:
    yield
    return [2 * value for value in payload]


def hangs(payload: Any) -> Generator[None, None, Any]:
    Path(payload).write_text(str(os.getpid()))
    yield
    time.sleep(600)


def starts_slowly(payload: Any) -> Generator[None, None, Any]:
    time.sleep(payload)
    yield
    return "done"


def prints(payload: Any) -> Generator[None, None, Any]:
    os.write(1, b"from the kernel\\n")
    yield
    return payload


def faults(payload: Any) -> Generator[None, None, Any]:
    yield
    raise DriverError("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered")


def dies(payload: Any) -> Generator[None, None, Any]:
    yield
    os._exit(3)


def test_the_result_of_a_task_is_returned() -> None:
    assert supervise(doubles, [1, 2, 3], 30) == [2, 4, 6]


@posix
def test_a_task_that_takes_too_long_is_ended(tmp_path) -> None:
    with pytest.raises(TimeoutError):
        supervise(hangs, str(tmp_path / "pid"), 0.2)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert supervise(doubles, [4], 30) == [8]


def test_the_limit_excludes_the_start_of_the_child() -> None:
    assert supervise(starts_slowly, 0.6, 0.3) == "done"


def test_output_of_the_task_does_not_disturb_its_result() -> None:
    assert supervise(prints, {"a": 1}, 30) == {"a": 1}


def counts(payload: Any) -> Generator[Any, None, Any]:
    yield
    yield from range(payload)
    return "done"


def test_notes_of_a_task_arrive_before_its_result() -> None:
    seen: list[int] = []
    worker = Worker()
    assert worker.call(counts, 3, 10, seen.append) == "done"
    assert seen == [0, 1, 2]
    assert worker.call(counts, 2, 10) == "done"  # which nobody reads
    worker.close()


def test_an_exception_of_the_task_is_raised_in_the_parent() -> None:
    with pytest.raises(DriverError) as caught:
        supervise(faults, None, 30)
    assert caught.value.name == "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_a_child_that_dies_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended without a result"):
        supervise(dies, None, 30)


def says_who(payload: Any) -> Generator[None, None, Any]:
    yield
    return os.getpid()


@posix
def test_a_child_serves_until_a_task_fails() -> None:
    worker = Worker()
    try:
        first = worker.call(says_who, None, 30)
        assert worker.call(doubles, [1], 30) == [2] and worker.call(says_who, None, 30) == first
        with pytest.raises(DriverError):
            worker.call(faults, None, 30)
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        second = worker.call(says_who, None, 30)
        assert second != first
    finally:
        worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


@posix
def test_a_child_that_has_ended_is_replaced() -> None:
    worker = Worker()
    try:
        first = worker.call(says_who, None, 30)
        os.kill(first, signal.SIGKILL)
        time.sleep(0.2)
        assert worker.call(says_who, None, 30) != first
    finally:
        worker.close()


@posix
def test_a_worker_that_is_closed_fails_in_the_thread_that_waits_and_starts_no_other_child(tmp_path: Path) -> None:
    worker, raised = Worker(), list[BaseException]()

    def waits() -> None:
        for _ in range(2):
            try:
                worker.call(hangs, str(tmp_path / "pid"), 600)
            except RuntimeError as error:
                raised.append(error)

    thread = threading.Thread(target=waits)
    thread.start()
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
    worker.close()
    thread.join(20)
    assert not thread.is_alive() and str(raised[-1]) == "the worker has been closed"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def squares(payload: Any) -> Generator[None, None, Any]:
    yield
    time.sleep(0.05)
    return payload * payload, os.getpid()


def fails_at_seven(payload: Any) -> Generator[None, None, Any]:
    yield
    if payload == 7:
        raise ValueError("seven")
    return payload * payload, os.getpid()


def slowly(item: int) -> tuple[int, int]:
    time.sleep(0.3)
    return item * item, os.getpid()


def test_a_team_shares_the_items_between_this_process_and_others() -> None:
    with Team(squares, int, slowly, jobs=3) as team:
        found = team.results(range(20))
    assert {item: value for item, (value, _) in found.items()} == {item: item * item for item in range(20)}
    assert 2 <= len({pid for _, pid in found.values()}) <= 3 and os.getpid() in {pid for _, pid in found.values()}


def test_what_a_child_fails_at_is_done_here() -> None:
    with Team(fails_at_seven, int, slowly, jobs=2) as team:
        found = team.results([1, 7, 2, 3])
    assert {item: value for item, (value, _) in found.items()} == {1: 1, 7: 49, 2: 4, 3: 9}
    assert found[7][1] == os.getpid()


def test_a_team_of_one_starts_no_process() -> None:
    with Team(dies, int, slowly, jobs=1) as team:
        assert team.results([2, 3]) == {2: (4, os.getpid()), 3: (9, os.getpid())}


@posix
def test_a_team_ends_its_children_when_it_is_interrupted(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def interrupted(item: int) -> None:
        while not note.exists() or not note.read_text():
            time.sleep(0.05)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Team(hangs, lambda item: str(note), interrupted, jobs=2) as team:
        team.results([1, 2])
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


# -- twins ---------------------------------------------------------------------------------------------------------


@twins
@pytest.mark.parametrize("room", [0, 1000, 1 << 20])
def test_a_twin_knows_what_this_process_knows_and_returns_arrays(room: int) -> None:
    known = np.arange(300.0)
    twin = Twin(lambda factor: (factor * known, known[::2] + factor, os.getpid()), room)
    try:
        for factor in (2, 3, 4):  # the first result fits in 1000 bytes no more than the others
            product, some, pid = twin.call(factor, 30)
            assert (product == factor * known).all() and (some == known[::2] + factor).all() and pid != os.getpid()
    finally:
        twin.close()


@twins
def test_what_a_twin_writes_is_its_own() -> None:
    mine = np.zeros(4)

    def writes(value: int) -> list[float]:
        mine[value] = value
        return mine.tolist()

    twin = Twin(writes, 64)
    assert [twin.call(1, 30), twin.call(2, 30)] == [[0, 1, 0, 0], [0, 1, 2, 0]]
    assert not mine.any()
    twin.close()


@twins
def test_an_error_of_a_twin_is_raised_here_and_it_goes_on() -> None:
    def divides(item: int) -> float:
        return 1 / item

    twin = Twin(divides)
    with pytest.raises(ZeroDivisionError):
        twin.call(0, 30)
    assert twin.call(4, 30) == 0.25
    twin.close()


@twins
def test_a_twin_that_dies_or_takes_too_long_is_an_error() -> None:
    dying = Twin(lambda code: os._exit(code))
    with pytest.raises((EOFError, ConnectionResetError)):
        dying.call(3, 30)
    dying.close()
    sleeping = Twin(time.sleep)
    with pytest.raises(TimeoutError):
        sleeping.call(600, 0.2)
    sleeping.close()


@twins
def test_a_team_of_twins_shares_the_items_and_tells_what_comes_from_others() -> None:
    seen: list[tuple[int, int]] = []

    def there(item: int) -> tuple[int, int]:
        if item == 7:
            raise ValueError("seven")
        return slowly(item)

    with Team(dies, int, slowly, jobs=3, twin=there, room=100) as team:
        found = team.results(range(12), seen=seen.append)
    assert {item: value for item, (value, _) in found.items()} == {item: item * item for item in range(12)}
    assert found[7][1] == os.getpid()
    assert len({pid for _, pid in found.values()}) == 3
    assert sorted(seen) == sorted(result for result in found.values() if result[1] != os.getpid())


@twins
def test_where_no_process_can_be_started_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuses)
    with Team(dies, int, slowly, jobs=2, twin=slowly) as team:
        assert team.results([2, 3]) == {2: (4, os.getpid()), 3: (9, os.getpid())}


@twins
def test_a_copy_beside_threads_is_made_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = os.fork

    def warns() -> int:
        warnings.warn("This process is multi-threaded", DeprecationWarning, stacklevel=1)  # Python 3.12 and newer
        return fork()

    monkeypatch.setattr(os, "fork", warns)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Team(dies, int, slowly, jobs=2, twin=slowly) as team:
            assert team.results([2, 3]).keys() == {2, 3}
    assert told == []


ORPHAN = """
import os, signal, sys, time
from tirx_mini.worker import Twin
first, second = Twin(lambda item: os.getpid()), Twin(lambda item: os.getpid())
print(first.call(0, 30), second.call(0, 30), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@twins
def test_twins_end_with_the_process_that_they_are_copies_of() -> None:
    killed = subprocess.run([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in killed.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() and not _is_zombie(pid) for pid in pids):
        assert time.monotonic() < deadline, "a twin goes on"
        time.sleep(0.05)


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended, and nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
