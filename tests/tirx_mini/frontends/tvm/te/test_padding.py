"""`pad_einsum` and `decompose_padding`."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError
from tirx_mini.script import tir as T

from .examples import matmul, random


def test_a_product_whose_extents_are_rounded_up():
    mm = matmul(13, 10, 7)
    sch = te.TirSchedule(te.create_prim_func(mm.args))
    sch.pad_einsum("C", [8, 4, 4])
    text = sch.func.script()
    for line in (
        "for i0, i1 in T.grid(16, 8):", "A_pad[v0, v1] = T.if_then_else(v0 < 13 and v1 < 7, A[v0, v1], T.float32(0))",
        "for i, j, k in T.grid(16, 12, 8):", "C[v0, v1] = C_pad[v0, v1]",
    ):  # fmt: skip
        assert line in text, line
    i, _, k = sch.get_loops("C")
    sch.split(i, [None, 8])
    sch.split(k, [None, 4])
    assert "T.where" not in sch.func.script()
    a, b, c = random(13, 7), random(7, 10, seed=1), np.full((13, 10), np.nan, np.float32)
    te.build(sch.mod, target="llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@T.prim_func
def padded(x: T.Buffer((20,), "int32"), y: T.Buffer((3, 26), "int32")):
    for i, j in T.grid(3, 26):
        with T.block("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.if_then_else(vi >= 1 and vj >= 3 and vj - 3 < 20, x[vj - 3] * vi, 7)


@pytest.mark.parametrize(
    ("at", "lines"),
    [
        (0, ["y[vi + 1, vj + 3] = x[vj] * (vi + 1)", "for i, j in T.grid(2, 20):"]),
        (1, ["y[vi, vj + 3] = x[vj] * vi", "T.where(vi >= 1)"]),
    ],
)
def test_padding_is_filled_first(at, lines):
    sch = te.TirSchedule(padded)
    loop = sch.get_loops("y")[at]
    assert sch.can_decompose_padding("y", loop)
    assert sch.decompose_padding("y", loop).name == "y_pad_const"
    for line in lines:
        assert line in sch.func.script(), sch.func.script()
    x, y = np.arange(20, dtype=np.int32), np.zeros((3, 26), np.int32)
    te.build(sch.mod, target="llvm")(x, y)
    np.testing.assert_array_equal(y, [[7] * 26, *([7] * 3 + [*(x * i)] + [7] * 3 for i in (1, 2))])


def test_what_does_not_pad_is_refused():
    sch = te.TirSchedule(te.create_prim_func(matmul(8, 8, 8).args))
    loop = sch.get_loops("C")[0]
    assert not sch.can_decompose_padding("C", loop)
    with pytest.raises(TirxError, match="decompose_padding of C: it does not pad with a constant"):
        sch.decompose_padding("C", loop)
    with pytest.raises(TirxError, match="are not 3 positive numbers"):
        sch.pad_einsum("C", [8, 8])
    other = te.TirSchedule(padded)
    with pytest.raises(TirxError, match="pad_einsum of y: it does not add up products"):
        other.pad_einsum("y", [2, 2])
    sch.parallel(loop)
    with pytest.raises(TirxError, match="pad_einsum of C: its loops are bound"):
        sch.pad_einsum("C", [16, 16, 16])
