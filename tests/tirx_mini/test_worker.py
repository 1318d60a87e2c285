"""The child process ends in time, its results and errors reach the parent, and a team shares the items of a list."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tirx_mini.runtime import DriverError
from tirx_mini.worker import Team, Worker, supervise

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
