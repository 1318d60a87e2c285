"""Processes of the pool: what hangs, dies or cannot start is an outcome, and the rest goes on."""

from __future__ import annotations

import multiprocessing

import pytest

from tirx_mini import pool
from tirx_mini.pool import Lost, in_order, run_bounded, spread

HANG, DIE, LIVE = "__import__('time').sleep(600)", "__import__('os')._exit(3)", "'done'"
"""Work for `eval`: with a function of the tests, each process would import all that they do."""


def test_what_hangs_or_dies_is_an_outcome_and_the_rest_goes_on() -> None:
    outcomes = dict(run_bounded(eval, [DIE, LIVE, DIE], jobs=2, bound_s=30))
    assert outcomes == {0: Lost("died"), 1: "done", 2: Lost("died")}


def test_an_item_that_exceeds_its_bound_is_a_timeout() -> None:
    """It begins when a process has its item, so it need not cover how long processes take to start."""
    outcomes = dict(run_bounded(eval, [HANG, LIVE, LIVE], jobs=2, bound_s=4))
    assert outcomes == {0: Lost("timeout"), 1: "done", 2: "done"}


def test_a_process_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "START_S", 0.0)
    with pytest.raises(RuntimeError, match="a process for eval did not start: timeout"):
        dict(run_bounded(eval, [LIVE], jobs=1, bound_s=4))


def test_results_come_in_the_order_of_the_items_and_arguments_are_spread() -> None:
    slow = "__import__('time').sleep(0.3)"
    assert list(in_order(spread(eval), [(slow,), ("1 + x", {"x": 2}), ("3",)], jobs=2)) == [None, 3, 3]


def test_an_exception_of_the_work_is_raised_here_with_its_traceback_there() -> None:
    """One that cannot be pickled keeps its words."""
    with pytest.raises(ZeroDivisionError, match="division by zero") as raised:
        dict(run_bounded(eval, ["1 / 0"], jobs=1))
    assert 'File "<string>", line 1' in str(raised.value.__cause__)
    with pytest.raises(RuntimeError, match="Odd: so it is"):
        dict(run_bounded(eval, ["(_ for _ in ()).throw(type('Odd', (Exception,), {})('so it is'))"], jobs=1))


def test_a_process_that_died_has_no_place_in_an_order() -> None:
    with pytest.raises(RuntimeError, match=r"the process for .* died"):
        list(in_order(eval, [DIE], jobs=1))


@pytest.mark.parametrize("how", ["interrupted", "not gone on with"])
def test_no_process_outlives_the_work(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = run_bounded(eval, [LIVE, HANG, HANG], jobs=2)
    assert next(work) == (0, "done")
    assert len(multiprocessing.active_children()) == 2
    if how == "interrupted":

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(pool, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(work)
    else:
        work.close()
    assert multiprocessing.active_children() == []
