"""Launches of the programs of this folder, and NumPy's values of their results."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from tirx_mini import TensorMap

from .seeded import BARRIER, BOUNDS, HANG, RACE, WARP, Launch, Program, Work


def _floats(rng: Generator, *shape: int) -> np.ndarray:
    return rng.random(shape, dtype=np.float32)


def _keys(rng: Generator, count: int, below: int) -> np.ndarray:
    return rng.integers(0, below, count, dtype=np.int32)


def _like(x: np.ndarray, *shape: int) -> np.ndarray:
    return np.zeros(shape or x.shape, x.dtype)


def _one(kernel: str, args: list, result: np.ndarray, expected: np.ndarray, **launch: object) -> Work:
    return Work([Launch(kernel, args, **launch)], [(result, expected)])  # type: ignore[arg-type]


def reduce_shared(rng: Generator) -> Work:
    x, out = _floats(rng, 250), np.zeros(2, np.float32)
    return _one("reduce", [x, out, 250], out, np.array([x[:128].sum(), x[128:].sum()]), grid=(2,), block=(128,))


def reduce_shuffle(rng: Generator) -> Work:
    x, out = _floats(rng, 300), np.zeros(2, np.float32)
    both = np.pad(x, (0, 84)).reshape(-1, 2, 64).sum((0, 2))
    return _one("reduce", [x, out, 300], out, both, grid=(2,), block=(64,))


def reduce_last_block(rng: Generator) -> Work:
    x, out = _floats(rng, 180), np.zeros(1, np.float32)
    return _one("reduce", [x, np.zeros(3, np.float32), out, 180], out, x.sum(keepdims=True), grid=(3,), block=(64,))


def reduce_unrolled(rng: Generator) -> Work:
    x, out = _keys(rng, 256, 100), np.zeros(2, np.int32)
    return _one("reduce<128u>", [x, out], out, x.reshape(2, 128).sum(1), grid=(2,), block=(128,))


def sum_grid_stride(rng: Generator) -> Work:
    x, out = _floats(rng, 200), np.zeros(1, np.float32)
    return _one("total", [x, out, 200], out, x.sum(keepdims=True), grid=(2,), block=(64,))


def scan_hillis_steele(rng: Generator) -> Work:
    x = _keys(rng, 64, 10)
    out = _like(x)
    return _one("scan", [x, out, 64], out, x.cumsum(), block=(64,), smem=512)


def scan_blelloch(rng: Generator) -> Work:
    x = _keys(rng, 128, 10)
    out = _like(x)
    return _one("exclusive_scan", [x, out], out, x.cumsum() - x, block=(64,))


def scan_lookback(rng: Generator) -> Work:
    x = _keys(rng, 192, 10)
    out = _like(x)
    flags, aggregates, prefixes = (np.zeros(3, np.int32) for _ in range(3))
    return _one("scan", [x, out, flags, aggregates, prefixes], out, x.cumsum(), grid=(3,), block=(64,))


def histogram_shared(rng: Generator) -> Work:
    data, bins = rng.integers(0, 256, 500, dtype=np.uint8), np.zeros(64, np.uint32)
    return _one("histogram", [data, bins, 500], bins, np.bincount(data % 64, minlength=64), grid=(2,), block=(64,))


def histogram_private(rng: Generator) -> Work:
    keys, bins = _keys(rng, 300, 32), np.zeros(32, np.int32)
    return _one("histogram", [keys, bins, 300], bins, np.bincount(keys, minlength=32), block=(128,))


def transpose_padded(rng: Generator) -> Work:
    x, out = _floats(rng, 20, 40), np.zeros((40, 20), np.float32)
    return _one("transpose", [x, out, 40, 20], out, x.T, grid=(2, 1), block=(32, 8))


def transpose_swizzled(rng: Generator) -> Work:
    x = _floats(rng, 32, 32)
    out = _like(x)
    return _one("transpose<float>", [x, out, 32], out, x.T, grid=(2, 2), block=(16, 16))


def stencil_halo(rng: Generator) -> Work:
    x = _floats(rng, 128)
    out, weights = _like(x), np.array([0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05])
    return _one("stencil", [x, out, 128], out, np.convolve(x, weights, "same"), grid=(2,), block=(64,))


def stencil_25d(rng: Generator) -> Work:
    x = _floats(rng, 3, 8, 8)
    out, p = _like(x), np.pad(x, 1)
    near = p[:-2, 1:-1, 1:-1] + p[2:, 1:-1, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 2:, 1:-1]
    near = near + p[1:-1, 1:-1, :-2] + p[1:-1, 1:-1, 2:]
    return _one("stencil", [x, out, 8, 8, 3], out, near - 6 * x, block=(8, 8))


def matmul_naive(rng: Generator) -> Work:
    a, b, c = _floats(rng, 10, 5), _floats(rng, 5, 12), np.zeros((10, 12), np.float32)
    return _one("matmul", [a, b, c, 10, 12, 5], c, a @ b, grid=(2, 2), block=(8, 8))


def matmul_tiled(rng: Generator) -> Work:
    a, b = _floats(rng, 16, 16), _floats(rng, 16, 16)
    c = _like(a)
    return _one("matmul<8>", [a, b, c, 16], c, a @ b, grid=(2, 2), block=(8, 8))


def matmul_registers(rng: Generator) -> Work:
    a, b, c = _floats(rng, 32, 16), _floats(rng, 16, 64), np.zeros((32, 64), np.float32)
    return _one("sgemm", [32, 64, 16, a, b, c], c, a @ b, grid=(2, 1), block=(64,))


def matmul_cp_async(rng: Generator) -> Work:
    a, b = _floats(rng, 48, 48), _floats(rng, 48, 48)
    c = np.zeros((16, 48), np.float32)
    return _one("matmul", [a, b, c, 48], c, (a @ b)[:16], grid=(3, 1), block=(64,))


def mma_ldmatrix(rng: Generator) -> Work:
    a, b, d = _floats(rng, 16, 16), _floats(rng, 16, 8), np.zeros((16, 8), np.float32)
    a, b = a.astype(np.float16), b.astype(np.float16)
    return _one("mma", [a, b, d], d, a.astype(np.float32) @ b.astype(np.float32))


def wmma_bias(rng: Generator) -> Work:
    a, b, bias = _floats(rng, 16, 32) - 0.5, _floats(rng, 32, 32) - 0.5, _floats(rng, 32) - 0.5
    a, b, d = a.astype(np.float16), b.astype(np.float16), np.zeros((16, 32), np.float32)
    expected = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0)
    return _one("gemm", [a, b, bias, d, 32, 32], d, expected, grid=(2, 1))


def tma_tile(rng: Generator) -> Work:
    x = _floats(rng, 16, 64)
    out = _like(x)
    maps = [TensorMap(x, box=(32, 8)), TensorMap(out, box=(32, 8))]
    return _one("add_one", maps, out, x + 1, grid=(2, 2), block=(64,))


def bulk_pipeline(rng: Generator) -> Work:
    x, out = _floats(rng, 5, 32), np.zeros(32, np.float32)
    return _one("sum_chunks", [x, out, 5], out, x.sum(0), block=(64,))


def bulk_release(rng: Generator) -> Work:
    x = _keys(rng, 6 * 64, 100)
    out = _like(x)
    return _one("square", [x, out, 6], out, x * x, block=(96,))


def _wgmma(rng: Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    a, b = _floats(rng, 64, 32).astype(np.float16), _floats(rng, 8, 32).astype(np.float16)
    return a, b, np.zeros((64, 8), np.float32), a.astype(np.float32) @ b.astype(np.float32).T


def wgmma_tile(rng: Generator) -> Work:
    a, b, d, expected = _wgmma(rng)
    return _one("gemm", [a, b, d], d, expected, block=(128,))


def wgmma_steps(rng: Generator) -> Work:
    a, b, d, expected = _wgmma(rng)
    return _one("gemm", [a, b, d, 32], d, expected, block=(128,))


def cg_tiles(rng: Generator) -> Work:
    x, sums, maxima = _keys(rng, 128, 50), np.zeros(16, np.int32), np.zeros(2, np.int32)
    expected = x.reshape(16, 8).sum(1)
    launch = Launch("segments", [x, sums, maxima], (2,), (64,))
    return Work([launch], [(sums, expected), (maxima, expected.reshape(2, 8).max(1))])


def cg_grid(rng: Generator) -> Work:
    x, total = _floats(rng, 100), np.zeros(1, np.float32)
    out = _like(x)
    return _one("normalise", [x, out, total, 100], out, x / x.sum(), grid=(2,), block=(64,))


def grid_barrier(rng: Generator) -> Work:
    a, b = _floats(rng, 128), np.zeros(128, np.float32)
    half = (np.roll(a, 1) + np.roll(a, -1)) / 2
    return _one("relax", [a, b, 128], a, (np.roll(half, 1) + np.roll(half, -1)) / 2, grid=(2,), block=(64,))


def cuda_barrier(rng: Generator) -> Work:
    x = _keys(rng, 64, 5)
    out, value = _like(x), x
    for _ in range(2):
        value = value * value + np.roll(value, -1)
    return _one("exchange", [x, out, 2], out, value, block=(64,))


def cuda_pipeline(rng: Generator) -> Work:
    x, out = _floats(rng, 4, 64), np.zeros(64, np.float32)
    return _one("batches", [x, out, 4], out, (x + np.roll(x, -1, 1)).sum(0), block=(64,))


def cuda_ptx(rng: Generator) -> Work:
    x = _floats(rng, 256)
    y = _like(x)
    return _one("scale", [x, y, 3.0], y, 3 * x, grid=(2,), block=(64,))


def cluster_histogram(rng: Generator) -> Work:
    keys, bins = _keys(rng, 200, 64), np.zeros(64, np.int32)
    return _one("histogram", [keys, bins, 200], bins, np.bincount(keys, minlength=64), grid=(2,), block=(64,))


def cluster_halo(rng: Generator) -> Work:
    x = _floats(rng, 2, 64)
    out = _like(x)
    expected = np.roll(x.reshape(-1), -4).reshape(2, 64)
    return _one("shift", [x, out], out, expected, grid=(2,), block=(64,), cluster=2)


def named_barriers(rng: Generator) -> Work:
    x = _keys(rng, 128, 100).reshape(4, 32)
    out = _like(x)
    return _one("transfer", [x, out], out, x[:, ::-1] + np.arange(4)[:, None], block=(64,))


def bitonic_sort(rng: Generator) -> Work:
    keys = _keys(rng, 64, 1000)
    return _one("sort", [keys], keys, np.sort(keys), block=(64,), smem=256)


def radix_step(rng: Generator) -> Work:
    keys = rng.integers(0, 16, 64, dtype=np.uint32)
    out = _like(keys)
    return _one("split", [keys, out, 2], out, keys[np.argsort(keys >> 2 & 1, kind="stable")], block=(64,))


def softmax(rng: Generator) -> Work:
    x = _floats(rng, 2, 100)
    y, e = _like(x), np.exp(x)
    return _one("softmax", [x, y, 100], y, e / e.sum(1, keepdims=True), grid=(2,), block=(64,))


def layer_norm(rng: Generator) -> Work:
    x, gamma, beta = _floats(rng, 3, 48), _floats(rng, 48), _floats(rng, 48)
    y = _like(x)
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta
    return _one("layer_norm", [x, gamma, beta, y, 3, 48], y, expected, grid=(2,), block=(64,))


def matrix_vector(rng: Generator) -> Work:
    a, x, y = _floats(rng, 6, 160), _floats(rng, 160), np.zeros(6, np.float32)
    return _one("gemv", [a, x, y, 6, 40], y, a @ x, grid=(2,), block=(128,))


def spmv_csr(rng: Generator) -> Work:
    dense = rng.random((40, 24)) * (rng.random((40, 24)) < 0.2)
    rows, columns = np.nonzero(dense)
    start = np.concatenate([[0], np.bincount(rows, minlength=40).cumsum()]).astype(np.int32)
    x, y = rng.random(24), np.zeros(40)
    args = [40, start, columns.astype(np.int32), dense[rows, columns], x, y]
    return _one("spmv", args, y, dense @ x, grid=(2,), block=(32,))


def compact_ballot(rng: Generator) -> Work:
    x, out, count = _keys(rng, 50, 20) - 10, np.zeros(50, np.int32), np.zeros(1, np.int32)
    kept = x[x > 0]
    launch = Launch("compact", [x, out, count, 50], (1,), (64,))
    return Work([launch], [(count, np.array([len(kept)]))])


def bfs_step(rng: Generator) -> Work:
    first, edges = np.array([0, 3, 6, 8, 8, 8, 8], np.int32), np.array([2, 3, 4, 3, 4, 5, 0, 1], np.int32)
    distance, following, size = np.array([0, 0, -1, -1, -1, -1], np.int32), np.zeros(8, np.int32), np.zeros(1, np.int32)
    args = [np.array([0, 1], np.int32), 2, first, edges, distance, following, size, 1]
    launch = Launch("expand", args, (1,), (32,))
    return Work([launch], [(distance, np.array([0, 0, 1, 1, 1, 1])), (size, np.array([4]))])


def monte_carlo(rng: Generator) -> Work:
    states = np.array([(12345 + 0x9E3779B9 * (i + 1)) & 0xFFFFFFFF for i in range(128)], np.uint32)

    def draw() -> np.ndarray:
        nonlocal states
        states = states ^ states << np.uint32(13)
        states = states ^ states >> np.uint32(17)
        states = states ^ states << np.uint32(5)
        return states.astype(np.float32) * np.float32(2.3283064e-10)

    count = sum(int((draw() ** 2 + draw() ** 2 < 1)[:100].sum()) for _ in range(4))
    hits = np.zeros(1, np.uint64)
    return _one("inside", [12345, 4, hits, 100], hits, np.array([count]), grid=(2,), block=(64,))


def spin_lock(rng: Generator) -> Work:
    account, amounts = np.zeros(3, np.int32), _keys(rng, 4, 100)
    return _one("deposit", [account, amounts], account, np.array([0, amounts.sum(), 4]), grid=(4,), block=(32,))


def ring_buffer(rng: Generator) -> Work:
    x, out = _keys(rng, 10, 100), np.zeros(10, np.int32)
    args = [x, out, np.zeros(4, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32), 10]
    return _one("channel", args, out, 2 * x, grid=(2,), block=(32,))


def jacobi(rng: Generator) -> Work:
    a, b, largest = _floats(rng, 100), np.zeros(100, np.float32), np.zeros(1, np.int32)
    one, two = a.copy(), a.copy()
    one[1:-1] = (a[:-2] + a[2:]) / 2
    two[1:-1] = (one[:-2] + one[2:]) / 2
    sweeps = [Launch("sweep", [x, y, 100], (2,), (64,)) for x, y in ((a, b), (b, a))]
    change = Launch("change", [a, b, largest, 100], (2,), (64,))
    difference = np.abs(two - one).max(keepdims=True).astype(np.float32)
    return Work([*sweeps, change], [(a, two), (largest.view(np.float32), difference)])


PROGRAMS = (
    Program("reduce_shared", reduce_shared, RACE),
    Program("reduce_shuffle", reduce_shuffle, RACE),
    Program("reduce_last_block", reduce_last_block, RACE),
    Program("reduce_unrolled", reduce_unrolled, RACE),
    Program("sum_grid_stride", sum_grid_stride, RACE),
    Program("scan_hillis_steele", scan_hillis_steele, RACE),
    Program("scan_blelloch", scan_blelloch, (*BOUNDS, *RACE)),
    Program("scan_lookback", scan_lookback, RACE),
    Program("histogram_shared", histogram_shared, RACE),
    Program("histogram_private", histogram_private, BOUNDS),
    Program("transpose_padded", transpose_padded, BOUNDS),
    Program("transpose_swizzled", transpose_swizzled, RACE),
    Program("stencil_halo", stencil_halo, BOUNDS),
    Program("stencil_25d", stencil_25d, RACE),
    Program("matmul_naive", matmul_naive, (*BOUNDS, *RACE)),
    Program("matmul_tiled", matmul_tiled, RACE),
    Program("matmul_registers", matmul_registers, BOUNDS),
    Program("matmul_cp_async", matmul_cp_async, RACE),
    Program("mma_ldmatrix", mma_ldmatrix, RACE),
    Program("wmma_bias", wmma_bias, RACE),
    Program("tma_tile", tma_tile, ("TX106",)),
    Program("bulk_pipeline", bulk_pipeline, ("TX108", "TX126", *HANG)),
    Program("bulk_release", bulk_release, (*RACE, *BARRIER)),
    Program("wgmma_tile", wgmma_tile, ("TX212",), "sm_90a"),
    Program("wgmma_steps", wgmma_steps, ("TX202",), "sm_90a"),
    Program("cg_tiles", cg_tiles, RACE),
    Program("cg_grid", cg_grid, RACE),
    Program("grid_barrier", grid_barrier, RACE),
    Program("cuda_barrier", cuda_barrier, HANG),
    Program("cuda_pipeline", cuda_pipeline, RACE),
    Program("cuda_ptx", cuda_ptx, ("TX202",)),
    Program("cluster_histogram", cluster_histogram, RACE),
    Program("cluster_halo", cluster_halo, ("TX209", *RACE)),
    Program("named_barriers", named_barriers, (*HANG, *BARRIER)),
    Program("bitonic_sort", bitonic_sort, RACE),
    Program("radix_step", radix_step, (*BOUNDS, *RACE)),
    Program("softmax", softmax, RACE),
    Program("layer_norm", layer_norm, WARP),
    Program("matrix_vector", matrix_vector, BOUNDS),
    Program("spmv_csr", spmv_csr, BOUNDS),
    Program("compact_ballot", compact_ballot, (*WARP, *HANG)),
    Program("bfs_step", bfs_step, RACE),
    Program("monte_carlo", monte_carlo, (*HANG, *WARP)),
    Program("spin_lock", spin_lock, RACE),
    Program("ring_buffer", ring_buffer, RACE),
    Program("jacobi", jacobi, RACE),
)
