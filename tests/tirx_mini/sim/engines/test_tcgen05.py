"""tcgen05.mma: descriptors are decoded, products are right, and commits complete in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import FakeRegisters, address, all_lanes, at, block, do, one_lane, run
from tests.tirx_mini.sim.engines.tensor_core import (
    SHARED,
    allocated,
    descriptor,
    fill,
    instruction,
    place,
    random_matrix,
    read,
)
from tirx_mini.isa import InstructionDescriptor
from tirx_mini.sim import RunningWarp


def product(
    m: int, n: int, dtype: str = "float16", swizzle: int = 128, transpose: tuple[bool, bool] = (False, False),
    steps: int = 1, **flags: bool,
) -> tuple[np.ndarray, np.ndarray, Any]:  # fmt: skip
    """(tensor memory [128, n], expected [m, n], result) of one MMA, or of `steps` along K."""
    idesc, kind = instruction(m, n, dtype, transpose_a=transpose[0], transpose_b=transpose[1], **flags)
    depth = InstructionDescriptor.decode(idesc, kind, 1).depth * steps
    a, b = random_matrix(m, depth, dtype), random_matrix(n, depth, dtype)
    a_bytes, a_layout = place(a, swizzle, transpose[0])
    b_bytes, b_layout = place(b, swizzle, transpose[1])
    tmem = np.zeros((128, n), np.float32)

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 256)
        if w.warp_id == 0:
            fill(w, "A", a_bytes)
            fill(w, "B", b_bytes)
            do(w, "fence.proxy.async")
            do(w, "tcgen05.fence.after_thread_sync")
            one_lane(w)
            at(w, 20)
            for step in range(steps):
                offset = step * depth // steps * a.dtype.itemsize
                do(w, "tcgen05.mma", taddr, descriptor(w, "A", a_layout, offset), descriptor(w, "B", b_layout, offset),
                   idesc, step > 0, kind=kind)  # fmt: skip
            do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        do(w, "tcgen05.fence.after_thread_sync")
        at(w, 30)
        tmem[32 * w.warp_id : 32 * w.warp_id + 32] = read(w, taddr, n)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 256)

    result = run(program, shared=SHARED, threads=128)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    return tmem, expected, result


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("transpose", [(False, False), (True, False), (False, True), (True, True)])
def test_the_product_is_right_for_every_layout_of_its_operands(swizzle: int, transpose: tuple[bool, bool]) -> None:
    tmem, expected, result = product(128, 64, swizzle=swizzle, transpose=transpose)
    np.testing.assert_array_equal(tmem, expected)
    assert result.kinds == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"])
def test_the_product_is_right_for_every_type_of_its_operands(dtype: str) -> None:
    tmem, expected, result = product(128, 32, dtype)
    found = tmem.view(np.int32).astype(np.float32) if dtype.endswith("int8") else tmem
    np.testing.assert_array_equal(found, expected)
    assert result.kinds == []


def test_a_negated_operand_negates_the_product() -> None:
    tmem, expected, _ = product(128, 16, negate_a=True)
    np.testing.assert_array_equal(tmem, -expected)


def test_64_rows_lie_in_every_second_half_of_a_quarter() -> None:
    idesc, _ = instruction(64, 32)
    a, b = random_matrix(64, 16, "float16"), random_matrix(32, 16, "float16")
    a_bytes, a_layout = place(a, 32, False)
    b_bytes, b_layout = place(b, 32, False)
    tmem = np.zeros((128, 32), np.float32)

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        if w.warp_id == 0:
            fill(w, "A", a_bytes)
            fill(w, "B", b_bytes)
            do(w, "fence.proxy.async")
            one_lane(w)
            do(w, "tcgen05.mma", taddr, descriptor(w, "A", a_layout), descriptor(w, "B", b_layout), idesc, False)
            do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        do(w, "tcgen05.fence.after_thread_sync")
        tmem[32 * w.warp_id : 32 * w.warp_id + 32] = read(w, taddr, 32)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 32)

    run(program, shared=SHARED, threads=128)
    lanes = [row // 16 * 32 + row % 16 for row in range(64)]
    np.testing.assert_array_equal(tmem[lanes], a.astype(np.float32) @ b.astype(np.float32).T)


def test_steps_along_k_add_up() -> None:
    """Four MMAs whose descriptors advance by 32 bytes inside the swizzle atom."""
    tmem, expected, result = product(128, 128, steps=4)
    np.testing.assert_array_equal(tmem, expected)
    assert result.outcome.stats["flops"] == 2 * 128 * 128 * 64
    assert result.outcome.stats["tensor_cycles"] == 4 * 64


@pytest.mark.parametrize("m", [128, 256])
def test_a_pair_of_ctas_computes_one_product(m: int) -> None:
    """Each CTA holds half of A's rows, of B's and of D's; one thread of the even CTA issues for both."""
    n = 64
    idesc, _ = instruction(m, n)
    a, b = random_matrix(m, 16, "float16"), random_matrix(n, 16, "float16")
    tmem = np.zeros((2, 128, n), np.float32)
    wide = n if m == 256 else n // 2

    def program(w: RunningWarp) -> Any:
        rank = w.cluster_ctarank
        taddr = yield from allocated(w, 64, cta_group=2)
        a_bytes, a_layout = place(a[rank * m // 2 : (rank + 1) * m // 2], 32, False)
        b_bytes, b_layout = place(b[rank * n // 2 : (rank + 1) * n // 2], 32, False)
        if w.warp_id == 0:
            fill(w, "A", a_bytes)
            fill(w, "B", b_bytes)
            do(w, "fence.proxy.async")
        yield from block(w, "barrier.cluster.sync")
        do(w, "tcgen05.fence.after_thread_sync")
        if w.warp_id == 0 and rank == 0:
            one_lane(w)
            do(w, "tcgen05.mma", taddr, descriptor(w, "A", a_layout), descriptor(w, "B", b_layout), idesc, False,
               cta_group=2)  # fmt: skip
            do(w, "tcgen05.commit", address(w, "bar"), cta_group=2, cta_mask=3)
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        do(w, "tcgen05.fence.after_thread_sync")
        tmem[rank, 32 * w.warp_id : 32 * w.warp_id + 32, :wide] = read(w, taddr, wide)
        yield from block(w, "barrier.cluster.sync")
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 64, cta_group=2)

    result = run(program, shared=SHARED, threads=128, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert result.kinds == [] and not result.outcome.blocked
    expected = (a.astype(np.float32) @ b.astype(np.float32).T).reshape(2, m // 2, n)
    if m == 128:
        tmem = np.concatenate([tmem[:, :64, :wide], tmem[:, 64:, :wide]], axis=2)
    np.testing.assert_array_equal(tmem, expected)


# -- what is wrong with its use --------------------------------------------------------------------------------------

A_BYTES, A_LAYOUT = place(np.ones((128, 16), np.float16), 32, False)
B_BYTES, B_LAYOUT = place(np.ones((64, 16), np.float16), 32, False)
IDESC, _ = instruction(128, 64)


def gemm(
    *, mmas: int = 1, accumulate: Any = None, commit: bool = True, wait: bool = True, after: bool = True,
    before: bool = True, fence: bool = True, wait_ld: bool = True, dealloc_sync: bool = True, column: int = 0,
    idesc: int = IDESC, edit: Any = None, lane: int = 0, columns: int = 64,
) -> Any:  # fmt: skip
    """A small GEMM with one thing wrong. Lines: 2 store, 4 mma, 6 load of tensor memory, 8 dealloc."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, columns)
        at(w, 2)
        if w.warp_id == 1:
            fill(w, "A", A_BYTES)
            fill(w, "B", B_BYTES)
        if fence:
            do(w, "fence.proxy.async")
        yield from block(w, "bar.sync.all", 0)
        if before:
            do(w, "tcgen05.fence.after_thread_sync")
        at(w, 4)
        if w.warp_id == 0:
            one_lane(w)
            a, b = descriptor(w, "A", A_LAYOUT), descriptor(w, "B", B_LAYOUT)
            if edit:
                a, b = edit(a, b)
            for number in range(mmas):
                on = accumulate(number) if accumulate else number > 0
                do(w, "tcgen05.mma", taddr + column, a, b, idesc, on)
            if commit:
                do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        at(w, 5)
        if wait:
            yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        else:
            w.time += 3000
        if after:
            do(w, "tcgen05.fence.after_thread_sync")
        at(w, 6)
        registers = FakeRegisters()
        do(w, "tcgen05.ld", registers, taddr + (32 * ((w.warp_id + lane) % 4) << 16), num=64)
        if wait_ld:
            do(w, "tcgen05.wait.ld")
        if dealloc_sync:
            yield from block(w, "bar.sync.all", 0)
        else:
            w.time += 1000 if w.warp_id == 0 else 0
        at(w, 8)
        if w.warp_id == 0:
            do(w, "tcgen05.relinquish_alloc_permit")
            do(w, "tcgen05.dealloc", taddr, columns)

    return run(program, shared=SHARED, threads=128)


def test_the_small_gemm_is_right() -> None:
    assert gemm(mmas=4).kinds == []


@pytest.mark.parametrize(
    ("wrong", "kind", "lines"),
    [
        ({"fence": False}, "missing-proxy-fence", {2, 4}),
        ({"before": False}, "(missing-tcgen05-fence)", {2, 4}),
        ({"after": False}, "(missing-tcgen05-fence)", {4, 6}),
        ({"accumulate": lambda n: True}, "uninitialised-read", {4}),
        ({"mmas": 2, "accumulate": lambda n: False}, "lost-result", {4}),
        ({"wait_ld": False}, "missing-tcgen05-wait", {6, 8}),
        ({"column": 1 << 16}, "tmem-access", {4}),
        ({"column": 32}, "tmem-access", {4}),
        ({"lane": 1}, "tmem-access", {6}),
        ({"edit": lambda a, b: (a & ~(7 << 46), b)}, "bad-descriptor", {4}),
        ({"edit": lambda a, b: (a, b | 7 << 61)}, "bad-descriptor", {4}),
        ({"edit": lambda a, b: (a | 0x3FFF, b)}, "bad-descriptor", {4}),
        ({"idesc": instruction(128, 64)[0] & ~(31 << 24) | 3 << 24}, "bad-descriptor", {4}),
        ({"idesc": instruction(128, 64)[0] | 4}, "bad-descriptor", {4}),
        ({"columns": 96}, "tmem-allocation", set()),
        ({"columns": 16}, "tmem-allocation", set()),
    ],
)  # fmt: skip
def test_a_mistake_in_a_gemm_is_reported_at_its_line(wrong: dict[str, Any], kind: str, lines: set[int]) -> None:
    result = gemm(**wrong)
    assert kind in result.kinds
    if lines:
        finding = next(f for f in result.findings if f.kind == kind.strip("()"))
        found = {finding.span.line, *(span.line for _, span in finding.details.get("notes", ()) if span)}
        assert found <= lines and finding.span.line in lines


def test_reading_the_result_without_a_wait_is_a_race() -> None:
    result = gemm(wait=False)
    assert "uninitialised-read" in result.kinds and "race" in result.kinds


def test_without_a_commit_the_wait_never_returns() -> None:
    result = gemm(commit=False)
    assert result.kinds == [] and {w.waiting.span.line for w in result.outcome.blocked} == {5}


def test_a_dealloc_while_other_warps_read_is_reported() -> None:
    result = gemm(dealloc_sync=False)
    assert set(result.kinds) & {"race", "tmem-access"}


def test_a_commit_with_nothing_to_track_arrives() -> None:
    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        one_lane(w)
        do(w, "tcgen05.commit", address(w, "bar"))
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        all_lanes(w)
        do(w, "tcgen05.dealloc", taddr, 32)

    result = run(program, shared=SHARED)
    assert result.kinds == [] and not result.outcome.blocked


def test_commits_complete_in_the_order_of_their_thread() -> None:
    """Whatever the schedule, a later commit's barrier completes no earlier."""
    for seed in range(20):
        order: list[str] = []

        def program(w: RunningWarp, order: list[str] = order) -> Any:
            if w.warp_id == 0:
                yield from block(w, "tcgen05.alloc", address(w, "slot"), 64)
                one_lane(w)
                for name in ("bar", "bar2"):
                    do(w, "mbarrier.init", address(w, name), 1)
                do(w, "fence.mbarrier_init")
                all_lanes(w)
                fill(w, "A", A_BYTES)
                fill(w, "B", B_BYTES)
            do(w, "fence.proxy.async")
            yield from block(w, "bar.sync.all", 0)
            do(w, "tcgen05.fence.after_thread_sync")
            if w.warp_id == 0:
                one_lane(w)
                for name in ("bar", "bar2"):
                    a, b = descriptor(w, "A", A_LAYOUT), descriptor(w, "B", B_LAYOUT)
                    do(w, "tcgen05.mma", 0, a, b, IDESC, name != "bar")
                    do(w, "tcgen05.commit", address(w, name))
                all_lanes(w)
                yield from block(w, "mbarrier.try_wait", address(w, "bar2"), 0)
                order.append("bar2")
                do(w, "tcgen05.fence.after_thread_sync")
                yield from block(w, "bar.sync.all", 0)
                do(w, "tcgen05.dealloc", 0, 64)
            else:
                yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
                order.append("bar")
                yield from block(w, "bar.sync.all", 0)

        result = run(program, shared={**SHARED, "bar2": ("uint64", 1)}, threads=64, seed=seed)
        assert result.kinds == [] and order == ["bar", "bar2"], seed


def committed(issue: Any, commit: Any) -> Any:
    """An MMA under `issue`, its commit under `commit`."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 64)
        if w.warp_id == 0:
            fill(w, "A", A_BYTES)
            fill(w, "B", B_BYTES)
            do(w, "fence.proxy.async")
            do(w, "tcgen05.fence.after_thread_sync")
            do(w, "bar.warp.sync")
            issue(w)
            at(w, 20)
            do(w, "tcgen05.mma", taddr, descriptor(w, "A", A_LAYOUT), descriptor(w, "B", B_LAYOUT), IDESC, False)
            all_lanes(w)
            commit(w)
            at(w, 30)
            do(w, "tcgen05.commit", address(w, "bar"))
            all_lanes(w)
        yield from block(w, "mbarrier.try_wait", address(w, "bar"), 0)
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 64)

    return run(program, shared=SHARED, threads=128)


def elected(w: RunningWarp) -> None:
    w.select(w.elected(do(w, "elect.sync")))


def test_a_commit_tracks_the_mmas_of_its_own_thread() -> None:
    assert committed(one_lane, one_lane).kinds == []
    assert committed(elected, elected).kinds == []
    other = committed(one_lane, lambda w: one_lane(w, 1))
    assert other.kinds == ["untracked-mma", "in-flight-at-exit"]
    assert {f.span.line for f in other.findings if f.span is not None} == {20, 30}


def test_a_commit_by_lane_0_of_what_the_elected_lane_issued_is_a_warning() -> None:
    result = committed(elected, one_lane)
    assert result.kinds == ["(elected-lane)"] and result.lines == {20, 30}
