"""The tensorised matmul of a schedule on a Hopper GPU, beside step 3 of the course and cuBLAS.

    PYTHONPATH=. python3 benchmarks/te_tensorized_h100.py [SIZE …]     # 1024 2048 4096 without arguments
    PYTHONPATH=. python3 benchmarks/te_tensorized_h100.py --predict    # by the simulator's clock: no GPU

The schedule is that of the third exercise of lessons/tir.md with larger tiles, and eight warps to a thread block. All
results are compared with torch.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import tirx_mini as tvm
from tirx_mini import te

ROUNDS, REPEATS = 7, 20
DEPTH = 64
"""The part of K that is in shared memory."""


def tiles(n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The tiles of C of a thread block and of a warp: small ones where large ones leave SMs without work."""
    return ((128, 128), (64, 32)) if n >= 2048 else ((128, 64), (32, 32))


def tensorised(
    n: int, block: tuple[int, int] | None = None, warp: tuple[int, int] | None = None, depth: int = DEPTH
) -> tuple[te.Schedule, list[te.Tensor]]:
    """C = A B in float32 from float16 matrices of n × n, by `mma` of 16 × 8 × 16, in `tiles` by default."""
    block, warp = block or tiles(n)[0], warp or tiles(n)[1]
    A, B = (te.placeholder((n, n), "float16", name) for name in "AB")
    k = te.reduce_axis((0, n), "k")
    C = te.compute(
        (n, n), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C"
    )
    s = te.create_schedule(C.op)
    CF = s.cache_write(C, "wmma.accumulator")
    copies = [s.cache_read(tensor, "shared", [CF]) for tensor in (A, B)]
    lanes, columns_of_warps, rows_of_warps = (te.thread_axis(f"threadIdx.{axis}") for axis in "xyz")
    i, j = C.op.axis
    io, jo, ii, ji = s[C].tile(i, j, *block)
    wi, wj, ii, ji = s[C].tile(ii, ji, *warp)
    for axis, index in ((io, "blockIdx.y"), (jo, "blockIdx.x")):
        s[C].bind(axis, te.thread_axis(index))
    s[C].bind(wi, rows_of_warps)
    s[C].bind(wj, columns_of_warps)
    si, sj, first, _ = s[C].tile(ii, ji, 16, 8)
    s[C].unroll(si)
    s[C].unroll(sj)
    s[C].tensorize(first, te.mma_store())
    s[CF].compute_at(s[C], wj)
    ko, ki = s[CF].split(CF.op.reduce_axis[0], factor=depth)
    kt, ki = s[CF].split(ki, factor=16)
    i, j = CF.op.axis
    it, jt, ii, ji = s[CF].tile(i, j, 16, 8)
    s[CF].reorder(ko, kt, it, jt, ii, ji, ki)
    for axis in (kt, it, jt):
        s[CF].unroll(axis)
    s[CF].tensorize(ii, te.mma())
    warps = block[0] // warp[0], block[1] // warp[1]
    for copy in copies:
        stage = s[copy]
        stage.compute_at(s[CF], ko)
        rows, columns = copy.op.axis
        columns, vector = stage.split(columns, factor=8)
        rest, lane = stage.split(stage.fuse(rows, columns), factor=32)
        rest, column = stage.split(rest, factor=warps[1])
        rest, row = stage.split(rest, factor=warps[0])
        stage.unroll(rest)
        stage.vectorize(vector)
        for axis, index in ((lane, lanes), (column, columns_of_warps), (row, rows_of_warps)):
            stage.bind(axis, index)
        stage.storage_align(copy.op.axis[0], factor=64, offset=8)
    return s, [A, B, C]


def predict(n: int) -> None:
    """The time by the simulator's clock."""
    s, args = tensorised(n)
    func = te.lower(s, args).main
    report = tvm.simulate(func, None, None, None, gpu="h100", data=False, sampled=True)
    taken = report.time_us or float("nan")
    print(f"{n}: {taken:.1f} us, {2e-6 * n**3 / taken:.0f} TFLOPS predicted ({report.verdict})")


def step_3(n: int) -> Callable[..., Any]:
    """The course's kernel: D = A Bᵀ."""
    from kernels_ref.sm90.step03_tiling import hgemm_v3

    return tvm.compile(tvm.IRModule({"main": hgemm_v3(n, n, n)}), target="cuda")


def measure(n: int) -> None:
    """The least medians of rounds in which all take turns."""
    import torch

    a, b = (torch.randn((n, n), device="cuda", dtype=torch.float32).half() for _ in range(2))
    c, d = (torch.empty((n, n), device="cuda", dtype=dtype) for dtype in (torch.float32, torch.float16))
    transposed = b.T.contiguous()
    schedule, args = tensorised(n)
    ours, step = te.build(schedule, args, target="cuda"), step_3(n)
    candidates = {
        "schedule": lambda: ours(a, b, c),
        "step 3": lambda: step(a, transposed, d),
        "cuBLAS": lambda: torch.mm(a, b, out=d),
    }
    want = a.float() @ b.float()
    for name, launch in candidates.items():
        launch()
        torch.testing.assert_close((c if name == "schedule" else d).float(), want, rtol=2e-2, atol=2e-2 * n**0.5)
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(ROUNDS):
        for name, launch in candidates.items():
            times[name].append(_microseconds(launch))
    base = statistics.median(times["step 3"])
    for name, taken in times.items():
        us = statistics.median(taken)
        print(f"{n} {name:9} {us:8.1f} us {2e-6 * n**3 / us:7.1f} TFLOPS  {base / us:5.2f} x step 3", flush=True)


def _microseconds(launch: Callable[[], Any]) -> float:
    """The time of a launch in a CUDA graph of several."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(REPEATS):
                launch()
        graph.replay()
        torch.cuda.synchronize()
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3 / REPEATS


def main(arguments: list[str]) -> None:
    """Print a row for each size and candidate."""
    sizes = [int(word) for word in arguments if word.isdigit()] or [1024, 2048, 4096]
    begun = time.perf_counter()
    for n in sizes:
        predict(n) if "--predict" in arguments else measure(n)
    print(f"{time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])

