"""Operations on tiles and on elements, one small program each: right in the simulator, without findings."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tirx_mini import tilelang
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import Evaluate, For, Seq, TirxError, walk
from tirx_mini.isa import NAMES
from tirx_mini.tilelang import language as T


def run(kernel: Any, *args: Any, out_idx: Any = -1) -> Any:
    with tilelang.simulated("h100") as reports:
        result = tilelang.compile(kernel, out_idx=out_idx)(*args)
    assert reports and all(report.ok and not report.findings for report in reports)
    return result


def test_four_bits_are_unpacked() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "uint8"), B: T.Tensor((32, 64), "float16")):
        with T.Kernel(1, threads=128):
            packed = T.alloc_fragment((32, 32), "uint8")
            tile = T.alloc_fragment((32, 64), "float16")
            T.copy(A, packed)
            for i, j in T.Parallel(32, 64):
                tile[i, j] = ((packed[i, j // 2] >> ((j % 2) * 4)) & 0xF).astype("float16")
            T.copy(tile, B)

    a = torch.randint(0, 256, (32, 32), dtype=torch.uint8)
    assert torch.equal(run(main, a), torch.stack([a & 15, a >> 4], -1).reshape(32, 64).half())


def test_threads_and_variables() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            total = T.alloc_var("int32")
            total = 0
            i = T.alloc_var("int32", init=0)
            while i <= tx:
                if A[i] > 0:
                    total += A[i]
                i += 1
            B[tx] = total

    a = torch.randint(-5, 5, (64,), dtype=torch.int32)
    assert torch.equal(run(main, a), a.clamp(min=0).cumsum(0).int())


def test_arrays_of_each_thread() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, 256), "float16"), B: T.Tensor((4, 8), "float32")):
        with T.Kernel(1, threads=(8, 4)):
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            own = T.alloc_local((8,), "float16")
            total = T.alloc_local((1,), "float")
            T.clear(total)
            for block in T.serial(4):
                for k in T.vectorized(8):
                    own[k] = A[ty, block * 64 + tx * 8 + k]
                for k in T.serial(8):
                    total[0] += own[k].astype("float")
            B[ty, tx] = total[0]

    a = torch.randn(4, 256).half()
    torch.testing.assert_close(run(main, a), a.float().view(4, 4, 8, 8).sum((1, 3)), atol=1e-3, rtol=1e-3)


def test_atomics_in_shared_and_global_memory() -> None:
    @T.prim_func
    def main(A: T.Tensor((512,), "int32"), B: T.Tensor((16,), "int32")):
        with T.Kernel(2, threads=128) as bx:
            counts = T.alloc_shared((16,), "int32")
            T.clear(counts)
            for i in T.Parallel(256):
                T.atomic_add(counts[A[bx * 256 + i]], 1)
            for i in T.Parallel(16):
                T.atomic_add(B[i], counts[i])

    a, b = torch.randint(0, 16, (512,), dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    run(main, a, b, out_idx=None)
    assert torch.equal(b, torch.bincount(a, minlength=16).int())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_of_floats_are_atomic(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), dtype), B: T.Tensor((4,), dtype), old: T.Tensor((2,), dtype)):
        with T.Kernel(2, threads=32) as bx:
            tx = T.get_thread_binding()
            largest = T.alloc_shared((1,), dtype)
            if tx == 0:
                largest[0] = -100.0
            T.sync_threads()
            T.atomic_max(largest[0], A[bx * 32 + tx])
            T.sync_threads()
            if tx == 0:
                T.atomic_max(B[bx], largest[0])
                T.atomic_min(B[2], largest[0])
                old[bx] = T.atomic_min(B[3], 0.0 - largest[0], return_prev=True)

    a = torch.cat([torch.randn(32), -torch.rand(32) - 1]).to(getattr(torch, dtype))
    a[40] = float("nan")
    b = torch.tensor([-0.0, -5, 3, 1e9], dtype=a.dtype)
    old = torch.zeros(2, dtype=a.dtype)
    run(main, a, b, old, out_idx=None)
    first, second = a[:32].max(), a[32:][~a[32:].isnan()].max()
    assert torch.equal(b, torch.stack([first, second, torch.minimum(first, second), -first]))
    assert sorted(old.tolist()) in ([float(-second), 1e9], [float(-first), 1e9])


@pytest.mark.parametrize("known", [True, False])
def test_rows_of_an_argument_lie_apart(known: bool) -> None:
    row = 40 if known else T.dynamic("row")

    @T.prim_func
    def main(A: T.StridedTensor((32, 32), (row, 1), "float16"), B: T.StridedTensor((32, 32), (1, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            for _ in T.Pipelined(1, num_stages=2):
                T.copy(A, a)
                T.gemm(a, a, c, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                B[i, j] = c[i, j] + A[j, i]

    kernel = tilelang.compile(main)
    for step in (40,) if known else (40, 48):
        wide, b = torch.randn(32, step).half(), torch.zeros(32, 64)
        a = wide[:, :32]
        with tilelang.simulated("h100"):
            kernel(a, b.t()[:32])
        assert kernel.report.ok and not kernel.report.findings
        torch.testing.assert_close(b[:, :32].t(), a.float() @ a.float() + a.float().t(), atol=1e-2, rtol=1e-2)
        assert not b[:, 32:].any()
    said = r"A has the strides \(50, 1\)" if known else "B"
    with tilelang.simulated("h100"), pytest.raises(ArgumentError, match=said):
        kernel(torch.zeros(32, 50).half()[:, :32], torch.zeros(64, 32).t() if known else torch.zeros(32, 32))


@pytest.mark.parametrize("how", ["store", "branch", "loop", "atomic", "parallel"])
def test_what_threads_write_is_shown_to_tma(how: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            tile = T.alloc_shared((64, 64), "float32")
            T.copy(A, tile)
            if how == "store":
                tile[0, tx % 64] = 1.0
            if how == "branch":
                if tx < 64:
                    tile[0, tx] = 1.0
            if how == "loop":
                for i in T.serial(2):
                    tile[i, tx % 64] = 1.0
            if how == "atomic":
                T.atomic_add(tile[0, tx % 4], 1.0)
            if how == "parallel":
                for i in T.Parallel(64):
                    T.atomic_add(tile[0, i % 4], 1.0)
            T.copy(tile, B)

    a = torch.randn(64, 64)
    b = run(main, a)
    more = {"atomic": 32.0, "parallel": 16.0}.get(how)
    expected = a[0, :4] + more if more else torch.ones(4)
    torch.testing.assert_close(b[0, :4], expected)
    assert torch.equal(b[2:], a[2:])


@pytest.mark.parametrize("by_tma", [True, False])
def test_an_async_copy_is_a_group(by_tma: bool) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((64, 64), "float32")
            T.async_copy(A, tile)
            T.ptx_wait_group(0)
            if by_tma:
                T.copy(tile, B)
            else:
                for i, j in T.Parallel(64, 64):
                    B[i, j] = tile[j, i]

    a = torch.randn(64, 64)
    assert torch.equal(run(main, a), a if by_tma else a.t())


def test_all_lanes_take_part_in_a_value_that_one_stores() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            B[0] = T.tvm_warp_shuffle(0xFFFFFFFF, A[3], 0, 32, 32)

    a = torch.randn(64)
    assert run(main, a)[0] == a[3]


def test_reads_outside_an_argument_give_its_safe_value() -> None:
    @T.prim_func
    def main(A: T.Tensor((60, 64), "float16"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            T.annotate_safe_value({A: 1.5})
            tile = T.alloc_shared((64, 64), "float16")
            for _ in T.Pipelined(1, num_stages=2):
                T.copy(A[0, 0], tile)
                for i, j in T.Parallel(64, 64):
                    B[i, j] = tile[i, j] + A[i - 2, j]

    a = torch.randn(60, 64).half()
    padded = torch.full((68, 64), 1.5)
    padded[2:62] = a.float()
    torch.testing.assert_close(run(main, a), padded[2:66] + padded[:64], atol=1e-2, rtol=1e-2)


def test_rows_that_an_argument_names() -> None:
    @T.prim_func
    def main(rows: T.Tensor((20,), "int64"), table: T.Tensor((50, 64), "float16"), out: T.Tensor((20, 64), "float16")):
        with T.Kernel(T.ceildiv(20, 8), threads=128) as bx:
            for i, j in T.Parallel(8, 64):
                out[bx * 8 + i, j] = table[rows[bx * 8 + i], j]

    rows, table = torch.randint(0, 50, (20,)), torch.randn(50, 64).half()
    assert torch.equal(run(main, rows, table), table[rows])


def test_numbers_of_the_program_are_pythons() -> None:
    @T.prim_func
    def main(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            n = 128
            half = n // 2
            tile = T.alloc_shared((n,), "float32")
            T.copy(A[bx * n], tile)
            for i in T.Parallel(half):
                tile[i] = tile[i] + tile[i + half]
            for i in T.Parallel(half):
                tile[i + half] = tile[i]
            T.copy(tile, B[bx * n])

    a = torch.randn(256)
    wanted = a.view(2, 2, 64).sum(1, keepdim=True).expand(2, 2, 64).reshape(256)
    torch.testing.assert_close(run(main, a), wanted)


def test_branches_and_loops_inside_parallel_loops() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32, 32), "float32")
            sums = T.alloc_fragment((32,), "float32")
            T.copy(A, tile)
            for i, j in T.Parallel(32, 32):
                if i >= j:
                    B[i, j] = tile[i, j]
                else:
                    B[i, j] = 0
            T.clear(sums)
            for i in T.Parallel(32):
                for j in T.serial(32):
                    sums[i] += tile[i, j]
            T.copy(sums, C)

    a = torch.randn(32, 32)
    b, c = run(main, a, out_idx=[1, 2])
    assert torch.equal(b, a.tril())
    torch.testing.assert_close(c, a.sum(1), atol=1e-4, rtol=1e-4)


def test_printed_values(capfd: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def main(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32) as bx:
            tile = T.alloc_shared((4,), "float32")
            T.copy(A, tile)
            T.print(tile, msg="tile")

    run(main, torch.arange(4.0), out_idx=None)
    assert "tile: tile[2] = 2" in capfd.readouterr().out


# -- mistakes ------------------------------------------------------------------------------------------------------


def test_tiles_of_different_extents() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32, 16), "float32")
            T.copy(A[0:16, 0:16], tile)

    with pytest.raises(TirxError, match="the tiles have different extents") as caught:
        run(main, torch.zeros(64, 64), out_idx=None)
    assert caught.value.diagnostic.span is not None


def test_a_tile_that_is_written_element_by_element_waits_once() -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 64, 8), "float32"), B: T.Tensor((64, 8), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((64, 8), "float32")
            sums = T.alloc_fragment((64, 8), "float32")
            T.clear(sums)
            for k in T.serial(2):
                for i, j in T.Parallel(64, 8):
                    row = (i * 3 + k) % 64
                    inside = (row + j) % 3 > 0
                    tile[i, j] = T.if_then_else(inside, A[k, row, j], 0.0)
                for i, j in T.Parallel(64, 8):
                    sums[i, j] += tile[63 - i, j]
            T.copy(sums, B)

    a = torch.randn(2, 64, 8)
    rows, columns = torch.arange(64)[:, None], torch.arange(8)[None]
    places = [(rows * 3 + k) % 64 for k in range(2)]
    tiles = [torch.where((p + columns) % 3 > 0, a[k, p, columns], 0.0) for k, p in enumerate(places)]
    torch.testing.assert_close(run(main, a), sum(tiles).flip(0))
    (loop,) = (node for node in tilelang.lower(main, "sm_90a").nodes if isinstance(node, For) and node.var.name == "k")
    barrier = NAMES["cuda.cta_sync"].call().op
    waits = [stmt for stmt in walk(loop) if isinstance(stmt, Evaluate) and stmt.call.op == barrier]
    assert isinstance(loop.body, Seq) and len(waits) == 2
    assert all(stmt in loop.body.stmts for stmt in waits), "a barrier for each element"


@pytest.mark.parametrize("how", ["directly", "by a variable"])
def test_threads_that_choose_by_their_data_meet_outside_the_branch(how: str) -> None:
    """Positions from a counter in shared memory, which only threads with a positive element advance."""

    @T.prim_func
    def main(A: T.Tensor((256,), "float32"), found: T.Tensor((256,), "int32"), count: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            taken = T.alloc_shared([1], "int32")
            place = T.alloc_var("int32")
            positive = T.alloc_var("int32")
            T.fill(taken, 0)
            for s in T.serial(2):
                positive = T.if_then_else(A[s * 128 + tx] > 0.0, 1, 0)
                if (A[s * 128 + tx] > 0.0) if how == "directly" else (positive > 0):
                    place = T.atomic_add(taken[0], 1, return_prev=True)
                    found[place] = s * 128 + tx
            if tx == 0:
                count[0] = taken[0]

    a, found = torch.randn(256), torch.full((256,), -1, dtype=torch.int32)
    count = torch.zeros(1, dtype=torch.int32)
    run(main, a, found, count, out_idx=None)
    expected = torch.nonzero(a > 0).flatten().tolist()
    assert count.item() == len(expected) and sorted(found[: count.item()].tolist()) == expected


def test_each_thread_counts_in_an_element_of_its_own_for_as_long_as_its_data_says() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            steps = T.alloc_shared((64,), "int32")
            left = T.alloc_var("int32")
            steps[tx] = 0
            left = A[tx]
            while left > 0:
                steps[tx] = steps[tx] + 1
                left = left // 2
            B[tx] = steps[tx]

    a = torch.arange(64, dtype=torch.int32)
    assert run(main, a).tolist() == [value.bit_length() for value in range(64)]
