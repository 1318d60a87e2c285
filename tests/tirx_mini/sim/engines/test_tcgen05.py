"""The tensor core: descriptors decoded, products right, order kept; tensor memory allocated, loaded, awaited, freed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import FakeRegisters, address, all_lanes, at, block, buffer, do, one_lane, run
from tirx_mini.isa import InstructionDescriptor, SmemDescriptor, mma_format, swizzle_bytes
from tirx_mini.sim import ColumnsWait, RunningWarp
from tirx_mini.sim.machine import numpy_dtype

RNG = np.random.default_rng(7)
COLUMNS = 128


def instruction(m: int, n: int, dtype: str = "float16", **flags: bool) -> tuple[int, str]:
    """(instruction descriptor, kind)."""
    kind, fmt = mma_format(dtype)
    depth = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32}[kind]
    d = "int32" if kind == "i8" else "float32"
    return InstructionDescriptor(m, n, fmt, fmt, d, depth, **flags).encode(kind), kind


def random_matrix(rows: int, depth: int, dtype: str) -> np.ndarray:
    if dtype in ("int8", "uint8"):
        return RNG.integers(-9 if dtype == "int8" else 0, 9, (rows, depth)).astype(dtype)
    return RNG.integers(-8, 8, (rows, depth)).astype(np.float32).astype(numpy_dtype(dtype))


def place(matrix: np.ndarray, swizzle: int, mn_major: bool) -> tuple[np.ndarray, SmemDescriptor]:
    """The bytes of an operand [rows, depth] as TMA would leave them, and its descriptor (start 0).

    K-major: atoms of 8 rows × span bytes, one below the other. MN-major: atoms of span bytes of rows × 8 of depth,
    first along depth. Without swizzle the atoms are core matrices of 8 × 16 bytes, first along the contiguous one.
    """
    lines = np.ascontiguousarray(matrix.T if mn_major else matrix)  # the last axis is contiguous in memory
    raw = lines.view(np.uint8).reshape(lines.shape[0], -1)
    span = swizzle or 16
    outer, width = raw.shape
    groups = -(-width // span)
    across, down = (outer * span, 8 * span) if (mn_major or not swizzle) else (0, 8 * span)
    assert swizzle == 0 or mn_major or groups == 1
    if not swizzle:
        across, down = 128, groups * 128
    memory = np.zeros(max(outer // 8 * down, groups * across) + 8192, np.uint8)
    for line in range(outer):
        for byte in range(width):
            address = byte // span * across + line // 8 * down + line % 8 * span + byte % span
            memory[swizzle_bytes(address, swizzle)] = raw[line, byte]
    if swizzle and mn_major:
        leading, stride = across, down
    elif swizzle:
        leading, stride = 16, down
    else:
        leading, stride = (down, across) if mn_major else (across, down)
    return memory, SmemDescriptor(0, leading, stride, swizzle)


def descriptor(w: RunningWarp, name: str, layout: SmemDescriptor, offset: int = 0) -> int:
    """The descriptor of an operand in the buffer `name`, `offset` bytes from its beginning."""
    start = buffer(w, name).byte_offset + offset
    return SmemDescriptor(start & 0x3FFFF, layout.leading, layout.stride, layout.swizzle).encode()


def fill(w: RunningWarp, name: str, data: np.ndarray) -> None:
    """Write bytes into a shared buffer with ordinary stores of one warp."""
    items = data[: len(data) // 512 * 512].view(np.uint8).reshape(-1, 32, 16)
    places = np.arange(len(items))[:, None] * 512 + np.arange(32) * 16
    w.store(buffer(w, name), places, items, 16)


def allocated(w: RunningWarp, columns: int, cta_group: int = 1) -> Any:
    """Warp 0 allocates and initialises the barrier; all synchronise; returns the address."""
    if w.warp_id == 0:
        yield from block(w, "tcgen05.alloc", address(w, "slot"), columns, cta_group=cta_group)
        one_lane(w)
        do(w, "mbarrier.init", address(w, "bar"), 1)
        all_lanes(w)
    do(w, "fence.mbarrier_init")
    yield from block(w, "bar.sync.all", 0)
    return w.load(buffer(w, "slot"), 0)


def read(w: RunningWarp, taddr: int, columns: int) -> np.ndarray:
    """The warp's 32 lanes of tensor memory as float32[32, columns]."""
    registers = FakeRegisters()
    do(w, "tcgen05.ld", registers, taddr + (32 * (w.warp_id % 4) << 16), num=columns)
    assert registers.values is None, "nothing is there before the wait"
    do(w, "tcgen05.wait.ld")
    assert registers.values is not None
    return registers.values.T.copy().view(np.float32)


SHARED = {"bar": ("uint64", 1), "slot": ("uint32", 1, 4), "A": ("uint8", 65536), "B": ("uint8", 65536)}


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
def test_operands_of_every_layout(swizzle: int, transpose: tuple[bool, bool]) -> None:
    tmem, expected, result = product(128, 64, swizzle=swizzle, transpose=transpose)
    np.testing.assert_array_equal(tmem, expected)
    assert result.kinds == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"])
def test_operands_of_every_type(dtype: str) -> None:
    tmem, expected, result = product(128, 32, dtype)
    found = tmem.view(np.int32).astype(np.float32) if dtype.endswith("int8") else tmem
    np.testing.assert_array_equal(found, expected)
    assert result.kinds == []


