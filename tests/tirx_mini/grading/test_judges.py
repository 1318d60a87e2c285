"""The judges' processes: whatever happens to one, the answer is a sentence, and the next kernel is judged."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from dataclasses import replace

import numpy as np
import pytest

from tirx_mini.grading import Judges, Lost, load_rules

LIMITS = replace(load_rules().judge, seconds=3, memory_mb=4096)


def fine(value: int) -> Generator[None, None, int]:
    yield
    return value + 1


def sleeps(_: int) -> Generator[None, None, None]:
    yield
    time.sleep(60)


def fills_memory(_: int) -> Generator[None, None, int]:
    yield
    return int(np.ones(1 << 30).sum())


def stumbles(_: int) -> Generator[None, None, None]:
    yield
    raise KeyError("a bug of the judge\nwith more lines")


def dies(_: int) -> Generator[None, None, None]:
    yield
    os._exit(0)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (sleeps, "the judge ended it after 3 s"),
        (fills_memory, "it needs more than 4096 MiB of memory to be judged"),
        (stumbles, r"the judge could not run it: KeyError: 'a bug of the judge\nwith more lines'"),
        (dies, "the judge could not run it: RuntimeError: the process that ran the kernel ended without a result"),
    ],
)
def test_a_lost_process_is_a_sentence_and_the_next_task_has_another(task: object, said: str) -> None:
    with Judges(1, LIMITS) as judges:
        with pytest.raises(Lost) as caught:
            judges.ask(task, 1)  # pyright: ignore[reportArgumentType]
        assert str(caught.value) == said
        assert judges.ask(fine, 1) == 2
