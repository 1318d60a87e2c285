"""The kernel for every shape beside the faster of cuBLAS and cuBLASLt, in four classes of drawn shapes, on this GPU.

    PYTHONPATH=. python3 benchmarks/h100_classes.py --draw 1                 # ten shapes of each class; minutes
    PYTHONPATH=. python3 benchmarks/h100_classes.py --classes c,d --count 4 --rounds 60 --csv classes.csv
    PYTHONPATH=. python3 benchmarks/h100_classes.py --shapes 320x320x16384,1x8192x8192

The classes: (a) more than 1e11 operations; (b) M from 17 to 512; (c) fewer than 132 tiles of 128 × 128 and K from 8192;
(d) M up to 16. In class (d), a kernel takes part that loads B by TMA and does nothing else.

The contestants take turns within a round, in a seeded order, after 0.3 s of the same contest. Before each launch, a
buffer larger than the L2 is written and read, and a kernel that only waits occupies the GPU until the launch is queued.
The time of two events with nothing between them is subtracted. Ratio: the peer's time over ours, the median over the
rounds, with its 95 % interval. In a row: the same, of the launches of a CUDA graph. Error: the largest difference from
a float64 product over 64 rows, over |A| |B|ᵀ · 2⁻²⁴ · √K, of ours and of the peer's.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernels_ref.sm90.extra_every_shape import hgemm
from kernels_ref.sm90.extra_plans import DTYPE_SIZE, SM_COUNT, plan
from tirx_mini.course import Shape, shape_text
from tirx_mini.ending import command
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.pool import in_order, spread
from tirx_mini.script import tirx as Tx

DTYPE = "float16"
WARM_S = 0.3
ROW_MS = 4.0
OURS, READER = "every shape", "reader"
PEERS = ("cublas", "cublaslt")
HEAD = ("class", "m", "n", "k", "us", "peer", "peer_us", "cold", "row", "read", "error", "peer_error")
FEW_ROWS = 16
BLK_N, BLK_K, DEPTH = 64, 128, 12


def drawn(letter: str, count: int, seed: int) -> list[Shape]:
    """Shapes of a class. N and K are multiples of 8, M is any number."""
    rng = random.Random(f"{letter}{seed}")

    def size(low: int, high: int, step: int = 8) -> int:
        return round(math.exp(rng.uniform(math.log(low), math.log(high))) / step) * step

    def draw() -> Shape:
        if letter == "a":
            return size(1024, 9000, 1), size(1024, 9000), size(1024, 9000)
        if letter == "b":
            return size(17, 512, 1), size(512, 16384), size(512, 16384)
        if letter == "c":
            return size(64, 1400, 1), size(64, 1400), size(8192, 40000)
        return rng.randint(1, FEW_ROWS), size(2048, 28672), size(2048, 16384)

    def is_member(m: int, n: int, k: int) -> bool:
        flop = 2 * m * n * k
        return {
            "a": 1e11 < flop < 1.2e12, "b": flop < 1e11, "c": -(-m // 128) * -(-n // 128) < SM_COUNT,
            "d": n * k * DTYPE_SIZE > 20e6,
        }[letter]  # fmt: skip

    found: list[Shape] = []
    while len(found) < count:
        shape = draw()
        if is_member(*shape):
            found.append(shape)
    return found


def reader(M: int, N: int, K: int, dtype: str) -> PrimFunc:
    """A kernel that loads each byte of B once by TMA, as many at a time as shared memory holds, and stores a few zeros.

    Its CTAs share the tiles of B evenly, as those of the kernel for few rows do.
    """
    K_TILES = math.ceil(K / BLK_K)
    UNITS = math.ceil(N / BLK_N) * K_TILES
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (DEPTH, BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            thread = Tx.thread_id([32], parent="cta")
            pool = Tx.PoolAllocator()
            loaded = TMABar(pool, DEPTH, "loaded")
            Bsmem = pool.alloc((DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            loaded.init(1)
            Tx.ptx.fence.mbarrier_init()
            Tx.ptx.fence.proxy_async("shared::cta")
            position = PipelineState("position", DEPTH)
            position.init(is_producer=False)
            begin = bx * UNITS // SM_COUNT
            end = (bx + 1) * UNITS // SM_COUNT

            @Tx.inline
            def load(stage, unit):
                row, k = Tx.meta_var((unit // K_TILES * BLK_N, unit % K_TILES * BLK_K))
                loaded.arrive(stage, BLK_N * BLK_K * DTYPE_SIZE)
                Tx.copy_async(
                    Bsmem[stage, :, :], B[row : row + BLK_N, k : k + BLK_K],
                    dispatch="tma", mbar=loaded.ptr_to([stage]), cache_hint="evict_first",
                )

            if thread == 0:
                Tx.ptx.griddepcontrol.wait()
                for ahead in range(Tx.min(DEPTH, end - begin)):
                    load(ahead, begin + ahead)
                for unit in range(begin, end):
                    loaded.wait(position.stage, position.phase)
                    if unit + DEPTH < end:
                        load(position.stage, unit + DEPTH)
                    position.move_to_next_stage()
                D[0, bx] = Tx.cast(0.0, dtype)

    return kernel


@dataclass(frozen=True)
class Measured:
    """One shape. us: medians of single cold launches; ratios and intervals of the peer's time to ours; errors."""

    shape: Shape
    peer: str
    us: dict[str, float]
    cold: tuple[float, float, float]
    row: tuple[float, float, float]
    read: float
    error: float
    peer_error: float


