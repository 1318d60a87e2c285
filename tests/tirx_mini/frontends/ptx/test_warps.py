"""Instructions of the lanes of a warp, barriers, and special registers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run
from tirx_mini import read_cuda

READ = """mov.u32 %r0, %tid.x; mul.wide.u32 %d9, %r0, 4;
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; add.s64 %d2, %d0, %d9; add.s64 %d3, %d1, %d9;
ld.global.b32 %r1, [%d2];
"""
WRITE = "\nst.global.b32 [%d3], %r2;"


def of_lanes(body: str, data: np.ndarray, **options: object) -> np.ndarray:
    """The value of %r2 in each thread, where %r0 is its number and %r1 its element of the data."""
    out = np.zeros(len(data), np.uint32)
    report = run(entry("a b", READ + body + WRITE), data, out, block=(len(data),), **options)
    assert report.verdict == "ok", report
    return out


def shuffled(mode: str, values: np.ndarray, b: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """The ISA's formula for shfl.sync: values and predicates."""
    segment, clamp = c >> 8 & 31, c & 31
    found, holds = values.copy(), np.zeros(32, np.uint32)
    for lane in range(32):
        most = (lane & segment) | (clamp & ~segment)
        least = lane & segment
        source, inside = {
            "up": (lane - b, lane - b >= most), "down": (lane + b, lane + b <= most),
            "bfly": (lane ^ b, (lane ^ b) <= most), "idx": (least | (b & ~segment), (least | (b & ~segment)) <= most),
        }[mode]  # fmt: skip
        found[lane], holds[lane] = values[source if inside else lane], inside
    return found, holds


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles_follow_the_formula_of_the_isa(mode: str) -> None:
    data = np.random.default_rng(3).integers(0, 1 << 32, 32).astype(np.uint32)
    for b in (0, 1, 5, 16, 31):
        for c in (0 if mode == "up" else 31, (16 << 8) | (0 if mode == "up" else 31), (24 << 8) | 5):
            body = f"shfl.sync.{mode}.b32 %r2|%p1, %r1, {b}, {c}, -1; selp.b32 %r3, 1, 0, %p1; shl.b32 %r3, %r3, 4;"
            values, holds = shuffled(mode, data, b, c)
            np.testing.assert_array_equal(of_lanes(body + "add.s32 %r2, %r2, %r3;", data), values + (holds << 4))


def test_shuffles_within_a_mask_and_of_floats() -> None:
    data = np.arange(32, dtype=np.float32).view(np.uint32)
    body = """mov.b32 %f1, %r1; setp.lt.u32 %p1, %r0, 8; mov.u32 %r2, 0;
        @!%p1 bra skip;
        shfl.sync.down.b32 %f2, %f1, 4, 31, 255; mov.b32 %r2, %f2;
        skip:"""
    out = of_lanes(body, data)
    np.testing.assert_array_equal(out[:4].view(np.float32), [4, 5, 6, 7])
    assert not out[8:].any()


