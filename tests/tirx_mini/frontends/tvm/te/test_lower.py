"""What schedules become: the loops of `te.lower`."""

from __future__ import annotations

import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError

from .examples import lines, matmul


def test_the_default_schedule_is_the_plain_loops_with_the_initialisation_of_the_reduction():
    mm = matmul(128, 128, 128)
    module = te.lower(te.create_schedule(mm.C.op), mm.args, simple_mode=True)
    assert lines(module) == [
        "for i in range(128):",
        "    for j in range(128):",
        "        C[i, j] = T.float32(0)",
        "        for k in range(128):",
        "            C[i, j] = C[i, j] + A[i, k] * B[k, j]",
    ]
    assert str(module).startswith("# from tvm.script import tir as T\n@T.prim_func\ndef main(")


def two_stages():
    A = te.placeholder((16, 8), name="A")
    B = te.compute((16, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((16, 8), lambda i, j: B[i, j] * 2, name="C")
    return A, B, C


def test_a_stage_at_root_is_stored_in_full_and_one_at_a_loop_as_what_an_iteration_needs():
    A, B, C = two_stages()
    s = te.create_schedule(C.op)
    assert lines(te.lower(s, [A, C])) == [
        'B = T.alloc_buffer((16, 8), "float32", scope="global")',
        "for i in range(16):",
        "    for j in range(8):",
        "        B[i, j] = A[i, j] + T.float32(1)",
        "for i in range(16):",
        "    for j in range(8):",
        "        C[i, j] = B[i, j] * T.float32(2)",
    ]
    s[B].compute_at(s[C], C.op.axis[1])
    assert lines(te.lower(s, [A, C])) == [
        "for i in range(16):",
        "    for j in range(8):",
        '        B = T.alloc_buffer((1,), "float32", scope="global")',
        "        B[0] = A[i, j] + T.float32(1)",
        "        C[i, j] = B[0] * T.float32(2)",
    ]
    s[B].compute_at(s[C], C.op.axis[0])
    assert lines(te.lower(s, [A, C]))[1] == '    B = T.alloc_buffer((8,), "float32", scope="global")'
    s[B].compute_root()
    assert lines(te.lower(s, [A, C]))[0] == 'B = T.alloc_buffer((16, 8), "float32", scope="global")'


def test_an_inlined_stage_is_not_stored():
    A, B, C = two_stages()
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    assert lines(te.lower(s, [A, C]))[-1] == "        C[i, j] = (A[i, j] + T.float32(1)) * T.float32(2)"


def test_a_vectorised_loop_is_a_slice_and_a_parallel_one_says_so():
    A = te.placeholder((256, 256), name="A")
    B = te.compute((256, 256), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    io, ii = s[B].split(B.op.axis[0], factor=32)
    jo, ji = s[B].split(B.op.axis[1], factor=8)
    s[B].reorder(io, jo, ii, ji)
    s[B].vectorize(ji)
    s[B].parallel(io)
    at = "i_outer * 32 + i_inner, j_outer * 8:j_outer * 8 + 8"
    assert lines(te.lower(s, [A, B], simple_mode=True)) == [
        "for i_outer in T.parallel(8):",
        "    for j_outer in range(32):",
        "        for i_inner in range(32):",
        f"            B[{at}] = A[{at}] * T.Broadcast(T.float32(2), 8)",
    ]


def test_a_factor_that_does_not_divide_guards_the_iterations_beyond_the_end():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i], name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=4)
    assert lines(te.lower(s, [A, B]))[2] == "        if i_outer * 4 + i_inner < 10:"
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], nparts=5)
    assert lines(te.lower(s, [A, B])) == [
        "for i_outer in range(5):",
        "    for i_inner in range(2):",
        "        B[i_outer * 2 + i_inner] = A[i_outer * 2 + i_inner]",
    ]


