"""Programs as users of TileLang write them: right in the simulator, without findings."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tirx_mini import tilelang
from tirx_mini.tilelang import language as T


def run(kernel: Any, *args: Any, gpu: str = "h100") -> Any:
    """The outputs of a kernel, whose report has no finding."""
    with tilelang.simulated(gpu) as reports:
        result = kernel(*args)
    assert reports and all(report.ok and not report.findings for report in reports)
    return result


def matmul(M: int, N: int, K: int, tiles: tuple[int, int, int], stages: int, threads: int, turned: bool) -> Any:
    block_M, block_N, block_K = tiles
    B_shape, B_tile = ((N, K), (block_N, block_K)) if turned else ((K, N), (block_K, block_N))

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor(B_shape, "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "float16")
            B_shared = T.alloc_shared(B_tile, "float16")
            C_local = T.alloc_fragment((block_M, block_N), "float")
            T.use_swizzle(panel_size=10)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                if turned:
                    T.copy(B[bx * block_N, k * block_K], B_shared)
                else:
                    T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=turned)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


@pytest.mark.parametrize(
    ("sizes", "tiles", "stages", "threads", "turned", "gpu"),
    [
        ((128, 128, 128), (64, 64, 32), 0, 128, False, "h100"),
        ((256, 128, 192), (128, 64, 64), 3, 256, True, "h100"),
        ((100, 72, 48), (64, 64, 32), 2, 128, False, "h100"),
        ((128, 128, 128), (64, 64, 64), 2, 128, True, "b200"),
    ],
)
def test_gemm(sizes: Any, tiles: Any, stages: int, threads: int, turned: bool, gpu: str) -> None:
    M, N, K = sizes
    kernel = tilelang.compile(matmul(*sizes, tiles, stages, threads, turned), out_idx=-1)
    a, b = torch.randn(M, K).half(), (torch.randn(N, K) if turned else torch.randn(K, N)).half()
    wanted = a.float() @ (b.T if turned else b).float()
    torch.testing.assert_close(run(kernel, a, b, gpu=gpu), wanted, atol=1e-3, rtol=1e-3)


@tilelang.jit(out_idx=[3])
def attention(batch: int, heads: int, length: int, dim: int, causal: bool, stages: int) -> Any:
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    shape = [batch, length, heads, dim]
    rows, columns = 64, 64

    @T.prim_func
    def main(Q: T.Tensor(shape, T.float16), K: T.Tensor(shape, T.float16), V: T.Tensor(shape, T.float16),
             Output: T.Tensor(shape, T.float16)):  # fmt: skip
        with T.Kernel(T.ceildiv(length, rows), heads, batch, threads=128) as (bx, by, bz):
            Q_shared = T.alloc_shared([rows, dim], T.float16)
            K_shared = T.alloc_shared([columns, dim], T.float16)
            V_shared = T.alloc_shared([columns, dim], T.float16)
            O_shared = T.alloc_shared([rows, dim], T.float16)
            scores = T.alloc_fragment([rows, columns], T.float32)
            weights = T.alloc_fragment([rows, columns], T.float16)
            output = T.alloc_fragment([rows, dim], T.float32)
            top = T.alloc_fragment([rows], T.float32)
            before = T.alloc_fragment([rows], T.float32)
            factor = T.alloc_fragment([rows], T.float32)
            sums = T.alloc_fragment([rows], T.float32)
            total = T.alloc_fragment([rows], T.float32)
            T.copy(Q[bz, bx * rows : (bx + 1) * rows, by, :], Q_shared)
            T.fill(output, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity(T.float32))
            blocks = T.ceildiv((bx + 1) * rows, columns) if causal else T.ceildiv(length, columns)
            for k in T.Pipelined(blocks, num_stages=stages):
                T.copy(K[bz, k * columns : (k + 1) * columns, by, :], K_shared)
                if causal:
                    for i, j in T.Parallel(rows, columns):
                        scores[i, j] = T.if_then_else(bx * rows + i >= k * columns + j, 0, -T.infinity(scores.dtype))
                else:
                    T.clear(scores)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(rows):
                    factor[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(rows, columns):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, sums, dim=1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * factor[i] + sums[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(rows, dim):
                    output[i, j] *= factor[i]
                T.copy(V[bz, k * columns : (k + 1) * columns, by, :], V_shared)
                T.gemm(weights, V_shared, output, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(rows, dim):
                output[i, j] /= total[i]
            T.copy(output, O_shared)
            T.copy(O_shared, Output[bz, bx * rows : (bx + 1) * rows, by, :])

    return main


@pytest.mark.parametrize(("causal", "stages"), [(False, 2), (True, 1)])
def test_flash_attention(causal: bool, stages: int) -> None:
    q, k, v = (torch.randn(1, 128, 1, 64).half() for _ in range(3))
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) / 8
    if causal:
        scores = scores.masked_fill(~torch.tril(torch.ones(128, 128, dtype=torch.bool)), float("-inf"))
    wanted = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v.float())
    found = run(attention(1, 1, 128, 64, causal, stages), q, k, v)
    torch.testing.assert_close(found.float(), wanted, atol=2e-3, rtol=1e-2)


def test_split_k_adds_up_in_global_memory() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 256), "float16"), B: T.Tensor((64, 256), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, 1, 4, threads=128) as (bx, by, bz):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((64, 32), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(2, num_stages=0):
                T.copy(A[0, bz * 64 + k * 32], A_shared)
                T.copy(B[0, bz * 64 + k * 32], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.atomic_add(C[0, 0], C_local)

    a, b, c = torch.randn(64, 256).half(), torch.randn(64, 256).half(), torch.zeros(64, 64)
    run(tilelang.compile(main), a, b, c)
    torch.testing.assert_close(c, a.float() @ b.float().T, atol=1e-3, rtol=1e-3)


def test_tiles_whose_number_depends_on_the_cta() -> None:
    """As stream-K does: a while loop over tiles, whose products have lengths of their own."""
    iterations, ctas = 4, 3

    @T.prim_func
    def main(A: T.Tensor((128, 128), "float16"), B: T.Tensor((64, 128), "float16"), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(ctas, threads=128) as pid:
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((64, 32), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            start = T.alloc_var("int32", init=pid * 8 // ctas)
            end = T.alloc_var("int32")
            while start < (pid + 1) * 8 // ctas:
                end = T.min(start + iterations - start % iterations, (pid + 1) * 8 // ctas)
                T.clear(C_local)
                for k in T.Pipelined(end - start, num_stages=2):
                    T.copy(A[start // iterations * 64, (start % iterations + k) * 32], A_shared)
                    T.copy(B[0, (start % iterations + k) * 32], B_shared)
                    T.gemm(A_shared, B_shared, C_local, transpose_B=True)
                for i, j in T.Parallel(64, 64):
                    T.atomic_add(C[start // iterations * 64 + i, j], C_local[i, j])
                start = end

    a, b, c = torch.randn(128, 128).half(), torch.randn(64, 128).half(), torch.zeros(128, 64)
    run(tilelang.compile(main), a, b, c)
    torch.testing.assert_close(c, a.float() @ b.float().T, atol=1e-3, rtol=1e-3)


def test_warpgroups_with_barriers_of_the_program() -> None:
    stages = 2

    @T.prim_func
    def main(A: T.Tensor((64, 128), "float16"), B: T.Tensor((128, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            A_shared = T.alloc_shared((stages, 64, 32), "float16")
            B_shared = T.alloc_shared((stages, 32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            full = T.alloc_barrier(arrive_count=[128] * stages)
            empty = T.alloc_barrier(arrive_count=[128] * stages)
            with T.ws(1):
                for k in range(4):
                    T.barrier_wait(empty[k % stages], (k // stages) % 2 ^ 1)
                    T.copy(A[0, k * 32], A_shared[k % stages, :, :])
                    T.copy(B[k * 32, 0], B_shared[k % stages, :, :])
                    T.barrier_arrive(full[k % stages])
            with T.ws(0):
                T.clear(C_local)
                for k in range(4):
                    T.barrier_wait(full[k % stages], (k // stages) % 2)
                    T.gemm(A_shared[k % stages, :, :], B_shared[k % stages, :, :], C_local)
                    T.barrier_arrive(empty[k % stages])
                T.copy(C_local, C)

    a, b = torch.randn(64, 128).half(), torch.randn(128, 64).half()
    found = run(tilelang.compile(main, out_idx=2), a, b)
    torch.testing.assert_close(found, a.float() @ b.float(), atol=1e-3, rtol=1e-3)


def test_a_convolution_reads_zeros_outside() -> None:
    @T.prim_func
    def main(data: T.Tensor((1, 6, 6, 32), "float16"), kernel: T.Tensor((3, 3, 32, 32), "float16"),
             out: T.Tensor((1, 6, 6, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128):
            rows = T.alloc_shared((64, 32), "float16")
            weights = T.alloc_shared((32, 32), "float16")
            sums = T.alloc_fragment((64, 32), "float32")
            flat = T.Tensor((288, 32), "float16", kernel.data)
            flat_out = T.Tensor((36, 32), "float32", out.data)
            T.clear(sums)
            for k in T.Pipelined(9, num_stages=2):
                for i, j in T.Parallel(64, 32):
                    y = i // 6 + k // 3 - 1
                    x = i % 6 + k % 3 - 1
                    inside = (y >= 0) and (x >= 0) and (y < 6) and (x < 6)
                    rows[i, j] = T.if_then_else(inside, data[0, y, x, j], 0)
                T.copy(flat[k * 32, 0], weights)
                T.gemm(rows, weights, sums)
            T.copy(sums, flat_out[0, 0])

    x, w = torch.randn(1, 6, 6, 32).half(), torch.randn(3, 3, 32, 32).half()
    wanted = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2).float(), w.permute(3, 2, 0, 1).float(), padding=1)
    found = run(tilelang.compile(main, out_idx=2), x, w)
    torch.testing.assert_close(found, wanted.permute(0, 2, 3, 1), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("roles", ["branches", "copy by all"])
def test_roles_by_the_number_of_the_thread(roles: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=256):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_shared = T.alloc_shared((64, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            ready = T.alloc_barrier(arrive_count=128)
            done = T.alloc_barrier(arrive_count=128)
            tx = T.get_thread_binding()
            T.clear(C_local)
            if tx < 128:
                for k in range(2):
                    T.mbarrier_wait_parity(done, (k + 1) % 2)
                    T.copy(A[0, k * 32], A_shared)
                    T.copy(B[k * 32, 0], B_shared)
                    T.mbarrier_arrive(ready)
            else:
                for k in range(2):
                    T.mbarrier_wait_parity(ready, k % 2)
                    T.gemm(A_shared, B_shared, C_local)
                    T.mbarrier_arrive(done)
                if roles == "branches":
                    T.copy(C_local, C)
            if roles != "branches":
                T.copy(C_local, C_shared)
                T.copy(C_shared, C)

    a, b = torch.randn(64, 64).half(), torch.randn(64, 64).half()
    found = run(tilelang.compile(main, out_idx=2), a, b)
    torch.testing.assert_close(found.float(), a.float() @ b.float(), atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("stages", [0, 2])
def test_a_product_that_arrives_at_the_programs_own_mbarrier(stages: int) -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 128), "bfloat16"), B: T.Tensor((64, 128), "bfloat16"),
             C: T.Tensor((128, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((128, 64), "bfloat16")
            B_shared = T.alloc_shared((64, 64), "bfloat16")
            C_tmem = T.alloc_tmem([128, 64], "float")
            C_local = T.alloc_fragment((128, 64), "float")
            mbar = T.alloc_barrier(1)
            for k in T.Pipelined(2, num_stages=stages):
                T.copy(A[0, k * 64], A_shared)
                T.copy(B[0, k * 64], B_shared)
                T.gemm(A_shared, B_shared, C_tmem, transpose_B=True, mbar=mbar, wg_wait=-1, clear_accum=k == 0)
                T.mbarrier_wait_parity(mbar, k % 2)
            T.copy(C_tmem, C_local)
            T.copy(C_local, C)

    a, b = torch.randn(128, 128).bfloat16(), torch.randn(64, 128).bfloat16()
    found = run(tilelang.compile(main, out_idx=2), a, b, gpu="b200")
    torch.testing.assert_close(found, a.float() @ b.float().T, atol=1e-3, rtol=1e-3)
