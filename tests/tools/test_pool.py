"""Processes of the pool: what hangs, dies or cannot start is an outcome, and the rest goes on."""

from __future__ import annotations

import pytest

from tools.pool import Lost, run_bounded

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
    monkeypatch.setattr("tools.pool.START_S", 0.0)
    with pytest.raises(RuntimeError, match="a process for eval did not start: timeout"):
        dict(run_bounded(eval, [LIVE], jobs=1, bound_s=4))
