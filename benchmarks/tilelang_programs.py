"""Programs in TileLang, for `tilelang_h100.py`: products of matrices and attention, as a user of TileLang writes them.

TileLang compiles this file as it is (`tilelang_builds.py`), and so does `tirx_mini.compat.tilelang`.
"""

import math

import tilelang.language as T  # pyright: ignore[reportMissingImports]


def matmul(
    m, n, k, block_m=128, block_n=256, block_k=64, stages=4, threads=256, dtype="float16", transposed=False,
    sums_dtype="float32", out_dtype=None,
):
    """C = A B, with A of M × K and B of K × N, or transposed of N × K; C has the type of A unless it is given."""
    rows, columns = (n, k) if transposed else (k, n)
    block = (block_n, block_k) if transposed else (block_k, block_n)

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((rows, columns), dtype),
        C: T.Tensor((m, n), out_dtype or dtype),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (bx, by):
            left = T.alloc_shared((block_m, block_k), dtype)
            right = T.alloc_shared(block, dtype)
            sums = T.alloc_fragment((block_m, block_n), sums_dtype)
            T.use_swizzle(10)
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                T.copy(A[by * block_m, step * block_k], left)
                if transposed:
                    T.copy(B[bx * block_n, step * block_k], right)
                else:
                    T.copy(B[step * block_k, bx * block_n], right)
                T.gemm(left, right, sums, transpose_B=transposed)
            T.copy(sums, C[by * block_m, bx * block_n])

    return kernel


def attention(batch, heads, length, dim, causal=False, block_m=128, block_n=128, stages=2, threads=256):
    """softmax(Q Kᵀ / √dim) V, for arrays of batch × length × heads × dim, by online softmax."""
    scale = math.log2(math.e) / math.sqrt(dim)
    shape = (batch, length, heads, dim)
    dtype, wide = "float16", "float32"

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        Output: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.ceildiv(length, block_m), heads, batch, threads=threads) as (bx, head, item):
            queries = T.alloc_shared((block_m, dim), dtype)
            keys = T.alloc_shared((block_n, dim), dtype)
            values = T.alloc_shared((block_n, dim), dtype)
            scores = T.alloc_fragment((block_m, block_n), wide)
            weights = T.alloc_fragment((block_m, block_n), dtype)
            result = T.alloc_fragment((block_m, dim), wide)
            largest = T.alloc_fragment((block_m,), wide)
            before = T.alloc_fragment((block_m,), wide)
            shrink = T.alloc_fragment((block_m,), wide)
            total = T.alloc_fragment((block_m,), wide)
            added = T.alloc_fragment((block_m,), wide)

            T.copy(Q[item, bx * block_m : (bx + 1) * block_m, head, :], queries)
            T.clear(result)
            T.clear(total)
            T.fill(largest, -T.infinity(wide))
            steps = T.ceildiv((bx + 1) * block_m, block_n) if causal else T.ceildiv(length, block_n)
            for step in T.Pipelined(steps, num_stages=stages):
                T.copy(K[item, step * block_n : (step + 1) * block_n, head, :], keys)
                if causal:
                    for i, j in T.Parallel(block_m, block_n):
                        seen = bx * block_m + i >= step * block_n + j
                        scores[i, j] = T.if_then_else(seen, 0, -T.infinity(wide))
                else:
                    T.clear(scores)
                T.gemm(queries, keys, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    shrink[i] = T.exp2(before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, added, dim=1)
                for i in T.Parallel(block_m):
                    total[i] = total[i] * shrink[i] + added[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_m, dim):
                    result[i, j] *= shrink[i]
                T.copy(V[item, step * block_n : (step + 1) * block_n, head, :], values)
                T.gemm(weights, values, result, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_m, dim):
                result[i, j] /= total[i]
            T.copy(result, Output[item, bx * block_m : (bx + 1) * block_m, head, :])

    return kernel
