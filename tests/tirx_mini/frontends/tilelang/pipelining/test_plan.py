"""PlanPipelines: which loops become pipelines of warps, which begin copies ahead of time, and which do neither."""

from __future__ import annotations

from collections import Counter

import tirx_mini.tilelang.language as T
from tirx_mini.frontends.tilelang.pipelining import plan_pipelines
from tirx_mini.ir import Call, Hint, PrimFunc, ScopeIds, TileCall, walk

M, N, K = 256, 256, 512
BM, BN, BK = 128, 128, 64


def matmul(stages: int = 3, threads: int = 256, bk: int = BK, dtype: str = "float16") -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(N // BN, M // BM, threads=threads) as (bx, by):
            left = T.alloc_shared((BM, bk), dtype)
            right = T.alloc_shared((bk, BN), dtype)
            sums = T.alloc_fragment((BM, BN), "float32")
            T.clear(sums)
            for step in T.Pipelined(K // bk, num_stages=stages):
                T.copy(A[by * BM, step * bk], left)
                T.copy(B[step * bk, bx * BN], right)
                T.gemm(left, right, sums)
            T.copy(sums, C[by * BM, bx * BN])

    return kernel


def instructions(func: PrimFunc) -> Counter[str]:
    """How often each instruction and tile operation appears."""
    calls = Counter(node.op for node in walk(func.body) if isinstance(node, Call))
    return calls + Counter(node.op for node in walk(func.body) if isinstance(node, TileCall))


def threads_of(func: PrimFunc) -> int:
    return next(n.extents[0] for n in walk(func.body) if isinstance(n, ScopeIds) and n.kind == "thread")


def test_a_warpgroup_loads_for_two_of_consumers() -> None:
    func = plan_pipelines(matmul(), "sm_90a")
    assert threads_of(func) == 256 + 128
    found = instructions(func)
    assert found["copy_async"] == 2 and found["mbarrier.arrive.expect_tx"] == 1 and found["setmaxnreg.dec"] == 1
    assert found["mbarrier.init"] == 2 * 3 and found["tl.copy"] == 1


def test_a_warp_loads_for_one_warpgroup() -> None:
    func = plan_pipelines(matmul(threads=128), "sm_90a")
    assert threads_of(func) == 128 + 32 and instructions(func)["setmaxnreg.dec"] == 0


def test_products_stay_in_flight_where_wgmma_computes_them() -> None:
    waits = [n.option("wg_wait") for n in walk(plan_pipelines(matmul(), "sm_90a").body) if _is_gemm(n)]
    assert waits == [1]
    waits = [n.option("wg_wait") for n in walk(plan_pipelines(matmul(), "sm_100a").body) if _is_gemm(n)]
    assert waits == [0]
    waits = [n.option("wg_wait") for n in walk(plan_pipelines(matmul(stages=1), "sm_90a").body) if _is_gemm(n)]
    assert waits == [0]


def _is_gemm(node: object) -> bool:
    return isinstance(node, TileCall) and node.op == "tl.gemm"


def test_without_stages_a_loop_is_an_ordinary_one() -> None:
    func = plan_pipelines(matmul(stages=0), "sm_90a")
    assert threads_of(func) == 256 and instructions(func)["tl.copy"] == 3


def test_copies_begin_ahead_of_time_where_nothing_else_is_allowed() -> None:
    for func, arch in ((matmul(), "sm_80"), (matmul().with_attr("tl.disable_tma_lower", True), "sm_90a")):
        found = instructions(plan_pipelines(func, arch))
        assert found["tl.async_copy"] == 3 * 2 and found["cp.async.wait_group"] == 1 and found["mbarrier.init"] == 0


def test_rows_that_tma_cannot_address_are_loaded_by_all_threads() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((M, 100), "float16"), C: T.Tensor((M, 20), "float16")):
        with T.Kernel(M // BM, threads=128) as bx:
            tile = T.alloc_shared((BM, 20), "float16")
            sums = T.alloc_fragment((BM, 20), "float16")
            T.clear(sums)
            for step in T.Pipelined(5, num_stages=2):
                T.copy(A[bx * BM, step * 20], tile)
                for i, j in T.Parallel(BM, 20):
                    sums[i, j] += tile[i, j]
            T.copy(sums, C[bx * BM, 0])

    func = plan_pipelines(kernel, "sm_90a")
    assert threads_of(func) == 128 and instructions(func)["tl.copy"] == 2 and not _hints(func)


def _hints(func: PrimFunc) -> list[str]:
    return [node.message for node in walk(func.body) if isinstance(node, Hint)]


def test_tiles_used_outside_of_the_loop_are_not_loaded_ahead() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), C: T.Tensor((M, BK), "float16")):
        with T.Kernel(M // BM, threads=128) as bx:
            tile = T.alloc_shared((BM, BK), "float16")
            sums = T.alloc_fragment((BM, BK), "float16")
            T.clear(sums)
            for step in T.Pipelined(K // BK, num_stages=2):
                T.copy(A[bx * BM, step * BK], tile)
                for i, j in T.Parallel(BM, BK):
                    sums[i, j] += tile[i, j]
            T.copy(sums, tile)
            T.copy(tile, C[bx * BM, 0])

    assert instructions(plan_pipelines(kernel, "sm_90a"))["tl.copy"] == 3


def test_copies_whose_place_the_threads_compute_are_not_loaded_by_a_producer() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), rows: T.Tensor((8,), "int32"), C: T.Tensor((M, BK), "float16")):
        with T.Kernel(M // BM, threads=128) as bx:
            known = T.alloc_shared((8,), "int32")
            tile = T.alloc_shared((BM, BK), "float16")
            sums = T.alloc_fragment((BM, BK), "float16")
            T.clear(sums)
            T.copy(rows, known)
            for step in T.Pipelined(K // BK, num_stages=2):
                T.copy(A[known[step], step * BK], tile)
                for i, j in T.Parallel(BM, BK):
                    sums[i, j] += tile[i, j]
            T.copy(sums, C[bx * BM, 0])

    func = plan_pipelines(kernel, "sm_90a")
    assert threads_of(func) == 128 and instructions(func)["tl.copy"] == 3


def test_the_producer_follows_loops_and_variables_of_the_program() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), first: T.Tensor((2,), "int32"), C: T.Tensor((M, BK), "float16")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((BM, BK), "float16")
            sums = T.alloc_fragment((BM, BK), "float16")
            row = T.alloc_var("int32")
            for item in T.serial(2):
                row = first[item] * BM
                T.clear(sums)
                for step in T.Pipelined(K // BK, num_stages=2):
                    column = step * BK
                    T.copy(A[row, column], tile)
                    for i, j in T.Parallel(BM, BK):
                        sums[i, j] += tile[i, j]
                T.copy(sums, C[row, 0])

    func = plan_pipelines(kernel, "sm_90a")
    text = func.script()
    assert threads_of(func) == 160
    assert text.count("row = first[item] * 128") == 2 and text.count("column = step * 64") == 2
