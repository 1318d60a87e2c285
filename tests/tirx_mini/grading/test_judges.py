"""The judges' processes: what a kernel takes too much of is its own, and what happens to a judge is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tirx_mini.grading import Exceeded, Judges, Lost, load_rules

LIMITS = replace(load_rules().judge, seconds=0.2, memory_mb=4096)


def fine(value: int) -> Generator[None, None, int]:
    yield
    return value + 1


def spins(_: int) -> Generator[None, None, None]:
    yield
    while True:
        pass


def fills_memory(_: int) -> Generator[None, None, int]:
    yield
    return int(np.ones(1 << 30).sum())


def sleeps(_: int) -> Generator[None, None, None]:
    yield
    time.sleep(60)


def stumbles(_: int) -> Generator[None, None, None]:
    yield
    raise KeyError("a bug of the judge\nwith more lines")


def lacks_a_module(_: int) -> Generator[None, None, None]:
    yield
    raise ModuleNotFoundError("No module named 'threadpoolctl'")


def dies(_: int) -> Generator[None, None, None]:
    yield
    os._exit(3)


def is_killed(_: int) -> Generator[None, None, None]:
    yield
    os.kill(os.getpid(), signal.SIGKILL)


def prints(count: int) -> Generator[None, None, int]:
    yield
    for _ in range(count):
        sys.stdout.write("from the kernel ")
    return count


@pytest.fixture(scope="module")
def judges() -> Any:
    with Judges(1, LIMITS) as shared:
        yield shared


Task = Callable[[int], Generator[None, None, Any]]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (spins, "it takes more than 0.2 s of CPU time to be judged"),
        (fills_memory, "it needs more than 4096 MiB of memory to be judged"),
    ],
)
def test_what_a_kernel_takes_too_much_of_is_its_own(judges: Judges, task: Task, said: str) -> None:
    with pytest.raises(Exceeded) as caught:
        judges.ask(task, 1)
    assert str(caught.value) == said
    assert judges.ask(fine, 1) == 2


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (stumbles, r"the judge failed: KeyError: 'a bug of the judge\nwith more lines'"),
        (lacks_a_module, "the judge failed: ModuleNotFoundError: No module named 'threadpoolctl'"),
        (dies, "the judge's process ended with status 3"),
        (is_killed, "the judge's process ended by SIGKILL"),
    ],
)
def test_what_happens_to_a_judge_says_nothing_of_the_kernel(judges: Judges, task: Task, said: str) -> None:
    with pytest.raises(Lost) as caught:
        judges.ask(task, 1)
    assert str(caught.value) == said
    assert judges.ask(fine, 1) == 2


def test_a_judge_that_waits_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_mini.grading.judges.GRACE_S", 0.5)
    with Judges(1, replace(LIMITS, seconds=0.1)) as judges:
        with pytest.raises(Lost, match=r"^the judge came to no end within 1 s on this machine$"):
            judges.ask(sleeps, 1)
        assert judges.ask(fine, 1) == 2


def test_a_machine_with_less_memory_than_a_judge_may_use_is_to_blame_for_its_shortage() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))\n"
        "from tirx_mini.grading.judges import limit; print(limit(1 << 24, 5), limit(1 << 10, 5))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"


def test_what_kernels_print_goes_to_the_listener_and_is_bounded(
    judges: Judges, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    assert judges.heard_by(heard.append).ask(prints, 1) == 1
    assert heard == ["from the kernel "]
    assert judges.heard_by(heard.append).ask(prints, 100_000) == 100_000
    assert len(heard[1]) < 5000
    assert judges.ask(prints, 1) == 1 and len(heard) == 2
    assert capfd.readouterr() == ("", "")
