"""Random programs of cuda_tile print the same as kernels of threads."""

from __future__ import annotations

import contextlib
import io
import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tests.tirx_mini.frontends.tile_ir import random_programs
from tirx_mini.frontends.tile_ir.context import context_for
from tirx_mini.frontends.tile_ir.cuda_tile import interpret
from tirx_mini.frontends.tile_ir.emit import emit_kernel
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER
from tirx_mini.frontends.tile_ir.ssa import Module, run_verified
from tirx_mini.ir import DataType, Var
from tirx_mini.tile_ir import nv_tileaa

NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]\d+)?|nan|inf)")


def printed(module: Module, n: int) -> str:
    """What the kernel prints in the simulator."""
    context = context_for("h100")
    lowered = run_verified(nv_tileaa.convert_cudatile_to_tileaa(module, context), IN_ORDER, context)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        report = tvm.simulate(emit_kernel(lowered, (1,), [Var(DataType("int32"), "n")]), n, gpu="h100")
    assert not report.findings, report
    return out.getvalue()


@settings(max_examples=15, deadline=None, report_multiple_bugs=False)
@given(random_programs.modules(), st.integers(-3, 3))
def test_random_programs_print_the_same(module: Module, n: int) -> None:
    expected: list[str] = []
    interpret(module, "k", [n], (1,), expected.append)
    ours, theirs = (NUMBER.findall(text) for text in (printed(module, n), "".join(expected)))
    assert len(ours) == len(theirs)
    for a, b in zip(map(float, ours), map(float, theirs), strict=True):
        assert a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=0.02), (ours, theirs)