def test_negation() -> None:
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
def test_a_pair_of_ctas(m: int) -> None:
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


@pytest.mark.parametrize("shape", ["32x32b", "16x64b", "16x128b", "16x256b"])
def test_stores_and_loads_of_tensor_memory_are_inverse(shape: str) -> None:
    registers = {"32x32b": 4, "16x64b": 4, "16x128b": 8, "16x256b": 16}[shape]
    values = RNG.integers(0, 1 << 32, (4, registers, 32), dtype=np.uint32)
    back: dict[int, Any] = {}

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 32)
        mine = taddr + (32 * w.warp_id << 16)
        do(w, "tcgen05.st", mine, FakeRegisters(values[w.warp_id]), shape=shape, num=4)
        do(w, "tcgen05.wait.st")
        target = FakeRegisters()
        do(w, "tcgen05.ld", target, mine, shape=shape, num=4)
        do(w, "tcgen05.wait.ld")
        back[w.warp_id] = target.values
        w.gpu.seen["words"] = w.cta.tmem.words.copy()
        yield from block(w, "bar.sync.all", 0)
        if w.warp_id == 0:
            do(w, "tcgen05.dealloc", taddr, 32)

    result = run(program, shared=SHARED, threads=128)
    assert result.kinds == []
    for warp in range(4):
        np.testing.assert_array_equal(back[warp], values[warp])
    if shape == "32x32b":
        words = result.seen["words"]
        np.testing.assert_array_equal(words[:, :4], values.transpose(0, 2, 1).reshape(128, 4))


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
def test_one_thing_wrong(wrong: dict[str, Any], kind: str, lines: set[int]) -> None:
    result = gemm(**wrong)
    assert kind in result.kinds
    if lines:
        finding = next(f for f in result.findings if f.kind == kind.strip("()"))
        found = {finding.span.line, *(span.line for _, span in finding.details.get("notes", ()) if span)}
        assert found <= lines and finding.span.line in lines


def test_no_wait_reads_too_early() -> None:
    result = gemm(wait=False)
    assert "uninitialised-read" in result.kinds and "race" in result.kinds


def test_no_commit_never_ends() -> None:
    result = gemm(commit=False)
    assert result.kinds == [] and {w.waiting.span.line for w in result.outcome.blocked} == {5}


def test_dealloc_while_others_read() -> None:
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


def test_allocation_by_part_of_a_warp() -> None:
    def program(w: RunningWarp) -> Any:
        at(w, 3)
        one_lane(w)
        yield from block(w, "tcgen05.alloc", address(w, "slot"), 512)

    result = run(program, shared=SHARED)
    assert result.finding.kind == "illegal-convergence" and result.lines == {3}


def test_an_allocation_blocks_while_another_cta_holds_the_columns() -> None:
    """Two CTAs on one SM: the second begins when the first has freed its columns."""

    def program(w: RunningWarp) -> Any:
        taddr = yield from allocated(w, 512)
        w.time += 10_000
        w.gpu.seen[w.block_idx[0]] = w.time
        do(w, "tcgen05.dealloc", taddr, 512)

    result = run(program, shared=SHARED, grid=(149, 1, 1))
    assert result.kinds == [] and not result.outcome.blocked
    late = [cta for cta, time in result.seen.items() if time > 15_000]
    assert late == [148]


def test_two_allocations_of_one_cta_that_do_not_fit() -> None:
    def program(w: RunningWarp) -> Any:
        yield from allocated(w, 512)
        at(w, 9)
        yield from block(w, "tcgen05.alloc", address(w, "slot"), 32)

    result = run(program, shared=SHARED)
    (wait,) = (w.waiting for w in result.outcome.blocked)
    assert isinstance(wait, ColumnsWait) and (wait.columns, wait.held, wait.free) == (32, 512, 0)


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        (["alloc 32"], "tmem-not-freed"),
        (["alloc 32", "free 32", "free 32"], "tmem-allocation"),
        (["alloc 64", "free 32"], "tmem-allocation"),
        (["relinquish", "alloc 32"], "tmem-allocation"),
        (["alloc 32", "alloc 64", "free 32"], "tmem-allocation"),
        (["load"], "tmem-access"),
        (["alloc 32", "free 32", "load"], "tmem-access"),
        (["alloc 32", "mixed"], "illegal-instruction"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_allocation(steps: list[str], kind: str) -> None:
    def program(w: RunningWarp) -> Any:
        for number, step in enumerate(steps):
            at(w, number)
            what, _, columns = step.partition(" ")
            if what == "alloc":
                yield from block(w, "tcgen05.alloc", address(w, "slot"), int(columns))
            elif what == "free":
                do(w, "tcgen05.dealloc", 0, int(columns))
            elif what == "relinquish":
                do(w, "tcgen05.relinquish_alloc_permit")
            elif what == "load":
                do(w, "tcgen05.ld", FakeRegisters(), 0, num=1)
            else:
                do(w, "tcgen05.relinquish_alloc_permit", cta_group=2)

    assert kind in run(program, shared=SHARED).kinds


def test_a_pair_needs_a_cluster() -> None:
    def program(w: RunningWarp) -> Any:
        yield from block(w, "tcgen05.alloc", address(w, "slot"), 32, cta_group=2)

    assert run(program, shared=SHARED).finding.kind == "illegal-instruction"


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
