"""Tensor maps that a kernel builds in memory, and the copies that use them; tables of pointers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run
from tirx_mini.diagnose import Report

BUILD = """
.shared .align 128 .b8 m[128]; .shared .align 1024 .b8 tile[4096]; .shared .align 8 .b8 bar[8];
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [scratch]; ld.param.u64 %d2, [out];
mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, m; add.u32 %r3, %r2, %r1; mov.u32 %r4, 0;
st.shared.b32 [%r3], %r4;
bar.warp.sync -1;
setp.ne.b32 %p1, %r0, 0;
cvt.u64.u32 %d5, %r2;
@%p1 bra BUILT;
add.s64 %d6, %d0, 128;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%d5], %d6;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [%d5], 0x1;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%d5], 0x0, 32;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%d5], 0x1, 32;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%d5], 0x0, 64;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%d5], 0x1, 40;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%d5], 0x0, 256;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%d5], 0x0, 1;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%d5], 0x1, 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%d5], 0x7;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%d5], 0x0;
mov.u32 %r5, bar;
mbarrier.init.shared::cta.b64 [%r5], 1;
fence.mbarrier_init.release.cluster;
BUILT:
bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%d5], 0x80;
fence.proxy.tensormap::generic.acquire.gpu [%d1], 0x80;
bar.sync 0;
mov.u32 %r5, bar; mov.u32 %r6, tile;
@%p1 bra LOADED;
"""
LOAD = """
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 4096;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r6], [%d1, {0, 8}], [%r5];
LOADED:
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;
@!%p2 bra WAIT;
add.u32 %r7, %r6, %r1; cvt.u64.u32 %d7, %r1; add.s64 %d8, %d2, %d7;
mov.u32 %r8, 0;
ROW:
ld.shared.b32 %r9, [%r7]; st.global.b32 [%d8], %r9;
add.u32 %r7, %r7, 128; add.s64 %d8, %d8, 128; add.u32 %r8, %r8, 1;
setp.lt.u32 %p3, %r8, 32;
@%p3 bra ROW;
"""
STORE = """
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {32, 0}], [%r6];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
LOADED:
"""


def launched(text: str, a: np.ndarray) -> tuple[Report, np.ndarray]:
    scratch, out = np.zeros(128, np.uint8), np.zeros((32, 32), np.float32)
    return run(entry("a scratch out", text), a, scratch, out), out


def test_a_load_uses_the_map_that_the_kernel_built() -> None:
    a = np.arange(41 * 64, dtype=np.float32).reshape(41, 64)
    report, out = launched(BUILD + LOAD, a)
    assert report.verdict == "ok" and not report.findings
    matrix = a.reshape(-1)[32:][: 40 * 64].reshape(40, 64)  # from byte 128 on
    np.testing.assert_array_equal(out, matrix[8:40, :32])


def test_elements_outside_the_tensor_are_zero() -> None:
    a = np.ones((41, 64), np.float32)
    report, out = launched(BUILD + LOAD.replace("{0, 8}", "{48, 16}"), a)
    assert report.verdict == "ok" and out[:24, :16].all() and not out[24:].any() and not out[:, 16:].any()


def test_a_store_uses_it() -> None:
    fill = (
        "add.u32 %r7, %r6, %r1; mov.u32 %r8, 7;\n"
        + "".join(f"st.shared.b32 [%r7+{128 * row}], %r8;" for row in range(32))
        + "\nfence.proxy.async.shared::cta; bar.sync 0;\n@%p1 bra LOADED;\n"
    )
    a = np.zeros((41, 64), np.float32)
    report, _ = launched(BUILD.replace("@%p1 bra LOADED;", fill) + STORE, a)
    assert report.verdict == "ok", report
    matrix = a.reshape(-1)[32:][: 40 * 64].reshape(40, 64).view(np.uint32)
    assert (matrix[:32, 32:] == 7).all() and matrix.sum() == 7 * 32 * 32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("swizzle_mode.shared::cta.b1024.b32 [%d5], 0x0", "swizzle_mode.shared::cta.b1024.b32 [%d5], 0x9",
         "there is no tensor map in scratch at byte 0"),
        ("add.s64 %d6, %d0, 128", "mov.b64 %d6, 4096", "describes no argument: its address is 0x1000"),
        ("global_stride.shared::cta.b1024.b64 [%d5], 0x0, 256", "global_stride.shared::cta.b1024.b64 [%d5], 0x0, 12",
         "has strides of (12,) bytes"),
    ],
)  # fmt: skip
def test_a_map_that_is_invalid_is_a_fault_of_the_copy(old: str, new: str, message: str) -> None:
    report, _ = launched(BUILD.replace(old, new) + LOAD, np.zeros((41, 64), np.float32))
    assert report.verdict == "fault" and message in report.findings[0].message


def test_a_copy_that_no_synchronisation_orders_after_the_map_is_a_race() -> None:
    text = (BUILD + LOAD).replace("bar.sync 0;", "")
    text = text.replace("mov.u32 %r0, %tid.x", "mov.u32 %r20, %tid.x; and.b32 %r0, %r20, 31")
    text = text.replace("@%p1 bra LOADED", "setp.ne.u32 %p1, %r20, 32;\n@%p1 bra LOADED")
    text = text.replace("tensormap.cp", "setp.gt.u32 %p4, %r20, 31;\n@%p4 bra BOTH;\ntensormap.cp").replace(
        "mov.u32 %r5, bar; mov.u32 %r6", "BOTH:\nmov.u32 %r5, bar; mov.u32 %r6"
    )
    scratch, out = np.zeros(128, np.uint8), np.zeros((32, 32), np.float32)
    report = run(entry("a scratch out", text), np.zeros((41, 64), np.float32), scratch, out, block=(64,))
    assert "TX201" in {each.code for each in report.findings} and "scratch" in str(report)


def test_a_table_of_pointers_reaches_its_arrays() -> None:
    body = """
    ld.param.u64 %d0, [table]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 8; add.s64 %d0, %d0, %d1;
    ld.global.u64 %d2, [%d0]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.s64 %d2, %d2, %d3;
    ld.global.f32 %f0, [%d2]; add.rn.f32 %f0, %f0, 0f3F800000; st.global.f32 [%d2], %f0;
    """
    first, second = np.zeros(32, np.float32), np.full(32, 5, np.float32)
    report = run(entry("table", body), [first, second], grid=(2,))
    assert report.verdict == "ok" and (first == 1).all() and (second == 6).all()


_ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%d1], 0x80;\n"
_COPY = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%d5], 0x80;"
_BY_THREADS = """mul.wide.u32 %d9, %r0, 4; add.s64 %d10, %d1, %d9;
ld.shared.b32 %r10, [%r3]; st.global.b32 [%d10], %r10;
bar.warp.sync -1;"""
_RELEASE = "fence.proxy.tensormap::generic.release.gpu; bar.warp.sync -1;"


@pytest.mark.parametrize(
    ("copy", "acquire", "missing"),
    [
        (_COPY, "", "acquires"),
        (_COPY, _ACQUIRE.replace("[%d1]", "[%d0]"), "acquires"),
        (_BY_THREADS + _RELEASE, _ACQUIRE, ""),
        (_BY_THREADS, _ACQUIRE, "releases"),
    ],
)
def test_a_map_without_the_fences_of_its_proxy_is_found(copy: str, acquire: str, missing: str) -> None:
    a = np.arange(41 * 64, dtype=np.float32).reshape(41, 64)
    report, _ = launched(BUILD.replace(_ACQUIRE, acquire).replace(_COPY, copy) + LOAD, a)
    assert [each.code for each in report.errors] == (["TX202"] if missing else []), report
    if missing:
        assert f"no fence.proxy.tensormap {missing} the change" in report.errors[0].message
        assert report.verdict == "hazard"


def test_a_map_that_is_changed_again_is_acquired_again() -> None:
    again = BUILD[BUILD.index("bar.warp.sync -1;\ntensormap.cp") :].replace("@%p1 bra LOADED;\n", "")
    change = "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%d5], 0x1, 24;\n"
    twice = BUILD.replace("@%p1 bra LOADED;\n", "") + f"@%p1 bra SAME;\n{change}SAME:\n" + again
    for text, codes in ((twice, []), (twice[::-1].replace(_ACQUIRE[::-1], "", 1)[::-1], ["TX202"])):
        report, _ = launched(text + "@%p1 bra LOADED;\n" + LOAD, np.ones((41, 64), np.float32))
        assert [each.code for each in report.errors] == codes, report