def test_loops_are_fused_and_tiled():
    A, B, C = two_stages()
    s = te.create_schedule(B.op)
    s[B].fuse(*B.op.axis)
    assert lines(te.lower(s, [A, B])) == [
        "for i_j_fused in range(128):",
        "    B[i_j_fused // 8, i_j_fused % 8] = A[i_j_fused // 8, i_j_fused % 8] + T.float32(1)",
    ]
    s = te.create_schedule(B.op)
    s[B].unroll(s[B].tile(*B.op.axis, 4, 4)[3])
    assert [line.strip() for line in lines(te.lower(s, [A, B]))][:4] == [
        "for i_outer in range(4):",
        "for j_outer in range(2):",
        "for i_inner in range(4):",
        "for j_inner in T.unroll(4):",
    ]


def test_the_initialisation_stands_before_the_outermost_loop_that_reduces():
    mm = matmul(8, 8, 8)
    s = te.create_schedule(mm.C.op)
    i, j = mm.C.op.axis
    s[mm.C].reorder(i, mm.k, j)
    assert lines(te.lower(s, mm.args)) == [
        "for i in range(8):",
        "    for j_init in range(8):",
        "        C[i, j_init] = T.float32(0)",
        "    for k in range(8):",
        "        for j in range(8):",
        "            C[i, j] = C[i, j] + A[i, k] * B[k, j]",
    ]


def test_caches_stage_the_operands_and_the_result_and_storage_align_pads_rows():
    mm = matmul(128, 128, 128)
    s = te.create_schedule(mm.C.op)
    AA = s.cache_read(mm.A, "shared", [mm.C])
    CC = s.cache_write(mm.C, "local")
    bx, tx = s[mm.C].split(mm.C.op.axis[0], factor=32)
    s[mm.C].bind(bx, te.thread_axis("blockIdx.x"))
    s[mm.C].bind(tx, te.thread_axis("threadIdx.x"))
    s[CC].compute_at(s[mm.C], tx)
    s[AA].compute_at(s[mm.C], bx)
    s[AA].storage_align(AA.op.axis[0], factor=32, offset=1)
    assert lines(te.lower(s, mm.args)) == [
        'for i_outer in T.thread_binding(4, thread="blockIdx.x"):',
        '    A_shared = T.alloc_buffer((32, 128), "float32", strides=(129, 1), scope="shared")',
        "    for ax0 in range(32):",
        "        for ax1 in range(128):",
        "            A_shared[ax0, ax1] = A[i_outer * 32 + ax0, ax1]",
        '    for i_inner in T.thread_binding(32, thread="threadIdx.x"):',
        '        C_local = T.alloc_buffer((128,), "float32", scope="local")',
        "        for j_c in range(128):",
        "            C_local[j_c] = T.float32(0)",
        "            for k in range(128):",
        "                C_local[j_c] = C_local[j_c] + A_shared[i_inner, k] * B[k, j_c]",
        "        for j in range(128):",
        "            C[i_outer * 32 + i_inner, j] = C_local[j]",
    ]


def test_a_stencil_computes_the_halo_that_an_iteration_needs():
    A = te.placeholder((34,), name="A")
    B = te.compute((34,), lambda i: A[i] * 3, name="B")
    C = te.compute((32,), lambda i: B[i] + B[i + 1] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=8)
    s[B].compute_at(s[C], outer)
    text = lines(te.lower(s, [A, C]))
    assert text[1] == '    B = T.alloc_buffer((10,), "float32", scope="global")'
    assert text[-1] == "        C[i_outer * 8 + i_inner] = B[i_inner] + B[i_inner + 1] + B[i_inner + 2]"


@pytest.mark.parametrize("missing", ["A", "C"])
def test_every_tensor_that_is_read_or_asked_for_is_an_argument(missing):
    mm = matmul()
    given = [tensor for tensor in mm.args if tensor.name != missing]
    with pytest.raises(TirxError, match=f"{missing} .*, but is not among the arguments"):
        te.lower(te.create_schedule(mm.C.op), given)
