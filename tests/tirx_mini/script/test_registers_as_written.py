"""Instructions as PTX spells them, whose registers are elements of arrays: their effects."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import TirxError
from tirx_mini.script import from_source

HEAD = """
@T.prim_func
def kernel(A: T.Buffer((64,), "uint32"), D: T.Buffer((32, 8), "uint32")):
    T.device_entry()
    T.cta_id([1])
    t = T.thread_id([32], dtype="uint32")
    bar = T.alloc_shared((1,), "uint64")
    flag = T.alloc_shared((1,), "uint32")
    w = T.alloc_local((8,), "uint32"); q = T.alloc_local((2,), "uint64"); f = T.alloc_local((4,), "float32")
    p = T.alloc_local((2,), "bool")
"""
A = np.arange(64, dtype=np.uint32) * 3 + 1


def run(*lines: str) -> np.ndarray:
    D = np.zeros((32, 8), np.uint32)
    kernel = from_source(HEAD + "\n".join(f"    {line}" for line in lines))
    report = tvm.simulate(kernel, A.copy(), D)
    assert report.ok, str(report)
    return D


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_a_vector_is_loaded_into_registers_wherever_they_are(order: tuple[int, ...]) -> None:
    registers = ", ".join(f"w[{place}]" for place in order)
    D = run(
        f'T.ptx["ld.global.v4.b32"]({registers}, A.ptr_to([4]))',
        "for k in T.serial(4):", "    D[t, k] = w[k]",
    )  # fmt: skip
    assert [D[5, place] for place in order] == [*A[4:8]]


def test_words_of_64_bits_are_loaded_and_stored() -> None:
    D = run(
        "T.ptx.ld.global_.v2.u64(q[1], q[0], A.ptr_to([4]))",
        'T.ptx["st.global.v2.b64"](D.ptr_to([t, 0]), q[0], q[1])',
    )
    assert [*D[7, :4]] == [A[6], A[7], A[4], A[5]]


def test_a_predicate_is_a_condition() -> None:
    D = run(
        "w[0] = 1", 'T.ptx["mov.b32"](w[0], T.uint32(7), pred=t < 3)',
        "T.ptx.st.global_.b32(D.ptr_to([t, 1]), w[0], pred=t != 4)", "D[t, 0] = w[0]",
    )  # fmt: skip
    assert [*D[:6, 0]] == [7, 7, 7, 1, 1, 1] and [*D[:6, 1]] == [7, 7, 7, 1, 0, 1]


def test_a_predicate_needs_the_register_of_the_result() -> None:
    with pytest.raises(TirxError, match="with a predicate needs the register of its result") as error:
        from_source(HEAD + '    w[0] = T.ptx["mov.b32"](w[1], pred=t < 3)\n')
    assert 'T.ptx["mov.b32"](register, …, pred=condition)' in (error.value.diagnostic.hint or "").replace("Tx.", "T.")


def test_bits_are_kept_where_a_register_has_another_type() -> None:
    D = run('T.ptx["mov.b32"](w[0], T.float32(1.0))', 'T.ptx["mov.b32"](f[0], w[0])', "D[t, 0] = w[0]",
            "D[t, 1] = T.uint32(f[0])")  # fmt: skip
    assert D[0, 0] == 0x3F800000 and D[0, 1] == 1


def test_a_conversion_has_its_register_first() -> None:
    D = run("f[0] = 1.5", "f[1] = -2.0", 'T.ptx["cvt.rn.f16x2.f32"](w[0], f[1], f[0])', "D[t, 0] = w[0]")
    assert D[0, 0] == int(np.array([1.5, -2.0], np.float16).view(np.uint32)[0])


def test_an_arrival_returns_the_state_that_a_wait_takes() -> None:
    D = run(
        "if t == 0:", "    T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]), 32)", "T.cuda.cta_sync()",
        "T.ptx.mbarrier.arrive.shared__cta.b64(q[0], bar.ptr_to([0]), T.uint32(1))",
        "p[0] = False",
        "while not p[0]:",
        '    T.ptx["mbarrier.try_wait.shared::cta.b64"](p[0], bar.ptr_to([0]), q[0])',
        "D[t, 0] = T.uint32(1)",
    )  # fmt: skip
    assert D[:, 0].all()


def test_special_registers_and_waits_for_a_value() -> None:
    D = run(
        "if t == 0:", "    flag[0] = 0", "T.cuda.cta_sync()",
        "if t == 3:", '    T.ptx["st.release.cta.shared::cta.u32"](flag.ptr_to([0]), T.uint32(9))',
        "T.cuda.warp_sync()",
        'T.cuda.wait_until(w[1], flag.ptr_to([0]), w[1] == 9, "cta", "shared::cta", "u32", 0)',
        'D[t, 0] = T.cuda.mov_sreg(32, "%laneid")', "D[t, 1] = w[1]",
        "D[t, 2] = T.if_then_else(T.any(t == 1, t == 2), T.uint32(1), T.uint32(0))",
    )  # fmt: skip
    assert [*D[:, 0]] == [*range(32)] and (D[:, 1] == 9).all() and [*D[:4, 2]] == [0, 1, 1, 0]


def test_an_unknown_special_register_is_refused() -> None:
    with pytest.raises(TirxError, match='laneix') as error:
        from_source(HEAD + '    w[0] = T.cuda.mov_sreg(32, "%laneix")\n')
    assert "laneid" in (error.value.diagnostic.hint or "")


def test_loops_and_indices_have_a_type() -> None:
    D = run("for k in T.serial(4, dtype='int64'):", "    D[t, k] = T.uint32(k)",
            "for i, j in T.grid(2, 2, dtype='uint32'):", "    D[t, 4 + 2 * i + j] = i * 10 + j")  # fmt: skip
    assert [*D[9]] == [0, 1, 2, 3, 0, 1, 10, 11]


def test_constants_of_let_are_seen_through() -> None:
    kernel = from_source("""
@T.prim_func
def kernel(D: T.Buffer((64,), "int32")):
    most: T.let = 148
    count: T.let = T.min(most, 2)
    T.device_entry()
    b = T.cta_id([count])
    t = T.thread_id([32])
    r = T.alloc_local((count,), "int32")
    for k in T.unroll(count):
        r[k] = b + k
    D[b * 32 + t] = r[1]
""")
    D = np.zeros(64, np.int32)
    assert tvm.simulate(kernel, D).ok and [*D[::32]] == [1, 2]
