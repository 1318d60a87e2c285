"""Copies and stores by a start and a pattern: what they move, how long they take and what they find is as without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from tests.tirx_mini.sim.bare import Result, buffer, run
from tirx_mini.sim import RunningWarp

SIZE = 1024
PATTERNS = {
    "neighbours": lambda n: np.arange(32 * n),
    "backwards": lambda n: np.arange(32 * n)[::-1],
    "columns": lambda n: np.arange(32 * n) * 8 % 256 + np.arange(32 * n) // 32,
    "one place": lambda n: np.zeros(32 * n, np.int64),
    "far": lambda n: np.arange(32 * n) * 16,
}


def outcome(body: Callable[[RunningWarp], None], checks: bool) -> tuple[Any, ...]:
    """All that a run leaves behind."""
    source = np.arange(SIZE, dtype=np.float16)
    target = np.zeros(SIZE, np.float16)

    def program(w: RunningWarp) -> Any:
        try:
            body(w)
        finally:
            w.gpu.seen["tile"] = w.cta.smem.view(1).tobytes()
        yield from ()

    found: Result = run(
        program, shared={"tile": ("float16", SIZE, 2)}, arrays={"A": source, "D": target}, checks=checks
    )
    return target.tobytes(), found.seen["tile"], found.outcome.cycles, found.outcome.stats, found.kinds


@given(
    st.sampled_from(list(PATTERNS)), st.sampled_from(list(PATTERNS)), st.sampled_from([1, 2, 4, 8]),
    st.integers(0, 2), st.integers(-1, 40), st.integers(0, 40), st.integers(1, (1 << 32) - 1), st.booleans(),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_moves_and_puts_do_what_copies_and_stores_do(
    to: str, source: str, lanes: int, rows: int, first: int, src_first: int, word: int, is_global: bool
) -> None:
    shape = (rows, 32) if rows else (32,)
    pattern, src_pattern = (PATTERNS[name](max(1, rows)).reshape(shape) * lanes for name in (to, source))
    values = np.arange(np.prod(shape) * lanes, dtype=np.float16).reshape((*shape, lanes) if lanes > 1 else shape)
    name = "D" if is_global else "tile"

    def active(w: RunningWarp) -> Any:
        w.select(w.mask.where(np.array([word >> lane & 1 for lane in range(32)], bool)))
        return buffer(w, name)

    def moved(w: RunningWarp) -> None:
        w.move(active(w), first * lanes, pattern, buffer(w, "A"), src_first * lanes, src_pattern, lanes)

    def copied(w: RunningWarp) -> None:
        w.copy(active(w), first * lanes + pattern, buffer(w, "A"), src_first * lanes + src_pattern, lanes)

    def put(w: RunningWarp) -> None:
        w.put(active(w), first * lanes, pattern, values, lanes)

    def stored(w: RunningWarp) -> None:
        w.store(active(w), first * lanes + pattern, values, lanes)

    for checks in (False, True) if word & 1 else (False,):
        assert outcome(moved, checks) == outcome(copied, checks)
        assert outcome(put, checks) == outcome(stored, checks)


def test_a_put_converts_and_repeats_values() -> None:
    pattern = np.arange(32) * 2

    def body(w: RunningWarp) -> None:
        w.put(buffer(w, "tile"), 64, pattern, 2.5, 2)
        w.put(buffer(w, "tile"), 0, pattern[:, None].T // 2, np.arange(32))

    tile = np.frombuffer(outcome(body, False)[1], np.float16)
    assert (tile[64:128] == 2.5).all() and np.array_equal(tile[:32], np.arange(32))
