"""How far a simulation is: what the simulator says of it, and what a meter shows."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.kernels_ref.edits import SHAPES, Edit
from tirx_mini.course import Meter, check_kernel
from tirx_mini.course.meter import Share, time_text


def test_a_meter_shows_the_run_and_clears_it_at_the_end() -> None:
    shown: list[str] = []
    twice = threading.Event()

    def show(text: str) -> None:
        shown.append(text)
        if len(shown) == 2:
            twice.set()

    with Meter(show, patience_s=0) as meter:
        meter.watch(lambda: 0.25)
        assert twice.wait(60)
    assert shown[-1] == "" and shown[1].startswith("simulating: 25% done, about ")


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ((), "preparing the simulation"),
        ((0.001,), "simulating: 0% done"),
        ((1.0,), "simulating: done, looking at the results"),
        ((1.0, 0.001), "simulating, run 2: 0% done"),
    ],
)
def test_the_text_says_what_is_known(shares: tuple[float, ...], text: str) -> None:
    meter = Meter(None)
    for share in shares:
        meter.watch(lambda share=share: share)
    assert meter.text() == text


def test_without_a_terminal_nothing_is_shown() -> None:
    before = threading.active_count()
    with Meter(None) as meter:
        meter.watch(lambda: 0.5)
        assert threading.active_count() == before


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (59.4, "59 s"), (100, "1 min 40 s")])
def test_times_are_in_words(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


@pytest.mark.parametrize("step", [3, 7])
def test_the_share_grows_from_nothing_to_all(step: int, tmp_path: Path) -> None:
    """Of CTAs that have ended in step 3, and of operations in step 7, whose CTAs are persistent."""
    begun: list[float] = []
    runs: list[Share] = []

    def watch(share: Share) -> None:
        begun.append(share())
        runs.append(share)

    kernel = Edit(step).kernel(tmp_path, SHAPES[step])
    assert check_kernel(kernel, watch=watch).ok
    assert len(runs) == 2, "in a row, and by itself"
    assert begun == [0.0, 0.0] and [share() for share in runs] == [1.0, 1.0]
