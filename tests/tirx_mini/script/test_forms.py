"""Instructions in TVM's forms: each is one of the table, or statements that do the same."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.script.reading import goes_round
from tirx_mini.ir import PrimFunc, TirxError, structural_equal
from tirx_mini.script import from_source

pytestmark = pytest.mark.compiler
WGMMA = "M=64, N=16, K=16, in_dtype='float16', out_dtype='float32', scaleA=1, scaleB=1, scaleD=True"


def kernel(*lines: str) -> PrimFunc:
    """A kernel of one warpgroup with these statements."""
    body = "\n".join(f"    {line}" for line in lines)
    return from_source(f"""
@T.prim_func
def kernel(A: T.Buffer((256,), "float32"), U: T.Buffer((128,), "uint32"), P: T.Buffer((64,), "uint64")):
    T.device_entry()
    bx = T.cta_id([2])
    tx = T.thread_id([128])
    d = T.alloc_local((8,), "float32")
    a = T.alloc_local((4,), "uint32")
    box = T.alloc_shared((128,), "float32")
    halves = T.alloc_shared((1024,), "float16")
    x: T.uint32 = 0
{body}
""")


D, FRAGMENT = "*[d[i] for i in range(8)]", "*[a[i] for i in range(4)]"
SS = "T.ptx.wgmma.mma_async.ss(T.uint64(1), T.uint64(2), "

SAME: dict[str, str] = {
    f"{SS}{D}, transA=False, transB=True, {WGMMA})":
        "T.ptx.wgmma.mma_async(d.ptr_to([0]), T.uint64(1), T.uint64(2), True, n=16, transpose_b=True)",
    f"T.ptx.wgmma.mma_async.rs(T.uint64(2), {D}, {FRAGMENT}, transB=False, {WGMMA})":
        "T.ptx.wgmma.mma_async.rs(d.ptr_to([0]), a.ptr_to([0]), T.uint64(2), True, n=16)",
    "T.cuda.runtime_instr_desc(T.address_of(x), tx)":
        "x = (x & T.uint32(0x9FFFFFCF)) | ((T.uint32(tx) << 29) | (T.uint32(tx) << 4))",
    "T.ptx.ldg32(d.data, tx < 3, A.ptr_to([tx]), 2)": "d[2] = T.if_then_else(tx < 3, A[tx], T.float32(0))",
    "T.ptx.wgmma.noop_barrier(d[3])": "pass",
    "T.ptx.cp_async.legacy('float32', box.data, tx, A.data, tx * 2, 4)":
        "T.ptx.cp_async(box.ptr_to([tx]), A.ptr_to([tx * 2]), 4)",
    "T.ptx.ldmatrix_legacy(False, 4, '.b16', a.data, 0, halves.data, tx * 8)":
        "T.ptx.ldmatrix(a.ptr_to([0]), halves.ptr_to([tx * 8]), num=4)",
    "T.ptx.mma.legacy('m16n8k16', 'row', 'col', 'fp16', 'fp16', 'fp32', a.data, 0, a.data, 2, d.data, 4, False)":
        "T.ptx.mma(d.ptr_to([4]), a.ptr_to([0]), a.ptr_to([2]), d.ptr_to([4]))",
    "T.cuda.mma_fill('float32', 2, d.data, 4)": "d[4] = T.float32(0); d[5] = T.float32(0)",
    "T.cuda.iket.range_push('a'); T.cuda.iket.mark('b'); T.cuda.iket.range_pop()": "pass",
    "token = T.cuda.iket.range_start('a'); T.cuda.iket.range_end(token)": "token = T.cuda.iket.sentinel_token('a')",
}  # fmt: skip


@pytest.mark.parametrize("line", SAME)
def test_a_form_of_tvm_is_one_of_ours(line: str) -> None:
    assert structural_equal(kernel(line), kernel(SAME[line]))


def test_the_address_of_the_leader_is_in_the_even_cta() -> None:
    made = from_source("""
@T.prim_func
def kernel(O: T.Buffer((2, 2), "uint32")):
    T.device_entry()
    bx = T.cta_id([2])
    rank = T.cta_id_in_cluster([2])
    tx = T.thread_id([32])
    box = T.alloc_shared((4,), "uint32")
    if tx == 0:
        O[bx, 0] = T.cuda.sm100_2sm_leader_smem_addr(box.ptr_to([1]))
        O[bx, 1] = T.Cast("uint32", T.ptx.mapa(box.ptr_to([1]), 0))
""")
    out = np.zeros((2, 2), np.uint32)
    assert tvm.simulate(made, out, gpu="b200").ok
    assert (out[:, 0] == out[:, 1]).all() and len(set(out[:, 0].tolist())) == 1


def test_a_profile_has_events_with_times_and_tags() -> None:
    made = kernel(
        "tag = T.alloc_local((1,), 'uint64')", "place = T.alloc_local((1,), 'uint32')",
        "T.cuda.timer_init(P.data, tag.data, place.data, 2, tx // 64)",
        "T.cuda.timer_start(3, P.data, tag.data, place.data, 4, tx % 64 == 0)",
        "T.cuda.timer_end(3, P.data, tag.data, place.data, 4, tx % 64 == 0)",
        "T.cuda.timer_finalize(P.data, tag.data, place.data, 4, tx % 64 == 0)",
    )  # fmt: skip
    words = np.zeros(64, np.uint64)
    report = tvm.simulate(made, np.zeros(256, np.float32), np.zeros(128, np.uint32), words)
    assert report.verdict == "ok" and not report.findings
    assert words[0] == (2 << 32) + 2
    tags = (words & np.uint64(0xFFFFFFFF)).astype(int)
    times = (words >> np.uint64(32)).astype(int)
    for group in range(4):
        at = [1 + group, 5 + group, 9 + group]
        assert tags[at].tolist() == [(group << 12) + bits for bits in (12, 13, 3)]
        assert times[at[0]] <= times[at[1]] <= times[at[2]]
    goes_round(made)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{SS}d[0], d[1], transA=False, transB=False, {WGMMA})", "8 registers, but 2"),
        (f"{SS}*[d[7 - i] for i in range(8)], transA=0, transB=0, {WGMMA})", "of wgmma.mma_async must"),
        (f"{SS}{D}, transA=0, transB=0, {WGMMA})".replace("float16", "int8"), "'dtype' of wgmma.mma_async is 'int8'"),
        (f"{SS}{D}, transA=0, transB=0, {WGMMA})".replace("scaleA=1", "scaleA=-1"), "of wgmma.mma_async is -1"),
        ("T.ptx.mma.legacy('m16n8k16', 'row')", "mma.legacy takes 13 arguments, but 2 are given"),
        ("T.ptx.ldmatrix_legacy(False, 4, '.b8', a.data, 0, halves.data, 0)", "moves elements of 16 bits"),
        ("T.ptx.wgmma.noop_barrier(tx)", "must be a buffer or a pointer"),
    ],
)  # fmt: skip
def test_what_a_form_does_not_take(line: str, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        kernel(line)

