"""Conversions, executed on tables."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.layouts import (
    LinearLayout,
    Move,
    blocked,
    conversion,
    mma_accumulator,
    mma_operand,
    shared_plan,
    wavefronts,
)
from tirx_mini.frontends.tile_ir.layouts.f2 import image

from .strategies import layouts


def _moved(source: LinearLayout, target: LinearLayout, held: np.ndarray) -> np.ndarray:
    """What the target's registers get out of the source's, as the conversion says."""
    found = conversion(source, target)
    out = np.full((target.warps, 32, target.registers), -1)
    for register in range(target.registers):
        for lane in range(32):
            if found.move is Move.NONE:
                out[:, lane, register] = held[:, lane, register]
                continue
            from_lane = lane
            if found.move is Move.SHUFFLE:
                from_lane = image(found.lane_of_lane, lane) ^ image(found.lane, register)
            out[:, lane, register] = held[:, from_lane, image(found.register, register)]
    return out


@given(layouts(), st.data())
def test_conversions_deliver_the_targets_elements(source: LinearLayout, data: st.DataObject) -> None:
    target = data.draw(layouts(source.shape, source.warps))
    found = conversion(source, target)
    if found.move is Move.SHARED:
        for itemsize in (1, 2, 4):
            plan = shared_plan(source, target, itemsize)
            memory = np.full(plan.size, -1)
            memory[plan.place(plan.bases(source).table())] = source.table()
            assert (memory[plan.place(plan.bases(target).table())] == target.table()).all()
    else:
        assert (_moved(source, target, source.table()) == target.table()).all()


def test_each_move_is_found() -> None:
    layout = blocked((32, 64), warps=4, vector=8)
    assert conversion(layout, layout).move is Move.NONE
    renamed = LinearLayout(layout.shape, layout.register[::-1], layout.lane, layout.warp)
    assert conversion(layout, renamed).move is Move.REGISTERS
    shuffled = LinearLayout(layout.shape, layout.register, layout.lane[::-1], layout.warp)
    assert conversion(layout, shuffled).move is Move.SHUFFLE
    assert conversion(layout, mma_accumulator((32, 64), warps_m=2, warps_n=2)).move is Move.SHARED


def test_a_transposition_has_no_bank_conflicts() -> None:
    rows, cols = (blocked((64, 64), warps=4, order=order) for order in ((1, 0), (0, 1)))
    plan = shared_plan(rows, cols, 4)
    assert plan.pad
    for layout in (rows, cols):
        places = plan.place(plan.bases(layout).table()[0, :, 0])
        assert wavefronts(places * 4, 4) == 1


def test_the_operand_of_an_mma_is_read_without_conflicts_after_rows_were_written() -> None:
    source = blocked((128, 64), warps=4, vector=8)
    target = mma_operand((128, 64), operand="A", bits=16, warps_m=2, warps_n=2)
    plan = shared_plan(source, target, 2)
    for layout, width in ((source, plan.store), (target, plan.load)):
        places = plan.place(plan.bases(layout).table()[0, :, 0])
        assert wavefronts(places * 2, width * 2) == max(1, width * 2 // 4)


def test_wavefronts() -> None:
    lanes = np.arange(32)
    assert wavefronts(lanes * 4, 4) == 1
    assert wavefronts(lanes * 0, 4) == 1
    assert wavefronts(lanes * 128, 4) == 32
    assert wavefronts(lanes * 16, 16) == 4
    assert wavefronts(lanes * 2, 2) == 1
