"""Descriptors by their fields, and operands of MMAs in tensor memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import error_in, printed
from tirx_mini import lang
from tirx_mini.isa import SmemDescriptor as Fields
from tirx_mini.lang import SmemDescriptor, TCGen05Bar, TMEMPool
from tirx_mini.layout import LayoutError, tmem_mma_operand_layout
from tirx_mini.script import tirx as T

NAMES = {name: getattr(lang, name) for name in lang.__all__}


@T.prim_func
def by_hand(A: T.Buffer((128, 64), "float16"), B: T.Buffer((128, 64), "float16"), D: T.Buffer((128, 128), "float32"),
            W: T.Buffer((4,), "uint64")):  # fmt: skip
    """A product whose MMAs, descriptors and all, are written by hand."""
    T.device_entry()
    T.cta_id([1])
    T.warpgroup_id([1])
    warp = T.warp_id_in_wg([4])
    lane = T.lane_id([32])
    pool = T.SMEMPool()
    tmem = TMEMPool(pool, 128)
    a = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    b = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    done = TCGen05Bar(pool, 1)
    pool.commit()
    tmem.commit()
    done.init(1)
    T.ptx.fence.mbarrier_init()
    T.cta.copy(a[:, :], A[:, :])
    T.cta.copy(b[:, :], B[:, :])
    T.cuda.cta_sync()
    T.ptx.tcgen05.fence.after_thread_sync()
    acc = tmem.alloc_tcgen05_mma_D((128, 128), M=128, cta_group=1)
    a_desc = SmemDescriptor()
    b_desc = SmemDescriptor()
    a_desc.init(a.ptr_to([0, 0]), 1, 64, 3)
    b_desc.init(b.ptr_to([0, 0]), 1, 64, 3)
    b_desc.make_lo_uniform()
    other = T.alloc_local((1,), "uint64")
    T.ptx.wgmma.encode_matrix_descriptor(T.address_of(other[0]), a.ptr_to([0, 0]), 1, 64, 2)
    shape = T.alloc_local((2,), "uint32")
    T.ptx.tcgen05.encode_instr_descriptor(
        T.address_of(shape[0]), d_dtype="float32", a_dtype="float16", b_dtype="float16", M=128, N=128, K=16,
        trans_a=False, trans_b=False,
    )  # fmt: skip
    T.ptx.tcgen05.encode_instr_descriptor_block_scaled(
        T.address_of(shape[1]), d_dtype="float32", a_dtype="float8_e4m3fn", b_dtype="float8_e5m2",
        sfa_dtype="float8_e8m0fnu", sfb_dtype="float8_e8m0fnu", sfa_tmem_addr=0, sfb_tmem_addr=0, M=128, N=64, K=32,
        trans_a=False, trans_b=False,
    )  # fmt: skip
    if warp == 0:
        if lane == 0:
            W[0] = a_desc.desc
            W[1] = other[0]
            W[2] = T.cast(shape[0], "uint64")
            W[3] = T.cast(shape[1], "uint64")
        if T.ptx.elect_sync():
            for step in T.unroll(4):
                next_a = a_desc.add_16B_offset(2 * step)
                next_b = b_desc.add_16B_offset(2 * step)
                T.ptx.tcgen05.mma(tmem.addr, next_a, next_b, shape[0], step != 0)
            done.arrive(0)
    done.wait(0, 0)
    T.ptx.tcgen05.fence.after_thread_sync()
    registers = T.wg_reg_tile(128, "float32")
    T.wg.copy(registers[:, :], acc[:, :])
    T.wg.copy(D[:, :], registers[:, :])
    T.cuda.cta_sync()
    tmem.dealloc()


def test_descriptors_by_hand_are_those_of_the_tile() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((128, 64)).astype(np.float16) for _ in range(2))
    d, words = np.zeros((128, 128), np.float32), np.zeros(4, np.uint64)
    report = tirx_mini.simulate(by_hand, a, b, d, words)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_allclose(d, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-3, atol=1e-3)
    blackwell, hopper, shape, scaled = map(int, words)
    start = (blackwell & 0x3FFF) << 4
    assert blackwell == Fields(start, 16, 1024, 128).encode("tcgen05")
    assert hopper == Fields(start, 16, 1024, 64).encode("wgmma")
    assert shape == 0x08200010
    assert scaled == 8 << 24 | 8 << 17 | 1 << 23 | 1 << 10  # M 128, N 64, E8M0 factors, B of E5M2


@pytest.mark.compiler
def test_they_compile() -> None:
    assert tirx_mini.compile(by_hand, target="cuda:sm_100a").source("ptx").count("tcgen05.mma.cta_group::1") == 4


POOL = "shared = SMEMPool()\n"
FIELDS = 'd_dtype="float32", a_dtype="float16", b_dtype="float16", M=128, trans_a=False, trans_b=False'
WORD = "w = Tx.alloc_local((1,), 'uint32')\nTx.ptx.tcgen05.encode_instr_descriptor(w.ptr_to([0]), "
MISTAKES = {
    "d = SmemDescriptor()\nd.init(Asmem.ptr_to([0, 0]), 1, 64, 7)": "is 0, 1, 2 or 3, known at compile time, not 7",
    f"{WORD}{FIELDS}, N=12, K=16)": ("N is 8; with M = 128 it must be a multiple of 16"),
    f"{WORD}{FIELDS}, N=16, K=32)": ("no MMA multiplies float16 by float16 with K = 32"),
    f"Tx.ptx.tcgen05.encode_instr_descriptor(bar.ptr_to([0]), {FIELDS}, N=16, K=16)": "stores its result in registers",
    f"{POOL}t = TMEMPool(shared)\nshared.commit()\na = t.alloc_tcgen05_mma_D((64, 8), M=32, cta_group=1)": (
        "no dense tcgen05.mma has an operand D with M 32"
    ),
}


@pytest.mark.parametrize("body", MISTAKES)
def test_fields_that_no_instruction_has_are_refused(body: str) -> None:
    assert MISTAKES[body] in str(error_in(body, **NAMES))


def test_operands_take_columns_one_after_the_other() -> None:
    body = f"{POOL}t = TMEMPool(shared, 256)\nshared.commit()\n"
    uses = (
        "d = t.alloc_tcgen05_mma_D((64, 128), M=128, cta_group=2)\n"
        "a = t.alloc_tcgen05_mma_A((2, 64, 64), 'bfloat16', M=128, cta_group=2)\n"
        "e = t.alloc_tcgen05_mma_C((128, 32), M=128, cta_group=1)"
    )
    text = printed(body + uses, **NAMES)
    assert "[0] + 64," in text and "[0] + 96," in text, text


LAYOUTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("D", (128, 64)), {"M": 128, "cta_group": 1}),
    (("D", (128, 64)), {"M": 256, "cta_group": 2}),
    (("D", (64, 64)), {"M": 128, "cta_group": 2}),
    (("D", (2, 64, 32)), {"M": 128, "cta_group": 2}),
    (("D", (64, 2, 32)), {"M": 128, "cta_group": 2}),
    (("D", (64, 2, 2, 16)), {"M": 64, "cta_group": 1, "ws": True}),
    (("D", (64, 64)), {"M": 64, "cta_group": 1, "ws": True, "group": (2, 2, 16)}),
    (("D", (64, 64)), {"M": 64, "cta_group": 1}),
    (("A", (128, 64)), {"M": 128, "cta_group": 1}),
    (("A", (64, 64)), {"M": 128, "cta_group": 2}),
    (("A", (2, 64, 64)), {"M": 128, "cta_group": 2}),
    (("A", (64, 64)), {"M": 64, "cta_group": 1}),
]


def places(layout: Any, shape: tuple[int, ...]) -> list[dict[str, int]]:
    """Where some elements are."""
    found = []
    for number in (0, 1, 37, 1000, 2047):
        coords = np.unravel_index(number, shape)
        place = layout.apply(*map(int, coords))
        found.append({str(axis): int(value) for axis, value in place.items() if int(value)})
    return found


WANTED: list[list[dict[str, int]]] = [
    [{}, {"TCol": 1}, {"TCol": 37}, {"TCol": 40, "TLane": 15}, {"TCol": 63, "TLane": 31}],
    [{}, {"TCol": 1}, {"TCol": 37}, {"TCol": 40, "TLane": 15}, {"TCol": 63, "TLane": 31}],
    [{}, {"TCol": 1}, {"TCol": 5, "TLane": 64}, {"TCol": 8, "TLane": 79}, {"TCol": 31, "TLane": 95}],
    [{}, {"TCol": 1}, {"TCol": 5, "TLane": 1}, {"TCol": 8, "TLane": 31}, {"TCol": 31, "TLane": 63}],
    [{}, {"TCol": 1}, {"TCol": 5, "TLane": 64}, {"TCol": 8, "TLane": 79}, {"TCol": 31, "TLane": 95}],
    [{}, {"TCol": 1}, {"TCol": 21}, {"TCol": 24, "TLane": 15}, {"TCol": 31, "TLane": 95}],
    [{}, {"TCol": 1}, {"TCol": 21}, {"TCol": 24, "TLane": 15}, {"TCol": 31, "TLane": 95}],
    [{}, {"TCol": 1}, {"TCol": 37}, {"TCol": 40, "TLane": 15}, {"TCol": 63, "TLane": 47}],
    [{}, {"TCol": 1}, {"TCol": 37}, {"TCol": 40, "TLane": 15}, {"TCol": 63, "TLane": 31}],
    [{}, {"TCol": 1}, {"TCol": 37}, {"TCol": 40, "TLane": 15}, {"TCol": 63, "TLane": 31}],
    [{}, {"TCol": 1}, {"TCol": 37}, {"TCol": 40, "TLane": 15}, {"TCol": 63, "TLane": 31}],
    [{}, {"TCol": 1}, {"TCol": 37}, {"TCol": 40, "TLane": 15}, {"TCol": 63, "TLane": 31}],
]
"""What TVM 0.26 gives for them."""


@pytest.mark.parametrize(("case", "wanted"), list(zip(LAYOUTS, WANTED, strict=True)))
def test_where_operands_are(case: Any, wanted: Any) -> None:
    (operand, shape), options = case
    assert places(tmem_mma_operand_layout(operand, shape, "float32", **options), shape) == wanted


def test_an_operand_that_no_instruction_has_is_refused() -> None:
    with pytest.raises(LayoutError, match=r"no dense tcgen05\.mma has an operand A with M 96"):
        tmem_mma_operand_layout("A", (96, 64), "float32", M=96, cta_group=1)
    with pytest.raises(LayoutError, match="an operand A of data path E with 64 rows has no shape"):
        tmem_mma_operand_layout("A", (64, 64), "float32", M=64, cta_group=1, ws=True)
