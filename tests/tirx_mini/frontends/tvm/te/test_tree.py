"""Blocks whose extents only a call decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tirx_mini as tvm
from tirx_mini.ir import TirxError
from tirx_mini.script import tirx as T
from tirx_mini.te import TirSchedule


@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 128), "float32")
    B = T.match_buffer(b, (n, 128), "float32")
    for i, j in T.grid(n, 128):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0


def schedule(func: Any) -> tuple[TirSchedule, Any]:
    made = TirSchedule(tvm.IRModule({"main": func}))
    return made, made.get_block("B")


STEPS = {
    "reindex": lambda s, block: s.reindex(block, ("read", 0)),
    "cache_read": lambda s, block: s.cache_read(block, 0, "shared"),
    "cache_write": lambda s, block: s.cache_write(block, 0, "shared"),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_step_that_needs_the_number_says_so(step: Callable[[TirSchedule, Any], object]) -> None:
    with pytest.raises(TirxError, match=r"has n iterations, which a call decides: this needs a number") as error:
        step(*schedule(main))
    assert "func.specialize" in str(error.value)
    step(*schedule(main.specialize({"n": 256})))


def test_a_tile_of_other_variables_does_not_need_it() -> None:
    made, block = schedule(main)
    made.blockize(made.get_loops(block)[1])
    text = made.mod.script()
    assert "T.axis.spatial(n, i)" in text and "B[vi_o, vj_i] = A[vi_o, vj_i]" in text
