"""Programs of Tile IR mean the same for the interpreter and as kernels of threads, on both architectures."""

from __future__ import annotations

import copy

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.frontends.tile_ir import programs
from tirx_mini.frontends.tile_ir.context import context_for
from tirx_mini.frontends.tile_ir.cuda_tile import Ptr, interpret
from tirx_mini.frontends.tile_ir.emit import emit_kernel
from tirx_mini.frontends.tile_ir.emit.program import own_params
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER
from tirx_mini.frontends.tile_ir.ssa import run_verified
from tirx_mini.ir import Buffer, DataType, PrimFunc, Var
from tirx_mini.tile_ir import nv_tileaa

from .texts import random

ALL = {
    "transpose": lambda: programs.transpose((100, 37)),
    "product_f16": lambda: programs.product("f16", np.float16),
    "product_bf16": lambda: programs.product("bf16", ml_dtypes.bfloat16),
    "masked": programs.masked,
    "atomics": programs.atomics,
    "reductions": programs.reductions,
    "search": lambda: programs.search(7),
    "rows": programs.rows,
    **{f"early_exits_{n}": lambda n=n: programs.early_exits(n) for n in (-1, 0, 2, 90)},
}


def kernel_of(program: programs.Program, gpu: str) -> PrimFunc:
    context = context_for(gpu)
    module = nv_tileaa.convert_cudatile_to_tileaa(program.module, context)
    module = run_verified(module, IN_ORDER, context)
    params = [
        Buffer(value.hint, arg.shape, DataType(arg.dtype))
        if isinstance(value.type, Ptr)
        else Var(DataType("int32"), "n")
        for value, arg in zip(own_params(module.ops[0]), program.args, strict=True)
    ]
    return emit_kernel(module, program.grid, params)


@pytest.mark.parametrize("gpu", ["h100", "b200"])
@pytest.mark.parametrize("name", ALL)
def test_programs_mean_the_same(name: str, gpu: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = ALL[name]()
    args, printed = copy.deepcopy(program.args), []
    interpret(program.module, "k", args, program.grid, printed.append)
    report = tvm.simulate(kernel_of(program, gpu), *program.args, gpu=gpu)
    assert not report.findings, report
    assert capsys.readouterr().out == "".join(printed)
    for ours, theirs in zip(program.args, args, strict=True):
        assert np.allclose(np.asarray(ours, "float64"), np.asarray(theirs, "float64"), atol=1e-3)


def test_what_a_thread_stores_another_one_loads() -> None:
    """An array that is transposed in place, twice, in a loop: barriers stand between its loads and stores."""
    a = random(32, 32)
    before = a.copy()
    strides = "tensor_view<32x32xf32, strides=[32,1]>"
    view = f"partition_view<tile=(32x32), {strides}>"
    body = f"""
      %v = make_tensor_view %a, shape = [32, 32], strides = [32, 1] : {strides}
      %p = make_partition_view %v : {view}
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %three = constant <i32: 3> : tile<i32>
      for %i in (%zero to %three, step %one) : tile<i32> {{
        %t, %s = load_view_tko weak %p[%zero, %zero] : {view}, tile<i32> -> tile<32x32xf32>, token
        %u = permute %t [1, 0] : tile<32x32xf32> -> tile<32x32xf32>
        %d = store_view_tko weak %u, %p[%zero, %zero] token = %s : tile<32x32xf32>, {view}, tile<i32> -> token
      }}"""
    program = programs.Program("%a: tile<ptr<f32>>", body, [a])
    report = tvm.simulate(kernel_of(program, "h100"), a, gpu="h100", schedules=5)
    assert not report.findings, report
    assert (a == before.T).all()


def test_a_failed_assertion_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    body = """
      %two = constant <i32: 2> : tile<i32>
      %less = cmpi less_than %n, %two, signed : tile<i32> -> tile<i1>
      assert %less, "n is 100% small" : tile<i1>"""
    program = programs.Program("%n: tile<i32>", body, [5])
    tvm.simulate(kernel_of(program, "h100"), 5, gpu="h100")
    assert capsys.readouterr().out == "assertion failed: n is 100% small\n"