def test_votes_matches_and_sums() -> None:
    data = np.random.default_rng(4).integers(0, 4, 32).astype(np.uint32)
    ballot = sum(1 << i for i in range(32) if data[i] == 2)
    bodies: dict[str, Callable[[int], int]] = {
        "vote.sync.ballot.b32 %r2, %p1, -1;": lambda i: ballot,
        "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r2, 1, 0, %p2;": lambda i: int(ballot != 0),
        "vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r2, 1, 0, %p2;": lambda i: int(ballot == 0),
        "vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r2, 1, 0, %p2;": lambda i: int(ballot in (0, (1 << 32) - 1)),
        "match.any.sync.b32 %r2, %r1, -1;": lambda i: sum(1 << j for j in range(32) if data[j] == data[i]),
        "match.all.sync.b32 %r2|%p2, 5, -1; selp.u32 %r2, %r2, 0, %p2;": lambda i: (1 << 32) - 1,
        "match.all.sync.b32 _|%p2, %r1, -1; selp.u32 %r2, 1, 0, %p2;": lambda i: 0,
        "cvt.u64.u32 %d5, %r1; shl.b64 %d5, %d5, 33; match.any.sync.b64 %r2, %d5, -1;":
            lambda i: sum(1 << j for j in range(32) if data[j] == data[i]),
        "redux.sync.add.u32 %r2, %r1, -1;": lambda i: int(data.sum()),
        "redux.sync.max.s32 %r2, %r1, -1;": lambda i: int(data.max()),
        "redux.sync.xor.b32 %r2, %r1, -1;": lambda i: int(np.bitwise_xor.reduce(data)),
        "redux.sync.or.b32 %r2, %r1, -1;": lambda i: int(np.bitwise_or.reduce(data)),
        "activemask.b32 %r2;": lambda i: (1 << 32) - 1,
        "elect.sync %r3|%p2, -1; selp.u32 %r2, 1, 0, %p2; add.s32 %r2, %r2, %r3;": lambda i: int(i == 0),
    }  # fmt: skip
    for body, model in bodies.items():
        out = of_lanes("setp.eq.u32 %p1, %r1, 2;" + body, data)
        np.testing.assert_array_equal(out, [model(i) for i in range(32)], body)


def test_special_registers_of_a_block_of_three_dimensions() -> None:
    body = """mov.u32 %r10, %tid.x; mov.u32 %r11, %tid.y; mov.u32 %r12, %tid.z; mov.u32 %r13, %ntid.x;
        mov.u32 %r14, %ntid.y; mov.u32 %r15, %ctaid.y; mov.u32 %r16, %nctaid.x; mov.u32 %r17, %ctaid.x;
        mad.lo.u32 %r18, %r15, %r16, %r17;
        mad.lo.u32 %r19, %r12, %r14, %r11; mad.lo.u32 %r19, %r19, %r13, %r10; mad.lo.u32 %r0, %r18, 24, %r19;
        mov.u32 %r20, %laneid; mov.u32 %r21, %warpid; mov.u32 %r22, %lanemask_lt; popc.b32 %r22, %r22;
        sub.s32 %r20, %r20, %r22; shl.b32 %r21, %r21, 8; ld.param.u64 %d0, [a]; mul.wide.u32 %d1, %r0, 4;
        add.s64 %d0, %d0, %d1; add.s32 %r1, %r0, %r21; add.s32 %r1, %r1, %r20; st.global.u32 [%d0], %r1;"""
    out = np.zeros(6 * 24, np.int32)
    assert run(entry("a", body), out, grid=(3, 2), block=(2, 3, 4)).verdict == "ok"
    np.testing.assert_array_equal(out, np.arange(144))


def test_barriers_of_all_forms() -> None:
    body = """
        .shared .align 4 .b32 tile[64];
        mov.u32 %r5, tile; shl.b32 %r6, %r0, 2; add.s32 %r7, %r5, %r6; st.shared.b32 [%r7], %r1;
        barrier.sync.aligned 0;
        xor.b32 %r8, %r6, 128; add.s32 %r8, %r8, %r5; ld.shared.b32 %r2, [%r8];
        barrier.cta.sync.aligned.all 1; bar.sync 2, 64; barrier.sync 3, 64;
        setp.lt.u32 %p1, %r0, 32;
        @%p1 bar.arrive 4, 64;
        @!%p1 bar.sync 4, 64;
        and.b32 %r9, %r1, 1; setp.ne.u32 %p2, %r9, 0;
        bar.red.popc.u32 %r10, 0, %p2; bar.red.and.pred %p3, 0, %p2; barrier.red.or.pred %p4, 0, %p2;
        selp.u32 %r11, 1000, 0, %p3; selp.u32 %r12, 2000, 0, %p4;
        add.s32 %r2, %r2, %r10; add.s32 %r2, %r2, %r11; add.s32 %r2, %r2, %r12;"""
    data = np.arange(64, dtype=np.uint32) * 3
    np.testing.assert_array_equal(of_lanes(body, data), np.roll(data, 32) + 32 + 2000)


