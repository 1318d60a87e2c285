"""Which kernels' clusters can be executed several at a time, as far as the program shows."""

from __future__ import annotations

import textwrap

import pytest

from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.sim.translate import batchable


@pytest.mark.parametrize("folder", ["sm100", "sm90"])
@pytest.mark.parametrize("step", range(1, 11))
def test_references_whose_operands_and_results_engines_move(step: int, folder: str) -> None:
    kernel = load_kernels(default_kernels(), folder)[step](*STEPS[step].shape(512))
    assert batchable(lower(kernel)) is (step >= 4)


KERNEL = """
@T.prim_func(tirx=True)
def kernel(D: T.Buffer((128, 64), "float32")):
    with T.kernel():
        T.cta_id([1], parent="kernel")
        T.warpgroup_id([1], parent="cta")
        warp_id = T.warp_id([4], parent="warpgroup")
        lane_id = T.thread_id([32], parent="warp")
        tile = T.alloc_shared((32, 4), "float32")
        values = T.alloc_local((4,), "float32")
        T.ptx.tcgen05.ld(T.address_of(values), T.uint32(0), shape="32x32b", num=4)
        T.ptx.tcgen05.wait.ld()
        STATEMENT
"""


@pytest.mark.parametrize(
    ("statement", "wide"),
    [
        ("tile[lane_id, 0] = values[0] + values[1]", True),
        ("D[lane_id, 0] = values[0]", False),  # threads store to global memory
        ("tile[lane_id, 0] = T.cuda.__shfl_xor_sync(0xFFFFFFFF, values[0], 1)", False),
        ("values[1] = values[0] * 2.0\n        tile[lane_id, 0] = T.cuda.__shfl_xor_sync(~0, values[1], 1)", False),
        ("tile[lane_id, 0] = T.cuda.__shfl_xor_sync(0xFFFFFFFF, lane_id, 1)", True),  # the same in all clusters
    ],
)
def test_values_of_registers_stay_in_their_lanes(statement: str, wide: bool) -> None:
    kernel = from_source(textwrap.dedent(KERNEL).replace("STATEMENT", statement))
    assert batchable(lower(kernel)) is wide
