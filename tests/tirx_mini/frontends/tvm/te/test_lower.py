"""What schedules become: the loops of `te.lower`."""

from __future__ import annotations

import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError

from .examples import lines, matmul


def test_the_default_schedule_is_the_plain_loops_with_the_initialisation_of_the_reduction():
    W, x = te.placeholder((24, 40), name="W"), te.placeholder((40,), name="x")
    d = te.reduce_axis((0, 40), name="d")
    y = te.compute((24,), lambda r: te.max(W[r, d] - x[d], axis=d), name="y")
    module = te.lower(te.create_schedule(y.op), [W, x, y], simple_mode=True)
    assert lines(module) == [
        "for r in range(24):",
        "    y[r] = T.float32(\"-inf\")",
        "    for d in range(40):",
        "        y[r] = T.max(y[r], W[r, d] - x[d])",
    ]
    assert str(module).startswith("# from tvm.script import tir as T\n@T.prim_func\ndef main(")


def two_stages():
    image = te.placeholder((16, 9), name="image")
    slope = te.compute((16, 8), lambda y, x: image[y, x + 1] - image[y, x], name="slope")
    energy = te.compute((16, 8), lambda y, x: slope[y, x] * slope[y, x], name="energy")
    return image, slope, energy


def test_a_stage_at_root_is_stored_in_full_and_one_at_a_loop_as_what_an_iteration_needs():
    image, slope, energy = two_stages()
    s = te.create_schedule(energy.op)
    assert lines(te.lower(s, [image, energy])) == [
        'slope = T.alloc_buffer((16, 8), "float32", scope="global")',
        "for y in range(16):",
        "    for x in range(8):",
        "        slope[y, x] = image[y, x + 1] - image[y, x]",
        "for y in range(16):",
        "    for x in range(8):",
        "        energy[y, x] = slope[y, x] * slope[y, x]",
    ]
    s[slope].compute_at(s[energy], energy.op.axis[1])
    assert lines(te.lower(s, [image, energy])) == [
        "for y in range(16):",
        "    for x in range(8):",
        '        slope = T.alloc_buffer((1,), "float32", scope="global")',
        "        slope[0] = image[y, x + 1] - image[y, x]",
        "        energy[y, x] = slope[0] * slope[0]",
    ]
    s[slope].compute_at(s[energy], energy.op.axis[0])
    assert lines(te.lower(s, [image, energy]))[1] == '    slope = T.alloc_buffer((8,), "float32", scope="global")'
    s[slope].compute_root()
    assert lines(te.lower(s, [image, energy]))[0] == 'slope = T.alloc_buffer((16, 8), "float32", scope="global")'


def test_an_inlined_stage_is_not_stored():
    image, slope, energy = two_stages()
    s = te.create_schedule(energy.op)
    s[slope].compute_inline()
    difference = "(image[y, x + 1] - image[y, x])"
    assert lines(te.lower(s, [image, energy]))[-1] == f"        energy[y, x] = {difference} * {difference}"


def test_a_vectorised_loop_is_a_slice_and_a_parallel_one_says_so():
    image, mean = te.placeholder((96, 320), name="image"), te.placeholder((320,), name="mean")
    centred = te.compute(image.shape, lambda y, x: (image[y, x] - mean[x]) * 0.5, name="centred")
    s = te.create_schedule(centred.op)
    y, x = centred.op.axis
    yo, yi = s[centred].split(y, factor=12)
    xo, xi = s[centred].split(x, factor=16)
    s[centred].reorder(xo, yo, yi, xi)
    s[centred].vectorize(xi)
    s[centred].parallel(xo)
    row, columns = "y_outer * 12 + y_inner", "x_outer * 16:x_outer * 16 + 16"
    value = f"(image[{row}, {columns}] - mean[{columns}]) * T.Broadcast(T.float32(0.5), 16)"
    assert lines(te.lower(s, [image, mean, centred], simple_mode=True)) == [
        "for x_outer in T.parallel(20):",
        "    for y_outer in range(8):",
        "        for y_inner in range(12):",
        f"            centred[{row}, {columns}] = {value}",
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
    image, slope, _ = two_stages()
    s = te.create_schedule(slope.op)
    s[slope].fuse(*slope.op.axis)
    at = "y_x_fused // 8"
    assert lines(te.lower(s, [image, slope])) == [
        "for y_x_fused in range(128):",
        f"    slope[{at}, y_x_fused % 8] = image[{at}, y_x_fused % 8 + 1] - image[{at}, y_x_fused % 8]",
    ]
    s = te.create_schedule(slope.op)
    s[slope].unroll(s[slope].tile(*slope.op.axis, 4, 4)[3])
    assert [line.strip() for line in lines(te.lower(s, [image, slope]))][:4] == [
        "for y_outer in range(4):",
        "for x_outer in range(2):",
        "for y_inner in range(4):",
        "for x_inner in T.unroll(4):",
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
    P, Q = te.placeholder((64, 48), name="P"), te.placeholder((40, 48), name="Q")
    d = te.reduce_axis((0, 48), name="d")
    dot = te.compute((64, 40), lambda p, q: te.sum(P[p, d] * Q[q, d], axis=d), name="dot")
    s = te.create_schedule(dot.op)
    points = s.cache_read(P, "shared", [dot])
    own = s.cache_write(dot, "local")
    group, lane = s[dot].split(dot.op.axis[0], factor=32)
    s[dot].bind(group, te.thread_axis("blockIdx.x"))
    s[dot].bind(lane, te.thread_axis("threadIdx.x"))
    s[points].compute_at(s[dot], group)
    s[own].compute_at(s[dot], lane)
    s[points].storage_align(points.op.axis[0], factor=16, offset=1)
    assert lines(te.lower(s, [P, Q, dot])) == [
        'for p_outer in T.thread_binding(2, thread="blockIdx.x"):',
        '    P_shared = T.alloc_buffer((32, 48), "float32", strides=(49, 1), scope="shared")',
        "    for ax0 in range(32):",
        "        for ax1 in range(48):",
        "            P_shared[ax0, ax1] = P[p_outer * 32 + ax0, ax1]",
        '    for p_inner in T.thread_binding(32, thread="threadIdx.x"):',
        '        dot_local = T.alloc_buffer((40,), "float32", scope="local")',
        "        for q_c in range(40):",
        "            dot_local[q_c] = T.float32(0)",
        "            for d in range(48):",
        "                dot_local[q_c] = dot_local[q_c] + P_shared[p_inner, d] * Q[q_c, d]",
        "        for q in range(40):",
        "            dot[p_outer * 32 + p_inner, q] = dot_local[q]",
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