def build(shape: Shape) -> str:
    """Compile the kernels of a shape into the cache; what is wrong, or nothing."""
    from ladder import compiled

    from tirx_mini.hardware import H100

    complaint = compiled(hgemm(*shape, dtype=DTYPE), f"{OURS} at {shape_text(shape)}", H100)
    if shape[0] <= FEW_ROWS:
        complaint += compiled(reader(*shape, DTYPE), f"{READER} at {shape_text(shape)}", H100)
    return complaint


def by_backend(name: str, launch: Callable[[], Any]) -> None:
    """Call torch with one of the two libraries."""
    import torch

    torch.backends.cuda.preferred_blas_library(name)
    launch()


def median_of(peer: list[float], own: list[float]) -> tuple[float, float, float]:
    """The median of the ratios, and the ends of its 95 % interval by order statistics."""
    ratios = sorted(a / b for a, b in zip(peer, own, strict=True))
    middle, reach = len(ratios) / 2, 0.98 * math.sqrt(len(ratios))
    low, high = max(0, math.floor(middle - reach)), min(len(ratios) - 1, math.ceil(middle + reach))
    return statistics.median(ratios), ratios[low], ratios[high]


def error_of(d: Any, a: Any, b: Any, bits: int = 11) -> float:
    """The largest difference of 64 drawn rows from the product in float64, in units of the rounding of float32 sums.

    bits: of the mantissa of D's type, with the one that is not stored."""
    import torch

    rows = torch.randperm(len(a), generator=torch.Generator().manual_seed(0))[:64].to(a.device)
    worst = 0.0
    for part in range(0, len(b), 4096):
        block = b[part : part + 4096].double()
        exact, size = a[rows].double() @ block.t(), a[rows].double().abs() @ block.abs().t()
        # Rounding to the type of D is not an error of the sums.
        off = ((d[rows, part : part + 4096].double() - exact).abs() - exact.abs() * 2.0**-bits).clamp(min=0)
        worst = max(worst, (off / (size * 2.0**-24 * math.sqrt(a.shape[1]))).max().item())
    return worst


