"""Conversions, executed on tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.layouts import (
    Conversion,
    LinearLayout,
    Move,
    blocked,
    conversion,
    mma_accumulator,
    mma_operand,
    run_of,
    shared_plan,
    wavefronts,
    wgmma_accumulator,
    with_vectors,
    words_first,
)
from tirx_mini.frontends.tile_ir.layouts.conversion import MOST_SWAPS
from tirx_mini.frontends.tile_ir.layouts.f2 import image

from .strategies import layouts


def _moved(source: LinearLayout, target: LinearLayout, held: np.ndarray) -> np.ndarray:
    """What the target's registers get out of the source's, as the conversion says."""
    found = conversion(source, target)
    out = np.full((target.warps, 32, target.registers), -1)
    if found.move is Move.EXCHANGE:
        return _exchanged(found, held)
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


def _exchanged(found: Conversion, held: np.ndarray) -> np.ndarray:
    """The registers of an exchange: those of the same thread, of which bits then change places with bits of lanes."""
    out = held[:, :, [image(found.register, register) for register in range(found.target.registers)]]
    for bit, lane in found.swaps:
        swapped = out.copy()
        for number in range(32):
            for register in range(found.target.registers):
                if (register >> bit & 1) != (number >> lane & 1):
                    swapped[:, number, register] = out[:, number ^ 1 << lane, register ^ 1 << bit]
        out = swapped
    return out


@st.composite
def swapped(draw: st.DrawFn) -> tuple[LinearLayout, LinearLayout]:
    """A layout, and one in which bases of registers and lanes have changed places."""
    source = draw(layouts())
    register, lane = list(source.register), list(source.lane)
    for _ in range(draw(st.integers(1, MOST_SWAPS)) if register else 0):
        i, j = draw(st.sampled_from(range(len(register)))), draw(st.sampled_from(range(5)))
        register[i], lane[j] = lane[j], register[i]
    return source, replace(source, register=tuple(draw(st.permutations(register))), lane=tuple(lane))


@given(swapped())
def test_exchanges_deliver_the_targets_elements(both: tuple[LinearLayout, LinearLayout]) -> None:
    source, target = both
    if conversion(source, target).move is not Move.SHARED:
        assert (_moved(source, target, source.table()) == target.table()).all()


ACCUMULATOR = wgmma_accumulator((128, 64), warps=8, warpgroups_m=2)


@pytest.mark.parametrize(("elements", "swaps"), [(2, 0), (4, 1), (8, 2), (16, 2)])
def test_threads_of_an_accumulator_exchange_vectors_of_their_rows(elements: int, swaps: int) -> None:
    target = with_vectors(ACCUMULATOR, elements)
    assert target is not None and target.vector(32) == elements and target.warp == ACCUMULATOR.warp
    assert target.reduce(1) == ACCUMULATOR.reduce(1), "every thread keeps its rows"
    found = conversion(ACCUMULATOR, target)
    assert found.move is (Move.EXCHANGE if swaps else Move.NONE) and len(found.swaps) == swaps
    assert (_moved(ACCUMULATOR, target, ACCUMULATOR.table()) == target.table()).all()


def test_vectors_need_neighbours_in_the_warp() -> None:
    assert with_vectors(wgmma_accumulator((128, 16), warps=8, warpgroups_m=2), 16) is None
    assert with_vectors(blocked((64,), warps=2), 2) is None, "a thread has one element"
    narrow = with_vectors(blocked((32, 64), warps=4, vector=8), 8)
    assert narrow == blocked((32, 64), warps=4, vector=8), "its threads have vectors already"


def test_runs_of_neighbours() -> None:
    assert run_of(ACCUMULATOR, 8) == 8, "four threads have two each"
    assert run_of(blocked((32, 64), warps=4, vector=8), 8) == 64
    assert run_of(blocked((32, 64), warps=4, vector=8), 8, 0) == 4


@pytest.mark.parametrize(("elements", "bits", "words"), [(8, 16, [0]), (16, 8, [0, 3]), (8, 32, []), (8, 64, [])])
def test_exchanges_of_words(elements: int, bits: int, words: list[int]) -> None:
    """Elements in neighbouring columns that stay in their thread are exchanged together."""
    target = with_vectors(ACCUMULATOR, elements)
    assert target is not None
    order, inside = words_first(conversion(ACCUMULATOR, target), bits)
    assert order[:inside] == words and sorted(order) == list(range(len(target.register)))


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
    turned = LinearLayout(
        layout.shape, (layout.lane[0], *layout.register[1:]), (layout.register[0], *layout.lane[1:]), layout.warp
    )
    assert conversion(layout, turned).move is Move.EXCHANGE
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
