"""Spares are made beforehand, handed out once, and closed at the end."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from tirx_mini.play.spares import Spares, SparesClosed


class Item:
    def __init__(self, number: int) -> None:
        self.number, self.closed, self.maker = number, False, threading.current_thread()

    def close(self) -> None:
        self.closed = True


def wait_for(condition: object) -> None:
    end = time.monotonic() + 5
    while not condition() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.005)
    assert condition()  # type: ignore[operator]


def test_spares_are_made_before_they_are_asked_for_and_replaced() -> None:
    made: list[Item] = []
    numbers = itertools.count()

    def make() -> Item:
        made.append(Item(next(numbers)))
        return made[-1]

    spares = Spares(make, 2)
    spares.start()
    wait_for(lambda: len(made) == 2)
    assert [spares.take().number, spares.take().number] == [0, 1]
    wait_for(lambda: len(made) == 4)
    spares.close()
    wait_for(lambda: [item.closed for item in made] == [False, False, True, True])
    with pytest.raises(SparesClosed):
        spares.take()


def test_one_that_is_given_back_soon_is_not_replaced() -> None:
    made: list[Item] = []

    def make() -> Item:
        made.append(Item(len(made)))
        return made[-1]

    spares = Spares(make, 2, patience_s=0.3)
    spares.start()
    wait_for(lambda: len(spares._ready) == 2)
    item = spares.take()
    time.sleep(0.05)
    spares.give_back(item)
    time.sleep(0.4)
    assert len(made) == 2
    spares.take()
    wait_for(lambda: len(made) == 3)  # this one is not given back
    spares.close()


def test_one_thread_makes_all_and_lives_on() -> None:
    """A sandboxed process is killed when the thread that has started it ends."""
    spares = Spares(lambda: Item(0), 1)
    makers = {spares.take().maker for _ in range(3)}
    assert len(makers) == 1 and makers.pop().is_alive()
    spares.close()


def test_an_error_of_make_reaches_whoever_takes() -> None:
    def make() -> Item:
        raise OSError("no memory")

    spares = Spares(make, 1)
    with pytest.raises(OSError, match="no memory"):
        spares.take()
    spares.close()


def test_what_is_given_back_is_taken_next_and_one_too_many_is_closed() -> None:
    spares = Spares(lambda: Item(0), 1)
    first = spares.take()
    wait_for(lambda: len(spares._ready) == 1)
    spares.give_back(first)
    assert first.closed
    spares.close()


def test_renewed_spares_are_made_anew() -> None:
    made: list[Item] = []

    def make() -> Item:
        made.append(Item(len(made)))
        return made[-1]

    spares = Spares(make, 1)
    spares.start()
    wait_for(lambda: len(made) == 1)
    spares.renew()
    assert spares.take().number == 1 and made[0].closed
    spares.close()
