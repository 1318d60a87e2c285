"""Index expressions against the layouts that they are made from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.layouts import LinearLayout, linear_index, wgmma_accumulator
from tirx_mini.ir import DataType, Expr, Var, const, int_value, simplify, substitute

from .strategies import layouts

_R, _L, _W = (Var(DataType("int32"), name) for name in "rlw")


def _evaluate(index: Expr, values: dict[Var, int]) -> int | None:
    return int_value(simplify(substitute(index, {var: const(value) for var, value in values.items()})))


@given(layouts(), st.data())
def test_an_index_expression_is_the_layout(layout: LinearLayout, data: st.DataObject) -> None:
    index = linear_index((_R, layout.register), (_L, layout.lane), (_W, layout.warp))
    register = data.draw(st.integers(0, layout.registers - 1))
    lane, warp = data.draw(st.integers(0, 31)), data.draw(st.integers(0, layout.warps - 1))
    assert _evaluate(index, {_R: register, _L: lane, _W: warp}) == layout.element(register, lane, warp)
    known = linear_index((register, layout.register), (_L, layout.lane), (_W, layout.warp))
    assert _evaluate(known, {_L: lane, _W: warp}) == layout.element(register, lane, warp)


def test_runs_of_bits_move_together() -> None:
    rows = wgmma_accumulator((64, 256), warps=4, warpgroups_m=1).along(0)
    index = linear_index((_R, rows.register), (_L, rows.lane), (_W, rows.warp))
    assert str(index) == "r // 2 % 2 * 8 + l // 4 + w * 16"


@given(layouts(), st.data())
def test_numbers_with_known_low_bits_give_the_same(layout: LinearLayout, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, len(layout.register)))
    low, high = data.draw(st.integers(0, (1 << bits) - 1)), data.draw(st.integers(0, (layout.registers >> bits) - 1))
    index = linear_index((_R * (1 << bits) + low, layout.register))
    assert _evaluate(index, {_R: high}) == layout.element(high << bits | low)