def test_a_barrier_that_some_lanes_skip_never_completes() -> None:
    text = entry("a b", READ + "setp.lt.u32 %p1, %r0, 16;\n@%p1 bar.sync 0;\nmov.u32 %r2, 0;" + WRITE)
    report = run(text, np.zeros(64, np.uint32), np.zeros(64, np.uint32), block=(64,))
    assert report.verdict == "deadlock" and report.findings[0].code == "TX102"
    assert report.findings[0].span is not None
    assert "bar.sync 0" in text.splitlines()[report.findings[0].span.line - 1]


def test_clusters_share_memory_and_synchronise() -> None:
    body = """
        .shared .align 4 .b32 cell;
        mov.u32 %r4, %cluster_ctarank; setp.eq.u32 %p1, %r0, 0; add.s32 %r5, %r4, 10;
        @%p1 st.shared.u32 [cell], %r5;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
        xor.b32 %r6, %r4, 1; mov.u32 %r7, cell; mapa.shared::cluster.u32 %r8, %r7, %r6;
        ld.shared::cluster.u32 %r2, [%r8];
        cvta.shared.u64 %d5, %d4; mov.u64 %d4, cell; cvta.shared.u64 %d5, %d4; mapa.u64 %d6, %d5, %r6;
        ld.u32 %r9, [%d6];
        add.s32 %r2, %r2, %r9; getctarank.u64 %r10, %d6; mad.lo.s32 %r2, %r10, 100, %r2;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mov.u32 %r11, %ctaid.x; mul.wide.u32 %d7, %r11, 128; add.s64 %d3, %d3, %d7;"""
    body = body.replace("cvta.shared.u64 %d5, %d4; mov.u64", "mov.u64")
    out = np.zeros(64, np.uint32)
    report = run(entry("a b", READ + body + WRITE), np.zeros(32, np.uint32), out, grid=(2,), cluster=(2,))
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(out, np.repeat([2 * 11 + 100, 2 * 10], 32))


def test_fences_order_a_flag_and_its_data() -> None:
    body = """mov.u32 %r4, %ctaid.x; setp.ne.u32 %p1, %r4, 0; @%p1 bra reader;
        st.global.u32 [%d1], 77; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%d0], 1; bra done;
        reader: ld.relaxed.gpu.global.u32 %r5, [%d0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra reader;
        fence.acq_rel.gpu; ld.global.u32 %r6, [%d1]; st.global.u32 [%d1+4], %r6;
        done:"""
    text = entry("a b", "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];" + body)
    out = np.zeros(2, np.uint32)
    assert run(text, np.zeros(1, np.uint32), out, grid=(2,), block=(1,)).verdict == "ok"
    assert out.tolist() == [77, 77]
    racy = text.replace("fence.acq_rel.gpu;", "membar.cta;")
    report = run(racy, np.zeros(1, np.uint32), np.zeros(2, np.uint32), grid=(2,), block=(1,))
    assert report.verdict == "hazard"


@pytest.mark.parametrize(
    ("words", "expected"),
    [("max", 7.0), ("min", -9.0), ("max.abs", 9.0), ("min.abs", 0.0), ("max.NaN", np.nan), ("max.abs.NaN", np.nan)],
)
def test_reductions_of_floats(words: str, expected: float) -> None:
    values = np.array([*range(-9, 8), *([0.0] * 14), np.nan], np.float32)
    text = entry("a b", f"{READ} redux.sync.{words}.f32 %r2, %r1, -1;{WRITE}").replace("sm_90a", "sm_100a")
    out = np.zeros(32, np.float32)
    assert run(text, values, out, gpu="b200").verdict == "ok"
    np.testing.assert_array_equal(out, np.full(32, expected, np.float32))


def test_the_sign_of_zero_counts_in_a_reduction() -> None:
    values, out = np.array([0.0, -0.0] * 16, np.float32), np.zeros(32, np.float32)
    for op, negative in (("min", True), ("max", False)):
        text = entry("a b", f"{READ} redux.sync.{op}.f32 %r2, %r1, -1;{WRITE}").replace("sm_90a", "sm_100a")
        assert run(text, values, out, gpu="b200").verdict == "ok" and (np.signbit(out) == negative).all()


