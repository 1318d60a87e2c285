"""`te.build`: schedules as functions, on this CPU and in the simulator."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tirx_mini as tvm
from tirx_mini import te
from tirx_mini.compat import tvm as compat
from tirx_mini.ir import TirxError

from .examples import matmul, random, threads


def test_a_matmul_on_the_cpu_with_arrays_and_tensors():
    mm = matmul(40, 24, 56)
    built = te.build(te.create_schedule(mm.C.op), mm.args, "llvm")
    a, b = random(40, 56), random(56, 24, seed=1)
    c = np.zeros((40, 24), np.float32)
    built(a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    out = torch.zeros(40, 24)
    built(torch.from_numpy(a), torch.from_numpy(b), out)
    np.testing.assert_array_equal(out.numpy(), c)


def two_kernels():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    C = te.compute((64,), lambda i: B[i] * A[63 - i], name="C")
    s = te.create_schedule(C.op)
    for tensor in (B, C):
        outer, inner = s[tensor].split(tensor.op.axis[0], factor=32)
        for axis, index in zip((outer, inner), threads("blockIdx.x", "threadIdx.x"), strict=True):
            s[tensor].bind(axis, index)
    return s, [A, C]


def test_stages_at_root_are_kernels_that_a_call_launches_in_order():
    built = te.build(*two_kernels(), "sim:h100")
    assert isinstance(built, te.Launches) and [buffer.name for buffer in built.temporaries] == ["B"]
    a, c = random(64), np.zeros(64, np.float32)
    built(a, c)
    np.testing.assert_array_equal(c, (a + 1) * a[::-1])
    assert built.source("lowered").count("Tx.launch(") == 2


@pytest.mark.compiler
def test_kernels_compile_to_cuda():
    built = te.build(*two_kernels(), "cuda:sm_90a")
    assert "main_0_kernel" in built.source() and "main_1_kernel" in built.source()
    assert "FFMA" in built.source("sass") or "FMUL" in built.source("sass")


def test_the_target_of_the_block_is_the_default_and_without_one_it_is_the_cpu():
    mm = matmul()
    assert type(te.build(te.create_schedule(mm.C.op), mm.args)).__name__ == "CpuExecutable"
    with tvm.Target("sim"):
        assert isinstance(te.build(*two_kernels()), te.Launches)


def test_programs_for_tvm_build_and_time_schedules():
    with compat.imports():
        import tvm as there
        from tvm import te as expressions

        A = expressions.placeholder((256,), name="A")
        B = expressions.compute((256,), lambda i: there.tir.exp(A[i]) + 1, name="B")
        s = expressions.create_schedule(B.op)
        assert "for i in range(256)" in str(there.lower(s, [A, B], simple_mode=True))
        host = there.build(s, [A, B], target="llvm -mcpu=native")
        a = there.nd.array(random(256))
        b = there.nd.array(np.zeros(256, np.float32))
        host(a, b)
        np.testing.assert_allclose(b.numpy(), np.exp(a.numpy()) + 1, rtol=1e-6)
        assert host.time_evaluator("main", there.cpu(0), number=3)(a, b).mean > 0
        assert "define void @main" in host.get_source()
        kernels, args = two_kernels()
        there.build(kernels, args, "cuda")(a.array[:64], b.array[:64])


def test_a_cpu_refuses_what_is_bound_to_a_grid():
    with pytest.raises(TirxError, match=r"the loop over i\.outer is bound to blockIdx\.x, which a CPU does not have"):
        te.build(*two_kernels(), "llvm")