def measure(shape: Shape, rounds: int, flush: Any) -> Measured | None:
    """Ours and the peers in turn; None where ours is wrong."""
    import torch
    from contest import Contest

    import tirx_mini as tvm
    from tirx_mini.runtime import LaunchGraph, cold_us, in_turn

    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.preferred_blas_library(PEERS[0])  # to compare with
    contest = Contest(shape, DTYPE)
    library = contest.entries.pop("cuBLAS")
    contest.enter_factory(OURS, hgemm)
    if OURS not in contest.entries:
        return None
    launches = contest.entries | {name: partial(by_backend, name, library) for name in PEERS}
    if shape[0] <= FEW_ROWS:
        exe = tvm.compile(tvm.IRModule({"main": reader(*shape, DTYPE)}), target="cuda:sm_90a")
        scratch = torch.empty_like(contest.d)
        launches[READER] = lambda: exe(contest.a, contest.b, scratch)
    cold = {name: partial(cold_us, launch, flush, clean=True) for name, launch in launches.items()}
    until = time.perf_counter() + WARM_S
    while time.perf_counter() < until:
        in_turn(cold, 1)
    nothing = statistics.median(cold_us(lambda: None, flush, clean=True) for _ in range(20))
    times = {name: [us - nothing for us in found] for name, found in in_turn(cold, rounds).items()}
    us = {name: statistics.median(found) for name, found in times.items()}
    peer = min(PEERS, key=lambda name: us[name])
    repeat = max(4, round(ROW_MS * 1e3 / us[peer]))
    graphs = {name: LaunchGraph(launches[name], repeat) for name in (OURS, peer)}
    row = in_turn({name: graph.ms for name, graph in graphs.items()}, max(8, rounds // 3))
    read = us[READER] / us[OURS] if READER in us else math.nan
    launches[OURS]()
    launches[peer]()
    torch.cuda.synchronize()
    errors = (error_of(d, contest.a, contest.b) for d in (contest.d, contest.want))
    return Measured(
        shape, peer, us, median_of(times[peer], times[OURS]), median_of(row[peer], row[OURS]), read, *errors
    )


def described(letter: str, found: Measured) -> Iterator[str]:
    chosen = plan(*found.shape)
    yield f"{letter} {shape_text(found.shape):>20} {found.us[OURS]:8.1f} {found.us[found.peer]:8.1f} {found.peer:8}"
    for ratio, low, high in (found.cold, found.row):
        yield f"{ratio:.3f} ({low:.3f} to {high:.3f})"
    yield f"read {found.read:.3f}, error {found.error:.3f} {found.peer_error:.3f}"
    yield f"{chosen.blk_m}x{chosen.blk_n} ctas={chosen.ctas} workers={chosen.workers} own={int(chosen.own)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", default="a,b,c,d")
    parser.add_argument("--count", type=int, default=10, help="shapes of each class")
    parser.add_argument("--draw", type=int, default=1, metavar="SEED")
    parser.add_argument("--shapes", help="these shapes instead, as in 320x320x16384,1x8192x8192")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=12, help="kernels compiled at a time")
    parser.add_argument("--csv", type=Path, metavar="FILE")
    options = parser.parse_args()
    letters = options.classes.split(",")
    todo = [(letter, shape) for letter in letters for shape in drawn(letter, options.count, options.draw)]
    if options.shapes:
        from ladder import parse_shapes

        todo = [("-", shape) for shape in parse_shapes(options.shapes)]
    for complaint in filter(None, in_order(spread(build), [(shape,) for _, shape in todo], jobs=options.jobs)):
        print(complaint)
    import torch

    from tirx_mini.runtime import FLUSH_BYTES

    print(torch.cuda.get_device_name())
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    measured = [(letter, shape, measure(shape, options.rounds, flush)) for letter, shape in todo]
    wrong = [shape_text(shape) for _, shape, found in measured if found is None]
    kept = [(letter, found) for letter, _, found in measured if found is not None]
    for letter, found in kept:
        print("  ".join(described(letter, found)))
    for letter in dict.fromkeys(letter for letter, _ in kept):
        for name in ("cold", "row"):
            ratios = [getattr(found, name)[0] for own, found in kept if own == letter]
            print(f"({letter}) {name}: geometric mean {statistics.geometric_mean(ratios):.3f}, least {min(ratios):.3f}")
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEAD)
            for letter, f in kept:
                figures = (f.cold[0], f.row[0], f.read, f.error, f.peer_error)
                row = [letter, *f.shape, f"{f.us[OURS]:.2f}", f.peer, f"{f.us[f.peer]:.2f}"]
                writer.writerow([*row, *(f"{figure:.4f}" for figure in figures)])
    for shape in wrong:
        print(f"wrong at {shape}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(command(main))