TILES = """
__global__ void k(const int* x, int* y) {
  int lane = threadIdx.x, v = x[lane];
  unsigned mask = 0xffu << (lane & 24);
  if (lane % 2 || !PARTED) v += 100;
  v = __shfl_down_sync(mask, v, 1, 8) + __popc(__ballot_sync(mask, v > 20));
  __syncwarp(mask);
  y[lane] = v;
}
"""


@pytest.mark.parametrize("parted", [0, 1])
def test_lanes_of_a_warp_give_masks_of_several_tiles(parted: int) -> None:
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    report = read_cuda(TILES, define={"PARTED": str(parted)}).entry("k").simulate([x, y], grid=1, block=32)
    assert report.verdict == "ok", report
    v = x + 100 * (np.arange(32) % 2) if parted else x + 100
    down = np.array([v[i + 1] if i % 8 < 7 else v[i] for i in range(32)])
    assert (y == down + np.repeat((v > 20).reshape(4, 8).sum(1), 8)).all()


def test_arms_of_a_branch_meet_in_several_tiles() -> None:
    exchange = "__syncwarp(mask); v = __shfl_xor_sync(mask, v, 1);"
    arms = f"if (lane % 2) {{ v += 100; {exchange} }} else {{ {exchange} }}"
    text = TILES.replace("if (lane % 2 || !PARTED) v += 100;", arms)
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    assert read_cuda(text).entry("k").simulate([x, y], grid=1, block=32).verdict == "ok"
    swapped = (x + 100 * (x % 2)).reshape(-1, 2)[:, ::-1].reshape(-1)
    down = np.array([swapped[i + 1] if i % 8 < 7 else swapped[i] for i in range(32)])
    assert (y == down + np.repeat((swapped > 20).reshape(4, 8).sum(1), 8)).all()


def test_lanes_whose_masks_overlap_are_a_finding() -> None:
    text = TILES.replace("0xffu << (lane & 24)", "lane < 16 ? 0x1ffffu : 0xffff0000u")
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    report = read_cuda(text, define={"PARTED": "1"}).entry("k").simulate([x, y], grid=1, block=32)
    assert "TX306" in {each.code for each in report.findings}


@pytest.mark.parametrize("slow", [0, 1])
def test_lanes_that_poll_in_nested_branches_continue_their_warp_once(slow: int) -> None:
    """Each branch let time pass by itself. Its wake-ups were left, and the warp passed barriers by them."""

    def loop(name: str) -> str:
        counter = "setp.ne.u32 %p3, %r2, 0; sub.u32 %r2, %r2, 1;"
        return f"{name}: ld.global.b32 %r5, [%d0]; {counter} @%p3 bra {name}; bra END;"

    text = entry("a b", f"""
        .shared .align 4 .b32 swap[64];
        ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
        mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.s64 %d0, %d0, %d2; add.s64 %d1, %d1, %d2;
        rem.u32 %r1, %r0, 3; shr.u32 %r3, %r0, 5; xor.b32 %r3, %r3, {slow}; mad.lo.u32 %r2, %r3, 20, %r1;
        setp.ne.u32 %p1, %r1, 0; @%p1 bra ELSE;
        and.b32 %r4, %r0, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra TWO;
        {loop("ONE")}
        {loop("TWO")}
        ELSE:
        and.b32 %r4, %r0, 2; setp.ne.u32 %p2, %r4, 0; @%p2 bra FOUR;
        {loop("THREE")}
        {loop("FOUR")}
        END:
        mov.u32 %r6, swap; mad.lo.u32 %r7, %r0, 4, %r6; xor.b32 %r8, %r0, 32; mad.lo.u32 %r8, %r8, 4, %r6;
        bar.sync 0; st.shared.b32 [%r7], %r0; bar.sync 1, 64; ld.shared.b32 %r9, [%r8]; st.global.b32 [%d1], %r9;""")
    a, b = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    report = run(text, a, b, block=(64,))
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_array_equal(b, np.arange(64) ^ 32)
