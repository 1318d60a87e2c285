"""Bounds of integers: claims are held against what programs compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tirx_mini.frontends.tile_ir import random_programs
from tirx_mini.frontends.tile_ir.context import context_for
from tirx_mini.frontends.tile_ir.cuda_tile import Machine
from tirx_mini.frontends.tile_ir.nv_tileaa import convert_cudatile_to_tileaa, is_integer, standard
from tirx_mini.frontends.tile_ir.nv_tileaa import ops as aa
from tirx_mini.frontends.tile_ir.nv_tileaa.ranges import Ranges
from tirx_mini.frontends.tile_ir.ssa import Builder, Module, Op, Scalar, Value

from .interpreter import MEANINGS, interpret

I32 = Scalar("i32")


def ranges_of(module: Module) -> Ranges:
    """The bounds of all values of a module."""
    ranges = Ranges()
    for op in module.walk():
        ranges.see(op)
        if op.kind is standard.for_ and not op.unsigned:
            ranges.loop(op.body, op.lower, op.upper, op.step)
    return ranges


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(random_programs.modules(), st.integers(-3, 3))
def test_every_number_lies_between_its_bounds(module, n):
    made = convert_cudatile_to_tileaa(module, context_for("H100"))
    ranges = ranges_of(made)

    def checked(meaning: Callable[[Machine, Op], Any]) -> Callable[[Machine, Op], Any]:
        def run(m: Machine, op: Op) -> Any:
            found = meaning(m, op)
            if len(op.results) == 1 and is_integer(op.result.type) and not isinstance(found, list):
                low, high = ranges[op.result]
                assert low <= np.min(found.astype(np.int64)) <= np.max(found.astype(np.int64)) <= high, op
            return found

        return run

    interpret(made, "k", [n], (2,), lambda text: None, {kind: checked(meaning) for kind, meaning in MEANINGS.items()})


@pytest.mark.parametrize(("kind", "lhs", "rhs", "bounds"), [
    ("addi", (1, 5), (10, 20), (11, 25)),
    ("subi", (1, 5), (10, 20), (-19, -5)),
    ("muli", (-2, 3), (10, 20), (-40, 60)),
    ("divsi", (-7, 9), (2, 4), (-3, 4)),
    ("floordivsi", (-7, 9), (2, 4), (-4, 4)),
    ("ceildivsi", (-7, 9), (2, 4), (-3, 5)),
    ("remsi", (-7, 9), (1, 4), (-3, 3)),
    ("remsi", (0, 2), (8, 8), (0, 2)),
    ("minsi", (-7, 9), (1, 4), (-7, 4)),
    ("andi", (-7, 9), (0, 31), (0, 31)),
    ("shrsi", (-8, 9), (1, 2), (-4, 4)),
    ("divui", (-1, 9), (1, 4), (-(1 << 31), (1 << 31) - 1)),
    ("addi", (0, (1 << 31) - 1), (1, 1), (-(1 << 31), (1 << 31) - 1)),
    ("divsi", (0, 9), (0, 4), (-(1 << 31), (1 << 31) - 1)),
])  # fmt: skip
def test_the_bounds_of_single_operations(kind, lhs, rhs, bounds):
    ranges = Ranges()
    values = [Value(I32), Value(I32)]
    ranges.known.update(zip(values, (lhs, rhs), strict=True))
    builder = Builder()
    builder.emit(getattr(standard, kind), *values)
    ranges.see(builder.ops[0])
    assert ranges[builder.ops[0].result] == bounds


def test_blocks_have_numbers_of_the_grid():
    builder = Builder()
    x, y, _ = builder.emit(aa.get_program_id)
    ranges = Ranges()
    ranges.see(builder.ops[0])
    assert ranges[x] == (0, (1 << 31) - 2)
    assert ranges[y] == (0, 65534)
    assert ranges.compared("sge", x, y) is None
    assert ranges.compared("slt", y, x) is None
