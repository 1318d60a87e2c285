"""The output of kernels is reported wherever they print it, up to a limit."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator

import pytest

from tirx_mini.grading.bench import listened
from tirx_mini.grading.heard import MOST_HEARD, Heard, hearing
from tirx_mini.worker import supervise


def prints(text: str) -> Generator[None, None, int]:
    print("before the kernel")
    yield
    print(text)
    os.write(1, b"by the GPU\n")
    ctypes.CDLL(None).printf(b"by C\n")
    return len(text)


def test_a_task_is_heard_in_python() -> None:
    task = prints("hello")
    next(task)
    heard = hearing(task)
    assert heard.result == 5 and heard.text == "hello\n"


@pytest.mark.skipif(os.name == "nt", reason="C's standard output is another there")
def test_a_task_is_heard_in_c_from_where_the_kernel_starts(capfd: pytest.CaptureFixture[str]) -> None:
    assert supervise(listened, (prints, "hello"), 30) == Heard(5, "hello\nby the GPU\nby C\n")
    assert "by" not in "".join(capfd.readouterr())


def test_only_the_beginning_is_kept() -> None:
    task = prints("x" * 10 * MOST_HEARD)
    next(task)
    heard = hearing(task)
    assert heard.result == 10 * MOST_HEARD and len(heard.text) == MOST_HEARD + 1
